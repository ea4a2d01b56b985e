//! From a row to a described system and its workload.

use narrows::catalog::{Core, Medium, MediumClass, catalog};
use narrows::ceiling::{cipher, io_cost, write_cache};
use narrows::machine::fact::Source;
use narrows::path::RaidLevel;
use narrows::path::file::{
    Adapter, Attachment, Chipset, Crypt, Device, DeviceKind, Engine, Host, LinkGiven, Name, Network, Part,
    PartKind, Raid, RaidKind, Remote, Slot, Switch, System, Volume, VolumeKind, Workload,
};
use narrows::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Lanes, Nanos};

use crate::network;
use crate::table::Row;
use crate::text;
use crate::work::{Fill, Work};

/// The cipher of a core that nobody names: between a Xeon of 2020 (1.8 GB/s) and a Ryzen of 2018 (2.7 GB/s).
const NAMELESS_CIPHER: f64 = 2.1;

/// Jobs of a random test on several drives that does not say how many.
const MANY_JOBS: u32 = 32;

/// I/Os under way in a test that does not say how many: enough for any drive.
const DEEP: u32 = 128;

/// Cores of a desktop or server that completions spread over, at least.
const MANY_CORES: u32 = 8;

/// Completions of most root ports, bytes: 55.6 Gbit/s were read at 8 GT/s x8 and drives written with 3.3 GB/s at 3.0 x4,
/// which is 54.3 and 3.40 with 128 bytes; 64 and 256 are 13 % off to either side.
const COMPLETION: u64 = 128;

/// A system and what runs on it.
pub(crate) struct Model {
    pub(crate) system: System,
    pub(crate) workload: Workload,
}

/// The PCIe link that a row names.
pub(crate) fn link(row: &Row, core: Option<&Core>) -> LinkGiven {
    let generation = row.generation.parse::<u8>().ok().filter(|generation| (1..=6).contains(generation));
    let width = row.width.strip_prefix('x').and_then(|lanes| lanes.parse().ok()).map(Lanes::new);
    let payload = core.and_then(|core| core.max_payload).unwrap_or(match generation {
        Some(3..) => 256,
        _ => 128,
    });
    LinkGiven {
        generation,
        width,
        payload: width.map(|_| Bytes::new(payload)),
        read_request: width.map(|_| Bytes::new(COMPLETION)),
    }
}

/// How many devices a row has: its column, or `4x …` before the model.
pub(crate) fn count(row: &Row) -> u32 {
    let said = row.devices.parse().ok();
    let named = text::numbers(&row.device).into_iter().find_map(|(before, value, after)| {
        (before.is_empty() && after.starts_with('x')).then_some(value as u32)
    });
    said.or(named).unwrap_or(1).clamp(1, 1024)
}

/// The words for the drive, and for the adapter that it is on.
fn drive_and_adapter(row: &Row) -> (&str, Option<&str>) {
    match row.device.split_once(" on ") {
        Some((drive, adapter)) if !adapter.contains("switch") && !adapter.contains("quad card") => {
            (drive, Some(adapter))
        }
        _ if is_adapter(row) => ("SATA SSD", Some(&row.device)),
        _ => (&row.device, None),
    }
}

/// Whether the device of a row is an adapter, whose drives are not named: solid-state drives, as tests of adapters use.
fn is_adapter(row: &Row) -> bool {
    let words = row.device.to_lowercase();
    let is_named = text::has_any(&words, &["hba", "lsi", "megaraid"]) || adapter_entry(&words).is_some();
    is_named && !text::has_any(&words, &["hdd", "disk", "disks"])
}

/// The catalogue's entry of an adapter: its chip is named.
fn adapter_entry(words: &str) -> Option<&'static narrows::catalog::Adapter> {
    catalog().adapters.iter().find(|entry| {
        entry.name.split_whitespace().last().is_some_and(|chip| words.contains(&chip.to_lowercase()))
    })
}

