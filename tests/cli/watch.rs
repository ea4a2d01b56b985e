//! `narrows watch` as people run it: on a recorded machine that changes, killed, on a full disk, and on this machine.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::schema;
use narrows::machine::root::Root;
use narrows::machine::snapshot;
use narrows::machine::tree::Tree;
use narrows::watch::run::{Options, Outlets, Source, run as record_from};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::{finish, narrows, run, scratch_dir, skip, support, text};

/// The slot of the cache drive of this machine.
const MACHINE: &str = "s3-x99-after";
const DRIVE: &str = "/sys/devices/pci0000:00/0000:00:1c.4/0000:06:00.0";
const PORT: &str = "/sys/devices/pci0000:00/0000:00:1c.4";

/// Puts a record of the machine in place whole, with the drive's link this wide.
pub(super) fn record(path: &Path, lanes: u8, change: impl FnOnce(&mut Tree)) {
    let mut tree = support::tree(MACHINE);
    for end in [DRIVE, PORT] {
        tree.file(&format!("{end}/current_link_width"), &format!("{lanes}\n"));
    }
    change(&mut tree);
    let meanwhile = path.with_extension("unfinished");
    let mut file = std::fs::File::create(&meanwhile).expect("is made");
    snapshot::write(&tree, &mut file, false).expect("is written");
    std::fs::rename(&meanwhile, path).expect("is renamed");
}

/// Says to [`records_a_recorded_machine`] what it records, and where.
const RECORDER: [&str; 2] = ["NARROWS_TEST_MACHINE", "NARROWS_TEST_STATE"];

/// A recorder of a recorded machine: this program once more.
pub(super) struct Watcher {
    child: Child,
}

impl Watcher {
    pub(super) fn start(state: &Path, from: &Path) -> Self {
        let this = std::env::current_exe().expect("is known");
        let mut command = std::process::Command::new(this);
        command
            .args(["--exact", "watch::records_a_recorded_machine"])
            .envs(RECORDER.into_iter().zip([from, state]));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        Self { child }
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("is an id");
        kill(Pid::from_raw(id), signal).expect("is sent");
    }

    pub(super) fn end(mut self) -> Option<i32> {
        self.signal(Signal::SIGTERM);
        self.child.wait().expect("ends").code()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What [`Watcher`] starts: reads a record anew every 100 ms as `narrows watch` reads a machine, until a signal ends it.
#[test]
fn records_a_recorded_machine() {
    let [Some(machine), Some(state)] = RECORDER.map(std::env::var_os) else { return };
    let (machine, state) = (PathBuf::from(machine), PathBuf::from(state));
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, stop.clone()).expect("is watched for");
    // It is there after the first.
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&state);
    let next = move || snapshot::read(std::fs::File::open(&machine).ok()?).ok().map(Root::from_tree);
    let options = Options {
        directory: &state,
        every: Duration::from_millis(100),
        version: "0.0.0",
        accept_and_end: false,
    };
    let told = Outlets { note: &mut |_| (), record: &mut |_| () };
    let source = Source { next: Box::new(next), listener: None, unheard: Vec::new() };
    record_from(&options, source, &stop, told).expect("the directory can be used");
}

