//! Software between the application and the media: resync, encryption, md, file systems.

use narrows_base::units::{BytesPerSec, human};
use narrows_machine::activity::Resync;
use narrows_model::path::{CryptHop, HopSpec, RaidHop};

use super::{Attribution, Cause, FULL_CORE, MOSTLY};
use crate::case::Case;
use crate::finding::{Confidence, Evidence};

/// A resync that takes this part of what the members move is a reason for a low rate.
const SUBSTANTIAL: f64 = 0.15;
/// Kernel workers that use this much of a core, while the media have room, are the bottleneck: the scheduler and the
/// sampling edges take the rest.
const BUSY_WORKERS: f64 = 0.8;
/// A cipher that reaches this part of its measured rate on the path leaves little time for anything else.
const NEAR_CIPHER_RATE: f64 = 0.5;

/// Whether a `sync_action` means that the array moves bytes of its own (kernel `Documentation/admin-guide/md.rst`).
pub(crate) fn is_syncing(action: &str) -> bool {
    matches!(action, "resync" | "recover" | "check" | "repair" | "reshape")
}

/// An array resyncs and takes a substantial part of its members' bandwidth.
pub(super) fn resync(case: &Case<'_>) -> Option<Attribution> {
    case.hops().find_map(|(index, hop)| {
        let HopSpec::Raid(raid) = &hop.spec else { return None };
        let running = case.run?.activity.resyncs.get(&raid.block).filter(|sync| is_syncing(&sync.action))?;
        let (part, how) = resync_part(case, raid, running)?;
        (part >= SUBSTANTIAL).then(|| {
            let evidence = resync_evidence(raid, running, part, how);
            Attribution::found(index, Cause::Resync, Confidence::High, evidence)
        })
    })
}

fn resync_evidence(raid: &RaidHop, running: &Resync, part: f64, how: &str) -> Vec<Evidence> {
    let md = format!("/sys/block/{}/md", raid.block);
    let action = Evidence::new("sync action", &running.action, format!("{md}/sync_action"));
    let speed = running.speed.map(|speed| Evidence::new("sync speed", speed, format!("{md}/sync_speed")));
    let part = Evidence::new("part of the members' transfers that is not ours", human::percent(part), how);
    std::iter::once(action).chain(speed).chain([part]).collect()
}

/// The part of the members' transfers that a resync takes, and where that number is from. Members' counters say it;
/// without them the resync's own speed (which every member reads or writes) stands against the application's rate.
fn resync_part(case: &Case<'_>, raid: &RaidHop, running: &Resync) -> Option<(f64, &'static str)> {
    let members: Vec<_> = raid.members.iter().filter_map(|member| case.disk(member)).collect();
    let measurement = case.measurement()?;
    if members.len() == raid.members.len() && !members.is_empty() {
        let all: f64 = members.iter().map(|disk| (disk.read_bytes + disk.written_bytes).as_f64()).sum();
        let copies = case.direction.pick(1.0, members.len() as f64);
        let ours = measurement.bytes.as_f64() * copies;
        return (all > 0.0).then(|| (((all - ours) / all).max(0.0), "/proc/diskstats of the members"));
    }
    let speed: BytesPerSec = running.speed?;
    let both = speed + measurement.bytes_per_second;
    Some((speed.fraction_of(both), "sync_speed and the measured rate"))
}

/// What uses up the processor while the media have room: a cipher, the thread of an array, or one of a file system.
pub(super) fn busy(case: &Case<'_>) -> Option<Attribution> {
    if case.media_are_saturated() {
        return None;
    }
    cipher(case).or_else(|| md_thread(case)).or_else(|| filesystem(case))
}

/// dm-crypt's workers use up the processor.
fn cipher(case: &Case<'_>) -> Option<Attribution> {
    case.hops().find_map(|(index, hop)| {
        let HopSpec::Crypt(crypt) = &hop.spec else { return None };
        let (evidence, confidence) = workers(case)
            .or_else(|| cipher_in_worker(case).map(|evidence| (evidence, Confidence::High)))
            .or_else(|| near_cipher_rate(case, index, crypt).map(|e| (e, Confidence::Medium)))?;
        Some(Attribution::found(index, Cause::Cipher, confidence, evidence))
    })
}

