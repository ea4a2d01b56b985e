//! The lines that dd prints.

use crate::results::Derived;
use crate::results::number::{Base, factor, whole};
use crate::results::rounded::{Rounded, contradiction};

/// `dd: error reading '/dev/sdb': Input/output error`.
pub(super) fn failure(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_error = line.starts_with("dd: ")
        && (line.contains("Input/output error") || line.contains("dd: error reading"));
    is_error.then_some(line)
}

/// How many blocks were moved whole and in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) whole: u64,
    pub(super) partial: u64,
}

/// `512+0 records in`, in any language: two whole numbers joined by a plus.
pub(super) fn records(line: &str) -> Option<Records> {
    if line.chars().count() >= 40 {
        return None;
    }
    line.match_indices('+').take(4).find_map(|(at, _)| {
        let before = line.get(..at)?;
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (partial, _) =
            whole(line.get(at + 1..).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?)?;
        Some(Records { whole: before.get(digits..)?.parse().ok()?, partial })
    })
}

/// Whether a line has two words of a report, in English, and the unit of a rate or an amount in brackets: what a person cut
/// short or what was broken elsewhere.
pub(super) fn looks_like(line: &str) -> bool {
    let has_verb =
        line.contains(" bytes (") && line.contains("copied") || line.contains("bytes transferred in");
    let is_rate_alone = line.contains(" copied, ") && line.contains("B/s");
    line.len() <= 200 && (has_verb || is_rate_alone)
}

/// What a report line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) bytes: u64,
    pub(super) seconds: Rounded,
    /// The rate, where it is not that of bytes and seconds.
    pub(super) wrong: Option<Derived>,
}

/// A report that a mail program broke over two lines.
pub(super) fn broken(line: &str, next: Option<&str>) -> Option<Seen> {
    let begins = line.len() > 30 && line.contains(" bytes ");
    let next = next.filter(|next| begins && next.len() < 60)?;
    report(&format!("{} {}", line.trim_end(), next.trim_start()))
}

/// A report line, with whatever stands before it: a name, a stamp, the mark of a quotation.
pub(super) fn report(line: &str) -> Option<Seen> {
    let line = line.trim();
    if line.len() > 200 {
        return None;
    }
    copied(line).or_else(|| {
        let at = line.find(" bytes (").or_else(|| line.find(" bytes transferred in "))?;
        let digits = line.get(..at)?;
        let start = digits.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let is_word = line.get(..start)?.ends_with(|c: char| !c.is_alphanumeric());
        // Where the amount stands there twice, a word that was typed close to it (`dd104857600 bytes`) is no part of it.
        let text = line.get(start..).filter(|text| says_twice(text) || is_word && is_of_bsd(text))?;
        copied(text)
    })
}

/// Whether the amount in brackets is that before them, as in dd's own lines.
fn says_twice(text: &str) -> bool {
    let Some((bytes, rest)) = whole(text) else { return false };
    let inside = rest.split_once('(').and_then(|(_, inside)| Rounded::leading(inside));
    inside.is_some_and(|(amount, unit)| {
        let factors = [factor(unit, Base::Decimal), factor(unit, Base::Binary), 1.0 / amount.value()];
        factors.iter().any(|one| amount.times(*one).agrees(Rounded::exact(bytes as f64)))
    })
}

/// A line of dd of a BSD, which has no brackets behind the amount.
fn is_of_bsd(text: &str) -> bool {
    whole(text).is_some_and(|(_, rest)| rest.contains(" secs ("))
}

/// Bytes and seconds of a line that begins with the bytes.
fn copied(line: &str) -> Option<Seen> {
    let (bytes, rest) = whole(line)?;
    // A stamp of a log goes on with its fraction or its month.
    if !rest.starts_with(|c: char| c.is_whitespace() || c.is_alphabetic()) {
        return None;
    }
    if let Some((_, rest)) = rest.split_once("bytes transferred in ") {
        let (seconds, rest) = Rounded::leading(rest)?;
        let rate = rest.split_once('(').and_then(|(_, rate)| Rounded::leading(rate));
        return seen(bytes, seconds, rate);
    }
    // A number of a line is not that of bytes, which the unit follows at once.
    let is_counted = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    if rest.split_once('(').is_some_and(|(before, _)| is_counted(before)) {
        return None;
    }
    // Small copies have no sizes in brackets.
    let tail = match rest.rsplit_once(')') {
        Some((_, tail)) if rest.contains('(') => tail,
        None if rest.trim_start().starts_with("bytes copied") => rest,
        _ => return None,
    };
    let start = tail.find(|c: char| c.is_ascii_digit())?;
    let (seconds, rest) = Rounded::leading(tail.get(start..)?)?;
    // Seconds have a unit without a slash; then comes a rate, whose unit has one.
    let start = rest.find(|c: char| c.is_ascii_digit())?;
    let unit = rest.get(..start)?;
    let rate = Rounded::leading(rest.get(start..)?)?;
    let is_rate = rate.1.split_whitespace().next().is_some_and(|word| word.contains('/'));
    let is_report = !unit.contains('/') && unit.chars().count() < 16 && is_rate;
    if is_report { seen(bytes, seconds, Some(rate)) } else { None }
}

/// Checks the printed rate. busybox prints binary units, GNU dd decimal ones.
fn seen(bytes: u64, seconds: Rounded, rate: Option<(Rounded, &str)>) -> Option<Seen> {
    if bytes == 0 || seconds.value() <= 0.0 || seconds.value() >= 1e9 {
        return None;
    }
    let wrong = rate.and_then(|(rate, unit)| {
        let unit = unit.trim_start();
        let units = [factor(unit, Base::Decimal), factor(unit, Base::Binary)];
        let word = unit.split(|c: char| c.is_whitespace() || matches!(c, ')' | ',')).next().unwrap_or(unit);
        let name = format!("rate of the copy, in {word}");
        contradiction(&name, rate, &units, Rounded::exact(bytes as f64), seconds)
    });
    Some(Seen { bytes, seconds, wrong })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_are_no_reports_and_those_of_any_language_are() {
        for line in [
            "1700000007.094039 box kernel: Copyright (C) 2017-2019 Broadcom. All Rights Reserved. \"Broadcom\" is Broadcom Inc. and/or its",
            "1700000002.749045 box kernel: EXT4-fs (nvme0n1p2): re-mounted cea52797-161f-4dbc-920e-ca81333dcfb7 r/w. Quota mode: none.",
            "4\t1073741824字节(1.1 GB)已复制，5.43328 秒，198 MB/秒",
            "2023-11-14T22:13:22,749045+01:00 EXT4-fs (nvme0n1p2): re-mounted 52797-161f r/w.",
        ] {
            assert_eq!(report(line), None, "{line}");
        }
        for line in [
            "104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s",
            "104857600 octets (105 MB) copiés, 0,5 s, 210 MB/s",
            "104857600字节(105 MB)已复制，0.5 秒，210 MB/秒",
            "104857600 Bytes (105 MB, 100 MiB) kopiert, 0,5 s, 210 MB/s",
            "dd104857600 bytes (105 MB, 100 MiB) copied, 0.5 s, 210 MB/s",
        ] {
            assert_eq!(report(line).map(|seen| seen.bytes), Some(104_857_600), "{line}");
        }
    }
}
