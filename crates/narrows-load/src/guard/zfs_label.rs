//! The name of the pool that a ZFS label belongs to.
//!
//! A device has four labels of 256 KiB, each at a multiple of that; 16 KiB into it is a list of names and values (ZFS On-Disk
//! Specification, 1.2 and 1.3) in the encoding XDR (RFC 4506; OpenZFS `module/nvpair/nvpair.c`).

use super::mark::bytes;
use super::scan::Medium;

/// The size of a label (OpenZFS `include/sys/vdev_impl.h`, `vdev_label_t`).
const LABEL: u64 = 256 << 10;
/// Where the list begins in it.
const LIST: u64 = 16 << 10;
/// As much of the list as is looked at: the name is its second pair.
const PART: usize = 4096;
/// The first bytes of a list: encoding XDR, and the byte order of who wrote it. XDR itself is big-endian.
const XDR: u8 = 1;
/// The type of a pair whose value is one text (`DATA_TYPE_STRING`).
pub(super) const STRING: u32 = 9;

/// The pool that the label around `at` names.
pub(super) fn pool(at: u64, medium: &dyn Medium) -> Option<String> {
    text(&bytes(medium, at - at % LABEL + LIST, PART)?, "name")
}

/// The value of a text in the outermost list.
fn text(list: &[u8], wanted: &str) -> Option<String> {
    if list.first() != Some(&XDR) {
        return None;
    }
    // Four bytes of encoding, then the version and the flags of the list.
    let mut at = 12;
    loop {
        let size = usize::try_from(number(list, at)?).ok().filter(|size| *size > 0)?;
        let pair = list.get(at..at.checked_add(size)?)?;
        // The sizes of the pair as it is and in memory, its name, its type, how many values it has, and these.
        let (name, after) = string(pair, 8)?;
        if name == wanted.as_bytes() {
            let is_one_text = number(pair, after)? == STRING && number(pair, after + 4)? == 1;
            let (value, _) = string(pair, after + 8).filter(|_| is_one_text)?;
            return String::from_utf8(value.to_vec()).ok();
        }
        at += size;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_be_bytes)
}

/// A text and where it ends: its length, its bytes, and zeros up to a multiple of four.
fn string(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length = usize::try_from(number(bytes, at)?).ok()?;
    let begin = at.checked_add(4)?;
    let text = bytes.get(begin..begin.checked_add(length)?)?;
    Some((text, begin + length.checked_next_multiple_of(4)?))
}

/// A door for the fuzzer: the name of the pool in a list.
#[cfg(feature = "fuzzing")]
pub fn fuzz(list: &[u8]) -> Option<String> {
    text(list, "name")
}

#[cfg(test)]
mod tests {
    use super::super::testing::label;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_name_is_found_behind_other_pairs_and_only_as_a_whole_name() {
        let list =
            label(&[("version", None), ("hostname", Some("name")), ("name", Some("tank")), ("x", None)]);
        assert_eq!(text(&list, "name").as_deref(), Some("tank"));
        assert_eq!(text(&list, "nam"), None);
        assert_eq!(text(&label(&[("name", None)]), "name"), None, "a number");
        assert_eq!(text(&label(&[("state", None)]), "name"), None, "the list ends");
    }

    /// The beginning of a label that zpool of OpenZFS 2.1.11 wrote for a lab, as `od` shows it.
    #[test]
    fn a_real_label_is_read() {
        let real = "01010000 00000000 00000001 00000024 00000020 00000007 76657273 696f6e00 00000008 00000001 \
            00000000 00001388 00000030 00000030 00000004 6e616d65 00000009 00000001 00000014 6e617272 \
            6f77732d 6c61622d 35663139 64373337 00000024 00000020 00000005 73746174";
        let words = real.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap().to_be_bytes());
        let list: Vec<u8> = words.flatten().chain([0; 64]).collect();
        assert_eq!(text(&list, "name").as_deref(), Some("narrows-lab-5f19d737"));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(mut bytes: Vec<u8>, is_list: bool) {
            if let (true, Some(first)) = (is_list, bytes.first_mut()) {
                *first = XDR;
            }
            let _ = text(&bytes, "name");
        }
    }
}
