//! What becomes of runs alone and together, and those that are made afterwards.

use super::*;
use crate::measure::alone_and_together::alone_and_together;
use crate::measure::several::collect;
use narrows_model::path::{Path, Target as Aim};
use narrows_verdict::Subject;

fn subjects(names: &[&str]) -> Vec<Subject> {
    let path = |name: &&str| {
        let target = (*name).to_owned();
        Path { asked: Aim::Block(target.clone()), target, hops: Vec::new() }
    };
    names.iter().map(|name| Subject::of(path(name))).collect()
}

#[test]
fn each_run_speaks_for_its_target_or_its_group() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let targets = [Target::Moves(MB), Target::Moves(2 * MB)];
    let plan = [vec![0, 1]];
    let asked = asked(&session, exactly(Duration::from_millis(200)));
    let rounds = alone_and_together(&session, &asked, (&targets, &plan), &(), &|_| ()).expect("they run");
    let (subjects, ran) = collect(&session, subjects(&["sda", "sdb"]), &plan, rounds);
    assert!(subjects.iter().all(|subject| subject.runs.len() == 1));
    let [a, b] = [0, 1].map(|at: usize| subjects[at].runs[0].measurement.bytes_per_second);
    assert!(a < b, "{a:?} {b:?}");
    assert_eq!((ran.len(), ran[0].members.as_slice(), ran[0].runs.len()), (1, [0, 1].as_slice(), 2));
}

#[test]
fn a_first_run_that_cannot_be_repeated_says_why() {
    let (machine, stop) = (Machine(Told::default()), Arc::new(AtomicBool::new(false)));
    let session = session(Command::Check, &machine, &stop);
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let told = Mutex::new(Vec::new());
    let ahead =
        |members: &[usize]| told.lock().unwrap_or_else(PoisonError::into_inner).push(members.to_vec());
    let repeated = |target: Target, subjects: &[Subject]| {
        let targets = [target];
        let several =
            Several { session: &session, asked: &asked, targets: &targets, follower: &(), ahead: &ahead };
        several.drift(subjects, &mut [])
    };
    let why = repeated(Target::Refuses, &subjects(&["sda"])).expect("it failed");
    assert!(why.starts_with("the first run could not be repeated: ") && why.contains("it will not"), "{why}");
    stop.store(true, Ordering::Relaxed);
    let why = repeated(Target::Moves(MB), &subjects(&["sda"])).expect("it was stopped");
    assert_eq!(why, "the first run could not be repeated: stopped");
    assert_eq!(repeated(Target::Refuses, &[]), None, "there was no first run");
    assert_eq!(told.into_inner().unwrap_or_else(PoisonError::into_inner), [vec![0], vec![0]]);
}

#[test]
fn a_plan_that_is_through_is_judged_and_one_that_is_not_says_why() {
    let of = |targets: &[Target]| {
        let (machine, stop) = (Machine(Told::default()), Arc::default());
        let session = session(Command::Check, &machine, &stop);
        let asked = asked(&session, exactly(Duration::from_millis(100)));
        let told = Mutex::new(0);
        let ahead = |_: &[usize]| *told.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let several = Several { session: &session, asked: &asked, targets, follower: &(), ahead: &ahead };
        let facts = narrows_machine::Machine::default();
        let together = several.measure(&facts, subjects(&["sda", "sdb"]), &[vec![0, 1]], false);
        (together.expect("the first one runs"), told.into_inner().unwrap_or_else(PoisonError::into_inner))
    };
    let (whole, runs) = of(&[Target::Moves(MB), Target::Moves(MB)]);
    assert_eq!((whole.verdicts.len(), whole.conclusion.paths.len(), whole.cut_short), (1, 2, None));
    assert_eq!((runs, whole.hidden.is_none()), (4, true), "each, both, and the first once more");
    let (cut, runs) = of(&[Target::Moves(MB), Target::Refuses]);
    assert!(cut.cut_short.is_some_and(|why| why.contains("it will not")));
    assert_eq!((runs, cut.verdicts.len(), cut.drift, cut.subjects[0].runs.len()), (2, 0, None, 1));
}
