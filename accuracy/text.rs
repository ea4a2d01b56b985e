//! Numbers and words in what people write.

/// Whether a text has a word that no letter or digit joins.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

/// Whether a text has one of these words.
pub(crate) fn has_any(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| has_word(text, word))
}

/// The numbers of a text, each with what stands before it and behind it.
pub(crate) fn numbers(text: &str) -> Vec<(&str, f64, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(start) = rest.find(|c: char| c.is_ascii_digit()) else { break };
        let digits = rest.get(start..).unwrap_or_default();
        let length = digits.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(digits.len());
        let (number, after) = digits.split_at(length);
        let before = text.get(..at + start).unwrap_or_default();
        if let Ok(value) = number.trim_end_matches('.').parse() {
            found.push((before, value, after));
        }
        at += start + length;
    }
    found
}

/// The number right behind a word (`qd=1`, `qd128`, `jobs=8`), in lower case.
pub(crate) fn behind(text: &str, word: &str) -> Option<f64> {
    numbers(text).into_iter().find_map(|(before, value, _)| {
        let before = before.strip_suffix('=').or_else(|| before.strip_suffix(' ')).unwrap_or(before);
        let rest = before.strip_suffix(word)?;
        (!rest.ends_with(char::is_alphabetic)).then_some(value)
    })
}

/// The number right before one of these words (`8 jobs`, `64+ jobs`), in lower case.
pub(crate) fn before(text: &str, words: &[&str]) -> Option<f64> {
    numbers(text).into_iter().find_map(|(_, value, after)| {
        let after = after.trim_start_matches('+').trim_start_matches([' ', '-']);
        words.iter().any(|word| after.starts_with(word)).then_some(value)
    })
}

/// A block size (`4k`, `1M`, `bs=10M`, `512B`, `64 KiB`) in bytes: binary, as all tools count.
pub(crate) fn block(text: &str) -> Option<u64> {
    numbers(text).into_iter().find_map(|(before, value, after)| {
        if before.ends_with(char::is_alphabetic) {
            return None;
        }
        let spaced = after.starts_with(' ');
        let after = after.trim_start().to_lowercase();
        let unit: String = after.chars().take_while(|c| c.is_alphabetic()).collect();
        let factor = match unit.as_str() {
            "k" | "kb" if !spaced => 1024.0,
            "m" | "mb" if !spaced && !after.contains("b/s") => 1_048_576.0,
            "kib" => 1024.0,
            "mib" => 1_048_576.0,
            "b" => 1.0,
            _ => return None,
        };
        let size = value * factor;
        (64.0..=1e9).contains(&size).then_some(size as u64)
    })
}

/// A chunk (`64k chunk`, `n2 16k chunk`, `n2 512k`) in bytes.
pub(crate) fn chunk(layer: &str) -> Option<u64> {
    layer.split_whitespace().find_map(block)
}
