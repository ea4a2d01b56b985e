//! The lines of fio's normal output that tell a rate: of a job and direction, and of a group of jobs together.

use narrows_base::units::{Bytes, Iops, Nanos};

use crate::results::number::{self, Base, Rounded, after, contradiction, factor, scaled, size, value};
use crate::results::{Derived, Op, Side};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rate {
    pub(super) op: Op,
    pub(super) side: Side,
    /// What stands before the direction in the same line: a name that somebody gave it.
    pub(super) label: String,
    /// The rate, where it is not that of amount and time.
    pub(super) wrong: Option<Derived>,
}

/// No line that people write has as many rates.
const MOST_IN_LINE: usize = 1000;

/// How many rates [`of_job`] leaves out of a line.
pub(super) fn beyond(line: &str) -> usize {
    let count = |mark: &str| line.matches(mark).count();
    count("IOPS=").max(count("io=")).max(count("bw=")).saturating_sub(MOST_IN_LINE)
}

/// `read: IOPS=332k, BW=1299MiB/s (1362MB/s)(19.0GiB/15001msec)`, or
/// `read : io=4096.0MB, bw=57875KB/s, iops=14468, runt= 72472msec`; people write both directions into one line. The first
/// [`MOST_IN_LINE`] of them.
pub(super) fn of_job(line: &str) -> Vec<Rate> {
    let mut starts: Vec<(usize, usize)> =
        line.match_indices("IOPS=").filter_map(|(at, _)| begin(line, at)).collect();
    if starts.is_empty() {
        starts = line.match_indices("io=").filter_map(|(at, _)| begin(line, at)).collect();
    }
    // People leave the rest out. In capitals it is the line of a group.
    if starts.is_empty() {
        let is_group = |word: usize| line.get(word..).is_some_and(|rest| rest.starts_with(['R', 'W']));
        let begins = |at: usize| begin(line, at).filter(|(word, _)| !is_group(*word));
        starts = line.match_indices("bw=").filter_map(|(at, _)| begins(at)).collect();
    }
    let ends = starts.iter().skip(1).map(|(word, _)| *word).chain([line.len()]);
    starts
        .iter()
        .zip(ends)
        .take(MOST_IN_LINE)
        .filter_map(|((word, colon), end)| {
            let label = line.get(..*word).filter(|_| starts.len() == 1).unwrap_or_default();
            let op = direction(line.get(*word..*colon)?)?;
            let rest = line.get(colon + 1..end)?;
            let (side, wrong) = if rest.contains("IOPS=") { new(rest)? } else { old(rest)? };
            let label = label.trim().trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
            Some(Rate { op, side, label, wrong })
        })
        .collect()
}

/// Whether a line of a rate ends before its amount and time, and the next one goes on with them: a mail program broke it.
pub(super) fn is_broken(line: &str, next: &str) -> bool {
    let is_rate = line.contains("IOPS=") || line.contains("bw=");
    let goes_on = || next.trim_start().starts_with('(') || line.trim_end().ends_with(',');
    is_rate && !line.contains("msec") && next.contains("msec") && goes_on()
}

/// Where the word of the direction begins and the colon behind it stands, if one does directly before `at`.
fn begin(line: &str, at: usize) -> Option<(usize, usize)> {
    let colon = line.get(..at)?.trim_end().strip_suffix(':')?.len();
    let before = line.get(..colon)?.trim_end();
    let word = before.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1);
    direction(before.get(word..)?).map(|_| (word, colon))
}

/// `read`, `write`, or a word that ends so.
fn direction(word: &str) -> Option<Op> {
    let word = word.trim().to_lowercase();
    match word.as_str() {
        word if word.ends_with("read") => Some(Op::Read),
        word if word.ends_with("write") => Some(Op::Write),
        _ => None,
    }
}

fn new(rest: &str) -> Option<(Side, Option<Derived>)> {
    let iops = scaled(after(rest, "IOPS=")?, Base::Decimal).map(Iops::new);
    let shown = after(rest, "BW=")?;
    let mut brackets = rest.split('(').skip(1).map(|part| part.split(')').next().unwrap_or(part));
    let decimal = brackets.next();
    let (amount, time) = brackets.next().and_then(|text| text.split_once('/')).unzip();
    let (side, wrong) = side(shown, decimal, amount, time)?;
    Some((Side { iops, ..side }, wrong))
}

fn old(rest: &str) -> Option<(Side, Option<Derived>)> {
    let amount = after(rest, "io=").map(field);
    let (side, wrong) = side(after(rest, "bw=")?, None, amount, after(rest, "runt=").map(field))?;
    let iops = after(rest, "iops=").and_then(|text| scaled(text, Base::Decimal)).map(Iops::new);
    Some((Side { iops, ..side }, wrong))
}

