//! The storage roofline as a picture: in the terminal, and as SVG.

mod scale;
mod svg;
mod text;

pub use svg::svg;
pub use text::text;

use crate::predict::BoundKind;
use crate::predict::roofline::{Axis, Line, Roofline};
use crate::units::{Bytes, human};

/// What a place on the axis is called.
fn tick(axis: Axis, at: f64) -> String {
    match axis {
        Axis::BlockSize => human::block_size(Bytes::new(at as u64)),
        Axis::Depth => format!("{at:.0}"),
    }
}

/// What runs along the axis.
const fn axis_name(axis: Axis) -> &'static str {
    match axis {
        Axis::BlockSize => "block size",
        Axis::Depth => "I/Os under way for each job",
    }
}

/// What a line is called: the hop, how many there are of it, and what of it bounds.
fn label(line: &Line) -> String {
    let many = if line.alike > 1 { format!("{} × ", line.alike) } else { String::new() };
    let what = match line.kind {
        BoundKind::Iops => " (I/Os)",
        _ => "",
    };
    format!("{many}{}{what}", line.name)
}

/// Why there is no picture.
fn is_empty(roofline: &Roofline) -> bool {
    roofline.at.len() < 2 || roofline.rates.iter().all(|rate| rate.get() <= 0.0)
}
