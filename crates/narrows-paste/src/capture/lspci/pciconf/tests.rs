use proptest::prelude::*;

use super::*;

/// FreeBSD 14 on a laptop, shortened.
const LAPTOP: &str = "\
pcib1@pci0:0:1:0:\tclass=0x060400 rev=0x08 hdr=0x01 vendor=0x8086 device=0x0d01 subvendor=0x106b subdevice=0x0147
    vendor     = 'Intel Corporation'
    device     = 'Crystal Well PCI Express x16 Controller'
    class      = bridge
    subclass   = PCI-PCI
    bus range  = 1-1
    cap 0d[88] = PCI Bridge subvendor=0x106b subdevice=0x0147
    cap 01[80] = powerspec 3  supports D0 D3  current D0
    cap 10[a0] = PCI-Express 2 root port max data 128(256)
                 max read 128
                 link x4(x8) speed 8.0(8.0) ASPM L1(L0s/L1)
                 slot 1 power limit 75000 mW
    ecap 0002[100] = VC 1 max VC0
pcib3@pci0:0:28:0:\tclass=0x060400 rev=0xd5 hdr=0x01 vendor=0x8086 device=0x8c10 subvendor=0x8086 subdevice=0x7270
    vendor     = 'Intel Corporation'
    device     = '8 Series/C220 Series Chipset Family PCI Express Root Port'
    cap 10[40] = PCI-Express 2 root port max data 128(128)
                 max read 128
                 link x0(x1) speed 0.0(5.0) ASPM disabled(L0s/L1)
                 slot 0 power limit 0 mW HotPlug(empty) surprise
    cap 05[80] = MSI supports 1 message enabled with 1 message
ahci0@pci0:1:0:0:\tclass=0x010601 rev=0x01 hdr=0x00 vendor=0x144d device=0xa801 subvendor=0x144d subdevice=0xa801
    vendor     = 'Samsung Electronics Co Ltd'
    device     = 'S4LN058A01[SSUBX] AHCI SSD Controller (Apple slot)'
    class      = mass storage
    subclass   = SATA
    cap 01[40] = powerspec 3  supports D0 D3  current D0
    cap 10[70] = PCI-Express 2 endpoint max data 128(128) FLR RO NS
                 max read 512
                 link x4(x4) speed 8.0(8.0) ASPM L1(L1) ClockPM enabled
    ecap 0001[100] = AER 2 0 fatal 0 non-fatal 1 corrected
vgapci0@pci0:0:2:0:\tclass=0x030000 rev=0x08 hdr=0x00 vendor=0x8086 device=0x0d26 subvendor=0x106b subdevice=0x0147
    vendor     = 'Intel Corporation'
    cap 05[90] = MSI supports 1 message enabled with 1 message
none2@pci0:4:0:0:\tclass=0x048000 rev=0x00 hdr=0x00 vendor=0x14e4 device=0x1570 subvendor=0x14e4 subdevice=0x1570
    vendor     = 'Broadcom Inc. and subsidiaries'
    device     = '720p FaceTime HD Camera'
    cap 10[ac] = PCI-Express 2 endpoint max data 128(512) RO NS
                 max read 512
                 link x1(x1) speed 2.5(5.0) ASPM L1(L0s/L1) ClockPM disabled
";

/// FreeBSD 9 and before: one number for vendor and device, and lines that `pciconf` breaks elsewhere.
const OLD: &str = "\
re0@pci0:1:0:0: class=0x020000 card=0x012310ec chip=0x816810ec rev=0x06 hdr=0x00
    vendor     = 'Realtek Semiconductor Co., Ltd.'
    device     = 'RTL8111/8168B PCI Express Gigabit Ethernet controller'
    class      = network
    cap 05[50] = MSI supports 1 message, 64 bit
    cap 10[70] = PCI-Express 2 endpoint IRQ 1 max data 128(128) link x1(x1)
                 speed 2.5(2.5) ASPM disabled(L0s/L1)
    cap 11[b0] = MSI-X supports 4 messages, enabled
none0@pci0:31:3: class=0x0c0500 card=0x72708086 chip=0x3a308086 rev=0x00 hdr=0x00
";

fn read_text(text: &str) -> Part {
    read_pciconf(&Text::new("x", text.as_bytes()))
}

fn at<'p>(part: &'p Part, address: &str) -> &'p PciDevice {
    part.machine.pci.get(&address.parse().expect("an address")).expect("a function")
}

/// Current and most, speeds in GT/s; 0 where a value is not known.
fn link_of(part: &Part, address: &str) -> (u8, u8, String, String) {
    let link = &at(part, address).link;
    let width = |fact: &Fact<narrows_base::units::Lanes>| fact.value().map_or(0, |lanes| lanes.get());
    let speed = |fact: &Fact<GtPerSec>| fact.value().map_or_else(String::new, ToString::to_string);
    (width(&link.current_width), width(&link.max_width), speed(&link.current_speed), speed(&link.max_speed))
}

fn want(now: u8, most: u8, speeds: [&str; 2]) -> (u8, u8, String, String) {
    let speed = |text: &str| GtPerSec::parse(text).map_or_else(String::new, |speed| speed.to_string());
    (now, most, speed(speeds[0]), speed(speeds[1]))
}

