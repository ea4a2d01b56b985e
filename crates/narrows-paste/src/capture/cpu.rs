//! Processors and memory: `lscpu` (text and JSON), `/proc/cpuinfo`, `/proc/meminfo`, `free`, `numactl -H`, and the
//! lines that `numastat` and `lstopo` share with them are left to those.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::cpu::{Cpus, NumaNode, parse_cpuinfo, parse_list};
use narrows_machine::memory::parse_memory;

use super::device::known;
use super::{Part, Rank, Text, number};
use crate::text::is_digits;

/// Reads what these tools printed in `text`. Each is a part of its own: they are believed differently.
pub fn read_lscpu(text: &Text) -> Part {
    part("lscpu", Rank::Summary, parse_lscpu(text))
}

/// Reads `numactl -H`.
pub fn read_numactl(text: &Text) -> Part {
    part("numactl -H", Rank::Summary, parse_numactl(text))
}

/// Reads `/proc/meminfo` or `free`.
pub fn read_memory(text: &Text) -> Part {
    let memory = meminfo(text).map(|memory| ("/proc/meminfo", Rank::Raw, memory));
    let memory = memory.or_else(|| free(text).map(|memory| ("free", Rank::Summary, memory)));
    let Some((kind, rank, memory)) = memory else { return Part::default() };
    part(kind, rank, Some(Cpus { memory, ..Cpus::default() }))
}

/// Reads `/proc/cpuinfo`.
pub fn read_cpuinfo(text: &Text) -> Part {
    part("/proc/cpuinfo", Rank::Raw, parse_info(text))
}

fn part(kind: &'static str, rank: Rank, cpus: Option<Cpus>) -> Part {
    let Some(cpus) = cpus else { return Part::default() };
    Part { kind: Some(kind), rank, machine: Machine { cpus, ..Machine::default() }, gaps: Vec::new() }
}

