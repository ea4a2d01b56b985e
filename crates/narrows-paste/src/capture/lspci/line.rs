//! Lines of `lspci`, freed of what mail, forums and terminals put before them.

use narrows_machine::pci::{PciAddress, PciId};

use super::class;

/// The longest name of a line (`Prefetchable memory behind bridge`), with room to grow.
const LONGEST_KEY: usize = 40;
/// An address as `lspci` prints it without a domain: `02:00.0`.
const SHORT: usize = 7;

/// The line without quoting (`> `), code marks and indentation.
pub(super) fn bare(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '`')).trim_end()
}

/// A function at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LspciPlace {
    pub(super) address: PciAddress,
    /// The bridge above it, where the line tells: `00:1c.0/02:00.0` of `lspci -PP`.
    pub(super) above: Option<PciAddress>,
}

impl LspciPlace {
    /// A function of which nothing says what is above it.
    pub(super) const fn of(address: PciAddress) -> Self {
        Self { address, above: None }
    }
}

/// What prose and guides put before an address, and behind it.
const MARKS: [char; 7] = ['\'', '"', '`', '*', '_', '[', '('];
const MARKS_BEHIND: [char; 7] = ['\'', '"', '`', '*', '_', ']', ')'];

/// Splits `02:00.0 what follows`; `None` when the line does not start with an address in `lspci`'s form, marked or not.
pub(super) fn addressed(line: &str) -> Option<(LspciPlace, &str)> {
    let line = line.trim_start_matches(MARKS);
    let first = line.bytes().next()?;
    if !first.is_ascii_hexdigit() {
        return None;
    }
    let (token, rest) = line.split_once([' ', '\t'])?;
    let token = token.trim_end_matches(MARKS_BEHIND);
    let mut path = token.rsplit('/');
    let last = path.next()?;
    let first = token.split('/').next()?;
    let domain = address(first)?.domain;
    // The domain stands before the first bridge only.
    let within = |part: &str| address(part).map(|address| PciAddress { domain, ..address });
    Some((LspciPlace { address: within(last)?, above: path.next().and_then(within) }, rest.trim_start()))
}

/// An address whose bus, device and function have the digits that `lspci` gives them.
pub(super) fn address(text: &str) -> Option<PciAddress> {
    let has_its_digits = text.len() == SHORT
        || text.len().checked_sub(SHORT + 1).is_some_and(|digits| (4..=8).contains(&digits));
    has_its_digits.then(|| text.parse().ok()).flatten()
}

/// The function of a line that has nothing else: `== 0000:c1:00.0`, as a loop over functions prints between.
pub(super) fn lone(line: &str) -> Option<PciAddress> {
    address(line.trim_matches(|c: char| c.is_whitespace() || "=-#*+[]():".contains(c)))
}

/// Splits `LnkSta: Speed 8GT/s` into its name and the rest; `None` when the line does not start with a name.
pub(super) fn keyed(line: &str) -> Option<(&str, &str)> {
    let at = line.bytes().take(LONGEST_KEY).position(|byte| byte == b':')?;
    let (key, rest) = line.split_at_checked(at)?;
    let is_name = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_/[]".contains(&byte));
    let starts = key.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase() || byte == b'[');
    (is_name && starts).then(|| (key, rest.trim_start_matches(':').trim_start()))
}

/// A row of a hex dump, `40: 01 50 03 00 …`: where it starts, and its bytes.
pub(super) fn hex_row(line: &str) -> Option<(usize, Vec<u8>)> {
    let (offset, rest) = line.split_once(": ")?;
    if !(2..=3).contains(&offset.len()) || !offset.ends_with('0') {
        return None;
    }
    let offset = usize::from_str_radix(offset, 16).ok()?;
    let row: Option<Vec<u8>> = rest.split(' ').take(MOST_IN_ROW).map(hex_byte).collect();
    Some((offset, row?))
}

/// No row has more bytes; behind them stand characters.
const MOST_IN_ROW: usize = 16;

pub(in crate::capture) fn hex_byte(text: &str) -> Option<u8> {
    let is_byte = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_byte.then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

/// Whether the line is part of a tree (`lspci -t`).
pub(super) fn is_tree(line: &str) -> bool {
    line.starts_with(['+', '|', '\\']) || line.starts_with("-[") || line.starts_with("-+")
}

/// Whether the line is one of the kernel's log, which is often pasted between: `[   12.5] nvme …`.
pub(super) fn is_log(line: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    inside.is_some_and(|(time, _)| {
        !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit() || b" .".contains(&byte))
    })
}

