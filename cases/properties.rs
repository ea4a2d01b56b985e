//! What holds of every capture, whoever labelled it or did not: no ceiling above what the kernel says of the link, one state
//! of a link, and every controller that moves data shown or named.

#![expect(clippy::disallowed_methods, reason = "captures are files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::contradictions::contradictions;
use crate::files::{list, word};

/// Findings about the state of a link, of which a link has one.
const STATES: [&str; 6] = [
    "narrower_than_before",
    "link_width_degraded",
    "link_speed_degraded",
    "slot_limited",
    "nic_slot_limited",
    "power_save",
];

/// The classes of storage controllers as `lspci` names them.
const STORAGE: [&str; 7] = [
    "Non-Volatile memory controller",
    "RAID bus controller",
    "Serial Attached SCSI controller",
    "SATA controller",
    "SCSI storage controller",
    "Mass storage controller",
    "Fibre Channel",
];

/// The classes of network cards, and words that only cards of 10 Gbit/s and more have in their names.
const NETWORK: [&str; 3] = ["Ethernet controller", "Infiniband controller", "Network controller"];
const FAST: [&str; 14] = [
    "10GbE",
    "10-Gig",
    "25GbE",
    "40GbE",
    "100GbE",
    "10Gb/25Gb",
    "ConnectX",
    "X520",
    "X540",
    "X550",
    "X710",
    "82599",
    "E810",
    "AQC",
];

/// What a report says against what holds of every capture.
pub(crate) fn broken(report: &Value, texts: &str) -> Vec<String> {
    let mut all = above_the_kernel(report, texts);
    all.extend(two_states(report));
    all.extend(hidden(report, texts));
    all.extend(contradictions(report));
    all
}

/// Links with a ceiling above the kernel's own line. Where `lspci` stands beside the log, a later reading may say more.
fn above_the_kernel(report: &Value, texts: &str) -> Vec<String> {
    /// The kernel prints three decimals, and counts no packets.
    const ROUNDING: f64 = 1.02;
    if texts.contains("LnkSta:") {
        return Vec::new();
    }
    let limits: BTreeMap<String, f64> = texts.lines().filter_map(limit).collect();
    let hops = list(report, "paths").flat_map(|path| list(path, "hops"));
    hops.filter_map(|hop| {
        let (address, limit) =
            limits.iter().find(|(address, _)| word(hop, "id").contains(address.as_str()))?;
        let rate = hop.pointer("/ceiling/read/bytes_per_second")?.as_f64()?;
        (rate > limit * ROUNDING).then(|| format!("{address}: {rate} B/s, the kernel says {limit}"))
    })
    .collect()
}

/// `… 7.876 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x1 link at 0000:00:1d.0 (…)`.
fn limit(line: &str) -> Option<(String, f64)> {
    let (before, rest) = line.split_once(" Gb/s available PCIe bandwidth, limited by ")?;
    let rate: f64 = before.rsplit(' ').next()?.parse().ok()?;
    let address = rest.split_once(" link at ")?.1.split_whitespace().next()?;
    Some((address.trim_end_matches(['.', ',']).to_owned(), rate * 1e9 / 8.0))
}

/// Links with more than one finding about their state.
fn two_states(report: &Value) -> Vec<String> {
    let mut states: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for finding in list(report, "findings").filter(|one| STATES.contains(&word(one, "code"))) {
        states.entry(word(finding, "hop")).or_default().insert(word(finding, "code"));
    }
    let two = states.into_iter().filter(|(hop, codes)| !hop.is_empty() && codes.len() > 1);
    two.map(|(hop, codes)| format!("{hop} has two states: {codes:?}")).collect()
}

/// Controllers that the report does not name. The functions of one card are one, and so are the virtual functions of a
/// physical one, which may have other device numbers on its bus (Single Root I/O Virtualization 1.1, section 2.1.2).
fn hidden(report: &Value, texts: &str) -> Vec<String> {
    let shown = report.to_string();
    let is_hidden = |line: &&str| controller(line).is_some_and(|card| !shown.contains(card));
    texts.lines().filter(is_hidden).map(|line| format!("not shown: {line}")).collect()
}

/// The bus and device of a controller that moves data, or the bus alone of a virtual function, of a line that heads a record of `lspci`.
fn controller(line: &str) -> Option<&str> {
    let (address, rest) = line.split_once(' ')?;
    let (card, function) = address.rsplit_once('.')?;
    let card = card.get(card.len().checked_sub(5)?..)?;
    let is_address = function.len() == 1 && card.as_bytes().get(2) == Some(&b':');
    let class = rest.split([':', '[']).next()?.trim();
    let is_fast = NETWORK.contains(&class) && FAST.iter().any(|word| rest.contains(word));
    let is_virtual = rest.contains("Virtual Function");
    // The report puts the domain before the bus.
    let names = if is_virtual { card.get(..3)? } else { card };
    (is_address && (STORAGE.contains(&class) || is_fast)).then_some(names)
}

/// What stands in files, one behind the other.
pub(crate) fn texts(paths: &[PathBuf]) -> String {
    let texts = paths.iter().filter_map(|path| fs::read(path).ok());
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned() + "\n").collect()
}

/// The files below a directory, and those in its directories, by name.
pub(crate) fn below(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let list = |directory: &Path| -> Result<Vec<PathBuf>, String> {
        let listed = fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        Ok(listed.flatten().map(|entry| entry.path()).collect())
    };
    let mut all = Vec::new();
    for path in list(directory)? {
        if path.is_dir() { all.extend(list(&path)?) } else { all.push(path) }
    }
    all.retain(|path| path.is_file());
    all.sort();
    Ok(all)
}
