//! What results are put against: the paths of the targets that they name, and ceilings that were stated.

use std::collections::BTreeMap;

use crate::cli::{Failure, output, target};
use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_model::ceiling::{self, Direction};
use narrows_model::path::{Target, build};
use narrows_paste::results::Imported;
use narrows_verdict::Subject;
use narrows_verdict::results::against::Stated;

/// The paths that results lead over.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// By what stands in a result.
    pub(super) named: BTreeMap<String, Subject>,
    /// Of results that name no target.
    pub(super) default: Option<Subject>,
}

/// Finds the path of each target that a result names, and of the one that was typed. A target that is not on the
/// machine has none, and a note says so when the machine was asked for.
///
/// # Errors
/// [`Failure`] when the typed target is not there.
pub(super) fn paths(
    root: &Root,
    machine: &Machine,
    results: &[Imported],
    typed: Option<&str>,
    asked: bool,
) -> Result<Paths, Failure> {
    let mut found = Paths::default();
    if let Some(typed) = typed {
        let target = target::resolve(root, machine, typed)?;
        let subject = subject(machine, &target)
            .ok_or_else(|| Failure::new(format!("no storage path leads to `{typed}`")))?;
        found.default = Some(subject);
    }
    for name in names(results) {
        let resolved = resolve(root, machine, name).and_then(|target| subject(machine, &target));
        match resolved {
            Some(subject) => {
                found.named.insert(name.to_owned(), subject);
            }
            None if asked && typed.is_none() => {
                output::note(&format!("narrows: `{name}` is not on this machine; --target names its path"))
            }
            None => {}
        }
    }
    if asked {
        let all = found.named.values().chain(&found.default);
        all.filter(|subject| !has_ceiling(subject)).for_each(|subject| {
            output::note(&format!(
                "narrows: no hop of the path to `{}` has a known ceiling, so nothing can be put against it",
                subject.path.target
            ));
        });
    }
    Ok(found)
}

fn has_ceiling(subject: &Subject) -> bool {
    let known = |ceilings: &ceiling::Ceilings| {
        [Direction::Read, Direction::Write].iter().any(|direction| ceilings.of(*direction).rate().is_some())
    };
    subject.ceilings.iter().any(known)
}

/// Every target that a result names, once.
fn names(results: &[Imported]) -> Vec<&str> {
    let all = results.iter().flat_map(|result| &result.measurements);
    let mut names: Vec<&str> = all.filter_map(|one| one.work.target.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A device, or the mount that a file is on. A file may be gone since, its directory may not. The root of a machine
/// holds every path, so it says nothing of one that was measured elsewhere.
fn resolve(root: &Root, machine: &Machine, name: &str) -> Option<Target> {
    if !name.starts_with('/') {
        return None;
    }
    let found = target::resolve(root, machine, name).ok().or_else(|| {
        let parent = name.trim_end_matches('/').rsplit_once('/').map(|(parent, _)| parent)?;
        let is_place = !parent.is_empty() && !name.starts_with("/dev/");
        is_place.then(|| target::resolve(root, machine, parent).ok()).flatten()
    })?;
    let is_root = match &found {
        Target::Mount { index, .. } => machine.mounts.get(*index).is_some_and(|mount| mount.point == "/"),
        _ => false,
    };
    (!is_root || root.is_live() && machine.captured.is_none()).then_some(found)
}

fn subject(machine: &Machine, target: &Target) -> Option<Subject> {
    build::path(machine, target).map(Subject::of)
}

/// Reads `NAME=RATE`, such as `EDR=96GB/s`, `wire=25Gbit/s` or `slot=400MB/s`.
pub(super) fn stated(text: &str) -> Result<Stated, String> {
    let (name, rate) = text.split_once('=').ok_or("it is not NAME=RATE, such as EDR=96GB/s")?;
    let rate = rate.trim();
    let unit_at = rate.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rate.len());
    let (number, unit) = rate.split_at(unit_at);
    let factor = match unit.trim() {
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "GB/s" => 1e9,
        "TB/s" => 1e12,
        "KiB/s" => 1024.0,
        "MiB/s" => 1_048_576.0,
        "GiB/s" => 1_073_741_824.0,
        "Mbit/s" => 125e3,
        "Gbit/s" => 125e6,
        other => {
            return Err(format!("`{other}` is no unit of a rate; use MB/s, GB/s, MiB/s, GiB/s or Gbit/s"));
        }
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && !name.trim().is_empty() => {
            Ok(Stated { name: name.trim().to_owned(), rate: BytesPerSec::new(number * factor) })
        }
        _ => Err(format!("`{text}` is not NAME=RATE with a rate above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_ceiling_has_a_name_and_a_unit() {
        let of = |text: &str| stated(text).map(|one| (one.name, one.rate.get()));
        assert_eq!(of("EDR=96GB/s"), Ok(("EDR".to_owned(), 96e9)));
        assert_eq!(of("wire = 25 Gbit/s"), Ok(("wire".to_owned(), 3.125e9)));
        for text in ["96GB/s", "x=96", "x=GB/s", "=1GB/s", "x=0GB/s", "x=1MB"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,30}") {
            let _ = stated(&text);
        }
    }
}
