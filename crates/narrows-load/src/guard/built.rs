//! Opens what the lab built for writing: an array or a mapping that stands on named devices and on nothing else, or a mapping
//! that stands on device-mapper's `zero` target, which keeps nothing.

use super::super::marks::DeviceKey;
use super::decide::Refusal;
use super::open::{Device, WritableDevice, WriteError, claim};
use super::reason::Reason;
use super::scan::Medium;
use super::usage::{Usage, Use, UseKind};

/// Opens `device` for writing, exclusively. It must be built, on `named` devices and on nothing else, and nobody may use it
/// or what it is built on otherwise. A named device itself is refused: that takes a [`Permit`](super::Permit). Named devices
/// are partitions or mappings of `disks`. What is written to it is marked by `key`.
///
/// # Errors
/// Anything of that does not hold, or the kernel refuses.
pub fn open_built(
    device: &Device,
    usage: &Usage,
    (named, disks): (&[String], &[String]),
    key: DeviceKey,
) -> Result<WritableDevice, WriteError> {
    Ok(open_unless(device, usage, reasons(usage, named, disks))?.marked_by(key))
}

/// Device-mapper's target that stands on nothing, as the machine tells of it.
#[derive(Debug, Clone, Copy)]
pub struct ZeroTarget<'a> {
    /// Who uses it, and that it is built on nothing.
    pub usage: &'a Usage,
    /// The words of the targets in its table.
    pub targets: &'a [String],
}

/// Opens `device` for writing, exclusively. It must be a `zero` target, or be built on one and on nothing else, and nobody may
/// use it otherwise.
///
/// # Errors
/// Anything of that does not hold, or the kernel refuses.
pub fn open_over_zero(
    device: &Device,
    usage: &Usage,
    zero: &ZeroTarget<'_>,
) -> Result<WritableDevice, WriteError> {
    open_unless(device, usage, reasons_over_zero(usage, zero))
}

fn reasons_over_zero(usage: &Usage, zero: &ZeroTarget<'_>) -> Vec<Reason> {
    let below = &zero.usage.device;
    let mut reasons = Vec::new();
    let is_zero = zero.targets.len() == 1 && zero.targets.iter().all(|target| target == "zero");
    let stands = |used: &Use| used.kind == UseKind::Component && used.device == *below;
    if !is_zero || below.is_empty() || zero.usage.uses.iter().any(stands) {
        reasons.push(Reason::Unseen { what: format!("that `{below}` keeps nothing that is written to it") });
    }
    let is_on_it =
        |used: &&Use| used.kind == UseKind::Component && used.device == usage.device && used.by == *below;
    if usage.device != *below && !usage.uses.iter().any(|used| is_on_it(&used)) {
        reasons.push(Reason::Unseen { what: format!("that {} is built on {below}", usage.device) });
    }
    reasons.extend(usage.uses.iter().filter(|used| !is_on_it(used)).cloned().map(Reason::InUse));
    reasons.extend(usage.unseen.iter().map(|what| Reason::Unseen { what: what.clone() }));
    reasons
}

/// Opens it when nothing speaks against it, neither before nor afterwards.
fn open_unless(
    device: &Device,
    usage: &Usage,
    mut reasons: Vec<Reason>,
) -> Result<WritableDevice, WriteError> {
    let claimed = if reasons.is_empty() { Some(claim(device.path())?) } else { None };
    if let Some(claimed) = &claimed {
        reasons.extend(changes(device, claimed, usage));
    }
    match claimed {
        Some(claimed) if reasons.is_empty() => Ok(WritableDevice::of(claimed)?),
        _ => Err(Refusal { device: usage.device.clone(), reasons }.into()),
    }
}

/// What speaks against it in how it is used.
fn reasons(usage: &Usage, named: &[String], disks: &[String]) -> Vec<Reason> {
    // The named devices are slices: partitions that the lab made or, where there are none, mappings of a disk.
    let is_slice = |used: &Use| {
        used.kind == UseKind::Component && named.contains(&used.device) && disks.contains(&used.by)
    };
    let is_component = |used: &&Use| used.kind == UseKind::Component && !is_slice(used);
    let components: Vec<&Use> = usage.uses.iter().filter(is_component).collect();
    let is_built = |name: &str| components.iter().any(|used| used.device == name);
    let is_known = |used: &Use| match used.kind {
        _ if is_slice(used) => true,
        UseKind::Component => named.contains(&used.by) != is_built(&used.by),
        UseKind::PartitionOf => named.contains(&used.device),
        _ => false,
    };
    let mut reasons: Vec<Reason> =
        usage.uses.iter().filter(|used| !is_known(used)).cloned().map(Reason::InUse).collect();
    if named.contains(&usage.device) || !is_built(&usage.device) {
        reasons.push(Reason::Unseen { what: format!("that {} was built by the lab", usage.device) });
    }
    reasons.extend(usage.unseen.iter().map(|what| Reason::Unseen { what: what.clone() }));
    reasons
}

