//! Rows that are one law and no path: ciphers, memory, parity, DMA engines, link arithmetic, resyncs, clusters.

use narrows::catalog::catalog;
use narrows::ceiling::fabric::Storage;
use narrows::ceiling::pcie::{packets, rate};
use narrows::ceiling::{dram, parity, replicas, resync};
use narrows::path::HopKind;
use narrows::path::file::Pattern;
use narrows::predict::Prediction;
use narrows::predict::law::Law;
use narrows::units::{Bytes, BytesPerSec, GtPerSec, Nanos};

use crate::model;
use crate::network::{self, Wire};
use crate::table::Row;
use crate::text;
use crate::work::Work;

/// What is predicted, in the quantity of the law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantity {
    Rate(BytesPerSec),
    Time(Nanos),
}

/// A prediction with the hop that limits.
#[derive(Debug, Clone)]
pub(crate) struct Value {
    pub(crate) quantity: Quantity,
    pub(crate) hop: HopKind,
    /// What that hop cannot have carried more than: its rate before packets and protocols, where it is a wire.
    pub(crate) raw: Option<BytesPerSec>,
    pub(crate) said: String,
    /// The prediction, where the row is a path.
    pub(crate) prediction: Option<Box<Prediction>>,
    /// The law, where it is one alone that predictions of paths use too.
    pub(crate) law: Option<Law>,
}

impl Value {
    pub(crate) fn rate(rate: BytesPerSec, hop: HopKind, said: impl Into<String>) -> Self {
        Self {
            quantity: Quantity::Rate(rate),
            hop,
            raw: None,
            said: said.into(),
            prediction: None,
            law: None,
        }
    }

    fn with_raw(self, raw: BytesPerSec) -> Self {
        Self { raw: Some(raw), ..self }
    }
}

/// Efficiency of links between sockets: measured on Skylake-SP (see `data/processors.toml`).
const SOCKET_EFFICIENCY: f64 = 0.8;

/// How far a resync may exceed its throttle: md sleeps only after the fact.
const THROTTLE_SLACK: f64 = 1.2;

/// The prediction of a row that is one law; `None` for a path.
pub(crate) fn of(row: &Row, work: &Work) -> Option<Result<Value, String>> {
    let words = row.workload.to_lowercase();
    let layers = row.layers.to_lowercase();
    if words.contains("theoretical") || layers == "theory" {
        return Some(theory(row));
    }
    if layers == "crypto" {
        return Some(cipher(row));
    }
    if layers.contains("parity") && row.topology.contains("core") {
        return Some(syndrome(row));
    }
    if row.topology.starts_with("memory") && layers.starts_with("numa") {
        return Some(memory(row));
    }
    if words.starts_with("dma") {
        return Some(dma(row, work));
    }
    if text::has_any(&words, &["resync", "rebuild", "recovery"]) {
        return Some(resynced(row));
    }
    if layers.contains("replicas") {
        return Some(cluster(row, work));
    }
    (layers == "network" || layers.starts_with("rdma")).then(|| network::transfer(row))
}

/// Whether a row is one law, of which no path is made: neither a network alone nor a cluster.
pub(crate) fn is_alone(row: &Row, work: &Work) -> bool {
    let layers = row.layers.to_lowercase();
    let is_path = layers == "network" || layers.starts_with("rdma") || layers.contains("replicas");
    let is_theory = row.workload.to_lowercase().contains("theoretical") || layers == "theory";
    (is_theory || !is_path) && of(row, work).is_some()
}

