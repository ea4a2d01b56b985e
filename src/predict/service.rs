//! The time of one I/O, stage by stage: medium, the narrowest wire, encryption, the network's way and back.

use super::medium;
use crate::ceiling::crypt_time::{self, Queues};
use crate::ceiling::{Ceilings, Direction, mirror};
use crate::path::file::{PartKind, System, Workload};
use crate::path::{Hop, HopKind, HopSpec, Path, RaidLevel};
use crate::units::{Bytes, Nanos};

/// Blocks from this size on are spread over the members of a stripe set; smaller ones lie on one member. It is md's
/// default chunk (`mdadm(8)`).
const USUAL_CHUNK: Bytes = Bytes::from_kib(512);

/// The copies of a mirror when nobody said.
const USUAL_COPIES: u32 = 2;

/// What one I/O spends at a hop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spent {
    /// The place of the hop in the path.
    pub hop: usize,
    /// What it is.
    pub what: &'static str,
    /// How long, seconds.
    pub seconds: f64,
}

/// A system with a workload on a path of it.
pub(super) struct Case<'c> {
    pub system: &'c System,
    pub workload: &'c Workload,
    pub path: &'c Path,
    pub ceilings: &'c [Ceilings],
}

impl Case<'_> {
    /// The stages of one I/O.
    pub(super) fn stages(&self) -> Vec<Spent> {
        let medium = self.medium();
        let is_memory = medium.is_some_and(|(_, is_memory)| is_memory);
        let mut stages: Vec<Spent> = medium.map(|(spent, _)| spent).into_iter().collect();
        stages.extend(self.transfer());
        stages.extend(self.path.hops.iter().enumerate().filter_map(|(at, hop)| self.added(at, hop, is_memory)));
        stages
    }

    /// The share of I/Os that go in a direction.
    fn share(&self, direction: Direction) -> f64 {
        let read = self.workload.read_share.clamp(0.0, 1.0);
        match direction {
            Direction::Read => read,
            Direction::Write => 1.0 - read,
        }
    }

    fn device(&self, hop: &Hop) -> Option<medium::Access> {
        let name = hop.id.as_str().strip_prefix("device:")?;
        match &self.system.part(&name.into())?.kind {
            PartKind::Device(device) => {
                Some(medium::access(device, self.workload.pattern, self.workload.block_size))
            }
            _ => None,
        }
    }

    /// The drives with what they need, and the part of the traffic of the path that each gets.
    pub(super) fn drives(&self) -> impl Iterator<Item = (&Hop, medium::Access)> {
        self.path.hops.iter().filter_map(|hop| Some((hop, self.device(hop)?)))
    }

    /// Copies that a write waits for.
    fn copies(&self) -> u32 {
        let mirrored = self.path.hops.iter().filter_map(|hop| match &hop.spec {
            HopSpec::Raid(raid) => raid.level.map(|level| (level, raid.members.len())),
            _ => None,
        });
        let copies = mirrored.map(|(level, members)| match level {
            RaidLevel::Raid1 => u32::try_from(members).unwrap_or(USUAL_COPIES),
            RaidLevel::Raid10 => USUAL_COPIES,
            _ => 1,
        });
        copies.max().unwrap_or(1)
    }

    /// What the slowest drive needs, and whether it is memory.
    fn medium(&self) -> Option<(Spent, bool)> {
        let copies = self.copies();
        let time = |access: &medium::Access| {
            let written = mirror::slowest_of(access.write_time, copies);
            access.read_time.as_secs_f64() * self.share(Direction::Read)
                + written.as_secs_f64() * self.share(Direction::Write)
        };
        let drives = self.path.hops.iter().enumerate().filter_map(|(at, hop)| Some((at, self.device(hop)?)));
        let all = drives.map(|(at, access)| {
            (Spent { hop: at, what: "the medium", seconds: time(&access) }, access.is_memory)
        });
        all.max_by(|a, b| a.0.seconds.total_cmp(&b.0.seconds))
    }

    /// The transfer over the narrowest hop that is no encryption.
    fn transfer(&self) -> Option<Spent> {
        let spread = self.workload.block_size >= USUAL_CHUNK;
        let seconds = |hop: &Hop, ceilings: &Ceilings| -> Option<f64> {
            let mut sum = 0.0;
            for (direction, traffic) in
                [(Direction::Read, hop.traffic.read), (Direction::Write, hop.traffic.write)]
            {
                let share = self.share(direction);
                if share > 0.0 && traffic > 0.0 {
                    let rate = ceilings.of(direction).rate()?.get();
                    let bytes = self.workload.block_size.as_f64() * if spread { traffic } else { 1.0 };
                    sum += share * bytes / rate;
                }
            }
            Some(sum)
        };
        let hops = self.path.hops.iter().zip(self.ceilings).enumerate();
        let timed = hops
            .filter(|(_, (hop, _))| hop.kind() != HopKind::Crypt)
            .filter_map(|(at, (hop, ceilings))| Some((at, seconds(hop, ceilings)?)));
        let (hop, seconds) = timed.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Spent { hop, what: "the transfer", seconds })
    }

    /// What encryption and networks add.
    fn added(&self, at: usize, hop: &Hop, is_memory: bool) -> Option<Spent> {
        let (_, name) = hop.id.as_str().split_once(':')?;
        let part = self.system.part(&name.into())?;
        let (what, time) = match (&hop.spec, &part.kind) {
            (HopSpec::Crypt(crypt), PartKind::Crypt(given)) => {
                let cipher = crypt.cipher.value()?;
                let queues = match (given.workqueues, is_memory || self.workload.in_flight() > 1.0) {
                    (false, _) => Queues::Inline,
                    (true, true) => Queues::Awake,
                    (true, false) => Queues::Asleep,
                };
                let rate = cipher.decrypt * self.share(Direction::Read)
                    + cipher.encrypt * self.share(Direction::Write);
                let added = crypt_time::added(self.workload.block_size, rate, cipher.sector_size, queues);
                ("the cipher and its queues", added)
            }
            (_, PartKind::Network(network)) => ("the network's way and back", network.latency?),
            (_, PartKind::Remote(remote)) => ("protocol and server", remote.latency?),
            (_, PartKind::Cluster(cluster)) => ("the cluster's software", cluster.latency?),
            (_, PartKind::Vm(vm)) => ("the hypervisor", vm.latency?),
            _ => return None,
        };
        Some(Spent { hop: at, what, seconds: time.as_secs_f64() })
    }
}

/// A time in words for a formula.
pub(super) fn shown(seconds: f64) -> Nanos {
    // A cast from f64 saturates.
    Nanos::new((seconds * 1e9).round() as u64)
}