fn assert_laptop(part: &Part) {
    assert_eq!(link_of(part, "00:01.0"), want(4, 8, ["8.0 GT/s", "8.0 GT/s"]));
    assert_eq!(link_of(part, "00:1c.0"), want(0, 1, ["", "5.0 GT/s"]), "an empty slot runs at nothing");
    assert_eq!(link_of(part, "01:00.0"), want(4, 4, ["8.0 GT/s", "8.0 GT/s"]));
    assert_eq!(link_of(part, "04:00.0"), want(1, 1, ["2.5 GT/s", "5.0 GT/s"]));
    let drive = at(part, "01:00.0");
    assert_eq!(drive.id.value().map(ToString::to_string).as_deref(), Some("144d:a801"));
    assert_eq!(drive.class.value(), Some(&0x01_0601));
    assert_eq!(drive.port.value(), Some(&PortType::Endpoint));
    assert_eq!(drive.parent, "00:01.0".parse().ok(), "the bus range says what is above it");
    let express = drive.express.value().expect("a whole capability");
    assert_eq!((express.max_payload.get(), express.max_read_request.get()), (128, 512));
    assert!(express.relaxed_ordering && express.aspm_l1 && !express.aspm_l0s);
    let camera = at(part, "04:00.0").express.value().expect("a whole capability");
    assert!(camera.aspm_l1 && !camera.aspm_l0s, "what is in force, not what could be");
}

#[test]
fn both_ends_roles_and_numbers_are_read() {
    let part = read_text(LAPTOP);
    assert_eq!(part.kind, Some("pciconf -lc"));
    assert_laptop(&part);
    let drive = at(&part, "01:00.0");
    assert_eq!(
        drive.name.value().map(String::as_str),
        Some("Samsung Electronics Co Ltd S4LN058A01[SSUBX] AHCI SSD Controller (Apple slot)")
    );
    assert_eq!(drive.driver.value().map(String::as_str), Some("ahci"));
    assert_eq!(at(&part, "04:00.0").driver.value(), None, "`none2` has no driver");
    assert!(matches!(at(&part, "00:02.0").express, Fact::Absent { .. }), "it lists other capabilities");
    assert!(part.gaps.iter().any(|gap| gap.run.contains("pciconf")), "{:?}", part.gaps);
}

#[test]
fn what_stands_around_the_text_changes_nothing() {
    let quoted: String = LAPTOP.lines().map(|line| format!("> {line}\n")).collect();
    assert_laptop(&read_text(&quoted));
    let bare: String = LAPTOP.lines().map(|line| format!("{}\n", line.trim())).collect();
    assert_laptop(&read_text(&bare));
    let foreign = LAPTOP.replace("    vendor     = 'Samsung", "kernel: swap\n    vendor     = 'Samsung");
    assert_laptop(&read_text(&foreign));
}

#[test]
fn a_text_that_is_cut_names_no_faster_link() {
    let end = LAPTOP.find("x4(x8)").expect("the first link");
    for cut in 0.."x4(x8) speed 8.0(8.0)".len() {
        let part = read_text(LAPTOP.get(..end + cut).expect("text of one byte a letter"));
        let link = &at(&part, "00:01.0").link;
        assert!(link.current_width.value().is_none_or(|lanes| lanes.get() == 4), "{cut}");
        assert!(link.max_width.value().is_none_or(|lanes| lanes.get() == 8), "{cut}");
        assert!(link.current_speed.value().is_none_or(|speed| *speed == GtPerSec::GEN3), "{cut}");
        assert!(!matches!(at(&part, "00:01.0").express, Fact::Absent { .. }), "it may have more: {cut}");
    }
}

#[test]
fn old_versions_are_read() {
    let part = read_text(OLD);
    assert_eq!(link_of(&part, "01:00.0"), want(1, 1, ["2.5 GT/s", "2.5 GT/s"]));
    let nic = at(&part, "01:00.0");
    assert_eq!(nic.id.value().map(ToString::to_string).as_deref(), Some("10ec:8168"));
    assert!(nic.express.value().is_none(), "the size of reads is not printed");
    assert_eq!(at(&part, "00:1f.3").class.value(), Some(&0x0c_0500));
}

#[test]
fn a_list_without_capabilities_says_what_would_show_them() {
    let part = read_text(
        "nvme0@pci0:61:0:0:\tclass=0x010802 rev=0x00 hdr=0x00 vendor=0x15b7 device=0x5006 subvendor=0x15b7 subdevice=0x5006
    vendor     = 'Sandisk Corp'
    device     = 'PC SN730 NVMe SSD'
",
    );
    assert_eq!(part.kind, Some("pciconf -lv"));
    let drive = at(&part, "3d:00.0");
    assert!(matches!(&drive.link.current_speed, Fact::Denied { need, .. } if need.contains("pciconf")));
    assert!(!part.gaps.is_empty());
}

#[test]
fn sentences_about_functions_are_no_list() {
    for text in [
        "ntb_hw0@pci0:3:0:0: link is up",
        "user@pci.example.org: class=0x1",
        "@pci0:0:0:0: class=0x010802",
        "a@pci0:0:40:0: class=0x010802",
    ] {
        assert_eq!(read_text(text).kind, None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "(nvme0@pci0:[0-9]{1,3}:0:0:\t(class=0x010802 )?(cap 10\\[a0\\] = )?[ -~]{0,60}\n?){0,4}") {
        let part = read_text(&text);
        for device in part.machine.pci.values() {
            prop_assert!(device.link.max_width.value().is_none_or(|lanes| (1..=32).contains(&lanes.get())));
        }
    }
}
