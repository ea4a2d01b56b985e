//! Pieces of real texts, cut to what a test needs. Where they are from stands beside each; serial numbers are left out.

mod forms;

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::pci::{Acs, Express, LinkEnd, PciAddress, PciDevice, PortType};
use proptest::prelude::*;

use super::*;

fn at(text: &str) -> PciAddress {
    text.parse().expect("an address")
}

fn read_words(content: &str) -> Part {
    read(&Text::new("lspci.txt", content.as_bytes()))
}

fn only(part: &Part) -> &PciDevice {
    assert_eq!(part.machine.pci.len(), 1, "{:?}", part.machine.pci.keys());
    part.machine.pci.values().next().expect("one")
}

/// Speed and width as the end runs, and the most that it can do: mega transfers per second, lanes; 0 where unknown.
fn ends(link: &LinkEnd) -> [u32; 4] {
    let speed = |fact: &Fact<narrows_base::units::GtPerSec>| fact.value().map_or(0, |speed| speed.mega());
    let width =
        |fact: &Fact<narrows_base::units::Lanes>| fact.value().map_or(0, |lanes| u32::from(lanes.get()));
    [speed(&link.current_speed), width(&link.current_width), speed(&link.max_speed), width(&link.max_width)]
}

fn express(device: &PciDevice) -> &Express {
    device.express.value().expect("the whole capability")
}

/// <https://lore.kernel.org/linux-pci/20210416173119.d2eq2zetzp5awunj@pali/>, cut; slot, node, group and some error flags are set
/// by hand.
const DRIVE: &str = "\
04:00.0 Non-Volatile memory controller [0108]: Silicon Motion, Inc. Device [126f:2263] (rev 03) (prog-if 02 [NVM Express])
        Subsystem: Silicon Motion, Inc. Device [126f:2263]
        Physical Slot: 7
        Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
        Status: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- <MAbort- >SERR- <PERR- INTx-
        NUMA node: 1
        IOMMU group: 14
        Capabilities: [40] Power Management version 3
                Status: D0 NoSoftRst- PME-Enable- DSel=0 DScale=0 PME-
        Capabilities: [70] Express (v2) Endpoint, MSI 00
                DevCap: MaxPayload 128 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
                        ExtTag- AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 26.000W
                DevCtl: CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
                        RlxdOrd+ ExtTag- PhantFunc- AuxPwr- NoSnoop- FLReset-
                        MaxPayload 128 bytes, MaxReadReq 512 bytes
                DevSta: CorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr+ TransPend-
                LnkCap: Port #0, Speed 8GT/s, Width x4, ASPM not supported
                        ClockPM+ Surprise- LLActRep- BwNot- ASPMOptComp+
                LnkCtl: ASPM Disabled; RCB 64 bytes, Disabled- CommClk-
                        ExtSynch- ClockPM- AutWidDis- BWInt- AutBWInt-
                LnkSta: Speed 2.5GT/s (downgraded), Width x1 (downgraded)
                        TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
                LnkCap2: Supported Link Speeds: 2.5-8GT/s, Crosslink- Retimer- 2Retimers- DRS-
                LnkCtl2: Target Link Speed: 8GT/s, EnterCompliance- SpeedDis-
        Capabilities: [100 v2] Advanced Error Reporting
                UESta:  DLP- SDES- TLP- FCP- CmpltTO+ CmpltAbrt- UnxCmplt+ RxOF- MalfTLP+ ECRC- UnsupReq- ACSViol-
                UEMsk:  DLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt+ RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-
                UESvrt: DLP+ SDES+ TLP- FCP+ CmpltTO- CmpltAbrt- UnxCmplt- RxOF+ MalfTLP+ ECRC- UnsupReq- ACSViol-
                CESta:  RxErr+ BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+
                CEMsk:  RxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+
        Kernel driver in use: nvme
";