/// What differs between the device that was looked at and the one that was opened.
pub(super) fn changes(seen: &Device, claimed: &Device, usage: &Usage) -> Vec<Reason> {
    let name = &usage.device;
    let mut reasons = Vec::new();
    if claimed.number() != seen.number() || usage.number != Some(seen.number()) {
        reasons.push(Reason::Changed { what: format!("{name} is another device than the one opened") });
    }
    if claimed.size() != seen.size() || usage.size != Some(seen.size()) {
        reasons.push(Reason::Changed { what: format!("the size of {name} changed") });
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(device: &str, kind: UseKind, by: &str) -> Use {
        Use { device: device.to_owned(), kind, by: by.to_owned() }
    }

    /// `dm-0` on `md127` on `sda` and `sdb`, and more uses.
    fn usage(more: &[Use]) -> Usage {
        let mut uses = vec![
            used("dm-0", UseKind::Component, "md127"),
            used("md127", UseKind::Component, "sda"),
            used("md127", UseKind::Component, "sdb"),
        ];
        uses.extend(more.iter().cloned());
        Usage { device: "dm-0".to_owned(), uses, ..Usage::default() }
    }

    fn named(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_stands_on_named_devices_alone_is_the_labs() {
        assert_eq!(reasons(&usage(&[]), &named(&["sda", "sdb"]), &[]), []);
        assert_eq!(reasons(&usage(&[]), &named(&["sda"]), &[]).len(), 1, "sdb was not named");
        assert!(!reasons(&usage(&[]), &[], &[]).is_empty());
    }

    #[test]
    fn a_slice_is_a_partition_and_no_other_may_be_one() {
        let of = |device: &str| used(device, UseKind::PartitionOf, "nvme0n1");
        assert_eq!(reasons(&usage(&[of("sda")]), &named(&["sda", "sdb"]), &[]), []);
        assert_eq!(reasons(&usage(&[of("md127")]), &named(&["sda", "sdb"]), &[]).len(), 1);
    }

    #[test]
    fn a_slice_may_be_a_mapping_of_its_disk_and_of_no_other() {
        let of = |device: &str, by: &str| used(device, UseKind::Component, by);
        let found = |more: &[Use], disks: &[&str]| {
            reasons(&usage(more), &named(&["sda", "sdb"]), &named(disks)).len()
        };
        assert_eq!(found(&[of("sda", "zram0")], &["zram0"]), 0);
        assert!(found(&[of("sda", "zram0")], &["zram1"]) > 0, "a mapping of another disk");
        assert!(found(&[of("sda", "zram0"), of("sda", "zram7")], &["zram0"]) > 0, "of another disk, too");
        assert_eq!(found(&[of("md127", "zram0")], &["zram0"]), 1, "an array with the disk itself");
    }

    #[test]
    fn a_device_that_nothing_is_built_on_or_that_was_named_is_refused() {
        let bare = Usage { device: "sda".to_owned(), ..Usage::default() };
        assert_eq!(reasons(&bare, &named(&["sda"]), &[]).len(), 1);
        assert_eq!(reasons(&bare, &named(&["sdb"]), &[]).len(), 1);
        assert!(!reasons(&usage(&[]), &named(&["sda", "sdb", "dm-0"]), &[]).is_empty());
    }

    fn zero() -> Usage {
        Usage { device: "dm-0".to_owned(), ..Usage::default() }
    }

    fn over_zero(usage: &Usage, below: &Usage, targets: &[&str]) -> usize {
        let targets = named(targets);
        reasons_over_zero(usage, &ZeroTarget { usage: below, targets: &targets }).len()
    }

    #[test]
    fn only_what_stands_on_a_zero_target_alone_is_opened_without_a_named_device() {
        let on = |below: &str| used("dm-1", UseKind::Component, below);
        let mapping = |uses: &[Use]| Usage { device: "dm-1".to_owned(), uses: uses.to_vec(), ..zero() };
        assert_eq!(over_zero(&mapping(&[on("dm-0")]), &zero(), &["zero"]), 0);
        assert_eq!(over_zero(&zero(), &zero(), &["zero"]), 0, "the target itself");
        for targets in [&["linear"][..], &[], &["zero", "linear"], &["zero", "zero"]] {
            assert_eq!(over_zero(&mapping(&[on("dm-0")]), &zero(), targets), 1, "{targets:?}");
        }
        assert_eq!(over_zero(&mapping(&[on("sda")]), &zero(), &["zero"]), 2, "on a drive");
        assert_eq!(over_zero(&mapping(&[on("dm-0"), on("sda")]), &zero(), &["zero"]), 1, "on a drive, too");
        assert_eq!(over_zero(&mapping(&[]), &zero(), &["zero"]), 1, "on nothing that is known");
        let built = Usage { uses: vec![used("dm-0", UseKind::Component, "sda")], ..zero() };
        assert!(over_zero(&mapping(&[on("dm-0")]), &built, &["zero"]) > 0, "what is called zero has a drive");
        let swap = used("dm-1", UseKind::Swap, "/dev/dm-1");
        assert_eq!(over_zero(&mapping(&[on("dm-0"), swap]), &zero(), &["zero"]), 1);
        let blind = Usage { unseen: vec!["mounts".to_owned()], ..mapping(&[on("dm-0")]) };
        assert_eq!(over_zero(&blind, &zero(), &["zero"]), 1);
    }

    #[test]
    fn anybody_else_who_uses_it_speaks_against_it() {
        for kind in [UseKind::Mount, UseKind::Swap, UseKind::Holder, UseKind::OpenFile, UseKind::Loop] {
            let found = reasons(&usage(&[used("md127", kind, "x")]), &named(&["sda", "sdb"]), &[]);
            assert_eq!(found.len(), 1, "{kind:?}");
        }
        let blind = Usage { unseen: vec!["mounts".to_owned()], ..usage(&[]) };
        assert_eq!(reasons(&blind, &named(&["sda", "sdb"]), &[]).len(), 1);
    }
}
