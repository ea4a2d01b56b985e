//! Complete tables are whole, and no configuration that they allow uses more lanes than there are.

use super::*;

/// The lanes that a slot has when the slots at `used` are in use and the options of those at `set` are set.
fn lanes_of(board: &Board, at: usize, used: usize, set: usize, socket: u16) -> u8 {
    let slot = &board.slots[at];
    let is = |mask: usize, place: usize| mask >> place & 1 == 1;
    let few = slot.processor_lanes.iter().filter(|rule| socket <= rule.at_most).map(|rule| rule.lanes).min();
    let option = slot.option.as_ref().filter(|_| !is(set, at)).map(|option| option.default_lanes);
    let place = |name: &String| board.slots.iter().position(|slot| slot.name == *name);
    let taken = slot
        .narrowed_by
        .iter()
        .filter(|rule| rule.by.iter().filter_map(place).any(|by| is(used, by)))
        .map(|rule| rule.lanes);
    let off = board.slots.iter().enumerate().any(|(other, by)| {
        let by_option = by.option.as_ref().filter(|_| is(set, other)).map(|option| &option.disables);
        let names = by.disables.iter().filter(|_| is(used, other)).chain(by_option.into_iter().flatten());
        names.into_iter().any(|name| *name == slot.name)
    });
    let least = few.into_iter().chain(option).chain(taken).fold(slot.lanes, u8::min);
    if off { 0 } else { least }
}

/// The configurations of a board: the slots in use and the options set, without those in which a used slot is off.
fn over(board: &Board, totals: Totals, socket: u16) -> Option<String> {
    assert!(board.slots.len() <= 14, "{}: too many slots to look at all configurations", board.name);
    let options: usize =
        board.slots.iter().enumerate().filter(|(_, slot)| slot.option.is_some()).map(|(at, _)| 1 << at).sum();
    let all = 1usize << board.slots.len();
    for used in 0..all {
        for set in (0..all).filter(|set| set & !options == 0) {
            let lanes: Vec<u8> =
                (0..board.slots.len()).map(|at| lanes_of(board, at, used, set, socket)).collect();
            if (0..lanes.len()).any(|at| used >> at & 1 == 1 && lanes[at] == 0) {
                continue;
            }
            let sources =
                [("cpu", totals.cpu.min(socket)), ("cpu2", totals.cpu2), ("chipset", totals.chipset)];
            for (source, total) in sources {
                let fixed =
                    board.fixed.iter().filter(|it| it.attachment == source).map(|it| u16::from(it.lanes));
                let slots = board.slots.iter().enumerate();
                let in_use = slots
                    .filter(|(at, slot)| used >> at & 1 == 1 && slot.attachment == source)
                    .map(|(at, _)| u16::from(lanes[at]));
                let sum: u16 = fixed.chain(in_use).sum();
                if sum > total {
                    let names = board.slots.iter().enumerate().filter(|(at, _)| used >> at & 1 == 1);
                    let names: Vec<&str> = names.map(|(_, slot)| slot.name.as_str()).collect();
                    return Some(format!("{}: {names:?} need {sum} of {total} lanes ({source})", board.name));
                }
            }
        }
    }
    None
}

fn check_lanes(board: &Board) -> Option<String> {
    let totals = board.totals.unwrap_or_else(|| panic!("{}: complete without totals", board.name));
    let few = board.slots.iter().flat_map(|slot| &slot.processor_lanes).map(|rule| rule.at_most);
    few.chain([totals.cpu]).find_map(|socket| over(board, totals, socket))
}

/// Boards whose every aspect has a page. The list only grows.
const COMPLETE: [&str; 15] = [
    "AOOSTAR WTR R1",
    "ASRock H370M-ITX/ac",
    "Hardkernel ODROID-H4 Plus",
    "Raspberry Pi 5",
    "FriendlyElec CM3588 NAS",
    "Radxa ROCK 4D",
    "Radxa ROCK 5 ITX",
    "Radxa ROCK 5B",
    "Radxa ROCK 5B Plus",
    "Radxa ROCK 5C",
    "Radxa ROCK 5T",
    "Supermicro X11SSH-F",
    "Supermicro X11SSH-TF",
    "Supermicro X11SSM-F",
    "Topton X2F-N100",
];

