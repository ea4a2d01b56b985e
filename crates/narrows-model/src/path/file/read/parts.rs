//! What each kind of table means.

use super::document::DocumentTable;
use super::keys::{Keys, ReadSoFar};
use crate::path::RaidLevel;
use crate::path::file::{
    Adapter, Attachment, Cache, Chipset, Cluster, Copies, Crypt, Device, DeviceKind, Filesystem, Host,
    Interconnect, Iommu, LinkGiven, Name, Network, Part, PartKind, Raid, RaidKind, Remote, Slot, Switch,
    Technology, Vm, Volume, VolumeKind, WriteCache,
};
use narrows_base::catalog::{SlotForm, catalog};
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, Lanes};

/// The kinds of table that are parts.
pub(super) const KINDS: &[&str] = &[
    "host",
    "chipset",
    "slot",
    "switch",
    "adapter",
    "device",
    "raid",
    "crypt",
    "cache",
    "volume",
    "filesystem",
    "network",
    "remote",
    "cluster",
    "vm",
];

/// What holds data.
const STORAGE: &[&str] =
    &["device", "raid", "crypt", "cache", "volume", "filesystem", "remote", "cluster", "vm"];

/// What a workload can use: storage, or a network alone.
pub(super) const TARGETS: &[&str] =
    &["device", "raid", "crypt", "cache", "volume", "filesystem", "remote", "cluster", "vm", "network"];

/// What a card or drive can be in.
const PLACES: &[&str] = &["slot", "switch", "chipset", "adapter", "host"];

const HOST: &[&str] = &["host"];

/// The most copies of a part, and the most of anything that is counted.
const MOST: u32 = 4096;

/// The levels of `[raid]`.
const LEVELS: &[&str] = &[
    "raid0", "raid1", "raid10", "raid5", "raid6", "linear", "stripe", "mirror", "raidz1", "raidz2", "raidz3",
];

/// Reads a part, and how many of it there are.
pub(super) fn part(
    table: &DocumentTable,
    found: &mut ReadSoFar,
    only_host: Option<&str>,
) -> Option<(Part, u32)> {
    let mut keys = Keys::new(table, found);
    let count = keys.count("count", 1, MOST).unwrap_or(1);
    let kind = kind(table.kind.as_str(), &mut keys, only_host);
    keys.finish();
    let part =
        Part { name: Name::new(table.name.as_str()), given: Source::new(table.at.cited()), kind: kind? };
    // The virtual machines of a [vm] are one part that knows how many it is.
    Some((part, if table.kind == "vm" { 1 } else { count }))
}

