//! Many parts, one machine.
//!
//! A known fact stays before a missing one, and one of a higher [`Rank`] before one of a lower. Of two sources that are
//! believed alike the first stays, with one exception: two states of the same link. Links do not train better than they
//! can, so the worse state is what there is to explain, and the better one is kept beside it as proof
//! ([`PciDevice::best_link`](narrows_machine::pci::PciDevice::best_link)).

mod bound;
mod fields;
mod fill;
mod link;
mod resolve;

use std::collections::BTreeSet;

pub(super) use bound::MOST_OF_A_KIND;
use fill::{Fill, Than};

use super::{Captured, Gap, Part, Rank, Recognised, gap};
use narrows_machine::Machine;

/// A machine that grows with each part that is added. Parts are united at once, so that thousands of them take no more
/// room than the machine that they describe.
#[derive(Debug, Default)]
pub struct Merger {
    /// What each rank says, from the lowest.
    ranks: [Machine; 4],
    texts: Vec<Recognised>,
    gaps: BTreeSet<Gap>,
    /// Whether more was told of than any machine has, and left out.
    pub(super) is_cut: bool,
}

impl Merger {
    /// Adds what a reader found in the text that is called `name`.
    pub fn add(&mut self, name: &str, part: Part) {
        if let Some(kind) = part.kind {
            self.note(name, kind);
        }
        self.gaps.extend(part.gaps);
        if let Some(machine) = self.ranks.get_mut(part.rank as usize) {
            machine.fill(part.machine, Than::Same);
            self.is_cut |= bound::bound(machine);
        }
    }

    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The machine that all parts describe.
    pub fn finish(self) -> Machine {
        let mut machine = Machine::default();
        // From the highest rank down: what is known already stays.
        for lower in self.ranks.into_iter().rev() {
            machine.fill(lower, Than::Less);
        }
        resolve::unnamed_twins(&mut machine.pci);
        resolve::parents(&mut machine.pci);
        resolve::only_nvme(&mut machine);
        super::join::join(&mut machine);
        let mut captured = Captured { texts: self.texts, gaps: Vec::new() };
        let left = self
            .gaps
            .into_iter()
            .filter_map(|gap| gap::left(gap, &machine, |source| captured.is_past(source)));
        // Two texts may lack the same.
        let left: BTreeSet<Gap> = left.collect();
        captured.gaps = left.into_iter().collect();
        machine.captured = Some(captured);
        machine
    }

    fn note(&mut self, name: &str, kind: &'static str) {
        match self.texts.last_mut().filter(|text| text.name == name) {
            Some(text) if text.kinds.contains(&kind) => {}
            Some(text) => text.kinds.push(kind),
            None => self.texts.push(Recognised { name: name.to_owned(), kinds: vec![kind] }),
        }
    }
}

/// Puts parts together.
pub fn merge(parts: Vec<Part>) -> Machine {
    let mut merger = Merger::default();
    for part in parts {
        merger.add("", part);
    }
    merger.finish()
}

// A rank is an index: the array has a place for each.
const _: () = assert!(Rank::Raw as usize == 3);

#[cfg(test)]
mod tests;
