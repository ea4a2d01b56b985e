//! What the parts of a path that are no device do alone: the engine itself, and memory.

use std::time::Duration;

use narrows_base::units::{BytesPerSec, Nanos};
use narrows_load::error::LoadError;
use narrows_load::{NopResult, memcopy};

/// How long NOPs are measured.
const NOP_TIME: Nanos = Nanos::from_millis(200);
/// How long copies are measured.
const COPY_TIME: Duration = Duration::from_millis(200);

/// What an I/O that does nothing costs the engine on this processor.
///
/// # Errors
/// There is no ring.
pub fn nop_ceiling() -> Result<NopResult, LoadError> {
    narrows_load::nop_ceiling(NOP_TIME)
}

/// The bytes that so many cores copy from memory to memory in a second; `None` where no thread could be started.
pub fn memory_copy(cores: u32) -> Option<BytesPerSec> {
    memcopy::memory_copy(cores, COPY_TIME)
}
