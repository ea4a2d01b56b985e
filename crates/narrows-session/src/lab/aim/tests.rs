//! Ranks, agreement, and sentences that never make a gain of noise.

use super::*;
use crate::lab::Predicted;
use narrows_base::units::Bytes;
use narrows_load::measurement::Measurement;
use proptest::prelude::*;

fn outcome(
    layout: Layout,
    encryption: Encryption,
    mb: f64,
    half: f64,
    said: Option<f64>,
    bound: &str,
) -> Outcome {
    let load = LoadSpec::reading(Pattern::Sequential, Bytes::from_mib(1), 8);
    let ends = [mb - half, mb + half].map(BytesPerSec::from_mb);
    let measurement = Measurement {
        bytes_per_second: BytesPerSec::from_mb(mb),
        ci95: Some(ends),
        ..Measurement::default()
    };
    let test = "kdiskmark/SEQ1M Q8T1 read".to_owned();
    Outcome {
        cell: Cell { layout, encryption, file_system: FileSystem::None },
        predicted: vec![Predicted {
            test: test.clone(),
            bytes_per_second: said.map(BytesPerSec::from_mb),
            bound: bound.to_owned(),
            formula: String::new(),
        }],
        measured: vec![Measured { test, load, measurement, trusted: true, processors: None }],
        resyncing: false,
        written: Vec::new(),
        notes: Vec::new(),
        failed: None,
        copy: None,
    }
}

fn ryzen() -> Vec<Outcome> {
    let cipher = "the cipher on one core";
    vec![
        outcome(Layout::Single, Encryption::Plain, 3600.0, 20.0, Some(3600.0), "the drive"),
        outcome(Layout::Raid0, Encryption::Plain, 7200.0, 40.0, Some(7200.0), "the drives"),
        outcome(Layout::Single, Encryption::Luks2, 2511.0, 25.0, Some(2422.0), cipher),
        outcome(Layout::Raid0, Encryption::Luks2, 2465.0, 25.0, Some(2422.0), cipher),
        outcome(Layout::Raid1, Encryption::Luks2, 2391.0, 25.0, Some(2422.0), cipher),
    ]
}

#[test]
fn overlapping_intervals_share_a_rank_and_the_simplest_is_best() {
    let ranking = rank(&ryzen(), 2, &[Aim::Encryption, Aim::Sequential(None)]);
    let places: Vec<(usize, usize)> =
        ranking.places.iter().map(|place| (place.outcome, place.rank)).collect();
    assert_eq!(places, [(2, 1), (3, 1), (4, 3)]);
    assert_eq!(ranking.unfit.len(), 2);
    assert_eq!(ranking.best, Some(2));
    assert_eq!(
        ranking.sentence,
        "With encryption required, single LUKS2 is best here for sequential reads, 2.51 GB/s: RAID-0 LUKS2 cannot be \
         distinguished from it, because the bottleneck is the cipher on one core (predicted: 2.42 GB/s)."
    );
}

#[test]
fn three_percent_more_are_said_and_are_no_reason_for_an_array() {
    let mut outcomes = ryzen();
    outcomes[3] =
        outcome(Layout::Raid0, Encryption::Luks2, 2570.0, 10.0, Some(2422.0), "the cipher on one core");
    outcomes[2] =
        outcome(Layout::Single, Encryption::Luks2, 2511.0, 10.0, Some(2422.0), "the cipher on one core");
    let ranking = rank(&outcomes, 2, &[Aim::Encryption, Aim::Sequential(None)]);
    assert_eq!((ranking.places[0].outcome, ranking.best), (3, Some(2)));
    assert!(
        ranking
            .sentence
            .contains("RAID-0 LUKS2 gains only 2.35 %, because the bottleneck is the cipher on one core")
    );
}

#[test]
fn a_prediction_that_is_off_explains_nothing() {
    let mut outcomes = ryzen();
    outcomes[3].predicted[0].bytes_per_second = Some(BytesPerSec::from_mb(7000.0));
    outcomes[2].predicted[0].bytes_per_second = None;
    let ranking = rank(&outcomes, 2, &[Aim::Encryption, Aim::Sequential(None)]);
    assert!(!ranking.sentence.contains("because"), "{}", ranking.sentence);
}

