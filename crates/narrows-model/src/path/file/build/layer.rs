//! Arrays, encryption, caches, volumes, file systems, virtual machines; interfaces, storage over networks, clusters.

use super::{BuildError, ReaderPlace, Walk, fact, given};
use crate::path::file::{
    Attachment, Cache, Cluster, Copies, Crypt, DeviceKind, Filesystem, Name, Network, Part, PartKind, Raid,
    RaidKind, Remote, Technology, Vm, Volume, VolumeKind,
};
use crate::path::graph::{Node, Spread};
use crate::path::{
    CacheHop, CryptHop, FilesystemHop, HopKind, HopSpec, NetworkHop, RaidHop, RaidLevel, Traffic, VolumeHop,
    VolumeLayout, split,
};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, human};
use narrows_machine::block::{Bcache, MdArray};
use narrows_machine::cipher::CipherRate;

/// The encryption sector of LUKS when nobody asked for another.
const USUAL_SECTOR: Bytes = Bytes::new(512);

impl<'s> Walk<'s> {
    pub(super) fn raid(
        &mut self,
        above: Node,
        part: &'s Part,
        raid: &'s Raid,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let members: Vec<String> = raid.members.iter().map(Name::to_string).collect();
        let md = md_of(part, raid);
        let count = members.len();
        let level = raid.kind.level();
        let (spec, what) = match raid.kind {
            RaidKind::Md(level) => {
                let hop = RaidHop {
                    block: part.name.to_string(),
                    level: Some(level),
                    members: members.clone(),
                    md: md.clone(),
                };
                (HopSpec::Raid(Box::new(hop)), format!("md {} {}", part.name, level_name(level)))
            }
            RaidKind::Zfs { level, parity } => {
                let what = zfs_name(level, parity);
                let does = format!("ZFS spreads records over {count} members as {what}");
                (
                    given(HopKind::Raid, (Fact::default(), Fact::default()), does),
                    format!("zfs {} {what}", part.name),
                )
            }
        };
        let mut shares = split::array(&md, Some(level), &members);
        let data = count.saturating_sub(parity(raid.kind)).max(1);
        if parity(raid.kind) > 0 && (matches!(raid.kind, RaidKind::Zfs { .. }) || self.turns(&raid.members)) {
            // A disk gains nothing by skipping parity, which passes below its head all the same; ZFS spreads each record
            // over the members that hold data.
            shares.iter_mut().for_each(|(_, share)| *share = Traffic::both(1.0 / data as f64));
        }
        let plural = if count == 1 { "member" } else { "members" };
        let name = format!("{what}, {count} {plural}");
        let Some(node) = self.add(above, (HopKind::Raid, &part.name), name, spec, fraction)? else {
            return Ok(());
        };
        let single = self.streams <= 1 && level == RaidLevel::Raid1 && matches!(raid.kind, RaidKind::Md(_));
        // md keeps a sequential stream on one mirror; ZFS deals records out to all.
        self.graph
            .set_spread(node, if single { Spread::ReadEither } else { split::array_spread(Some(level)) });
        for (member, share) in shares {
            let share = if single { Traffic { read: share.read.ceil(), ..share } } else { share };
            self.layer(node, &Name::new(member), share, reader, &part.name)?;
        }
        Ok(())
    }

    /// Whether all of these are hard disks.
    fn turns(&self, members: &[Name]) -> bool {
        members.iter().all(|name| {
            let part = self.system.part(name);
            matches!(part.map(|part| &part.kind), Some(PartKind::Device(device)) if device.kind == DeviceKind::Hdd)
        })
    }