/// Families of hard disks, as their makers call them, and speeds at which only disks turn.
const DISKS: [&str; 16] = [
    "exos",
    "ironwolf",
    "barracuda",
    "constellation",
    "cheetah",
    "savvio",
    "ultrastar",
    "deskstar",
    "travelstar",
    "caviar",
    "raptor",
    "velociraptor",
    "7200rpm",
    "5400rpm",
    "10krpm",
    "15krpm",
];

fn kind_by_words(words: &str) -> Option<DeviceKind> {
    let words = words.to_lowercase();
    if text::has_any(&words, &["ramdisk", "brd", "tmpfs"]) {
        Some(DeviceKind::Ramdisk)
    } else if text::has_any(&words, &["hdd", "disk", "disks"])
        || (text::has_any(&words, &DISKS) && !text::has_any(&words, &["ssd", "nvme"]))
    {
        Some(DeviceKind::Hdd)
    } else if words.contains("sas ssd") {
        Some(DeviceKind::Sas)
    } else if text::has_any(&words, &["sata", "qvo", "kingston ssd"]) || words.contains("sata ssd") {
        Some(DeviceKind::Sata)
    } else {
        None
    }
}

/// What a drive speaks, and its line rate.
fn kind(row: &Row, drive: &str, medium: Option<&Medium>) -> (DeviceKind, Option<f64>) {
    let width = row.width.to_uppercase();
    let digits: f64 = text::numbers(&width).first().map_or(0.0, |(_, value, _)| *value);
    if row.topology == "usb" || width.starts_with("USB") {
        return (DeviceKind::Usb, Some(if digits > 0.0 { digits } else { 5.0 }));
    }
    let named = kind_by_words(drive);
    if named == Some(DeviceKind::Ramdisk) || row.topology == "memory" {
        return (DeviceKind::Ramdisk, None);
    }
    if width.starts_with("SAS") {
        let rate = if digits > 0.0 { digits } else { 12.0 };
        return (if named == Some(DeviceKind::Hdd) { DeviceKind::Hdd } else { DeviceKind::Sas }, Some(rate));
    }
    let is_sata_medium =
        medium.is_some_and(|medium| medium.lanes == 0 && medium.class.as_deref() != Some("hdd"));
    if width.ends_with('G') || row.topology == "sata" {
        let rate = if digits > 0.0 { digits } else { 6.0 };
        return (named.unwrap_or(DeviceKind::Sata), Some(rate));
    }
    match named {
        Some(kind) => (kind, None),
        None if is_sata_medium => (DeviceKind::Sata, None),
        None => (DeviceKind::Nvme, None),
    }
}

/// A rate that the words for a drive state: `P4610 (3.2 GB/s each)`, `2TB HDD 123 MB/s raw`.
fn stated_rate(drive: &str) -> Option<BytesPerSec> {
    text::numbers(drive).into_iter().find_map(|(_, value, after)| {
        let after = after.trim_start();
        match after {
            _ if after.starts_with("GB/s") => Some(BytesPerSec::from_gb(value)),
            _ if after.starts_with("MB/s") => Some(BytesPerSec::from_mb(value)),
            _ => None,
        }
    })
}

/// The class of a drive by its words, where its model is not known.
fn class_by_words(drive: &str, generation: Option<u8>) -> Option<&'static str> {
    let words = drive.to_lowercase();
    let enterprise = text::has_any(&words, &["datacenter", "enterprise", "u.2", "u.3", "server"]);
    match (words.contains("qlc"), enterprise, generation) {
        (true, true, _) => Some("enterprise-qlc"),
        (true, false, Some(4..)) => Some("consumer-qlc-gen4"),
        (true, false, _) => Some("consumer-qlc"),
        (_, true, Some(5..)) => Some("enterprise-tlc-gen5"),
        (_, true, Some(4)) => Some("enterprise-tlc-gen4"),
        (_, true, _) => Some("enterprise-tlc"),
        (_, _, Some(5..)) => Some("consumer-tlc-gen5"),
        (_, _, Some(4)) => Some("consumer-tlc-gen4"),
        _ => None,
    }
}

