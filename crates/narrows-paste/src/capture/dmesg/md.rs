//! Linux software RAID (`drivers/md/*.c`).

use super::{Boot, Line};
use narrows_machine::block::{BlockDevice, BlockKind, MdArray};
use narrows_machine::log::LogKind;

/// Understands `md/raid:md1: raid level 6 active with 11 out of 12 devices, algorithm 2` and the like.
pub(super) fn take(boot: &mut Boot, line: &Line<'_>) -> bool {
    if let Some(rest) = line.message.strip_prefix("md: ") {
        return take_sync(boot, rest, line);
    }
    let Some((personality, rest)) = line.message.strip_prefix("md/").and_then(|rest| rest.split_once(':'))
    else {
        return false;
    };
    let Some((name, what)) = rest.split_once(": ") else { return false };
    if !is_array(name) {
        return false;
    }
    if let Some((level, ready, all)) = parse_active(personality, what) {
        let array = array(boot, name);
        array.level = line.known(level);
        array.raid_disks = line.known(all);
        array.degraded = line.known(all.saturating_sub(ready));
        return true;
    }
    if let Some(member) =
        what.strip_prefix("device ").and_then(|rest| rest.split_once(" operational as raid disk"))
    {
        array(boot, name).members.insert(member.0.to_owned(), line.known("in_sync".to_owned()));
        return true;
    }
    let Some(member) = what.strip_prefix("Disk failure on ").and_then(|rest| rest.split(',').next()) else {
        return false;
    };
    let array = array(boot, name);
    array.members.insert(member.to_owned(), line.known("faulty".to_owned()));
    if let Some(degraded) = array.degraded.get() {
        array.degraded = line.known(degraded.saturating_add(1));
    }
    boot.event_of(name, None, LogKind::RaidMemberFailed, line);
    true
}

fn is_array(name: &str) -> bool {
    name.len() <= 32
        && name
            .strip_prefix("md")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'))
}

fn array<'b>(boot: &'b mut Boot, name: &str) -> &'b mut MdArray {
    boot.arrays.entry(name.to_owned()).or_default()
}

/// Makes block devices of the arrays.
pub(super) fn finish(boot: &mut Boot) {
    for (name, array) in std::mem::take(&mut boot.arrays) {
        let slaves = array.members.keys().cloned().collect();
        let kind = BlockKind::Md(Box::new(array));
        boot.machine.block.insert(name.clone(), BlockDevice { name, slaves, kind, ..BlockDevice::default() });
    }
}

/// Level, members that work, and members in all, of `raid level 6 active with 11 out of 12 devices` (personality
/// `raid`), `active with 2 out of 2 mirrors` (`raid1`).
fn parse_active(personality: &str, what: &str) -> Option<(String, u32, u32)> {
    let (level, counts) = what.split_once("active with ")?;
    let level = match level.trim().strip_prefix("raid level ") {
        Some(number) => format!("raid{}", number.trim().parse::<u8>().ok()?),
        None => personality.to_owned(),
    };
    let (ready, rest) = counts.split_once(" out of ")?;
    let all = rest.split_whitespace().next()?;
    Some((level, ready.trim().parse().ok()?, all.parse().ok()?))
}

/// Understands `resync of RAID array md0`, `recovery of RAID array md0`, `md0: resync done.`
fn take_sync(boot: &mut Boot, rest: &str, line: &Line<'_>) -> bool {
    if let Some((what, name)) = rest.split_once(" of RAID array ") {
        let name = name.trim();
        let action = match what {
            "resync" => "resync",
            "recovery" => "recover",
            "reshape" => "reshape",
            "data-check" => "check",
            "requested-resync" => "repair",
            _ => return false,
        };
        if is_array(name) {
            array(boot, name).sync_action = line.known(action.to_owned());
        }
        return is_array(name);
    }
    let Some((name, what)) = rest.split_once(": ") else { return false };
    let is_over = is_array(name) && (what.ends_with(" done.") || what.ends_with(" interrupted."));
    if is_over && boot.arrays.contains_key(name) {
        array(boot, name).sync_action = line.known("idle".to_owned());
    }
    is_over
}
