//! Keeps the run's directory on a host: its lock, fio's server there, and the jobs that wait for the start.
#![expect(clippy::disallowed_types, reason = "fio's server is started here")]

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::program;
use narrows_machine::root::Root;
use narrows_session::fleet::hosts::{Go, Word, lock_host, start_name, waiting_name, waiting_prefix};

use super::{GLANCE, say, sleep_until, until_end_of_input, wait};
use crate::cli::{FAILED, Failure, NOTHING_FOUND};

/// How long fio's server may take to be there.
const SERVER: Duration = Duration::from_secs(10);

/// Locks the host, starts fio's server, and waits for the end of standard input. The shell that started us cleans up.
pub(super) fn keep(fio: &str) -> Result<u8, Failure> {
    let ended = until_end_of_input(begin);
    if fio == "-" {
        say(&Word::Ready)?;
        wait(&ended);
        return Ok(NOTHING_FOUND);
    }
    let (_lock, mut server) = match lock_host().and_then(|lock| Ok((lock, server(fio)?))) {
        Ok(both) => both,
        Err(why) => {
            say(&Word::Refused(why))?;
            return Ok(FAILED);
        }
    };
    say(&Word::Ready)?;
    let root = Root::live();
    let mut said = None;
    while !ended.load(Ordering::Relaxed) {
        let now = waiting(&root);
        if let Some((point, jobs)) = now.filter(|_| now != said) {
            said = now;
            say(&Word::Waiting { point, jobs })?;
        }
        if let Ok(Some(status)) = server.try_wait() {
            say(&Word::Ended(format!("fio on the host ended: {status}")))?;
            // The controller reads that, and then ends the connection.
            wait(&ended);
            return Ok(FAILED);
        }
        thread::sleep(GLANCE);
    }
    let _ = server.kill();
    let _ = server.wait();
    Ok(NOTHING_FOUND)
}

/// fio's program: one that was pushed, or that of the host.
pub(super) fn fio_program(fio: &str) -> Option<Command> {
    match fio {
        "fio" => program::command(&Root::live(), "fio"),
        pushed => Some(program::cleared(PathBuf::from(pushed))),
    }
}

/// Starts fio's server on a socket in this directory, which nobody else can enter.
fn server(fio: &str) -> Result<Child, String> {
    let mut command = fio_program(fio).ok_or("fio is not installed there")?;
    command.arg("--server=sock:fio.sock").process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = program::spawn(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "fio is not installed there".to_owned(),
        _ => format!("fio cannot be started there: {error}"),
    })?;
    let begin = Instant::now();
    let root = Root::live();
    let socket =
        std::env::current_dir().map(|here| here.join("fio.sock")).map_err(|error| error.to_string())?;
    while root.stat(&socket.to_string_lossy()).is_none() {
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("fio's server ended at once: {status}"));
        }
        if begin.elapsed() > SERVER {
            let _ = server.kill();
            return Err("fio's server does not come up".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(server)
}

/// Takes a line that says when a run begins: that goes into a file which its jobs wait for.
fn begin(line: &[u8]) {
    if let Ok(go) = serde_json::from_slice::<Go>(line)
        && let Ok(here) = Held::open(Path::new("."), Aim::Write)
    {
        let (name, meanwhile) = (start_name(go.point), format!("new-{}", start_name(go.point)));
        // A job that is never told begins never, which the controller sees.
        let text = go.start_ns.to_string();
        let _ = here.replace(name.as_ref(), meanwhile.as_ref(), text.as_bytes(), Readers::Us);
    }
}

/// Jobs that wait for the beginning of the last run that any waits for.
fn waiting(root: &Root) -> Option<(usize, usize)> {
    let here = std::env::current_dir().ok()?;
    let names = root.list(&here.to_string_lossy());
    let number = |name: &String| name.strip_prefix("waiting-")?.split('-').next()?.parse::<usize>().ok();
    let point = names.iter().filter_map(number).max()?;
    let prefix = waiting_prefix(point);
    Some((point, names.iter().filter(|name| name.starts_with(&prefix)).count()))
}

/// Says that a job waits, and sleeps until the run begins.
pub(super) fn at(point: usize) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot write in the run's directory: {error}"));
    let here = Held::open(Path::new("."), Aim::Write).map_err(|error| Failure::new(error.to_string()))?;
    let name = waiting_name(point, std::process::id());
    here.write_new(name.as_ref(), b"", Readers::Us).map_err(failed)?;
    let root = Root::live();
    let file = std::env::current_dir().map_err(failed)?.join(start_name(point));
    loop {
        let told = root.text(&file.to_string_lossy()).get();
        if let Some(start) = told.and_then(|text| text.trim().parse().ok()) {
            sleep_until(start);
            return Ok(());
        }
        thread::sleep(GLANCE);
    }
}
