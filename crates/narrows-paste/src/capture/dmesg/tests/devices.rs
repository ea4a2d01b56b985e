//! Drives, disks, USB devices, arrays and interfaces.

use super::*;

#[test]
fn drives_that_fail_are_events_of_their_function() {
    let machine = machine(
        "nvme nvme9: pci function 0000:11:00.0\n\
         nvme nvme9: I/O 119 QID 2 timeout, aborting\n\
         nvme nvme9: I/O tag 8 (0008) opcode 0x2 (I/O Cmd) QID 1 timeout, aborting req_op:READ(0) size:4096\n\
         nvme nvme9: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n\
         nvme nvme9: Removing after probe failure status: -19\n\
         nvme nvme9: missing or invalid SUBNQN field.\n\
         nvme nvme9: allocated 64 MiB host memory buffer.\n",
    );
    let want = [
        (LogKind::NvmeTimeout, 2),
        (LogKind::ControllerDown, 1),
        (LogKind::NvmeRemoved, 1),
        (LogKind::HostMemoryBuffer(Bytes::from_mib(64)), 1),
    ];
    assert_eq!(kinds(&machine), want);
    assert!(machine.log.iter().all(|event| event.pci == Some(at("11:00.0"))));
}

/// Two controllers, the second with a port of its own; disk and port meet by the number of the SCSI host.
pub(super) const DISKS: &str = "\
ahci 0000:00:17.0: AHCI 0001.0301 32 slots 2 ports 6 Gbps 0x3 impl SATA mode
scsi host0: ahci
scsi host1: ahci
ata1: SATA max UDMA/133 abar m2048@0xdf72b000 port 0xdf72b100 irq 153
ata2: DUMMY
ahci 0000:02:00.0: AHCI vers 0001.0301, 32 command slots, 3 Gbps, SATA mode
scsi host2: ahci
ata3: SATA max UDMA/133 abar m2048@0xdf82b000 port 0xdf82b100 irq 154
ata3: SATA link up 3.0 Gbps (SStatus 123 SControl 300)
ata3: limiting SATA link speed to 1.5 Gbps
ata3: SATA link up 1.5 Gbps (SStatus 113 SControl 310)
ata3.00: ATA-8: WDC WD30EFRX-68EUZN0, 80.00A80, max UDMA/133
scsi 2:0:0:0: Direct-Access     ATA      WDC WD30EFRX-68E 0A80 PQ: 0 ANSI: 5
sd 2:0:0:0: [sda] 5860533168 512-byte logical blocks: (3.00 TB/2.73 TiB)
";

#[test]
fn a_disk_is_tied_to_its_port_through_the_scsi_host() {
    let found = machine(DISKS);
    let disk = &found.block["sda"];
    assert_eq!(disk.size.get(), Some(Bytes::new(5_860_533_168 * 512)));
    assert_eq!(disk.model.get().as_deref(), Some("WDC WD30EFRX-68EUZN0"));
    let Transport::Sata(sata) = &disk.transport else { panic!("{:?}", disk.transport) };
    assert_eq!((sata.port.as_str(), sata.pci), ("ata3", Some(at("02:00.0"))));
    assert_eq!(sata.speed.get(), Some(BitsPerSec::from_mbit(1500.0)), "what was negotiated last");
    assert_eq!(sata.port_speed.get(), Some(BitsPerSec::from_mbit(3000.0)));
    assert_eq!(kinds(&found), [(LogKind::SataLimited(1500), 1)]);
    let other = DISKS.replace("ATA      WDC WD30EFRX-68E", "ATA      ST4000NM0035-1V4");
    let other = machine(&other);
    assert_eq!(
        other.block["sda"].transport,
        Transport::None,
        "another model is another disk, on a port that is not known"
    );
}

