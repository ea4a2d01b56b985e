//! Lines of a log: what stands before a message, and messages that mail has broken.

use std::borrow::Cow;

use crate::capture::Text;
use narrows_base::fact::{Fact, Source};

/// Mail breaks at 72 columns; no message of interest fills more than this many further lines.
const MOST_CONTINUATIONS: usize = 4;
/// `[seconds]`, `[caller]`, `<level>`, facility, date, host: no log has more in front of a message.
const MOST_PREFIXES: usize = 6;
/// How far into a line `kernel:` may stand behind a date and a host name.
const DEEPEST_TAG: usize = 120;

/// One message of the log.
pub(super) struct Line<'a> {
    /// The message, whole, without what stands before it.
    pub(super) message: &'a str,
    text: &'a Text,
    number: usize,
}

impl Line<'_> {
    /// The place of the message.
    pub(super) fn source(&self) -> Source {
        Source::new(self.text.source(self.number))
    }

    /// A fact that this message states.
    pub(super) fn known<T>(&self, value: T) -> Fact<T> {
        Fact::known(value, self.text.source(self.number))
    }
}

/// Calls `take` with every message, broken ones joined.
pub(super) fn for_each(text: &Text, mut take: impl FnMut(&Line<'_>)) {
    let mut open: Option<(usize, Cow<'_, str>, usize)> = None;
    let mut close = |open: Option<(usize, Cow<'_, str>, usize)>| {
        if let Some((number, message, _)) = open {
            take(&Line { message: &message, text, number });
        }
    };
    let width = folded_at(text);
    let mut is_full = false;
    for (number, line) in text.lines() {
        let is_broken_in_word = std::mem::replace(&mut is_full, width == Some(line.chars().count()))
            && !line.starts_with(char::is_whitespace);
        let (is_stamped, message) = strip(line);
        if is_stamped || starts_message(message) {
            close(open.replace((number, Cow::Borrowed(message), 0)));
        } else if message.is_empty() {
            close(open.take());
        } else if of_kmsg(message) {
            continue;
        } else if let Some((_, whole, continuations)) = &mut open
            && *continuations < MOST_CONTINUATIONS
        {
            *continuations += 1;
            let whole = whole.to_mut();
            if !is_broken_in_word {
                whole.push(' ');
            }
            whole.push_str(message);
        }
    }
    close(open);
}

/// `SUBSYSTEM=pci` and `DEVICE=+pci:0000:01:00.0`, which `/dev/kmsg` has below a message.
fn of_kmsg(message: &str) -> bool {
    message.starts_with("SUBSYSTEM=") || message.starts_with("DEVICE=+") || message.starts_with("DEVICE=c")
}

/// The width at which a terminal broke lines wherever they were: none is longer, and several are just as long.
fn folded_at(text: &Text) -> Option<usize> {
    /// No terminal is narrower, and fewer lines are as long as the longest by chance.
    const NARROWEST: usize = 60;
    const FEWEST: usize = 3;
    let widths = || text.lines().map(|(_, line)| line.chars().count());
    let widest = widths().max().filter(|widest| *widest >= NARROWEST)?;
    (widths().filter(|width| *width == widest).count() >= FEWEST).then_some(widest)
}

/// Takes stamps, levels and names off the front of a line. Whether there was any, and the message.
fn strip(line: &str) -> (bool, &str) {
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

fn is_seconds(text: &str) -> bool {
    text.split_once('.').is_some_and(|(whole, part)| is_digits(whole) && part.len() == 6 && is_digits(part))
}

/// Whether `12:34:56` stands in it.
fn has_clock(text: &str) -> bool {
    text.as_bytes().windows(8).any(|eight| {
        eight.iter().enumerate().all(|(place, byte)| match place {
            2 | 5 => *byte == b':',
            _ => byte.is_ascii_digit(),
        })
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
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
    word.get(..8).is_some_and(has_clock)
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
    let is_host = |word: &str| {
        !word.ends_with(':')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
    };
    let is_tag = match words.as_slice() {
        [] => true,
        [host] => before.ends_with(' ') && is_host(host),
        [time, host] => before.ends_with(' ') && is_seconds(time) && is_host(host),
        _ => false,
    };
    is_tag.then(|| line.get(begin..)).flatten()
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
/// a tag, behind the name of a host where the kernel's own stamp follows it.
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
    let stamp = rest.strip_prefix('[')?.split_once(']')?.0;
    is_seconds(stamp.trim()).then_some(rest)
}

/// `kern  :info  : ` of `dmesg -x`.
fn strip_facility(line: &str) -> Option<&str> {
    let (facility, rest) = line.split_once(':')?;
    matches!(facility.trim_end(), "kern" | "daemon").then_some(())?;
    let (level, rest) = rest.split_once(':')?;
    (level.len() <= 8 && level.trim_end().bytes().all(|byte| byte.is_ascii_lowercase())).then_some(rest)
}

/// Whether a line without a stamp starts a message of a device, rather than going on with the one above.
fn starts_message(line: &str) -> bool {
    let Some((first, rest)) = line.split_once(' ') else { return false };
    match first {
        "DMI:" | "Linux" | "md:" => true,
        _ if first.ends_with(':') => {
            let name = first.trim_end_matches(':');
            name.starts_with("md/")
                || (["ata", "mmc"].iter().any(|start| name.starts_with(start))
                    && name.ends_with(|c: char| c.is_ascii_digit()))
        }
        _ => names_device(rest) || super::device_of(line).is_some(),
    }
}

/// Whether `rest`, behind the name of a driver, starts with that of a device: `2-1: `, `0000:80: `, `fd500000.pcie: `.
fn names_device(rest: &str) -> bool {
    let name = rest.split_once(": ").map_or("", |(name, _)| name);
    !name.contains(' ') && name.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(body: &str) -> Vec<String> {
        let mut found = Vec::new();
        for_each(&Text::new("dmesg", body.as_bytes()), |line| found.push(line.message.to_owned()));
        found
    }

    #[test]
    fn every_way_to_write_the_time_is_taken_off() {
        for line in [
            "[    1.234567] usb 2-1: x",
            "[    1.234567][    T1] usb 2-1: x",
            "[  T312] usb 2-1: x",
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
            assert_eq!(messages(line), [want], "{line}");
        }
    }

    #[test]
    fn words_that_a_terminal_broke_are_whole_again() {
        let whole = [
            "[    4.709607] pci 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)",
            "[    4.748582] sd 0:0:0:0: [sda] 468862128 512-byte logical blocks: (240 GB/224 GiB)",
            "[    4.800000] nvme nvme0: pci function 0000:01:00.0",
            "[    4.900000] usb 2-1: New USB device found, idVendor=0bda, idProduct=9210, bcdDevice=20.01, and so on",
        ];
        let folded: Vec<String> = whole
            .iter()
            .flat_map(|line| {
                line.as_bytes().chunks(80).map(|part| String::from_utf8_lossy(part).into_owned())
            })
            .collect();
        let want: Vec<String> =
            whole.iter().map(|line| line.split_once("] ").expect("a stamp").1.to_owned()).collect();
        assert_eq!(messages(&folded.join("\n")), want);
    }

    #[test]
    fn what_kmsg_says_below_a_message_is_none() {
        let body = "6,1,100,-;pci 0000:01:00.0: a\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n6,2,101,-;usb 2-1: b\n";
        assert_eq!(messages(body), ["pci 0000:01:00.0: a", "usb 2-1: b"]);
    }

    #[test]
    fn a_bracket_that_is_no_stamp_stays() {
        assert_eq!(messages("[    1.234567] [drm] PCIE GEN 3 enabled"), ["[drm] PCIE GEN 3 enabled"]);
        assert_eq!(messages("Sep 28 14:48:15 desktop smartd[812]: Device: /dev/sda"), [""]);
        assert_eq!(messages("févr. 28 14:48:15 desktop smartd[812]: Device: /dev/sda"), [""]);
        assert!(messages("Speed 8GT/s (downgraded), the kernel: it says so\n").is_empty());
        assert!(messages("[Falcon] a name in brackets\n").is_empty());
    }

    #[test]
    fn messages_broken_by_mail_are_joined() {
        let body = "[    4.709607] pci 0000:01:00.0: 4.000 Gb/s available PCIe bandwidth,\n\
                    limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504\n\
                    Gb/s with 8.0 GT/s PCIe x4 link)\n[    4.748582] pci 0000:00:00.0: x\n\nHowever, prose.\n";
        let joined = messages(body);
        assert_eq!(joined.len(), 2);
        assert!(joined[0].ends_with("bandwidth, limited by 5.0 GT/s PCIe x1 link at 0000:00:00.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)"));
        assert_eq!(joined[1], "pci 0000:00:00.0: x");
    }

    #[test]
    fn lines_of_devices_without_stamps_are_messages_of_their_own() {
        let body = "pcieport 10002:00:04.0: a\n...\nnvme nvme0: b\nata5.00: c\nmd/raid:md0: d\nprose about it\nsd 0:0:0:0: [sda] e\n";
        let found = messages(body);
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], "pcieport 10002:00:04.0: a ...");
    }

    #[test]
    fn a_file_without_a_log_has_no_messages() {
        assert!(
            messages("01:00.0 Non-Volatile memory controller: Samsung\n\tLnkSta: Speed 8GT/s\n").is_empty()
        );
        assert!(messages(&"word \n".repeat(1000)).is_empty());
    }
}
