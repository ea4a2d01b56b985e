//! `--why HOP`: where the numbers of a hop come from.

use std::collections::BTreeSet;

use super::names::Names;
use super::view::{CeilingView, CheckReport, HopView, MemoryView};
use crate::document::{Block, Blocks, Document, Pairs, Style, Tone};
use narrows_base::units::human;
use narrows_model::ceiling::Basis;
use narrows_model::path::HopKind;

/// A hop that the report does not have, or that is not named clearly enough.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownHop {
    /// Nothing is named so.
    #[error("no hop is named `{asked}`\nhint: the hops are {}", known.join(", "))]
    Absent {
        /// What was asked for.
        asked: String,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// Several are named so.
    #[error("`{asked}` could be any of {}\nhint: give one of these in full", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// The ids that begin so.
        candidates: Vec<String>,
    },
}

/// Explains the ceilings of a hop: formula, facts with their sources, and what they rest on. `asked` is a hop's id,
/// the beginning of just one id, or a kind of hop (then every hop of that kind is explained).
///
/// # Errors
/// [`UnknownHop`] when no hop, or more than one, is meant; it lists the ids to choose from.
pub fn explain(report: &CheckReport, asked: &str, style: &Style) -> Result<String, UnknownHop> {
    let mut out = Document::new("", asked, Some(&report.tool));
    for (number, id) in meant(report, asked)?.iter().enumerate() {
        if number > 0 {
            out.gap();
        }
        // A hop that several targets share has the same ceiling on each of their paths.
        if let Some((path, hop)) = report.paths.iter().find_map(|path| Some((path, path.hop(id)?))) {
            put_hop(&mut out, hop);
            if let Some(memory) = path.memory.as_ref().filter(|_| hop.kind == HopKind::Memory) {
                put_memory(&mut out, memory);
            }
        }
    }
    let mut text = out.text(style);
    if style.plain {
        Names::of(report).hide(&mut [&mut text]);
    }
    Ok(text)
}

fn meant(report: &CheckReport, asked: &str) -> Result<Vec<String>, UnknownHop> {
    let hops = || report.paths.iter().flat_map(|path| &path.hops);
    let ids = |wanted: &dyn Fn(&HopView) -> bool| -> Vec<String> {
        let mut seen = BTreeSet::new();
        hops().filter(|hop| wanted(hop) && seen.insert(&hop.id)).map(|hop| hop.id.clone()).collect()
    };
    let named = [ids(&|hop| hop.id == asked), ids(&|hop| hop.kind.to_string() == asked)];
    if let Some(found) = named.into_iter().find(|found| !found.is_empty()) {
        return Ok(found);
    }
    let asked = asked.to_owned();
    let candidates = ids(&|hop| !asked.is_empty() && hop.id.starts_with(&asked));
    match candidates.len() {
        0 => Err(UnknownHop::Absent { asked, known: ids(&|_| true) }),
        1 => Ok(candidates),
        _ => Err(UnknownHop::Ambiguous { asked, candidates }),
    }
}

fn put_hop(out: &mut Document, hop: &HopView) {
    out.heading(&hop.name);
    out.say(2, Tone::Faint, &hop.id);
    let mut pairs = Vec::new();
    if hop.ceiling.read == hop.ceiling.write {
        put_ceiling(&mut pairs, "ceiling", &hop.ceiling.read);
    } else {
        put_ceiling(&mut pairs, "read", &hop.ceiling.read);
        put_ceiling(&mut pairs, "write", &hop.ceiling.write);
    }
    if hop.traffic.read != 1.0 || hop.traffic.write != 1.0 {
        let [read, write] = [hop.traffic.read, hop.traffic.write].map(human::count);
        let each = "for each byte that the application reads";
        put(&mut pairs, "traffic", &format!("{each} {read} cross this hop, for each that it writes {write}"));
    }
    for (word, measured) in [("read", &hop.measured.read), ("write", &hop.measured.write)] {
        let Some(measured) = measured else { continue };
        let share = measured.utilisation.map(|share| format!(", {} of the ceiling", human::percent(share)));
        let doubt = if measured.trusted { "" } else { ", not trusted" };
        let (rate, share) = (human::rate_with_binary(measured.bytes_per_second), share.unwrap_or_default());
        put(&mut pairs, "measured", &format!("{word} {rate}{share}{doubt}"));
    }
    out.add(Block::Pairs(Pairs { margin: 2, width: 10, commands: false, pairs }));
}

/// What is claimed of main memory, and what crosses it of the first path.
fn put_memory(out: &mut Document, memory: &MemoryView) {
    let mut pairs = Vec::new();
    match &memory.claim {
        Some(claim) => {
            let [least, most] = claim.likely;
            put(&mut pairs, "claimed", &format!("at most {} = {}", claim.peak, claim.formula));
            let text = format!(
                "{least} to {most}, 60 to 85 % of it, if each module has a channel of its own; less if several share one"
            );
            put(&mut pairs, "likely", &text);
            put(&mut pairs, "from", &format!("SMBIOS ({}), a claim of the firmware", claim.source));
        }
        None => put(&mut pairs, "claimed", memory.reason.as_deref().unwrap_or("nothing")),
    }
    for (word, crossings) in [("direct", &memory.direct), ("buffered", &memory.buffered)] {
        let layers = crossings.layers.iter();
        let layers =
            layers.map(|it| format!("{} {} and {}", it.name, human::count(it.read), human::count(it.write)));
        let layers = layers.collect::<Vec<_>>().join(", ");
        let [read, write] = [crossings.read, crossings.write].map(human::count);
        let text =
            format!("each byte crosses it {read} times when read, {write} times when written ({layers})");
        put(&mut pairs, word, &text);
    }
    out.add(Block::Pairs(Pairs { margin: 2, width: 10, commands: false, pairs }));
}

fn put(pairs: &mut Vec<(String, String)>, label: &str, text: &str) {
    pairs.push((label.to_owned(), text.to_owned()));
}

fn put_ceiling(pairs: &mut Vec<(String, String)>, label: &str, ceiling: &CeilingView) {
    let Some(rate) = ceiling.bytes_per_second else {
        let word = if ceiling.transparent { "none of its own" } else { "unknown" };
        let reason = ceiling.reason.as_deref().unwrap_or("no reason is known");
        return put(pairs, label, &format!("{word}: {reason}"));
    };
    let mut text = human::rate_with_binary(rate);
    if let Some(raw) = ceiling.raw_bytes_per_second {
        text.push_str(&format!(", {raw} before packet overhead"));
    }
    if let Some(path) = ceiling.path_bytes_per_second.filter(|path| human::rate(*path) != human::rate(rate)) {
        text.push_str(&format!("; {path} for the application"));
    }
    let basis = ceiling.basis.map(|basis| match basis {
        Basis::Formula => "arithmetic on facts that were read on this machine",
        Basis::Spec => "a published number for this part",
        Basis::Measured => "a measurement made on this machine",
        Basis::Guess => "a guess, which a measurement should replace",
    });
    put(pairs, label, &text);
    ceiling.formula.iter().for_each(|formula| put(pairs, "formula", formula));
    basis.into_iter().for_each(|basis| put(pairs, "basis", basis));
    for fact in &ceiling.facts {
        put(pairs, "from", &format!("{} = {} ({})", fact.fact, fact.value, fact.source));
    }
}