#[test]
fn the_link_of_winlspci_has_both_numbers_in_one_line() {
    let text = "01:00.0 Non-Volatile memory controller: SK hynix Gold P31/BC711/PC711 NVMe Solid State Drive (rev 00)\n        \
        LnkSta: 8GT/s x2 (max 8GT/s x4)\n        Driver: stornvme (10.0.26100.8972)\n";
    assert_eq!(ends(&only(&read_words(text)).link), [8000, 2, 8000, 4]);
}

#[test]
fn a_function_is_read_whole() {
    let part = read_words(DRIVE);
    assert_eq!((part.kind, part.rank), (Some("lspci -vv"), Rank::Decoded));
    let drive = only(&part);
    assert_eq!(drive.address, at("04:00.0"));
    assert_eq!(drive.id.get().map(|id| id.to_string()).as_deref(), Some("126f:2263"));
    assert_eq!(drive.name.value().map(String::as_str), Some("Silicon Motion, Inc. Device"));
    assert!(drive.is_nvme());
    assert_eq!(ends(&drive.link), [2500, 1, 8000, 4]);
    assert_eq!(drive.link.current_width.source().as_str(), "lspci.txt:21");
    assert_eq!(drive.driver.value().map(String::as_str), Some("nvme"));
    assert_eq!(drive.slot.value().map(String::as_str), Some("7"));
    assert_eq!((drive.numa_node.get(), drive.iommu_group.get()), (Some(1), Some(14)));
    assert_eq!(drive.power_state.value().map(String::as_str), Some("D0"));
    let express = express(drive);
    assert_eq!(
        (express.port, express.relaxed_ordering, express.extended_tags),
        (PortType::Endpoint, true, false)
    );
    assert_eq!(
        [express.max_payload_supported, express.max_payload, express.max_read_request].map(Bytes::get),
        [128, 128, 512]
    );
    assert_eq!((express.supported_speeds.len(), express.target_speed.map(|s| s.mega())), (3, Some(8000)));
}

