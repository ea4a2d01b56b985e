//! Deals the streams of a workload to threads.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::offsets::{Blocks, Offsets};
use super::run::RunOptions;
use super::source::Source;
use super::workload::{Pattern, Workload};

/// The most threads that stand in for a queue when there is no io_uring.
const MAX_PSYNC_THREADS: u32 = 16;

/// Deals the streams of a workload.
pub(super) struct Deal<'a> {
    /// What to do.
    pub(super) workload: &'a Workload,
    /// How many workers and streams there are.
    pub(super) options: &'a RunOptions,
    /// The blocks to visit.
    pub(super) blocks: Blocks,
}

impl Deal<'_> {
    /// To workers with a ring each.
    pub(super) fn to_workers(&self) -> Vec<Source> {
        let workers = u64::from(self.options.workers);
        (0..workers)
            .map(|worker| {
                let streams = self.streams_of(worker, workers).collect();
                self.source(streams, self.options.seed.wrapping_add(worker))
            })
            .collect()
    }

    /// To threads that do one I/O at a time and so stand in for a queue.
    pub(super) fn to_threads(&self) -> Vec<Source> {
        let workers = u64::from(self.options.workers);
        let limit = MAX_PSYNC_THREADS.max(self.options.workers);
        let each = u64::from(self.workload.queue_depth.min(limit / self.options.workers).max(1));
        let mut threads = Vec::new();
        for worker in 0..workers {
            let streams: Vec<Offsets> = self.streams_of(worker, workers).collect();
            let seed = |thread: u64| self.options.seed.wrapping_add(worker + thread * workers);
            match streams.as_slice() {
                [stream] => {
                    let (blocks, next) = (stream.blocks(), Arc::<AtomicU64>::default());
                    threads.extend((0..each).map(|thread| {
                        let offsets = match self.workload.pattern {
                            // Together they follow one stream.
                            Pattern::Sequential => Offsets::Shared { blocks, next: next.clone() },
                            Pattern::Random => Offsets::random(blocks, seed(thread)),
                        };
                        self.source(vec![offsets], seed(thread))
                    }));
                }
                many => {
                    let share = many.len().div_ceil(each as usize).max(1);
                    let dealt = (0..).zip(many.chunks(share));
                    threads.extend(dealt.map(|(thread, part)| self.source(part.to_vec(), seed(thread))));
                }
            }
        }
        threads
    }

    fn source(&self, streams: Vec<Offsets>, seed: u64) -> Source {
        let unit = u32::try_from(self.workload.block_size.get()).unwrap_or(u32::MAX);
        Source::new(self.workload, streams, unit, seed)
    }

    /// The streams of a worker: neighbours, so that its part of the blocks is in one piece.
    fn streams_of(&self, worker: u64, workers: u64) -> impl Iterator<Item = Offsets> {
        let streams = u64::from(self.options.streams).max(workers);
        let first = |worker: u64| streams * worker / workers;
        (first(worker)..first(worker + 1)).map(move |stream| self.stream(stream, streams))
    }

    /// The `index`th of so many streams.
    fn stream(&self, index: u64, streams: u64) -> Offsets {
        let seed = self.options.seed.wrapping_add(index);
        match self.workload.pattern {
            Pattern::Random if self.options.streams == 1 => Offsets::random(self.blocks, seed),
            pattern => Offsets::new(pattern, self.blocks.slice(index, streams), seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::{Bytes, Nanos};

    fn dealt(pattern: Pattern, streams: u32, workers: u32, depth: u32, threads: bool) -> Vec<Vec<u64>> {
        let workload = Workload::read(pattern, Bytes::from_kib(4), depth, Nanos::from_millis(1));
        let options = RunOptions { streams, workers, ..RunOptions::default() };
        let deal = Deal { workload: &workload, options: &options, blocks: Blocks::inside(0, 1 << 20, 4096) };
        let sources = if threads { deal.to_threads() } else { deal.to_workers() };
        let first = |mut source: Source| {
            (0..4).filter_map(|_| source.next()).map(|request| request.offset >> 12).collect()
        };
        sources.into_iter().map(first).collect()
    }

    #[test]
    fn one_stream_is_sliced_among_sequential_workers() {
        assert_eq!(dealt(Pattern::Sequential, 1, 2, 8, false), [[0, 1, 2, 3], [128, 129, 130, 131]]);
    }

    #[test]
    fn streams_are_dealt_to_workers_in_neighbouring_groups() {
        assert_eq!(dealt(Pattern::Sequential, 4, 2, 8, false), [[0, 64, 1, 65], [128, 192, 129, 193]]);
        let random = dealt(Pattern::Random, 4, 2, 8, false);
        for (worker, offsets) in random.iter().enumerate() {
            for (turn, offset) in offsets.iter().enumerate() {
                let slice = 2 * worker as u64 + turn as u64 % 2;
                assert!((64 * slice..64 * (slice + 1)).contains(offset), "{random:?}");
            }
        }
    }

    #[test]
    fn threads_follow_one_stream_together_or_have_their_own() {
        // The first thread takes the first four blocks here, because it asks first.
        let together = dealt(Pattern::Sequential, 1, 1, 2, true);
        assert_eq!(together, [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let apart = dealt(Pattern::Sequential, 4, 1, 2, true);
        assert_eq!(apart, [[0, 64, 1, 65], [128, 192, 129, 193]]);
    }
}
