//! `raid_degraded`: an array lacks members.

use narrows_base::fact::Fact;
use narrows_base::shell;
use narrows_base::units::{Bytes, human};
use narrows_machine::Machine;
use narrows_machine::zfs::{ZfsDevice, ZfsPool};
use narrows_model::path::{Hop, HopSpec, RaidHop, RaidLevel};

use super::super::finding::{Code, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(judged: &Judged<'_>, _: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Raid(raid) = &hop.spec else { return None };
    let missing = *raid.md.degraded.value()?;
    if missing == 0 {
        return None;
    }
    let of = raid.md.raid_disks.value().map(|disks| format!(" of {disks}")).unwrap_or_default();
    let copies = copies_of_many(judged.machine, raid, missing);
    let effect =
        copies.map_or_else(|| effect(raid).to_owned(), |copies| format!("; {copies} copies are left"));
    let summary = format!("/dev/{} lacks {missing}{of} members{effect}.", raid.block);
    // A log tells how it was at the last start.
    let past = judged.machine.captured.as_ref().is_some_and(|texts| texts.is_past(raid.md.degraded.source()));
    let severity = if past || copies.is_some() { Severity::Info } else { Severity::Fault };
    let found = Finding::about(Code::RaidDegraded, severity, hop, summary)
        .seen_fact("missing members", &raid.md.degraded)
        .with_evidence(of_members(raid, is_bad))
        .with_evidence(rebuilt(raid));
    Some(found.advise(copies.map_or_else(|| advice(raid), |_| FOR_EVERY_BAY.to_owned())))
}

const FOR_EVERY_BAY: &str = "NAS systems (Synology, QNAP) make the mirrors of their own system with a place for every bay, and empty \
                             bays count as missing. Nothing is to be done unless a disk was lost.";

/// The states of members that are so, as evidence.
fn of_members(raid: &RaidHop, is_so: fn(&str) -> bool) -> impl Iterator<Item = Evidence> + '_ {
    let so = raid.md.members.iter().filter(move |(_, state)| state.value().is_some_and(|state| is_so(state)));
    so.map(|(name, state)| Evidence::from_fact(format!("state of {name}"), state))
}

fn is_rebuilding(raid: &RaidHop) -> bool {
    raid.md.sync_action.value().is_some_and(|action| action == "recover")
}

fn is_bad(state: &str) -> bool {
    state.contains("faulty") || state.contains("write_error")
}

/// How many copies a small mirror of many places still has, where none of its members is bad or being rebuilt.
fn copies_of_many(machine: &Machine, raid: &RaidHop, missing: u32) -> Option<u32> {
    /// The mirrors that a NAS makes for itself have a place for every bay, mirrors that people make two or three.
    const MANY: u32 = 4;
    /// They hold the system and swap, some 0.5 to 8 GiB (mdstat of Synology's DSM 6 and 7 and of QNAP's QTS); mirrors of data are larger.
    const SYSTEM: Bytes = Bytes::from_mib(16 << 10);
    let size = machine.block.get(&raid.block).and_then(|block| block.size.value().copied());
    size.filter(|size| *size <= SYSTEM)?;
    let places = *raid.md.raid_disks.value()?;
    let copies = places.checked_sub(missing).filter(|copies| *copies >= 2)?;
    let is_at_rest = raid.md.sync_action.value().is_none_or(|action| action == "idle");
    let mut states = raid.md.members.values().filter_map(Fact::value);
    let is_sound = !states.any(|state| is_bad(state));
    (raid.level == Some(RaidLevel::Raid1) && places >= MANY && is_at_rest && is_sound).then_some(copies)
}

/// Pools of ZFS, of which captures tell.
pub(super) fn check_pools(context: &Context<'_>) -> Vec<Finding> {
    const LACK: [&str; 4] = ["DEGRADED", "FAULTED", "UNAVAIL", "SUSPENDED"];
    let pools = context.machine.zfs.iter().filter_map(|pool| Some((pool, pool.state.value()?.as_str())));
    let lacking = pools.filter(|(_, state)| LACK.contains(state)).map(|(pool, state)| {
        let source = pool.state.source().as_str();
        let broken =
            broken(pool).map(|device| Evidence::new(format!("state of {}", device.name), &device.state, source));
        let summary = format!("The ZFS pool {} is {state}.", pool.name);
        Finding::on(Code::RaidDegraded, Severity::Fault, pool.name.clone(), summary)
            .seen_fact("state of the pool", &pool.state)
            .with_evidence(broken)
            .advise(pool_advice(&pool.name, state, is_replaced(pool)))
    });
    lacking.collect()
}

/// The devices of a pool that do not work.
fn broken(pool: &ZfsPool) -> impl Iterator<Item = &ZfsDevice> {
    let devices = pool.vdevs.iter().flat_map(|vdev| &vdev.devices);
    devices.filter(|device| !matches!(device.state.as_str(), "ONLINE" | "AVAIL" | "INUSE"))
}

