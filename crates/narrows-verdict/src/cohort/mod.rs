//! How do machines of one kind differ from each other, and from what they were before?
//!
//! A [`Host`] is what remains of a machine once it has been judged: its model, its findings and the state of its links,
//! a few kilobytes. [`Tally`] takes hosts one by one and keeps counts, so that thousands of machines need little memory;
//! at the end it names what many of a model have in common ([`Group`]) and who differs from nearly all others
//! ([`Outlier`]). [`change`] compares two looks at the same host.

pub mod change;
mod host;
mod outlier;
mod tally;
#[cfg(test)]
mod testing;

pub use host::{Found, Host, Link, Model};
pub use outlier::Outlier;
pub use tally::{Group, Summary, Tally};
