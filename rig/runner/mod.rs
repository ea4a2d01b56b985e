//! Runs scenarios: boots each in a virtual machine, lets narrows judge it there, and compares.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the rig is a program of its own: it prints and looks for files"
)]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

mod command;
pub(crate) mod confusion;
pub(crate) mod cpio;
pub(crate) mod error;
pub(crate) mod figure;
pub(crate) mod image;
pub(crate) mod judge;
pub(crate) mod kernel;
pub(crate) mod options;
pub(crate) mod pointer;
pub(crate) mod qemu;
pub(crate) mod scenario;
pub(crate) mod seed;
mod table;
pub(crate) mod vm;

use error::{Result, RigError};
use image::Base;
use judge::{Judgement, Names, Outcome};
use kernel::Kernel;
use options::Options;
use scenario::{Check, Scenario};
use table::Row;
use vm::{Leavings, Mode};

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
    let chosen = choose(&all, &options)?;
    let rig = Rig::prepare(&options)?;
    if options.mode == Mode::Shell {
        for scenario in chosen {
            vm::run(scenario, options.mode, &rig.target, &rig.base)?;
        }
        return Ok(true);
    }
    let (skipped, chosen): (Vec<&Scenario>, Vec<&Scenario>) =
        chosen.into_iter().partition(|scenario| rig.base.lacks(scenario).is_some());
    let rows = rig.run_all(&chosen, options.jobs);
    for scenario in skipped {
        let what = rig.base.lacks(scenario).unwrap_or_default();
        println!("skipped: {}: this machine has no {what} for the guest", scenario.name);
    }
    table::finish(&rows, &rig.target)?;
    Ok(rows.iter().all(|row| row.pass))
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
        true => !(options.short && scenario.long),
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

/// What all machines share.
struct Rig {
    target: PathBuf,
    base: Base,
    mode: Mode,
    attempts: u32,
}

impl Rig {
    fn prepare(options: &Options) -> Result<Self> {
        let build = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"), PathBuf::from);
        let target = std::path::absolute(build.join("rig")).map_err(RigError::file(&build))?;
        let kernel = Kernel::find(&target, options.kernel.as_deref())?;
        command::locate(qemu::PROGRAM)?;
        let binary = options.binary.clone().unwrap_or_else(|| build.join("rig/narrows"));
        let found = binary.is_file();
        if options.mode == Mode::Check && !found {
            return Err(RigError::Missing {
                what: binary.display().to_string(),
                hint: "`cargo build --profile rig` builds it; `make rig` does that first",
            });
        }
        let base = Base::find(kernel, found.then_some(binary.as_path()), &build)?;
        Ok(Self { target, base, mode: options.mode, attempts: options.attempts })
    }

    /// Runs scenarios and prints their rows as they come: first two at a time those that may share the host, then the others
    /// `jobs` at a time, with those of the first that failed and have an attempt left.
    fn run_all(&self, scenarios: &[&Scenario], jobs: usize) -> Vec<Row> {
        const SHARED: usize = 2;
        table::head();
        let (beside, alone): (Vec<&Scenario>, Vec<&Scenario>) =
            scenarios.iter().partition(|scenario| scenario.may_share_host());
        let mut rows = self.run_some(&beside, SHARED, 1, 1);
        let is_again = |row: &Row| !row.pass && row.attempt < self.attempts;
        let again: Vec<&Scenario> = beside
            .into_iter()
            .filter(|scenario| rows.iter().any(|row| row.scenario == scenario.name && is_again(row)))
            .collect();
        rows.retain(|row| !is_again(row));
        rows.extend(self.run_some(&again, jobs, 2, self.attempts));
        rows.extend(self.run_some(&alone, jobs, 1, self.attempts));
        rows
    }

    /// Runs scenarios, `jobs` at a time: their attempts from `first` to `last`.
    fn run_some(&self, scenarios: &[&Scenario], jobs: usize, first: u32, last: u32) -> Vec<Row> {
        let queue = Mutex::new(scenarios.iter());
        let rows = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    while let Some(scenario) = queue.lock().ok().and_then(|mut queue| queue.next()) {
                        let row = self.best_row(scenario, first, last);
                        if let Ok(mut rows) = rows.lock() {
                            row.print();
                            rows.push(row);
                        }
                    }
                });
            }
        });
        rows.into_inner().unwrap_or_default()
    }

    /// The row of the first attempt that passes, else of the last.
    fn best_row(&self, scenario: &Scenario, first: u32, last: u32) -> Row {
        let mut row = self.row(scenario, first);
        while !row.pass && row.attempt < last {
            row.print();
            row = self.row(scenario, row.attempt + 1);
        }
        row
    }

    fn row(&self, scenario: &Scenario, attempt: u32) -> Row {
        let mut row = Row {
            scenario: scenario.name.clone(),
            injected: scenario.injected.clone(),
            named: None,
            injected_bytes_per_second: None,
            measured_bytes_per_second: None,
            pass: false,
            attempt,
            elapsed: std::time::Duration::ZERO,
            figures: Vec::new(),
            answers: Vec::new(),
            complaints: Vec::new(),
            log: String::new(),
        };
        match vm::run(scenario, self.mode, &self.target, &self.base) {
            Ok(leavings) => self.judge(scenario, &leavings, &mut row),
            Err(error) => {
                row.complaints.push(error.to_string());
                let console = self.target.join("run").join(&scenario.name).join("console.log");
                row.log = tail(&std::fs::read_to_string(console).unwrap_or_default());
            }
        }
        row.pass = row.complaints.is_empty();
        row
    }

    fn judge(&self, scenario: &Scenario, leavings: &Leavings, row: &mut Row) {
        row.elapsed = leavings.elapsed;
        if leavings.text("setup.exit").as_deref().map(str::trim) != Some("0") {
            row.complaints.push("the setup failed".to_owned());
        } else {
            let names = Names::parse(&leavings.text("names").unwrap_or_default());
            for (index, check) in scenario.checks.iter().enumerate() {
                let outcome = outcome(leavings, index, check);
                let judgement = match self.mode {
                    Mode::Prove => prove(check, &outcome, leavings, index),
                    Mode::Check | Mode::Shell => judge::judge(check, &outcome, &names),
                };
                let figures = match self.mode {
                    Mode::Prove => Vec::new(),
                    Mode::Check | Mode::Shell => figure::read(check, &outcome, &names),
                };
                let command = check.run.lines().find(|line| line.contains("narrows")).unwrap_or(&check.run);
                let command = table::beginning(command, 80);
                let prefix = |complaint| format!("`{command}`: {complaint}");
                let wrong = figures.iter().flat_map(|figure| figure.complaints.iter().cloned());
                row.complaints.extend(judgement.complaints.into_iter().chain(wrong).map(prefix));
                row.figures.extend(figures);
                row.answers.push(judgement.answer);
                if index == 0 {
                    row.named = judgement.named;
                    row.injected_bytes_per_second = judgement.injected;
                    row.measured_bytes_per_second = judgement.measured;
                }
            }
        }
        if kernel_trouble(leavings) {
            row.complaints.push("the guest's kernel is in trouble; see its messages".to_owned());
        }
        if !row.complaints.is_empty() {
            row.log = guest_log(leavings, scenario);
        }
    }
}

