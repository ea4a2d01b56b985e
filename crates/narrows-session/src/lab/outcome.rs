//! What came of a cell, and what predictions stand on.

use serde::{Deserialize, Serialize};

use super::aim::{Score, interval, tests_of};
use super::recipe::{Cell, Encryption, FileSystem, Layout};
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

/// What two rates must differ by to count as an order, as a part of the lesser.
pub const APART: f64 = 0.05;

/// Pairs of cells under the same test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pairs {
    /// Those that were measured apart: their intervals do not overlap, and they differ by more than [`APART`].
    pub apart: usize,
    /// Those of them that were predicted apart the other way round, by more than [`APART`], too.
    pub reversed: usize,
}

/// A cell under a test: what was measured, and what was predicted.
type Compared = (Score, f64);

/// Counts the pairs of all tests; a test on a cell counts where it was both measured and predicted.
pub fn pairs(outcomes: &[Outcome]) -> Pairs {
    let mut found = Pairs::default();
    for (test, _) in tests_of(outcomes) {
        let seen: Vec<Compared> = outcomes.iter().filter_map(|outcome| seen(outcome, &test)).collect();
        for (at, one) in seen.iter().enumerate() {
            for other in seen.iter().skip(at + 1) {
                let (slow, fast) = if one.0.value <= other.0.value { (one, other) } else { (other, one) };
                let is_apart = is_more(fast.0.value, slow.0.value) && !fast.0.overlaps(&slow.0);
                found.apart += usize::from(is_apart);
                found.reversed += usize::from(is_apart && is_more(slow.1, fast.1));
            }
        }
    }
    found
}

fn is_more(one: f64, other: f64) -> bool {
    one > other * (1.0 + APART)
}

fn seen(outcome: &Outcome, test: &str) -> Option<Compared> {
    let measured: &Measured = outcome.measured.iter().find(|one| one.test == test)?;
    let said = outcome.predicted.iter().find(|one| one.test == test)?.bytes_per_second?;
    let rate = measured.measurement.bytes_per_second;
    (rate.get() > 0.0).then(|| (interval(measured), said.get()))
}

/// Whether nothing was foreseen of a cell: the bare drive was measured before.
pub fn is_bare(cell: &Cell) -> bool {
    let Cell { layout, encryption, file_system } = *cell;
    (layout, encryption, file_system) == (Layout::Single, Encryption::Plain, FileSystem::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Predicted;
    use narrows_base::units::{Bytes, BytesPerSec};
    use narrows_load::measurement::{Measurement, Pattern};
    use narrows_load::preset::LoadSpec;

    /// A cell that gave `mb` with an interval of `percent`, of which `said` was predicted.
    fn outcome(mb: f64, percent: f64, said: Option<f64>) -> Outcome {
        let measurement = Measurement {
            bytes_per_second: BytesPerSec::from_mb(mb),
            ci95: Some([-1.0, 1.0].map(|sign| BytesPerSec::from_mb(mb * (1.0 + sign * percent / 100.0)))),
            ..Measurement::default()
        };
        let load = LoadSpec::reading(Pattern::Random, Bytes::from_kib(4), 1);
        let predicted = Predicted {
            test: "a".to_owned(),
            bytes_per_second: said.map(BytesPerSec::from_mb),
            bound: String::new(),
            formula: String::new(),
        };
        Outcome {
            cell: Cell {
                layout: Layout::Raid0,
                encryption: Encryption::Plain,
                file_system: FileSystem::None,
            },
            predicted: vec![predicted],
            measured: vec![Measured {
                test: "a".to_owned(),
                load,
                measurement,
                trusted: true,
                processors: None,
            }],
            resyncing: false,
            written: Vec::new(),
            notes: Vec::new(),
            copy: None,
            failed: None,
        }
    }

    fn of(cells: &[(f64, f64, Option<f64>)]) -> (usize, usize) {
        let outcomes: Vec<Outcome> =
            cells.iter().map(|(mb, percent, said)| outcome(*mb, *percent, *said)).collect();
        let found = pairs(&outcomes);
        (found.apart, found.reversed)
    }

    #[test]
    fn a_pair_is_reversed_only_where_both_differ() {
        assert_eq!(of(&[(100.0, 1.0, Some(90.0)), (200.0, 1.0, Some(180.0))]), (1, 0));
        assert_eq!(of(&[(100.0, 1.0, Some(180.0)), (200.0, 1.0, Some(90.0))]), (1, 1));
        assert_eq!(of(&[(100.0, 1.0, Some(92.0)), (200.0, 1.0, Some(90.0))]), (1, 0), "foreseen as equal");
        assert_eq!(of(&[(100.0, 1.0, Some(180.0)), (104.0, 1.0, Some(90.0))]), (0, 0), "measured as equal");
        assert_eq!(of(&[(100.0, 30.0, Some(180.0)), (150.0, 30.0, Some(90.0))]), (0, 0), "by chance");
        assert_eq!(of(&[(100.0, 1.0, None), (200.0, 1.0, Some(90.0))]), (0, 0), "not foreseen");
    }

    #[test]
    fn every_pair_of_a_test_counts_once() {
        let cells = [(100.0, 1.0, Some(100.0)), (200.0, 1.0, Some(50.0)), (400.0, 1.0, Some(400.0))];
        assert_eq!(of(&cells), (3, 1));
    }
}
