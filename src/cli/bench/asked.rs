//! What is asked for: what was typed, and what a saved run says.

use super::args::{BenchArgs, Common};
use super::kept;
use super::save::{self, SaveFile};
use crate::cli::Failure;
use narrows_base::units::{Bytes, Nanos};
use narrows_load::preset::{self, Preset, StopRule, Work};
use narrows_load::scan::ScanPlan;
use narrows_report::bench::{self, BenchReport, TargetKind};
use narrows_session::measure::Timing;
use narrows_session::place::Place;

/// How tests are run: as it was typed, or as a saved run says, which goes on as it began.
pub(super) struct Terms {
    /// The target as it was typed.
    pub(super) typed: String,
    pub(super) timing: Timing,
    /// How much is filled, where that was asked for.
    pub(super) size: Option<Bytes>,
    pub(super) read_only: bool,
}

impl Terms {
    /// Those of tests that end by this rule.
    ///
    /// # Errors
    /// No target was typed, or not that of the saved run.
    pub(super) fn of(args: &BenchArgs, kept: Option<&BenchReport>, stop: StopRule) -> Result<Self, Failure> {
        let common = &args.common;
        let typed = Self {
            typed: typed(args, kept)?,
            timing: timing(common, stop, kept),
            size: common.size,
            read_only: common.read_only,
        };
        Ok(match kept {
            None => typed,
            Some(BenchReport { target, .. }) => Self {
                size: Some(target.size_bytes),
                read_only: typed.read_only || target.kind == TargetKind::File,
                ..typed
            },
        })
    }
}

/// Whether the place suits what else was asked, and what is kept.
///
/// # Errors
/// It does not.
pub(super) fn check_place(place: &Place, kept: Option<&BenchReport>) -> Result<(), Failure> {
    let is_written = matches!(place, Place::Owned { .. });
    match kept.map(|kept| kept.target.kind) {
        Some(TargetKind::OwnedDevice) if !is_written => {
            Err(Failure::new("the saved run writes to the device")
                .hint("name it again: --write --i-own SERIAL"))
        }
        Some(kind) if is_written && kind != TargetKind::OwnedDevice => {
            Err(Failure::new("the saved run writes to no device").hint("leave out --write and --i-own"))
        }
        _ => Ok(()),
    }
}

/// Where results are kept, and what is there already.
///
/// # Errors
/// The file cannot be made or read, or holds something else.
pub(super) fn files(args: &BenchArgs) -> Result<(Option<SaveFile>, Option<BenchReport>), Failure> {
    let named = (args.save.as_deref(), args.resume.as_deref());
    save::files(named, (bench::SCHEMA, |kept| &kept.schema), kept::bench)
}

/// The preset, with what was asked of it.
///
/// # Errors
/// There is none of that name, or it has nothing of what was asked.
pub(super) fn chosen(args: &BenchArgs, kept: Option<&BenchReport>) -> Result<Preset, Failure> {
    let name = kept.map_or(args.preset.as_str(), |kept| kept.preset.name.as_str());
    let mut preset =
        preset::by_name(name).ok_or_else(|| Failure::new(format!("there is no preset `{name}`")))?;
    let mut asked = args.samples.is_some() || args.sample_size.is_some();
    for test in &mut preset.tests {
        if let Work::Scan(plan) = &mut test.work {
            *plan = kept.and_then(|kept| kept.settings.scan).unwrap_or(ScanPlan {
                samples: args.samples.unwrap_or(plan.samples),
                sample_size: args.sample_size.unwrap_or(plan.sample_size),
                ..*plan
            });
            asked = false;
        }
    }
    if asked {
        return Err(Failure::new(format!("the preset {name} takes no samples"))
            .hint("--samples and --sample-size belong to --preset disks"));
    }
    Ok(preset)
}

/// The target that was typed, now or for the saved run.
fn typed(args: &BenchArgs, kept: Option<&BenchReport>) -> Result<String, Failure> {
    match (&args.target, kept) {
        (Some(typed), Some(kept)) if *typed != kept.target.name => {
            Err(Failure::new(format!("the saved run is of `{}`, not of `{typed}`", kept.target.name))
                .hint("leave out TARGET to go on with the saved run"))
        }
        (Some(typed), _) => Ok(typed.clone()),
        (None, Some(kept)) => Ok(kept.target.name.clone()),
        (None, None) => Err(Failure::new("name a target").hint("a directory, a mount point or a device")),
    }
}

/// How long tests run; a saved run goes on as it began.
fn timing(common: &Common, stop: StopRule, kept: Option<&BenchReport>) -> Timing {
    let timing = common.timing(stop);
    kept.map_or(timing, |BenchReport { settings, .. }| Timing {
        precision: settings.precision,
        max_time: settings.max_time_ns.duration(),
        fixed: settings.duration_ns.map(Nanos::duration),
        warm_up: settings.warm_up_ns.duration(),
        ..timing
    })
}
