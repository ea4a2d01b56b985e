//! The tree of `lspci -t`, `-tv` and `-tvnn`: who is above whom.
//!
//! The last branch of a level is `\-`, an only one `--`, so that the tree can be read also where a mail program or a web
//! page took the indentation away (pciutils, `ls-tree.c`).

use narrows_machine::pci::{PciAddress, PciDevice};

use super::device::{Detail, FoundFunction};
use super::functions::Functions;
use super::line;
use crate::capture::device::known;
use crate::capture::{Part, Rank, Text};

/// Base class, sub-class and interface of a PCI bridge.
const PCI_BRIDGE: u32 = 0x06_0400;
/// A domain has 256 buses, so that no tree is deeper.
const DEEPEST: usize = 256;

/// Reads the trees of a text.
pub fn read_tree(text: &Text) -> Part {
    let mut functions = Functions::default();
    let mut tree = Tree::default();
    for (number, line) in text.lines() {
        let line = line.trim_start_matches(['>', '`']);
        if let Some(start) = branch(line) {
            tree.line(text, number, line, start, &mut functions);
        }
    }
    functions.part(Rank::Decoded, |_| "lspci -t")
}

/// Where the first branch of a line starts; `None` for a line that is part of no tree.
fn branch(line: &str) -> Option<usize> {
    let at = line.bytes().position(|byte| !matches!(byte, b' ' | b'\t' | b'|'))?;
    let rest = line.get(at..)?;
    let is_branch = rest.starts_with("+-") || rest.starts_with("\\-");
    let is_root = rest.starts_with("-[") && rest.contains("]-") || rest.starts_with("-+-[");
    (is_branch || is_root).then_some(at)
}

/// A bus whose branches are being read.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The column of its branches.
    column: usize,
    domain: u32,
    bus: u8,
    bridge: Option<PciAddress>,
}

/// The levels that are not at their last branch yet, the innermost last. What `level` has is the bus of the device that
/// comes next in the line.
#[derive(Debug, Default)]
struct Tree {
    open: Vec<Level>,
}

impl Tree {
    fn line(&mut self, text: &Text, number: usize, line: &str, start: usize, functions: &mut Functions) {
        let is_nested = start > 1 && self.open.iter().any(|level| level.column == start);
        let mut level = self.resume(start, line.get(start..).is_some_and(|rest| rest.starts_with('\\')));
        let mut rest = Cursor { line, at: start, is_nested };
        while let Some(step) = rest.next() {
            match step {
                TreeStep::Fork { column, is_last } => {
                    if column != start {
                        // A fork after the start of the line opens a level.
                        if let Some(level) = level.as_mut() {
                            level.column = column;
                            if !is_last && self.open.len() < DEEPEST {
                                self.open.push(*level);
                            }
                        }
                    }
                }
                TreeStep::Root { domain, bus } => {
                    let column = rest.at;
                    self.open.clear();
                    level = Some(Level { column, domain, bus, bridge: None });
                }
                TreeStep::Bus { domain, bus } => {
                    level = level.map(|level| Level { domain: domain.unwrap_or(level.domain), bus, ..level });
                }
                TreeStep::Function { device, function, below, name } => {
                    let Some(here) = level else { return };
                    let address = PciAddress { domain: here.domain, bus: here.bus, device, function };
                    functions.add(found(text, number, address, here.bridge, below, name));
                    let Some((first, _)) = below else { return };
                    level = Some(Level { column: 0, bus: first, bridge: Some(address), ..here });
                }
            }
        }
    }

    /// The level that a line goes on with: the one whose branches are in this column, else the innermost that is open.
    fn resume(&mut self, column: usize, is_last: bool) -> Option<Level> {
        if let Some(at) = self.open.iter().rposition(|level| level.column == column) {
            self.open.truncate(at + 1);
        }
        if is_last { self.open.pop() } else { self.open.last().copied() }
    }
}

