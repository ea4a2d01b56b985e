//! What a software RAID array carries of its own.
//!
//! Striping and mirroring move no bytes themselves: what the array costs its members is the traffic of each member,
//! and that is part of the path. The exception is writing with parity: one kernel thread for each array handles the
//! stripes, and it was seen to move 0.9 to 1.6 GB/s (linux-raid, `20250817152645.7115-2-colyli@kernel.org`: eight SSDs,
//! 0.94 unaligned, 1.58 with full stripes; `20260114171241.3043364-1-yukuai@fnnas.com`: 1.1). More threads
//! (`group_thread_cnt`) are believed to add up. Expected error up to 2×; a guess that only matters above disks.

use super::{Basis, Ceiling, Ceilings, FactRef, Limit};
use crate::path::{RaidHop, RaidLevel, ZfsHop, ZfsLayout};
use narrows_base::units::{BytesPerSec, human};

/// The most that one stripe thread was seen to write, decimal GB/s.
const STRIPE_THREAD: f64 = 1.6;

/// The ceilings of a RAID array.
pub fn of_raid(hop: &RaidHop) -> Ceilings {
    let members = hop.members.len();
    let Some(level) = hop.level else {
        let level = hop.md.level.value().map_or("of an unknown level", String::as_str);
        return Ceilings::unknown(format!("narrows knows no arithmetic for arrays {level}"));
    };
    let arithmetic = arithmetic(level, members, &hop.md);
    let pass = Ceiling::Transparent(arithmetic);
    let write = match level {
        RaidLevel::Raid5 | RaidLevel::Raid6 => Ceiling::Known(stripe_threads(hop)),
        _ => pass.clone(),
    };
    Ceilings { read: pass, write }
}

/// The ceilings of a ZFS pool or one of its virtual devices: checksums and parity are computed by as many threads as there
/// are processors, so that only the traffic of each device counts.
pub fn of_zfs(hop: &ZfsHop) -> Ceilings {
    let members = hop.members.len();
    let rule = match hop.layout {
        ZfsLayout::Unknown => {
            return Ceilings::unknown(
                "the kernel does not show which devices a pool lies on; `zpool list -vP` does, beside a snapshot",
            );
        }
        ZfsLayout::Stripe if members == 1 => "all data is on its one virtual device".to_owned(),
        ZfsLayout::Stripe => format!("data is spread over {members} virtual devices by their free space"),
        ZfsLayout::Mirror => format!("{members} devices share reads; a write goes to each"),
        ZfsLayout::RaidZ { parity } => {
            format!("records are spread over {members} devices, with {parity} parity in each")
        }
        ZfsLayout::Draid { parity, data } => {
            format!("groups of {data} data and {parity} parity are spread over {members} devices")
        }
    };
    Ceilings::transparent(rule)
}

fn arithmetic(level: RaidLevel, members: usize, md: &narrows_machine::block::MdArray) -> String {
    let rule = match level {
        RaidLevel::Raid0 => format!("each of {members} members carries 1/{members} of the data"),
        RaidLevel::Raid1 => {
            format!("a read goes to one of {members} members, many streams to all; a write goes to each")
        }
        RaidLevel::Raid10 => format!("{members} members share reads; a write goes to each copy"),
        RaidLevel::Raid5 => {
            format!("reads are spread over {members} members, one part in {members} is parity")
        }
        RaidLevel::Raid6 => {
            format!("reads are spread over {members} members, two parts in {members} are parity")
        }
        RaidLevel::Linear => "one member after another; data lies on one at a time".to_owned(),
    };
    match (md.sync_action.value().map(String::as_str), md.sync_speed.value()) {
        (Some("idle" | "frozen") | None, _) => rule,
        (Some(action), Some(&speed)) => {
            format!("{rule}; a {action} takes {} from each member meanwhile", human::rate(speed))
        }
        (Some(action), None) => format!("{rule}; a {action} takes its share of each member meanwhile"),
    }
}

fn stripe_threads(hop: &RaidHop) -> Limit {
    let groups = hop.md.group_threads.value().copied().unwrap_or(0).max(1);
    let thread = BytesPerSec::from_gb(STRIPE_THREAD);
    let rate = thread * f64::from(groups);
    let noun = if groups == 1 { "thread" } else { "threads" };
    Limit {
        rate,
        raw: None,
        basis: Basis::Guess,
        formula: format!("{groups} stripe {noun} × {thread}, the most that one was seen to write, = {rate}"),
        facts: vec![FactRef::new("stripe threads", groups, hop.md.group_threads.source())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_machine::block::MdArray;

    fn array(level: RaidLevel, md: MdArray) -> RaidHop {
        RaidHop {
            level: Some(level),
            members: vec!["sda".into(), "sdb".into(), "sdc".into()],
            md,
            ..RaidHop::default()
        }
    }

    #[test]
    fn striping_and_mirroring_move_no_bytes_of_their_own() {
        for level in [RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Linear] {
            let ceilings = of_raid(&array(level, MdArray::default()));
            assert!(matches!(ceilings.read, Ceiling::Transparent(_)), "{level:?}");
            assert!(matches!(ceilings.write, Ceiling::Transparent(_)), "{level:?}");
        }
    }

    #[test]
    fn writing_with_parity_is_bound_by_the_stripe_threads() {
        let one = of_raid(&array(RaidLevel::Raid5, MdArray::default()));
        assert!(matches!(one.read, Ceiling::Transparent(_)));
        assert_eq!(one.write.rate().map(human::rate).as_deref(), Some("1.6 GB/s"));
        assert_eq!(one.write.limit().map(|limit| limit.basis), Some(Basis::Guess));
        let md = MdArray {
            group_threads: Fact::known(4, "/sys/block/md0/md/group_thread_cnt"),
            ..MdArray::default()
        };
        let four = of_raid(&array(RaidLevel::Raid6, md));
        assert_eq!(four.write.rate().map(human::rate).as_deref(), Some("6.4 GB/s"));
    }

    #[test]
    fn a_running_resync_is_named_with_what_it_takes() {
        let md = MdArray {
            sync_action: Fact::known("resync".into(), "/sys/block/md0/md/sync_action"),
            sync_speed: Fact::known(BytesPerSec::from_kib(200_000.0), "/sys/block/md0/md/sync_speed"),
            ..MdArray::default()
        };
        let Ceiling::Transparent(text) = of_raid(&array(RaidLevel::Raid1, md)).read else {
            panic!("not transparent")
        };
        assert!(text.ends_with("a resync takes 205 MB/s from each member meanwhile"), "{text}");
    }

    #[test]
    fn a_level_without_arithmetic_is_unknown() {
        let faulty = RaidHop { level: None, ..array(RaidLevel::Raid0, MdArray::default()) };
        assert!(matches!(of_raid(&faulty).read, Ceiling::Unknown(_)));
    }
}
