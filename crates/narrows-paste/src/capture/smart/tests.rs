use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::Machine;
use narrows_machine::block::{Sata, Transport};
use proptest::prelude::*;

use super::super::{Text, join};
use super::read;

fn machine(text: &str) -> Machine {
    named("smart.txt", text)
}

fn named(name: &str, text: &str) -> Machine {
    read(&Text::new(name, text.as_bytes())).machine
}

fn sata<'m>(machine: &'m Machine, name: &str) -> &'m Sata {
    match &machine.block[name].transport {
        Transport::Sata(sata) => sata,
        other => panic!("{name} is {other:?}"),
    }
}

/// A drive on a port of half its speed (smartmontools 7.2), shortened.
const SATA: &str = "\
smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)

=== START OF INFORMATION SECTION ===
Model Family:     WD Blue / Red / Green SSDs
Device Model:     WDC  WDS200T1R0A-68A4W0
Serial Number:    20001A
Firmware Version: 411010WR
User Capacity:    2,000,398,934,016 bytes [2.00 TB]
Sector Sizes:     512 bytes logical, 4096 bytes physical
Rotation Rate:    Solid State Device
SATA Version is:  SATA 3.3, 6.0 Gb/s (current: 3.0 Gb/s)

=== START OF READ SMART DATA SECTION ===
Serial Number:    no longer of the drive
";

#[test]
fn a_sata_drive_tells_both_its_rates() {
    for machine in [
        machine(&format!("# smartctl -a /dev/sdb\n{SATA}")),
        named("sos_commands/ata/smartctl_-a_.dev.sdb", SATA),
    ] {
        let sata = sata(&machine, "sdb");
        assert_eq!(sata.speed.get(), Some(BitsPerSec::from_mbit(3000.0)));
        assert_eq!(sata.drive_speed.get(), Some(BitsPerSec::from_mbit(6000.0)));
        let drive = &machine.block["sdb"];
        assert_eq!(drive.model.value().map(String::as_str), Some("WDC  WDS200T1R0A-68A4W0"));
        assert_eq!(drive.serial.value().map(String::as_str), Some("20001A"));
        assert_eq!(drive.size.get(), Some(Bytes::new(2_000_398_934_016)));
        assert_eq!(drive.queue.rotational.get(), Some(false));
        assert_eq!(drive.queue.physical_block.get(), Some(Bytes::new(4096)));
    }
}

#[test]
fn a_drive_without_a_name_is_found_by_its_serial_number_or_stands_alone() {
    let mut known = machine(SATA);
    let mut sdc = narrows_machine::block::BlockDevice { name: "sdc".to_owned(), ..Default::default() };
    sdc.serial = narrows_base::fact::Fact::known("20001A".to_owned(), "lsblk");
    known.block.insert("sdc".to_owned(), sdc);
    join::join(&mut known);
    assert_eq!(sata(&known, "sdc").speed.get(), Some(BitsPerSec::from_mbit(3000.0)));
    assert_eq!(known.block.len(), 1);
    let mut alone = machine(SATA);
    join::join(&mut alone);
    assert_eq!(alone.block.keys().collect::<Vec<_>>(), ["unnamed-1"]);
    let mut stripped = machine(&SATA.replace("Serial Number:    20001A\n", ""));
    join::join(&mut stripped);
    assert_eq!(stripped.block.keys().collect::<Vec<_>>(), ["unnamed-1"]);
}

#[test]
fn what_an_ata_drive_counts_is_read_in_both_forms() {
    let head = "The output of smartctl -a /dev/sdb:\n\nsmartctl 7.2 of /dev/sdb:\n=== START OF INFORMATION SECTION ===\n\
        Device Model:     WDC WD40EFRX-68N32N0\nSerial Number:    X\n\n=== START OF READ SMART DATA SECTION ===\n";
    let long = "SMART overall-health self-assessment test result: FAILED!\n\
        \x20 5 Reallocated_Sector_Ct   0x0033   200   200   140    Pre-fail  Always       -       3\n\
        197 Current_Pending_Sector  0x0032   200   200   000    Old_age   Always       -       37\n\
        199 UDMA_CRC_Error_Count    0x0032   200   197   000    Old_age   Always       -       4211\n\
        194 Temperature_Celsius     0x0022   110   099   000    Old_age   Always       -       40 (Min/Max 18/51)\n";
    let brief = "SMART overall-health self-assessment test result: FAILED!\n\
        \x20 5 Reallocated_Sector_Ct   PO--CK   200   200   140    -    3\n\
        197 Current_Pending_Sector  -O--CK   200   200   000    -    37\n\
        199 UDMA_CRC_Error_Count    -O--CK   200   197   000    -    4211\n";
    for rows in [long, brief] {
        let machine = machine(&format!("{head}{rows}"));
        let counts = machine.health["sdb"].ata.get().expect("there");
        assert_eq!(
            (counts.is_failing, counts.reallocated, counts.pending, counts.cable),
            (true, 3, 37, 4211)
        );
    }
    let healthy = machine(&format!("{head}SMART overall-health self-assessment test result: PASSED\n"));
    assert_eq!(healthy.health["sdb"].ata.get(), Some(narrows_machine::health::AtaCounts::default()));
}

