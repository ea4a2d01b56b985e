//! What should go where?
//!
//! A [`Site`] is what there is: slots, their lanes, what they hang on and share. A [`Wish`] is what is wanted.
//! [`search`] finds the best placement of all wishes and proves that there is no better one; [`outcome`] says what it
//! means: which card goes where, which settings change, what is disabled, and how fast everything runs, alone and
//! together. [`layout`] ranks what to build on the drives.
//!
//! Rates are ceilings of [`crate::ceiling`], with the payload sizes that are usual at a link's speed, because there is
//! nothing to read yet. They carry the error of those laws.

pub mod layout;
pub mod outcome;
mod problem;
pub mod search;
pub mod site;
pub mod wish;

pub use problem::WholeRate;
pub use site::{Attachment, Site, Slot};
pub use wish::{Kind, Wish};
