//! May narrows write to this block device?
//!
//! The answer is no unless everything says yes: no known [signature](examine) on the device or on what belongs to it,
//! nothing but zeros in its first and last MiB, nobody who uses it, and a user who names it by its serial number.
//! [`decide`] gives a [`Permit`] or a [`Refusal`] with every reason; nothing else makes a permit, and nothing but
//! [`open_for_writing`], which takes one, opens a device of the user's for writing. There is no way around it.
//!
//! What the lab builds on such devices is opened by [`open_built`]: a device that stands on named devices and on nothing
//! else. It builds in a [`Slice`] of each, out of which no tool reaches; [`restore`] clears that again, all of it where nobody
//! else can have written to it, else what bears the lab's [`Mark`].
//!
//! Order matters: open the [`Device`] first (while it is open, no other device can get its number), then read who uses
//! it, then examine it.

mod budget;
mod built;
mod bulk;
mod census;
mod clean;
mod clear;
mod decide;
mod discard;
mod looks;
mod mark;
mod open;
mod partition;
mod plan;
mod prove;
mod reason;
mod restore;
mod scan;
mod search;
mod sentry;
mod signatures;
mod slice;
mod usage;
mod zfs_label;

pub use super::marks::{DeviceKey, RunSecret, keyed_hash};
pub use super::workload::Region;
pub use budget::{Budget, OverBudget};
pub use built::{ZeroTarget, open_built, open_over_zero};
pub use census::{Census, Counters, Others};
pub use clean::{Cleaned, clean};
pub use clear::{Cleared, Ground, clear_marked};
pub use decide::{CleaningPermit, Permit, Refusal, decide, decide_to_clean};
pub use looks::Looks;
pub use mark::Mark;
pub use open::{Device, WritableDevice, WriteError, open_for_writing, search_device};
pub use plan::{Method, Plan};
pub(crate) use reason::OTHERS_HINT;
pub use reason::Reason;
pub use restore::{Left, Ours, Part, Restored, foreign, open_to_clear, restore, survey};
pub use scan::{EDGE, Examined, Medium, Signature, examine};
pub use search::{Found, Searched};
pub use sentry::{Keeper, Sentry, Step, Watch};
pub use signatures::Class;
pub use slice::{Flusher, PlannedRest, Slice, SlicePlan, Unmade, is_shut, remove_slice, reopen_slice};
pub use usage::{Identity, Usage, Use, UseKind};
#[cfg(feature = "fuzzing")]
pub use zfs_label::fuzz as fuzz_zfs_label;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
