//! Puts the hops of one path together.

use super::climb;
use super::graph::{Graph, Joined, Node, Spread};
use super::lookup::Published;
use super::{Hop, HopId, HopSpec, Traffic};
use narrows_machine::Machine;
use narrows_machine::pci::PciAddress;

/// No more block devices lie one on another: a file system on LVM on LUKS on an array of partitions has seven. What a
/// hostile capture piles up beyond that is left out.
const MOST_LAYERS: usize = 64;

/// A path that is being built.
pub(super) struct Builder<'m> {
    pub(super) machine: &'m Machine,
    pub(super) published: Published<'m>,
    /// The NUMA node of the processors that read.
    reader: Option<u32>,
    graph: Graph,
    /// The NUMA nodes of the functions that data comes from, each as often as it is met.
    nodes: Vec<u32>,
    /// Block devices that are still to be put in: below which hop, which, and the fraction that each gets.
    pending: Vec<(Node, String, Traffic)>,
}

impl<'m> Builder<'m> {
    pub(super) fn new(machine: &'m Machine, published: Published<'m>, reader: Option<u32>) -> Self {
        Self { machine, published, reader, graph: Graph::new(), nodes: Vec::new(), pending: Vec::new() }
    }

    /// Puts a hop below `above`, which hands `fraction` of its traffic to it. `Some` when what lies below it is still
    /// to be put in.
    pub(super) fn add(
        &mut self,
        above: Node,
        id: HopId,
        name: String,
        spec: HopSpec,
        fraction: Traffic,
    ) -> Option<Node> {
        match self.graph.join(above, name, id, spec, fraction) {
            Joined::New(node) => Some(node),
            Joined::Known(_) | Joined::Cycle => None,
        }
    }

    /// Like [`Builder::add`]; to the name of a hop that is there already, `more` is added.
    pub(super) fn add_or_extend(
        &mut self,
        above: Node,
        id: HopId,
        (name, more): (String, &str),
        spec: HopSpec,
        fraction: Traffic,
    ) -> Option<Node> {
        match self.graph.join(above, name, id, spec, fraction) {
            Joined::New(node) => Some(node),
            Joined::Known(node) => {
                self.graph.extend_name(node, more);
                None
            }
            Joined::Cycle => None,
        }
    }

    /// Puts a chain of hops below `above`, each carrying all of what the one before does. `Some` with the last of
    /// them when it is new.
    pub(super) fn chain(
        &mut self,
        above: Node,
        hops: impl IntoIterator<Item = (HopId, String, HopSpec)>,
    ) -> Option<Node> {
        hops.into_iter()
            .try_fold(above, |above, (id, name, spec)| self.add(above, id, name, spec, Traffic::ONE))
    }

    /// Puts the way from a PCI function to memory below `above`.
    pub(super) fn climb(&mut self, above: Node, address: PciAddress) {
        self.nodes.extend(climb::node(self.machine, address));
        let steps = climb::steps(self.machine, self.published, address, self.reader);
        self.chain(above, steps.into_iter().map(|step| (step.id, step.name, step.spec)));
    }

    /// Says what the fractions of a hop's branches mean.
    pub(super) fn set_spread(&mut self, node: Node, spread: Spread) {
        self.graph.set_spread(node, spread);
    }

    /// Puts a block device below `above`, later.
    pub(super) fn later(&mut self, above: Node, block: &str, fraction: Traffic) {
        self.pending.push((above, block.to_owned(), fraction));
    }

    /// Puts in all block devices that are still to be put in, and those that they are built on.
    pub(super) fn finish_blocks(&mut self) {
        // What was asked for first is put in first, so that members stand in their order.
        for _ in 0..MOST_LAYERS {
            for (above, block, fraction) in std::mem::take(&mut self.pending) {
                self.block(above, &block, fraction);
            }
        }
        self.pending.clear();
    }

    /// The node that most of the data comes from, the lowest of several; `None` when no function says where it is.
    pub(super) fn home(&self) -> Option<u32> {
        let count = |node: u32| self.nodes.iter().filter(|other| **other == node).count();
        self.nodes.iter().copied().max_by_key(|node| (count(*node), std::cmp::Reverse(*node)))
    }

    /// The hops, in order.
    pub(super) fn into_hops(self) -> Vec<Hop> {
        let memory = self.machine.cpus.memory.clone();
        self.graph.into_hops(memory)
    }
}
