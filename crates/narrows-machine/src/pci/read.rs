//! Reads PCI functions out of `/sys/bus/pci`.

use std::collections::BTreeMap;

use super::config::{CONFIG_BYTES, NoExpress, parse_express};
use super::{Aer, Express, LinkEnd, PciAddress, PciDevice, PciId};
use crate::cpu::parse_list;
use crate::root::Root;
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};

const DEVICES: &str = "/sys/bus/pci/devices";
const SLOTS: &str = "/sys/bus/pci/slots";

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// Reads every PCI function. A function that sleeps without power (`D3cold`) is not woken: its link and config space
/// are [`Fact::Denied`].
pub fn read(root: &Root) -> BTreeMap<PciAddress, PciDevice> {
    let slots = slots(root);
    let addresses = root.list_of(DEVICES).into_iter();
    addresses.map(|address| (address, device(root, address, &slots))).collect()
}

fn device(root: &Root, address: PciAddress, slots: &Slots) -> PciDevice {
    let dir = format!("{DEVICES}/{address}");
    let file = |name: &str| format!("{dir}/{name}");
    let place = root.resolve(&dir).get().and_then(|path| parse_place(&path)).unwrap_or_default();
    let power_state = root.text(&file("power_state"));
    let link = link(root, &dir, &power_state);
    PciDevice {
        address,
        id: id(root, &dir),
        class: root.number(&file("class")).map(|class| u32::try_from(class & 0xff_ffff).unwrap_or_default()),
        parent: place.parent,
        domain_owner: place.domain_owner,
        driver: root.link_name(&file("driver")),
        express: if_awake(&power_state, file("config"), |path| express(root, path, &link)),
        link,
        numa_node: root
            .text(&file("numa_node"))
            .absent_when(|node| node == "-1")
            .parse(|node| node.parse().ok()),
        local_cpus: root.parse(&file("local_cpulist"), parse_list),
        iommu_group: root.link_name(&file("iommu_group")).parse(|group| group.parse().ok()),
        interrupts: root.list_of(&file("msi_irqs")),
        power_state,
        aer: read_aer(root, &dir),
        slot: slot(slots, address),
        ..PciDevice::default()
    }
}

pub(crate) fn id(root: &Root, dir: &str) -> Fact<PciId> {
    let number = |name: &str| root.parse(&format!("{dir}/{name}"), parse_id);
    number("vendor").and_then(|vendor| number("device").map(|device| PciId { vendor, device }))
}

