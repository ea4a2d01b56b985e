//! The best placement of all wishes, and the proof that there is none better.
//!
//! Branch and bound over slots. Devices that are equal are one class with a count, so no two orders of the same devices
//! are looked at. Where the use of a slot takes lanes from another, every pattern of such uses is searched by itself, and
//! in it slots share nothing but the uplink of the chipset. A table of `bound` holds the best that the remaining slots
//! can do with the remaining devices; apart from that uplink and from what crosses sockets it is exact, so that the search
//! goes straight to the optimum and cuts all else off. Two ways to reach the same remaining devices with the same shared
//! loads are compared once (`walk`).
//!
//! Optimal means: no placement of these devices into these slots, with these cards and the rules of the board as
//! [`narrows_base::catalog`] has them, has a better [`Score`] in the order that was preferred.

mod bound;
mod score;
pub(super) mod sums;
mod walk;

#[cfg(test)]
mod brute;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use score::{Component, Prefer, Score};

use super::problem::{Choice, Class, Problem};
use super::site::Site;
use super::wish::Wish;

/// Which cards may be bought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Cards with a PCIe switch.
    pub switches: bool,
    /// Cards of wires for several drives, in slots that the firmware splits.
    pub splitting: bool,
    /// What cards cost, by their names in the catalogue, in hundredths of the user's currency. Cards without a price are not
    /// bought then; `None` where nobody said what any costs.
    pub prices: Option<BTreeMap<String, u64>>,
}

impl Parts {
    /// Whether a card may be bought as far as its price goes.
    pub(super) fn has_price(&self, card: &str) -> bool {
        self.prices.as_ref().is_none_or(|prices| prices.contains_key(card))
    }

    /// What a card costs; 0 where nobody said what any costs.
    pub fn price(&self, card: &str) -> u64 {
        self.prices.as_ref().and_then(|prices| prices.get(card)).copied().unwrap_or(0)
    }
}

impl Default for Parts {
    fn default() -> Self {
        Self { switches: true, splitting: true, prices: None }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// What is wanted.
    pub wishes: Vec<Wish>,
    /// What counts most.
    pub prefer: Prefer,
    /// At most so many slots for cards may be used.
    pub max_slots: Option<u8>,
    /// Which cards may be bought.
    pub parts: Parts,
}

/// A slot with what is put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seated {
    /// The slot, as a place in [`Site::slots`].
    pub slot: usize,
    pub(super) choice: Choice,
    /// The devices: which class, and how many of it.
    pub(super) devices: Vec<(usize, u8)>,
}

/// Where everything goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The slots that are used, in the order of the site.
    pub seated: Vec<Seated>,
    /// How good that is.
    pub score: Score,
}

/// How far a search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Whether every placement was looked at or cut off: then the best one is optimal.
    pub complete: bool,
    /// No placement has a better score than this.
    pub bound: Option<Score>,
    /// How many partial placements were looked at.
    pub nodes: u64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best placement and the next best with another score; none when the wishes cannot all be placed.
    pub placements: Vec<Placement>,
    /// Whether the first is the best.
    pub proof: Proof,
    /// Whether the other is the next best.
    pub others: Proof,
    pub(super) classes: Vec<Class>,
}

/// How many partial placements are looked at for the best one, and for the next.
const NODES: u64 = 100_000;
const NODES_FOR_NEXT: u64 = 20_000;

/// The best placement of all wishes, and the next best with another score.
pub fn search(site: &Site, request: &Request) -> Found {
    let mut found = best(site, request);
    if let Some(first) = found.placements.first().map(|first| first.score) {
        let (next, proof) = run(&Problem::new(site, request), request.prefer, Some(first), NODES_FOR_NEXT);
        found.placements.extend(next);
        found.others = proof;
    }
    found
}

/// The best placement alone: for comparisons, where the next best is of no interest.
pub fn best(site: &Site, request: &Request) -> Found {
    let problem = Problem::new(site, request);
    let (placement, proof) = run(&problem, request.prefer, None, NODES);
    let others = Proof { complete: true, bound: None, nodes: 0 };
    Found { placements: placement.into_iter().collect(), proof, others, classes: problem.classes }
}

/// The best placement that is worse than `below`.
fn run(
    problem: &Problem<'_>,
    prefer: Prefer,
    below: Option<Score>,
    nodes: u64,
) -> (Option<Placement>, Proof) {
    let mut walk = walk::Walk::new(problem, prefer, below, nodes);
    for sockets in assignments(problem) {
        walk.search(&sockets);
    }
    walk.finish()
}

/// For each class the socket that it must be on: every way to give each group one socket.
fn assignments(problem: &Problem<'_>) -> Vec<Vec<Option<u8>>> {
    let groups: BTreeSet<&String> =
        problem.classes.iter().filter_map(|class| class.wish.group.as_ref()).collect();
    let mut ways: Vec<Vec<Option<u8>>> = vec![vec![None; problem.classes.len()]];
    for group in groups {
        ways = ways
            .iter()
            .flat_map(|way| {
                (0..problem.site.sockets).map(|socket| {
                    let own = |class: &Class| class.wish.group.as_ref() == Some(group);
                    way.iter()
                        .zip(&problem.classes)
                        .map(|(known, class)| if own(class) { Some(socket) } else { *known })
                        .collect()
                })
            })
            .collect();
    }
    ways
}
