//! `narrows plan`: what should go where?

mod args;
mod ground;
mod layouts;
mod run;

pub use args::PlanArgs;
pub(super) use run::run;
