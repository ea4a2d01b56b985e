//! Nothing is signalled that narrows did not start and does not still hold: each place that can is listed, in what runs here, in the
//! scripts that it sends to hosts, and in what is installed.

#![expect(clippy::disallowed_methods, reason = "a test reads the source tree and may panic")]

use std::fs;

use crate::sources;

/// Files that may, how often they name a way, and why what they signal is nobody else's.
const SENDERS: &[(&str, usize, &str)] = &[
    ("machine/program.rs", 1, "the option of setpriv by which a tool has itself ended with us"),
    ("narrows/cli/apart.rs", 3, "itself, when its parent ends; a child that was not waited for"),
    (
        "narrows/cli/fleet_run/on_host/keep.rs",
        2,
        "fio's server, a child: std sends nothing to one that was waited for",
    ),
    ("session/fleet/run.rs", 1, "fio's client, a child: std sends nothing to one that was waited for"),
    (
        "session/fleet/script.rs",
        2,
        "by pidfd: what works in the run's own directory, held before it was asked where it works",
    ),
    ("session/fleet/started.rs", 5, "a child that was not waited for, and the group that was made for it"),
];

/// Whether a word of a program, or of a shell, sends signals.
fn sends(word: &str) -> bool {
    let whole = ["kill", "killpg", "killall", "pkill", "tkill", "tgkill", "pthread_kill"];
    let parts = ["SIGUSR", "kill_process", "kill_current", "send_signal", "sigqueue", "pdeathsig"];
    whole.contains(&word) || parts.iter().any(|part| word.contains(part))
}

#[test]
fn only_what_was_started_here_and_is_held_is_signalled() {
    let mut senders = Vec::new();
    for (name, path) in sources::all().into_iter().chain(sources::others()) {
        let text = fs::read_to_string(path).expect("is text");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let words = code.flat_map(|line| line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
        let count = words.filter(|word| sends(word)).count();
        if count > 0 && !name.ends_with("tests.rs") {
            senders.push((name, count));
        }
    }
    senders.sort();
    let allowed: Vec<(String, usize)> =
        SENDERS.iter().map(|(name, count, _)| ((*name).to_owned(), *count)).collect();
    assert_eq!(senders, allowed);
}
