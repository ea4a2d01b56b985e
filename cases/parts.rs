//! The parts of the case scorer that can be tested without the binary.

#![expect(dead_code, reason = "the scorer itself uses the rest")]

mod case;
mod files;
mod report;
mod score;
