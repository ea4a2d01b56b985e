//! `narrows compare`: which of two or more results is faster, and what was different? What changed from one capture to the next?

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;

use super::files::LARGEST;
use super::output::OutputArgs;
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, facts, output};
use narrows_answer::{Seen, is_apart, machine_input};
use narrows_paste::capture::foreign::{self, Bounded, Refusal};
use narrows_report::text;
use narrows_verdict::compare::{Input, Verdict};

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
    let comparison = narrows_answer::compare(&reference, &others)
        .map_err(|why| Failure::new(why.to_string()).hint(why.hint()))?;
    output::report(&comparison, &args.output, text::compare::document)?;
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
    let facts = facts::open(&[from.to_owned()], text.as_bytes(), Seen::default()).ok();
    facts.and_then(|facts| machine_input(&name, &text, &facts)).ok_or(refusal)
}
