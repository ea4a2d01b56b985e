//! Which lines were read.

use std::ops::Range;

use narrows_base::units::{Bytes, Nanos};

use crate::results::number::{Base, Rounded, factor};
use crate::results::{Imported, Latency, Measured, Side, Tool};

/// A measurement, or a sum that was checked: where it stands, and its numbers.
struct Read {
    tool: Tool,
    line: usize,
    values: Vec<f64>,
}

/// The lines of one statistic of ioping stand so close.
const BESIDE: usize = 2;

/// How it is told that a line with the words of a tool was read.
enum Cover {
    /// A measurement of the tool stands so near.
    Lines(usize),
    /// A measurement of the tool stands here, or one of another of which this line may be a part too stands near.
    Here,
    /// A measurement of the tool stands here or so many lines above, or another has numbers of the line.
    Numbers(usize),
    /// A measurement of the tool stands here or in a line beside it, or is of more bytes and not far below.
    Progress,
    /// It is one of many that make one measurement: anything of the result that it stands in was read.
    Result,
    /// The same, where a line does not tell which result that is.
    Any,
}

impl Cover {
    const fn of(tool: Tool) -> Self {
        match tool {
            // Each of these is a line of its own.
            Tool::Hdparm | Tool::Iozone => Self::Lines(0),
            Tool::Nench => Self::Here,
            // A row of writes belongs to the row of reads above.
            Tool::Crystaldiskmark | Tool::Kdiskmark => Self::Numbers(0),
            Tool::Ioping => Self::Lines(BESIDE),
            Tool::Sysbench | Tool::Iouring => Self::Result,
            // What led to the end, sums of streams, tables of threads and directions, and JSON, which has each number many
            // times.
            Tool::Iperf3 | Tool::Btrfsscrub | Tool::Nvbandwidth | Tool::Vdbench | Tool::Yabs => Self::Any,
            Tool::Dd => Self::Progress,
            Tool::Diskspd => Self::Any,
            Tool::Fio => Self::Numbers(0),
            _ => Self::Numbers(1),
        }
    }
}

/// Whether what a tool printed is read as a part of what another prints, which calls it.
const fn is_of(inner: Tool, outer: Tool) -> bool {
    match inner {
        Tool::Ioping => matches!(outer, Tool::Nench),
        Tool::Nench => matches!(outer, Tool::Ioping),
        Tool::Dd => matches!(outer, Tool::Nench | Tool::Benchsh | Tool::Copy),
        Tool::Fio => matches!(outer, Tool::Yabs | Tool::Iouring | Tool::Sysbench),
        Tool::Ior | Tool::Mdtest => matches!(outer, Tool::Io500),
        Tool::Kdiskmark => matches!(outer, Tool::Crystaldiskmark),
        Tool::Crystaldiskmark => matches!(outer, Tool::Kdiskmark),
        _ => false,
    }
}

/// What was read.
pub(super) struct Known {
    all: Vec<Read>,
    /// The lines of each result: from where it begins to its last measurement.
    results: Vec<(Tool, Range<usize>)>,
    /// Tools of which a rate has no latency, and where it stands.
    without_latency: Vec<(Tool, usize)>,
}

impl Known {
    pub(super) fn of(found: &[Imported]) -> Self {
        let measured = found.iter().flat_map(|result| {
            let values = |one: &Measured| values(one).into_iter().filter(|value| *value > 0.0).collect();
            let all = result.measurements.iter();
            let read = all.map(move |one| Read { tool: result.tool, line: one.line, values: values(one) });
            // Of a sum the place is not told.
            let last = result.measurements.last().map_or(result.line, |one| one.line);
            let sums = result.derived.iter().flat_map(|one| [one.printed, one.computed]).collect();
            read.chain([Read { tool: result.tool, line: last, values: sums }])
        });
        let mut all: Vec<Read> = measured.collect();
        all.sort_by_key(|one| one.line);
        let lacks = |one: &Measured| one.sides().any(|(_, side)| side.latency_ns.is_none());
        let lines = |one: &Imported| {
            let last = one.measurements.iter().map(|one| one.line).max().unwrap_or(one.line);
            one.line..last + 1
        };
        Self {
            all,
            results: found.iter().map(|one| (one.tool, lines(one))).collect(),
            without_latency: found
                .iter()
                .flat_map(|one| {
                    one.measurements.iter().filter(|all| lacks(all)).map(|at| (one.tool, at.line))
                })
                .collect(),
        }
    }