#[test]
fn usb_devices_have_rates_controllers_and_disks() {
    let machine = machine(
        "xhci_hcd 0000:08:00.0: new USB bus registered, assigned bus number 3\n\
         xhci_hcd 0000:08:00.0: new USB bus registered, assigned bus number 4\n\
         xhci_hcd 0000:08:00.0: Host supports USB 3.1 Enhanced SuperSpeed\n\
         usb 4-1: new SuperSpeed Plus Gen 2x1 USB device number 2 using xhci_hcd\n\
         usb 4-1: New USB device found, idVendor=152d, idProduct=0583, bcdDevice= 2.08\n\
         usb 4-1: Product: External\n\
         scsi host12: uas\n\
         scsi 12:0:0:0: Direct-Access     JMicron  Tech             0208 PQ: 0 ANSI: 6\n\
         sd 12:0:0:0: [sdi] 1000215216 512-byte logical blocks: (512 GB/477 GiB)\n\
         usb 3-2: new high-speed USB device number 5 using xhci_hcd\n\
         usb-storage 3-2:1.0: USB Mass Storage device detected\n\
         usb 3-3: new full-speed USB device number 6 using xhci_hcd\n\
         usb 3-3: USB disconnect, device number 6\n",
    );
    let of = |bus, device| machine.usb.get(&narrows_machine::usb::UsbAddress { bus, device });
    let fast = of(4, 2).expect("there");
    assert_eq!(fast.name.get().as_deref(), Some("4-1"));
    assert_eq!(fast.speed.get(), Some(BitsPerSec::from_mbit(10_000.0)));
    assert_eq!((fast.id.get(), fast.pci.get()), (Some((0x152d, 0x0583)), Some(at("08:00.0"))));
    assert_eq!(of(4, 1).and_then(|hub| hub.speed.get()), Some(BitsPerSec::from_mbit(10_000.0)));
    assert_eq!(of(3, 5).and_then(|stick| stick.driver.get()).as_deref(), Some("usb-storage"));
    assert!(of(3, 6).is_none(), "it was pulled out");
    let Transport::Usb(usb) = &machine.block["sdi"].transport else { panic!("USB") };
    assert_eq!((usb.device.as_str(), usb.driver.get().as_deref()), ("4-1", Some("uas")));
    assert_eq!(machine.block["sdi"].model.get().as_deref(), Some("JMicron Tech"));
}

#[test]
fn every_wording_of_a_usb_rate_is_known() {
    for (wording, want) in [
        ("low-speed USB device number 2 using ohci-pci", 1.5),
        ("full speed USB device using uhci_hcd and address 2", 12.0),
        ("high-speed USB device number 2 using ehci-pci", 480.0),
        ("SuperSpeed USB device number 2 using xhci_hcd", 5000.0),
        ("SuperSpeed Gen 1 USB device number 2 using xhci_hcd", 5000.0),
        ("SuperSpeedPlus USB device number 2 using xhci_hcd", 10_000.0),
        ("SuperSpeedPlus Gen 2 USB device number 2 using xhci_hcd", 10_000.0),
        ("SuperSpeed Plus Gen 2x1 USB device number 2 using xhci_hcd", 10_000.0),
        ("SuperSpeed Plus Gen 1x2 USB device number 2 using xhci_hcd", 10_000.0),
        ("SuperSpeed Plus Gen 2x2 USB device number 2 using xhci_hcd", 20_000.0),
    ] {
        let machine = machine(&format!("usb 2-1: new {wording}\n"));
        let speed = machine.usb.values().next().and_then(|device| device.speed.get());
        assert_eq!(speed, Some(BitsPerSec::from_mbit(want)), "{wording}");
    }
}

