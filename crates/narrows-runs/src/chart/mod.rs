//! Charts of what was run: made of the bars, lines and heat maps of the report.

mod knees;
mod rates;
mod spread;
mod sweeps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole_tests;

pub(crate) use knees::fleet_knees;
pub(crate) use rates::{alone_together, fullness, ladder_waterfall, measure, time_budget};
pub(crate) use spread::fleet_rates;
pub(crate) use sweeps::{sweep_heat, sweep_knee};
