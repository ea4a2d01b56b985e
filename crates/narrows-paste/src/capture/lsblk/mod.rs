//! `lsblk` in every form: the tree, lists, `-f`, `-P` pairs and `-J` JSON (util-linux `misc-utils/lsblk.c`).

mod fill;
mod json;
mod pairs;
mod row;
mod tree;

use super::{Part, Rank, Text};

/// Reads every output of `lsblk` in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part::default();
    let mut rows = Vec::new();
    if text.body().contains("NAME=\"") {
        rows.extend(pairs::rows(text));
    }
    if text.body().contains("\"blockdevices\"") {
        rows.extend(json::rows(text));
    }
    if text.body().contains("NAME") {
        rows.extend(tree::rows(text));
    }
    if rows.is_empty() {
        return part;
    }
    part.kind = Some("lsblk");
    part.rank = Rank::Summary;
    fill::fill(&mut part.machine, text, &rows);
    part
}

#[cfg(test)]
mod tests;
