//! The back end for pages: one file, no script, no request, the same bytes for the same documents.
//!
//! All foreign text goes through [`markup`]; the policy of the page allows the one style by its hash and nothing else.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::finding::Finding;
use super::style::STYLE;
use super::table::{Cell, Column, Content, Row, Table, Width};
use super::{Block, Document, Pairs, Paragraph, Place, Tone};
use crate::figure::{self, Figure};
use crate::sanitize::markup;
use narrows_verdict::Severity;

struct PagePart<'a> {
    place: Place,
    title: &'a str,
    blocks: Vec<&'a Block>,
}

/// One page of some documents, in their order.
pub fn page(documents: &[Document]) -> String {
    let style = style();
    let digest = STANDARD.encode(Sha256::digest(style.as_bytes()));
    let title = match documents {
        [one] => markup(&one.title()),
        several => format!("narrows: {} reports", several.len()),
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
    );
    if documents.len() > 1 {
        let _ = writeln!(out, "<h1>{title}</h1>\n<nav aria-label=\"Reports\"><ol>");
        for (number, document) in documents.iter().enumerate() {
            let _ = writeln!(out, "<li><a href=\"#r{number}\">{}</a></li>", markup(&document.title()));
        }
        out.push_str("</ol></nav>\n");
    }
    articles(&mut out, documents, usize::from(documents.len() > 1));
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// The style of pages, and of figures on them.
pub fn style() -> String {
    format!("{STYLE}{}", figure::style())
}

/// Documents as parts of a page that has a title above theirs.
pub fn parts(documents: &[Document]) -> String {
    let mut out = String::new();
    articles(&mut out, documents, 1);
    out
}

fn articles(out: &mut String, documents: &[Document], level: usize) {
    let mut labels = BTreeMap::new();
    for (id, document) in documents.iter().enumerate() {
        Writer { out, level, last: level, labels: &mut labels, id }.document(document);
    }
}

impl Document {
    /// `narrows plan`, or `narrows` alone.
    fn words(&self) -> String {
        format!("narrows {}", self.command).trim_end().to_owned()
    }

    /// `narrows lab: /dev/nvme0n1`.
    fn title(&self) -> String {
        match self.subject.is_empty() {
            true => self.words(),
            false => format!("{}: {}", self.words(), self.subject),
        }
    }

    /// The parts in the order of a page.
    fn parts(&self) -> Vec<PagePart<'_>> {
        let part = |place, title| PagePart { place, title, blocks: Vec::new() };
        let mut parts = vec![part(Place::Verdict, "")];
        for block in &self.blocks {
            match block {
                Block::Part(place, title) => parts.push(part(*place, title)),
                block => parts.last_mut().into_iter().for_each(|part| part.blocks.push(block)),
            }
        }
        parts.retain(|part| part.blocks.iter().any(|block| !matches!(block, Block::Gap)));
        parts.sort_by_key(|part| part.place);
        parts
    }
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Normal => "",
        Tone::Strong => "strong",
        Tone::Faint => "faint",
        Tone::Bad => "bad",
        Tone::Warn => "warn",
        Tone::Good => "good",
    }
}

/// ` class="a b"`, or nothing.
fn classes(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    if names.is_empty() { String::new() } else { format!(" class=\"{}\"", names.join(" ")) }
}

/// Longer words may be broken where a column is narrow.
const WHOLE: usize = 14;

/// The class of a cell whose words may be broken; a number has a line of its own anyway.
fn long(text: &str, number: &str) -> &'static str {
    let is_long = text.split_whitespace().any(|word| word.chars().count() > WHOLE);
    if is_long && number.is_empty() { "b" } else { "" }
}

/// Words in which a command or a name stands in backquotes, each as code. One that stands alone is a character of the text.
fn prose(text: &str) -> String {
    let text = markup(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text;
    }
    let code = |(at, part): (usize, &&str)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(code).collect()
}

