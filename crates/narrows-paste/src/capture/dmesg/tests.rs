mod devices;

use proptest::prelude::*;

use super::*;
use devices::DISKS;
use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes, GtPerSec, Lanes};
use narrows_machine::block::{BlockKind, Transport};
use narrows_machine::log::{AerSeverity, StatedLink};
use narrows_machine::pci::{PortType, role};

fn machine(body: &str) -> Machine {
    let part = read(&Text::new("dmesg", body.as_bytes()));
    assert_eq!(part.kind, Some("dmesg"), "nothing was understood");
    part.machine
}

fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

fn link(speed: GtPerSec, width: u8) -> StatedLink {
    StatedLink { speed, width: Lanes::new(width) }
}

/// What is known of a link: rate and width now, then the most.
fn ends(machine: &Machine, address: &str) -> [Option<String>; 4] {
    let end = &machine.pci[&at(address)].link;
    [
        end.current_speed.value().map(ToString::to_string),
        end.current_width.value().map(ToString::to_string),
        end.max_speed.value().map(ToString::to_string),
        end.max_width.value().map(ToString::to_string),
    ]
}

fn some(texts: [&str; 4]) -> [Option<String>; 4] {
    texts.map(|text| (!text.is_empty()).then(|| text.to_owned()))
}

fn kinds(machine: &Machine) -> Vec<(LogKind, u64)> {
    machine.log.iter().map(|event| (event.kind.clone(), event.count)).collect()
}

/// lore.kernel.org/linux-pci, a Kioxia drive in a slot of an Armada 385.
const SMALL: &str = "\
[    0.907763] mvebu-pcie soc:pcie: PCI host bridge to bus 0000:00
[    0.913698] pci_bus 0000:00: root bus resource [bus 00-ff]
[    0.973261] pci 0000:00:01.0: [11ab:6820] type 01 class 0x060400
[    1.022242] pci 0000:01:00.0: [1e0f:0001] type 00 class 0x010802
[    1.040787] pci 0000:01:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0000:00:01.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)
[    1.169696] pci 0000:00:01.0: PCI bridge to [bus 01]
[    2.000000] nvme nvme0: pci function 0000:01:00.0
[    2.100000] nvme nvme0: 2/0/0 default/read/poll queues
[    2.200000]  nvme0n1: p1 p2
";

#[test]
fn functions_bridges_links_and_drives_are_tied_together() {
    let machine = machine(SMALL);
    let drive = &machine.pci[&at("01:00.0")];
    assert_eq!(drive.parent, Some(at("00:01.0")));
    assert_eq!(drive.id.value().map(ToString::to_string).as_deref(), Some("1e0f:0001"));
    assert_eq!(drive.driver.value().map(String::as_str), Some("nvme"));
    assert!(drive.is_nvme() && machine.pci[&at("00:01.0")].is_bridge());
    assert_eq!(ends(&machine, "01:00.0"), some(["2.5 GT/s", "x1", "8 GT/s", "x4"]));
    assert_eq!(ends(&machine, "00:01.0"), some(["2.5 GT/s", "x1", "", ""]));
    assert_eq!(role(&machine.pci, at("00:01.0")), Some(PortType::RootPort));
    assert_eq!(role(&machine.pci, at("01:00.0")), Some(PortType::Endpoint));
    let claim = LogKind::BandwidthLimited {
        by: link(GtPerSec::GEN1, 1),
        at: Some(at("00:01.0")),
        capable: Some(link(GtPerSec::GEN3, 4)),
    };
    assert_eq!(kinds(&machine), [(claim, 1), (LogKind::NvmeQueues(2), 1)]);
    assert_eq!(machine.log[0].source.as_str(), "dmesg:5");
    assert_eq!(
        machine.block.keys().map(String::as_str).collect::<Vec<_>>(),
        ["nvme0n1", "nvme0n1p1", "nvme0n1p2"]
    );
    let Transport::NvmePci { controller, pci } = &machine.block["nvme0n1p2"].transport else {
        panic!("NVMe")
    };
    assert_eq!((controller.as_str(), *pci), ("nvme0", at("01:00.0")));
}

#[test]
fn a_message_broken_by_mail_says_the_same() {
    let broken = SMALL.replace(", limited by 2.5", ",\nlimited by 2.5").replace("31.504 Gb", "31.504\nGb");
    assert_eq!(ends(&machine(&broken), "01:00.0"), some(["2.5 GT/s", "x1", "8 GT/s", "x4"]));
}