/// A drive as the row has it: rates of its model or stated ones, latency and IOPS of its class.
fn device(row: &Row, work: &Work, drive: &str, upstream: &str, own: LinkGiven) -> Device {
    let medium = catalog().medium_by_words(drive);
    let (kind, gigabits) = kind(row, drive, medium);
    let by_words = class_by_words(drive, own.generation).filter(|_| kind == DeviceKind::Nvme);
    let class = medium.and_then(|medium| medium.class.as_deref()).or(by_words);
    let figures = class.and_then(|name| catalog().medium_class(name)).or_else(|| match kind {
        DeviceKind::Sata | DeviceKind::Usb => catalog().medium_class("sata-ssd"),
        DeviceKind::Sas => catalog().medium_class("sas-ssd"),
        DeviceKind::Hdd => catalog().medium_class("hdd"),
        _ => None,
    });
    // A drive on PCIe of which nothing is known is as fast as its link; one behind a bridge as fast as the bridge.
    let hidden = drive.to_lowercase().contains("nvme") && kind == DeviceKind::Usb;
    let known = figures.filter(|class| !class.name.starts_with("consumer-tlc") && !hidden);
    let (read, write) = rates(drive, medium, known);
    let steady = figures.map(|class| BytesPerSec::from_mb(class.steady_write_megabytes_per_second));
    let flushed = figures.filter(|_| work.flushed && kind != DeviceKind::Hdd);
    Device {
        class: class.map(str::to_owned),
        read,
        write: match work.fill {
            Fill::Usual => write,
            Fill::Within => write.map(|rate| rate * write_cache::FILL_SHARE),
            Fill::Beyond => steady,
        },
        // A flush is one more round trip to the controller.
        write_latency: flushed.map(|class| Nanos::new(class.write_latency().get() * 2)),
        link: if kind == DeviceKind::Nvme { own } else { LinkGiven::default() },
        line_rate: gigabits.map(|rate| BitsPerSec::new(rate * 1e9)),
        ..Device::new(kind, upstream)
    }
}

fn rates(
    drive: &str,
    medium: Option<&Medium>,
    class: Option<&MediumClass>,
) -> (Option<BytesPerSec>, Option<BytesPerSec>) {
    if let Some(rate) = stated_rate(drive) {
        return (Some(rate), Some(rate));
    }
    let of = |read: f64, write: f64| (Some(BytesPerSec::from_mb(read)), Some(BytesPerSec::from_mb(write)));
    match (medium, class) {
        (Some(medium), _) => of(medium.read_megabytes_per_second, medium.write_megabytes_per_second),
        (None, Some(class)) => of(class.read_megabytes_per_second, class.write_megabytes_per_second),
        // A drive of which nothing is known is as fast as its link.
        (None, None) => (None, None),
    }
}

/// The system of a row; an error says why the row cannot be expressed.
pub(crate) fn of(row: &Row, work: &Work) -> Result<Model, String> {
    let core = catalog().core_by_words(&row.platform);
    let mut parts = vec![Part::new("host", PartKind::Host(host(row, work, core)))];
    let (drive, adapter) = drive_and_adapter(row);
    let members = place(row, work, core, drive, adapter, &mut parts);
    let target = layers(row, members, &mut parts)?;
    let system = System { name: row.id.clone(), parts, ..System::default() };
    let many =
        if work.pattern == narrows::path::file::Pattern::Random && count(row) > 1 { MANY_JOBS } else { 1 };
    let workload = Workload {
        block_size: Bytes::new(work.block),
        pattern: work.pattern,
        depth: work.depth.unwrap_or(if work.threads { 1 } else { DEEP }),
        jobs: work.jobs.unwrap_or_else(|| cores(row).unwrap_or(1).max(many)),
        read_share: work.read_share,
        engine: work.engine,
        flush: Some(work.flushed),
        given: Source::new(row.id.as_str()),
        ..Workload::reading(target)
    };
    Ok(Model { system, workload })
}

/// The cores that a platform names (`64-core`), where several drives are at work.
fn cores(row: &Row) -> Option<u32> {
    let cores = text::before(&row.platform, &["core", "cores"])?;
    (count(row) > 1).then_some(cores as u32)
}

