//! Forms other than `-vv`: lists, machine-readable output, trees, hex dumps, summaries, old versions.

use super::*;
use narrows_base::units::GtPerSec;

fn tree(content: &str) -> std::collections::BTreeMap<String, Option<String>> {
    let part = read_tree(&Text::new("tree.txt", content.as_bytes()));
    let parent = |device: &PciDevice| device.parent.map(|parent| parent.to_string());
    part.machine.pci.iter().map(|(address, device)| (address.to_string(), parent(device))).collect()
}

#[test]
fn a_list_gives_names_and_classes_and_says_what_it_lacks() {
    let part = read_words(
        "$ lspci\n00:1c.0 PCI bridge: Intel Corporation Root Port (rev 05)\n\
         03:00.0 Non-Volatile memory controller: Sandisk Corp WD Blue SN550 NVMe SSD (rev 01)\n",
    );
    assert_eq!(part.kind, Some("lspci"));
    let drive = &part.machine.pci[&at("03:00.0")];
    assert!(drive.is_nvme() && drive.id.value().is_none());
    assert_eq!(drive.name.value().map(String::as_str), Some("Sandisk Corp WD Blue SN550 NVMe SSD"));
    assert!(part.gaps.iter().any(|gap| gap.run == "sudo lspci -vvv"));
    assert!(part.gaps.iter().any(|gap| gap.run == "sudo lspci -nnvvv"));
}

#[test]
fn a_card_has_the_name_that_its_maker_gave_it_also_where_mail_broke_it() {
    // Names of pci-ids.ucw.cz: device 10df:e300 and its subsystem 10df:e320.
    let part = read_words(
        "3b:00.0 Fibre Channel [0c04]: Emulex Corporation LPe31000/LPe32000 Series 16Gb/32Gb Fibre Channel Adapter [10df:e300]\n\
         \tSubsystem: Emulex Corporation LPe32002-M2-D 2-Port 32Gb Fibre\nChannel Adapter\n\
         \tControl: I/O- Mem+ BusMaster+\n3b:00.1 Fibre Channel [0c04]: Emulex Corporation LPe31000 [10df:e300]\n\
         \tSubsystem: Emulex Corporation Device [10df:e320]\n\
         Slot:\t3c:00.0\nClass:\tEthernet controller\nVendor:\tIntel Corporation\nDevice:\tEthernet Controller X710\n\
         SDevice:\tEthernet 10G 4P X710 Adapter\n",
    );
    let name = |address: &str| part.machine.pci[&at(address)].board.get();
    let whole = "Emulex Corporation LPe32002-M2-D 2-Port 32Gb Fibre Channel Adapter";
    assert_eq!(name("3b:00.0").as_deref(), Some(whole));
    assert_eq!(name("3b:00.1").as_deref(), Some("Emulex Corporation Device"));
    assert_eq!(name("3c:00.0").as_deref(), Some("Ethernet 10G 4P X710 Adapter"));
}

#[test]
fn a_name_that_follows_a_long_line_is_its_own() {
    let part = read_words(
        "00:00.0 Host bridge: Advanced Micro Devices, Inc. [AMD/ATI] RD9x0/RX980 Host Bridge (rev 02)\n\
         0a:00.0 Brand-new gadget: Vendor Thing\nLnkSta: Speed 8GT/s, Width x4\n00:02.0 PCI bridge: x\n",
    );
    let name = |address| part.machine.pci[&at(address)].name.get().expect("a name");
    assert_eq!(name("00:00.0"), "Advanced Micro Devices, Inc. [AMD/ATI] RD9x0/RX980 Host Bridge");
    assert_eq!(part.machine.pci[&at("00:00.0")].link.current_speed.value(), None);
    let gadget = &part.machine.pci[&at("0a:00.0")];
    assert_eq!((gadget.class.get(), gadget.link.current_speed.get()), (None, Some(GtPerSec::GEN3)));
}

#[test]
fn what_somebody_cut_away_around_a_link_does_not_need_root() {
    let part = read_words(
        "01:00.0 Non-Volatile memory controller: MAXIO (prog-if 02 [NVM Express])\n\
         \tCapabilities: [80] Express (v2) Endpoint, MSI 00\n\
         \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <64us\n\
         \t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (downgraded)\n",
    );
    let drive = &part.machine.pci[&at("01:00.0")];
    assert!(!matches!(&drive.express, Fact::Denied { .. }));
    assert_eq!(drive.link.max_speed.get(), Some(GtPerSec::GEN3));
}

