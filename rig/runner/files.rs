//! A scenario as files in the guest: everything that `guest/init`, `guest/drive` and `guest/tidy` look for.

use super::network;
use super::scenario::{Check, MachineSpec, Scenario};

/// What the guest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The checks as they are written.
    Check,
    /// The reference commands only.
    Prove,
    /// A shell after the setup.
    Shell,
}

/// The functions for snippets, which name all tools.
pub(crate) const LIBRARY: &str = "rig/lib.sh";

/// The drivers that are loaded in every guest.
const MODULES: &[&str] = &["nvme", "virtio_pci", "virtio_blk", "sd_mod", "configfs"];

/// How many seconds a check may run that asks for nothing else.
const USUAL: u64 = 100;
/// Gives checks that ask for more than the usual time so many seconds or more: for the record, where a number of repetitions counts.
const SECONDS: &str = "RIG_SECONDS";

/// How many seconds a check may run.
fn seconds(check: &Check) -> u64 {
    let asked = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok());
    asked.filter(|_| check.seconds > USUAL).unwrap_or(check.seconds).max(check.seconds)
}

/// How many seconds a step of a scenario may take at most.
pub(crate) fn longest_step(scenario: &Scenario) -> u64 {
    scenario.checks.iter().map(seconds).fold(USUAL, u64::max)
}

/// How many seconds the checks of a scenario ask for beyond what is usual.
pub(crate) fn more_seconds(scenario: &Scenario) -> u64 {
    scenario.checks.iter().map(|check| seconds(check).saturating_sub(USUAL)).sum()
}

/// The files of a guest for these scenarios: paths and contents.
pub(crate) fn of_guest(scenarios: &[&Scenario], mode: Mode) -> Vec<(String, String)> {
    let mut files = vec![
        ("init".to_owned(), include_str!("../guest/init").to_owned()),
        (LIBRARY.to_owned(), include_str!("../guest/lib.sh").to_owned()),
        ("rig/drive".to_owned(), include_str!("../guest/drive").to_owned()),
        ("rig/tidy".to_owned(), include_str!("../guest/tidy").to_owned()),
        ("rig/guard.sh".to_owned(), include_str!("../guest/guard.sh").to_owned()),
        ("bin/without-io-uring".to_owned(), include_str!("../guest/without-io-uring").to_owned()),
        ("rig/modules".to_owned(), lines(MODULES.iter().copied())),
    ];
    for scenario in scenarios {
        let mut add = |name: &str, text: String| {
            files.push((format!("rig/scenarios/{}/{name}", scenario.name), text));
        };
        add("setup", scenario.setup.clone());
        add("modules", lines(scenario.machine.modules_at_start()));
        add("drives", lines(scenario.machine.drives.iter().map(|drive| drive.name.as_str())));
        if !scenario.machine.nics.is_empty() {
            add("nics", nics(&scenario.machine));
            add("hosts", scenario.machine.known_hosts.clone());
            add(
                "hostname",
                if scenario.host_name.is_empty() { "rig" } else { &scenario.host_name }.to_owned(),
            );
        }
        for (index, check) in scenario.checks.iter().enumerate() {
            let mut add =
                |name: &str, text: &str| add(&format!("checks/{index}/{name}"), format!("{text}\n"));
            match (mode, &check.reference) {
                (Mode::Prove, Some(reference)) => {
                    add("reference", reference);
                    add("again", reference);
                }
                (Mode::Prove, None) => {}
                (Mode::Check | Mode::Shell, _) => add_check(check, &mut add),
            }
        }
    }
    if let (Mode::Shell, Some(scenario)) = (mode, scenarios.first()) {
        files.push(("rig/shell".to_owned(), scenario.name.clone()));
    }
    files
}

fn add_check(check: &Check, add: &mut impl FnMut(&str, &str)) {
    add("run", &check.run);
    add("seconds", &seconds(check).to_string());
    if let (Some(reference), None) = (&check.reference, check.injected_bytes_per_second) {
        add("reference", reference);
    }
    for (index, action) in check.during.iter().enumerate() {
        if let Some(command) = &action.guest {
            add(&format!("during.{index}"), command);
            add(&format!("after.{index}"), &action.after.to_string());
        }
    }
    for peer in &check.peers {
        add(&format!("peer.{}", peer.name), &peer.run);
    }
    for (index, command) in check.verify.iter().enumerate() {
        add(&format!("verify.{index}"), command);
    }
}

/// The cards of a machine, a line each: hardware address, address, and what `tc` takes to shape what it sends.
fn nics(machine: &MachineSpec) -> String {
    let line = |(card, nic): (usize, &network::Nic)| {
        let shaping = nic.bits_per_second.map(network::shaping).unwrap_or_default();
        format!("{} {} {shaping}", network::hardware_address(machine.number, card), nic.address)
    };
    machine.nics.iter().enumerate().map(|nic| line(nic) + "\n").collect()
}

fn lines<'a>(items: impl Iterator<Item = &'a str>) -> String {
    items.map(|item| format!("{item}\n")).collect()
}
