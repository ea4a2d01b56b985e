//! What narrows predicts of a row, and how far off that is.

use narrows::ceiling;
use narrows::path::HopKind;
use narrows::path::file::Engine;
use narrows::predict::law::{self, Law, Residuals};
use narrows::predict::{Answer, Bound, BoundKind, Prediction, answer, predict};
use narrows::units::{BytesPerSec, Iops, human};
use serde::Serialize;

use crate::laws::{self, Quantity, Value};
use crate::table::Row;
use crate::work::Work;
use crate::{cover, expected, model};

/// A measurement this much above a wire's rate before packets cannot have crossed it: rounding aside.
const ABOVE_RAW: f64 = 1.005;

/// One row with its outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Score {
    pub(crate) id: String,
    pub(crate) what: String,
    pub(crate) measured: f64,
    pub(crate) unit: String,
    pub(crate) confidence: String,
    /// In the unit of the row; `None` when it is not covered.
    pub(crate) predicted: Option<f64>,
    /// Predicted over measured, less one.
    pub(crate) error: Option<f64>,
    /// The hop that limits.
    pub(crate) hop: Option<&'static str>,
    /// Whether that is the hop that the row blames; `None` when it blames none.
    pub(crate) hop_right: Option<bool>,
    /// How the prediction comes about, or why there is none.
    pub(crate) said: String,
    /// Whose measurement it is.
    pub(crate) source: String,
    /// Whether a path file can express it.
    pub(crate) in_scope: bool,
    /// The laws that decide, and by which logarithm they are off.
    #[serde(skip)]
    pub(crate) residuals: Vec<(Law, f64)>,
    /// What was measured over what the laws say, as rates.
    #[serde(skip)]
    pub(crate) factor: Option<f64>,
    /// What intervals are made of.
    #[serde(skip)]
    pub(crate) judged: Option<Judged>,
}

/// What is predicted of a row, before it is known whether its laws may say so.
#[derive(Debug, Clone)]
pub(crate) enum Judged {
    /// A path.
    Path(Box<Prediction>),
    /// One law alone.
    Law(Law),
}

impl Judged {
    /// What may be said, by these residuals.
    pub(crate) fn answer(&self, residuals: &Residuals) -> Answer {
        match self {
            Self::Path(prediction) => prediction.answer_by(residuals),
            Self::Law(law) => answer::of_law(*law, residuals),
        }
    }

    /// A bound, over the prediction.
    pub(crate) fn bound(&self, at: usize) -> Option<f64> {
        match self {
            Self::Path(it) => Some(it.bounds.get(at)?.rate.get() / it.rate.get()),
            Self::Law(_) => None,
        }
    }

    fn is_in_range(&self, law: Law) -> bool {
        let Self::Path(it) = self else { return true };
        law.validity().is_some_and(|validity| validity.range.has(&it.situation))
    }

    /// The laws that decide, each with the logarithm of the factor by which the prediction is off: a measurement of a sum is
    /// charged to each law that makes a good part of it.
    fn residuals(&self, factor: f64) -> Vec<(Law, f64)> {
        let terms = match self {
            Self::Law(law) => return vec![(*law, factor.ln())],
            Self::Path(it) if law::is_gap(&it.situation) => return Vec::new(),
            Self::Path(it) => it.narrowest().map_or(&[][..], |bound| &bound.terms),
        };
        let charged = terms.iter().filter(|term| term.share >= CHARGED);
        let in_range = charged.filter(|term| self.is_in_range(term.law));
        in_range.map(|term| (term.law, factor.ln())).collect()
    }
}

/// A law that takes less than this share of the time of a byte is not measured by the whole.
const CHARGED: f64 = 0.05;

/// The outcome of a row.
pub(crate) fn of(row: &Row) -> Score {
    let work = Work::of(row);
    let outcome = cover::refusal(row, &work)
        .map_or_else(|| value(row, &work), |reason| Err(reason.to_owned()))
        .and_then(|value| in_unit(row, &work, &value).map(|number| (number, value)))
        .and_then(|(number, value)| trusted(row, &work, number, value));
    let blamed = expected::of(row);
    let what = [&row.platform, &row.device, &row.layers, &row.workload].map(String::as_str).join(" | ");
    let score = Score {
        id: row.id.clone(),
        what,
        measured: row.value,
        unit: row.unit.clone(),
        confidence: row.confidence.clone(),
        predicted: None,
        error: None,
        hop: None,
        hop_right: None,
        said: String::new(),
        source: row.source.clone(),
        in_scope: cover::is_in_scope(row, &work),
        residuals: Vec::new(),
        factor: None,
        judged: None,
    };
    match outcome {
        Ok((number, value)) => {
            let judged = value.prediction.map(Judged::Path).or(value.law.map(Judged::Law));
            let is_time = matches!(row.unit.as_str(), "us" | "ns");
            let factor = if is_time { number / row.value } else { row.value / number };
            Score {
                predicted: Some(number),
                error: Some(number / row.value - 1.0),
                hop: Some(value.hop.as_str()),
                hop_right: blamed.map(|kinds| kinds.contains(&value.hop)),
                said: value.said,
                residuals: judged.as_ref().map(|judged| judged.residuals(factor)).unwrap_or_default(),
                factor: Some(factor),
                judged,
                ..score
            }
        }
        Err(reason) => Score { said: reason, ..score },
    }
}

