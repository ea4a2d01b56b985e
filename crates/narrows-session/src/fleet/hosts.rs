//! The names of hosts: what may be typed, and what it stands for. A name goes into command lines and files, so that nothing but the
//! characters of host names is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use narrows_base::units::Bytes;

/// No list stands for more hosts.
pub const MOST: usize = 4096;

/// A host, as ssh is told it: `name`, `user@name`, an address, or a name of ssh's configuration.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// Takes a name if it is one.
    ///
    /// # Errors
    /// It has other characters than names of hosts have.
    pub fn new(text: &str) -> Result<Self, String> {
        let (user, name) = text.split_once('@').map_or((None, text), |(user, name)| (Some(user), name));
        let is_word = |word: &str, extra: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c) || extra.contains(c);
            let begins =
                word.chars().next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':');
            (1..=253).contains(&word.len()) && begins && word.chars().all(is_plain)
        };
        // A colon is in the address of an IPv6 host, which has two of them at least.
        let is_name = is_word(name, ":") && matches!(name.matches(':').count(), 0 | 2..);
        if is_name && user.is_none_or(|user| is_word(user, "")) {
            Ok(Self(text.to_owned()))
        } else {
            let are = "letters, digits, `.`, `-`, `_` and `:` are, with `user@` before them";
            Err(format!("`{}` is no name of a host: {are}", beginning(text)))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As much of a text as stands in a sentence.
fn beginning(text: &str) -> String {
    text.chars().take(100).collect()
}

fn too_many() -> String {
    format!("these are more than {MOST} hosts")
}

/// The hosts of a text: names between commas, white space or ends of lines, with ranges in brackets (`node[01-16,20]`). What
/// follows `#` in a line is a comment.
///
/// # Errors
/// Why it is no list of hosts.
pub fn parse(text: &str) -> Result<Vec<HostName>, String> {
    let mut hosts = Vec::new();
    let mut known = BTreeSet::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for word in words(line) {
            for name in expand(word)? {
                let host = HostName::new(&name)?;
                if !known.insert(host.clone()) {
                    return Err(format!("`{name}` is there twice"));
                }
                hosts.push(host);
                if hosts.len() > MOST {
                    return Err(too_many());
                }
            }
        }
    }
    if hosts.is_empty() { Err("there is no host in it".to_owned()) } else { Ok(hosts) }
}

/// The words of a line; a comma in brackets is part of a word.
fn words(line: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_end = |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c.is_whitespace() || c == ',' && depth <= 0
    };
    line.split(is_end).filter(|word| !word.is_empty()).collect()
}

/// `node[01-03,7]` → `node01`, `node02`, `node03`, `node7`. Numbers keep the width of the first.
fn expand(word: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = word.split_once('[') else { return Ok(vec![word.to_owned()]) };
    let refused = || format!("`{}` is no list such as node[01-16,20]", beginning(word));
    let (inside, after) = rest.split_once(']').ok_or_else(refused)?;
    let mut names = Vec::new();
    for part in inside.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let is_number =
                !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<usize>().ok()).flatten()
        };
        let (low, high) = number(first).zip(number(last)).ok_or_else(refused)?;
        if low > high {
            return Err(refused());
        }
        if high - low >= MOST {
            return Err(too_many());
        }
        for number in low..=high {
            for end in expand(after)? {
                names.push(format!("{before}{number:0width$}{end}", width = first.len()));
                if names.len() > MOST {
                    return Err(too_many());
                }
            }
        }
    }
    Ok(names)
}

/// What a host has and what its target is there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// fio's version, without `fio-`; absent where it is not installed.
    pub fio: Option<String>,
    /// The target; or why it is none.
    pub target: Option<Result<HostTarget, String>>,
    /// The ports of storage servers that this host uses.
    pub ports: Vec<u16>,
    /// Facts that may tell it from the others.
    pub facts: BTreeMap<String, String>,
    /// The drives of this host.
    pub drives: Vec<String>,
}

/// What a target is on its host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HostTarget {
    /// What kind of thing.
    pub kind: FoundKind,
    /// Its name there.
    pub name: String,
    /// The size of a device or file; absent of a directory and of an export.
    pub size: Option<Bytes>,
    /// What is free in a directory.
    pub free: Option<Bytes>,
    /// The storage server that it comes from.
    pub server: Option<String>,
    /// Kernel names of the drives that it lies on.
    pub drives: Vec<String>,
    /// The serial number of a device.
    pub serial: Option<String>,
}

/// Kinds of targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// A block device, which is read.
    #[default]
    Device,
    /// A file, which is read.
    File,
    /// A directory, in which a file without a name is made.
    Directory,
    /// An export of a network block device.
    Nbd,
}

/// A target that is held open for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub size: Bytes,
    /// Whether it is opened with `O_DIRECT`.
    pub is_direct: bool,
}

/// What the keeper says, and what a step says that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The server of fio is there.
    Ready,
    /// It will not be.
    Refused(String),
    /// The server of fio ended.
    Ended(String),
    /// So many jobs of a run sleep until they are told when it begins.
    Waiting {
        /// The number of the run.
        point: usize,
        /// How many jobs.
        jobs: usize,
    },
    /// The target is ready.
    Prepared(Prepared),
}

/// What the controller tells the keeper: when a run begins, on the host's clock, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Go {
    /// The number of the run.
    pub point: usize,
    /// When it begins.
    pub start_ns: u64,
}

/// The name of the file in the run's directory that a job which waits makes.
pub fn waiting_name(point: usize, process: u32) -> String {
    format!("waiting-{point}-{process}")
}

/// What the names of these files of one run begin with.
pub fn waiting_prefix(point: usize) -> String {
    format!("waiting-{point}-")
}

