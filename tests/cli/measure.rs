//! `narrows measure`: what it shows, how it ends, and that it leaves nothing behind.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::*;

/// A scratch file of 64 MiB beside a reserve of 1 GiB or 5 % must fit; otherwise these tests have no disk to run on.
fn has_room(test: &str, dir: &TempDir) -> bool {
    let fs = nix::sys::statvfs::statvfs(dir.path()).expect("a file system");
    let block = fs.fragment_size();
    let free = fs.blocks_available() * block;
    // Without what is withheld from users.
    let size = (fs.blocks() - fs.blocks_free()) * block + free;
    let has_room = free > (size / 20).max(1 << 30) + (1 << 30);
    if !has_room {
        skip(test, "too little free space");
    }
    has_room
}

fn runs(report: &Value) -> Vec<Value> {
    report["paths"][0]["runs"].as_array().expect("runs").clone()
}

/// A file of 64 MiB to read from.
fn large_file(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("large");
    let block: Vec<u8> =
        (0..1_u32 << 18).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    std::fs::write(&path, block.repeat(64)).expect("is ours");
    path
}

#[test]
fn a_directory_is_measured_with_a_scratch_file_that_is_gone_afterwards() {
    let dir = scratch_dir();
    if !has_room("a directory is measured", &dir) {
        return;
    }
    let ran = run(&["measure", text(&dir), "--duration", "300ms", "--json"]);
    let report = ran.answered().json();
    let runs = runs(&report);
    assert_eq!(runs.len(), 2, "sequential and random: {report:#}");
    for run in &runs {
        assert!(run["trusted"].is_boolean(), "{run:#}");
        assert!(run["measurement"]["bytes"].as_u64() > Some(0), "{run:#}");
        assert!(run["measurement"]["cut_short"].is_null(), "{run:#}");
        assert_eq!(run["measurement"]["errors"], 0, "{run:#}");
    }
    let said = format!(
        "writes at most 797 MB: 537 MB to fill a scratch file in {}, the rest for the file system's own records\n",
        text(&dir)
    );
    assert_eq!(ran.err, said);
    assert_eq!(names_in(&dir), Vec::<String>::new());
}

#[test]
fn a_file_is_only_read() {
    let dir = scratch_dir();
    let file = large_file(&dir);
    let before = std::fs::metadata(&file).expect("is there").modified().expect("has a time");
    let ran = run(&["measure", file.to_str().expect("text"), "--duration", "200ms", "--json"]);
    let runs = runs(&ran.answered().json());
    assert!(runs.iter().all(|run| run["measurement"]["region_bytes"] == 64 << 20), "{runs:#?}");
    assert_eq!(std::fs::metadata(&file).expect("is there").modified().expect("has a time"), before);
    assert_eq!(names_in(&dir), ["large"]);
}

#[test]
fn a_file_that_holds_less_than_a_block_is_refused() {
    let dir = scratch_dir();
    let file = dir.path().join("small");
    std::fs::write(&file, [7; 3000]).expect("is ours");
    let path = file.canonicalize().expect("is there");
    run(&["measure", file.to_str().expect("text")]).refused(&format!(
        "narrows: `{}` holds 3 kB, less than one block of 1 MiB\n\
         hint: name a larger file or device, or use smaller blocks\n",
        path.display()
    ));
}

/// The engines that a run of the binary used.
fn engines(ran: &Ran) -> Vec<String> {
    let engine =
        |run: &Value| run["measurement"]["generator"]["engine"].as_str().unwrap_or_default().to_owned();
    runs(&ran.json()).iter().map(engine).collect()
}

#[test]
fn where_io_uring_is_forbidden_the_measurement_says_psync() {
    let name = "where io_uring is forbidden";
    let dir = scratch_dir();
    let file = large_file(&dir);
    if !cfg!(target_arch = "x86_64") {
        return skip(name, "the filter is for x86-64");
    }
    let filter = concat!(env!("CARGO_MANIFEST_DIR"), "/rig/guest/without-io-uring");
    let mut command = Command::new("perl");
    command.arg(filter).arg(crate::narrows_binary()).arg("measure").arg(&file).args(["--duration", "200ms"]);
    let Ok(output) = command.arg("--json").output() else {
        return skip(name, "perl is missing");
    };
    let ran = Ran::from(output);
    ran.answered();
    assert!(engines(&ran).iter().all(|engine| engine.starts_with("psync")), "{:?}", engines(&ran));
    assert_eq!(engines(&ran).len(), 2);
    let shown = Command::new("perl")
        .arg(filter)
        .arg(crate::narrows_binary())
        .arg("measure")
        .arg(&file)
        .args(["--duration", "200ms"])
        .output()
        .map(Ran::from)
        .expect("ran before");
    assert!(shown.answered().out.contains("engine: psync ("), "{}", shown.out);
}

