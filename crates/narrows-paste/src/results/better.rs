//! Of two readings of one text, the one that says more at each place where both found something of a tool.

use std::ops::Range;

use super::{Imported, Measured, Side, Tool};
use crate::text::wrap::Whole;

/// What both readings found of one tool in lines that overlap.
struct BetterPlace {
    tool: Tool,
    lines: Range<usize>,
    plain: Vec<Imported>,
    whole: Vec<Imported>,
}

/// At each place the results that say more: those of `found` stay where both say the same. A reading that is not sure tells
/// only of places where the other has nothing. A line with a measurement that is in the reading that was not taken, and has
/// none in the other, was not read.
pub(super) fn take_better(found: &mut Vec<Imported>, reading: &Whole, whole: Vec<Imported>) {
    for place in places(std::mem::take(found), reading, whole) {
        let is_better = place.is_better(reading);
        let BetterPlace { plain, whole, .. } = place;
        let (mut kept, other) = if is_better { (whole, plain) } else { (plain, whole) };
        note_lost(&mut kept, &other, reading, is_better);
        found.append(&mut kept);
    }
}

/// The results of both readings, those together that overlap and are of one tool.
fn places(plain: Vec<Imported>, reading: &Whole, whole: Vec<Imported>) -> Vec<BetterPlace> {
    let of = |results: Vec<Imported>, is_whole: bool| {
        let all = spans(&results);
        results.into_iter().zip(all).map(move |(one, lines)| {
            let tool = one.tool;
            let (plain, whole) = if is_whole { (Vec::new(), vec![one]) } else { (vec![one], Vec::new()) };
            BetterPlace { tool, lines, plain, whole }
        })
    };
    let mut all: Vec<BetterPlace> = of(plain, false).chain(of(whole, true)).collect();
    // A line that was put together begins where its first part does.
    all.iter_mut().for_each(|place| place.lines.start = reading.begin_of(place.lines.start));
    all.sort_by_key(|place| (place.tool, place.lines.start));
    let mut joined: Vec<BetterPlace> = Vec::new();
    for place in all {
        match joined.last_mut().filter(|last| last.tool == place.tool && last.lines.end > place.lines.start) {
            Some(last) => {
                last.lines.end = last.lines.end.max(place.lines.end);
                last.plain.extend(place.plain);
                last.whole.extend(place.whole);
            }
            None => joined.push(place),
        }
    }
    joined
}

fn first(result: &Imported) -> usize {
    result.measurements.iter().map(|one| one.line).chain([result.line]).min().unwrap_or_default()
}

/// The lines that each result may be of: its first and last are not told, so that it reaches to the next one of its tool, and
/// the first of all begins with the text.
fn spans(results: &[Imported]) -> Vec<Range<usize>> {
    let span = |one: &Imported| {
        let others = || results.iter().filter(|other| other.tool == one.tool).map(first);
        let begin = if others().any(|line| line < first(one)) { first(one) } else { 0 };
        begin..others().filter(|line| *line > first(one)).min().unwrap_or(usize::MAX)
    };
    results.iter().map(span).collect()
}

impl BetterPlace {
    /// Whether the reading of lines that were put together is to be taken.
    fn is_better(&self, reading: &Whole) -> bool {
        let Self { plain, whole, .. } = self;
        let all = |results: &[Imported]| results.iter().map(said).sum::<i64>();
        let is_known = plain.iter().any(|one| !one.is_empty());
        let may_be = reading.is_sure || !is_known || says_all(plain, whole);
        // A reading that only lost what contradicts the others is no better one.
        let has_wrong = plain.iter().any(|one| one.derived.iter().any(|one| !one.agrees()));
        let only_loses = is_known && (whole.is_empty() || has_wrong && says_all(whole, plain));
        may_be && !only_loses && all(whole) > all(plain)
    }
}

/// Says in the last of the results that were kept where the others have a measurement more.
fn note_lost(kept: &mut [Imported], other: &[Imported], reading: &Whole, kept_is_whole: bool) {
    /// A measurement stands where its rate does, or where its job begins, a line or two above.
    const NEAR: usize = 2;
    let lines = |results: &[Imported]| -> Vec<usize> {
        let mut all: Vec<usize> =
            results.iter().flat_map(|one| one.measurements.iter().map(|one| one.line)).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (known, found) = (lines(kept), lines(other));
    let count = |all: &[usize], range: &Range<usize>| {
        all.partition_point(|at| *at < range.end) - all.partition_point(|at| *at < range.start)
    };
    let lost = found.iter().copied().filter(|line| {
        let begin = if kept_is_whole { reading.begin_of(*line) } else { *line };
        let end = reading.end_of(*line).saturating_add(1);
        let around = begin.saturating_sub(NEAR)..end.saturating_add(NEAR);
        let has_less = |range: &Range<usize>| count(&known, range) < count(&found, range);
        has_less(&(begin..end)) && has_less(&around)
    });
    if let Some(last) = kept.last_mut() {
        last.unread.extend(lost);
    }
}

/// Whether a reading has each number that another has, of as many measurements: it adds and changes none.
fn says_all(some: &[Imported], all: &[Imported]) -> bool {
    let measured = |results: &'_ [Imported]| -> Vec<Measured> {
        results.iter().flat_map(|one| one.measurements.iter().cloned()).collect()
    };
    let (some, all) = (measured(some), measured(all));
    some.len() == all.len() && some.iter().zip(&all).all(|(one, whole)| is_part(one, whole))
}