fn kind(kind: &str, keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<PartKind> {
    Some(match kind {
        "host" => PartKind::Host(host(keys)),
        "chipset" => PartKind::Chipset(chipset(keys, only_host)?),
        "slot" => PartKind::Slot(slot(keys, only_host)?),
        "switch" => PartKind::Switch(switch(keys)?),
        "adapter" => PartKind::Adapter(adapter(keys)?),
        "device" => PartKind::Device(device(keys, only_host)?),
        "raid" => PartKind::Raid(raid(keys)?),
        "crypt" => PartKind::Crypt(crypt(keys)?),
        "cache" => PartKind::Cache(cache(keys)?),
        "volume" => PartKind::Volume(volume(keys)?),
        "filesystem" => PartKind::Filesystem(filesystem(keys)?),
        "network" => PartKind::Network(network(keys)?),
        "remote" => PartKind::Remote(remote(keys)?),
        "cluster" => PartKind::Cluster(cluster(keys)?),
        "vm" => PartKind::Vm(vm(keys)?),
        _ => return None,
    })
}

/// The host that a part is on: the one that is named, or the only one there is.
fn on_host(keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<Name> {
    let named = keys.name("host", HOST);
    named.or_else(|| only_host.map(Name::new))
}

fn link(keys: &mut Keys<'_>) -> LinkGiven {
    LinkGiven {
        generation: keys.count("generation", 1, 6).and_then(|it| u8::try_from(it).ok()),
        width: keys.lanes("width"),
        payload: keys.bytes("payload", (128, 4096)),
        read_request: keys.bytes("read_request", (128, 4096)),
    }
}

fn chipset(keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<Chipset> {
    let host = on_host(keys, only_host);
    let (socket, model, uplink) = (keys.count("socket", 0, 63).unwrap_or(0), keys.text("model"), link(keys));
    if let Some(name) = &model
        && crate::path::file::build::find_chipset(name).is_none()
    {
        let hint = "data/chipsets.toml has them; give generation and width of the uplink instead";
        keys.wrong("model", format!("the catalogue knows no chipset `{name}`"), hint);
    }
    let Some(host) = host else {
        keys.missing("host", "\"NAME\"");
        return None;
    };
    if model.is_none() && (uplink.generation.is_none() || uplink.width.is_none()) {
        keys.missing("model", "\"Intel X99\", or generation and width of its uplink");
    }
    Some(Chipset { host, socket, model, uplink })
}

/// The place that a part is in.
fn place(keys: &mut Keys<'_>) -> Option<Name> {
    let name = keys.name("in", PLACES);
    if name.is_none() && keys.raw("in").is_none() {
        keys.missing("in", "\"slot1\"");
    }
    name
}

fn switch(keys: &mut Keys<'_>) -> Option<Switch> {
    let upstream = place(keys);
    let (model, uplink) = (keys.text("model"), link(keys));
    let port = LinkGiven {
        generation: keys.count("port_generation", 1, 6).and_then(|it| u8::try_from(it).ok()),
        width: keys.lanes("port_width"),
        payload: uplink.payload,
        read_request: None,
    };
    if let Some(name) = &model
        && crate::path::file::build::find_switch(name).is_none()
    {
        let hint = "data/switches.toml has them; give generation and width of its upstream port instead";
        keys.wrong("model", format!("the catalogue knows no switch `{name}`"), hint);
    }
    Some(Switch { upstream: upstream?, model, uplink, port, latency: keys.time("latency") })
}

fn adapter(keys: &mut Keys<'_>) -> Option<Adapter> {
    let upstream = place(keys);
    let (model, link) = (keys.text("model"), link(keys));
    let (rate, iops) = (keys.rate("rate"), keys.iops("iops"));
    Some(Adapter { upstream: upstream?, model, link, rate, iops })
}

fn device(keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<Device> {
    let kind = match keys.word("kind", &["nvme", "sata", "sas", "hdd", "usb", "ramdisk"]) {
        Some("sata") => DeviceKind::Sata,
        Some("sas") => DeviceKind::Sas,
        Some("hdd") => DeviceKind::Hdd,
        Some("usb") => DeviceKind::Usb,
        Some("ramdisk") => DeviceKind::Ramdisk,
        _ => DeviceKind::Nvme,
    };
    let upstream = match (keys.name("in", PLACES), only_host) {
        (Some(name), _) => Some(name),
        // A drive of which nothing is known but its host is in no place of interest.
        (None, Some(host)) => Some(Name::new(host)),
        (None, None) => {
            keys.missing("in", "\"slot1\"");
            None
        }
    };
    let (cache_size, steady) = (keys.size("cache_size"), keys.rate("steady_write"));
    if cache_size.is_some() != steady.is_some() {
        let key = if cache_size.is_some() { "cache_size" } else { "steady_write" };
        keys.wrong(key, "half of the write cache is given", "cache_size and steady_write go together");
    }
    let device = Device {
        kind,
        model: keys.text("model").map(listed_model),
        class: class(keys),
        read: keys.rate("read"),
        write: keys.rate("write"),
        read_iops: keys.iops("read_iops"),
        write_iops: keys.iops("write_iops"),
        read_latency: keys.time("read_latency"),
        write_latency: keys.time("write_latency"),
        cache: cache_size.zip(steady).map(|(size, steady)| WriteCache { size, steady }),
        link: link(keys),
        line_rate: keys.bit_rate("line_rate"),
        size: keys.size("size"),
        upstream: upstream?,
    };
    if kind == DeviceKind::Nvme && device.read.is_none() && device.class.is_none() {
        let known = device.model.as_deref().is_some_and(|model| catalog().medium(model).is_some());
        if !known {
            let hint = "data/media.toml has the models; give a class, or read and write, instead";
            let message = match &device.model {
                Some(model) => format!("the catalogue knows no drive `{model}`, and no rates are given"),
                None => "neither its model nor its rates are given".to_owned(),
            };
            keys.wrong("model", message, hint);
        }
    }
    Some(device)
}

/// A class of the catalogue, for what a model or its data sheet leave out.
fn class(keys: &mut Keys<'_>) -> Option<String> {
    let class = keys.text("class")?;
    if catalog().medium_class(&class).is_none() {
        let known: Vec<&str> = catalog().classes.iter().map(|class| class.name.as_str()).collect();
        keys.wrong(
            "class",
            format!("the catalogue knows no class of drives `{class}`"),
            format!("the classes are: {}", known.join(", ")),
        );
    }
    Some(class)
}

/// A model as the kernel names it; a name of the catalogue (`SN770`) becomes that.
fn listed_model(model: String) -> String {
    if catalog().medium(&model).is_some() {
        return model;
    }
    catalog().medium_by_words(&model).and_then(|medium| medium.models.first()).cloned().unwrap_or(model)
}

fn members(keys: &mut Keys<'_>) -> Option<Vec<Name>> {
    let members = keys.names("members", STORAGE);
    if members.is_empty() {
        keys.missing("members", "[\"ssd0\", \"ssd1\"]");
        return None;
    }
    Some(members)
}

fn on(keys: &mut Keys<'_>) -> Option<Name> {
    let name = keys.name("on", STORAGE);
    if name.is_none() && keys.raw("on").is_none() {
        keys.missing("on", "\"ssd0\"");
    }
    name
}

fn raid(keys: &mut Keys<'_>) -> Option<Raid> {
    let level = keys.word("level", LEVELS);
    let members = members(keys);
    // All keys are asked for, so that none is called unknown because of another that is wrong.
    let (chunk, resync) = (keys.size("chunk"), keys.rate("resync"));
    let (copies, stripe_threads) = (keys.count("copies", 1, 255), keys.count("stripe_threads", 1, 1024));
    let raid = |kind| Some(Raid { kind, chunk, copies, resync, stripe_threads, members: members? });
    let zfs = |level, parity| RaidKind::Zfs { level, parity };
    match level {
        Some("raid0") => raid(RaidKind::Md(RaidLevel::Raid0)),
        Some("raid1") => raid(RaidKind::Md(RaidLevel::Raid1)),
        Some("raid10") => raid(RaidKind::Md(RaidLevel::Raid10)),
        Some("raid5") => raid(RaidKind::Md(RaidLevel::Raid5)),
        Some("raid6") => raid(RaidKind::Md(RaidLevel::Raid6)),
        Some("linear") => raid(RaidKind::Md(RaidLevel::Linear)),
        Some("stripe") => raid(zfs(RaidLevel::Raid0, 0)),
        Some("mirror") => raid(zfs(RaidLevel::Raid1, 0)),
        Some("raidz1") => raid(zfs(RaidLevel::Raid5, 1)),
        Some("raidz2") => raid(zfs(RaidLevel::Raid6, 2)),
        Some("raidz3") => raid(zfs(RaidLevel::Raid6, 3)),
        _ => {
            if keys.raw("level").is_none() {
                keys.missing("level", "\"raid0\"");
            }
            None
        }
    }
}

fn crypt(keys: &mut Keys<'_>) -> Option<Crypt> {
    let on = on(keys);
    let crypt = Crypt {
        cipher: keys.text("cipher"),
        key_bits: keys.count("key_bits", 128, 1024),
        decrypt: keys.rate("decrypt"),
        encrypt: keys.rate("encrypt"),
        cores: keys.count("cores", 1, 65_536),
        sector_size: keys.bytes("sector_size", (512, 4096)),
        workqueues: keys.flag("workqueues").unwrap_or(true),
        on: on?,
    };
    if crypt.sector_size.is_some_and(|size| !size.get().is_power_of_two()) {
        keys.wrong("sector_size", "no encryption sector has this size", "it is 512, 1024, 2048 or 4096");
    }
    Some(crypt)
}

fn cache(keys: &mut Keys<'_>) -> Option<Cache> {
    let (cache, backing) = (keys.name("cache", STORAGE), keys.name("backing", STORAGE));
    for (key, there) in [("cache", cache.is_some()), ("backing", backing.is_some())] {
        if !there && keys.raw(key).is_none() {
            keys.missing(key, "\"ssd0\"");
        }
    }
    let (hit, writeback) = (keys.share("hit"), keys.flag("writeback").unwrap_or(false));
    if hit.is_none() && keys.raw("hit").is_none() {
        keys.missing("hit", "0.9");
    }
    Some(Cache { cache: cache?, backing: backing?, hit: hit?, writeback })
}

fn volume(keys: &mut Keys<'_>) -> Option<Volume> {
    let members = members(keys);
    let striped = keys.size("stripe");
    let kind = striped.map_or(VolumeKind::Linear, |chunk| VolumeKind::Striped { chunk });
    Some(Volume { kind, members: members? })
}

fn filesystem(keys: &mut Keys<'_>) -> Option<Filesystem> {
    let kind = keys.text("kind").unwrap_or_else(|| "ext4".to_owned());
    let members = keys.names("on", STORAGE);
    let options = keys.texts("options").into_iter().map(|(text, _)| text).collect();
    let rate = keys.rate("rate");
    let (recordsize, compression, arc) =
        (keys.size("recordsize"), keys.factor("compression"), keys.size("arc"));
    let given = [
        ("recordsize", recordsize.is_some()),
        ("compression", compression.is_some()),
        ("arc", arc.is_some()),
    ];
    for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given && kind != "zfs") {
        let hint = "leave it out, or say kind = \"zfs\"";
        keys.wrong(key, format!("`{key}` is of ZFS, and this is {kind}"), hint);
    }
    let sane = |size: &Bytes| size.get().is_power_of_two() && (512..=16 << 20).contains(&size.get());
    if recordsize.as_ref().is_some_and(|size| !sane(size)) {
        let hint = "it is a power of two from 512 B to 16 MiB, such as recordsize = \"128 KiB\"";
        keys.wrong("recordsize", "no record has this size", hint);
    }
    if members.is_empty() {
        if keys.raw("on").is_none() {
            keys.missing("on", "\"ssd0\"");
        }
        return None;
    }
    Some(Filesystem { kind, members, options, rate, recordsize, compression, arc })
}

fn network(keys: &mut Keys<'_>) -> Option<Network> {
    let technology = match keys.word("technology", &["ethernet", "infiniband"]) {
        Some("infiniband") => Technology::Infiniband,
        _ => Technology::Ethernet,
    };
    let rate = keys.bit_rate("rate");
    if rate.is_none() && keys.raw("rate").is_none() {
        keys.missing("rate", "\"10 Gbit/s\"");
    }
    let network = Network {
        technology,
        ports: keys.count("ports", 1, 64).unwrap_or(1),
        mtu: keys.bytes("mtu", (576, 65_536)),
        protocol: protocol(keys),
        upstream: keys.name("in", PLACES),
        link: link(keys),
        latency: keys.time("latency"),
        rate: rate?,
    };
    Some(network)
}

/// What storage and transports between hosts are called.
const PROTOCOLS: &[&str] = &[
    "tcp",
    "rdma",
    "roce",
    "roce-rdma",
    "iwarp",
    "infiniband",
    "iscsi",
    "iser",
    "srp",
    "smb",
    "smb-direct",
    "nfs",
    "nfs-rdma",
    "nvme-tcp",
    "nvme-rdma",
    "nvmeof-tcp",
    "nvmeof-rdma",
    "fc",
];

fn protocol(keys: &mut Keys<'_>) -> Option<String> {
    keys.word("protocol", PROTOCOLS).map(str::to_owned)
}

fn remote(keys: &mut Keys<'_>) -> Option<Remote> {
    let on = on(keys);
    let through = keys.names("through", &["network"]);
    let remote = Remote {
        through,
        protocol: protocol(keys),
        latency: keys.time("latency"),
        rate: keys.rate("rate"),
        on: on?,
    };
    if remote.through.is_empty() && keys.raw("through").is_none() {
        keys.missing("through", "[\"net0\"]");
        return None;
    }
    Some(remote)
}

fn cluster(keys: &mut Keys<'_>) -> Option<Cluster> {
    let members = members(keys);
    let (copies, data, parity) =
        (keys.count("copies", 1, 16), keys.count("data", 1, 64), keys.count("parity", 1, 16));
    let kept = match (copies, data, parity) {
        (Some(copies), None, None) => Copies::Mirror(copies),
        (None, Some(data), Some(parity)) => Copies::Erasure { data, parity },
        (None, None, None) => Copies::Mirror(1),
        _ => {
            let key = if copies.is_some() { "copies" } else { "data" };
            keys.wrong(key, "data is kept in two ways, or half of one", "give copies, or data and parity");
            return None;
        }
    };
    Some(Cluster {
        copies: kept,
        networks: keys.names("networks", &["network"]),
        local_reads: keys.share("local_reads"),
        converged: keys.flag("converged").unwrap_or(true),
        latency: keys.time("latency"),
        core_iops: keys.iops("core_iops"),
        members: members?,
    })
}

fn vm(keys: &mut Keys<'_>) -> Option<Vm> {
    let on = on(keys);
    Some(Vm {
        count: keys.count("count", 1, MOST).unwrap_or(1),
        iops: keys.iops("iops"),
        rate: keys.rate("rate"),
        latency: keys.time("latency"),
        cpus: keys.count("cpus", 1, 1024),
        on: on?,
    })
}

/// The words for what fits into a slot.
const FORMS: &[&str] = &["card", "m2", "u2", "oculink"];

fn host(keys: &mut Keys<'_>) -> Host {
    let links = keys.count("interconnect_links", 1, 16);
    let link_rate = keys.rate("interconnect_rate");
    if links.is_some() != link_rate.is_some() {
        keys.wrong(
            if links.is_some() { "interconnect_links" } else { "interconnect_rate" },
            "half of the interconnect is given",
            "interconnect_links and interconnect_rate (of one link, one direction) go together",
        );
    }
    let links = links.and_then(|links| u8::try_from(links).ok());
    let host = Host {
        board: board(keys),
        processor: keys.text("processor"),
        cpu: keys.text("cpu"),
        sockets: keys.count("sockets", 1, 64).unwrap_or(1),
        reader_socket: keys.count("reader_socket", 0, 63),
        cores: keys.count("cores", 1, 65_536),
        interconnect: links.zip(link_rate).map(|(links, rate)| Interconnect { links, rate }),
        memory: keys.size("memory"),
        memory_rate: keys.rate("memory_rate"),
        core_iops: keys.iops("core_iops"),
        iommu: iommu(keys),
        iommu_pages: keys.size("iommu_pages"),
        decrypt: keys.rate("decrypt"),
        encrypt: keys.rate("encrypt"),
    };
    if let Some(name) = &host.processor
        && crate::path::file::build::processor_entry(name).is_none()
    {
        let hint =
            "data/processors.toml has the platforms; give interconnect_links and interconnect_rate instead";
        keys.wrong("processor", format!("the catalogue knows no processor `{name}`"), hint);
    }
    host
}

/// How the host translates addresses.
fn iommu(keys: &mut Keys<'_>) -> Option<Iommu> {
    let words = Iommu::ALL.map(Iommu::word);
    let word = keys.word("iommu", &words)?;
    Iommu::ALL.into_iter().find(|way| way.word() == word)
}

/// A board of the catalogue, as its id.
fn board(keys: &mut Keys<'_>) -> Option<String> {
    let typed = keys.text("board")?;
    let known = catalog().board_named(&typed);
    if known.is_none() {
        let hint = "`narrows plan --board list` shows the boards; leave the key out for another";
        keys.wrong("board", format!("the catalogue knows no board `{typed}`"), hint);
    }
    known.map(narrows_base::catalog::Board::id)
}

fn slot(keys: &mut Keys<'_>, only_host: Option<&str>) -> Option<Slot> {
    let socket = keys.count("socket", 0, 63);
    let chipset = keys.name("chipset", &["chipset"]);
    let split = keys.name("slot", &["slot"]);
    let host = keys.name("host", HOST);
    let (link, connector) = (link(keys), keys.lanes("connector"));
    let (form, bifurcation) = (form(keys), bifurcation(keys));
    let ways = [chipset.is_some(), split.is_some(), host.is_some() || socket.is_some()];
    if ways.iter().filter(|way| **way).count() > 1 {
        let key = if chipset.is_some() { "chipset" } else { "slot" };
        keys.wrong(
            key,
            "its lanes come from two places",
            "name the chipset, the slot that is split, or host and socket",
        );
        return None;
    }
    for (key, missing) in [("generation", link.generation.is_none()), ("width", link.width.is_none())] {
        if missing && keys.raw(key).is_none() {
            keys.missing(key, if key == "width" { "4" } else { "3" });
        }
    }
    let on = match (chipset, split, host.or_else(|| only_host.map(Name::new))) {
        (Some(chipset), ..) => Attachment::Chipset(chipset),
        (None, Some(slot), _) => Attachment::Slot(slot),
        (None, None, Some(host)) => Attachment::Socket { host, socket: socket.unwrap_or(0) },
        (None, None, None) => {
            keys.missing("host", "\"NAME\", or chipset = \"NAME\"");
            return None;
        }
    };
    Some(Slot { on, link, connector, form, bifurcation })
}

/// What fits into a slot.
fn form(keys: &mut Keys<'_>) -> Option<SlotForm> {
    keys.word("form", FORMS).and_then(SlotForm::from_word)
}

/// How the firmware can split a slot: `["x8x8", "x4x4x4x4"]`, or `[]` when it cannot.
fn bifurcation(keys: &mut Keys<'_>) -> Option<Vec<String>> {
    keys.raw("bifurcation")?;
    let modes = keys.texts("bifurcation");
    let is_mode = |text: &str| {
        let links: Option<Vec<Lanes>> =
            text.strip_prefix('x').and_then(|rest| rest.split('x').map(Lanes::parse).collect());
        links.is_some_and(|links| links.len() > 1)
    };
    for (mode, _) in modes.iter().filter(|(mode, _)| !is_mode(mode)) {
        let hint = "write the widths in the order of its lanes: bifurcation = [\"x8x8\", \"x4x4x4x4\"]";
        keys.wrong("bifurcation", format!("`{mode}` is no way to split a slot"), hint);
    }
    Some(modes.into_iter().map(|(mode, _)| mode).collect())
}

/// What is wrong with the members of a part, and what to do about it.
pub(super) fn wrong(kind: &PartKind) -> Option<(String, String)> {
    let (members, least) = match kind {
        PartKind::Raid(raid) => (&raid.members, least(raid)),
        PartKind::Volume(volume) => (&volume.members, 1),
        PartKind::Cluster(cluster) => (&cluster.members, 1),
        _ => return None,
    };
    if let Some(name) = twice(members) {
        return Some((format!("`{name}` is a member twice"), "name each member once".to_owned()));
    }
    if members.len() < least {
        let noun = if members.len() == 1 { "member" } else { "members" };
        let message = format!("it has {} {noun}, and its level needs {least}", members.len());
        return Some((message, "add members, or say another level".to_owned()));
    }
    None
}

/// The fewest members that a level is made of: md(4) and zpoolconcepts(7).
fn least(raid: &Raid) -> usize {
    match (raid.kind, raid.kind.level()) {
        (RaidKind::Zfs { parity, .. }, RaidLevel::Raid5 | RaidLevel::Raid6) => usize::from(parity) + 1,
        (_, RaidLevel::Raid6) => 4,
        (_, RaidLevel::Raid5 | RaidLevel::Raid10 | RaidLevel::Raid1) => 2,
        (_, RaidLevel::Raid0 | RaidLevel::Linear) => 1,
    }
}

fn twice(members: &[Name]) -> Option<&Name> {
    let mut seen = std::collections::BTreeSet::new();
    members.iter().find(|name| !seen.insert(*name))
}
