//! Copies beside a machine that is made up.

#![expect(clippy::disallowed_methods, reason = "tests make files")]

use super::*;
use narrows_load::copy::{CopyControl, CopyError, CopyOptions};
use std::fs;

#[test]
fn a_copy_takes_what_is_counted_before_and_after_it_and_nothing_else() {
    let dir = tempfile::tempdir().expect("there is room");
    let (source, destination) = (dir.path().join("from"), dir.path().join("to"));
    fs::write(&source, [7; 100_000]).expect("there is room");
    let machine = Machine(Told::default());
    let (options, control) = (CopyOptions::default(), CopyControl::with_stop(Arc::default()));
    let mut looks = 0;
    let look = &mut |_| looks += 1;
    let copied = copy(&machine, (&source, &destination), &options, &control, look).expect("it copies");
    assert!(copied.result.is_whole());
    assert_eq!(fs::read(&destination).expect("it is there"), [7; 100_000]);
    let asked: Vec<Evidence> = machine.0.story().asked.iter().map(|(evidence, _)| *evidence).collect();
    assert_eq!(asked, [Evidence::Counters, Evidence::Counters]);
    let listed: Vec<Evidence> =
        Evidence::ALL.into_iter().filter(|evidence| evidence.is_taken_by(Command::Copy)).collect();
    assert_eq!(listed, [Evidence::Counters]);
}

#[test]
fn a_copy_of_nothing_says_why() {
    let dir = tempfile::tempdir().expect("there is room");
    let machine = Machine(Told::default());
    let ends = (&*dir.path().join("none"), &*dir.path().join("to"));
    let control = CopyControl::with_stop(Arc::default());
    let refused = copy(&machine, ends, &CopyOptions::default(), &control, &mut |_| {});
    assert!(matches!(refused, Err(CopyError::Io { .. })));
}