fn is_part(some: &Measured, all: &Measured) -> bool {
    let sides = |one: &Measured| [&one.read, &one.write, &one.both, &one.network].map(Clone::clone);
    sides(some).iter().zip(&sides(all)).all(|pair| match pair {
        (None, None) => true,
        (Some(some), Some(all)) => {
            let is_kept = |a: Option<f64>, b: Option<f64>| a.is_none() || a == b;
            let mean = |side: &Side| side.latency_ns.as_ref().and_then(|latency| latency.mean);
            some.bytes_per_second == all.bytes_per_second
                && is_kept(some.iops.map(|iops| iops.get()), all.iops.map(|iops| iops.get()))
                && is_kept(mean(some), mean(all))
        }
        _ => false,
    })
}

/// How much a result says: a contradiction speaks against it more than a number speaks for it.
fn said(result: &Imported) -> i64 {
    /// A line that was put together of two gives numbers that do not fit each other.
    const CONTRADICTION: i64 = 20;
    let count = |is: bool| i64::from(is);
    let of_side = |side: &Side| {
        8 + count(side.iops.is_some())
            + count(side.bytes.is_some())
            + count(side.elapsed_ns.is_some())
            + count(side.latency_ns.is_some())
            + count(side.completion_ns.is_some())
            + side.spread.and_then(|spread| spread.samples).map_or(0, |samples| samples.min(1000) as i64)
    };
    let of_measured = |one: &Measured| -> i64 {
        let sides = [&one.read, &one.write, &one.both, &one.network];
        let work = &one.work;
        sides.into_iter().flatten().map(of_side).sum::<i64>()
            + count(work.block_size.is_some())
            + count(work.queue_depth.is_some())
            + count(work.direct.is_some())
    };
    let wrong = result.derived.iter().filter(|one| !one.agrees()).count();
    result.measurements.iter().map(of_measured).sum::<i64>()
        - CONTRADICTION * i64::try_from(wrong).unwrap_or(i64::MAX / 100)
        - count(result.truncated)
        + count(result.command.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::{Measured, Page, read};

    #[test]
    fn of_two_readings_the_one_that_says_more_is_kept() {
        let body = "Max Write: 1234.56 MiB/sec (1294.53 MB/sec)\n  READ: bw=2437MiB/s (2556MB/s), 2437MiB/s-2437MiB/s (2556MB/s-2556MB/s),\nio=8192MiB (8590MB), run=3361-3361msec\n";
        let found = read(&Page { name: "x", body });
        let read = found.iter().find_map(|one| one.measurements.first()?.read.as_ref()).expect("reads");
        assert!(read.elapsed_ns.is_some() && read.bytes.is_some());
    }

    #[test]
    fn a_reading_that_only_adds_is_taken_whatever_the_width() {
        let body = "[Read]\nSequential 1MiB (Q=  8, T= 1):  3576.613 MB/s [   3410.9 IOPS] <\n2344.33 us>\n";
        let found = read(&Page { name: "x", body });
        let side = found[0].measurements[0].read.as_ref().expect("reads");
        assert_eq!(side.latency_ns.as_ref().and_then(|latency| latency.mean), Some(2_344_330.0));
    }

    #[test]
    fn a_contradiction_is_not_lost_with_the_line_that_shows_it() {
        let table = " I/O Speed(1st run) : 899 MB/s\n I/O Speed(2nd run) : 789 MB/s\n I/O Speed(3rd run) : 758 MB/s\n \
            I/O Speed(average) : 518.0 MB/s\n";
        let body = format!("{}\n{table}{}\n", "a ruler of words ".repeat(4), "more words ".repeat(6));
        let found = read(&Page { name: "x", body: &body });
        assert!(found[0].derived.iter().any(|one| !one.agrees()), "{found:?}");
    }

    #[test]
    fn a_measurement_that_only_the_other_reading_has_is_said() {
        let row =
            |name: &str, rate: &str| format!("   Children see throughput for  1 {name} = {rate} kB/sec\n");
        let table = "\tCommand line used: iozone -a\n\tOutput is in Kbytes/sec\n              KB  reclen   write rewrite    read    reread    read   write   \nread  rewrite\n";
        let rows =
            "            1024       4  142414  188920   496283   806376   67703  236947  \n45002   247430\n"
                .repeat(3);
        let body = format!(
            "{}{}{}\n{table}{rows}",
            row("initial writers ", " 907733.81"),
            row("rewriters       ", "1765222.62"),
            row("random readers  ", "1557497.38")
        );
        let page = Page { name: "x", body: &body };
        let found = read(&page);
        let rates = |rate: f64| {
            let sides = found.iter().flat_map(|one| &one.measurements).flat_map(Measured::sides);
            sides.filter(|(_, side)| (side.bytes_per_second.get() / 1024.0 - rate).abs() < 0.01).count()
        };
        for (line, rate) in [(1, 907_733.81), (2, 1_765_222.62), (3, 1_557_497.38)] {
            let is_said = crate::results::unread(&page, &found).iter().any(|one| one.lines.contains(&line));
            assert!(rates(rate) == 1 || is_said, "line {line} of {found:?}");
        }
    }
}
