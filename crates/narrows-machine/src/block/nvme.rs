//! NVMe controllers: PCI Express, fabrics, and native multipath (kernel `Documentation/ABI/testing/sysfs-class-nvme`,
//! `drivers/nvme/host/sysfs.c`, `multipath.c`).

use super::transport::{Remote, Transport};
use super::{DevicePath, is_numbered};
use crate::root::Root;
use narrows_base::fact::Fact;

/// An NVMe-oF connection.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NvmeFabric {
    /// The controller's kernel name, `nvme1`.
    pub controller: String,
    /// `tcp`, `rdma` or `fc`, `/sys/class/nvme/*/transport`.
    pub transport: String,
    /// Where it leads.
    pub remote: Remote,
    /// The number of I/O queues (connections), `/sys/class/nvme/*/queue_count` less the admin queue.
    pub queues: Fact<u32>,
}

/// The transport of a namespace through the controller on its path; `None` for the head of a multipath namespace,
/// which hangs on a subsystem rather than on a controller.
pub(super) fn read(root: &Root, path: DevicePath<'_>) -> Option<Transport> {
    let controller = path.parent_name().filter(|name| is_numbered(name, "nvme"))?;
    let dir = format!("/sys/class/nvme/{controller}");
    let transport = root.text(&format!("{dir}/transport"));
    let transport = transport.value().map_or("pcie", String::as_str);
    Some(match (transport, path.pci()) {
        ("pcie", Some(pci)) => Transport::NvmePci { controller: controller.to_owned(), pci },
        ("tcp" | "rdma" | "fc", _) => Transport::NvmeFabric(fabric(root, controller, transport)),
        (other, pci) => Transport::Other { name: format!("nvme-{other}"), pci },
    })
}

fn fabric(root: &Root, controller: &str, transport: &str) -> NvmeFabric {
    let dir = format!("/sys/class/nvme/{controller}");
    let address = root.text(&format!("{dir}/address"));
    let option = |name: &str| match address.value() {
        Some(text) => match fabric_option(text, name) {
            Some(value) => Fact::known(value.to_owned(), address.source().as_str()),
            None => Fact::absent(address.source().as_str()),
        },
        None => address.clone(),
    };
    let mut remote = Remote::new(root, option("traddr"), option("trsvcid").parse(|text| text.parse().ok()));
    let bound = option("host_iface");
    if bound.value().is_some() {
        remote.interface = bound;
    }
    NvmeFabric {
        controller: controller.to_owned(),
        transport: transport.to_owned(),
        remote,
        // `queue_count` counts the admin queue too (`nvme_ctrl.queue_count`).
        queues: root.parse(&format!("{dir}/queue_count"), |text| text.parse::<u32>().ok()?.checked_sub(1)),
    }
}

/// One value of `traddr=192.168.1.2,trsvcid=4420,src_addr=192.168.1.5`.
pub fn fabric_option<'a>(address: &'a str, name: &str) -> Option<&'a str> {
    let mut options = address.split(',').filter_map(|option| option.split_once('='));
    options.find(|(key, value)| *key == name && !value.is_empty()).map(|(_, value)| value)
}

/// The hidden paths of the head `nvme0n1`: `nvme0c0n1`, `nvme0c1n1`… among `names`.
pub(super) fn paths_of<'a>(head: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some((subsystem, namespace)) = split_namespace(head) else { return Vec::new() };
    let is_path = |name: &str| {
        let Some((controller, of_namespace)) = split_namespace(name) else { return false };
        let path = controller.strip_prefix(subsystem);
        of_namespace == namespace && path.is_some_and(|path| is_numbered(path, "c"))
    };
    names.filter(|name| is_path(name)).map(str::to_owned).collect()
}

/// `nvme0c1n2` → `nvme0c1` and `2`.
fn split_namespace(name: &str) -> Option<(&str, &str)> {
    let (before, namespace) = name.rsplit_once('n')?;
    let plain = !namespace.is_empty() && namespace.bytes().all(|byte| byte.is_ascii_digit());
    (plain && before.starts_with("nvme")).then_some((before, namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_address_of_a_fabric_is_taken_apart() {
        let address = "traddr=192.168.1.2,trsvcid=4420,host_iface=eth1,src_addr=192.168.1.5";
        assert_eq!(fabric_option(address, "traddr"), Some("192.168.1.2"));
        assert_eq!(fabric_option(address, "trsvcid"), Some("4420"));
        assert_eq!(fabric_option(address, "host_iface"), Some("eth1"));
        assert_eq!(fabric_option(address, "host_traddr"), None);
        assert_eq!(fabric_option("traddr=,trsvcid", "traddr"), None);
    }

    #[test]
    fn hidden_paths_belong_to_the_head_of_their_subsystem_and_namespace() {
        let names = ["nvme0c0n1", "nvme0c1n1", "nvme0c0n12", "nvme1c0n1", "nvme0n1", "nvme01c0n1", "sda"];
        assert_eq!(paths_of("nvme0n1", names.into_iter()), ["nvme0c0n1", "nvme0c1n1"]);
        assert!(paths_of("sda", names.into_iter()).is_empty());
    }

    proptest! {
        #[test]
        fn no_name_or_address_panics(text in "\\PC{0,40}", name in "nvme[0-9cn]{0,8}") {
            let _ = fabric_option(&text, "traddr");
            let _ = paths_of(&text, [name.as_str(), text.as_str()].into_iter());
        }
    }
}
