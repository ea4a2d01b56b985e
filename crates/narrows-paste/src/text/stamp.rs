//! What logs put before a line: stamps of time, levels, hosts, the kernel's name.

use narrows_machine::block::{freebsd_disk, is_numbered};

use super::is_digits;

/// `[seconds]`, `[caller]`, `<level>`, facility, date, host: no log has more in front of a message.
const MOST_PREFIXES: usize = 6;
/// How far into a line `kernel:` may stand behind a date and a host name.
const DEEPEST_TAG: usize = 120;

/// Takes stamps, levels and names off the front of a line of the kernel's log. Whether there was any, and the message.
pub(crate) fn strip(line: &str) -> (bool, &str) {
    let mut rest = line.trim();
    let mut is_stamped = false;
    for _ in 0..MOST_PREFIXES {
        let Some(shorter) = strip_one(rest) else { break };
        is_stamped = true;
        rest = shorter.trim_start();
    }
    (is_stamped, rest)
}

fn strip_one(line: &str) -> Option<&str> {
    match line.as_bytes().first()? {
        b'[' => {
            let (stamp, rest) = line.get(1..)?.split_once(']')?;
            is_bracketed_stamp(stamp).then_some(rest)
        }
        b'<' => {
            let (level, rest) = line.get(1..)?.split_once('>')?;
            (level.len() <= 3 && is_digits(level)).then_some(rest)
        }
        b'0'..=b'9' => strip_number(line).or_else(|| strip_tag(line)).or_else(|| strip_date(line)),
        b'd' | b'k' => strip_facility(line).or_else(|| strip_tag(line)).or_else(|| strip_date(line)),
        _ => strip_tag(line).or_else(|| strip_date(line)),
    }
}

/// `    1.234567`, `Fri Jan  3 19:15:47 2025`, `2024-01-01T00:00:00,123456+01:00`, and the caller `T123` or `C4`; of `dmesg -H`
/// `Nov23 19:55` and `  +0.000012`; of `dmesg -d` and the journal's `short-delta` the same with `<    0.000012>` behind it.
fn is_bracketed_stamp(stamp: &str) -> bool {
    let (stamp, has_delta) = match stamp.split_once('<') {
        Some((before, delta)) => (before, delta.trim_end().ends_with('>')),
        None => (stamp, false),
    };
    // Vendors' kernels put the processor behind the time: `8.888999@0`.
    let stamp =
        stamp.split_once('@').filter(|(_, number)| is_digits(number.trim())).map_or(stamp, |(time, _)| time);
    let stamp = stamp.trim();
    let is_caller = stamp.strip_prefix(['T', 'C']).is_some_and(is_digits);
    is_caller
        || is_seconds(stamp.trim_start_matches('+'))
        || (has_delta && stamp.is_empty())
        || is_minute(stamp)
        || (stamp.len() >= 19 && stamp.len() <= 48 && has_clock(stamp))
}

/// `Nov23 19:55`, with the month in any language.
fn is_minute(stamp: &str) -> bool {
    let Some((date, clock)) = stamp.rsplit_once(' ') else { return false };
    let month = date.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let is_month =
        !month.is_empty() && month.len() <= 12 && month.chars().all(|c| c.is_alphabetic() || c == '.');
    let digits = clock.as_bytes();
    let is_clock =
        matches!(digits, [h1, h2, b':', m1, m2] if [h1, h2, m1, m2].iter().all(|d| d.is_ascii_digit()));
    is_month && is_clock && date.len() > month.len()
}

/// What follows `[   12.345678]`, the seconds since the machine began.
pub(super) fn behind_uptime(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_apart = rest.is_empty() || rest.starts_with(' ');
    (is_seconds(inside.trim_start()) && is_apart).then_some(rest)
}

/// `1.234567`; some tools print three digits of it.
fn is_seconds(text: &str) -> bool {
    text.split_once('.').is_some_and(|(whole, part)| is_digits(whole) && part.len() >= 3 && is_digits(part))
}

