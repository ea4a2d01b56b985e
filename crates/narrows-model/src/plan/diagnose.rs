//! Why can the wishes not all be placed? Constraints are dropped one at a time; those without which it works are named.

use crate::plan::search::{Parts, Prefer, Request, best};
use crate::plan::site::{Site, Slot};
use crate::plan::wish::Wish;
use narrows_base::catalog::SlotForm;
use narrows_base::units::human;

/// The constraints that make the wishes impossible, the most particular first; never empty.
pub fn impossible(site: &Site, request: &Request) -> Vec<String> {
    let lonely: Vec<String> =
        request.wishes.iter().filter_map(|wish| fits_nowhere(site, request, wish)).collect();
    if !lonely.is_empty() {
        return lonely;
    }
    let mut why = Vec::new();
    let works = |changed: &Request| !best(site, changed).placements.is_empty();
    if let Some(most) = request.max_slots {
        let freed = Request { max_slots: None, prefer: Prefer::Slots, ..request.clone() };
        if works(&freed) {
            let needed =
                (most..=u8::MAX).find(|slots| works(&Request { max_slots: Some(*slots), ..freed.clone() }));
            let needed = needed.map_or_else(String::new, |needed| format!(": they need {needed}"));
            why.push(format!("at most {most} slots may be used{needed}"));
        }
    }
    let each = |change: &dyn Fn(&mut Wish)| {
        let mut changed = request.clone();
        changed.wishes.iter_mut().for_each(change);
        changed
    };
    if request.wishes.iter().any(|wish| wish.target.is_some()) && works(&each(&|wish| wish.target = None)) {
        why.push(
            "not all targets can be met at the same time: what the devices share carries less".to_owned(),
        );
    }
    if request.wishes.iter().any(|wish| wish.group.is_some()) && works(&each(&|wish| wish.group = None)) {
        why.push("no socket has slots for all devices that must share one".to_owned());
    }
    if request.parts != Parts::default() && works(&Request { parts: Parts::default(), ..request.clone() }) {
        why.push(
            "without cards with a PCIe switch or split slots there are too few places for drives".to_owned(),
        );
    }
    if why.is_empty() {
        why.push(too_many(site, request));
    }
    why
}

/// Why one device of a wish fits into no slot, even with all others left out.
fn fits_nowhere(site: &Site, request: &Request, wish: &Wish) -> Option<String> {
    let alone = |wish: Wish| {
        let request = Request { wishes: vec![wish], max_slots: None, ..request.clone() };
        best(site, &request).placements.is_empty()
    };
    let one = Wish { count: 1, group: None, ..wish.clone() };
    if !alone(one.clone()) {
        return None;
    }
    let slots: Vec<&Slot> = site.slots.iter().filter(|slot| slot.dead.is_none()).collect();
    if slots.is_empty() {
        return Some(format!("{} has no slot that is free and works", site.name));
    }
    let longest = slots.iter().filter(|slot| slot.form == SlotForm::Card).map(|slot| slot.connector).max();
    Some(match (&wish.target, longest) {
        (Some(target), _) if !alone(Wish { target: None, ..one.clone() }) => {
            format!("no slot gives {} its {}", wish.name, human::rate(*target))
        }
        _ if wish.length.is_some() && !alone(Wish { length: None, ..one }) => format!(
            "no socket that is free and no card that is known holds an M.2 drive of {} mm",
            wish.length.unwrap_or_default()
        ),
        (_, Some(longest)) if !wish.kind.is_drive() && longest < wish.connector => {
            format!(
                "{} needs a slot of length {}, and the longest that is free is {longest}",
                wish.name, wish.connector
            )
        }
        (_, None) if !wish.kind.is_drive() => {
            format!("{} needs a slot for a card, and none is free", wish.name)
        }
        _ => format!("{} fits into no slot that is free", wish.name),
    })
}

/// How many of the wishes fit, and which do not.
fn too_many(site: &Site, request: &Request) -> String {
    let mut fewer = request.clone();
    fewer.wishes.iter_mut().for_each(|wish| (wish.target, wish.group) = (None, None));
    let all: usize = request.wishes.iter().map(|wish| usize::from(wish.count)).sum();
    let mut left_out = 0;
    while best(site, &fewer).placements.is_empty() {
        let Some(last) = fewer.wishes.last_mut() else { break };
        last.count = last.count.saturating_sub(1);
        left_out += 1;
        if last.count == 0 {
            fewer.wishes.pop();
        }
    }
    let names: Vec<String> = fewer.wishes.iter().map(ToString::to_string).collect();
    let slots = site.slots.iter().filter(|slot| slot.dead.is_none()).count();
    format!(
        "{slots} slots are free, and of {all} devices {} fit ({})",
        all - left_out,
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    )
}
