//! `narrows plan`: the acceptance cases, what it prints, and what it refuses.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "tests run the program, update the schema and may panic"
)]

use crate::schema;
use assert_cmd::Command;
use narrows::catalog::catalog;
use narrows::plan::outcome::{Outcome, SocketTraffic, outcome};
use narrows::plan::search::{Found, Prefer, Request, search};
use narrows::plan::site::{BoardOptions, Occupant, Site, of_board};
use narrows::plan::wish::{Kind, parse};
use narrows::units::{GtPerSec, Lanes};
use serde_json::Value;

fn board(id: &str) -> Site {
    of_board(catalog().board_named(id).expect("a known board"), &BoardOptions::default())
}

fn drive(name: &str) -> Occupant {
    Occupant {
        name: name.to_owned(),
        kind: Kind::Nvme,
        count: 1,
        lanes: Some(Lanes::new(4)),
        speed: Some(GtPerSec::GEN3),
        trained: Some(Lanes::new(4)),
        own: None,
        own_write: None,
    }
}

fn solve(site: &Site, request: &Request) -> (Found, Outcome) {
    let found = search(site, request);
    assert!(found.proof.complete && !found.placements.is_empty());
    let best = outcome(site, request, &found, &found.placements[0]);
    (found, best)
}

/// A Dell R720xd cannot split a slot. Four drives on an adapter each, a 40GbE card and a USB card took all six slots; on
/// one card with a switch the drives free three (xtremeownage.com/2022/01/08/dell-r270xd-bifurcation).
#[test]
fn four_drives_in_four_slots_move_to_one_switch_card_and_free_three() {
    let mut site = board("dell-poweredge-r720xd");
    for slot in [0, 1, 2, 4] {
        site.slots[slot].occupant = Some(drive("an NVMe drive"));
    }
    let other = |kind, lanes| Occupant {
        kind,
        lanes: Some(Lanes::new(lanes)),
        name: kind.word().to_owned(),
        ..drive("")
    };
    site.slots[3].occupant = Some(other(Kind::Nic, 8));
    site.slots[5].occupant = Some(other(Kind::Usb, 2));
    let before = site.slots.iter().filter(|slot| slot.occupant.is_some()).count();
    let request = Request { wishes: site.occupants(), prefer: Prefer::Slots, ..Request::default() };
    let (_, best) = solve(&site, &request);
    assert_eq!(before - best.slots_used, 3);
    let card = best.slots.iter().find(|slot| slot.card.is_some()).expect("a card");
    assert_eq!(card.card.as_deref(), Some("PEX 8748 card for four M.2 drives"));
    assert!(card.is_switch && card.lanes == 16 && card.devices.len() == 4);
    // Each alone as before, 3.59 GB/s at 3.0 x4; together the x16 uplink, 14.4 GB/s.
    for device in &card.devices {
        assert_eq!((device.alone.read.get() / 1e7).round() / 100.0, 3.59);
    }
    let uplink = best.shared.iter().find(|shared| shared.devices == 4).expect("an uplink");
    assert!(uplink.limits, "{uplink:?}");
    let together: f64 = card.devices.iter().map(|device| device.together.read.get()).sum();
    assert!(together <= uplink.carries.read.get() + 1.0);
    assert_eq!((together / 1e8).round() / 10.0, 14.4);
}

/// A card with an x8 uplink gives each drive alone all it can use, and four of them half.
#[test]
fn an_x8_uplink_halves_four_drives_together_and_none_alone() {
    let mut site = board("dell-poweredge-r720xd");
    for slot in &mut site.slots {
        slot.lanes = slot.lanes.min(Lanes::new(8));
    }
    let wishes = vec![parse("4xnvme:gen3x4").expect("a wish")];
    let (_, best) = solve(&site, &Request { wishes, max_slots: Some(1), ..Request::default() });
    assert_eq!((best.alone.read.get() / 1e8).round() / 10.0, 14.4);
    assert_eq!((best.together.read.get() / 1e7).round() / 100.0, 7.18);
}