#[test]
fn what_lspci_kept_back_needs_root() {
    let part = read_words(
        "02:00.0 Ethernet controller: Intel Corporation I350 (rev 01)\n\
         \tFlags: bus master, fast devsel, latency 0, IRQ 24, NUMA node 1, IOMMU group 30\n\
         \tCapabilities: <access denied>\n\tKernel driver in use: igb\n\n\
         00:1f.2 SATA controller: Intel (prog-if 01 [AHCI 1.0])\n\
         \tFlags: 66MHz, medium devsel\n\tCapabilities: <access denied>\n",
    );
    assert_eq!(part.kind, Some("lspci -v"));
    let card = &part.machine.pci[&at("02:00.0")];
    assert_eq!((card.numa_node.get(), card.iommu_group.get()), (Some(1), Some(30)));
    assert!(matches!(&card.express, Fact::Denied { need, .. } if need == "root: sudo lspci -vvv"));
    assert!(matches!(&card.link.current_speed, Fact::Denied { .. }));
    let inside = &part.machine.pci[&at("00:1f.2")];
    assert!(!inside.link.is_present(), "a function on the root bus has no link");
}

#[test]
fn the_role_is_known_from_the_first_line_of_the_capability() {
    let part = read_words(
        "00:1c.0 PCI bridge: x\n\tFlags: bus master, fast devsel, latency 0\n\
         \tBus: primary=00, secondary=3D02, subordinate=3D03, sec-latency=3D0\n\
         \tCapabilities: [40] Express Root Port (Slot+), MSI 00\n\
         02:00.0 PCI bridge: y\n\tFlags: fast devsel\n\tBus: primary=02, secondary=3d, subordinate=3d, sec-latency=0\n\
         \tCapabilities: [40] Express PCI-Express to PCI/PCI-X Bridge, IntMsgNum 0\n",
    );
    let port = &part.machine.pci[&at("00:1c.0")];
    assert_eq!(port.port.get(), Some(PortType::RootPort));
    assert_eq!(narrows_machine::pci::role(&part.machine.pci, at("00:1c.0")), Some(PortType::RootPort));
    let below = &part.machine.pci[&at("02:00.0")];
    assert_eq!((below.parent, below.port.get()), (Some(at("00:1c.0")), Some(PortType::PciBridge)));
}

#[test]
fn a_function_that_is_gone_says_so() {
    let part = read_words(
        "01:00.0 VGA compatible controller: NVIDIA Corporation GA107M (rev ff) (prog-if ff)\n\
         \t!!! Unknown header type 7f\n\tKernel driver in use: nvidia\n",
    );
    let card = only(&part);
    assert_eq!(card.class.get(), Some(0x03_0000));
    let why = card.link.current_speed.missing().expect("unknown");
    assert!(why.contains("asleep, or gone from the bus"), "{why}");
}

#[test]
fn conventional_functions_have_no_capability_when_all_are_listed() {
    let part = read_words(
        "03:00.0 Multimedia audio controller: Creative\n\tStatus: Cap+ 66MHz- DEVSEL=medium\n\
         \tCapabilities: [dc] Power Management version 1\n\t\tStatus: D3 NoSoftRst- PME-Enable-\n\n\
         04:00.0 SATA controller: x\n",
    );
    let sound = &part.machine.pci[&at("03:00.0")];
    assert_eq!(sound.express, Fact::absent("lspci.txt:3, PCI Express capability"));
    assert_eq!(sound.power_state.value().map(String::as_str), Some("D3hot"));
}

