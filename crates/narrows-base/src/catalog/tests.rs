//! Every entry of `data/*.toml` is checked here.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;

use super::entries::parse;
use super::*;

/// Lanes that a PCIe link can have.
const WIDTHS: [u8; 6] = [1, 2, 4, 8, 12, 16];

fn every_entry<T: DeserializeOwned>(file: &str) -> Vec<T> {
    parse(file).unwrap_or_else(|error| panic!("{error}"))
}

/// Fails unless names are unique and sources are given.
fn check_names<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut seen = BTreeSet::new();
    for (name, source) in entries {
        assert!(!name.trim().is_empty() && seen.insert(name), "`{name}` is empty or stands twice");
        assert!(source.len() > 5, "`{name}` cites no source");
    }
    assert!(!seen.is_empty());
}

/// Fails unless ids parse and stand once.
fn check_ids<'a>(ids: impl Iterator<Item = &'a String>) {
    let mut seen = BTreeSet::new();
    for id in ids {
        assert!(parse_id(id).is_some(), "`{id}` is no vendor:device");
        assert!(seen.insert(id), "`{id}` stands twice");
    }
}

#[test]
fn every_chipset_is_sound() {
    let all: Vec<Chipset> = every_entry(text::CHIPSETS);
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    check_ids(all.iter().flat_map(|entry| &entry.ids));
    for entry in &all {
        assert!((1..=6).contains(&entry.generation) && WIDTHS.contains(&entry.lanes), "{}", entry.name);
        assert!([128, 256, 512].contains(&entry.max_payload), "{}", entry.name);
        assert!(!entry.ids.is_empty() && !entry.uplink.is_empty(), "{}", entry.name);
    }
}