/// PixStor nodes (R640) have eight NVMe bays and one adapter on the second processor and one adapter on the first, so half
/// of the traffic crosses UPI; their guide proposes half the drives on each (Dell PixStor administrator guide, p. 37).
#[test]
fn a_pixstor_node_is_balanced_over_its_sockets_and_gains_by_it() {
    let site = board("dell-poweredge-r640");
    let wishes = ["8xnvme:gen3x4", "2xhca:edr"].iter().map(|text| parse(text).expect("a wish")).collect();
    let (_, best) = solve(&site, &Request { wishes, ..Request::default() });
    let balance = best.balance.as_ref().expect("two sockets");
    for SocketTraffic { drives, network } in &balance.sockets {
        assert_eq!((network.get() / 1e8).round() / 10.0, 12.3, "one adapter on each: {balance:?}");
        assert_eq!((drives.get() / 1e8).round() / 10.0, 14.4, "four drives on each: {balance:?}");
    }
    assert!(balance.crossing.get() < 1.0, "{balance:?}");
    // 24.6 GB/s against 12.3 + 0.9 × 12.3.
    assert!((0.04..0.07).contains(&balance.gain), "{}", balance.gain);
}

/// ASUS X99-A: the chipset's x16 connector gives a drive one lane until a setting turns two connectors off.
#[test]
fn a_drive_on_a_full_x99_board_needs_the_setting_and_names_what_it_costs() {
    let mut site = board("asus-x99-a");
    for slot in &mut site.slots {
        if !["PCIEX16_2", "PCIEX1_1"].contains(&slot.name.as_str()) {
            slot.occupant = Some(drive("something else"));
        }
    }
    let site = site.with_occupied();
    let (found, best) =
        solve(&site, &Request { wishes: vec![parse("nvme:gen3x4").expect("a wish")], ..Request::default() });
    assert_eq!(best.settings.len(), 1);
    assert_eq!(best.settings[0].value, "X4 Mode");
    assert!(
        best.lost.contains(&"USB3_E56 (off)".to_owned()) && best.lost.contains(&"PCIEX1_1 (off)".to_owned())
    );
    assert_eq!((best.together.read.get() / 1e7).round() / 100.0, 1.68);
    assert_eq!(found.placements.len(), 2, "without the setting it still works, at x1");
}

fn narrows(args: &[&str]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("plan").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = narrows(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

const R720XD: &[&str] = &[
    "--board",
    "dell-poweredge-r720xd",
    "--want",
    "4xnvme:gen3x4",
    "--want",
    "nic:2x40g",
    "--want",
    "usb3card",
    "--max-slots",
    "3",
];

#[test]
fn the_text_of_a_plan() {
    insta::assert_snapshot!(stdout(R720XD));
}

#[test]
fn the_text_of_layouts() {
    let args = [
        "--board",
        "msi-b450-a-pro",
        "--cpu",
        "Ryzen 5 2600",
        "--bifurcation",
        "assume",
        "--want",
        "2xnvme:sn770",
    ];
    insta::assert_snapshot!(stdout(&[&args[..], &["--aim", "encryption,sequential", "--plain"]].concat()));
}

/// The board that the file names has six slots; the file says what is in two of them.
#[test]
fn a_described_server_with_a_board_shows_what_is_used_and_free_and_where_more_goes() {
    let args = ["systems/r720xd-switch-card.path.toml", "--want", "2xnvme:gen3x4", "--plain"];
    insta::assert_snapshot!("described_board", stdout(&args));
}

/// Two drives of 3.59 GB/s and a cipher of 2.69 GB/s, as the file gives it.
#[test]
fn layouts_are_ranked_for_the_drives_of_a_description() {
    let args = ["systems/ryzen-raid-luks.path.toml", "--aim", "encryption,sequential", "--plain"];
    insta::assert_snapshot!("described_layouts", stdout(&args));
}

/// One model: a layout that is planned does what is predicted of it where it is there.
#[test]
fn a_planned_layout_does_what_is_predicted_of_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let parts = "[host.h]\ncpu = \"Ryzen 5 2600\"\ncores = 6\ndecrypt = \"2691 MB/s\"\nencrypt = \"2723 MB/s\"\n\
        [slot.s]\ngeneration = 3\nwidth = 16\n[slot.m]\ncount = 4\nslot = \"s\"\ngeneration = 3\nwidth = 4\n\
        [device.d]\ncount = 4\nin = \"m\"\nmodel = \"WD_BLACK SN770 2TB\"\n";
    let layouts = "[raid.stripe]\nlevel = \"raid0\"\nmembers = [\"d\"]\n[raid.parity]\nlevel = \"raid6\"\nmembers = [\"d\"]\n\
        chunk = \"512 KiB\"\n[crypt.locked]\non = \"stripe\"\n";
    let load = |target: &str, name: &str, share: &str| {
        format!(
            "[workload.{name}]\ntarget = \"{target}\"\nblock_size = \"1 MiB\"\ndepth = 32\nread_share = {share}\n"
        )
    };
    let targets = [("stripe", "RAID-0"), ("parity", "RAID-6"), ("locked", "LUKS on RAID-0")];
    let loads: String = targets
        .iter()
        .flat_map(|(target, _)| {
            [load(target, &format!("{target}_r"), "1.0"), load(target, &format!("{target}_w"), "0.0")]
        })
        .collect();
    let file = |name: &str, text: String| {
        let place = dir.path().join(name);
        std::fs::write(&place, format!("format = \"narrows/path/1\"\n{text}")).expect("written");
        place.display().to_string()
    };
    let bare = file("bare.path.toml", parts.to_owned());
    let built = file("built.path.toml", format!("{parts}{layouts}{loads}"));
    let json = |args: &[&str]| -> Value { serde_json::from_str(&stdout(args)).expect("JSON") };
    let ranked = |aim: &str| json(&[&bare, "--aim", aim, "--json"])["layouts"]["ranked"].clone();
    let all: Vec<Value> = ["sequential", "encryption,sequential"]
        .iter()
        .flat_map(|aim| ranked(aim).as_array().expect("layouts").clone())
        .collect();
    let predicted: Value = serde_json::from_slice(
        &Command::new(env!("CARGO_BIN_EXE_narrows"))
            .args(["predict", &built, "--json"])
            .output()
            .expect("runs")
            .stdout,
    )
    .expect("JSON");
    let predictions = predicted["systems"][0]["predictions"].as_array().expect("predictions");
    for (target, name) in targets {
        let layout = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}"));
        for (side, key) in [("r", "read"), ("w", "write")] {
            let of = format!("{target}_{side}");
            let one = predictions.iter().find(|one| one["workload"]["name"] == of).expect("is predicted");
            let bound = layout[format!("{key}_is_bound")].as_bool().expect("is told");
            assert_eq!(bound, one["known"] == false, "{name} {key}: {one}");
            let rate = if bound { &one["at_most"]["bytes_per_second"] } else { &one["bytes_per_second"] };
            let (a, b) = (layout[format!("{key}_bytes_per_second")].as_f64(), rate.as_f64());
            assert!(
                a.zip(b).is_some_and(|(a, b)| (a / b - 1.0).abs() < 1e-9),
                "{name} {key}: {a:?} and {b:?}"
            );
        }
    }
}

