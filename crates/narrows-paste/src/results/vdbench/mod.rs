//! Vdbench: `summary.html`, `totals.html`, `flatfile.html` and what it prints meanwhile, for block and for file
//! workloads.
//!
//! Its MB are 1024² bytes, as the heading says (`1024**2`) and the comments of `flatfile.html` do. Response times are
//! milliseconds. An average line (`avg_2-5`) leaves out the first interval, or the warm-up.

mod flat;
mod report;
mod run;

pub(super) use flat::read as read_flat;
pub(super) use report::read;

/// One MB of Vdbench, in bytes.
const MB: f64 = 1_048_576.0;

/// One interval, or the average of several.
#[derive(Debug, Clone, Default, PartialEq)]
struct Sample {
    /// I/Os or requests per second.
    rate: f64,
    /// Bytes per second of both directions.
    bytes: f64,
    /// Bytes of an I/O.
    size: f64,
    /// The part of reads, from 0 to 1.
    reads: f64,
    /// Bytes per second that were read and written, where a file workload tells both.
    sides: Option<(f64, f64)>,
    /// I/Os per second that were reads and writes, where a file workload tells both.
    ios: Option<(f64, f64)>,
    /// Milliseconds of an I/O, of a read, of a write.
    response: f64,
    read_response: Option<f64>,
    write_response: Option<f64>,
    /// The longest of all, of reads, of writes.
    longest: Option<f64>,
    longest_read: Option<f64>,
    longest_write: Option<f64>,
}

impl Sample {
    /// Whether what a row says twice agrees as far as two decimals let it: a row of another table does not.
    fn is_sound(&self) -> bool {
        /// Rates have two decimals of MB, and the size of an I/O none.
        const LAST_DIGIT: f64 = 0.011 * MB;
        let near = |one: f64, other: f64| (one - other).abs() <= LAST_DIGIT + 0.01 * one.max(other);
        match self.sides {
            Some((read, write)) => near(read + write, self.bytes),
            None => near(self.rate * self.size, self.bytes),
        }
    }
}
