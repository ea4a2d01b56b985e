//! What people do to a text before they send it changes no number: each output of `tests/result-cases` and `tests/result-samples`, quoted, commented
//! out, stamped, wrapped, encoded and put beside others, gives the same rates of the same tool, or is not read.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads its own files")]

use std::fs;
use std::path::Path;

use narrows::capture::Text;
use narrows::results::{Page, Tool, read};

/// A number for each rate: the tool, the direction, bytes per second.
type Rates = Vec<(Tool, &'static str, u64)>;

/// Longer texts are logs and JSON of many jobs, which nobody quotes.
const LONGEST: usize = 24 << 10;

fn rates(text: &str) -> Rates {
    let text = Text::new("paste.txt", text.as_bytes());
    let results = read(&Page { name: text.name(), body: text.body() });
    let mut all: Rates = Vec::new();
    for result in &results {
        for one in &result.measurements {
            let both = [("both", &one.both), ("network", &one.network)];
            let others = both.into_iter().filter_map(|(word, side)| Some((word, side.as_ref()?)));
            for (word, side) in one.sides().map(|(op, side)| (op.word(), side)).chain(others) {
                all.push((result.tool, word, side.bytes_per_second.get().round() as u64));
            }
        }
    }
    all.sort_unstable();
    all
}

/// The outputs, by name, with their rates.
fn outputs() -> Vec<(String, String, Rates)> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut all = Vec::new();
    let cases = ["result-cases", "result-samples"]
        .map(|name| fs::read_dir(tests.join(name)).expect("there are cases"));
    for case in cases.into_iter().flatten().flatten() {
        for file in fs::read_dir(case.path()).into_iter().flatten().flatten() {
            let name =
                format!("{}/{}", case.file_name().to_string_lossy(), file.file_name().to_string_lossy());
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            let found = if text.len() < LONGEST && !name.ends_with("case.json") {
                rates(&text)
            } else {
                Rates::new()
            };
            if !found.is_empty() {
                all.push((name, text, found));
            }
        }
    }
    all.sort();
    all
}

fn each_line(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| change(at, line) + "\n").collect()
}

fn marked(mark: &str, text: &str) -> String {
    each_line(text, |_, line| format!("{mark}{line}"))
}

/// Broken at blanks, as mail programs break lines.
fn wrapped(width: usize, text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while rest.chars().count() > width {
            let end = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
            let Some(at) =
                rest[..end].trim_start().rfind(' ').map(|at| at + end - rest[..end].trim_start().len())
            else {
                break;
            };
            out.push_str(&rest[..at]);
            out.push('\n');
            rest = rest[at..].trim_start();
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

/// Encoded as mail does it, lines broken at 76 characters (RFC 2045).
fn printable(text: &str) -> String {
    each_line(text, |_, line| {
        let mut out = String::new();
        let mut width = 0;
        for byte in line.bytes() {
            let piece = match byte {
                b'=' | 0x80.. => format!("={byte:02X}"),
                byte => char::from(byte).to_string(),
            };
            if width + piece.len() > 75 {
                out.push_str("=\n");
                width = 0;
            }
            width += piece.len();
            out.push_str(&piece);
        }
        out
    })
}

/// What is done to a text, by name.
fn mutants(text: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> =
        ["> ", ">> ", "> > ", "# ", "// ", "| ", "% ", " * ", "    ", "\t", "    > "]
            .map(|mark| (format!("{mark:?}"), marked(mark, text)))
            .into();
    let stamp = |at: usize| format!("{:02}:{:02}:{:02}", 9 + at / 3600, at / 60 % 60, at % 60);
    all.push(("\\r\\n".into(), text.replace('\n', "\r\n")));
    all.push(("stamp".into(), each_line(text, |at, line| format!("{} DEBUG| [stdout] {line}", stamp(at)))));
    all.push((
        "journal".into(),
        each_line(text, |at, line| format!("Nov 23 {} host1 bench[{}]: {line}", stamp(at), 99 + at / 7)),
    ));
    all.push(("host".into(), marked("node-17: ", text)));
    all.push(("fence".into(), format!("It gave:\n```\n{text}\n```\nWhat limits it?\n")));
    all.push((
        "html".into(),
        format!("<pre>\n{}</pre>\n", text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")),
    ));
    all.push(("printable".into(), printable(text)));
    for width in [72, 76, 85] {
        all.push((format!("wrap {width}"), wrapped(width, text)));
        all.push((format!("wrap {width}, quoted"), marked("> ", &wrapped(width, text))));
    }
    all
}

/// Whether each rate of `some` is one of `all`, each of them once.
fn is_part(some: &Rates, all: &Rates) -> bool {
    let mut left = all.clone();
    some.iter().all(|one| left.iter().position(|other| one == other).map(|at| left.swap_remove(at)).is_some())
}

#[test]
fn no_quoting_makes_a_number_another() {
    let outputs = outputs();
    assert!(outputs.len() > 30, "{} outputs", outputs.len());
    let (mut count, mut same, mut other) = (0_usize, 0_usize, Vec::new());
    let mut unread = Vec::new();
    // Half of all, each way for every second output: the rest would take as long again.
    for (at, (name, text, known)) in outputs.iter().enumerate() {
        for (how, mutant) in mutants(text).into_iter().skip(at % 2).step_by(2) {
            let found = rates(&mutant);
            count += 1;
            same += usize::from(found == *known);
            if found != *known {
                unread.push(format!("{name} {how}"));
            }
            if !is_part(&found, known) {
                other.push(format!("{name} {how}: {found:?} for {known:?}"));
            }
        }
    }
    assert!(other.is_empty(), "{} of {count}:\n{}", other.len(), other.join("\n"));
    assert!(same * 100 >= count * 97, "{same} of {count} are the same, not these:\n{}", unread.join("\n"));
}

#[test]
fn outputs_beside_each_other_are_read_as_each_alone() {
    let mut outputs = outputs();
    // What devices carried is evidence beside a result, and no result.
    outputs.retain(|(_, _, known)| {
        !known.iter().any(|(tool, _, _)| matches!(tool, Tool::Iostat | Tool::Zpooliostat))
    });
    let mut other = Vec::new();
    // Each with the one 7 places behind it: all pairs would take minutes.
    for (at, (name, text, known)) in outputs.iter().enumerate() {
        let Some((beside, more, also)) = outputs.get((at + 7) % outputs.len()) else { continue };
        let mut want: Rates = known.iter().chain(also).copied().collect();
        want.sort_unstable();
        let found = rates(&format!("{text}\nand the other one:\n\n{more}"));
        if found != want {
            other.push(format!("{name} and {beside}: {found:?} for {want:?}"));
        }
    }
    assert!(other.is_empty(), "{} of {}:\n{}", other.len(), outputs.len(), other.join("\n"));
}
