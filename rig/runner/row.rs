//! The row of a scenario: what it left, judged check by check.

use super::confusion::Answer;
use super::figure::{self, Reading};
use super::files::Mode;
use super::judge::{self, Judgement, Names, Outcome};
use super::leavings::Leavings;
use super::scenario::{Check, Scenario};
use super::table;

use std::time::Duration;

use serde::Serialize;

/// The result of one scenario.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) scenario: String,
    /// The limit that was injected.
    pub(crate) injected: String,
    /// The hop that narrows named.
    pub(crate) named: Option<String>,
    /// The rate that was injected.
    pub(crate) injected_bytes_per_second: Option<f64>,
    /// The rate that was measured.
    pub(crate) measured_bytes_per_second: Option<f64>,
    /// Whether all expectations held.
    pub(crate) pass: bool,
    /// Why nothing follows from what it did, where that is so.
    pub(crate) inconclusive: Option<String>,
    /// Which attempt this was, from 1: what was inconclusive is run again.
    pub(crate) attempt: u32,
    /// Of a failure: whether it passed when it was run once more, in a guest and on a host of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) passes_alone: Option<bool>,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
    /// Which share the guest's processors got of the time that they asked this host for.
    pub(crate) share_of_processors: Option<f64>,
    /// How many seconds of this host's processors the guest used, without the boot.
    pub(crate) processor_seconds: f64,
    /// Numbers beside those of other tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) figures: Vec<Reading>,
    /// What each check expected to be the limiting hop, and which was named.
    #[serde(skip)]
    pub(crate) answers: Vec<Answer>,
    /// What did not hold.
    #[serde(skip)]
    pub(crate) complaints: Vec<String>,
    /// What helps to find out why.
    #[serde(skip)]
    pub(crate) log: String,
}

impl Row {
    /// One that says nothing yet.
    pub(crate) fn new(scenario: &Scenario, attempt: u32) -> Self {
        let (name, injected) = (scenario.name.clone(), scenario.injected.clone());
        Self { scenario: name, injected, attempt, ..Self::default() }
    }

    /// One of a scenario that did not come to its end.
    pub(crate) fn failed(scenario: &Scenario, attempt: u32, reason: String, console: &str) -> Self {
        Self { complaints: vec![reason], log: tail(console), ..Self::new(scenario, attempt) }
    }

    /// One of a scenario that no worker took, which must not be.
    pub(crate) fn lost(scenario: &Scenario) -> Self {
        Self::failed(scenario, 1, "it was not run: the rig has lost it".to_owned(), "")
    }

    /// One of a scenario that was not run, as it could show nothing.
    pub(crate) fn unable(scenario: &Scenario, attempt: u32, reason: String) -> Self {
        Self { inconclusive: Some(reason), ..Self::new(scenario, attempt) }
    }

    /// One of a scenario that ran to its end.
    pub(crate) fn judged(scenario: &Scenario, attempt: u32, mode: Mode, leavings: &Leavings) -> Self {
        let mut row = Self::new(scenario, attempt);
        row.judge(scenario, mode, leavings);
        row.pass = row.complaints.is_empty();
        row.seconds = seconds(leavings.elapsed);
        row.share_of_processors = leavings.share.map(|share| (share * 1000.0).round() / 1000.0);
        row.processor_seconds = (leavings.processor_seconds * 10.0).round() / 10.0;
        // Where guest time counts instructions, it stands still while the guest waits for a processor.
        if !row.pass && scenario.machine.instruction_shift.is_none() {
            row.inconclusive = leavings.lacks_processors();
        }
        row
    }

    /// Whether it counts as a failure.
    pub(crate) const fn is_failure(&self) -> bool {
        !self.pass && self.inconclusive.is_none()
    }

    fn judge(&mut self, scenario: &Scenario, mode: Mode, leavings: &Leavings) {
        if !leavings.is_set_up() {
            self.complaints.push("the setup failed".to_owned());
        } else {
            let names = Names::parse(&leavings.text("names").unwrap_or_default());
            for (index, check) in scenario.checks.iter().enumerate() {
                let outcome = outcome(leavings, index, check);
                let judgement = match mode {
                    Mode::Prove => prove(check, &outcome, leavings, index),
                    Mode::Check | Mode::Shell => judge::judge(check, &outcome, &names),
                };
                let figures = match mode {
                    Mode::Prove => Vec::new(),
                    Mode::Check | Mode::Shell => figure::read(check, &outcome, &names),
                };
                let command = check.run.lines().find(|line| line.contains("narrows")).unwrap_or(&check.run);
                let command = table::beginning(command, 80);
                let prefix = |complaint| format!("`{command}`: {complaint}");
                let wrong = figures.iter().flat_map(|figure| figure.complaints.iter().cloned());
                self.complaints.extend(judgement.complaints.into_iter().chain(wrong).map(prefix));
                self.figures.extend(figures);
                self.answers.push(judgement.answer);
                if index == 0 {
                    self.named = judgement.named;
                    self.injected_bytes_per_second = judgement.injected;
                    self.measured_bytes_per_second = judgement.measured;
                }
            }
        }
        if kernel_trouble(leavings) {
            self.complaints.push("the guest's kernel is in trouble; see its messages".to_owned());
        }
        if !self.complaints.is_empty() {
            self.log = guest_log(leavings, scenario);
        }
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
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
    let said = |sign: &&str| messages.contains(*sign) || leavings.other_consoles.contains(*sign);
    ["BUG: ", "Oops: ", "Kernel panic", "general protection fault"].iter().any(said)
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
    log.push_str(&format!("all of it is in {}\n", leavings.directory.display()));
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
