//! The hops of one path as a graph, and how it becomes a list.
//!
//! A hop may be reached in several ways (four drives behind one switch). It is one node with several nodes above it,
//! and what crosses it is the sum of what comes from each, unless a byte takes only one of these ways. [`Graph::into_hops`] puts the nodes into an order that a
//! person can read from top to bottom:
//!
//! - a hop stands below everything that it is reached from;
//! - a branch is followed to the point where another branch joins before the next branch begins, so the hops of a
//!   member stand together;
//! - where all branches of an array have come together again, the list is indented as the array is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Hop, HopId, HopSpec, Traffic};
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

/// A place in a [`Graph`].
pub(super) type Node = usize;

/// The application, the first node of every graph.
pub(super) const APPLICATION: Node = 0;

/// A hop that is not in a graph yet.
#[derive(Debug)]
pub(super) struct NewHop {
    pub(super) id: HopId,
    pub(super) name: String,
    pub(super) spec: HopSpec,
}

impl NewHop {
    /// The hop of this spec, which its kind and `key` tell from all others of a machine.
    pub(super) fn new(key: impl fmt::Display, name: impl Into<String>, spec: HopSpec) -> Self {
        Self { id: HopId::new(spec.kind(), key), name: name.into(), spec }
    }
}

#[derive(Debug)]
struct GraphEntry {
    hop: NewHop,
    /// The nodes one step away from the application, and the fraction of this node's traffic that goes to each.
    below: Vec<(Node, Traffic)>,
    spread: Spread,
}

/// What the fractions of a node's branches mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Spread {
    /// Each branch gets its fraction at the same time as the others.
    #[default]
    Together,
    /// Each byte takes one of the branches, and which is not known beforehand: a fraction is the most that its branch
    /// may get, and where branches meet again there is no more than that of one.
    Either,
    /// Reads take one of the branches, writes all.
    ReadEither,
}

impl Spread {
    /// What crosses a node of which the branches carry `parts`.
    fn combine(self, parts: impl Iterator<Item = Traffic>) -> Traffic {
        parts.fold(Traffic::NONE, |so_far, part| {
            let sum = so_far.plus(part);
            let most = Traffic { read: so_far.read.max(part.read), write: so_far.write.max(part.write) };
            match self {
                Self::Together => sum,
                Self::Either => most,
                Self::ReadEither => Traffic { read: most.read, write: sum.write },
            }
        })
    }
}

/// What became of a hop that was put into a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joined {
    /// It is new: what lies below it is still to be put in.
    New(Node),
    /// It was there, with everything below it.
    Known(Node),
    /// It lies above itself, which only broken or hostile input can say; nothing was changed.
    Cycle,
}

impl Joined {
    /// The hop, when what lies below it is still to be put in.
    pub(super) fn new_node(self) -> Option<Node> {
        if let Self::New(node) = self { Some(node) } else { None }
    }
}

/// The hops of one path.
#[derive(Debug)]
pub(super) struct Graph {
    entries: Vec<GraphEntry>,
    index: BTreeMap<HopId, Node>,
    /// The steps, from a node to one below it, after which data goes the other way.
    turns: BTreeSet<(Node, Node)>,
}

impl Graph {
    /// A graph with the application alone.
    pub(super) fn new() -> Self {
        let mut graph = Self { entries: Vec::new(), index: BTreeMap::new(), turns: BTreeSet::new() };
        graph.insert(NewHop::new("program", "application", HopSpec::Application));
        graph
    }

    fn insert(&mut self, hop: NewHop) -> Node {
        let node = self.entries.len();
        self.index.insert(hop.id.clone(), node);
        self.entries.push(GraphEntry { hop, below: Vec::new(), spread: Spread::Together });
        node
    }

    /// Puts a hop below `above`, which hands `fraction` of its traffic to it. A hop that is there already keeps its
    /// name and gets the traffic in addition.
    pub(super) fn join(&mut self, above: Node, hop: NewHop, fraction: Traffic) -> Joined {
        if let Some(&node) = self.index.get(&hop.id) {
            if self.leads_to(node, above, None) {
                return Joined::Cycle;
            }
            self.connect(above, node, fraction);
            return Joined::Known(node);
        }
        let node = self.insert(hop);
        if let Some(entry) = self.entries.get_mut(above) {
            entry.below.push((node, fraction));
        }
        Joined::New(node)
    }

    /// Whether nothing has been put below `node` yet.
    fn is_open(&self, node: Node) -> bool {
        self.entries.get(node).is_some_and(|entry| entry.below.is_empty())
    }

