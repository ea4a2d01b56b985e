//! What a sweep shows: where more threads, depth or block size stop to help, where they hurt, and what does not fit.

use serde::{Deserialize, Serialize};

use super::median;
use crate::units::BytesPerSec;

/// Differences below this fraction are none, however sure they are. IOzone and fio users read a plateau off a chart with
/// about this eye, and repeated runs of one setting differ by less.
const NOTABLE: f64 = 0.05;

/// One step of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// What was varied: threads, depth, block size in bytes. Positive.
    pub x: f64,
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// The 95 % interval of the mean; without one only the size of an effect decides.
    pub ci95: Option<[BytesPerSec; 2]>,
}

/// What a sweep shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shape {
    /// Where the rate is at its best and stays; `None` when it still rises at the end of the sweep, or nothing was moved.
    pub plateau: Option<Plateau>,
    /// Parts after the beginning of the plateau that lie below it.
    pub drops: Vec<Drop>,
    /// Points that do not fit between their neighbours.
    pub anomalies: Vec<Anomaly>,
}

impl Shape {
    /// The knee: the least x that already gives the rate of the plateau.
    pub fn knee(&self) -> Option<f64> {
        self.plateau.map(|plateau| plateau.from)
    }
}

/// A range of x whose rates cannot be told from the best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plateau {
    /// Its first x, the knee.
    pub from: f64,
    /// Its last x.
    pub to: f64,
    /// The median rate of its points.
    pub bytes_per_second: BytesPerSec,
}

/// A part of a sweep after the beginning of the plateau that lies below it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drop {
    /// Its first x.
    pub from: f64,
    /// Its last x.
    pub to: f64,
    /// Its lowest rate.
    pub bytes_per_second: BytesPerSec,
    /// How far that lies below the plateau, as a fraction of it.
    pub fraction: f64,
}

/// A point that does not fit between its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anomaly {
    /// Where.
    pub x: f64,
    /// The rate there.
    pub bytes_per_second: BytesPerSec,
    /// What its neighbours let expect.
    pub expected: BytesPerSec,
    /// How far the rate lies from that, as a fraction of it; negative when it is slower.
    pub fraction: f64,
}

/// Finds plateau, knee, drops and anomalies of a sweep. The order of the points does not matter; of several with the same
/// x the first counts, and points without a positive finite x are left out.
///
/// Two rates differ when they are 5 % apart and their intervals do not explain it (the difference is larger than the root
/// of the sum of the squared half widths). The plateau is the range of x from the first to the last rate that does not
/// differ from the best one; its beginning is the knee. That is the rule "smallest load within 5 % of the maximum
/// throughput" of capacity planning (Jain, "The Art of Computer Systems Performance Analysis", 1991, section 3.3, knee
/// and usable capacity); the chord rule of Kneedle (Satopää et al., "Finding a 'Kneedle' in a haystack", ICDCSW 2011) puts
/// the knee where the curve bends most, which on a sweep by powers of two is a step before the plateau.
///
/// Throughput against load is concave on logarithmic axes: it grows in proportion at first and less and less later. So a
/// point may lie above the chord between its neighbours, and lies well below it only when something is wrong there: it is
/// an anomaly when it is also below its right neighbour, that is, when the rate recovers. A point that stands above both
/// neighbours, which are alike, is one as well.
pub fn shape(points: &[Point]) -> Shape {
    let points = sorted(points);
    let (fitting, anomalies) = without_anomalies(points.clone());
    let Some(level) = level(&fitting) else {
        return Shape { anomalies, ..Shape::default() };
    };
    let at_level = |point: &&Point| !differs(point, &level);
    let (Some(first), Some(last)) = (fitting.iter().find(at_level), fitting.iter().rfind(at_level)) else {
        return Shape { anomalies, ..Shape::default() };
    };
    let after: Vec<Point> = fitting.iter().filter(|point| point.x > first.x).copied().collect();
    let still_rises = points.last().is_some_and(|end| end.x == first.x) && points.len() > 1;
    let plateau = Plateau { from: first.x, to: last.x, bytes_per_second: level.bytes_per_second };
    Shape { plateau: (!still_rises).then_some(plateau), drops: drops(&after, &level), anomalies }
}

fn sorted(points: &[Point]) -> Vec<Point> {
    let mut points: Vec<Point> =
        points.iter().filter(|point| point.x.is_finite() && point.x > 0.0).copied().collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points.dedup_by(|later, earlier| later.x == earlier.x);
    points
}

