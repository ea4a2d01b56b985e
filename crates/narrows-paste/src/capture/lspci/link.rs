//! The link lines of a function: `LnkCap`, `LnkSta` and what belongs to them.

use super::block::{Block, Record};
use crate::capture::Text;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::pci::{Downgraded, LinkEnd};

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// The lines of a link, whichever of them are there. Those of `lspci` before version 3 are `Link: Supported Speed …`
/// and `Link: Speed …`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkLines<'b> {
    /// Link Capabilities.
    pub(super) capabilities: Option<&'b Record>,
    /// Link Status.
    pub(super) status: Option<&'b Record>,
    /// Link Control.
    pub(super) control: Option<&'b Record>,
}

impl<'b> LinkLines<'b> {
    /// Finds the lines. Where a text has several of a kind under one function, only those that follow its PCI Express
    /// capability are its own: the others are of functions whose first lines were filtered away.
    pub(super) fn of(block: &'b Block) -> Self {
        let old = |start: &'static str| block.all("Link").find(move |record| record.text.starts_with(start));
        let express = block.all("Capabilities").find(|record| record.text.contains("Express"));
        let pick = |key: &'static str| {
            let mut all = block.all(key);
            match (all.next(), all.next(), express) {
                (Some(first), None, _) => Some(first),
                (Some(_), Some(_), Some(express)) => block.all(key).find(|record| record.line > express.line),
                _ => None,
            }
        };
        Self {
            capabilities: pick("LnkCap").or_else(|| old("Supported Speed")),
            status: pick("LnkSta").or_else(|| old("Speed")),
            control: pick("LnkCtl").or_else(|| old("ASPM")),
        }
    }

    /// This function's end of its link. `whole` tells whether the block ends because another starts, so that no word
    /// of it is cut.
    pub(super) fn end(&self, text: &Text, whole: bool) -> LinkEnd {
        let mut end = LinkEnd::default();
        if let Some(record) = self.capabilities {
            end.max_speed = speed(text, record);
            end.max_width = width(text, record);
        }
        if let Some(record) = self.status {
            end.current_speed = speed(text, record);
            end.current_width = width(text, record);
            if self.capabilities.is_none() {
                let (speed, width) = (note(&record.text, "Speed "), note(&record.text, "Width "));
                end.max_speed = implied(text, record, speed, &end.current_speed);
                end.max_width = implied(text, record, width, &end.current_width);
                let said = |note| says_more(note).then(|| Source::new(text.source(record.line)));
                end.downgraded = Downgraded { speed: said(speed), width: said(width) };
            } else if !whole && is_cut(record, &end) {
                end.current_width = garbled(text, record, "Width at the end of the text, perhaps cut");
            }
        }
        end
    }
}

/// The speed of `Speed 8GT/s (ok)`; `unknown` and anything else is garbled.
fn speed(text: &Text, record: &Record) -> Fact<GtPerSec> {
    let Some(value) = value(&record.text, "Speed ") else { return missing(text, record) };
    match speed_of(value) {
        Some(speed) => Fact::known(speed, text.source(record.line)),
        None => garbled(text, record, first_word(value)),
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Reads `8GT/s`, and `2.5Gb/s` as `lspci` wrote before version 3.
pub(super) fn speed_of(text: &str) -> Option<GtPerSec> {
    let text = text.split('(').next()?.trim();
    match text.split_once("Gb/s") {
        Some((number, _)) => GtPerSec::parse(&format!("{number}GT/s")),
        None => GtPerSec::parse(text),
    }
}

/// The width of `Width x4 (downgraded)`. Zero is garbled: no link, or a port that hides its width.
fn width(text: &Text, record: &Record) -> Fact<Lanes> {
    let Some(value) = value(&record.text, "Width ") else { return missing(text, record) };
    match lanes_of(value) {
        Some(lanes) => Fact::known(lanes, text.source(record.line)),
        None => garbled(text, record, first_word(value)),
    }
}

/// Reads `x4`, whatever follows.
pub(super) fn lanes_of(text: &str) -> Option<Lanes> {
    let digits = text.trim().strip_prefix('x')?;
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    Lanes::parse(digits.get(..end)?).filter(|lanes| lanes.get() <= WIDEST)
}

/// What follows `name`, up to the next comma.
pub(super) fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.split_once(name)?.1.trim_start();
    let value = rest.split(',').next()?.trim();
    (!value.is_empty()).then_some(value)
}

/// The word in parentheses that lspci puts after a value of Link Status when it compares it with Link Capabilities:
/// `ok`, `downgraded`, `overdriven`, `strange` (`ls-caps.c`, `link_compare`).
pub(super) fn note<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value = value(text, name)?;
    value.split_once(" (")?.1.split(')').next()
}

/// Whether an end can do more than its link runs at, without a word of how much.
pub(super) fn says_more(note: Option<&str>) -> bool {
    note == Some("downgraded")
}

/// The most that an end can do where only Link Status was pasted: the same when lspci says `ok`.
fn implied<T: Clone>(text: &Text, record: &Record, note: Option<&str>, current: &Fact<T>) -> Fact<T> {
    match note {
        Some("ok") => current.clone(),
        _ => Fact::absent(format!("{}, LnkCap", text.source(record.line))),
    }
}

/// Whether the last word of the text may be `x16` cut to `x1`. lspci compares the width with that of Link Capabilities
/// and says when it is less, or (before version 3.6) goes on after a comma.
fn is_cut(record: &Record, end: &LinkEnd) -> bool {
    let ends_in_digits = record.text.ends_with(|c: char| c.is_ascii_digit());
    let is_less = end.current_width.value() < end.max_width.value();
    let starts_another = end
        .max_width
        .value()
        .zip(end.current_width.value())
        .is_some_and(|(most, now)| most.get().to_string().starts_with(&now.get().to_string()));
    ends_in_digits && is_less && starts_another
}

fn missing<T>(text: &Text, record: &Record) -> Fact<T> {
    Fact::absent(text.source(record.line))
}

fn garbled<T>(text: &Text, record: &Record, raw: &str) -> Fact<T> {
    Fact::Garbled { source: Source::new(text.source(record.line)), raw: raw.chars().take(80).collect() }
}
