use narrows_base::fact::Fact;
use narrows_base::units::Nanos;
use narrows_machine::health::{DriveHealth, SmartLog, Throttling};
use narrows_model::path::{ControllerHop, HopSpec, UplinkHop};

use super::*;
use crate::Confidence;
use crate::testing::{BRIDGE, NVME, Sketch, at, function, link, on_bus, run};

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

/// A run at so many MB/s, known to within 1 %, and no series of it.
fn known(megabytes: f64) -> Run {
    let mut run = run(megabytes);
    run.measurement.series.clear();
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
fn a_hop_below_its_ceiling_is_not_named_as_the_limit() {
    let verdict = group(&[(3000.0, 1500.0); 2], Some(20_000.0), |_| {});
    assert_eq!(verdict.outcome, Outcome::LimitEachOther, "{verdict:#?}");
    assert!(verdict.limiting.is_empty() && verdict.located.is_empty());
    assert!(verdict.sentence.contains("The hop is not known."), "{}", verdict.sentence);
}

#[test]
fn a_hop_of_unknown_ceiling_that_all_who_lose_cross_is_where_the_limit_is() {
    let verdict = group(&[(3000.0, 1500.0); 2], None, |_| {});
    assert_eq!((verdict.outcome, verdict.limiting.len()), (Outcome::LimitEachOther, 0));
    assert_eq!(verdict.located.len(), 1);
    assert_eq!(
        verdict.sentence,
        "They limit each other: two targets that give 3 GB/s alone get 1.5 GB/s each. The limit is at the uplink, which \
         /dev/nvme0n1, /dev/nvme1n1 cross and whose ceiling is not known, or at something that the topology does not show."
    );
}

/// Two disks of 15 MB/s behind one adapter, each of which gets so much beside the other.
fn behind_one_adapter(adapter: ControllerHop, each: f64) -> GroupVerdict {
    let alone: Vec<Subject> = ["sda", "sdb"]
        .into_iter()
        .map(|name| {
            let sketch = Sketch::of(&format!("/dev/{name}")).device(name, None);
            let sketch = sketch.hop("the adapter", HopSpec::Hba(adapter.clone()), None).memory();
            sketch.run(known(15.0)).subject
        })
        .collect();
    let group = Group { members: vec![0, 1], runs: vec![known(each), known(each)] };
    judge_groups(&Machine::default(), &alone, &[group]).remove(0)
}

#[test]
fn an_adapter_without_a_published_limit_may_be_where_several_limit_each_other() {
    let verdict = behind_one_adapter(ControllerHop::default(), 7.5);
    assert_eq!((verdict.outcome, verdict.located.len()), (Outcome::LimitEachOther, 1), "{verdict:#?}");
    assert_eq!(verdict.located[0].as_str(), "hba:the adapter");
    let healthy = behind_one_adapter(ControllerHop::default(), 15.0);
    assert_eq!((healthy.outcome, healthy.located.len()), (Outcome::NoSharedLimit, 0));
    // What passes on what network and server allow is no place of its own.
    let fabric = ControllerHop { fabric: Some("tcp".to_owned()), ..ControllerHop::default() };
    assert!(behind_one_adapter(fabric, 7.5).located.is_empty());
}

/// Drives a, b behind one switch and c, d behind another, all behind one chipset; no ceiling is known. Each gives 100 MB/s
/// alone; `both` is what each gets in each group of the plan.
fn two_switches(both: [[f64; 4]; 3]) -> Vec<GroupVerdict> {
    let alone: Vec<Subject> = (0_u8..4)
        .map(|index| {
            let hop = |address| UplinkHop { address: at(address), ..UplinkHop::default() };
            let switch = if index < 2 { ("switch one", 1) } else { ("switch two", 2) };
            let sketch = Sketch::of(&format!("/dev/nvme{index}n1"))
                .device(&format!("nvme{index}n1"), None)
                .unknown(switch.0, HopSpec::Switch(hop(switch.1)))
                .unknown("the chipset", HopSpec::Chipset(hop(3)));
            sketch.memory().run(known(100.0)).subject
        })
        .collect();
    let paths: Vec<Path> = alone.iter().map(|one| one.path.clone()).collect();
    let plan = super::groups(&paths);
    assert_eq!(plan, [vec![0, 1], vec![2, 3], vec![0, 1, 2, 3]]);
    let groups: Vec<Group> = plan
        .into_iter()
        .zip(both)
        .map(|(members, rates)| {
            let runs =
                members.iter().filter_map(|member| rates.get(*member)).map(|rate| known(*rate)).collect();
            Group { members, runs }
        })
        .collect();
    judge_groups(&Machine::default(), &alone, &groups)
}

fn located(verdict: &GroupVerdict) -> Vec<&str> {
    verdict.located.iter().map(HopId::as_str).collect()
}

#[test]
fn each_of_two_limits_is_located_and_both_together_are_no_third_one() {
    let verdicts = two_switches([[30.0; 4], [40.0; 4], [30.0, 30.0, 40.0, 40.0]]);
    assert_eq!(located(&verdicts[0]), ["switch:switch one"]);
    assert_eq!(located(&verdicts[1]), ["switch:switch two"]);
    assert_eq!(located(&verdicts[2]), ["switch:switch one", "switch:switch two"]);
    let sentence = &verdicts[2].sentence;
    assert!(
        sentence.starts_with("All at once lose no more than in smaller groups (/dev/nvme0n1 + "),
        "{sentence}"
    );
    assert!(sentence.ends_with("No further limit was seen up to 140 MB/s."), "{sentence}");
}

#[test]
fn a_limit_that_only_all_together_reach_is_behind_what_carried_more_in_smaller_groups() {
    let verdicts = two_switches([[100.0; 4], [100.0; 4], [55.0; 4]]);
    assert_eq!(verdicts[0].outcome, Outcome::NoSharedLimit);
    assert_eq!(located(&verdicts[2]), ["chipset:the chipset"]);
}

#[test]
fn a_hop_over_which_two_moved_more_than_all_four_is_not_where_the_limit_is() {
    let verdicts = two_switches([[100.0; 4], [100.0; 4], [30.0; 4]]);
    assert!(verdicts[2].located.is_empty(), "{:?}", verdicts[2].located);
    assert!(verdicts[2].sentence.contains("The hop is not known."), "{}", verdicts[2].sentence);
}

#[test]
fn a_further_limit_of_all_is_told_from_that_of_a_smaller_group() {
    let verdicts = two_switches([[60.0; 4], [100.0; 4], [50.0, 50.0, 55.0, 55.0]]);
    assert_eq!(located(&verdicts[0]), ["switch:switch one"]);
    assert_eq!(located(&verdicts[2]), ["chipset:the chipset"], "{}", verdicts[2].sentence);
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
fn drives_that_take_a_steady_limit_from_each_other_have_a_steady_sum() {
    let mut turn = 0;
    let by_turns = |run: &mut Run| {
        turn += 1;
        let rate = |at: i32| BytesPerSec::from_mb(if (at / 2 + turn) % 2 == 0 { 440.0 } else { 360.0 });
        run.measurement.series = (0..20).map(rate).collect();
        run.measurement.ci95 = narrows_base::stats::ci95(&run.measurement.series);
    };
    let turns = std::cell::RefCell::new(by_turns);
    let verdict = group(&[(700.0, 400.0); 2], Some(800.0), |run| (turns.borrow_mut())(run));
    let [low, high] = verdict.together.ci95.expect("the series is long enough");
    assert!((high - low).get() < 1e6, "{low} to {high}");
    assert_eq!(verdict.outcome, Outcome::SharedLimit, "{verdict:#?}");
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

#[test]
fn one_that_starves_is_told_where_the_sum_hides_it() {
    // 3000 + 100 alone, 3000 + 40 together: the sum falls by 2 %, less than is significant.
    let verdict = group(&[(3000.0, 3000.0), (100.0, 40.0)], None, |_| {});
    assert_eq!(verdict.outcome, Outcome::LimitEachOther, "{verdict:#?}");
    assert!(verdict.sentence.contains("/dev/nvme1n1 gets the least, 40 %"), "{}", verdict.sentence);
}

#[test]
fn a_drive_that_throttles_beside_the_others_makes_no_limit() {
    let hot = |run: &mut Run| {
        let log = |time: u64| {
            let state = Throttling { transitions: time, time: Nanos::new(time * 1_000_000_000) };
            let smart = SmartLog { throttling: [state, Throttling::default()], ..SmartLog::default() };
            DriveHealth { smart: Fact::known(smart, "log page 02h"), ..DriveHealth::default() }
        };
        run.activity.before.drives.insert("nvme0n1".to_owned(), log(0));
        run.activity.after.drives.insert("nvme0n1".to_owned(), log(2));
    };
    let verdict = group(&[(3500.0, 2000.0); 4], Some(9000.0), hot);
    assert_eq!(verdict.outcome, Outcome::NotKnown, "{verdict:#?}");
    assert!(verdict.sentence.contains("slowed itself down"), "{}", verdict.sentence);
}

/// Two drives behind an x4 switch, of the three that the machine has or of two, with a foretold limit.
fn foretold(drives: u8, rates: (f64, f64), uplink: f64) -> (Vec<Finding>, Vec<Foretold>) {
    let behind: Vec<_> = (0..drives).map(|number| at(10 + number)).collect();
    let mut machine = Machine::default();
    machine.pci.insert(at(1), function(at(1), BRIDGE, (3, 4)));
    for address in &behind {
        machine.pci.insert(*address, function(*address, NVME, (3, 4)));
    }
    let alone: Vec<Subject> = (0..2)
        .map(|number| {
            let name = format!("nvme{number}n1");
            let switch =
                HopSpec::Switch(UplinkHop { address: at(1), behind: behind.clone(), ..UplinkHop::default() });
            Sketch::of(&format!("/dev/{name}"))
                .device(&name, None)
                .link(on_bus(10 + number, link((3, 4), (3, 4), (3, 4))))
                .hop("the uplink", switch, Some(uplink))
                .memory()
                .run(known(rates.0))
                .subject
        })
        .collect();
    let group = Group { members: vec![0, 1], runs: vec![known(rates.1), known(rates.1)] };
    let verdicts = judge_groups(&machine, &alone, &[group]);
    let conclusion = conclude(&machine, &alone, &verdicts);
    assert_eq!(conclusion.paths.len(), 2);
    (conclusion.findings, conclusion.foretold)
}

fn of_switch(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.code == Code::SwitchOversubscribed).collect()
}

#[test]
fn a_foretold_limit_that_is_reached_becomes_measured() {
    let (findings, fates) = foretold(2, (3000.0, 1900.0), 3900.0);
    let [finding] = of_switch(&findings)[..] else { panic!("{findings:#?}") };
    assert_eq!((finding.severity, finding.confidence), (Severity::Limit, Confidence::High));
    assert_eq!(
        finding.summary,
        "Measured: the uplink carries 3.8 GB/s of 3.9 GB/s: two targets that give 3 GB/s alone get 1.9 GB/s each."
    );
    assert_eq!(finding.evidence.len(), 2);
    assert_eq!(fates.iter().map(|one| one.fate).collect::<Vec<_>>(), [Fate::Measured]);
}

#[test]
fn a_foretold_limit_that_the_run_disproves_is_withdrawn_and_says_so() {
    let (findings, fates) = foretold(2, (1500.0, 1500.0), 3900.0);
    assert!(of_switch(&findings).is_empty(), "{findings:#?}");
    let [withdrawn] = &fates[..] else { panic!("{fates:#?}") };
    assert_eq!(withdrawn.fate, Fate::Withdrawn);
    assert!(withdrawn.summary.contains("carry 7.88 GB/s together"), "{}", withdrawn.summary);
    assert!(withdrawn.sentence.contains("up to 3 GB/s"), "{}", withdrawn.sentence);
    // More crossed it than was foretold to be the most.
    let (findings, fates) = foretold(3, (1500.0, 1500.0), 2000.0);
    assert!(of_switch(&findings).is_empty(), "{findings:#?}");
    assert!(fates[0].sentence.contains("more than the 2 GB/s that were foretold"), "{}", fates[0].sentence);
}

#[test]
fn a_foretold_limit_stays_where_not_all_that_share_the_hop_ran() {
    let (findings, fates) = foretold(3, (1500.0, 1500.0), 3900.0);
    let [finding] = of_switch(&findings)[..] else { panic!("{findings:#?}") };
    assert!(!finding.summary.starts_with("Measured"), "{}", finding.summary);
    assert_eq!(fates[0].fate, Fate::Open);
    assert!(fates[0].sentence.contains("0000:0c:00.0 did not"), "{}", fates[0].sentence);
}

#[test]
fn a_target_that_no_longer_gives_what_it_gave_makes_losses_unknown() {
    let first = drive("nvme0n1", None).run(known(3000.0)).subject;
    let judged =
        || vec![group(&[(3000.0, 1500.0); 2], None, |_| {}), group(&[(3000.0, 3000.0); 2], None, |_| {})];
    let mut verdicts = judged();
    assert_eq!(doubt_by_drift(&first, &known(2980.0), &mut verdicts), None);
    assert_eq!(verdicts, judged());
    let drift = doubt_by_drift(&first, &known(1500.0), &mut verdicts).expect("it drifted");
    assert_eq!(drift, "/dev/nvme0n1 alone gave 3 GB/s at the beginning and 1.5 GB/s at the end");
    let outcomes: Vec<Outcome> = verdicts.iter().map(|verdict| verdict.outcome).collect();
    assert_eq!(outcomes, [Outcome::NotKnown, Outcome::NoSharedLimit]);
    assert!(verdicts[0].sentence.contains(&drift) && verdicts[0].located.is_empty());
}

#[test]
fn hidden_groups_are_told_with_their_limit_and_with_what_explains_them() {
    use hidden::{Hidden, HiddenGroup};
    let mut all = group(&[(3000.0, 1500.0); 2], None, |_| {});
    let pair = HiddenGroup {
        members: vec![0, 1],
        limit: BytesPerSec::from_mb(3000.0),
        alone: BytesPerSec::from_mb(6000.0),
        is_confirmed: true,
    };
    let found = || Hidden { groups: vec![pair.clone()], runs: 4, ..Hidden::default() };
    let explained = hidden::judge(Ok(found()), &all);
    assert_eq!(
        explained.sentence,
        "/dev/nvme0n1 + /dev/nvme1n1 share a limit of 3 GB/s (6 GB/s in sum, each alone): exactly these cross the uplink."
    );
    assert_eq!(explained.groups[0].hops.len(), 1);
    all.hops.clear();
    let unexplained = hidden::judge(Ok(found()), &all);
    assert!(unexplained.sentence.ends_with("no hop that the topology shows is crossed by exactly these."));
    let none = hidden::judge(Ok(Hidden::default()), &all);
    assert_eq!(none.sentence, "No group that shares a limit was seen up to 3 GB/s.");
    let failed = hidden::judge(Err("interrupted".to_owned()), &all);
    assert_eq!(failed.sentence, "Hidden groups were not found out: interrupted.");
}
