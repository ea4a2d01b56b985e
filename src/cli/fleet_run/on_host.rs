//! `narrows fleet-host …`: what the controller starts on a host, through ssh, in the run's directory there.

mod keep;
mod leg;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read};
use std::net::Shutdown;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::args::HostStep;
use crate::cli::{Failure, NOTHING_FOUND, facts, output, target};
use narrows_base::hex;
use narrows_base::units::Bytes;
use narrows_load::held::{Aim, Held};
use narrows_load::measurement::Access;
use narrows_load::scratch::ScratchOptions;
use narrows_machine::Machine;
use narrows_machine::activity;
use narrows_machine::root::Root;
use narrows_machine::usage::{self, Identity};
use narrows_model::path::{Target, build};
use narrows_session::fleet::hosts::{FoundKind, HostTarget, Look, Prepared, Word};
use narrows_session::fleet::job::{NbdUri, TARGET};
use narrows_session::fleet::script::end_in;
use narrows_session::fleet::started::now;
use narrows_session::fleet::{as_bytes, as_lines};
use narrows_session::place::Place;
use narrows_session::{go_on_unless, scene};
use narrows_verdict::fleet::judge::NODE;

/// How often the keeper looks.
const GLANCE: Duration = Duration::from_millis(50);

/// Does a step.
///
/// # Errors
/// [`Failure`] when it cannot be done; the first line of standard error says why.
pub(in crate::cli) fn run(directory: Option<&Path>, step: &HostStep) -> Result<u8, Failure> {
    if let Some(directory) = directory {
        // What works there is found there by what cleans up.
        std::env::set_current_dir(directory)
            .map_err(|error| Failure::new(format!("the run's directory is gone: {error}")))?;
    }
    let done = match step {
        HostStep::Keep { fio } => return keep::keep(fio),
        HostStep::Look { target } => look(target.as_deref()),
        HostStep::Hold { target, size } => hold(&decoded(target)?, *size),
        HostStep::Sample { ports } => {
            sample::sample(&ports.iter().copied().filter(|port| *port > 0).collect());
            Ok(())
        }
        HostStep::Clock => clock(),
        HostStep::At { point } => keep::at(*point),
        HostStep::Record => record(),
        HostStep::Bridge => bridge(),
        HostStep::Leg => leg::leg(),
        HostStep::End { grace } => {
            let here = std::env::current_dir().map_err(|error| Failure::new(error.to_string()))?;
            end_in(&here, Duration::from_millis(*grace));
            Ok(())
        }
    };
    done.map(|()| NOTHING_FOUND)
}

/// A text of the controller.
fn decoded(digits: &str) -> Result<String, Failure> {
    let wrong = || Failure::new("the target is not written in hexadecimal digits");
    String::from_utf8(hex::bytes(digits).ok_or_else(wrong)?).map_err(|_| wrong())
}

/// Says something to the controller, in a line of its own.
fn say(word: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(word).map_err(|error| Failure::new(error.to_string()))?;
    output::data(&(line + "\n"))
}

/// Hands on each line of standard input until `take` wants no more or it ends, which is when the controller or the connection does.
fn each_line(most: u64, mut take: impl FnMut(&[u8]) -> bool) {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    while let Ok(1..) = (&mut input).take(most).read_until(b'\n', &mut line) {
        if !take(&line) {
            break;
        }
        line.clear();
    }
}

/// Raises a flag when standard input ends. `take` gets each line until then.
fn until_end_of_input(take: fn(&[u8])) -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = ended.clone();
    thread::spawn(move || {
        each_line(1 << 10, |line| {
            take(line);
            true
        });
        flag.store(true, Ordering::Relaxed);
    });
    ended
}

fn look(target: Option<&str>) -> Result<(), Failure> {
    let root = Root::live();
    let machine = Machine::read(&root);
    let target = target.map(decoded).transpose()?;
    let found = target.as_deref().map(|typed| find(&root, &machine, typed));
    let mut ports: BTreeSet<u16> = activity::storage_ports(&root);
    if let Some(uri) = target.as_deref().and_then(NbdUri::parse) {
        ports.extend(uri.port());
    }
    let ports = ports.into_iter().collect();
    say(&Look { fio: fio_version(), target: found, ports, facts: facts_of(&root), drives: drives(&root) })
}

fn fio_version() -> Option<String> {
    let pushed = Root::live().exists(&std::env::current_dir().ok()?.join("fio").to_string_lossy());
    let output = keep::fio_program(if pushed { "./fio" } else { "fio" })?.arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    text.strip_prefix("fio-").map(str::to_owned)
}

