//! What rate will a workload get on a path?
//!
//! A path whose hops all have requests to work on carries what its narrowest hop does: the smallest ceiling, divided by
//! the traffic that crosses the hop. A path with one request at a time takes turns: the time of a request is the sum of
//! what its stages take. In between, requests under way divided by the time of one is the bound (Little's law). All of
//! that becomes [capacities](flow) that the flow of the workload uses, beside the flows of whatever runs at the same time.
//!
//! Nothing here knows a law: ceilings are those of [`crate::ceiling`].

pub mod answer;
mod bound;
mod cached;
mod cap;
mod describe;
pub mod flow;
mod hops;
mod iommu;
pub mod law;
mod medium;
mod notes;
mod own;
mod prediction;
mod solve;
mod time;
mod zfs;

pub use answer::{Answer, Intervals, NotKnown};
pub use bound::{Bound, BoundKind};
pub use describe::describe;
pub use hops::duplex;
pub use prediction::{Prediction, Sensitivity};
pub use solve::{predict, predict_together, predict_widened};

#[cfg(test)]
mod tests;
