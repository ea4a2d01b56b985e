//! Targets alone and together, on an engine whose targets share what they move.

use super::*;
use crate::measure::alone_and_together::alone_and_together;

#[test]
fn each_runs_alone_and_then_the_groups_run_at_once_with_what_they_share() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let running = Arc::new(AtomicUsize::new(0));
    let targets =
        [Target::Shares(12 * MB, running.clone()), Target::Shares(12 * MB, running), Target::Moves(MB)];
    let groups = [vec![0, 1], vec![0, 1, 2]];
    let told = Mutex::new(Vec::new());
    let ahead =
        |members: &[usize]| told.lock().unwrap_or_else(PoisonError::into_inner).push(members.to_vec());
    let asked = asked(&session, exactly(TIME));
    let rounds = alone_and_together(&session, &asked, (&targets, &groups), &(), &ahead).expect("they run");
    let told = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(told, [vec![0], vec![1], vec![2], vec![0, 1], vec![0, 1, 2]]);
    let rate = |seen: &Seen, at: usize| seen.measurements[at].bytes_per_second.get();
    assert_eq!((rounds.alone.len(), rounds.together.len()), (3, 2));
    assert!(rounds.cut_short.is_none());
    // Half each; a test machine that sleeps longer than asked moves both rates.
    assert!(rate(&rounds.together[0], 0) < 0.75 * rate(&rounds.alone[0], 0));
    assert_eq!(rounds.together[1].measurements.len(), 3);
}

#[test]
fn a_run_that_is_stopped_ends_the_rest_and_is_not_kept() {
    let (machine, stop) = (Machine(Told::default()), Arc::new(AtomicBool::new(false)));
    let session = session(Command::Check, &machine, &stop);
    let targets = [Target::Moves(MB), Target::Moves(MB)];
    let ahead = |members: &[usize]| {
        if members.len() == 2 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let rounds =
        alone_and_together(&session, &asked, (&targets, &[vec![0, 1]]), &(), &ahead).expect("they run");
    assert_eq!((rounds.alone.len(), rounds.together.len()), (2, 0));
    assert_eq!(rounds.cut_short.as_deref(), Some("stopped"));
}

#[test]
fn a_target_that_fails_ends_the_rest_and_takes_nothing_away_from_what_was_measured() {
    let (machine, stop) = (Machine(Told::default()), Arc::default());
    let session = session(Command::Check, &machine, &stop);
    let asked = asked(&session, exactly(Duration::from_millis(100)));
    let groups = [vec![0, 1]];
    let rounds = |targets: &[Target]| alone_and_together(&session, &asked, (targets, &groups), &(), &|_| ());
    let kept = rounds(&[Target::Moves(MB), Target::Refuses]).expect("the first one runs");
    assert_eq!((kept.alone.len(), kept.together.len()), (1, 0));
    assert!(kept.cut_short.is_some());
    assert!(rounds(&[Target::Refuses, Target::Moves(MB)]).is_err());
}

#[test]
fn targets_that_run_at_once_are_tied_to_processors_of_their_own() {
    use crate::measure::session::beside;
    let tied = |cpus: &[u32], workers, place| {
        let options = RunOptions { cpus: cpus.to_vec(), workers, ..RunOptions::default() };
        beside(&options, place).cpus
    };
    assert_eq!(tied(&[4, 5, 6], 1, 0), [4, 5, 6]);
    assert_eq!(tied(&[4, 5, 6], 1, 2), [6, 4, 5]);
    assert_eq!(tied(&[4, 5, 6, 7], 2, 1), [6, 7, 4, 5], "each target has two workers");
    assert_eq!(tied(&[4, 5], 1, 5), [5, 4], "more targets than processors: in turn");
    assert_eq!(tied(&[], 1, 3), [0; 0]);
}