/// Whether `12:34:56` stands in it. The address of a PCI device (`0000:04:00.0`) begins with more digits.
pub(super) fn has_clock(text: &str) -> bool {
    let is_two = |part: &str| part.len() == 2 && is_digits(part);
    let is_hour = |part: &str| matches!(part.len() - part.trim_end_matches(is_digit).len(), 1 | 2);
    let parts: Vec<&str> = text.split(':').collect();
    parts.windows(3).any(|three| match three {
        [hour, minute, second] => is_hour(hour) && is_two(minute) && second.get(..2).is_some_and(is_two),
        _ => false,
    })
}

const fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// `1423.813513] ` with its bracket lost, the date of `dmesg --time-format iso` and of syslog, the number that `grep -n` or
/// an editor puts before a stamp.
fn strip_number(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if let Some(message) = strip_kmsg(line, digits) {
        return Some(message);
    }
    let numbered = digits.trim_start_matches([':', ' ', '\t']);
    if digits.len() < line.len() && numbered.starts_with('[') && strip_one(numbered).is_some() {
        return Some(numbered);
    }
    let (word, rest) = line.split_once(' ')?;
    // The version of RFC 5424, before its date.
    if word == "1" && rest.as_bytes().get(4) == Some(&b'-') {
        return strip_number(rest);
    }
    if word.strip_suffix(']').is_some_and(is_seconds) {
        return Some(rest);
    }
    let is_date = word.len() >= 19 && word.as_bytes().get(4) == Some(&b'-') && has_clock(word);
    is_date.then(|| behind_tag(rest).unwrap_or(rest))
}

/// `6,339,5140900,-;` of `/dev/kmsg`: level, number, microseconds, flags and what later kernels add.
fn strip_kmsg<'l>(line: &'l str, digits: &str) -> Option<&'l str> {
    digits.strip_prefix(',').filter(|_| digits.len() < line.len())?;
    let (head, message) = line.split_once(';')?;
    let mut fields = head.split(',');
    let are_numbers = fields.by_ref().take(3).filter(|field| is_digits(field)).count() == 3;
    let flag = fields.next()?;
    (are_numbers && flag.len() <= 4 && head.len() <= DEEPEST_TAG).then_some(message)
}

/// `Sep 28 14:48:15 host kernel: ` with months of any language, `Sat 2024-01-06 12:34:56 CET host kernel: `,
/// `2024-01-06 12:34:56 host kernel: `, `12:34:56 kernel: `. Another program's message is none of the kernel's.
fn strip_date(line: &str) -> Option<&str> {
    const MOST_WORDS: usize = 4;
    let mut rest = line;
    let mut has_number = false;
    for place in 0..MOST_WORDS {
        let (word, behind) = rest.trim_start().split_once(' ')?;
        if is_clock(word) {
            let told = behind_tag(behind);
            return match place {
                0 => Some(told.unwrap_or(behind)),
                _ => has_number.then(|| told.unwrap_or_default()),
            };
        }
        // `11月`, `6월`.
        let number = word.trim_end_matches(['.', ',', '月', '월', '日', '일']);
        let is_number = number.len() <= 10
            && number.starts_with(|c: char| c.is_ascii_digit())
            && number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'/' | b'.'));
        let is_name = word.len() <= 16 && word.chars().all(|c| c.is_alphabetic() || matches!(c, '.' | ','));
        if !is_number && !is_name {
            return None;
        }
        has_number |= is_number;
        rest = behind;
    }
    None
}

/// `14:48:15`, `14:48:15.123456`.
fn is_clock(word: &str) -> bool {
    let word = word.trim_end_matches(',');
    word.starts_with(is_digit)
        && word.get(..8).is_some_and(has_clock)
        && word
            .bytes()
            .skip(8)
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'+' | b'-' | b':'))
}

