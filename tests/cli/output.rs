//! What the answer looks like for a person, a forum, a pipe and another program.

use std::process::Stdio;

use super::*;

#[test]
fn a_pipe_gets_no_colour_unless_it_is_asked_for() {
    assert!(!run(&[]).out.contains('\x1b'));
    assert!(run(&["--color", "always"]).out.contains('\x1b'));
    let ran = finish(narrows(&["/"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1"));
    assert!(!ran.out.contains('\x1b'), "{}", ran.out);
}

/// Runs narrows on a terminal of its own (util-linux `script`); `None` when that program is not there.
fn on_a_terminal(words: &str, no_color: bool) -> Option<String> {
    let mut command = Command::new("script");
    let typed = format!("timeout -s INT 5 '{}' {words}", crate::narrows_binary().display());
    command.args(["-q", "-c"]).arg(typed);
    command.arg("/dev/null").env("TERM", "xterm-256color").env_remove("NO_COLOR").env_remove("CLICOLOR");
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let output = command.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_terminal_gets_colour_unless_no_color_is_set() {
    let shown = |no_color| on_a_terminal("--color auto", no_color);
    let (Some(coloured), Some(without)) = (shown(false), shown(true)) else {
        return skip("a terminal gets colour", "the program `script` is missing");
    };
    assert!(coloured.contains("\x1b["), "{coloured:?}");
    assert!(!without.contains("\x1b["), "{without:?}");
}

#[test]
fn a_recorder_tells_whoever_looks_on_and_nobody_else() {
    let state = scratch_dir();
    let words = format!("watch --state '{}'", text(&state));
    let Some(seen) = on_a_terminal(&words, true) else {
        return skip("a recorder on a terminal", "the program `script` is missing");
    };
    assert!(seen.contains("began to watch") && seen.contains("ended"), "{seen:?}");
}

#[test]
fn plain_text_is_narrow_ascii() {
    for args in [&["--plain"][..], &["/", "--plain"]] {
        let out = run(args).out;
        assert!(out.is_ascii() && out.lines().count() > 2, "{out}");
        assert!(out.lines().all(|line| line.len() <= 78), "{out}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for args in [&[][..], &["--json"], &["--help"]] {
        let mut child =
            narrows(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        drop(child.stdout.take());
        let ran = Ran::from(child.wait_with_output().expect("it ends"));
        ran.answered();
    }
}

#[test]
fn a_full_disk_under_standard_output_is_a_failure() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return skip("a full disk under standard output", "there is no /dev/full");
    };
    let ran = finish(narrows(&["--json"]).stdout(full));
    assert_eq!(ran.status, Some(2));
    assert!(ran.err.starts_with("narrows: cannot write to standard output: No space left"), "{}", ran.err);
}

#[test]
fn why_explains_each_hop_of_a_path_and_lists_them_for_any_other() {
    let report = run(&["/", "--json"]).json();
    let hops = report["paths"][0]["hops"].as_array().expect("hops").clone();
    let ids: Vec<&str> = hops.iter().filter_map(|hop| hop["id"].as_str()).collect();
    for (hop, id) in hops.iter().zip(&ids) {
        let ran = run(&["/", "--why", id]);
        ran.answered();
        assert!(ran.out.contains(hop["name"].as_str().expect("a name")), "{id}: {}", ran.out);
    }
    run(&["/", "--why", "no-such-hop"])
        .refused(&format!("narrows: no hop is named `no-such-hop`\nhint: the hops are {}\n", ids.join(", ")));
}

#[test]
fn help_and_version_are_data() {
    let help = run(&["--help"]);
    help.answered();
    assert!(help.out.contains("Exit status:"), "{}", help.out);
    assert_eq!(run(&["--version"]).answered().out, format!("narrows {}\n", env!("CARGO_PKG_VERSION")));
}
