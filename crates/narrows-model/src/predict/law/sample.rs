//! The distribution of residuals of a law, out of a few measurements of several sources.

use std::collections::BTreeMap;

use super::Residual;

/// The spread of measurements of one and the same thing, as a part: what a small sample may not show.
const LEAST_SPREAD: f64 = 0.01;

/// How much the rows of a source count together: so many rows to this power. With 1 each row counts alike, with 0 each
/// source. Rows of one source share its machine and its habits; one source with many must not decide alone.
const OF_ONE_SOURCE: f64 = 0.5;

/// Residuals with their weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// The logarithm and the part of all others that lie below it, rising.
    points: Vec<(f64, f64)>,
    /// By how much a logarithm grows in the tails where the part beyond it falls to 1/e.
    tail: f64,
}

impl Sample {
    pub(super) fn of(rows: &[&Residual]) -> Self {
        let mut of_source: BTreeMap<&str, f64> = BTreeMap::new();
        for row in rows {
            *of_source.entry(row.source.as_str()).or_default() += 1.0;
        }
        let weight =
            |row: &Residual| of_source.get(row.source.as_str()).map_or(1.0, |n| n.powf(OF_ONE_SOURCE - 1.0));
        let mut weighed: Vec<(f64, f64)> = rows.iter().map(|row| (row.log, weight(row))).collect();
        weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all: f64 = weighed.iter().map(|(_, weight)| weight).sum();
        let squares: f64 = weighed.iter().map(|(_, weight)| weight * weight).sum();
        // Rows of one weight that would tell as much.
        let count = all * all / squares;
        let mut below = 0.0;
        let points: Vec<(f64, f64)> = weighed
            .iter()
            .map(|&(log, weight)| {
                below += weight / all;
                let middle = below - weight / all / 2.0;
                // A further value of n alike falls below the i-th with probability i / (n + 1).
                (log, (middle * count + 0.5) / (count + 1.0))
            })
            .collect();
        let mut sample = Self { points, tail: LEAST_SPREAD };
        sample.tail = ((sample.quantile(0.75) - sample.quantile(0.25)) / 2.0).max(LEAST_SPREAD);
        sample
    }

    /// The logarithm that a part of all further measurements lies below. Between measurements it is interpolated, beyond the first
    /// and the last the tails fall off exponentially.
    pub(super) fn quantile(&self, at: f64) -> f64 {
        let at = at.clamp(1e-6, 1.0 - 1e-6);
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return 0.0 };
        if at < first.1 {
            return first.0 + self.tail * (at / first.1).ln();
        }
        if at > last.1 {
            return last.0 - self.tail * ((1.0 - at) / (1.0 - last.1)).ln();
        }
        let above = self.points.partition_point(|point| point.1 < at).clamp(1, self.points.len().max(2) - 1);
        let (Some(low), Some(high)) = (self.points.get(above - 1), self.points.get(above)) else {
            return first.0;
        };
        let part = (at - low.1) / (high.1 - low.1).max(1e-12);
        low.0 + (high.0 - low.0) * part.clamp(0.0, 1.0)
    }
}
