//! What an interrupted copy leaves beside its destination for the next run: a text file that is only ever appended to.
//!
//! Each line is a word and its fields between tabs. Paths are escaped. A line is on stable storage before what it
//! announces happens, so whatever has a final name is in here, and a line cut short by a crash announces nothing.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use super::block::Block;
use super::destination::PartName;
use super::scan::Below;

/// First word of the first line, and the version of the format.
const HEAD: &str = "narrows-copy\t1";
/// The end of every line: one without it was cut short.
const END: &str = "\t.";
/// No manifest is longer; 16 TB of blocks of 1 MiB take some 700 MB.
const LONGEST: u64 = 4 << 30;

/// A file that was about to get its name, or was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) part: PartName,
    /// The inode number of the part, and so of the file.
    pub(super) inode: u64,
    /// Size and time of change (nanoseconds) of the source at that time.
    pub(super) size: u64,
    pub(super) modified: i128,
    /// For a file that was begun: the blocks that are on stable storage, in ascending order.
    pub(super) blocks: Vec<Block>,
}

/// All that a manifest says.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The source, as it was named in the first line.
    pub(super) source: Vec<u8>,
    /// The runs that wrote to this destination.
    pub(super) runs: HashSet<u64>,
    /// Directories that they made.
    pub(super) directories: HashSet<Below>,
    /// Files that were complete, by path.
    pub(super) done: HashMap<Below, Record>,
    /// Files that were begun, by path.
    pub(super) begun: HashMap<Below, Record>,
}

/// The first line.
pub(super) fn head(source: &[u8]) -> String {
    format!("{HEAD}\t{}{END}\n", escape(source))
}

/// A run begins.
pub(super) fn run(run: u64) -> String {
    format!("run\t{run:016x}{END}\n")
}

/// A directory is about to be made.
pub(super) fn directory(below: &[u8]) -> String {
    format!("dir\t{}{END}\n", escape(below))
}

/// A complete part is about to get its name.
pub(super) fn done(below: &[u8], record: &Record) -> String {
    format!("done\t{}\t{}{END}\n", escape(below), fields(record))
}

/// A part that is worth keeping was made.
pub(super) fn begun(below: &[u8], record: &Record) -> String {
    format!("begun\t{}\t{}{END}\n", escape(below), fields(record))
}

/// Blocks of a begun part that are on stable storage.
pub(super) fn blocks(below: &[u8], blocks: &[Block]) -> String {
    let list: Vec<String> =
        blocks.iter().map(|block| format!("{}+{}={:x}", block.offset, block.length, block.hash)).collect();
    format!("blocks\t{}\t{}{END}\n", escape(below), list.join(","))
}

fn fields(record: &Record) -> String {
    let PartName { run, number } = record.part;
    format!("{run:016x}\t{number}\t{}\t{}\t{}", record.inode, record.size, record.modified)
}

/// Appends lines and waits until they are on stable storage.
///
/// # Errors
/// What `write(2)` and `fdatasync(2)` answer.
pub(super) fn append(mut file: &File, lines: &str) -> io::Result<()> {
    file.write_all(lines.as_bytes())?;
    file.sync_data()
}

/// Whether a manifest ends before the end of its first line: the run that made it was killed before it had begun anything.
///
/// # Errors
/// What `pread(2)` answers.
pub(super) fn is_cut_short(file: &File, head: &str) -> io::Result<bool> {
    let mut bytes = vec![0; head.len()];
    let length = file.read_at(&mut bytes, 0)?;
    Ok(length < head.len() && head.as_bytes().starts_with(bytes.get(..length).unwrap_or_default()))
}

/// Reads a manifest; `None` for a file that is none.
///
/// # Errors
/// What `read(2)` answers.
pub(super) fn read(file: &File) -> io::Result<Option<Known>> {
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

/// Understands a manifest. Lines that make no sense are passed over: they cost a file's second copy, no more.
pub(super) fn parse(bytes: &[u8]) -> Option<Known> {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(|line| {
        let line = std::str::from_utf8(line).unwrap_or_default();
        line.strip_suffix(END).unwrap_or_default()
    });
    let source = lines.next()?.strip_prefix(HEAD)?.strip_prefix('\t')?;
    let mut known = Known { source: unescape(source)?, ..Known::default() };
    for line in lines {
        let _ = known.take(line);
    }
    Some(known)
}

impl Known {
    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once('\t')?;
        match word {
            "run" => {
                self.runs.insert(u64::from_str_radix(rest, 16).ok()?);
            }
            "dir" => {
                self.directories.insert(unescape(rest)?);
            }
            "done" => {
                let (below, record) = parse_record(rest)?;
                self.begun.remove(&below);
                self.done.insert(below, record);
            }
            "begun" => {
                let (below, record) = parse_record(rest)?;
                self.begun.insert(below, record);
            }
            "blocks" => {
                let (below, list) = rest.split_once('\t')?;
                let record = self.begun.get_mut(&unescape(below)?)?;
                let list: Option<Vec<Block>> = list.split(',').map(parse_block).collect();
                let start = record.blocks.last().map_or(0, Block::end);
                let list = list.filter(|list| is_ascending(start, list))?;
                record.blocks.extend(list);
            }
            _ => {}
        }
        Some(())
    }
}

