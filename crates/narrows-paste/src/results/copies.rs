//! Copies of files, by the programs that people time: rsync's summary, rclone's, scp's line of a file, and `time cp` beside `du` of
//! what was copied.
//!
//! rclone prints a moving mean beside amount and time, of which the rate is made here; its M and MBytes are MiB, as its MiB are
//! (rclone.org/docs, 1.54). scp counts in steps of 1024 (`progressmeter.c`), too.
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
    let mut found: Vec<Imported> = Vec::new();
    for (number, line) in page.lines() {
        let before = reader.elapsed;
        let Some(result) = reader.line(page, number, line.trim()) else { continue };
        let goes_on = before.zip(reader.elapsed).is_some_and(|(before, now)| now > before);
        // What is said of a copy under way is replaced by what is said later of the same.
        match found.last_mut().filter(|_| goes_on) {
            Some(last) => *last = result,
            None => found.push(result),
        }
    }
    found
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
    /// What rclone has copied.
    transferred: Option<Bytes>,
    /// After how many seconds it said so last.
    elapsed: Option<f64>,
}

impl CopyReader {
    fn line(&mut self, page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
        if let Some((command, places)) = copies(line) {
            self.command = Some((number, command, places));
            self.elapsed = None;
            return None;
        }
        if let Some(bytes) = rclone(line) {
            self.transferred = Some(bytes);
            return None;
        }
        if let Some(time) = line.strip_prefix("Elapsed time:") {
            let (bytes, time) = (self.transferred.take()?, span_of_units(time.trim())?);
            self.elapsed = Some(time);
            return Some(result(page, number, bytes, time, self.command.clone()));
        }
        if let Some((bytes, time)) = scp(line) {
            return Some(result(page, number, bytes, time, None));
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

/// `Transferred: 46.851 GiB / 46.851 GiB, 100%, 740.711 MiB/s, ETA 0s`, before 1.54 `79.996 MBytes (3.842 MBytes/s)`.
fn rclone(line: &str) -> Option<Bytes> {
    let rest = line.strip_prefix("Transferred:")?.trim_start();
    let (amount, unit) = leading(rest)?;
    let unit = unit.trim_start().split([' ', '/', ',', '(']).next()?;
    let is_size = rest.contains("/s") && !unit.is_empty();
    to_bytes(amount * factor(unit.trim_end_matches("Bytes"), Base::Binary))
        .filter(|bytes| is_size && bytes.get() > 0)
}

/// `1h2m3.4s`, `58.8s`, in seconds.
fn span_of_units(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let (number, unit) = leading(rest)?;
        let each = match unit.chars().next()? {
            'd' => 86_400.0,
            'h' => 3600.0,
            'm' => 60.0,
            's' => 1.0,
            _ => return None,
        };
        seconds += number * each;
        rest = unit.get(1..)?;
    }
    (seconds > 0.0 && seconds < 1e9).then_some(seconds)
}

/// The line of a file that is done: `big.iso   100% 6620MB   7.9MB/s   13:58`.
fn scp(line: &str) -> Option<(Bytes, f64)> {
    /// Of less the time in whole seconds tells nothing.
    const LEAST: Bytes = Bytes::from_mib(16);
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, .., "100%", size, rate, time] = words.as_slice() else { return None };
    let (amount, unit) = leading(size)?;
    rate.strip_suffix("B/s")?;
    let bytes = to_bytes(amount * factor(unit.strip_suffix('B')?, Base::Binary))?;
    let time = clock(time).filter(|time| *time >= 1.0)?;
    (bytes >= LEAST).then_some((bytes, time))
}

/// A call of cp, rsync, rclone or mv with two places, behind a prompt or `time`.
fn copies(line: &str) -> Option<(String, [String; 2])> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().take(6).position(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        matches!(name, "cp" | "rsync" | "rclone" | "mv")
    })?;
    // rclone's first word says what it does.
    let first = if words.get(at).is_some_and(|word| word.ends_with("rclone")) { at + 2 } else { at + 1 };
    let mut places = words.get(first..)?.iter().filter(|word| !word.starts_with('-'));
    let (from, to) = (places.next()?, places.next_back()?);
    let is_place = |word: &str| word.starts_with(['/', '.', '~']) || word.contains(['/', ':']);
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
    fn rclone_and_scp_tell_amount_and_time() {
        let rate = |found: &[Imported]| {
            found[0].measurements[1].write.as_ref().expect("writes").bytes_per_second.get()
        };
        let at = |amount: &str, elapsed: &str| {
            format!(
                "Transferred:   \t   {amount}\nChecks:                 0 / 0, -\nTransferred:          635 / 635, 100%\nElapsed time:       {elapsed}\n"
            )
        };
        let begun = at("12.5 GiB / 46.851 GiB, 26%, 701.2 MiB/s, ETA 50s", "18.0s");
        let done = at("46.851 GiB / 46.851 GiB, 100%, 740.711 MiB/s, ETA 0s", "1m5.0s");
        let found = of(&format!("rclone copy /src remote:dst -P\n{begun}{done}"));
        assert_eq!(found.len(), 1, "one copy, told twice");
        assert!((rate(&found) / (46.851 * 1_073_741_824.0 / 65.0) - 1.0).abs() < 1e-6, "{}", rate(&found));
        assert_eq!(found[0].measurements[1].work.target.as_deref(), Some("remote:dst"));
        let old = of("Transferred:   84.996 MBytes (3.895 MBytes/s)\nErrors: 0\nElapsed time:       21.8s\n");
        assert!((rate(&old) / (84.996 * 1_048_576.0 / 21.8) - 1.0).abs() < 1e-6);
        let scp = of("big.iso                 100% 6620MB   7.9MB/s   13:58\n");
        assert!((rate(&scp) / (6620.0 * 1_048_576.0 / 838.0) - 1.0).abs() < 1e-6);
        assert!(
            of("big.iso  7%  464MB   7.9MB/s   11:47 ETA\nElapsed time: 3s\nTransferred: 9 / 292, 3%\n")
                .is_empty()
        );
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
