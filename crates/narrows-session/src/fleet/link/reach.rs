//! How commands are started on hosts, and what they answer: by ssh, or by a launcher of the user's.

#![expect(
    clippy::disallowed_types,
    reason = "ssh or a launcher, on a socket of our own directory, is how hosts are reached"
)]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::fleet::hosts::HostName;
use crate::fleet::script::{self, Pushed, Terms, Token};
use crate::fleet::started::{LinkError, Started, output};
use narrows_base::shell;
use narrows_machine::program;
use narrows_machine::root::{FileKind, Root};

/// How long a host may take to answer before it counts as unreachable.
pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How long all of a push may take, and a step that moves no data.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// No reason is longer, in characters.
const LONGEST_REASON: usize = 200;

/// How hosts are reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// A configuration file for ssh in the place of the user's.
    pub ssh_config: Option<PathBuf>,
    /// What starts commands on hosts in the place of ssh.
    pub launcher: Option<Launcher>,
    /// Once it is raised, nobody is waited for any more.
    pub stop: Arc<AtomicBool>,
}

impl Reach {
    /// What starts the shell that keeps a run's directory on a host, and what that has to read before it begins.
    pub(super) fn keeper(
        &self,
        host: &HostName,
        control: &Path,
        token: &Token,
        (pushed, terms): (&Pushed, Terms),
    ) -> Result<(Command, String), LinkError> {
        if self.launcher.is_some() {
            return Ok((self.start(host, control, true, &["sh"])?, script::on_input(token, pushed, terms)));
        }
        let line = script::on_host(token, pushed, terms);
        Ok((self.start(host, control, true, &[&line])?, String::new()))
    }

    /// What does a step in the run's directory `remote` on a host.
    pub(super) fn step(
        &self,
        host: &HostName,
        control: &Path,
        (remote, words): (&str, &str),
    ) -> Result<Command, LinkError> {
        let program = format!("{remote}/narrows");
        let line = [program.as_str(), "fleet-host", "--directory", remote].into_iter();
        let line: Vec<&str> = line.chain(words.split_whitespace()).collect();
        self.start(host, control, false, &line)
    }

