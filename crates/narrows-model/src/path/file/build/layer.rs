//! Arrays, encryption, caches, volumes, file systems, virtual machines; interfaces, storage over networks, clusters.

use super::{Built, Spot, Walk, fact, given, no_place};
use crate::path::file::{
    Cache, Cluster, Crypt, DeviceKind, Filesystem, Name, Network, Part, PartKind, PartPlace, Raid, RaidKind,
    Remote, Technology, Vm, Volume, ZfsLevel,
};
use crate::path::graph::{Node, Spread};
use crate::path::{
    CryptHop, FilesystemHop, HopKind, HopSpec, NetworkHop, RaidHop, RaidLevel, Traffic, VolumeHop,
    VolumeLayout, split,
};
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, human};
use narrows_machine::block::MdArray;
use narrows_machine::cipher::CipherRate;

/// The encryption sector of LUKS when nobody asked for another.
const USUAL_SECTOR: Bytes = Bytes::new(512);

impl<'s> Walk<'s> {
    pub(super) fn raid(&mut self, spot: Spot<'s>, raid: &'s Raid) -> Built {
        let part = spot.part;
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
                (HopSpec::Raid(Box::new(hop)), format!("md {} {level}", part.name))
            }
            RaidKind::Zfs(level) => {
                let what = zfs_name(level);
                let does = format!("ZFS spreads records over {count} members as {what}");
                (given(HopKind::Raid, None, part, does), format!("zfs {} {what}", part.name))
            }
        };
        let mut shares = split::array(&md, Some(level), &members);
        let parity = usize::from(raid.kind.parity());
        let data = count.saturating_sub(parity).max(1);
        if parity > 0 && (matches!(raid.kind, RaidKind::Zfs(_)) || self.turns(&raid.members)) {
            // A disk gains nothing by skipping parity, which passes below its head all the same; ZFS spreads each record
            // over the members that hold data.
            shares.iter_mut().for_each(|(_, share)| *share = Traffic::both(1.0 / data as f64));
        }
        let name = format!("{what}, {}", human::counted(count, "member"));
        let Some(below) = self.put(spot, name, spec)? else { return Ok(()) };
        let single = self.streams <= 1 && level == RaidLevel::Raid1 && matches!(raid.kind, RaidKind::Md(_));
        // md keeps a sequential stream on one mirror; ZFS deals records out to all.
        self.graph.set_spread(
            below.above,
            if single { Spread::ReadEither } else { split::array_spread(Some(level)) },
        );
        for (member, share) in shares {
            let share = if single { Traffic { read: share.read.ceil(), ..share } } else { share };
            self.layer(below, &Name::new(member), share)?;
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

    pub(super) fn crypt(&mut self, spot: Spot<'s>, crypt: &'s Crypt) -> Built {
        let part = spot.part;
        let host = self.system.host_of(&crypt.on);
        let name = part.name.to_string();
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
            driver: Some("cipher".to_owned()),
            ..crypt.rated(decrypt, encrypt)
        });
        let cores = crypt.cores.or_else(|| host.and_then(|(_, host)| host.cores)).unwrap_or(1);
        let spec = HopSpec::Crypt(Box::new(CryptHop {
            block: name.clone(),
            table: Fact::default(),
            cipher: fact(cipher, source),
            cores,
        }));
        let title = format!("dm-crypt {name}");
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        self.layer(below, &crypt.on, Traffic::ONE)
    }

    pub(super) fn cache(&mut self, spot: Spot<'s>, cache: &'s Cache) -> Built {
        let part = spot.part;
        let spec = HopSpec::Cache(part.name.to_string());
        let title = format!("bcache {}, {} of reads hit", part.name, human::percent(cache.hit));
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        let hit = cache.hit.clamp(0.0, 1.0);
        let backing_write = if cache.writeback { 0.0 } else { 1.0 };
        self.layer(below, &cache.cache, Traffic { read: hit, write: 1.0 })?;
        let rest = Traffic { read: 1.0 - hit, write: backing_write };
        self.layer(below, &cache.backing, rest)
    }

    pub(super) fn volume(&mut self, spot: Spot<'s>, volume: &'s Volume) -> Built {
        let part = spot.part;
        let (layout, what) = match volume.stripe {
            None => (VolumeLayout::Linear, "linear volume"),
            Some(chunk) => (VolumeLayout::Striped { chunk }, "striped volume"),
        };
        let share = split::volume(&layout, volume.members.len());
        let spec = HopSpec::Volume(VolumeHop {
            block: part.name.to_string(),
            layout: layout.clone(),
            members: volume.members.iter().map(Name::to_string).collect(),
        });
        let title = format!("{} ({what})", part.name);
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        self.graph.set_spread(below.above, split::volume_spread(&layout));
        volume.members.iter().try_for_each(|member| self.layer(below, member, share))
    }

    pub(super) fn filesystem(&mut self, spot: Spot<'s>, filesystem: &'s Filesystem) -> Built {
        let part = spot.part;
        let spec = match filesystem.rate {
            Some(_) => given(HopKind::Filesystem, filesystem.rate, part, filesystem.kind.as_str()),
            None => HopSpec::Filesystem(FilesystemHop {
                fstype: filesystem.kind.clone(),
                point: part.name.to_string(),
                options: filesystem.options.clone(),
            }),
        };
        let title = format!("{} {}", filesystem.kind, part.name);
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        // A pool stripes over its arrays.
        let count = filesystem.members.len().max(1) as f64;
        let share = Traffic::both(1.0 / (count * filesystem.compression.unwrap_or(1.0).max(1.0)));
        filesystem.members.iter().try_for_each(|member| self.layer(below, member, share))
    }

    pub(super) fn vm(&mut self, spot: Spot<'s>, vm: &'s Vm) -> Built {
        let part = spot.part;
        // What it may move is a cap on a workload, and not what it can carry.
        let does = "a virtual adapter passes on what the host gives";
        let spec = given(HopKind::Controller, None, part, does);
        let title = format!("{} {}", human::counted(vm.count, "virtual machine"), part.name);
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        self.layer(below, &vm.on, Traffic::ONE)
    }

    /// Puts an interface and the way of its card to memory there. `Some` when it is new.
    pub(super) fn network(
        &mut self,
        spot: Spot<'s>,
        network: &'s Network,
        both_ways: bool,
    ) -> Built<Option<Node>> {
        let part = spot.part;
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
                let rate = speed.bytes_per_sec() * INFINIBAND_SHARE;
                given(HopKind::Network, Some(rate), part, "InfiniBand")
            }
        };
        let Some(card) = self.put(spot, title, spec)? else { return Ok(None) };
        if let Some(upstream) = &network.upstream {
            self.upstream(card, upstream, network.link)?;
        }
        Ok(Some(card.above))
    }

    pub(super) fn remote(&mut self, spot: Spot<'s>, remote: &'s Remote) -> Built {
        let part = spot.part;
        let what = remote.protocol.as_deref().unwrap_or("server");
        let does = "the network and what is behind it decide";
        let spec = given(HopKind::Remote, remote.rate, part, does);
        let title = format!("{} over {what}", part.name);
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        for name in &remote.through {
            // The first card is the reader's own, the others send what the drives put into the server's memory.
            let is_first = Some(name) == remote.through.first();
            let at = if is_first { below } else { Spot { reader: None, ..below } };
            let card = self.card(at, name, false)?;
            if let Some(card) = card.filter(|_| !is_first) {
                self.graph.turn(below.above, card);
            }
        }
        // On the server data is to arrive where the card is that sends it on.
        let server = remote.through.last().filter(|_| remote.through.len() > 1);
        let reader = server.and_then(|name| self.system.place_of(name));
        self.layer(Spot { reader, ..below }, &remote.on, Traffic::ONE)
    }

    pub(super) fn cluster(&mut self, spot: Spot<'s>, cluster: &'s Cluster) -> Built {
        let part = spot.part;
        let does = match cluster.data.zip(cluster.parity) {
            None => format!("each byte is kept {} times", cluster.copies.unwrap_or(1)),
            Some((data, parity)) => format!("{data} parts of data and {parity} of parity"),
        };
        let spec = given(HopKind::LogicalVolume, None, part, does.clone());
        let title = format!("cluster {}: {does}", part.name);
        let Some(below) = self.put(spot, title, spec)? else { return Ok(()) };
        let crossing = crossing(cluster);
        for name in &cluster.networks {
            let card = self.card(Spot { fraction: crossing, reader: None, ..below }, name, true)?;
            // To clients elsewhere hosts send what is read; hosts among themselves send and get the same.
            if let Some(card) = card.filter(|_| !cluster.converged) {
                self.graph.turn(below.above, card);
            }
        }
        let count = cluster.members.len().max(1) as f64;
        let share = Traffic { read: 1.0 / count, write: cluster.amplification() / count };
        let system = self.system;
        let places: Vec<PartPlace<'s>> =
            cluster.networks.iter().filter_map(|name| system.place_of(name)).collect();
        for member in &cluster.members {
            let host = system.host_of(member).map(|(part, _)| &part.name);
            let reader = places.iter().copied().find(|place| Some(place.host) == host);
            self.layer(Spot { reader, ..below }, member, share)?;
        }
        Ok(())
    }

    /// Puts the interface `name` there.
    fn card(&mut self, spot: Spot<'s>, name: &Name, both_ways: bool) -> Built<Option<Node>> {
        let part = self.part(name, &spot.part.name)?;
        match &part.kind {
            PartKind::Network(network) => self.network(Spot { part, ..spot }, network, both_ways),
            other => Err(no_place(&spot.part.name, name, other)),
        }
    }
}

