//! What did many hosts achieve together, which of them did not take part, and what limited all?
//!
//! [`record`] is what a run keeps in its directory. [`Point::of`] counts the common window of the hosts of one run, merges their
//! latencies and says which host was late or failed. [`judge`](judge::judge) sets clients, servers and their connections against
//! each other. All of it is pure: the same directory gives the same verdict.

pub mod bins;
pub mod flows;
pub mod judge;
pub mod outlier;
mod point;
pub mod record;
pub mod samples;
pub mod series;
#[cfg(test)]
mod testing;
mod window;

pub use bins::Bins;
pub use point::{HostPoint, LEAST_OVERLAP, Outcome, Point, Side, Told};
pub use window::{Series, Window};