/// Printed by pciutils 2.2, as in bug reports of 2007.
#[test]
fn the_wording_before_version_3_is_read() {
    let part = read_words(
        "00:04.0 PCI bridge: Intel Corporation Unknown device (rev b1) (prog-if 00 [Normal decode])\n\
         \tBus: primary=00, secondary=02, subordinate=04, sec-latency=0\n\
         \tCapabilities: [40] Express Root Port (Slot+) IRQ 0\n\
         \t\tDevice: Supported: MaxPayload 256 bytes, PhantFunc 0, ExtTag-\n\
         \t\tDevice: Latency L0s <64ns, L1 <1us\n\
         \t\tDevice: Errors: Correctable- Non-Fatal- Fatal- Unsupported-\n\
         \t\tDevice: RlxdOrd+ ExtTag- PhantFunc- AuxPwr- NoSnoop-\n\
         \t\tDevice: MaxPayload 128 bytes, MaxReadReq 512 bytes\n\
         \t\tLink: Supported Speed 2.5Gb/s, Width x8, ASPM L0s L1, Port 5\n\
         \t\tLink: Latency L0s <512ns, L1 <4us\n\
         \t\tLink: ASPM L1 Enabled RCB 64 bytes CommClk+ ExtSynch-\n\
         \t\tLink: Speed 2.5Gb/s, Width x4\n\
         \t\tSlot: Number 1, PowerLimit 25.000000\n",
    );
    let port = only(&part);
    assert_eq!(ends(&port.link), [2500, 4, 2500, 8]);
    let express = express(port);
    assert_eq!((express.port, express.port_number, express.slot_implemented), (PortType::RootPort, 5, true));
    assert_eq!((express.max_payload_supported.get(), express.max_payload.get()), (256, 128));
    assert_eq!((express.relaxed_ordering, express.aspm_l0s, express.aspm_l1), (true, false, true));
}

#[test]
fn outputs_of_one_function_complete_each_other() {
    let list = "04:00.0 Non-Volatile memory controller: Silicon Motion, Inc. Device (rev 03)\n";
    let kernel = "04:00.0 0108: 126f:2263\n\tKernel driver in use: vfio-pci\n";
    let part = read_words(&format!("$ lspci\n{list}\n$ lspci -nk\n{kernel}\n$ sudo lspci -vv\n{DRIVE}"));
    let drive = only(&part);
    assert_eq!(drive.id.get().map(|id| id.to_string()).as_deref(), Some("126f:2263"));
    assert_eq!(drive.driver.value().map(String::as_str), Some("vfio-pci"), "what was said first stays");
    assert_eq!(ends(&drive.link), [2500, 1, 8000, 4]);
    assert_eq!(drive.name.source().as_str(), "lspci.txt:2");
}

#[test]
fn the_two_lines_of_a_link_may_come_from_two_calls() {
    let part = read_words(
        "# lspci -vvs 02:00.0 | grep LnkCap:\n LnkCap: Port #0, Speed 16GT/s, Width x4, ASPM L1\n\
         # lspci -vvs 02:00.0 | grep LnkSta:\n LnkSta: Speed 8GT/s (downgraded), Width x4\n",
    );
    assert_eq!(ends(&only(&part).link), [8000, 4, 16000, 4]);
}

#[test]
fn bus_numbers_in_a_circle_make_no_circle() {
    let bridge = |address: &str, below: &str| {
        format!(
            "{address} PCI bridge: x\n\tBus: primary=00, secondary={below}, subordinate=ff, sec-latency=0\n"
        )
    };
    let part = read_words(&(bridge("01:00.0", "02") + &bridge("02:00.0", "01") + &bridge("03:00.0", "03")));
    let parents: Vec<_> = part.machine.pci.values().map(|device| device.parent).collect();
    assert_eq!(parents, [None, Some(at("01:00.0")), None]);
}

#[test]
fn machine_readable_forms_are_read() {
    let part = read_words(
        "Slot:\t0000:01:00.0\nClass:\tNon-Volatile memory controller [0108]\nVendor:\tSamsung [144d]\n\
         Device:\tNVMe SSD [a80a]\nProgIf:\t02\nDriver:\tnvme\nNUMANode:\t0\nIOMMUGroup:\t15\nPhySlot:\t3\n\n\
         02:00.0 \"Ethernet controller\" \"Intel Corporation\" \"I350\" -r01 -p00 \"Dell\" \"x\"\n",
    );
    let drive = &part.machine.pci[&at("01:00.0")];
    assert!(drive.is_nvme());
    assert_eq!(drive.id.get().map(|id| id.to_string()).as_deref(), Some("144d:a80a"));
    assert_eq!(drive.name.value().map(String::as_str), Some("Samsung NVMe SSD"));
    assert_eq!((drive.numa_node.get(), drive.iommu_group.get()), (Some(0), Some(15)));
    assert_eq!((drive.driver.get(), drive.slot.get()), (Some("nvme".to_owned()), Some("3".to_owned())));
    assert!(part.machine.pci[&at("02:00.0")].is_network());
}

