//! Sizes, rates and times.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` kibibytes (1024 bytes each), saturating.
    pub const fn from_kib(count: u64) -> Self {
        Self(count.saturating_mul(1024))
    }

    /// `count` mebibytes (1024² bytes each), saturating.
    pub const fn from_mib(count: u64) -> Self {
        Self(count.saturating_mul(1024 * 1024))
    }

    /// `count` kernel sectors of 512 bytes each, saturating.
    pub const fn from_sectors(count: Sectors512) -> Self {
        Self(count.0.saturating_mul(512))
    }

    /// The count of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The count of bytes as a float, for ratios.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The average rate of moving this many bytes in `time`; zero when `time` is zero.
    pub fn per(self, time: Duration) -> BytesPerSec {
        let seconds = time.as_secs_f64();
        BytesPerSec::new(if seconds > 0.0 { self.as_f64() / seconds } else { 0.0 })
    }

    /// The difference, or zero when `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0), Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::human::bytes(*self))
    }
}

/// A number of 512-byte sectors, the unit of `/sys/block/*/size`, `/proc/diskstats` and partition starts whatever the
/// device's logical block size is (kernel `Documentation/admin-guide/iostats.rst` and `include/linux/types.h`,
/// `sector_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sectors512(u64);

impl Sectors512 {
    /// `count` sectors.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The count of sectors.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A data rate in bytes per second. Never negative and never NaN when made by [`BytesPerSec::new`].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BytesPerSec(f64);

impl BytesPerSec {
    /// `rate` bytes per second; a negative or NaN argument becomes zero.
    pub fn new(rate: f64) -> Self {
        Self(if rate > 0.0 { rate } else { 0.0 })
    }

    /// `rate` decimal megabytes (10⁶ bytes) per second.
    pub fn from_mb(rate: f64) -> Self {
        Self::new(rate * 1e6)
    }

    /// `rate` decimal gigabytes (10⁹ bytes) per second.
    pub fn from_gb(rate: f64) -> Self {
        Self::new(rate * 1e9)
    }

    /// `rate` kibibytes (1024 bytes) per second, the unit of md's `sync_speed`.
    pub fn from_kib(rate: f64) -> Self {
        Self::new(rate * 1024.0)
    }

    /// Bytes per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The smaller of two rates.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The larger of two rates.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// This rate as a fraction of `whole` (0.5 = half of it); zero when `whole` is zero.
    pub fn fraction_of(self, whole: Self) -> f64 {
        if whole.0 > 0.0 { self.0 / whole.0 } else { 0.0 }
    }
}

impl Mul<f64> for BytesPerSec {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self::new(self.0 * factor)
    }
}

impl Div<f64> for BytesPerSec {
    type Output = Self;
    fn div(self, divisor: f64) -> Self {
        Self::new(self.0 / divisor)
    }
}

impl Add for BytesPerSec {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0 + other.0)
    }
}

impl Sub for BytesPerSec {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.0 - other.0)
    }
}

impl Sum for BytesPerSec {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0.0), Add::add)
    }
}

impl fmt::Display for BytesPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::human::rate(*self))
    }
}

/// A line rate in bits per second, as network hardware states it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct BitsPerSec(f64);

impl BitsPerSec {
    /// `rate` bits per second; a negative or NaN argument becomes zero.
    pub fn new(rate: f64) -> Self {
        Self(if rate > 0.0 { rate } else { 0.0 })
    }

    /// `rate` megabits (10⁶ bits) per second, the unit of `/sys/class/net/*/speed`.
    pub fn from_mbit(rate: f64) -> Self {
        Self::new(rate * 1e6)
    }

    /// Bits per second.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The same rate in bytes per second.
    pub fn bytes_per_sec(self) -> BytesPerSec {
        BytesPerSec::new(self.0 / 8.0)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::human::bit_rate(*self))
    }
}

/// I/O operations per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Iops(f64);

impl Iops {
    /// `rate` operations per second; a negative or NaN argument becomes zero.
    pub fn new(rate: f64) -> Self {
        Self(if rate > 0.0 { rate } else { 0.0 })
    }

    /// Operations per second.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Iops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} IOPS", super::human::count(self.0))
    }
}

/// A temperature in degrees Celsius.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Celsius(f64);

impl Celsius {
    /// `degrees` Celsius.
    pub const fn new(degrees: f64) -> Self {
        Self(degrees)
    }

    /// `kelvins` above absolute zero, as drives tell.
    pub fn from_kelvin(kelvins: u16) -> Self {
        Self(f64::from(kelvins) - 273.15)
    }

    /// The degrees.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Celsius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::human::temperature(*self))
    }
}

/// A time span in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(u64);

impl Nanos {
    /// `count` nanoseconds.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// `count` milliseconds.
    pub const fn from_millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// The count of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span as a standard duration.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::human::time(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_sectors_are_512_bytes_whatever_the_logical_block_size() {
        // A 2.0 TB NVMe with 4096-byte blocks reports size=3906250000 and nuse=488281250: both say 2.0 TB.
        assert_eq!(Bytes::from_sectors(Sectors512::new(3_906_250_000)).get(), 488_281_250 * 4096);
    }

    #[test]
    fn sizes_saturate_instead_of_wrapping() {
        assert_eq!(Bytes::from_sectors(Sectors512::new(u64::MAX)).get(), u64::MAX);
        assert_eq!((Bytes::new(u64::MAX) + Bytes::new(1)).get(), u64::MAX);
    }

    #[test]
    fn a_rate_is_never_negative_or_nan() {
        assert_eq!(BytesPerSec::new(f64::NAN).get(), 0.0);
        assert_eq!((BytesPerSec::new(1.0) - BytesPerSec::new(2.0)).get(), 0.0);
        assert_eq!(BytesPerSec::new(1.0).fraction_of(BytesPerSec::new(0.0)), 0.0);
    }

    #[test]
    fn kib_and_mb_differ_by_1_024() {
        assert_eq!(BytesPerSec::from_kib(1000.0).get(), 1_024_000.0);
        assert_eq!(BytesPerSec::from_mb(1.0).get(), 1_000_000.0);
    }
}
