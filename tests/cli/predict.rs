//! `narrows predict` and `narrows --to-path` as they are typed, and machines that become descriptions and back.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads the tree of fixtures, writes to a directory of its own, and may panic"
)]

use std::fs;
use std::path::Path as FilePath;

use assert_cmd::Command;
use narrows::ceiling::{self, Ceiling};
use narrows::machine::Machine;
use narrows::machine::root::Root;
use narrows::path::file::{Name, Part, PartKind, parse, path};
use narrows::path::{Hop, HopKind, Path, build};
use narrows::predict::describe;
use narrows::units::Lanes;

fn narrows(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::new(crate::narrows_binary())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .args(args)
        .assert()
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
}

#[test]
fn what_was_published_of_the_five_systems_stands_beside_what_is_predicted() {
    let done = narrows(&["predict", "systems/"]).success();
    insta::assert_snapshot!("published", stdout(&done));
}

#[test]
fn a_change_shows_before_after_gain_and_the_new_narrows() {
    let args =
        ["predict", "systems/x99-slot.path.toml", "--workload", "hdparm", "--set", "PCIEX16_2.width=4"];
    insta::assert_snapshot!("what_if", stdout(&narrows(&args).success()));
}

#[test]
fn what_no_law_covers_is_not_known_and_has_a_bound_and_what_to_measure() {
    let args = ["predict", "systems/s2d-epyc.path.toml"];
    insta::assert_snapshot!("not_known", stdout(&narrows(&args).success()));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&narrows(&[&args[..], &["--json"]].concat()).success()))
            .expect("is JSON");
    let it = &json["systems"][0]["predictions"][0];
    assert_eq!(it["known"], false);
    assert!(it["bytes_per_second"].is_null() && it["iops"].is_null() && it["interval_95"].is_null());
    assert_eq!(it["at_most"]["hop"], "network:t62250");
    assert!(it["not_known_because"].is_string() && it["measure_instead"].is_string());
}

#[test]
fn a_published_result_outside_of_its_interval_is_exit_status_1() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("far.path.toml");
    let text = fs::read_to_string("systems/ryzen-raid-luks.path.toml").expect("ships");
    let far = text.replacen("value = \"3600 MB/s\"", "value = \"1200 MB/s\"", 1);
    assert_ne!(text, far);
    fs::write(&file, far).expect("written");
    let done = narrows(&["predict", &file.display().to_string()]).code(1);
    assert!(stdout(&done).contains("outside of "), "{}", stdout(&done));
}

#[test]
fn a_drive_and_layers_can_be_added_and_json_follows_the_schema() {
    let args = [
        "predict",
        "systems/ryzen-raid-luks.path.toml",
        "--workload",
        "read",
        "--add",
        "nvme:sn770@x16",
        "--add",
        "raid0",
        "--add",
        "luks",
        "--json",
    ];
    let json: serde_json::Value = serde_json::from_str(&stdout(&narrows(&args).success())).expect("is JSON");
    let validator = jsonschema::validator_for(&crate::schema::of("predict")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let prediction = &json["systems"][0]["predictions"][0];
    assert_eq!(prediction["limiting"]["hop"], "crypt:luks-2");
    assert_eq!(prediction["before"]["limiting_hop"], "link:ssd0");
    assert!(prediction["before"]["gain_bytes_per_second"].as_f64().is_some_and(|gain| gain < 0.0));
}

#[test]
fn a_wrong_file_is_refused_with_place_and_hint_and_nothing_on_standard_output() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("bad.path.toml");
    fs::write(
        &file,
        "format = \"narrows/path/1\"\n[host.a]\n[slot.s]\ngeneration = 3\nwidht = 4\nwidth = 4\n",
    )
    .expect("written");
    let done = narrows(&["predict", &file.display().to_string()]).code(2);
    let output = done.get_output();
    let said = String::from_utf8_lossy(&output.stderr).replace(&file.display().to_string(), "bad.path.toml");
    assert_eq!(
        said,
        "narrows: bad.path.toml:5:1: unknown key `widht` in [slot.s]\nhint: did you mean `width`?\n"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn one_wrong_file_of_a_directory_hides_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("written");
    put("a.path.toml", "format = \"narrows/path/1\"\n[host.a]\n[slot.s]\nwidth = 5\n");
    put("b.path.toml", &fs::read_to_string("systems/x99-slot.path.toml").expect("ships"));
    put("c.path.toml", "format = \"narrows/path/1\"\n[hots.a]\n");
    let done = narrows(&["predict", &dir.path().display().to_string()]).code(2);
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("a.path.toml:4:9: no link has 5 lanes"), "{said}");
    assert!(said.contains("c.path.toml:2:7: [hots.…] is no kind of part"), "{said}");
    assert!(stdout(&done).contains("b.path.toml ASUS X99 board"), "{}", stdout(&done));
}

