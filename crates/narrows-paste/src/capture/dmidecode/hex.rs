//! SMBIOS tables as text: a hex dump of `/sys/firmware/dmi/tables/DMI` (`hexdump -C`, `xxd`, `od -A x -t x1`), and
//! `dmidecode -u`, which shows each structure in hexadecimal.

use super::read_table;
use crate::capture::{Part, Text};

/// No table is larger; the entry point of version 3 could name more.
const LARGEST: usize = 1 << 20;

/// The digits of an offset: `hexdump` and `xxd` print eight, `od` six. Dumps of `lspci -x` have two or three.
const OFFSET: std::ops::RangeInclusive<usize> = 6..=8;

/// Reads every table that is dumped in a text; that of the first is kept.
pub fn read(text: &Text) -> Part {
    let mut dump = Dump::default();
    for (number, line) in text.lines() {
        if !dump.take(number, line) {
            let part = dump.finish(text);
            if part.kind.is_some() {
                return part;
            }
            dump = Dump::default();
            dump.take(number, line);
        }
    }
    let part = dump.finish(text);
    if part.kind.is_some() { part } else { undecoded(text) }
}

/// A dump as it is read.
#[derive(Default)]
struct Dump {
    line: usize,
    bytes: Vec<u8>,
    /// Whether `*` stands for lines that are like the one before.
    is_repeated: bool,
}

impl Dump {
    /// Takes a line; whether the dump goes on.
    fn take(&mut self, number: usize, line: &str) -> bool {
        if line.trim() == "*" && !self.bytes.is_empty() {
            self.is_repeated = true;
            return true;
        }
        let Some((offset, bytes)) = row(line) else { return self.bytes.is_empty() };
        if std::mem::take(&mut self.is_repeated) {
            let from = self.bytes.len().saturating_sub(16);
            while self.bytes.len() < offset && offset <= LARGEST {
                let again = self.bytes.get(from..from + 16).unwrap_or_default().to_vec();
                if again.is_empty() {
                    break;
                }
                self.bytes.extend(again);
            }
        }
        if offset != self.bytes.len() || self.bytes.len() + bytes.len() > LARGEST {
            return false;
        }
        if self.bytes.is_empty() {
            self.line = number;
        }
        self.bytes.extend(bytes);
        true
    }

    fn finish(&self, text: &Text) -> Part {
        if self.bytes.is_empty() { Part::default() } else { read_table(&text.source(self.line), &self.bytes) }
    }
}

/// `00000000  09 11 00 09 01 b6 …  |........|`, `00000000: 0911 0009 … ......`, `000000 09 11 00 09`.
fn row(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, rest) = line.trim_start().split_once([' ', ':'])?;
    if !OFFSET.contains(&offset.len()) {
        return None;
    }
    let offset = usize::from_str_radix(offset, 16).ok()?;
    // What stands behind two blanks or a bar are the bytes as characters; `hexdump -C` has two blanks in the middle.
    let rest = rest.trim_start().split('|').next()?;
    let mut bytes = Vec::new();
    for word in rest.split_whitespace() {
        let Some(of_word) = hex(word).filter(|_| bytes.len() < 16) else { break };
        bytes.extend(of_word);
    }
    bytes.truncate(16);
    (!bytes.is_empty()).then_some((offset, bytes))
}

/// The bytes of `0911` or `09`.
fn hex(word: &str) -> Option<Vec<u8>> {
    if !matches!(word.len(), 2 | 4) || !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    word.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// Puts the structures of `dmidecode -u` back into a table: `Header and Data:` and the bytes of the structure, `Strings:`
/// and the bytes of each string, which its characters follow in quotes on lines of their own.
fn undecoded(text: &Text) -> Part {
    if !text.body().contains("Header and Data:") {
        return Part::default();
    }
    let mut table: Vec<u8> = Vec::new();
    let mut section = Section::None;
    let mut first = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        match line {
            "Header and Data:" => {
                end(&mut table, section);
                section = Section::Data;
                first = first.or(Some(number));
            }
            "Strings:" => section = Section::Strings,
            _ => {
                let bytes: Option<Vec<u8>> =
                    line.split_whitespace().map(hex).collect::<Option<Vec<_>>>().map(|words| words.concat());
                let is_dumped = section != Section::None && !line.is_empty() && table.len() < LARGEST;
                table.extend(bytes.filter(|_| is_dumped).unwrap_or_default());
            }
        }
    }
    end(&mut table, section);
    read_table(&text.source(first.unwrap_or(1)), &table)
}

/// What the last line with bytes belonged to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    None,
    Data,
    Strings,
}

/// Two zeros end a structure; the last string brings one of them.
fn end(table: &mut Vec<u8>, section: Section) {
    match section {
        Section::None => {}
        Section::Data => table.extend([0, 0]),
        Section::Strings => table.push(0),
    }
}
