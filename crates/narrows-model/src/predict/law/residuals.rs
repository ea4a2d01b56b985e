//! How far off laws were where somebody measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::Law;

/// Measurements that a law needs before it estimates.
pub(in crate::predict) const LEAST_ROWS: usize = 8;

/// Sources that these must come from.
pub(in crate::predict) const LEAST_SOURCES: usize = 3;

/// One measurement against the law that decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    pub law: Law,
    /// Who measured.
    pub source: String,
    /// The row of the table of measurements.
    pub row: String,
    /// The logarithm of what was measured over what the law says.
    pub log: f64,
}

/// The residuals of laws.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Residuals {
    rows: Vec<Residual>,
    /// The sample of each law that has enough, of its own or with its family.
    known: BTreeMap<Law, ResidualSample>,
}

impl Residuals {
    /// Those that the program was built with.
    pub fn shipped() -> &'static Self {
        static SHIPPED: OnceLock<Residuals> = OnceLock::new();
        SHIPPED.get_or_init(|| Self::parse(include_str!("residuals.csv")).unwrap_or_default())
    }

    /// Of these rows.
    pub fn of(rows: Vec<Residual>) -> Self {
        Self::with(rows, LEAST_ROWS, LEAST_SOURCES)
    }

    /// Of the rows for which `keeps` says so, with less asked of a law: half of the rows, of two sources. For crossed
    /// validation, which asks what intervals the others of enough measurements would have given.
    #[must_use]
    pub fn without(&self, leaves_out: impl Fn(&Residual) -> bool) -> Self {
        let kept = self.rows.iter().filter(|row| !leaves_out(row)).cloned();
        Self::with(kept.collect(), LEAST_ROWS / 2, 2)
    }

    fn with(rows: Vec<Residual>, least_rows: usize, least_sources: usize) -> Self {
        let enough = |rows: &[&Residual]| enough(rows, least_rows, least_sources);
        let mut pools: BTreeMap<String, Vec<&Residual>> = BTreeMap::new();
        let mut own: BTreeMap<Law, Vec<&Residual>> = BTreeMap::new();
        for row in &rows {
            pools.entry(row.law.pool()).or_default().push(row);
            own.entry(row.law).or_default().push(row);
        }
        let of_pool = |law: Law| pools.get(&law.pool()).and_then(|rows| enough(rows));
        let known = Law::all()
            .filter_map(|law| {
                Some((law, own.get(&law).and_then(|rows| enough(rows)).or_else(|| of_pool(law))?))
            })
            .collect();
        Self { rows, known }
    }

    pub fn rows(&self) -> &[Residual] {
        &self.rows
    }

    /// Whether a law has measurements enough to estimate.
    pub fn knows(&self, law: Law) -> bool {
        self.known.contains_key(&law)
    }

    /// Rows and sources of a law, with those of its family.
    pub fn count(&self, law: Law) -> (usize, usize) {
        let pool = law.pool();
        let rows: Vec<&Residual> = self.rows.iter().filter(|row| row.law.pool() == pool).collect();
        (rows.len(), sources(&rows))
    }

    /// The residual that a part `at` of all measurements lies below; 0 for a law without enough of them.
    pub(in crate::predict) fn quantile(&self, law: Law, at: f64) -> f64 {
        self.known.get(&law).map_or(0.0, |sample| sample.quantile(at))
    }

    /// The rows of a text: `law,source,row,residual` and one line each.
    ///
    /// # Errors
    /// The line that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().skip(1).filter(|line| !line.is_empty());
        let rows = lines.map(|line| one(line).ok_or_else(|| line.to_owned()));
        Ok(Self::of(rows.collect::<Result<_, _>>()?))
    }

    /// The rows as text, by law and row.
    pub fn text(&self) -> String {
        let mut rows: Vec<&Residual> = self.rows.iter().collect();
        rows.sort_by(|a, b| (a.law.id(), &a.row).cmp(&(b.law.id(), &b.row)));
        let mut text = "law,source,row,residual\n".to_owned();
        for row in rows {
            text.push_str(&format!("{},{},{},{:.4}\n", row.law.id(), row.source, row.row, row.log));
        }
        text
    }
}

/// The sample of rows, if there are enough of enough sources.
fn enough(rows: &[&Residual], least_rows: usize, least_sources: usize) -> Option<ResidualSample> {
    (rows.len() >= least_rows && sources(rows) >= least_sources).then(|| ResidualSample::of(rows))
}

fn sources(rows: &[&Residual]) -> usize {
    rows.iter().map(|row| row.source.as_str()).collect::<BTreeSet<_>>().len()
}

fn one(line: &str) -> Option<Residual> {
    let mut fields = line.split(',');
    let law = Law::from_id(fields.next()?)?;
    let (source, row) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let log: f64 = fields.next()?.parse().ok()?;
    (log.is_finite() && fields.next().is_none()).then_some(Residual { law, source, row, log })
}

/// The spread of measurements of one and the same thing, as a part: what a small sample may not show.
const LEAST_SPREAD: f64 = 0.01;

/// How much the rows of a source count together: so many rows to this power. With 1 each row counts alike, with 0 each
/// source. Rows of one source share its machine and its habits; one source with many must not decide alone.
const OF_ONE_SOURCE: f64 = 0.5;

/// Residuals with their weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResidualSample {
    /// The logarithm and the part of all others that lie below it, rising.
    points: Vec<(f64, f64)>,
    /// By how much a logarithm grows in the tails where the part beyond it falls to 1/e.
    tail: f64,
}

impl ResidualSample {
    pub(super) fn of(rows: &[&Residual]) -> Self {
        let mut of_source: BTreeMap<&str, f64> = BTreeMap::new();
        for row in rows {
            *of_source.entry(row.source.as_str()).or_default() += 1.0;
        }
        let weight = |row: &Residual| {
            of_source.get(row.source.as_str()).map_or(1.0, |n| libm::pow(*n, OF_ONE_SOURCE - 1.0))
        };
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
            return first.0 + self.tail * libm::log(at / first.1);
        }
        if at > last.1 {
            return last.0 - self.tail * libm::log((1.0 - at) / (1.0 - last.1));
        }
        let above = self.points.partition_point(|point| point.1 < at).clamp(1, self.points.len().max(2) - 1);
        let (Some(low), Some(high)) = (self.points.get(above - 1), self.points.get(above)) else {
            return first.0;
        };
        let part = (at - low.1) / (high.1 - low.1).max(1e-12);
        low.0 + (high.0 - low.0) * part.clamp(0.0, 1.0)
    }
}
