//! Names, arguments and texts of others reach a terminal only in a form that it does not obey.
//!
//! Every command is given each hostile word wherever it takes one: as a target, as the name of a file that is there and of
//! one that is not, inside a description, a capture, a saved run and a fleet. What comes out has no control character but
//! the end of a line and, where it was asked for, colours of our own; JSON stays JSON.

use std::fs;
use std::path::Path;

use super::*;

/// What a terminal obeys, or shows otherwise than it is: ESC sequences, C1, BEL, backspace, carriage return, NUL (in files
/// only), bidirectional controls, zero widths, line and paragraph separators, tags.
const HOSTILE: [&str; 12] = [
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07",
    "\x1bPq\x1b\\",
    "\x07\x08\x0b\x0c\r",
    "\u{9b}31m\u{9d}0;x\u{9c}",
    "\x7f",
    "\u{202e}gnp\u{202c}",
    "\u{2066}a\u{2069}\u{61c}",
    "\u{200b}\u{200d}\u{feff}\u{2060}",
    "\u{2028}\u{2029}",
    "\u{e0041}\u{ad}\u{3164}",
    "a\nhint: run another program\n",
];

/// Asserts that nothing in `text` would be obeyed. The only line ends are those of lines that we write.
fn is_inert(text: &str, what: &str) {
    let obeyed = |c: &char| {
        *c != '\n' && (c.is_control() || narrows::report::sanitize::one_line(&c.to_string()) != c.to_string())
    };
    let found: Vec<char> = text.chars().filter(obeyed).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
    let forged = text.lines().any(|line| line.starts_with("hint: run another program"));
    assert!(!forged, "{what}: {text:?}");
}

/// Without the colours that are ours.
fn without_colours(text: &str) -> String {
    ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"]
        .iter()
        .fold(text.to_owned(), |text, own| text.replace(own, ""))
}

/// Runs narrows and looks at all that it says.
fn said(args: &[&str], what: &str) {
    said_by(run(args), args, what);
}

fn said_by(ran: Ran, args: &[&str], what: &str) {
    is_inert(&ran.out, &format!("{what}: {args:?} on standard output"));
    is_inert(&ran.err, &format!("{what}: {args:?} on standard error"));
    if args.contains(&"--json") && !ran.out.is_empty() {
        // A fleet is one value in each line.
        let mut values = serde_json::Deserializer::from_str(&ran.out).into_iter::<Value>();
        assert!(values.all(|value| value.is_ok()), "{args:?}: {}", ran.out);
    }
}

#[test]
fn typed_words_are_shown_and_not_obeyed() {
    let place = scratch_dir();
    for hostile in HOSTILE {
        let word = format!("x{hostile}y");
        let set = format!("a.b={hostile}");
        for args in [
            &[word.as_str()][..],
            &["--why", &word],
            &["--path", &word],
            &[&word, "--fleet"],
            &["/dev/shm", "--fleet", "--since", &word],
            &["measure", &word],
            &["--json", &word],
            &["--ceiling", &word, "/dev/null"],
            &["compare", &word, &word],
            &["predict", &word],
            &["predict", "--set", &set, &word],
            &["plan", &word],
            &["plan", "--board", &word],
            &["plan", "--board", "asus-x99-a", "--cpu", &word],
            &["guard", &word],
            &["guard", "/dev/null", "--i-own", &word],
            &["measure", "--as", "kdiskmark", &word],
            &["measure", "--as", &word],
            &["measure", "--resume", &word],
            &["measure", "--as", "kdiskmark", "/dev/shm", "--duration", &word],
            &["measure", "--as", "sweep", &word],
            &["measure", "--resume", &word],
            &["measure", "--as", "sweep", "--block-size", &word, "."],
            &["measure", "--as", "layers", &word],
            &["copy", &word, &word],
            &["copy", "/dev/null", &word],
            &["lab", &word],
            &["lab", "--undo", "--journal", &word],
            &["lab", "--layouts", &word, "/dev/null"],
            &["snapshot", "-o", &word],
            &[&format!("--{word}")],
            &["--color", &word],
        ] {
            // `snapshot -o` makes the file that it was told to make.
            said_by(finish(narrows(args).current_dir(place.path())), args, "typed");
        }
    }
}