/// `READ: bw=2437MiB/s (2556MB/s), 2437MiB/s-2437MiB/s (2556MB/s-2556MB/s), io=8192MiB (8590MB), run=3361-3361msec`, or
/// `READ: io=8192.0MB, aggrb=7454.5MB/s, minb=7454.5MB/s, maxb=7454.5MB/s, mint=1099msec, maxt=1099msec`.
pub(super) fn of_group(line: &str) -> Option<Rate> {
    let (word, rest) = line.trim().split_once(':')?;
    let op = match word.trim_end() {
        "READ" => Op::Read,
        "WRITE" => Op::Write,
        _ => return None,
    };
    let amount = after(rest, "io=").map(field);
    let (side, wrong) = if let Some(rate) = after(rest, "aggrb=") {
        side(rate, None, amount, Some(field(after(rest, "maxt=")?)))?
    } else {
        let rate = after(rest, "bw=")?;
        let decimal = rate.split(',').next().and_then(|text| text.split('(').nth(1));
        // The longest of the jobs' times.
        let time = after(rest, "run=").map(field).and_then(|time| time.rsplit('-').next());
        side(rate, decimal, amount, time)?
    };
    Some(Rate { op, side, label: String::new(), wrong })
}

/// Whether a job that ran so long may be one of a group: the line of the sums has the shortest and the longest time of its jobs,
/// in whole milliseconds as the job's own.
pub(super) fn is_in_group(line: &str, elapsed: Nanos) -> bool {
    let millis = |text: &str| value(text, "").map(|millis| Nanos::from_millis(millis as u64));
    let ends = match after(line, "run=").map(field).and_then(|text| text.split_once('-')) {
        Some(ends) => Some(ends),
        None => after(line, "mint=").map(field).zip(after(line, "maxt=").map(field)),
    };
    let ends = ends.and_then(|(least, most)| Some((millis(least)?, millis(most)?)));
    ends.is_none_or(|(least, most)| (least..=most).contains(&elapsed))
}

/// A value up to the comma or bracket behind it.
fn field(text: &str) -> &str {
    text.split([',', '(']).next().unwrap_or(text).trim()
}

/// A direction of what is printed: the binary rate, the decimal one in brackets, the amount, the time in milliseconds.
fn side(
    binary: &str,
    decimal: Option<&str>,
    amount: Option<&str>,
    time: Option<&str>,
) -> Option<(Side, Option<Derived>)> {
    let known = number::rate(binary, Base::Binary)?;
    let decimal =
        decimal.filter(|text| number::rate(text, Base::Decimal).is_some_and(|rate| rate.get() > 0.0));
    let (printed, base) = decimal.map_or((binary, Base::Binary), |text| (text, Base::Decimal));
    let elapsed = time.and_then(|time| value(time, "")).map(|millis| Nanos::from_millis(millis as u64));
    let side = Side {
        bytes: amount.and_then(|text| size(text, Base::Binary)),
        elapsed_ns: elapsed,
        ..Side::at(number::rate(printed, base).unwrap_or(known))
    };
    let wrong = amount.zip(time).and_then(|(amount, time)| wrong(printed, base, amount, time));
    Some((side, wrong))
}

fn wrong(printed: &str, base: Base, amount: &str, time: &str) -> Option<Derived> {
    let (rate, unit) = Rounded::leading(printed)?;
    let (amount, of) = Rounded::leading(amount)?;
    let (time, _) = Rounded::leading(time)?;
    let unit = field(unit).trim_end_matches(')');
    let name = format!("rate, in {unit}");
    contradiction(
        &name,
        rate,
        &[factor(unit, base)],
        amount.times(factor(of, Base::Binary)),
        time.times(1e-3),
    )
}

/// Whether a group's rate is that of its jobs, so far as amounts and times tell: not one of another run, which may have moved
/// the same amount in another time.
pub(super) fn is_sum_of(group: &Side, jobs: &[&Side]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 0.02 * a.max(b);
    let rates: f64 = jobs.iter().map(|side| side.bytes_per_second.get()).sum();
    let bytes: f64 = jobs.iter().map(|side| side.bytes.map_or(0.0, Bytes::as_f64)).sum();
    let longest = jobs.iter().filter_map(|side| side.elapsed_ns).max();
    let is_as_long = group
        .elapsed_ns
        .zip(longest)
        .is_none_or(|(group, jobs)| near(group.as_secs_f64(), jobs.as_secs_f64()));
    let of_bytes = is_as_long && group.bytes.is_some_and(|all| near(all.as_f64(), bytes));
    !jobs.is_empty() && (of_bytes || near(group.bytes_per_second.get(), rates))
}

