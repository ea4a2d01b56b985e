//! Copies of files, by the programs that people time: rsync's summary, and `time cp` beside `du` of what was copied.
//!
//! rsync prints `sent N bytes  received N bytes  R bytes/sec` (its man page, `--stats`), with commas between thousands
//! or, with -h, decimal suffixes. bash's `time` prints `real 76m23.104s`, GNU time `Elapsed (wall clock) time`. A copy
//! is read from one place and written to another at the same rate, so it is a measurement of both.

use narrows_base::units::{Bytes, BytesPerSec};
use narrows_base::workload::Pattern;

use super::number::{Base, clock, factor, leading, number, seconds, to_bytes};
use super::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};

/// The copies in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut reader = CopyReader::default();
    page.lines().filter_map(|(number, line)| reader.line(page, number, line.trim())).collect()
}

/// What was said above a summary.
#[derive(Debug, Default)]
struct CopyReader {
    /// The last command that copies: its line, its words, its two places.
    command: Option<(usize, String, [String; 2])>,
    /// Whether the last `du` counts bytes, or prints suffixes.
    du: bool,
    /// What `du` said of the source.
    size: Option<Bytes>,
}

impl CopyReader {
    fn line(&mut self, page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
        if let Some((command, places)) = copies(line) {
            self.command = Some((number, command, places));
            return None;
        }
        if line.split_whitespace().any(|word| word == "du") {
            self.du = true;
            return None;
        }
        if let Some(size) = self.du.then(|| of_du(line)).flatten() {
            self.size = Some(size);
            return None;
        }
        let (bytes, seconds) = match rsync(line) {
            Some(summary) => summary,
            None => (self.size.filter(|_| self.command.is_some())?, elapsed(line)?),
        };
        Some(result(page, number, bytes, seconds, self.command.take()))
    }
}

/// A call of cp, rsync, mv or tar with two places, behind a prompt or `time`.
fn copies(line: &str) -> Option<(String, [String; 2])> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().take(6).position(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "cp" | "rsync" | "mv")
    })?;
    let mut places = words.get(at + 1..)?.iter().filter(|word| !word.starts_with('-'));
    let (from, to) = (places.next()?, places.next_back()?);
    let is_place = |word: &str| word.starts_with(['/', '.', '~']) || word.contains('/');
    if !is_place(from) || !is_place(to) || line.len() > 2000 {
        return None;
    }
    Some((words.get(at..)?.join(" "), [(*from).to_owned(), (*to).to_owned()]))
}

/// `1800000000000\t/media/usb` of `du -sb`, `1.8T\t/media/usb` of `du -sh`, whose suffixes are binary.
fn of_du(line: &str) -> Option<Bytes> {
    let mut words = line.split_whitespace();
    let (amount, place) = (words.next()?, words.next()?);
    if !place.starts_with(['/', '.', '~']) || words.next().is_some() {
        return None;
    }
    let (number, unit) = leading(amount)?;
    if !matches!(unit, "" | "K" | "M" | "G" | "T" | "P") {
        return None;
    }
    to_bytes(number * factor(unit, Base::Binary)).filter(|bytes| bytes.get() > 0)
}

/// Bytes and seconds of rsync's summary.
fn rsync(line: &str) -> Option<(Bytes, f64)> {
    let line = line.strip_prefix("sent ").filter(|line| line.len() < 200)?;
    // A mail program may have taken one of two blanks.
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let (sent, rest) = line.split_once(" bytes received ")?;
    let (received, rest) = rest.split_once(" bytes ")?;
    let rate = grouped(rest.strip_suffix(" bytes/sec")?)?;
    let bytes = grouped(sent)? + grouped(received)?;
    let seconds = bytes / rate;
    (seconds.is_finite() && seconds > 0.0 && seconds < 1e9).then_some((to_bytes(bytes)?, seconds))
}

/// `1,234,567`, `1234567`, or `1.80T` of -h, which divides by 1000.
fn grouped(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '.'));
    let digits = text.strip_suffix(unit)?.replace(',', "");
    if unit.len() > 1 {
        return None;
    }
    let number: f64 = digits.parse().ok()?;
    Some(number * factor(unit, Base::Decimal))
}