#[test]
fn attributes_alone_and_errors_that_a_drive_kept_are_of_a_drive() {
    let counts = |text: &str| {
        let machine = machine(text);
        machine.health.values().next().and_then(|health| health.ata.get())
    };
    let rows = "197 Current_Pending_Sector  0x0032   200   200   000    Old_age   Always       -       37\n\
        199 UDMA_CRC_Error_Count    0x0032   200   197   000    Old_age   Always       -       4211\n";
    let found = counts(rows).expect("some lines are enough");
    assert_eq!((found.pending, found.cable), (37, 4211));
    let called =
        machine(&format!("# smartctl -A /dev/sdc\nID# ATTRIBUTE_NAME          FLAG     VALUE\n{rows}"));
    assert!(called.health.contains_key("sdc"), "{:?}", called.health.keys());
    let kept = "ER -- ST COUNT  LBA_48  LH LM LL DV DC\n-- -- -- == -- == == == -- -- -- -- --\n\
        40 -- 51 00 01 00 00 00 5e a7 db e0 00  Error: UNC at LBA = 0x005ea7db = 6203355\n";
    assert_eq!(counts(kept).map(|found| found.uncorrectable), Some(1));
    assert_eq!(counts(&kept.repeat(3)).map(|found| found.uncorrectable), Some(3));
    let check = "OK: no SMART errors detected. |Reallocated_Sector_Ct=0 UDMA_CRC_Error_Count=0\n\
        WARNING: UDMA_CRC_Error_Count is non-zero (4739)|Reallocated_Sector_Ct=0 UDMA_CRC_Error_Count=4739\n";
    assert_eq!(counts(check).map(|found| found.cable), Some(4739));
    let cut = check.replace(" UDMA_CRC_Error_Count=4739", " UDMA");
    assert_eq!(counts(&cut).map(|found| found.cable), Some(4739));
    // A drive without an error, and a table of something else.
    assert_eq!(counts("199 UDMA_CRC_Error_Count 0x0032 200 200 000 Old_age Always - 0\n"), None);
    assert_eq!(counts("5 of my disks _Count 100 200 300 400 500 600 700\n"), None);
    assert_eq!(counts("Error: UNC at LBA = 0x005ea7db\n"), None);
}

#[test]
fn languages_separate_thousands_differently() {
    for capacity in ["1.000.204.886.016 bytes [1,00 TB]", "1 000 204 886 016 bytes [1,00 TB]"] {
        let machine = machine(&format!(
            "=== START OF INFORMATION SECTION ===\nSerial Number: X\nUser Capacity: {capacity}\n"
        ));
        assert_eq!(machine.block["smart/X"].size.get(), Some(Bytes::new(1_000_204_886_016)));
    }
}

#[test]
fn nvme_and_sas_drives_are_told_apart() {
    let nvme = machine(
        "$ sudo smartctl -x /dev/nvme1\n=== START OF INFORMATION SECTION ===\nModel Number:  KINGSTON SKC3000S1024G\n\
         Serial Number: 5002\nNamespace 1 Size/Capacity:          1,024,209,543,168 [1.02 TB]\n",
    );
    assert!(matches!(&nvme.block["nvme1n1"].transport, Transport::Other { name, .. } if name == "nvme"));
    assert_eq!(nvme.block["nvme1n1"].size.get(), Some(Bytes::new(1_024_209_543_168)));
    let sas = machine(
        "# smartctl -i /dev/sdd\n=== START OF INFORMATION SECTION ===\nVendor: HGST\nProduct: HUH721212AL5200\nRevision: A3D0\n\
         Logical block size:   4096 bytes\nRotation Rate: 7200 rpm\nSerial number: 8C\nTransport protocol:   SAS (SPL-4)\n",
    );
    assert!(matches!(sas.block["sdd"].transport, Transport::Sas(_)));
    assert_eq!(sas.block["sdd"].queue.rotational.get(), Some(true));
}