    pub(super) fn crypt(
        &mut self,
        above: Node,
        part: &'s Part,
        crypt: &'s Crypt,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let host = self.host_of(&crypt.on);
        let (name, sector) = (part.name.to_string(), crypt.sector_size.unwrap_or(USUAL_SECTOR));
        let own = crypt.decrypt.zip(crypt.encrypt);
        let rates = own.or_else(|| {
            let (_, host) = host?;
            crypt.decrypt.or(host.decrypt).zip(crypt.encrypt.or(host.encrypt))
        });
        let source = match (own, host) {
            (None, Some((host, _))) => &host.given,
            _ => &part.given,
        };
        let cipher = rates.map(|(decrypt, encrypt)| CipherRate {
            cipher: crypt.cipher.clone().unwrap_or_else(|| "aes-xts-plain64".to_owned()),
            key_bits: crypt.key_bits.unwrap_or(512),
            sector_size: sector,
            decrypt,
            encrypt,
            driver: Some("cipher".to_owned()),
        });
        let cores = crypt.cores.or_else(|| host.and_then(|(_, host)| host.cores)).unwrap_or(1);
        let spec = HopSpec::Crypt(Box::new(CryptHop {
            block: name.clone(),
            mapping: Fact::known(name.clone(), part.given.as_str()),
            table: Fact::default(),
            cipher: fact(cipher, source),
            cores,
        }));
        let title = format!("dm-crypt {name}");
        let Some(node) = self.add(above, (HopKind::Crypt, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        self.layer(node, &crypt.on, Traffic::ONE, reader, &part.name)
    }

    pub(super) fn cache(
        &mut self,
        above: Node,
        part: &'s Part,
        cache: &'s Cache,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let bcache = Bcache {
            mode: Fact::known(
                if cache.writeback { "writeback" } else { "writethrough" }.to_owned(),
                part.given.as_str(),
            ),
            backing: Some(cache.backing.to_string()),
            caches: vec![cache.cache.to_string()],
            ..Bcache::default()
        };
        let spec = HopSpec::Cache(Box::new(CacheHop { block: part.name.to_string(), bcache }));
        let title = format!("bcache {}, {} of reads hit", part.name, human::percent(cache.hit));
        let Some(node) = self.add(above, (HopKind::Cache, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        let hit = cache.hit.clamp(0.0, 1.0);
        let backing_write = if cache.writeback { 0.0 } else { 1.0 };
        self.layer(node, &cache.cache, Traffic { read: hit, write: 1.0 }, reader, &part.name)?;
        let rest = Traffic { read: 1.0 - hit, write: backing_write };
        self.layer(node, &cache.backing, rest, reader, &part.name)
    }

    pub(super) fn volume(
        &mut self,
        above: Node,
        part: &'s Part,
        volume: &'s Volume,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let layout = match volume.kind {
            VolumeKind::Linear => VolumeLayout::Linear,
            VolumeKind::Striped { chunk } => VolumeLayout::Striped { chunk },
        };
        let what = match volume.kind {
            VolumeKind::Linear => "linear volume",
            VolumeKind::Striped { .. } => "striped volume",
        };
        let share = split::volume(&layout, volume.members.len());
        let spec = HopSpec::Volume(VolumeHop {
            block: part.name.to_string(),
            mapping: Fact::known(part.name.to_string(), part.given.as_str()),
            layout: layout.clone(),
            members: volume.members.iter().map(Name::to_string).collect(),
        });
        let title = format!("{} ({what})", part.name);
        let id = (HopKind::LogicalVolume, &part.name as &dyn std::fmt::Display);
        let Some(node) = self.add(above, id, title, spec, fraction)? else { return Ok(()) };
        self.graph.set_spread(node, split::volume_spread(&layout));
        for member in &volume.members {
            self.layer(node, member, share, reader, &part.name)?;
        }
        Ok(())
    }

    pub(super) fn filesystem(
        &mut self,
        above: Node,
        part: &'s Part,
        filesystem: &'s Filesystem,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let spec = match filesystem.rate {
            Some(rate) => {
                let rate = fact(Some(rate), &part.given);
                given(HopKind::Filesystem, (rate.clone(), rate), filesystem.kind.as_str())
            }
            None => HopSpec::Filesystem(FilesystemHop {
                fstype: filesystem.kind.clone(),
                point: part.name.to_string(),
                options: filesystem.options.clone(),
            }),
        };
        let title = format!("{} {}", filesystem.kind, part.name);
        let Some(node) = self.add(above, (HopKind::Filesystem, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        // A pool stripes over its arrays.
        let count = filesystem.members.len().max(1) as f64;
        self.graph.set_spread(node, Spread::Together);
        for member in &filesystem.members {
            let share = 1.0 / (count * filesystem.compression.unwrap_or(1.0).max(1.0));
            self.layer(node, member, Traffic::both(share), reader, &part.name)?;
        }
        Ok(())
    }

    pub(super) fn vm(
        &mut self,
        above: Node,
        part: &'s Part,
        vm: &'s Vm,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        // What it may move is a cap on a workload, and not what it can carry.
        let spec = given(
            HopKind::Controller,
            (Fact::default(), Fact::default()),
            "a virtual adapter passes on what the host gives",
        );
        let noun = if vm.count == 1 { "virtual machine" } else { "virtual machines" };
        let title = format!("{} {noun} {}", vm.count, part.name);
        let Some(node) = self.add(above, (HopKind::Controller, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        self.layer(node, &vm.on, Traffic::ONE, reader, &part.name)
    }

    /// The host that a part lies on, by its first way down.
    pub(super) fn host_of(&self, name: &Name) -> Option<(&'s Part, &'s crate::path::file::Host)> {
        let mut at = name.clone();
        for _ in 0..super::MOST_LAYERS {
            let part = self.system.part(&at)?;
            if let PartKind::Host(host) = &part.kind {
                return Some((part, host));
            }
            at = (*part.needs().first()?).clone();
        }
        None
    }
}

/// What md would say of the array.
fn md_of(part: &Part, raid: &Raid) -> MdArray {
    let given = part.given.as_str();
    MdArray {
        level: Fact::known(level_name(raid.kind.level()).to_owned(), given),
        raid_disks: fact(u32::try_from(raid.members.len()).ok(), &part.given),
        chunk: fact(raid.chunk, &part.given),
        layout: fact(raid.copies.map(|copies| u64::from(copies) | 0x100), &part.given),
        sync_action: Fact::known(if raid.resync.is_some() { "resync" } else { "idle" }.to_owned(), given),
        sync_speed: fact(raid.resync, &part.given),
        group_threads: fact(raid.stripe_threads, &part.given),
        ..MdArray::default()
    }
}

/// The level as md names it.
pub(in crate::path::file) const fn level_name(level: RaidLevel) -> &'static str {
    match level {
        RaidLevel::Raid0 => "raid0",
        RaidLevel::Raid1 => "raid1",
        RaidLevel::Raid10 => "raid10",
        RaidLevel::Raid5 => "raid5",
        RaidLevel::Raid6 => "raid6",
        RaidLevel::Linear => "linear",
    }
}

/// How many members of an array hold no data of their own.
fn parity(kind: RaidKind) -> usize {
    match kind {
        RaidKind::Zfs { parity, .. } => parity.into(),
        RaidKind::Md(RaidLevel::Raid5) => 1,
        RaidKind::Md(RaidLevel::Raid6) => 2,
        RaidKind::Md(_) => 0,
    }
}

/// The level as ZFS names it.
fn zfs_name(level: RaidLevel, parity: u8) -> String {
    match level {
        RaidLevel::Raid1 => "mirror".to_owned(),
        RaidLevel::Raid5 | RaidLevel::Raid6 => format!("raidz{parity}"),
        other => level_name(other).to_owned(),
    }
}

/// What packets of 4096 bytes leave of an InfiniBand link's rate: EDR was measured with 98.4 of 100 Gbit/s
/// (linux-rdma/perftest issue 225).
const INFINIBAND_SHARE: f64 = 0.984;

impl<'s> Walk<'s> {
    /// Puts an interface and the way of its card to memory below `above`. `Some` when it is new.
    pub(super) fn network(
        &mut self,
        above: Node,
        part: &'s Part,
        network: &'s Network,
        (fraction, both_ways): (Traffic, bool),
        reader: Option<&ReaderPlace>,
    ) -> Result<Option<Node>, BuildError> {
        let ports = network.ports.max(1);
        let speed = BitsPerSec::new(network.rate.get() * f64::from(ports));
        let wire = match network.technology {
            Technology::Ethernet => "Ethernet",
            Technology::Infiniband => "InfiniBand",
        };
        let count = if ports == 1 { String::new() } else { format!("{ports} × ") };
        let title = format!("{} {count}{} {wire}", part.name, network.rate);
        let spec = match network.technology {
            Technology::Ethernet => HopSpec::Network(NetworkHop {
                interface: part.name.to_string(),
                speed: Fact::known(speed, part.given.as_str()),
                mtu: fact(network.mtu, &part.given),
                address: None,
                protocol: network.protocol.clone().map(protocol),
                members: ports,
                both_ways,
            }),
            Technology::Infiniband => {
                let rate = fact(Some(speed.bytes_per_sec() * INFINIBAND_SHARE), &part.given);
                given(HopKind::Network, (rate.clone(), rate), "InfiniBand")
            }
        };
        let node = self.add(above, (HopKind::Network, &part.name), title, spec, fraction)?;
        if let (Some(node), Some(upstream)) = (node, &network.upstream) {
            self.upstream(node, part, upstream, network.link, reader)?;
        }
        Ok(node)
    }

    pub(super) fn remote(
        &mut self,
        above: Node,
        part: &'s Part,
        remote: &'s Remote,
        fraction: Traffic,
        reader: Option<&ReaderPlace>,
    ) -> Result<(), BuildError> {
        let rate = fact(remote.rate, &part.given);
        let what = remote.protocol.as_deref().unwrap_or("server");
        let spec = given(HopKind::Remote, (rate.clone(), rate), "the network and what is behind it decide");
        let title = format!("{} over {what}", part.name);
        let Some(node) = self.add(above, (HopKind::Remote, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        for name in &remote.through {
            let network = self.part(name, &part.name)?;
            let PartKind::Network(wire) = &network.kind else {
                return Err(no_network(part, name, &network.kind));
            };
            // The first card is the reader's own, the others send what the drives put into the server's memory.
            let is_first = Some(name) == remote.through.first();
            let reader = if is_first { reader } else { None };
            let card = self.network(node, network, wire, (Traffic::ONE, false), reader)?;
            if let Some(card) = card.filter(|_| !is_first) {
                self.graph.turn(node, card);
            }
        }
        // On the server data is to arrive where the card is that sends it on.
        let server =
            remote.through.last().filter(|_| remote.through.len() > 1).and_then(|name| self.place(name));
        self.layer(node, &remote.on, Traffic::ONE, server.as_ref(), &part.name)
    }

    pub(super) fn cluster(
        &mut self,
        above: Node,
        part: &'s Part,
        cluster: &'s Cluster,
        fraction: Traffic,
    ) -> Result<(), BuildError> {
        let does = match cluster.copies {
            Copies::Mirror(copies) => format!("each byte is kept {copies} times"),
            Copies::Erasure { data, parity } => format!("{data} parts of data and {parity} of parity"),
        };
        let spec = given(HopKind::LogicalVolume, (Fact::default(), Fact::default()), does.clone());
        let title = format!("cluster {}: {does}", part.name);
        let Some(node) = self.add(above, (HopKind::LogicalVolume, &part.name), title, spec, fraction)? else {
            return Ok(());
        };
        let crossing = crossing(cluster);
        for name in &cluster.networks {
            let network = self.part(name, &part.name)?;
            let PartKind::Network(wire) = &network.kind else {
                return Err(no_network(part, name, &network.kind));
            };
            let card = self.network(node, network, wire, (crossing, true), None)?;
            // To clients elsewhere hosts send what is read; hosts among themselves send and get the same.
            if let Some(card) = card.filter(|_| !cluster.converged) {
                self.graph.turn(node, card);
            }
        }
        let count = cluster.members.len().max(1) as f64;
        let share = Traffic { read: 1.0 / count, write: cluster.copies.amplification() / count };
        let places: Vec<ReaderPlace> = cluster.networks.iter().filter_map(|name| self.place(name)).collect();
        for member in &cluster.members {
            let host = self.host_of(member).map(|(part, _)| part.name.clone());
            let reader = places.iter().find(|place| Some(&place.host) == host.as_ref());
            self.layer(node, member, share, reader, &part.name)?;
        }
        Ok(())
    }

    /// Where a network card is.
    fn place(&self, network: &Name) -> Option<ReaderPlace> {
        let mut at = network.clone();
        for _ in 0..super::MOST_LAYERS {
            let part = self.system.part(&at)?;
            let (host, socket) = match &part.kind {
                PartKind::Slot(slot) => match &slot.on {
                    Attachment::Socket { host, socket } => (host.clone(), *socket),
                    Attachment::Chipset(name) | Attachment::Slot(name) => {
                        at = name.clone();
                        continue;
                    }
                },
                PartKind::Chipset(chipset) => (chipset.host.clone(), chipset.socket),
                PartKind::Host(_) => return Some(ReaderPlace { host: part.name.clone(), socket: None }),
                _ => {
                    at = (*part.needs().first()?).clone();
                    continue;
                }
            };
            return Some(ReaderPlace { host, socket: Some(socket) });
        }
        None
    }
}

/// What crosses the card's own link for each byte of data: Ethernet frames go over it without preamble, checksum and gap
/// (MTU + 14 bytes, of which TCP leaves MTU − 52).
pub(super) fn on_link(network: &Network) -> Traffic {
    let mtu = network.mtu.map_or(1500.0, |mtu| mtu.as_f64());
    match network.technology {
        Technology::Ethernet => Traffic::both((mtu + 14.0) / (mtu - 52.0)),
        Technology::Infiniband => Traffic::ONE,
    }
}

fn no_network(part: &Part, upstream: &Name, kind: &PartKind) -> BuildError {
    BuildError::NoPlace { part: part.name.clone(), upstream: upstream.clone(), kind: kind.table() }
}

/// What of the cluster's traffic crosses the interface of each host, in each direction.
///
/// Data is spread evenly. With clients on the hosts, a host asks for one part in so many as there are hosts, of which the
/// share `local_reads` lies on itself; it serves as much to others as it asks of them. Each of its writes goes to the other
/// hosts, but for the part of all copies that lies on itself. With clients elsewhere every byte that is read leaves a
/// host, every byte that is written enters one and its further copies go from host to host.
fn crossing(cluster: &Cluster) -> Traffic {
    let hosts = cluster.networks.len().max(1) as f64;
    let copies = cluster.copies.amplification();
    if !cluster.converged {
        return Traffic { read: 1.0 / hosts, write: copies / hosts };
    }
    let local = cluster.local_reads.unwrap_or(1.0 / hosts).clamp(0.0, 1.0);
    Traffic { read: (1.0 - local) / hosts, write: copies * (1.0 - 1.0 / hosts) / hosts }
}

/// The protocol as [`crate::ceiling`] tells packets apart.
fn protocol(given: String) -> String {
    match given.as_str() {
        "roce" => "roce-rdma".to_owned(),
        _ => given,
    }
}
