//! A scenario as it stands in `rig/scenarios/<name>.toml`. `rig/README.md` explains each field to people.

#![expect(clippy::disallowed_methods, reason = "reads scenario files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::company::{self, Host};
use super::error::{Result, RigError};
pub(crate) use super::machine::{Drive, Interface, MachineSpec, Switch};
use super::network::Network;

/// One scenario.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// The file's stem.
    #[serde(skip)]
    pub(crate) name: String,
    /// What it shows, in a sentence.
    pub(crate) description: String,
    /// The limit that is injected, in a few words for the table.
    pub(crate) injected: String,
    /// Whether `--seed` may change the rates of its drives.
    #[serde(default = "yes")]
    pub(crate) seed: bool,
    /// Whether it needs the host for itself: what it expects depends on how fast a processor is.
    #[serde(default)]
    pub(crate) alone: bool,
    /// What it stands for in the rig of every day: kinds of hop, `S0` to `S4`, `healthy`, `refusal` or `failure`. One that stands for
    /// nothing is run by `make test-all` only.
    #[serde(default)]
    pub(crate) stands_for: Vec<String>,
    /// The virtual machine.
    pub(crate) machine: MachineSpec,
    /// Networks that connect it with other hosts.
    #[serde(default, rename = "network")]
    pub(crate) networks: Vec<Network>,
    /// Other virtual machines, in the order in which they are set up.
    #[serde(default, rename = "host")]
    pub(crate) hosts: Vec<Host>,
    /// Of the scenario that one of them is given: its name.
    #[serde(skip)]
    pub(crate) host_name: String,
    /// Of that: whether rates are compared by the scenario that it is part of.
    #[serde(skip)]
    pub(crate) serves_rates: bool,
    /// Shell commands that make the storage path in the guest.
    #[serde(default)]
    pub(crate) setup: String,
    /// What is run and what must come of it; the first one fills the row of the table.
    #[serde(rename = "check")]
    pub(crate) checks: Vec<Check>,
}

/// A major and a minor number of Linux.
pub(crate) type Linux = (u32, u32);

/// Whether a release is within these bounds.
pub(crate) fn is_within(release: Linux, since: Option<Linux>, before: Option<Linux>) -> bool {
    since.is_none_or(|first| release >= first) && before.is_none_or(|end| release < end)
}

/// A run of narrows and what must come of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// The command line, for the guest's shell. With `--json`, standard output must be JSON when the status is 0 or 1.
    pub(crate) run: String,
    /// How many seconds it may run.
    #[serde(default = "hundred")]
    pub(crate) seconds: u64,
    /// What happens while it runs.
    #[serde(default)]
    pub(crate) during: Vec<Action>,
    /// The rate that was injected, in bytes per second as the application sees it, when it is known beforehand.
    pub(crate) injected_bytes_per_second: Option<f64>,
    /// A command that prints the rate in bytes per second that another tool sees on the same path. It gives the
    /// injected rate when that is not known beforehand; otherwise it is run by `--prove` only.
    pub(crate) reference: Option<String>,
    /// How far the measured rate may be from the injected one, as a fraction.
    #[serde(default = "five_percent")]
    pub(crate) tolerance: f64,
    /// Shell commands that must succeed afterwards. After the last check of a scenario `record_agrees` is one of them.
    #[serde(default)]
    pub(crate) verify: Vec<String>,
    /// Other tools that do the same work afterwards.
    #[serde(default, rename = "peer")]
    pub(crate) peers: Vec<Peer>,
    /// Numbers that are shown side by side and compared.
    #[serde(default, rename = "figure")]
    pub(crate) figures: Vec<Figure>,
    /// What must come of it. Where there are several, one of them must hold as a whole.
    #[serde(rename = "expect")]
    pub(crate) expectations: Vec<Expectation>,
}

fn hundred() -> u64 {
    100
}

fn five_percent() -> f64 {
    0.05
}

/// Another tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Peer {
    /// Its name in the table.
    pub(crate) name: String,
    /// A command, for the guest's shell, that prints a JSON object.
    pub(crate) run: String,
}

