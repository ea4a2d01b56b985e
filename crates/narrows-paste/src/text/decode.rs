//! From bytes to characters. Texts from Windows are often UTF-16.

use std::borrow::Cow;

/// How many bytes are looked at to tell what a file is.
const SAMPLE: usize = 4096;

/// How the characters of a text are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

/// The text in `bytes`, without byte order mark. What is no character becomes `�`.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let (encoding, bytes) = encoding(bytes);
    match encoding {
        Encoding::Utf8 => String::from_utf8_lossy(bytes),
        Encoding::Utf16Little => Cow::Owned(decode_utf16(bytes, u16::from_le_bytes)),
        Encoding::Utf16Big => Cow::Owned(decode_utf16(bytes, u16::from_be_bytes)),
    }
}

fn decode_utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).filter_map(|pair| Some(number(*pair.first_chunk()?)));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Whether bytes are those of no text: a zero among the first of them, unless it is half of a UTF-16 character.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    encoding(bytes).0 == Encoding::Utf8 && sample.contains(&0)
}

fn encoding(bytes: &[u8]) -> (Encoding, &[u8]) {
    match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (Encoding::Utf8, rest),
        [0xff, 0xfe, rest @ ..] => (Encoding::Utf16Little, rest),
        [0xfe, 0xff, rest @ ..] => (Encoding::Utf16Big, rest),
        _ => match zeros(bytes) {
            // In a text that is mostly ASCII every other byte is zero; one zero alone is none.
            (few, most) if few == 0 && is_most(most, bytes) => (Encoding::Utf16Little, bytes),
            (most, few) if few == 0 && is_most(most, bytes) => (Encoding::Utf16Big, bytes),
            _ => (Encoding::Utf8, bytes),
        },
    }
}

/// The zeros at even and at odd places of the sample.
fn zeros(bytes: &[u8]) -> (usize, usize) {
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    sample.chunks_exact(2).fold((0, 0), |(even, odd), pair| {
        (even + usize::from(pair.first() == Some(&0)), odd + usize::from(pair.last() == Some(&0)))
    })
}

/// Whether this many zeros are most of one half of the sample.
fn is_most(zeros: usize, bytes: &[u8]) -> bool {
    let pairs = bytes.len().min(SAMPLE) / 2;
    pairs >= 4 && zeros * 10 >= pairs * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn byte_order_marks_are_obeyed_and_removed() {
        assert_eq!(decode(b"\xef\xbb\xbf01:00.0"), "01:00.0");
        assert_eq!(decode(&utf16("\u{feff}01:00.0", u16::to_le_bytes)), "01:00.0");
        assert_eq!(decode(&utf16("\u{feff}01:00.0", u16::to_be_bytes)), "01:00.0");
    }

    #[test]
    fn utf_16_without_a_mark_is_seen_by_its_zeros() {
        let little = utf16("01:00.0 Non-Volatile memory controller", u16::to_le_bytes);
        assert_eq!(decode(&little), "01:00.0 Non-Volatile memory controller");
        assert!(!is_binary(&little));
        let big = utf16("01:00.0 Non-Volatile memory controller", u16::to_be_bytes);
        assert_eq!(decode(&big), "01:00.0 Non-Volatile memory controller");
    }

    #[test]
    fn bytes_with_zeros_are_no_text() {
        assert!(is_binary(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"));
        assert!(!is_binary("Größe".as_bytes()));
        assert!(!is_binary(b""));
    }

    #[test]
    fn what_is_no_character_is_kept_as_a_mark() {
        assert_eq!(decode(b"a\xffb"), "a\u{fffd}b");
    }
}
