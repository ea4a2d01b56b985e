//! Arrays that lack members, and arrays that are slower than their members: while they resync, or held back by one.

use narrows_base::fact::Fact;
use narrows_base::shell;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_base::workload::Pattern;
use narrows_machine::Machine;
use narrows_machine::block::BlockKind;
use narrows_machine::zfs::{ZfsDevice, ZfsPool};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::{Hop, HopKind, HopSpec, RaidHop, RaidLevel};
use narrows_paste::results::{Imported, Measured, Tool};

use super::{Context, Judged, doubtful, result};
use crate::attribution::{Cause, is_syncing, unequal_members};
use crate::counterfactual;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};

/// The default of `/proc/sys/dev/raid/speed_limit_max` for each member, 200000 KiB/s (kernel `drivers/md/md.c`,
/// `sysctl_speed_limit_max`).
const USUAL_MOST: f64 = 200_000.0 * 1024.0;

/// md slows down when it is above its limit and speeds up when it is below; it shows the mean of some seconds.
const NEAR_MOST: f64 = 0.05;

/// A member that is read or written at this part of its rate sets the rate of the resync.
const NEAR_MEMBER: f64 = 0.8;

/// How long something takes that takes minutes to days. The kernel counts in tenths of a minute (`status_resync`,
/// drivers/md/md.c): what is less than one is not known better.
fn long(span: Nanos) -> String {
    const MINUTE: Nanos = Nanos::from_millis(60_000);
    let minutes = span.get() / MINUTE.get();
    match minutes / 60 {
        0 if minutes == 0 => "less than a minute".to_owned(),
        0 => format!("{minutes} min"),
        hours => format!("{hours} h {} min", minutes % 60),
    }
}

/// How much of something is done.
fn done(part: Option<f64>) -> String {
    part.map(|part| format!(", {} done", human::percent(part))).unwrap_or_default()
}

/// `raid_resync`: an array is resyncing, and shares its members' bandwidth with whoever reads.
///
/// Rebuilding is a `fault` state until it is done. A routine check is `info`, unless a run shows that it limits.
pub(super) fn resync(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Raid(raid) = &hop.spec else { return None };
    let limit = judged.caused_by(Cause::Resync, index);
    let action = running(judged, raid)?;
    let severity = match (limit.is_some(), action.as_str()) {
        (true, "check") => Severity::Limit,
        (false, "check") => Severity::Info,
        _ => Severity::Fault,
    };
    let done = done(raid.md.sync_done.get());
    let speed = raid.md.sync_speed.value().map(|speed| format!(" at {speed}")).unwrap_or_default();
    let left = raid.md.sync_left.value();
    let left = left.map(|left| format!(", {} left by the kernel's count", long(*left))).unwrap_or_default();
    let cause = raid.md.sync_speed.value().and_then(|speed| cause(judged, raid, *speed));
    let (cause_evidence, cause_advice) = cause.unzip();
    let effect = if limit.is_some() { "; it limits this path" } else { "" };
    // `recover` is no noun.
    let what = if action == "recover" { "recovery" } else { action.as_str() };
    let summary = format!("/dev/{} is busy with a {what}{speed}{done}{left}{effect}.", raid.block);
    let favour = format!(
        "To favour other work meanwhile, lower /sys/block/{}/md/sync_speed_max (KiB/s for each member).",
        raid.block
    );
    let found = Finding::about(Code::RaidResync, severity, hop, summary)
        .seen_fact("sync action", &raid.md.sync_action)
        .seen_known("sync speed", &raid.md.sync_speed)
        .with_evidence(cause_evidence)
        .with_evidence(limit.iter().flat_map(|(_, limit)| limit.evidence.iter().cloned()))
        .advise("Wait until it is done, and measure again.")
        .advise(favour);
    Some(found.with_advice(cause_advice.flatten()))
}

