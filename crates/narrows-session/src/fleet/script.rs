//! What the shells do: on a host, the directory of the run, from its first moment to its last; here, the same for the controller's
//! own. Whatever is killed, one of two shells is left to clean, and a host's second one knows the deadline.
//!
//! What belongs to a run is told by its working directory, the run's directory or one below it, and by nothing else: a number in a file may
//! be that of another process by the time somebody kills it. So no shell kills; narrows does ([`end_in`]), which holds a process first.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use super::started::LinkError;
use narrows_base::hex;
use narrows_load::held::{Aim, Held, Readers};
use narrows_machine::program;
use narrows_machine::root::Root;
use nix::unistd::getpgid;
use rustix::fs::readlink;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use sha2::{Digest, Sha256};

/// The name of a run's directory is this and the token.
pub const PREFIX: &str = "narrows-fleet-";

/// Where the directory of a run may be on a host, in the order in which they are tried; each must be one in which programs run.
pub const PLACES: &str = "\"${XDG_RUNTIME_DIR:-}\" /dev/shm /var/tmp /tmp";

/// Has narrows, which is `$n`, end what works in `$d` and has not ended after `$g` ms, and removes that. Here that is longer: what ends here
/// may be what cleans there.
const CLEAN: &str = "c() { \"$n\" fleet-host --directory \"$d\" end $g >/dev/null 2>&1; rm -rf \"$d\"; }";

/// The command line for a host's shell, which runs what `text` gives.
pub fn on_host(token: &Token, pushed: &Pushed, terms: Terms) -> String {
    // No single quote may stand in it.
    format!("exec sh -c '{}'", text(token, pushed, terms))
}

/// The same for a shell that takes it from standard input: it has read all of it before it begins, and what comes then is asked for.
pub fn on_input(token: &Token, pushed: &Pushed, terms: Terms) -> String {
    format!("f() {{\n{}\n}}\nf; exit\n", text(token, pushed, terms))
}

