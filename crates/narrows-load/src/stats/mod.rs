//! Statistics on the series of a measurement: how sure the mean is, whether the rate held steady and from when on, and when
//! enough was measured.
//!
//! Everything here is a pure function of rates. A series has one rate for each [`SAMPLE`] of the measured time, as
//! [`Measurement::series`](super::measurement::Measurement::series) and [`Control::series`](super::Control::series)
//! hold it.

mod batch;
mod math;
mod precision;
mod steady;
pub mod sweep;
#[cfg(test)]
mod testing;
mod warm_up;

pub use batch::{BatchMeans, ci95};
pub use math::{median, student_t};
pub use precision::{Decision, Outlook, Precision};
pub use steady::{Steadiness, steadiness};
pub use warm_up::{WarmUp, warm_up};

use narrows_base::units::Nanos;

/// The time that one rate of a series stands for.
pub const SAMPLE: Nanos = Nanos::from_millis(100);