/// What sets the rate of a resync, as far as its rate tells: the kernel's usual limit, the slowest member, or the small
/// requests of an array with parity.
fn cause(judged: &Judged<'_>, raid: &RaidHop, speed: BytesPerSec) -> Option<(Evidence, Option<Advice>)> {
    let usual = BytesPerSec::new(USUAL_MOST);
    if (speed.get() / usual.get() - 1.0).abs() <= NEAR_MOST {
        let evidence = Evidence::new("the usual limit for each member", usual, "kernel, speed_limit_max");
        let advice = Advice::new(format!(
            "The rate is that of the kernel's usual limit: raise /sys/block/{}/md/sync_speed_max if the members can do more.",
            raid.block
        ));
        return Some((evidence, Some(advice)));
    }
    let (member, most) = slowest_member(judged, raid)?;
    let evidence = Evidence::new("the slowest member can do", most, member);
    if speed.get() >= most.get() * NEAR_MEMBER {
        return Some((evidence, None));
    }
    let has_parity = matches!(raid.level, Some(RaidLevel::Raid5 | RaidLevel::Raid6));
    let advice = has_parity.then(|| {
        Advice::new(format!(
            "The rate is that of neither the usual limit nor the members: a lower limit (sync_speed_max), other I/O, or requests of \
             4 KiB, in which md resyncs parity. Where `iostat -x 5` shows a rareq-sz near 4: raise /sys/block/{0}/md/stripe_cache_size and /sys/block/{0}/md/group_thread_count.",
            raid.block
        ))
    });
    Some((evidence, advice))
}

/// The slowest member, where what every member can do is known and no estimate: a resync reads some and writes others.
fn slowest_member<'j>(judged: &'j Judged<'_>, raid: &RaidHop) -> Option<(&'j str, BytesPerSec)> {
    let hops = judged.subject.path.hops.iter().zip(&judged.subject.ceilings);
    let media = hops.filter(|(hop, _)| hop.kind() == HopKind::Device);
    let mut known = Vec::new();
    for (hop, ceilings) in media {
        let rates = [Direction::Read, Direction::Write]
            .map(|direction| ceilings.of(direction).limit().filter(|limit| limit.basis != Basis::Guess));
        let [Some(read), Some(write)] = rates else { return None };
        known.push((hop.name.as_str(), BytesPerSec::new(read.rate.get().min(write.rate.get()))));
    }
    (known.len() == raid.members.len())
        .then(|| known.into_iter().min_by(|a, b| a.1.get().total_cmp(&b.1.get())))
        .flatten()
}

/// Pools of ZFS, of which captures tell, scrub and resilver as arrays check and recover.
pub(super) fn resync_of_pools(context: &Context<'_>) -> Vec<Finding> {
    let running = context.machine.zfs.iter().filter_map(|pool| Some((pool, pool.scan.value()?)));
    running
        .map(|(pool, scan)| {
            let done = done(scan.done);
            let rate = scan.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
            let severity = if scan.action == "scrub" { Severity::Info } else { Severity::Fault };
            let summary = format!("The ZFS pool {} is busy with a {}{rate}{done}.", pool.name, scan.action);
            Finding::on(Code::RaidResync, severity, pool.name.clone(), summary)
                .seen("scan", &scan.action, pool.scan.source().as_str())
                .advise("Wait until it is done, and measure again.")
        })
        .collect()
}

/// What the array is busy with, during a run or when its facts were read.
fn running(judged: &Judged<'_>, raid: &RaidHop) -> Option<String> {
    let runs = judged.subject.runs.iter();
    let during = runs.filter_map(|run| run.activity.resyncs.get(&raid.block).map(|sync| &sync.action));
    during.chain(raid.md.sync_action.value()).find(|action| is_syncing(action)).cloned()
}

/// An array that reads in order is at least as fast as one of its members, whatever its level; this much is left for
/// three seconds of reading.
const SLOWER: f64 = 0.9;

/// An array or pool was busy with itself while it was measured.
pub(super) fn resync_of_result(case: &result::Case<'_>) -> Option<Finding> {
    if case.result.measurements.iter().all(|one| one.memory_only) {
        return None;
    }
    told(case).or_else(|| slower_than_a_member(case)).or_else(|| slower_than_any_disk(case))
}

fn resync_finding(case: &result::Case<'_>, summary: String, evidence: Vec<Evidence>) -> Finding {
    Finding::of(case, Code::RaidResync, Severity::Limit, summary)
        .with_evidence(evidence)
        .not_so_when("the array was idle during the run: `sync_action` or `zpool status` of that time")
        .advise("wait until it is done (/proc/mdstat, `zpool status`), and measure again")
}

