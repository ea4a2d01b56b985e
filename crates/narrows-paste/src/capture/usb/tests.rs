use narrows_machine::usb::port_speed;
use proptest::prelude::*;

use super::*;

fn devices(body: &str) -> UsbDevices {
    let part = read(&Text::new("lsusb", body.as_bytes()));
    assert_eq!(part.kind, Some("lsusb"), "nothing was understood");
    part.machine.usb
}

fn of(devices: &UsbDevices, bus: u16, device: u16) -> UsbDevice {
    devices.get(&UsbAddress { bus, device }).cloned().expect("there")
}

fn megabits(fact: &Fact<BitsPerSec>) -> Option<f64> {
    fact.value().map(|rate| rate.get() / 1e6)
}

/// lore.kernel.org/linux-usb, an enclosure on a cable without the fast pairs.
const NEW: &str = "\
/:  Bus 003.Port 001: Dev 001, Class=root_hub, Driver=xhci_hcd/1p, 480M
    ID 1d6b:0002 Linux Foundation 2.0 root hub
    |__ Port 001: Dev 006, If 0, Class=Mass Storage, Driver=usb-storage, 480M\t<<<
        ID 0bda:9210 Realtek Semiconductor Corp. RTL9210 M.2 NVME Adapter\t<<< this one
/:  Bus 004.Port 001: Dev 001, Class=root_hub, Driver=xhci_hcd/1p, 20000M/x2
    ID 1d6b:0003 Linux Foundation 3.0 root hub
";

#[test]
fn usb_devices_tells_rate_version_and_driver() {
    let text = "T:  Bus=01 Lev=02 Prnt=02 Port=02 Cnt=01 Dev#=  3 Spd=480 MxCh= 0\nD:  Ver= 2.10 Cls=00(>ifc ) Sub=00 Prot=00 MxPS=64 #Cfgs=  1\n\
        P:  Vendor=174c ProdID=235c Rev=01.00\nS:  Manufacturer=ASMedia\nS:  Product=USB3.1 External HDD\n\
        I:  If#=0x0 Alt= 0 #EPs= 2 Cls=08(stor.) Sub=06 Prot=50 Driver=usb-storage\n";
    let part = read(&Text::new("usb.txt", text.as_bytes()));
    let device = &part.machine.usb[&UsbAddress { bus: 1, device: 3 }];
    assert_eq!(device.speed.get(), Some(BitsPerSec::from_mbit(480.0)));
    assert_eq!(device.id.get(), Some((0x174c, 0x235c)));
    assert_eq!(device.version.value().map(String::as_str), Some("2.10"));
    assert_eq!(device.driver.value().map(String::as_str), Some("usb-storage"));
    assert!(device.is_storage());
}

#[test]
fn a_tree_gives_places_rates_drivers_and_the_port() {
    let devices = devices(NEW);
    let enclosure = of(&devices, 3, 6);
    assert_eq!(enclosure.name.get().as_deref(), Some("3-1"));
    assert_eq!((megabits(&enclosure.speed), enclosure.id.get()), (Some(480.0), Some((0x0bda, 0x9210))));
    assert_eq!(enclosure.driver.get().as_deref(), Some("usb-storage"));
    assert!(enclosure.is_storage() && !of(&devices, 4, 1).is_storage());
    assert_eq!(
        enclosure.product.get().as_deref(),
        Some("Realtek Semiconductor Corp. RTL9210 M.2 NVME Adapter")
    );
    assert_eq!(megabits(&port_speed(&devices, &enclosure)), Some(20_000.0), "the fast side of the same port");
    assert_eq!(enclosure.speed.source().as_str(), "lsusb:3");
}

#[test]
fn an_old_tree_with_hubs_gives_the_kernels_names() {
    let devices = devices(
        "/:  Bus 02.Port 1: Dev 1, Class=root_hub, Driver=ehci_hcd/3p, 480M\n\
         \x20   |__ Port 1: Dev 2, If 0, Class=hub, Driver=hub/8p, 480M\n\
         \x20       |__ Port 6: Dev 4, If 0, Class=hub, Driver=hub/3p, 12M\n\
         \x20           |__ Port 2: Dev 6, If 0, Class=HID, Driver=, 12M\n\
         \x20           |__ Port 2: Dev 6, If 1, Class=stor., Driver=usb-storage, 12M\n\
         \x20   |__ Port 3: Dev 9, If 0, Class='bInterfaceClass 0x0e not yet handled', Driver=uvcvideo, 1.5M\n",
    );
    let name = |number| of(&devices, 2, number).name.get();
    assert_eq!(name(4).as_deref(), Some("2-1.6"));
    assert_eq!(name(6).as_deref(), Some("2-1.6.2"));
    assert_eq!(name(9).as_deref(), Some("2-3"));
    assert_eq!(
        of(&devices, 2, 6).driver.get().as_deref(),
        Some("usb-storage"),
        "the interface that stores counts"
    );
    assert_eq!(megabits(&of(&devices, 2, 9).speed), Some(1.5));
}

