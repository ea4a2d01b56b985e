//! From a [`System`] to the text of a file that reads back as the same.

use std::fmt::Write;

use super::build::level_name;
use super::{
    Attachment, Copies, DeviceKind, Engine, Iommu, LinkGiven, Name, Part, PartKind, Pattern, Published,
    PublishedValue, RaidKind, System, Technology, VolumeKind, Workload,
};
use crate::path::RaidLevel;
use narrows_base::catalog::SlotForm;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, Iops, Nanos};

impl System {
    /// The text of a `*.path.toml` that says the same. Notes go before everything as comments.
    pub fn to_toml(&self, notes: &[String]) -> String {
        let mut out = String::new();
        for line in notes.iter().flat_map(|note| note.lines()) {
            let _ = writeln!(out, "# {line}");
        }
        let mut head = TableText::default();
        head.text("format", "narrows/path/1");
        head.text("name", &self.name);
        head.some("source", Some(&self.source).filter(|source| !source.is_empty()), |it| quoted(it));
        out.push_str(&head.body);
        for part in &self.parts {
            let _ = write!(out, "\n[{}.{}]\n{}", part.kind.table(), part.name, part_body(part));
        }
        for workload in &self.workloads {
            let _ = write!(out, "\n[workload.{}]\n{}", workload.name, workload_body(workload));
        }
        for published in &self.published {
            let _ = write!(out, "\n[[published]]\n{}", published_body(published));
        }
        out
    }
}

/// The lines below the name of a table.
#[derive(Debug, Default)]
struct TableText {
    body: String,
}

impl TableText {
    fn put(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.body, "{key} = {value}");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.put(key, &quoted(value));
    }

    fn some<T>(&mut self, key: &str, value: Option<T>, show: impl Fn(T) -> String) {
        if let Some(value) = value {
            self.put(key, &show(value));
        }
    }

    fn number<T: std::fmt::Display>(&mut self, key: &str, value: Option<T>) {
        self.some(key, value, |it| it.to_string());
    }

    fn link(&mut self, link: LinkGiven) {
        self.number("generation", link.generation);
        self.number("width", link.width.map(|width| width.get()));
        self.number("payload", link.payload.map(Bytes::get));
        self.number("read_request", link.read_request.map(Bytes::get));
    }
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn names(names: &[Name]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name.as_str())).collect();
    format!("[{}]", names.join(", "))
}

/// The number with the first of these units that shows it whole, in at most nine digits; or else as it is.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let exact = |factor: f64| {
        let number = value / factor;
        let short = format!("{number:.6}");
        let short = short.trim_end_matches('0').trim_end_matches('.').to_owned();
        let same = short.parse::<f64>().is_ok_and(|back| (back * factor).to_bits() == value.to_bits());
        (same && number >= 1.0).then_some(short)
    };
    let found =
        units.iter().find_map(|(factor, unit)| exact(*factor).map(|number| format!("{number} {unit}")));
    let last = units.last().map_or("", |(_, unit)| unit);
    quoted(&found.unwrap_or_else(|| format!("{value} {last}")))
}

