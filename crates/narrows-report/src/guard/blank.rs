//! What would make a device blank, as commands with what they destroy.

use super::{NOT_ENOUGH, WayView};
use narrows_base::lists::distinct;
use narrows_base::shell;
use narrows_load::guard::Reason;

/// What can be done about each of the reasons, once, then the `ways` that would make the device blank.
pub fn hints(reasons: &[Reason], ways: &[WayView]) -> Vec<String> {
    once(reasons.iter().map(Reason::hint), ways)
}

/// As [`hints`], of what is hinted at for each reason.
pub(super) fn once<'h>(all: impl Iterator<Item = &'h str>, ways: &[WayView]) -> Vec<String> {
    let mut hints = distinct(all.map(str::to_owned));
    if !ways.is_empty() {
        hints.push("if nothing on it is needed, one of these makes it blank:".to_owned());
        let line = |way: &WayView| format!("  `{}` destroys {}", way.command, way.destroys);
        hints.extend(ways.iter().map(line));
        hints.push(NOT_ENOUGH.to_owned());
    }
    hints
}

/// The commands that make this device blank, which takes discards or not; none where something else than its contents speaks
/// against writing to it.
pub fn ways(name: &str, discards: bool, reasons: &[Reason]) -> Vec<WayView> {
    let is_content = |reason: &Reason| matches!(reason, Reason::Content { .. } | Reason::Data { .. });
    let is_harmless = |reason: &Reason| match reason {
        Reason::Content { device, .. } | Reason::Data { device, .. } => device == name,
        Reason::Marked { .. } | Reason::NotNamed { .. } | Reason::OtherNamed { .. } | Reason::NoIdentity => {
            true
        }
        _ => false,
    };
    let is_wanted = reasons.iter().any(is_content) && reasons.iter().all(is_harmless);
    if is_wanted { of(name, discards) } else { Vec::new() }
}

/// The commands for a device by its kernel name, which tells its kind.
fn of(name: &str, discards: bool) -> Vec<WayView> {
    let path = shell::word(&format!("/dev/{}", name.replace('!', "/")));
    let way = |command: String, destroys: &str| WayView { command, destroys: destroys.to_owned() };
    let mut ways = Vec::new();
    if name.starts_with("nvme") {
        ways.push(way(
            format!("nvme format {path} --ses=1"),
            "all data of the namespace, for good, in seconds to minutes; most drives read as zeros afterwards; on a drive \
             that formats all namespaces together, those of the others as well (`nvme id-ctrl`, fna)",
        ));
    }
    if discards {
        let destroys = match name {
            _ if name.starts_with("loop") => {
                "all data in the file behind the loop device, for good: a hole is punched into it, which reads as zeros"
            }
            _ if name.starts_with("zram") || name.starts_with("ram") || name.starts_with("nullb") => {
                "all data of this device in memory, for good"
            }
            _ => {
                "all data of the device, for good, in seconds, without wear; blank only if the drive returns zeros for what \
                 was discarded, which many do not promise"
            }
        };
        ways.push(way(format!("blkdiscard {path}"), destroys));
    }
    ways.push(way(
        format!("blkdiscard -z {path}"),
        "all data of the device, for good: zeros are written everywhere, which takes as long as writing all of it and wears \
         flash like one full write; works on every device",
    ));
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Bytes;
    use narrows_load::guard::{Looks, Use, UseKind};

    fn commands(name: &str, discards: bool) -> Vec<String> {
        of(name, discards).into_iter().map(|way| way.command).collect()
    }

    #[test]
    fn each_kind_of_device_has_its_commands_and_never_wipefs() {
        assert_eq!(
            commands("nvme0n1", true),
            ["nvme format /dev/nvme0n1 --ses=1", "blkdiscard /dev/nvme0n1", "blkdiscard -z /dev/nvme0n1"]
        );
        assert_eq!(commands("sda", false), ["blkdiscard -z /dev/sda"], "a disk without discards");
        assert_eq!(commands("loop3", true), ["blkdiscard /dev/loop3", "blkdiscard -z /dev/loop3"]);
        assert_eq!(commands("cciss!c0d0", false), ["blkdiscard -z /dev/cciss/c0d0"]);
    }

    #[test]
    fn a_device_in_use_or_with_data_in_its_family_gets_no_commands() {
        let data = |device: &str| Reason::Data {
            device: device.to_owned(),
            at: Bytes::new(1),
            looks: Looks::Same(1),
        };
        let ways = |reasons: &[Reason]| ways("none9", false, reasons);
        assert_eq!(ways(&[data("none9"), Reason::NoIdentity]).len(), 1);
        assert_eq!(ways(&[data("none9p1")]), []);
        assert_eq!(ways(&[Reason::NoIdentity]), []);
        let used = Use { device: "none9".to_owned(), kind: UseKind::Mount, by: "/srv".to_owned() };
        assert_eq!(ways(&[data("none9"), Reason::InUse(used)]), []);
    }

    #[test]
    fn each_hint_is_said_once_and_what_makes_it_blank_last() {
        let data = |at| Reason::Data { device: "sdx".to_owned(), at: Bytes::new(at), looks: Looks::Same(1) };
        let reasons = [data(1), data(2), Reason::NoIdentity];
        let said = hints(&reasons, &ways("sdx", true, &reasons));
        assert_eq!(
            said.len(),
            2 + 1 + 2 + 1,
            "two hints, an introduction, two commands, a warning: {said:?}"
        );
        assert!(said[3].starts_with("  `blkdiscard /dev/sdx` destroys ") && said[5] == NOT_ENOUGH);
        assert_eq!(hints(&reasons, &[]), said[..2]);
    }
}