    /// Says what the fractions of a node's branches mean.
    pub(super) fn set_spread(&mut self, node: Node, spread: Spread) {
        if let Some(entry) = self.entries.get_mut(node) {
            entry.spread = spread;
        }
    }

    /// Says that data goes the other way from `below` on: what comes up through `above` is sent down there, as a server
    /// sends out of its memory what a client reads.
    pub(super) fn turn(&mut self, above: Node, below: Node) {
        self.turns.insert((above, below));
    }

    /// Adds to the name of a hop.
    pub(super) fn extend_name(&mut self, node: Node, text: &str) {
        if let Some(entry) = self.entries.get_mut(node) {
            entry.hop.name.push_str(text);
        }
    }

    fn connect(&mut self, above: Node, node: Node, fraction: Traffic) {
        let Some(entry) = self.entries.get_mut(above) else { return };
        match entry.below.iter_mut().find(|(below, _)| *below == node) {
            Some((_, so_far)) => *so_far = so_far.plus(fraction),
            None => entry.below.push((node, fraction)),
        }
    }

    fn below(&self, node: Node) -> impl DoubleEndedIterator<Item = (Node, Traffic)> + '_ {
        self.entries.get(node).into_iter().flat_map(|entry| entry.below.iter().copied())
    }

    /// Whether a way leads down from `from` to `to` that does not touch `without`.
    fn leads_to(&self, from: Node, to: Node, without: Option<Node>) -> bool {
        let mut seen = BTreeSet::from([from]);
        let is_open = |node: Node| Some(node) != without;
        if from == to || !is_open(from) {
            return from == to && is_open(from);
        }
        // One way at a time: a cluster has thousands of branches, and the first mostly leads there.
        let mut ways = vec![self.below(from)];
        while let Some(way) = ways.last_mut() {
            match way.next_back() {
                None => drop(ways.pop()),
                Some((node, _)) if node == to && is_open(node) => return true,
                Some((node, _)) if is_open(node) && seen.insert(node) => ways.push(self.below(node)),
                Some(_) => {}
            }
        }
        false
    }

    /// Every node after all the nodes above it, branch by branch.
    fn order(&self) -> Vec<Node> {
        let mut missing = vec![0_usize; self.entries.len()];
        for (below, _) in (0..self.entries.len()).flat_map(|node| self.below(node)) {
            missing[below] += 1;
        }
        let mut order = Vec::with_capacity(self.entries.len());
        let mut ready = vec![APPLICATION];
        while let Some(node) = ready.pop() {
            order.push(node);
            for (below, _) in self.below(node).rev() {
                missing[below] -= 1;
                if missing[below] == 0 {
                    ready.push(below);
                }
            }
        }
        order
    }

    /// The hops from the application to main memory, where every branch ends.
    pub(super) fn into_hops(mut self, memory: Fact<Bytes>) -> Vec<Hop> {
        let ends: Vec<Node> = (0..self.entries.len()).filter(|node| self.is_open(*node)).collect();
        let memory = self.insert(NewHop::new("ram", "main memory", HopSpec::Memory(memory)));
        for end in ends {
            self.connect(end, memory, Traffic::ONE);
        }
        let order = self.order();
        let layout = self.layout(&order, memory);
        let ids: Vec<HopId> = self.entries.iter().map(|entry| entry.hop.id.clone()).collect();
        let mut entries: Vec<Option<GraphEntry>> = self.entries.into_iter().map(Some).collect();
        order
            .iter()
            .filter_map(|node| {
                let GraphEntry { hop: NewHop { id, name, spec }, below, .. } =
                    entries.get_mut(*node)?.take()?;
                let place = layout.get(*node)?;
                Some(Hop {
                    id,
                    name,
                    spec,
                    traffic: place.traffic,
                    against: place.against,
                    depth: place.depth,
                    above: place.above.and_then(|above| ids.get(above).cloned()),
                    below: below.iter().filter_map(|(below, _)| ids.get(*below).cloned()).collect(),
                    shared_with: Vec::new(),
                })
            })
            .collect()
    }

    /// Where each node stands: its traffic, its indentation and the hop above it.
    fn layout(&self, order: &[Node], memory: Node) -> Vec<GraphPlace> {
        let mut places = vec![GraphPlace::default(); self.entries.len()];
        let mut rank = vec![0; self.entries.len()];
        for (at, node) in order.iter().enumerate() {
            rank[*node] = at;
        }
        let above = self.above();
        for &node in order {
            if let Some(above) = places[node].above {
                let branches = self.below(above).count() > 1;
                let is_branch = branches && self.leads_to(above, memory, Some(node));
                places[node].depth = places[above].depth + usize::from(is_branch);
            }
            let [with, against] = self.traffic(&above, &rank, node);
            places[node].traffic = with;
            places[node].against = against;
            for (below, _) in self.below(node) {
                let above = places[below].above;
                let meeting = above.map_or(node, |other| meet(&places, &rank, other, node));
                places[below].above = Some(meeting);
            }
        }
        places
    }

    /// The nodes right above each.
    fn above(&self) -> Vec<Vec<(Node, Traffic)>> {
        let mut above = vec![Vec::new(); self.entries.len()];
        for node in 0..self.entries.len() {
            for (below, fraction) in self.below(node) {
                above[below].push((node, fraction));
            }
        }
        above
    }

    /// What crosses `wanted` for one byte of the application, and the part of it that comes over an odd number of turns: worked
    /// out from `wanted` up, for each node above it what of that node's traffic arrives, in both directions together and in the
    /// other one. Nodes that do not lead to it are not looked at: there are as many as drives.
    fn traffic(&self, above: &[Vec<(Node, Traffic)>], rank: &[usize], wanted: Node) -> [Traffic; 2] {
        // By rank, lowest in the list first: all that a node hands on is known when it is taken.
        let mut parts: BTreeMap<usize, (Node, Vec<[Traffic; 3]>)> = BTreeMap::new();
        parts.insert(rank[wanted], (wanted, Vec::new()));
        while let Some((_, (node, from_below))) = parts.pop_last() {
            let arrives = match node == wanted {
                true => [Traffic::ONE, Traffic::ONE, Traffic::NONE],
                false => [0, 1, 2].map(|which| {
                    self.entries[node]
                        .spread
                        .combine(from_below.iter().map(|part: &[Traffic; 3]| part[which]))
                }),
            };
            if node == APPLICATION {
                return [arrives[0], arrives[2]];
            }
            for &(up, fraction) in &above[node] {
                let [all, straight, turned] = arrives.map(|traffic| traffic.times(fraction));
                let is_turn = !self.turns.is_empty() && self.turns.contains(&(up, node));
                let part = if is_turn { [all, turned, straight] } else { [all, straight, turned] };
                parts.entry(rank[up]).or_insert_with(|| (up, Vec::new())).1.push(part);
            }
        }
        [Traffic::NONE; 2]
    }
}

