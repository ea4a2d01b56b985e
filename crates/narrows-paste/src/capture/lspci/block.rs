//! Cuts a text into blocks: what `lspci` says of one function.
//!
//! A block ends where the next function starts, or where `lspci` is called again. Within it, a line that starts with a
//! name starts a record; lines without one go on with it, whether `lspci` broke the line or a mail program did.

use super::line::{self, LspciPlace};
use crate::capture::Text;
use crate::text::wrap::{USUAL, had_no_room};

/// Names whose lines are kept with those below that have none. `Link` and `Device` are those of `lspci` before version 3.
const KEYS: &[&str] = &[
    "ACSCtl",
    "Bus",
    "CEMsk",
    "CESta",
    "Capabilities",
    "DevCap",
    "DevCtl",
    "Device",
    "ErrorSrc",
    "Flags",
    "Link",
    "LnkCap",
    "LnkCap2",
    "LnkCtl",
    "LnkCtl2",
    "LnkSta",
    "SDevice",
    "Status",
    "Subsystem",
    "UEMsk",
    "UESta",
    "UESvrt",
    "Vendor",
];

/// Names whose line is kept and whole: what follows without a name is none of theirs.
const OF_ONE_LINE: [&str; 10] = [
    "Class",
    "Driver",
    "IOMMU group",
    "IOMMUGroup",
    "Kernel driver in use",
    "NUMA node",
    "NUMANode",
    "PhySlot",
    "Physical Slot",
    "ProgIf",
];

/// Names that make a block of their own where no function was named: they tell of a link.
const OF_A_LINK: [&str; 4] = ["LnkCap", "LnkSta", "Capabilities", "Bus"];

/// The name under which `!!! Unknown header type 7f` is kept.
pub(super) const SILENT: &str = "!!!";

/// A function has fewer lines of the names above.
const MOST_RECORDS: usize = 96;
/// A record goes on for fewer lines, and is shorter.
const MOST_LINES: usize = 8;
const LONGEST_RECORD: usize = 1200;
/// The longest name of a class is `SNIA Smart Data Accelerator Interface (SDXI) controller`.
const LONGEST_CLASS: usize = 60;
/// Extended config space.
const MOST_BYTES: usize = 4096;

/// One named line with what goes on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BlockRecord {
    /// The name, one of [`KEYS`] or [`SILENT`].
    pub(super) key: &'static str,
    /// What follows it, in one line.
    pub(super) text: String,
    /// Where it stands.
    pub(super) line: usize,
}

/// How the first line of a block is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockHead {
    /// `SATA controller: …`
    Words(String),
    /// `"SATA controller" "…" …`, of `lspci -mm`.
    Quoted(String),
    /// `Slot:` and an address, of `lspci -vmm`.
    Named,
    /// None: the function is named by the call of `lspci`, or not at all.
    Missing,
}

/// What a text says of one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Which function; `None` when the text does not say.
    pub(super) place: Option<LspciPlace>,
    /// Where it starts.
    pub(super) line: usize,
    pub(super) head: BlockHead,
    pub(super) records: Vec<BlockRecord>,
    /// The rows of a hex dump that follow each other from 0.
    pub(super) bytes: Vec<u8>,
    /// Where the rows start.
    pub(super) bytes_line: usize,
}

impl Block {
    fn new(place: Option<LspciPlace>, line: usize, head: BlockHead) -> Self {
        Self { place, line, head, records: Vec::new(), bytes: Vec::new(), bytes_line: 0 }
    }

    /// The first record of that name.
    pub(super) fn get(&self, key: &str) -> Option<&BlockRecord> {
        self.records.iter().find(|record| record.key == key)
    }

    /// Every record of that name.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &BlockRecord> {
        self.records.iter().filter(move |record| record.key == key)
    }

    /// Whether this is the next state of a link that no function was named for: `lspci` prints each of them once, what the link
    /// can do first.
    fn is_over_with(&self, key: &str) -> bool {
        let has = |key| self.get(key).is_some();
        self.place.is_none()
            && match key {
                "LnkCap" => has("LnkCap") || has("LnkSta"),
                "LnkSta" => has("LnkSta"),
                _ => false,
            }
    }

    fn add_row(&mut self, line: usize, offset: usize, row: &[u8]) {
        if offset == self.bytes.len() && offset + row.len() <= MOST_BYTES {
            if offset == 0 {
                self.bytes_line = line;
            }
            self.bytes.extend_from_slice(row);
        }
    }
}

/// What a line without a name goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBlock {
    /// The first line, which was this long.
    Head(usize),
    /// The last record, for so many more lines.
    Record(usize),
    Nothing,
}

/// Hands each block of `text` to `take`.
pub(super) fn each(text: &Text, take: &mut impl FnMut(Block)) {
    let mut cutter = Cutter { block: None, open: OpenBlock::Nothing, take };
    for (number, line) in text.lines() {
        cutter.line(number, line::bare(line));
    }
    cutter.start(None);
}

struct Cutter<'t, T: FnMut(Block)> {
    block: Option<Block>,
    open: OpenBlock,
    take: &'t mut T,
}

