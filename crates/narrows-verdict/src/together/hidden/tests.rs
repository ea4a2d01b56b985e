//! A fake engine: drives with rates of their own, groups with limits, and noise.

use super::*;

/// Noise of rates between runs, as parts of their mean: 1.2 % standard deviation, drawn once from a normal distribution. Throttled
/// drives of virtual machines are steadier.
const NOISE: [f64; 60] = [
    0.986, 0.9863, 1.0081, 0.9728, 0.9983, 0.9733, 1.0133, 1.0024, 1.0164, 0.994, 1.0048, 0.9966, 0.9912,
    1.0017, 0.985, 0.9958, 1.0084, 1.0007, 0.9951, 1.0266, 1.0007, 0.993, 1.0019, 0.9937, 0.9954, 0.9958,
    1.0246, 1.0003, 1.0021, 1.0081, 1.0245, 0.9973, 0.9925, 1.0301, 0.9826, 0.9956, 1.008, 1.0278, 0.9887,
    0.9713, 1.008, 0.9938, 0.9954, 1.0056, 1.0027, 1.0035, 0.9948, 1.0156, 1.0182, 1.0004, 0.9946, 1.0088,
    1.0057, 0.9876, 0.9945, 1.0127, 0.9988, 0.9961, 1.0026, 0.9996,
];

/// A generator of numbers that is the same everywhere (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn between(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.next()
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() * count as f64) as usize
    }
}

/// A machine whose groups nobody sees.
struct Machine {
    rates: Vec<f64>,
    groups: Vec<(Vec<usize>, f64)>,
    /// What each drive gets of a shared limit, in relation to the others.
    weights: Vec<f64>,
    chance: Chance,
    noise: f64,
    /// What each run is multiplied by, more and more.
    drift: f64,
    runs: usize,
}

impl Machine {
    /// What drives give at the same time: each group's limit is filled by weight, and who wants less leaves the rest.
    fn run(&mut self, who: &[usize]) -> Vec<Rate> {
        let mut given: BTreeMap<usize, f64> = who.iter().map(|at| (*at, self.rates[*at])).collect();
        for (members, limit) in &self.groups {
            let mut open: Vec<usize> = members.iter().copied().filter(|at| who.contains(at)).collect();
            let mut left = *limit;
            if open.iter().map(|at| self.rates[*at]).sum::<f64>() <= left {
                continue;
            }
            loop {
                let weight: f64 = open.iter().map(|at| self.weights[*at]).sum();
                let level = left / weight;
                let content: Vec<usize> =
                    open.iter().copied().filter(|at| self.rates[*at] <= level * self.weights[*at]).collect();
                if content.is_empty() {
                    given.extend(open.iter().map(|at| (*at, level * self.weights[*at])));
                    break;
                }
                left -= content.iter().map(|at| self.rates[*at]).sum::<f64>();
                open.retain(|at| !content.contains(at));
            }
        }
        self.runs += 1;
        let drift = self.drift.powi(i32::try_from(self.runs).expect("few runs"));
        given.into_values().map(|rate| self.measured(rate * drift)).collect()
    }

    fn measured(&mut self, rate: f64) -> Rate {
        let noise = (NOISE[self.chance.below(NOISE.len())] - 1.0) * self.noise;
        let rate = rate * (1.0 + noise);
        let ends = [0.99, 1.01].map(|part| BytesPerSec::from_mb(rate * part));
        Rate { bytes_per_second: BytesPerSec::from_mb(rate), ci95: Some(ends) }
    }

    fn search(&mut self) -> Hidden {
        let count = self.rates.len();
        let alone: Vec<Rate> = (0..count).flat_map(|at| self.run(&[at])).collect();
        let everybody: Vec<usize> = (0..count).collect();
        let all = self.run(&everybody);
        find::<()>(&alone, &all, &mut |who| Ok(self.run(who))).expect("the fake never fails")
    }

    fn planted(&self) -> BTreeSet<Vec<usize>> {
        self.groups.iter().map(|(members, _)| members.clone()).collect()
    }
}

fn members(found: &Hidden) -> BTreeSet<Vec<usize>> {
    found.groups.iter().map(|group| group.members.clone()).collect()
}

/// `count` drives in one to three groups of two to six, each limit between 35 and 85 % of what its members want.
fn layout(seed: u64, count: usize) -> Machine {
    let mut chance = Chance(seed);
    let rates: Vec<f64> = (0..count).map(|_| chance.between(60.0, 140.0)).collect();
    let mut free: Vec<usize> = (0..count).collect();
    let mut groups = Vec::new();
    for _ in 0..=chance.below(3) {
        let size = (2 + chance.below(5)).min(free.len());
        let mut members: Vec<usize> = (0..size).map(|_| free.swap_remove(chance.below(free.len()))).collect();
        members.sort_unstable();
        let wanted: f64 = members.iter().map(|at| rates[*at]).sum();
        groups.push((members, wanted * chance.between(0.35, 0.85)));
    }
    Machine { weights: vec![1.0; count], rates, groups, chance, noise: 1.0, drift: 1.0, runs: 0 }
}

#[test]
fn of_twenty_random_layouts_nineteen_are_found_within_the_runs_that_are_allowed() {
    let mut wrong = Vec::new();
    for seed in 0..20 {
        let mut machine = layout(seed, 16);
        let found = machine.search();
        let allowed = 3 * machine.groups.len() * 4;
        if members(&found) != machine.planted() || found.runs > allowed {
            wrong.push(format!(
                "{seed}: {:?} for {:?}, {} of {allowed} runs, {:?} unexplained",
                members(&found),
                machine.groups,
                found.runs,
                found.unexplained
            ));
        }
    }
    assert!(wrong.len() <= 1, "{}", wrong.join("\n"));
}

#[test]
fn drives_that_share_nothing_make_no_group_and_no_run() {
    for seed in 0..20 {
        let mut machine = layout(seed, 16);
        machine.groups.clear();
        let found = machine.search();
        assert_eq!(found, Hidden::default(), "{seed}");
    }
}

#[test]
fn a_slow_drive_that_gets_all_it_wants_is_found_to_use_the_limit() {
    let mut machine = layout(3, 8);
    machine.rates = vec![100.0, 100.0, 100.0, 30.0, 100.0, 100.0, 100.0, 100.0];
    machine.groups = vec![(vec![0, 1, 2, 3], 180.0)];
    let found = machine.search();
    assert_eq!(members(&found), machine.planted(), "{found:?}");
    let [group] = &found.groups[..] else { panic!("{found:?}") };
    assert!(group.is_confirmed && (group.limit.get() / 180e6 - 1.0).abs() < 0.03, "{group:?}");
}

#[test]
fn unfair_shares_and_a_limit_that_only_all_members_reach_are_found() {
    let mut machine = layout(4, 8);
    machine.rates = vec![100.0; 8];
    machine.weights = vec![1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
    machine.groups = vec![(vec![0, 1], 120.0), (vec![3, 4, 5, 6], 340.0)];
    assert_eq!(members(&machine.search()), machine.planted());
}

#[test]
fn a_machine_that_gets_slower_meanwhile_makes_groups_uncertain() {
    let mut machine = layout(5, 8);
    machine.rates = vec![100.0; 8];
    machine.groups = vec![(vec![0, 1], 100.0)];
    assert_eq!(machine.search().drifted, None);
    (machine.drift, machine.runs) = (0.985, 0);
    assert!(machine.search().drifted.is_some());
}
