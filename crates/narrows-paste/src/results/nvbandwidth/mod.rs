//! NVIDIA's nvbandwidth: copies between main memory and GPUs, as text and as JSON.
//!
//! Its GB are 10⁹ bytes (`memcpy.cpp`, `calculateFirstBandwidth`: × 1e-9). A matrix has a row and a column for each
//! device; each cell was measured by itself except where a name says `bidirectional` or `all`, so that its `SUM` is no
//! rate of anything. No storage takes part.

mod json;
mod text;

pub(super) use json::read as read_json;
pub(super) use text::read;

use super::{Derived, Imported, Measured, Op, Side, Spread, Work};
use narrows_base::units::BytesPerSec;

/// The matrix of a test.
#[derive(Debug, Clone, Default)]
struct Matrix {
    line: usize,
    test: String,
    /// The columns that the heading of a text names.
    width: usize,
    rows: Vec<Vec<Option<f64>>>,
    sum: Option<f64>,
}

impl Matrix {
    /// The direction as the GPU of the column sees it.
    fn op(&self) -> Op {
        let reads = ["device_to_host", "all_to_host", "_read_", "all_to_one_read"];
        if reads.iter().any(|name| self.test.contains(name)) { Op::Read } else { Op::Write }
    }

    /// A measurement for each GPU: of one row of main memory its column, and of many rows the mean of its row.
    fn add_to(self, imported: &mut Imported) {
        let op = self.op();
        let cells: Vec<f64> = self.rows.iter().flatten().flatten().copied().collect();
        if let Some(printed) = self.sum {
            let computed: f64 = cells.iter().sum();
            // Each cell is rounded to two digits behind the point, or to six in all.
            let rounding =
                0.005 * (cells.len() as f64 + 1.0) / computed.max(1e-9) + 1e-5 * cells.len() as f64;
            imported.derived.push(Derived {
                name: format!("SUM {}", self.test),
                printed,
                computed,
                rounding,
            });
        }
        let groups: Vec<Vec<f64>> = match self.rows.as_slice() {
            [row] => row.iter().map(|cell| cell.iter().copied().collect()).collect(),
            rows => rows.iter().map(|row| row.iter().flatten().copied().collect()).collect(),
        };
        let is_single = groups.len() == 1;
        for (gpu, group) in groups.iter().enumerate() {
            // A GPU's copy to itself is printed as nothing by old releases, and as N/A by later ones.
            let group: Vec<f64> = group.iter().copied().filter(|rate| *rate > 0.0).collect();
            let Some(spread) = Spread::of(&group) else { continue };
            let label = if is_single { self.test.clone() } else { format!("{} GPU {gpu}", self.test) };
            let mut measured = Measured::new(self.line, Work { label, ..Work::default() });
            measured.memory_only = true;
            let spread_of = (group.len() > 1).then_some(spread);
            let side = Side {
                bytes_per_second: BytesPerSec::from_gb(spread.mean),
                spread: spread_of,
                ..Side::default()
            };
            measured.put(op, side);
            imported.measurements.push(measured);
        }
    }
}
