//! What a run may write: said before it begins, limited while it runs.

use std::sync::Arc;
use std::time::Duration;

use super::timing::{MOST_ROUNDS, Timing};
use crate::catalog::catalog;
use crate::cli::Failure;
use crate::load::guard::Budget;
use crate::load::preset::{LoadSpec, StopRule};
use crate::path::{HopSpec, Path};
use crate::report::bench::WritesView;
use crate::units::{Bytes, BytesPerSec, human};

/// What may be written when nothing else is asked: 0.05 % of the 600 TB that a drive of 1 TB is typically rated for.
const MOST: Bytes = Bytes::from_mib(256 << 10);

/// The budget of a run.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Writes {
    budget: Arc<Budget>,
    fill: Bytes,
    expected: Option<Bytes>,
    compressible_percent: u8,
    /// What the drive may be written in its life by its maker's warranty, where that is known.
    rated: Option<Bytes>,
}

impl Writes {
    /// The budget of a run that fills `fill` bytes and then runs `loads` on a path that carries at most `ceiling`; what an
    /// earlier part of the run wrote counts as well. `None` when nothing is written.
    ///
    /// # Errors
    /// Not even what is filled first fits into the budget.
    pub(in crate::cli) fn plan(
        asked: Option<Bytes>,
        kept: Option<&WritesView>,
        fill: Bytes,
        loads: &[&LoadSpec],
        ceiling: Option<BytesPerSec>,
        timing: &Timing,
    ) -> Result<Self, Failure> {
        let limit = asked.or(kept.map(|kept| kept.limit_bytes)).unwrap_or(MOST);
        let budget = Budget::new(limit);
        let before = kept.map_or(Bytes::new(0), |kept| kept.written_bytes);
        // An earlier part may have been allowed more than is asked for now.
        let announced = budget.take(before.min(limit)).and_then(|()| budget.announce(fill));
        announced.map_err(|over| {
            Failure::new(over.to_string()).hint("allow more with --max-writes, or use a smaller --size")
        })?;
        let changes = loads.iter().any(|load| load.changes());
        let expected =
            if changes { ceiling.map(|rate| fill + in_tests(loads, fill, rate, timing)) } else { Some(fill) };
        let compressible_percent = loads.iter().map(|load| load.compressible_percent).max().unwrap_or(0);
        Ok(Self { budget: Arc::new(budget), fill, expected, compressible_percent, rated: None })
    }

    /// The same budget, out of which `bytes` are to be cleared again afterwards, by writing zeros where nothing else helps.
    ///
    /// # Errors
    /// That does not fit into the budget beside what is filled first.
    pub(in crate::cli) fn and_clearing(self, bytes: Bytes) -> Result<Self, Failure> {
        self.budget.announce(self.fill + bytes).map_err(|over| {
            Failure::new(over.to_string()).hint("allow more with --max-writes, or use a smaller --size")
        })?;
        let expected = self.expected.map(|expected| expected + bytes);
        Ok(Self { expected, fill: self.fill + bytes, ..self })
    }

    /// The same budget, of writes that end on the drive of a path, if it is a single one that the catalogue knows.
    pub(in crate::cli) fn on(self, path: &Path) -> Self {
        let mut drives = path.hops.iter().filter_map(|hop| match &hop.spec {
            HopSpec::Device(drive) => Some(drive),
            _ => None,
        });
        let drive = drives.next().filter(|_| drives.next().is_none());
        let rated = drive.and_then(|drive| rated(drive.model.value()?, *drive.size.value()?));
        Self { rated, ..self }
    }

    /// What the whole budget costs of the drive's rated life, 1 for all of it.
    fn share_of_life(&self) -> Option<f64> {
        Budget::share_of_life(self.budget.limit(), self.rated)
    }

    /// What is taken from.
    pub(in crate::cli) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Says what will be written to `place`, before anything is.
    pub(in crate::cli) fn announcement(&self, place: &str) -> String {
        let limit = self.budget.limit();
        let mut text = format!("writes up to {} to fill {place}", human::bytes(self.fill));
        match self.expected {
            Some(expected) if expected <= self.fill => {}
            Some(expected) if expected < limit => {
                text.push_str(&format!(
                    ", {} in all if the tests take their longest",
                    human::bytes(expected)
                ));
            }
            _ => text.push_str(", then what the tests can in their time"),
        }
        text.push_str(&format!("; never more than {} (--max-writes)", human::bytes(limit)));
        if let Some(share) = self.share_of_life() {
            // Two decimals would make nothing of it.
            let share = if share < 1e-4 { "less than 0.01 %".to_owned() } else { human::percent(share) };
            text.push_str(&format!(", {share} of the drive's rated life"));
        }
        text
    }

