//! `narrows compare`: which of two or more results is faster, and what was different? What changed from one capture to the next?

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::files::LARGEST;
use super::output::OutputArgs;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, answer, facts, output};
use narrows_model::path::build;
use narrows_paste::capture::Text;
use narrows_paste::capture::foreign::{self, Bounded, Refusal};
use narrows_report::text;
use narrows_verdict::Subject;
use narrows_verdict::compare::{Comparison, Input, PathChange, Verdict, compare_all};

/// Differences smaller than this do not count: one run says little of how much the next one would differ.
const THRESHOLD: f64 = 0.01;

/// What can be compared.
const COMPARED: &str =
    "compare results of `narrows measure TARGET --json` or of other tools, or captures of two machines";

/// What `compare` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CompareArgs {
    /// A result (JSON of narrows, or of another tool), or a capture or record of a machine; - is standard input
    pub a: PathBuf,

    /// What is compared with it; of several each is compared with A, and their intervals hold together
    #[arg(required = true)]
    pub b: Vec<PathBuf>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads the results, compares each with the first and shows what differs: 0 when nothing can be told apart, 1 when something can.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or holds no measurement.
pub(super) fn run(args: &CompareArgs) -> Result<u8, Failure> {
    let is_stdin = |path: &PathBuf| path.as_path() == Path::new("-");
    if args.b.iter().chain([&args.a]).filter(|path| is_stdin(path)).count() > 1 {
        return Err(
            Failure::new("only one result can come from standard input").hint("save the others in files")
        );
    }
    let reference = read(&args.a)?;
    let others: Vec<Input> = args.b.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let is_alike = others.iter().all(|other| other.is_measured() == reference.is_measured());
    if !is_alike {
        return Err(Failure::new("one of them holds a measurement, another a machine without one")
            .hint("compare two results, or two captures or records of machines"));
    }
    if !reference.is_measured() && others.len() > 1 {
        return Err(Failure::new("of machines two are compared")
            .hint("`narrows --fleet FILES` shows what many machines have in common and which differs"));
    }
    let Some(comparison) = compare_all(&reference, &others, THRESHOLD) else {
        return Err(
            Failure::new("there is one result, and nothing to compare it with").hint("name another file")
        );
    };
    output::report(&comparison, &args.output, text::compare::document)?;
    let is_told_apart = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Mixed);
    let is_apart = |one: &Comparison| {
        let differs = one.paths.iter().any(PathChange::differs) || !one.lines.is_empty();
        differs || is_told_apart(one.verdict) || is_told_apart(one.latency_verdict)
    };
    Ok(match () {
        () if comparison.all().any(is_apart) => FINDINGS,
        () if reference.is_measured()
            && comparison.all().any(|one| one.verdict == Verdict::NotComparable) =>
        {
            FAILED
        }
        () => NOTHING_FOUND,
    })
}

/// What one of the files says: measurements, else a machine.
fn read(path: &Path) -> Result<Input, Failure> {
    let name = path.display().to_string();
    let cannot = |error: &dyn std::fmt::Display| Failure::new(format!("cannot use `{name}`: {error}"));
    let text = if path == Path::new("-") {
        let mut text = String::new();
        Bounded::new(io::stdin().lock(), LARGEST).read_to_string(&mut text).map(|_| text)
    } else {
        foreign::text(path, LARGEST)
    };
    // What was read is not read again: a pipe is empty then.
    let (from, text, refusal) = match text {
        Ok(text) => match Input::parse(&name, &text) {
            Ok(found) => return Ok(found),
            Err(error) => (Path::new("-"), text, cannot(&error).hint(COMPARED)),
        },
        Err(error) => {
            let hint = Refusal::of(&error).map_or(COMPARED, Refusal::hint);
            (path, String::new(), cannot(&error).hint(hint))
        }
    };
    let Some(report) = machine(from, text.as_bytes()) else { return Err(refusal) };
    let text = Text::new(&name, text.as_bytes());
    Ok(Input::machine(&name, &report).with_lines(text.lines().map(|(_, line)| line)))
}

/// The report on the machine that a record or capture is of, if it is one.
fn machine(path: &Path, stdin: &[u8]) -> Option<serde_json::Value> {
    let facts = facts::open(&[path.to_owned()], stdin).ok().filter(|facts| facts.has_machine)?;
    let subjects: Vec<Subject> = build::all(&facts.machine).into_iter().map(Subject::of).collect();
    let (report, _) = answer::judged(&facts.machine, &subjects, Default::default(), None);
    serde_json::to_value(&report).ok()
}
