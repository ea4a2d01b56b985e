//! Runs scenarios: boots each in a virtual machine, lets narrows judge it there, and compares.

#![expect(clippy::print_stdout, reason = "the rig is a program of its own")]

use std::path::{Path, PathBuf};

pub(crate) mod ability;
mod command;
pub(crate) mod company;
pub(crate) mod confusion;
pub(crate) mod cpio;
pub(crate) mod error;
pub(crate) mod figure;
pub(crate) mod files;
pub(crate) mod guest;
pub(crate) mod image;
pub(crate) mod judge;
pub(crate) mod kernel;
pub(crate) mod leavings;
mod link;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod options;
pub(crate) mod pointer;
pub(crate) mod qemu;
mod qmp;
pub(crate) mod queue;
pub(crate) mod rounds;
pub(crate) mod row;
pub(crate) mod scenario;
pub(crate) mod seed;
pub(crate) mod shape;
mod table;

use error::{Result, RigError};
use files::Mode;
use image::Base;
use kernel::Kernel;
use options::Options;
use rounds::Rig;
use scenario::Scenario;

/// Runs the program; the answer is whether all passed.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<bool> {
    let options = Options::parse(arguments)?;
    if options.help {
        print!("{}", options::HELP);
        return Ok(true);
    }
    let mut all = scenarios()?;
    if let Some(seed) = options.seed {
        all.iter_mut().for_each(|scenario| seed::apply(scenario, seed));
    }
    if options.list {
        for scenario in &all {
            println!("{:<20} {}", scenario.name, scenario.description);
        }
        return Ok(true);
    }
    choose(&all, &options)?;
    let rig = Rig::prepare(&options)?;
    all.iter_mut().for_each(|scenario| scenario.keep_for(rig.base.linux()));
    let chosen = choose(&all, &options)?;
    if options.mode == Mode::Shell {
        for scenario in chosen {
            guest::open_shell(&rig.base, scenario, &rig.target.join("run").join(&scenario.name))?;
        }
        return Ok(true);
    }
    let (skipped, chosen): (Vec<&Scenario>, Vec<&Scenario>) =
        chosen.into_iter().partition(|scenario| rig.base.lacks(scenario).is_some());
    let rows = rig.run_all(&chosen, options.jobs)?;
    for scenario in skipped {
        let what = rig.base.lacks(scenario).unwrap_or_default();
        println!("skipped: {}: {what}", scenario.name);
    }
    table::finish(&rows, &rig.target)
}

fn scenarios() -> Result<Vec<Scenario>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("rig/scenarios");
    scenario::files(&directory)?.iter().map(|path| Scenario::read(path)).collect()
}

fn choose<'a>(all: &'a [Scenario], options: &Options) -> Result<Vec<&'a Scenario>> {
    for name in &options.names {
        if !all.iter().any(|scenario| scenario.name == *name) {
            return Err(RigError::Usage(format!(
                "there is no scenario '{name}'; --list shows those that are"
            )));
        }
    }
    let named = |scenario: &&Scenario| match options.names.is_empty() {
        true => options.full || !scenario.stands_for.is_empty(),
        false => options.names.contains(&scenario.name),
    };
    let provable = |scenario: &&Scenario| {
        options.mode != Mode::Prove || scenario.checks.iter().any(|check| check.reference.is_some())
    };
    let chosen: Vec<&Scenario> = all.iter().filter(named).filter(provable).collect();
    if chosen.is_empty() {
        return Err(RigError::Usage("no scenario is left to run".to_owned()));
    }
    Ok(chosen)
}

/// Puts a narrows without its symbols among the rig's files: a guest that is emulated reads every byte of it.
fn without_symbols(binary: &Path, target: &Path) -> Result<PathBuf> {
    let stripped = target.join("narrows");
    command::output("strip", &["-o", &stripped.display().to_string(), &binary.display().to_string()])?;
    Ok(stripped)
}

impl Rig {
    fn prepare(options: &Options) -> Result<Self> {
        let build = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
        let target = std::path::absolute(build.join("rig")).map_err(RigError::file(&build))?;
        let kernel = Kernel::find(&target, options.kernel.as_deref())?;
        command::locate(qemu::PROGRAM)?;
        let binary = options.binary.clone().unwrap_or_else(|| build.join("debug/narrows"));
        let found = binary.is_file();
        if options.mode == Mode::Check && !found {
            return Err(RigError::Missing {
                what: binary.display().to_string(),
                hint: "`cargo build` builds it; `make rig` does that first",
            });
        }
        let tested = found.then(|| without_symbols(&binary, &target)).transpose()?;
        let base = Base::find(kernel, tested.as_deref(), &build)?;
        Ok(Self::new(target, base, options.mode))
    }
}
