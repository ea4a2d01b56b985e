//! Folds the ceilings of a path to its narrowest hop.

use super::{Ceilings, Direction};
use crate::path::Path;
use crate::units::BytesPerSec;

/// A hop's place in the order of narrowness.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Narrow {
    /// The hop, as a place in [`Path::hops`].
    pub hop: usize,
    /// The most that the application can move through it: its ceiling divided by its traffic.
    pub rate: BytesPerSec,
}

/// The hops of a path whose ceilings are known, narrowest first; equal ones in path order. `ceilings` stand in the
/// order of the path's hops.
pub fn rank(path: &Path, ceilings: &[Ceilings], direction: Direction) -> Vec<Narrow> {
    let mut ranked: Vec<Narrow> = path
        .hops
        .iter()
        .zip(ceilings)
        .enumerate()
        .filter_map(|(index, (hop, ceilings))| {
            let traffic = match direction {
                Direction::Read => hop.traffic.read,
                Direction::Write => hop.traffic.write,
            };
            let rate = ceilings.of(direction).rate()?;
            (traffic > 0.0).then(|| Narrow { hop: index, rate: rate / traffic })
        })
        .collect();
    ranked.sort_by(|a, b| a.rate.get().total_cmp(&b.rate.get()));
    ranked
}
