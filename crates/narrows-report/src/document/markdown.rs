//! The back end for Markdown, for tickets and forums: what GitHub and its likes show, with foreign text as text.

use std::fmt::Write;

use super::finding::Finding;
use super::table::{Column, Content, Table};
use super::{Block, Document, Pairs, Paragraph};
use crate::sanitize::inert;
use crate::text::Tone;
use narrows_verdict::Severity;

impl Document {
    /// As Markdown (GitHub Flavored Markdown 0.29). It ends with a newline.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let subject =
            if self.subject.is_empty() { String::new() } else { format!(": {}", escape(&self.subject)) };
        let _ = writeln!(out, "## narrows {}{subject}", self.command);
        put_all(&mut out, &self.blocks);
        if !self.tool.is_empty() {
            let _ = write!(out, "\n*Made by {}.*\n", escape(&self.tool));
        }
        out
    }
}

/// Text that Markdown shows as it is: nothing in it makes a link, a tag, a list or a table.
fn escape(text: &str) -> String {
    let text = inert(text);
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        let is_special = match c {
            '\\' | '`' | '*' | '<' | '>' | '[' | ']' | '|' | '~' | '#' | '&' | '$' | '{' | '}' => true,
            // Within a word it sets nothing off.
            '_' => !(before.is_alphanumeric() && rest.starts_with(char::is_alphanumeric)),
            // What would become a link, or call somebody.
            ':' => rest.starts_with("//"),
            '.' if out.to_ascii_lowercase().ends_with("www") => true,
            // What would begin a list.
            '-' | '+' | '=' => at == 0,
            '.' | ')' if rest.starts_with(' ') => {
                text.get(..at).is_some_and(|start| at > 0 && start.bytes().all(|b| b.is_ascii_digit()))
            }
            _ => false,
        };
        match c {
            // A mention is looked for in the text that is shown.
            '@' if rest.starts_with(char::is_alphanumeric) => out.push_str("(at)"),
            c => {
                if is_special {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        before = c;
    }
    out
}

/// A command, in a code span that nothing in it ends.
fn code(text: &str) -> String {
    let text = inert(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

fn put_all(out: &mut String, blocks: &[Block]) {
    for block in blocks {
        put(out, block);
    }
}

fn put(out: &mut String, block: &Block) {
    match block {
        Block::Part(_, title) if !title.is_empty() => {
            let _ = write!(out, "\n### {}\n", escape(title));
        }
        // What a figure shows stands in tables, too.
        Block::Part(..) | Block::Gap | Block::Positions(_) | Block::Figure(_) => {}
        Block::Heading(text) => {
            let _ = write!(out, "\n#### {}\n", escape(text.trim()));
        }
        Block::Text(it) => put_paragraph(out, it),
        Block::Pairs(pairs) => put_pairs(out, pairs),
        Block::Table(table) => put_table(out, table),
        Block::Finding(finding) => put_finding(out, finding),
        Block::Commands(_, lines) => {
            out.push('\n');
            for line in lines {
                let _ = writeln!(out, "    {}", inert(line));
            }
        }
        Block::Details(summary, blocks) => {
            let _ = write!(out, "\n#### {}\n", escape(summary));
            put_all(out, blocks);
        }
    }
}

fn put_paragraph(out: &mut String, it: &Paragraph) {
    let (lead, text) = (it.lead.1.trim(), escape(it.text.trim()));
    let is_item = matches!(lead, "·" | "-" | "→" | "!") || (lead.is_empty() && it.lead.1.len() >= 4);
    let lead = match lead {
        "" | "·" | "-" | "→" => String::new(),
        lead => format!("**{}** ", escape(lead)),
    };
    let text = if it.tone == Tone::Strong && !text.is_empty() { format!("**{text}**") } else { text };
    match is_item {
        _ if lead.is_empty() && text.is_empty() => {}
        true => {
            if !out.lines().next_back().is_some_and(|line| line.starts_with("- ")) {
                out.push('\n');
            }
            let _ = writeln!(out, "- {lead}{text}");
        }
        false => {
            let _ = write!(out, "\n{lead}{text}\n");
        }
    }
}

fn put_pairs(out: &mut String, pairs: &Pairs) {
    out.push('\n');
    for (name, text) in &pairs.pairs {
        let text = if pairs.commands { code(text) } else { escape(text) };
        let name = if name.is_empty() { String::new() } else { format!("{}: ", escape(name)) };
        let _ = writeln!(out, "- {name}{text}");
    }
}

fn put_finding(out: &mut String, finding: &Finding) {
    let word = match finding.severity {
        Severity::Fault => "FAULT",
        Severity::Limit => "LIMIT",
        Severity::Info => "INFO",
    };
    let _ = write!(out, "\n**{word}** {}\n", escape(&finding.text));
    let also = finding.also.iter().chain(&finding.evidence).map(|text| escape(text));
    let advice = finding.advice.iter().map(|advice| {
        let gain = advice.gain.as_ref().map(|gain| format!("{}: ", escape(gain))).unwrap_or_default();
        format!("**→ {gain}{}**", escape(&advice.action))
    });
    let items: Vec<String> = also.chain(advice).collect();
    if !items.is_empty() {
        out.push('\n');
    }
    for item in items {
        let _ = writeln!(out, "- {item}");
    }
}

/// The columns that say something in words.
fn columns(table: &Table) -> Vec<(usize, &Column)> {
    let is_words = |at: usize| {
        let cells = table.rows.iter().filter_map(|row| row.cells.get(at));
        cells.into_iter().any(|cell| !cell.words().is_empty())
    };
    table.columns.iter().enumerate().filter(|(at, _)| is_words(*at)).collect()
}

fn put_table(out: &mut String, table: &Table) {
    let columns = columns(table);
    if columns.is_empty() {
        return;
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    out.push('\n');
    out.push_str(&line(columns.iter().map(|(_, column)| escape(column.title.trim())).collect()));
    out.push_str(&line(
        columns.iter().map(|(_, column)| if column.right { "---:" } else { "---" }.to_owned()).collect(),
    ));
    for row in &table.rows {
        let spans = row.cells.iter().position(|cell| cell.spans).unwrap_or(usize::MAX);
        let cell = |at: usize| match row.cells.get(at).filter(|_| at <= spans) {
            Some(cell) => match &cell.content {
                Content::Branch { first, text, .. } => escape(&format!("{}{text}", first.trim_start())),
                _ => escape(cell.words().trim()),
            },
            None => String::new(),
        };
        out.push_str(&line(columns.iter().map(|(at, _)| cell(*at)).collect()));
    }
    let name = table.columns.iter().position(|column| column.names).unwrap_or(0);
    for row in table.rows.iter().filter(|row| !row.notes.is_empty()) {
        let words = row.cells.get(name).map(super::Cell::words).unwrap_or_default();
        if !words.is_empty() {
            let _ = write!(out, "\n**{}**\n", escape(words.trim()));
        }
        put_all(out, &row.notes);
    }
}