/// What [`Graph::layout`] finds out of a node.
#[derive(Debug, Clone, Copy, Default)]
struct GraphPlace {
    traffic: Traffic,
    against: Traffic,
    depth: usize,
    /// The node above; where branches join, the nearest node that all of them come from (its immediate dominator).
    above: Option<Node>,
}

/// The nearest node from which both come (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001).
fn meet(places: &[GraphPlace], rank: &[usize], mut a: Node, mut b: Node) -> Node {
    while a != b {
        let lower = if rank[a] > rank[b] { &mut a } else { &mut b };
        match places[*lower].above {
            Some(above) => *lower = above,
            None => return APPLICATION,
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::HopKind;
    use proptest::prelude::*;

    fn put(graph: &mut Graph, above: Node, name: &str, fraction: Traffic) -> Joined {
        let spec = HopSpec::Controller(crate::path::ControllerHop::default());
        graph.join(above, NewHop::new(name, name, spec), fraction)
    }

    fn new(joined: Joined) -> Node {
        match joined {
            Joined::New(node) => node,
            other => panic!("not new: {other:?}"),
        }
    }

    fn shown(graph: Graph) -> Vec<String> {
        graph
            .into_hops(Fact::default())
            .iter()
            .map(|hop| {
                format!("{}{} {} {}", "  ".repeat(hop.depth), hop.name, hop.traffic.read, hop.traffic.write)
            })
            .collect()
    }

    #[test]
    fn members_stand_together_and_what_they_share_stands_once_below_them() {
        let mut graph = Graph::new();
        let array = new(put(&mut graph, APPLICATION, "mirror", Traffic::ONE));
        for member in ["a", "b"] {
            let half = Traffic { read: 0.5, write: 1.0 };
            let drive = new(put(&mut graph, array, member, half));
            let link = new(put(&mut graph, drive, &format!("link {member}"), Traffic::ONE));
            put(&mut graph, link, "switch", Traffic::ONE);
        }
        assert_eq!(
            shown(graph),
            [
                "application 1 1",
                "mirror 1 1",
                "  a 0.5 1",
                "  link a 0.5 1",
                "  b 0.5 1",
                "  link b 0.5 1",
                "switch 1 2",
                "main memory 1 2",
            ]
        );
    }

    #[test]
    fn a_switch_that_only_some_members_share_stays_among_the_members() {
        let mut graph = Graph::new();
        let array = new(put(&mut graph, APPLICATION, "stripe", Traffic::ONE));
        for (member, below) in [("a", "switch"), ("b", "switch"), ("c", "port")] {
            let drive = new(put(&mut graph, array, member, Traffic::both(0.25)));
            put(&mut graph, drive, below, Traffic::ONE);
        }
        let hops = graph.into_hops(Fact::default());
        let shown: Vec<_> = hops.iter().map(|hop| (hop.name.as_str(), hop.depth, hop.traffic.read)).collect();
        assert_eq!(
            shown,
            [
                ("application", 0, 1.0),
                ("stripe", 0, 1.0),
                ("a", 1, 0.25),
                ("b", 1, 0.25),
                ("switch", 1, 0.5),
                ("c", 1, 0.25),
                ("port", 1, 0.25),
                ("main memory", 0, 0.75),
            ]
        );
        assert_eq!(hops[4].above.as_ref().map(HopId::as_str), Some("controller:stripe"));
        assert_eq!(hops[6].above.as_ref().map(HopId::as_str), Some("controller:c"));
    }

    #[test]
    fn a_device_that_lies_below_itself_is_refused() {
        let mut graph = Graph::new();
        let a = new(put(&mut graph, APPLICATION, "a", Traffic::ONE));
        let b = new(put(&mut graph, a, "b", Traffic::ONE));
        assert_eq!(put(&mut graph, b, "a", Traffic::ONE), Joined::Cycle);
        assert_eq!(put(&mut graph, b, "b", Traffic::ONE), Joined::Cycle);
        assert_eq!(shown(graph), ["application 1 1", "a 1 1", "b 1 1", "main memory 1 1"]);
    }

    #[test]
    fn where_each_byte_takes_one_of_two_ways_they_share_no_more_than_one_way_carries() {
        for (spread, want) in [
            (Spread::Together, Traffic::both(2.0)),
            (Spread::Either, Traffic::ONE),
            (Spread::ReadEither, Traffic { read: 1.0, write: 2.0 }),
        ] {
            let mut graph = Graph::new();
            let volume = new(put(&mut graph, APPLICATION, "volume", Traffic::ONE));
            graph.set_spread(volume, spread);
            for member in ["a", "b"] {
                let drive = new(put(&mut graph, volume, member, Traffic::ONE));
                put(&mut graph, drive, "switch", Traffic::ONE);
            }
            let hops = graph.into_hops(Fact::default());
            let traffic: Vec<Traffic> = hops.iter().map(|hop| hop.traffic).collect();
            let one = Traffic::ONE;
            assert_eq!(traffic, [one, one, one, one, want, want], "{spread:?}");
        }
    }

    #[test]
    fn two_partitions_of_one_disk_add_up() {
        let mut graph = Graph::new();
        let array = new(put(&mut graph, APPLICATION, "stripe", Traffic::ONE));
        put(&mut graph, array, "disk", Traffic::both(0.5));
        put(&mut graph, array, "disk", Traffic::both(0.5));
        assert_eq!(shown(graph), ["application 1 1", "stripe 1 1", "disk 1 1", "main memory 1 1"]);
    }

    proptest! {
        /// Whatever is joined to whatever, every hop is listed once, below all it is reached from, and as many bytes
        /// arrive in memory as leave the application when every node spreads its traffic without copies.
        #[test]
        fn any_graph_is_listed_whole_and_loses_no_byte(edges in proptest::collection::vec((0usize..12, 0usize..12), 0..60)) {
            let mut graph = Graph::new();
            let mut made: Vec<Node> = vec![APPLICATION];
            for (from, to) in edges {
                let above = made[from % made.len()];
                if let Joined::New(node) = put(&mut graph, above, &to.to_string(), Traffic::ONE) {
                    made.push(node);
                }
            }
            for entry in &mut graph.entries {
                let share = 1.0 / entry.below.len().max(1) as f64;
                entry.below.iter_mut().for_each(|(_, fraction)| *fraction = Traffic::both(share));
            }
            let hops = graph.into_hops(Fact::default());
            prop_assert_eq!(hops.len(), made.len() + 1);
            prop_assert_eq!(hops.last().map(Hop::kind), Some(HopKind::Memory));
            let arrived = hops.last().map_or(0.0, |hop| hop.traffic.read);
            prop_assert!((arrived - 1.0).abs() < 1e-9, "{} arrived", arrived);
            for (at, hop) in hops.iter().enumerate() {
                let above = hop.above.as_ref().map(|id| hops.iter().position(|other| other.id == *id));
                prop_assert!(at == 0 || above.flatten().is_some_and(|above| above < at));
            }
        }
    }
}