#[test]
fn the_narrowest_link_may_be_above_the_device() {
    let machine = machine(
        "pci_bus 0000:00: root bus resource [bus 00-ff]\n\
         pci 0000:00:02.1: [1022:14db] type 01 class 0x060400 PCIe Root Port\n\
         pci 0000:05:00.0: [1022:43f4] type 01 class 0x060400 PCIe Switch Upstream Port\n\
         pci 0000:00:02.1: PCI bridge to [bus 05-0d]\n\
         pci 0000:06:00.0: [1022:43f5] type 01 class 0x060400 PCIe Switch Downstream Port\n\
         pci 0000:05:00.0: PCI bridge to [bus 06-0d]\n\
         pci 0000:07:00.0: [1000:00e6] type 00 class 0x010700 PCIe Endpoint\n\
         pci 0000:07:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x4 link at 0000:00:02.1 (capable of 126.024 Gb/s with 16.0 GT/s PCIe x8 link)\n\
         pci 0000:06:00.0: PCI bridge to [bus 07]\n",
    );
    assert_eq!(ends(&machine, "07:00.0"), some(["", "", "16 GT/s", "x8"]), "its own link is not known");
    assert_eq!(ends(&machine, "00:02.1"), some(["16 GT/s", "x4", "", ""]));
    assert_eq!(machine.pci[&at("07:00.0")].parent, Some(at("06:00.0")));
    assert_eq!(role(&machine.pci, at("05:00.0")), Some(PortType::UpstreamPort));
}

#[test]
fn older_wordings_of_functions_and_bridges_are_known() {
    let machine = machine(
        "pci 0000:00:1c.0: found [8086:2940] class 000604 header type 01\n\
         pci 0000:02:00.0: [197b:2363] type 0 class 0x000106\n\
         pci 0000:00:1c.0: PCI bridge, secondary bus 0000:02\n",
    );
    assert_eq!(machine.pci[&at("00:1c.0")].class.get(), Some(0x06_0400));
    assert_eq!(machine.pci[&at("02:00.0")].class.get(), Some(0x01_0600));
    assert_eq!(machine.pci[&at("02:00.0")].parent, Some(at("00:1c.0")));
}

#[test]
fn a_port_named_by_an_incomplete_log_is_the_best_known_parent() {
    let machine = machine(
        "pcieport 10002:00:04.0: broken device, retraining non-functional downstream link at 2.5GT/s\n\
         pci 10002:02:00.0: [144d:a826] type 00 class 0x010802 PCIe Endpoint\n\
         pci 10002:02:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 10002:00:04.0 (capable of 126.028 Gb/s with 32.0 GT/s PCIe x4 link)\n",
    );
    assert_eq!(machine.pci[&at("10002:02:00.0")].parent, Some(at("10002:00:04.0")));
    assert_eq!(ends(&machine, "10002:02:00.0"), some(["", "", "32 GT/s", "x4"]), "a switch may be between");
    assert_eq!(kinds(&machine)[0].0, LogKind::LinkRetrainedAt(GtPerSec::GEN1));
}

#[test]
fn nodes_domains_slots_and_links_of_host_bridges_are_kept() {
    let machine = machine(
        "pci_bus 0000:80: on NUMA node 1\n\
         pci 0000:80:01.0: [8086:2030] type 01 class 0x060400\n\
         pci 0000:81:00.0: [144d:a824] type 00 class 0x010802\n\
         pci 0000:80:01.0: PCI bridge to [bus 81]\n\
         pcieport 0000:80:01.0: pciehp: Slot(14): Link Up\n\
         vmd 0000:00:0e.0: PCI host bridge to bus 10000:e0\n\
         pci 10000:e1:00.0: [144d:a80a] type 00 class 0x010802\n\
         rockchip-dw-pcie 3c0000000.pcie: PCIe Gen.2 x1 link up\n\
         rockchip-dw-pcie 3c0000000.pcie: PCI host bridge to bus 0001:10\n\
         pci 0001:10:00.0: [1d87:3566] type 01 class 0x060400\n",
    );
    let drive = &machine.pci[&at("81:00.0")];
    assert_eq!((drive.numa_node.get(), drive.slot.get()), (Some(1), Some("14".to_owned())));
    assert_eq!(machine.pci[&at("10000:e1:00.0")].domain_owner, Some(at("00:0e.0")));
    assert_eq!(ends(&machine, "0001:10:00.0"), some(["5 GT/s", "x1", "", ""]));
}

