//! The verdict on a ladder in one or two sentences.

use super::{Cause, Loss, Rung, Step};
use narrows_base::units::human;
use narrows_model::ceiling::Direction;

/// What the top gives, what is the bottleneck, and what comes next.
pub(super) fn sentence(
    rungs: &[Rung],
    steps: &[Step],
    top: Option<usize>,
    limiting: Option<&Loss>,
    next: Option<&Loss>,
) -> String {
    let Some(rung) = top.and_then(|top| rungs.get(top)) else {
        return "Nothing could be measured.".to_owned();
    };
    let target = &rung.subject.path.target;
    let verb = match rung.direction() {
        Direction::Read => format!("Reads of {target}"),
        Direction::Write => format!("Writes to {target}"),
    };
    let rate = rung.rate().map(|rate| rate.to_string()).unwrap_or_default();
    let Some(limiting) = limiting else {
        return format!("{verb} reach {rate}; what limits them cannot be seen.");
    };
    let any_loss = steps.iter().any(|step| step.loss.is_some());
    // What a scheduler holds back is no property of the device that it belongs to.
    let first = if any_loss || limiting.cause == Cause::Scheduler {
        format!("{verb} reach {rate}. {}", limiting.summary)
    } else {
        let lost = top.and_then(|top| steps.get(top)).and_then(|step| step.lost);
        let above = match lost {
            Some(lost) => {
                format!(" No layer loses more than {}.", human::percent(lost.max(super::SIGNIFICANT)))
            }
            None => String::new(),
        };
        format!("{verb} reach {rate}, limited by {}.{above}", named(rung, limiting))
    };
    match next.filter(|next| next.cause != Cause::Unknown) {
        Some(next) if any_loss => format!("{first} Behind it comes {}.", named(rung, next)),
        _ => first,
    }
}

/// The hop of a loss by its name. Of a network only the interface is known, which may be faster than what lies behind it.
fn named(rung: &Rung, loss: &Loss) -> String {
    let name = rung.subject.path.hop(&loss.hop).map_or_else(|| loss.hop.to_string(), |hop| hop.name.clone());
    if loss.cause == Cause::Network { format!("the network behind {name}") } else { name }
}
