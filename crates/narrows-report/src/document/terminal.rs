//! The back end for terminals: no line is wider than the style allows, and plain text is ASCII.

mod columns;
mod ink;

pub use ink::{Style, Tone};

use super::finding::Finding;
use super::{Block, Document, Pairs};
use crate::sanitize::one_line;
use columns::put_table;
use ink::{paragraph, width};
use narrows_base::units::{Bytes, BytesPerSec, human};
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

fn put_finding(out: &mut String, style: &Style, finding: &Finding) {
    // A word for the severity, so that it is read without colour; all are as wide.
    let word = match finding.severity {
        Severity::Fault => (Tone::Bad, "FAULT  "),
        Severity::Limit => (Tone::Warn, "LIMIT  "),
        Severity::Info => (Tone::Faint, "INFO   "),
    };
    paragraph(out, style, word, Tone::Normal, &finding.text);
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

/// Rows of a picture of rates by position.
const ROWS: usize = 8;
/// Columns for the scale at its left.
const MARGIN: usize = 12;

/// The rates of samples at growing offsets, position from left to right, rate from 0 at the bottom to the fastest sample at the top. No
/// line is wider than the style allows; nothing for less than two samples.
fn by_position(samples: &[(Bytes, BytesPerSec)], style: &Style) -> Vec<String> {
    let columns = style.width.saturating_sub(MARGIN).min(samples.len()).min(100);
    let most = samples.iter().fold(0.0_f64, |most, (_, rate)| most.max(rate.get()));
    if columns < 2 || most <= 0.0 {
        return Vec::new();
    }
    let most = BytesPerSec::new(most);
    let means = columns_of(samples, columns);
    let row = |row: usize| {
        let scale = match row {
            0 => human::rate(most * 0.0),
            r if r + 1 == ROWS => human::rate(most),
            r if r == ROWS / 2 => human::rate(most / 2.0),
            _ => String::new(),
        };
        let bars: String = means.iter().map(|mean| step(mean / most.get(), row, style.unicode)).collect();
        format!("{scale:>10}  {}", bars.trim_end())
    };
    let mut lines: Vec<String> = (0..ROWS).rev().map(row).collect();
    let end = samples.last().map_or_else(String::new, |(offset, _)| human::bytes(*offset));
    let room = columns.saturating_sub(1);
    lines.push(format!("{:>10}  0{end:>room$}", "position"));
    lines
}

/// The mean rate of each column's samples.
fn columns_of(samples: &[(Bytes, BytesPerSec)], columns: usize) -> Vec<f64> {
    let end = |column: usize| column * samples.len() / columns;
    let mean = |column: usize| {
        let part = samples.get(end(column)..end(column + 1)).unwrap_or_default();
        part.iter().map(|(_, rate)| rate.get()).sum::<f64>() / part.len().max(1) as f64
    };
    (0..columns).map(mean).collect()
}

/// What a column shows in a row, `share` of the whole height being filled.
fn step(share: f64, row: usize, unicode: bool) -> char {
    const PARTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let filled = (share.clamp(0.0, 1.0) * ROWS as f64 - row as f64).clamp(0.0, 1.0);
    if unicode {
        PARTS.get((filled * 8.0).round() as usize).copied().unwrap_or(' ')
    } else if filled >= 0.5 {
        '#'
    } else {
        ' '
    }
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

    fn samples(rates: &[f64]) -> Vec<(Bytes, BytesPerSec)> {
        let sample =
            |(at, mb): (usize, &f64)| (Bytes::new(at as u64 * 1_000_000_000), BytesPerSec::from_mb(*mb));
        rates.iter().enumerate().map(sample).collect()
    }

    const ASCII: Style = Style { colour: false, width: 80, unicode: false, plain: false, verbose: false };

    #[test]
    fn a_disc_falls_towards_its_end() {
        let lines = by_position(&samples(&[200.0, 200.0, 150.0, 100.0]), &ASCII);
        assert_eq!(lines.len(), ROWS + 1);
        assert_eq!(lines[0], "  200 MB/s  ##");
        assert_eq!(lines[2], "            ###");
        assert_eq!(lines[7], "     0 B/s  ####");
        assert_eq!(lines[8], "  position  03 GB");
    }

    #[test]
    fn no_line_is_wider_than_the_style_and_few_samples_draw_nothing() {
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        for width in [60, 80, 140] {
            let style = Style { width, ..ASCII };
            assert!(by_position(&samples(&many), &style).iter().all(|line| line.len() <= width));
        }
        assert!(by_position(&samples(&[1.0]), &ASCII).is_empty());
        assert!(by_position(&samples(&[0.0, 0.0]), &ASCII).is_empty());
    }
}
