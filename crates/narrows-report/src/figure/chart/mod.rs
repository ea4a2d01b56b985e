//! Charts: bars, lines and heat maps, for wide and for narrow screens, and the figures of reports made of them.

mod bars;
mod compared;
mod heat;
mod lines;
mod predicted;
mod runs;
mod spread;

pub use bars::{Bar, BarChart, Named, Row, Signs};
pub use compared::before_after;
pub use heat::{Cell, Heat, Legend, RowData, heat};
pub use lines::{Axis, Event, Line, decades, from_zero, lines};
pub use predicted::predictions;
pub use runs::{Course, check, latencies, means, of_run, percentiles, rates_over_time};
pub use spread::fleet_heat;

use super::svg::Svg;
use super::whole::Picture;
use narrows_base::units::{BytesPerSec, human};

/// The width of a chart for wide screens and paper, and for narrow ones.
const WIDTHS: [f64; 2] = [1080.0, 340.0];

/// A chart drawn for both widths.
pub fn picture(draw: impl Fn(f64) -> Svg) -> Picture {
    let [wide, narrow] = WIDTHS.map(draw);
    Picture { label: String::new(), note: String::new(), wide, narrow: Some(narrow) }
}

/// A value of a scale of rates.
pub fn rate(value: f64) -> String {
    human::rate(BytesPerSec::new(value))
}

/// The ends of an interval; nothing where it is not known.
pub fn known(ends: Option<[BytesPerSec; 2]>) -> String {
    ends.map(from_to).unwrap_or_default()
}

/// Steps of 1, 2 or 5 times a power of ten from zero to at least `most`, at most six of them.
fn steps(most: f64) -> Vec<f64> {
    if !most.is_finite() || most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let power = 10_f64.powf((most / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| most / step <= 5.0);
    let step = step.unwrap_or(10.0 * power);
    let count = (most / step).ceil().max(1.0) as usize;
    (0..=count).map(|at| at as f64 * step).collect()
}

#[cfg(test)]
mod tests;

/// `390 MB/s to 393 MB/s`.
pub fn from_to([low, high]: [BytesPerSec; 2]) -> String {
    format!("{low} to {high}")
}

/// `+12.3 %`, `−0.4 %`.
pub fn signed(part: f64) -> String {
    let sign = if part < 0.0 { "−" } else { "+" };
    format!("{sign}{}", human::percent(part.abs()))
}
