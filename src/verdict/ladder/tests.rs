//! Ladders from synthetic samples.
