//! Outputs of three adapters and versions, as the field has them; serial numbers and WWNs are made up.

use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::captured::Lack;
use proptest::prelude::*;

use super::*;

/// `storcli64 /c0/e252/s0 show all` of a 9361 (storcli 007.0606).
const DRIVE: &str = "\
Controller = 0
Status = Success
Description = Show Drive Information Succeeded.


Drive /c0/e252/s0 :
=================

-----------------------------------------------------------------------------
EID:Slt DID State DG       Size Intf Med SED PI SeSz Model                Sp Type
-----------------------------------------------------------------------------
252:0     9 Onln   0 446.102 GB SATA SSD N   N  512B INTEL SSDSC2KB480G8 U  -
-----------------------------------------------------------------------------

EID=Enclosure Device ID|Slt=Slot No|DID=Device ID|DG=DriveGroup

Drive /c0/e252/s0 - Detailed Information :
========================================

Drive /c0/e252/s0 State :
=======================
Shield Counter = 0
Media Error Count = 0
Drive Temperature =  22C (71.60 F)
Predictive Failure Count = 0

Drive /c0/e252/s0 Device attributes :
===================================
SN = BTYF000000000000BGN
Manufacturer Id = ATA
Model Number = INTEL SSDSC2KB480G8
Device Speed = 6.0Gb/s
Link Speed = 3.0Gb/s
";

/// `perccli64 /c0 show` of a PERC H730 with a volume that lacks a member, and `/c0/v1 show all`.
const ADAPTER: &str = "\
CLI Version = 007.1623.0000.0000 May 17, 2021
Controller = 0
Status = Success

Product Name = PERC H730 Mini
Serial Number = 82900U0
PCI Address = 00:3b:00:00
Driver Name = megaraid_sas
Device Interface = SAS-12G
Drive Groups = 2

TOPOLOGY :
========

-----------------------------------------------------------------------------
DG Arr Row EID:Slot DID Type  State BT       Size PDC  PI SED DS3  FSpace TR
-----------------------------------------------------------------------------
 0 -   -   -        -   RAID1 Optl  N  278.875 GB dflt N  N   dflt N      N
-----------------------------------------------------------------------------

Virtual Drives = 2

VD LIST :
=======

---------------------------------------------------------------
DG/VD TYPE  State Access Consist Cache Cac sCC       Size Name
---------------------------------------------------------------
0/0   RAID1 Optl  RW     Yes     RWBD  -   OFF 278.875 GB os
1/1   RAID5 Dgrd  RW     Yes     RWBD  -   OFF   3.271 TB
---------------------------------------------------------------

PD LIST :
=======

---------------------------------------------------------------------------------
EID:Slt DID State  DG       Size Intf Med SED PI SeSz Model            Sp Type
---------------------------------------------------------------------------------
32:0      0 Onln    0 278.875 GB SAS  HDD N   N  512B ST300MP0005      U  -
32:1      1 Onln    0 278.875 GB SAS  HDD N   N  512B ST300MP0005      U  -
32:2      2 Onln    1   1.090 TB SAS  HDD N   N  512B ST1200MM0088     U  -
32:3      3 Failed  1   1.090 TB SAS  HDD N   N  512B ST1200MM0088     U  -
32:4      4 Onln    1   1.090 TB SAS  HDD N   N  512B ST1200MM0088     U  -
---------------------------------------------------------------------------------

/c0/v1 :
======

---------------------------------------------------------------
DG/VD TYPE  State Access Consist Cache Cac sCC     Size Name
---------------------------------------------------------------
1/1   RAID5 Dgrd  RW     Yes     RWBD  -   OFF 3.271 TB
---------------------------------------------------------------

VD1 Properties :
==============
Strip Size = 64 KB
OS Drive Name = /dev/sdb
";

/// `storcli /c0/sall show all J` of an adapter that calls its drives without an enclosure.
const JSON: &str = r#"{
"Controllers":[
{
    "Command Status" : { "CLI Version" : "007.1108.0000.0000", "Controller" : 1, "Status" : "Success" },
    "Response Data" : {
        "Basics" : { "Controller" : 1, "Model" : "AVAGO 3108 MegaRAID", "PCI Address" : "00:c1:00:00" },
        "VD LIST" : [ { "DG/VD" : "0/0", "TYPE" : "RAID6", "State" : "Pdgd", "Size" : "10.914 TB", "Name" : "" } ],
        "Drive /c1/s4" : [ { "EID:Slt" : ":4", "DID" : 9, "State" : "JBOD", "DG" : "-", "Size" : "237.968 GB",
            "Intf" : "SATA", "Med" : "SSD", "Model" : "Samsung SSD 860 PRO 256GB", "Sp" : "U" } ],
        "Drive /c1/s4 - Detailed Information" : {
            "Drive /c1/s4 State" : { "Predictive Failure Count" : 2 },
            "Drive /c1/s4 Device attributes" : { "SN" : "S00", "Device Speed" : "Unknown", "Link Speed" : "12.0Gb/s" }
        }
    }
} ] }
"#;