struct Writer<'a> {
    out: &'a mut String,
    /// How many levels titles are lower than on a page of one document.
    level: usize,
    /// The level of the title before.
    last: usize,
    /// How often each name of a region stands on the page.
    labels: &'a mut BTreeMap<String, usize>,
    /// The number of the document on the page.
    id: usize,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn title(&mut self, level: usize, text: &str) {
        let (is, look) = self.step(level);
        let _ = writeln!(self.out, "<h{is}{look}>{}</h{is}>", markup(text));
    }

    /// The level of a title, at most one below the one before it, and the class of one that looks lower than it is.
    fn step(&mut self, level: usize) -> (usize, String) {
        let asked = (level + self.level).min(6);
        let level = asked.min(self.last + 1);
        self.last = level;
        (level, if level < asked { format!(" class=\"l{}\"", asked.clamp(3, 4)) } else { String::new() })
    }

    /// A name of a region that no other has.
    fn label(&mut self, text: &str) -> String {
        let count = self.labels.entry(text.to_owned()).or_default();
        *count += 1;
        if *count == 1 { markup(text) } else { format!("{} ({count})", markup(text)) }
    }

    fn document(&mut self, document: &Document) {
        let (title, words) = (markup(&document.title()), markup(&document.words()));
        let _ = writeln!(self.out, "<article id=\"r{}\" aria-label=\"{title}\">\n<header>", self.id);
        let _ = writeln!(self.out, "<p class=\"kicker\">{words}</p>");
        let name = [document.subject.as_str(), document.command, "every storage path"];
        self.title(1, name.into_iter().find(|name| !name.is_empty()).unwrap_or_default());
        self.put("</header>\n");
        for part in document.parts() {
            self.part(&part);
        }
        if !document.tool.is_empty() {
            let _ = writeln!(self.out, "<footer>Made by {}.</footer>", markup(&document.tool));
        }
        self.put("</article>\n");
    }

    fn part(&mut self, part: &PagePart<'_>) {
        if part.place == Place::Verdict && part.title.is_empty() {
            let label = self.label("Verdict");
            let _ = writeln!(self.out, "<section class=\"verdict\" aria-label=\"{label}\">");
        } else {
            self.put("<section>\n");
        }
        match part.place {
            Place::Folded => self.details(part.title, part.blocks.iter().copied()),
            _ => {
                if !part.title.is_empty() {
                    self.title(2, part.title);
                }
                self.blocks(part.blocks.iter().copied());
            }
        }
        self.put("</section>\n");
    }

    fn blocks<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>) {
        let mut in_list = false;
        for block in blocks {
            // Leads that begin an item of a list.
            let is_item =
                matches!(block, Block::Text(it) if ["·", "-", "→", "!"].contains(&it.lead.1.trim()));
            if is_item != in_list && !matches!(block, Block::Gap) {
                self.put(if is_item { "<ul class=\"said\">\n" } else { "</ul>\n" });
                in_list = is_item;
            }
            self.block(block, is_item);
        }
        if in_list {
            self.put("</ul>\n");
        }
    }

    fn block(&mut self, block: &Block, is_item: bool) {
        match block {
            Block::Part(..) | Block::Gap | Block::Positions(_) | Block::Brief(_) => {}
            Block::Heading(text) => self.title(3, text.trim()),
            Block::Text(it) if is_item => {
                let _ = writeln!(self.out, "<li{}>{}</li>", classes(&[class(it.tone)]), prose(&it.text));
            }
            Block::Text(it) => self.paragraph(it),
            Block::Pairs(pairs) => self.pairs(pairs),
            Block::Table(table) => self.table(table),
            Block::Finding(finding) => self.finding(finding),
            Block::Commands(_, lines) => {
                let lines: Vec<String> = lines.iter().map(|line| markup(line)).collect();
                let _ = writeln!(self.out, "<pre tabindex=\"0\"><code>{}</code></pre>", lines.join("\n"));
            }
            Block::Figure(figure) => self.figure(figure),
            Block::Details(summary, blocks) => self.details(summary, blocks.iter()),
            Block::Verbose(blocks) => self.blocks(blocks.iter()),
        }
    }

    fn details<'b>(&mut self, summary: &str, blocks: impl Iterator<Item = &'b Block>) {
        let _ = writeln!(self.out, "<details><summary>{}</summary>", markup(summary));
        self.blocks(blocks);
        self.put("</details>\n");
    }

    /// A figure; its identity is its own on a page of several documents, too.
    fn figure(&mut self, figure: &Figure) {
        let figure = match self.level {
            0 => Cow::Borrowed(figure),
            _ => Cow::Owned(Figure { id: format!("r{}-{}", self.id, figure.id), ..figure.clone() }),
        };
        let (level, look) = self.step(3);
        let label = self.label(&format!("Values: {}", figure.title));
        self.put(&figure.html((level, &look), &label));
    }

    fn paragraph(&mut self, it: &Paragraph) {
        let lead = it.lead.1.trim();
        let margin = it.lead.1.len() - it.lead.1.trim_start().len();
        let indent = if lead.is_empty() { ["", "in1", "in2"][(margin.div_ceil(4)).min(2)] } else { "" };
        let lead = match lead {
            "" => String::new(),
            lead => format!("<b{}>{}</b> ", classes(&[class(it.lead.0)]), markup(lead)),
        };
        let text = prose(it.text.trim());
        if !lead.is_empty() || !text.is_empty() {
            let _ = writeln!(self.out, "<p{}>{lead}{text}</p>", classes(&[class(it.tone), indent]));
        }
    }

    fn pairs(&mut self, pairs: &Pairs) {
        self.put("<dl>\n");
        for (name, text) in &pairs.pairs {
            let is_command = pairs.commands && !text.contains('`');
            let text = if is_command { format!("<code>{}</code>", markup(text)) } else { prose(text) };
            let _ = writeln!(self.out, "<dt>{}</dt><dd>{text}</dd>", markup(name));
        }
        self.put("</dl>\n");
    }

    /// A list that has items.
    fn list(&mut self, class: &str, items: impl ExactSizeIterator<Item = String>) {
        if items.len() > 0 {
            let _ = writeln!(self.out, "<ul class=\"{class}\">");
            items.for_each(|item| _ = writeln!(self.out, "<li>{item}</li>"));
            self.put("</ul>\n");
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let (kind, word, tone) = match finding.severity {
            Severity::Fault => ("fault", "✖ FAULT", "bad"),
            Severity::Limit => ("limit", "▲ LIMIT", "warn"),
            Severity::Info => ("info", "ℹ INFO", "faint"),
        };
        let text = prose(&finding.text);
        let _ = writeln!(self.out, "<div class=\"finding {kind}\">");
        let _ = writeln!(self.out, "<p><span class=\"word {tone}\">{word}</span> {text}</p>");
        if let Some(also) = &finding.also {
            let _ = writeln!(self.out, "<p class=\"faint\">{}</p>", prose(also));
        }
        let advice = finding.advice.iter().map(|advice| {
            let gain = advice.gain_bytes_per_second;
            let gain = gain.map(|gain| format!("<span class=\"gain\">+{gain}</span>: ")).unwrap_or_default();
            format!("{gain}{}", prose(&advice.action))
        });
        self.list("advice", advice);
        self.list("faint", finding.evidence.iter().map(|evidence| prose(evidence)));
        self.put("</div>\n");
    }

    fn table(&mut self, table: &Table) {
        let shown: Vec<(usize, &Column)> =
            table.columns.iter().enumerate().filter(|(at, _)| table.is_used(*at)).collect();
        if table.rows.is_empty() || shown.is_empty() {
            return;
        }
        let label = self.label(if table.caption.is_empty() { "Table" } else { &table.caption });
        let region = "<div class=\"wide\" role=\"region\"";
        let _ = writeln!(self.out, "{region} aria-label=\"{label}\" tabindex=\"0\"><table>");
        if !table.caption.is_empty() {
            let _ = writeln!(self.out, "<caption>{}</caption>", markup(&table.caption));
        }
        if shown.iter().any(|(_, column)| !column.title.is_empty()) {
            self.put("<thead><tr>");
            for (_, column) in &shown {
                let number = if column.right { "n" } else { "" };
                let class = classes(&[number, long(&column.title, number)]);
                let title = markup(column.title.trim());
                // A title that is not there is no header.
                let (tag, end) = if title.is_empty() { ("td", "td") } else { ("th scope=\"col\"", "th") };
                let _ = write!(self.out, "<{tag}{class}>{title}</{end}>");
            }
            self.put("</tr></thead>\n");
        }
        self.put("<tbody>\n");
        for row in &table.rows {
            self.row(row, &shown);
        }
        self.put("</tbody></table></div>\n");
        if !table.bars.is_empty() {
            let _ = writeln!(self.out, "<p class=\"faint\">{}</p>", table.bars);
        }
    }

    fn row(&mut self, row: &Row, shown: &[(usize, &Column)]) {
        self.put("<tr>");
        for (number, (at, column)) in shown.iter().enumerate() {
            let empty = Cell::default();
            let cell = row.cells.get(*at).unwrap_or(&empty);
            self.cell(cell, column, shown.len() - number);
            if cell.spans {
                break;
            }
        }
        self.put("</tr>\n");
        if row.notes.iter().any(|note| !matches!(note, Block::Positions(_))) {
            let _ = writeln!(self.out, "<tr><td class=\"note\" colspan=\"{}\">", shown.len());
            self.blocks(row.notes.iter());
            self.put("</td></tr>\n");
        }
    }

    fn cell(&mut self, cell: &Cell, column: &Column, left: usize) {
        let tone = class(cell.tone.unwrap_or(Tone::Normal));
        if let Content::Bar(part) = cell.content {
            let width = (part.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
            let class = classes(&["cell", tone]);
            let _ = write!(
                self.out,
                "<td><svg{class} viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{width}\" \
                 height=\"10\"/></svg></td>"
            );
            return;
        }
        let depth = match cell.content {
            Content::Branch { depth, .. } => ["", "d1", "d2", "d3", "d4"][depth.min(4)],
            _ => "",
        };
        let number = if column.right && !cell.spans { "n" } else { "" };
        let span = if cell.spans && left > 1 { format!(" colspan=\"{left}\"") } else { String::new() };
        let words = cell.words();
        let is_name = column.names && !words.is_empty();
        let (tag, end) = if is_name { ("th scope=\"row\"", "th") } else { ("td", "td") };
        debug_assert!(!matches!(column.width, Width::Bar(..)) || words.is_empty());
        let class = classes(&[number, tone, depth, long(&words, number)]);
        let _ = write!(self.out, "<{tag}{class}{span}>{}</{end}>", prose(words.trim()));
    }
}