#[test]
fn a_board_is_complete_exactly_when_nothing_is_missing() {
    for board in &catalog().boards {
        let gaps: Vec<String> = board.gaps().into_iter().map(|gap| gap.what).collect();
        assert_eq!(board.complete, gaps.is_empty(), "{}: {gaps:?}", board.name);
        for aspect in Aspect::ALL {
            let texts = board.cites.of(aspect).into_iter().chain(board.missing.of(aspect));
            assert!(texts.into_iter().all(|text| text.len() > 10), "{}: {aspect:?}", board.name);
        }
    }
    for name in COMPLETE {
        assert!(catalog().boards.iter().any(|board| board.complete && board.name == name), "{name}");
    }
}

#[test]
fn a_complete_board_says_how_each_wide_slot_splits_and_names_its_ports() {
    for board in catalog().boards.iter().filter(|board| board.complete) {
        let name = &board.name;
        for slot in board.slots.iter().filter(|slot| slot.lanes >= 8 && slot.form == SlotForm::Card) {
            assert!(slot.bifurcation.is_some(), "{name}, {}", slot.name);
        }
        let ports: Vec<&String> = board.sata.iter().flat_map(|sata| &sata.ports).collect();
        let disabled = board.slots.iter().flat_map(|slot| &slot.disables);
        for port in disabled.filter(|name| name.starts_with("SATA")) {
            assert!(ports.contains(&port), "{name}: {port} is disabled and not listed");
        }
    }
}

#[test]
fn what_hangs_on_a_board_hangs_on_something() {
    for board in &catalog().boards {
        let places = board.sata.iter().map(|it| &it.attachment);
        for place in places.chain(board.fixed.iter().map(|it| &it.attachment)) {
            assert!(["cpu", "cpu2", "chipset"].contains(&place.as_str()), "{}: {place}", board.name);
        }
        assert!(board.fixed.iter().all(|it| (1..=16).contains(&it.lanes)), "{}", board.name);
        let ports: Vec<&String> = board.sata.iter().flat_map(|sata| &sata.ports).collect();
        let once: std::collections::BTreeSet<_> = ports.iter().collect();
        assert_eq!(once.len(), ports.len(), "{}: {ports:?}", board.name);
    }
}

#[test]
fn no_configuration_of_a_complete_board_uses_more_lanes_than_there_are() {
    for board in catalog().boards.iter().filter(|board| board.complete) {
        assert_eq!(check_lanes(board), None);
    }
}

/// Whatever else is missing, a board that cites its lanes and its sharing is held to them.
#[test]
fn no_configuration_of_a_board_with_known_sharing_uses_more_lanes_than_there_are() {
    let is_known = |board: &&Board| {
        let gaps = board.gaps();
        let known = |aspect| gaps.iter().all(|gap| gap.aspect != aspect);
        known(Aspect::Sharing) && known(Aspect::Lanes)
    };
    let mut checked = 0;
    for board in catalog().boards.iter().filter(is_known).filter(|board| board.totals.is_some()) {
        assert_eq!(check_lanes(board), None);
        checked += 1;
    }
    assert!(checked >= 15, "{checked}");
}

/// Gigabyte Z890 AORUS MASTER: M.2_D takes lanes of the x16 slot. Without that rule 28 of 24 lanes would be in use.
#[test]
fn a_rule_that_is_forgotten_is_found() {
    let known = catalog().board_named("Gigabyte Z890 AORUS MASTER").expect("a known board");
    assert_eq!(check_lanes(known), None);
    let mut board = known.clone();
    board.slots[0].narrowed_by.clear();
    let found = check_lanes(&board).expect("too many lanes");
    assert!(found.contains("need 28 of 24 lanes (cpu)"), "{found}");
}

/// ASUS X99-A: x16/x16/x8 with 40 lanes and x16/x8/x4 with 28; the M.2 socket takes the place of PCIEX16_4.
#[test]
fn the_x99_fits_its_processors_with_40_and_with_28_lanes() {
    let known = catalog().board_named("asus-x99-a").expect("a known board");
    assert_eq!(check_lanes(known), None);
    let mut board = known.clone();
    board.slots.iter_mut().for_each(|slot| slot.processor_lanes.clear());
    assert!(over(&board, known.totals.expect("totals"), 28).is_some());
}
