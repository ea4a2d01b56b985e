//! Questions of buyers, each with what is expected and why: where things go, and what must be refused.

#![expect(clippy::expect_used, reason = "tests run the program and may panic")]

use assert_cmd::Command;
use narrows::catalog::catalog;
use serde_json::Value;

fn ask(args: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(crate::narrows_binary());
    let output =
        command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("plan").args(args).output().expect("runs");
    (String::from_utf8(output.stdout).expect("text"), output.status.code())
}

fn json(args: &[&str]) -> (Value, Option<i32>) {
    let (text, status) = ask(&[args, &["--json"]].concat());
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?}: {error}: {text}")), status)
}

/// Where the devices of a kind are in the best placement: slot, card, generation and lanes of the link.
fn seats(plan: &Value, kind: &str) -> Vec<(String, Option<String>, u64, u64)> {
    let slots = plan["placements"][0]["slots"].as_array().cloned().unwrap_or_default();
    let of_slot = |slot: &Value| -> Vec<(String, Option<String>, u64, u64)> {
        let devices = slot["devices"].as_array().cloned().unwrap_or_default();
        let mine = devices.into_iter().filter(|device| device["kind"] == kind);
        mine.map(|device| {
            (
                slot["slot"].as_str().unwrap_or_default().to_owned(),
                slot["card"].as_str().map(str::to_owned),
                device["generation"].as_u64().unwrap_or_default(),
                device["lanes"].as_u64().unwrap_or_default(),
            )
        })
        .collect()
    };
    slots.iter().flat_map(of_slot).collect()
}

fn together(plan: &Value) -> f64 {
    plan["placements"][0]["together"]["read_bytes_per_second"].as_f64().expect("a rate")
}

/// Nothing is proven, nothing is impossible, nothing is to be bought, and what is not known is said.
fn is_careful(plan: &Value) {
    assert_ne!(plan["proof"]["optimal"], true, "{plan}");
    assert_eq!(plan["impossible"], serde_json::json!([]), "{plan}");
    assert!(plan["site"]["gaps"].as_array().is_some_and(|gaps| !gaps.is_empty()), "{plan}");
    for placement in plan["placements"].as_array().into_iter().flatten() {
        assert_eq!(placement["parts"], serde_json::json!([]), "{plan}");
    }
}

/// Question 1: "Do five drives fit on a TUF X570-PLUS?" Its M.2 sockets are not in the firmware's table: it is not known.
#[test]
fn five_drives_on_a_board_whose_sockets_are_not_known() {
    let (plan, status) =
        json(&["--board", "asus-tuf-gaming-x570-plus", "--want", "5xnvme:gen4x4", "--no-switch-cards"]);
    is_careful(&plan);
    assert!(plan["not_known"].as_array().is_some_and(|why| why.len() == 1) && status == Some(2), "{plan}");
}

/// Question 2: "Do I need a switch card for three drives on a STRIX B550-F or a TUF B650-PLUS?" Both have M.2 sockets that the table lacks.
#[test]
fn no_switch_card_is_to_be_bought_for_a_board_that_may_have_free_sockets() {
    let ids: Vec<String> = catalog().boards.iter().map(narrows::catalog::Board::id).collect();
    for part in ["b550-f", "b650-plus"] {
        let id = ids.iter().find(|id| id.contains(part)).expect("a known board");
        let (plan, _) = json(&["--board", id, "--want", "3xnvme:gen4x4"]);
        is_careful(&plan);
        let gaps = plan["site"]["gaps"].to_string();
        assert!(gaps.contains("M.2"), "{gaps}");
    }
}

/// Question 3: "Can a Raspberry Pi 5 take an NVMe drive, and two?" One, on an adapter, by one lane of PCIe 2.0 (pcie.adoc of its
/// documentation); of two it is known that they do not fit without a switch.
#[test]
fn a_raspberry_pi_takes_one_drive_by_one_lane() {
    let (plan, status) = json(&["--board", "raspberry-pi-5", "--want", "nvme", "--no-switch-cards"]);
    let found = seats(&plan, "nvme");
    assert_eq!((found.len(), status), (1, Some(0)), "{plan}");
    assert_eq!((found[0].2, found[0].3), (2, 1), "{plan}");
    assert_eq!((together(&plan) / 1e7).round() / 100.0, 0.42);
    let (plan, status) = json(&["--board", "raspberry-pi-5", "--want", "2xnvme", "--no-switch-cards"]);
    assert!(plan["impossible"].as_array().is_some_and(|why| !why.is_empty()) && status == Some(2), "{plan}");
}

