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
    for (number, line) in text.lines() {
        let (is_stamped, message) = strip(line);
        if is_stamped || starts_message(message) {
            close(open.replace((number, Cow::Borrowed(message), 0)));
        } else if message.is_empty() {
            close(open.take());
        } else if let Some((_, whole, continuations)) = &mut open
            && *continuations < MOST_CONTINUATIONS
        {
            *continuations += 1;
            let whole = whole.to_mut();
            whole.push(' ');
            whole.push_str(message);
        }
    }
    close(open);
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
        b'0'..=b'9' => strip_number(line),
        b'A'..=b'S' => strip_month(line),
        b'd' | b'k' => line.strip_prefix("kernel:").or_else(|| strip_facility(line)),
        _ => None,
    }
}

/// `    1.234567`, `Fri Jan  3 19:15:47 2025`, `2024-01-01T00:00:00,123456+01:00`, and the caller `T123` or `C4`.
fn is_bracketed_stamp(stamp: &str) -> bool {
    let stamp = stamp.trim();
    let is_caller = stamp.strip_prefix(['T', 'C']).is_some_and(is_digits);
    is_caller || is_seconds(stamp) || (stamp.len() >= 19 && stamp.len() <= 40 && has_clock(stamp))
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

/// `1423.813513] ` with its bracket lost, or the date of `dmesg --time-format iso` and of syslog.
fn strip_number(line: &str) -> Option<&str> {
    let (word, rest) = line.split_once(' ')?;
    if word.strip_suffix(']').is_some_and(is_seconds) {
        return Some(rest);
    }
    let is_date = word.len() >= 19 && word.as_bytes().get(4) == Some(&b'-') && has_clock(word);
    is_date.then(|| behind_tag(rest).unwrap_or(rest))
}

/// `Sep 28 14:48:15 host kernel: `.
fn strip_month(line: &str) -> Option<&str> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let rest = MONTHS.iter().find_map(|month| line.strip_prefix(month))?.strip_prefix(' ')?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (clock, rest) = rest.split_once(' ')?;
    (is_digits(day) && has_clock(clock)).then_some(())?;
    // Another program's message is none of the kernel's.
    Some(behind_tag(rest).unwrap_or_default())
}

fn behind_tag(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once("kernel:")?;
    (before.len() <= DEEPEST_TAG).then_some(rest)
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
                || (name.starts_with("ata") && name.ends_with(|c: char| c.is_ascii_digit()))
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
        ] {
            let want = if line.contains("[    1.2] ") { "[    1.2] usb 2-1: x" } else { "usb 2-1: x" };
            assert_eq!(messages(line), [want], "{line}");
        }
    }

    #[test]
    fn a_bracket_that_is_no_stamp_stays() {
        assert_eq!(messages("[    1.234567] [drm] PCIE GEN 3 enabled"), ["[drm] PCIE GEN 3 enabled"]);
        assert_eq!(messages("Sep 28 14:48:15 desktop smartd[812]: Device: /dev/sda"), [""]);
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