fn machine(text: &str) -> Machine {
    read(&Text::new("storcli.txt", text.as_bytes())).machine
}

fn gigabits(fact: &Fact<BitsPerSec>) -> Option<f64> {
    fact.value().map(|speed| speed.get() / 1e9)
}

#[test]
fn a_drive_has_its_link_and_what_it_can_do_quoted_or_not() {
    for text in [DRIVE.to_owned(), format!("> {}", DRIVE.replace('\n', "\n> "))] {
        let machine = machine(&text);
        let drive = &machine.adapters[&0].drives["252:0"];
        assert_eq!((gigabits(&drive.link), gigabits(&drive.most)), (Some(3.0), Some(6.0)));
        assert_eq!(drive.link.source().as_str(), "storcli.txt:33");
        assert_eq!(drive.model.as_deref(), Some("INTEL SSDSC2KB480G8"));
        assert_eq!((drive.turns, drive.group.as_deref()), (Some(false), Some("0")));
        // 0x37c34800 sectors of 512 bytes, and three decimals.
        let size = drive.size.map(Bytes::get).unwrap_or_default();
        assert!(size.abs_diff(0x37c3_4800 * 512) < 1 << 20, "{size}");
        assert!(drive.is_sound());
    }
}

#[test]
fn an_adapter_has_volumes_and_drives_with_their_states() {
    let machine = machine(ADAPTER);
    let adapter = &machine.adapters[&0];
    assert_eq!(adapter.model.value().map(String::as_str), Some("PERC H730 Mini"));
    assert_eq!(adapter.pci.map(|pci| pci.to_string()).as_deref(), Some("0000:3b:00.0"));
    let volumes: Vec<_> = adapter.volumes.iter().map(|(at, volume)| (at.as_str(), volume.lack())).collect();
    assert_eq!(volumes, [("0/0", None), ("1/1", Some(Lack::Degraded))]);
    let unsound: Vec<_> =
        adapter.drives.iter().filter(|(_, drive)| !drive.is_sound()).map(|(at, _)| at.as_str()).collect();
    assert_eq!((adapter.drives.len(), unsound), (5, vec!["32:3"]));
    assert_eq!(adapter.volumes["1/1"].disk.as_deref(), Some("sdb"));
    let Transport::Sas(sas) = &machine.block["sdb"].transport else { panic!("a volume") };
    assert!(sas.hidden && sas.pci == adapter.pci);
}

#[test]
fn json_says_the_same_and_what_is_unknown_stays_so() {
    let machine = machine(JSON);
    let adapter = &machine.adapters[&1];
    assert_eq!(adapter.model.value().map(String::as_str), Some("AVAGO 3108 MegaRAID"));
    assert_eq!(adapter.pci.map(|pci| pci.to_string()).as_deref(), Some("0000:c1:00.0"));
    assert_eq!(adapter.volumes["0/0"].lack(), Some(Lack::PartlyDegraded));
    let drive = &adapter.drives[":4"];
    assert_eq!((gigabits(&drive.link), gigabits(&drive.most)), (Some(12.0), None));
    assert_eq!((drive.predicted_failures, drive.group.as_deref()), (Some(2), None));
}

#[test]
fn what_was_cut_or_has_a_foreign_line_keeps_the_rest() {
    let at = ADAPTER.find("32:3").expect("listed");
    assert_eq!(machine(ADAPTER.get(..at).expect("a part")).adapters[&0].drives.len(), 3);
    assert_eq!(machine(&ADAPTER.replace("32:1 ", "hello\n32:1 ")).adapters[&0].drives.len(), 5);
    assert!(machine("Model = X\nStatus = Success\n").adapters.is_empty());
    // The newer tools.
    let newer =
        "Drive /c0/e268/s3 - Detailed Information :\n=====\nCapable Speed = 12.0Gb/s\nModel = KRM6VVUG960G\n";
    assert_eq!(gigabits(&machine(newer).adapters[&0].drives["268:3"].most), Some(12.0));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(EID:Slt|DG/VD|State|Size|Model|Name|[0-9]{1,4}:[0-9]|0/0| = |Drive /c0/e1/s2 :|-{3,9}|\\PC{0,6}|[ \n]){0,60}") {
        let _ = machine(&format!("EID:Slt DID State DG Size\n{text}"));
        let _ = machine(&format!("{{\"Controllers\": [{{\"Response Data\": {{\"PD LIST\": [{text}]}}}}]}}"));
    }
}
