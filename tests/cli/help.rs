//! Help: short enough to be read, complete where everything is asked for, and told from a target.

use super::{finish, narrows, run};

/// The lines that fit on a page beside what was typed.
const PAGE: usize = 60;

/// Every command that help shows.
const COMMANDS: [&str; 13] = [
    "bench", "compare", "copy", "fleet", "guard", "lab", "ladder", "plan", "predict", "snapshot", "sweep",
    "top", "watch",
];

/// What a terminal of 80 columns shows.
fn out(args: &[&str]) -> String {
    let ran = finish(narrows(args).env("COLUMNS", "80"));
    assert_eq!(ran.status, Some(0), "{args:?}: {}", ran.err);
    ran.out
}

#[test]
fn the_help_of_each_command_fits_a_page_and_says_where_the_rest_is() {
    for command in COMMANDS {
        let help = out(&[command, "--help"]);
        let lines = help.lines().count();
        assert!(
            lines <= PAGE,
            "narrows {command} --help has {lines} lines, more than {PAGE}: hide the options that \
             few need from it (`hide_short_help = true`); --help-all shows them"
        );
        assert!(help.contains("--help-all"), "{help}");
        insta::assert_snapshot!(format!("help__{command}"), help);
    }
    let help = run(&["--help"]).out;
    assert!(help.lines().count() <= PAGE, "{help}");
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "narrows --help does not show {command}");
    }
    insta::assert_snapshot!("help__narrows", help);
}

#[test]
fn the_whole_help_is_the_same_by_both_ways_and_longer() {
    for command in COMMANDS {
        let whole = out(&[command, "--help-all"]);
        assert_eq!(whole, out(&["help", command]), "{command}");
        assert!(whole.lines().count() > out(&[command, "-h"]).lines().count(), "{command}");
    }
    assert_eq!(out(&["--help-all"]), out(&["help"]));
}

#[test]
fn a_mistyped_command_is_told_from_a_target() {
    for args in [&["benhc"][..], &["benhc", "/srv"], &["predcit", "x.path.toml", "--json"]] {
        let ran = run(args);
        assert_eq!(ran.status, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("did you mean the command `narrows "), "{args:?}: {}", ran.err);
    }
    let device = run(&["/dev/benhc"]);
    assert!(!device.err.contains("command"), "{}", device.err);
}

/// Former commands, with words that they took.
const FORMER: [&[&str]; 5] = [
    &["check"],
    &["check", "--from", "lspci.txt"],
    &["export", "--prometheus", "-"],
    &["import", "fio.json", "--json"],
    &["report", "run.json", "--html", "-"],
];

#[test]
fn a_former_command_is_answered_with_the_one_to_type() {
    for args in FORMER {
        let ran = run(args);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("hint: type `narrows "), "{args:?}: {}", ran.err);
    }
}