impl Crypt {
    /// Its encryption sector.
    pub(crate) fn sector(&self) -> Bytes {
        self.sector_size.unwrap_or(USUAL_SECTOR)
    }

    /// Its cipher, of which a core decrypts and encrypts so much.
    pub(crate) fn rated(&self, decrypt: BytesPerSec, encrypt: BytesPerSec) -> CipherRate {
        let cipher = self.cipher.clone().unwrap_or_else(|| "aes-xts-plain64".to_owned());
        let (key_bits, sector_size) = (self.key_bits.unwrap_or(512), self.sector());
        CipherRate { cipher, key_bits, sector_size, decrypt, encrypt, driver: None }
    }
}

/// What md would say of the array.
fn md_of(part: &Part, raid: &Raid) -> MdArray {
    let given = part.given.as_str();
    MdArray {
        level: Fact::known(raid.kind.level().to_string(), given),
        raid_disks: fact(u32::try_from(raid.members.len()).ok(), &part.given),
        chunk: fact(raid.chunk, &part.given),
        layout: fact(raid.copies.map(|copies| u64::from(copies) | 0x100), &part.given),
        sync_action: Fact::known(if raid.resync.is_some() { "resync" } else { "idle" }.to_owned(), given),
        sync_speed: fact(raid.resync, &part.given),
        group_threads: fact(raid.stripe_threads, &part.given),
        ..MdArray::default()
    }
}

