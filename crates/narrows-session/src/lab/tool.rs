//! Runs the tools that build and undo, with the key of a lab's encrypted volumes.

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;

use super::recipe::Means;
use super::step::{Call, Input};
use crate::Failure;
use narrows_machine::program;
use narrows_machine::root::Root;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;

/// The programs of this machine.
#[derive(Debug)]
pub struct Tools {
    found: BTreeMap<&'static str, PathBuf>,
    has_udev: bool,
    /// How a program is started that ends with us, as soon as that was asked for.
    leash: Option<Option<PathBuf>>,
}

/// The package of Debian that has a program.
fn package(program: &str) -> &'static str {
    match program {
        "mdadm" => "mdadm",
        "tcplay" => "tcplay",
        "zpool" | "zfs" => "zfsutils-linux",
        "cryptsetup" => "cryptsetup-bin",
        "lvm" => "lvm2",
        "dmsetup" => "dmsetup",
        "mkfs.ext4" => "e2fsprogs",
        "mkfs.xfs" => "xfsprogs",
        "mkfs.btrfs" => "btrfs-progs",
        _ => "util-linux",
    }
}

impl Tools {
    /// Looks for programs as they are asked for. `root` tells whether udev makes the nodes of devices.
    pub fn new(root: &Root) -> Self {
        Self { found: BTreeMap::new(), has_udev: root.exists("/run/udev/control"), leash: None }
    }

    /// What decides of which steps cells on devices of these sizes in bytes are made.
    pub fn means(&mut self, root: &Root, sizes: &[u64]) -> Means {
        let mut has = |program| self.find(root, program).is_some();
        Means {
            tcplay: has("tcplay") && has("cryptsetup"),
            zfs: has("zpool") && has("zfs"),
            smallest: sizes.iter().copied().min().unwrap_or(0),
            total: sizes.iter().sum(),
        }
    }

    fn find(&mut self, root: &Root, program: &'static str) -> Option<PathBuf> {
        if !self.found.contains_key(program) {
            self.found.insert(program, program::find(root, program)?);
        }
        self.found.get(program).cloned()
    }

    /// How a tool is started: one that writes to a slice of its own accord ends when we are killed, before somebody else takes the
    /// device for free. Tools that leave a mapping suspended when they are killed do not.
    fn leash(&mut self, root: &Root, program: &str) -> Option<PathBuf> {
        let writes = program.starts_with("mkfs.");
        writes.then(|| self.leash.get_or_insert_with(|| program::leash(root)).clone()).flatten()
    }

    /// Runs one command line to its end. It inherits the lock of the journal, and a group of its own, so that Ctrl-C ends
    /// us and not what it is doing.
    ///
    /// # Errors
    /// It is not installed, cannot be started, or failed; with what it said.
    pub fn run(&mut self, root: &Root, call: &Call, key: &Key) -> Result<(), Failure> {
        self.output(root, call, key).map(drop)
    }

    /// As [`run`](Self::run), with what it printed.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn output(&mut self, root: &Root, call: &Call, key: &Key) -> Result<String, Failure> {
        let program = call.program;
        let path = self.find(root, program).ok_or_else(|| {
            Failure::new(format!("`{program}` is not installed"))
                .hint(format!("install the package {}", package(program)))
        })?;
        let mut command = program::on_leash(path, self.leash(root, program));
        command.args(&call.arguments).env("LVM_SUPPRESS_FD_WARNINGS", "1").current_dir("/").process_group(0);
        if !self.has_udev {
            // The tools of the device mapper then make their nodes themselves and wait for nobody.
            command.env("DM_DISABLE_UDEV", "1");
        }
        let failed = |error: io::Error| Failure::new(format!("cannot run `{program}`: {error}"));
        command.stdin(stdin(call.input, key).map_err(failed)?);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = program::spawn(&mut command).map_err(failed)?;
        // Its end of the pipe must be nobody else's.
        drop(command);
        let output = child.wait_with_output().map_err(failed)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = last_lines(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
        Err(Failure::new(format!("`{call}` failed ({}): {said}", output.status)))
    }
}

/// The standard input of a tool, already filled: all that any gets fits into a pipe, so nothing waits.
///
/// tcplay takes whatever one read gives for one answer. So each answer is a packet of its own (pipe(2), `O_DIRECT`), which
/// one read takes and no more, however slow or fast the tool is. Others may read a key in parts, which loses the rest of a
/// packet.
fn stdin(input: Input, key: &Key) -> io::Result<Stdio> {
    if input == Input::Nothing {
        return Ok(Stdio::null());
    }
    let packets = if input == Input::Answers { OFlag::O_DIRECT } else { OFlag::empty() };
    let (theirs, ours) = pipe2(OFlag::O_CLOEXEC | packets)?;
    let (mut ours, passphrase) = (File::from(ours), key.passphrase());
    match input {
        Input::Nothing => {}
        Input::Key => ours.write_all(key.bytes())?,
        Input::Passphrase => ours.write_all(passphrase.text())?,
        Input::Answers => {
            for answer in [passphrase.line(), passphrase.line(), b"y\n"] {
                ours.write_all(answer)?;
            }
        }
    }
    Ok(theirs.into())
}