/// Question 4: "Which slots of an R740xd for twelve U.2 drives?" They hang on extenders (Dell topology guide), which the table lacks: no M.2
/// adapter is offered for them.
#[test]
fn u2_drives_get_no_m2_adapters() {
    let id = "dell-poweredge-r740xd";
    assert!(catalog().board_named(id).is_some(), "a known board");
    let (plan, _) = json(&["--board", id, "--want", "4xnvme:gen3x4:u2"]);
    is_careful(&plan);
    let m2 = |card: &Option<String>| card.as_ref().is_some_and(|card| card.contains("M.2"));
    assert!(!seats(&plan, "nvme").iter().any(|(_, card, _, _)| m2(card)), "{plan}");
}

/// Question 5: "How much of an X10SRL-F is used when all is full?" Its processor has 40 lanes: no plan wires more to it and calls it proven.
#[test]
fn no_plan_uses_more_lanes_than_the_processor_has() {
    let (plan, _) = json(&["--board", "supermicro-x10srl-f", "--want", "6xhba:gen3x8"]);
    let slots = plan["site"]["slots"].as_array().expect("slots");
    let wired: u64 = slots
        .iter()
        .filter(|slot| slot["attachment"] == "CPU 1")
        .filter_map(|slot| slot["lanes"].as_u64())
        .sum();
    assert!(wired <= 40 || plan["proof"]["optimal"] != true, "{wired} lanes: {plan}");
}

/// Question 6: "What does a DL380 Gen10 have with one processor?" The slots of the second riser hang on the second one: they are dead.
#[test]
fn slots_of_a_processor_that_is_missing_are_dead() {
    let id = catalog().boards.iter().map(narrows::catalog::Board::id).find(|id| id.contains("dl380-gen10"));
    let id = id.expect("a known board");
    let (plan, _) = json(&["--board", &id, "--cpu", "1x", "--want", "3xhba:gen3x8"]);
    let slots = plan["site"]["slots"].as_array().expect("slots");
    assert!(slots.iter().all(|slot| slot["attachment"] == "CPU 1" || slot["dead"].is_string()), "{plan}");
    is_careful(&plan);
}

/// Question 7: "What is free in this X99-A?" A drive hangs on the processor, and nothing names its slot: no slot of the processor is free, and it
/// is said what has to be looked up. The drive whose slot is known is in it.
#[test]
fn a_slot_that_may_hold_a_drive_is_not_free() {
    let (plan, _) = json(&["tests/machines/s3-x99-before"]);
    let slots = plan["site"]["slots"].as_array().expect("slots");
    let is_free = |slot: &&Value| slot["occupant"].is_null() && slot["dead"].is_null();
    let free: Vec<&str> = slots.iter().filter(is_free).filter_map(|slot| slot["name"].as_str()).collect();
    assert_eq!(free, ["PCIEX1_1", "PCIEX1_2"], "{plan}");
    let gaps = plan["site"]["gaps"].to_string();
    assert!(gaps.contains("in which slot Samsung SSD 950 PRO 256GB sits"), "{gaps}");
    let held = slots.iter().find(|slot| slot["name"] == "PCIEX16_2").expect("a slot");
    assert_eq!(held["occupant"]["name"], "Samsung SSD 970 EVO 1TB");
    // What is soldered to a board, or is a part of its chipset, makes no slot used.
    let (desktop, _) = json(&["tests/machines/healthy-desktop"]);
    assert!(!desktop["site"]["gaps"].to_string().contains("USB controller"), "{desktop}");
}

