//! The runner's command line.

use std::path::PathBuf;

use super::error::{Result, RigError};
use super::files::Mode;

/// How to use the runner.
pub(crate) const HELP: &str = "\
Boots each scenario of rig/scenarios in a virtual machine and checks what narrows says of it.

usage: cargo test --test rig -- [OPTIONS] [SCENARIO…]

  --list         list the scenarios and what they show
  --prove        check the injected rates with the reference commands; narrows is not run
  --shell NAME   boot NAME, run its setup, and leave you in a shell
  --jobs N       machines at a time: 1 to 4, default 3; scenarios that say `alone = true` have the host for themselves
  --full         all scenarios, those that stand for nothing in the rig of every day included
  --seed N       other rates of drives: each times a factor of 0.8 to 1.25 that N decides
  --binary FILE  the narrows to test (default: target/debug/narrows)
  --kernel NAME  boot the kernel that `rig/setup.sh NAME` unpacked, not the one that it unpacks by itself
  --help         this text
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Print help only.
    pub(crate) help: bool,
    /// List only.
    pub(crate) list: bool,
    /// What the guests run.
    pub(crate) mode: Mode,
    /// Machines at a time.
    pub(crate) jobs: usize,
    /// Whether long scenarios are run, too.
    pub(crate) full: bool,
    /// Which other rates drives have; `None`: those of the files.
    pub(crate) seed: Option<u64>,
    /// The narrows to test.
    pub(crate) binary: Option<PathBuf>,
    /// The package of the kernel to boot; `None`: the usual one.
    pub(crate) kernel: Option<String>,
    /// The scenarios to run; none: all.
    pub(crate) names: Vec<String>,
}

impl Options {
    /// Parses the arguments.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            help: false,
            list: false,
            mode: Mode::Check,
            jobs: 3,
            full: false,
            seed: None,
            binary: None,
            kernel: None,
            names: Vec::new(),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments.next().ok_or_else(|| RigError::Usage(format!("option {argument} needs a value")))
            };
            match argument.as_str() {
                "--help" | "-h" => options.help = true,
                "--list" => options.list = true,
                "--prove" => options.mode = Mode::Prove,
                "--shell" => {
                    options.mode = Mode::Shell;
                    options.names.push(value()?);
                }
                "--jobs" => options.jobs = jobs(&value()?)?,
                "--full" => options.full = true,
                "--seed" => options.seed = Some(seed(&value()?)?),
                "--binary" => options.binary = Some(value()?.into()),
                "--kernel" => options.kernel = Some(value()?),
                // `cargo test` hands its own options to every test program.
                "--quiet" | "-q" | "--nocapture" => {}
                other if other.starts_with('-') => {
                    return Err(RigError::Usage(format!("unknown option {other}")));
                }
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

fn jobs(text: &str) -> Result<usize> {
    let number = text.parse().ok().filter(|number| (1..=4).contains(number));
    number.ok_or_else(|| RigError::Usage(format!("--jobs is 1 to 4, not '{text}'")))
}

fn seed(text: &str) -> Result<u64> {
    text.parse().map_err(|_| RigError::Usage(format!("--seed is a whole number, not '{text}'")))
}
