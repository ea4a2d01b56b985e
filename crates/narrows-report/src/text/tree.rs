//! The branches drawn before the names of hops: members of an array fan out and come together again.

use crate::view::HopView;

/// What is drawn before the name of a hop.
pub(super) struct Branch {
    /// Before its first line.
    pub(super) first: String,
    /// Before the lines that it goes on in.
    pub(super) rest: String,
}

/// The branches before each hop's name, in order.
pub(super) fn branches(hops: &[HopView]) -> Vec<Branch> {
    hops.iter().enumerate().map(|(index, _)| branch(hops, index)).collect()
}

fn branch(hops: &[HopView], index: usize) -> Branch {
    let [fork, last, pipe, gap] = ["├─ ", "└─ ", "│  ", "   "];
    let depth = hops.get(index).map_or(0, |hop| hop.depth);
    let (mut first, mut rest) = (String::new(), String::new());
    for level in 1..=depth.min(MOST_LEVELS) {
        let more = has_sibling_after(hops, index, level);
        let below = if more { pipe } else { gap };
        rest.push_str(below);
        first.push_str(match (level == depth && starts_branch(hops, index), more) {
            (true, true) => fork,
            (true, false) => last,
            (false, _) => below,
        });
    }
    Branch { first, rest }
}

/// Stacks deeper than this are drawn no deeper.
const MOST_LEVELS: usize = 8;

/// Whether the hop is the first of a branch rather than a link of the chain before it.
fn starts_branch(hops: &[HopView], index: usize) -> bool {
    let (Some(hop), Some(before)) = (hops.get(index), index.checked_sub(1).and_then(|i| hops.get(i))) else {
        return true;
    };
    hop.depth > before.depth || hop.above.as_deref() != Some(before.id.as_str())
}

/// Whether another branch at `level` follows before the tree is left at that level.
fn has_sibling_after(hops: &[HopView], index: usize, level: usize) -> bool {
    hops.iter()
        .enumerate()
        .skip(index + 1)
        .take_while(|(_, hop)| hop.depth >= level)
        .any(|(at, hop)| hop.depth == level && starts_branch(hops, at))
}
