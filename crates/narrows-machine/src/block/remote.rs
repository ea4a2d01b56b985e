//! Where a network path leads, and iSCSI sessions.

use super::device_path::{DevicePath, is_numbered};
use crate::root::Root;
use crate::route;
use narrows_base::fact::Fact;

/// The far end of a network path, and the interface that leads to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Remote {
    /// The server's address, without port.
    pub address: Fact<String>,
    /// The server's port.
    pub port: Fact<u16>,
    /// The local interface that the routing table chooses for the address.
    pub interface: Fact<String>,
}

impl Remote {
    /// A far end, with the interface that the routing table chooses for it.
    pub(crate) fn new(root: &Root, address: Fact<String>, port: Fact<u16>) -> Self {
        let interface = match address.value() {
            Some(address) => route::interface_to(root, address),
            None => Fact::default(),
        };
        Self { address, port, interface }
    }
}

/// Reads the far end of the iSCSI session on the path. The address in use comes first: a portal may have sent us
/// elsewhere than to the one that was configured.
pub(super) fn read_iscsi(root: &Root, session: &str) -> Remote {
    let connection = session.replacen("session", "connection", 1);
    let names = root.list("/sys/class/iscsi_connection");
    let prefix = format!("{connection}:");
    let name = names.into_iter().find(|name| name.starts_with(&prefix)).unwrap_or(format!("{connection}:0"));
    let either = |current: &str, configured: &str| {
        let read = |file: &str| root.text(&format!("/sys/class/iscsi_connection/{name}/{file}"));
        let usable = |fact: &Fact<String>| fact.value().is_some_and(|text| !text.is_empty());
        let current = read(current);
        if usable(&current) { current } else { read(configured) }
    };
    let port = either("port", "persistent_port").parse(|text| text.parse().ok());
    Remote::new(root, either("address", "persistent_address"), port)
}

/// The `sessionN` component of an iSCSI device.
pub(super) fn session(path: DevicePath<'_>) -> Option<&str> {
    path.components().rev().find(|component| is_numbered(component, "session"))
}
