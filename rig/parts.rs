//! The parts of the rig that need no virtual machine. They cannot stand in the runner's own files, because a program
//! without the test harness (`rig`) has no tests.

#![expect(clippy::expect_used, reason = "tests may panic")]

#[path = "parts/ability.rs"]
mod ability;
#[path = "parts/confusion.rs"]
mod confusion;
#[path = "parts/cpio.rs"]
mod cpio;
#[path = "parts/figure.rs"]
mod figure;
#[path = "parts/judge.rs"]
mod judge;
#[path = "parts/kernel.rs"]
mod kernel;
#[path = "parts/network.rs"]
mod network;
#[path = "parts/options.rs"]
mod options;
#[path = "parts/pointer.rs"]
mod pointer;
#[path = "parts/qemu.rs"]
mod qemu;
#[path = "parts/row.rs"]
mod row;
mod runner;
#[path = "parts/scenario.rs"]
mod scenario;
#[path = "parts/seed.rs"]
mod seed;
#[path = "parts/shape.rs"]
mod shape;

#[test]
fn every_scenario_file_is_valid_and_can_be_listed() {
    assert!(runner::run(std::iter::once("--list".to_owned())).expect("the scenarios can be read"));
}