/// What follows the word `lspci` where the line calls it, with a prompt or in prose: `-vvs 01:00.0 | grep Lnk`.
pub(super) fn call(line: &str) -> Option<&str> {
    let at = line.find("lspci")?;
    let before = line.get(..at)?.chars().next_back();
    let after = line.get(at + "lspci".len()..)?;
    let is_word = before.is_none_or(|c| c.is_whitespace() || "/$#%>`'\"(".contains(c))
        && after.chars().next().is_none_or(|c| c.is_whitespace() || "`'\")".contains(c));
    is_word.then_some(after)
}

/// The one function that a call of `lspci` was asked for: `-s 01:00.0`, `-vvs01:00`; `None` for several or all.
pub(super) fn selected(call: &str) -> Option<PciAddress> {
    let mut words = call.split(['|', ';', '>']).next()?.split_whitespace();
    while let Some(word) = words.next() {
        let Some((letters, slot)) = word.strip_prefix('-').and_then(|word| word.split_once('s')) else {
            continue;
        };
        if !letters.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            continue;
        }
        let slot = if slot.is_empty() { words.next()? } else { slot };
        let slot = slot.trim_matches(['\'', '"', '`']);
        let is_whole = slot.contains('.');
        return if is_whole { slot.parse().ok() } else { format!("{slot}.0").parse().ok() };
    }
    None
}

/// Names of devices are kept to this many characters.
const LONGEST_NAME: usize = 200;

/// What the first line tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FunctionHead {
    /// Base class, sub-class and programming interface.
    pub(super) class: Option<u32>,
    /// Vendor and device.
    pub(super) id: Option<PciId>,
    /// Vendor and device in words.
    pub(super) name: Option<String>,
    /// Whether the function answered with all ones (`rev ff`): it is asleep, or gone from the bus.
    pub(super) is_silent: bool,
}

/// Reads `SATA controller [0106]: Vendor Device [8086:8d02] (rev 05) (prog-if 01 [AHCI 1.0])`, with and without
/// numbers; `None` when there is no class before a colon.
pub(super) fn parse_head(text: &str) -> Option<FunctionHead> {
    let (class, rest) = text.split_once(": ")?;
    let interface = interface(rest);
    let device = rest.split(" (prog-if ").next().unwrap_or_default();
    let is_silent = device.ends_with("(rev ff)") && rest.contains("(prog-if ff)");
    let device = device.rsplit_once(" (rev ").map_or(device, |(device, _)| device).trim();
    let (name, id) = split_id(device);
    Some(FunctionHead {
        class: class::code(class).map(|code| class::full(code, interface.filter(|_| !is_silent))),
        id,
        name: kept_name(name),
        is_silent,
    })
}

fn interface(text: &str) -> Option<u8> {
    let digits = text.split_once("(prog-if ")?.1.get(..2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// Takes the numbers off a name: `Device [126f:2263]`, or `126f:2263` alone.
pub(super) fn split_id(text: &str) -> (&str, Option<PciId>) {
    if let Some(id) = pci_id(text) {
        return ("", Some(id));
    }
    let bracketed = text.rsplit_once('[').map(|(name, rest)| (name, rest.trim_end_matches(']')));
    match bracketed.and_then(|(name, inside)| Some((name, pci_id(inside)?))) {
        Some((name, id)) => (name, Some(id)),
        None => (text, None),
    }
}

pub(in crate::capture) fn pci_id(text: &str) -> Option<PciId> {
    let (vendor, device) = text.split_once(':')?;
    Some(PciId { vendor: half_id(vendor)?, device: half_id(device)? })
}

/// One number of a pair: four hexadecimal digits.
pub(in crate::capture) fn half_id(text: &str) -> Option<u16> {
    let is_number = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u16::from_str_radix(text, 16).ok()).flatten()
}

/// A name that says something, cut to what is kept.
pub(super) fn kept_name(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.chars().take(LONGEST_NAME).collect())
}

