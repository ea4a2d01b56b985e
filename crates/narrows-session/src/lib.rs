//! What puts load on devices and sees what the machine does meanwhile: a [`Session`](measure::Session) measures on a
//! [`Scene`](scene::Scene) at a [`Place`](place::Place), and the layout [`lab`] builds on devices and takes away again.
//!
//! Internal to the program narrows: its interface changes without notice. JSON (`schema/`) is the promise.

pub mod check;
pub mod copying;
mod fitting;
pub mod fleet;
pub mod guard;
pub mod lab;
pub mod ladder;
pub mod live;
pub mod measure;
pub mod objection;
pub mod place;
pub mod runner;
pub mod scene;
pub mod seal;
pub mod teller;
pub mod together;
pub mod trials;
mod trust;
pub mod writes;