/// The known ceilings of links, uplinks and encryption of a path. Media are described by model, or by class where none is known.
fn ceilings(path: &Path) -> Vec<(HopKind, u64, u64)> {
    let kinds = [HopKind::Link, HopKind::Sata, HopKind::Chipset, HopKind::Crypt];
    let known = |ceiling: &Ceiling| ceiling.rate().map(|rate| rate.get() as u64);
    let mut found: Vec<(HopKind, u64, u64)> = path
        .hops
        .iter()
        .enumerate()
        .filter(|(_, hop)| kinds.contains(&hop.kind()))
        .filter_map(|(at, hop)| {
            let both = ceiling::of_hop(hop);
            // The link above a chipset that is a PCIe switch of its own (AMD) is that chipset's uplink.
            let before = at.checked_sub(1).and_then(|at| path.hops.get(at)).map(Hop::kind);
            let is_uplink = hop.kind() == HopKind::Link && before == Some(HopKind::Chipset);
            let kind = if is_uplink { HopKind::Chipset } else { hop.kind() };
            Some((kind, known(&both.read)?, known(&both.write)?))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Every machine of the fixtures becomes a description that can be read, and of which every known ceiling of a path is one of the
/// machine.
#[test]
fn machines_become_descriptions_with_the_same_ceilings() {
    let machines = FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines");
    let mut compared = 0;
    let mut names: Vec<String> = fs::read_dir(machines)
        .expect("is there")
        .flatten()
        .filter(|entry| entry.path().join("machine.tree").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in names {
        let machine = Machine::read(&Root::from_tree(crate::support::tree(&name)));
        let paths = build::all(&machine);
        let (system, _) = describe(&machine, &paths);
        let text = system.to_toml(&[]);
        let back = parse(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        for workload in &back.workloads {
            let described = path(&back, &Name::new(workload.target.as_str()), 2).expect("is a path");
            let Some(real) = paths.iter().find(|real| {
                workload.name.as_str() == format!("read-{}", real.target.trim_start_matches("/dev/"))
            }) else {
                continue;
            };
            for known in ceilings(real) {
                assert!(ceilings(&described).contains(&known), "{name} {}: {known:?}\n{text}", real.target);
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} ceilings were compared");
}

/// The uplink of an AMD chipset is a PCIe link that can be seen: a chipset of the description with the width, speed and payload
/// of that link, and the SATA drive behind it.
#[test]
fn a_chipset_with_a_visible_uplink_is_described_with_it() {
    let done = narrows(&["tests/machines/healthy-desktop", "--to-path", "-"]);
    let text = stdout(&done);
    let system = parse("healthy-desktop", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let chipset = system.parts.iter().find_map(|part| match &part.kind {
        PartKind::Chipset(chipset) => Some((part, chipset)),
        _ => None,
    });
    let (part, chipset) = chipset.unwrap_or_else(|| panic!("no chipset\n{text}"));
    assert_eq!(chipset.model.as_deref(), Some("AMD 600 or 800 series (Promontory 21)"));
    // NOTES.md: the uplink runs at 16 GT/s x4 .
    let uplink = chipset.uplink;
    assert_eq!((uplink.generation, uplink.width.map(Lanes::get)), (Some(4), Some(4)), "{text}");
    let is_behind = |it: &Part| matches!(&it.kind, PartKind::Slot(slot) if *slot.on.name() == part.name);
    let slots: Vec<&Name> = system.parts.iter().filter(|it| is_behind(it)).map(|it| &it.name).collect();
    let device = |name: &str| match system.part(&name.into()).map(|it| &it.kind) {
        Some(PartKind::Device(device)) => device.upstream.clone(),
        _ => panic!("no {name}\n{text}"),
    };
    assert!(slots.contains(&&device("sda")) && !slots.contains(&&device("nvme0n1")), "{text}");
    let described = path(&system, &Name::new("sda"), 1).expect("is a path");
    assert!(described.hops.iter().any(|hop| hop.kind() == HopKind::Chipset), "{text}");
}
