//! `narrows compare`: which of two or more results is faster, and what was different?

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::files::LARGEST;
use super::output::OutputArgs;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_paste::capture::foreign::{self, Bounded, Refusal};
use narrows_report::text;
use narrows_verdict::compare::{Comparison, Input, Verdict, compare_all};

/// Differences smaller than this do not count: one run says little of how much the next one would differ.
const THRESHOLD: f64 = 0.01;

/// What `compare` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct CompareArgs {
    /// The result to compare with: JSON of narrows, or of another tool as `narrows FILE` reads it; - is standard input
    pub a: PathBuf,

    /// The result to judge; of several each is compared with A, and their intervals hold together
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
    let Some(comparison) = compare_all(&reference, &others, THRESHOLD) else {
        return Err(
            Failure::new("there is one result, and nothing to compare it with").hint("name another file")
        );
    };
    output::report(&comparison, &args.output, text::compare::document)?;
    let is_told_apart = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Mixed);
    let is_apart = |one: &Comparison| is_told_apart(one.verdict) || is_told_apart(one.latency_verdict);
    Ok(match () {
        () if comparison.all().any(is_apart) => FINDINGS,
        () if comparison.all().any(|one| one.verdict == Verdict::NotComparable) => FAILED,
        () => NOTHING_FOUND,
    })
}

fn read(path: &Path) -> Result<Input, Failure> {
    let cannot =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot use `{}`: {error}", path.display()));
    let text = if path == Path::new("-") {
        let mut text = String::new();
        Bounded::new(io::stdin().lock(), LARGEST).read_to_string(&mut text).map(|_| text)
    } else {
        foreign::text(path, LARGEST)
    };
    let text = text.map_err(|error| cannot(&error).maybe_hint(Refusal::of(&error).map(Refusal::hint)))?;
    Input::parse(&path.display().to_string(), &text)
        .map_err(|error| cannot(&error).hint("make one with `narrows measure TARGET --json > FILE`"))
}
