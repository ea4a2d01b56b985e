//! LVM: `pvs` and `lvs` as tables with any columns, and as JSON (`--reportformat json`).
//!
//! Which volumes lie on which devices is told by `lvs -o +devices`. Without it, the volumes of a group with one device
//! lie on that one. The devices of a group are kept under `vg/NAME` until `join`, since
//! `pvs` and `lvs` are often files of their own.

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{DmKind, DmTarget};
use serde_json::Value;

use super::device::{add_name, device, key_of, learn, mapping, stack, volume_name};
use super::json::{documents, list, text_of};
use super::table::{TableHead, cell, words};
use super::{Lacks, Part, Rank, Text, gap, number};

/// The stripe size that LVM uses when it is not told otherwise (lvm.conf(5), `allocation/stripesize` of lvmconfig; 64 KiB
/// in lvcreate(8), `--stripesize`).
const USUAL_STRIPE: Bytes = Bytes::from_kib(64);

/// Reads every report of LVM in a text.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let body = text.body();
    let mut rows = Vec::new();
    if body.contains("\"report\"") {
        rows.extend(rows_of_json(text));
    }
    if body.contains("PV ") || body.contains("LV ") {
        rows.extend(rows_of_lines(text));
    }
    for row in &rows {
        let source = text.source(row.line);
        if volume(&mut part, row, &source).is_some() || physical(&mut part.machine, row).is_some() {
            part.kind = Some("LVM report");
        }
    }
    part
}

