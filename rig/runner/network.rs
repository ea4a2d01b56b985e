//! Networks between the guests of a scenario: bridges in a network namespace of their own, shaped with tc. It has no name and no
//! files, and is gone with the last process in it, whatever ends that.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "makes a network namespace")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::Deserialize;

use super::command::shell;
use super::error::{Result, RigError};
use super::scenario::{MachineSpec, Scenario};

/// A bridge to which guests are connected.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    /// Its name.
    pub(crate) name: String,
    /// The network that it hangs on by a trunk; absent: none.
    pub(crate) behind: Option<String>,
    /// What that trunk carries in each direction.
    pub(crate) bits_per_second: Option<u64>,
}

/// A network card of a guest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nic {
    /// The network that it is connected to.
    pub(crate) network: String,
    /// Its address there: `10.9.0.2/24`.
    pub(crate) address: String,
    /// What it carries in each direction; absent: as much as the host moves.
    pub(crate) bits_per_second: Option<u64>,
}

impl Nic {
    /// Its address without the length of the prefix.
    pub(crate) fn host_address(&self) -> &str {
        self.address.split('/').next().unwrap_or_default()
    }
}

/// The interface of a bridge that leads to a card.
pub(crate) fn tap(guest: usize, card: usize) -> String {
    format!("g{guest}c{card}")
}

/// The hardware address of a card; those of QEMU would all be the same.
pub(crate) fn hardware_address(guest: usize, card: usize) -> String {
    format!("52:54:00:00:{guest:02x}:{card:02x}")
}

/// What `tc qdisc add dev …` takes to shape an interface. The burst bridges the tenth of a second for which a busy host may stop a
/// guest; the queue has room for what all clients have in flight.
pub(crate) fn shaping(bits_per_second: u64) -> String {
    let burst = (bits_per_second / 8 / 10).max(32 << 10);
    format!("root tbf rate {bits_per_second}bit burst {burst} latency 500ms")
}

/// The commands, a line each, that make a scenario's bridges and what leads from them to guests.
pub(crate) fn commands(scenario: &Scenario) -> String {
    let mut lines = Vec::new();
    for network in &scenario.networks {
        let bridge = format!("br-{}", network.name);
        lines.push(format!("ip link add {bridge} type bridge"));
        lines.push(format!("ip link set {bridge} up"));
        if let Some(other) = &network.behind {
            let (near, far) = (format!("up-{}", network.name), format!("dn-{}", network.name));
            lines.push(format!("ip link add {near} type veth peer name {far}"));
            for (end, bridge) in [(&near, &bridge), (&far, &format!("br-{other}"))] {
                lines.push(format!("ip link set {end} master {bridge} up"));
                lines.extend(
                    network.bits_per_second.map(|rate| format!("tc qdisc add dev {end} {}", shaping(rate))),
                );
            }
        }
    }
    for machine in machines(scenario) {
        for (card, nic) in machine.nics.iter().enumerate() {
            let tap = tap(machine.number, card);
            lines.push(format!("ip tuntap add {tap} mode tap"));
            lines.push(format!("ip link set {tap} master br-{} up", nic.network));
            // What comes from the guest is shaped by the guest itself.
            lines.extend(nic.bits_per_second.map(|rate| format!("tc qdisc add dev {tap} {}", shaping(rate))));
        }
    }
    lines.join("\n")
}

/// The machines of a scenario.
fn machines(scenario: &Scenario) -> impl Iterator<Item = &MachineSpec> {
    std::iter::once(&scenario.machine).chain(scenario.hosts.iter().map(|host| &host.machine))
}

/// What is wrong with the networks of a scenario.
pub(crate) fn validate(scenario: &Scenario) -> std::result::Result<(), String> {
    /// What a name of Linux for an interface leaves (IFNAMSIZ, linux/if.h), less what is put before it.
    const LONGEST: usize = 12;
    let is_known = |name: &String| scenario.networks.iter().any(|network| network.name == *name);
    for (place, network) in scenario.networks.iter().enumerate() {
        let is_word = network.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if !is_word || network.name.is_empty() || network.name.len() > LONGEST {
            return Err(format!("network `{}` is not named by up to {LONGEST} small letters", network.name));
        }
        let earlier = scenario.networks.get(..place).unwrap_or_default();
        if earlier.iter().any(|other| other.name == network.name) {
            return Err(format!("two networks are named `{}`", network.name));
        }
        if let Some(behind) = &network.behind
            && !earlier.iter().any(|other| other.name == *behind)
        {
            return Err(format!("network `{}` is behind `{behind}`, which is not before it", network.name));
        }
        if network.bits_per_second.is_some() && network.behind.is_none() {
            return Err(format!("network `{}` has a rate and no trunk", network.name));
        }
    }
    let mut nics = machines(scenario).flat_map(|machine| &machine.nics);
    if let Some(nic) = nics.find(|nic| !is_known(&nic.network)) {
        return Err(format!("a network card is connected to `{}`, which is no [[network]]", nic.network));
    }
    if let Some(host) = scenario.hosts.iter().find(|host| host.machine.nics.is_empty()) {
        return Err(format!("host `{}` is connected to no network", host.name));
    }
    Ok(())
}

/// Why this machine can make no networks for guests; `None` where it can.
pub(crate) fn unable() -> Option<String> {
    let tried = shell("test -c /dev/net/tun; unshare --net ip link add br0 type bridge", &[]);
    tried.err().map(|error| format!("this machine makes no networks for guests (that needs root): {error}"))
}

/// The namespace of a scenario's networks, as long as it lives, and the key with which its guests trust each other.
#[derive(Debug)]
pub(crate) struct Wires {
    holder: Child,
    key: Vec<(String, String)>,
}

impl Wires {
    /// Makes it. It ends with the thread that made it.
    pub(crate) fn make(scenario: &Scenario, directory: &Path) -> Result<Self> {
        let key = new_key(directory)?;
        let mut holder = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "unshare", "--net", "sh", "-c", "echo made; exec sleep infinity"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| RigError::Start { tool: "unshare".to_owned(), source })?;
        let mut said = String::new();
        if let Some(out) = holder.stdout.take() {
            drop(BufReader::new(out).read_line(&mut said));
        }
        let wires = Self { holder, key };
        if said.trim() != "made" {
            return Err(RigError::Machine("no network namespace was made: it needs root".to_owned()));
        }
        shell("nsenter --net=\"$1\" sh -euc \"$2\"", &[&wires.namespace(), &commands(scenario)])?;
        Ok(wires)
    }

    /// The file by which a program gets into it.
    pub(crate) fn namespace(&self) -> String {
        format!("/proc/{}/ns/net", self.holder.id())
    }

    /// Files for each guest: paths and contents.
    pub(crate) fn files(&self) -> &[(String, String)] {
        &self.key
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

/// A key of ssh that no other scenario has, as files of a guest.
fn new_key(directory: &Path) -> Result<Vec<(String, String)>> {
    let made = directory.join("key");
    shell(
        "rm -rf \"$1\"; mkdir -p \"$1\"; ssh-keygen -q -t ed25519 -N '' -C rig -f \"$1/key\"",
        &[&directory.display().to_string()],
    )?;
    let file = |path: &Path| fs::read_to_string(path).map_err(RigError::file(path));
    let public = made.with_extension("pub");
    let files =
        vec![("rig/ssh/key".to_owned(), file(&made)?), ("rig/ssh/key.pub".to_owned(), file(&public)?)];
    fs::remove_dir_all(directory).map_err(RigError::file(directory))?;
    Ok(files)
}