/// `real    76m23.104s`, `real 4583.10`, `Elapsed (wall clock) time (h:mm:ss or m:ss): 1:16:23`.
fn elapsed(line: &str) -> Option<f64> {
    let seconds = if let Some(rest) = line.strip_prefix("real") {
        let rest = rest.trim();
        match rest.split_once('m') {
            Some((minutes, seconds)) => minutes.parse::<f64>().ok()? * 60.0 + number(seconds)?,
            None => rest.replace(',', ".").parse().ok()?,
        }
    } else {
        clock(line.strip_prefix("Elapsed (wall clock) time")?.rsplit_once(' ')?.1)?
    };
    (seconds > 0.0 && seconds < 1e9).then_some(seconds)
}

fn result(
    page: &Page<'_>,
    number: usize,
    bytes: Bytes,
    time: f64,
    command: Option<(usize, String, [String; 2])>,
) -> Imported {
    let begins = command.as_ref().map_or(number, |(begins, ..)| *begins);
    let (command, places) = command.map(|(_, command, places)| (command, places)).unzip();
    let measured = |(at, (op, label)): (usize, (Op, &str))| {
        let work = Work {
            pattern: Some(Pattern::Sequential),
            jobs: Some(1),
            direct: Some(false),
            durability: (op == Op::Write).then_some(Durability::None),
            working_set: Some(bytes),
            target: places.as_ref().and_then(|places| places.get(at).cloned()),
            ..Work::named(label)
        };
        let side = Side {
            bytes: Some(bytes),
            elapsed_ns: seconds(time),
            ..Side::at(BytesPerSec::new(bytes.as_f64() / time))
        };
        Measured::of(number, work, op, side)
    };
    let both = [(Op::Read, "copy, from"), (Op::Write, "copy, to")];
    let measurements = both.into_iter().enumerate().map(measured).collect();
    Imported { command, measurements, ..Imported::new(Tool::Copy, page.name, begins) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
    }

    #[test]
    fn a_timed_copy_has_a_rate_on_both_sides() {
        // 1.8 TB in 76 min 23 s are 392.8 MB/s.
        let found =
            of("$ du -sb /media/usb\n1800000000000\t/media/usb\n$ time cp -a /media/usb /mnt/raid0\n\n\
            real    76m23.000s\nuser    0m12.1s\nsys     40m1.0s\n");
        let [copy] = found.as_slice() else { panic!("{found:?}") };
        let [from, to] = copy.measurements.as_slice() else { panic!("{copy:?}") };
        let rate = from.read.as_ref().expect("reads").bytes_per_second.get();
        assert!((rate / 392.755e6 - 1.0).abs() < 1e-5, "{rate}");
        assert_eq!(from.work.target.as_deref(), Some("/media/usb"));
        assert_eq!(to.work.target.as_deref(), Some("/mnt/raid0"));
        assert!(to.write.is_some());
    }

    #[test]
    fn rsync_says_bytes_and_rate() {
        for line in [
            "sent 1,800,439,557,120 bytes  received 1,234,567 bytes  392,850,000.00 bytes/sec",
            "sent 1800439557120 bytes  received 1234567 bytes  392850000.00 bytes/sec",
            "sent 1.80T bytes  received 1.23M bytes  392.85M bytes/sec",
        ] {
            let found = of(&format!("$ rsync -a /src/ /dst/\n{line}\ntotal size is 1.8T  speedup is 1.00\n"));
            let rate = found[0].measurements[1].write.as_ref().expect("writes").bytes_per_second.get();
            assert!((rate / 392.85e6 - 1.0).abs() < 1e-3, "{line}: {rate}");
        }
    }

    #[test]
    fn a_time_without_a_size_or_a_copy_is_no_result() {
        assert!(of("$ time make\nreal 1m2.000s\n").is_empty());
        assert!(of("$ time cp -a /a /b\nreal 1m2.000s\n").is_empty());
        assert!(of("$ du -sh /a\n1.8T /a\n$ time make\nreal 1m2.000s\n").is_empty());
        assert!(of("the real cost of it: 76m23s, 393 bytes/sec").is_empty());
    }

    #[test]
    fn clocks_of_two_programs() {
        assert_eq!(elapsed("real    76m23.104s"), Some(4583.104));
        assert_eq!(elapsed("Elapsed (wall clock) time (h:mm:ss or m:ss): 1:16:23"), Some(4583.0));
        assert_eq!(elapsed("real 1m"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(body in "(real|sent|du|cp| |/|m|s|[0-9,.]|\\n|bytes  received|bytes/sec){0,60}") {
            let _ = of(&body);
        }
    }
}
