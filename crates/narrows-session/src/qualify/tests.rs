//! Qualifications of a scratch file, in the place of a drive.

#![expect(clippy::disallowed_methods, reason = "tests make files")]

use super::part::longest_pass;
use super::*;
use crate::measure::{Command, UNTIL_KNOWN};
use crate::place::Place;
use crate::writes::{Wanted, Writes};
use narrows_base::units::Nanos;
use narrows_load::preset;
use narrows_load::scratch::ScratchOptions;
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_machine::tree::Tree;
use narrows_model::path::{Path, Target};
use narrows_verdict::Subject;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

const MIB: Bytes = Bytes::from_mib(1);

fn scene() -> Scene {
    let root = Root::from_tree(Tree::new());
    let machine = Machine::read(&root);
    let asked = Target::Block("sdx".to_owned());
    let path = Path { asked, target: "/dev/sdx".to_owned(), hops: Vec::new() };
    Scene { root, machine, subject: Subject::of(path) }
}

fn terms() -> Terms {
    let time = Duration::from_millis(20);
    Terms {
        target: LatencyTarget::new("p50", Nanos::from_millis(10_000)),
        rest: Duration::ZERO,
        round: time,
        timing: Timing { fixed: Some(time), ..UNTIL_KNOWN },
    }
}

/// What came of a plan for 8 MiB on a scratch file of which `allowed` may be written, or on one that is only read.
fn qualified(plan: &Plan, is_read: bool, is_stopped: bool) -> (Qualified, Bytes) {
    let dir = tempfile::tempdir().expect("there is room");
    let scene = scene();
    let timing = terms().timing;
    let writes = Writes::of(&Wanted {
        size: (MIB, true),
        path: None,
        ..Wanted::of(&scene, Some(plan.most()), true, &timing)
    });
    let writes = writes.expect("it fits").planned(plan.most());
    let stop = Arc::new(AtomicBool::new(is_stopped));
    let runner = Runner::begin(Command::Bench, &scene, Some(writes), ((), stop));
    let options = ScratchOptions { reserve: Some(Bytes::new(0)), minimum: MIB, ..ScratchOptions::default() };
    let file = dir.path().join("file");
    std::fs::write(&file, vec![7; 1 << 20]).expect("there is room");
    let place = if is_read { Place::File(file) } else { Place::Scratch(dir.path().to_owned()) };
    let on = &mut |_, _| ControlFlow::Continue(());
    let target = place.open_or_make(plan.region, &options, on).expect("there is room");
    let came = qualify(&scene, (&runner, &target), plan, &terms());
    let written = runner.writes().map(|writes| writes.budget().spent());
    (came, written.unwrap_or_default())
}

fn plan(allowed: u64) -> Plan {
    Plan::new(Bytes::from_mib(8), Bytes::from_mib(allowed), true).expect("it fits")
}

#[test]
fn every_part_runs_its_loads_within_what_is_planned_for_it() {
    let plan = plan(64);
    let (came, written) = qualified(&plan, false, false);
    assert_eq!((&came.cut_short, &came.trouble), (&None, &None));
    let known = preset::by_name("qualify").expect("is a preset");
    for ran in &came.loads {
        assert!(known.loads().any(|load| *load == ran.load), "the preset names {:?}", ran.load);
        assert_eq!(ran.is_pass(), ran.name.contains(" pass, "), "{}", ran.name);
    }
    let of = |part| came.parts.iter().find(|ran| ran.part == part).expect("is planned");
    assert!(came.parts.iter().all(|ran| ran.written_bytes <= ran.most_bytes), "{:?}", came.parts);
    assert_eq!(of(Part::Cache).written_bytes, plan.region);
    assert_eq!(of(Part::Reads).written_bytes, Bytes::new(0));
    assert!(written <= plan.most());
    // Twice in sequence before the first round.
    let steady = came.steady.as_ref().expect("it fits");
    assert!((steady.preconditioned - 2.0).abs() < 1e-9, "{steady:?}");
    assert!(came.aimed.is_some_and(|(load, found)| load == "RND4K Q32T1 70:30" && found.iops.is_some()));
    assert_eq!(came.cache, Some(narrows_load::qualify::Cache::TooShort), "memory takes 8 MiB at once");
    let why = of(Part::Recovery).reason.as_deref();
    assert_eq!(why, Some("no fall of the rate was seen in the first pass"));
}

#[test]
fn what_does_not_fit_says_so_and_does_not_run() {
    let (came, _) = qualified(&plan(20), false, false);
    let steady = came.parts.iter().find(|ran| ran.part == Part::Steady).expect("is planned");
    assert!(steady.reason.as_ref().is_some_and(|why| why.contains("--max-writes 1GiB allows all")));
    assert!(came.steady.is_none() && came.cache.is_some() && came.cut_short.is_none());
}

#[test]
fn a_signal_ends_all_before_the_next_part() {
    let (came, written) = qualified(&plan(64), false, true);
    let why = "interrupted; the drive is cleared, so that a qualification begins anew";
    assert_eq!((came.cut_short.as_deref(), came.loads.len(), written), (Some(why), 0, Bytes::new(0)));
}

#[test]
fn what_cannot_be_written_fails_with_a_hint_and_ends_all() {
    let (came, _) = qualified(&plan(64), true, false);
    let trouble = came.trouble.expect("it failed");
    assert!(trouble.to_string().starts_with("first pass, SEQ128K Q32T1 write failed: "), "{trouble}");
    assert!(trouble.hint().is_some());
    let [ran] = &came.loads[..] else { panic!("{:?}", came.loads) };
    assert!(!ran.is_pass() && came.cache.is_none());
    assert!(came.cut_short.is_some_and(|why| why.starts_with(&format!("{} failed", ran.name))));
}

#[test]
fn the_medium_is_compared_with_what_was_sent_where_it_tells() {
    let told = |bytes| Some((Bytes::new(bytes), "log page C0h".to_owned()));
    let seen = WriteAmplification::of(told(1000), told(4000), Bytes::new(2000)).expect("it tells");
    assert!((seen.factor - 1.5).abs() < 1e-9);
    assert_eq!((seen.medium_bytes.get(), seen.source.as_str()), (3000, "log page C0h"));
    for (before, after, sent) in
        [(None, told(1), 1), (told(1), None, 1), (told(1), told(1), 1), (told(1), told(2), 0)]
    {
        assert_eq!(WriteAmplification::of(before, after, Bytes::new(sent)), None);
    }
}

#[test]
fn a_pass_takes_as_long_as_the_slowest_drive_and_no_longer_than_a_day() {
    assert_eq!(longest_pass(Bytes::new(0)), Duration::from_secs(60));
    assert_eq!(longest_pass(Bytes::new(5_000_000_000)), Duration::from_secs(1060));
    assert_eq!(longest_pass(Bytes::new(u64::MAX)), Duration::from_secs(24 * 60 * 60));
}
