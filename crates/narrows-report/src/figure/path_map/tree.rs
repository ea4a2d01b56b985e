//! From the hops of paths to a tree that can be drawn: the application at its root, then what many drives share, last the media.
//!
//! A path lists what a byte crosses: software, the medium, then links up to main memory. A map turns the second half round, so that
//! a shared hop stands once before all that cross it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, State};
use crate::view::{HopView, PathView};
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;

/// One thing to draw: a lane, or a box with the names of hops that move no bytes of their own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// Its hops, in the order from the application.
    pub items: Vec<usize>,
    /// What is drawn behind it, away from the application.
    pub children: Vec<usize>,
    /// Nodes beside the one above it from which its bytes come, too.
    pub also_from: Vec<usize>,
}

/// All that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub items: Vec<Item>,
    pub nodes: Vec<Node>,
    pub root: usize,
    /// The rate that is drawn as wide as a lane can be, where another map sets it.
    pub most: Option<f64>,
}

/// The hops of all paths, each once, and which of them stand next to each other.
struct Joined<'a> {
    hops: Vec<&'a HopView>,
    below: Vec<BTreeSet<usize>>,
}

impl<'a> Joined<'a> {
    fn new(paths: &[&'a PathView]) -> Self {
        let mut joined = Self { hops: Vec::new(), below: Vec::new() };
        let mut index: BTreeMap<&str, usize> = BTreeMap::new();
        for path in paths {
            for hop in &path.hops {
                index.entry(&hop.id).or_insert_with(|| {
                    joined.hops.push(hop);
                    joined.below.push(BTreeSet::new());
                    joined.hops.len() - 1
                });
            }
            for hop in &path.hops {
                let Some(&above) = index.get(hop.id.as_str()) else { continue };
                let below = hop.below.iter().filter_map(|id| index.get(id.as_str()).copied());
                joined.below[above].extend(below.filter(|below| *below != above));
            }
        }
        joined
    }

    /// All that can be reached from `from`, itself left out.
    fn reach(&self, from: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for &next in &self.below[at] {
                if seen.insert(next) {
                    open.push(next);
                }
            }
        }
        seen
    }
}

/// Whether a hop leads towards main memory rather than to a member.
const fn is_link(kind: HopKind) -> bool {
    matches!(
        kind,
        HopKind::Link
            | HopKind::Switch
            | HopKind::Chipset
            | HopKind::Socket
            | HopKind::Hba
            | HopKind::Memory
            | HopKind::Sata
            | HopKind::Sas
            | HopKind::Usb
            | HopKind::Network
    )
}

const fn is_medium(kind: HopKind) -> bool {
    matches!(kind, HopKind::Device | HopKind::Remote)
}

/// The tree of these paths. Of one path all is drawn; of several the hardware, with the targets at each medium.
pub fn grow(paths: &[&PathView], direction: Direction) -> Tree {
    let joined = Joined::new(paths);
    let reach: Vec<BTreeSet<usize>> = (0..joined.hops.len()).map(|at| joined.reach(at)).collect();
    let kind = |at: usize| joined.hops[at].kind;
    let media_below =
        |at: usize| reach[at].iter().copied().filter(|to| is_medium(kind(*to))).collect::<BTreeSet<_>>();
    let media: BTreeSet<usize> =
        (0..joined.hops.len()).filter(|at| is_medium(kind(*at)) && media_below(*at).is_empty()).collect();
    // A path without a medium, as that of a network card, ends where hardware begins.
    let is_software = |at: usize| match media.is_empty() {
        true => !is_link(kind(at)),
        false => !media.contains(&at) && !media_below(at).is_empty(),
    };
    let (software, hardware): (Vec<usize>, Vec<usize>) =
        (0..joined.hops.len()).partition(|at| is_software(*at));
    let (trunk, members) = match paths {
        [_] => software.into_iter().partition(|at| media_below(*at).len() == media.len()),
        _ => (software.into_iter().filter(|at| kind(*at) == HopKind::Application).collect(), Vec::new()),
    };
    let is_hardware: BTreeSet<usize> = hardware.iter().copied().collect();
    // A loop, which only a file that somebody made can hold, is cut open.
    let leads =
        |at: usize, to: usize| is_hardware.contains(&to) && !media.contains(&to) && !reach[to].contains(&at);
    let next = |at: usize| joined.below[at].iter().copied().filter(|to| leads(at, *to)).collect();
    let parents = hardware.iter().map(|at| (*at, next(*at))).collect();
    let mut plan = TreePlan { trunk, parents, media_of: BTreeMap::new() };
    for &at in &hardware {
        let carried = media.iter().copied().filter(|medium| *medium == at || reach[*medium].contains(&at));
        plan.media_of.insert(at, carried.collect());
    }
    for member in members {
        plan.insert(member, &media_below(member));
    }
    plan.tree(joined.hops.iter().map(|hop| Item::new(hop, paths, direction)).collect())
}

