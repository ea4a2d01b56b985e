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
