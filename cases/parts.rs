//! The parts of the case scorer that can be tested without the binary.

mod case;
#[expect(dead_code, reason = "the scorer's program uses the rest")]
mod report;
mod score;