#[test]
fn a_later_boot_that_says_less_leaves_a_function_who_it_is() {
    let first = "Linux version 6.1.0 (a@b)\npci 0000:04:00.0: [8086:1521] type 00 class 0x020000\n\
                 igb 0000:04:00.0: added PHC on eth0\n";
    let last = "Linux version 6.1.0 (a@b)\npci 0000:04:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 5 GT/s x2 link at \
                0000:00:01.4 (capable of 16.000 Gb/s with 5 GT/s x4 link)\n";
    let machine = machine(&format!("{first}{last}"));
    let card = &machine.pci[&at("0000:04:00.0")];
    assert_eq!((card.driver.get().as_deref(), card.class.get()), (Some("igb"), Some(0x02_0000)));
    let other = format!("{first}{last}pci 0000:04:00.0: [144d:a808] type 00 class 0x010802\n");
    assert_eq!(self::machine(&other).pci[&at("0000:04:00.0")].driver.value(), None, "it was exchanged");
}

#[test]
fn the_last_boot_that_says_anything_counts() {
    let boot = |kernel: &str, port: &str| {
        format!(
            "[    0.000000] Linux version {kernel} (gcc 12) #1 SMP\n[    1.000000] pci 0000:00:{port}: [8086:2030] type 01 class 0x060400\n"
        )
    };
    let two = boot("6.1.0", "01.0") + &boot("6.2.0", "02.0");
    let found = machine(&two);
    assert_eq!(found.kernel.get().as_deref(), Some("6.2.0"));
    assert_eq!(found.pci.keys().copied().collect::<Vec<_>>(), [at("00:02.0")]);
    let cut = two + "[    0.000000] Linux version 6.3.0 (gcc 12) #1 SMP\n";
    assert_eq!(machine(&cut).kernel.get().as_deref(), Some("6.2.0"));
    let prose = boot("6.1.0", "01.0") + "\nLinux version 6.9 has fixed that.\n";
    assert_eq!(machine(&prose).kernel.get().as_deref(), Some("6.1.0"));
}

#[test]
fn error_records_are_counted_once_for_each_bit_that_is_not_masked() {
    let machine = machine(
        "pcieport 0000:00:1c.1: AER: Multiple Correctable error message received from 0000:06:00.0\n\
         r8169 0000:06:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Transmitter ID)\n\
         r8169 0000:06:00.0:   device [10ec:8125] error status/mask=00001101/0000e000\n\
         r8169 0000:06:00.0:    [ 0] RxErr                  (First)\n\
         r8169 0000:06:00.0:    [ 8] Rollover\n\
         r8169 0000:06:00.0:    [12] Timeout\n\
         nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, id=00e0(Receiver ID)\n\
         nvme 0000:01:00.0:    [ 0] Receiver Error         (First)\n\
         nvme 0000:34:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)\n\
         nvme 0000:34:00.0:   device [144d:a804] error status/mask=00000010/00504000\n\
         pcieport 0000:00:1b.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)\n\
         pcieport 0000:00:1b.0: AER:   device [8086:06ac] error status/mask=00204000/00004000\n\
         pcieport 0000:00:1b.0: AER: Corrected error received: id=00e0\n",
    );
    let aer = |address: &str| machine.pci[&at(address)].aer.get().expect("counted");
    let counts = |map: std::collections::BTreeMap<String, u64>| map.into_iter().collect::<Vec<_>>();
    let one = |name: &str| (name.to_owned(), 1);
    assert_eq!(counts(aer("06:00.0").correctable), [one("Rollover"), one("RxErr"), one("Timeout")]);
    assert_eq!(counts(aer("01:00.0").correctable), [one("RxErr")]);
    assert_eq!(counts(aer("34:00.0").fatal), [one("DLP")]);
    assert_eq!(counts(aer("00:1b.0").nonfatal), [one("ACSViol")], "bit 14 is masked");
    assert_eq!(machine.pci[&at("06:00.0")].parent, Some(at("00:1c.1")));
    assert!(kinds(&machine).contains(&(LogKind::AerMessage(AerSeverity::Corrected), 1)));
}

