//! Loads the recorded and built machines of `tests/machines`.
//!
//! A `machine.tree` has one line for each file, link or closed file:
//!
//! ```text
//! /sys/class/dmi/id/board_name = X99-A
//! /sys/class/net/lo -> ../../devices/virtual/net/lo
//! /sys/firmware/dmi/tables/DMI ! denied
//! ```
//!
//! In the content of a file `\n`, `\t`, `\\` and `\xHH` stand for a new line, a tab, a backslash and a byte.

#![expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]

use std::fs;
use std::path::Path;

use narrows::machine::tree::{Node, Tree};

/// The file tree of `tests/machines/<name>`.
pub(crate) fn tree(name: &str) -> Tree {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines").join(name).join("machine.tree");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    parse(&text)
}

fn parse(text: &str) -> Tree {
    let mut tree = Tree::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (path, node) = entry(line).unwrap_or_else(|| panic!("not a line of a machine.tree: {line}"));
        tree.insert(path, node);
    }
    tree
}

fn entry(line: &str) -> Option<(&str, Node)> {
    let (path, rest) = line.split_once(' ')?;
    match rest.split_at_checked(2)? {
        ("= ", content) => Some((path, Node::File(unescape(content)?))),
        ("->", target) => Some((path, Node::Link(target.trim().to_owned()))),
        ("! ", "denied") => Some((path, Node::Denied)),
        _ => None,
    }
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => match rest.next()? {
                b'n' => b'\n',
                b't' => b'\t',
                b'\\' => b'\\',
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(bytes)
}