fn is_ascending(start: u64, blocks: &[Block]) -> bool {
    let mut at = start;
    blocks.iter().all(|block| {
        let follows = block.offset >= at;
        at = block.end();
        follows
    })
}

fn parse_record(text: &str) -> Option<(Below, Record)> {
    let mut fields = text.split('\t');
    let below = unescape(fields.next()?)?;
    let run = u64::from_str_radix(fields.next()?, 16).ok()?;
    let part = PartName { run, number: fields.next()?.parse().ok()? };
    let (inode, size) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let modified = fields.next()?.parse().ok()?;
    Some((below, Record { part, inode, size, modified, blocks: Vec::new() }))
}

fn parse_block(text: &str) -> Option<Block> {
    let (place, hash) = text.split_once('=')?;
    let (offset, length) = place.split_once('+')?;
    let hash = u64::from_str_radix(hash, 16).ok()?;
    Some(Block { offset: offset.parse().ok()?, length: length.parse().ok()?, hash })
}

/// Printable ASCII but `%` as it is, every other byte as `%` and two digits.
fn escape(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path {
        match byte {
            b'!'..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02x}")),
        }
    }
    text
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut path = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        path.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            byte => byte,
        });
    }
    Some(path)
}

/// A door for the fuzzer: what a manifest says, and the same of the lines that are written of it again.
#[cfg(feature = "fuzzing")]
pub fn fuzz(bytes: &[u8]) -> Option<(usize, usize)> {
    let known = parse(bytes)?;
    let mut again = head(&known.source);
    known.runs.iter().for_each(|one| again.push_str(&run(*one)));
    known.directories.iter().for_each(|below| again.push_str(&directory(below)));
    known.done.iter().for_each(|(below, record)| again.push_str(&done(below, record)));
    for (below, record) in &known.begun {
        again.push_str(&begun(below, record));
        again.push_str(&blocks(below, &record.blocks));
    }
    let read = parse(again.as_bytes())?;
    assert!(read.source == known.source && read.runs == known.runs && read.directories == known.directories);
    assert!(read.done.len() == known.done.len() && read.begun == known.begun);
    Some((known.done.len(), known.begun.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> Record {
        let part = PartName { run: 0xfeed, number: 3 };
        Record { part, inode: 99, size: 3 << 20, modified: -7, blocks: Vec::new() }
    }

    fn block(offset: u64, length: u32) -> Block {
        Block { offset, length, hash: offset ^ 0xdead_beef }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let kept = [block(0, 4096), block(8192, 100)];
        let text = [
            head(b"/src/a b\n"),
            run(0xfeed),
            directory(b"x/y\xff"),
            begun(b"big", &record()),
            blocks(b"big", &kept[..1]),
            blocks(b"big", &kept[1..]),
            begun(b"other", &record()),
            done(b"other", &record()),
        ]
        .concat();
        let known = parse(text.as_bytes()).unwrap();
        assert_eq!(known.source, b"/src/a b\n");
        assert!(known.runs.contains(&0xfeed) && known.directories.contains(&b"x/y\xff"[..]));
        assert_eq!(known.begun[&b"big"[..]], Record { blocks: kept.to_vec(), ..record() });
        assert_eq!(known.done[&b"other"[..]], record());
        assert_eq!(known.begun.len(), 1);
    }

    #[test]
    fn a_line_that_was_cut_short_announces_nothing() {
        let text = [head(b"/s"), done(b"a", &record())].concat();
        let first = head(b"/s").len();
        for cut in first..text.len() - 1 {
            let torn = [&text[..cut], "\n", &run(5)].concat();
            let known = parse(torn.as_bytes()).unwrap();
            assert_eq!((known.done.len(), known.runs.len()), (0, 1), "{torn}");
        }
        assert_eq!(parse(text.as_bytes()).unwrap().done.len(), 1);
    }

    #[test]
    fn a_manifest_without_its_first_line_has_begun_nothing() {
        let head = head(b"/s");
        for (text, is_cut) in (0..head.len()).map(|cut| (&head[..cut], true)).chain([
            (head.as_str(), false),
            ("hello", false),
            ("narrows-copy\t1\t/other\t.\n", false),
        ]) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            assert_eq!(is_cut_short(&file, &head).unwrap(), is_cut, "{text:?}");
        }
    }

    #[test]
    fn blocks_out_of_order_are_not_believed() {
        let text = [
            head(b"/s"),
            begun(b"a", &record()),
            blocks(b"a", &[block(4096, 4096)]),
            blocks(b"a", &[block(0, 4096)]),
        ];
        assert_eq!(parse(text.concat().as_bytes()).unwrap().begun[&b"a"[..]].blocks, [block(4096, 4096)]);
    }

    #[test]
    fn another_file_is_no_manifest() {
        for text in [
            "",
            "\n",
            "hello\n",
            "narrows-copy\t2\t/s\t.\n",
            "narrows-copy\t1\n",
            "narrows-copy\t1\t%zz\t.\n",
        ] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_path_survives(path: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&path)), Some(path.clone()));
            prop_assert!(escape(&path).bytes().all(|byte| byte.is_ascii_graphic()));
        }

        #[test]
        fn no_manifest_panics(text in "(narrows-copy\t1\t/s\t\\.\n)?((run|dir|done|begun|blocks)[\t0-9a-f+=,%/-]{0,60}\t\\.\n){0,8}") {
            let _ = parse(text.as_bytes());
        }
    }
}