/// `/proc/cpuinfo` starts with `processor : 0`, wherever in the text that is.
fn parse_info(text: &Text) -> Option<Cpus> {
    let is_number = |line: &str| {
        line.split_once(':').is_some_and(|(key, number)| {
            key.trim_end() == "processor" && number.trim().bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let numbers: Vec<(usize, u32)> = text
        .lines()
        .filter(|(_, line)| line.starts_with("processor") && is_number(line))
        .filter_map(|(number, line)| Some((number, line.rsplit(':').next()?.trim().parse().ok()?)))
        .take(MOST_PROCESSORS)
        .collect();
    let (first, _) = *numbers.first()?;
    let from: usize = text.body().lines().take(first - 1).map(|line| line.len() + 1).sum();
    let info = parse_cpuinfo(text.body().get(from..)?.split("\n\n").next()?);
    let source = text.source(first);
    // Another tool's line `processor: 0` has none of this behind it.
    let model = info.model?;
    let online: std::collections::BTreeSet<u32> = numbers.into_iter().map(|(_, cpu)| cpu).collect();
    Some(Cpus {
        model: Fact::known(model, source.as_str()),
        signature: known(info.signature, source.as_str()),
        flags: info.flags,
        online: Fact::known(online.into_iter().collect(), source),
        ..Cpus::default()
    })
}

/// More than any kernel serves (`CONFIG_NR_CPUS` ends at 8192 on x86).
const MOST_PROCESSORS: usize = 65_536;

/// What is said, with its line.
type LscpuPairs = BTreeMap<String, (String, usize)>;

/// `lscpu`, as text or `-J` (util-linux `sys-utils/lscpu.c`). Both are pairs of a name and a text.
///
/// Reads what `lscpu` says; `None` when the text has none of it.
fn parse_lscpu(text: &Text) -> Option<Cpus> {
    let pairs = lscpu_pairs(text);
    let get = |name: &str| pairs.get(name).map(|(value, _)| value.as_str());
    // `CPU(s)` alone is in other tools' output too.
    get("CPU(s)").filter(|_| get("Architecture").is_some() || get("Socket(s)").is_some())?;
    let source = |name: &str| text.source(pairs.get(name).map_or(1, |(_, line)| *line));
    let number = |name: &str| get(name).and_then(|text| text.parse::<u32>().ok()).filter(|count| *count > 0);
    let model = get("Model name").filter(|model| !matches!(*model, "" | "-"));
    let sockets = number("Socket(s)");
    let cores = number("Core(s) per socket").and_then(|cores| cores.checked_mul(sockets?));
    let online = get("On-line CPU(s) list").and_then(parse_list);
    let info = parse_cpuinfo(&as_cpuinfo(get));
    Some(Cpus {
        model: known(model.map(str::to_owned), source("Model name")),
        signature: known(info.signature, source("CPU family")),
        flags: info.flags,
        online: known(online, source("On-line CPU(s) list")),
        cores: known(cores, source("Core(s) per socket")),
        sockets: known(sockets, source("Socket(s)")),
        nodes: lscpu_nodes(&pairs, text),
        memory: Fact::<Bytes>::default(),
        hypervisor: known(get("Hypervisor vendor").map(str::to_owned), source("Hypervisor vendor")),
    })
}

/// The numbers and flags as `/proc/cpuinfo` writes them, for its parser.
fn as_cpuinfo<'a>(get: impl Fn(&str) -> Option<&'a str>) -> String {
    let line =
        |name: &str, from: &str| get(from).map(|value| format!("{name} : {value}\n")).unwrap_or_default();
    let all =
        [("cpu family", "CPU family"), ("model", "Model"), ("stepping", "Stepping"), ("flags", "Flags")];
    all.iter().map(|(name, from)| line(name, from)).collect()
}

fn lscpu_pairs(text: &Text) -> LscpuPairs {
    let mut pairs = LscpuPairs::new();
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
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(value, _)| value)
}

/// Reads `NUMA node0 CPU(s): 0-63,128-191`.
fn lscpu_nodes(pairs: &LscpuPairs, text: &Text) -> Vec<NumaNode> {
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

/// More nodes than Linux has (`MAX_NUMNODES` is at most 1024).
const MOST_NODES: usize = 1024;

/// `numactl -H`: nodes, their processors and memory, and the distances between them.
///
/// Reads what `numactl --hardware` says; `None` when the text has none of it.
fn parse_numactl(text: &Text) -> Option<Cpus> {
    let mut nodes = BTreeMap::new();
    let mut is_distances = false;
    for (number, line) in text.lines() {
        let line = line.trim();
        if line == "node distances:" {
            is_distances = true;
        } else if is_distances {
            is_distances = line.starts_with("node ") || take_distances(&mut nodes, line);
        } else if let Some((node, what)) = line.strip_prefix("node ").and_then(|rest| rest.split_once(' ')) {
            take_node(&mut nodes, node, what, || text.source(number));
        }
    }
    let nodes: Vec<NumaNode> = nodes.into_values().collect();
    (!nodes.is_empty()).then(|| Cpus { nodes, ..Cpus::default() })
}

/// `cpus: 0 1 2 3` or `size: 64215 MB`. numactl's MB are MiB (`numactl.c`, `fmt_mem`).
fn take_node(nodes: &mut BTreeMap<u32, NumaNode>, node: &str, what: &str, source: impl Fn() -> String) {
    let Ok(id) = node.parse() else { return };
    if nodes.len() >= MOST_NODES && !nodes.contains_key(&id) {
        return;
    }
    if let Some(cpus) = what.strip_prefix("cpus:") {
        let cpus: Option<Vec<u32>> = cpus.split_whitespace().map(|cpu| cpu.parse().ok()).collect();
        let node = nodes.entry(id).or_insert_with(|| NumaNode { id, ..NumaNode::default() });
        node.cpus = cpus.unwrap_or_default();
        node.socket = Fact::absent(source());
    } else if let Some(size) = what.strip_prefix("size:").and_then(|size| size.trim().strip_suffix(" MB")) {
        let memory = size.trim().parse::<u32>().ok();
        let node = nodes.entry(id).or_insert_with(|| NumaNode { id, ..NumaNode::default() });
        node.memory = known(memory.map(|mib| Bytes::from_mib(mib.into())), source());
    }
}

/// `  0:  10  21`.
fn take_distances(nodes: &mut BTreeMap<u32, NumaNode>, line: &str) -> bool {
    let Some((node, distances)) = line.split_once(':') else { return false };
    let node = node.trim().parse::<u32>().ok().and_then(|id| nodes.get_mut(&id));
    let distances: Option<Vec<u32>> =
        distances.split_whitespace().take(MOST_NODES).map(|distance| distance.parse().ok()).collect();
    let (Some(node), Some(distances)) = (node, distances) else { return false };
    node.distances = distances;
    true
}

/// `MemTotal:  10315988 kB`.
fn meminfo(text: &Text) -> Option<Fact<Bytes>> {
    let mut lines = text.lines().filter(|(_, line)| line.trim_start().starts_with("MemTotal:"));
    let (number, line) = lines.next()?;
    parse_memory(line.trim_start(), "MemTotal").map(|memory| Fact::known(memory, text.source(number)))
}

/// `Mem:  15Gi  4.2Gi …` below `total  used  free`, in KiB unless units stand behind the numbers.
fn free(text: &Text) -> Option<Fact<Bytes>> {
    let mut has_head = false;
    for (number, line) in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next();
        if has_head && first == Some("Mem:") {
            let memory = parse_size(words.next()?)?;
            return Some(Fact::known(memory, text.source(number)));
        }
        has_head = has_head && first.is_none() || (first == Some("total") && words.next() == Some("used"));
    }
    None
}

/// Reads `16314400` (KiB), `15Gi`, `15G`, `15.5Gi`. `free -b`, `-m` and `-g` print numbers that cannot be told from
/// KiB; those of bytes and of MiB would make a machine absurd and are refused.
fn parse_size(text: &str) -> Option<Bytes> {
    if !is_digits(text) {
        return number::binary_size(text);
    }
    // From 64 MiB to 64 TiB.
    text.parse().ok().filter(|kib| (65_536..=68_719_476_736).contains(kib)).map(Bytes::from_kib)
}

#[cfg(test)]
mod tests;
