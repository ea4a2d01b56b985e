//! `nvidia-smi topo -m`: a matrix of GPUs and network cards, with the NUMA node and processors of each GPU. How a network
//! card is connected to a GPU tells its node: anything nearer than `SYS` stays within one (the legend of the output).

use std::collections::BTreeMap;

use crate::capture::Text;
use crate::capture::device::learn;
use narrows_base::fact::Source;
use narrows_machine::captured::{Affinity, Connection};
use narrows_machine::cpu::parse_list;

/// No matrix has more rows.
const MOST: usize = 512;

/// More processors than any machine has.
const MOST_CPUS: usize = 8192;

/// Reads every matrix; whether there was one.
pub(super) fn read(affinities: &mut BTreeMap<String, Affinity>, text: &Text) -> bool {
    let mut matrix: Option<Matrix<'_>> = None;
    let mut cards: Vec<(String, Affinity)> = Vec::new();
    let mut legend: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = false;
    for (number, line) in text.lines() {
        if let Some(head) = Matrix::head(line) {
            matrix = Some(head);
        } else if let Some((name, card)) =
            line.trim().split_once(": ").filter(|(name, _)| is_numbered(name, "NIC"))
        {
            legend.insert(name, card.trim());
        } else if let Some(row) = matrix.as_mut().and_then(|matrix| matrix.row(line)) {
            let source = text.source(number);
            if is_numbered(row.name, "GPU") && affinities.len() < MOST {
                let gpu = affinities.entry(row.name.to_owned()).or_default();
                learn(&mut gpu.node, row.node, &source);
                learn(&mut gpu.cpus, row.cpus, &source);
                let connections = row.connections.iter().map(|(name, connection)| {
                    ((*name).to_owned(), (*connection, Source::new(source.as_str())))
                });
                gpu.connections.extend(connections);
                found = true;
            } else if cards.len() < MOST {
                let near = row.connections.iter().filter(|(_, connection)| *connection < Connection::Sys);
                let gpus = near.filter_map(|(name, _)| affinities.get(*name));
                let near = gpus.into_iter().find(|gpu| gpu.node.value().is_some());
                let mut card = Affinity::default();
                learn(&mut card.node, near.and_then(|gpu| gpu.node.get()), &source);
                cards.push((row.name.to_owned(), card));
            }
        }
    }
    name_by(&legend, affinities);
    for (name, card) in cards {
        let name = legend.get(name.as_str()).map_or(name, |name| (*name).to_owned());
        if card.node.value().is_some() && affinities.len() < MOST {
            affinities.entry(name).or_insert(card);
        }
    }
    found
}

/// Calls network cards by the names that the legend gives their numbers.
fn name_by(legend: &BTreeMap<&str, &str>, affinities: &mut BTreeMap<String, Affinity>) {
    for gpu in affinities.values_mut() {
        for (number, name) in legend {
            if let Some(connection) = gpu.connections.remove(*number) {
                gpu.connections.insert((*name).to_owned(), connection);
            }
        }
    }
}

/// The head of a matrix: the devices of its columns.
struct Matrix<'t> {
    devices: Vec<&'t str>,
    has_cpus: bool,
    has_nodes: bool,
}

/// A row of it.
struct Row<'t> {
    name: &'t str,
    cpus: Option<Vec<u32>>,
    node: Option<u32>,
    /// How it is connected to the others.
    connections: Vec<(&'t str, Connection)>,
}

impl<'t> Matrix<'t> {
    /// `GPU0 GPU1 NIC0 mlx5_1 CPU Affinity NUMA Affinity GPU NUMA ID`.
    fn head(line: &'t str) -> Option<Self> {
        let (devices, rest) = line.split_once("CPU Affinity")?;
        let devices: Vec<&str> = devices.split_whitespace().take(MOST).collect();
        devices.first().filter(|name| is_numbered(name, "GPU"))?;
        Some(Self { devices, has_cpus: true, has_nodes: rest.contains("NUMA Affinity") })
    }

    fn row(&mut self, line: &'t str) -> Option<Row<'t>> {
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| self.devices.contains(name))?;
        let mut connections = Vec::new();
        for device in &self.devices {
            let connection = Connection::from_word(words.next()?);
            connections.extend(connection.map(|connection| (*device, connection)));
        }
        let mut after = words;
        let cpus = after.next().filter(|_| self.has_cpus).and_then(parse_list);
        let cpus = cpus.filter(|cpus| (1..=MOST_CPUS).contains(&cpus.len()));
        let node = after.next().filter(|_| self.has_nodes).and_then(|node| node.parse().ok());
        Some(Row { name, cpus, node, connections })
    }
}

fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
