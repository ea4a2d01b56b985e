//! The real binary on the machine that the tests run on: what is typed, what comes out, and what is left behind.
//!
//! A test that this machine cannot run (no root, no such device) says so on standard error and passes.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run the binary, make files for it, and may panic"
)]

mod alerts;
mod bad_places;
mod bench_cli;
mod bench_failures;
mod bench_kill;
mod bench_others;
mod bench_writes;
mod buyers;
mod capture;
mod chroot;
mod compare;
mod copy;
#[path = "../support/devices.rs"]
mod devices;
mod export;
mod fio_formats;
mod fleet;
mod fleet_kinds;
mod fleet_report;
mod fleet_sql;
mod gpu;
mod guard_clean;
mod guard_device;
mod guard_search;
mod guard_users;
mod help;
mod hostile_files;
mod hostile_text;
mod import;
mod inert_names;
mod lab_cli;
mod lab_safety;
mod ladder_cli;
mod machines;
mod measure;
mod others;
mod output;
mod plan;
mod predict;
mod report;
mod require;
mod snapshot_check;
mod systems;
mod targets;
mod together;
mod top;
mod watch;

#[path = "../support/schema.rs"]
mod schema;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use narrows::machine::Machine;
use narrows::machine::root::Root;
use serde_json::Value;
use tempfile::TempDir;

/// The machine that the tests run on, read once by the library itself.
static MACHINE: LazyLock<Machine> = LazyLock::new(|| Machine::read(&Root::live()));

/// The narrows that is tested: the one that was built with the tests.
fn narrows_binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_narrows"))
}

/// What a run of the binary left.
#[derive(Debug)]
struct Ran {
    out: String,
    err: String,
    status: Option<i32>,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
            status: output.status.code(),
        }
    }
}

impl Ran {
    /// The report, after it was checked against the schema in the repository.
    fn json(&self) -> Value {
        let report = serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let validator = jsonschema::validator_for(&schema::of("check")).expect("is a schema");
        let errors: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        report
    }

    /// Asserts that there is an answer, and nothing beside it but how much is written at most.
    fn answered(&self) -> &Self {
        assert!(matches!(self.status, Some(0 | 1)), "{self:?}");
        assert!(self.err.lines().all(|line| line.starts_with("writes at most ")), "{self:?}");
        self
    }

    /// Asserts that there is no answer, and that standard error says exactly why.
    fn refused(&self, why: &str) {
        assert_eq!((self.err.as_str(), self.out.as_str()), (why, ""));
        assert_eq!(self.status, Some(2));
    }
}

/// The binary with a known environment.
fn narrows(args: &[&str]) -> Command {
    let mut command = Command::new(crate::narrows_binary());
    command.args(args).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn run(args: &[&str]) -> Ran {
    finish(&mut narrows(args))
}

fn finish(command: &mut Command) -> Ran {
    command.output().expect("the binary runs").into()
}

/// Says that a test does nothing here; libtest does not capture what is written like this.
fn skip(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

/// An empty directory on the disk that the project is built on.
fn scratch_dir() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the target directory is writable")
}

fn text(dir: &TempDir) -> &str {
    dir.path().to_str().expect("a path that is text")
}

fn names_in(dir: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path()).expect("is there");
    entries.map(|entry| entry.expect("is readable").file_name().to_string_lossy().into_owned()).collect()
}

fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}