/// mdstat, `zpool status` or a sentence beside the result.
fn told(case: &result::Case<'_>) -> Option<Finding> {
    let captured = case.machine.filter(|machine| machine.captured.is_some());
    let of_machine = captured.into_iter().flat_map(|machine| machine.block.values()).find_map(|device| {
        let BlockKind::Md(array) = &device.kind else { return None };
        let action = array.sync_action.value().filter(|action| is_syncing(action))?;
        Some((action.clone(), array.sync_action.source().as_str().to_owned()))
    });
    let (action, source) = case.around.resync.clone().or(of_machine)?;
    let summary = format!("A {action} ran while this was measured: it took a part of what the drives can do");
    let evidence = vec![Evidence::new("running meanwhile", action, source)];
    Some(resync_finding(case, summary, evidence).with_confidence(Confidence::Medium))
}

/// An array beside one of its members, by the same tool.
fn slower_than_a_member(case: &result::Case<'_>) -> Option<Finding> {
    let (array, rate) = rate_of(case.result).filter(|(name, _)| is_array(name))?;
    let alike = case.beside.results().filter(|one| one.tool == case.result.tool);
    let plain = alike.filter_map(rate_of).filter(|(name, _)| is_disk(name));
    let (member, best) = plain.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    (rate.get() < SLOWER * best.get()).then(|| {
        let summary = format!(
            "The array {array} reads {rate}, less than {member} alone ({best}): it was busy with itself, or lacks a member"
        );
        let evidence = vec![
            Evidence::new(format!("rate of {array}"), rate, case.result.place()),
            Evidence::new(format!("rate of {member}"), best, case.result.place()),
        ];
        resync_finding(case, summary, evidence).with_confidence(Confidence::Low)
    })
}

/// An array that reads in order more slowly than any hard disk or SSD has done since UDMA (ATA-4 of 1998, 33 MB/s).
fn slower_than_any_disk(case: &result::Case<'_>) -> Option<Finding> {
    const SLOWEST: f64 = 10e6;
    let (array, rate) = rate_of(case.result).filter(|(name, _)| is_array(name))?;
    (rate.get() < SLOWEST).then(|| {
        let shown = human::rate(rate);
        let summary = format!(
            "The array {array} reads {shown}, less than one hard disk or SSD does: it was busy with itself or with other I/O, a \
             member fails, or its members are slow cards or sticks"
        );
        let evidence = vec![Evidence::new(format!("rate of {array}"), shown, case.result.place())];
        resync_finding(case, summary, evidence).with_confidence(Confidence::Low)
    })
}

/// How fast a result reads its device in order; `None` of numbers that do not count.
fn rate_of(result: &Imported) -> Option<(&str, BytesPerSec)> {
    if !doubtful::errors(result).is_empty() {
        return None;
    }
    let in_order = |one: &&Measured| {
        let is_past = one.work.direct == Some(true) || result.tool == Tool::Hdparm;
        !one.memory_only && is_past && one.work.pattern == Some(Pattern::Sequential) && one.write.is_none()
    };
    let measured = result.measurements.iter().find(in_order)?;
    Some((measured.work.target.as_deref()?, measured.read.as_ref()?.bytes_per_second))
}

fn is_array(target: &str) -> bool {
    target.starts_with("/dev/md")
}

fn is_disk(target: &str) -> bool {
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd"].iter().any(|kind| target.starts_with(kind))
}

/// Members whose ceilings are closer than this are alike.
const ALIKE: f64 = 0.75;

/// `raid_slow_member`: one member holds an array back.
///
/// Shown by a run, where one member's queue is full while its siblings wait; or by arithmetic, where one member's link
/// or medium is known to be clearly slower than the others'.
pub(super) fn raid_slow_member(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.caused_by(Cause::SlowMember, index)?;
    let rate = limit.rate.map(|rate| format!(" ({rate} in all)")).unwrap_or_default();
    let summary = format!("{} holds its array back{rate}: it works while the other members wait.", hop.name);
    let found = finding(hop, summary, None).with_confidence(limit.confidence);
    Some(found.with_evidence(limit.evidence.clone()))
}

