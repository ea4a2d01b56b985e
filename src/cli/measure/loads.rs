//! The loads of a sweep: block sizes, depths and mixes, all with all, or more and more streams.

use super::{How, MOST_THREADS, MeasureArgs};
use crate::cli::grid::Grid;
use crate::cli::values::or;
use narrows_base::units::Bytes;
use narrows_load::measurement::Pattern;
use narrows_load::preset::{LoadSpec, Parallel};

/// What each stream reads at once, unless another size is asked for.
const RECORD: Bytes = Bytes::from_kib(128);
/// The most streams, unless another number is asked for.
const STREAMS: u32 = 1024;
/// No grid of block sizes, depths and mixes that anybody has the time for is larger.
const TESTS: usize = 100_000;

/// The loads of the grid, or of the numbers of streams.
pub(super) fn of(args: &MeasureArgs) -> Vec<LoadSpec> {
    let (grid, kib) = (&args.grid, Bytes::from_kib);
    if args.how == How::Threads {
        let counts: Vec<u32> = match grid.threads.as_slice() {
            [] => doubling(STREAMS).collect(),
            [most] => doubling(*most).collect(),
            typed => typed.to_vec(),
        };
        let streams: Vec<Parallel> = counts.into_iter().map(Parallel::Streams).collect();
        return grid.loads(&streams, (&[RECORD], &[1]), Pattern::Sequential);
    }
    // What may be written is shared by all loads: of many, none would run until its rate is known.
    let (blocks, depths): (&[Bytes], &[u32]) = match grid.mix.iter().any(|reads| *reads < 100) {
        true => (&[kib(4), kib(64), kib(1024)], &[1, 8, 32]),
        false => (&[kib(4), kib(16), kib(64), kib(256), kib(1024)], &[1, 2, 4, 8, 16, 32, 64]),
    };
    grid.loads(&threads(grid), (blocks, depths), Pattern::Random)
}

/// The numbers of threads that were typed, or else one.
pub(super) fn threads(grid: &Grid) -> Vec<Parallel> {
    or(&grid.threads, &[1]).into_iter().map(Parallel::Threads).collect()
}

/// Whether loads could have been typed. The file that they are from may have been changed by anybody.
pub(super) fn could_be_typed(loads: &[LoadSpec]) -> bool {
    loads.len() <= TESTS && loads.iter().all(is_load)
}

/// Whether a load could have been typed.
fn is_load(load: &LoadSpec) -> bool {
    let counts = [load.queue_depth, load.parallel.count()];
    load.block_size.get() > 0
        && load.write_percent <= 100
        && counts.iter().all(|count| (1..=MOST_THREADS).contains(count))
}

/// 1, 2, 4 … and `most` itself.
pub(super) fn doubling(most: u32) -> impl Iterator<Item = u32> {
    let powers = std::iter::successors(Some(1_u32), |count| count.checked_mul(2))
        .take_while(move |count| *count < most);
    powers.chain(std::iter::once(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;
    use narrows_load::measurement::Pattern;

    fn named(how: &str, words: &[&str]) -> Vec<String> {
        let typed = [&["narrows", "measure", "/srv", "--as", how], words].concat();
        match Cli::try_parse_from(typed).map(|cli| cli.command) {
            Ok(Some(Command::Measure(args))) => {
                of(&args).iter().map(|load| format!("{} {}", load.mark(), load.direction())).collect()
            }
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn a_grid_has_every_block_size_depth_and_mix() {
        assert_eq!(named("sweep", &[]).len(), 35);
        let loads = named("sweep", &["--block-size", "4K,1M", "--depth", "1,32", "--mix", "100,70"]);
        assert_eq!(
            loads[..4],
            ["RND4K Q1T1 read", "RND4K Q32T1 read", "RND1M Q1T1 read", "RND1M Q32T1 read"]
        );
        assert_eq!(loads[4..6], ["RND4K Q1T1 70:30", "RND4K Q32T1 70:30"]);
        let loads = named("sweep", &["--block-size", "4K", "--depth", "1", "--mix", "0"]);
        assert_eq!(loads, ["RND4K Q1T1 write"]);
        assert_eq!(named("sweep", &["--mix", "100,70"]).len(), 18);
    }

    #[test]
    fn streams_double_up_to_the_most() {
        assert_eq!(doubling(1).collect::<Vec<_>>(), [1]);
        assert_eq!(doubling(12).collect::<Vec<_>>(), [1, 2, 4, 8, 12]);
        let loads = named("threads", &[]);
        assert_eq!((loads.len(), loads.last().map(String::as_str)), (11, Some("SEQ128K Q1T1024 read")));
    }

    #[test]
    fn a_load_that_nobody_could_type_is_none() {
        let load = || LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
        assert!(is_load(&load()));
        let others = [
            LoadSpec { block_size: Bytes::new(0), ..load() },
            LoadSpec { queue_depth: 0, ..load() },
            LoadSpec { queue_depth: u32::MAX, ..load() },
            LoadSpec { parallel: Parallel::Streams(0), ..load() },
            LoadSpec { write_percent: 200, ..load() },
        ];
        assert!(others.iter().all(|load| !is_load(load)));
    }
}