fn host(row: &Row, work: &Work, core: Option<&Core>) -> Host {
    let cost = match work.engine {
        Engine::Uring => io_cost::URING,
        Engine::Polled => io_cost::POLLED,
        _ => io_cost::LIBAIO,
    };
    let one = core.map(|core| io_cost::of_cores(io_cost::on_core(cost, core.speed.min(1.0)), 1));
    let cipher = core.and_then(|core| cipher_of(core, row, 512));
    let cipher = cipher.unwrap_or_else(|| BytesPerSec::from_gb(NAMELESS_CIPHER));
    Host {
        sockets: 1,
        cores: text::before(&row.platform, &["core", "cores", "vcpu"]).map(|cores| cores as u32),
        core_iops: one.map(|iops| Iops::new(iops.get())),
        decrypt: Some(cipher),
        encrypt: Some(cipher),
        ..Host::default()
    }
}

/// What one core of a processor does of a cipher in the kernel; `None` without AES instructions.
pub(crate) fn cipher_of(core: &Core, row: &Row, key_bits: u32) -> Option<BytesPerSec> {
    let aes = cipher::AesCore { cycles_per_round: core.aes_cycles_per_round?, gigahertz: core.gigahertz };
    let words = format!("{} {}", row.platform, row.workload).to_lowercase();
    let overhead = if words.contains("userspace") { cipher::IN_PROCESS } else { cipher::AF_ALG };
    let rate = cipher::xts_rate(aes, key_bits, overhead);
    let indirect = kernel(&row.platform).is_some_and(|version| (4.15..5.115).contains(&version));
    let mitigated = !core.enhanced_ibrs && !words.contains("mitigations off") && !words.contains("userspace");
    Some(if indirect && mitigated { rate * cipher::RETPOLINE } else { rate })
}

/// The kernel that a platform names, as major + minor / 100: `kernel 5.9.8` is 5.09.
pub(crate) fn kernel(platform: &str) -> Option<f64> {
    let lower = platform.to_lowercase();
    let at = ["kernel ", "linux "].iter().find_map(|word| {
        let (_, rest) = lower.split_once(word)?;
        rest.starts_with(|c: char| c.is_ascii_digit()).then(|| rest.to_owned())
    })?;
    let mut digits = at.split(|c: char| !c.is_ascii_digit());
    let major: f64 = digits.next()?.parse().ok()?;
    let minor: f64 = digits.next()?.parse().ok()?;
    Some(major + minor / 100.0)
}

/// A link of a topology word: `up3x8`, `dmi2x4`, `gen3x4`.
pub(crate) fn wire(word: &str) -> Option<LinkGiven> {
    let digits = word.trim_start_matches(|c: char| c.is_alphabetic());
    let (generation, rest) = digits.split_once('x')?;
    let lanes: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(LinkGiven {
        generation: Some(generation.parse().ok()?),
        width: Some(Lanes::new(lanes.parse().ok()?)),
        ..LinkGiven::default()
    })
}

