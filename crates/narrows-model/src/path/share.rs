//! Which hops do several targets cross?

use std::collections::{BTreeMap, BTreeSet};

use super::{Hop, HopId, HopKind, Path};

/// Notes at every hop of every path the other targets whose data crosses it too.
///
/// A target that is a layer of the path (the disk below a file system), or that the path is a layer of, is no rival:
/// its data is the path's own. Of targets that are stacked on each other only the lowest is named. The application and
/// main memory, which everything crosses, are left out.
pub(super) fn fill(paths: &mut [Path]) {
    // Of very many paths each names some of the others: all names at all of them would grow with the square.
    let most = (1 << 15) / paths.len().max(1);
    let layers = layers(paths);
    let mut crossing: BTreeMap<HopId, BTreeSet<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        for hop in path.hops.iter().filter(|hop| is_shareable(hop)) {
            crossing.entry(hop.id.clone()).or_default().insert(at);
        }
    }
    let targets: Vec<String> = paths.iter().map(|path| path.target.clone()).collect();
    for (at, path) in paths.iter_mut().enumerate() {
        for hop in &mut path.hops {
            let others = crossing.get(&hop.id).into_iter().flatten().copied();
            let rivals: BTreeSet<usize> = others.filter(|other| is_rival(&layers, at, *other)).collect();
            let lowest = rivals.iter().filter(|rival| !stands_on_one_of(&layers, **rival, &rivals));
            hop.shared_with = lowest.filter_map(|rival| targets.get(*rival).cloned()).take(most).collect();
        }
    }
}

/// For each path, the paths to the same target and those whose target is one of its layers.
type Layers = Vec<Below>;

#[derive(Debug, Default)]
struct Below {
    same: BTreeSet<usize>,
    lower: BTreeSet<usize>,
}

fn layers(paths: &[Path]) -> Layers {
    let mut heads: BTreeMap<&HopId, BTreeSet<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        // The hop right below the application stands for the target itself.
        if let Some(head) = path.hops.get(1).filter(|hop| is_shareable(hop)) {
            heads.entry(&head.id).or_default().insert(at);
        }
    }
    let of = |hops: &[Hop]| hops.iter().filter_map(|hop| heads.get(&hop.id)).flatten().copied().collect();
    let below = |path: &Path| Below {
        same: of(path.hops.get(1..2).unwrap_or_default()),
        lower: of(path.hops.get(2..).unwrap_or_default()),
    };
    paths.iter().map(below).collect()
}

fn is_rival(layers: &Layers, path: usize, other: usize) -> bool {
    let stands_on =
        |upper: usize, lower: usize| layers.get(upper).is_some_and(|it| it.lower.contains(&lower));
    let is_same = layers.get(path).is_some_and(|it| it.same.contains(&other));
    path != other && !is_same && !stands_on(path, other) && !stands_on(other, path)
}

fn stands_on_one_of(layers: &Layers, target: usize, others: &BTreeSet<usize>) -> bool {
    layers.get(target).is_some_and(|below| !below.lower.is_disjoint(others))
}

fn is_shareable(hop: &Hop) -> bool {
    !matches!(hop.kind(), HopKind::Application | HopKind::Memory)
}
