//! What a description leaves open, in words: what was assumed instead, and which key would say it.

use super::{Attachment, Occupant};
use crate::path::file::{Name, Part, PartKind, Slot};
use narrows_base::units::Lanes;

/// What a slot is split into.
pub(super) fn split_note(part: &Part, slot: &Slot, pieces: &[(&Part, &Slot)]) -> String {
    let widths: Vec<u8> = pieces.iter().filter_map(|(_, piece)| piece.link.width.map(Lanes::get)).collect();
    let mode: String = widths.iter().map(|width| format!("x{width}")).collect();
    let names: Vec<String> = pieces.iter().map(|(piece, _)| piece.name.to_string()).collect();
    let all: u32 = widths.iter().map(|width| u32::from(*width)).sum();
    let left = slot.link.width.map_or(0, |width| u32::from(width.get()).saturating_sub(all));
    let left = if left > 0 { format!("; {left} of its lanes lead nowhere") } else { String::new() };
    format!("{} is split {mode} into {}{left}.", part.name, listed(&names))
}

/// `a`, `a and b`, `a, b and c`, and of many the first and the last.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] if names.len() > 4 => format!("{first} to {last} ({})", names.len()),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The names with their verb.
pub(super) fn are(names: &[String]) -> String {
    format!("{} {}", listed(names), if names.len() == 1 { "is" } else { "are" })
}

/// What the file leaves open, by the names of slots.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    pub(super) unwired: Vec<String>,
    pub(super) taken_for_m2: Vec<String>,
    pub(super) no_connector: Vec<String>,
    pub(super) may_split: Vec<String>,
    pub(super) not_on_board: Vec<String>,
    crowded: Vec<String>,
    differs: Vec<String>,
}

impl Gaps {
    /// Notes a slot that hangs on something else by the board's data than by the file.
    pub(super) fn differs(&mut self, known: &super::Slot, said: Attachment) {
        if known.attachment != said {
            let (name, of_board) = (&known.name, known.attachment);
            self.differs.push(format!(
                "{name} hangs on {of_board} by its board, which is believed, and on {said} by the file."
            ));
        }
    }

    /// Notes a slot that is said to hold more than fits into it.
    pub(super) fn crowded(&mut self, slot: &Name, inside: &[&Part], occupant: Option<&Occupant>) {
        let counted = occupant.map_or(0, |it| usize::from(it.count));
        let is_switch = |part: &&&Part| matches!(part.kind, PartKind::Switch(_));
        if inside.iter().any(|part| is_switch(&part)) || inside.len() <= counted {
            return;
        }
        let names: Vec<String> = inside.iter().map(|part| part.name.to_string()).collect();
        let first = occupant.map_or("nothing", |it| it.name.as_str());
        self.crowded.push(format!(
            "{slot} holds {} by the file, and takes one card: it is counted as used by {first}.",
            listed(&names)
        ));
    }

    /// What to say of them.
    pub(super) fn notes(self, has_board: bool, assume_splitting: bool, host: &Name) -> Vec<String> {
        let mut notes = self.crowded;
        notes.extend(self.differs);
        let mut say = |names: &[String], text: &dyn Fn(String) -> String| {
            if !names.is_empty() {
                notes.push(text(are(names)));
            }
        };
        say(&self.unwired, &|are| format!("{are} left out: give generation and width."));
        say(&self.taken_for_m2, &|are| {
            format!("{are} taken for M.2: say form = \"m2\", \"u2\" or \"card\".")
        });
        say(&self.no_connector, &|are| {
            format!("{are} taken to be as long as wired: give connector where a longer card fits.")
        });
        say(&self.not_on_board, &|are| {
            format!("{are} not on the board that the file names, and taken as described.")
        });
        if !assume_splitting {
            say(&self.may_split, &|are| {
                format!(
                    "{are} taken for what the firmware cannot split: give bifurcation = [\"x4x4x4x4\"], or [] where it \
                     cannot, or say --assume-bifurcation."
                )
            });
        }
        if !has_board {
            notes.push(format!(
                "Lanes that slots take from each other, and firmware settings, are known of boards only: give board = \
                 \"ID\" in [host.{host}] if `narrows plan --board list` has it."
            ));
        }
        notes
    }
}