/// Arithmetic of links, without packets, and sums of rated drives.
fn theory(row: &Row) -> Result<Value, String> {
    if let Some(wire) = Wire::of(&row.network).filter(|_| row.layers == "network") {
        let line = wire.gigabits * f64::from(wire.ports.max(model::count(row))) * 1e9 / 8.0;
        let rate = BytesPerSec::new(line);
        return Ok(Value::rate(rate, HopKind::Network, "line rate of all ports, one way").with_raw(rate));
    }
    if text::has_any(&row.workload.to_lowercase(), &["device", "devices", "drive", "drives"]) {
        let model = model::of(&Row { layers: "none".to_owned(), ..row.clone() }, &Work::of(row))?;
        let sum: BytesPerSec = model
            .system
            .parts
            .iter()
            .filter_map(|part| match &part.kind {
                narrows::path::file::PartKind::Device(device) => device.read,
                _ => None,
            })
            .sum();
        return Ok(Value::rate(sum, HopKind::Device, "what its drives are rated with, together"));
    }
    let link = model::link(row, None);
    let speed = link.generation.and_then(GtPerSec::from_pcie_generation).ok_or("no link is named")?;
    let raw = rate::raw(speed, link.width.ok_or("no width is named")?).ok_or("no such link")?;
    let hop = if row.device.to_lowercase().contains("dmi") { HopKind::Chipset } else { HopKind::Link };
    Ok(Value::rate(raw, hop, "lanes and line code").with_raw(raw))
}

fn cipher(row: &Row) -> Result<Value, String> {
    let core = catalog().core_by_words(&row.platform).ok_or("the processor is not named")?;
    let words = row.device.to_lowercase();
    // XTS takes two keys: "AES-256-XTS" has a key of 512 bits.
    let key = if words.contains("aes-256-xts") || words.contains("512b") {
        512
    } else if words.contains("256b") || words.contains("aes-128-xts") {
        256
    } else {
        return Err("the length of the key is not named".to_owned());
    };
    if !words.contains("xts") {
        return Err("there is no law for this cipher".to_owned());
    }
    let rate = model::cipher_of(core, row, key).ok_or("there is no law for AES without its instructions")?;
    Ok(Value::rate(rate, HopKind::Crypt, format!("AES rounds of {}", core.name)))
}

fn syndrome(row: &Row) -> Result<Value, String> {
    let words = format!("{} {}", row.device, row.workload).to_lowercase();
    let by_words = [
        ("avx512", parity::Vectors::Avx512),
        ("avx2", parity::Vectors::Avx2),
        ("sse2", parity::Vectors::Sse2),
        ("neon", parity::Vectors::Neon),
    ];
    let vectors = by_words.into_iter().find(|(word, _)| words.contains(word)).map(|(_, vectors)| vectors);
    let rate = parity::syndrome(vectors.ok_or("the vector extension is not named")?);
    Ok(Value::rate(rate, HopKind::Cpu, "parity of one core"))
}

fn memory(row: &Row) -> Result<Value, String> {
    let core = catalog().core_by_words(&row.platform).ok_or("the processor is not named")?;
    if row.layers.contains("remote") {
        let links = text::before(&row.platform.to_lowercase(), &["upi", "qpi", "xgmi"]).unwrap_or(2.0);
        let family = catalog().processors.iter().filter(|entry| {
            core.name
                .split([',', '(', ')'])
                .any(|part| part.trim().len() > 4 && entry.name.contains(part.trim()))
        });
        let link =
            family.filter_map(|entry| entry.interconnect.as_ref()).next().ok_or("its link is not known")?;
        let rate = dram::remote(links as u32, link.gigabytes_per_second / 2.0, SOCKET_EFFICIENCY);
        return Ok(Value::rate(rate, HopKind::Socket, "the links between the sockets"));
    }
    let (channels, transfers) =
        core.memory_channels.zip(core.memory_megatransfers).ok_or("its memory is not known")?;
    Ok(Value::rate(dram::local(channels, transfers), HopKind::Memory, "the channels of one socket"))
}

