//! What IOR's command line tells.

use super::super::command::{has_word, option};
use super::super::number::leading;
use super::super::{Durability, Work};
use narrows_base::workload::Pattern;

/// What the command line tells (`ior -h`): `-z` random offsets, `-e` fsync before the clock stops.
pub(super) fn work(command: Option<&str>) -> Work {
    let Some(command) = command else { return Work::default() };
    let direct = command.contains("odirect") || command.contains("useO_DIRECT=1") || has_word(command, "-B");
    Work {
        pattern: Some(if has_word(command, "-z") { Pattern::Random } else { Pattern::Sequential }),
        queue_depth: Some(1),
        engine: option(command, "a").map(str::to_owned),
        direct: Some(direct),
        durability: Some(if has_word(command, "-e") { Durability::AtEnd } else { Durability::None }),
        ..Work::default()
    }
}

/// `mpirun -n 64 ./ior`.
pub(super) fn tasks_of(command: &str) -> Option<u32> {
    let (_, rest) = command.split_once("-n ")?;
    leading(rest).map(|(count, _)| count as u32)
}

/// Whether readers read what another process wrote, so that a node's own page cache does not answer: `-C` and `-Z`.
pub fn is_reordered(command: &str) -> bool {
    let flags = command.split_whitespace().skip(1).filter_map(|word| word.strip_prefix('-'));
    flags.filter(|word| !word.starts_with('-')).any(|word| word == "C" || word == "Z" || word == "Cg")
}