/// One row of a report, whatever form it was printed in.
#[derive(Debug, Default)]
struct LvmRow {
    line: usize,
    /// `lv_name`, `vg_name`, `pv_name`, `lv_size`, `lv_attr`, `devices`, `stripes`, `stripe_size`, `segtype`.
    cells: Vec<(&'static str, String)>,
}

impl LvmRow {
    fn get(&self, name: &str) -> Option<&str> {
        cell(&self.cells, name).map(str::trim).filter(|value| !value.is_empty())
    }
}

/// Puts a logical volume down.
fn volume(part: &mut Part, row: &LvmRow, source: &str) -> Option<()> {
    let group = row.get("vg_name")?;
    // Hidden volumes stand in brackets.
    let name = row.get("lv_name")?.trim_start_matches('[').trim_end_matches(']');
    let mapped = volume_name(group, name);
    let key = key_of(&format!("/dev/mapper/{mapped}"))?;
    let machine = &mut part.machine;
    let below = row.get("devices").unwrap_or_default();
    let below: Vec<String> = below.split(',').filter_map(|extent| extent_of(group, extent)).collect();
    for lower in &below {
        stack(machine, &key, lower);
    }
    learn(&mut device(machine, &key).size, row.get("lv_size").and_then(number::binary_size), source);
    let target = target(row, below.len());
    let dm = mapping(machine, &key)?;
    learn(&mut dm.name, Some(mapped), source);
    learn(&mut dm.owner, Some("LVM".to_owned()), source);
    if let (Some(kind), false) = (target, dm.table.value().is_some()) {
        let nothing = Bytes::new(0);
        dm.table = Fact::known(vec![DmTarget { start: nothing, length: nothing, kind }], source);
    }
    if below.is_empty() {
        let what = format!("the devices below the volume {group}/{name}");
        let gap = gap(what, "sudo lvs -a -o +devices,stripes", Lacks::Below(key));
        if part.gaps.len() < 64 && !part.gaps.contains(&gap) {
            part.gaps.push(gap);
        }
    }
    Some(())
}

/// `/dev/sda2(0)`, or a volume of the same group: `pool_tdata(0)`.
fn extent_of(group: &str, extent: &str) -> Option<String> {
    let name = extent.trim().split('(').next()?.trim_start_matches('[').trim_end_matches(']');
    match name.starts_with("/dev/") {
        true => key_of(name),
        false if name.is_empty() => None,
        false => key_of(&format!("/dev/mapper/{}", volume_name(group, name))),
    }
}

/// How a volume lies on what is below it, where that is neither plain nor unknown.
fn target(row: &LvmRow, below: usize) -> Option<DmKind> {
    let stripes = row.get("stripes").and_then(|count| count.parse::<u32>().ok());
    let kind = row.get("segtype").unwrap_or_default();
    // The first letter is the type of the volume (lvs(8), `lv_attr`).
    match row.get("lv_attr").and_then(|attributes| attributes.chars().next()) {
        Some('r' | 'R') => return Some(DmKind::Other("raid".to_owned())),
        Some('m' | 'M') => return Some(DmKind::Other("mirror".to_owned())),
        Some('V') => return Some(DmKind::Other("thin".to_owned())),
        Some('t') => return Some(DmKind::Other("thin-pool".to_owned())),
        Some('C') => return Some(DmKind::Other("cache".to_owned())),
        _ => {}
    }
    let is_striped =
        stripes.is_some_and(|stripes| stripes > 1) && matches!(kind, "" | "striped") && below > 1;
    let chunk = row.get("stripe_size").and_then(number::binary_size).filter(|chunk| chunk.get() > 0);
    is_striped.then(|| DmKind::Striped { chunk: chunk.unwrap_or(USUAL_STRIPE), devices: Vec::new() })
}

/// Puts a physical volume down.
fn physical(machine: &mut Machine, row: &LvmRow) -> Option<()> {
    let key = key_of(row.get("pv_name")?)?;
    device(machine, &key);
    if let Some(group) = row.get("vg_name").and_then(|group| key_of(&format!("/dev/{group}"))) {
        add_name(&mut device(machine, &format!("vg/{group}")).slaves, &key);
    }
    Some(())
}

/// Heads of columns that are read, and what JSON calls them.
const FIELDS: &[(&str, &str)] = &[
    ("LV", "lv_name"),
    ("VG", "vg_name"),
    ("PV", "pv_name"),
    ("LSize", "lv_size"),
    ("Attr", "lv_attr"),
    ("Devices", "devices"),
    ("#Str", "stripes"),
    ("Stripe", "stripe_size"),
    ("Type", "segtype"),
];

/// The tables of `pvs` and `lvs`.
///
/// Every row of every table.
fn rows_of_lines(text: &Text) -> Vec<LvmRow> {
    let mut rows = Vec::new();
    let mut table: Option<TableHead<'_>> = None;
    for (number, line) in text.lines() {
        let words = words(line);
        if is_head(|name| words.iter().any(|word| word.text == name)) {
            table = Some(TableHead(words));
            continue;
        }
        let Some(head) = table.as_ref().filter(|_| !words.is_empty()) else {
            table = None;
            continue;
        };
        let found = head.cells(&words).into_iter().filter_map(|(name, cell)| {
            let (_, field) = FIELDS.iter().find(|(known, _)| *known == name)?;
            Some((*field, cell))
        });
        let row = LvmRow { line: number, cells: found.collect() };
        if is_row(&row) { rows.push(row) } else { table = None }
    }
    rows
}

/// Heads name the volume and at least one thing that only LVM says.
fn is_head(has: impl Fn(&str) -> bool) -> bool {
    (has("LV") && has("VG") && (has("LSize") || has("Attr") || has("Devices")))
        || (has("PV") && has("VG") && (has("PSize") || has("Attr") || has("Fmt")))
}

/// A prompt or message below a table is no row: its words do not stand where a name and its attributes would.
fn is_row(row: &LvmRow) -> bool {
    let one_word = |field: &str| row.get(field).is_none_or(|value| !value.contains(' '));
    let attributes = row.get("lv_attr").is_none_or(|attributes| {
        (3..=10).contains(&attributes.len())
            && attributes.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    let is_device = row.get("pv_name").is_none_or(|name| name.starts_with("/dev/"));
    let name = row.get("lv_name").or_else(|| row.get("pv_name"));
    name.is_some() && attributes && is_device && ["lv_name", "vg_name", "pv_name"].into_iter().all(one_word)
}

/// `--reportformat json`: `{"report": [{"lv": [{"lv_name": "root", …}]}]}`.
///
/// Every row of every report.
fn rows_of_json(text: &Text) -> Vec<LvmRow> {
    let mut rows = Vec::new();
    for (line, document) in documents(text) {
        let reports = list(&document, "report").filter_map(Value::as_object);
        let members = reports.flat_map(|report| report.iter());
        let lists = members.filter(|(kind, _)| matches!(kind.as_str(), "lv" | "pv" | "seg" | "pvseg"));
        for value in lists.filter_map(|(_, list)| list.as_array()).flatten() {
            let cells = FIELDS.iter().filter_map(|(_, field)| Some((*field, text_of(value, field)?)));
            rows.push(LvmRow { line, cells: cells.collect() });
        }
    }
    rows
}

#[cfg(test)]
mod tests;