    /// What was written so far, for the report.
    pub(in crate::cli) fn view(&self) -> WritesView {
        let mut why = Vec::new();
        if self.expected.is_none() {
            why.push("expected_bytes: the path's ceiling is not known");
        }
        if self.rated.is_none() {
            why.push("limit_of_rated_life: the drive's endurance is not known");
        }
        WritesView {
            limit_bytes: self.budget.limit(),
            written_bytes: self.budget.spent(),
            expected_bytes: self.expected,
            limit_of_rated_life: self.share_of_life(),
            limit_reached: self.budget.is_exhausted(),
            compressible_percent: self.compressible_percent,
            reason: (!why.is_empty()).then(|| why.join("; ")),
        }
    }
}

/// What may be written to a drive of this model and size in its life, where that is known.
pub(in crate::cli) fn rated(model: &str, size: Bytes) -> Option<Bytes> {
    let writes = catalog().medium(model)?.rated_drive_writes?;
    Some(Bytes::new((writes * size.as_f64()) as u64))
}

/// What loads write at most at a rate.
fn in_tests(loads: &[&LoadSpec], fill: Bytes, rate: BytesPerSec, timing: &Timing) -> Bytes {
    let rounds = if matches!(timing.stop, StopRule::SteadyRounds(_)) { MOST_ROUNDS } else { 1 };
    let span: Duration = (timing.longest() * rounds).saturating_add(timing.warm_up);
    let of = |load: &&&LoadSpec| {
        let written = rate.get() * span.as_secs_f64() * f64::from(load.write_percent) / 100.0;
        // What was trimmed is written again afterwards.
        written + if load.trim_percent > 0 { fill.as_f64() } else { 0.0 }
    };
    Bytes::new(loads.iter().map(|load| of(&load)).sum::<f64>() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::measurement::Pattern;

    const TIMING: Timing = Timing {
        stop: StopRule::Precision,
        precision: 0.02,
        max_time: Duration::from_secs(30),
        fixed: Some(Duration::from_secs(9)),
        warm_up: Duration::from_secs(1),
    };

    fn plan(asked: Option<u64>, kept: Option<&WritesView>, loads: &[&LoadSpec]) -> Result<Writes, Failure> {
        let rate = Some(BytesPerSec::from_mb(100.0));
        Writes::plan(asked.map(Bytes::from_mib), kept, Bytes::from_mib(100), loads, rate, &TIMING)
    }

    #[test]
    fn what_tests_write_at_most_follows_from_the_ceiling_and_the_time() {
        let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
        let (read, half) = (load.clone(), load.clone().writing(50));
        let trim = load.trimming(100);
        // 100 MB/s for 10 s, half of it writes; what was trimmed is filled once more.
        let writes = plan(None, None, &[&read, &half, &trim]).unwrap();
        assert_eq!(writes.expected, Some(Bytes::new(500_000_000 + (200 << 20))));
        let text = writes.announcement("a scratch file in /srv");
        assert!(
            text.starts_with("writes up to 105 MB to fill a scratch file in /srv, 710 MB in all"),
            "{text}"
        );
        assert!(text.ends_with("never more than 275 GB (--max-writes)"), "{text}");
        // A drive of 1 TB with 600 TBW.
        let rated = Writes { rated: Some(Bytes::new(600_000_000_000_000)), ..writes };
        assert!(rated.announcement("x").ends_with("(--max-writes), 0.05 % of the drive's rated life"));
        let only_reads = plan(None, None, &[&read]).unwrap();
        assert_eq!(only_reads.expected, Some(Bytes::from_mib(100)));
        assert!(!only_reads.announcement("x").contains("in all"));
    }

    #[test]
    fn the_rated_life_grows_with_the_capacity() {
        let tb = |count: u64| Bytes::new(count * 1_000_000_000_000);
        // Samsung's table: 600 TB for 1 TB, 1200 TB for 2 TB.
        assert_eq!(rated("Samsung SSD 970 EVO Plus 1TB", tb(1)), Some(tb(600)));
        assert_eq!(rated("Samsung SSD 970 EVO Plus 2TB", tb(2)), Some(tb(1200)));
        assert_eq!(rated("QEMU NVMe Ctrl", tb(1)), None);
    }

    #[test]
    fn a_resumed_run_has_what_its_first_part_left() {
        assert!(plan(Some(99), None, &[]).is_err());
        let first = plan(Some(250), None, &[]).unwrap();
        first.budget().take(Bytes::from_mib(100)).unwrap();
        let second = plan(None, Some(&first.view()), &[]).unwrap();
        assert_eq!(second.budget().left(), Bytes::from_mib(150));
        second.budget().take(Bytes::from_mib(100)).unwrap();
        let refused = plan(None, Some(&second.view()), &[]).unwrap_err().to_string();
        assert!(refused.contains("--max-writes"), "{refused}");
        assert!(plan(Some(1000), Some(&second.view()), &[]).is_ok());
    }
}
