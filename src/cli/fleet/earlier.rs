//! An earlier look at a fleet: the JSON lines of a run, or a directory of captures.
#![expect(clippy::disallowed_methods, reason = "the file was named on the command line")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::{entries, pool};
use crate::cli::Failure;
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_report::fleet::{Record, SCHEMA};
use narrows_verdict::cohort::{Change, Host};

/// The longest line that is read, in bytes; a host has a few kilobytes.
const LONGEST: u64 = 4 << 20;

/// The most of an earlier run that is read, in bytes: all of its hosts are held at once.
const LARGEST: u64 = 2 << 30;

const HINT: &str = "--since takes what `--fleet --json` wrote, or a directory of captures";

/// The hosts of an earlier run, by name.
///
/// # Errors
/// [`Failure`] when `path` cannot be read, or is neither a directory nor the JSON lines of a run.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Host>, Failure> {
    let unreadable = |error: std::io::Error| {
        let hint = Refusal::of(&error).map_or(HINT, Refusal::hint);
        Failure::new(format!("cannot read `{}`: {error}", path.display())).hint(hint)
    };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        return analysed(path);
    }
    let opened = foreign::open(path, LARGEST).map_err(unreadable)?;
    lines(BufReader::new(opened))
        .map_err(|why| Failure::new(format!("cannot use `{}`: {why}", path.display())).hint(HINT))
}

fn analysed(path: &Path) -> Result<BTreeMap<String, Host>, Failure> {
    let captures = entries::find(&[path.to_owned()])?;
    let mut hosts = BTreeMap::new();
    pool::each(&captures, super::analysed, super::broken, |host| {
        hosts.insert(host.host.clone(), host);
        ControlFlow::Continue(())
    })
    .map_err(|error| Failure::new(format!("cannot start a thread: {error}")))?;
    Ok(hosts)
}

/// Reads records line by line. A host that was gone then, and a finding, is none of that run.
fn lines(mut from: impl BufRead) -> Result<BTreeMap<String, Host>, String> {
    let mut hosts: BTreeMap<String, Host> = BTreeMap::new();
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        (&mut from).take(LONGEST).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if line.is_empty() && number > 1 {
            break;
        }
        if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
            return Err(format!("line {number} is longer than {} MiB", LONGEST >> 20));
        }
        match serde_json::from_slice::<Record>(&line) {
            Ok(Record::Fleet { schema, .. }) if number == 1 && schema == SCHEMA => {}
            _ if number == 1 => return Err(format!("its first line is not that of a run (schema {SCHEMA})")),
            Err(error) => return Err(format!("line {number}: {error}")),
            Ok(Record::Host { host, change }) if change != Some(Change::Gone) => {
                hosts.insert(host.host.clone(), *host);
            }
            Ok(Record::Finding { host, found, change }) if change != Some(Change::Gone) => {
                if let Some(host) = hosts.get_mut(&host) {
                    host.findings.push(*found);
                }
            }
            Ok(_) => {}
        }
    }
    Ok(hosts)
}

/// A door for the fuzzer: what a file of `--since` says of hosts.
#[cfg(feature = "fuzzing")]
pub fn fuzz(bytes: &[u8]) -> Vec<Host> {
    lines(bytes).map(|hosts| hosts.into_values().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = r#"{"record":"fleet","schema":"narrows/fleet/1","tool":{"name":"narrows","version":"0"},"since":null}"#;

    fn host(name: &str, change: &str) -> String {
        format!(
            r#"{{"record":"host","host":"{name}","vendor":null,"product":null,"board":null,"bios":null,"kernel":null,"cpu":null,"memory_bytes":null,"paths":0,"links":[],"failure":null,"notes":[]{change}}}"#
        )
    }

    fn finding(host: &str, subject: &str, change: &str) -> String {
        format!(
            r#"{{"record":"finding","host":"{host}","code":"slot_limited","severity":"limit","confidence":"high","place":"slot 1","subject":"{subject}","hop":null,"state":null,"summary":"s","advice":null{change}}}"#
        )
    }

    fn read(text: &str) -> Result<BTreeMap<String, Host>, String> {
        lines(text.as_bytes())
    }

    #[test]
    fn what_a_run_wrote_is_read_back_and_what_was_gone_then_is_not() {
        let text = [
            HEAD.to_owned(),
            host("a", ""),
            finding("a", "x", ""),
            finding("a", "y", r#","change":"gone""#),
            host("b", r#","change":"gone""#),
            finding("b", "z", r#","change":"gone""#),
        ]
        .join("\n");
        let hosts = read(&text).expect("is a run");
        assert_eq!(hosts.keys().collect::<Vec<_>>(), ["a"]);
        let subjects: Vec<&str> = hosts["a"].findings.iter().map(|found| found.subject.as_str()).collect();
        assert_eq!(subjects, ["x"]);
    }

    #[test]
    fn what_is_no_run_is_refused_with_the_line() {
        for text in ["", "{}", "host,vendor\n", &host("a", "")] {
            assert!(read(text).is_err_and(|why| why.contains("first line")), "{text}");
        }
        let cut = format!("{HEAD}\n{}", &host("a", "")[..40]);
        assert!(read(&cut).is_err_and(|why| why.contains("line 2")));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = lines([HEAD.as_bytes(), b"\n", &bytes].concat().as_slice());
        }
    }
}
