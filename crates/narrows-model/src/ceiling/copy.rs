//! The most that cores copy.
//!
//! What a RAM disk or the page cache gives is copied by a core, and no core of today stores more than [`STORED`] bytes in a cycle
//! (uops.info: one store of 512 bits a cycle on Golden Cove and Zen 5, two of 256 bits at best) nor runs faster than [`FASTEST`]
//! (ark.intel.com, Core i9-14900KS). Real copies are slower by far, so this bounds and estimates nothing.

use narrows_base::units::BytesPerSec;

/// Bytes that a core stores in a cycle, at most.
pub const STORED: f64 = 64.0;

/// The highest clock of a core that is sold, GHz.
pub const FASTEST: f64 = 6.2;

/// What so many cores copy at most.
pub fn most(cores: u32) -> BytesPerSec {
    BytesPerSec::from_gb(STORED * FASTEST * f64::from(cores.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 bytes × 6.2 GHz.
    #[test]
    fn no_core_copies_more_than_it_stores() {
        assert!((most(1).get() / 396.8e9 - 1.0).abs() < 1e-9);
        assert_eq!(most(0), most(1));
        assert!((most(4).get() / most(1).get() - 4.0).abs() < 1e-9);
    }
}