/// The work of dm-crypt's kernel threads (`kcryptd`, `kcryptd_io`, `dmcrypt_write`), when it fills a core, or is most of what all
/// processors do and none of them has time left: then what takes the rest may have a part in it.
fn workers(case: &Case<'_>) -> Option<(Vec<Evidence>, Confidence)> {
    let (all, _) = case.kernel_threads(|name| name.contains("kcryptd") || name.contains("dmcrypt_write"));
    let busy = &case.run?.activity.cpus;
    let are_full = !busy.is_empty() && busy.values().all(|busy| *busy >= FULL_CORE);
    let is_most = are_full && all >= MOSTLY * busy.len() as f64;
    (all >= BUSY_WORKERS || is_most).then(|| {
        let threads = Evidence::new("kcryptd threads", format!("{all:.2} cores"), "/proc/[pid]/stat");
        let full = are_full.then(|| Evidence::new("processors without time left", busy.len(), "/proc/stat"));
        let evidence = std::iter::once(threads).chain(full).chain(room_below(case)).collect();
        (evidence, if all >= BUSY_WORKERS { Confidence::High } else { Confidence::Medium })
    })
}

fn room_below(case: &Case<'_>) -> Option<Evidence> {
    let part = case.waiting_at_media()?;
    Some(Evidence::new("requests waiting at the media", human::percent(part), "/proc/diskstats"))
}

/// A cipher without work queues runs in the worker that asked; that it fills the worker is shown by the cipher's own
/// rate.
pub(super) fn cipher_in_worker(case: &Case<'_>) -> Option<Vec<Evidence>> {
    let measurement = case.measurement()?;
    let crypt = case.hops().find_map(|(_, hop)| match &hop.spec {
        HopSpec::Crypt(crypt) => Some(crypt.as_ref()),
        _ => None,
    })?;
    let table = crypt.table.value()?;
    let in_worker = case.direction.pick(table.no_read_workqueue, table.no_write_workqueue);
    let rate = case.cipher_on_one_core(crypt)?;
    let near = measurement.bytes_per_second.fraction_of(rate) >= NEAR_CIPHER_RATE;
    (in_worker && near && measurement.generator.cpu >= FULL_CORE).then(|| {
        vec![
            Evidence::new("work queues", "off: the cipher runs in the worker", crypt.table.source().as_str()),
            Evidence::new("cipher on one core", rate, crypt.cipher.source().as_str()),
        ]
    })
}

/// The rate is that of the cipher as the kernel itself measured it, and the media are known to have room.
fn near_cipher_rate(case: &Case<'_>, index: usize, crypt: &CryptHop) -> Option<Vec<Evidence>> {
    let room = room_below(case)?;
    let ceiling = case.ceiling(index)?.limit()?;
    let part = case.measurement()?.bytes_per_second.fraction_of(case.path_rate(index)?);
    let measured = ceiling.basis == narrows_model::ceiling::Basis::Measured;
    (measured && (0.8..=1.1).contains(&part)).then(|| {
        let source = crypt.cipher.source().as_str();
        vec![Evidence::new("measured rate over the cipher's", human::percent(part), source), room]
    })
}

/// The thread of an array (`md0_raid5`, `md127_raid1`) uses up its core while the members have room.
fn md_thread(case: &Case<'_>) -> Option<Attribution> {
    case.hops().find_map(|(index, hop)| {
        let HopSpec::Raid(raid) = &hop.spec else { return None };
        let name = format!("{}_raid", raid.block);
        let evidence = full_thread(case, format!("thread {name}…"), |thread| thread.starts_with(&name))?;
        Some(Attribution::found(index, Cause::MdThread, Confidence::High, evidence))
    })
}

/// The busiest kernel thread with such a name, where it uses up a core.
fn full_thread(case: &Case<'_>, what: String, named: impl Fn(&str) -> bool) -> Option<Vec<Evidence>> {
    let (_, busiest) = case.kernel_threads(named);
    (busiest >= FULL_CORE).then(|| {
        let used = Evidence::new(what, format!("{busiest:.2} cores"), "/proc/[pid]/stat");
        std::iter::once(used).chain(room_below(case)).collect()
    })
}

/// A kernel thread of the file system uses up its core while the media have room.
fn filesystem(case: &Case<'_>) -> Option<Attribution> {
    case.hops().find_map(|(index, hop)| {
        let HopSpec::Filesystem(filesystem) = &hop.spec else { return None };
        let marks: &[&str] = match filesystem.fstype.as_str() {
            "btrfs" => &["btrfs-"],
            "zfs" => &["z_rd_", "z_wr_", "z_iss", "zio"],
            "xfs" => &["xfs-", "xfsaild"],
            "ext4" => &["ext4-rsv", "jbd2/"],
            "bcachefs" => &["bcachefs", "bch-"],
            _ => return None,
        };
        let what = format!("busiest thread of {}", filesystem.fstype);
        let evidence = full_thread(case, what, |name| marks.iter().any(|mark| name.contains(mark)))?;
        Some(Attribution::found(index, Cause::Filesystem, Confidence::High, evidence))
    })
}
