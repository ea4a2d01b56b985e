//! Pressure stall information: for how much of the time somebody waited for a processor, for memory or for storage (kernel
//! `Documentation/accounting/psi.rst`). Of Linux 4.20 and later, where it is not switched off (`psi=0`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::root::Root;
use narrows_base::units::Nanos;

/// What is waited for, as the kernel calls it.
const RESOURCES: [&str; 3] = ["cpu", "io", "memory"];

/// How long somebody has waited since the machine started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalled {
    /// At least one task waited.
    pub some: Nanos,
    /// All tasks that had something to do waited; `None` where the kernel does not tell.
    pub full: Option<Nanos>,
}

/// For how much of a time somebody waited, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pressure {
    /// At least one task waited.
    pub some: f64,
    /// All tasks that had something to do waited; `None` where the kernel does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<f64>,
}

/// Reads how long was waited for each resource; empty where the kernel does not tell.
pub(super) fn read(root: &Root) -> BTreeMap<&'static str, Stalled> {
    let stalled = |name: &str| {
        let stalled = parse_pressure(root.text(&format!("/proc/pressure/{name}")).value()?)?;
        // Of the whole machine the line `full` of processors is always 0 (psi.rst: "undefined at the system level").
        Some(if name == "cpu" { Stalled { full: None, ..stalled } } else { stalled })
    };
    RESOURCES.into_iter().filter_map(|name| Some((name, stalled(name)?))).collect()
}

/// Reads `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds, and the line `full`, which processors have from
/// Linux 5.13 on.
pub fn parse_pressure(text: &str) -> Option<Stalled> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '))?;
        let micros: u64 =
            line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
        Some(Nanos::new(micros.saturating_mul(1000)))
    };
    Some(Stalled { some: total("some")?, full: total("full") })
}

/// What of a time was waited; `None` where no time passed.
pub(super) fn between(before: &Stalled, after: &Stalled, elapsed: Nanos) -> Option<Pressure> {
    let part = |before: Nanos, after: Nanos| {
        (after.get().saturating_sub(before.get()) as f64 / elapsed.get() as f64).min(1.0)
    };
    (elapsed.get() > 0).then(|| Pressure {
        some: part(before.some, after.some),
        full: before.full.zip(after.full).map(|(before, after)| part(before, after)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    const CPU: &str = "some avg10=1.52 avg60=0.71 avg300=0.29 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

    #[test]
    fn totals_are_microseconds_since_the_start() {
        let cpu = parse_pressure(CPU).expect("is there");
        assert_eq!((cpu.some, cpu.full), (Nanos::from_millis(2000), Some(Nanos::default())));
        let old = "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_pressure(old).map(|stalled| stalled.full), Some(None));
        assert_eq!(parse_pressure("some avg10=0.00\n"), None);
        assert_eq!(parse_pressure(""), None);
    }

    #[test]
    fn a_kernel_without_it_tells_nothing_and_one_with_it_a_part_of_the_time() {
        assert!(read(&Root::from_tree(Tree::new())).is_empty());
        let mut tree = Tree::new();
        tree.file("/proc/pressure/cpu", CPU)
            .file("/proc/pressure/io", "garbage")
            .file("/proc/pressure/memory", CPU);
        let read = read(&Root::from_tree(tree));
        assert_eq!(read.keys().copied().collect::<Vec<_>>(), ["cpu", "memory"]);
        assert_eq!((read["cpu"].full, read["memory"].full), (None, Some(Nanos::default())));
        let before = Stalled { some: Nanos::from_millis(1500), ..Stalled::default() };
        let half = Pressure { some: 0.5, full: None };
        assert_eq!(between(&before, &read["cpu"], Nanos::from_millis(1000)), Some(half));
        assert_eq!(between(&before, &read["cpu"], Nanos::default()), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(some|full| |total=|[0-9]{1,22}|avg10=|\n){0,20}") {
            let _ = parse_pressure(&text);
        }
    }
}