/// What stands where, before it is a tree.
struct TreePlan {
    trunk: Vec<usize>,
    /// The hop of hardware next to each one, nearer to main memory; more than one where bytes may take several.
    parents: BTreeMap<usize, Vec<usize>>,
    media_of: BTreeMap<usize, BTreeSet<usize>>,
}

impl TreePlan {
    /// Puts software that some media alone are below before the hop that all of them, and no others, cross; where there is none, into
    /// the trunk.
    fn insert(&mut self, member: usize, media: &BTreeSet<usize>) {
        let Some(mut top) = media.first().copied() else { return self.trunk.push(member) };
        // No path is longer than there are hops.
        for _ in 0..self.parents.len() {
            let up = self.parents.get(&top).and_then(|up| up.first()).copied();
            let Some(up) = up.filter(|up| self.media_of.get(up).is_some_and(|all| all.is_subset(media)))
            else {
                break;
            };
            top = up;
        }
        if self.media_of.get(&top) != Some(media) {
            return self.trunk.push(member);
        }
        let up = self.parents.insert(top, vec![member]).unwrap_or_default();
        self.parents.insert(member, up);
        self.media_of.insert(member, media.clone());
    }

    fn tree(&self, items: Vec<Item>) -> Tree {
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let end = self.trunk.last().copied().unwrap_or(0);
        for pair in self.trunk.windows(2) {
            children.entry(pair[0]).or_default().push(pair[1]);
        }
        for (&at, up) in &self.parents {
            let up = up.first().copied().unwrap_or(end);
            if up != at {
                children.entry(up).or_default().push(at);
            }
        }
        let mut tree = Tree { items, nodes: Vec::new(), root: 0, most: None };
        let first = self.trunk.first().copied().unwrap_or(end);
        tree.root = self.put(&mut tree, &children, first, &mut BTreeSet::new());
        self.join_others(&mut tree);
        tree
    }

    /// Puts a hop and all behind it; hops that pass on what others allow come into one box, or are left out where they say nothing.
    fn put(
        &self,
        tree: &mut Tree,
        children: &BTreeMap<usize, Vec<usize>>,
        first: usize,
        seen: &mut BTreeSet<usize>,
    ) -> usize {
        let mut shown = Vec::new();
        let mut at = first;
        let behind = loop {
            seen.insert(at);
            let behind = children.get(&at).into_iter().flatten().copied();
            let behind: Vec<usize> = behind.filter(|next| !seen.contains(next)).collect();
            let item = &tree.items[at];
            let is_box = item.state == State::Passes;
            let says_nothing = matches!(item.kind, HopKind::BlockQueue | HopKind::Controller);
            if !is_box || !says_nothing || behind.len() > 1 {
                shown.push(at);
            }
            match behind.as_slice() {
                // The next one comes into the same box; a lane is never in one, and its box ends before it.
                [next] if is_box && tree.items[*next].state == State::Passes => at = *next,
                [next] if is_box && shown.is_empty() => at = *next,
                _ => break behind,
            }
        };
        let children_of = behind.into_iter().map(|next| self.put(tree, children, next, seen)).collect();
        tree.nodes.push(Node { items: shown, children: children_of, also_from: Vec::new() });
        tree.nodes.len() - 1
    }

    /// Says of each node which others its bytes come from, too.
    fn join_others(&self, tree: &mut Tree) {
        let nodes = tree.nodes.iter().enumerate();
        let node_of = nodes.flat_map(|(node, it)| it.items.iter().map(move |item| (*item, node)));
        let node_of: BTreeMap<usize, usize> = node_of.collect();
        for (at, up) in &self.parents {
            let Some(&node) = node_of.get(at) else { continue };
            for other in up.iter().skip(1).filter_map(|other| node_of.get(other)) {
                if !tree.nodes[node].also_from.contains(other) && *other != node {
                    tree.nodes[node].also_from.push(*other);
                }
            }
        }
    }
}
