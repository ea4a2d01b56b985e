//! Which host is unlike the others, and what differs there.

use std::collections::BTreeMap;

use narrows_base::stats::median;
use narrows_base::units::{BitsPerSec, BytesPerSec, human};

/// A modified z-score beyond this is an outlier, and what makes the median deviation comparable with a standard deviation (Iglewicz and
/// Hoaglin, "How to Detect and Handle Outliers", ASQC 1993, chapter 3).
const THRESHOLD: f64 = 3.5;
const OF_MEDIAN_DEVIATION: f64 = 0.6745;
/// A host that is nearer to the median than this fraction of it never is an outlier.
const LEAST: f64 = 0.1;
/// With fewer hosts there is no telling which is unlike the others.
const FEWEST: usize = 5;

/// A host that is slower or faster than the others in both halves of the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// Its place in what was given.
    pub index: usize,
    /// How far its rate is from the median, as a fraction of that; negative when it is slower.
    pub difference: f64,
}

/// Names the hosts by their rates in both halves of the common time.
pub fn outliers(rates: &[[BytesPerSec; 2]]) -> Vec<Outlier> {
    if rates.len() < FEWEST {
        return Vec::new();
    }
    let halves =
        [0, 1].map(|half| differences(&rates.iter().map(|rate| rate[half].get()).collect::<Vec<_>>()));
    let both = halves[0].iter().zip(&halves[1]).enumerate();
    let agreed = both.filter_map(|(index, (first, second))| {
        let (first, second) = ((*first)?, (*second)?);
        (first.signum() == second.signum())
            .then_some(Outlier { index, difference: f64::midpoint(first, second) })
    });
    agreed.collect()
}

/// For each value that stands out its difference from the median, as a fraction of that.
fn differences(values: &[f64]) -> Vec<Option<f64>> {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    // Where more than half are the same, any other differs.
    let unit = (median(&deviations) / OF_MEDIAN_DEVIATION).max(f64::MIN_POSITIVE);
    let judge = |value: &f64| {
        let difference = (value - middle) / middle;
        ((value - middle).abs() / unit > THRESHOLD && difference.abs() >= LEAST && middle > 0.0)
            .then_some(difference)
    };
    values.iter().map(judge).collect()
}

/// The facts of one host whose values nine in ten others do not share, as `name: value, others value`.
pub fn differing_facts(facts: &[&BTreeMap<String, String>], index: usize) -> Vec<String> {
    let Some(own) = facts.get(index) else { return Vec::new() };
    let differs = |(name, value): (&String, &String)| {
        let others: Vec<&String> = facts.iter().filter_map(|host| host.get(name)).collect();
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        others.iter().for_each(|other| *counts.entry(*other).or_default() += 1);
        let (usual, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (usual != value && count * 10 >= others.len() * 9)
            .then(|| format!("{name} is {}, of the others {}", said(name, value), said(name, usual)))
    };
    own.iter().filter_map(differs).collect()
}

/// A value as a person reads it: the kernel tells the speed of a network card in Mbit/s, without the unit.
fn said(name: &str, value: &str) -> String {
    let megabits = value.parse::<u32>().ok().filter(|_| name.starts_with("speed of "));
    megabits.map_or(value.to_owned(), |speed| human::bit_rate(BitsPerSec::new(f64::from(speed) * 1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn both(rate: f64) -> [BytesPerSec; 2] {
        [BytesPerSec::new(rate); 2]
    }

    /// Rates of 60 hosts that differ by some per cent at random, as those of equal hosts do.
    fn sixty(seed: u64) -> Vec<[BytesPerSec; 2]> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f64 / f64::from(1 << 24)
        };
        (0..60).map(|_| [0, 1].map(|_| BytesPerSec::new(1e8 * (0.97 + 0.06 * next())))).collect()
    }

    #[test]
    fn one_slow_host_of_sixty_is_found_and_none_of_sixty_equal_ones() {
        for seed in 0..10 {
            let equal = sixty(seed);
            assert_eq!(outliers(&equal), [], "seed {seed}");
            let mut slow = equal;
            slow[17] = both(0.8e8);
            let found: Vec<usize> = outliers(&slow).iter().map(|one| one.index).collect();
            assert_eq!(found, [17], "seed {seed}");
        }
    }

    #[test]
    fn a_host_that_was_slow_in_one_half_only_is_none() {
        let mut rates = sixty(3);
        rates[5][1] = BytesPerSec::new(0.5e8);
        assert_eq!(outliers(&rates), []);
        assert_eq!(outliers(&[both(1.0), both(1.0), both(9.0)]), [], "too few hosts");
    }

    #[test]
    fn a_difference_is_named_where_the_others_agree() {
        let host = |width: &str| BTreeMap::from([("link".to_owned(), width.to_owned())]);
        let hosts: Vec<BTreeMap<String, String>> =
            (0..20).map(|number| host(if number == 4 { "x4" } else { "x8" })).collect();
        let hosts: Vec<&BTreeMap<String, String>> = hosts.iter().collect();
        assert_eq!(differing_facts(&hosts, 4), ["link is x4, of the others x8"]);
        assert!(differing_facts(&hosts, 5).is_empty() && differing_facts(&hosts, 99).is_empty());
    }

    #[test]
    fn the_speed_of_a_card_has_its_unit() {
        let host = |speed: &str| BTreeMap::from([("speed of eno1".to_owned(), speed.to_owned())]);
        for (speed, shown) in [("1000", "1 Gbit/s"), ("-1", "-1")] {
            let hosts: Vec<BTreeMap<String, String>> =
                (0..20).map(|number| host(if number == 4 { speed } else { "10000" })).collect();
            let hosts: Vec<&BTreeMap<String, String>> = hosts.iter().collect();
            let text = format!("speed of eno1 is {shown}, of the others 10 Gbit/s");
            assert_eq!(differing_facts(&hosts, 4), [text]);
        }
    }

    proptest! {
        #[test]
        fn no_rates_panic(rates in prop::collection::vec((0.0f64..1e12, 0.0f64..1e12), 0..40)) {
            let rates: Vec<[BytesPerSec; 2]> =
                rates.into_iter().map(|(a, b)| [BytesPerSec::new(a), BytesPerSec::new(b)]).collect();
            let _ = outliers(&rates);
        }
    }
}