/// Reads the fields of `lspci -mm`: `"SATA controller" "Vendor" "Device" -r05 -p01 "…" "…"`, with names, numbers
/// (`-n`) or both (`-nn`).
pub(super) fn parse_machine_head(text: &str) -> Option<FunctionHead> {
    let fields = quoted(text);
    let [class, vendor, device, ..] = fields.as_slice() else { return None };
    let outside = |option: &str| {
        let rest = text.split_once(option)?.1;
        u8::from_str_radix(rest.get(..2)?, 16).ok()
    };
    Some(head_of_names(class, vendor, device, outside("\" -p").or_else(|| outside(" -p"))))
}

/// A head from its parts, each a name, a number, or a name with its number in brackets.
pub(super) fn head_of_names(class: &str, vendor: &str, device: &str, interface: Option<u8>) -> FunctionHead {
    let (vendor, vendor_number) = split_half(vendor);
    let (device, device_number) = split_half(device);
    let id = vendor_number.zip(device_number).map(|(vendor, device)| PciId { vendor, device });
    FunctionHead {
        class: class::code(class).map(|code| class::full(code, interface)),
        id,
        name: kept_name(&format!("{vendor} {device}")),
        is_silent: false,
    }
}

fn split_half(text: &str) -> (&str, Option<u16>) {
    if let Some(number) = half_id(text) {
        return ("", Some(number));
    }
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    match bracketed.and_then(|(name, number)| Some((name.trim(), half_id(number)?))) {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    }
}

