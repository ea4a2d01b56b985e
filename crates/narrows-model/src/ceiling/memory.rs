//! What main memory carries.

use super::Ceilings;

/// Main memory has no ceiling here: neither the kernel nor the firmware states its bandwidth, and channels times
/// transfer rate would be many times what data can use. Data that goes past the page cache crosses it once; data through
/// the page cache three times (DMA in, copy out: a read and a write).
pub fn of_memory() -> Ceilings {
    Ceilings::unknown(
        "memory bandwidth is not stated anywhere; direct I/O needs it once for each byte, buffered I/O three times",
    )
}