/// Puts drives in their places and says their names.
fn place(
    row: &Row,
    work: &Work,
    core: Option<&Core>,
    drive: &str,
    adapter: Option<&str>,
    parts: &mut Vec<Part>,
) -> Vec<Name> {
    let own = link(row, core);
    let topology = row.topology.split(';').next().unwrap_or_default().trim();
    let on = match topology.split_once(':') {
        Some(("chipset", word)) => {
            let uplink = wire(word).unwrap_or_default();
            let payload =
                uplink.generation.map(|generation| Bytes::new(if generation > 2 { 256 } else { 128 }));
            let uplink =
                LinkGiven { payload, read_request: payload.map(|_| Bytes::new(COMPLETION)), ..uplink };
            let chipset = Chipset { host: "host".into(), socket: 0, model: None, uplink };
            parts.push(Part::new("chipset", PartKind::Chipset(chipset)));
            Attachment::Chipset("chipset".into())
        }
        _ => Attachment::Socket { host: "host".into(), socket: 0 },
    };
    let slot = |name: String, link: LinkGiven| {
        Part::new(
            name,
            PartKind::Slot(Slot { on: on.clone(), link, connector: None, form: None, bifurcation: None }),
        )
    };
    let medium = catalog().medium_by_words(drive);
    let is_nvme = kind(row, drive, medium).0 == DeviceKind::Nvme;
    // The link of a row with an adapter, or with drives that have none of their own, is the adapter's.
    let shared: Option<&str> = if let Some(("switch", word)) = topology.split_once(':') {
        let uplink = wire(word.split_whitespace().next().unwrap_or_default()).unwrap_or_default();
        parts.push(slot("slot".to_owned(), uplink));
        let switch = Switch {
            upstream: "slot".into(),
            model: None,
            uplink,
            port: LinkGiven::default(),
            latency: None,
        };
        parts.push(Part::new("switch", PartKind::Switch(switch)));
        Some("switch")
    } else if !is_nvme && (adapter.is_some() || own.width.is_some()) {
        parts.push(slot("slot".to_owned(), own));
        parts.push(Part::new("adapter", PartKind::Adapter(adapter_of(adapter.unwrap_or_default(), own))));
        Some("adapter")
    } else {
        None
    };
    let place_of = |index: u32, parts: &mut Vec<Part>| match (shared, is_nvme, &on) {
        (Some(name), ..) => name.to_owned(),
        (None, true, _) => {
            let name = format!("slot{index}");
            parts.push(slot(name.clone(), own));
            name
        }
        (None, false, Attachment::Chipset(name)) => name.to_string(),
        (None, false, _) => "host".to_owned(),
    };
    (0..count(row))
        .map(|index| {
            let upstream = place_of(index, parts);
            let name = format!("drive{index}");
            let device = device(row, work, drive, &upstream, own);
            parts.push(Part::new(name.clone(), PartKind::Device(device)));
            Name::new(name)
        })
        .collect()
}

/// An adapter: `2x SAS2008` are two chips. Chips that carry less than their link are in the catalogue.
fn adapter_of(words: &str, link: LinkGiven) -> Adapter {
    let lower = words.to_lowercase();
    let known = adapter_entry(&lower);
    let chips = text::numbers(&lower)
        .into_iter()
        .find_map(|(_, value, after)| after.starts_with("x ").then_some(value))
        .unwrap_or(1.0);
    Adapter {
        upstream: "slot".into(),
        model: None,
        link,
        rate: known.map(|entry| BytesPerSec::from_mb(entry.megabytes_per_second) * chips),
        iops: known.and_then(|entry| entry.iops).map(|iops| Iops::new(iops * chips)),
    }
}

fn raid(kind: RaidKind, members: Vec<Name>, layer: &str) -> PartKind {
    PartKind::Raid(Raid {
        kind,
        members,
        chunk: text::chunk(layer).map(Bytes::new),
        copies: None,
        resync: None,
        stripe_threads: None,
    })
}

fn level(word: &str) -> Option<RaidLevel> {
    Some(match word {
        "raid0" => RaidLevel::Raid0,
        "raid1" => RaidLevel::Raid1,
        "raid10" => RaidLevel::Raid10,
        "raid5" => RaidLevel::Raid5,
        "raid6" => RaidLevel::Raid6,
        _ => return None,
    })
}

/// The word that says what a layer is: `zfs raidz2` and `raidz2`, `md raid-5` and `raid5 64k chunk` are the same.
fn kind_of_layer(layer: &str, fs: &str) -> String {
    let lower = layer.to_lowercase().replace("raid-", "raid");
    let mut words = lower.split([' ', '(']).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let is_zfs = first == "zfs" || fs == "zfs";
    let word = match first {
        "zfs" | "md" | "mdadm" | "linux" | "software" => {
            let is_kind =
                |word: &&str| word.starts_with("raid") || ["mirror", "stripe", "linear"].contains(word);
            words.find(is_kind).unwrap_or(first)
        }
        _ => first,
    };
    match word {
        "mirror" if is_zfs => "zfs-mirror",
        "mirror" => "raid1",
        "stripe" if is_zfs => "zfs-stripe",
        "stripe" => "raid0",
        "linear" => "lvm-linear",
        other => other,
    }
    .to_owned()
}

