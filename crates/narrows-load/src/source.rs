//! The I/Os of one worker: the next one of its streams in turn, a read or a write as the mix demands.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::engine::{Op, Request};
use super::measurement::Pattern;
use super::random::Random;
use super::workload::Workload;

/// Reads, writes, or so many of each.
#[derive(Debug, Clone)]
enum Mix {
    Only(Op),
    /// A random number of 100 decides: below the bound a write, else a read.
    Drawn {
        writes_below: u64,
        random: Random,
    },
}

impl Mix {
    fn new(workload: &Workload, seed: u64) -> Self {
        match workload.write_percent {
            0 => Self::Only(Op::Read),
            100.. => Self::Only(Op::Write),
            // Not the sequence of the offsets, so that no offset is always written.
            writes => Self::Drawn { writes_below: writes.into(), random: Random::seeded(!seed) },
        }
    }

    #[inline]
    fn next(&mut self) -> Op {
        match self {
            Self::Only(op) => *op,
            Self::Drawn { writes_below, random } => {
                if random.below(100) < *writes_below {
                    Op::Write
                } else {
                    Op::Read
                }
            }
        }
    }
}

/// An endless sequence of I/Os.
#[derive(Debug, Clone)]
pub(super) struct Source {
    streams: Vec<Offsets>,
    /// The stream whose turn it is.
    turn: usize,
    mix: Mix,
    /// Bytes of an I/O.
    unit: u32,
    /// What all I/Os do, where they differ in nothing but their offsets.
    only: Option<Op>,
}

impl Source {
    /// The I/Os of a workload on the streams of one worker, of `unit` bytes each; `seed` decides which ones write.
    pub(super) fn new(workload: &Workload, streams: Vec<Offsets>, unit: u32, seed: u64) -> Self {
        let mix = Mix::new(workload, seed);
        let only = if let Mix::Only(op) = mix { Some(op) } else { None };
        Self { streams, turn: 0, mix, unit, only }
    }

    /// The offsets of a load that does nothing but read one stream in blocks of one size, and that size in bytes.
    #[inline(always)]
    pub(super) fn only_reads(&mut self) -> Option<(&mut Offsets, u32)> {
        match (self.only, self.streams.as_mut_slice()) {
            (Some(Op::Read), [stream]) => Some((stream, self.unit)),
            _ => None,
        }
    }

    /// The next I/O; `None` when there is no stream.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Request> {
        match (self.only, self.streams.as_mut_slice()) {
            (Some(op), [stream]) => Some(Request { op, offset: stream.next(), length: self.unit }),
            _ => self.next_of_many(),
        }
    }

    #[inline(never)]
    fn next_of_many(&mut self) -> Option<Request> {
        let stream = self.streams.get_mut(self.turn)?;
        let offset = stream.next();
        self.turn = if self.turn + 1 < self.streams.len() { self.turn + 1 } else { 0 };
        Some(Request { op: self.mix.next(), offset, length: self.unit })
    }
}

/// Whole blocks in a region: block `i` is at `first + i × block_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Blocks {
    /// The offset of the first block, a multiple of the block size.
    pub(super) first: u64,
    /// Bytes in each block.
    pub(super) block_size: u64,
    /// How many there are.
    pub(super) count: u64,
}

impl Blocks {
    /// The whole blocks that lie inside `length` bytes from `start`; none for a block size of zero.
    pub(super) fn inside(start: u64, length: u64, block_size: u64) -> Self {
        let end = start.saturating_add(length);
        let first = start.checked_next_multiple_of(block_size).unwrap_or(end);
        let count = end.saturating_sub(first).checked_div(block_size).unwrap_or(0);
        Self { first, block_size, count }
    }

    /// The `index`th of `parts` slices, which together cover all blocks, once each.
    pub(super) fn slice(self, index: u64, parts: u64) -> Self {
        let at = |i: u64| (u128::from(self.count) * u128::from(i) / u128::from(parts.max(1))) as u64;
        let (from, to) = (at(index), at(index + 1));
        Self { first: self.first + from * self.block_size, block_size: self.block_size, count: to - from }
    }

    /// The byte after the last block.
    pub(super) fn end(self) -> u64 {
        self.first.saturating_add(self.count.saturating_mul(self.block_size))
    }

    fn offset(self, index: u64) -> u64 {
        self.first + index * self.block_size
    }
}