/// A number of narrows, beside what was injected and what other tools say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// Its name in the table.
    pub(crate) name: String,
    /// Its unit.
    pub(crate) unit: Unit,
    /// Where it stands in what narrows prints: a pointer; or `seconds`, the time that the command took, or
    /// `resident_bytes`, the most memory that it had.
    pub(crate) narrows: String,
    /// What it must be: a number, or a text such as `"{key}"` that names make one of.
    pub(crate) injected: Option<Value>,
    /// How far it may be from what was injected, as a fraction.
    #[serde(default = "five_percent")]
    pub(crate) tolerance: f64,
    /// The least that it may be.
    pub(crate) at_least: Option<f64>,
    /// The most that it may be.
    pub(crate) at_most: Option<f64>,
    /// Where it stands in what each of the peers prints.
    #[serde(default)]
    pub(crate) peers: BTreeMap<String, String>,
    /// How far it may be from each of them, as a fraction; absent: they are only shown.
    pub(crate) within_of_peers: Option<f64>,
    /// The least that it may be, in units of what each of them says.
    pub(crate) at_least_times_peers: Option<f64>,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Unit {
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Bytes per second.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// I/Os per second.
    #[serde(rename = "IOPS")]
    Iops,
}

/// Something that happens while narrows runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Action {
    /// Seconds after the start of the command.
    pub(crate) after: f64,
    /// A shell command in the guest.
    pub(crate) guest: Option<String>,
    /// A QMP command for QEMU: `{"execute": …}`.
    pub(crate) qmp: Option<String>,
}

/// The direction of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Direction {
    /// From the medium.
    #[default]
    Read,
    /// To the medium.
    Write,
}

impl Direction {
    /// The key in JSON.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What narrows must say. In every text `{name}` stands for the kernel name of drive `name`, `{name_pci}` for its PCI
/// address, and `{key}` for what `name key value` said in the setup.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    /// The exit statuses that are right.
    pub(crate) exit: Vec<i32>,
    /// The first Linux with which this is expected; absent: all.
    pub(crate) since_linux: Option<Linux>,
    /// The first Linux with which this is no longer expected; absent: none.
    pub(crate) before_linux: Option<Linux>,
    /// The `target` of the path that is looked at; absent: the first path.
    pub(crate) path: Option<String>,
    /// The direction of data.
    #[serde(default)]
    pub(crate) direction: Direction,
    /// The id of the hop that must be named as limiting.
    pub(crate) limiting: Option<String>,
    /// The kind of the hop that must be named as limiting, where its id does not matter.
    pub(crate) limiting_kind: Option<String>,
    /// Whether the measured rate must be the injected one; absent: yes when there is one and the path has a measurement
    /// to expect, that is, when `limiting` or `limiting_kind` is given.
    pub(crate) rate: Option<bool>,
    /// Whether the measurement must be trusted.
    pub(crate) trusted: Option<bool>,
    /// Codes of findings that must be there.
    #[serde(default)]
    pub(crate) findings: Vec<String>,
    /// Codes of findings that must not be there.
    #[serde(default)]
    pub(crate) no_findings: Vec<String>,
    /// Severities that no finding may have.
    #[serde(default)]
    pub(crate) no_severities: Vec<String>,
    /// Texts that standard error must contain, whatever their case.
    #[serde(default)]
    pub(crate) stderr: Vec<String>,
    /// Looks at places in the JSON.
    #[serde(default, rename = "at")]
    pub(crate) places: Vec<Place>,
}

/// A look at a place in the JSON. All that is given must hold of at least one value that the pointer finds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// Where: a JSON pointer with wildcards, see `pointer.rs`.
    pub(crate) pointer: String,
    /// It has this value.
    pub(crate) equals: Option<Value>,
    /// As text it contains this.
    pub(crate) contains: Option<String>,
    /// It is a number at least this large.
    pub(crate) at_least: Option<f64>,
    /// It is a number at most this large.
    pub(crate) at_most: Option<f64>,
    /// `true` (the default): something is there; `false`: no value like this is there.
    #[serde(default = "yes")]
    pub(crate) exists: bool,
}

fn yes() -> bool {
    true
}

/// What must hold of every machine that was built: see `guest/lib.sh`.
const RECORD_AGREES: &str = "record_agrees";