/// What the shell does. It takes a directory, starts the watchdog, says `send` and takes narrows and fio from standard input, compares the
/// checksum, and runs the keeper until standard input ends. It says on lines of their own `directory D`, what the keeper says, or
/// `refused WHY`, and `clean` when nothing is left.
///
/// All that is put in are numbers and hexadecimal digits. The watchdog knows by the number of its own parent (`proc_pid_stat(5)`) that the
/// shell is there.
fn text(token: &Token, pushed: &Pushed, Terms { seconds, has_load }: Terms) -> String {
    let (narrows, checksum, fio) = (pushed.narrows.len(), &pushed.checksum, pushed.fio.len());
    let fio_word = match (has_load, fio > 0) {
        (false, _) => "-",
        (true, true) => "./fio",
        (true, false) => "fio",
    };
    format!(
        "umask 077
unset CDPATH
{CLEAN}
for b in {PLACES}; do
case $b in /*) ;; *) continue;; esac
case $b in *[!A-Za-z0-9._/-]*) continue;; esac
d=$b/{PREFIX}{token}
mkdir \"$d\" 2>/dev/null || {{ d=; continue; }}
printf \"#!/bin/sh\\nexit 0\\n\" > \"$d/x\" && chmod 700 \"$d/x\" && \"$d/x\" 2>/dev/null && break
rm -rf \"$d\"; d=
done
[ -n \"$d\" ] || {{ echo \"refused there is no directory in which a program can be kept and run\"; exit 1; }}
g=200 n=$d/narrows m=$$ q=$$
( trap \"\" 1 2 13 15; cd /; i=0; while [ \"$q\" = $m ] && [ $i -lt {seconds} ]; do sleep 1; i=$((i+1)); read -r a a a q a </proc/self/stat; done; c ) </dev/null >/dev/null 2>&1 &
trap \"c; echo clean\" 0
trap \"exit 1\" 1 2 13 15
rm -f \"$d/x\"
echo send
head -c {narrows} > \"$d/narrows\"
s=$(sha256sum < \"$d/narrows\") || {{ echo \"refused sha256sum is not there\"; exit 1; }}
[ \"${{s%% *}}\" = {checksum} ] || {{ echo \"refused the checksum of the pushed binary differs\"; exit 1; }}
chmod 700 \"$d/narrows\"
if [ {fio} -gt 0 ]; then head -c {fio} > \"$d/fio\"; chmod 700 \"$d/fio\"; fi
\"$d/narrows\" --version >/dev/null 2>&1 || {{ echo \"refused the pushed binary does not run here: $(uname -m)\"; exit 1; }}
echo \"directory $d\"
(cd \"$d\" && exec ./narrows fleet-host keep --fio {fio_word})"
    )
}

/// What this machine's watchdog runs: it waits until nobody holds its standard input any more, which is when the controller ends, however
/// that happens. The directory is its first argument, and this program, as long as it runs, its second.
pub fn here() -> String {
    format!(
        "[ -r \"$2\" ] && exec 3<\"$2\"; d=$1 g=2000 n=/proc/self/fd/3; {CLEAN}; trap \"\" 1 2 13 15; cat >/dev/null; c"
    )
}

/// The command that collects a host's facts with the POSIX collector, which comes from standard input.
pub const COLLECT: [&str; 4] = ["sh", "-s", "--", "-"];

/// A number that nobody guesses, in hexadecimal digits: with it begin the names of what belongs to one host in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::digits(&bytes)))
    }

    /// A new one of 128 bits.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn long() -> Result<Self, getrandom::Error> {
        let (first, second) = (Self::random()?, Self::random()?);
        Ok(Self(first.0 + &second.0))
    }

    /// That of one of several hosts.
    #[must_use]
    pub fn of_host(&self, number: usize) -> Self {
        Self(format!("{}-{number}", self.0))
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is pushed to each host, in memory once for all of them.
#[derive(Debug, Clone)]
pub struct Pushed {
    /// This program.
    pub narrows: Arc<[u8]>,
    /// Its SHA-256 in hexadecimal digits.
    pub checksum: String,
    /// A static fio of the user; empty where the hosts' own is taken.
    pub fio: Arc<[u8]>,
}

impl Pushed {
    /// This program and perhaps a fio.
    pub fn new(narrows: Vec<u8>, fio: Vec<u8>) -> Self {
        let checksum = hex::digits(&Sha256::digest(&narrows));
        Self { narrows: narrows.into(), checksum, fio: fio.into() }
    }
}

/// What a host may do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// After so many seconds it cleans up by itself.
    pub seconds: u64,
    /// Whether a load is to run: then the host is locked and has a server of fio.
    pub has_load: bool,
}

/// A directory for this user alone. It is gone soon after the controller, however that ends, and with it every process that works there.
pub struct Ground {
    path: PathBuf,
    watchdog: Child,
    /// With it begin the names of what belongs to it.
    token: Token,
}

impl Ground {
    /// Makes one.
    ///
    /// # Errors
    /// It cannot be made, or there is no shell.
    pub fn make(root: &Root) -> io::Result<Self> {
        let token = Token::random().map_err(io::Error::other)?;
        let shell = program::find(root, "sh").ok_or(io::ErrorKind::NotFound)?;
        // The name of a socket has 107 bytes at most, so that a long TMPDIR is of no use.
        let path = directory_in(Path::new("/tmp"), &format!("{PREFIX}{token}"))?;
        let mut command = program::cleared(shell);
        let itself = format!("/proc/{}/exe", std::process::id());
        command.args(["-c", &here(), "sh"]).arg(&path).arg(itself).current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let watchdog = program::spawn(&mut command)?;
        Ok(Self { path, watchdog, token })
    }

    /// The directory of a host in it, and the host's token.
    pub(super) fn place(&self, number: usize) -> Result<(PathBuf, Token), LinkError> {
        let refused = |error| LinkError::Refused(format!("cannot make a directory here: {error}"));
        Ok((self.directory(&format!("h{number}")).map_err(refused)?, self.token.of_host(number)))
    }

    /// A directory of its own in it, short enough for a socket.
    ///
    /// # Errors
    /// What `mkdirat(2)` answers.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        directory_in(&self.path, name)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // The end of its standard input is what the watchdog waits for.
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

fn directory_in(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let held = Held::open(parent, Aim::Write).map_err(io::Error::other)?;
    held.maker().make_directory(name.as_bytes())?;
    Ok(parent.join(name))
}

/// A directory of one run of one host: the job file, and the way to the socket.
pub(super) fn point_directory(host: &Path, name: &str, job: &str) -> io::Result<PathBuf> {
    let path = directory_in(host, name)?;
    let held = Held::open(&path, Aim::Write).map_err(io::Error::other)?;
    held.write_new("job.fio".as_ref(), job.as_bytes(), Readers::Us)?;
    // fio puts the name of the server behind the names of its logs: it must have no slash.
    symlink("../s", path.join("s"))?;
    Ok(path)
}

/// What fio wrote in a directory: every regular file, by its name, with its length.
///
/// # Errors
/// It cannot be listed.
#[expect(clippy::disallowed_methods, reason = "files that our own fio wrote in our own directory")]
pub fn files(directory: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let (name, meta) = entry.and_then(|entry| Ok((entry.file_name(), entry.metadata()?)))?;
        if meta.is_file() {
            found.push((name.to_string_lossy().into_owned(), meta.len()));
        }
    }
    found.sort();
    Ok(found)
}

/// How long it may take to be gone once it was told to.
const LAST: Duration = Duration::from_millis(500);

/// Ends what works in a directory or below it, but for this process, after it had time to end by itself. The directory is this user's alone and has a name that nobody
/// guesses: what works there belongs to the run. Before Linux 5.3 no process can be held, and all of it ends by itself.
pub fn end_in(directory: &Path, grace: Duration) {
    let (root, begin) = (Root::live(), Instant::now());
    while begin.elapsed() < grace + LAST {
        let names = root.list("/proc").into_iter().filter_map(|name| name.parse().ok());
        let held: Vec<OwnedFd> = names.filter_map(|number| held(number, directory)).collect();
        if held.is_empty() {
            return;
        }
        for process in held.iter().filter(|_| begin.elapsed() > grace) {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// A process that works there, or whose group is led by one that does. It is held before it is asked where it works: the answer is that of
/// no other one, and the number of a group is nobody else's as long as somebody is in it.
fn held(number: i32, directory: &Path) -> Option<OwnedFd> {
    let process = Pid::from_raw(number).filter(|process| *process != getpid())?;
    let held = pidfd_open(process, PidfdFlags::empty()).ok()?;
    let works_there = |number: i32| {
        let place = readlink(format!("/proc/{number}/cwd"), Vec::new());
        place.is_ok_and(|place| Path::new(OsStr::from_bytes(place.as_bytes())).starts_with(directory))
    };
    // That of a kernel thread is 0, which `rustix` cannot say.
    let group = || getpgid(Some(nix::unistd::Pid::from_raw(number))).ok().map(nix::unistd::Pid::as_raw);
    (works_there(number) || group().is_some_and(works_there)).then_some(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_one_word_for_the_shell_of_the_user() {
        let token = Token::random().expect("random").of_host(3);
        let pushed = Pushed::new(vec![0; 10], Vec::new());
        let terms = Terms { seconds: 60, has_load: true };
        let line = on_host(&token, &pushed, terms);
        let inside = line.strip_prefix("exec sh -c '").and_then(|rest| rest.strip_suffix('\''));
        assert!(inside.is_some_and(|script| !script.contains('\'')), "{line}");
        assert!(line.contains(&token.to_string()) && line.contains("--fio fio"));
        assert!(on_input(&token, &pushed, terms).contains(inside.unwrap_or("?")));
        assert_ne!(Token::random(), Token::random());
    }
}
