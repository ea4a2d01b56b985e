//! Help: short enough to be read, complete where everything is asked for, and told from a target.

use super::{finish, narrows, run};

/// The lines that fit on a page beside what was typed.
const PAGE: usize = 60;

/// Every command that help shows.
const COMMANDS: [&str; 11] =
    ["compare", "copy", "fleet", "guard", "lab", "measure", "plan", "predict", "snapshot", "top", "watch"];

/// What a terminal of 100 columns shows.
fn out(args: &[&str]) -> String {
    let ran = finish(narrows(args).env("COLUMNS", "100"));
    assert_eq!(ran.status, Some(0), "{args:?}: {}", ran.err);
    ran.out
}

#[test]
fn the_help_of_each_command_fits_a_page_and_is_all_there_is() {
    for command in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        let help = out(&[&words[..], &["--help"]].concat());
        let lines = help.lines().count();
        assert!(lines <= PAGE, "narrows {command} --help has {lines} lines, more than {PAGE}");
        assert_eq!(help, out(&[&["help"], &words[..]].concat()), "{command}");
        insta::assert_snapshot!(format!("help__{}", command.replace(' ', "_")), help);
    }
    let help = out(&["--help"]);
    assert!(help.lines().count() <= PAGE, "{help}");
    for command in COMMANDS.iter().filter(|command| !command.contains(' ')) {
        assert!(help.contains(&format!("\n  {command} ")), "narrows --help does not show {command}");
    }
    assert_eq!(help, out(&["help"]));
    insta::assert_snapshot!("help__narrows", help);
}

/// No stranger learns more names of options than these.
const NAMES: usize = 80;

#[test]
fn options_have_few_names() {
    let mut names = std::collections::BTreeSet::new();
    let all = COMMANDS.iter().map(|command| command.split(' ').collect::<Vec<_>>());
    for words in all.chain([Vec::new()]) {
        let help = out(&[&words[..], &["--help"]].concat());
        let options = help.lines().filter_map(|line| line.trim_start().strip_prefix('-'));
        let long = options.filter_map(|line| line.split("--").nth(1).or(line.strip_prefix('-')));
        names.extend(long.filter_map(|text| text.split([' ', '[', '=']).next().map(str::to_owned)));
    }
    let shared = ["help", "version"].into_iter().filter(|name| names.contains(*name)).count();
    assert_eq!(shared, 2, "{names:?}");
    assert!(names.len() - shared <= NAMES, "{} names: {names:?}", names.len());
}

#[test]
fn a_mistyped_command_is_told_from_a_target() {
    for args in [&["mesaure"][..], &["mesaure", "/srv"], &["predcit", "x.path.toml", "--json"]] {
        let ran = run(args);
        assert_eq!(ran.status, Some(2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("did you mean the command `narrows "), "{args:?}: {}", ran.err);
    }
    let device = run(&["/dev/mesaure"]);
    assert!(!device.err.contains("command"), "{}", device.err);
}

/// Former commands, with words that they took.
const FORMER: [&[&str]; 9] = [
    &["bench", "/srv", "--preset", "peak"],
    &["check"],
    &["check", "--from", "lspci.txt"],
    &["export", "--prometheus", "-"],
    &["import", "fio.json", "--json"],
    &["ladder", "/srv"],
    &["report", "run.json", "--html", "-"],
    &["sweep", "/srv", "--depths", "1"],
    &["/srv", "--measure=full"],
];

#[test]
fn a_former_command_is_answered_with_the_one_to_type() {
    for args in FORMER {
        let ran = run(args);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("hint: type `narrows "), "{args:?}: {}", ran.err);
    }
}
