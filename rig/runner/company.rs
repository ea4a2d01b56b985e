//! The other guests of a scenario: hosts beside the machine on which narrows runs, connected to it by networks.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::ability::{self, Processors};
use super::command::shell;
use super::error::{Result, RigError};
use super::guest::{Guest, Manner, Ran};
use super::image::Base;
use super::leavings::Leavings;
use super::network::{self, Wires};
use super::scenario::{MachineSpec, Scenario};

/// Another guest.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// Its name, by which all guests of the scenario know it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) machine: MachineSpec,
    /// Shell commands that make of it what the scenario needs, after those of the hosts before it.
    #[serde(default)]
    pub(crate) setup: String,
}

/// Tells the machines of a scenario apart, and tells each of them the names of all.
pub(crate) fn number(scenario: &mut Scenario) {
    let mut known = "127.0.0.1 localhost\n".to_owned();
    for host in &scenario.hosts {
        for (card, nic) in host.machine.nics.iter().enumerate() {
            // In the first of its networks it is known by its name, in others also by that of the network.
            let name = if card == 0 { host.name.clone() } else { format!("{}-{}", host.name, nic.network) };
            known.push_str(&format!("{} {name}\n", nic.host_address()));
        }
    }
    let others = scenario.hosts.iter_mut().map(|host| &mut host.machine);
    for (number, machine) in std::iter::once(&mut scenario.machine).chain(others).enumerate() {
        machine.number = number;
        machine.known_hosts.clone_from(&known);
    }
}

/// What is wrong with the other machines of a scenario.
pub(crate) fn validate(scenario: &Scenario) -> std::result::Result<(), String> {
    for (place, host) in scenario.hosts.iter().enumerate() {
        let is_word = host.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if !is_word || !host.name.starts_with(|c: char| c.is_ascii_lowercase()) || host.name == NETWORK {
            return Err(format!("host `{}` is not named by small letters", host.name));
        }
        if scenario.hosts.iter().take(place).any(|other| other.name == host.name) {
            return Err(format!("two hosts are named `{}`", host.name));
        }
        host.machine.validate().map_err(|reason| format!("host `{}`: {reason}", host.name))?;
    }
    network::validate(scenario)
}

/// The directory that is no host's.
const NETWORK: &str = "network";

/// All other guests, and what connects them.
#[derive(Debug)]
pub(crate) struct Company {
    // Goes before the wires that it is connected to.
    guests: Vec<Guest>,
    scenarios: Vec<Scenario>,
    wires: Wires,
}

/// What guests had of the host's processors at some time.
pub(crate) type Used = Vec<(u32, Processors, f64)>;

impl Company {
    /// Switches the other guests of a scenario on, in directories beside that of the first. All boot the same image.
    pub(crate) fn start(
        base: &Base,
        scenarios: Vec<Scenario>,
        wires: Wires,
        (image, directory): (&Path, &Path),
        manner: Manner,
    ) -> Result<Self> {
        let mut company = Self { guests: Vec::new(), scenarios, wires };
        for one in &company.scenarios {
            let place = beside(directory, &one.host_name);
            shell("rm -rf \"$1\"; mkdir -p \"$1\"", &[&place.display().to_string()])?;
            let guest = Guest::start(base, &[one], (image, &place), (manner, Some(&company.wires)))?;
            company.guests.push(guest);
        }
        Ok(company)
    }

    /// What connects them.
    pub(crate) const fn wires(&self) -> &Wires {
        &self.wires
    }

    /// Waits until all have booted, and has each do its setup, one after the other. Says what speaks against the scenario.
    pub(crate) fn set_up(&mut self, place: &Path) -> Result<Option<String>> {
        for guest in &mut self.guests {
            guest.await_ready()?;
        }
        for (guest, scenario) in self.guests.iter_mut().zip(&self.scenarios) {
            let name = &scenario.host_name;
            match guest.run(scenario, &place.join(name), false)? {
                Ran::Unable(reason) => return Ok(Some(format!("{name}: {reason}"))),
                Ran::Through(leavings) if leavings.is_set_up() => {}
                Ran::Through(leavings) => match leavings.lacks_processors() {
                    Some(reason) => return Ok(Some(format!("{name}: its setup failed, and {reason}"))),
                    None => return Err(failed(name, &leavings)),
                },
            }
        }
        Ok(None)
    }

    /// What they have had of the host's processors.
    pub(crate) fn used(&self) -> Used {
        let of = |guest: &Guest| {
            let process = guest.process();
            (process, Processors::of(process), ability::processor_seconds(process))
        };
        self.guests.iter().map(of).collect()
    }

    /// The least share that one of them got since then of what it asked for, and the seconds that all have used.
    pub(crate) fn since(used: &Used) -> (Option<f64>, f64) {
        let shares = used.iter().filter_map(|(process, before, _)| before.share_since(*process));
        let seconds = used.iter().map(|(process, _, before)| ability::processor_seconds(*process) - before);
        (shares.reduce(f64::min), seconds.sum())
    }

    /// What stands on the consoles of all, each also in its own file below `place`.
    pub(crate) fn consoles(&self, place: &Path) -> Result<String> {
        let mut all = String::new();
        for (guest, scenario) in self.guests.iter().zip(&self.scenarios) {
            all.push_str(&guest.keep_console(&place.join(&scenario.host_name))?);
        }
        Ok(all)
    }
}

/// The networks of a scenario; `None` where it has none.
pub(crate) fn wires(scenario: &Scenario, directory: &Path) -> Result<Option<Wires>> {
    let is_connected = !scenario.networks.is_empty();
    is_connected.then(|| Wires::make(scenario, &beside(directory, NETWORK))).transpose()
}

/// The directory of another guest.
fn beside(directory: &Path, name: &str) -> PathBuf {
    let own = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!("{own}.{name}"))
}

fn failed(name: &str, leavings: &Leavings) -> RigError {
    let said = leavings.text("setup.stderr").unwrap_or_default();
    let seconds = leavings.elapsed.as_secs();
    RigError::Machine(format!("the setup of {name} failed after {seconds} s: {}", said.trim()))
}