    pub(super) fn has_tool(&self, tool: Tool) -> bool {
        self.results.iter().any(|(of, _)| *of == tool)
    }

    /// Whether a rate has no latency to which a line with one may belong.
    pub(super) fn is_without_latency(&self, tool: Tool, number: usize) -> bool {
        // The latencies of ioping stand below its rate, of which mail may have made two lines.
        let is_near = |line: usize| tool != Tool::Ioping || (line..=line + BESIDE + 1).contains(&number);
        self.without_latency.iter().any(|(of, line)| *of == tool && is_near(*line))
    }

    /// What of a tool was read in some lines.
    fn within(&self, tool: Tool, lines: Range<usize>) -> impl Iterator<Item = &Read> {
        let from = self.all.partition_point(|one| one.line < lines.start);
        let rest = self.all.get(from..).unwrap_or_default().iter();
        rest.take_while(move |one| one.line < lines.end)
            .filter(move |one| one.tool == tool || is_of(tool, one.tool))
    }

    /// Whether a measurement stands between a heading and the next one with this word. Of several lines of one heading the last
    /// has it.
    pub(super) fn is_below(&self, headings: &[(usize, &str)], word: &str, number: usize, tool: Tool) -> bool {
        /// The lines of one heading stand so close.
        const NEAR: usize = 3;
        let own = || headings.iter().filter(|(_, of)| *of == word).map(|(at, _)| *at);
        // A document of JSON begins above its first member, and so does all that it says.
        if tool == Tool::Fio {
            return self.within(tool, number.saturating_sub(NEAR)..number + 1).next().is_some();
        }
        let next = own().find(|at| *at > number + NEAR).unwrap_or(usize::MAX);
        self.within(tool, number..next).any(|one| !one.values.is_empty())
    }

    /// Whether lines that were put together to `text`, or one, were read.
    pub(super) fn has(&self, lines: Range<usize>, text: &str, tool: Tool) -> bool {
        /// What a tool prints behind its last measurement has fewer lines.
        const FAR: usize = 80;
        let near = |above: usize, below: usize| {
            self.within(tool, lines.start.saturating_sub(above)..lines.end + below)
                .filter(|one| !one.values.is_empty())
        };
        if is_nothing(text) {
            return true;
        }
        match Cover::of(tool) {
            Cover::Lines(reach) => near(reach, reach).next().is_some(),
            Cover::Here => near(0, 0).next().is_some() || near(BESIDE, BESIDE).any(|one| one.tool != tool),
            Cover::Progress => {
                let bytes = numbers(text).flatten().map(Rounded::value).fold(0.0, f64::max);
                let is_more = |one: &Read| one.values.iter().any(|value| *value > bytes);
                near(1, 1).next().is_some() || near(0, FAR).any(is_more)
            }
            Cover::Any => self.results.iter().any(|(of, _)| *of == tool || is_of(tool, *of)),
            Cover::Result => {
                let is_in = |of: &Range<usize>| of.start <= lines.start && lines.start < of.end + FAR;
                self.results.iter().any(|(of, all)| *of == tool && is_in(all))
            }
            Cover::Numbers(_) if tool == Tool::Fio && self.has_sum(&lines, text) => true,
            Cover::Numbers(above) => near(above, 0).next().is_some() || self.says(&lines, text, tool),
        }
    }