#[test]
fn a_flood_of_errors_is_one_event_with_a_count() {
    let record = "[    1.0] pcieport 0000:00:1d.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)\n\
                  [    1.0] pcieport 0000:00:1d.0:   device [8086:9d18] error status/mask=00001000/00002000\n";
    let machine = machine(&record.replace("[    1.0]", "[    1.000000]").repeat(500));
    let timeout = LogKind::AerError { severity: AerSeverity::Corrected, name: "Timeout" };
    assert_eq!(kinds(&machine), [(timeout, 500)]);
    assert_eq!(machine.pci[&at("00:1d.0")].aer.get().map(|aer| aer.correctable["Timeout"]), Some(500));
}

#[test]
fn events_of_links_and_sizes_are_named() {
    let machine = machine(
        "pcieport 0000:80:03.2: pciehp: Slot(14): Link Down\n\
         pcieport 0000:80:03.2: pciehp: Slot(14): No link\n\
         pcieport 0000:80:03.2: retraining failed\n\
         pcieport 0000:80:03.2: DPC: containment event, status:0x1f01 source:0x0000\n\
         pci 0000:04:00.0: can't set Max Payload Size to 256; if necessary, use \"pci=pcie_bus_safe\" and report a bug\n\
         pci 0000:01:00.0: Max Payload Size set to  256/ 512 (was  128), Max Read Rq  512\n\
         pci 0000:02:00.0: Max Payload Size set to 256 (was 128, max 1024)\n\
         pci 0000:03:00.0: limiting MRRS to 256\n",
    );
    let bytes = Bytes::new;
    let set = |supported, read_request| LogKind::MpsSet {
        payload: bytes(256),
        supported: bytes(supported),
        was: bytes(128),
        read_request,
    };
    let want = [
        LogKind::LinkDown,
        LogKind::NoDevice,
        LogKind::RetrainFailed,
        LogKind::Contained,
        LogKind::MpsRefused(bytes(256)),
        set(512, Some(bytes(512))),
        set(1024, None),
        LogKind::MrrsLimited(bytes(256)),
    ];
    assert_eq!(kinds(&machine), want.map(|kind| (kind, 1)));
}

#[test]
fn drivers_that_tell_their_own_link_are_believed_below_a_port() {
    let machine = machine(
        "pci 0000:03:00.0: [8086:10fb] type 00 class 0x020000\n\
         ixgbe 0000:03:00.0: (PCI Express:5.0GT/s:Width x8) 00:1b:21:00:00:00\n\
         pci 0000:04:00.0: [15b3:1007] type 00 class 0x020000\n\
         mlx4_core 0000:04:00.0: PCIe link speed is 5.0GT/s, device supports 8.0GT/s\n\
         mlx4_core 0000:04:00.0: PCIe link width is x4, device supports x8\n\
         pci 0000:05:00.0: [15b3:1017] type 00 class 0x020000\n\
         mlx5_core 0000:05:00.0: 63.008 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x8 link)\n\
         pci 0000:00:1f.6: [8086:15b8] type 00 class 0x020000\n\
         e1000e 0000:00:1f.6 eth0: (PCI Express:2.5GT/s:Width x1) 00:00:00:00:00:00\n\
         ixgbe 0000:82:00.0: (Speed:5.0GT/s, Width: x4, Encoding Loss:20%)\n",
    );
    assert_eq!(ends(&machine, "82:00.0"), some(["5 GT/s", "x4", "", ""]));
    assert_eq!(ends(&machine, "03:00.0"), some(["5 GT/s", "x8", "", ""]));
    assert_eq!(ends(&machine, "04:00.0"), some(["5 GT/s", "x4", "8 GT/s", "x8"]));
    assert_eq!(ends(&machine, "05:00.0"), some(["8 GT/s", "x8", "8 GT/s", "x8"]));
    assert_eq!(ends(&machine, "00:1f.6"), some(["", "", "", ""]), "a part of the chipset has no link");
}