/// Whether all that is broken in a pool is being replaced.
fn is_replaced(pool: &ZfsPool) -> bool {
    let mut devices = pool.vdevs.iter().flat_map(|vdev| &vdev.devices);
    pool.scan.value().is_some_and(|scan| scan.action == "resilver")
        && devices.any(|device| device.is_replaced)
        && broken(pool).all(|device| device.is_replaced)
}

/// What to do: a pool that still runs needs a new device, one that does not needs its own devices back (messages ZFS-8000-3C,
/// ZFS-8000-5E and ZFS-8000-JQ of OpenZFS, openzfs.github.io/openzfs-docs/msg).
fn pool_advice(pool: &str, state: &str, is_replaced: bool) -> String {
    let pool = shell::word(pool);
    match state {
        "DEGRADED" if is_replaced => {
            "A replacement is in place and is being resilvered. Wait until it is done, and remove nothing: until then \
             another failure may lose data."
                .to_owned()
        }
        "DEGRADED" => format!(
            "Replace what failed: zpool replace {pool} DEVICE. Until then another failure may lose data."
        ),
        "SUSPENDED" => {
            format!("Connect the missing devices, then resume: zpool clear {pool}. Replace nothing before.")
        }
        _ => format!(
            "The pool cannot run. Connect its missing devices, then: zpool online {pool} DEVICE, or zpool import {pool}. \
             Replace nothing before; zpool status {pool} says whether it must come from a backup."
        ),
    }
}

/// Members that md is writing to, as evidence; they count as missing until they are whole.
fn rebuilt(raid: &RaidHop) -> impl Iterator<Item = Evidence> + '_ {
    let spares = of_members(raid, |state| state.contains("spare"));
    spares.filter(move |_| is_rebuilding(raid))
}

/// What to do: wait where the array is being made whole, replace what failed where it is not.
fn advice(raid: &RaidHop) -> String {
    if !is_rebuilding(raid) {
        return format!(
            "Replace the member and add it: mdadm {} --add DEVICE. Until then another failure may lose data.",
            shell::word(&format!("/dev/{}", raid.block))
        );
    }
    let (done, left) = (raid.md.sync_done.value(), raid.md.sync_left.value());
    let done = done.map(|done| format!(", {} done", human::percent(*done))).unwrap_or_default();
    let left = left.map(|left| format!(", {} left", super::raid_resync::long(*left))).unwrap_or_default();
    format!(
        "A replacement is in place and is being rebuilt{done}{left}. Wait until it is done, and remove nothing: until then \
         another failure may lose data."
    )
}