#[test]
fn domains_of_vmd_belong_to_the_one_controller_that_makes_them() {
    let part = read_words(
        "0000:00:0e.0 RAID bus controller: Intel Corporation Volume Management Device NVMe RAID Controller\n\
         10000:e0:06.0 PCI bridge: Intel\n\tBus: primary=e0, secondary=e1, subordinate=e1, sec-latency=0\n\
         10000:e1:00.0 Non-Volatile memory controller: Samsung\n",
    );
    let drive = &part.machine.pci[&at("10000:e1:00.0")];
    assert_eq!((drive.parent, drive.domain_owner), (Some(at("10000:e0:06.0")), Some(at("00:0e.0"))));
}

/// <https://lore.kernel.org/linux-pci/GV2PR10MB6672E198F632F5903E27AEF283D0A@GV2PR10MB6672.EURPRD10.PROD.OUTLOOK.COM/>
const CASCADE: &str = r"-[0000:00]-+-00.0  Intel Corporation Host Bridge
           +-01.0-[01-13]----00.0-[02-13]--+-01.0-[03-0f]----00.0-[04-0f]--+-00.0-[05]--
           |                               |                               +-0b.0-[0c]----00.0  Xilinx Corporation 7-Series
           |                               |                               \-12.0-[0f]--
           |                               +-02.0-[10]--
           |                               \-0a.0-[13]--
           +-01.1-[14]--
           \-1f.0  Intel Corporation CM238 [8086:a154]
";

#[test]
fn a_tree_tells_who_is_above_whom_with_and_without_its_columns() {
    let flat: String =
        CASCADE.lines().map(|line| line.trim_start_matches([' ', '|']).to_owned() + "\n").collect();
    let quoted: String = CASCADE.lines().map(|line| format!("> {line}\n")).collect();
    for text in [CASCADE, &flat, &quoted] {
        let tree = tree(text);
        assert_eq!(tree.len(), 13, "{text}");
        let parent = |address: &str| tree[address].as_deref();
        assert_eq!(parent("0000:0c:00.0"), Some("0000:04:0b.0"));
        assert_eq!(parent("0000:04:12.0"), Some("0000:03:00.0"));
        assert_eq!(parent("0000:02:0a.0"), Some("0000:01:00.0"));
        assert_eq!(parent("0000:01:00.0"), Some("0000:00:01.0"));
        assert_eq!((parent("0000:00:01.1"), parent("0000:00:1f.0")), (None, None));
    }
    let part = read_tree(&Text::new("tree.txt", CASCADE.as_bytes()));
    assert!(part.machine.pci[&at("01:00.0")].is_bridge());
    assert_eq!(
        part.machine.pci[&at("00:1f.0")].id.get().map(|id| id.to_string()).as_deref(),
        Some("8086:a154")
    );
}

#[test]
fn trees_have_several_domains_and_bridges_several_buses() {
    let domains = tree(
        "-+-[0000:00]-\n +-[0000:04]---00.0-[05]----00.0  Qualcomm\n \\-[10000:e0]-+-06.0-[e1]----00.0\n              \\-17.0\n",
    );
    assert_eq!(domains["0000:05:00.0"].as_deref(), Some("0000:04:00.0"));
    assert_eq!(domains["10000:e1:00.0"].as_deref(), Some("10000:e0:06.0"));
    assert_eq!(domains["10000:e0:17.0"], None);
    let buses = tree(concat!(
        "-[0000:00]-+-1e.0-[0000:01-09]--+-[0000:06]---00.0\n",
        "           |                    \\-[0000:01]-+-04.0\n",
        "           |                                \\-0b.0\n",
        "           \\-1f.0\n",
    ));
    for address in ["0000:06:00.0", "0000:01:04.0", "0000:01:0b.0"] {
        assert_eq!(buses[address].as_deref(), Some("0000:00:1e.0"), "{address}");
    }
    assert_eq!(buses["0000:00:1f.0"], None);
}