#[test]
fn every_switch_and_adapter_is_sound() {
    let switches: Vec<Switch> = every_entry(text::SWITCHES);
    check_names(switches.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    check_ids(switches.iter().flat_map(|entry| &entry.ids));
    for entry in &switches {
        assert!((2..=6).contains(&entry.generation) && (3..=144).contains(&entry.lanes), "{}", entry.name);
        assert!(entry.latency_nanoseconds.is_none_or(|ns| (50..=500).contains(&ns)), "{}", entry.name);
    }
    let adapters: Vec<Adapter> = every_entry(text::ADAPTERS);
    check_names(adapters.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    check_ids(adapters.iter().flat_map(|entry| &entry.ids));
    assert!(adapters.iter().all(|entry| (100.0..100_000.0).contains(&entry.megabytes_per_second)));
}

#[test]
fn every_processor_is_sound() {
    let all: Vec<Processor> = every_entry(text::PROCESSORS);
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    let mut seen = BTreeSet::new();
    for entry in &all {
        assert!((1..=6).contains(&entry.pcie_generation), "{}", entry.name);
        assert!((4..=160).contains(&entry.pcie_lanes), "{}", entry.name);
        assert!(!entry.signatures.is_empty(), "{}", entry.name);
        for signature in &entry.signatures {
            assert!(parse_signature(signature).is_some(), "{}: {signature}", entry.name);
            // An entry for any name hides all that follow it with the same signature.
            let hidden = seen.contains(&(signature.as_str(), String::new()));
            assert!(
                !hidden && seen.insert((signature.as_str(), entry.names.concat())),
                "{}: {signature}",
                entry.name
            );
        }
        if let Some(interconnect) = &entry.interconnect {
            assert!((1..=6).contains(&interconnect.links), "{}", entry.name);
            assert!((5.0..100.0).contains(&interconnect.gigabytes_per_second), "{}", entry.name);
            assert!((0.5..=1.0).contains(&interconnect.efficiency), "{}", entry.name);
        }
    }
}

#[test]
fn every_medium_is_sound_and_within_its_link() {
    let all: Vec<Medium> = every_entry(text::MEDIA);
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    let mut seen = BTreeSet::new();
    for entry in &all {
        assert!(!entry.models.is_empty(), "{}", entry.name);
        assert_eq!(entry.rated_drive_writes.is_some(), entry.endurance_source.is_some(), "{}", entry.name);
        let is_sensible = |writes: f64| (50.0..=100_000.0).contains(&writes);
        assert!(entry.rated_drive_writes.is_none_or(is_sensible), "{}", entry.name);
        for model in &entry.models {
            assert!(model.len() >= 5, "{}: `{model}` would match too much", entry.name);
            assert!(seen.insert(model.to_ascii_lowercase()), "`{model}` stands twice");
        }
        let raw = match (entry.generation, entry.lanes) {
            (0, 0) => 600.0,
            (generation @ 3..=5, lanes) if WIDTHS.contains(&lanes) => {
                let per_lane = [984.6, 1969.2, 3938.5].get(usize::from(generation - 3)).copied();
                per_lane.unwrap_or_default() * f64::from(lanes)
            }
            other => panic!("{}: {other:?} is no link of a drive", entry.name),
        };
        for rate in [entry.read_megabytes_per_second, entry.write_megabytes_per_second] {
            assert!(rate > 50.0 && rate < raw, "{}: {rate} of {raw} MB/s", entry.name);
        }
    }
    assert!(all.len() >= 40);
}

#[test]
fn every_board_is_sound() {
    let all: Vec<Board> = text::BOARDS.iter().flat_map(|file| every_entry::<Board>(file)).collect();
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    let mut seen = BTreeSet::new();
    for board in &all {
        assert!(!board.vendors.is_empty() && !board.boards.is_empty(), "{}", board.name);
        for vendor in &board.vendors {
            for name in &board.boards {
                assert!(seen.insert((vendor, name)), "{vendor} {name} stands twice");
            }
        }
        let mut slots = BTreeSet::new();
        let mut ports = BTreeSet::new();
        for slot in &board.slots {
            check_slot(&board.name, slot);
            assert!(slots.insert(&slot.name), "{} has two slots {}", board.name, slot.name);
            for port in &slot.root_ports {
                assert!(ports.insert(port), "{} has two slots behind {port}", board.name);
            }
        }
        assert!(!slots.is_empty(), "{}", board.name);
        check_sharing(board);
    }
    assert!(all.len() >= 80);
    let ids: BTreeSet<String> = all.iter().map(Board::id).collect();
    assert_eq!(ids.len(), all.len(), "two boards have one id");
}

/// Fails unless all that a board names is there: its chipset, its processors, and the slots of its rules.
fn check_sharing(board: &Board) {
    let catalog = catalog();
    let name = &board.name;
    if let Some(chipset) = &board.chipset {
        assert!(catalog.chipsets.iter().any(|known| known.name == *chipset), "{name}: chipset {chipset}");
    }
    if let Some(processor) = &board.processor {
        assert!(
            catalog.processors.iter().any(|known| known.name == *processor),
            "{name}: processor {processor}"
        );
    }
    let is_slot = |wanted: &String| board.slots.iter().any(|slot| slot.name == *wanted);
    for slot in &board.slots {
        let what = format!("{name}, {}", slot.name);
        for rule in &slot.narrowed_by {
            assert!(rule.lanes < slot.lanes && !rule.by.is_empty(), "{what}: narrowed to {}", rule.lanes);
            for by in &rule.by {
                assert!(is_slot(by) && *by != slot.name, "{what}: narrowed by {by}, which is no other slot");
            }
        }
        for rule in &slot.processor_lanes {
            assert!(rule.lanes < slot.lanes && rule.at_most >= 4, "{what}: {rule:?}");
        }
        for mode in slot.bifurcation.iter().flatten() {
            let links: Option<Vec<u8>> = mode.split('x').skip(1).map(|lanes| lanes.parse().ok()).collect();
            let links = links.unwrap_or_else(|| panic!("{what}: `{mode}`"));
            assert!(mode.starts_with('x') && links.len() > 1, "{what}: `{mode}` splits nothing");
            assert!(links.iter().all(|lanes| WIDTHS.contains(lanes)), "{what}: `{mode}`");
            assert_eq!(links.iter().sum::<u8>(), slot.lanes, "{what}: `{mode}` is not all of its lanes");
        }
        let names = slot.disables.iter().chain(slot.option.iter().flat_map(|option| &option.disables));
        for other in names {
            assert!(!other.trim().is_empty() && *other != slot.name, "{what}: disables `{other}`");
        }
        // What an option costs is said twice, for people and for the planner.
        if let Some(option) = &slot.option {
            for other in &option.disables {
                assert!(
                    option.cost.contains(other.as_str()),
                    "{what}: `{}` says nothing of {other}",
                    option.cost
                );
            }
        }
    }
}

#[test]
fn every_card_is_sound() {
    let all: Vec<Card> = every_entry(text::CARDS);
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    for card in &all {
        let name = &card.name;
        assert!(WIDTHS.contains(&card.lanes) && WIDTHS.contains(&card.connector), "{name}");
        assert!(card.lanes <= card.connector && (1..=8).contains(&card.ports), "{name}");
        assert!(WIDTHS.contains(&card.port_lanes), "{name}");
        let Some(switch) = &card.switch else {
            assert_eq!((card.kind, card.generation), (CardKind::Adapter, 0), "{name}");
            assert!(card.ports * card.port_lanes <= card.lanes, "{name}: more lanes out than in");
            continue;
        };
        let switch = catalog().switches.iter().find(|known| known.name == *switch);
        let switch = switch.unwrap_or_else(|| panic!("{name}: no such switch"));
        assert_eq!((card.kind, card.generation), (CardKind::Switch, switch.generation), "{name}");
        assert!(
            card.lanes + card.ports * card.port_lanes <= switch.lanes,
            "{name}: more lanes than its switch has"
        );
    }
}

#[test]
fn every_cipher_rate_is_sound() {
    let all: Vec<CipherSpeed> = every_entry(text::CIPHERS);
    check_names(all.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    for entry in &all {
        assert!(
            entry.models.iter().all(|model| model.len() >= 6) && !entry.models.is_empty(),
            "{}",
            entry.name
        );
        for rate in [entry.decrypt_megabytes_per_second, entry.encrypt_megabytes_per_second] {
            assert!((20.0..50_000.0).contains(&rate), "{}: {rate}", entry.name);
        }
    }
    let cipher = catalog().cipher("AMD Ryzen 5 2600 Six-Core Processor");
    assert_eq!(cipher.map(|entry| entry.name.as_str()), Some("AMD Ryzen 5 2600"));
    assert_eq!(catalog().cipher("Pentium"), None);
}

#[test]
fn a_board_is_found_by_what_people_call_it() {
    for typed in ["asus-x99-a", "ASUS X99-A", "X99-A", "x99-a"] {
        assert_eq!(
            catalog().board_named(typed).map(|board| board.name.as_str()),
            Some("ASUS X99-A"),
            "{typed}"
        );
    }
    let named = |typed| catalog().board_named(typed).map(Board::id);
    assert_eq!(named("poweredge r720xd").as_deref(), Some("dell-poweredge-r720xd"));
    assert_eq!(named("x99"), None);
    assert_eq!(named(""), None);
}

#[test]
fn the_boards_on_a_chipset_are_known() {
    let x99 = catalog().chipset_by_id(0x8086, 0x8d47).expect("X99");
    let boards: Vec<String> = catalog().boards_on(x99).map(Board::id).collect();
    assert!(boards.contains(&"asus-x99-a".to_owned()) && !boards.contains(&"asus-prime-z390-a".to_owned()));
}

/// The lengths of M.2 drives, millimetres (PCI Express M.2 Specification).
const M2_LENGTHS: [u16; 7] = [16, 26, 30, 42, 60, 80, 110];

fn check_slot(board: &str, slot: &BoardSlot) {
    let what = format!("{board}, {}", slot.name);
    assert!(WIDTHS.contains(&slot.lanes) && WIDTHS.contains(&slot.connector), "{what}");
    assert!(slot.lanes <= slot.connector, "{what}: more lanes than the connector has");
    assert!(slot.speed().is_some(), "{what}: generation {}", slot.generation);
    let has_length = slot.form == SlotForm::M2 || slot.longest.is_none();
    assert!(
        has_length && slot.longest.is_none_or(|mm| M2_LENGTHS.contains(&mm)),
        "{what}: {:?}",
        slot.longest
    );
    assert!(["cpu", "cpu2", "chipset"].contains(&slot.attachment.as_str()), "{what}: {}", slot.attachment);
    for port in &slot.root_ports {
        let place = format!("00:{port}");
        let parts = port.split_once('.').map(|(d, f)| (u8::from_str_radix(d, 16), f.parse::<u8>()));
        assert!(matches!(parts, Some((Ok(0..32), Ok(0..8)))), "{what}: {place}");
    }
    if let Some(option) = &slot.option {
        assert!(option.default_lanes < option.lanes && option.lanes == slot.lanes, "{what}");
        assert!(![&option.menu, &option.value, &option.cost].iter().any(|text| text.is_empty()), "{what}");
    }
}

#[test]
fn the_loaded_catalogue_holds_every_entry() {
    let loaded = catalog();
    assert_eq!(*loaded.chipsets, *every_entry::<Chipset>(text::CHIPSETS));
    assert_eq!(*loaded.media, *every_entry::<Medium>(text::MEDIA));
    assert!(!loaded.boards.is_empty() && !loaded.processors.is_empty() && !loaded.switches.is_empty());
}

#[test]
fn the_x99_slot_is_known_with_its_firmware_option() {
    let board = catalog().board("ASUSTeK COMPUTER INC.", "X99-A", "All Series").expect("a known board");
    let slot = board.slot("PCIEX16_2").expect("a known slot");
    assert_eq!(
        (slot.connector, slot.lanes, slot.generation, slot.attachment.as_str()),
        (16, 4, 2, "chipset")
    );
    let option = slot.option.as_ref().expect("a firmware option");
    assert_eq!(option.menu, r"Advanced\Onboard Devices Configuration: PCI-EX16_2 Slot (Black) Bandwidth");
    assert_eq!((option.value.as_str(), option.default_lanes, option.lanes), ("X4 Mode", 1, 4));
    assert_eq!(option.cost, "disables PCIEX1_1 and USB3_E56");
}

#[test]
fn a_server_is_known_by_its_product_name() {
    let board = catalog().board("Dell Inc.", "0KCKR5", "PowerEdge R740").expect("a known server");
    assert_eq!(board.slot("PCIe Slot 8").map(|slot| slot.attachment.as_str()), Some("cpu2"));
    assert_eq!(catalog().board("Dell Inc.", "0KCKR5", "PowerEdge R7400"), None);
    assert_eq!(catalog().board("QEMU", "", "Standard PC (Q35 + ICH9, 2009)"), None);
}

#[test]
fn parts_are_known_by_their_ids() {
    let catalog = catalog();
    let x99 = catalog.chipset_by_id(0x8086, 0x8d47).expect("X99");
    assert_eq!((x99.name.as_str(), x99.generation, x99.lanes), ("Intel X99 (C610)", 2, 4));
    let by_name = catalog.chipset_by_name("Intel Corporation C610/X99 series chipset LPC Controller");
    assert_eq!(by_name, Some(x99));
    let revised = "Advanced Micro Devices, Inc. [AMD] Matisse Switch Upstream (rev 01)";
    assert!(catalog.chipset_by_name(revised).is_some_and(|chipset| chipset.name.contains("X570")));
    assert_eq!(catalog.chipset_by_name("Intel Corporation Device 8d47"), None);
    assert_eq!(catalog.switch_by_id(0x10b5, 0x8748).map(|switch| switch.lanes), Some(48));
    assert_eq!(catalog.adapter_by_id(0x1000, 0x0072).map(|hba| hba.megabytes_per_second), Some(2500.0));
    assert_eq!(catalog.chipset_by_id(0x8086, 0x29c0), None);
}

#[test]
fn a_signature_that_two_platforms_share_is_told_apart_by_the_model_name() {
    let name = |family, model, text| catalog().processor(family, model, text).map(|p| p.name.as_str());
    assert_eq!(name(23, 1, "AMD EPYC 7551 32-Core Processor"), Some("AMD EPYC 7001 (Naples)"));
    assert_eq!(name(23, 1, "AMD Ryzen 7 1700"), Some("AMD Ryzen 1000 and Threadripper 1000"));
    assert_eq!(
        name(6, 63, "Intel(R) Core(TM) i7-5820K CPU @ 3.30GHz"),
        Some("Intel Haswell-E with 28 lanes")
    );
    assert_eq!(name(6, 63, "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz"), Some("Intel Haswell-EP"));
    assert_eq!(name(6, 1, "Pentium Pro"), None);
}

#[test]
fn the_longest_match_names_a_medium() {
    let name = |model| catalog().medium(model).map(|medium| medium.name.as_str());
    assert_eq!(name("Samsung SSD 970 EVO Plus 1TB"), Some("Samsung 970 EVO Plus"));
    assert_eq!(name("Samsung SSD 970 EVO 1TB"), Some("Samsung 970 EVO"));
    assert_eq!(name("Samsung SSD 980 PRO 1TB"), Some("Samsung 980 PRO"));
    assert_eq!(name("WD_BLACK SN770 2TB"), Some("WD Black SN770"));
    assert_eq!(name("CT1000P3PSSD8"), Some("Crucial P3 Plus"));
    assert_eq!(name("QEMU NVMe Ctrl"), None);
    assert_eq!(name(""), None);
}

#[test]
fn every_class_card_and_core_is_sound() {
    let classes: Vec<MediumClass> = every_entry(text::CLASSES);
    check_names(classes.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    for class in &classes {
        assert!((0.5..30_000.0).contains(&class.read_microseconds), "{}", class.name);
        assert!((0.5..30_000.0).contains(&class.write_microseconds), "{}", class.name);
        assert!(class.read_iops >= 50.0 && class.write_iops >= 50.0, "{}", class.name);
        assert_eq!(class.rated_drive_writes.is_none(), class.name == "ramdisk", "{}", class.name);
        assert_eq!(class.rated_drive_writes.is_some(), class.endurance_source.is_some(), "{}", class.name);
        let is_sensible = |writes: f64| (10.0..=200_000.0).contains(&writes);
        assert!(class.rated_drive_writes.is_none_or(is_sensible), "{}", class.name);
    }
    let nics: Vec<Nic> = every_entry(text::NICS);
    check_names(nics.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    check_ids(nics.iter().flat_map(|entry| &entry.ids));
    for nic in &nics {
        assert!(
            (1..=8).contains(&nic.ports) && (1.0..=800.0).contains(&nic.gigabits_per_second),
            "{}",
            nic.name
        );
        assert!((1..=6).contains(&nic.generation) && WIDTHS.contains(&nic.lanes), "{}", nic.name);
        assert!(nic.words.iter().all(|word| word.len() >= 4 && *word == word.to_lowercase()), "{}", nic.name);
    }
    let cores: Vec<Core> = every_entry(text::CORES);
    check_names(cores.iter().map(|entry| (entry.name.as_str(), entry.source.as_str())));
    let mut seen = BTreeSet::new();
    for core in &cores {
        assert!((0.5..7.0).contains(&core.gigahertz) && (0.05..3.0).contains(&core.speed), "{}", core.name);
        assert!(core.aes_cycles_per_round.is_none_or(|cycles| (0.1..4.0).contains(&cycles)), "{}", core.name);
        for word in &core.words {
            assert!(*word == word.to_lowercase() && seen.insert(word), "{}: `{word}`", core.name);
        }
        for size in core.max_payload.iter().chain(&core.completion) {
            assert!([64, 128, 256, 512].contains(size), "{}: {size}", core.name);
        }
    }
}

#[test]
fn a_medium_that_was_asked_for_before_is_the_same() {
    for model in ["WD_BLACK SN770 2TB", "NoName 256", "WD_BLACK SN770 2TB"] {
        assert_eq!(medium(model).map(|it| &it.name), catalog().medium(model).map(|it| &it.name));
    }
    for number in 0..600 {
        assert!(medium(&format!("NoName {number}")).is_none());
    }
    assert!(medium("WD_BLACK SN770 2TB").is_some());
}
