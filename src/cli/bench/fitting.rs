//! Which tests of a preset can be run where.

use narrows_base::units::human;
use narrows_load::preset::{Preset, Test, Work};
use narrows_load::target::Target as Opened;
use narrows_report::bench::{BenchReport, Engine, TargetKind, TestResult};
use narrows_session::trims::Discards;

/// What is known of the place before it is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fitting {
    /// What is tested.
    pub(super) kind: TargetKind,
    /// What tests it.
    pub(super) engine: Engine,
    /// What a device says of its discards.
    pub(super) discards: Discards,
}

impl Fitting {
    /// What is to be done of a preset, where `kept` was done before.
    pub(super) fn works(&self, preset: &Preset, kept: Option<&BenchReport>) -> Vec<Work> {
        let is_done =
            |test: &Test| kept.and_then(|kept| kept.result(&test.name)).is_some_and(TestResult::is_whole);
        let tests = preset.tests.iter().filter(|test| self.obstacle(test).is_none() && !is_done(test));
        tests.map(|test| test.work.clone()).collect()
    }

    /// Why a test cannot be run, if it cannot.
    pub(super) fn obstacle(&self, test: &Test) -> Option<String> {
        let needs_files = match &test.work {
            Work::Load(load) => load.buffered,
            Work::Scan(_) => true,
        };
        if needs_files && self.engine == Engine::Passthrough {
            return Some("it cannot be run by NVMe commands".to_owned());
        }
        match self.kind {
            TargetKind::Device if test.writes() => {
                Some("a device is only read, unless --write --i-own SERIAL".to_owned())
            }
            TargetKind::OwnedDevice if matches!(test.work, Work::Scan(_)) => {
                Some("most of an empty device was never written, so it is read from nowhere".to_owned())
            }
            TargetKind::File if test.writes() => Some("the file is only read".to_owned()),
            _ => match &test.work {
                Work::Load(load) => self.discards.obstacle(load),
                Work::Scan(_) => None,
            },
        }
    }
}

/// Why a test does not fit on a target, if it does not.
pub(super) fn too_large(test: &Test, target: &Opened) -> Option<String> {
    let (needed, size) = (test.least_size(), target.region().length);
    (needed > size).then(|| {
        let (needed, size) = (human::block_size(needed), human::block_size(size));
        format!("it needs {needed}, and the target has {size}")
    })
}