fn value(row: &Row, work: &Work) -> Result<Value, String> {
    laws::of(row, work).unwrap_or_else(|| path(row, work))
}

/// The prediction of a path.
fn path(row: &Row, work: &Work) -> Result<Value, String> {
    let model = model::of(row, work)?;
    let prediction = predict(&model.system, &model.workload).map_err(|error| error.to_string())?;
    let narrow = limiting(&prediction).ok_or("nothing on this path is known to limit it")?;
    if !(prediction.rate.get() > 0.0 && prediction.rate.get() < 1e15) {
        return Err("nothing on this path is known to limit it".to_owned());
    }
    let hop = prediction.path.hops.iter().find(|hop| hop.id == narrow.hop);
    let raw = hop.and_then(|hop| Some((ceiling::of_hop(hop).read.limit()?.raw?, hop.traffic.read)));
    let kind = hop.map_or(HopKind::Application, narrows::path::Hop::kind);
    Ok(Value {
        quantity: Quantity::Rate(prediction.rate),
        hop: kind,
        raw: raw.map(|(raw, traffic)| raw / traffic.max(1e-9)),
        said: format!("{}: {}", narrow.name, narrow.formula),
        law: None,
        prediction: Some(Box::new(prediction.clone())),
    })
}

/// The bound that decides; of a copy out of the page cache and the path, which take turns, the one that takes longer.
fn limiting(prediction: &Prediction) -> Option<&Bound> {
    let first = prediction.narrowest()?;
    let buffered = matches!(prediction.workload.engine, Engine::Buffered | Engine::Hdparm);
    let path = prediction.bounds.iter().find(|bound| bound.kind == BoundKind::Bandwidth);
    let Some(path) = path.filter(|_| buffered && first.kind == BoundKind::Depth) else { return Some(first) };
    let (all, moving) = (1.0 / first.rate.get(), 1.0 / path.rate.get());
    Some(if moving >= all - moving { path } else { first })
}

/// A prediction as a number in the unit of the row.
fn in_unit(row: &Row, work: &Work, value: &Value) -> Result<f64, String> {
    let counted = work.counted();
    let bytes = match value.quantity {
        Quantity::Rate(rate) => rate.get() * counted,
        Quantity::Time(time) => {
            return match row.unit.as_str() {
                "us" => Ok(time.get() as f64 / 1e3),
                "ns" => Ok(time.get() as f64),
                unit => Err(format!("a time is no {unit}")),
            };
        }
    };
    number(&row.unit, bytes, work.block)
}

fn number(unit: &str, bytes: f64, block: u64) -> Result<f64, String> {
    Ok(match unit {
        "MB/s" => bytes / 1e6,
        "MiB/s" => bytes / 1_048_576.0,
        "GB/s" => bytes / 1e9,
        "GiB/s" => bytes / 1_073_741_824.0,
        "Gbit/s" => bytes * 8.0 / 1e9,
        "IOPS" => Iops::new(bytes / block.max(1) as f64).get(),
        "us" if bytes > 0.0 => block as f64 / bytes * 1e6,
        _ => return Err(format!("there is no law for {unit}")),
    })
}

/// A number above what the narrowest wire signals was not carried by it: a cache, or a wrong unit.
fn trusted(row: &Row, work: &Work, predicted: f64, value: Value) -> Result<(f64, Value), String> {
    let raw = value.raw.map(|raw| raw.get() * work.counted());
    let most = raw.and_then(|raw| number(&row.unit, raw, work.block).ok());
    match (most, value.raw) {
        (Some(most), Some(raw)) if row.value > most * ABOVE_RAW => Err(format!(
            "above physics: the {} carries {} and no more, so a cache, another setting or a wrong unit was measured",
            value.hop.as_str(),
            human::rate(BytesPerSec::new(raw.get()))
        )),
        _ => Ok((predicted, value)),
    }
}