#[test]
fn descriptors_say_what_a_device_can_do() {
    let devices = devices(
        "Bus 004 Device 002: ID 0578:0578 Intrinsix Corp. JMS580\nNegotiated speed: SuperSpeed (5Gbps)\n\
         Device Descriptor:\n  bcdUSB               3.10\n  iProduct                2 JMS580\n\
         \x20     bInterfaceClass         8 Mass Storage\n      bInterfaceProtocol     80 Bulk-Only\n\
         \x20     Device can operate at High Speed (480Mbps)\n      Device can operate at SuperSpeed (5Gbps)\n\
         \x20     Speed Attribute ID: 5 10Gb/s Symmetric RX SuperSpeedPlus\n\
         Bus 004 Device 001: ID 1d6b:0003 Linux Foundation 3.0 root hub\n      Device can operate at SuperSpeed (5Gbps)\n",
    );
    let bridge = of(&devices, 4, 2);
    assert_eq!((megabits(&bridge.speed), megabits(&bridge.most_speed)), (Some(5000.0), Some(10_000.0)));
    assert_eq!(bridge.version.get().as_deref(), Some("3.10"));
    assert_eq!(
        (bridge.product.get().as_deref(), bridge.class.get().as_deref()),
        (Some("JMS580"), Some("Mass Storage"))
    );
    assert_eq!(megabits(&of(&devices, 4, 1).most_speed), Some(5000.0));
}

#[test]
fn a_plain_list_has_numbers_and_says_what_is_missing() {
    let part = read(&Text::new("x", b"Bus 001 Device 004: ID 0781:5581 SanDisk Corp. Ultra\nBus 001 Device 001: ID 1d6b:0002 Linux Foundation 2.0 root hub\n"));
    assert_eq!(part.machine.usb.len(), 2);
    assert_eq!(part.gaps[0].run, "lsusb -t");
    assert!(part.machine.usb.values().all(|device| device.speed.value().is_none()));
}

#[test]
fn attributes_of_root_hubs_are_read() {
    let devices = devices(
        "/sys/bus/usb/devices/usb5/speed:10000\n/sys/bus/usb/devices/usb5/rx_lanes = 2\n/sys/bus/usb/devices/usb3/rx_lanes = 1\n",
    );
    assert_eq!(megabits(&of(&devices, 5, 1).speed), Some(20_000.0));
    assert_eq!(devices.len(), 1);
}

#[test]
fn other_texts_and_hostile_trees_say_nothing() {
    for text in [
        "",
        "Bus error (core dumped)\n",
        "/:  Bus x.Port 1: Dev 1, 480M\n",
        "    |__ Port 1: Dev 2, If 0, Class=hub, Driver=hub/8p, 480M\n",
        "Bus 99999 Device 001: ID 1d6b:0002 x\n",
        "00:1f.3 SMBus: Intel Corporation\n\tBus: primary=00, secondary=01\n",
    ] {
        assert_eq!(read(&Text::new("x", text.as_bytes())).kind, None, "{text}");
    }
    let deep: String = (1..40)
        .map(|depth| format!("{}|__ Port 1: Dev {}, 480M\n", " ".repeat(4 * depth), depth + 1))
        .collect();
    let devices = devices(&format!("/:  Bus 01.Port 1: Dev 1, 480M\n{deep}"));
    assert!(devices.len() <= 9, "chains of hubs end");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_tree_cut_or_changed_panics(from in 0usize..600, to in 0usize..600, with in "\\PC{0,6}") {
        let (from, to) = (from.min(to).min(NEW.len()), from.max(to).min(NEW.len()));
        let _ = read(&Text::new("x", format!("{}{with}{}", &NEW[..from], &NEW[to..]).as_bytes()));
    }
}

/// Of issues about a DiskStation.
const SYNOLOGY: &str = "|__usb1          1d6b:0002:0404 09  2.00  480MBit/s 0mA 1IF  \
    (Linux 4.4.302+ xhci-hcd xHCI Host Controller 0000:00:15.0) hub\n  \
    |__1-1         0bda:8157:3000 00  2.10  480MBit/s 500mA 1IF  (Realtek USB 10/100/1G/2.5G/5G LAN 0001000001)\n \
    1-1:1.0          (IF) ff:00:00 2EPs () r8152 \n\
    |__usb2          1d6b:0003:0404 09  3.00 5000MBit/s 0mA 1IF  \
    (Linux 4.4.302+ xhci-hcd xHCI Host Controller 0000:00:15.0) hub\n";

#[test]
fn the_tree_of_dsm_tells_names_versions_and_rates() {
    let plain = SYNOLOGY.replace("|__", "");
    for text in [SYNOLOGY.to_owned(), plain, format!("{SYNOLOGY}\n{SYNOLOGY}")] {
        let devices = read(&Text::new("x", text.as_bytes())).machine.usb;
        assert_eq!(devices.len(), 3, "{text}");
        let card = devices.values().find(|device| !device.is_root_hub()).expect("a card");
        assert_eq!((card.name.get().as_deref(), card.id.get()), (Some("1-1"), Some((0x0bda, 0x8157))));
        assert_eq!(card.product.get().as_deref(), Some("Realtek USB 10/100/1G/2.5G/5G LAN"));
        assert_eq!((card.version.get().as_deref(), card.is_storage()), (Some("2.10"), false));
        let usb = narrows_machine::usb::transport(&devices, card);
        assert_eq!(usb.speed.get(), Some(BitsPerSec::from_mbit(480.0)));
        assert_eq!(usb.root_hub_speed.get(), Some(BitsPerSec::from_mbit(5000.0)), "the bus beside it");
        assert_eq!(usb.pci.map(|pci| pci.to_string()).as_deref(), Some("0000:00:15.0"));
    }
}