    /// What starts a command of plain words on a host.
    fn start(
        &self,
        host: &HostName,
        control: &Path,
        is_first: bool,
        words: &[&str],
    ) -> Result<Command, LinkError> {
        let Some(launcher) = &self.launcher else {
            let mut command = ssh(self, control, is_first).ok_or_else(not_installed)?;
            command.arg("--").arg(host.as_str()).args(words);
            return Ok(command);
        };
        let mut command = launcher.command(host, words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// What starts commands on hosts, for people.
    pub(super) fn name(&self) -> String {
        self.launcher.as_ref().map_or_else(|| "ssh".to_owned(), Launcher::name)
    }

    /// A command on a host as a person would type it.
    pub(super) fn typed(&self, host: &HostName, command: &str) -> String {
        match &self.launcher {
            Some(launcher) => launcher.typed(host, command),
            None => format!("ssh {host} {command}"),
        }
    }
}

/// What ssh is told beside the host.
pub(super) fn ssh(reach: &Reach, control: &Path, is_master: bool) -> Option<Command> {
    let mut command = program::command(&Root::live(), "ssh")?;
    for name in ["HOME", "SSH_AUTH_SOCK", "USER", "LOGNAME", "KRB5CCNAME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(config) = &reach.ssh_config {
        command.arg("-F").arg(config);
    }
    let mut path = OsString::from("ControlPath=");
    path.push(control);
    command.arg("-o").arg(path);
    let master = if is_master { "ControlMaster=yes" } else { "ControlMaster=no" };
    let seconds = format!("ConnectTimeout={}", CONNECT.as_secs());
    // A host that is gone is known within 4 s. Ports that a configuration forwards stay shut.
    for option in [
        master,
        "ControlPersist=no",
        "BatchMode=yes",
        &seconds,
        "ServerAliveInterval=1",
        "ServerAliveCountMax=3",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "RequestTTY=no",
        "LogLevel=ERROR",
        "StreamLocalBindUnlink=yes",
        "StreamLocalBindMask=0177",
    ] {
        command.arg("-o").arg(option);
    }
    if is_master {
        command.args(["-o", "ClearAllForwardings=yes"]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// The whole answer of a step.
pub(super) fn answer(mut command: Command, input: &[u8], stop: &AtomicBool) -> Result<Vec<u8>, LinkError> {
    let done = output(&mut command, input, PATIENCE, stop)?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    let first: String = first.chars().take(LONGEST_REASON).collect();
    Err(match done.status.code() {
        Some(255) => LinkError::Unreachable(said_by("ssh", &first)),
        _ => LinkError::Refused(first.trim_start_matches("narrows: ").to_owned()),
    })
}

/// The text of the POSIX collector on a host, which needs nothing there but a shell.
pub(in crate::fleet) fn collect(
    reach: &Reach,
    host: &HostName,
    directory: &Path,
    collector: &str,
) -> Result<Vec<u8>, LinkError> {
    let mut command = reach.start(host, &directory.join("c"), false, &script::COLLECT)?;
    command.current_dir(directory).stdin(Stdio::piped());
    let text = match answer(command, collector.as_bytes(), &reach.stop) {
        Ok(text) if text.is_empty() => Err("it says nothing".to_owned()),
        text => text.map_err(|error| error.to_string()),
    };
    text.map_err(|why| LinkError::Unreachable(format!("neither narrows nor the collector runs there: {why}")))
}

/// What ssh or a launcher says, with its name before it once.
pub(super) fn said_by(name: &str, said: &str) -> String {
    let before = format!("{name}: ");
    format!("{before}{}", said.trim_start_matches(&before))
}

pub(super) fn not_installed() -> LinkError {
    LinkError::Unreachable(format!("ssh is not installed here ({})", program::places()))
}

/// What stands for the host in a launcher.
pub const HOST: &str = "{host}";

/// A command that starts another one on a host. It is cut into words once, as a shell does it and by no shell, and only then the host is
/// put into each word that names it: no name becomes two words, an option or a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    words: Vec<String>,
}

/// Why a text is no launcher whose quotation marks are no pairs.
const QUOTE: &str = "a quotation mark has no second one";

impl Launcher {
    /// Takes the text of a launcher, and finds its program.
    ///
    /// # Errors
    /// Why it is none.
    pub fn new(root: &Root, text: &str) -> Result<Self, String> {
        let mut words = words(text)?.into_iter();
        let name = words.next().filter(|name| !name.is_empty() && !name.contains(HOST));
        let name = name.ok_or("the first word must be a program")?;
        let words: Vec<String> = words.collect();
        if !words.iter().any(|word| word.contains(HOST)) {
            return Err(format!("no word has {HOST} in it"));
        }
        let program = match name.contains('/') {
            // What is started works in another directory.
            true => std::path::absolute(&name).ok().filter(|path| is_there(root, path)),
            false => program::find(root, &name).or_else(|| in_path(root, &name)),
        };
        let missing = || format!("`{name}` is not installed ({})", program::places());
        Ok(Self { program: program.ok_or_else(missing)?, words })
    }

    /// What starts `command` on a host. The launcher is the user's own and gets their environment, as `srun` needs it. Some launchers
    /// hand on words and others one line for a shell: each word of `command` has to be the same to both.
    pub(super) fn command(&self, host: &HostName, command: &[&str]) -> Command {
        let mut started = program::cleared(self.program.clone());
        // clush is Python, which holds what goes into a pipe back until there is much of it.
        started.envs(std::env::vars_os()).env("PYTHONUNBUFFERED", "1").args(self.of_host(host)).args(command);
        started
    }

    fn of_host(&self, host: &HostName) -> impl Iterator<Item = String> {
        self.words.iter().map(|word| word.replace(HOST, host.as_str()))
    }

    /// A command on a host, as a person would type it.
    pub(super) fn typed(&self, host: &HostName, command: &str) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(self.of_host(host)).map(|word| shell::word(&word));
        format!("{} {command}", words.collect::<Vec<_>>().join(" "))
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// A program of the user's own `PATH`; of root's nothing but what the system installed is taken.
fn in_path(root: &Root, name: &str) -> Option<PathBuf> {
    if nix::unistd::geteuid().is_root() {
        return None;
    }
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|place| place.join(name)).find(|path| is_there(root, path))
}

fn is_there(root: &Root, path: &Path) -> bool {
    root.kind(&path.to_string_lossy()) == Some(FileKind::File)
}

/// The words of a text: between white space, with `'…'`, `"…"` and backslashes as a shell has them. Nothing else is special.
fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut mark = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (mark, c) {
            (Some(open), c) if c == open => mark = None,
            (None, '\'' | '"') => {
                mark = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                word.get_or_insert_default().push(characters.next().ok_or(QUOTE)?);
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if mark.is_some() { Err(QUOTE) } else { Ok(words) }
}

/// Bytes of a line, before they are text.
const PIECE: usize = 48 << 10;
/// No line is longer.
const LONGEST: u64 = 1 << 17;
/// How often is looked for somebody who connects.
const GLANCE: Duration = Duration::from_millis(20);

/// A socket that leads to a host's fio until this is dropped.
pub(super) struct Bridge {
    ended: Arc<AtomicBool>,
    children: Arc<Mutex<Vec<Started>>>,
}

impl Bridge {
    /// Listens on `socket`; `start` makes the command that hands on one connection.
    pub(super) fn open(
        socket: &Path,
        start: impl Fn() -> Option<Command> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        let (ended, children) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let bridge = Self { ended: ended.clone(), children: children.clone() };
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        // A connection that nobody hands on is closed, which its client sees.
                        if let Some(Ok(child)) = start().map(|command| joined(stream, command)) {
                            children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
                        }
                    }
                    Err(_) => thread::sleep(GLANCE),
                }
            }
        });
        Ok(bridge)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.children.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Joins a connection with a process.
fn joined(stream: UnixStream, mut command: Command) -> io::Result<Started> {
    stream.set_nonblocking(false)?;
    let from = stream.try_clone()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut started = Started::new(&mut command).map_err(io::Error::other)?;
    if let (Some(input), Some(out)) = (started.child.stdin.take(), started.child.stdout.take()) {
        thread::spawn(move || as_lines(from, input));
        thread::spawn(move || {
            let _ = as_bytes(BufReader::new(out), &stream);
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
    Ok(started)
}

/// Hands bytes on as lines of text, until they end.
///
/// # Errors
/// What reading or writing answers.
pub fn as_lines(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let length = from.read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        let line = STANDARD.encode(piece.get(..length).unwrap_or_default()) + "\n";
        to.write_all(line.as_bytes())?;
        to.flush()?;
    }
}

/// Hands lines of text on as bytes, until they end.
///
/// # Errors
/// What reading or writing answers, and `InvalidData` where a line is none of [`as_lines`].
pub fn as_bytes(mut from: impl BufRead, mut to: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut from).take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let bytes = decoded(&line).ok_or(io::ErrorKind::InvalidData)?;
        to.write_all(&bytes)?;
        to.flush()?;
    }
}

/// The bytes of one line.
fn decoded(line: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(line.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words_of(text: &str) -> Vec<String> {
        words(text).expect("has words")
    }

    #[test]
    fn words_are_those_of_a_shell_and_nothing_in_them_is_obeyed() {
        assert_eq!(words_of("srun -w {host}  -N1"), ["srun", "-w", "{host}", "-N1"]);
        assert_eq!(words_of(r#"a 'b c' "d \"e\"" f\ g '' h'i'j"#), ["a", "b c", "d \"e\"", "f g", "", "hij"]);
        assert_eq!(words_of("a $(id) `id` ;id|id>x *"), ["a", "$(id)", "`id`", ";id|id>x", "*"]);
        for text in ["a 'b", "a \"b", "a \\"] {
            assert_eq!(words(text), Err(QUOTE), "{text}");
        }
    }

    #[test]
    fn a_launcher_has_a_program_and_a_place_for_the_host() {
        let root = Root::live();
        let of = |text: &str| Launcher::new(&root, text);
        for (text, wanted) in [
            ("", "must be a program"),
            ("{host} sh", "must be a program"),
            ("env -i", "no word has {host} in it"),
            ("no-such-program {host}", "`no-such-program` is not installed"),
        ] {
            assert!(of(text).is_err_and(|why| why.contains(wanted)), "{text}");
        }
        assert!(of("./no/such {host}").is_err());
        let launcher = of("env HOST={host} 'a b'").expect("is one");
        let host = HostName::new("node07").expect("is a name");
        let command = launcher.command(&host, &["sh"]);
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["HOST=node07", "a b", "sh"]);
        let typed = launcher.typed(&host, "rm -rf /tmp/x");
        assert!(typed.ends_with("/env HOST=node07 'a b' rm -rf /tmp/x"), "{typed}");
    }

    proptest! {
        #[test]
        fn quoted_words_are_the_same_words(all in prop::collection::vec("\\PC{0,8}", 1..5)) {
            let text = all.iter().map(|word| shell::word(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words_of(&text), all);
        }

        #[test]
        fn no_host_adds_a_word(name in "\\PC{1,20}", text in "[a-z ]{0,10}") {
            if let Ok(host) = HostName::new(&name) {
                let launcher = Launcher::new(&Root::live(), &format!("env {text} --w={{host}} {{host}}")).expect("is one");
                let before = words_of(&text).len();
                let command = launcher.command(&host, &["sh"]);
                prop_assert_eq!(command.get_args().count(), before + 3);
            }
        }
    }

    #[test]
    fn what_is_no_line_of_ours_ends_it() {
        assert!(as_bytes(io::Cursor::new("a message of the day\n"), io::sink()).is_err());
        assert_eq!(decoded(b"AAE=\r\n"), Some(vec![0, 1]));
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in prop::collection::vec(any::<u8>(), 0..200_000)) {
            let (mut lines, mut back) = (Vec::new(), Vec::new());
            as_lines(io::Cursor::new(&bytes), &mut lines).expect("is written");
            prop_assert!(lines.is_ascii());
            as_bytes(io::Cursor::new(&lines), &mut back).expect("is written");
            prop_assert_eq!(back, bytes);
        }
    }
}
