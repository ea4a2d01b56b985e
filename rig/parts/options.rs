//! Tests of `runner/options.rs`.

use crate::runner::error::Result;
use crate::runner::files::Mode;
use crate::runner::options::*;

fn parse(line: &str) -> Result<Options> {
    Options::parse(line.split_whitespace().map(str::to_owned))
}

#[test]
fn names_pick_scenarios() {
    let options = parse("healthy --jobs 1 --full eio").expect("is right");
    assert_eq!(options.names, ["healthy", "eio"]);
    assert!(options.full);
    assert_eq!(options.jobs, 1);
}

#[test]
fn a_seed_is_a_number_and_none_by_default() {
    assert_eq!(parse("--seed 7").expect("is right").seed, Some(7));
    assert_eq!(parse("healthy").expect("is right").seed, None);
}

#[test]
fn a_kernel_is_named_by_its_package() {
    let name = "linux-image-6.12.9+deb12-amd64";
    assert_eq!(parse(&format!("--kernel {name} healthy")).expect("is right").kernel.as_deref(), Some(name));
    assert_eq!(parse("healthy").expect("is right").kernel, None);
}

#[test]
fn a_shell_is_for_one_scenario() {
    let options = parse("--shell healthy").expect("is right");
    assert_eq!((options.mode, options.names), (Mode::Shell, vec!["healthy".to_owned()]));
}

#[test]
fn wrong_options_are_named() {
    for line in ["--jobs 9", "--jobs 0", "--jobs", "--kernel", "--seed", "--seed x", "--seed -1", "--bogus"] {
        assert!(parse(line).is_err(), "{line}");
    }
}
