//! Lines that a web page joined, by blanks or by its marks for a new line: what unmistakably begins a line of a tool, and stands
//! within one, begins a statement of its own. The statements of a line keep its number.

use std::borrow::Cow;

use super::stamp;

/// Stands between the statements of a line. Cleaning takes such characters out of every text before.
pub(super) const BETWEEN: char = '\u{b}';

/// The statements of a line of a cleaned text, of which most have one.
pub fn statements(line: &str) -> impl DoubleEndedIterator<Item = &str> + Clone {
    line.split(BETWEEN)
}

/// Tools whose name behind a prompt is a command.
const COMMANDS: [&str; 14] = [
    "hdparm",
    "lspci",
    "dmidecode",
    "lsblk",
    "fio",
    "dd",
    "smartctl",
    "dmesg",
    "iostat",
    "lsusb",
    "zpool",
    "mdadm",
    "nvme",
    "cat",
];

/// What begins a line, and one of which then follows at once.
const HEADS: &[(&str, &[&str])] = &[
    ("LnkCap:", &["Port #", "Speed "]),
    ("LnkSta:", &["Speed "]),
    ("Timing ", &["buffered disk reads:", "cached reads:", "buffer-cache reads:", "O_DIRECT disk reads:"]),
    ("read:", &["IOPS="]),
    ("write:", &["IOPS="]),
    ("READ:", &["bw="]),
    ("WRITE:", &["bw="]),
];

/// What begins lines of a slot in dmidecode, where a line names a slot and its type.
const OF_SLOTS: [&str; 4] = ["Designation:", "Type: x", "Current Usage:", "Bus Address:"];

