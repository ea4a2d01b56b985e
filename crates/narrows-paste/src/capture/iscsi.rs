//! `iscsiadm -m session -P 3`: which disks an iSCSI session has, and where it leads.

use narrows_base::fact::Fact;
use narrows_machine::Machine;
use narrows_machine::block::{Remote, Transport};

use super::device::{device, is_kernel_name, known};
use super::fill::{Fill, Than};
use super::{Output, Part, Text, read_outputs};

const OUTPUTS: [Output; 1] = [("iscsiadm -m session", &["Attached scsi disk "], read_sessions)];

/// Reads every session in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// Sessions as open-iscsi prints them (`usr/session_info.c`): the portal first, below it the interface, further below the disks.
///
/// Reads every disk; whether there was one.
fn read_sessions(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut open: Option<Remote> = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        let source = text.source(number);
        if let Some(portal) = line.strip_prefix("Current Portal: ") {
            open = remote(portal, &source);
        } else if line.starts_with("Target: ") {
            open = None;
        } else if let (Some(name), Some(remote)) = (line.strip_prefix("Iface Netdev: "), &mut open) {
            // `<empty>`, `default`: the routing table chooses.
            let name = Some(name.trim()).filter(|name| !name.starts_with('<') && *name != "default");
            remote.interface = known(name.map(str::to_owned), source);
        } else if let (Some(disk), Some(remote)) = (attached(line), &open) {
            device(machine, disk).transport.fill(Transport::Iscsi(remote.clone()), Than::Same);
            found = true;
        }
    }
    found
}

/// `192.0.2.1:3260,1`, `[2001:db8::1]:3260,1`: address, port, and the group of portals.
fn remote(portal: &str, source: &str) -> Option<Remote> {
    let (address, port) = portal.split(',').next()?.trim().rsplit_once(':')?;
    let address = address.trim_start_matches('[').trim_end_matches(']');
    Some(Remote {
        address: known((!address.is_empty()).then(|| address.to_owned()), source),
        port: known(port.parse().ok(), source),
        interface: Fact::absent(source),
    })
}

/// `Attached scsi disk sdb    State: running`.
fn attached(line: &str) -> Option<&str> {
    let name = line.strip_prefix("Attached scsi disk ")?.split_whitespace().next()?;
    is_kernel_name(name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "\
Target: iqn.2003-01.com.example:store (non-flash)
	Current Portal: 192.0.2.7:3260,1
	Persistent Portal: 192.0.2.7:3260,1
		Iface Netdev: <empty>
		SID: 1
		iSCSI Connection State: LOGGED IN
		Host Number: 3	State: running
		scsi3 Channel 00 Id 0 Lun: 0
			Attached scsi disk sdb		State: running
		scsi3 Channel 00 Id 0 Lun: 1
			Attached scsi disk sdc		State: running
	Current Portal: [2001:db8::7]:3261,2
		Iface Netdev: ens1f0
			Attached scsi disk sdd		State: running
";

    #[test]
    fn each_disk_has_the_portal_of_its_session() {
        let part = read(&Text::new("session.txt", SESSION.as_bytes()));
        let told: Vec<String> = ["sdb", "sdc", "sdd"]
            .iter()
            .map(|name| match &part.machine.block[*name].transport {
                Transport::Iscsi(to) => {
                    format!("{:?} {:?} {:?}", to.address.value(), to.port.value(), to.interface.value())
                }
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(
            told,
            [
                "Some(\"192.0.2.7\") Some(3260) None",
                "Some(\"192.0.2.7\") Some(3260) None",
                "Some(\"2001:db8::7\") Some(3261) Some(\"ens1f0\")",
            ]
        );
    }

    #[test]
    fn a_disk_without_a_portal_is_no_disk_of_a_session() {
        let part = read(&Text::new("session.txt", b"Attached scsi disk sdb\tState: running\n"));
        assert!(part.kind.is_none());
    }
}
