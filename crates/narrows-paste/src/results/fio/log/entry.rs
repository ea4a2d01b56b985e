//! A line of a log of fio.
//!
//! Source: fio's HOWTO ("Log File Formats") and `iolog.c` (`flush_samples`, `flush_hist_samples`). A log has no heading;
//! what its lines are like tells that it is one. Lines grew over time: time, value, direction and block size (2.x), then
//! an offset if asked for, a priority (3.18), a second value behind the first with `log_window_value=both`, and the time
//! of issue if asked for (3.37 and later).

use super::buckets::Buckets;

/// No line is longer, in bytes: one of a histogram has 1856 counts.
pub(in crate::results) const LONGEST: usize = 64 << 10;

/// Lines that are looked at to tell what a text is.
const LOOKED_AT: usize = 64;

/// What the lines of a log are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::results) enum Shape {
    /// Time, value, direction, block size.
    Plain,
    /// Time, mean, maximum, direction, block size.
    WithMaximum,
    /// Time, direction, block size, and so many counts of a histogram.
    Histogram(usize),
}

/// One line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// When, in milliseconds.
    pub(super) millis: u64,
    /// How much, in the unit of the log.
    pub(super) value: u64,
    /// 0 of reads, 1 of writes, 2 of trims.
    pub(super) direction: u64,
    /// The bytes of the I/O; 0 when the line stands for many.
    pub(super) block: u64,
}

impl Shape {
    /// What the text that begins so is; `None` when it is no log. Every line must be of one kind.
    pub(in crate::results) fn of(head: &[u8], is_whole: bool) -> Option<Self> {
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        // Most texts are none: one byte tells.
        head.iter().find(|byte| !byte.is_ascii_whitespace()).filter(|byte| byte.is_ascii_digit())?;
        let end = if is_whole { head.len() } else { memchr::memrchr(b'\n', head).unwrap_or(head.len()) };
        let mut shape: Option<(usize, Self)> = None;
        let lines = head.get(..end)?.split(|byte| *byte == b'\n');
        for line in lines.map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).take(LOOKED_AT) {
            let columns = columns(line)?;
            shape = Some(match shape {
                None => (columns, Self::of_line(line, columns)?),
                Some((known, _)) if known != columns => return None,
                // A maximum that is no direction shows what the column is.
                Some((_, Self::Plain)) => (columns, Self::of_line(line, columns)?),
                Some(same) => same,
            });
        }
        shape.map(|(_, shape)| shape)
    }

    fn of_line(line: &[u8], columns: usize) -> Option<Self> {
        if columns > 8 {
            Buckets::of_columns(columns - 3)?;
            return (nth(line, 1)? <= 2).then_some(Self::Histogram(columns - 3));
        }
        let is_direction = |at: usize| nth(line, at).is_some_and(|number| number <= 2);
        match () {
            () if is_direction(2) => Some(Self::Plain),
            () if columns >= 6 && is_direction(3) && nth(line, 2) >= nth(line, 1) => Some(Self::WithMaximum),
            () => None,
        }
    }

    /// What a line says; `None` when it is broken.
    pub(super) fn entry(self, line: &[u8]) -> Option<Entry> {
        let (millis, rest) = number(line)?;
        let (value, rest) = match self {
            Self::Histogram(_) => (0, rest),
            _ => number(rest)?,
        };
        let rest = if self == Self::WithMaximum { number(rest)?.1 } else { rest };
        let (direction, rest) = number(rest)?;
        let (block, _) = number(rest)?;
        Some(Entry { millis, value, direction, block })
    }
}

/// The counts of a line of a histogram.
pub(in crate::results::fio) fn counts(line: &[u8]) -> impl Iterator<Item = u64> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (count, next) = number(rest)?;
        rest = next;
        Some(count)
    })
    .skip(3)
}

/// The number at the beginning, and what follows the comma behind it.
fn number(line: &[u8]) -> Option<(u64, &[u8])> {
    let start = line.iter().position(|byte| *byte != b' ')?;
    let mut rest = line.get(start..)?;
    let mut sum = 0u64;
    let mut digits = 0;
    while let [byte @ b'0'..=b'9', next @ ..] = rest {
        sum = sum.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        digits += 1;
        rest = next;
    }
    while let [b' ' | b'\r', next @ ..] = rest {
        rest = next;
    }
    match rest {
        _ if digits == 0 => None,
        [] => Some((sum, rest)),
        [b',', next @ ..] => Some((sum, next)),
        _ => None,
    }
}

/// How many numbers a line holds; `None` when it holds anything else, or fewer or more than a log has.
fn columns(line: &[u8]) -> Option<usize> {
    let cells = line.split(|byte| *byte == b',');
    let mut columns = 0;
    for cell in cells.map(<[u8]>::trim_ascii) {
        // The priority is hexadecimal with `log_prio`.
        let digits = cell.strip_prefix(b"0x").unwrap_or(cell);
        let is_hex = digits.len() < cell.len();
        let is_number = !digits.is_empty()
            && digits.len() <= 20
            && digits.iter().all(|byte| byte.is_ascii_digit() || is_hex && byte.is_ascii_hexdigit());
        if !is_number {
            return None;
        }
        columns += 1;
    }
    (columns >= 4).then_some(columns)
}

fn nth(line: &[u8], at: usize) -> Option<u64> {
    let cell = line.split(|byte| *byte == b',').nth(at)?;
    number(cell).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<Shape> {
        Shape::of(text.as_bytes(), true)
    }

    #[test]
    fn lines_of_every_version_are_told_apart() {
        assert_eq!(shape("250, 249504, 1, 0\n500, 251440, 1, 0\n"), Some(Shape::Plain));
        assert_eq!(shape("0, 8123, 0, 4096, 12288, 0x0004, 123456\n"), Some(Shape::Plain));
        let both = "500, 2, 2, 0, 0, 0\n1000, 1234, 5678, 0, 0, 0\n";
        assert_eq!(shape(both), Some(Shape::WithMaximum));
        let histogram = format!("1000, 0, 4096{}\n", ", 1".repeat(1856));
        assert_eq!(shape(&histogram), Some(Shape::Histogram(1856)));
        let entry = Shape::WithMaximum.entry(b"1000, 1234, 5678, 1, 0, 0").expect("an entry");
        assert_eq!((entry.millis, entry.value, entry.direction, entry.block), (1000, 1234, 1, 0));
        assert_eq!(counts(b"1000, 0, 4096, 7, 8\r").collect::<Vec<_>>(), [7, 8]);
    }

    #[test]
    fn other_tables_are_no_logs() {
        for text in [
            "",
            "time, value\n1, 2, 0, 0\n",
            "1, 2, 9, 4096\n",
            "1, 2, 3\n",
            "1,2,0,x\n",
            "1, 2, 0, 0\n1, 2, 0\n",
        ] {
            assert_eq!(shape(text), None, "{text}");
        }
        assert_eq!(Shape::Plain.entry(b"99999999999999999999, 1, 0, 0"), None);
        // A line that goes on behind what was seen is not looked at.
        assert_eq!(Shape::of(b"1, 2, 0, 0\n2, 3", false), Some(Shape::Plain));
    }
}
