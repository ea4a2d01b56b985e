//! The legs of a path alone: what processor, memory, engine and network give without storage.

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec};

/// What kind of leg it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegKind {
    /// A cipher, decrypting.
    Cipher,
    /// Copying from memory to memory.
    MemoryCopy,
    /// I/Os that do nothing, through our own engine.
    Nop,
    /// The network to a peer.
    Network,
}

/// One leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Leg {
    /// What kind of leg it is.
    pub kind: LegKind,
    /// What was run: `xts(aes), 512 bit key`.
    pub name: String,
    /// Cores that worked on it.
    pub cores: u32,
    /// What came of it; a NOP counts as a block of the load.
    pub bytes_per_second: Option<BytesPerSec>,
    /// By what means: the kernel's driver, AF_ALG, io_uring, iperf3.
    pub means: String,
    /// Why it was not measured, and what would measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Leg {
    /// A leg that was measured.
    pub fn measured(
        kind: LegKind,
        name: impl Into<String>,
        cores: u32,
        rate: BytesPerSec,
        means: &str,
    ) -> Self {
        let bytes_per_second = Some(rate);
        Self { kind, name: name.into(), cores, bytes_per_second, means: means.to_owned(), reason: None }
    }

    /// A leg that was not measured, for this reason.
    pub fn missing(kind: LegKind, name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            cores: 0,
            bytes_per_second: None,
            means: String::new(),
            reason: Some(reason.into()),
        }
    }

    /// The engine's own ceiling on one core for blocks of this size, from what an I/O that does nothing costs it in
    /// nanoseconds.
    pub fn nop(ns_per_io: f64, block: Bytes, engine: &str) -> Self {
        let rate = if ns_per_io > 0.0 { block.as_f64() / ns_per_io * 1e9 } else { 0.0 };
        let name = format!("I/O that does nothing, {ns_per_io:.0} ns each");
        Self::measured(LegKind::Nop, name, 1, BytesPerSec::new(rate), engine)
    }
}
