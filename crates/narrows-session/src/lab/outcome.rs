//! What came of a cell, and what predictions stand on.

use serde::{Deserialize, Serialize};

use super::layout::{Cell, Encryption};
use narrows_base::units::{Bytes, BytesPerSec, Nanos};
use narrows_load::measurement::Measurement;
use narrows_load::preset::LoadSpec;

/// One test on one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measured {
    /// The name of the test, `PRESET/TEST`.
    pub test: String,
    /// What was done.
    pub load: LoadSpec,
    /// What came of it.
    pub measurement: Measurement,
    /// Whether it is to be believed.
    pub trusted: bool,
    /// Processors that were at work on average, of the whole machine; `None` where that was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<f64>,
}

/// What was said beforehand of one test on one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Predicted {
    /// The name of the test, as in [`Measured`].
    pub test: String,
    /// The rate; `None` when it cannot be said.
    pub bytes_per_second: Option<BytesPerSec>,
    /// What bounds it, as a phrase (`the cipher on one core`), or why it cannot be said.
    pub bound: String,
    /// How it was computed, with its numbers.
    pub formula: String,
}

/// What a device was made to write for a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Written {
    /// The kernel name of the device.
    pub device: String,
    /// Bytes, by the device's own counter.
    pub bytes: Bytes,
}

/// Where a copy read its source from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadFrom {
    /// The page cache: the source was read through right before each copy, so that its own drive limits none.
    Memory,
    /// Its own drive, past the page cache: it does not fit into memory, so that its drive may limit every copy alike.
    Drive,
}

/// What `--copy` copies, as it was when the lab began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopySource {
    /// Its real path.
    pub path: std::path::PathBuf,
    /// Files.
    pub files: u64,
    /// Their data.
    pub bytes: Bytes,
    /// Where each copy reads it from.
    pub from: ReadFrom,
}

/// A copy of real files onto the file system of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Copied {
    /// What was copied.
    pub source: String,
    /// Files that were copied.
    pub files: u64,
    /// Directories that were made.
    pub directories: u64,
    /// Data of the files, without holes.
    pub bytes: Bytes,
    /// From the first look at the source to the last sync, reading the copy back included, in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Data for each second of that.
    pub bytes_per_second: BytesPerSec,
    /// What took the largest part of the copying threads' time: `source`, `destination`, `verification`, `metadata`,
    /// `processor` or `contention`.
    pub limit: Option<String>,
    /// That part, 0 to 1.
    pub limit_share: Option<f64>,
    /// Where the source was read from.
    pub read_from: ReadFrom,
    /// The part of the source that lay in the page cache right before; `null` where the kernel does not tell.
    pub cached: Option<f64>,
    /// Files that were read back past the page cache and compared with what was read.
    pub verified_files: u64,
    /// Files that were compared, too, without direct I/O: the kernel was asked to drop them from its cache before.
    pub verified_by_advice: u64,
    /// Names that were not copied, or did not read back as they were written.
    pub faults: u64,
    /// The first of them, and why.
    pub first_fault: Option<String>,
    /// Whether it is to be believed: everything was copied and compared, and the source came from where it should.
    pub trusted: bool,
}

/// What came of the copy in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CellCopy {
    /// It was made.
    Copied(Box<Copied>),
    /// It was not, and why, as a phrase.
    Not(String),
}

/// One cell that was built, measured and undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// What was built.
    pub cell: Cell,
    /// Said before anything was built.
    pub predicted: Vec<Predicted>,
    /// Seen.
    pub measured: Vec<Measured>,
    /// Whether an array was still resyncing while it was measured.
    pub resyncing: bool,
    /// What it cost each device.
    pub written: Vec<Written>,
    /// Words on how it was built: which tool, what stands for what.
    pub notes: Vec<String>,
    /// Why it was not built or measured to the end; `None` when it was.
    pub failed: Option<String>,
    /// The copy of real files; `None` where none was asked for or it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CellCopy>,
}

impl Outcome {
    /// The copy that was made.
    pub fn copied(&self) -> Option<&Copied> {
        match &self.copy {
            Some(CellCopy::Copied(copied)) => Some(copied),
            _ => None,
        }
    }

    /// Why no copy was made that was asked for.
    pub fn not_copied(&self) -> Option<&str> {
        match &self.copy {
            Some(CellCopy::Not(why)) => Some(why),
            _ => None,
        }
    }
}

/// What one core does with one cipher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CipherRate {
    /// As dm-crypt names it: `aes-xts-plain64`.
    pub cipher: String,
    /// Bits of the key.
    pub key_bits: u32,
    /// Encryption on one core.
    pub encrypt: BytesPerSec,
    /// Decryption on one core.
    pub decrypt: BytesPerSec,
    /// The driver that the kernel chose.
    pub driver: Option<String>,
}

/// What an encryption carries above a device that takes no time, by the tests that cells are measured with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mapping {
    /// The encryption; plain is the device that takes no time itself, which tells what the generator alone takes.
    pub encryption: Encryption,
    /// The tests on it.
    pub tests: Vec<Measured>,
}

/// What predictions stand on: each device alone, and the processor. Measured before the first cell is built.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Basis {
    /// The kernel names of the devices, in the order in which they were named.
    pub devices: Vec<String>,
    /// For each device the tests on it alone.
    pub alone: Vec<Vec<Measured>>,
    /// For each device and each sequence that was read or written one request at a time the same, with a pause before each
    /// request as long as it takes in a row: what a drive does by itself meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<Vec<Measured>>,
    /// The same tests on all devices at the same time, their sum.
    pub together: Vec<Measured>,
    /// The ciphers that the encryptions use.
    pub ciphers: Vec<CipherRate>,
    /// Processors that may work on it.
    pub cores: u32,
    /// Each encryption above device-mapper's `zero` target, and that target itself, where they were measured. Without it
    /// predictions take the cipher's rate and usual costs of a request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mappings: Vec<Mapping>,
}