/// An endless sequence of offsets inside a region.
#[derive(Debug, Clone)]
pub(super) enum Offsets {
    /// One after another, and again from the start.
    Sequential { blocks: Blocks, next: u64 },
    /// One after another, taken in turns by several threads, so that together they read one stream.
    Shared { blocks: Blocks, next: Arc<AtomicU64> },
    /// At random, with repetition.
    Random { blocks: Blocks, random: Random },
}

impl Offsets {
    /// Offsets of `pattern`; `seed` decides a random sequence.
    pub(super) fn new(pattern: Pattern, blocks: Blocks, seed: u64) -> Self {
        match pattern {
            Pattern::Sequential => Self::Sequential { blocks, next: 0 },
            Pattern::Random => Self::random(blocks, seed),
        }
    }

    /// Random offsets.
    pub(super) fn random(blocks: Blocks, seed: u64) -> Self {
        Self::Random { blocks, random: Random::seeded(seed) }
    }

    /// The blocks that it visits.
    pub(super) fn blocks(&self) -> Blocks {
        match self {
            Self::Sequential { blocks, .. } | Self::Shared { blocks, .. } | Self::Random { blocks, .. } => {
                *blocks
            }
        }
    }

    /// The offset of the next I/O, of one block.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        match self {
            Self::Sequential { blocks, next } => {
                let index = if *next < blocks.count { *next } else { 0 };
                *next = index + 1;
                blocks.offset(index)
            }
            Self::Shared { blocks, next } => {
                blocks.offset(next.fetch_add(1, Ordering::Relaxed) % blocks.count.max(1))
            }
            Self::Random { blocks, random } => blocks.offset(random.below(blocks.count)),
        }
    }

    /// The offsets of the next I/Os, each of one block.
    #[inline(always)]
    pub(super) fn fill(&mut self, offsets: &mut [u64]) {
        if let Self::Random { blocks, random } = self {
            // A copy, for the state to stay in registers.
            let mut copy = random.clone();
            for offset in offsets {
                *offset = blocks.offset(copy.below(blocks.count));
            }
            *random = copy;
        } else {
            for offset in offsets {
                *offset = self.next();
            }
        }
    }
}

/// A schedule of I/Os at a constant rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// The tick at which it begins.
    start: u64,
    /// I/Os for each tick.
    rate: f64,
    /// I/Os that are scheduled so far.
    count: f64,
}

impl Schedule {
    /// A schedule of `rate` for each tick, whose first I/O is due when `phase` would be.
    pub(super) fn new(start: u64, rate: f64, phase: f64) -> Self {
        Self { start, rate, count: phase }
    }

    /// The tick at which the next I/O is due.
    #[inline]
    pub(super) fn due(&self) -> u64 {
        self.start.saturating_add((self.count / self.rate) as u64)
    }

    /// Goes on to the next I/O.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.count += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Blocks;
    use narrows_base::units::{Bytes, Nanos};
    use narrows_base::workload::Pattern;
    use proptest::prelude::*;

    fn source(write_percent: u8, streams: u64) -> Source {
        let nothing = Nanos::new(0);
        let workload =
            Workload { write_percent, ..Workload::read(Pattern::Sequential, Bytes::new(4096), 1, nothing) };
        let whole = Blocks::inside(0, 1 << 20, 4096);
        let stream = |index| Offsets::new(Pattern::Sequential, whole.slice(index, streams), 0);
        Source::new(&workload, (0..streams).map(stream).collect(), 4096, 7)
    }

    fn requests(mut source: Source, count: usize) -> Vec<Request> {
        std::iter::from_fn(|| source.next()).take(count).collect()
    }

    #[test]
    fn streams_take_turns_and_each_keeps_its_place() {
        let offsets: Vec<u64> =
            requests(source(0, 4), 8).iter().map(|request| request.offset >> 12).collect();
        assert_eq!(offsets, [0, 64, 128, 192, 1, 65, 129, 193]);
    }

    #[test]
    fn the_mix_is_as_asked() {
        for percent in [0, 1, 30, 50, 99, 100] {
            let count = 100_000;
            let writes = requests(source(percent, 1), count).iter().filter(|r| r.op == Op::Write).count();
            let share = f64::from(percent) / 100.0;
            // Five standard deviations of a binomial distribution; none for the pure cases.
            let tolerance = 5.0 * (count as f64 * share * (1.0 - share)).sqrt();
            assert!((writes as f64 - share * count as f64).abs() <= tolerance, "{writes} for {percent} %");
        }
    }