fn rate(rate: BytesPerSec) -> String {
    scaled(rate.get(), &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

fn bit_rate(rate: BitsPerSec) -> String {
    // Without a unit for single bits, what is no whole number of kbit/s is given in bytes.
    let bits = rate.get();
    match bits % 1e3 == 0.0 {
        true => scaled(bits, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")]),
        false => quoted(&format!("{} B/s", bits / 8.0)),
    }
}

fn size(size: Bytes) -> String {
    let units: [(f64, &str); 6] = [
        (1_099_511_627_776.0, "TiB"),
        (1_073_741_824.0, "GiB"),
        (1_048_576.0, "MiB"),
        (1e9, "GB"),
        (1024.0, "KiB"),
        (1.0, "B"),
    ];
    let exact = units.iter().find(|(factor, _)| size.get().is_multiple_of(*factor as u64) && size.get() > 0);
    let (factor, unit) = exact.copied().unwrap_or((1.0, "B"));
    quoted(&format!("{} {unit}", size.get() / factor as u64))
}

fn time(time: Nanos) -> String {
    scaled(time.get() as f64, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

fn iops(iops: Iops) -> String {
    scaled(iops.get(), &[(1e6, "MIOPS"), (1e3, "kIOPS"), (1.0, "IOPS")])
}

fn share(share: f64) -> String {
    let text = share.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

fn part_body(part: &Part) -> String {
    let mut t = TableText::default();
    match &part.kind {
        PartKind::Host(_)
        | PartKind::Chipset(_)
        | PartKind::Slot(_)
        | PartKind::Switch(_)
        | PartKind::Adapter(_) => {
            board(&mut t, &part.kind);
        }
        PartKind::Device(_) => device(&mut t, &part.kind),
        PartKind::Network(_) | PartKind::Remote(_) | PartKind::Cluster(_) | PartKind::Vm(_) => {
            network(&mut t, &part.kind);
        }
        _ => layer(&mut t, &part.kind),
    }
    t.body
}

fn board(t: &mut TableText, kind: &PartKind) {
    match kind {
        PartKind::Host(it) => {
            t.some("board", it.board.as_deref(), quoted);
            t.some("processor", it.processor.as_deref(), quoted);
            t.some("cpu", it.cpu.as_deref(), quoted);
            t.number("sockets", Some(it.sockets).filter(|sockets| *sockets != 1));
            t.number("reader_socket", it.reader_socket);
            t.number("cores", it.cores);
            t.number("interconnect_links", it.interconnect.map(|it| it.links));
            t.some("interconnect_rate", it.interconnect.map(|it| it.rate), rate);
            t.some("memory", it.memory, size);
            t.some("memory_rate", it.memory_rate, rate);
            t.some("core_iops", it.core_iops, iops);
            t.some("iommu", it.iommu.map(Iommu::word), quoted);
            t.some("iommu_pages", it.iommu_pages, size);
            t.some("decrypt", it.decrypt, rate);
            t.some("encrypt", it.encrypt, rate);
        }
        PartKind::Chipset(it) => {
            t.text("host", it.host.as_str());
            t.number("socket", Some(it.socket).filter(|socket| *socket != 0));
            t.some("model", it.model.as_deref(), quoted);
            t.link(it.uplink);
        }
        PartKind::Slot(it) => {
            match &it.on {
                Attachment::Socket { host, socket } => {
                    t.text("host", host.as_str());
                    t.number("socket", Some(*socket).filter(|socket| *socket != 0));
                }
                Attachment::Chipset(name) => t.text("chipset", name.as_str()),
                Attachment::Slot(name) => t.text("slot", name.as_str()),
            }
            t.link(it.link);
            t.number("connector", it.connector.map(|lanes| lanes.get()));
            t.some("form", it.form.map(SlotForm::word), quoted);
            t.some("bifurcation", it.bifurcation.as_ref(), |modes| {
                let modes: Vec<String> = modes.iter().map(|mode| quoted(mode)).collect();
                format!("[{}]", modes.join(", "))
            });
        }
        PartKind::Switch(it) => {
            t.text("in", it.upstream.as_str());
            t.some("model", it.model.as_deref(), quoted);
            t.link(it.uplink);
            t.number("port_generation", it.port.generation);
            t.number("port_width", it.port.width.map(|lanes| lanes.get()));
            t.some("latency", it.latency, time);
        }
        PartKind::Adapter(it) => {
            t.text("in", it.upstream.as_str());
            t.some("model", it.model.as_deref(), quoted);
            t.link(it.link);
            t.some("rate", it.rate, rate);
            t.some("iops", it.iops, iops);
        }
        _ => {}
    }
}

fn device(t: &mut TableText, kind: &PartKind) {
    let PartKind::Device(it) = kind else { return };
    let kind = match it.kind {
        DeviceKind::Nvme => "nvme",
        DeviceKind::Sata => "sata",
        DeviceKind::Sas => "sas",
        DeviceKind::Hdd => "hdd",
        DeviceKind::Usb => "usb",
        DeviceKind::Ramdisk => "ramdisk",
    };
    t.text("kind", kind);
    t.text("in", it.upstream.as_str());
    t.some("model", it.model.as_deref(), quoted);
    t.some("class", it.class.as_deref(), quoted);
    t.some("read", it.read, rate);
    t.some("write", it.write, rate);
    t.some("read_iops", it.read_iops, iops);
    t.some("write_iops", it.write_iops, iops);
    t.some("read_latency", it.read_latency, time);
    t.some("write_latency", it.write_latency, time);
    t.some("cache_size", it.cache.map(|cache| cache.size), size);
    t.some("steady_write", it.cache.map(|cache| cache.steady), rate);
    t.link(it.link);
    t.some("line_rate", it.line_rate, bit_rate);
    t.some("size", it.size, size);
}

/// The word of `[raid] level`.
fn level(kind: RaidKind) -> String {
    match kind {
        RaidKind::Md(level) => level_name(level).to_owned(),
        RaidKind::Zfs { level: RaidLevel::Raid0 | RaidLevel::Linear | RaidLevel::Raid10, .. } => {
            "stripe".to_owned()
        }
        RaidKind::Zfs { level: RaidLevel::Raid1, .. } => "mirror".to_owned(),
        RaidKind::Zfs { parity, .. } => format!("raidz{parity}"),
    }
}

fn layer(t: &mut TableText, kind: &PartKind) {
    match kind {
        PartKind::Raid(it) => {
            t.text("level", &level(it.kind));
            t.put("members", &names(&it.members));
            t.some("chunk", it.chunk, size);
            t.number("copies", it.copies);
            t.some("resync", it.resync, rate);
            t.number("stripe_threads", it.stripe_threads);
        }
        PartKind::Crypt(it) => {
            t.text("on", it.on.as_str());
            t.some("cipher", it.cipher.as_deref(), quoted);
            t.number("key_bits", it.key_bits);
            t.some("decrypt", it.decrypt, rate);
            t.some("encrypt", it.encrypt, rate);
            t.number("cores", it.cores);
            t.number("sector_size", it.sector_size.map(Bytes::get));
            t.number("workqueues", Some(it.workqueues).filter(|queues| !queues));
        }
        PartKind::Cache(it) => {
            t.text("cache", it.cache.as_str());
            t.text("backing", it.backing.as_str());
            t.put("hit", &share(it.hit));
            t.number("writeback", Some(it.writeback).filter(|writeback| *writeback));
        }
        PartKind::Volume(it) => {
            t.put("members", &names(&it.members));
            if let VolumeKind::Striped { chunk } = it.kind {
                t.put("stripe", &size(chunk));
            }
        }
        PartKind::Filesystem(it) => {
            t.text("kind", &it.kind);
            t.put("on", &names(&it.members));
            if !it.options.is_empty() {
                let options: Vec<String> = it.options.iter().map(|option| quoted(option)).collect();
                t.put("options", &format!("[{}]", options.join(", ")));
            }
            t.some("rate", it.rate, rate);
            t.some("recordsize", it.recordsize, size);
            t.some("compression", it.compression, share);
            t.some("arc", it.arc, size);
        }
        _ => {}
    }
}

fn network(t: &mut TableText, kind: &PartKind) {
    match kind {
        PartKind::Network(it) => {
            if it.technology == Technology::Infiniband {
                t.text("technology", "infiniband");
            }
            t.put("rate", &bit_rate(it.rate));
            t.number("ports", Some(it.ports).filter(|ports| *ports != 1));
            t.number("mtu", it.mtu.map(Bytes::get));
            t.some("protocol", it.protocol.as_deref(), quoted);
            t.some("in", it.upstream.as_ref(), |name| quoted(name.as_str()));
            t.link(it.link);
            t.some("latency", it.latency, time);
        }
        PartKind::Remote(it) => {
            t.text("on", it.on.as_str());
            t.put("through", &names(&it.through));
            t.some("protocol", it.protocol.as_deref(), quoted);
            t.some("latency", it.latency, time);
            t.some("rate", it.rate, rate);
        }
        PartKind::Cluster(it) => {
            t.put("members", &names(&it.members));
            match it.copies {
                Copies::Mirror(copies) => t.number("copies", Some(copies)),
                Copies::Erasure { data, parity } => {
                    t.number("data", Some(data));
                    t.number("parity", Some(parity));
                }
            }
            if !it.networks.is_empty() {
                t.put("networks", &names(&it.networks));
            }
            t.some("local_reads", it.local_reads, share);
            t.number("converged", Some(it.converged).filter(|converged| !converged));
            t.some("latency", it.latency, time);
            t.some("core_iops", it.core_iops, iops);
        }
        PartKind::Vm(it) => {
            t.text("on", it.on.as_str());
            t.number("count", Some(it.count));
            t.some("iops", it.iops, iops);
            t.some("rate", it.rate, rate);
            t.some("latency", it.latency, time);
            t.number("cpus", it.cpus);
        }
        _ => {}
    }
}

fn workload_body(it: &Workload) -> String {
    let mut t = TableText::default();
    t.text("target", it.target.as_str());
    t.some("pattern", Some("random").filter(|_| it.pattern == Pattern::Random), quoted);
    t.put("block_size", &size(it.block_size));
    t.number("depth", Some(it.depth));
    t.number("jobs", Some(it.jobs));
    t.put("read_share", &share(it.read_share));
    t.some("size", it.size, size);
    let engine = match it.engine {
        Engine::Uring => None,
        Engine::Polled => Some("polled"),
        Engine::Libaio => Some("libaio"),
        Engine::Sync => Some("sync"),
        Engine::Buffered => Some("buffered"),
        Engine::Hdparm => Some("hdparm"),
    };
    t.some("engine", engine, quoted);
    t.number("flush", it.flush);
    if !it.with.is_empty() {
        t.put("with", &names(&it.with));
    }
    t.body
}

fn published_body(it: &Published) -> String {
    let mut t = TableText::default();
    t.text("what", &it.what);
    t.text("workload", it.workload.as_str());
    if !it.set.is_empty() {
        let set: Vec<String> = it.set.iter().map(|(key, value)| quoted(&format!("{key}={value}"))).collect();
        t.put("set", &format!("[{}]", set.join(", ")));
    }
    t.put(
        "value",
        &match it.value {
            PublishedValue::Rate(it) => rate(it),
            PublishedValue::Iops(it) => iops(it),
            PublishedValue::Latency(it) => time(it),
        },
    );
    t.some("source", Some(it.source.as_str()).filter(|source| !source.is_empty()), quoted);
    t.some("why", it.why.as_deref(), quoted);
    if !it.limited_by.is_empty() {
        let kinds: Vec<String> = it.limited_by.iter().map(|kind| quoted(kind.as_str())).collect();
        t.put("limited_by", &format!("[{}]", kinds.join(", ")));
    }
    t.body
}
