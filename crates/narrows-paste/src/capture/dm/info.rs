//! `dmsetup info` and `dmsetup info -c`: names, numbers and makers of mappings.

use crate::capture::Text;
use crate::capture::device::{device, learn, mapping};
use narrows_machine::Machine;
use narrows_machine::block::dm::owner_of;

/// Reads every mapping; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut in_table = false;
    let mut open: Option<&str> = None;
    let mut number: Option<(u32, u32)> = None;
    for (line, content) in text.lines() {
        let words: Vec<&str> = content.split_whitespace().collect();
        match words.as_slice() {
            ["Name", "Maj", "Min", ..] => in_table = true,
            [name, major, minor, _, _, _, _, rest @ ..] if in_table => {
                let row = major.parse().ok().zip(minor.parse().ok());
                in_table = row.is_some();
                let owner = rest.first().map(|uuid| owner_of(uuid));
                found |= row.is_some_and(|row| put(machine, &text.source(line), Some(name), row, owner));
            }
            ["Name:", name] => {
                open = Some(name);
                number = None;
            }
            ["Major,", "minor:", major, minor] => {
                number = major.trim_end_matches(',').parse().ok().zip(minor.parse().ok());
                found |= number.is_some_and(|number| put(machine, &text.source(line), open, number, None));
            }
            ["UUID:", uuid] => {
                let owner = Some(owner_of(uuid));
                found |=
                    number.take().is_some_and(|number| put(machine, &text.source(line), open, number, owner));
            }
            _ => in_table = false,
        }
    }
    found
}

fn put(
    machine: &mut Machine,
    source: &str,
    name: Option<&str>,
    number: (u32, u32),
    owner: Option<String>,
) -> bool {
    let Some(name) = name.filter(|name| name.len() <= 128) else { return false };
    let key = format!("dm-{}", number.1);
    learn(&mut device(machine, &key).number, Some(number), source);
    let Some(dm) = mapping(machine, &key) else { return false };
    learn(&mut dm.name, Some(name.to_owned()), source);
    learn(&mut dm.owner, owner.filter(|owner| !owner.is_empty()), source);
    true
}
