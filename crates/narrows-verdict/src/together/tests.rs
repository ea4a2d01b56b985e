use super::*;
use crate::testing::{Sketch, at, link, on_bus, run};
use narrows_model::path::{HopSpec, UplinkHop};

/// A drive behind a hop of its own and a switch that carries so many MB/s; `None` where that is not known.
fn drive(name: &str, uplink: Option<f64>) -> Sketch {
    let bus = 10 + name.as_bytes()[4];
    let sketch = Sketch::of(&format!("/dev/{name}"))
        .device(name, None)
        .link(on_bus(bus, link((4, 4), (4, 4), (4, 4))));
    let spec = HopSpec::Switch(UplinkHop { address: at(1), ..UplinkHop::default() });
    match uplink {
        Some(_) => sketch.hop("the uplink", spec, uplink),
        None => sketch.unknown("the uplink", spec),
    }
    .memory()
}

/// A run at so many MB/s, known to within 1 %.
fn known(megabytes: f64) -> Run {
    let mut run = run(megabytes);
    run.measurement.ci95 = Some([0.99, 1.01].map(|part| BytesPerSec::from_mb(megabytes * part)));
    run
}

/// Drives with these rates alone and together behind one uplink.
fn group(rates: &[(f64, f64)], uplink: Option<f64>, change: impl Fn(&mut Run)) -> GroupVerdict {
    let alone: Vec<Subject> = (0_u8..)
        .zip(rates)
        .map(|(index, (alone, _))| {
            let name = format!("nvme{index}n1");
            drive(&name, uplink).run(known(*alone)).subject
        })
        .collect();
    let mut runs: Vec<Run> = rates.iter().map(|(_, together)| known(*together)).collect();
    runs.iter_mut().for_each(change);
    let group = Group { members: (0..rates.len()).collect(), runs };
    judge_groups(&Machine::default(), &alone, &[group]).remove(0)
}

#[test]
fn a_shared_hop_at_its_ceiling_is_named_with_its_rates() {
    let verdict = group(&[(3500.0, 3225.0); 4], Some(13_100.0), |_| {});
    assert_eq!(verdict.outcome, Outcome::SharedLimit, "{verdict:#?}");
    assert_eq!(verdict.limiting.len(), 1);
    assert_eq!(
        verdict.sentence,
        "the uplink carries 12.9 GB/s of 13.1 GB/s: four targets that give 3.5 GB/s alone get 3.23 GB/s each."
    );
}

#[test]
fn a_hop_of_unknown_ceiling_or_below_it_is_not_named_as_the_limit() {
    for uplink in [None, Some(20_000.0)] {
        let verdict = group(&[(3000.0, 1500.0); 2], uplink, |_| {});
        assert_eq!(verdict.outcome, Outcome::LimitEachOther, "{verdict:#?}");
        assert!(verdict.limiting.is_empty() && verdict.sentence.contains("The hop is not known."));
        assert_eq!(verdict.sentence.contains("unknown ceiling: the uplink"), uplink.is_none());
    }
}

#[test]
fn a_difference_within_the_intervals_is_no_limit() {
    // 2 × 1000 ± 14.1 alone and 2 × 985 ± 19.7 together: 1985.9 and 1989.7 touch.
    let verdict = group(&[(1000.0, 985.0); 2], Some(2000.0), |_| {});
    assert_eq!(verdict.outcome, Outcome::NoSharedLimit, "{verdict:#?}");
    assert!(verdict.sentence.starts_with("No shared limit was seen up to 1.97 GB/s"), "{}", verdict.sentence);
    let wide = |run: &mut Run| run.measurement.ci95 = Some([500.0, 1100.0].map(BytesPerSec::from_mb));
    assert_eq!(group(&[(1000.0, 800.0); 2], Some(1600.0), wide).outcome, Outcome::NotKnown);
    let none = |run: &mut Run| run.measurement.ci95 = None;
    assert_eq!(group(&[(1000.0, 800.0); 2], Some(1600.0), none).outcome, Outcome::NotKnown);
}

#[test]
fn full_processors_are_suspected_before_a_hop() {
    let full = |run: &mut Run| run.activity.cpus = BTreeMap::from([(0, 0.99), (1, 0.98)]);
    let verdict = group(&[(3500.0, 3225.0); 4], Some(13_100.0), full);
    assert_eq!(verdict.outcome, Outcome::Generator, "{verdict:#?}");
    assert!(verdict.limiting.is_empty());
    let half = |run: &mut Run| run.activity.cpus = BTreeMap::from([(0, 0.99), (1, 0.5)]);
    assert_eq!(group(&[(3500.0, 3225.0); 4], Some(13_100.0), half).outcome, Outcome::SharedLimit);
}

#[test]
fn who_gets_least_is_named_where_it_is_more_than_chance() {
    let verdict = group(&[(1000.0, 800.0), (1000.0, 400.0)], Some(1200.0), |_| {});
    assert!(
        verdict
            .sentence
            .ends_with("/dev/nvme1n1 gets the least, 40 % of what it gives alone; /dev/nvme0n1 gets 80 %."),
        "{}",
        verdict.sentence
    );
    let fair = group(&[(1000.0, 605.0), (1000.0, 595.0)], Some(1200.0), |_| {});
    assert!(!fair.sentence.contains("least"), "{}", fair.sentence);
}

#[test]
fn a_run_that_failed_or_was_cut_short_says_nothing() {
    let cut = |run: &mut Run| run.measurement.cut_short = Some("interrupted".to_owned());
    let verdict = group(&[(3500.0, 3225.0); 4], Some(13_100.0), cut);
    assert_eq!(verdict.outcome, Outcome::NotKnown, "{verdict:#?}");
}

#[test]
fn groups_are_those_that_share_a_hop_the_smallest_first_and_then_all() {
    let one = |name: &str, hop: &str| {
        let spec = HopSpec::Switch(UplinkHop { address: at(1), ..UplinkHop::default() });
        Sketch::of(name).device(name, None).hop(hop, spec, Some(1000.0)).memory().subject.path
    };
    let paths = [one("a", "x"), one("b", "y"), one("c", "x"), one("d", "y"), one("e", "z")];
    assert_eq!(groups(&paths), vec![vec![0, 2], vec![1, 3], vec![0, 1, 2, 3, 4]]);
    assert_eq!(groups(&paths[..2]), vec![vec![0, 1]], "they share nothing, and run together all the same");
    assert_eq!(groups(&[one("a", "x"), one("c", "x")]), vec![vec![0, 1]], "no run twice");
}
