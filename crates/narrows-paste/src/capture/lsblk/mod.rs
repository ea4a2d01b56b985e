//! `lsblk` in every form: the tree, lists, `-f`, `-P` pairs and `-J` JSON (util-linux `misc-utils/lsblk.c`).

mod tree;

use serde_json::Value;

use super::device::{is_kernel_name, key_of};
use super::{Part, Rank, Text, json, table};
use crate::text::is_in;

/// Reads every output of `lsblk` in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part::default();
    let mut rows = Vec::new();
    if text.body().contains("NAME=\"") {
        rows.extend(rows_of_pairs(text));
    }
    if text.body().contains("\"blockdevices\"") {
        rows.extend(rows_of_json(text));
    }
    if is_in(&["NAME", " disk", " part"], text.body()) {
        rows.extend(tree::rows_of_tree(text));
    }
    if rows.is_empty() {
        return part;
    }
    part.kind = Some("lsblk");
    part.rank = Rank::Summary;
    tree::fill_machine(&mut part.machine, text, &rows);
    part
}

/// One device as one line of `lsblk` shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LsblkRow {
    /// The line of the text.
    line: usize,
    /// What stands in each column, by the column's name: `MAJ:MIN`. Columns without a value are left out.
    cells: Vec<(String, String)>,
    /// The device above it in the tree.
    parent: Option<String>,
}

impl LsblkRow {
    /// The value of a column; `None` when it is empty or was not asked for.
    fn get(&self, column: &str) -> Option<&str> {
        table::cell(&self.cells, column).filter(|value| !value.is_empty())
    }

    /// Puts a value down. Names are made equal: `maj:min`, `MAJ_MIN` and `MAJ:MIN` are one column.
    fn set(&mut self, column: &str, value: String) {
        let column = match column.to_ascii_uppercase().as_str() {
            "MAJ_MIN" | "MAJ-MIN" => "MAJ:MIN".to_owned(),
            other => other.replace('_', "-"),
        };
        self.cells.push((column, value));
    }

    /// Every place where it is mounted.
    fn mount_points(&self) -> impl Iterator<Item = &str> {
        let all = self.cells.iter().filter(|(name, _)| name == "MOUNTPOINTS" || name == "MOUNTPOINT");
        all.flat_map(|(_, value)| value.split('\n')).map(str::trim).filter(|point| point.starts_with('/'))
    }

    /// Major and minor number.
    fn number(&self) -> Option<(u32, u32)> {
        narrows_machine::block::dm_table::parse_number_pair(self.get("MAJ:MIN")?)
    }

    /// The name as it is printed, without `/dev/` and `/dev/mapper/`.
    fn name(&self) -> Option<&str> {
        let name = self.get("NAME").or_else(|| self.get("KNAME")).or_else(|| self.get("PATH"))?;
        let name = name.strip_prefix("/dev/").unwrap_or(name);
        Some(name.strip_prefix("mapper/").unwrap_or(name))
    }

    /// The key of the device, see [`crate::capture::device`].
    fn key(&self) -> Option<String> {
        if let Some(kernel) = self.get("KNAME") {
            return key_of(kernel).or_else(|| key_of(&format!("/dev/{kernel}")));
        }
        let name = self.name()?;
        match (self.is_mapping(name), self.number()) {
            (true, Some((_, minor))) => Some(format!("dm-{minor}")),
            (true, None) => key_of(&format!("/dev/mapper/{name}")),
            (false, _) => key_of(&format!("/dev/{name}")),
        }
    }

    /// Whether it is a device-mapper device: its type says so, or else its name is none that a driver gives.
    fn is_mapping(&self, name: &str) -> bool {
        match self.get("TYPE") {
            Some("crypt" | "lvm" | "mpath" | "dm" | "dmraid" | "multipath" | "stratis" | "vdo") => true,
            _ => {
                !is_kernel_name(name)
                    && !name.contains('!')
                    && (self.parent.is_some() || self.get("TYPE").is_some())
            }
        }
    }
}

/// `lsblk -P`: `NAME="sda" SIZE="1.8T" …`, one device on each line.
///
/// Every line of pairs that names a device.
fn rows_of_pairs(text: &Text) -> Vec<LsblkRow> {
    text.lines()
        .filter(|(_, line)| line.contains("NAME=\""))
        .filter_map(|(number, line)| row_of_pairs(number, line))
        .collect()
}

fn row_of_pairs(number: usize, line: &str) -> Option<LsblkRow> {
    let mut row = LsblkRow { line: number, ..LsblkRow::default() };
    let mut rest = line.trim_start();
    while let Some((column, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"')?;
        let is_column = |c: char| c.is_ascii_uppercase() || "%:-_".contains(c);
        if column.is_empty() || !column.chars().all(is_column) {
            return None;
        }
        if !value.is_empty() {
            row.set(column, unescape(value));
        }
        rest = after.trim_start();
    }
    // `blkid -o export` and `/etc/os-release` have a NAME too; only lsblk has these beside it.
    let is_own = ["TYPE", "MAJ:MIN", "SIZE", "KNAME", "FSTYPE", "MOUNTPOINT", "MOUNTPOINTS", "PKNAME"];
    row.parent = row.get("PKNAME").map(str::to_owned);
    (is_own.iter().any(|column| row.get(column).is_some()) && row.key().is_some()).then_some(row)
}

/// Undoes `\x20` (util-linux `lib/mangle.c`, `fputs_quoted`).
fn unescape(value: &str) -> String {
    let mut parts = value.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                bytes.push(code);
                bytes.extend(part.get(2..).unwrap_or_default().as_bytes());
            }
            None => {
                bytes.extend(b"\\x");
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `lsblk -J`: strings and numbers in quotes before util-linux 2.33, numbers and booleans since.
///
/// The devices of every `blockdevices` document, those above before those below.
fn rows_of_json(text: &Text) -> Vec<LsblkRow> {
    let mut rows = Vec::new();
    for (line, document) in json::documents(text) {
        add_devices(&mut rows, line, &document, "blockdevices", None);
    }
    rows
}

fn add_devices(rows: &mut Vec<LsblkRow>, line: usize, above: &Value, key: &str, parent: Option<&str>) {
    for device in json::list(above, key) {
        let Value::Object(members) = device else { continue };
        let mut row = LsblkRow { line, parent: parent.map(str::to_owned), ..LsblkRow::default() };
        for (column, value) in members {
            if let Some(value) = cell(value) {
                row.set(column, value);
            }
        }
        if parent.is_none() {
            row.parent = row.get("PKNAME").map(str::to_owned);
        }
        let Some(key) = row.key() else { continue };
        rows.push(row);
        add_devices(rows, line, device, "children", Some(&key));
    }
}

/// Several mount points are an array; `[null]` when there are none.
fn cell(value: &Value) -> Option<String> {
    match value {
        Value::Array(values) => {
            let lines: Vec<String> = values.iter().filter_map(json::plain).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        other => json::plain(other).filter(|text| !text.is_empty()),
    }
}

#[cfg(test)]
mod tests;
