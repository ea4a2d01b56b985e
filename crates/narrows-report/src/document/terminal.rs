//! The back end for terminals: no line is wider than the style allows, and plain text is ASCII.

mod bar;
mod columns;

use super::finding::{Advice, Finding};
use super::{Block, Document, Pairs};
use crate::bench;
use crate::sanitize::one_line;
use crate::text::{Style, Tone, paragraph, width};
use columns::put_table;
use narrows_verdict::Severity;

/// The margin of what is said of a finding.
const DETAIL: &str = "       ";

impl Document {
    /// As text. It ends with a newline.
    pub fn text(&self, style: &Style) -> String {
        let mut out = String::new();
        put_all(&mut out, style, &self.blocks);
        out
    }
}

fn put_all(out: &mut String, style: &Style, blocks: &[Block]) {
    for block in blocks {
        put(out, style, block);
    }
}

fn put(out: &mut String, style: &Style, block: &Block) {
    match block {
        Block::Part(..) | Block::Figure(_) | Block::Details(..) => {}
        Block::Gap => out.push('\n'),
        Block::Heading(text) => paragraph(out, style, (Tone::Strong, ""), Tone::Strong, text),
        Block::Text(it) => paragraph(out, style, (it.lead.0, &it.lead.1), it.tone, &it.text),
        Block::Pairs(pairs) => put_pairs(out, style, pairs),
        Block::Table(table) => put_table(out, style, table),
        Block::Finding(finding) => put_finding(out, style, finding),
        Block::Commands(title, lines) if !style.plain => {
            out.push('\n');
            paragraph(out, style, (Tone::Normal, ""), Tone::Faint, title);
            for line in lines {
                out.push_str(&one_line(line));
                out.push('\n');
            }
        }
        Block::Commands(..) => {}
        Block::Positions(scan) => {
            for line in bench::by_position(scan, style) {
                out.push_str(&line);
                out.push('\n');
            }
        }
    }
}

fn put_pairs(out: &mut String, style: &Style, pairs: &Pairs) {
    for (name, text) in &pairs.pairs {
        let missing = pairs.width.saturating_sub(width(style, name)).max(1);
        let lead = format!("{}{name}{}", " ".repeat(pairs.margin), " ".repeat(missing));
        paragraph(out, style, (Tone::Faint, &lead), Tone::Normal, text);
    }
}

/// The word for a severity, so that it is read without colour; all are as wide.
const fn word(severity: Severity) -> (Tone, &'static str) {
    match severity {
        Severity::Fault => (Tone::Bad, "FAULT  "),
        Severity::Limit => (Tone::Warn, "LIMIT  "),
        Severity::Info => (Tone::Faint, "INFO   "),
    }
}

fn put_finding(out: &mut String, style: &Style, finding: &Finding) {
    paragraph(out, style, word(finding.severity), Tone::Normal, &finding.text);
    if let Some(also) = &finding.also {
        paragraph(out, style, (Tone::Faint, DETAIL), Tone::Faint, also);
    }
    for evidence in &finding.evidence {
        paragraph(out, style, (Tone::Faint, "       · "), Tone::Faint, evidence);
    }
    for Advice { gain, action } in &finding.advice {
        let text = gain.as_ref().map_or_else(|| action.clone(), |gain| format!("{gain}: {action}"));
        paragraph(out, style, (Tone::Good, "       → "), Tone::Good, &text);
    }
}
