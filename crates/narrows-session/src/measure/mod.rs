//! The one measuring loop: load on one target or several at the same time, with the same evidence for every command.
//!
//! A [`Session`] is begun on a machine, which it watches idle first. Each [`run`](Session::run) asks links and drives, starts
//! the engine on every target, follows all of them to their end, and asks links and drives again. What evidence
//! there is and what it costs is in [`Evidence`]; nobody else calls the engine.

mod alone;
mod alone_and_together;
mod copying;
mod engine;
mod evidence;
mod follow;
mod processors;
mod session;
mod several;
#[cfg(test)]
mod tests;
mod timing;
mod together;
mod watch;

pub use alone::{memory_copy, nop_ceiling};
pub use copying::{Copied, copy};
pub use engine::{Engine, Kernel};
pub use evidence::{Command, Evidence, Price, Witness};
pub use follow::{Follower, Look};
pub use processors::Processors;
pub use session::{Asked, Seen, Session, seed};
pub use several::{Several, Together};
#[cfg(test)]
pub(crate) use timing::UNTIL_KNOWN;
pub use timing::{MOST_ROUNDS, Timing, WINDOW, is_steady, rounds};
pub use together::at_once;