#[test]
fn error_flags_count_once_unless_they_are_masked() {
    let part = read_words(DRIVE);
    let aer = only(&part).aer.get().expect("read");
    let raised = |counts: &std::collections::BTreeMap<String, u64>| {
        counts.iter().filter(|(_, count)| **count > 0).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(raised(&aer.correctable), ["RxErr"], "the advisory error is masked");
    assert_eq!(aer.correctable.get("BadTLP"), Some(&0));
    assert_eq!(raised(&aer.nonfatal), ["CmpltTO"], "the unexpected completion is masked");
    assert_eq!(raised(&aer.fatal), ["MalfTLP"]);
}

#[test]
fn the_other_end_is_a_gap_when_one_function_was_pasted() {
    let part = read_words(DRIVE);
    assert_eq!(only(&part).parent, None);
    let gaps: Vec<&str> = part.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert_eq!(gaps, ["the port above 0000:04:00.0"]);
}

/// <https://lore.kernel.org/linux-usb/CAKRa1U6Eb2jt1dzgNTsrgzL=uBKaHRTs70aLAa4i=CADvO+C1w@mail.gmail.com/>, cut.
const WRAPPED: &str = "\
> 04:00.0 USB controller: ASMedia Technology Inc. ASM3242 USB 3.2 Host
> Controller (prog-if 30 [XHCI])
>      Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop-
> ParErr+ Stepping- SERR- FastB2B- DisINTx+
>      Capabilities: [80] Express (v2) Legacy Endpoint, MSI 00
>           DevCap:   MaxPayload 512 bytes, PhantFunc 0, Latency L0s
> <64ns, L1 <2us
>                ExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset-
>           DevCtl:   CorrErr- NonFatalErr+ FatalErr+ UnsupReq-
>                RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+
>                MaxPayload 256 bytes, MaxReadReq 4096
> bytes
>           LnkCap:   Port #0, Speed 8GT/s, Width x4, ASPM L1, Exit
> Latency L1 unlimited
>           LnkCtl:   ASPM L0s L1 Enabled; RCB 64 bytes, Disabled- CommClk+
>           LnkSta:   Speed 8GT/s (ok), Width
> x4 (ok)
>                TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
";

#[test]
fn quoting_and_broken_lines_change_nothing() {
    let part = read_words(WRAPPED);
    let device = only(&part);
    assert_eq!(
        device.name.value().map(String::as_str),
        Some("ASMedia Technology Inc. ASM3242 USB 3.2 Host Controller")
    );
    assert_eq!(device.class.get(), Some(0x0c_0330));
    assert_eq!(ends(&device.link), [8000, 4, 8000, 4]);
    assert_eq!(express(device).max_read_request, Bytes::new(4096));
    assert!(express(device).aspm_l0s && express(device).aspm_l1);
}

#[test]
fn lost_indentation_blank_lines_and_tabs_change_nothing() {
    let want = read_words(DRIVE).machine.pci;
    let flat: String = DRIVE.lines().map(|line| format!("{}\n\n", line.trim_start())).collect();
    let tabs = DRIVE.replace("        ", "\t");
    for text in [flat, tabs] {
        let got = read_words(&text).machine.pci;
        let (got, want) = (&got[&at("04:00.0")], &want[&at("04:00.0")]);
        assert_eq!(ends(&got.link), ends(&want.link));
        assert_eq!(got.express.value(), want.express.value());
        assert_eq!(got.aer.value(), want.aer.value());
        assert_eq!(got.driver.value(), want.driver.value());
    }
}

#[test]
fn a_log_pasted_between_is_left_out() {
    let mixed = DRIVE.replace(
        "                LnkSta:",
        "[  12.5] nvme 0000:04:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x8 link at 0000:03:00.0\n\
         pcieport 0000:03:00.0: AER: Width x16\n                LnkSta:",
    );
    assert_eq!(ends(&only(&read_words(&mixed)).link), [2500, 1, 8000, 4]);
}

/// <https://lore.kernel.org/linux-pci/0b6246f1-82bb-b99d-c7b4-b1f8e3d9e6fb@samsung.com/>, cut.
#[test]
fn a_width_of_zero_is_no_width_and_domains_are_kept_apart() {
    let part = read_words(
        "0001:00:00.0 PCI bridge: Samsung Electronics Co Ltd Device ecee (rev 01) \n(prog-if 00 [Normal decode])\n\
         \tBus: primary=00, secondary=01, subordinate=ff, sec-latency=0\n\
         \tCapabilities: [70] Express (v2) Root Port (Slot-), MSI 00\n\
         \t\tLnkCap: Port #0, Speed 8GT/s, Width x0, ASPM L1, Exit \nLatency L1 unlimited\n\
         \t\tLnkSta: Speed 5GT/s (downgraded), Width x1 (strange)\n\
         0001:01:00.0 Ethernet controller: Realtek\n\t\tLnkSta: Speed unknown, Width x1 (ok)\n\
         0000:01:00.0 SATA controller: x\n",
    );
    let root = &part.machine.pci[&at("0001:00:00.0")];
    assert_eq!(ends(&root.link), [5000, 1, 8000, 0]);
    assert!(matches!(&root.link.max_width, Fact::Garbled { raw, .. } if raw == "x0"));
    assert_eq!(root.port.get(), Some(PortType::RootPort));
    let card = &part.machine.pci[&at("0001:01:00.0")];
    assert_eq!(card.parent, Some(at("0001:00:00.0")));
    assert!(matches!(&card.link.current_speed, Fact::Garbled { raw, .. } if raw == "unknown"));
    assert_eq!(card.link.max_width.get(), card.link.current_width.get(), "lspci says ok");
    assert_eq!(part.machine.pci[&at("01:00.0")].parent, None);
}

/// <https://lore.kernel.org/linux-pci/CAHn-FMxN4QySUfJ=Pxkm23Pm6hgt8hAoCAQczCpqs=TpygR6Ow@mail.gmail.com/>, cut.
const HEADLESS: &str = "\
Bus: primary=14, secondary=30, subordinate=c5, sec-latency=0
Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
LnkCap: Port #3, Speed 16GT/s, Width x8, ASPM L1, Exit Latency L1 <64us
ClockPM- Surprise+ LLActRep+ BwNot+ ASPMOptComp+
LnkSta: Speed 8GT/s (downgraded), Width x4 (downgraded)
ErrorSrc: ERR_COR: 1420 ERR_FATAL/NONFATAL: 0000
";

#[test]
fn a_root_port_without_first_line_is_named_by_its_own_error_message() {
    let part = read_words(HEADLESS);
    let port = only(&part);
    assert_eq!(port.address, at("14:04.0"), "0x1420: bus 0x14, device 4, function 0");
    assert!(port.is_bridge());
    assert_eq!(ends(&port.link), [8000, 4, 16000, 8]);
    let unnamed = read_words(&HEADLESS.replace("1420", "3000"));
    assert!(only(&unnamed).address.is_unnamed(), "an error of another function names nobody");
}

#[test]
fn link_lines_without_a_function_are_states_of_one_or_of_a_few() {
    let lines = "LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1\n  LnkSta: Speed 2.5GT/s (downgraded), Width x16 (ok)\n";
    let part = read_words(lines);
    assert!(only(&part).address.is_unnamed());
    assert_eq!(ends(&only(&part).link), [2500, 16, 16000, 16]);
    let after = lines.replace("2.5GT/s (downgraded)", "16GT/s (ok)");
    let states = read_words(&format!("{lines}\nAfter reseating it:\n\n{after}")).machine.pci;
    assert_eq!(states.values().map(|state| ends(&state.link)[0]).collect::<Vec<_>>(), [2500, 16_000]);
    assert!(read_words(&lines.repeat(5)).kind.is_none(), "nobody knows whose they are");
    // <https://lore.kernel.org/linux-pci/aRNBYX8MbR7PtssY@ryzen/>
    let called =
        read_words("# lspci -vvv  -s 0000:01:00.0 | grep LnkSta:\n\tLnkSta: Speed 8GT/s, Width x4\n");
    assert_eq!(only(&called).address, at("01:00.0"));
    assert_eq!(ends(&only(&called).link), [8000, 4, 0, 0]);
    let looped = read_words(&format!("== 0000:c1:00.0\n{lines}== 0000:c2:00.0\n{lines}"));
    assert_eq!(
        looped.machine.pci.keys().map(ToString::to_string).collect::<Vec<_>>(),
        ["0000:c1:00.0", "0000:c2:00.0"]
    );
}

#[test]
fn lines_of_functions_that_were_filtered_away_are_nobodys() {
    // `lspci -vv | grep -E "SATA|LnkSta:"`: the lines below the controller are of the ports after it.
    let part = read_words(
        "00:17.0 SATA controller: Intel Corporation X (prog-if 01 [AHCI 1.0])\n\
         \t\tLnkSta: Speed 8GT/s, Width x4\n\t\tLnkSta: Speed 5GT/s, Width x1\n",
    );
    assert_eq!(ends(&only(&part).link), [0; 4]);
}

#[test]
fn a_width_at_the_end_of_the_text_may_be_cut() {
    let start = "01:00.0 VGA compatible controller: x\n LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM L1\n LnkSta: Speed 16GT/s, Width ";
    assert_eq!(ends(&only(&read_words(&format!("{start}x1"))).link), [16000, 0, 16000, 16]);
    assert_eq!(ends(&only(&read_words(&format!("{start}x1 (downgraded)"))).link), [16000, 1, 16000, 16]);
    assert_eq!(ends(&only(&read_words(&format!("{start}x8"))).link), [16000, 8, 16000, 16]);
    for end in 0..DRIVE.len() {
        let cut = read_words(DRIVE.get(..end).unwrap_or_default());
        let link = cut.machine.pci.values().next().map(|device| ends(&device.link));
        assert!(
            link.is_none_or(|link| [0, 2500].contains(&link[0]) && [0, 1].contains(&link[1])),
            "cut at {end}"
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = Text::new("x", &bytes);
        for reader in [read, read_hex, read_tree, read_sysfs, read_summary] {
            let _ = reader(&text);
        }
    }

    #[test]
    fn no_mixture_of_pieces_panics(pieces in prop::collection::vec(0usize..PIECES.len(), 0..60)) {
        let content: String = pieces.iter().filter_map(|at| PIECES.get(*at)).copied().collect();
        let text = Text::new("x", content.as_bytes());
        for reader in [read, read_hex, read_tree, read_sysfs, read_summary] {
            let part = reader(&text);
            for (address, device) in &part.machine.pci {
                prop_assert_eq!(*address, device.address);
                prop_assert_ne!(device.parent, Some(*address));
            }
        }
    }
}

/// What texts are made of.
const PIECES: &[&str] = &[
    "\n",
    " ",
    "\t",
    "01:00.0 ",
    "10000:e1:00.0 ",
    "SATA controller: ",
    "PCI bridge [0604]: x [8086:1234]",
    "LnkSta:",
    " Speed 8GT/s",
    ", Width x",
    "4",
    "16",
    " (ok)",
    " (downgraded)",
    "LnkCap: Port #3,",
    "Bus: primary=00, secondary=",
    "01",
    ", subordinate=05",
    "Capabilities: [70] Express (v2) Endpoint",
    "00: 86 80",
    "-[0000:00]-+-",
    "01.0-[01-05]-",
    "+-",
    "\\-",
    "00.0",
    "  name",
    "/sys/devices/pci0000:00/0000:00:1c.0/",
    "current_link_speed:",
    "class:0x010802",
    "* Card: Speed 5GT/s, Width x2",
    "ErrorSrc: ERR_COR: 0008",
    "é",
    "\u{a0}",
    "DevCtl: MaxPayload 128 bytes",
    "<",
];

/// The control register of a PI7C9X2G608GP as <https://lore.kernel.org/linux-iommu/>, "AMD-Vi: amdgpu" has it, as it is before the last
/// three bits were decoded, and as mail programs break it.
#[test]
fn ports_say_what_they_redirect() {
    let port = |lines: &str| {
        let text = format!(
            "04:01.0 PCI bridge: Pericom Semiconductor PI7C9X2G608GP\n\tBus: primary=04, secondary=05, subordinate=05\n{lines}"
        );
        let part = read_words(&text);
        only(&part).acs.clone()
    };
    let capability = "\tCapabilities: [148 v1] Access Control Services\n";
    for (line, forbids) in [
        (
            "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n",
            true,
        ),
        ("\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- \n", false),
        (
            "\t\tACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+\nUpstreamFwd+ EgressCtrl- DirectTrans-\n",
            true,
        ),
        (
            "\t\tACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl+ DirectTrans-\n",
            true,
        ),
    ] {
        let acs = port(&format!("{capability}{line}"));
        assert_eq!(acs.value().map(Acs::forbids_peers), Some(forbids), "{line}");
    }
    let garbled = port(&format!("{capability}\t\tACSCtl: SrcValid+ TransB\n"));
    assert!(matches!(garbled, Fact::Garbled { .. }), "{garbled:?}");
    let none = port("\tCapabilities: [100 v1] Advanced Error Reporting\n");
    assert!(matches!(&none, Fact::Absent { source } if !source.as_str().is_empty()), "{none:?}");
    assert_eq!(port("\tCapabilities: [40] Power Management version 3\n"), Fact::default());
}

#[test]
fn a_link_whose_capabilities_were_left_out_has_the_fastest_of_its_rates() {
    let part = read_words(
        "01:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller\n\
         \t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n\
         \t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (downgraded)\n\
         \t\tLnkCap2: Supported Link Speeds: 2.5-8GT/s, Crosslink- Retimer- 2Retimers- DRS-\n",
    );
    let device = only(&part);
    assert_eq!(ends(&device.link), [5000, 1, 8000, 0]);
    // Only root sees the status of a link.
    assert!(!matches!(device.express, Fact::Denied { .. }), "{:?}", device.express);
}
