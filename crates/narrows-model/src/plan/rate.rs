//! Rates as whole bytes per second, so that sums do not depend on their order and equal plans compare equal.

use std::iter::Sum;
use std::ops::{Add, Sub};

use crate::ceiling::pcie::rate;
use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};

/// A rate in whole bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WholeRate(u64);

impl WholeRate {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `rate` without its fraction.
    pub fn new(rate: BytesPerSec) -> Self {
        // A float to integer cast saturates, and a rate is never negative.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; never negative"
        )]
        Self(rate.get() as u64)
    }

    /// Bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The rate as everything outside the search takes it.
    #[expect(clippy::cast_precision_loss, reason = "no rate comes near 2^53 bytes per second")]
    pub fn rate(self) -> BytesPerSec {
        BytesPerSec::new(self.0 as f64)
    }

    /// `count` times this.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// `hundredths` of this.
    #[must_use]
    pub const fn percent(self, hundredths: u64) -> Self {
        Self(self.0.saturating_mul(hundredths) / 100)
    }
}

impl Add for WholeRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for WholeRate {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for WholeRate {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// Max_Payload_Size as platforms of a generation set it: 128 bytes up to 5 GT/s, 256 from 8 GT/s on.
pub(super) fn payload(speed: GtPerSec) -> Bytes {
    Bytes::new(if speed > GtPerSec::GEN2 { 256 } else { 128 })
}

/// What one lane carries towards the host; whole, so that x16 is exactly four times x4.
fn lane(speed: GtPerSec) -> WholeRate {
    let raw = rate::raw(speed, Lanes::new(1)).unwrap_or_default();
    WholeRate::new(rate::device_to_host(raw, payload(speed)))
}

/// What a link carries towards the host ([`crate::ceiling::pcie`]), with the payload size that is usual at its speed.
pub(super) fn link(speed: GtPerSec, lanes: Lanes) -> WholeRate {
    lane(speed).times(u64::from(lanes.get()))
}

/// What a link carries towards the device.
pub(super) fn link_write(speed: GtPerSec, lanes: Lanes) -> BytesPerSec {
    let raw = rate::raw(speed, lanes).unwrap_or_default();
    rate::host_to_device(raw, payload(speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the table that `ceiling/pcie/rate.rs` holds: 3592, 14366 and 420 MB/s.
    #[test]
    fn links_carry_what_their_law_says_and_add_up_exactly() {
        let x4 = link(GtPerSec::GEN3, Lanes::new(4));
        assert_eq!(x4.get() / 1_000_000, 3591);
        assert_eq!(link(GtPerSec::GEN3, Lanes::new(16)), x4.times(4));
        assert_eq!(link(GtPerSec::GEN2, Lanes::new(1)).get() / 1_000_000, 419);
        assert_eq!(x4.percent(50).get(), x4.get() / 2);
    }
}