/// The level as ZFS names it.
const fn zfs_name(level: ZfsLevel) -> &'static str {
    match level {
        ZfsLevel::Stripe => "raid0",
        ZfsLevel::Mirror => "mirror",
        ZfsLevel::Raidz1 => "raidz1",
        ZfsLevel::Raidz2 => "raidz2",
        ZfsLevel::Raidz3 => "raidz3",
    }
}

/// What packets of 4096 bytes leave of an InfiniBand link's rate: EDR was measured with 98.4 of 100 Gbit/s
/// (linux-rdma/perftest issue 225).
const INFINIBAND_SHARE: f64 = 0.984;

/// What crosses the card's own link for each byte of data: Ethernet frames go over it without preamble, checksum and gap
/// (MTU + 14 bytes, of which TCP leaves MTU − 52).
pub(super) fn on_link(network: &Network) -> Traffic {
    let mtu = network.mtu.map_or(1500.0, |mtu| mtu.as_f64());
    match network.technology {
        Technology::Ethernet => Traffic::both((mtu + 14.0) / (mtu - 52.0)),
        Technology::Infiniband => Traffic::ONE,
    }
}

/// What of the cluster's traffic crosses the interface of each host, in each direction.
///
/// Data is spread evenly. With clients on the hosts, a host asks for one part in so many as there are hosts, of which the
/// share `local_reads` lies on itself; it serves as much to others as it asks of them. Each of its writes goes to the other
/// hosts, but for the part of all copies that lies on itself. With clients elsewhere every byte that is read leaves a
/// host, every byte that is written enters one and its further copies go from host to host.
fn crossing(cluster: &Cluster) -> Traffic {
    let hosts = cluster.networks.len().max(1) as f64;
    let copies = cluster.amplification();
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
