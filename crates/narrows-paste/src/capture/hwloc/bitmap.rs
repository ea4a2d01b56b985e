//! Sets of processors and nodes as hwloc writes them: 32-bit words in hexadecimal, the highest first, separated by
//! commas; an empty word is zero (`hwloc/bitmap.c`, `hwloc_bitmap_snprintf`).

/// As many processors as Linux can have: `CONFIG_NR_CPUS` ends at 8192.
const MOST_WORDS: usize = 256;

/// Reads `0x00000001,,0x0000ffff`. `None` when it is malformed, absurdly long, or without end (`0xf...f`).
pub(super) fn parse(text: &str) -> Option<Vec<u32>> {
    if text.split(',').nth(MOST_WORDS).is_some() {
        return None;
    }
    let mut members = Vec::new();
    for (number, word) in (0u32..).zip(text.trim().rsplit(',')) {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let bits = match digits {
            "" => 0,
            _ if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(digits, 16).ok()?
            }
            _ => return None,
        };
        members.extend((0..32).filter(|bit| bits >> bit & 1 != 0).map(|bit| number * 32 + bit));
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_stand_from_the_highest_to_the_lowest() {
        assert_eq!(parse("0x00000003"), Some(vec![0, 1]));
        assert_eq!(parse("0x00000002,,0x0"), Some(vec![65]));
        assert_eq!(parse("0x1,0x80000000"), Some(vec![31, 32]));
        assert_eq!(parse("0x0"), Some(vec![]));
    }

    #[test]
    fn sets_without_end_and_malformed_ones_are_refused() {
        for text in ["0xf...f", "0xg", "-1", "0x100000000", &"0x1,".repeat(4096)] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_set_is_read_back(members in prop::collection::btree_set(0u32..512, 0..40)) {
            let word = |number: u32| -> u32 {
                members.iter().filter(|m| **m / 32 == number).map(|m| 1u32 << (m % 32)).sum()
            };
            let text: Vec<String> = (0..16).rev().map(|number| format!("0x{:08x}", word(number))).collect();
            prop_assert_eq!(parse(&text.join(",")), Some(members.into_iter().collect()));
        }
    }
}