/// The name of the file in the run's directory that says when a run begins.
pub fn start_name(point: usize) -> String {
    format!("start-{point}")
}

/// The lock of a host: one controller at a time, whoever it is. It lies on the host's network, which is what the load of two would
/// share: a lock on a file of the kernel leaves no file behind, and is gone with whoever holds it.
/// It is held as long as the file is open.
///
/// # Errors
/// Another controller has it, or there is no `/proc`.
pub fn lock_host() -> Result<File, String> {
    lock("/proc/self/ns/net")
}

#[expect(clippy::disallowed_methods, reason = "a file of the kernel that is locked and not read")]
fn lock(path: &str) -> Result<File, String> {
    let file = File::open(path).map_err(|error| format!("cannot open {path}: {error}"))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| "another controller runs a load on this host".to_owned())?;
    Ok(file)
}

/// One question and its answer, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When we asked, on our clock.
    pub asked: u64,
    /// What the host's clock said.
    pub told: u64,
    /// When the answer came, on our clock.
    pub came: u64,
}

/// What a host's clock is ahead of ours, and by how much that may be wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offset {
    /// Ahead by so many nanoseconds; negative when it is behind.
    pub ahead_ns: i64,
    /// Half of the round trip: the host may have looked at its clock at any moment of it.
    pub uncertainty_ns: u64,
}

/// More than this is too uncertain for a common start: it is as long as the starts of all hosts may lie apart.
pub const MOST_UNCERTAIN_NS: u64 = 50_000_000;

/// The offset by the fastest of several round trips, which waited least. `None` of none.
pub fn offset(trips: &[RoundTrip]) -> Option<Offset> {
    let fastest =
        trips.iter().filter(|trip| trip.came >= trip.asked).min_by_key(|trip| trip.came - trip.asked)?;
    let half = (fastest.came - fastest.asked) / 2;
    let ours = i128::from(fastest.asked) + i128::from(half);
    let ahead_ns = i64::try_from(i128::from(fastest.told) - ours).ok()?;
    Some(Offset { ahead_ns, uncertainty_ns: half.max(1) })
}

impl Offset {
    /// A moment of our clock on the host's.
    pub const fn on_host(self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        parse(text).expect("is a list").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lists_files_and_ranges_are_hosts() {
        assert_eq!(names("a,b c\n# all\nroot@10.0.0.1 # the fast one\n"), ["a", "b", "c", "root@10.0.0.1"]);
        assert_eq!(names("node[08-10,3].x"), ["node08.x", "node09.x", "node10.x", "node3.x"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        assert_eq!(names("fe80::1"), ["fe80::1"]);
        assert_eq!(names("c[1-1024]").len(), 1024);
    }

    fn is_refused(text: &str, why: &str) -> bool {
        parse(text).is_err_and(|said| said.contains(why))
    }

    #[test]
    fn what_a_shell_or_ssh_would_obey_is_no_host() {
        for text in [
            "-oProxyCommand=id",
            "a;id",
            "a$(id)",
            "`id`",
            "a'b",
            "a\"b",
            "user@-x",
            "@a",
            "a@",
            "a@b@c",
            "../a",
            "a/b",
            "ho\u{308}st",
            "a:22",
            ".a",
            "a\\b",
            "a\u{0}b",
            "a&b",
            "a|b",
            "{host}",
        ] {
            assert!(is_refused(text, "is no name of a host"), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(is_refused("a,b,a", "`a` is there twice"));
        assert!(is_refused(" # nothing\n", "no host"));
        for text in ["a[", "a[]", "a[1", "a[x-y]", "a[5-2]", "a[1-2-3]", "a[12345678901]"] {
            assert!(is_refused(text, "is no list such as"), "{text}");
        }
        assert!(is_refused("a[1-99999]", "more than 4096 hosts"));
        assert!(is_refused("a[1-99]b[1-99]", "more than 4096 hosts"));
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_name_has_more_than_its_characters(text in "\\PC{0,60}") {
            for host in parse(&text).unwrap_or_default() {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
                prop_assert!(host.as_str().chars().all(is_plain) && !host.as_str().starts_with('-'));
            }
        }
    }

    #[test]
    fn the_second_controller_is_refused_until_the_first_is_gone() {
        // Others on this machine may hold that of the network.
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("is text");
        let first = lock(path).expect("is free");
        assert!(lock(path).is_err_and(|why| why.contains("another controller")));
        drop(first);
        assert!(lock(path).is_ok());
    }

    #[test]
    fn the_fastest_round_trip_counts() {
        let hour = 3_600_000_000_000;
        let trips = [
            RoundTrip { asked: 1_000_000, told: hour + 90_000_000, came: 101_000_000 },
            RoundTrip { asked: 200_000_000, told: hour + 200_300_000, came: 200_600_000 },
        ];
        let offset = offset(&trips).expect("has trips");
        assert_eq!(offset, Offset { ahead_ns: hour as i64, uncertainty_ns: 300_000 });
        assert_eq!(offset.on_host(5), hour + 5);
        assert_eq!(super::offset(&[]), None);
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_uncertainty(
            ahead in -7_200_000_000_000i64..7_200_000_000_000,
            trips in prop::collection::vec((0u64..1_000_000_000, 1u64..100_000_000, 0.0f64..1.0), 1..9),
        ) {
            let base = 1_700_000_000_000_000_000u64;
            let trips: Vec<RoundTrip> = trips.into_iter().map(|(at, length, part)| {
                let asked = base + at;
                let seen = asked + (length as f64 * part) as u64;
                RoundTrip { asked, told: seen.saturating_add_signed(ahead), came: asked + length }
            }).collect();
            let found = offset(&trips).expect("has trips");
            prop_assert!(found.ahead_ns.abs_diff(ahead) <= found.uncertainty_ns + 1);
        }
    }
}