#[test]
fn arrays_know_their_members_and_what_they_lack() {
    let machine = machine(
        "md/raid:md1: device nvme7n1p4 operational as raid disk 0\n\
         md/raid:md1: raid level 6 active with 11 out of 12 devices, algorithm 2\n\
         md: recovery of RAID array md1\n\
         md/raid1:md0: active with 2 out of 2 mirrors\n\
         md: resync of RAID array md0\n\
         md: md0: resync done.\n\
         md/raid1:md0: Disk failure on sdb1, disabling device.\n",
    );
    let array = |name: &str| match &machine.block[name].kind {
        BlockKind::Md(array) => array.clone(),
        other => panic!("{other:?}"),
    };
    let md1 = array("md1");
    assert_eq!(
        (md1.level.get().as_deref(), md1.raid_disks.get(), md1.degraded.get()),
        (Some("raid6"), Some(12), Some(1))
    );
    assert_eq!(md1.sync_action.get().as_deref(), Some("recover"));
    assert_eq!(machine.block["md1"].slaves, ["nvme7n1p4"]);
    let md0 = array("md0");
    assert_eq!((md0.degraded.get(), md0.sync_action.get().as_deref()), (Some(1), Some("idle")));
}

#[test]
fn interfaces_are_named_as_they_are_in_the_end() {
    let machine = machine(
        "igb 0000:03:00.0 enp3s0: renamed from eth0\n\
         igb 0000:03:00.0 enp3s0: igb: enp3s0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: RX\n\
         i40e 0000:3d:00.0 eno1: NIC Link is Up, 10 Gbps Full Duplex, Flow Control: None\n\
         r8169 0000:06:00.0 enp6s0: Link is Up - 2.5Gbps/Full - flow control rx/tx\n\
         tg3 0000:02:00.0 eno5: Link is up at 1000 Mbps, full duplex\n\
         tg3 0000:02:00.0 eno5: Link is down\n\
         mlx4_en 0000:08:00.0 eth4: Link Up\n",
    );
    let speed = |name: &str| machine.nics[name].speed.get();
    assert_eq!(speed("enp3s0"), Some(BitsPerSec::from_mbit(1000.0)));
    assert_eq!(speed("eno1"), Some(BitsPerSec::from_mbit(10_000.0)));
    assert_eq!(speed("enp6s0"), Some(BitsPerSec::from_mbit(2500.0)));
    assert_eq!((speed("eno5"), machine.nics["eno5"].state.get().as_deref()), (None, Some("down")));
    assert_eq!(machine.nics["eno1"].pci, Some(at("3d:00.0")));
}

/// Two forms of the list of partitions that `block/partitions/core.c` prints: logical ones, and behind a log that was cut off at its begin.
#[test]
fn a_namespace_is_kept_without_its_function_and_with_logical_partitions() {
    let machine = machine(
        "[    1.100000] nvme nvme0: pci function 0000:01:00.0\n\
         [    1.200000]  nvme0n1: p1 p2 < p5 p6 >\n\
         [    1.300000]  nvme3n1: p1\n\
         [    1.400000]  nvme4n1: a word\n",
    );
    let names: Vec<&str> = machine.block.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["nvme0n1", "nvme0n1p1", "nvme0n1p2", "nvme0n1p5", "nvme0n1p6", "nvme3n1", "nvme3n1p1"]
    );
    assert!(matches!(machine.block["nvme0n1p6"].transport, Transport::NvmePci { .. }));
    assert!(
        matches!(&machine.block["nvme3n1"].transport, Transport::Other { name, pci: None } if name == "nvme")
    );
}

/// A line that names a disk, and one that names a port, are errors of them as well.
#[test]
fn a_drive_behind_uas_that_is_reset_is_an_event_of_it() {
    let machine = machine(
        "usb 2-1: new SuperSpeed USB device number 2 using xhci_hcd\n\
         sd 0:0:0:0: [sda] 500118192 512-byte logical blocks: (256 GB/238 GiB)\n\
         sd 0:0:0:0: [sda] tag#3 uas_eh_abort_handler 0 uas-tag 4 inflight: CMD IN \n\
         usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd\n\
         usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd\n",
    );
    let events: Vec<(Option<&str>, u64)> =
        machine.log.iter().map(|event| (event.device.as_deref(), event.count)).collect();
    assert_eq!(events, [(Some("sda"), 1), (Some("2-1"), 2)]);
    assert!(machine.block.contains_key("sda"));
}