/// Puts layers on the drives, lowest first, and says what is on top.
fn layers(row: &Row, members: Vec<Name>, parts: &mut Vec<Part>) -> Result<String, String> {
    let mut below = members;
    for (index, layer) in row.layers.split(';').map(str::trim).enumerate() {
        let name = format!("layer{index}");
        let word = kind_of_layer(layer, &row.fs);
        let kind = match word.as_str() {
            "none" | "-" | "" | "hba" | "ext4" | "xfs" => continue,
            "hwraid" => raid(RaidKind::Md(RaidLevel::Raid0), below.clone(), layer),
            "lvm-linear" | "lvm" => volume(VolumeKind::Linear, &below),
            "lvm-striped" => volume(VolumeKind::Striped { chunk: Bytes::from_kib(64) }, &below),
            "zfs-mirror" => raid(RaidKind::Zfs { level: RaidLevel::Raid1, parity: 0 }, below.clone(), layer),
            "raidz" | "raidz1" => {
                raid(RaidKind::Zfs { level: RaidLevel::Raid5, parity: 1 }, below.clone(), layer)
            }
            "raidz2" => raid(RaidKind::Zfs { level: RaidLevel::Raid6, parity: 2 }, below.clone(), layer),
            "raidz3" => raid(RaidKind::Zfs { level: RaidLevel::Raid6, parity: 3 }, below.clone(), layer),
            "zfs" | "zfs-stripe" => raid(RaidKind::Md(RaidLevel::Raid0), below.clone(), layer),
            "luks" | "dm-crypt" | "veracrypt" => crypt(layer, one(&mut below, index, parts)),
            "iscsi" | "smb" | "nfs" | "nvmeof-tcp" | "nvmeof-rdma" => {
                let on = one(&mut below, index, parts);
                remote(row, &word, on, parts)?
            }
            other => match level(other) {
                Some(level) => raid(RaidKind::Md(level), below.clone(), layer),
                None => return Err(format!("there is no law for the layer `{layer}`")),
            },
        };
        parts.push(Part::new(name.clone(), kind));
        below = vec![Name::new(name)];
    }
    Ok(one(&mut below, 99, parts).to_string())
}

/// One part of several: a stripe over them, as programs that use several drives at once make.
fn one(below: &mut Vec<Name>, index: usize, parts: &mut Vec<Part>) -> Name {
    if let [only] = below.as_slice() {
        return only.clone();
    }
    let name = format!("all{index}");
    parts.push(Part::new(name.clone(), volume(VolumeKind::Striped { chunk: Bytes::from_mib(1) }, below)));
    *below = vec![Name::new(name.clone())];
    Name::new(name)
}

fn volume(kind: VolumeKind, members: &[Name]) -> PartKind {
    PartKind::Volume(Volume { kind, members: members.to_vec() })
}

fn crypt(layer: &str, on: Name) -> PartKind {
    let inline = layer.contains("inline")
        || layer.contains("no workqueue")
        || layer.contains("no_workqueue")
        || layer.contains("no_read_workqueue")
        || layer.contains("no_write_workqueue")
        || layer.contains("tuned");
    PartKind::Crypt(Crypt {
        on,
        cipher: None,
        key_bits: Some(512),
        decrypt: None,
        encrypt: None,
        cores: Some(MANY_CORES),
        sector_size: layer.contains("4096").then(|| Bytes::new(4096)),
        workqueues: !inline,
    })
}

fn remote(row: &Row, word: &str, on: Name, parts: &mut Vec<Part>) -> Result<PartKind, String> {
    let wire = network::Wire::of(&row.network)
        .ok_or_else(|| format!("the network `{}` has no line rate", row.network))?;
    let network = Network {
        technology: wire.technology,
        rate: BitsPerSec::new(wire.gigabits * 1e9),
        ports: wire.ports,
        mtu: Some(wire.mtu),
        protocol: Some(word.to_owned()),
        upstream: None,
        link: LinkGiven::default(),
        latency: None,
    };
    parts.push(Part::new("network", PartKind::Network(network)));
    let through = vec![Name::new("network")];
    Ok(PartKind::Remote(Remote { on, through, protocol: Some(word.to_owned()), latency: None, rate: None }))
}