/// `kernel: `, `host kernel: ` behind a stamp in brackets, and `1704541234.123456 host kernel: ` of the journal.
fn strip_tag(line: &str) -> Option<&str> {
    let head = line.get(..line.len().min(DEEPEST_TAG)).unwrap_or(line);
    let (before, rest) = split_tag(head)?;
    let begin = head.len() - rest.len();
    let words: Vec<&str> = before.split_whitespace().collect();
    let is_tag = match words.as_slice() {
        [] => true,
        [host] => before.ends_with(' ') && is_host(host),
        [time, host] => before.ends_with(' ') && is_seconds(time) && is_host(host),
        _ => false,
    };
    is_tag.then(|| line.get(begin..)).flatten()
}

/// Whether a word may be the name of a host.
pub(super) fn is_host(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

/// What stands before `kernel:` or `kernel[0]:`, and behind it.
fn split_tag(text: &str) -> Option<(&str, &str)> {
    text.match_indices("kernel").find_map(|(at, word)| {
        let (before, behind) = (text.get(..at)?, text.get(at + word.len()..)?);
        if let Some(rest) = behind.strip_prefix(':') {
            return Some((before, rest));
        }
        let (number, rest) = behind.strip_prefix('[')?.split_once("]:")?;
        is_digits(number).then_some((before, rest))
    })
}

/// The message behind a date: behind the kernel's tag, behind `host kernel - - - ` of syslog (RFC 5424, section 6), or, without
/// a tag, behind the name of a host where the kernel's own stamp follows it, or, as in TrueNAS, the name of a driver of FreeBSD.
fn behind_tag(text: &str) -> Option<&str> {
    if let Some((before, rest)) = split_tag(text) {
        return (before.len() <= DEEPEST_TAG).then_some(rest);
    }
    let (_, rest) = text.trim_start().split_once(' ')?;
    if let Some(fields) = rest.strip_prefix("kernel ") {
        let data = fields.splitn(3, ' ').nth(2)?;
        let structured = || data.strip_prefix('[')?.split_once("] ").map(|(_, message)| message);
        return data.strip_prefix("- ").or_else(structured);
    }
    let stamp = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    stamp.map_or(is_of_freebsd(rest), |(stamp, _)| is_seconds(stamp.trim())).then_some(rest)
}

/// Whether a line is a message of a disk of FreeBSD, or of what carries it: `ada0: …`, `da0 at …`, `(da1:mps0:0:9:0): …`.
pub(crate) fn is_of_freebsd(line: &str) -> bool {
    let name = line.strip_prefix('(').unwrap_or(line).split([':', ' ']).next().unwrap_or_default();
    let drivers = ["ahcich", "cd", "mpr", "mps", "nvme", "pass", "ses", "ugen", "umass"];
    freebsd_disk(name) == Some(name) || drivers.iter().any(|driver| is_numbered(name, driver))
}

/// `kern  :info  : ` of `dmesg -x`.
fn strip_facility(line: &str) -> Option<&str> {
    let (facility, rest) = line.split_once(':')?;
    matches!(facility.trim_end(), "kern" | "daemon").then_some(())?;
    let (level, rest) = rest.split_once(':')?;
    (level.len() <= 8 && level.trim_end().bytes().all(|byte| byte.is_ascii_lowercase())).then_some(rest)
}

/// Digits as `0`, however many, and blanks as one: two stamps of a log have one shape.
pub(super) fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    for c in text.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        let c = if c.is_whitespace() { ' ' } else { c };
        if !(matches!(c, '0' | ' ') && shape.ends_with(c)) {
            shape.push(c);
        }
    }
    shape
}

