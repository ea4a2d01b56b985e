//! What an advice would make of a path: the map as it would be.

use super::tree::Tree;
use super::{Mark, State, draw, list};
use crate::figure::whole::Picture;
use crate::view::{CheckReport, PathView};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Direction;

/// The most advices that are drawn for a path.
const MOST: usize = 4;

/// A map for each advice about the narrowest hop of reads. Where the gain is not known the hop is drawn with the bound that the next
/// hop sets, dashed.
pub(super) fn pictures(report: &CheckReport, path: &PathView, tree: &Tree) -> Vec<Picture> {
    let Some(limiting) = path.limiting_hop.of(Direction::Read) else { return Vec::new() };
    let about = report.findings.iter().filter(|finding| finding.hop.as_deref() == Some(limiting));
    let advices = about.flat_map(|finding| &finding.advice);
    let mut pictures: Vec<Picture> = Vec::new();
    for advice in advices.take(MOST) {
        let gain = advice.gain_bytes_per_second.map(BytesPerSec::get);
        let reason = advice.reason.clone().unwrap_or_else(|| "no gain is computed".to_owned());
        if let Some((tree, note)) = changed(tree, limiting, gain, &reason) {
            let label = format!("If followed: {}", advice.action);
            pictures.push(Picture {
                wide: draw::wide(&tree, &label),
                narrow: Some(list::narrow(&tree, &label)),
                label,
                note,
            });
        }
    }
    pictures
}

/// The tree with the narrowest hop widened, and what is to be said of it.
fn changed(tree: &Tree, limiting: &str, gain: Option<f64>, reason: &str) -> Option<(Tree, String)> {
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
    let note = match gain {
        Some(gain) => {
            item.state = State::Known((now + gain) * share);
            item.formula = "today's rate and the gain of the advice".to_owned();
            item.for_application = Some(now + gain);
            format!(
                "At most: reads of {} instead of {}, by the ceilings of the hops. Nothing of it is measured.",
                human::rate(BytesPerSec::new(now + gain)),
                human::rate(BytesPerSec::new(now))
            )
        }
        None => {
            item.state = State::Unknown(reason.to_owned());
            item.for_application = None;
            let bound = next
                .map(|next| format!(" At most {}, by the next hop.", human::rate(BytesPerSec::new(next))));
            format!("How much it brings is not predicted: {reason}.{}", bound.unwrap_or_default())
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
