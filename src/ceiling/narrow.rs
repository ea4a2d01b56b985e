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

/// The narrowest hop of a path, and the one that would limit if that were as wide as could be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathLimit {
    /// The narrowest hop.
    pub limiting: Narrow,
    /// The next one behind it; `None` when no other ceiling is known.
    pub next: Option<Narrow>,
}

/// What limits a path in one direction; `None` when no hop of it has a known ceiling.
pub fn path_limit(path: &Path, ceilings: &[Ceilings], direction: Direction) -> Option<PathLimit> {
    let ranked = rank(path, ceilings, direction);
    let mut ranked = ranked.into_iter();
    Some(PathLimit { limiting: ranked.next()?, next: ranked.next() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::{Basis, Limit};
    use crate::path::{Hop, HopId, HopKind, HopSpec, Target, Traffic};
    use proptest::prelude::*;

    fn hop(index: usize, traffic: Traffic) -> Hop {
        Hop {
            id: HopId::new(HopKind::Application, index),
            name: index.to_string(),
            spec: HopSpec::Application,
            traffic,
            depth: 0,
            above: None,
            shared_with: Vec::new(),
        }
    }

    fn ceilings(megabytes: Option<f64>) -> Ceilings {
        megabytes.map_or_else(
            || Ceilings::unknown("not published"),
            |megabytes| {
                Ceilings::same(Limit {
                    rate: BytesPerSec::from_mb(megabytes),
                    raw: None,
                    basis: Basis::Spec,
                    formula: String::new(),
                    facts: Vec::new(),
                })
            },
        )
    }

    fn path(hops: &[(Traffic, Option<f64>)]) -> (Path, Vec<Ceilings>) {
        let path = Path {
            target: "/dev/md0".to_owned(),
            asked: Target::Block("md0".to_owned()),
            hops: hops.iter().enumerate().map(|(index, (traffic, _))| hop(index, *traffic)).collect(),
        };
        (path, hops.iter().map(|(_, rate)| ceilings(*rate)).collect())
    }

    /// A two-way mirror whose members share an uplink: it carries every read once and every write twice.
    #[test]
    fn traffic_turns_the_ceiling_of_a_hop_into_one_of_the_path() {
        let member = Traffic { read: 0.5, write: 1.0 };
        let (path, ceilings) = path(&[
            (Traffic::ONE, None),
            (Traffic { read: 1.0, write: 2.0 }, Some(3592.0)),
            (member, Some(3000.0)),
            (member, Some(3000.0)),
        ]);
        let read = path_limit(&path, &ceilings, Direction::Read).expect("known");
        assert_eq!((read.limiting.hop, read.limiting.rate), (1, BytesPerSec::from_mb(3592.0)));
        assert_eq!(read.next.map(|next| (next.hop, next.rate)), Some((2, BytesPerSec::from_mb(6000.0))));
        let write = path_limit(&path, &ceilings, Direction::Write).expect("known");
        assert_eq!((write.limiting.hop, write.limiting.rate), (1, BytesPerSec::from_mb(1796.0)));
    }

    #[test]
    fn a_path_without_known_ceilings_has_no_limit_and_idle_hops_do_not_count() {
        let (unknown, none) = path(&[(Traffic::ONE, None)]);
        assert_eq!(path_limit(&unknown, &none, Direction::Read), None);
        let (idle, some) = path(&[(Traffic { read: 0.0, write: 1.0 }, Some(1.0)), (Traffic::ONE, Some(2.0))]);
        let limit = path_limit(&idle, &some, Direction::Read).expect("known");
        assert_eq!((limit.limiting.hop, limit.next), (1, None));
    }

    proptest! {
        #[test]
        fn every_known_hop_is_ranked_once_and_narrowest_first(
            hops in prop::collection::vec((0.01f64..4.0, prop::option::of(1.0f64..10_000.0)), 0..12)
        ) {
            let hops: Vec<_> =
                hops.into_iter().map(|(share, rate)| (Traffic { read: share, write: share }, rate)).collect();
            let (path, ceilings) = path(&hops);
            let ranked = rank(&path, &ceilings, Direction::Read);
            prop_assert_eq!(ranked.len(), hops.iter().filter(|(_, rate)| rate.is_some()).count());
            prop_assert!(ranked.windows(2).all(|pair| pair[0].rate <= pair[1].rate));
        }
    }
}
