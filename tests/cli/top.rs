//! `narrows top`: one look for a program, and the screen in a real terminal.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

#[test]
fn one_look_follows_the_schema_and_says_why_something_is_absent() {
    let ran = run(&["top", "--interval", "200ms", "--json"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let json: Value = serde_json::from_str(&ran.out).expect("is JSON");
    let validator = jsonschema::validator_for(&schema::of("top")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(json["elapsed_ns"].as_u64() >= Some(200_000_000), "{json}");
    for lane in json["lanes"].as_array().expect("a list") {
        let is_unknown = lane["read"]["ceiling_bytes_per_second"].is_null();
        assert!(!is_unknown || lane["reason"].is_string(), "{lane}");
    }
    assert!(!json["fullest_hop"].is_null() || json["reason"].is_string(), "{json}");
}

#[test]
fn text_for_the_public_is_ascii() {
    let ran = run(&["top", "--plain", "--interval", "200ms"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.out.is_ascii() && ran.out.lines().all(|line| line.len() <= 78), "{}", ran.out);
}

#[test]
fn what_top_cannot_do_is_said() {
    for (args, why) in [
        (&["top", "/no/such/thing"][..], "no/such/thing"),
        (&["top", "--interval", "1ms"], "between 100 ms and 60 s"),
    ] {
        let ran = run(args);
        assert_eq!(ran.status, Some(2), "{args:?}");
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
    // Without a terminal it is one look.
    assert!(!run(&["top"]).out.is_empty());
}

/// A terminal in which narrows runs, and which ends with it.
struct Terminal(String);

impl Terminal {
    fn start(columns: u16, rows: u16) -> Self {
        let terminal = Self(format!("narrows-top-{}-{columns}", std::process::id()));
        let program = format!("exec {} top --interval 200ms", crate::narrows_binary().display());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.ask(&["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows, &program]);
        terminal
    }

    fn ask(&self, args: &[&str]) -> String {
        let tmux = Command::new("tmux")
            .args(["-L", &self.0, "-u"])
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .stdin(Stdio::null())
            .output()
            .expect("tmux starts");
        String::from_utf8_lossy(&tmux.stdout).into_owned()
    }

    /// What stands on the screen, once it holds `text`.
    fn shows(&self, text: &str) -> String {
        let began = Instant::now();
        loop {
            let screen = self.ask(&["capture-pane", "-p"]);
            if screen.contains(text) {
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "`{text}` never came:\n{screen}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    /// The process of narrows.
    fn process(&self) -> String {
        self.ask(&["list-panes", "-F", "#{pane_pid}"]).trim().to_owned()
    }

    fn is_over(&self) -> bool {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if self.ask(&["list-sessions"]).is_empty() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

#[test]
fn the_screen_of_a_terminal_shows_the_lanes_and_obeys_keys() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return skip("the screen of top", "tmux is not installed");
    }
    for (columns, rows, widest) in [(80, 24, "latency"), (140, 40, "ceiling")] {
        let terminal = Terminal::start(columns, rows);
        let screen = terminal.shows("? help");
        assert!(screen.starts_with("narrows top  all storage paths"), "{screen}");
        assert!(screen.lines().nth(1).is_some_and(|head| head.contains(widest)), "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
        terminal.press("?");
        terminal.shows("hide the hops over which nothing moves");
        terminal.press("Escape");
        terminal.shows("written");
        terminal.press("Space");
        terminal.shows("paused");
        terminal.press("-");
        terminal.shows("every 400 ms");
        terminal.press("q");
        assert!(terminal.is_over(), "q ends it");
    }
}

#[test]
fn a_terminal_that_is_gone_ends_top() {
    if Command::new("tmux").arg("-V").output().is_err() {
        return skip("top without its terminal", "tmux is not installed");
    }
    let terminal = Terminal::start(100, 30);
    terminal.shows("? help");
    let process = terminal.process();
    terminal.ask(&["kill-server"]);
    // Nobody may have waited for it yet.
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let began = Instant::now();
    while is_running() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let was_left = is_running();
    if was_left {
        let _ = Command::new("kill").args(["-KILL", &process]).status();
    }
    assert!(!process.is_empty() && !was_left, "process {process}");
}
