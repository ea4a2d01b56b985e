//! Ranks the hops of a path by what they let through.

use super::{Ceilings, Direction};
use crate::path::Path;
use narrows_base::units::BytesPerSec;

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
            against: crate::path::Traffic::NONE,
            below: Vec::new(),
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
        let of = |direction| {
            let ranked = rank(&path, &ceilings, direction);
            ranked.iter().map(|narrow| (narrow.hop, narrow.rate.get() / 1e6)).collect::<Vec<_>>()
        };
        assert_eq!(of(Direction::Read), [(1, 3592.0), (2, 6000.0), (3, 6000.0)]);
        assert_eq!(of(Direction::Write), [(1, 1796.0), (2, 3000.0), (3, 3000.0)]);
    }

    #[test]
    fn a_path_without_known_ceilings_has_no_limit_and_idle_hops_do_not_count() {
        let (unknown, none) = path(&[(Traffic::ONE, None)]);
        assert_eq!(rank(&unknown, &none, Direction::Read), []);
        let (idle, some) = path(&[(Traffic { read: 0.0, write: 1.0 }, Some(1.0)), (Traffic::ONE, Some(2.0))]);
        let ranked = rank(&idle, &some, Direction::Read);
        assert_eq!(ranked.iter().map(|narrow| narrow.hop).collect::<Vec<_>>(), [1]);
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
