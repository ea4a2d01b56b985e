//! Tests of `runner/seed.rs`.

use crate::runner::scenario::Scenario;
use crate::runner::seed::*;

const STRIPE: &str = r#"
    description = "d"
    injected = "member at 20 MB/s"
    [machine]
    [[machine.drive]]
    name = "fast"
    mib = 1
    bytes_per_second = 80_000_000
    [[machine.drive]]
    name = "slow"
    mib = 1
    bytes_per_second = 20_000_000
    [[machine.drive]]
    name = "slow_too"
    mib = 1
    bytes_per_second = 20_000_000
    [[check]]
    run = "narrows"
    injected_bytes_per_second = 60e6
    [[check.expect]]
    exit = [1]
    limiting = "device:{slow}"
"#;

fn rates(scenario: &Scenario) -> Vec<Option<u64>> {
    scenario.machine.drives.iter().map(|drive| drive.bytes_per_second).collect()
}

fn seeded(text: &str, seed: u64) -> Scenario {
    let mut scenario = Scenario::parse("s", text).expect("is valid");
    apply(&mut scenario, seed);
    scenario
}

/// Whether a seed leaves this scenario as its file has it.
fn stays(text: &str) -> bool {
    let file = Scenario::parse("s", text).expect("is valid");
    let scenario = seeded(text, 7);
    rates(&scenario) == rates(&file)
        && scenario.injected == file.injected
        && scenario.checks[0].injected_bytes_per_second == file.checks[0].injected_bytes_per_second
}

#[test]
fn factors_are_between_their_limits_and_differ() {
    let mut factors: Vec<f64> = (0..1000).map(|seed| factor(seed, 20_000_000)).collect();
    assert!(factors.iter().all(|factor| (0.8..=1.25).contains(factor)));
    factors.sort_by(f64::total_cmp);
    assert!(factors[0] < 0.81 && factors[999] > 1.24 && (0.97..1.03).contains(&factors[500]));
    assert_eq!(factor(7, 20_000_000), factor(7, 20_000_000));
    assert!(factor(7, 20_000_000) != factor(7, 80_000_000));
}

#[test]
fn drives_of_one_rate_and_what_is_expected_of_them_change_together() {
    let scenario = seeded(STRIPE, 7);
    let (fast, slow) = (factor(7, 80_000_000), factor(7, 20_000_000));
    let of = |rate: f64, factor: f64| Some((rate * factor) as u64);
    assert_eq!(rates(&scenario), [of(80e6, fast), of(20e6, slow), of(20e6, slow)]);
    assert_eq!(scenario.checks[0].injected_bytes_per_second, Some(60e6 * slow));
    assert!(scenario.injected.contains(&format!("slow × {slow:.2}")), "{}", scenario.injected);
}

#[test]
fn a_rate_that_only_a_reference_tells_needs_no_factor() {
    let text = STRIPE.replace("injected_bytes_per_second = 60e6", "reference = 'fio'");
    let text = text.replace("device:{slow}", "raid:md0");
    assert!(!stays(&text));
}

#[test]
fn what_does_not_follow_from_the_rate_of_a_drive_stays() {
    let with = |line: &str| format!("{STRIPE}{line}\n");
    assert!(stays(&STRIPE.replace("[machine]", "seed = false\n[machine]")));
    assert!(stays(&STRIPE.replace("device:{slow}", "network:eth0")));
    let bound = "[[check.expect.at]]\npointer = '/x/bytes_per_second'\nat_most = 21e6";
    assert!(stays(&with(bound)));
    assert!(!stays(&with(&bound.replace("at_most = 21e6", "at_least = 0"))));
    let figure = "[[check.figure]]\nname = 'f'\nunit = 'B/s'\nnarrows = '/x'\ninjected = 80e6";
    assert!(stays(&with(figure)));
    let two = "[[check.expect]]\nexit = [1]\nlimiting = 'device:{fast}'";
    assert!(stays(&with(two)));
    assert!(!stays(&with(&format!("{two}\nrate = false"))));
}