/// What that costs besides safety.
const fn effect(raid: &RaidHop) -> &'static str {
    match raid.level {
        Some(RaidLevel::Raid1 | RaidLevel::Raid10) => "; the rest serves all reads",
        Some(RaidLevel::Raid5 | RaidLevel::Raid6) => {
            "; what was on them is computed from all others for every read"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::pool_advice;
    use crate::testing::Sketch;
    use crate::{Code, Severity};
    use narrows_base::fact::Fact;
    use narrows_base::units::{Bytes, Nanos};
    use narrows_machine::block::BlockDevice;
    use narrows_machine::captured::{Captured, Recognised};
    use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsVdev};
    use narrows_model::path::{HopSpec, RaidLevel};

    fn path(missing: Fact<u32>) -> Sketch {
        Sketch::of("/dev/md0").raid("md0", RaidLevel::Raid1, &["sda", "sdb"]).change(|hop| {
            if let HopSpec::Raid(raid) = &mut hop.spec {
                raid.md.degraded = missing;
                raid.md.raid_disks = Fact::known(2, "raid_disks");
            }
        })
    }

    #[test]
    fn a_pool_that_cannot_run_is_not_told_to_replace_a_device() {
        assert!(pool_advice("tank", "DEGRADED", false).contains("zpool replace tank DEVICE"));
        assert!(pool_advice("tank", "SUSPENDED", false).contains("zpool clear tank"));
        for state in ["UNAVAIL", "FAULTED"] {
            let advice = pool_advice("tank", state, false);
            assert!(
                advice.contains("zpool online tank DEVICE") && !advice.contains("zpool replace"),
                "{advice}"
            );
        }
    }

    #[test]
    fn a_missing_member_is_a_fault_and_none_or_unknown_is_silent() {
        let finding = path(Fact::known(1, "degraded")).finding(Code::RaidDegraded).expect("one of two");
        assert!(finding.summary.contains("lacks 1 of 2 members"), "{}", finding.summary);
        assert_eq!(path(Fact::known(0, "degraded")).finding(Code::RaidDegraded), None);
        assert_eq!(path(Fact::absent("degraded")).finding(Code::RaidDegraded), None);
    }

    #[test]
    fn a_member_that_is_being_rebuilt_is_waited_for_and_not_replaced() {
        let of = |action: &str| {
            let path = path(Fact::known(1, "degraded")).change(|hop| {
                if let HopSpec::Raid(raid) = &mut hop.spec {
                    raid.md.sync_action = Fact::known(action.to_owned(), "mdstat:3");
                    raid.md.sync_done = Fact::known(0.126, "mdstat:3");
                    raid.md.sync_left = Fact::known(Nanos::from_millis(7_650_000), "mdstat:3");
                    raid.md.members.insert("sdb".to_owned(), Fact::known("spare".to_owned(), "mdstat:2"));
                }
            });
            path.finding(Code::RaidDegraded).expect("one of two")
        };
        let recovering = of("recover");
        assert!(
            recovering.advice[0].action.contains("being rebuilt, 12.6 % done"),
            "{:?}",
            recovering.advice
        );
        assert!(!recovering.advice[0].action.contains("--add"));
        assert!(recovering.evidence.iter().any(|one| one.fact == "state of sdb"));
        let idle = of("idle");
        assert!(idle.advice[0].action.contains("--add"));
        assert!(idle.evidence.iter().all(|one| one.fact != "state of sdb"));
    }

    #[test]
    fn a_mirror_with_a_place_for_every_bay_of_a_nas_is_no_fault() {
        let sized = |size: Fact<Bytes>, places: u32, missing: u32, state: &str| {
            let path = path(Fact::known(missing, "degraded")).on(|machine| {
                let array = BlockDevice { name: "md0".to_owned(), size, ..BlockDevice::default() };
                machine.block.insert("md0".to_owned(), array);
            });
            let path = path.change(|hop| {
                if let HopSpec::Raid(raid) = &mut hop.spec {
                    raid.md.raid_disks = Fact::known(places, "raid_disks");
                    raid.md.members.insert("sdb".to_owned(), Fact::known(state.to_owned(), "mdstat:2"));
                }
            });
            path.finding(Code::RaidDegraded).map(|finding| finding.severity)
        };
        let of = |places, missing, state| {
            // What DSM 6 makes: 2490176 blocks.
            sized(Fact::known(Bytes::from_kib(2_490_176), "mdstat:2"), places, missing, state)
        };
        assert_eq!(of(24, 19, "in_sync"), Some(Severity::Info));
        assert_eq!(of(4, 2, "in_sync"), Some(Severity::Info));
        // A mirror of data, and one of which nobody tells the size.
        let data = Fact::known(Bytes::from_mib(1 << 20), "mdstat:2");
        assert_eq!(sized(data, 4, 2, "in_sync"), Some(Severity::Fault));
        assert_eq!(sized(Fact::default(), 4, 2, "in_sync"), Some(Severity::Fault));
        // One copy is left, a mirror of people, a member with errors.
        assert_eq!(of(4, 3, "in_sync"), Some(Severity::Fault));
        assert_eq!(of(3, 1, "in_sync"), Some(Severity::Fault));
        assert_eq!(of(4, 2, "faulty"), Some(Severity::Fault));
        assert_eq!(of(4, 2, "in_sync,write_error"), Some(Severity::Fault));
    }

    #[test]
    fn a_degraded_pool_is_a_fault_and_a_complete_one_is_silent() {
        let pool = |state: &str| {
            let device =
                ZfsDevice { name: "sdb".to_owned(), state: "FAULTED".to_owned(), ..ZfsDevice::default() };
            let vdev = ZfsVdev { devices: vec![device], ..ZfsVdev::default() };
            let state = Fact::known(state.to_owned(), "zpool.txt:2");
            ZfsPool { name: "tank".to_owned(), state, vdevs: vec![vdev], ..ZfsPool::default() }
        };
        let judged = |state: &str| {
            Sketch::of("/tank").on(|machine| machine.zfs = vec![pool(state)]).finding(Code::RaidDegraded)
        };
        let finding = judged("DEGRADED").expect("lacks a device");
        assert_eq!(finding.evidence[1].fact, "state of sdb");
        assert_eq!(judged("ONLINE"), None);
    }

    #[test]
    fn what_a_log_said_at_the_last_start_is_no_alarm() {
        let texts = vec![Recognised { name: "dmesg.txt".to_owned(), kinds: vec!["dmesg"] }];
        let captured = Captured { texts, gaps: Vec::new() };
        let of = |source: &str| {
            let path = path(Fact::known(1, source)).on(|machine| machine.captured = Some(captured.clone()));
            path.finding(Code::RaidDegraded).map(|finding| finding.severity)
        };
        assert_eq!(of("dmesg.txt:9"), Some(Severity::Info));
        assert_eq!(of("mdstat.txt:2"), Some(Severity::Fault));
    }
}
