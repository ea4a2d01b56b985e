//! The types of a described system. Plain data without rules: [`System::part`] looks up, nothing here computes.

mod parts;

pub use parts::{
    Adapter, Attachment, Cache, Chipset, Cluster, Crypt, Device, DeviceKind, Filesystem, Host, Interconnect,
    Iommu, LinkGiven, Network, Raid, RaidKind, Remote, Slot, SplitMode, Switch, Technology, Vm, Volume,
    WriteCache, ZfsLevel,
};

use serde::{Deserialize, Serialize};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use crate::path::{HopKind, of_word};
use narrows_base::fact::Source;
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

pub use narrows_base::workload::Pattern;

/// The name of a part or a workload. No two parts of a system have the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// A name as it is.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A system: its parts, what runs on them and what was published of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct System {
    /// What it is, for a person: `Dell R720xd with a PCIe switch card`.
    pub name: String,
    /// Where its facts are from; empty when nobody said.
    pub source: String,
    /// Its parts. The order is that of the file and has no meaning but for display.
    pub parts: Vec<Part>,
    /// What runs on it.
    pub workloads: Vec<Workload>,
    /// What was published of it.
    pub published: Vec<Published>,
    /// Where each part stands, made when one is first asked for.
    pub index: Index,
}

/// The places of the parts of a [`System`] by name. It is no part of what is described: all are equal, and a copy begins empty.
#[derive(Debug, Default)]
pub struct Index(OnceLock<BTreeMap<Name, usize>>);

impl Index {
    fn place(&self, parts: &[Part], name: &Name) -> Option<usize> {
        let make =
            || parts.iter().enumerate().rev().map(|(place, part)| (part.name.clone(), place)).collect();
        self.0.get_or_init(make).get(name).copied()
    }
}

impl Clone for Index {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl System {
    /// The part with this name.
    pub fn part(&self, name: &Name) -> Option<&Part> {
        let known = self.index.place(&self.parts, name).and_then(|place| self.parts.get(place));
        // What was changed since the index was made is looked for.
        known.filter(|part| part.name == *name).or_else(|| self.parts.iter().find(|part| part.name == *name))
    }

    /// The workload with this name.
    pub fn workload(&self, name: &Name) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == *name)
    }

    /// The last part that holds data and that nothing else lies on.
    pub fn topmost(&self) -> Option<&Name> {
        let leads = |kind: &PartKind| {
            use PartKind::{Adapter, Chipset, Host, Network, Slot, Switch};
            matches!(kind, Host(_) | Chipset(_) | Slot(_) | Switch(_) | Adapter(_) | Network(_))
        };
        let is_used = |name: &Name| self.parts.iter().any(|part| part.needs().contains(&name));
        let mut last = self.parts.iter().rev();
        last.find(|part| !leads(&part.kind) && !is_used(&part.name)).map(|part| &part.name)
    }

    /// The host that a part is in, over all that it is in or on.
    pub fn host_of(&self, name: &Name) -> Option<(&Part, &Host)> {
        let mut part = self.part(name)?;
        for _ in 0..=self.parts.len() {
            if let PartKind::Host(host) = &part.kind {
                return Some((part, host));
            }
            part = self.part(part.needs().first()?)?;
        }
        None
    }

    /// Where the lanes of a part come from, over all that it is in or on.
    pub fn place_of(&self, name: &Name) -> Option<PartPlace<'_>> {
        let mut part = self.part(name)?;
        for _ in 0..=self.parts.len() {
            let (host, socket) = match &part.kind {
                PartKind::Host(_) => (&part.name, None),
                PartKind::Chipset(it) => (&it.host, Some(it.socket)),
                PartKind::Slot(Slot { on: Attachment::Socket { host, socket }, .. }) => (host, Some(*socket)),
                _ => {
                    part = self.part(part.needs().first()?)?;
                    continue;
                }
            };
            return Some(PartPlace { host, socket, on_chipset: matches!(part.kind, PartKind::Chipset(_)) });
        }
        None
    }

    pub fn hosts(&self) -> impl Iterator<Item = (&Name, &Host)> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Host(host) => Some((&part.name, host)),
            _ => None,
        })
    }
}

/// A place in a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartPlace<'s> {
    pub host: &'s Name,
    /// `None`: on none of them more than on others.
    pub socket: Option<u32>,
    /// Whether it is behind a chipset.
    pub on_chipset: bool,
}

/// One part of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub name: Name,
    /// Where it was given, `x99-slot.path.toml:12`; every fact of the hops that it becomes cites this.
    pub given: Source,
    /// What it is.
    pub kind: PartKind,
}

impl Part {
    /// A part that was made in code.
    pub fn new(name: impl Into<String>, kind: PartKind) -> Self {
        Self { name: Name::new(name), given: Source::new("made in code"), kind }
    }