/// The rate of the plateau: the median of what does not differ from the best, which alone would be too high (it is the
/// greatest of several), with the interval of the best.
fn level(points: &[Point]) -> Option<Point> {
    let best = points
        .iter()
        .max_by(|a, b| a.bytes_per_second.get().total_cmp(&b.bytes_per_second.get()))
        .filter(|best| best.bytes_per_second.get() > 0.0)?;
    let alike: Vec<f64> = points
        .iter()
        .filter(|point| !differs(point, best))
        .map(|point| point.bytes_per_second.get())
        .collect();
    Some(Point { bytes_per_second: BytesPerSec::new(median(&alike)), ..*best })
}

/// Half of the width of a point's interval, as a fraction of its rate.
fn uncertainty(point: &Point) -> f64 {
    point.ci95.map_or(0.0, |[low, high]| (high - low).fraction_of(point.bytes_per_second) / 2.0)
}

fn differs(a: &Point, b: &Point) -> bool {
    let (x, y) = (a.bytes_per_second.get(), b.bytes_per_second.get());
    let apart = (x - y).abs();
    let explained = (uncertainty(a) * x).hypot(uncertainty(b) * y);
    apart >= NOTABLE * x.max(y) && apart > explained
}

/// Runs of neighbouring points that lie below the level.
fn drops(points: &[Point], level: &Point) -> Vec<Drop> {
    let rate = |point: &Point| point.bytes_per_second;
    let is_below = |point: &Point| rate(point) < rate(level) && differs(point, level);
    points
        .chunk_by(|a, b| is_below(a) == is_below(b))
        .filter(|part| part.first().is_some_and(is_below))
        .filter_map(|part| {
            let lowest = part.iter().map(rate).reduce(BytesPerSec::min)?;
            Some(Drop {
                from: part.first()?.x,
                to: part.last()?.x,
                bytes_per_second: lowest,
                fraction: 1.0 - lowest.fraction_of(rate(level)),
            })
        })
        .collect()
}

/// Takes the point that fits least out, again and again, since it makes its neighbours look odd too. Returns the points that
/// fit, and the others in the order of x.
fn without_anomalies(mut points: Vec<Point>) -> (Vec<Point>, Vec<Anomaly>) {
    let mut found = Vec::new();
    loop {
        let odd = points.windows(3).zip(1..).filter_map(|(window, index)| match window {
            [left, middle, right] => anomaly(left, middle, right).map(|anomaly| (index, anomaly)),
            _ => None,
        });
        let size = |anomaly: &Anomaly| anomaly.fraction.ln_1p().abs();
        let Some((index, worst)) = odd.max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b))) else {
            found.sort_by(|a: &Anomaly, b| a.x.total_cmp(&b.x));
            return (points, found);
        };
        points.remove(index);
        found.push(worst);
    }
}

fn anomaly(left: &Point, middle: &Point, right: &Point) -> Option<Anomaly> {
    let [l, m, r] = [left, middle, right].map(|point| point.bytes_per_second.get());
    let expected = chord(left, middle, right)?;
    let dip = m < expected.bytes_per_second.get() && m < r && differs(middle, right);
    let spike = m > l.max(r) && differs(middle, left) && differs(middle, right) && !differs(left, right);
    ((dip || spike) && differs(middle, &expected)).then(|| Anomaly {
        x: middle.x,
        bytes_per_second: middle.bytes_per_second,
        expected: expected.bytes_per_second,
        fraction: m / expected.bytes_per_second.get() - 1.0,
    })
}

/// What two neighbours let expect between them: the line through them on logarithmic axes, with its uncertainty.
fn chord(left: &Point, middle: &Point, right: &Point) -> Option<Point> {
    let (l, r) = (left.bytes_per_second.get(), right.bytes_per_second.get());
    if l <= 0.0 || r <= 0.0 {
        return None;
    }
    let share = libm::log(middle.x / left.x) / libm::log(right.x / left.x);
    let rate = BytesPerSec::new(libm::pow(l, 1.0 - share) * libm::pow(r, share));
    let half = rate * (uncertainty(left) * (1.0 - share)).hypot(uncertainty(right) * share);
    Some(Point { x: middle.x, bytes_per_second: rate, ci95: Some([rate - half, rate + half]) })
}

#[cfg(test)]
mod tests;
