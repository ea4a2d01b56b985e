//! What an advice would make of a path: the map as it would be.

use super::tree::Tree;
use super::{Mark, State, draw, list};
use crate::figure::whole::Picture;
use crate::view::{AdviceView, CheckReport, MeasuredView, PathView};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Direction;
use narrows_verdict::Forecast;

/// The most advices that are drawn for a path.
const MOST: usize = 4;

/// A map for each advice about the narrowest hop of reads: the hop as wide as it would be, with the band of what the laws of `predict`
/// say. Where they refuse, or the gain is not known, the hop is dashed, with the bound that is known and the reason.
pub(super) fn pictures(report: &CheckReport, path: &PathView, tree: &Tree) -> Vec<Picture> {
    let Some(limiting) = path.limiting_hop.of(Direction::Read) else { return Vec::new() };
    let about = report.findings.iter().filter(|finding| finding.hop.as_deref() == Some(limiting));
    let advices = about.flat_map(|finding| &finding.advice);
    let drawn = advices.take(MOST).filter_map(|advice| {
        let (tree, note) = changed(tree, limiting, advice)?;
        let label = format!("If followed: {}", advice.action);
        Some(Picture {
            wide: draw::wide(&tree, &label),
            narrow: Some(list::narrow(&tree, &label)),
            label,
            note,
        })
    });
    drawn.collect()
}

/// The tree with the narrowest hop widened, and what is to be said of it.
fn changed(tree: &Tree, limiting: &str, advice: &AdviceView) -> Option<(Tree, String)> {
    let mut tree = tree.clone();
    let narrow = tree.items.iter().position(|item| item.id == limiting)?;
    let now = tree.items[narrow].for_application?;
    let State::Known(own) = tree.items[narrow].state else { return None };
    let next = tree.items.iter().filter(|item| item.mark == Mark::Next).find_map(|item| item.for_application);
    for item in &mut tree.items {
        item.measured = None;
    }
    let share = own / now;
    let item = &mut tree.items[narrow];
    item.mark = Mark::None;
    let note = match advice.gain_bytes_per_second.map(BytesPerSec::get) {
        Some(gain) => {
            item.state = State::Known((now + gain) * share);
            item.formula = "today's rate and the gain of the advice".to_owned();
            item.for_application = Some(now + gain);
            let ceilings = format!(
                "At most: reads of {} instead of {}, by the ceilings of the hops.",
                human::rate(BytesPerSec::new(now + gain)),
                human::rate(BytesPerSec::new(now))
            );
            if let Some(band) = advice.predicted.as_ref().and_then(|it| band(it, share)) {
                item.measured = Some(band);
                item.is_predicted = true;
            }
            item.is_bound = advice.predicted.as_ref().is_some_and(|it| it.bytes_per_second.is_none());
            let laws = advice.predicted.as_ref().map(by_laws).unwrap_or_default();
            format!("{ceilings} {laws}Nothing of it is measured.")
        }
        None => {
            let reason = advice.reason.clone().unwrap_or_else(|| "no gain is computed".to_owned());
            let bound = next
                .map(|next| format!(" At most {}, by the next hop.", human::rate(BytesPerSec::new(next))));
            let note = format!("How much it brings is not predicted: {reason}.{}", bound.unwrap_or_default());
            item.state = State::Unknown(reason);
            item.for_application = None;
            note
        }
    };
    let rates = tree.items.iter().filter_map(|item| item.for_application);
    let least = rates.fold(f64::INFINITY, f64::min);
    for item in &mut tree.items {
        item.mark = match item.for_application {
            // Rates that are the same but for how they were worked out.
            Some(rate) if rate <= least * 1.000_001 => Mark::Narrowest,
            _ => Mark::None,
        };
    }
    Some((tree, note))
}

/// What is predicted as a band of the hop, in its own bytes.
fn band(forecast: &Forecast, share: f64) -> Option<MeasuredView> {
    Some(MeasuredView {
        bytes_per_second: forecast.bytes_per_second? * share,
        ci95: forecast.interval_95.map(|ends| ends.map(|end| end * share)),
        trusted: true,
        utilisation: None,
        reason: None,
    })
}

/// What the laws say, in sentences with a space behind them.
fn by_laws(forecast: &Forecast) -> String {
    match (forecast.bytes_per_second, forecast.interval_95) {
        (Some(rate), Some([low, high])) => format!(
            "Predicted for sequential reads: {}, in 95 of 100 cases {} to {}. ",
            human::rate(rate),
            human::rate(low),
            human::rate(high)
        ),
        _ => {
            let reason = forecast.reason.as_deref().unwrap_or("no law holds here");
            format!("What of it an application will get is not predicted: {reason}. ")
        }
    }
}