/// The fields between quotes; a backslash keeps a quote inside (`lspci.c`, `print_shell_escaped`).
fn quoted(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, field.as_mut()) {
            ('\\', Some(inside)) => inside.extend(chars.next()),
            ('"', Some(_)) => fields.extend(field.take()),
            ('"', None) => field = Some(String::new()),
            (c, Some(inside)) => inside.push(c),
            (_, None) => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> PciAddress {
        text.parse().expect("an address")
    }

    #[test]
    fn quoting_and_indentation_are_taken_away() {
        assert_eq!(bare("> > \t\tLnkSta: Speed 8GT/s "), "LnkSta: Speed 8GT/s");
        assert_eq!(bare("`02:00.0 x"), "02:00.0 x");
        assert_eq!(bare("\u{a0}\u{a0}LnkCap: x"), "LnkCap: x", "spaces as web pages have them");
    }

    #[test]
    fn an_address_starts_the_line() {
        let place = |line| addressed(line).map(|(place, rest)| (place.address, place.above, rest));
        assert_eq!(place("02:00.0 SATA controller: x"), Some((at("02:00.0"), None, "SATA controller: x")));
        assert_eq!(place("10000:e1:00.0 a"), Some((at("10000:e1:00.0"), None, "a")));
        assert_eq!(
            place("0001:00:1c.0/04:00.0 a"),
            Some((at("0001:04:00.0"), Some(at("0001:00:1c.0")), "a")),
            "lspci -D -PP"
        );
        for marked in ["'02:00.0 a", "**02:00.0** a", "[02:00.0] a", "`02:00.0` a"] {
            assert_eq!(place(marked), Some((at("02:00.0"), None, "a")), "{marked}");
        }
        for line in [
            "'a 02:00.0",
            "[0000:00]-+-00.0 a",
            "00:1c.0/00.0 a",
            "1:0.0 a",
            "00: 86 80",
            "2026-11-21 06:40:00.1 a",
            "",
            "02:00.0",
        ] {
            assert_eq!(place(line), None, "{line}");
        }
    }

    #[test]
    fn an_address_may_stand_alone() {
        assert_eq!(lone("== 0000:c1:00.0"), Some(at("c1:00.0")));
        assert_eq!(lone("### [01:00.0] ###"), Some(at("01:00.0")));
        assert_eq!(lone("0000:c1:00.0 eth0"), None);
    }

    #[test]
    fn a_name_ends_at_the_first_colon() {
        assert_eq!(keyed("LnkSta:\tSpeed 8GT/s"), Some(("LnkSta", "Speed 8GT/s")));
        assert_eq!(keyed("Kernel driver in use: nvme"), Some(("Kernel driver in use", "nvme")));
        assert_eq!(keyed("TrErr- Train- SlotClk+"), None);
        assert_eq!(keyed("[   12.5] nvme 0000:01:00.0: x"), None);
        assert_eq!(keyed("EqualizationPhase2+ a: b"), None);
    }

    #[test]
    fn rows_of_a_dump_are_read_as_far_as_they_go() {
        let read = |line| hex_row(line);
        assert_eq!(read("00: 57 19 70"), Some((0, vec![0x57, 0x19, 0x70])));
        assert_eq!(read("ff0: 01"), Some((0xff0, vec![1])));
        for line in ["00: 5", "00:57", "08: 11", "0000: 00", "00: xx", "00: "] {
            assert_eq!(hex_row(line), None, "{line}");
        }
    }

    #[test]
    fn a_call_names_the_one_function_that_it_was_asked_for() {
        for line in [
            "# lspci -vvv  -s 0000:01:00.0 | grep LnkSta:",
            "root@host:~# lspci -vvs 01:00.0",
            "$ sudo lspci -s01:00.0 -vv",
            "localhost ~ # lspci -bvvv -s 1:0.0",
            "$ lspci -s 01:00 -v",
        ] {
            assert_eq!(call(line).and_then(selected), Some(at("01:00.0")), "{line}");
        }
        for line in
            ["$ lspci -vvv", "the output of lspci:", "lspci: Unable to load", "$ lspci -s 01: -v", "x"]
        {
            assert_eq!(call(line).and_then(selected), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "\\PC{0,80}", prefix in "[0-9a-f:./ \\-]{0,20}") {
            let line = format!("{prefix}{line}");
            let _ = addressed(bare(&line));
            let _ = keyed(&line);
            let _ = hex_row(&line);
            let _ = call(&line).and_then(selected);
        }
    }

    fn summary(text: &str) -> (Option<u32>, Option<String>, Option<String>) {
        let head = parse_head(text).expect("a head");
        (head.class, head.id.map(|id| id.to_string()), head.name)
    }

    #[test]
    fn names_and_numbers_are_told_apart_in_every_form() {
        let name = Some("Silicon Motion, Inc. Device".to_owned());
        let id = Some("126f:2263".to_owned());
        assert_eq!(
            summary(
                "Non-Volatile memory controller [0108]: Silicon Motion, Inc. Device [126f:2263] (rev 03) (prog-if 02 [NVM Express])"
            ),
            (Some(0x01_0802), id.clone(), name.clone())
        );
        assert_eq!(summary("0108: 126f:2263 (rev 03)"), (Some(0x01_0802), id.clone(), None));
        assert_eq!(summary("Class 0108: 126f:2263 (prog-if 02)"), (Some(0x01_0802), id, None));
        assert_eq!(
            summary("Non-Volatile memory controller: Silicon Motion, Inc. Device (rev 03)"),
            (Some(0x01_0802), None, name)
        );
        assert_eq!(
            summary("SATA controller: AMD [AMD] FCH [AHCI mode] (rev 51) (prog-if 01 [AHCI 1.0])"),
            (Some(0x01_0601), None, Some("AMD [AMD] FCH [AHCI mode]".to_owned())),
            "brackets of a name are no number"
        );
    }

    #[test]
    fn a_function_that_answers_all_ones_is_silent() {
        let head = parse_head("Ethernet controller: Intel Corporation I226-V (rev ff) (prog-if ff)")
            .expect("a head");
        assert!(head.is_silent);
        assert_eq!(head.class, Some(0x02_0000));
    }

    #[test]
    fn machine_readable_fields_are_read() {
        let head =
            parse_machine_head(r#""Non-Volatile memory controller" "A \"B\"" "SSD" -r01 -p02 "x" "y""#)
                .expect("a head");
        assert_eq!((head.class, head.id, head.name.as_deref()), (Some(0x01_0802), None, Some("A \"B\" SSD")));
        let head = parse_machine_head(r#""0106" "8086" "8d02" -r05 -p01 "" """#).expect("a head");
        assert_eq!(head.class, Some(0x01_0601));
        assert_eq!(head.id.map(|id| id.to_string()).as_deref(), Some("8086:8d02"));
        let head = parse_machine_head(r#""PCI bridge [0604]" "Intel [8086]" "Port [1234]" -r05 "" """#)
            .expect("a head");
        assert_eq!((head.class, head.name.as_deref()), (Some(0x06_0400), Some("Intel Port")));
        assert_eq!(parse_machine_head(r#""a" "b""#), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,120}") {
            let _ = parse_head(&text);
            let _ = parse_machine_head(&text);
        }
    }
}