/// Sets the statements of each line apart.
pub(super) fn set_apart(lines: &mut [Cow<'_, str>]) {
    for line in lines {
        let cuts = cuts(line);
        if cuts.is_empty() {
            continue;
        }
        let mut apart = String::with_capacity(line.len());
        let mut from = 0;
        for cut in cuts {
            apart.push_str(line.get(from..cut).unwrap_or_default().trim_end());
            apart.push(BETWEEN);
            from = cut;
        }
        apart.push_str(line.get(from..).unwrap_or_default());
        *line = Cow::Owned(apart);
    }
}

/// Where statements begin within a line. The values of JSON hold lines of other tools, and are no lines.
fn cuts(line: &str) -> Vec<usize> {
    let words = words(line);
    let is_within = |at: usize| line.get(..at).is_some_and(|before| !before.trim().is_empty());
    let is_slot = line.trim_start().starts_with("Designation:") || line.contains(" Designation:");
    let is_slot = is_slot && line.contains(" Type: x");
    let begins_slot = |rest: &str| is_slot && OF_SLOTS.iter().any(|head| rest.starts_with(head));
    let begins = |(at, rest): &(usize, &str)| is_within(*at) && (begins(rest) || begins_slot(rest));
    let mut cuts: Vec<usize> = match memchr::memchr(b':', line.as_bytes()) {
        Some(_) if !line.contains("\":") => words.filter(begins).map(|(at, _)| at).collect(),
        _ => Vec::new(),
    };
    cuts.extend(stamps(line).skip(1));
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// The words of a line, each with where it begins and all that follows.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = line.as_bytes();
    let starts = (0..bytes.len()).filter(|at| {
        let is_blank = |at: usize| bytes.get(at).is_none_or(|byte| matches!(byte, b' ' | b'\t'));
        !is_blank(*at) && (*at == 0 || is_blank(at - 1))
    });
    starts.filter_map(|at| Some((at, line.get(at..)?)))
}

fn begins(rest: &str) -> bool {
    match rest.as_bytes().first() {
        Some(b'm' | b'P' | b'u' | b'[' | b'0'..=b'9') if is_of_arrays(rest) => true,
        Some(b'#' | b'$') => is_command(rest),
        Some(b'/') => is_timed(rest),
        _ => HEADS.iter().any(|(head, next)| {
            let behind = rest.strip_prefix(head).map(str::trim_start);
            behind.is_some_and(|behind| next.iter().any(|next| behind.starts_with(next)))
        }),
    }
}

/// Lines of `/proc/mdstat` (kernel `drivers/md/md.c`, `md_seq_show`): `md0 : active raid1 sdb1[1]`, `1000 blocks [2/1] [_U]`,
/// `[=>…] recovery = 6.6% …`.
fn is_of_arrays(rest: &str) -> bool {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if let Some(number) = rest.strip_prefix("md") {
        let behind = number.get(digits(number)..).unwrap_or_default();
        return digits(number) > 0 && behind.starts_with(" : active ");
    }
    if let Some(bar) = rest.strip_prefix('[') {
        let behind = bar.trim_start_matches(['=', '>', '.']);
        let is_bar = bar.len() - behind.len() >= 20;
        let works = ["] resync", "] recovery", "] check", "] reshape"];
        return is_bar && works.iter().any(|work| behind.starts_with(work));
    }
    let blocks = rest.get(digits(rest)..).unwrap_or_default();
    let is_size = digits(rest) > 0
        && [" blocks [", " blocks super ", " blocks level "].iter().any(|next| blocks.starts_with(next));
    is_size || rest.starts_with("Personalities : [") || rest.starts_with("unused devices: <")
}

/// `# hdparm -t /dev/sda`: a prompt, and a tool that is called.
fn is_command(rest: &str) -> bool {
    let Some(called) = rest.get(1..).and_then(|rest| rest.strip_prefix(' ')) else { return false };
    let called = called.strip_prefix("sudo ").unwrap_or(called);
    COMMANDS.iter().any(|tool| called.strip_prefix(tool).is_some_and(|rest| rest.starts_with(' ')))
}

/// `/dev/sda: Timing …`: the head of what hdparm prints.
fn is_timed(rest: &str) -> bool {
    let split = rest.strip_prefix("/dev/").and_then(|rest| rest.split_once(": "));
    split.is_some_and(|(name, next)| !name.contains(' ') && next.trim_start().starts_with("Timing "))
}

/// Where the seconds since the start of a machine stand before messages of its kernel.
fn stamps(line: &str) -> impl Iterator<Item = usize> {
    let found = memchr::memchr_iter(b'[', line.as_bytes());
    found.filter(|at| {
        let is_apart = line.get(..*at).is_some_and(|before| before.is_empty() || before.ends_with(' '));
        is_apart && line.get(*at..).and_then(stamp::behind_uptime).is_some_and(|rest| !rest.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apart(line: &str) -> Vec<String> {
        let mut lines = [Cow::Borrowed(line)];
        set_apart(&mut lines);
        lines[0].split(BETWEEN).map(str::to_owned).collect()
    }

    #[test]
    fn a_page_that_joined_lines_is_read_by_statements() {
        assert_eq!(
            apart(
                "nvme2n1 259:0 0 931.5G 0 disk # hdparm -t /dev/nvme2n1 /dev/nvme2n1: Timing buffered disk reads: \
                 1122 MB in 3.00 seconds = 373.60 MB/sec"
            ),
            [
                "nvme2n1 259:0 0 931.5G 0 disk",
                "# hdparm -t /dev/nvme2n1",
                "/dev/nvme2n1:",
                "Timing buffered disk reads: 1122 MB in 3.00 seconds = 373.60 MB/sec"
            ]
        );
        assert_eq!(
            apart("LnkCap: Port #5, Speed 5GT/s, Width x4, ASPM not supported LnkSta: Speed 5GT/s (ok)"),
            ["LnkCap: Port #5, Speed 5GT/s, Width x4, ASPM not supported", "LnkSta: Speed 5GT/s (ok)"]
        );
        assert_eq!(
            apart("Designation: PCIEX16_2 Type: x1 PCI Express 3 Designation: M.2"),
            ["Designation: PCIEX16_2", "Type: x1 PCI Express 3", "Designation: M.2"]
        );
        assert_eq!(
            apart("[    1.5000] ata1: SATA link up [    1.6000] ata2: SATA link down"),
            ["[    1.5000] ata1: SATA link up", "[    1.6000] ata2: SATA link down"]
        );
        assert_eq!(
            apart(
                "I get: Personalities : [raid1] md0 : active raid1 hdd1[2] hda1[1] 243537216 blocks [2/1] [_U] \
                 [=>...................] recovery = 6.6% (16304448/243537216) finish=308.6min speed=12266K/sec"
            ),
            [
                "I get:",
                "Personalities : [raid1]",
                "md0 : active raid1 hdd1[2] hda1[1]",
                "243537216 blocks [2/1] [_U]",
                "[=>...................] recovery = 6.6% (16304448/243537216) finish=308.6min speed=12266K/sec"
            ]
        );
    }

    #[test]
    fn lines_of_tools_stay_whole() {
        for line in [
            "\t\tLnkSta:\tSpeed 8GT/s, Width x4",
            "Nov 30 12:00:00 host kernel: [    1.5000] nvme nvme0: pci function",
            "{\"lines\": \"LnkCap: Port #5, Speed 5GT/s LnkSta: Speed 5GT/s\"}",
            "  read: IOPS=686k, BW=5361MiB/s (5622MB/s)(8192MiB/1528msec)",
            "# lspci -vv | grep LnkSta:",
            "\tSocket Designation: CPU1",
            "[  5]   0.00-1.00   sec  1.10 GBytes  9.41 Gbits/sec",
            "",
        ] {
            assert_eq!(apart(line), [line]);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_blanks_is_lost(line in "(LnkCap: Speed |# dd |/dev/sda: |Timing cached reads:|md0 : active | 1 blocks super |[\\[\\]0-9. é\"]){0,12}") {
            let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(plain(&apart(&line).concat()), plain(&line));
        }
    }
}