/// The same of an array that no run shows.
pub(super) fn slow_by_arithmetic(judged: &Judged<'_>, _: usize, array: &Hop) -> Option<Finding> {
    let is_shown = judged.limits().any(|(_, limit)| limit.cause == Cause::SlowMember);
    if is_shown || judged.subject.runs.iter().any(|run| run.direction == Direction::Read) {
        return None;
    }
    let case = judged.case(Direction::Read);
    let (index, slow, next) = unequal_members(&case, array)?;
    let hop = case.path().hops.get(index).filter(|_| slow.get() < ALIKE * next.get())?;
    let gain = counterfactual::gain_of_better(judged, index, next);
    let summary = format!(
        "{} carries {slow}, and every other member of {} at least {next}: each gets the same share, so \
         all wait for the slowest.",
        hop.name, array.name
    );
    let found = finding(hop, summary, gain).with_confidence(Confidence::Medium);
    let found = found.seen(format!("ceiling of {}", hop.name), slow, "its ceiling");
    Some(found.seen("ceiling of the next slowest member", next, "its ceiling"))
}

/// One of several disks with the same load that works all the time while the others wait: `iostat` beside an array or a pool shows it.
pub(super) fn slow_among_alike(context: &Context<'_>) -> Vec<Finding> {
    let found =
        [Direction::Write, Direction::Read].into_iter().find_map(|direction| slowest(context, direction));
    found.into_iter().collect()
}

fn slowest(context: &Context<'_>, direction: Direction) -> Option<Finding> {
    /// The loads are as much alike.
    const SAME: std::ops::RangeInclusive<f64> = 0.67..=1.5;
    /// It waits so many times as long as the slowest of the others.
    const SLOWER: f64 = 4.0;
    /// It is busy, and the others have room.
    const BUSY: f64 = 0.8;
    /// Shorter times than this are of caches, in nanoseconds.
    const LONG: f64 = 5e6;
    let is_whole = |name: &str| {
        let block = context.machine.block.get(name);
        block.is_some_and(|block| block.partition_of.is_none() && matches!(block.kind, BlockKind::Disk))
    };
    let loads = context.machine.loads.iter().filter(|(name, _)| is_whole(name));
    let loads = loads.filter_map(|(name, fact)| {
        let load = fact.value()?;
        let (rate, wait) = direction.pick((load.read, load.read_wait), (load.write, load.write_wait));
        Some((name, rate?.get(), wait?.get() as f64, load.busy?, fact.source().as_str()))
    });
    let mut all: Vec<_> = loads.filter(|(_, rate, ..)| *rate > 0.0).collect();
    all.sort_by(|a, b| b.2.total_cmp(&a.2));
    let (&(name, rate, wait, busy, source), others) = all.split_first()?;
    let next = others.first()?.2;
    let is_alike = others.iter().all(|one| SAME.contains(&(one.1 / rate)));
    let has_room = others.iter().all(|one| one.3 < BUSY * busy);
    if wait <= SLOWER * next || wait <= LONG || !has_room || !is_alike {
        return None;
    }
    let (what, wait, next) = (direction.word(), result::time(wait), result::time(next));
    let summary = match others.len() {
        1 => format!(
            "{name} takes {wait} for a {what}, and the other with the same load {next}: what waits for both waits for {name}."
        ),
        others => format!(
            "{name} takes {wait} for a {what}, and {others} others with the same load at most {next}: what waits for all of them waits for {name}."
        ),
    };
    // Of two nobody knows which is as it should be, and one that has time left holds nothing back for long.
    let is_certain = others.len() >= 2 && busy >= BUSY;
    let severity = if is_certain { Severity::Fault } else { Severity::Info };
    let is_it = |hop: &Hop| matches!(&hop.spec, HopSpec::Device(device) if device.block == *name);
    let found = context
        .finding((Code::RaidSlowMember, severity), name, summary, is_it)
        .with_confidence(Confidence::Medium)
        .seen(format!("time of a {what} of {name}"), wait, source)
        .seen("longest of the others", next, source);
    Some(found.advise(format!(
        "Look at `sudo smartctl -x /dev/{name}`: sectors that are read again, a link below its siblings', heat; and whether \
         it is of another model (drives with shingled tracks write so)."
    )))
}

fn finding(hop: &Hop, summary: String, gain: Option<BytesPerSec>) -> Finding {
    Finding::about(Code::RaidSlowMember, Severity::Fault, hop, summary)
        .advise(
            "Measure this member alone, and compare its link, temperature and error log with its siblings'.",
        )
        .advise_gain(
            "Replace it with one that is as fast as the others, or give it a slot like theirs.",
            gain,
        )
}