/// Facts that may tell this host from others.
fn facts_of(root: &Root) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty()) {
            facts.insert(name.to_owned(), value);
        }
    };
    put("kernel", root.text("/proc/sys/kernel/osrelease").get());
    let cpuinfo = root.text("/proc/cpuinfo").get().unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    put("processor", model.map(|(_, name)| name.to_owned()));
    put("processors", Some(cpuinfo.lines().filter(|line| line.starts_with("processor")).count().to_string()));
    put("memory", root.text("/proc/meminfo").get().and_then(|text| text.lines().next().map(str::to_owned)));
    for name in root.list("/sys/class/net") {
        if root.exists(&format!("/sys/class/net/{name}/device")) {
            put(&format!("speed of {name}"), root.text(&format!("/sys/class/net/{name}/speed")).get());
            put(&format!("MTU of {name}"), root.text(&format!("/sys/class/net/{name}/mtu")).get());
        }
    }
    put_nodes(root, &mut put);
    // The width does not change with power states, as the speed does.
    for address in root.list("/sys/bus/pci/devices") {
        let width = root.text(&format!("/sys/bus/pci/devices/{address}/current_link_width")).get();
        put(&format!("link width of {address}"), width.filter(|width| width.trim() != "0"));
    }
    facts
}

/// On which NUMA node network cards and drives are, where there are several.
fn put_nodes(root: &Root, put: &mut impl FnMut(&str, Option<String>)) {
    let is_node = |name: &String| name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok());
    if root.list("/sys/devices/system/node").iter().filter(|name| is_node(name)).count() < 2 {
        return;
    }
    let cards = root.list("/sys/class/net").into_iter().map(|name| (format!("/sys/class/net/{name}"), name));
    let drives = drives(root).into_iter().map(|name| (format!("/sys/block/{name}"), name));
    for (place, name) in cards.chain(drives) {
        // The device itself or what it hangs on tells the node; -1 is none.
        let real = root.resolve(&format!("{place}/device")).get().unwrap_or_default();
        let mut above = Path::new(&real).ancestors();
        let node = above.find_map(|place| root.text(&format!("{}/numa_node", place.display())).get());
        put(&format!("{NODE}{name}"), node.filter(|node| !node.trim().starts_with('-')));
    }
}

/// The drives of this host: whole devices that are no mapping and no memory.
fn drives(root: &Root) -> Vec<String> {
    let is_drive = |name: &String| root.exists(&format!("/sys/block/{name}/device"));
    root.list("/sys/block").into_iter().filter(is_drive).collect()
}

/// What a target is here.
fn find(root: &Root, machine: &Machine, typed: &str) -> Result<HostTarget, String> {
    if let Some(uri) = NbdUri::parse(typed) {
        let (kind, name, server) = (FoundKind::Nbd, uri.as_str().to_owned(), Some(uri.server().to_owned()));
        return Ok(HostTarget { kind, name, server, ..HostTarget::default() });
    }
    let typed = match (typed.strip_prefix("serial:"), typed.strip_prefix("nqn:")) {
        (Some(serial), _) => by_serial(root, serial)?,
        (_, Some(nqn)) => by_nqn(root, nqn)?,
        _ if typed.starts_with('/') => typed.to_owned(),
        _ => {
            return Err(format!("`{typed}` is no target: name an absolute path, serial:…, nqn:… or nbd://…"));
        }
    };
    let asked = target::resolve(root, machine, &typed).map_err(|failure| failure.message)?;
    let path = build::path(machine, &asked);
    let drives = path.as_ref().map(scene::drives).unwrap_or_default();
    let server = path.as_ref().and_then(scene::server).map(str::to_owned);
    match &asked {
        Target::Block(name) => {
            let device = scene::device(name).display().to_string();
            let serial = Identity::read(root, name).text().map(|(text, _)| text);
            let size = usage::size(root, name).get();
            Ok(HostTarget { name: device, size, server, drives, serial, ..HostTarget::default() })
        }
        Target::Mount { path, .. } => {
            let is_directory = Path::new(path).is_dir();
            let free = is_directory.then(|| free_bytes(path)).flatten();
            let kind = if is_directory { FoundKind::Directory } else { FoundKind::File };
            Ok(HostTarget { kind, name: path.clone(), free, server, drives, ..HostTarget::default() })
        }
        _ => Err(format!("`{typed}` is neither a device nor a file nor a directory")),
    }
}

fn free_bytes(path: &str) -> Option<Bytes> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    Some(Bytes::new(stat.blocks_available().saturating_mul(stat.fragment_size())))
}

/// The device with a serial number; exactly one has to have it.
fn by_serial(root: &Root, serial: &str) -> Result<String, String> {
    let has = |name: &String| {
        Identity::read(root, name).text().is_some_and(|(text, _)| text.trim() == serial.trim())
    };
    let found: Vec<String> = root.list("/sys/block").into_iter().filter(has).collect();
    only(&found, format!("no device here has the serial number {serial}"), |several| {
        format!("{several} all have the serial number {serial}")
    })
}