#[test]
fn one_host_of_several_is_planned_for_with_what_its_file_leaves_open() {
    let args = ["systems/pixstor-nvme.path.toml", "--host", "node2", "--move", "--plain"];
    insta::assert_snapshot!("described_host", stdout(&args));
}

#[test]
fn a_description_that_cannot_be_planned_for_is_refused_with_what_it_would_have_to_say() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let place = dir.path().join(name);
        std::fs::write(&place, format!("format = \"narrows/path/1\"\n{text}")).expect("written");
        place.display().to_string()
    };
    let bare = file("bare.path.toml", "[host.h]\n[device.d]\nmodel = \"SN770\"\n");
    let wrong = file("wrong.path.toml", "[host.h]\nboard = \"asus-x99-z\"\n");
    let split =
        file("split.path.toml", "[host.h]\n[slot.s]\ngeneration = 3\nwidth = 8\nbifurcation = [\"4+4\"]\n");
    for (args, said, hint) in [
        (&[bare.as_str()][..], "it gives h no slots", "add [slot.NAME]"),
        (&[&bare, "--host", "other"], "no host `other`", "the hosts are: h"),
        (&[&wrong], "knows no board `asus-x99-z`", "--board list"),
        (&[&split], "`4+4` is no way to split a slot", "x4x4x4x4"),
    ] {
        let output = narrows(args).assert().code(2).get_output().stderr.clone();
        let text = String::from_utf8(output).expect("text");
        assert!(text.contains(said) && text.contains("hint: ") && text.contains(hint), "{args:?}: {text}");
    }
    narrows(&[&bare, "--board", "asus-x99-a"]).assert().code(2);
}

