//! The I/Os of one worker: the next one of its streams in turn, a read or a write as the mix demands.

use super::engine::{Op, Request};
use super::offsets::Offsets;
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
    alike: Option<Op>,
}

impl Source {
    /// The I/Os of a workload on the streams of one worker, of `unit` bytes each; `seed` decides which ones write.
    pub(super) fn new(workload: &Workload, streams: Vec<Offsets>, unit: u32, seed: u64) -> Self {
        let mix = Mix::new(workload, seed);
        let alike = if let Mix::Only(op) = mix { Some(op) } else { None };
        Self { streams, turn: 0, mix, unit, alike }
    }

    /// The offsets of a load that does nothing but read one stream in blocks of one size, and that size in bytes.
    #[inline(always)]
    pub(super) fn only_reads(&mut self) -> Option<(&mut Offsets, u32)> {
        match (self.alike, self.streams.as_mut_slice()) {
            (Some(Op::Read), [stream]) => Some((stream, self.unit)),
            _ => None,
        }
    }

    /// The next I/O; `None` when there is no stream.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Request> {
        match (self.alike, self.streams.as_mut_slice()) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::Blocks;
    use narrows_base::units::{Bytes, Nanos};
    use narrows_base::workload::Pattern;

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
}
