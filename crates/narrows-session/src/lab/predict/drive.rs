//! What one drive does, as its own tests tell: its rate, its most, and what a request waits beside its transfer.

use crate::lab::outcome::Measured;
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;

/// One drive under one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drive {
    /// What it moves with this load, alone.
    pub(super) rate: BytesPerSec,
    /// The most that it was seen to move in this direction.
    pub(super) most: BytesPerSec,
    /// What one request takes beside its transfer at that rate, by a test with one request at a time; nothing where there
    /// was none, since with several the wait for each other is not told from the wait for the drive.
    pub(super) wait: Nanos,
    /// Whether it goes on with a sequence between two requests, by read-ahead or a cache of writes: a request that comes after
    /// a pause takes much less time then than one that follows another.
    pub(super) works_ahead: bool,
    /// What one thread of the generator could ask for: its rate over the part of a core that it used.
    pub(super) thread: Option<BytesPerSec>,
}

impl Drive {
    /// What `tests`, and requests after pauses, tell of a drive under `load`; `None` when none of them is the test.
    pub(super) fn of(tests: &[Measured], paused: &[Measured], test: &str, load: &LoadSpec) -> Option<Self> {
        let own = find(tests, test, load)?;
        let rate = own.measurement.bytes_per_second;
        let alike = |other: &&Measured| other.load.write_percent == load.write_percent;
        let rates = tests.iter().filter(alike).map(|other| other.measurement.bytes_per_second);
        let most = rates.fold(rate, BytesPerSec::max);
        let single = tests.iter().filter(alike).filter(|other| {
            other.load.total_depth() == 1
                && other.load.pattern == load.pattern
                && other.measurement.bytes_per_second.get() > 0.0
        });
        let apart = |other: &Measured| other.load.block_size.get().abs_diff(load.block_size.get());
        let wait = single.min_by_key(|other| apart(other)).map_or(0.0, |other| {
            let size = other.load.block_size.as_f64();
            size / other.measurement.bytes_per_second.get() - size / most.get()
        });
        let works_ahead = load.pattern == Pattern::Sequential && sees_ahead(paused, load, most);
        let generator = &own.measurement.generator;
        let thread = (generator.cpu > 0.0).then(|| rate / generator.cpu.min(1.0));
        let wait = Nanos::new((wait.max(0.0) * 1e9) as u64);
        Some(Self { rate, most, wait, works_ahead, thread })
    }

    /// The time of one request of `size` that nothing is in the way of, in seconds, when it waits `wait`.
    pub(super) fn seconds(&self, size: f64, wait: Nanos) -> f64 {
        let moving = if self.most.get() > 0.0 { size / self.most.get() } else { f64::INFINITY };
        wait.as_secs_f64() + moving
    }

    /// Whether it has to turn: no drive without heads takes so long for a small read at a random place.
    pub(super) fn turns(tests: &[Measured]) -> bool {
        const TURN: f64 = 2e-3;
        tests.iter().any(|test| {
            let rate = test.measurement.bytes_per_second.get();
            test.load.pattern == Pattern::Random
                && test.load.total_depth() == 1
                && !test.load.writes()
                && test.load.block_size <= Bytes::from_kib(16)
                && rate > 0.0
                && test.load.block_size.as_f64() / rate > TURN
        })
    }
}

/// A request after a pause that takes less than this part of its transfer was worked on in the pause. Our choice, between what
/// was measured of drives that rest (0.69 and 0.82 of null_blk held to a rate, in the rig) and of those that do not, whose
/// buffer answers at the rate of the link.
const AHEAD: f64 = 0.5;

/// Whether a sequence in blocks of a size like that of `load` goes on while nobody asks. `most` is the rate of a transfer.
fn sees_ahead(paused: &[Measured], load: &LoadSpec, most: BytesPerSec) -> bool {
    let alike = paused.iter().filter(|other| other.load.write_percent == load.write_percent);
    let nearest = alike.min_by_key(|other| other.load.block_size.get().abs_diff(load.block_size.get()));
    nearest.is_some_and(|other| {
        let transfer = other.load.block_size.as_f64() / most.get();
        most.get() > 0.0 && other.measurement.latency.mean.as_secs_f64() < AHEAD * transfer
    })
}

/// The test of that name, or else one of the same load.
pub(super) fn find<'t>(tests: &'t [Measured], test: &str, load: &LoadSpec) -> Option<&'t Measured> {
    let named = tests.iter().find(|other| other.test == test && other.load == *load);
    named.or_else(|| tests.iter().find(|other| other.load == *load))
}