/// busybox takes the kernel's count of KiB (`ru_maxrss`, getrusage(2)) for one of pages and shows four times as much
/// (`ptok` in its `miscutils/time.c`).
const BUSYBOX_KIB: f64 = 4.0;

fn outcome(leavings: &Leavings, index: usize, check: &Check) -> Outcome {
    let text = |name: &str| leavings.text(&format!("{index}.{name}"));
    let unverified = check.verify.iter().enumerate().filter_map(|(number, command)| {
        let exit = text(&format!("verify.{number}.exit"));
        let said = |stream: &str| text(&format!("verify.{number}.{stream}")).unwrap_or_default();
        (exit.as_deref().map(str::trim) != Some("0"))
            .then(|| format!("afterwards `{}` failed: {}{}", command.trim(), said("stdout"), said("stderr")))
    });
    // Elapsed seconds, and the most memory.
    let cost = |column: usize| {
        // A line before it tells of a status other than 0.
        text("run.cost")?.lines().last()?.split_whitespace().nth(column)?.parse::<f64>().ok()
    };
    Outcome {
        exit: text("run.exit").and_then(|exit| exit.trim().parse().ok()),
        stdout: text("run.stdout").unwrap_or_default(),
        stderr: text("run.stderr").unwrap_or_default(),
        reference: text("reference.stdout").and_then(|rate| rate.trim().parse().ok()),
        unverified: unverified.collect(),
        seconds: cost(0),
        resident_bytes: cost(1).map(|shown| shown * 1024.0 / BUSYBOX_KIB),
        peers: check
            .peers
            .iter()
            .filter_map(|peer| Some((peer.name.clone(), text(&format!("peer.{}.stdout", peer.name))?)))
            .collect(),
    }
}

/// Compares the reference command's rate with the one that is known beforehand, or else with a second run of itself.
fn prove(check: &Check, outcome: &Outcome, leavings: &Leavings, index: usize) -> Judgement {
    let mut judgement = Judgement { named: Some("(reference)".to_owned()), ..Judgement::default() };
    if check.reference.is_none() {
        return judgement;
    }
    let again = leavings.text(&format!("{index}.again.stdout")).and_then(|rate| rate.trim().parse().ok());
    judgement.injected = check.injected_bytes_per_second.or(again);
    judgement.measured = outcome.reference;
    judgement.complaints.extend(judge::rate_complaint(
        judgement.injected,
        judgement.measured,
        check.tolerance,
    ));
    judgement
}

fn kernel_trouble(leavings: &Leavings) -> bool {
    let messages = leavings.text("dmesg").unwrap_or_else(|| leavings.console());
    ["BUG: ", "Oops: ", "Kernel panic", "general protection fault"].iter().any(|sign| messages.contains(sign))
}

/// What people need to see of a failure.
fn guest_log(leavings: &Leavings, scenario: &Scenario) -> String {
    let mut log = String::new();
    let mut add = |name: &str| {
        if let Some(text) = leavings.text(name).filter(|text| !text.trim().is_empty()) {
            log.push_str(&format!("── {name} ──\n{}\n", tail(&text)));
        }
    };
    for name in ["setup.stdout", "setup.stderr"] {
        add(name);
    }
    for index in 0..scenario.checks.len() {
        for name in ["run.stderr", "run.stdout", "run.exit", "reference.stderr", "during.0.stderr"] {
            add(&format!("{index}.{name}"));
        }
        for peer in scenario.checks.iter().flat_map(|check| &check.peers) {
            add(&format!("{index}.peer.{}.stderr", peer.name));
        }
    }
    log.push_str(&format!("── console ──\n{}\n", tail(&leavings.console())));
    log.push_str(&format!("all of it is in {}\n", leavings.directory().display()));
    log
}

/// The last lines of a text.
fn tail(text: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(LINES);
    let last = lines.get(skipped..).unwrap_or_default().join("\n");
    if skipped > 0 { format!("… {skipped} lines\n{last}") } else { last }
}
