//! What is claimed of main memory, and how often the bytes of a path cross it.

use serde::{Deserialize, Serialize};

use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_model::ceiling::memory::{claim, crossings};
use narrows_model::path::{HopKind, Path};

/// Main memory below a path. It is never a ceiling of the path: what stands here is a claim and a count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryView {
    /// What the firmware claims; `null` where it claims nothing that could be read.
    pub claim: Option<MemoryClaimView>,
    /// How often a byte crosses memory with direct I/O.
    pub direct: CrossingsView,
    /// How often a byte crosses memory through the page cache.
    pub buffered: CrossingsView,
    /// Why `claim` is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What the firmware claims of all modules of memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryClaimView {
    /// An upper bound: what all modules could carry if each had a channel of its own.
    pub peak_bytes_per_second: BytesPerSec,
    /// What programs usually get of it where each module has a channel of its own, lower and upper end; modules that share a channel
    /// carry less, and which do the firmware does not tell.
    pub likely_bytes_per_second: [BytesPerSec; 2],
    /// How the peak was computed.
    pub formula: String,
    /// Where the firmware claims it.
    pub source: String,
}

/// How often bytes cross memory, for each that the application moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CrossingsView {
    /// For a byte that is read.
    pub read: f64,
    /// For a byte that is written.
    pub write: f64,
    /// What each layer adds.
    pub layers: Vec<CrossingView>,
}

/// What a layer adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CrossingView {
    /// What crosses.
    pub name: String,
    /// For a byte that is read.
    pub read: f64,
    /// For a byte that is written.
    pub write: f64,
}

/// Main memory below a path; `None` for a path that does not reach it.
pub(super) fn of(machine: &Machine, path: &Path) -> Option<MemoryView> {
    path.of_kind(HopKind::Memory).next()?;
    let claimed = claim(&machine.memory_modules).map(|claim| MemoryClaimView {
        peak_bytes_per_second: claim.peak,
        likely_bytes_per_second: claim.likely,
        formula: claim.formula,
        source: claim.source,
    });
    let reason = claimed.is_none().then(|| {
        machine.memory_modules.missing().unwrap_or_else(|| "the firmware lists no module".to_owned())
    });
    let counted = |buffered: bool| {
        let counted = crossings(path, buffered);
        let layers = counted.steps.into_iter();
        let layers = layers.map(|(name, read, write)| CrossingView { name, read, write }).collect();
        CrossingsView { read: counted.read, write: counted.write, layers }
    };
    Some(MemoryView { claim: claimed, direct: counted(false), buffered: counted(true), reason })
}