impl Scenario {
    /// Reads one scenario file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(RigError::file(path))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Self::parse(&name, &text).map_err(|reason| RigError::Scenario { path: path.to_owned(), reason })
    }

    /// Parses the text of a scenario named `name`.
    pub(crate) fn parse(name: &str, text: &str) -> std::result::Result<Self, String> {
        let mut scenario: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        scenario.name = name.to_owned();
        scenario.validate()?;
        company::number(&mut scenario);
        // The machine as the last check left it: what comes before may still be at work on it.
        if let Some(last) = scenario.checks.last_mut() {
            last.verify.push(RECORD_AGREES.to_owned());
        }
        Ok(scenario)
    }

    /// Whether a rate, or what limits, is compared.
    pub(crate) fn depends_on_rates(&self) -> bool {
        self.serves_rates || self.checks.iter().any(Check::depends_on_rates)
    }

    /// What each of the other guests is given: its own machine and setup, and no check.
    pub(crate) fn of_hosts(&self) -> Vec<Self> {
        let of_host = |host: &Host| Self {
            name: format!("{}.{}", self.name, host.name),
            host_name: host.name.clone(),
            serves_rates: self.depends_on_rates(),
            machine: host.machine.clone(),
            setup: host.setup.clone(),
            ..Self::default()
        };
        self.hosts.iter().map(of_host).collect()
    }

    /// Keeps what is expected with this Linux, in all checks.
    pub(crate) fn keep_for(&mut self, release: Linux) {
        self.checks.iter_mut().for_each(|check| check.keep_for(release));
    }

    fn validate(&self) -> std::result::Result<(), String> {
        if self.checks.is_empty() {
            return Err("has no [[check]]".to_owned());
        }
        self.machine.validate()?;
        company::validate(self)?;
        self.checks.iter().enumerate().try_for_each(|(index, check)| {
            check.validate().map_err(|reason| format!("check {}: {reason}", index + 1))
        })
    }
}

impl Check {
    fn validate(&self) -> std::result::Result<(), String> {
        if self.expectations.is_empty() {
            return Err("has no [[check.expect]]".to_owned());
        }
        if self.during.iter().any(|action| action.guest.is_some() == action.qmp.is_some()) {
            return Err("an action needs either `guest` or `qmp`".to_owned());
        }
        let is_peer = |name: &String| self.peers.iter().any(|peer| peer.name == *name);
        for figure in &self.figures {
            if let Some(name) = figure.peers.keys().find(|name| !is_peer(name)) {
                return Err(format!("figure `{}` is of `{name}`, which is no [[check.peer]]", figure.name));
            }
            let is_bound = figure.injected.is_some() || figure.at_least.is_some() || figure.at_most.is_some();
            if !is_bound && figure.peers.is_empty() {
                return Err(format!("figure `{}` is compared with nothing", figure.name));
            }
        }
        if self.peers.iter().any(|peer| !peer.name.chars().all(|c| c.is_ascii_alphanumeric())) {
            return Err("the name of a peer is a word".to_owned());
        }
        for expectation in &self.expectations {
            if expectation.exit.is_empty() {
                return Err("an expectation needs an exit status".to_owned());
            }
            if expectation.rate == Some(true) && !self.has_rate() {
                return Err("`rate` needs `injected_bytes_per_second` or `reference`".to_owned());
            }
        }
        Ok(())
    }

    /// Keeps what is expected with this Linux.
    fn keep_for(&mut self, release: Linux) {
        self.expectations.retain(|one| is_within(release, one.since_linux, one.before_linux));
    }

    /// Whether a rate, or what limits, is compared.
    pub(crate) fn depends_on_rates(&self) -> bool {
        let names =
            |expectation: &Expectation| expectation.limiting.is_some() || expectation.limiting_kind.is_some();
        self.has_rate() || !self.figures.is_empty() || self.expectations.iter().any(names)
    }

    /// Whether it is known what rate to expect.
    pub(crate) const fn has_rate(&self) -> bool {
        self.injected_bytes_per_second.is_some() || self.reference.is_some()
    }
}

/// The scenario files of a directory, by name.
pub(crate) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = fs::read_dir(directory)
        .map_err(RigError::file(directory))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    found.sort();
    Ok(found)
}
