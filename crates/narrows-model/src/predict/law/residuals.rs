//! How far off laws were where somebody measured.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::Law;
use super::sample::Sample;

/// Measurements that a law needs before it estimates.
pub(in crate::predict) const LEAST_ROWS: usize = 8;

/// Sources that these must come from.
pub(in crate::predict) const LEAST_SOURCES: usize = 3;

/// One measurement against the law that decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// The law.
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
    known: BTreeMap<Law, Sample>,
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

    /// The rows.
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
fn enough(rows: &[&Residual], least_rows: usize, least_sources: usize) -> Option<Sample> {
    (rows.len() >= least_rows && sources(rows) >= least_sources).then(|| Sample::of(rows))
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