/// A run that would last minutes, started and not waited for.
fn long_run(target: &str) -> Child {
    narrows(&["measure", target, "--duration", "60s", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id"));
    kill(pid, signal).expect("it still runs");
}

/// Waits for the end; a run that takes no notice of the signal is ended and fails the test.
fn end_of(mut child: Child, limit: Duration) -> Ran {
    let begin = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        if begin.elapsed() > limit {
            let _ = child.kill();
            panic!("still runs {limit:?} after the signal");
        }
        sleep(Duration::from_millis(10));
    }
    Ran::from(child.wait_with_output().expect("it ended"))
}

/// How long an interrupted run may take to end. It should be 2 s; a loaded machine gets more.
const ENDING: Duration = Duration::from_secs(10);

/// Waits until the process has started its load, which runs in threads of its own.
fn wait_for_load(child: &Child) {
    let tasks = format!("/proc/{}/task", child.id());
    let begin = Instant::now();
    let is_load = |task: std::io::Result<std::fs::DirEntry>| {
        let name = task.and_then(|task| std::fs::read_to_string(task.path().join("comm")));
        name.is_ok_and(|name| name.starts_with("narrows-load"))
    };
    while !std::fs::read_dir(&tasks).expect("it runs").any(is_load) {
        assert!(begin.elapsed() < Duration::from_secs(60), "no load was started");
        sleep(Duration::from_millis(10));
    }
    // Past the warm-up, into the measured time.
    sleep(Duration::from_millis(1500));
}

#[test]
fn an_interrupted_run_shows_what_it_has_and_leaves_nothing() {
    // timeout(1) sends each signal twice, to the program and to its group.
    for (signal, times) in [(Signal::SIGINT, 1), (Signal::SIGTERM, 1), (Signal::SIGTERM, 2)] {
        let dir = scratch_dir();
        if !has_room("an interrupted run", &dir) {
            return;
        }
        let child = long_run(text(&dir));
        wait_for_load(&child);
        (0..times).for_each(|_| {
            send(&child, signal);
            sleep(Duration::from_millis(20));
        });
        let ran = end_of(child, ENDING);
        assert!(
            ran.err.ends_with("narrows: interrupted; the report holds what was measured until then\n"),
            "{}",
            ran.err
        );
        assert_eq!(ran.status, Some(2));
        let runs = runs(&ran.json());
        assert_eq!(runs.len(), 1, "{runs:#?}");
        assert_eq!(runs[0]["measurement"]["cut_short"], "interrupted", "{runs:#?}");
        assert_eq!(runs[0]["trusted"], false, "{runs:#?}");
        assert!(runs[0]["measurement"]["bytes"].as_u64() > Some(0), "{runs:#?}");
        assert_eq!(names_in(&dir), Vec::<String>::new());
    }
}

#[test]
fn an_interrupt_while_the_scratch_file_is_written_ends_in_a_report_without_runs() {
    let dir = scratch_dir();
    if !has_room("an interrupt while the scratch file is written", &dir) {
        return;
    }
    let child = long_run(text(&dir));
    // The handlers stand before the scratch file is begun, which has no name. While a program begins, it still has what the
    // other tests of this process opened, files without a name among them.
    let fds = format!("/proc/{}/fd", child.id());
    let scratch = dir.path().canonicalize().expect("is there");
    let is_writing = || {
        let links = std::fs::read_dir(&fds).expect("it runs").flatten();
        links
            .flat_map(|fd| std::fs::read_link(fd.path()))
            .any(|to| to.starts_with(&scratch) && to.to_string_lossy().ends_with("(deleted)"))
    };
    while !is_writing() {
        sleep(Duration::from_millis(1));
    }
    send(&child, Signal::SIGINT);
    let ran = end_of(child, ENDING);
    assert!(
        ran.err.ends_with("narrows: interrupted; the report holds what was measured until then\n"),
        "{}",
        ran.err
    );
    assert_eq!(ran.status, Some(2));
    assert!(runs(&ran.json()).len() <= 1);
    assert_eq!(names_in(&dir), Vec::<String>::new());
}

#[test]
fn a_killed_run_leaves_nothing() {
    let dir = scratch_dir();
    if !has_room("a killed run", &dir) {
        return;
    }
    let mut child = long_run(text(&dir));
    wait_for_load(&child);
    assert_eq!(names_in(&dir), Vec::<String>::new(), "the scratch file has no name while it is used");
    child.kill().expect("it still runs");
    let mut rest = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut rest).expect("text");
    child.wait().expect("it ended");
    assert_eq!(rest, "");
    assert_eq!(names_in(&dir), Vec::<String>::new());
}

#[test]
fn what_has_no_bytes_of_its_own_is_refused() {
    let Some(name) = MACHINE.nics.keys().next() else {
        return skip("what has no bytes of its own", "there is no network interface");
    };
    assert!(!run(&[name]).out.contains("narrows measure"), "what would be refused is not advised");
    run(&["measure", name]).refused(&format!(
        "narrows: nothing can be read through `{name}` alone\n\
         hint: measure a device, mount or directory behind it\n"
    ));
}
