//! `findmnt`: `TARGET SOURCE FSTYPE OPTIONS` as a tree or list, `-P` pairs, `-J` JSON.

use serde_json::Value;

use super::mount;
use crate::capture::Text;
use crate::capture::json::{documents, text_of};
use crate::capture::table::{Head, words};
use narrows_machine::mount::Mount;

/// The columns that are wanted, in the order that [`mount`] takes them.
const WANTED: [&str; 4] = ["SOURCE", "TARGET", "FSTYPE", "OPTIONS"];

/// The columns of the usual output and those that are often asked for; any other word is none of a head.
const COLUMNS: &[&str] = &[
    "TARGET",
    "SOURCE",
    "FSTYPE",
    "OPTIONS",
    "SIZE",
    "AVAIL",
    "USED",
    "USE%",
    "LABEL",
    "UUID",
    "PARTLABEL",
    "PARTUUID",
    "MAJ:MIN",
    "FSROOT",
    "PROPAGATION",
    "VFS-OPTIONS",
    "FS-OPTIONS",
    "FREQ",
    "PASSNO",
    "ID",
    "OPT-FIELDS",
    "TID",
];

/// Every row of every table.
pub(super) fn tables(text: &Text) -> Vec<(usize, Mount)> {
    let mut found = Vec::new();
    let mut table: Option<(Vec<&str>, Head)> = None;
    for (number, line) in text.lines() {
        let words = words(line);
        if words.len() > 1 && words.iter().all(|word| COLUMNS.contains(&word.text)) {
            let names: Vec<&str> = words.iter().map(|word| word.text).collect();
            let is_own = names.contains(&"TARGET") && names.contains(&"SOURCE");
            table = is_own.then(|| (names, Head::new(&words)));
            continue;
        }
        let Some((names, head)) = &table else { continue };
        let cells = head.cells(&words);
        let cell = |column: &str| {
            let at = names.iter().position(|name| *name == column)?;
            cells.get(at).map(|cell| cell.trim_start_matches(is_tree))
        };
        let values = WANTED.map(|column| cell(column).unwrap_or_default());
        if !values[1].starts_with('/') {
            table = None;
            continue;
        }
        found.push((number, mount(values[0], values[1], values[2], values[3])));
    }
    found
}

fn is_tree(c: char) -> bool {
    matches!(c, ' ' | '|' | '`' | '-' | '+' | '?') || !c.is_ascii()
}

/// Every line of `TARGET="/" SOURCE="/dev/sda2" …`.
pub(super) fn pairs(text: &Text) -> Vec<(usize, Mount)> {
    let value = |line: &str, column: &str| {
        let (_, rest) = line.split_once(&format!("{column}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let own = text.lines().filter(|(_, line)| line.contains("TARGET=\"/"));
    own.filter_map(|(number, line)| {
        let [source, target, fstype, options] = WANTED.map(|column| value(line, column));
        let mount = mount(&source?, &target?, &fstype.unwrap_or_default(), &options.unwrap_or_default());
        Some((number, mount))
    })
    .collect()
}

/// Every mount of every `filesystems` document.
pub(super) fn json(text: &Text) -> Vec<(usize, Mount)> {
    let mut found = Vec::new();
    for (line, document) in documents(text) {
        if let Some(Value::Array(mounts)) = document.get("filesystems") {
            add(&mut found, line, mounts);
        }
    }
    found
}

fn add(found: &mut Vec<(usize, Mount)>, line: usize, mounts: &[Value]) {
    for value in mounts {
        let member = |column: &str| text_of(value, &column.to_ascii_lowercase());
        let [source, target, fstype, options] = WANTED.map(member);
        if let (Some(source), Some(target)) = (source, target) {
            let mount = mount(&source, &target, &fstype.unwrap_or_default(), &options.unwrap_or_default());
            found.push((line, mount));
        }
        if let Some(Value::Array(children)) = value.get("children") {
            add(found, line, children);
        }
    }
}