    /// The parts that it hangs on or lies on, in the order in which they were given.
    pub fn needs(&self) -> Vec<&Name> {
        match &self.kind {
            PartKind::Host(_) => Vec::new(),
            PartKind::Chipset(chipset) => vec![&chipset.host],
            PartKind::Slot(slot) => vec![slot.on.name()],
            PartKind::Switch(switch) => vec![&switch.upstream],
            PartKind::Adapter(adapter) => vec![&adapter.upstream],
            PartKind::Device(device) => vec![&device.upstream],
            PartKind::Raid(raid) => raid.members.iter().collect(),
            PartKind::Crypt(crypt) => vec![&crypt.on],
            PartKind::Cache(cache) => vec![&cache.cache, &cache.backing],
            PartKind::Volume(volume) => volume.members.iter().collect(),
            PartKind::Filesystem(filesystem) => filesystem.members.iter().collect(),
            PartKind::Network(network) => network.upstream.iter().collect(),
            PartKind::Remote(remote) => std::iter::once(&remote.on).chain(&remote.through).collect(),
            PartKind::Cluster(cluster) => cluster.members.iter().chain(&cluster.networks).collect(),
            PartKind::Vm(vm) => vec![&vm.on],
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// A computer.
    Host(Host),
    Chipset(Chipset),
    /// A slot or another place with PCIe lanes.
    Slot(Slot),
    /// A PCIe switch.
    Switch(Switch),
    /// A storage adapter (HBA, SATA or USB controller).
    Adapter(Adapter),
    /// A drive.
    Device(Device),
    /// A RAID array.
    Raid(Raid),
    /// Encryption.
    Crypt(Crypt),
    /// A cache before something slower.
    Cache(Cache),
    /// A logical volume.
    Volume(Volume),
    /// A file system.
    Filesystem(Filesystem),
    /// A network interface and the wire behind it.
    Network(Network),
    /// Storage that is used over a network.
    Remote(Remote),
    /// Copies spread over several hosts.
    Cluster(Cluster),
    /// Virtual machines.
    Vm(Vm),
}

impl PartKind {
    /// The name of its table in a file.
    pub const fn table(&self) -> &'static str {
        match self {
            Self::Host(_) => "host",
            Self::Chipset(_) => "chipset",
            Self::Slot(_) => "slot",
            Self::Switch(_) => "switch",
            Self::Adapter(_) => "adapter",
            Self::Device(_) => "device",
            Self::Raid(_) => "raid",
            Self::Crypt(_) => "crypt",
            Self::Cache(_) => "cache",
            Self::Volume(_) => "volume",
            Self::Filesystem(_) => "filesystem",
            Self::Network(_) => "network",
            Self::Remote(_) => "remote",
            Self::Cluster(_) => "cluster",
            Self::Vm(_) => "vm",
        }
    }
}

/// How I/Os are handed to the kernel. Decides what each costs a core, and how many are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `io_uring` with interrupts.
    #[default]
    #[serde(rename = "io_uring")]
    Uring,
    /// `io_uring` that polls for completions.
    Polled,
    /// Linux native AIO, one submission at a time.
    Libaio,
    /// One call for each I/O, past the page cache.
    Sync,
    /// One call for each I/O, through the page cache with its readahead: `dd`, `cp`.
    Buffered,
    /// `hdparm -t`: through the page cache, 2 MiB at a time.
    Hdparm,
}

impl Engine {
    /// Whether I/Os go through the page cache.
    pub const fn is_cached(self) -> bool {
        matches!(self, Self::Buffered | Self::Hdparm)
    }

    /// The engine that a file or an option calls so: `io_uring`, `polled`, `libaio`, `sync`, `buffered`, `hdparm`.
    pub fn from_word(word: &str) -> Option<Self> {
        of_word(word)
    }
}

impl fmt::Display for Engine {
    /// What a file or an option calls it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    pub name: Name,
    /// The part that it reads and writes.
    pub target: Name,
    /// The order of addresses.
    pub pattern: Pattern,
    /// Bytes in each I/O.
    pub block_size: Bytes,
    /// I/Os that each job keeps under way, at least 1.
    #[serde(rename = "queue_depth", alias = "depth")]
    pub depth: u32,
    /// Jobs (threads, processes, streams) at work together, at least 1.
    pub jobs: u32,
    /// The share of I/Os that read, 0 to 1.
    pub read_share: f64,
    /// Bytes that are visited by all jobs together; `None`: so many that no cache matters.
    #[serde(skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub size: Option<Bytes>,
    /// How I/Os are handed to the kernel.
    pub engine: Engine,
    /// Whether each write is made durable before the next (fsync, fdatasync, O_DSYNC); `None` when nobody says.
    #[serde(skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub flush: Option<bool>,
    /// Workloads that run at the same time, by name.
    #[serde(default, skip_serializing)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub with: Vec<Name>,
    /// Where it was given.
    #[serde(skip)]
    pub given: Source,
}

impl Workload {
    /// Sequential reads of 1 MiB, 8 under way, by one job.
    pub fn reading(target: impl Into<String>) -> Self {
        Self {
            name: Name::new("read"),
            target: Name::new(target),
            pattern: Pattern::Sequential,
            block_size: Bytes::from_mib(1),
            depth: 8,
            jobs: 1,
            read_share: 1.0,
            size: None,
            engine: Engine::Uring,
            flush: None,
            with: Vec::new(),
            given: Source::new("made in code"),
        }
    }

    /// The same with writes.
    #[must_use]
    pub fn writing(self) -> Self {
        Self { read_share: 0.0, ..self }
    }

    /// Whether some of its I/Os write.
    pub fn writes(&self) -> bool {
        self.read_share < 1.0
    }

    /// I/Os that all jobs together keep under way.
    pub fn in_flight(&self) -> f64 {
        f64::from(self.depth.max(1)) * f64::from(self.jobs.max(1))
    }
}

/// A value that was published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PublishedValue {
    /// A rate of reads and writes together.
    Rate(BytesPerSec),
    /// I/Os in a second.
    Iops(Iops),
    /// The mean time of one I/O.
    Latency(Nanos),
}

/// One published result.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What was measured, in a few words.
    pub what: String,
    pub workload: Name,
    /// What was different from the rest of the file: `name.key` and its value.
    pub set: Vec<(String, String)>,
    /// The result.
    pub value: PublishedValue,
    /// Where it was published; that of the system when empty.
    pub source: String,
    /// Why the prediction is another, when it is.
    pub why: Option<String>,
    /// The kinds of hop that its source blames, by any of which it may be limited; empty when it blames none.
    pub limited_by: Vec<HopKind>,
    /// Where it was given.
    pub given: Source,
}
