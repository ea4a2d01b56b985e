//! The real outputs that mutants are made of.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use narrows_paste::capture::Text;
use narrows_paste::results::{Imported, Latency, Page, Side, Tool, read, unread};

/// Longer texts are logs and JSON of many jobs, which nobody quotes.
const LONGEST: usize = 24 << 10;

/// What a text says in one direction. Rates in bytes per second, latencies in nanoseconds, both rounded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Number {
    tool: Tool,
    direction: &'static str,
    rate: u64,
    iops: Option<u64>,
    mean_latency: Option<u64>,
    /// The mean without the time until an I/O is sent: the latency of an output of which no more is left.
    completion: Option<u64>,
}

impl Number {
    /// Whether it says the same as far as it says anything.
    fn is_part_of(&self, whole: &Self) -> bool {
        let is_same = |some: Option<u64>, all: Option<u64>| {
            some.is_none_or(|some| all.is_some_and(|all| is_alike(some, all)))
        };
        let is_of = |one: &Self| (one.tool, one.direction);
        // A copy of which it is not told whether it reads says less than one that reads.
        let is_either = is_of(self) == (Tool::Dd, "both");
        self.tool == whole.tool
            && (is_either || is_of(self) == is_of(whole))
            && is_alike(self.rate, whole.rate)
            && is_same(self.iops, whole.iops)
            && (is_same(self.mean_latency, whole.mean_latency)
                || is_same(self.mean_latency, whole.completion))
    }
}

/// Whether two numbers are the same one, rounded to three digits: fio prints each of its rates in several units and formats,
/// of which some are lost where lines were broken.
fn is_alike(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 200 <= one.max(other)
}

fn number(tool: Tool, direction: &'static str, side: &Side) -> Number {
    Number {
        tool,
        direction,
        rate: side.bytes_per_second.get().round() as u64,
        iops: side.iops.map(|iops| iops.get().round() as u64),
        mean_latency: side
            .latency_ns
            .as_ref()
            .and_then(|latency: &Latency| latency.mean)
            .map(|mean| mean.round() as u64),
        completion: side.completion_ns.map(|mean| mean.round() as u64),
    }
}

/// An output with what it says.
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) numbers: Vec<Number>,
    /// How much of it is said not to have been read.
    pub(crate) remarks: Remarks,
}

/// What is said of a text beside its numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remarks {
    /// Lines that were not read.
    pub(crate) lines: usize,
    /// Results that are a part of an output.
    pub(crate) parts: usize,
}

impl Remarks {
    /// Whether it is said that more was not read.
    pub(crate) const fn is_more_than(self, other: Self) -> bool {
        self.lines > other.lines || self.parts > other.parts
    }
}

pub(crate) fn remarks(text: &Text, found: &[Imported]) -> Remarks {
    Remarks {
        lines: unread(&page(text), found).iter().map(|one| one.lines.len()).sum(),
        parts: found.iter().filter(|one| one.truncated).count(),
    }
}

/// The results of a text, and the cleaned text.
pub(crate) fn results(bytes: &[u8]) -> (Vec<Imported>, Text) {
    let text = Text::new("paste.txt", bytes);
    let found = read(&page(&text));
    (found, text)
}

/// The text as parsers see it.
pub(crate) fn page(text: &Text) -> Page<'_> {
    Page { name: text.name(), body: text.body() }
}

pub(crate) fn numbers(found: &[Imported]) -> Vec<Number> {
    let mut all: Vec<Number> = Vec::new();
    for result in found {
        for one in &result.measurements {
            let both = [("both", &one.both), ("network", &one.network)];
            let others = both.into_iter().filter_map(|(word, side)| Some((word, side.as_ref()?)));
            let sides = one.sides().map(|(op, side)| (op.word(), side)).chain(others);
            all.extend(sides.map(|(word, side)| number(result.tool, word, side)));
        }
    }
    all.sort_unstable();
    all
}

/// Whether two lists say the same. Of an output that prints a run twice, as JSON and in words, one may be left, whose figures
/// have other digits.
pub(crate) fn is_same(some: &[Number], all: &[Number]) -> bool {
    some.len() == all.len() && is_part(some, all) && is_part(all, some)
}

/// Whether each of `some` says nothing but what one of `all` says, each of them once.
pub(crate) fn is_part(some: &[Number], all: &[Number]) -> bool {
    let mut left: Vec<&Number> = all.iter().collect();
    some.iter().all(|one| {
        let same = left.iter().position(|whole| one == *whole);
        same.or_else(|| left.iter().position(|whole| one.is_part_of(whole)))
            .map(|at| left.swap_remove(at))
            .is_some()
    })
}

/// Whether a copy is among these of which it is said that its direction is not known, and that is known in the others.
pub(crate) fn says_less_of_a_copy(some: &[Number], all: &[Number]) -> bool {
    let either =
        |list: &[Number]| list.iter().filter(|one| (one.tool, one.direction) == (Tool::Dd, "both")).count();
    either(some) > either(all)
}

/// Whether devices were watched, which is evidence beside a result and no result of its own.
pub(crate) fn is_activity(output: &Output) -> bool {
    output.numbers.iter().any(|one| matches!(one.tool, Tool::Iostat | Tool::Zpooliostat))
}

/// The outputs of the project, and of the directory that `NARROWS_RESULTS` names.
pub(crate) fn outputs() -> Vec<Output> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut roots: Vec<PathBuf> = ["result-cases", "result-samples"].map(|name| tests.join(name)).into();
    let more = env::var_os("NARROWS_RESULTS").filter(|name| !name.is_empty());
    roots.extend(more.map(PathBuf::from));
    let cases = roots.iter().map(|root| fs::read_dir(root).expect("a directory of cases"));
    let mut all: Vec<Output> = Vec::new();
    for case in cases.flatten().flatten() {
        for file in fs::read_dir(case.path()).into_iter().flatten().flatten() {
            let name =
                format!("{}/{}", case.file_name().to_string_lossy(), file.file_name().to_string_lossy());
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if text.len() >= LONGEST || name.ends_with("case.json") || all.iter().any(|one| one.text == text)
            {
                continue;
            }
            let (found, cleaned) = results(text.as_bytes());
            let (numbers, remarks) = (numbers(&found), remarks(&cleaned, &found));
            if !numbers.is_empty() {
                all.push(Output { name, text, numbers, remarks });
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}
