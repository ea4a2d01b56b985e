//! A set of workloads on systems, as data.

use serde::Deserialize;

use super::Situation;
use crate::path::file::Pattern;

/// What a workload and its system must be; a key that is absent asks nothing.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Range {
    /// `sequential` or `random`.
    pub pattern: Option<Order>,
    /// The directions of its I/Os, one of these: `read`, `write`, `mix`.
    pub directions: Vec<Mix>,
    /// Bytes of an I/O, at least.
    pub block_from: Option<u64>,
    /// Bytes of an I/O, at most.
    pub block_to: Option<u64>,
    /// I/Os under way in all jobs, at least.
    pub in_flight_from: Option<u64>,
    /// I/Os under way in all jobs, at most.
    pub in_flight_to: Option<u64>,
    /// Gbit/s of a port of the slowest network on the way, at least.
    pub gigabits_from: Option<f64>,
    /// Traits of which each is there (see [`Situation`]).
    pub all: Vec<String>,
    /// Traits of which one is there.
    pub any: Vec<String>,
    /// Traits of which none is there.
    pub none: Vec<String>,
}

/// The order of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// One after the other.
    Sequential,
    /// At random.
    Random,
}

/// The directions of I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mix {
    /// Reads alone.
    Read,
    /// Writes alone.
    Write,
    /// Both.
    #[serde(rename = "mix")]
    Both,
}

impl Range {
    /// Whether a situation is in it.
    pub fn has(&self, it: &Situation) -> bool {
        let traits = |wanted: &str| it.has(wanted);
        self.pattern.is_none_or(|order| {
            order == if it.pattern == Pattern::Random { Order::Random } else { Order::Sequential }
        }) && (self.directions.is_empty() || self.directions.contains(&it.mix()))
            && between(it.block_size, self.block_from, self.block_to)
            && between(it.in_flight, self.in_flight_from, self.in_flight_to)
            && self.gigabits_from.is_none_or(|least| it.gigabits.is_some_and(|rate| rate >= least))
            && self.all.iter().all(|wanted| traits(wanted))
            && (self.any.is_empty() || self.any.iter().any(|wanted| traits(wanted)))
            && !self.none.iter().any(|wanted| traits(wanted))
    }
}

fn between(value: u64, from: Option<u64>, to: Option<u64>) -> bool {
    from.is_none_or(|from| value >= from) && to.is_none_or(|to| value <= to)
}
