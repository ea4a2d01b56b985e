//! The first line of a function: its class, its name and its numbers.

use super::class;
use narrows_machine::pci::PciId;

/// Names of devices are kept to this many characters.
const LONGEST_NAME: usize = 200;

/// What the first line tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
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
pub(super) fn parse(text: &str) -> Option<Head> {
    let (class, rest) = text.split_once(": ")?;
    let interface = interface(rest);
    let device = rest.split(" (prog-if ").next().unwrap_or_default();
    let is_silent = device.ends_with("(rev ff)") && rest.contains("(prog-if ff)");
    let device = device.rsplit_once(" (rev ").map_or(device, |(device, _)| device).trim();
    let (name, id) = split_id(device);
    Some(Head {
        class: class::code(class).map(|code| class::full(code, interface.filter(|_| !is_silent))),
        id,
        name: kept(name),
        is_silent,
    })
}

fn interface(text: &str) -> Option<u8> {
    let digits = text.split_once("(prog-if ")?.1.get(..2)?;
    u8::from_str_radix(digits, 16).ok()
}

/// Takes the numbers off a name: `Device [126f:2263]`, or `126f:2263` alone.
pub(super) fn split_id(text: &str) -> (&str, Option<PciId>) {
    if let Some(id) = id(text) {
        return ("", Some(id));
    }
    let bracketed = text.rsplit_once('[').map(|(name, rest)| (name, rest.trim_end_matches(']')));
    match bracketed.and_then(|(name, inside)| Some((name, id(inside)?))) {
        Some((name, id)) => (name, Some(id)),
        None => (text, None),
    }
}

fn id(text: &str) -> Option<PciId> {
    let (vendor, device) = text.split_once(':')?;
    Some(PciId { vendor: half(vendor)?, device: half(device)? })
}

/// One number of a pair: four hexadecimal digits.
pub(super) fn half(text: &str) -> Option<u16> {
    let is_number = text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| u16::from_str_radix(text, 16).ok()).flatten()
}

/// A name that says something, cut to what is kept.
pub(super) fn kept(name: &str) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.chars().take(LONGEST_NAME).collect())
}

/// Reads the fields of `lspci -mm`: `"SATA controller" "Vendor" "Device" -r05 -p01 "…" "…"`, with names, numbers
/// (`-n`) or both (`-nn`).
pub(super) fn parse_machine(text: &str) -> Option<Head> {
    let fields = quoted(text);
    let [class, vendor, device, ..] = fields.as_slice() else { return None };
    let outside = |option: &str| {
        let rest = text.split_once(option)?.1;
        u8::from_str_radix(rest.get(..2)?, 16).ok()
    };
    Some(named(class, vendor, device, outside("\" -p").or_else(|| outside(" -p"))))
}

/// A head from its parts, each a name, a number, or a name with its number in brackets.
pub(super) fn named(class: &str, vendor: &str, device: &str, interface: Option<u8>) -> Head {
    let (vendor, vendor_number) = split_half(vendor);
    let (device, device_number) = split_half(device);
    let id = vendor_number.zip(device_number).map(|(vendor, device)| PciId { vendor, device });
    Head {
        class: class::code(class).map(|code| class::full(code, interface)),
        id,
        name: kept(&format!("{vendor} {device}")),
        is_silent: false,
    }
}

fn split_half(text: &str) -> (&str, Option<u16>) {
    if let Some(number) = half(text) {
        return ("", Some(number));
    }
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once('['));
    match bracketed.and_then(|(name, number)| Some((name.trim(), half(number)?))) {
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
    use super::*;
    use proptest::prelude::*;

    fn summary(text: &str) -> (Option<u32>, Option<String>, Option<String>) {
        let head = parse(text).expect("a head");
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
        let head =
            parse("Ethernet controller: Intel Corporation I226-V (rev ff) (prog-if ff)").expect("a head");
        assert!(head.is_silent);
        assert_eq!(head.class, Some(0x02_0000));
    }

    #[test]
    fn machine_readable_fields_are_read() {
        let head = parse_machine(r#""Non-Volatile memory controller" "A \"B\"" "SSD" -r01 -p02 "x" "y""#)
            .expect("a head");
        assert_eq!((head.class, head.id, head.name.as_deref()), (Some(0x01_0802), None, Some("A \"B\" SSD")));
        let head = parse_machine(r#""0106" "8086" "8d02" -r05 -p01 "" """#).expect("a head");
        assert_eq!(head.class, Some(0x01_0601));
        assert_eq!(head.id.map(|id| id.to_string()).as_deref(), Some("8086:8d02"));
        let head =
            parse_machine(r#""PCI bridge [0604]" "Intel [8086]" "Port [1234]" -r05 "" """#).expect("a head");
        assert_eq!((head.class, head.name.as_deref()), (Some(0x06_0400), Some("Intel Port")));
        assert_eq!(parse_machine(r#""a" "b""#), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,120}") {
            let _ = parse(&text);
            let _ = parse_machine(&text);
        }
    }
}