fn found(
    text: &Text,
    number: usize,
    address: PciAddress,
    bridge: Option<PciAddress>,
    below: Option<(u8, u8)>,
    name: &str,
) -> FoundFunction {
    let source = || text.source(number);
    // With -nn the numbers follow the name, as in a first line.
    let (name, id) = line::split_id(name);
    let device = PciDevice {
        address,
        parent: bridge,
        id: known(id, source()),
        name: known(line::kept_name(name), source()),
        class: known(below.map(|_| PCI_BRIDGE), source()),
        ..PciDevice::default()
    };
    FoundFunction { device, buses: below, detail: Detail::Listed, dumped: 0 }
}

/// One piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TreeStep<'t> {
    /// `+-` or `\-`.
    Fork { column: usize, is_last: bool },
    /// `[0000:00]` at the head of a tree.
    Root { domain: u32, bus: u8 },
    /// `[0000:02]` or `[02]` where a bridge has several buses.
    Bus { domain: Option<u32>, bus: u8 },
    /// `1c.0`, with the buses below it (`-[02-05]-`) or its name.
    Function { device: u8, function: u8, below: Option<(u8, u8)>, name: &'t str },
}

/// Walks over a line.
#[derive(Debug, Clone, Copy)]
struct Cursor<'t> {
    line: &'t str,
    at: usize,
    /// Whether the line starts with a branch of a bus that is below a bridge.
    is_nested: bool,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        self.line.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Option<TreeStep<'t>> {
        loop {
            let rest = self.rest();
            match rest.bytes().next()? {
                b'-' | b' ' => self.at += 1,
                b'+' | b'\\' => {
                    let column = self.at;
                    self.at += 1;
                    return Some(TreeStep::Fork { column, is_last: rest.starts_with('\\') });
                }
                b'[' => return self.bracket(),
                _ => return self.function(),
            }
        }
    }

    /// `[0000:00]`, at the head of a tree when only branches stand before it.
    fn bracket(&mut self) -> Option<TreeStep<'t>> {
        let (inside, _) = self.rest().get(1..)?.split_once(']')?;
        let before = self.line.get(..self.at)?;
        let is_head = !self.is_nested && before.bytes().all(|byte| b" \t|+-\\".contains(&byte));
        self.at += inside.len() + 2;
        let (domain, first, _) = buses(inside)?;
        match (domain, is_head) {
            (Some(domain), true) => Some(TreeStep::Root { domain, bus: first }),
            (domain, _) => Some(TreeStep::Bus { domain, bus: first }),
        }
    }

    fn function(&mut self) -> Option<TreeStep<'t>> {
        let rest = self.rest();
        let device = u8::from_str_radix(rest.get(..2)?, 16).ok().filter(|device| *device < 32)?;
        let function = u8::from_str_radix(rest.get(3..4)?, 16).ok().filter(|function| *function < 8)?;
        if rest.get(2..3) != Some(".") {
            return None;
        }
        self.at += 4;
        let after = self.rest();
        if let Some(inside) =
            after.strip_prefix("-[").and_then(|after| after.split_once(']')).map(|(inside, _)| inside)
        {
            self.at += inside.len() + 3;
            let below = buses(inside).map(|(_, first, last)| (first, last));
            return Some(TreeStep::Function { device, function, below, name: "" });
        }
        let name = if after.starts_with("  ") { after.trim() } else { "" };
        Some(TreeStep::Function { device, function, below: None, name })
    }
}

/// Reads `0000:02-05`, `02-05` or `02`: the domain, and the first and last bus.
fn buses(text: &str) -> Option<(Option<u32>, u8, u8)> {
    let (domain, range) = match text.rsplit_once(':') {
        Some((domain, range)) => (Some(u32::from_str_radix(domain, 16).ok()?), range),
        None => (None, text),
    };
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let number = |text: &str| u8::from_str_radix(text, 16).ok();
    let (first, last) = (number(first)?, number(last)?);
    Some((domain, first, last.max(first)))
}
