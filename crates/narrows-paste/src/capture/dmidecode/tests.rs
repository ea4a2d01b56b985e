use narrows_base::units::{Bytes, GtPerSec, Lanes};
use proptest::prelude::*;

use super::*;

/// Structures of a Dell and a Supermicro server, as version 3.3 prints them.
const SERVER: &str = "\
# dmidecode 3.3
Getting SMBIOS data from sysfs.
SMBIOS 3.2.0 present.

Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: Dell Inc.
\tVersion: 2.16.1
\tRelease Date: 08/17/2022
\tCharacteristics:
\t\tPCI is supported

Handle 0x0100, DMI type 1, 27 bytes
System Information
\tManufacturer: Dell Inc.
\tProduct Name: PowerEdge R740
\tVersion: Not Specified

Handle 0x0200, DMI type 2, 8 bytes
Base Board Information
\tManufacturer: Dell Inc.
\tProduct Name: 00WGD1

Handle 0x0400, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: CPU1
\tType: Central Processor
\tSignature: Type 0, Family 6, Model 85, Stepping 4
\tVersion: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz
\tStatus: Populated, Enabled
\tCore Count: 16
\tCore Enabled: 14

Handle 0x0401, DMI type 4, 48 bytes
Processor Information
\tSocket Designation: CPU2
\tType: Central Processor
\tStatus: Unpopulated

Handle 0x1100, DMI type 17, 84 bytes
Memory Device
\tSize: 16 GB
\tType: DDR4

Handle 0x1101, DMI type 17, 84 bytes
Memory Device
\tSize: 16384 MB
\tType: DDR4

Handle 0x1102, DMI type 17, 84 bytes
Memory Device
\tSize: 16 MB
\tType: Flash

Handle 0x1103, DMI type 17, 84 bytes
Memory Device
\tSize: No Module Installed

Handle 0x0900, DMI type 9, 17 bytes
System Slot Information
\tDesignation: PCIe Slot 1
\tType: x8 PCI Express 3 x16
\tCurrent Usage: In Use
\tLength: Long
\tID: 1
\tCharacteristics:
\t\t3.3 V is provided
\tBus Address: 0000:3b:00.0

Handle 0x0901, DMI type 9, 17 bytes
System Slot Information
\tDesignation: SLOT 5
\tType: x4 PCI Express
\tCurrent Usage: Available
\tBus Address: 0000:00:1f.7
";

fn machine(body: &str) -> Machine {
    let part = read(&Text::new("dmi", body.as_bytes()));
    assert_eq!((part.kind, part.rank), (Some("dmidecode"), Rank::Summary));
    part.machine
}

fn slots(body: &str) -> Vec<Slot> {
    machine(body).slots.get().expect("slots")
}

#[test]
fn a_whole_output_fills_board_processors_memory_and_slots() {
    let machine = machine(SERVER);
    let text = |fact: &Fact<String>| fact.get().unwrap_or_default();
    let dmi = &machine.dmi;
    assert_eq!(
        [text(&dmi.system_vendor), text(&dmi.product), text(&dmi.board)],
        ["Dell Inc.", "PowerEdge R740", "00WGD1"]
    );
    assert_eq!([text(&dmi.bios_version), text(&dmi.bios_date)], ["2.16.1", "08/17/2022"]);
    assert_eq!((dmi.smbios.get(), dmi.product.source().as_str()), (Some((3, 2)), "dmi:14"));
    let cpus = &machine.cpus;
    assert_eq!(
        (cpus.sockets.get(), cpus.cores.get(), cpus.signature.get()),
        (Some(1), Some(14), Some((6, 85, 4)))
    );
    assert_eq!(cpus.memory.get(), Some(Bytes::new(32 << 30)), "without the flash chip");
    assert_eq!(machine.slots.source().as_str(), "dmi:60");
}

#[test]
fn a_slot_has_wiring_connector_and_use() {
    let slots = slots(SERVER);
    let want = Slot {
        designation: "PCIe Slot 1".into(),
        kind: "PCI Express 3 x16".into(),
        speed: Some(GtPerSec::GEN3),
        width: Some(Lanes::new(8)),
        connector: Some(Lanes::new(16)),
        in_use: Some(true),
        address: "3b:00.0".parse().ok(),
    };
    assert_eq!(slots[0], want);
    assert_eq!((slots[1].in_use, slots[1].address), (Some(false), None), "1f.7 is a placeholder");
    assert_eq!((slots[1].speed, slots[1].width, slots[1].connector), (None, Some(Lanes::new(4)), None));
}

