//! `lscpu`, as text or `-J` (util-linux `sys-utils/lscpu.c`). Both are pairs of a name and a text.

use std::collections::BTreeMap;

use crate::capture::Text;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::cpu::{Cpus, NumaNode, parse_cpuinfo, parse_list};

/// More nodes than Linux has (`MAX_NUMNODES` is at most 1024).
const MOST_NODES: usize = 1024;

/// What is said, with its line.
type Pairs = BTreeMap<String, (String, usize)>;

/// Reads what `lscpu` says; `None` when the text has none of it.
pub(super) fn parse(text: &Text) -> Option<Cpus> {
    if !text.body().contains("CPU(s)") {
        return None;
    }
    let pairs = pairs(text);
    let get = |name: &str| pairs.get(name).map(|(value, _)| value.as_str());
    // `CPU(s)` alone is in other tools' output too.
    get("CPU(s)").filter(|_| get("Architecture").is_some() || get("Socket(s)").is_some())?;
    let source = |name: &str| text.source(pairs.get(name).map_or(1, |(_, line)| *line));
    let number = |name: &str| get(name).and_then(|text| text.parse::<u32>().ok()).filter(|count| *count > 0);
    let known =
        |name: &str, value: Option<u32>| value.map_or_else(Fact::default, |v| Fact::known(v, source(name)));
    let sockets = number("Socket(s)");
    let cores = number("Core(s) per socket").and_then(|cores| cores.checked_mul(sockets?));
    let online = get("On-line CPU(s) list").and_then(parse_list);
    let info = parse_cpuinfo(&as_cpuinfo(get));
    Some(Cpus {
        model: said(get("Model name"), source("Model name")),
        signature: info
            .signature
            .map_or_else(Fact::default, |found| Fact::known(found, source("CPU family"))),
        flags: info.flags,
        online: online.map_or_else(Fact::default, |list| Fact::known(list, source("On-line CPU(s) list"))),
        cores: known("Core(s) per socket", cores),
        sockets: known("Socket(s)", sockets),
        nodes: nodes(&pairs, text),
        memory: Fact::<Bytes>::default(),
        hypervisor: get("Hypervisor vendor")
            .map_or_else(Fact::default, |name| Fact::known(name.to_owned(), source("Hypervisor vendor"))),
    })
}

fn said(value: Option<&str>, source: String) -> Fact<String> {
    match value {
        Some(text) if !text.is_empty() && text != "-" => Fact::known(text.to_owned(), source),
        _ => Fact::default(),
    }
}

/// The numbers and flags as `/proc/cpuinfo` writes them, for its parser.
fn as_cpuinfo<'a>(get: impl Fn(&str) -> Option<&'a str>) -> String {
    let line =
        |name: &str, from: &str| get(from).map(|value| format!("{name} : {value}\n")).unwrap_or_default();
    let all =
        [("cpu family", "CPU family"), ("model", "Model"), ("stepping", "Stepping"), ("flags", "Flags")];
    all.iter().map(|(name, from)| line(name, from)).collect()
}

fn pairs(text: &Text) -> Pairs {
    let mut pairs = Pairs::new();
    let mut field = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        // `{"field": "CPU(s):", "data": "8"}`, on one line or, from util-linux 2.37 on, on several.
        let name = json_value(line, "\"field\"").map(|name| name.trim_end_matches(':').to_owned());
        if name.is_some() {
            field = name;
        }
        if let Some(value) = json_value(line, "\"data\"") {
            if let Some(name) = field.take() {
                pairs.entry(name).or_insert_with(|| (value.to_owned(), number));
            }
        } else if let Some((name, value)) = line.split_once(':').filter(|_| field.is_none()) {
            // Some put a note before a name; NUMA nodes are told apart by their numbers.
            let name = name.find("NUMA node").and_then(|place| name.get(place..)).unwrap_or(name);
            if name.len() <= 40 && !value.trim().is_empty() {
                pairs.entry(name.trim().to_owned()).or_insert_with(|| (value.trim().to_owned(), number));
            }
        }
    }
    pairs
}

/// The text behind a key of JSON. lscpu prints no escapes in what is of interest.
fn json_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(key)?;
    rest.trim_start()
        .strip_prefix(':')?
        .trim_start()
        .strip_prefix('"')?
        .split_once('"')
        .map(|(value, _)| value)
}

/// Reads `NUMA node0 CPU(s): 0-63,128-191`.
fn nodes(pairs: &Pairs, text: &Text) -> Vec<NumaNode> {
    let mut nodes: Vec<NumaNode> = pairs
        .iter()
        .filter_map(|(name, (cpus, line))| {
            let id = name.strip_prefix("NUMA node")?.strip_suffix("CPU(s)")?.trim().parse().ok()?;
            Some(NumaNode {
                id,
                cpus: parse_list(cpus)?,
                socket: Fact::absent(text.source(*line)),
                ..NumaNode::default()
            })
        })
        .take(MOST_NODES)
        .collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}
