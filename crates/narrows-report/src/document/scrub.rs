//! Takes out of a document what is not known to be harmless: addresses, UUIDs, WWNs, NQNs, IQNs, the paths of places and mappings
//! that people named, and every word that narrows does not know.

use super::table::Content;
use super::{Block, Document};
use crate::names::Names;

/// No sentence or command of a report has as many characters; the rest of a text that has is left out.
const LONGEST: usize = 32_000;

impl Document {
    /// The document without what is not known to be harmless, each with the same token wherever it stood.
    pub fn scrubbed(self) -> Self {
        self.without(Names::default())
    }

    /// As [`Self::scrubbed`], with what is known of names.
    pub fn without(mut self, mut names: Names) -> Self {
        let mut texts: Vec<&mut String> = vec![&mut self.subject, &mut self.tool];
        self.blocks.iter_mut().for_each(|block| collect(block, &mut texts));
        for text in &mut texts {
            if let Some((end, _)) = text.char_indices().nth(LONGEST) {
                text.truncate(end);
                text.push('…');
            }
        }
        let paths: Vec<String> = texts.iter().flat_map(|text| paths(text)).map(str::to_owned).collect();
        paths.iter().for_each(|path| names.target(path));
        names.hide(&mut texts);
        self
    }
}

/// The absolute paths in a text.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;=|".contains(c);
    text.split(ends).map(|word| word.trim_end_matches(['.', ':', '/'])).filter(|word| word.starts_with('/'))
}

fn collect<'a>(block: &'a mut Block, texts: &mut Vec<&'a mut String>) {
    match block {
        Block::Gap | Block::Positions(_) => {}
        Block::Figure(figure) => texts.extend(figure.words_mut()),
        Block::Part(_, text) | Block::Heading(text) => texts.push(text),
        Block::Text(it) => texts.extend([&mut it.lead.1, &mut it.text]),
        Block::Pairs(it) => texts.extend(it.pairs.iter_mut().flat_map(|(name, text)| [name, text])),
        Block::Table(table) => {
            texts.push(&mut table.caption);
            texts.extend(table.columns.iter_mut().map(|column| &mut column.title));
            for row in &mut table.rows {
                row.cells.iter_mut().for_each(|cell| content(&mut cell.content, texts));
                row.notes.iter_mut().for_each(|note| collect(note, texts));
            }
        }
        Block::Finding(finding) => {
            texts.push(&mut finding.text);
            texts.extend(finding.also.iter_mut().chain(&mut finding.evidence));
            texts.extend(finding.advice.iter_mut().map(|advice| &mut advice.action));
        }
        Block::Commands(_, lines) => texts.extend(lines),
        Block::Verbose(all) | Block::Brief(all) => all.iter_mut().for_each(|block| collect(block, texts)),
        Block::Details(summary, blocks) => {
            texts.push(summary);
            blocks.iter_mut().for_each(|block| collect(block, texts));
        }
    }
}

fn content<'a>(content: &'a mut Content, texts: &mut Vec<&'a mut String>) {
    match content {
        Content::None | Content::Bar(_) => {}
        Content::Text(text) | Content::Whole(text) | Content::Branch { text, .. } => texts.push(text),
        Content::Long { short, long } => texts.extend([short, long]),
        Content::Names(names) => texts.extend(names),
    }
}