/// The namespace of an NVMe subsystem; exactly one has to be there.
fn by_nqn(root: &Root, nqn: &str) -> Result<String, String> {
    let has = |name: &String| {
        let told = root.text(&format!("/sys/class/nvme-subsystem/{name}/subsysnqn")).get();
        told.is_some_and(|told| told.trim() == nqn.trim())
    };
    let subsystems = root.list("/sys/class/nvme-subsystem").into_iter().filter(has);
    let is_namespace = |name: &String| {
        let rest = name.strip_prefix("nvme").unwrap_or_default();
        rest.contains('n') && !rest.contains('p') && !rest.contains('c')
    };
    let inside = subsystems.flat_map(|name| root.list(&format!("/sys/class/nvme-subsystem/{name}")));
    let found: Vec<String> = inside.filter(is_namespace).collect();
    only(&found, format!("no namespace of {nqn} is connected here"), |several| {
        format!("{nqn} has several namespaces here ({several}): name one by its serial or path")
    })
}

/// The device file of the only device that was found.
fn only(found: &[String], none: String, several: impl FnOnce(&str) -> String) -> Result<String, String> {
    match found {
        [only] => Ok(scene::device(only).display().to_string()),
        [] => Err(none),
        all => Err(several(&all.join(", "))),
    }
}

/// Makes the target ready, leads the link of the job to it, and holds it.
fn hold(typed: &str, size: u64) -> Result<(), Failure> {
    let ended = until_end_of_input(|_| {});
    if NbdUri::parse(typed).is_some() {
        say(&Word::Prepared(Prepared { size: Bytes::new(0), is_direct: false }))?;
        wait(&ended);
        return Ok(());
    }
    let root = Root::live();
    let machine = Machine::read(&root);
    let found = find(&root, &machine, typed).map_err(Failure::new)?;
    let path = Path::new(&found.name);
    let place = match found.kind {
        FoundKind::Device => Place::Device(path.to_owned()),
        FoundKind::File => Place::File(path.to_owned()),
        _ => {
            Held::open(path, Aim::Write).map_err(|error| Failure::new(error.to_string()))?;
            Place::Scratch(path.to_owned())
        }
    };
    let size = Bytes::new(size);
    let options = ScratchOptions { minimum: size, ..ScratchOptions::default() };
    let target = place.open_or_make(size, &options, &mut |_, _| go_on_unless(ended.load(Ordering::Relaxed)));
    let target = target.map_err(|error| Failure::new(error.to_string()))?;
    symlink(target.reopen_path(), TARGET)
        .map_err(|error| Failure::new(format!("cannot make a link in the run's directory: {error}")))?;
    let is_direct = target.access() == Access::Direct;
    say(&Word::Prepared(Prepared { size: target.size(), is_direct }))?;
    wait(&ended);
    Ok(())
}

fn wait(ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        thread::sleep(GLANCE);
    }
}

fn clock() -> Result<(), Failure> {
    let mut said = Ok(());
    each_line(64, |_| {
        said = output::data(&format!("{}\n", now()));
        said.is_ok()
    });
    said
}

/// Sleeps until a moment of this clock. The clock may be set meanwhile, so it is asked again now and then.
fn sleep_until(moment: u64) {
    const LONGEST: u64 = 100_000_000;
    while let left @ 1.. = moment.saturating_sub(now()) {
        thread::sleep(Duration::from_nanos(left.min(LONGEST)));
    }
}

fn record() -> Result<(), Failure> {
    let packed = facts::record(true)?;
    let failed = |error: io::Error| Failure::new(format!("cannot write to standard output: {error}"));
    as_lines(packed.as_slice(), io::stdout().lock()).map_err(failed)
}

/// Joins standard input and output with the socket of fio, until either ends.
fn bridge() -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot talk to fio here: {error}"));
    let socket = UnixStream::connect("fio.sock").map_err(failed)?;
    let to = socket.try_clone().map_err(failed)?;
    thread::spawn(move || {
        let _ = as_bytes(io::stdin().lock(), &to);
        let _ = to.shutdown(Shutdown::Write);
    });
    as_lines(socket, io::stdout().lock()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_comes_as_digits() {
        assert_eq!(decoded("2f6d6e74c3b6").expect("is text"), "/mntö");
        for digits in ["2", "zz", "ff", "2f6"] {
            assert!(decoded(digits).is_err(), "{digits}");
        }
    }

    #[test]
    fn a_moment_in_the_past_is_not_waited_for_and_one_ahead_is() {
        sleep_until(0);
        let ahead = now() + 20_000_000;
        sleep_until(ahead);
        assert!(now() >= ahead);
    }

    #[test]
    fn this_host_has_facts() {
        let root = Root::live();
        let facts = facts_of(&root);
        assert!(facts.contains_key("kernel") && facts["processors"] != "0", "{facts:?}");
    }

    #[test]
    fn what_is_no_target_is_said() {
        let (root, machine) = (Root::live(), Machine::default());
        for (typed, why) in [
            ("data", "absolute path"),
            ("serial:no-such-drive", "no device here"),
            ("nqn:nqn.2014-08.org:none", "no namespace"),
            ("nbd://a;b", "absolute path"),
        ] {
            assert!(find(&root, &machine, typed).is_err_and(|said| said.contains(why)), "{typed}");
        }
        let found = find(&root, &machine, "nbd://10.0.0.1/disk").expect("is an export");
        assert_eq!((found.kind, found.server.as_deref()), (FoundKind::Nbd, Some("10.0.0.1")));
    }
}