#[test]
fn newer_versions_say_width_and_generation_apart() {
    let slots = slots(
        "System Slot Information\nDesignation: M2_1\nType: M.2 Socket 3\nData Bus Width: 4x or x4\n\
         Current Usage: Unknown\nSlot Physical Width: x4\nPCI Express Generation: 4\n\n\
         System Slot Information\nDesignation: U2\nType: PCI Express 4 SFF-8639 (U.2)\nData Bus Width: 16x or x16\n\n\
         System Slot Information\nDesignation: OLD\nType: 32-bit PCI\n",
    );
    assert_eq!(
        (slots[0].kind.as_str(), slots[0].speed, slots[0].width),
        ("M.2 socket 3", Some(GtPerSec::GEN4), Some(Lanes::new(4)))
    );
    assert_eq!((slots[0].connector, slots[0].in_use), (Some(Lanes::new(4)), None));
    assert_eq!((slots[1].kind.as_str(), slots[1].speed), ("PCI Express 4 U.2", Some(GtPerSec::GEN4)));
    assert_eq!((slots[2].kind.as_str(), slots[2].width), ("PCI", None));
}

#[test]
fn the_words_of_dmidecode_name_types_as_the_table_does() {
    // Bytes of DSP0134 7.10: type b6 (PCI Express 3 x16), width 0b (8x or x8), in use, and the name as string 1.
    let table = b"\x09\x11\x00\x09\x01\xb6\x0b\x04\x04\x01\x00\x04\x01\x00\x00\x3b\x00PCIe Slot 1\0\0\x7f\x04\0\0\0\0";
    let part = read_table("DMI", table);
    assert_eq!(part.machine.slots.get(), Some(vec![slots(SERVER).swap_remove(0)]));
    assert_eq!(part.rank, Rank::Raw);
    let dump = [b"_SM3_".as_slice(), &[0; 27], table].concat();
    assert_eq!(read_table("dump", &dump).machine.slots.get(), part.machine.slots.get());
    assert_eq!(read_table("x", b"nothing").kind, None);
}

#[test]
fn tabs_handles_and_case_may_be_lost() {
    let flat = SERVER
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("Handle"))
        .collect::<Vec<_>>()
        .join("\n");
    assert_eq!(slots(&flat), slots(SERVER));
    assert_eq!(machine(&flat).dmi.board.get().as_deref(), Some("00WGD1"));
    let old = "Handle 0x0009\n\tDMI type 9, 13 bytes.\n\tSystem Slot Information\n\t\tDesignation: PCI1\n\t\tType: 32-bit PCI\n";
    assert_eq!(slots(old)[0].designation, "PCI1");
}

#[test]
fn a_virtual_machine_is_recognised_and_placeholders_say_nothing() {
    let machine = machine(
        "System Information\n\tManufacturer: QEMU\n\tProduct Name: Standard PC (Q35 + ICH9, 2009)\n\nBase Board Information\n\tManufacturer: To Be Filled By O.E.M.\n\tProduct Name: X570D4U\n",
    );
    assert_eq!(machine.cpus.hypervisor.get().as_deref(), Some("QEMU"));
    assert_eq!((machine.dmi.board_vendor.get(), machine.dmi.board.get().as_deref()), (None, Some("X570D4U")));
}

#[test]
fn other_texts_and_cut_structures_say_nothing() {
    for text in [
        "",
        "System Slot Information\n",
        "BIOS Information\nfoo\n",
        "Link Information\nType: x4\n",
        "Handle 0x0001, DMI type 9, 17 bytes\n",
    ] {
        assert_eq!(read(&Text::new("x", text.as_bytes())).kind, None, "{text}");
    }
    let many = "System Slot Information\nType: x4 PCI Express\n".repeat(2000);
    assert_eq!(slots(&many).len(), MOST_SLOTS);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
        let _ = read_table("x", &bytes);
    }

    #[test]
    fn no_output_cut_or_changed_panics(from in 0usize..1800, to in 0usize..1800, with in "\\PC{0,6}") {
        let (from, to) = (from.min(to).min(SERVER.len()), from.max(to).min(SERVER.len()));
        let _ = read(&Text::new("x", format!("{}{with}{}", &SERVER[..from], &SERVER[to..]).as_bytes()));
    }
}

