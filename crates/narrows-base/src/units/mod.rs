//! How much, of what: newtypes for every quantity that crosses a function boundary, and the only number formatter.
//!
//! Inside narrows a size is bytes, a rate is bytes per second and a time is nanoseconds. A constructor names the unit
//! that it takes, so a kernel "sector" (always 512 bytes) can never be multiplied by a logical block size.

pub mod human;
mod link;
pub mod peers;
mod quantity;

pub use link::{GtPerSec, Lanes};
pub use quantity::{BitsPerSec, Bytes, BytesPerSec, Celsius, Iops, Nanos, Sectors512};