#[test]
fn the_json_of_a_plan_keeps_its_schema() {
    let schema = schema::of("plan");
    let asked = [
        R720XD,
        &["--board", "asus-x99-a"],
        &["systems/s2d-epyc.path.toml", "--aim", "capacity"],
        &["--board", "dell-poweredge-r640", "--want", "2xnvme", "--aim", "iops"],
    ];
    for args in asked {
        let json: Value = serde_json::from_str(&stdout(&[args, &["--json"]].concat())).expect("JSON");
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let json: Value = serde_json::from_str(&stdout(&[R720XD, &["--json"]].concat())).expect("JSON");
    assert_eq!(json["schema"], "narrows/plan/1");
    assert_eq!(json["proof"]["optimal"], true);
    assert_eq!(json["placements"][0]["slots_used"], 3);
}

#[test]
fn what_cannot_be_planned_is_refused_with_the_reason_and_a_hint() {
    for (args, said) in [
        (&["--board", "asus-x99-b"][..], "asus-x99-a"),
        (&["--board", "asus-x99-a", "--want", "5xfloppy"], "kinds are nvme"),
        (&["--board", "asus-x99-a", "--cpu", "Z80"], "no processor is known"),
        (&["--board", "asus-x99-a", "--want", "nvme", "--aim", "speed"], "is no aim"),
        (&["--board", "raspberry-pi-5", "--want", "gpu"], "the longest that is free is x1"),
        (&["--board", "dell-poweredge-r720xd", "--want", "6xhba:gen3x8", "--max-slots", "4"], "they need 6"),
        (&["--board", "dell-poweredge-r720xd", "--want", "nvme:gen3x4@5GB/s"], "no slot gives"),
        (
            &["--board", "dell-poweredge-r720xd", "--want", "7xhba:gen3x8"],
            "6 slots are free, and of 7 devices 6 fit",
        ),
    ] {
        let output = narrows(args).assert().code(2).get_output().stderr.clone();
        let text = String::from_utf8(output).expect("text");
        assert!(text.contains(said) && text.contains("hint: "), "{args:?}: {text}");
    }
}

/// The table of this board is from firmware records: its M.2 sockets are not in it.
#[test]
fn on_a_table_with_gaps_nothing_is_proven_and_nothing_is_to_be_bought() {
    let asked = ["--board", "gigabyte-x570-aorus-master", "--want", "3xnvme:gen4x4"];
    let text = stdout(&[&asked[..], &["--plain"]].concat());
    assert!(text.contains("Not proven: the best in the slots that are known"), "{text}");
    assert!(text.contains("not known  its M.2, U.2 and OCuLink sockets (look at the manual"), "{text}");
    assert!(!text.contains("  buy ") && !text.contains("IMPOSSIBLE"), "{text}");
    let json: Value = serde_json::from_str(&stdout(&[&asked[..], &["--json"]].concat())).expect("JSON");
    assert_eq!(json["proof"]["optimal"], false);
    assert_eq!(json["placements"][0]["parts"], serde_json::json!([]));
    assert!(json["site"]["gaps"].as_array().is_some_and(|gaps| gaps.len() >= 4), "{json}");
}

#[test]
fn on_a_table_with_gaps_too_much_is_not_known_to_be_impossible() {
    let asked = ["--board", "asus-tuf-gaming-x570-plus", "--want", "5xnvme:gen4x4", "--no-switch-cards"];
    let output = narrows(&asked).assert().code(2).get_output().clone();
    let (out, err) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (out, err) = (out.expect("text"), err.expect("text"));
    assert!(
        out.contains("NOT KNOWN  whether all of this can be placed") && !out.contains("IMPOSSIBLE"),
        "{out}"
    );
    assert!(err.contains("it is not known whether the wishes can all be placed"), "{err}");
    assert!(err.contains("hint: of ASUS TUF GAMING X570-PLUS it is not known: "), "{err}");
}

/// FriendlyElec CM3588 NAS: four M.2 sockets of one lane, and no other slot.
#[test]
fn on_a_complete_table_the_best_is_proven_and_too_much_is_impossible() {
    let text = stdout(&["--board", "friendlyelec-cm3588-nas", "--want", "4xnvme", "--plain"]);
    assert!(text.contains("Proven: ") && !text.contains("not known"), "{text}");
    let output = narrows(&["--board", "friendlyelec-cm3588-nas", "--want", "5xnvme"]).assert().code(2);
    let text = String::from_utf8(output.get_output().stdout.clone()).expect("text");
    assert!(text.contains("IMPOSSIBLE  ") && !text.contains("NOT KNOWN"), "{text}");
}

#[test]
fn every_board_is_listed_and_can_be_planned_for() {
    let list = stdout(&["--board", "list"]);
    assert!(list.lines().count() >= 80 && list.contains("asus-x99-a "), "{list}");
    for board in &catalog().boards {
        let site = of_board(board, &BoardOptions::default());
        let request = Request { wishes: vec![parse("nvme").expect("a wish")], ..Request::default() };
        let found = search(&site, &request);
        assert!(found.proof.complete, "{}", board.name);
        let has_room = site.slots.iter().any(|slot| slot.dead.is_none());
        assert_eq!(!found.placements.is_empty(), has_room, "{}", board.name);
    }
}