/// A table of a board, a slot and the end, as the specification lays it out (DSP0134, sections 7.3, 7.10, 7.45).
const TABLE: &[u8] = b"\x02\x08\x01\x00\x01\x02\0\0ASRock\0X570D4U\0\0\
    \x09\x11\x00\x09\x01\xb6\x0b\x04\x04\x01\x00\x04\x01\x00\x00\x3b\x00PCIe Slot 1\0\0\x7f\x04\0\0\0\0";

#[test]
fn a_table_in_hexadecimal_is_the_table() {
    let row = |offset: usize, row: &[u8]| {
        (offset * 16, row.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>())
    };
    let rows = || TABLE.chunks(16).enumerate().map(|(at, bytes)| row(at, bytes));
    let canonical: String =
        rows().map(|(at, row)| format!("{at:08x}  {}  |.X570D4U........|\n", row.join(" "))).collect();
    let xxd: String = rows()
        .map(|(at, row)| {
            let words: Vec<String> = row.chunks(2).map(<[String]>::concat).collect();
            format!("{at:08x}: {}  .X570D4U beef\n", words.join(" "))
        })
        .collect();
    let od: String = rows().map(|(at, row)| format!("{at:06x} {}\n", row.join(" "))).collect();
    let plain = read_table("DMI", TABLE).machine;
    assert_eq!(plain.dmi.board.value().map(String::as_str), Some("X570D4U"));
    for dump in [canonical, xxd, od] {
        let text = format!("$ hexdump /sys/firmware/dmi/tables/DMI\n{dump}\n$\n");
        let part = read_hex(&Text::new("hex.txt", text.as_bytes()));
        assert_eq!(part.kind, Some("SMBIOS table"), "{text}");
        assert_eq!(part.machine.slots.get(), plain.slots.get(), "{text}");
        assert_eq!(part.machine.dmi.board.get(), plain.dmi.board.get());
        assert_eq!(part.machine.slots.source().as_str(), "hex.txt:2");
    }
    let undecoded = "Handle 0x0009, DMI type 9, 17 bytes\n\tHeader and Data:\n\t\t09 11 00 09 01 B6 0B 04 04 01 00 04 01 00 00 3B\n\t\t00\n\
        \tStrings:\n\t\t50 43 49 65 20 53 6C 6F 74 20 31 00\n\t\tPCIe Slot 1\n\nHandle 0x0010, DMI type 127, 4 bytes\n\
        \tHeader and Data:\n\t\t7F 04 10 00\n";
    let part = read_hex(&Text::new("u.txt", undecoded.as_bytes()));
    assert_eq!(part.machine.slots.get(), plain.slots.get());
}

#[test]
fn other_dumps_are_no_table() {
    let lspci =
        "01:00.0 Non-Volatile memory controller: x\n00: 4d 14 08 a8 06 04 10 00 00 02 08 01 10 00 00 00\n";
    let code =
        "00000000  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|\n*\n00000040  00\n";
    for text in [lspci, code, "*\n*\n", "00000000\n00000000 \nffffffff ff\n"] {
        assert_eq!(read_hex(&Text::new("x", text.as_bytes())).kind, None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_dump_panics(text in "(00000000|00000010|[0-9a-f]{6}|:| |  |09 11|7f04|\\*|\\||Header and Data:|Strings:|\n){0,60}") {
        let _ = read_hex(&Text::new("x", text.as_bytes()));
    }
}

#[test]
fn modules_have_the_speed_that_they_are_set_to() {
    let text = "Handle 0x1100, DMI type 17, 84 bytes\nMemory Device\n\tTotal Width: 72 bits\n\tData Width: 64 bits\n\tSize: 32 GB\n\tType: DDR4\n\tSpeed: 3200 MT/s\n\tConfigured Memory Speed: 2933 MT/s\n\nHandle 0x1101, DMI type 17, 40 bytes\nMemory Device\n\tData Width: 64 bits\n\tSize: 8192 MB\n\tType: DDR3\n\tSpeed: 1600 MHz\n\tConfigured Clock Speed: Unknown\n\nHandle 0x1102, DMI type 17, 40 bytes\nMemory Device\n\tData Width: Unknown\n\tSize: No Module Installed\n\tSpeed: Unknown\n";
    let modules = machine(text).memory_modules.get().expect("two are there");
    assert_eq!(modules.iter().map(|module| module.megatransfers).collect::<Vec<_>>(), [2933, 1600]);
    assert!(modules.iter().all(|module| module.width_bytes == 8));
}