impl<T: FnMut(Block)> Cutter<'_, T> {
    /// Ends the block and starts the next.
    fn start(&mut self, next: Option<Block>) {
        self.open = match &next {
            Some(Block { head: BlockHead::Words(words), .. }) => {
                OpenBlock::Head(words.len() + "00:00.0 ".len())
            }
            _ => OpenBlock::Nothing,
        };
        if let Some(done) = std::mem::replace(&mut self.block, next) {
            (self.take)(done);
        }
    }

    fn line(&mut self, number: usize, line: &str) {
        // A blank line ends no block: some mails have one after every line.
        if line.is_empty() {
            if matches!(self.open, OpenBlock::Head(_)) {
                self.open = OpenBlock::Nothing;
            }
            return;
        }
        if let Some((place, rest)) = line::addressed(line) {
            match head(rest) {
                Some(head) => self.start(Some(Block::new(Some(place), number, head))),
                None => self.open = OpenBlock::Nothing,
            }
        } else if let Some((offset, row)) = line::hex_row(line) {
            self.open = OpenBlock::Nothing;
            if let Some(block) = &mut self.block {
                block.add_row(number, offset, &row);
            }
        } else if line::is_tree(line) || line::is_log(line) {
            self.open = OpenBlock::Nothing;
        } else if let Some(rest) = line.strip_prefix(SILENT) {
            self.record(SILENT, number, rest);
        } else if let Some(address) = line::lone(line) {
            self.start(Some(Block::new(Some(LspciPlace::of(address)), number, BlockHead::Missing)));
        } else if !line::keyed(line).is_some_and(|(key, rest)| self.named(number, key, rest)) {
            self.other(number, line);
        }
    }

    /// A line that starts with a name; whether the name is known.
    fn named(&mut self, number: usize, key: &str, rest: &str) -> bool {
        let slot = matches!(key, "Slot" | "Device").then(|| line::address(rest)).flatten();
        if let Some(address) = slot {
            self.start(Some(Block::new(Some(LspciPlace::of(address)), number, BlockHead::Named)));
            return true;
        }
        let Some(key) = KEYS.iter().chain(&OF_ONE_LINE).find(|known| **known == key) else { return false };
        if OF_A_LINK.contains(key) && self.block.as_ref().is_none_or(|block| block.is_over_with(key)) {
            self.start(Some(Block::new(None, number, BlockHead::Missing)));
        }
        self.record(key, number, rest);
        true
    }

    fn other(&mut self, number: usize, line: &str) {
        if let Some(call) = line::call(line) {
            let place = line::selected(call).map(LspciPlace::of);
            self.start(place.map(|place| Block::new(Some(place), number, BlockHead::Missing)));
        } else if line::keyed(line).is_some() {
            self.open = OpenBlock::Nothing;
        } else {
            self.go_on(line);
        }
    }

    fn record(&mut self, key: &'static str, number: usize, text: &str) {
        let Some(block) = &mut self.block else { return };
        if block.records.len() < MOST_RECORDS {
            let text = text.chars().take(LONGEST_RECORD).collect();
            block.records.push(BlockRecord { key, text, line: number });
            self.open =
                if OF_ONE_LINE.contains(&key) { OpenBlock::Nothing } else { OpenBlock::Record(MOST_LINES) };
        } else {
            self.open = OpenBlock::Nothing;
        }
    }

    fn go_on(&mut self, line: &str) {
        let Some(block) = &mut self.block else { return };
        match (self.open, &mut block.head) {
            (OpenBlock::Head(length), BlockHead::Words(words)) => {
                let is_broken = had_no_room(length, line, USUAL) || line.starts_with("(prog-if");
                self.open = if is_broken { OpenBlock::Head(line.len()) } else { OpenBlock::Nothing };
                if is_broken && words.len() < LONGEST_RECORD {
                    append(words, line);
                }
            }
            (OpenBlock::Record(left), _) => {
                self.open = left.checked_sub(1).map_or(OpenBlock::Nothing, OpenBlock::Record);
                if let Some(record) = block.records.last_mut() {
                    append(&mut record.text, line);
                }
            }
            _ => {}
        }
    }
}

fn append(text: &mut String, line: &str) {
    text.push(' ');
    text.extend(line.chars().take(LONGEST_RECORD.saturating_sub(text.len())));
}

/// Whether what follows an address starts a block.
fn head(rest: &str) -> Option<BlockHead> {
    if rest.starts_with('"') {
        return Some(BlockHead::Quoted(rest.chars().take(LONGEST_RECORD).collect()));
    }
    let (class, name) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
    let is_class = super::class::code(class).is_some() || looks_like_a_class(class, name);
    is_class.then(|| BlockHead::Words(rest.chars().take(LONGEST_RECORD).collect()))
}

/// Classes get new names. One that we do not know still ends the block before.
fn looks_like_a_class(class: &str, name: &str) -> bool {
    let letters = class.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -/.()".contains(&byte));
    let is_capital = class.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    letters && is_capital && class.len() <= LONGEST_CLASS && !name.is_empty()
}