/// Whether the sum of a group is clearly more than these jobs moved, by bytes and by rate.
pub(super) fn is_more_than(group: &Side, jobs: &[&Side]) -> bool {
    const CLEARLY: f64 = 1.2;
    let rates: f64 = jobs.iter().map(|side| side.bytes_per_second.get()).sum();
    let bytes: Option<f64> = jobs.iter().map(|side| side.bytes.map(Bytes::as_f64)).sum();
    let is_more = group.bytes.zip(bytes).is_some_and(|(group, jobs)| group.as_f64() > CLEARLY * jobs);
    is_more && group.bytes_per_second.get() > CLEARLY * rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_both_directions_may_share_a_line_with_words_before_them() {
        let all =
            of_job(" - Random R/W: read: IOPS=282, BW=1129KiB/s (1156kB/s)  write: IOPS=284, BW=1136KiB/s");
        let of = |rate: &Rate| (rate.op, rate.side.iops.map(Iops::get), rate.side.bytes_per_second.get());
        assert_eq!(
            all.iter().map(of).collect::<Vec<_>>(),
            [(Op::Read, Some(282.0), 1_156_000.0), (Op::Write, Some(284.0), 1136.0 * 1024.0)]
        );
        for mark in [
            "read: IOPS=1k, BW=1MiB/s ",
            "read : io=4096KB, bw=1KB/s, iops=1, runt= 1msec ",
            "read: bw=1KiB/s ",
        ] {
            let line = mark.repeat(MOST_IN_LINE + 3);
            assert_eq!((of_job(&line).len(), beyond(&line)), (MOST_IN_LINE, 3), "{mark}");
        }
        let one = of_job(" - Sequential read: IOPS=19.1k, BW=74.4MiB/s");
        assert_eq!((one.len(), one[0].label.as_str()), (1, "Sequential"));
        let alone = of_job("randwrite: bw=692KiB/s");
        assert_eq!((alone.len(), alone[0].side.bytes_per_second.get()), (1, 692.0 * 1024.0));
        assert!(of_job("  WRITE: bw=286MiB/s (300MB/s)").is_empty(), "of a group");
        for line in
            ["   iops        : min=1144, avg=1642.14", "Jobs: 1 (f=1): [r=78.0k IOPS]", "ratio: io=5, bw=1"]
        {
            assert!(of_job(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_group_has_the_amount_and_the_longest_time_of_its_jobs() {
        let new = of_group("   READ: bw=15.8MiB/s (16.5MB/s), 7459KiB/s-8671KiB/s (7638kB/s-8879kB/s), io=964MiB (1010MB), run=60000-61179msec").expect("a rate");
        assert_eq!(
            (new.side.bytes_per_second.get(), new.side.bytes, new.wrong),
            (16.5e6, Some(Bytes::from_mib(964)), None)
        );
        assert_eq!(new.side.elapsed_ns, Some(Nanos::from_millis(61_179)));
        let old = of_group("  WRITE: io=8192.0MB, aggrb=7454.5MB/s, minb=7454.5MB/s, maxb=7454.5MB/s, mint=1099msec, maxt=1099msec").expect("a rate");
        assert_eq!(
            (old.op, old.side.bytes_per_second.get(), old.wrong),
            (Op::Write, 7454.5 * 1_048_576.0, None)
        );
    }

    #[test]
    fn a_job_of_a_group_ran_no_shorter_and_no_longer_than_all_of_them() {
        let new = "   READ: bw=15.8MiB/s (16.5MB/s), io=964MiB (1010MB), run=60000-61179msec";
        let old = "  WRITE: io=8192.0MB, aggrb=7454.5MB/s, mint=1099msec, maxt=1100msec";
        let is_in = |line: &str, millis: u64| is_in_group(line, Nanos::from_millis(millis));
        assert_eq!([59_999, 60_000, 61_179, 61_180].map(|time| is_in(new, time)), [false, true, true, false]);
        assert_eq!([1098, 1099, 1101].map(|time| is_in(old, time)), [false, true, false]);
        assert!(is_in("  WRITE: bw=1MiB/s (1MB/s), io=964MiB (1010MB), run=60000", 5), "it is not told");
    }

    #[test]
    fn a_rate_that_is_not_that_of_amount_and_time_is_told() {
        let wrong = |line: &str| of_job(line).remove(0).wrong.is_some();
        assert!(!wrong("  read: IOPS=77.0k, BW=2437MiB/s (2556MB/s)(8192MiB/3361msec)"));
        assert!(wrong("  read: IOPS=77.0k, BW=2437MiB/s (2556MB/s)(819MiB/3361msec)"));
        assert!(!wrong("  read : io=1000.0MB, bw=5586.7MB/s, iops=5586, runt=   179msec"));
        assert!(wrong("  read : io=1000.0MB, bw=5586.7KB/s, iops=5586, runt=   179msec"));
    }
}