/// `raid_degraded`: an array lacks members.
pub(super) fn degraded(judged: &Judged<'_>, _: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Raid(raid) = &hop.spec else { return None };
    let missing = *raid.md.degraded.value()?;
    if missing == 0 {
        return None;
    }
    let of = raid.md.raid_disks.value().map(|disks| format!(" of {disks}")).unwrap_or_default();
    let copies = copies_of_many(judged.machine, raid, missing);
    let bad: Vec<&str> = bad_members(raid).collect();
    let effect = match copies {
        Some(copies) => format!("; {copies} copies are left"),
        None if !bad.is_empty() && bad.len() == raid.md.members.len() => {
            "; what is left reports errors".to_owned()
        }
        None => effect(raid).to_owned(),
    };
    let named = if bad.is_empty() { String::new() } else { format!(" ({} failed)", bad.join(", ")) };
    let summary = format!("/dev/{} lacks {missing}{of} members{named}{effect}.", raid.block);
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

/// Members that failed, two at most.
fn bad_members(raid: &RaidHop) -> impl Iterator<Item = &str> {
    let bad = raid.md.members.iter().filter(|(_, state)| state.value().is_some_and(|state| is_bad(state)));
    bad.map(|(name, _)| name.as_str()).take(2)
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
pub(super) fn degraded_pools(context: &Context<'_>) -> Vec<Finding> {
    const LACKS: [&str; 5] = ["DEGRADED", "FAULTED", "UNAVAIL", "SUSPENDED", "REMOVED"];
    // A pool may say ONLINE of itself while a mirror in it has one copy left (OpenZFS issue 16245).
    let lacks = |pool: &&ZfsPool| {
        let says = pool.state.value().is_some_and(|state| LACKS.contains(&state.as_str()));
        says || lacking(pool).any(|device| LACKS.contains(&device.state.as_str()))
    };
    let told = context.machine.zfs.iter().filter(lacks).map(|pool| {
        let source = pool.state.source().as_str();
        let broken = broken(pool)
            .map(|device| Evidence::new(format!("state of {}", device.name), &device.state, source));
        let state = pool.state.value().map_or("ONLINE", String::as_str);
        Finding::on(Code::RaidDegraded, Severity::Fault, pool.name.clone(), pool_summary(pool, state))
            .seen_fact("state of the pool", &pool.state)
            .with_evidence(broken)
            .advise(pool_advice(&pool.name, state, is_replaced(pool)))
    });
    told.collect()
}

/// "The ZFS pool tank is DEGRADED: sdb is FAULTED."
fn pool_summary(pool: &ZfsPool, state: &str) -> String {
    let devices: Vec<&ZfsDevice> = lacking(pool).collect();
    let named = devices.first().map(|device| format!("{} is {}", device.name, device.state));
    let more = match devices.len().saturating_sub(1) {
        0 => String::new(),
        1 => ", and 1 more device does not work".to_owned(),
        more => format!(", and {more} more devices do not work"),
    };
    match named {
        Some(named) => format!("The ZFS pool {} is {state}: {named}{more}.", pool.name),
        None => format!("The ZFS pool {} is {state}.", pool.name),
    }
}

/// The devices without which data of a pool have fewer copies than they should.
fn lacking(pool: &ZfsPool) -> impl Iterator<Item = &ZfsDevice> {
    let vdevs = pool.vdevs.iter().filter(|vdev| !matches!(vdev.role.as_str(), "cache" | "spares"));
    vdevs.flat_map(|vdev| &vdev.devices).filter(|device| device.state != "ONLINE" && !device.is_replaced)
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
        "DEGRADED" | "ONLINE" if is_replaced => {
            "A replacement is in place and is being resilvered. Wait until it is done, and remove nothing: until then \
             another failure may lose data."
                .to_owned()
        }
        "DEGRADED" | "ONLINE" => format!(
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
    let done = done(raid.md.sync_done.get());
    let left = raid.md.sync_left.value().map(|left| format!(", {} left", long(*left))).unwrap_or_default();
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
    use narrows_base::fact::Fact;
    use narrows_machine::block::BlockDevice;
    use narrows_machine::captured::{Captured, DeviceLoad, Recognised};
    use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsScan, ZfsVdev};
    use narrows_model::path::{HopKind, RaidLevel};

    use super::*;
    use crate::results::testing::{codes, verdicts};
    use crate::testing::{Sketch, link, on_bus};

    fn severity(action: &str) -> Option<Severity> {
        let path = Sketch::of("/dev/md0").raid("md0", RaidLevel::Raid1, &["sda", "sdb"]).change(|hop| {
            if let HopSpec::Raid(raid) = &mut hop.spec {
                raid.md.sync_action = Fact::known(action.to_owned(), "sync_action");
            }
        });
        path.finding(Code::RaidResync).map(|finding| finding.severity)
    }

    #[test]
    fn one_disk_that_is_slow_with_the_load_of_the_others_is_named() {
        let told = |waits: &[u64], busy: &[f64]| {
            let add = |machine: &mut narrows_machine::Machine| {
                for (at, name) in ["sda", "sdb", "sdc"].into_iter().take(waits.len()).enumerate() {
                    let load = DeviceLoad {
                        busy: Some(busy[at]),
                        write: Some(BytesPerSec::from_mb(20.0 + at as f64)),
                        write_wait: Some(Nanos::from_millis(waits[at])),
                        ..DeviceLoad::default()
                    };
                    machine.block.entry(name.to_owned()).or_default();
                    machine.loads.insert(name.to_owned(), Fact::known(load, "iostat.txt:2"));
                }
            };
            let finding = Sketch::of("/dev/sdx").on(add).finding(Code::RaidSlowMember);
            finding.map(|finding| (finding.severity, finding.summary))
        };
        let (severity, summary) = told(&[95, 8, 9], &[1.0, 0.4, 0.41]).expect("sda is slow");
        assert_eq!(severity, Severity::Fault);
        assert!(summary.starts_with("sda takes 95 ms for a write, and 2 others"), "{summary}");
        assert_eq!(told(&[12, 8, 9], &[1.0, 0.4, 0.41]), None);
        assert_eq!(told(&[95, 8, 9], &[1.0, 0.95, 0.41]), None);
        // Of two, or where it has time left, it is worth a look.
        let (severity, summary) = told(&[28, 6], &[0.36, 0.17]).expect("sda is slower");
        assert_eq!(severity, Severity::Info);
        assert!(summary.starts_with("sda takes 28 ms for a write, and the other"), "{summary}");
        assert_eq!(told(&[4, 1], &[0.36, 0.17]), None);
    }

    #[test]
    fn less_than_the_kernel_counts_in_is_said_so() {
        // `finish=0.0min` of /proc/mdstat.
        assert_eq!(long(Nanos::from_millis(0)), "less than a minute");
        assert_eq!(long(Nanos::from_millis(7_650_000)), "2 h 7 min");
    }

    #[test]
    fn a_rebuild_is_a_fault_a_routine_check_is_mentioned_and_idle_is_silent() {
        assert_eq!(severity("recover"), Some(Severity::Fault));
        assert_eq!(severity("check"), Some(Severity::Info));
        for quiet in ["idle", "frozen", "none", "garbage"] {
            assert_eq!(severity(quiet), None, "{quiet}");
        }
    }

    /// The evidence and advice of a resync at so many MB/s over two members.
    fn told(level: RaidLevel, rate: f64, members: [Option<f64>; 2]) -> (String, String) {
        let path = Sketch::of("/dev/md0").raid("md0", level, &["nvme0n1", "nvme1n1"]).change(|hop| {
            if let HopSpec::Raid(raid) = &mut hop.spec {
                raid.md.sync_action = Fact::known("resync".to_owned(), "sync_action");
                raid.md.sync_speed = Fact::known(BytesPerSec::new(rate * 1e6), "mdstat");
            }
        });
        let path = path.device("nvme0n1", members[0]).device("nvme1n1", members[1]);
        let finding = path.finding(Code::RaidResync).expect("it runs");
        let evidence: Vec<&str> = finding.evidence.iter().map(|one| one.fact.as_str()).collect();
        let advice: Vec<&str> = finding.advice.iter().map(|one| one.action.as_str()).collect();
        (evidence.join("; "), advice.join("; "))
    }

    #[test]
    fn what_sets_the_rate_of_a_resync_is_told_where_its_rate_shows_it() {
        let fast = [Some(3000.0), Some(2500.0)];
        let (evidence, advice) = told(RaidLevel::Raid5, 204.1, fast);
        assert!(
            evidence.contains("usual limit") && advice.contains("sync_speed_max if"),
            "{evidence} {advice}"
        );
        assert!(!advice.contains("stripe_cache_size"), "{advice}");
        let (evidence, advice) = told(RaidLevel::Raid5, 2300.0, fast);
        assert!(evidence.contains("slowest member") && !advice.contains("stripe_cache_size"), "{advice}");
        let (_, advice) = told(RaidLevel::Raid6, 900.0, fast);
        assert!(
            advice.contains("4 KiB") && advice.contains("/sys/block/md0/md/stripe_cache_size"),
            "{advice}"
        );
        let (_, advice) = told(RaidLevel::Raid1, 900.0, fast);
        assert!(!advice.contains("4 KiB"), "mirrors have large requests: {advice}");
    }

    #[test]
    fn members_that_are_not_known_explain_nothing() {
        let (evidence, advice) = told(RaidLevel::Raid5, 90.0, [Some(3000.0), None]);
        assert!(!evidence.contains("slowest") && !advice.contains("4 KiB"), "{evidence} {advice}");
    }

    #[test]
    fn a_resilver_is_a_fault_and_a_scrub_is_mentioned() {
        for (action, severity) in [("resilver", Severity::Fault), ("scrub", Severity::Info)] {
            let scan = ZfsScan { action: action.to_owned(), done: Some(0.25), rate: None };
            let pool = ZfsPool { scan: Fact::known(scan, "zpool.txt:3"), ..ZfsPool::default() };
            let finding =
                Sketch::of("/tank").on(|machine| machine.zfs = vec![pool]).finding(Code::RaidResync);
            assert_eq!(finding.map(|finding| finding.severity), Some(severity), "{action}");
        }
        let idle = Sketch::of("/tank").on(|machine| machine.zfs = vec![ZfsPool::default()]);
        assert_eq!(idle.finding(Code::RaidResync), None);
    }

    /// A stripe of two drives, the second of which sits in a slot of this width.
    fn path(level: RaidLevel, width: u8) -> Sketch {
        Sketch::of("/dev/md0")
            .raid("md0", level, &["nvme0n1", "nvme1n1"])
            .below(HopKind::Raid, "md0", 0.5)
            .device("nvme0n1", None)
            .link(on_bus(2, link((3, 4), (3, 4), (3, 4))))
            .below(HopKind::Raid, "md0", 0.5)
            .device("nvme1n1", None)
            .link(on_bus(3, link((3, width), (3, 4), (3, width))))
    }

    #[test]
    fn a_member_in_a_narrow_slot_holds_a_stripe_back() {
        let finding = path(RaidLevel::Raid0, 1).finding(Code::RaidSlowMember).expect("x1 beside x4");
        assert_eq!(finding.hop.as_ref().map(ToString::to_string).as_deref(), Some("link:0000:03:00.0"));
        assert_eq!(finding.confidence, Confidence::Medium);
        // The stripe goes at twice its slower member: twice the 3591.5 − 897.9 MB/s of four lanes and of one.
        assert_eq!((finding.best_gain().get() / 1e6).round(), 5387.0);
    }

    #[test]
    fn equal_members_and_linear_arrays_are_silent() {
        assert_eq!(path(RaidLevel::Raid0, 4).finding(Code::RaidSlowMember), None);
        assert_eq!(path(RaidLevel::Linear, 1).finding(Code::RaidSlowMember), None);
    }

    fn hdparm(device: &str, rate: &str) -> String {
        let amount = 3.0 * rate.parse::<f64>().expect("a rate");
        format!("{device}:\n Timing buffered disk reads: {amount:.0} MB in  3.00 seconds = {rate} MB/sec\n")
    }

    #[test]
    fn what_mdstat_says_beside_a_result_tags_it() {
        let text = format!(
            "md2 : active raid1 sdb1[1] sda1[0]\n      [=>...]  resync = 12.6% (3/29) finish=127min speed=33K/sec\n{}",
            hdparm("/dev/md2", "90.00")
        );
        let verdict = verdicts(&text).remove(0);
        assert!(!verdict.trusted && codes(&verdict).contains(&Code::RaidResync));
        assert!(verdicts(&hdparm("/dev/md2", "90.00"))[0].trusted);
    }

    #[test]
    fn an_array_slower_than_its_member_is_busy() {
        let of = |array: &str| {
            let text = format!("{}{}", hdparm("/dev/sda", "180.00"), hdparm("/dev/md0", array));
            codes(verdicts(&text).last().expect("two")).contains(&Code::RaidResync)
        };
        assert!(of("40.00") && !of("178.00") && !of("350.00"));
    }

    #[test]
    fn numbers_that_the_tool_itself_doubts_tell_nothing_of_an_array() {
        let doubt = "Hmm.. suspicious results: probably not enough free memory for a proper test.\n";
        let all =
            verdicts(&format!("{}{doubt}{}{doubt}", hdparm("/dev/hdc", "3.05"), hdparm("/dev/md1", "1.43")));
        assert!(all.iter().all(|one| !codes(one).contains(&Code::RaidResync)), "{all:?}");
    }

    #[test]
    fn an_array_slower_than_any_disk_is_busy_and_a_slow_card_is_none() {
        let of = |device: &str, rate: &str| {
            codes(&verdicts(&hdparm(device, rate)).remove(0)).contains(&Code::RaidResync)
        };
        assert!(of("/dev/md1", "1.25") && !of("/dev/md1", "63.26") && !of("/dev/mmcblk0", "1.25"));
    }

    fn degraded_path(missing: Fact<u32>) -> Sketch {
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
        let finding =
            degraded_path(Fact::known(1, "degraded")).finding(Code::RaidDegraded).expect("one of two");
        assert!(finding.summary.contains("lacks 1 of 2 members"), "{}", finding.summary);
        assert_eq!(degraded_path(Fact::known(0, "degraded")).finding(Code::RaidDegraded), None);
        assert_eq!(degraded_path(Fact::absent("degraded")).finding(Code::RaidDegraded), None);
    }

    #[test]
    fn a_member_that_is_being_rebuilt_is_waited_for_and_not_replaced() {
        let of = |action: &str| {
            let path = degraded_path(Fact::known(1, "degraded")).change(|hop| {
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
            let path = degraded_path(Fact::known(missing, "degraded")).on(|machine| {
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
    fn a_pool_that_lacks_a_device_is_a_fault_and_one_without_its_cache_is_none() {
        let pool = |state: &str, role: &str| {
            let device =
                ZfsDevice { name: "sdb".to_owned(), state: "FAULTED".to_owned(), ..ZfsDevice::default() };
            let vdev = ZfsVdev { devices: vec![device], role: role.to_owned(), ..ZfsVdev::default() };
            let state = Fact::known(state.to_owned(), "zpool.txt:2");
            ZfsPool { name: "tank".to_owned(), state, vdevs: vec![vdev], ..ZfsPool::default() }
        };
        let of = |state: &str, role: &str| {
            Sketch::of("/tank")
                .on(|machine| machine.zfs = vec![pool(state, role)])
                .finding(Code::RaidDegraded)
        };
        assert_eq!(of("ONLINE", "cache"), None);
        let judged = |state: &str| of(state, "data");
        let finding = judged("DEGRADED").expect("lacks a device");
        assert_eq!(finding.evidence[1].fact, "state of sdb");
        assert_eq!(finding.summary, "The ZFS pool tank is DEGRADED: sdb is FAULTED.");
        let finding = judged("ONLINE").expect("has one copy less, whatever the pool says");
        assert!(finding.advice[0].action.contains("zpool replace"));
    }

    #[test]
    fn what_a_log_said_at_the_last_start_is_no_alarm() {
        let texts = vec![Recognised { name: "dmesg.txt".to_owned(), kinds: vec!["dmesg"] }];
        let captured = Captured { texts, gaps: Vec::new() };
        let of = |source: &str| {
            let path =
                degraded_path(Fact::known(1, source)).on(|machine| machine.captured = Some(captured.clone()));
            path.finding(Code::RaidDegraded).map(|finding| finding.severity)
        };
        assert_eq!(of("dmesg.txt:9"), Some(Severity::Info));
        assert_eq!(of("mdstat.txt:2"), Some(Severity::Fault));
    }
}
