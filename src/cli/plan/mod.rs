//! `narrows plan`: what should go where?

mod args;
mod run;

pub use args::PlanArgs;
pub(super) use run::run;
