//! `dmsetup ls --tree`, with or without `-o blkdevname`, and the plain `dmsetup ls`.
//!
//! ```text
//! vg-home <dm-1> (253:1)
//!  └─luks <dm-0> (253:0)
//!     └─ <sda2> (8:2)
//! ```

use crate::capture::Text;
use crate::capture::device::{device, key_of, key_of_number, learn, mapping, stack};
use narrows_machine::Machine;
use narrows_machine::block::dm::parse_number_pair;

/// The deepest tree that is followed.
const DEEPEST: usize = 32;

/// Reads every line of a tree; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    // The devices that the last line hangs on, with the column that each stands in.
    let mut above: Vec<(usize, String)> = Vec::new();
    for (number, line) in text.lines() {
        let Some(entry) = Entry::parse(line) else {
            above.clear();
            continue;
        };
        while above.last().is_some_and(|(column, _)| *column >= entry.column) {
            above.pop();
        }
        if entry.column > 0 && above.is_empty() || above.len() > DEEPEST {
            continue;
        }
        let Some(key) = entry.key() else { continue };
        let source = text.source(number);
        learn(&mut device(machine, &key).number, Some(entry.number), &source);
        if let Some(dm) = entry.name.and_then(|name| Some((name, mapping(machine, &key)?))) {
            learn(&mut dm.1.name, Some(dm.0.to_owned()), &source);
        }
        if let Some((_, upper)) = above.last() {
            stack(machine, upper, &key);
        }
        above.push((entry.column, key));
        found = true;
    }
    found
}

/// One line.
struct Entry<'a> {
    /// Where the branch ends and the entry begins, in characters.
    column: usize,
    /// The mapping; a device that is none has no name.
    name: Option<&'a str>,
    /// `sda2`, where the kernel's name is shown.
    kernel: Option<&'a str>,
    number: (u32, u32),
}

impl<'a> Entry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, number) = line.strip_suffix(')')?.rsplit_once('(')?;
        // `(253, 1)` is how old versions write a number.
        let number =
            parse_number_pair(number).or_else(|| parse_number_pair(&number.replacen(", ", ":", 1)))?;
        let column =
            before.chars().take_while(|c| matches!(c, ' ' | '|' | '`' | '-' | '+') || !c.is_ascii()).count();
        let rest: &str =
            before.trim_start_matches(|c| matches!(c, ' ' | '|' | '`' | '-' | '+') || !char::is_ascii(&c));
        let column = if rest.is_empty() { before.trim_end().chars().count() } else { column };
        let (name, kernel) = match rest.split_once('<') {
            Some((name, kernel)) => (name.trim(), Some(kernel.trim().strip_suffix('>')?)),
            None => (rest.trim(), None),
        };
        let is_name = !name.contains(char::is_whitespace);
        is_name.then_some(Self { column, name: (!name.is_empty()).then_some(name), kernel, number })
    }

    fn key(&self) -> Option<String> {
        if let Some(kernel) = self.kernel {
            return key_of(&format!("/dev/{kernel}"));
        }
        match self.name {
            Some(_) => Some(format!("dm-{}", self.number.1)),
            None => Some(key_of_number(self.number)),
        }
    }
}
