//! `dmsetup table`: `vg-home: 0 41943040 linear 8:2 2048`.

use std::collections::BTreeMap;

use crate::capture::Text;
use crate::capture::device::{device, key_of, key_of_number, learn, mapping, stack};
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::dm::parse_number_pair;
use narrows_machine::block::{DmTarget, parse_table};

/// The targets whose tables begin with devices, or hold them where a number pair tells them apart.
pub(super) const TARGETS: &[&str] = &[
    " linear ",
    " striped ",
    " crypt ",
    " thin ",
    " thin-pool ",
    " cache ",
    " writecache ",
    " raid ",
    " mirror ",
    " snapshot ",
    " snapshot-origin ",
    " multipath ",
    " delay ",
    " flakey ",
    " integrity ",
    " verity ",
    " era ",
    " clone ",
    " vdo ",
    " zoned ",
];

/// What of a mapping was read.
#[derive(Default)]
struct Table {
    line: usize,
    targets: Vec<DmTarget>,
    below: Vec<String>,
}

/// Reads every table that says whose it is; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut tables: BTreeMap<&str, Table> = BTreeMap::new();
    for (number, line) in text.lines() {
        let Some((name, target, below)) = target(line) else { continue };
        let table = tables.entry(name).or_insert_with(|| Table { line: number, ..Table::default() });
        table.targets.push(target);
        table.below.extend(below);
    }
    let found = !tables.is_empty();
    for (name, table) in tables {
        let Some(key) = key_of(&format!("/dev/mapper/{name}")) else { continue };
        let source = text.source(table.line);
        for lower in &table.below {
            stack(machine, &key, lower);
        }
        let size =
            table.targets.iter().map(|target| target.start.get().saturating_add(target.length.get())).max();
        learn(&mut device(machine, &key).size, size.map(Bytes::new), &source);
        if let Some(dm) = mapping(machine, &key) {
            learn(&mut dm.name, Some(name.to_owned()), &source);
            learn(&mut dm.table, Some(table.targets), &source);
        }
    }
    found
}

/// A line of a table: the mapping, what it does, and the devices below.
fn target(line: &str) -> Option<(&str, DmTarget, Vec<String>)> {
    let (name, table) = line.trim_start().split_once(": ")?;
    let mut words = table.split_whitespace();
    let is_number =
        |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok_and(|n| n < 1 << 54));
    let is_target = is_number(words.next()) && is_number(words.next());
    let kind = words.next()?;
    if !is_target || name.contains(char::is_whitespace) || !TARGETS.iter().any(|known| known.trim() == kind) {
        return None;
    }
    let target = parse_table(table)?.pop()?;
    let below = words.filter_map(parse_number_pair).filter(|(major, _)| *major > 0).map(key_of_number);
    Some((name, target, below.collect()))
}
