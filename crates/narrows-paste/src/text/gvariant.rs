//! Files that are a serialised `GVariant` of type `a{sv}`, as text.
//!
//! GNOME Disks keeps its benchmarks so (`src/disks/gdubenchmarkdialog.c`, `maybe_save_data`, until release 45), one file
//! for each drive in `~/.cache/gnome-disks/benchmarks`. What such a file holds is written here in the text form of
//! `GVariant` (`g_variant_print`), one member on each line and floats as short as they can be, for a reader of texts.
//!
//! Source: GLib, "GVariant Serialisation", sections 2.3 (alignment), 2.5.3 (arrays), 2.5.4 (structures) and 2.5.2
//! (variants). Numbers are in the byte order of the machine, offsets always little-endian.

use std::fmt::Write;

/// Keys that no other `a{sv}` has together.
const KEYS: [&[u8]; 2] = [b"read-samples\0", b"access-time-samples\0"];

/// The bytes in which the keys must stand: behind them are samples, of which there can be thousands.
const LARGEST: usize = 16 << 20;

/// The text of a benchmark of GNOME Disks; `None` of anything else.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let has = |key: &&[u8]| bytes.windows(key.len()).any(|window| window == *key);
    if bytes.len() > LARGEST || !bytes.starts_with(b"version\0") || !KEYS.iter().all(has) {
        return None;
    }
    let members = members(bytes)?;
    let version = members.iter().find(|member| member.key == "version")?;
    let order = match version.value {
        [1, 0, 0, 0] => Order::Little,
        [0, 0, 0, 1] => Order::Big,
        _ => return None,
    };
    let mut out = String::from("{");
    for (number, member) in members.iter().enumerate() {
        let separator = if number == 0 { "" } else { ",\n " };
        let _ = write!(out, "{separator}'{}': <{}>", member.key, value(member, order)?);
    }
    out.push_str("}\n");
    Some(out)
}

/// The byte order of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn long(self, bytes: [u8; 8]) -> u64 {
        match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        }
    }
}

/// A member of a dictionary: its key, and the type and bytes of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member<'a> {
    key: &'a str,
    kind: &'a str,
    value: &'a [u8],
}

/// The members of an array of type `a{sv}`: elements of any length, each beginning at a multiple of 8, and behind them
/// their ends.
fn members(bytes: &[u8]) -> Option<Vec<Member<'_>>> {
    let width = offset_width(bytes.len());
    let ends_at = offset(bytes, bytes.len().checked_sub(width)?, width)?;
    let ends = bytes.get(ends_at..)?;
    if ends.len() % width != 0 {
        return None;
    }
    let mut found = Vec::new();
    let mut begin = 0;
    for number in 0..ends.len() / width {
        let end = offset(ends, number * width, width)?;
        found.push(member(bytes.get(begin..end)?)?);
        begin = end.checked_next_multiple_of(8)?;
    }
    Some(found)
}

/// A structure of a string and a variant: the end of the string stands at the end of it all.
fn member(bytes: &[u8]) -> Option<Member<'_>> {
    let width = offset_width(bytes.len());
    let body = bytes.len().checked_sub(width)?;
    let key_end = offset(bytes, body, width)?;
    let key = bytes.get(..key_end)?.strip_suffix(&[0])?;
    let variant = bytes.get(key_end.checked_next_multiple_of(8)?..body)?;
    // A variant is its value, a zero, and its type.
    let zero = variant.iter().rposition(|byte| *byte == 0)?;
    Some(Member {
        key: std::str::from_utf8(key)
            .ok()
            .filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\''))?,
        kind: std::str::from_utf8(variant.get(zero + 1..)?).ok()?,
        value: variant.get(..zero)?,
    })
}

/// Offsets are as wide as the length of what they are in needs.
const fn offset_width(length: usize) -> usize {
    match length {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

fn offset(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let digits = bytes.get(at..at.checked_add(width)?)?;
    digits.iter().rev().try_fold(0usize, |sum, digit| sum.checked_mul(256)?.checked_add(usize::from(*digit)))
}

fn value(member: &Member<'_>, order: Order) -> Option<String> {
    let bytes = member.value;
    let long = || Some(order.long(bytes.try_into().ok()?));
    Some(match member.kind {
        "i" => {
            let bytes: [u8; 4] = bytes.try_into().ok()?;
            let number =
                if order == Order::Little { i32::from_le_bytes(bytes) } else { i32::from_be_bytes(bytes) };
            number.to_string()
        }
        "x" => format!("int64 {}", long()?.cast_signed()),
        "t" => format!("uint64 {}", long()?),
        "d" => format!("{:?}", f64::from_bits(long()?)),
        "a(td)" => samples(bytes, order)?,
        // What a later release adds is passed over.
        other => format!("@{other} ?"),
    })
}

/// An array of structures of 16 bytes: a whole number and a float.
fn samples(bytes: &[u8], order: Order) -> Option<String> {
    if bytes.is_empty() {
        return Some("@a(td) []".to_owned());
    }
    let (pairs, rest) = bytes.as_chunks::<16>();
    if !rest.is_empty() {
        return None;
    }
    let mut out = String::from("[");
    for (number, pair) in pairs.iter().enumerate() {
        let (first, second) = pair.split_first_chunk::<8>()?;
        let float = f64::from_bits(order.long(second.try_into().ok()?));
        let separator = if number == 0 { "(uint64 " } else { ", (" };
        let _ = write!(out, "{separator}{}, {float:?})", order.long(*first));
    }
    out.push(']');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What GLib 2.74 itself made of three samples, and what its own `g_variant_print` makes of that.
    const FILE: &[u8] = include_bytes!("three-samples.gnome-disks-benchmark");
    const TEXT: &str = include_str!("three-samples.txt");

    #[test]
    fn the_text_is_that_of_glib() {
        let text = text(FILE).expect("a benchmark");
        assert_eq!(text.replace(",\n ", ", ").trim_end(), TEXT.trim_end());
    }

    #[test]
    fn the_other_byte_order_is_seen_by_the_version() {
        let found = members(FILE).expect("members");
        let mut file = FILE.to_vec();
        for member in found {
            let at = member.value.as_ptr() as usize - FILE.as_ptr() as usize;
            let width = if member.kind == "i" { 4 } else { 8 };
            file[at..at + member.value.len()].chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        assert_eq!(text(&file), text(FILE));
    }

    #[test]
    fn what_was_cut_off_is_none() {
        for length in 0..FILE.len() {
            assert_eq!(text(&FILE[..length]), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(at in 0usize..301, byte: u8, more in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut file = FILE.to_vec();
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
            let _ = text(&file);
            file.extend(more);
            let _ = text(&file);
        }
    }
}