#[test]
fn a_drive_behind_a_volume_is_not_the_volume() {
    let machine = machine(&format!("# smartctl -d megaraid,4 -a /dev/sda\n{SATA}"));
    assert!(!machine.block.contains_key("sda"));
}

#[test]
fn json_tells_the_same() {
    let machine = machine(
        r#"{"json_format_version": [1, 0], "smartctl": {"version": [7, 2]}, "device": {"name": "/dev/sdb", "type": "sat",
        "protocol": "ATA"}, "model_name": "WDC  WDS200T1R0A-68A4W0", "serial_number": "20001A",
        "user_capacity": {"blocks": 1, "bytes": 2000398934016}, "logical_block_size": 512, "physical_block_size": 4096,
        "rotation_rate": 0, "interface_speed": {"max": {"string": "6.0 Gb/s"}, "current": {"string": "3.0 Gb/s"}}}"#,
    );
    assert_eq!(sata(&machine, "sdb").speed.get(), Some(BitsPerSec::from_mbit(3000.0)));
    assert_eq!(sata(&machine, "sdb").drive_speed.get(), Some(BitsPerSec::from_mbit(6000.0)));
    assert_eq!(machine.block["sdb"].queue.rotational.get(), Some(false));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(
        field in "(User Capacity|Sector Size|SATA Version is|Rotation Rate|Serial Number|Device Model):[ -~]{0,40}",
        device in "/dev/[a-z0-9/]{0,12}",
    ) {
        let mut machine = machine(&format!("smartctl -a {device}\n=== START OF INFORMATION SECTION ===\n{field}\nSerial Number: x\n"));
        join::join(&mut machine);
    }
}

#[test]
fn a_health_log_of_smartctl_goes_with_its_drive() {
    let text = "$ sudo smartctl -a /dev/nvme0\n=== START OF INFORMATION SECTION ===\nModel Number:  M\nSerial Number: S\n\
        Warning  Comp. Temp. Threshold:     77 Celsius\n=== START OF SMART DATA SECTION ===\n\
        SMART/Health Information (NVMe Log 0x02)\nCritical Warning:                   0x00\n\
        Temperature:                        79 Celsius\nAvailable Spare:                    100%\n\
        Percentage Used:                    3%\nData Units Read:                    21,391,213 [10.9 TB]\n\
        Warning  Comp. Temperature Time:    12\nTemperature Sensor 1:               79 Celsius\n";
    let json = r#"{"smartctl": {}, "device": {"name": "/dev/nvme0", "type": "nvme", "protocol": "NVMe"}, "serial_number": "S",
        "nvme_composite_temperature_threshold": {"warning": 77, "critical": 80}, "temperature": {"current": 79},
        "nvme_smart_health_information_log": {"critical_warning": 0, "temperature": 79, "available_spare": 100,
        "percentage_used": 3, "data_units_read": 21391213, "warning_temp_time": 12, "temperature_sensors": [79]}}"#;
    for text in [text, json] {
        let machine = machine(text);
        let health = &machine.health["nvme0n1"];
        assert!(health.is_hot(), "{text}");
        let log = health.smart.get().expect("has a log");
        assert_eq!((log.percentage_used, log.read), (3, Bytes::new(10_952_301_056_000)), "{text}");
        assert_eq!((log.warning_time.as_secs_f64(), log.sensors.len()), (720.0, 1), "{text}");
    }
}

#[test]
fn the_temperature_of_a_sata_drive_is_that_of_attribute_194() {
    let text = format!(
        "{SATA}194 Temperature_Celsius     0x0022   114   099   000    Old_age   Always       -       36 (Min/Max 18/51)\n"
    );
    let mut machine = machine(&text);
    join::join(&mut machine);
    assert_eq!(
        machine.health["unnamed-1"].temperature.value().map(ToString::to_string).as_deref(),
        Some("36 °C")
    );
}