#[test]
fn the_kernel_that_writes_a_crash_dump_is_not_the_machine_at_work() {
    let log = "[    0.000000] Linux version 4.19.57 (root@host) (gcc version 7.3.0 (GCC)) #1 SMP\n\
               [    0.000000] Command line: root=/dev/sda1 crashkernel=256M\n\
               [    8.972056] Memory: 1051967552K/1069214136K available (14348K kernel code, 1414K rwdata)\n\
               [   17.676040] megaraid_sas 0000:61:00.0: FW now in Ready state\n\
               [   17.955924] scsi host0: Avago SAS based MegaRAID driver\n\
               [   18.190503] sd 0:2:0:0: [sda] 3907029168 512-byte logical blocks: (2.00 TB/1.82 TiB)\n\
               [    0.000000] Linux version 4.19.57 (root@host) (gcc version 7.3.0 (GCC)) #1 SMP\n\
               [    0.000000] Command line: root=/dev/sda1 irqpoll maxcpus=1 elfcorehdr=900536K\n\
               [    0.195170] Memory: 129092K/262128K available (14348K kernel code, 1414K rwdata)\n\
               [    2.100000] pci 0000:61:00.0: [1000:0016] type 00 class 0x010400\n";
    let both = machine(log);
    assert_eq!(both.cpus.memory.value().map(|bytes| bytes.get()), Some(1_069_214_136 * 1024));
    assert!(both.block.contains_key("sda"));
    // Alone it is better than nothing.
    let alone = log.split_at(log.rfind("[    0.000000] Linux").expect("a second boot")).1;
    assert!(!machine(alone).pci.is_empty());
}

#[test]
fn board_processor_and_memory_are_read() {
    let machine = machine(
        "[    0.000000] Linux version 6.1.0-28-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP\n\
         [    0.000000] DMI: Dell Inc. PowerEdge R740/00WGD1, BIOS 2.16.1 08/17/2022\n\
         [    0.000000] Hypervisor detected: KVM\n\
         [    0.050000] Memory: 16273276K/16733432K available (14336K kernel code, 2342K rwdata)\n\
         [    0.100000] smpboot: CPU0: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz (family: 0x6, model: 0x55, stepping: 0x4)\n",
    );
    let dmi = &machine.dmi;
    let text = |fact: &Fact<String>| fact.get().unwrap_or_default();
    assert_eq!(
        [text(&dmi.system_vendor), text(&dmi.product), text(&dmi.board)],
        ["Dell Inc.", "PowerEdge R740", "00WGD1"]
    );
    assert_eq!([text(&dmi.bios_version), text(&dmi.bios_date)], ["2.16.1", "08/17/2022"]);
    assert_eq!(machine.cpus.signature.get(), Some((6, 0x55, 4)));
    assert_eq!(machine.cpus.memory.get(), Some(Bytes::from_kib(16_733_432)));
    assert_eq!(machine.cpus.hypervisor.get().as_deref(), Some("KVM"));
    assert_eq!(machine.kernel.source().as_str(), "dmesg:1");
}

#[test]
fn other_texts_and_hostile_messages_say_nothing() {
    for text in [
        "",
        "01:00.0 Non-Volatile memory controller: Samsung\n\tLnkSta: Speed 8GT/s, Width x4\n",
        "[    1.000000] random: crng init done\n",
        "pci 0000:01:00.0: [zzzz:0001] type 00 class 0x010802\n",
        "nvme nvme99999999999: pci function 0000:01:00.0\n",
        "usb 99999999-1: new high-speed USB device number 2 using ehci-pci\n",
        "md/raid:mdé: raid level 6 active with 11 out of 12\n",
    ] {
        assert_eq!(read(&Text::new("x", text.as_bytes())).kind, None, "{text}");
    }
    let twisted = "pci 0000:01:00.0: PCI bridge to [bus 01-01]\npci 0000:01:00.0: 1 Gb/s available PCIe bandwidth, limited by 99999999999 GT/s PCIe x255 link at 0000:01:00.0\n";
    let machine = machine(twisted);
    assert_eq!((machine.pci[&at("01:00.0")].parent, machine.log.len()), (None, 0));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_message_cut_or_changed_panics(from in 0usize..2000, to in 0usize..2000, with in "\\PC{0,6}") {
        let whole = format!("{SMALL}{DISKS}");
        let cut = |place: usize| (0..=place.min(whole.len())).rev().find(|place| whole.is_char_boundary(*place)).unwrap_or(0);
        let (from, to) = (cut(from.min(to)), cut(from.max(to)));
        let _ = read(&Text::new("x", format!("{}{with}{}", &whole[..from], &whole[to..]).as_bytes()));
    }

    #[test]
    fn no_parents_go_in_a_circle_for_ever(buses in prop::collection::vec((0u8..8, 0u8..8), 0..20)) {
        let lines: String = buses.iter().map(|(bus, below)| format!("pci 0000:{bus:02x}:00.0: PCI bridge to [bus {below:02x}]\npci_bus 0000:{bus:02x}: on NUMA node 1\n")).collect();
        let machine = read(&Text::new("x", lines.as_bytes())).machine;
        for address in machine.pci.keys() {
            let _ = role(&machine.pci, *address);
        }
    }
}