/// The journal, checked against its schema.
fn log(state: &Path) -> Value {
    let ran = run(&["watch", "--log", "--json", "--state", state.to_str().expect("is text")]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let log: Value = serde_json::from_str(&ran.out).expect("is JSON");
    let validator = jsonschema::validator_for(&schema::of("watch")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&log).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    log
}

fn records(log: &Value, kind: &str) -> Vec<Value> {
    let records = log["records"].as_array().expect("is a list").iter();
    records.filter(|record| record["record"] == kind).cloned().collect()
}

/// Waits until the journal says something, and answers with it.
fn wait_for(state: &Path, what: &str, is_there: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        if state.join("journal.jsonl").is_file() {
            let log = log(state);
            if is_there(&log) {
                return log;
            }
        }
        assert!(began.elapsed() < Duration::from_secs(120), "the journal does not say: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn place() -> (TempDir, PathBuf, PathBuf) {
    let place = scratch_dir();
    let (state, machine) = (place.path().join("state"), place.path().join("machine.tar.zst"));
    (place, state, machine)
}

#[test]
fn a_link_that_narrows_is_told_with_its_two_readings_and_accepted() {
    let (_place, state, machine) = place();
    record(&machine, 4, |_| ());
    let watcher = Watcher::start(&state, &machine);
    wait_for(&state, "the best states", |log| !records(log, "baseline").is_empty());
    record(&machine, 1, |_| ());
    let told = wait_for(&state, "the change", |log| !records(log, "change").is_empty());
    let change = &records(&told, "change")[0];
    assert_eq!((&change["from"], &change["to"]), (&Value::from(4), &Value::from(1)), "{change}");
    assert_eq!((&change["property"], &change["subject"]["name"]), (&"lanes".into(), &"0000:06:00.0".into()));
    assert!(change["after"].as_str() < change["at"].as_str(), "{change}");
    let text = run(&["watch", "--log", "--state", state.to_str().expect("is text")]).out;
    assert!(text.contains("x4 → x1 between 20"), "{text}");
    // Another process tells the one that watches.
    let accept = run(&["watch", "--accept", "--state", state.to_str().expect("is text")]);
    assert_eq!(accept.status, Some(0), "{accept:?}");
    let is_accepted =
        |log: &Value| records(log, "baseline").iter().any(|record| record["event"] == "accepted");
    wait_for(&state, "that it was accepted", is_accepted);
    let baseline = std::fs::read_to_string(state.join("baseline.json")).expect("is kept");
    assert!(baseline.contains("\"lanes\": 1"), "{baseline}");
    let second = run(&["watch", "--state", state.to_str().expect("is text")]);
    assert_eq!(second.status, Some(2), "{second:?}");
    assert!(second.err.contains("is in use: process") && second.err.contains("hint: "), "{}", second.err);
    assert_eq!(watcher.end(), Some(0));
    assert_eq!(records(&log(&state), "stopped").len(), 1);
    for name in ["journal.jsonl", "baseline.json", "salt", "lock"] {
        let mode = std::fs::metadata(state.join(name)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{name}");
    }
    let whole = std::fs::read_to_string(state.join("journal.jsonl")).expect("is text");
    // The serial number of the drive, in the tree of the machine.
    let serial = support::tree(MACHINE).read(&format!("{DRIVE}/nvme/nvme2/serial")).map(<[u8]>::to_vec);
    let serial = serial.map(|serial| String::from_utf8_lossy(&serial).trim().to_owned()).unwrap_or_default();
    assert!(serial.is_empty() || !whole.contains(&serial) && !baseline.contains(&serial), "{serial}");
}

#[test]
fn fifty_kills_leave_a_journal_that_is_read_and_lose_nothing_that_was_written() {
    let (_place, state, machine) = place();
    record(&machine, 4, |_| ());
    let mut seen = 0;
    for round in 0..50_u8 {
        let watcher = Watcher::start(&state, &machine);
        record(&machine, 1 + round % 2, |_| ());
        std::thread::sleep(Duration::from_millis(u64::from(round % 10) * 30));
        watcher.signal(Signal::SIGKILL);
        drop(watcher);
        if state.join("journal.jsonl").is_file() {
            let now = log(&state)["records"].as_array().map_or(0, Vec::len);
            assert!(now >= seen, "round {round}: {seen} records, then {now}");
            seen = now;
        }
    }
    // It goes on after all of it, and knows the best state.
    record(&machine, 3, |_| ());
    let watcher = Watcher::start(&state, &machine);
    let last = |log: &Value| records(log, "change").last().is_some_and(|change| change["to"] == 3);
    wait_for(&state, "the last change", |log| {
        last(log) || records(log, "state").iter().any(|r| r["values"]["lanes"] == 3)
    });
    assert_eq!(watcher.end(), Some(0));
    let text = run(&["watch", "--log", "--state", state.to_str().expect("is text")]);
    assert_eq!(text.status, Some(0), "{text:?}");
}

#[test]
fn on_a_full_disk_what_is_to_be_told_waits_and_nothing_is_lost() {
    let place = scratch_dir();
    let disk = place.path().join("disk");
    std::fs::create_dir(&disk).expect("is made");
    let mount = |args: &[&str]| {
        std::process::Command::new("mount").args(args).status().is_ok_and(|status| status.success())
    };
    if !nix::unistd::geteuid().is_root()
        || !mount(&["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", disk.to_str().expect("is text")])
    {
        return skip("watch on a full disk", "no file system can be mounted here");
    }
    let state = disk.join("state");
    let machine = place.path().join("machine.tar.zst");
    record(&machine, 4, |_| ());
    let watcher = Watcher::start(&state, &machine);
    wait_for(&state, "the best states", |log| !records(log, "baseline").is_empty());
    let filler = disk.join("filler");
    let mut size = 256 << 10;
    // As much as there is, down to a page.
    while size >= 1 {
        let mut whole = std::fs::read(&filler).unwrap_or_default();
        whole.resize(whole.len() + size, b'x');
        if std::fs::write(&filler, &whole).is_err() {
            size /= 2;
        }
    }
    for lanes in [1, 2, 1, 2, 3] {
        record(&machine, lanes, |_| ());
        std::thread::sleep(Duration::from_millis(400));
    }
    std::fs::remove_file(&filler).expect("is there");
    let log = wait_for(&state, "the last change", |log| {
        records(log, "change").last().is_some_and(|change| change["to"] == 3)
    });
    assert_eq!(log["damaged_lines"], 0, "{log}");
    // Each change begins where the one before ended: none is missing.
    let lanes: Vec<Value> =
        records(&log, "change").into_iter().filter(|change| change["property"] == "lanes").collect();
    assert!(lanes.windows(2).all(|two| two[0]["to"] == two[1]["from"]), "{lanes:?}");
    assert_eq!(lanes[0]["from"], 4);
    assert_eq!(watcher.end(), Some(0));
    let _ = std::process::Command::new("umount").arg(&disk).status();
}

#[test]
fn this_machine_is_watched_and_a_flood_of_events_is_borne() {
    let place = scratch_dir();
    let state = place.path().join("state");
    let state_text = state.to_str().expect("is text").to_owned();
    let child = narrows(&["watch", "--state", &state_text, "--interval", "1h"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let watcher = Watcher { child };
    wait_for(&state, "that it began", |log| !records(log, "started").is_empty());
    // The kernel sends an event of a device for each of these writes; the device is not changed.
    let event = "/sys/class/net/lo/uevent";
    let began = Instant::now();
    let mut sent = 0;
    while began.elapsed() < Duration::from_secs(3) && std::fs::write(event, "change").is_ok() {
        sent += 1;
    }
    if sent == 0 {
        skip("a flood of events", "/sys/class/net/lo/uevent cannot be written here");
    }
    let id = watcher.child.id();
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it lives");
    assert!(!stat.contains(") Z "), "{stat}");
    assert_eq!(watcher.end(), Some(0), "after {sent} events");
    let log = log(&state);
    assert_eq!(log["damaged_lines"], 0);
    assert_eq!(records(&log, "stopped").len(), 1, "after {sent} events: {log}");
}

#[test]
fn a_directory_that_others_can_change_or_that_is_not_there_is_refused() {
    let place = scratch_dir();
    let none = place.path().join("none");
    let log = run(&["watch", "--log", "--state", none.to_str().expect("is text")]);
    assert_eq!(log.status, Some(2));
    assert!(log.err.contains("hint: nothing was watched there yet"), "{}", log.err);
    let file = place.path().join("file");
    std::fs::write(&file, "x").expect("is written");
    let refused = run(&["watch", "--accept", "--state", file.to_str().expect("is text")]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    let usage = finish(&mut narrows(&["watch", "--json", "--state", text(&place)]));
    assert_eq!(usage.status, Some(2), "--json is for --log: {usage:?}");
}
