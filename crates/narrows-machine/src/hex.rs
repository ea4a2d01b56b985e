//! Bytes as text, for answers that a record keeps.

/// The bytes in hexadecimal, eight to a word: longer words would be taken for identifiers when a record is redacted.
pub(super) fn encode(bytes: &[u8]) -> String {
    let word = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.chunks(8).map(word).collect::<Vec<_>>().join(" ")
}

/// The bytes of such a text; `None` when it is none.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| {
        let is_hex = pair.len() == 2 && pair.iter().all(u8::is_ascii_hexdigit);
        let pair = std::str::from_utf8(pair).ok().filter(|_| is_hex)?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_hexadecimal_is_refused() {
        assert_eq!(decode("00ff 7f"), Some(vec![0, 255, 127]));
        for text in ["0", "0g", "+1", "00 1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_survive_in_words_that_no_redaction_takes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let text = encode(&bytes);
            prop_assert!(text.split(' ').all(|word| word.len() <= 16));
            prop_assert_eq!(decode(&text), Some(bytes));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = decode(&text);
        }
    }
}
