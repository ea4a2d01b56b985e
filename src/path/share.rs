//! Which hops do several targets cross?

use std::collections::BTreeMap;

use super::{Hop, HopId, HopKind, Path};

/// Notes at every hop of every path the other targets whose data crosses it too.
///
/// A target that is a layer of the path (the disk below a file system), or that the path is a layer of, is no rival:
/// its data is the path's own. The application and main memory, which everything crosses, are left out.
pub(super) fn fill(paths: &mut [Path]) {
    let heads: Vec<Option<HopId>> = paths.iter().map(|path| head(path).map(|hop| hop.id.clone())).collect();
    let mut crossing: BTreeMap<HopId, Vec<usize>> = BTreeMap::new();
    for (at, path) in paths.iter().enumerate() {
        for hop in path.hops.iter().filter(|hop| is_shareable(hop)) {
            crossing.entry(hop.id.clone()).or_default().push(at);
        }
    }
    crossing.retain(|_, paths| paths.len() > 1);
    let targets: Vec<String> = paths.iter().map(|path| path.target.clone()).collect();
    for at in 0..paths.len() {
        let rivals: Vec<bool> = (0..paths.len())
            .map(|other| {
                other != at && !is_layer(paths, &heads, at, other) && !is_layer(paths, &heads, other, at)
            })
            .collect();
        let Some(path) = paths.get_mut(at) else { continue };
        for hop in &mut path.hops {
            let others = crossing.get(&hop.id).into_iter().flatten();
            hop.shared_with = others
                .filter(|other| rivals.get(**other).copied().unwrap_or(false))
                .filter_map(|other| targets.get(*other).cloned())
                .collect();
        }
    }
}

/// The hop that stands for the target itself, right below the application.
fn head(path: &Path) -> Option<&Hop> {
    path.hops.get(1).filter(|hop| is_shareable(hop))
}

/// Whether the target of `lower` is a hop of `upper`.
fn is_layer(paths: &[Path], heads: &[Option<HopId>], lower: usize, upper: usize) -> bool {
    let head = heads.get(lower).and_then(Option::as_ref);
    let upper = paths.get(upper);
    head.zip(upper).is_some_and(|(head, upper)| upper.hop(head).is_some())
}

fn is_shareable(hop: &Hop) -> bool {
    !matches!(hop.kind(), HopKind::Application | HopKind::Memory)
}