/// What follows a stamp of this shape.
pub(super) fn behind<'l>(line: &'l str, shape: &str) -> Option<&'l str> {
    let mut rest = line.trim_start();
    for c in shape.chars() {
        let is_same = |one: char| match c {
            '0' => one.is_ascii_digit(),
            ' ' => one.is_whitespace(),
            c => one == c,
        };
        let one = rest.chars().next().filter(|one| is_same(*one))?;
        rest = rest.get(one.len_utf8()..)?;
        if matches!(c, '0' | ' ') {
            rest = rest.trim_start_matches(is_same);
        }
    }
    // A mark of a comment may stand close to its text; a stamp ends before a word does.
    let ends = !shape.ends_with(char::is_alphanumeric) || !rest.starts_with(char::is_alphanumeric);
    ends.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_the_time_is_taken_off() {
        for line in [
            "[    1.234567] usb 2-1: x",
            "[    1.234567][    T1] usb 2-1: x",
            "[  T312] usb 2-1: x",
            "[    8.888999@0] usb 2-1: x",
            "[Fri Jan  3 19:15:47 2025] usb 2-1: x",
            "<6>[    1.234567] usb 2-1: x",
            "<6>usb 2-1: x",
            "kern  :info  : [    1.234567] usb 2-1: x",
            "kern  :info  : [Fri Jan  3 19:15:47 2025] usb 2-1: x",
            "Sep 28 14:48:15 desktop kernel: usb 2-1: x",
            "Jan  1 23:30:53 begin kernel: [   46.675818] usb 2-1: x",
            "2024-01-01T00:00:00,123456+01:00 usb 2-1: x",
            "2024-01-01T00:00:00.123456+01:00 host kernel: [    1.2] usb 2-1: x",
            "[2024-01-01T00:00:00.123456+0100] usb 2-1: x",
            "1423.813513] usb 2-1: x",
            "   [    0.408995] usb 2-1: x",
            "kernel: usb 2-1: x",
            "usb 2-1: x",
            "[Nov23 19:55] usb 2-1: x",
            "[  +0.000012] usb 2-1: x",
            "[févr. 3 19:55] usb 2-1: x",
            "[    1.234567 <    0.000012>] usb 2-1: x",
            "[<    0.000012>] usb 2-1: x",
            "[    1.234567] desktop kernel: usb 2-1: x",
            "Sat 2024-01-06 12:34:56 CET desktop kernel: usb 2-1: x",
            "1704541234.123456 desktop kernel: usb 2-1: x",
            "févr. 08 14:48:15 desktop kernel: usb 2-1: x",
            "okt 08 14:48:15 desktop kernel: usb 2-1: x",
            "лис 08 14:48:15 desktop kernel: usb 2-1: x",
            "8. Okt 14:48:15 desktop kernel: usb 2-1: x",
            "2024-01-06 14:48:15 desktop kernel: usb 2-1: x",
            "14:48:15 desktop kernel: usb 2-1: x",
            "14:48:15 kernel: usb 2-1: x",
            "desktop kernel: usb 2-1: x",
            "desktop kernel[0]: usb 2-1: x",
            "Sep 28 14:48:15 desktop kernel[0]: usb 2-1: x",
            "<6>1 2024-01-01T00:00:00.123Z desktop kernel - - - usb 2-1: x",
            "1 2024-01-01T00:00:00.123Z desktop kernel - - - [    1.234567] usb 2-1: x",
            "1 2024-01-01T00:00:00.123Z desktop kernel - - [meta sequenceId=\"1\"] usb 2-1: x",
            "2024-01-01T00:00:00+01:00 nas [    1.234567] usb 2-1: x",
            "Sep 28 14:48:15 nas [    1.234567] usb 2-1: x",
            "Jan 06 12:34:56.123456 desktop kernel: usb 2-1: x",
            "[ven. janv. 3 19:15:47 2025] usb 2-1: x",
            "12:[    1.234567] usb 2-1: x",
            "  12  [    1.234567] usb 2-1: x",
            "6,339,1234567,-;usb 2-1: x",
            "6,339,1234567,-,caller=T1;usb 2-1: x",
            "11月 14 14:48:15 desktop kernel: usb 2-1: x",
            " 6월 04 14:48:15 desktop kernel: usb 2-1: x",
        ] {
            let want = if line.contains("[    1.2] ") { "[    1.2] usb 2-1: x" } else { "usb 2-1: x" };
            assert_eq!(strip(line).1, want, "{line}");
        }
    }
}
