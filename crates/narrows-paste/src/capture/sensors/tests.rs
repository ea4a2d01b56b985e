use super::*;
use crate::capture::merge::Merger;
use crate::capture::parts;
use narrows_machine::health::DriveHealth;
use proptest::prelude::*;

const LOG: &str = "\
[    1.100000] scsi host4: ahci
[    1.200000] ata5: SATA max UDMA/133 abar m2048@0xf7d36000 port 0xf7d36300 irq 30
[    1.300000] ata5.00: ATA-9: WDC WD40EFRX-68N32N0, 82.00A82, max UDMA/133
[    1.400000] ata5: SATA link up 6.0 Gbps (SStatus 133 SControl 300)
[    1.500000] scsi 4:0:0:0: Direct-Access     ATA      WDC WD40EFRX-68N 0A82 PQ: 0 ANSI: 5
[    1.600000] sd 4:0:0:0: [sdc] 7814037168 512-byte logical blocks: (4.00 TB/3.64 TiB)
";

const PEOPLE: &str = "\
drivetemp-scsi-4-0
Adapter: SCSI adapter
temp1:        +66.0°C  (low  =  +0.0°C, high = +65.0°C)
                       (crit low = -41.0°C, crit = +85.0°C)
                       (lowest = +28.0°C, highest = +67.0°C)

amdgpu-pci-0700
Adapter: PCI adapter
edge:         +28.0°C

nvme-pci-0400
Adapter: PCI adapter
Composite:    +35.9°C  (low  = -273.1°C, high = +80.8°C)
                       (crit = +84.8°C)
Sensor 1:     +35.9°C  (low  = -273.1°C, high = +65261.8°C)
Sensor 2:     +44.9°C  (low  = -273.1°C, high = +65261.8°C)

k10temp-pci-00c3
Adapter: PCI adapter
Tctl:         +31.0°C
";

const RAW: &str = "\
drivetemp-scsi-4-0
Adapter: SCSI adapter
temp1:
  temp1_input: 66.000
  temp1_max: 65.000
  temp1_crit: 85.000

nvme-pci-0400
Adapter: PCI adapter
Composite:
  temp1_input: 35.850
  temp1_max: 80.850
  temp1_min: -273.150
Sensor 2:
  temp3_input: 44.850
  temp3_max: 65261.850
";

const JSON: &str = r#"{
   "pch_cannonlake-virtual-0":{"Adapter": "Virtual device", "temp1":{"temp1_input": 99.000}},
   "drivetemp-scsi-4-0":{"Adapter": "SCSI adapter", "temp1":{"temp1_input": 66.000, "temp1_max": 65.000}},
   "nvme-pci-0400":{
      "Adapter": "PCI adapter",
      "Composite":{"temp1_input": 35.850, "temp1_max": 80.850, "temp1_min": -273.150},
      "Sensor 2":{"temp3_input": 44.850, "temp3_max": 65261.850}
   }
}
"#;

/// What is known when the texts are of one machine.
fn united(texts: &[&str]) -> Machine {
    let mut merger = Merger::default();
    for (at, text) in texts.iter().enumerate() {
        let text = Text::new(format!("text{at}"), text.as_bytes());
        for part in parts(&text) {
            merger.add(text.name(), part);
        }
    }
    merger.finish()
}

fn health(machine: &Machine, drive: &str) -> Option<(f64, Option<f64>)> {
    let health = machine.health.get(drive)?;
    Some((health.temperature.value()?.get().round(), health.warning.value().map(|high| high.get().round())))
}

#[test]
fn every_form_gives_each_drive_its_temperature() {
    let listing =
        "lrwxrwxrwx 1 root root 0 Jan  1 00:00 /sys/class/nvme/nvme1/device -> ../../../0000:04:00.0\n";
    let quoted: String = PEOPLE.lines().map(|line| format!("> {line}\n")).collect();
    for text in [PEOPLE, RAW, JSON, &quoted] {
        let machine = united(&[LOG, listing, text]);
        assert_eq!(health(&machine, "sdc"), Some((66.0, Some(65.0))), "{text}");
        assert_eq!(health(&machine, "nvme1n1"), Some((36.0, Some(81.0))), "{text}");
        assert_eq!(machine.health.len(), 2, "nothing else is a drive, and nothing is left over: {text}");
    }
}

#[test]
fn a_hot_drive_is_hot_only_when_its_own_limit_says_so() {
    let machine = united(&[LOG, PEOPLE]);
    assert!(machine.health.get("sdc").is_some_and(DriveHealth::is_hot));
    let cool = PEOPLE.replace("+66.0", "+51.0");
    assert!(!united(&[LOG, &cool]).health.get("sdc").is_some_and(DriveHealth::is_hot));
}

#[test]
fn a_place_that_no_text_ties_to_a_drive_gives_nothing() {
    let two = PEOPLE.replace("drivetemp-scsi-4-0", "drivetemp-scsi-9-0");
    let machine =
        united(&[LOG, &format!("{two}\ndrivetemp-scsi-8-0\nAdapter: SCSI adapter\ntemp1: +30.0°C\n")]);
    assert!(machine.health.is_empty(), "{:?}", machine.health);
    let machine = united(&[PEOPLE]);
    assert!(machine.health.is_empty() && machine.block.is_empty());
    assert_eq!(read(&Text::new("x", PEOPLE.as_bytes())).kind, Some("sensors"));
}

#[test]
fn a_text_that_is_cut_gives_the_number_or_none() {
    let at = PEOPLE.find("+66.0").expect("the first number");
    for end in at..at + 5 {
        let machine = united(&[LOG, PEOPLE.get(..end).expect("plain letters before")]);
        assert!(health(&machine, "sdc").is_none_or(|(now, _)| now <= 66.0), "{end}");
        assert!(!machine.health.get("sdc").is_some_and(DriveHealth::is_hot));
    }
}

#[test]
fn names_of_chips_are_places() {
    for (name, at) in [
        ("nvme-pci-0400", Some("0000:04:00.0")),
        ("nvme-pci-c1a3", Some("0000:c1:14.3")),
        ("nvme-pci-10001e100", None),
        ("drivetemp-scsi-10-0", Some("10:0:0:0")),
        ("drivetemp-scsi-0-1f0", Some("0:1:15:0")),
        ("coretemp-isa-0000", None),
        ("nvme-pci-", None),
    ] {
        assert_eq!(place(name).as_deref(), at, "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "((nvme-pci-|drivetemp-scsi-)[0-9a-f-]{0,10}\n([A-Za-z1_]{0,12}:)?[ -~°]{0,40}\n){0,4}") {
        let _ = united(&[&text]);
    }
}
