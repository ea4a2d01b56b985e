//! Many parts, one machine.
//!
//! A known fact stays before a missing one, and one of a higher [`Rank`] before one of a lower. Of two sources that are
//! believed alike the first stays, with one exception: two states of the same link. Links do not train better than they
//! can, so the worse state is what there is to explain, and the better one is kept beside it as proof
//! ([`PciDevice::best_link`](crate::machine::pci::PciDevice::best_link)).

mod bound;
mod fields;
mod fill;
mod link;
mod resolve;

use std::collections::BTreeSet;

use fill::{Fill, Than};

use super::{Captured, Gap, Part, Rank, Recognised};
use crate::machine::Machine;
use crate::machine::pci::PciAddress;

/// A machine that grows with each part that is added. Parts are united at once, so that thousands of them take no more
/// room than the machine that they describe.
#[derive(Debug, Default)]
pub struct Merger {
    /// What each rank says, from the lowest.
    ranks: [Machine; 4],
    texts: Vec<Recognised>,
    gaps: BTreeSet<Gap>,
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
            bound::bound(machine);
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
        let gaps = self.gaps.into_iter().filter(|gap| !is_closed(&machine, gap)).collect();
        machine.captured = Some(Captured { texts: self.texts, gaps });
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

/// Whether another text tells what one lacks: the link of the function that the gap names is known.
fn is_closed(machine: &Machine, gap: &Gap) -> bool {
    let named = gap.what.split([' ', ',', '`']).find_map(|word| word.parse::<PciAddress>().ok());
    let is_known = |address| {
        let link = &machine.pci.get(&address)?.link;
        link.current_speed.value().and(link.max_speed.value())?;
        link.current_width.value().and(link.max_width.value())
    };
    // A gap may be about anything; only those of link registers are understood here.
    gap.what.contains("link") && named.and_then(is_known).is_some()
}

// A rank is an index: the array has a place for each.
const _: () = assert!(Rank::Raw as usize == 3);

#[cfg(test)]
mod tests;