    #[test]
    fn no_stream_is_no_io() {
        assert_eq!(source(0, 0).next(), None);
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn sequential_offsets_visit_each_block_once_and_start_again() {
        let mut offsets = Offsets::new(Pattern::Sequential, Blocks::inside(0, 4 * MIB + 5, MIB), 0);
        let got: Vec<u64> = (0..6).map(|_| offsets.next() / MIB).collect();
        assert_eq!(got, [0, 1, 2, 3, 0, 1]);
    }

    #[test]
    fn threads_that_share_a_stream_take_each_block_once() {
        let blocks = Blocks::inside(0, 100 * 4096, 4096);
        let shared = Offsets::Shared { blocks, next: Arc::default() };
        let mut got: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    let mut offsets = shared.clone();
                    scope.spawn(move || (0..25).map(|_| offsets.next()).collect::<Vec<_>>())
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        got.sort_unstable();
        assert_eq!(got, (0..100).map(|i| i * 4096).collect::<Vec<_>>());
    }

    #[test]
    fn random_offsets_are_about_uniform() {
        // 64 blocks, 64 000 draws: 1000 expected in each. The chi-squared statistic with 63 degrees of freedom is below
        // 103.4 with probability 0.999 (NIST e-Handbook 1.3.6.7.4); the seed makes the test deterministic.
        let mut offsets = Offsets::new(Pattern::Random, Blocks::inside(0, 64 * 4096, 4096), 42);
        let mut seen = [0u32; 64];
        for _ in 0..64_000 {
            seen[(offsets.next() / 4096) as usize] += 1;
        }
        let chi2: f64 = seen.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi2 < 103.4, "chi-squared {chi2}");
    }

    #[test]
    fn offsets_that_are_drawn_at_once_are_those_that_follow() {
        let blocks = Blocks::inside(0, 100 * 4096, 4096);
        for pattern in [Pattern::Sequential, Pattern::Random] {
            let mut offsets = Offsets::new(pattern, blocks, 3);
            let mut alone = offsets.clone();
            let mut drawn = [0; 40];
            offsets.fill(&mut drawn);
            assert_eq!(drawn, [(); 40].map(|()| alone.next()));
            assert_eq!(offsets.next(), alone.next());
        }
    }

    #[test]
    fn a_seed_decides_the_sequence() {
        let draw = |seed| {
            let mut offsets = Offsets::new(Pattern::Random, Blocks::inside(0, MIB, 512), seed);
            (0..20).map(|_| offsets.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    proptest! {
        #[test]
        fn every_offset_is_an_aligned_block_inside_the_region(
            start in 0u64..1 << 40, length in 0u64..1 << 40, shift in 9u32..21, seed: u64, sequential: bool,
        ) {
            let block_size = 1u64 << shift;
            let blocks = Blocks::inside(start, length, block_size);
            prop_assume!(blocks.count > 0);
            let pattern = if sequential { Pattern::Sequential } else { Pattern::Random };
            let mut offsets = Offsets::new(pattern, blocks, seed);
            for _ in 0..50 {
                let offset = offsets.next();
                prop_assert_eq!(offset % block_size, 0);
                prop_assert!(offset >= start && offset + block_size <= start + length);
            }
        }

        #[test]
        fn slices_cover_the_region_without_overlap(count in 1u64..1 << 50, parts in 1u64..64) {
            let whole = Blocks { first: 4096, block_size: 4096, count };
            let mut at = whole.first;
            for index in 0..parts {
                let part = whole.slice(index, parts);
                prop_assert_eq!(part.first, at);
                at += part.count * part.block_size;
            }
            prop_assert_eq!(at, whole.first + count * 4096);
        }

        #[test]
        fn foreign_sizes_never_overflow(start: u64, length: u64, block_size: u64) {
            let blocks = Blocks::inside(start, length, block_size);
            prop_assert!(blocks.count == 0 || blocks.first >= start);
        }
    }

    fn times(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let next = || {
            let due = schedule.due();
            schedule.advance();
            due
        };
        std::iter::repeat_with(next).take(count).collect()
    }

    #[test]
    fn due_times_are_even() {
        assert_eq!(times(Schedule::new(1000, 0.01, 0.0), 4), [1000, 1100, 1200, 1300]);
        assert_eq!(times(Schedule::new(1000, 0.01, 0.5), 2), [1050, 1150]);
    }
}
