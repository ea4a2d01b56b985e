//! How fast does this machine encrypt? The kernel's own cipher through AF_ALG, or a user-space estimate.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, BytesPerSec};

/// The rate of one cipher on one core.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CipherRate {
    /// The cipher in the kernel's notation, `xts(aes)`.
    pub cipher: String,
    /// The size of the key in bits.
    pub key_bits: u32,
    /// Bytes encrypted at a time.
    pub sector_size: Bytes,
    /// Decryption on one core.
    pub decrypt: BytesPerSec,
    /// Encryption on one core.
    pub encrypt: BytesPerSec,
    /// The kernel's driver (`xts-aes-aesni`), or `None` for the user-space estimate.
    pub driver: Option<String>,
}