/// A directory whose files have hostile names and hostile texts.
fn hostile_files(dir: &Path) -> Vec<(String, &'static str)> {
    let mut files = Vec::new();
    for (number, hostile) in HOSTILE.iter().enumerate() {
        let toml = format!(
            "[host.a]\nmodel = \"{number}{hostile}\"\n[drive.\"{hostile}\"]\nwidth = \"{hostile}\"\n"
        );
        let listing = format!(
            "/sys/class/dmi/id/product_name:X{hostile}\n/sys/block/sd{hostile}/size:10\n\
             /sys/block/sda/device/model:M{hostile}\n/sys/block/sda/size:10000000\n/sys/block/sda/queue/rotational:1\n"
        );
        let fio = format!(
            "{{\"fio version\":\"fio-3.{hostile}\",\"jobs\":[{{\"jobname\":{},\"job options\":{{\"filename\":{}}},\
             \"read\":{{\"io_bytes\":4096,\"bw_bytes\":4096,\"bw\":4,\"iops\":1,\"runtime\":1000,\"total_ios\":1}}}}]}}",
            serde_json::to_string(hostile).expect("is JSON"),
            serde_json::to_string(&format!("/dev/{hostile}")).expect("is JSON"),
        );
        let run = format!(
            "{{\"schema\":\"{hostile}\",\"runs\":[{{\"measurement\":{{\"workload\":{{\"name\":{}}},\"bytes_per_second\":1}}}}]}}",
            serde_json::to_string(hostile).expect("is JSON")
        );
        let fleet = format!(
            "{{\"record\":\"fleet\",\"schema\":\"narrows/fleet/1\",\"tool\":{{\"name\":\"narrows\",\"version\":\"0\"}},\"since\":null}}\n\
             {{\"record\":\"host\",\"host\":{host},\"vendor\":{host},\"product\":{host},\"board\":null,\"bios\":null,\"kernel\":null,\
             \"cpu\":null,\"memory_bytes\":null,\"paths\":0,\"links\":[],\"failure\":null,\"notes\":[{host}]}}\n",
            host = serde_json::to_string(hostile).expect("is JSON")
        );
        for (kind, text) in [
            ("path.toml", toml),
            ("txt", listing),
            ("fio.json", fio),
            ("run.json", run),
            ("jsonl", fleet.clone()),
            ("bad.jsonl", fleet.replace("\"paths\":0", &format!("\"pa{hostile}"))),
            ("bin", format!("\0{hostile}")),
        ] {
            let name = dir.join(format!("{number}{}.{kind}", hostile.replace(['\0', '/'], "_")));
            fs::write(&name, text).expect("is ours");
            files.push((name.to_str().expect("is text").to_owned(), kind));
        }
    }
    files
}

#[test]
fn names_and_texts_of_files_are_shown_and_not_obeyed() {
    let dir = scratch_dir();
    let empty = scratch_dir();
    for (file, kind) in hostile_files(dir.path()) {
        let file = file.as_str();
        let readers: &[&[&str]] = match kind {
            "path.toml" => &[&["predict", file], &["plan", file], &["predict", "--json", file]],
            "txt" => &[
                &[file],
                &[file, "--json"],
                &[file, "--plain"],
                &[file, "--to-path", "-"],
                &[file, "--why", "device"],
            ],
            "fio.json" => &[
                &[file],
                &["--json", file],
                &["--csv", file],
                &["compare", file, file],
                &["compare", "--json", file, file],
            ],
            "run.json" => {
                &[&["compare", file, file], &["measure", "--resume", file], &["measure", "--resume", file]]
            }
            "jsonl" | "bad.jsonl" => &[
                &[text(&empty), "--fleet", "--since", file],
                &[text(&empty), "--fleet", "--since", file, "--csv"],
                &[text(&empty), "--fleet", "--since", file, "--json"],
            ],
            _ => &[&[file], &["compare", file, file], &["predict", file]],
        };
        for args in readers {
            said(args, kind);
        }
    }
    for args in [
        &[text(&dir)][..],
        &["predict", text(&dir)],
        &[text(&dir), "--fleet"],
        &[text(&dir), "--fleet", "--csv"],
        &[text(&dir), "--fleet", "--json"],
    ] {
        said(args, "a directory of them");
    }
}

#[test]
fn colours_are_ours_alone() {
    let dir = scratch_dir();
    for (file, kind) in
        hostile_files(dir.path()).iter().filter(|(_, kind)| matches!(*kind, "txt" | "fio.json"))
    {
        let ran = run(&[file.as_str(), "--color", "always"]);
        is_inert(&without_colours(&ran.out), kind);
        is_inert(&ran.err, kind);
    }
}