/// The last lines of a text, in one.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(3);
    lines.get(last..).unwrap_or_default().join("; ")
}

/// Bytes that are overwritten when they are not needed any more.
struct Wiped<const LENGTH: usize>([u8; LENGTH]);

impl<const LENGTH: usize> Drop for Wiped<LENGTH> {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from leaving out a write that nobody reads.
        black_box(&self.0);
    }
}

/// 64 random bytes: two keys of AES-256, as XTS takes them.
pub struct Key(Wiped<64>);

impl Key {
    /// A new key.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = Wiped([0; 64]);
        getrandom::fill(&mut key.0)?;
        Ok(Self(key))
    }

    /// Its bytes, for the pipe to a tool.
    pub(super) const fn bytes(&self) -> &[u8; 64] {
        &self.0.0
    }

    /// It as a line of text, for tools that take a passphrase.
    pub(super) fn passphrase(&self) -> Passphrase {
        let mut text = Wiped([b'\n'; LETTERS + 1]);
        for (letter, byte) in text.0.iter_mut().zip(self.bytes().iter().take(LETTERS)) {
            *letter = match byte % 64 {
                value @ 0..26 => b'a' + value,
                value @ 26..52 => b'A' + (value - 26),
                value @ 52..62 => b'0' + (value - 52),
                62 => b'-',
                _ => b'.',
            };
        }
        Passphrase(text)
    }
}

/// The length of a passphrase: 288 random bits, and below the 63 characters that tcplay(8) takes.
const LETTERS: usize = 48;

/// A passphrase: letters, digits and two signs, six random bits each.
pub(super) struct Passphrase(Wiped<{ LETTERS + 1 }>);

impl Passphrase {
    /// As one types it, with the end of the line.
    pub(super) const fn line(&self) -> &[u8] {
        &self.0.0
    }

    /// Without the end of the line.
    pub(super) fn text(&self) -> &[u8] {
        self.line().get(..LETTERS).unwrap_or_default()
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(call: &Call) -> Result<(), Failure> {
        let root = Root::live();
        Tools::new(&root).run(&root, call, &Key::random().unwrap())
    }

    #[test]
    fn what_a_tool_says_is_in_the_error() {
        let error = run(&Call::new("ls", ["--", "/no/such/place"])).unwrap_err();
        assert!(error.to_string().contains("/no/such/place"), "{error}");
        assert!(run(&Call::new("true", [""; 0])).is_ok());
        let missing = run(&Call::new("no-such-tool", [""; 0])).unwrap_err();
        assert_eq!(missing.to_string(), "`no-such-tool` is not installed");
    }

    #[test]
    fn the_key_comes_through_the_pipe_and_nowhere_else() {
        // Fails unless exactly 64 bytes come.
        let call = Call::new("sh", ["-c", "test \"$(wc -c)\" -eq 64"]);
        assert!(run(&Call { input: Input::Key, ..call.clone() }).is_ok());
        assert!(run(&call).is_err());
        assert_eq!(format!("{:?}", Key::random().unwrap()), "Key");
    }

    #[test]
    fn each_answer_is_read_alone_however_late() {
        // What dd reads at once must be a line of 48 letters, the same again, and then y.
        let script = "sleep 0.2; one=$(dd bs=4096 count=1 2>/dev/null); two=$(dd bs=4096 count=1 2>/dev/null); \
                      test ${#one} = 48 && test \"$one\" = \"$two\" && test \"$(cat)\" = y";
        let call = Call::new("sh", ["-c", script]);
        assert!(run(&Call { input: Input::Answers, ..call.clone() }).is_ok());
        assert!(run(&Call { input: Input::Passphrase, ..call }).is_err());
        let text = Call::new("sh", ["-c", "test \"$(wc -c)\" -eq 48"]);
        assert!(run(&Call { input: Input::Passphrase, ..text }).is_ok(), "no end of a line");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        assert_eq!(last_lines("a\nb\n\nc\nd\n"), "b; c; d");
        assert_eq!(last_lines(""), "");
    }

    #[test]
    fn a_passphrase_is_one_line_of_plain_letters_and_as_random_as_the_key() {
        let (one, other) = (Key::random().unwrap().passphrase(), Key::random().unwrap().passphrase());
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.".contains(byte);
        assert!(one.text().iter().all(is_plain) && one.text().len() == LETTERS);
        assert_eq!(one.line().strip_suffix(b"\n"), Some(one.text()));
        assert_ne!(one.text(), other.text());
        let all = Key(Wiped(std::array::from_fn(|index| index as u8))).passphrase();
        let letters: std::collections::BTreeSet<&u8> = all.text().iter().collect();
        assert_eq!(letters.len(), LETTERS, "each value has a letter of its own");
    }
}