    /// Whether a measurement has most of the numbers of a line, or, far away, two of them at least: fio may print a job as JSON and in words.
    fn says(&self, lines: &Range<usize>, text: &str, tool: Tool) -> bool {
        /// What a tool prints of one measurement has fewer lines.
        const FAR: usize = 40;
        let all: Vec<Vec<Rounded>> = numbers(text).filter(|number| !number.is_empty()).collect();
        self.within(tool, 0..usize::MAX).any(|one| {
            let is_near = one.line + FAR >= lines.start && one.line <= lines.end + FAR;
            let is_said = |number: &&Vec<Rounded>| {
                let says = |in_a_unit: &Rounded| {
                    one.values.iter().any(|value| in_a_unit.agrees(Rounded::exact(*value)))
                };
                number.iter().any(says)
            };
            let count = all.iter().filter(is_said).count();
            2 * count >= all.len() && count > usize::from(!is_near)
        })
    }

    /// Of jobs that are known a group has the sums, and a progress display what led to the end.
    fn has_sum(&self, lines: &Range<usize>, text: &str) -> bool {
        /// What fio prints of one job has fewer lines, broken ones among them.
        const FAR: usize = 80;
        let is_group = ["READ:", "WRITE:", "TRIM:"].iter().any(|word| text.contains(word));
        let above = || self.within(Tool::Fio, lines.start.saturating_sub(FAR)..lines.start);
        let is_json_or_progress = text.trim_start().starts_with('"') || text.contains("eta ");
        is_json_or_progress && self.has_tool(Tool::Fio) || is_group && above().next().is_some()
    }
}

/// Whether each number of a line is zero: what was not run is printed as nothing.
fn is_nothing(text: &str) -> bool {
    let decimals = || text.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|word| word.contains('.'));
    let is_zero = |word: &str| word.chars().all(|c| matches!(c, '0' | '.'));
    let mut rates = decimals().filter(|word| word.len() > 1).peekable();
    rates.peek().is_some() && rates.all(is_zero)
}

/// The numbers of a line, each in the units that it may have.
fn numbers(line: &str) -> impl Iterator<Item = Vec<Rounded>> {
    let begins = |at: usize| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | ',' | ':'))
    };
    let starts = line.char_indices().filter(move |(at, c)| c.is_ascii_digit() && begins(*at));
    starts.filter_map(|(at, _)| Rounded::leading(line.get(at..)?)).map(|(number, rest)| {
        let word = rest.trim_start();
        let bits = if word.get(1..5) == Some("bits") { 0.125 } else { 1.0 };
        let time = match word {
            word if word.starts_with('u') => 1e3,
            word if word.starts_with("ms") => 1e6,
            word if word.starts_with('s') => 1e9,
            _ => 1.0,
        };
        // A digit or two are in everything, and so are the parts of a clock and the bits of a key.
        let is_plain = number.value() >= 100.0 && !rest.starts_with(|c: char| c.is_alphabetic() || c == ':');
        let factors = [factor(word, Base::Decimal) * bits, factor(word, Base::Binary) * bits, time];
        factors.into_iter().filter(|one| is_plain || *one > 1.0).map(|one| number.times(one)).collect()
    })
}

/// All numbers of a measurement.
fn values(one: &Measured) -> Vec<f64> {
    let sides = [&one.read, &one.write, &one.both, &one.network];
    let mut all: Vec<f64> = sides.into_iter().flatten().flat_map(of_side).collect();
    all.extend([one.syncs, one.entries].into_iter().flatten().map(|rate| rate.get()));
    all.extend([&one.latency_ns, &one.sync_ns].into_iter().flatten().flat_map(of_latency));
    all
}

fn of_side(side: &Side) -> impl Iterator<Item = f64> {
    let rates = [Some(side.bytes_per_second), side.second_rate].into_iter().flatten().map(|rate| rate.get());
    let others = [
        side.iops.map(|iops| iops.get()),
        side.bytes.map(Bytes::as_f64),
        side.elapsed_ns.map(Nanos::get).map(|nanos| nanos as f64),
    ];
    rates.chain(others.into_iter().flatten()).chain(side.latency_ns.as_ref().into_iter().flat_map(of_latency))
}

fn of_latency(latency: &Latency) -> impl Iterator<Item = f64> {
    [latency.mean, latency.max].into_iter().flatten()
}