fn messages(body: &str) -> Vec<String> {
    let mut found = Vec::new();
    for_each_message(&Text::new("dmesg", body.as_bytes()), |line| found.push(line.message.to_owned()));
    found
}

#[test]
fn words_that_a_terminal_broke_are_whole_again() {
    let whole = [
        "[    4.709607] pci 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)",
        "[    4.748582] sd 0:0:0:0: [sda] 468862128 512-byte logical blocks: (240 GB/224 GiB)",
        "[    4.800000] nvme nvme0: pci function 0000:01:00.0",
        "[    4.900000] usb 2-1: New USB device found, idVendor=0bda, idProduct=9210, bcdDevice=20.01, and so on",
    ];
    let folded: Vec<String> = whole
        .iter()
        .flat_map(|line| line.as_bytes().chunks(80).map(|part| String::from_utf8_lossy(part).into_owned()))
        .collect();
    let want: Vec<String> =
        whole.iter().map(|line| line.split_once("] ").expect("a stamp").1.to_owned()).collect();
    assert_eq!(messages(&folded.join("\n")), want);
}

#[test]
fn what_kmsg_says_below_a_message_is_none() {
    let body =
        "6,1,100,-;pci 0000:01:00.0: a\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n6,2,101,-;usb 2-1: b\n";
    assert_eq!(messages(body), ["pci 0000:01:00.0: a", "usb 2-1: b"]);
}

#[test]
fn a_bracket_that_is_no_stamp_stays() {
    assert_eq!(messages("[    1.234567] [drm] PCIE GEN 3 enabled"), ["[drm] PCIE GEN 3 enabled"]);
    assert_eq!(messages("Sep 28 14:48:15 desktop smartd[812]: Device: /dev/sda"), [""]);
    assert_eq!(messages("févr. 28 14:48:15 desktop smartd[812]: Device: /dev/sda"), [""]);
    assert!(messages("Speed 8GT/s (downgraded), the kernel: it says so\n").is_empty());
    assert!(messages("[Falcon] a name in brackets\n").is_empty());
}

#[test]
fn messages_broken_by_mail_are_joined() {
    let body = "[    4.709607] pci 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth,\n\
                limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504\n\
                Gb/s with 8.0 GT/s PCIe x4 link)\n[    4.748582] pci 0000:00:00.0: x\n\nHowever, prose.\n";
    let joined = messages(body);
    assert_eq!(joined.len(), 2);
    assert!(joined[0].ends_with("bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)"));
    assert_eq!(joined[1], "pci 0000:00:00.0: x");
}

#[test]
fn errors_without_stamps_are_messages_of_their_own() {
    let machine = machine(
        "mpt2sas_cm0: _base_get_ioc_facts: handshake failed (r=-14)\nmpt2sas_cm0: failure at\n\
         drivers/scsi/mpt3sas/mpt3sas_scsih.c:12336/_scsih_probe()!\n\
         blk_update_request: I/O error, dev sdb, sector 27 op 0x1:(WRITE)\nBuffer I/O error on dev sdc1, logical block 0, async page read\n\
         EXT4-fs error (device sdd1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0\n",
    );
    let named: Vec<&str> = machine.log.iter().filter_map(|event| event.device.as_deref()).collect();
    assert_eq!(named, ["adapter mpt2sas_cm0", "sdb", "sdc1", "sdd1"]);
}

#[test]
fn lines_of_devices_without_stamps_are_messages_of_their_own() {
    let body = "pcieport 10002:00:04.0: a\n...\nnvme nvme0: b\nata5.00: c\nmd/raid:md0: d\nprose about it\nsd 0:0:0:0: [sda] e\n";
    let found = messages(body);
    assert_eq!(found.len(), 5);
    assert_eq!(found[0], "pcieport 10002:00:04.0: a ...");
}

#[test]
fn a_file_without_a_log_has_no_messages() {
    assert!(messages("01:00.0 Non-Volatile memory controller: Samsung\n\tLnkSta: Speed 8GT/s\n").is_empty());
    assert!(messages(&"word \n".repeat(1000)).is_empty());
}
