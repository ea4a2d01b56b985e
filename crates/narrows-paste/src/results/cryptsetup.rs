//! `cryptsetup benchmark`: the ciphers in memory, by the tool's own word. Its MiB/s are binary.

use narrows_base::units::BytesPerSec;

use super::number::leading;
use super::{Imported, Measured, Op, Page, Side, Tool, Work};

/// The tables in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["MiB/s"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut last = None;
    for (number, line) in page.lines() {
        let Some(measured) = cipher(number, line) else { continue };
        if last.is_none_or(|last| number > last + 2) {
            found.push(Imported::new(Tool::Cryptsetup, page.name, number));
        }
        last = Some(number);
        if let Some(table) = found.last_mut() {
            table.measurements.push(measured);
        }
    }
    found
}

/// `aes-xts        256b      2734.6 MiB/s      2732.8 MiB/s`.
fn cipher(number: usize, line: &str) -> Option<Measured> {
    // A row may stand behind the mark of a comment or a quote.
    let is_mark = |word: &&str| !word.contains(char::is_alphanumeric);
    let words: Vec<&str> = line.split_whitespace().skip_while(is_mark).collect();
    let [name, key, encryption, "MiB/s", decryption, "MiB/s", ..] = words.as_slice() else { return None };
    let is_key = key.strip_suffix('b').is_some_and(|bits| bits.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_key || !name.contains('-') {
        return None;
    }
    let side = |rate: &str| {
        let (rate, _) = leading(rate)?;
        Some(Side { bytes_per_second: BytesPerSec::new(rate * f64::from(1 << 20)), ..Side::default() })
    };
    let work = Work { label: format!("{name} {key}"), jobs: Some(1), ..Work::default() };
    let mut measured = Measured::new(number, work);
    measured.memory_only = true;
    measured.put(Op::Write, side(encryption)?);
    measured.put(Op::Read, side(decryption)?);
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_with_annotations_is_one_result() {
        let body = "# Tests are approximate using memory only (no storage IO).\n#     Algorithm |       Key |      Encryption |      Decryption\n\
            \n#       aes-cbc        128b      1105.1 MiB/s      3125.5 MiB/s\n    serpent-cbc        128b       108.4 MiB/s       680.3 MiB/s <- slow\n\
            aes - 3 MiB/s\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.len(), 1);
        let aes = &found[0].measurements[0];
        assert_eq!(aes.read.as_ref().map(|side| side.bytes_per_second.get()), Some(3125.5 * 1_048_576.0));
        assert!(aes.memory_only && found[0].measurements.len() == 2);
    }
}
