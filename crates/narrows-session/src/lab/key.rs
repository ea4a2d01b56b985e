//! The key of a lab's encrypted volumes: random, in memory, never on disk and in no command line.

use std::hint::black_box;

/// 64 random bytes: two keys of AES-256, as XTS takes them.
pub struct Key([u8; 64]);

impl Key {
    /// A new key.
    ///
    /// # Errors
    /// The kernel has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = Self([0; 64]);
        getrandom::fill(&mut key.0)?;
        Ok(key)
    }

    /// Its bytes, for the pipe to a tool.
    pub(super) const fn bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// It as a line of text, for tools that take a passphrase.
    pub(super) fn passphrase(&self) -> Passphrase {
        let mut text = [b'\n'; LETTERS + 1];
        for (letter, byte) in text.iter_mut().zip(self.0.iter().take(LETTERS)) {
            *letter = match byte % 64 {
                value @ 0..26 => b'a' + value,
                value @ 26..52 => b'A' + (value - 26),
                value @ 52..62 => b'0' + (value - 52),
                62 => b'-',
                _ => b'.',
            };
        }
        Passphrase(text)
    }
}

/// The length of a passphrase: 288 random bits, and below the 63 characters that tcplay(8) takes.
const LETTERS: usize = 48;

/// A passphrase: letters, digits and two signs, six random bits each.
pub(super) struct Passphrase([u8; LETTERS + 1]);

impl Passphrase {
    /// As one types it, with the end of the line.
    pub(super) const fn line(&self) -> &[u8] {
        &self.0
    }

    /// Without the end of the line.
    pub(super) fn text(&self) -> &[u8] {
        self.0.get(..LETTERS).unwrap_or_default()
    }
}

impl Drop for Passphrase {
    fn drop(&mut self) {
        self.0.fill(0);
        black_box(&self.0);
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.fill(0);
        // Keeps the compiler from leaving out a write that nobody reads.
        black_box(&self.0);
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passphrase_is_one_line_of_plain_letters_and_as_random_as_the_key() {
        let (one, other) = (Key::random().unwrap().passphrase(), Key::random().unwrap().passphrase());
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.".contains(byte);
        assert!(one.text().iter().all(is_plain) && one.text().len() == LETTERS);
        assert_eq!(one.line().strip_suffix(b"\n"), Some(one.text()));
        assert_ne!(one.text(), other.text());
        let all = Key(std::array::from_fn(|index| index as u8)).passphrase();
        let letters: std::collections::BTreeSet<&u8> = all.text().iter().collect();
        assert_eq!(letters.len(), LETTERS, "each value has a letter of its own");
    }
}