/// <https://github.com/pciutils/pciutils/blob/master/tests/tree-fsl-p2020>; rows of zeros are left out here and put
/// back by the test. What is expected is what lspci itself says of these bytes.
const DUMP: &[(&str, &[(usize, &str)])] = &[
    (
        "0002:00:00.0 PCI bridge [0604]: Freescale Semiconductor Inc P2020E [1957:0070] (rev 21)",
        &[
            (0x00, "57 19 70 00 06 01 10 00 21 00 04 06 08 00 01 00"),
            (0x10, "00 00 f0 ff 00 00 00 00 00 01 01 00 00 00 00 00"),
            (0x30, "00 00 00 00 44 00 00 00 00 00 00 00 00 00 00 00"),
            (0x40, "00 00 00 00 01 4c 02 fe 00 00 00 00 10 00 41 00"),
            (0x50, "01 00 00 00 1f 28 00 00 41 d4 03 00 08 00 11 00"),
        ],
    ),
    (
        "0002:01:00.0 USB controller [0c03]: Texas Instruments TUSB73x0 [104c:8241] (rev 02)",
        &[
            (0x00, "4c 10 41 82 06 04 10 00 02 30 03 0c 08 00 00 00"),
            (0x30, "00 00 00 00 40 00 00 00 00 00 00 00 ff 01 00 00"),
            (0x40, "01 48 03 7e 08 00 00 00 05 70 86 00 00 00 00 00"),
            (0x70, "10 c0 02 00 c3 8f 3c 00 10 20 00 00 12 5c 07 00"),
            (0x80, "00 00 11 10 00 00 00 00 00 00 00 00 00 00 00 00"),
            (0xa0, "02 00 01 00 00 00 00 00 00 00 00 00 00 00 00 00"),
            (0xc0, "11 00 07 80 02 00 00 00 02 10 00 00 00 00 00 00"),
            (0x100, "01 00 02 15 00 00 00 00 00 00 00 00 30 20 46 00"),
            (0x110, "41 00 00 00 00 20 00 00 a0 00 00 00 00 00 00 00"),
        ],
    ),
];

fn dump(most: usize) -> String {
    let mut text = String::new();
    for (head, rows) in DUMP {
        text += &format!("{head}\n");
        for at in (0..most).step_by(16) {
            let row = rows
                .iter()
                .find(|(row, _)| *row == at)
                .map_or_else(|| vec!["00"; 16].join(" "), |(_, row)| (*row).to_owned());
            text += &format!("{at:02x}: {row}\n");
        }
    }
    text
}

#[test]
fn a_dump_of_config_space_is_decoded() {
    let part = read_hex(&Text::new("dump.txt", dump(0x120).as_bytes()));
    assert_eq!((part.kind, part.rank), (Some("lspci -x"), Rank::Raw));
    let (port, card) = (&part.machine.pci[&at("0002:00:00.0")], &part.machine.pci[&at("0002:01:00.0")]);
    assert_eq!(card.parent, Some(port.address));
    assert_eq!(ends(&port.link), [2500, 1, 2500, 4]);
    assert_eq!(ends(&card.link), [2500, 1, 5000, 1]);
    assert_eq!((port.class.get(), card.class.get()), (Some(0x06_0400), Some(0x0c_0330)));
    assert_eq!(card.id.get().map(|id| id.to_string()).as_deref(), Some("104c:8241"));
    let express = express(card);
    assert_eq!((express.max_payload_supported.get(), express.max_payload.get()), (1024, 128));
    // The first AER status byte is set to 0x41 here: bits 0 and 6.
    let aer = card.aer.get().expect("AER");
    assert_eq!((aer.correctable["RxErr"], aer.correctable["BadTLP"], aer.correctable["BadDLLP"]), (1, 1, 0));
    assert!(!aer.correctable.contains_key("NonFatalErr"), "masked: bit 13 of 0x2000");
    assert!(part.gaps.is_empty(), "{:?}", part.gaps);
}

#[test]
fn a_dump_of_the_header_alone_hides_the_capabilities() {
    let part = read_hex(&Text::new("dump.txt", dump(64).as_bytes()));
    let port = &part.machine.pci[&at("0002:00:00.0")];
    assert!(
        matches!(&port.express, Fact::Denied { .. }) && matches!(&port.link.max_speed, Fact::Denied { .. })
    );
    assert!(port.id.value().is_some());
    let words = read_words(&dump(256));
    assert!(words.gaps.is_empty(), "the dump beside the words has what they lack: {:?}", words.gaps);
}