fn parse_id(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn link(root: &Root, dir: &str, power_state: &Fact<String>) -> LinkEnd {
    let file = |name: &str| format!("{dir}/{name}");
    let speed = |name: &str| if_awake(power_state, file(name), |path| root.parse(path, GtPerSec::parse));
    let width = |name: &str| if_awake(power_state, file(name), |path| root.parse(path, parse_width));
    LinkEnd {
        current_speed: speed("current_link_speed"),
        max_speed: speed("max_link_speed"),
        current_width: width("current_link_width"),
        max_width: width("max_link_width"),
        ..LinkEnd::default()
    }
}

/// A function that does not answer shows a width of all ones, 63.
pub(crate) fn parse_width(text: &str) -> Option<Lanes> {
    Lanes::parse(text).filter(|lanes| lanes.get() <= WIDEST)
}

/// What `read` tells of a file, unless reading it would wake a function without power.
pub(super) fn if_awake<T>(
    power_state: &Fact<String>,
    path: String,
    read: impl FnOnce(&str) -> Fact<T>,
) -> Fact<T> {
    match power_state.value() {
        Some(state) if state == "D3cold" => {
            Fact::Denied { source: Source::new(path), need: "the device to be awake".to_owned() }
        }
        _ => read(&path),
    }
}

/// Reads config space of PCI Express functions only, because it is the one file that costs time: each register is an
/// access to the device, and in a virtual machine an exit.
fn express(root: &Root, path: &str, link: &LinkEnd) -> Fact<Express> {
    let no_capability = || Fact::absent(format!("{path}, PCI Express capability"));
    if !link.is_present() {
        return no_capability();
    }
    root.head(path, CONFIG_BYTES).and_then(|config| match parse_express(&config) {
        Ok(express) => Fact::known(express, path),
        Err(NoExpress::NotExpress) => no_capability(),
        Err(NoExpress::Hidden) => Fact::Denied { source: Source::new(path), need: "root".to_owned() },
        Err(NoExpress::Garbled(raw)) => Fact::Garbled { source: Source::new(path), raw },
    })
}

/// Where a function sits, from its path.
#[derive(Debug, Default, PartialEq, Eq)]
struct FunctionPlace {
    parent: Option<PciAddress>,
    domain_owner: Option<PciAddress>,
}

/// Reads `…/pci0000:00/0000:00:1c.4/0000:06:00.0`: each directory is a function, and the one above it its bridge. A
/// domain below a function (`…/0000:00:0e.0/pci10000:e0/10000:e0:06.0`) belongs to that function.
fn parse_place(path: &str) -> Option<FunctionPlace> {
    let mut above = path.rsplit('/').skip(1);
    let parent = parse_full(above.next()?);
    let mut place = FunctionPlace { parent, domain_owner: None };
    if parent.is_some() {
        above.by_ref().find(|part| parse_full(part).is_none());
    }
    place.domain_owner = above.next().and_then(parse_full);
    Some(place)
}

fn parse_full(text: &str) -> Option<PciAddress> {
    text.parse().ok().filter(|_| text.matches(':').count() == 2)
}

/// Slot names, by domain, bus and device; without a device where the slot stands for the whole bus.
type Slots = BTreeMap<(u32, u8, Option<u8>), (String, String)>;

fn slots(root: &Root) -> Slots {
    let names = root.list(SLOTS);
    let slots = names.into_iter().filter_map(|name| {
        let path = format!("{SLOTS}/{name}/address");
        let place = root.parse(&path, parse_slot_address).get()?;
        Some((place, (name, path)))
    });
    slots.collect()
}

/// Reads `0000:02:00`, or `0000:02` for a slot without a device number (kernel `drivers/pci/slot.c`,
/// `address_read_file`).
fn parse_slot_address(text: &str) -> Option<(u32, u8, Option<u8>)> {
    let has_device = text.matches(':').count() == 2;
    let function = if has_device { format!("{text}.0") } else { format!("{text}:00.0") };
    let address = parse_full(&function)?;
    Some((address.domain, address.bus, has_device.then_some(address.device)))
}

/// Names slots by what sits in them.
pub(crate) fn slot_names(root: &Root) -> impl Fn(PciAddress) -> Option<String> {
    let slots = slots(root);
    move |address| slot(&slots, address).get()
}

fn slot(slots: &Slots, address: PciAddress) -> Fact<String> {
    let of = |device| slots.get(&(address.domain, address.bus, device));
    match of(Some(address.device)).or_else(|| of(None)) {
        Some((name, path)) => Fact::known(name.clone(), path.clone()),
        None => Fact::absent(SLOTS),
    }
}

/// Reads the error counts of the function at `dir`; absent when it does not report errors.
pub(crate) fn read_aer(root: &Root, dir: &str) -> Fact<Aer> {
    let counts = |kind: &str| root.parse(&format!("{dir}/aer_dev_{kind}"), parse_counts);
    counts("correctable").map(|correctable| Aer {
        correctable,
        nonfatal: counts("nonfatal").get().unwrap_or_default(),
        fatal: counts("fatal").get().unwrap_or_default(),
        is_status: false,
    })
}

/// Reads lines such as `RxErr 0`. Totals (`TOTAL_ERR_COR`) are left out; `None` when a line is not a name and a count.
fn parse_counts(text: &str) -> Option<BTreeMap<String, u64>> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("TOTAL_"))
        .map(|line| {
            let (name, count) = line.trim().rsplit_once(char::is_whitespace)?;
            Some((name.trim().to_owned(), count.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Node, Tree};
    use proptest::prelude::*;

    fn at(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    /// Puts a function where `path` says, with what every function has.
    fn function(tree: &mut Tree, path: &str, class: &str) {
        let dir = format!("/sys/devices/{path}");
        let name = path.rsplit('/').next().expect("a name");
        tree.link(&format!("{DEVICES}/{name}"), &format!("../../../devices/{path}"))
            .file(&format!("{dir}/vendor"), "0x144d\n")
            .file(&format!("{dir}/device"), "0xa80a\n")
            .file(&format!("{dir}/class"), &format!("{class}\n"))
            .file(&format!("{dir}/numa_node"), "-1\n")
            .file(&format!("{dir}/local_cpulist"), "0-3\n");
    }

    fn place(path: &str) -> (Option<String>, Option<String>) {
        let place = parse_place(path).expect("a place");
        (place.parent.map(|a| a.to_string()), place.domain_owner.map(|a| a.to_string()))
    }

    #[test]
    fn the_path_tells_the_bridge_above() {
        assert_eq!(place("/sys/devices/pci0000:00/0000:00:1f.2"), (None, None));
        assert_eq!(
            place("/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0"),
            (Some("0000:00:1c.4".into()), None)
        );
        assert_eq!(
            place("/sys/devices/platform/axi/1000120000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0"),
            (Some("0001:00:00.0".into()), None)
        );
    }

    #[test]
    fn a_domain_of_vmd_has_root_ports_of_its_own() {
        let vmd = Some("0000:00:0e.0".to_owned());
        let port = "/sys/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0";
        assert_eq!(place(port), (None, vmd.clone()));
        assert_eq!(place(&format!("{port}/10000:e1:00.0")), (Some("10000:e0:06.0".into()), vmd));
    }

    #[test]
    fn a_function_is_read_whole() {
        let mut tree = Tree::new();
        function(&mut tree, "pci0000:00/0000:00:1c.4", "0x060400");
        function(&mut tree, "pci0000:00/0000:00:1c.4/0000:06:00.0", "0x010802");
        let dir = "/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0";
        tree.link(&format!("{dir}/driver"), "../../../../bus/pci/drivers/nvme")
            .link(&format!("{dir}/iommu_group"), "../../../../kernel/iommu_groups/14")
            .file(&format!("{dir}/current_link_speed"), "5.0 GT/s PCIe\n")
            .file(&format!("{dir}/max_link_speed"), "16.0 GT/s PCIe\n")
            .file(&format!("{dir}/current_link_width"), "1\n")
            .file(&format!("{dir}/max_link_width"), "4\n")
            .file(&format!("{dir}/power_state"), "D0\n")
            .file(&format!("{dir}/msi_irqs/130"), "msix\n")
            .file(&format!("{dir}/msi_irqs/131"), "msix\n")
            .file("/sys/bus/pci/slots/7/address", "0000:06:00\n");
        let devices = read(&Root::from_tree(tree));
        let drive = &devices[&at("06:00.0")];
        assert_eq!(drive.id.get().map(|id| id.to_string()).as_deref(), Some("144d:a80a"));
        assert!(drive.is_nvme());
        assert_eq!(drive.parent, Some(at("00:1c.4")));
        assert_eq!(drive.driver.value().map(String::as_str), Some("nvme"));
        assert_eq!(drive.link.current_speed.get(), Some(GtPerSec::GEN2));
        assert_eq!(drive.link.max_width.get(), Some(Lanes::new(4)));
        assert_eq!(drive.iommu_group.get(), Some(14));
        assert_eq!(drive.interrupts, [130, 131]);
        assert_eq!(drive.slot.value().map(String::as_str), Some("7"));
        assert_eq!(drive.numa_node, Fact::absent("/sys/bus/pci/devices/0000:06:00.0/numa_node"));
        assert_eq!(drive.local_cpus.get(), Some(vec![0, 1, 2, 3]));
        assert!(devices[&at("00:1c.4")].slot.value().is_none());
    }

    #[test]
    fn what_the_kernel_does_not_know_stays_unknown() {
        let mut tree = Tree::new();
        function(&mut tree, "pci0000:00/0000:00:02.0", "0x020000");
        let dir = "/sys/devices/pci0000:00/0000:00:02.0";
        tree.file(&format!("{dir}/current_link_speed"), "Unknown\n")
            .file(&format!("{dir}/current_link_width"), "0\n")
            .file(&format!("{dir}/max_link_width"), "255\n");
        let link = read(&Root::from_tree(tree)).remove(&at("00:02.0")).expect("is there").link;
        assert!(matches!(link.current_speed, Fact::Garbled { .. }));
        assert!(matches!(link.max_speed, Fact::Absent { .. }));
        assert!(matches!(link.current_width, Fact::Garbled { .. }));
        assert!(matches!(link.max_width, Fact::Garbled { .. }));
        assert_eq!(parse_width("63"), None, "all ones");
    }

    #[test]
    fn a_function_without_power_is_not_woken() {
        let mut tree = Tree::new();
        function(&mut tree, "pci0000:00/0000:00:01.0", "0x030000");
        let dir = "/sys/devices/pci0000:00/0000:00:01.0";
        tree.file(&format!("{dir}/power_state"), "D3cold")
            .file(&format!("{dir}/current_link_speed"), "2.5 GT/s PCIe")
            .file(&format!("{dir}/config"), "never read");
        let device = read(&Root::from_tree(tree)).remove(&at("00:01.0")).expect("is there");
        let why = device.link.current_speed.missing().expect("unknown");
        assert!(why.ends_with("needs the device to be awake"), "{why}");
        assert!(matches!(device.express, Fact::Denied { .. }));
    }

    #[test]
    fn config_space_that_is_closed_to_us_needs_root() {
        let mut header = vec![0; 64];
        header[..2].copy_from_slice(&[0x4d, 0x14]);
        header[0x06] = 0x10;
        header[0x34] = 0x40;
        let mut tree = Tree::new();
        function(&mut tree, "pci0000:00/0000:00:01.0", "0x010802");
        tree.insert("/sys/devices/pci0000:00/0000:00:01.0/config", Node::File(header));
        tree.file("/sys/devices/pci0000:00/0000:00:01.0/max_link_speed", "8.0 GT/s PCIe");
        function(&mut tree, "pci0000:00/0000:00:02.0", "0x010601");
        tree.insert("/sys/devices/pci0000:00/0000:00:02.0/config", Node::Denied);
        tree.file("/sys/devices/pci0000:00/0000:00:02.0/max_link_speed", "8.0 GT/s PCIe");
        let devices = read(&Root::from_tree(tree));
        for address in ["00:01.0", "00:02.0"] {
            assert!(matches!(&devices[&at(address)].express, Fact::Denied { need, .. } if need == "root"));
        }
    }

    #[test]
    fn a_slot_without_a_device_number_stands_for_its_bus() {
        assert_eq!(parse_slot_address("0000:02:00"), Some((0, 2, Some(0))));
        assert_eq!(parse_slot_address("0000:af"), Some((0, 0xaf, None)));
        assert_eq!(parse_slot_address("10000:e1:00"), Some((0x10000, 0xe1, Some(0))));
        assert_eq!(parse_slot_address("02"), None);
        let slots = Slots::from([((0, 2, None), ("4".to_owned(), "path".to_owned()))]);
        assert_eq!(slot(&slots, at("02:1f.3")).get().as_deref(), Some("4"));
    }

    #[test]
    fn the_functions_of_this_machine_are_read() {
        for (address, device) in read(&Root::live()) {
            assert_eq!(device.address, address);
            assert!(device.id.value().is_some() && device.class.value().is_some(), "{address}: {device:?}");
        }
    }

    proptest! {
        #[test]
        fn no_path_or_slot_panics(path in "[0-9a-fpci:./]{0,60}", address in "[0-9a-f:]{0,14}") {
            let _ = parse_place(&path);
            let _ = parse_slot_address(&address);
        }
    }

    #[test]
    fn counts_are_read_by_name_and_the_total_is_left_out() {
        let text = "RxErr 3\nBadTLP 0\nBadDLLP 17\nRollover 0\nTimeout 2\nTOTAL_ERR_COR 22\n";
        let counts = parse_counts(text).expect("valid");
        assert_eq!(counts.len(), 5);
        assert_eq!(counts["RxErr"], 3);
        assert_eq!(counts["BadDLLP"], 17);
        assert_eq!(counts.values().sum::<u64>(), 22, "what the kernel's own total says");
        assert_eq!(parse_counts("RxErr many"), None);
        assert_eq!(parse_counts("RxErr"), None);
    }

    #[test]
    fn a_function_without_error_reporting_has_no_counts() {
        let mut tree = Tree::new();
        tree.file("/d/aer_dev_correctable", "RxErr 1\nTOTAL_ERR_COR 1\n")
            .file("/d/aer_dev_fatal", "DLP 4\nTOTAL_ERR_FATAL 4\n");
        let root = Root::from_tree(tree);
        let aer = read_aer(&root, "/d").get().expect("known");
        assert_eq!((aer.correctable["RxErr"], aer.fatal["DLP"], aer.nonfatal.len()), (1, 4, 0));
        assert_eq!(read_aer(&root, "/e"), Fact::absent("/e/aer_dev_correctable"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse_counts(&text);
        }
    }
}