/// Question 8: "What are the slots called?" By what is printed on the board, never by the names of a reference board.
#[test]
fn no_slot_has_the_name_of_a_reference_board() {
    let is_reference = |name: &str| {
        name.strip_prefix('J')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    for board in catalog().boards.iter() {
        let odd: Vec<&str> =
            board.slots.iter().map(|slot| slot.name.as_str()).filter(|name| is_reference(name)).collect();
        assert!(odd.is_empty(), "{}: {odd:?}", board.name);
    }
}

/// Question 9: "A graphics card and two drives?" The card gets the long slot at its own generation, and what it moves is not storage.
#[test]
fn a_graphics_card_is_not_summed_into_storage() {
    let board = ["--board", "dell-poweredge-r720xd", "--want", "2xnvme:gen3x4", "--no-switch-cards"];
    let (alone, _) = json(&board);
    let (plan, status) = json(&[&board[..], &["--want", "gpu:gen4x16"]].concat());
    let gpu = seats(&plan, "gpu");
    assert_eq!((gpu.len(), status), (1, Some(0)), "{plan}");
    // The board is of PCIe 3.0; the wish keeps its own.
    assert_eq!((gpu[0].2, gpu[0].3), (3, 16), "{plan}");
    let wish = plan["wishes"].as_array().into_iter().flatten().find(|wish| wish["kind"] == "gpu");
    assert_eq!(wish.map(|wish| wish["generation"].clone()), Some(Value::from(4)));
    assert!((together(&plan) / together(&alone) - 1.0).abs() < 1e-9, "{plan}");
}

/// Question 11: "Eight SATA drives on an X11SSM-F, and nine?" It has eight ports (coreboot); the ninth needs an adapter. Of an R640 the ports
/// are not known.
#[test]
fn sata_drives_go_to_the_ports_of_the_board() {
    let (plan, status) = json(&["--board", "supermicro-x11ssm-f", "--want", "8xsata"]);
    assert_eq!((plan["sata"]["free"].as_u64(), status), (Some(8), Some(0)), "{plan}");
    let (plan, status) = json(&["--board", "supermicro-x11ssm-f", "--want", "9xsata"]);
    assert!(plan["impossible"].to_string().contains("adapter") && status == Some(2), "{plan}");
    let (plan, status) = json(&["--board", "dell-poweredge-r640", "--want", "2xsata"]);
    assert!(plan["not_known"].to_string().contains("SATA") && status == Some(2), "{plan}");
    assert_eq!(plan["impossible"], serde_json::json!([]));
}

/// Question 13: "Does a 2280 drive fit into an ODROID-H4 Plus, and a 22110 one?" Its socket is of key M and 80 mm long (coreboot,
/// hardkernel/odroid-h4/devicetree.cb). The second socket of a WTR R1 is of key E (coreboot, aoostar/wtr_r1/devicetree.cb): no drive goes there.
#[test]
fn a_drive_goes_into_a_socket_of_its_length_and_key() {
    let odroid = ["--board", "hardkernel-odroid-h4-plus", "--no-switch-cards", "--want"];
    let (plan, status) = json(&[&odroid[..], &["nvme:gen3x4:2280"]].concat());
    assert_eq!(status, Some(0), "{plan}");
    assert_eq!(seats(&plan, "nvme"), [("M2_SSD1".to_owned(), None, 3, 4)]);
    let (plan, status) = json(&[&odroid[..], &["nvme:gen3x4:22110"]].concat());
    assert!(plan["impossible"].to_string().contains("110 mm") && status == Some(2), "{plan}");
    let wtr = ["--board", "aoostar-wtr-r1", "--no-switch-cards", "--want"];
    assert_eq!(json(&[&wtr[..], &["nvme:m2"]].concat()).1, Some(0));
    let (plan, status) = json(&[&wtr[..], &["2xnvme:m2"]].concat());
    assert!(plan["impossible"].as_array().is_some_and(|why| !why.is_empty()) && status == Some(2), "{plan}");
    // Nobody said how long a drive the sockets of this one hold: that is asked, and nothing is proven.
    let (plan, _) = json(&["--board", "asus-rog-strix-x870e-e-gaming-wifi", "--want", "nvme:22110"]);
    is_careful(&plan);
    assert!(plan["site"]["gaps"].to_string().contains("how long a drive M.2_1"), "{plan}");
}

/// Question 14: "What carries eight PCIe 4.0 drives in one slot that cannot be split, M.2 or U.2, and four PCIe 5.0 drives in one that can?" A
/// HighPoint Rocket 1608A (techpowerup.com/review/high-point-rocket-1608a-gen-5/2.html), a 1628A
/// (highpoint-tech.com/nvme-switch-adapter/gen5/rocket-1628a), and wires (hardwareluxx.de, 62040). Behind a switch a drive keeps its own
/// generation, and all share 14.4 GB/s of sixteen lanes of PCIe 3.0.
#[test]
fn cards_of_later_generations_carry_what_they_are_sold_for() {
    for (connector, card) in [
        ("m2", "HighPoint Rocket 1608A for eight M.2 drives"),
        ("u2", "HighPoint Rocket 1628A for eight U.2 drives"),
    ] {
        let wish = format!("8xnvme:gen4x4:{connector}");
        let (plan, status) = json(&["--board", "dell-poweredge-r720xd", "--want", &wish, "--max-slots", "1"]);
        let found = seats(&plan, "nvme");
        assert_eq!((found.len(), status), (8, Some(0)), "{plan}");
        assert!(found.iter().all(|it| it.1.as_deref() == Some(card) && (it.2, it.3) == (4, 4)), "{found:?}");
        assert_eq!((together(&plan) / 1e8).round(), 144.0);
    }
    let without_switches = |board: &str| {
        json(&["--board", board, "--want", "4xnvme:gen5x4:m2", "--max-slots", "1", "--no-switch-cards"])
    };
    let (plan, _) = without_switches("dell-poweredge-r730xd");
    let found = seats(&plan, "nvme");
    let is_wires =
        |it: &(String, Option<String>, u64, u64)| it.1.as_deref() == Some("adapter for four M.2 drives");
    assert!(found.len() == 4 && found.iter().all(is_wires), "{plan}");
    // The R720xd splits no slot (xtremeownage.com/2022/01/08/dell-r270xd-bifurcation), and wires need that.
    let (plan, status) = without_switches("dell-poweredge-r720xd");
    assert!(plan["impossible"].as_array().is_some_and(|why| !why.is_empty()) && status == Some(2), "{plan}");
}
