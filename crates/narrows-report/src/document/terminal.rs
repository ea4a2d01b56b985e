//! The back end for terminals: no line is wider than the style allows, and plain text is ASCII.

mod columns;
mod positions;

use columns::put_table;
use positions::by_position;

use super::finding::Finding;
use super::{Block, Document, Pairs};
use crate::sanitize::one_line;
use crate::text::{Style, Tone, paragraph, width};
use narrows_verdict::{Advice, Severity};

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
        Block::Verbose(blocks) if style.verbose => put_all(out, style, blocks),
        Block::Brief(blocks) if !style.verbose => put_all(out, style, blocks),
        Block::Verbose(_) | Block::Brief(_) => {}
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
        Block::Positions(samples) => {
            for line in by_position(samples, style) {
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
    for Advice { gain_bytes_per_second: gain, action, .. } in &finding.advice {
        let gain = gain.map(|gain| format!("+{gain}: ")).unwrap_or_default();
        paragraph(out, style, (Tone::Good, "       → "), Tone::Good, &format!("{gain}{action}"));
    }
}

/// A bar of at most `columns` for a part of a full one, in eighths of a column where the reader can show them. It never
/// vanishes.
fn bar(style: &Style, part: f64, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let length = part.clamp(0.0, 1.0) * columns as f64;
    if !style.unicode {
        return "#".repeat(length.round().max(1.0) as usize);
    }
    let eighths = (length * 8.0).round().max(1.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS.get(eighths % 8).unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };

    #[test]
    fn bars_grow_and_never_vanish() {
        let ascii = Style { unicode: false, ..WIDE };
        let lengths = [0.0, 0.3, 0.6, 1.0].map(|part| bar(&ascii, part, 24).len());
        assert_eq!(lengths, [1, 7, 14, 24]);
        assert_eq!(bar(&WIDE, 1.0, 24).chars().count(), 24);
        assert_eq!(bar(&WIDE, 0.5, 9), "████▌");
        assert_eq!(bar(&WIDE, f64::NAN, 9), "▏");
    }
}