#[test]
fn several_drives_are_best_where_they_gain() {
    let ranking = rank(&ryzen(), 2, &[Aim::Sequential(None)]);
    assert_eq!(ranking.best, Some(1));
    assert!(
        ranking.sentence.starts_with(
            "RAID-0 plain is best here for sequential reads, 7.2 GB/s: single plain gives 50 % less, because the bottleneck \
             is the drive (predicted: 3.6 GB/s)"
        ),
        "{}",
        ranking.sentence
    );
}

#[test]
fn what_must_be_is_and_a_failed_cell_says_why() {
    let mut outcomes = ryzen();
    outcomes[4].failed = Some("mdadm ended with 1".to_owned());
    outcomes[4].measured.clear();
    let ranking = rank(&outcomes, 2, &[Aim::Survive(1), Aim::Sequential(None)]);
    assert!(ranking.places.is_empty());
    assert_eq!(ranking.unfit.last().map(|unfit| unfit.reason.as_str()), Some("mdadm ended with 1"));
    assert!(ranking.sentence.starts_with("Nothing that was measured here does all of"));
    let fast = rank(&ryzen(), 2, &[Aim::Sequential(Some(BytesPerSec::from_gb(5.0)))]);
    assert_eq!(fast.places.len(), 1);
}

#[test]
fn properties_of_layouts_are_those_of_the_planner() {
    assert_eq!(property(Layout::Raid0, 2, Aim::Capacity), Some(1.0));
    assert_eq!(property(Layout::Raid1, 2, Aim::Capacity), Some(0.5));
    assert_eq!(property(Layout::Single, 2, Aim::Capacity), Some(0.5));
    assert_eq!(property(Layout::Raid0, 2, Aim::Endurance), Some(2.0));
    assert_eq!(property(Layout::Raid5, 2, Aim::Capacity), None);
    assert_eq!(property(Layout::Raid0, 2, Aim::Iops), None);
}

#[test]
fn agreement_counts_pairs_that_measurement_tells_apart() {
    let ranking = rank(&ryzen(), 2, &[Aim::Sequential(None)]);
    // Five outcomes; single LUKS2 and RAID-0 LUKS2 overlap; the other nine pairs are told apart, of which those two and
    // RAID-1 LUKS2 are predicted to be equal.
    assert_eq!(ranking.agreement, Agreement { pairs: 9, agree: 7, equal: 2 });
}

#[test]
fn the_mean_of_two_runs_is_surer_than_each() {
    let one = Score { value: 100.0, low: 90.0, high: 110.0 };
    let both = mean(&[one, one]);
    assert!((both.value - 100.0).abs() < 1e-9);
    assert!(both.low > 90.0 && both.high < 110.0);
}

proptest! {
    #[test]
    fn ranks_follow_from_intervals_alone(rates in proptest::collection::vec((10.0..1000.0f64, 0.0..50.0f64), 1..12)) {
        let outcomes: Vec<Outcome> = rates
            .iter()
            .map(|(mb, half)| outcome(Layout::Raid0, Encryption::Luks2, *mb, half.min(*mb), None, ""))
            .collect();
        let ranking = rank(&outcomes, 2, &[Aim::Sequential(None)]);
        prop_assert_eq!(ranking.places.len(), outcomes.len());
        let top = rates.iter().map(|(mb, _)| *mb).fold(0.0, f64::max);
        let first = rates.iter().find(|(mb, _)| *mb == top).expect("one is the fastest");
        for place in &ranking.places {
            let (mb, half) = rates[place.outcome];
            let overlaps = mb + half.min(mb) >= first.0 - first.1.min(first.0);
            if place.rank == 1 {
                prop_assert!(overlaps || (mb - first.0).abs() < 1e-6);
            }
        }
        prop_assert!(!ranking.sentence.contains("gains only") || ranking.places.len() > 1);
    }
}
