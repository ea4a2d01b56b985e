//! The messages of a log, those whole again that mail or a terminal has broken.

use std::borrow::Cow;

use crate::capture::Text;
use crate::text::{stamp, wrap};
use narrows_base::fact::{Fact, Source};

/// Mail breaks at 72 columns; no message of interest fills more than this many further lines.
const MOST_CONTINUATIONS: usize = 4;

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
    let width = wrap::terminal_width(text);
    let mut is_full = false;
    for (number, line) in text.lines() {
        let is_broken_in_word = std::mem::replace(&mut is_full, width == Some(line.chars().count()))
            && !line.starts_with(char::is_whitespace);
        let (is_stamped, message) = stamp::strip(line);
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