/// What a DMA engine moves, or how long it waits.
fn dma(row: &Row, work: &Work) -> Result<Value, String> {
    let core = catalog().core_by_words(&row.platform);
    if core.is_some_and(|core| core.erratic_dma) {
        return Err(
            "the root complex of this processor carries less than its links, by no known law".to_owned()
        );
    }
    let words = row.workload.to_lowercase();
    if words.contains("latency") || matches!(row.unit.as_str(), "ns" | "us") {
        let time = packets::round_trip(words.contains("remote"));
        let said = "a read across PCIe".to_owned();
        return Ok(Value {
            quantity: Quantity::Time(time),
            ..Value::rate(BytesPerSec::new(0.0), HopKind::Link, said)
        });
    }
    if work.block < 512 {
        return Err("below 512 bytes the engine's own rate of requests limits".to_owned());
    }
    let link = model::link(row, core);
    let speed = link.generation.and_then(GtPerSec::from_pcie_generation).ok_or("no link is named")?;
    let width = link.width.ok_or("no width is named")?;
    let payload = link.payload.unwrap_or(Bytes::new(256));
    let raw = rate::raw(speed, width).ok_or("no such link")?;
    let wire = packets::Wire::new(speed, width, payload, Bytes::new(512)).ok_or("not in the tables")?;
    let size = Bytes::new(work.block);
    let reads = words.contains("read");
    let carried = match reads {
        true => packets::between(wire.device_reads(size), rate::host_to_device(raw, payload)),
        false => packets::between(wire.device_writes(size), rate::device_to_host(raw, payload)),
    };
    Ok(Value::rate(carried, HopKind::Link, "packets of a DMA engine").with_raw(raw))
}

fn resynced(row: &Row) -> Result<Value, String> {
    let layers = row.layers.to_lowercase();
    if !layers.starts_with("raid") || layers.contains("xiraid") {
        return Err("there is a law for resyncs of md only".to_owned());
    }
    let plain = Row { layers: "none".to_owned(), ..row.clone() };
    let model = model::of(&plain, &Work { read_share: 1.0, ..Work::of(row) })?;
    let of_drive = |write: bool| {
        model.system.parts.iter().filter_map(move |part| match &part.kind {
            narrows::path::file::PartKind::Device(device) => {
                if write {
                    device.write
                } else {
                    device.read
                }
            }
            _ => None,
        })
    };
    let slowest = of_drive(true).chain(of_drive(false)).reduce(BytesPerSec::min);
    let slowest = slowest.unwrap_or_else(|| BytesPerSec::from_gb(1.0));
    let has_parity = layers.starts_with("raid5") || layers.starts_with("raid6");
    let rate = resync::per_member(slowest, resync::default_maximum(), model::count(row), has_parity);
    let said = format!("md: throttle {}, member {slowest}, stripe thread", resync::default_maximum());
    // A resync faster than this ran with another throttle.
    let most = resync::default_maximum() * THROTTLE_SLACK;
    Ok(Value::rate(rate, HopKind::Raid, said).with_raw(most))
}

fn cluster(row: &Row, work: &Work) -> Result<Value, String> {
    if work.pattern == Pattern::Random {
        return Err("what each I/O of this cluster costs a core is not known".to_owned());
    }
    let wire = Wire::of(&row.network).ok_or("the network has no line rate")?;
    let hosts = text::before(&row.platform.to_lowercase(), &["nodes", "hosts", "servers"]);
    let hosts = hosts.ok_or("how many hosts it has is not named")? as u32;
    let copies = text::before(&row.layers.to_lowercase(), &["replicas", "copies"]).unwrap_or(2.0);
    let drives = catalog().medium_by_words(&row.device);
    let each = f64::from(model::count(row)) / f64::from(hosts.max(1));
    let of_host = |rate: f64| BytesPerSec::from_mb(rate * each);
    let network = wire.goodput(Storage::None);
    let (read, write) = drives.map_or((f64::MAX, f64::MAX), |medium| {
        (medium.read_megabytes_per_second, medium.write_megabytes_per_second)
    });
    let rate = match work.read_share > 0.5 {
        true => replicas::read(network, of_host(read), hosts, 0.0),
        false => replicas::write(network, of_host(write), hosts, copies),
    };
    Ok(Value::rate(rate, HopKind::Network, format!("networks of {hosts} hosts, {copies:.0} copies")))
}
