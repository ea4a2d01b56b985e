//! What an advice would make of a path: the map as it would be, by the ceilings of its hops.

use super::layout::full_width_of;
use super::tree::Tree;
use super::{Foretold, Mark, State, picture};
use crate::figure::chart::from_to;
use crate::figure::chart::rate;
use crate::figure::whole::Picture;
use crate::view::{CheckReport, PathView};
use narrows_base::lists::known_of;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Direction;
use narrows_verdict::Advice;
use narrows_verdict::counterfactual::Counterfactual;

/// The most advices that are drawn for a path and direction.
const MOST: usize = 4;
/// Rates that differ by no more are the same but for how they were worked out.
const SAME: f64 = 1.000_001;
/// Where no gain is stated.
const NO_GAIN: &str = "How much it brings cannot be computed.";

/// A map for each advice about the narrowest hop of a direction; of writes only where another hop is the narrowest of reads. What is
/// predicted is a band with its interval; where a prediction is refused, the bound is dashed. Where the gain is not known the hop is dashed, as
/// wide as the bound that the next hop sets.
pub(super) fn pictures(
    report: &CheckReport,
    path: &PathView,
    tree: &Tree,
    direction: Direction,
) -> Vec<Picture> {
    let Some(limiting) = path.limiting_hop.of(direction) else { return Vec::new() };
    if direction == Direction::Write && path.limiting_hop.of(Direction::Read) == Some(limiting) {
        return Vec::new();
    }
    let about = report.findings.iter().filter(|finding| finding.hop.as_deref() == Some(limiting));
    let advices = about.flat_map(|finding| &finding.advice);
    let drawn = |advice: &Advice| {
        let (mut tree, mut note) = changed(tree, limiting, advice, direction)?;
        let mut all = path.counterfactuals.iter().filter(|it| it.direction == direction);
        if let Some(it) = all.find(|it| it.hop.as_str() == limiting && it.action == advice.action) {
            foretell(&mut tree, path, it);
            note = format!("{} {note}", foretold_words(it));
        }
        // A picture has no letters for commands.
        let label = format!("If followed: {}", advice.action.replace('`', ""));
        let drawn = picture(&tree, &label);
        Some(Picture { label, note, ..drawn })
    };
    advices.take(MOST).filter_map(drawn).collect()
}

/// The tree with the narrowest hop widened, and what is to be said of it.
fn changed(tree: &Tree, limiting: &str, advice: &Advice, direction: Direction) -> Option<(Tree, String)> {
    let mut tree = tree.clone();
    // In the scale of today, so that what does not change looks the same.
    tree.most = Some(full_width_of(&tree));
    let narrow = tree.items.iter().position(|item| item.id == limiting)?;
    let now = tree.items[narrow].for_application?;
    let State::Known(own) = tree.items[narrow].state else { return None };
    let next = tree.items.iter().filter(|item| item.mark == Mark::Next).find_map(|item| item.for_application);
    let is_blind = tree.items.iter().any(|item| matches!(item.state, State::Unknown(_)));
    for item in &mut tree.items {
        item.measured = None;
    }
    let share = own / now;
    let item = &mut tree.items[narrow];
    item.is_guess = false;
    let detail = if item.detail.is_empty() { String::new() } else { format!(", {}", item.detail) };
    item.detail = format!("today {}{detail}", item.title);
    item.title = "Changed as advised".to_owned();
    let way = direction.pick("reads", "writes");
    // A gain is that of the direction that gains more: here the next hop may allow less.
    let after = advice.gain_bytes_per_second.map(|gain| now + gain.get());
    let capped = after.map(|after| next.map_or(after, |next| after.min(next)));
    let note = match capped {
        Some(after) => {
            item.state = State::Known(after * share);
            item.formula = "today's rate and the gain of the advice".to_owned();
            // The next hop hides what this one could do.
            let is_hidden = next.is_some_and(|next| after * SAME >= next);
            item.for_application = (!is_hidden).then_some(after);
            item.bound = is_hidden.then_some(after * share);
            let unknown = if is_blind { " Hops whose ceilings are not known may allow less." } else { "" };
            let (after, now) = (rate(after), rate(now));
            format!(
                "The ceiling: {way} of at most {after} instead of {now}.{unknown} Nothing of it is measured."
            )
        }
        None => {
            item.state = State::Unknown(NO_GAIN.to_owned());
            item.formula.clear();
            item.for_application = None;
            item.bound = next.map(|next| next * share);
            let bound =
                next.map(|next| format!(" The ceiling of the next hop: {way} of at most {}.", rate(next)));
            format!("{NO_GAIN}{}", bound.unwrap_or_default())
        }
    };
    let least = tree.items.iter().filter_map(|item| item.for_application).fold(f64::INFINITY, f64::min);
    let doubt = if capped.is_none() { " known" } else { "" };
    for item in &mut tree.items {
        let is_narrowest = item.for_application.is_some_and(|rate| rate <= least * SAME);
        (item.mark, item.doubt) = if is_narrowest { (Mark::Narrowest, doubt) } else { (Mark::None, "") };
    }
    Some((tree, note))
}

/// Puts what is foretold on every hop that moves bytes.
fn foretell(tree: &mut Tree, path: &PathView, it: &Counterfactual) {
    let of = |traffic: f64| {
        let crosses = |rate: BytesPerSec| rate.get() * traffic;
        match it.foreseen.bytes_per_second.zip(it.foreseen.interval_95) {
            Some((rate, ends)) => Some(Foretold::Rate(crosses(rate), ends.map(crosses))),
            None => it.foreseen.at_most_bytes_per_second.map(|most| Foretold::AtMost(crosses(most))),
        }
    };
    for item in tree.items.iter_mut().filter(|item| item.state != State::Passes) {
        let traffic = path.hop(&item.id).map(|hop| it.direction.pick(hop.traffic.read, hop.traffic.write));
        item.foretold = traffic.filter(|traffic| *traffic > 0.0).and_then(of);
    }
}

/// What is foretold, in sentences.
fn foretold_words(it: &Counterfactual) -> String {
    if let (Some(rate), Some(ends)) = (it.foreseen.bytes_per_second, it.foreseen.interval_95) {
        let (rate, ends) = (human::rate(rate), from_to(ends));
        return format!("Predicted for {}: {rate}, in 95 of 100 cases {ends}.", it.workload);
    }
    let about = if it.workload.is_empty() { String::new() } else { format!(" for {}", it.workload) };
    let why = it.foreseen.reason.as_deref().unwrap_or("no law is known to hold").trim_end_matches('.');
    let by = it.foreseen.at_most_by.as_ref().map(|name| format!(", by {name}")).unwrap_or_default();
    let parts = [
        Some(format!("Not predicted{about}: {why}.")),
        it.foreseen.at_most_bytes_per_second.map(|most| format!("It is at most {most}{by}.")),
        it.foreseen.measure_instead.as_ref().map(|what| format!("To know it, measure {what}.")),
    ];
    known_of(parts, " ")
}
