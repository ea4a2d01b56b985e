//! Slots, occupants, and what a file leaves open.

use super::*;
use crate::path::file::parse;
use crate::plan::site::Splitting;
use narrows_base::units::BytesPerSec;

fn site(text: &str) -> Site {
    let system =
        parse("t", &format!("format = \"narrows/path/1\"\n{text}")).unwrap_or_else(|error| panic!("{error}"));
    let host = host_of(&system, None).expect("a host").clone();
    of_system(&system, &host, false).unwrap_or_else(|error| panic!("{error}"))
}

fn says(site: &Site, words: &str) -> bool {
    site.notes.iter().any(|note| note.contains(words))
}

#[test]
fn a_split_slot_is_its_pieces_and_what_they_leave_leads_nowhere() {
    let found = site(
        "[host.h]\n[slot.outer]\ngeneration = 3\nwidth = 16\n[slot.m2]\ncount = 2\nslot = \"outer\"\ngeneration = 3\n\
         width = 4\n[device.d]\nin = \"m20\"\nmodel = \"SN770\"\n",
    );
    let names: Vec<&str> = found.slots.iter().map(|slot| slot.name.as_str()).collect();
    assert_eq!(names, ["m20", "m21"]);
    assert!(says(&found, "outer is split x4x4 into m20 and m21; 8 of its lanes lead nowhere."));
    let [first, second] = found.slots.as_slice() else { panic!("two slots") };
    assert_eq!((first.form, second.form), (SlotForm::M2, SlotForm::M2));
    let drive = first.occupant.as_ref().expect("a drive");
    assert_eq!((drive.speed, drive.trained), (Some(GtPerSec::GEN4), Some(Lanes::new(4))));
    assert_eq!(drive.wish().own, Some(BytesPerSec::from_mb(5150.0)));
}

/// 48 lanes on a processor with 24: a plan that used all of them would be proven and impossible.
#[test]
fn slots_with_more_lanes_than_their_processor_leave_open_which_share() {
    let slots = |processor: &str| {
        site(&format!(
            "[host.h]\nprocessor = \"{processor}\"\n[slot.s]\ncount = 3\ngeneration = 4\nwidth = 16\n"
        ))
    };
    let open = slots("Ryzen 9 3900X");
    assert_eq!(open.gaps.len(), 1);
    assert!(open.gaps[0].contains("together they have 48, and AMD Ryzen 3000 has 24"), "{:?}", open.gaps);
    assert_eq!(slots("EPYC 7302P").gaps, [""; 0]);
}

#[test]
fn drives_behind_a_switch_are_what_its_slot_holds() {
    let found = site(
        "[host.h]\n[slot.s]\ngeneration = 3\nwidth = 16\nbifurcation = []\n[switch.c]\nin = \"s\"\ngeneration = 3\n\
         width = 8\nport_generation = 3\nport_width = 2\n[device.d]\ncount = 4\nin = \"c\"\nmodel = \"SN770\"\n",
    );
    let [slot] = found.slots.as_slice() else { panic!("one slot") };
    assert_eq!(slot.splitting, Splitting::Never);
    let drives = slot.occupant.as_ref().expect("drives");
    assert_eq!((drives.count, drives.lanes), (4, Some(Lanes::new(2))));
    // By the uplink of the card, not by its ports.
    assert_eq!(drives.trained, Some(Lanes::new(8)));
}

#[test]
fn a_board_that_is_named_brings_its_slots_and_settings() {
    let found = site(
        "[host.h]\nboard = \"asus-x99-a\"\nprocessor = \"Intel Haswell-E with 28 lanes\"\n[chipset.pch]\n\
         model = \"Intel X99\"\n[slot.PCIEX16_2]\nchipset = \"pch\"\ngeneration = 2\nwidth = 1\n[slot.riser]\n\
         generation = 3\nwidth = 4\n[device.d]\nin = \"PCIEX16_2\"\nmodel = \"SN770\"\n",
    );
    let slot = |name: &str| found.slots.iter().find(|slot| slot.name == name).expect("a slot");
    let narrow = slot("PCIEX16_2");
    assert_eq!(narrow.setting.as_ref().map(|setting| setting.value.as_str()), Some("X4 Mode"));
    assert_eq!(narrow.occupant.as_ref().and_then(|drive| drive.trained), Some(Lanes::new(1)));
    assert_eq!(slot("PCIEX16_3").lanes, Lanes::new(8), "28 lanes leave eight");
    assert!(slot("riser").occupant.is_none() && says(&found, "riser is not on the board"));
    assert!(!says(&found, "give board"));
}

#[test]
fn what_the_file_does_not_say_is_told_with_the_key_that_would() {
    let found = site(
        "[host.h]\nsockets = 2\n[slot.a]\ngeneration = 3\nwidth = 8\n[device.d]\nin = \"h\"\nmodel = \"SN770\"\n\
         generation = 3\nwidth = 4\n",
    );
    for words in [
        "interconnect_links",
        "a is taken to be as long as wired: give connector",
        "give bifurcation",
        "give board = \"ID\" in [host.h]",
        "d is in no slot and not planned for: give each a [slot.NAME]",
    ] {
        assert!(says(&found, words), "{words}: {:?}", found.notes);
    }
}