/// <https://github.com/ThomasKaiser/sbc-bench/blob/master/results/reviews/Helios-64.md>
#[test]
fn lines_of_sbc_bench_are_links_of_unnamed_devices() {
    let part = read_summary(&Text::new(
        "sbc-bench.txt",
        b"  * JMicron JMB58x AHCI SATA controller: Speed 5GT/s (downgraded), Width x2, driver in use: ahci\n\
          * 3.6TB \"X\" SSD as /dev/nvme0: Speed 16GT/s, Width x4, 0% worn out\n\
          [    6.2] i40e 0000:af:00.0: PCI-Express: Speed 8.0GT/s Width x4\n\
          LnkSta: Speed 5GT/s, Width x2\n\
          - Lanes and `LnkCap: Port #8, Speed 5GT/s, Width x1`, `LnkSta: Speed 5GT/s, Width x1`\n",
    ));
    assert_eq!((part.kind, part.rank, part.machine.pci.len()), (Some("sbc-bench"), Rank::Summary, 2));
    let sata = &part.machine.pci[&PciAddress::unnamed(1)];
    assert_eq!((sata.class.get(), ends(&sata.link)), (Some(0x01_0600), [5000, 2, 0, 2]));
    assert_eq!(sata.link.max_speed.value(), None);
    assert!(sata.link.downgraded.speed.is_some());
    assert_eq!(sata.link.downgraded.width, None);
    let drive = &part.machine.pci[&PciAddress::unnamed(2)];
    assert!(drive.is_nvme());
    assert_eq!(ends(&drive.link), [16000, 4, 16000, 4]);
}

/// <https://github.com/open-mpi/hwloc/tree/master/tests/hwloc/linux>, and the output of `grep` and `head`.
#[test]
fn files_of_sysfs_are_read_with_their_paths() {
    let part = read_sysfs(&Text::new(
        "links.txt",
        b"/sys/devices/pci0000:17/0000:17:00.0/class:0x060400\n\
          /sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/class:0x010802\n\
          /sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/vendor:0x10b5\n\
          /sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/device:0x9797\n\
          /sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0/current_link_speed:8 GT/s\n\
          /sys/bus/pci/devices/0000:18:00.0/current_link_width = 16\n\
          ==> /sys/bus/pci/devices/0000:18:00.0/max_link_speed <==\n16.0 GT/s PCIe\n\
          0000:17:00.0/max_link_width:8\n\
          0000:18:00.0/numa_node:-1\n\
          0000:18:00.0/aer_dev_correctable:RxErr 3\n0000:18:00.0/aer_dev_correctable:TOTAL_ERR_COR 3\n\
          /sys/class/nvme/nvme0/device:x\n",
    ));
    assert_eq!((part.kind, part.rank, part.machine.pci.len()), (Some("sysfs listing"), Rank::Raw, 2));
    let card = &part.machine.pci[&at("18:00.0")];
    assert_eq!(card.parent, Some(at("17:00.0")));
    assert_eq!(ends(&card.link), [8000, 16, 16000, 0]);
    assert_eq!(card.link.max_speed.source().as_str(), "links.txt:8");
    assert_eq!(card.id.get().map(|id| id.to_string()).as_deref(), Some("10b5:9797"));
    assert_eq!(card.numa_node, Fact::absent("links.txt:10"));
    assert_eq!(card.aer.value().map(|aer| aer.correctable.clone()), Some([("RxErr".to_owned(), 3)].into()));
}

#[test]
fn sources_and_prose_that_name_files_of_functions_are_no_listing() {
    let part = read_sysfs(&Text::new(
        "source.rs",
        b".file(\"/sys/bus/pci/devices/0000:01:00.0/class\", \"0x010802\\n\")\n\
          - current width: x1 (/sys/bus/pci/devices/0000:06:00.0/current_link_width)\n\
          pretend /sys/bus/pci/devices/0000:00:1f.0/device 0x8d44\n\
          /sys/bus/pci/devices/0000:06:00.0/max_link_width\n",
    ));
    assert_eq!((part.kind, part.machine.pci.len()), (None, 0));
}
