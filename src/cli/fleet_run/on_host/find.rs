//! What a target that was typed is on this host.

use std::path::Path;

use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::usage::Identity;
use narrows_model::path::{Target, build};
use narrows_session::fleet::hosts::{FoundKind, HostTarget};
use narrows_session::fleet::job::NbdUri;
use narrows_session::scene;

use crate::cli::target;

/// What a target is here.
pub(super) fn find(root: &Root, machine: &Machine, typed: &str) -> Result<HostTarget, String> {
    if let Some(uri) = NbdUri::parse(typed) {
        return Ok(HostTarget {
            kind: FoundKind::Nbd,
            name: uri.as_str().to_owned(),
            size: None,
            free: None,
            server: Some(uri.server().to_owned()),
            drives: Vec::new(),
            serial: None,
        });
    }
    let typed = match (typed.strip_prefix("serial:"), typed.strip_prefix("nqn:")) {
        (Some(serial), _) => by_serial(root, serial)?,
        (_, Some(nqn)) => by_nqn(root, nqn)?,
        _ if typed.starts_with('/') => typed.to_owned(),
        _ => {
            return Err(format!("`{typed}` is no target: name an absolute path, serial:…, nqn:… or nbd://…"));
        }
    };
    let asked = target::resolve(root, machine, &typed).map_err(|failure| failure.message().to_owned())?;
    let path = build::path(machine, &asked);
    let drives = path.as_ref().map(scene::drives).unwrap_or_default();
    let server = path.as_ref().and_then(scene::server).map(str::to_owned);
    match &asked {
        Target::Block(name) => {
            let device = scene::device(name).display().to_string();
            let serial = Identity::read(root, name).text().map(|(text, _)| text);
            let sectors = root.number(&format!("/sys/class/block/{name}/size")).get();
            let size = sectors.map(|sectors| Bytes::new(sectors.saturating_mul(512)));
            Ok(HostTarget { kind: FoundKind::Device, name: device, size, free: None, server, drives, serial })
        }
        Target::Mount { path, .. } => {
            let is_directory = Path::new(path).is_dir();
            let free = is_directory.then(|| free_bytes(path)).flatten();
            let kind = if is_directory { FoundKind::Directory } else { FoundKind::File };
            Ok(HostTarget { kind, name: path.clone(), size: None, free, server, drives, serial: None })
        }
        _ => Err(format!("`{typed}` is neither a device nor a file nor a directory")),
    }
}

fn free_bytes(path: &str) -> Option<Bytes> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    Some(Bytes::new(stat.blocks_available().saturating_mul(stat.fragment_size())))
}

/// The device with a serial number; exactly one has to have it.
fn by_serial(root: &Root, serial: &str) -> Result<String, String> {
    let has = |name: &String| {
        Identity::read(root, name).text().is_some_and(|(text, _)| text.trim() == serial.trim())
    };
    let found: Vec<String> = root.list("/sys/block").into_iter().filter(has).collect();
    match found.as_slice() {
        [only] => Ok(scene::device(only).display().to_string()),
        [] => Err(format!("no device here has the serial number {serial}")),
        several => Err(format!("{} all have the serial number {serial}", several.join(", "))),
    }
}

/// The namespace of an NVMe subsystem; exactly one has to be there.
fn by_nqn(root: &Root, nqn: &str) -> Result<String, String> {
    let has = |name: &String| {
        let told = root.text(&format!("/sys/class/nvme-subsystem/{name}/subsysnqn")).get();
        told.is_some_and(|told| told.trim() == nqn.trim())
    };
    let subsystems = root.list("/sys/class/nvme-subsystem").into_iter().filter(has);
    let is_namespace = |name: &String| {
        let rest = name.strip_prefix("nvme").unwrap_or_default();
        rest.contains('n') && !rest.contains('p') && !rest.contains('c')
    };
    let found: Vec<String> = subsystems
        .flat_map(|name| root.list(&format!("/sys/class/nvme-subsystem/{name}")))
        .filter(is_namespace)
        .collect();
    match found.as_slice() {
        [only] => Ok(scene::device(only).display().to_string()),
        [] => Err(format!("no namespace of {nqn} is connected here")),
        several => Err(format!(
            "{} has several namespaces here ({}): name one by its serial or path",
            nqn,
            several.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_target_is_said() {
        let (root, machine) = (Root::live(), Machine::default());
        for (typed, why) in [
            ("data", "absolute path"),
            ("serial:no-such-drive", "no device here"),
            ("nqn:nqn.2014-08.org:none", "no namespace"),
            ("nbd://a;b", "absolute path"),
        ] {
            assert!(find(&root, &machine, typed).is_err_and(|said| said.contains(why)), "{typed}");
        }
        let found = find(&root, &machine, "nbd://10.0.0.1/disk").expect("is an export");
        assert_eq!((found.kind, found.server.as_deref()), (FoundKind::Nbd, Some("10.0.0.1")));
    }
}
