//! Tests of `runner/scenario.rs`.

use crate::runner::scenario::*;

const MINIMAL: &str = r#"
    description = "d"
    injected = "nothing"
    [machine]
    [[machine.drive]]
    name = "slow"
    mib = 1
    [[check]]
    run = "narrows"
    [[check.expect]]
    exit = [0]
"#;

#[test]
fn a_minimal_scenario_is_an_nvme_drive_in_a_two_processor_machine() {
    let scenario = Scenario::parse("s", MINIMAL).expect("is valid");
    assert_eq!(scenario.machine.cpus, 2);
    assert_eq!(scenario.machine.drives[0].interface, Interface::Nvme);
    assert_eq!(scenario.checks[0].tolerance, 0.05);
}

#[test]
fn a_misspelt_field_is_an_error() {
    let text = MINIMAL.replace("mib = 1", "mib = 1\nbytes_per_secnd = 5");
    assert!(Scenario::parse("s", &text).expect_err("is wrong").contains("bytes_per_secnd"));
}

#[test]
fn a_drive_in_a_port_that_no_switch_has_is_an_error() {
    let text = MINIMAL.replace("mib = 1", "mib = 1\nport = \"sw.0\"");
    assert!(Scenario::parse("s", &text).expect_err("is wrong").contains("sw.0"));
}

#[test]
fn an_expected_rate_needs_something_to_compare_with() {
    let text = MINIMAL.replace("exit = [0]", "exit = [0]\nrate = true");
    assert!(Scenario::parse("s", &text).expect_err("is wrong").contains("reference"));
}

#[test]
fn counted_instructions_and_throttled_drives_do_not_go_together() {
    let counted = MINIMAL.replace("[machine]", "[machine]\ncpus = 1\ninstruction_shift = 3");
    assert!(Scenario::parse("s", &counted).is_ok());
    assert!(Scenario::parse("s", &counted.replace("cpus = 1", "cpus = 2")).is_err());
    assert!(Scenario::parse("s", &counted.replace("mib = 1", "mib = 1\nbytes_per_second = 1")).is_err());
}

#[test]
fn a_record_must_agree_after_the_last_check_of_every_scenario() {
    let two = format!(
        "{MINIMAL}\n[[check]]\nrun = \"narrows\"\nverify = [\"true\"]\n[[check.expect]]\nexit = [0]\n"
    );
    let scenario = Scenario::parse("s", &two).expect("is valid");
    assert!(scenario.checks[0].verify.is_empty());
    assert_eq!(scenario.checks[1].verify, ["true", "record_agrees"]);
}

#[test]
fn a_scenario_shares_the_host_unless_it_needs_it_alone() {
    let parse = |text: &str| Scenario::parse("s", text).expect("is valid");
    assert!(!parse(MINIMAL).alone);
    assert!(parse(&MINIMAL.replace("[machine]", "alone = true\n[machine]")).alone);
}

#[test]
fn a_check_depends_on_rates_when_it_expects_one_or_a_hop() {
    let depends = |text: &str| Scenario::parse("s", text).expect("is valid").checks[0].depends_on_rates();
    assert!(!depends(MINIMAL));
    assert!(depends(&format!("{MINIMAL}\nlimiting_kind = \"device\"")));
    assert!(depends(&MINIMAL.replace("[[check.expect]]", "reference = \"fio_rate x\"\n[[check.expect]]")));
}

#[test]
fn a_kernel_is_within_its_bounds_from_the_first_to_before_the_last() {
    assert!(is_within((6, 1), None, None));
    assert!(is_within((6, 12), Some((6, 12)), None) && !is_within((6, 11), Some((6, 12)), None));
    assert!(is_within((6, 11), None, Some((6, 12))) && !is_within((6, 12), None, Some((6, 12))));
}

#[test]
fn what_another_kernel_is_expected_to_do_is_left_out() {
    let text = MINIMAL.replace("exit = [0]", "exit = [0]\nbefore_linux = [6, 12]")
        + "[[check.expect]]\nexit = [1]\nsince_linux = [6, 12]\n";
    let exits = |release| {
        let mut scenario = Scenario::parse("s", &text).expect("is valid");
        scenario.keep_for(release);
        scenario.checks[0].expectations.iter().map(|one| one.exit[0]).collect::<Vec<_>>()
    };
    assert_eq!((exits((6, 1)), exits((6, 12))), (vec![0], vec![1]));
}
