//! The best state of each link: width always, speed only as it was seen under load.

use crate::clock::Moment;
use crate::observed::subject_of;
use crate::record::{BaselineEvent, Record, What};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::kept::{Baseline, BestLink, SCHEMA, identity};
use narrows_machine::reading::{LinkPlace, LinkReading, Places, Reading};

/// What became of a baseline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kept {
    /// What the journal is to be told.
    pub records: Vec<Record>,
    /// Whether it is to be written.
    pub changed: bool,
}

/// Takes a reading into account. With `accept` the state as it is counts from now on, whatever was better before.
pub fn take(
    baseline: &mut Baseline,
    (places, reading): (&Places, &Reading),
    salt: &[u8],
    now: Moment,
    accept: bool,
) -> Kept {
    SCHEMA.clone_into(&mut baseline.schema);
    let mut kept = Kept::default();
    for (address, place) in &places.links {
        let Some(link) = reading.links.get(address) else { continue };
        let Some(lanes) = link.width.map(Lanes::get).filter(|lanes| *lanes > 0) else { continue };
        let identity = identity(salt, place);
        let fresh = best(place, link, lanes, &identity, now);
        let event = event_of(baseline, place, &identity, accept);
        let known = baseline.links.get_mut(&place.place);
        let raised = known.as_ref().and_then(|known| raised(known, &fresh));
        let (best, event, was) = match (event, raised) {
            (Some((event, was)), _) => (fresh, event, was),
            (None, Some(better)) => (better, BaselineEvent::Raised, None),
            (None, None) => {
                kept.changed |= known.is_some_and(|known| refreshed(known, &fresh));
                continue;
            }
        };
        kept.changed = true;
        let (subject, lanes) = (subject_of(place, salt), best.lanes);
        let loaded_megatransfers = best.loaded_megatransfers;
        let what = What::Baseline { subject, event, lanes, loaded_megatransfers, was };
        kept.records.push(Record { at: now.at(), what });
        baseline.links.insert(place.place.clone(), best);
    }
    kept
}

/// Whether the link begins anew, and where its device was before.
fn event_of(
    baseline: &mut Baseline,
    place: &LinkPlace,
    identity: &str,
    accept: bool,
) -> Option<(BaselineEvent, Option<String>)> {
    let known = baseline.links.get(&place.place);
    if known.is_some_and(|known| known.identity == identity) {
        return accept.then_some((BaselineEvent::Accepted, None));
    }
    let is_known = known.is_some();
    // Devices without a serial number are not told from others of their kind: they are not said to have moved.
    let is_it = |(at, best): &(&String, &BestLink)| {
        place.serial.is_some() && **at != place.place && best.identity == identity
    };
    if let Some(elsewhere) = baseline.links.iter().find(is_it).map(|(at, _)| at.clone()) {
        let was = baseline.links.remove(&elsewhere).map(|best| name(&best));
        return Some((BaselineEvent::Moved, was));
    }
    Some((if is_known { BaselineEvent::Replaced } else { BaselineEvent::New }, None))
}

fn name(best: &BestLink) -> String {
    best.slot.as_ref().map_or_else(|| best.address.clone(), |slot| format!("slot {slot}"))
}

fn best(place: &LinkPlace, link: &LinkReading, lanes: u8, identity: &str, now: Moment) -> BestLink {
    let loaded = link.speed.filter(|_| link.loaded);
    BestLink {
        identity: identity.to_owned(),
        address: place.device.to_string(),
        slot: place.slot.clone(),
        device: place.id.map(|id| id.to_string()),
        lanes,
        lanes_at: now.at(),
        loaded_megatransfers: loaded.map(GtPerSec::mega),
        loaded_at: loaded.map(|_| now.at()),
        last_loaded_megatransfers: loaded.map(GtPerSec::mega),
    }
}

/// The better of both, where the fresh one is better in anything.
fn raised(known: &BestLink, fresh: &BestLink) -> Option<BestLink> {
    let wider = fresh.lanes > known.lanes;
    let faster = fresh.loaded_megatransfers > known.loaded_megatransfers;
    let mut best = fresh.clone();
    if !wider {
        best.lanes = known.lanes;
        best.lanes_at.clone_from(&known.lanes_at);
    }
    if !faster {
        best.loaded_megatransfers = known.loaded_megatransfers;
        best.loaded_at.clone_from(&known.loaded_at);
    }
    best.last_loaded_megatransfers = fresh.last_loaded_megatransfers.or(known.last_loaded_megatransfers);
    (wider || faster).then_some(best)
}

/// Keeps up to date what is no better and no worse: the speed that was last seen under load, and the address, which changes with
/// the numbers of buses.
fn refreshed(known: &mut BestLink, fresh: &BestLink) -> bool {
    let before = known.clone();
    known.address.clone_from(&fresh.address);
    known.slot.clone_from(&fresh.slot);
    known.last_loaded_megatransfers = fresh.last_loaded_megatransfers.or(before.last_loaded_megatransfers);
    *known != before
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::{GtPerSec, Lanes};
    use narrows_machine::pci::PciAddress;

    fn at(seconds: i64) -> Moment {
        let nanos = seconds * 1_000_000_000;
        Moment { wall: nanos, boot: nanos, awake: nanos }
    }

    fn there(place: &str, address: &str, serial: Option<&str>, lanes: u8) -> (Places, Reading) {
        let address: PciAddress = address.parse().expect("an address");
        let link = LinkPlace {
            device: address,
            place: place.to_owned(),
            serial: serial.map(str::to_owned),
            ..LinkPlace::default()
        };
        let reading = LinkReading {
            width: Some(Lanes::new(lanes)),
            speed: Some(GtPerSec::GEN1),
            ..LinkReading::default()
        };
        let places = Places { links: [(address, link)].into(), ..Places::default() };
        (places, Reading { links: [(address, reading)].into(), ..Reading::default() })
    }

    fn events(kept: &Kept) -> Vec<BaselineEvent> {
        let event = |record: &Record| match &record.what {
            What::Baseline { event, .. } => Some(*event),
            _ => None,
        };
        kept.records.iter().filter_map(event).collect()
    }

    fn lanes(baseline: &Baseline) -> Vec<u8> {
        baseline.links.values().map(|best| best.lanes).collect()
    }

    #[test]
    fn the_widest_state_stays_until_it_is_accepted() {
        let mut baseline = Baseline::default();
        let mut take = |lanes: u8, accept| {
            let (places, reading) = there("0000:1c.4/00.0", "06:00.0", Some("S1"), lanes);
            let kept = take(&mut baseline, (&places, &reading), b"salt", at(5), accept);
            (events(&kept), baseline.links["0000:1c.4/00.0"].lanes, kept.changed)
        };
        assert_eq!(take(2, false), (vec![BaselineEvent::New], 2, true));
        assert_eq!(take(4, false), (vec![BaselineEvent::Raised], 4, true));
        assert_eq!(take(1, false), (vec![], 4, false));
        assert_eq!(take(1, true), (vec![BaselineEvent::Accepted], 1, true));
        assert_eq!(take(1, false), (vec![], 1, false));
    }

    #[test]
    fn speed_counts_only_under_load() {
        let mut baseline = Baseline::default();
        let (places, mut reading) = there("0000:1c.4/00.0", "06:00.0", None, 4);
        take(&mut baseline, (&places, &reading), b"salt", at(5), false);
        assert_eq!(baseline.links["0000:1c.4/00.0"].loaded_megatransfers, None);
        for link in reading.links.values_mut() {
            link.loaded = true;
            link.speed = Some(GtPerSec::GEN3);
        }
        let kept = take(&mut baseline, (&places, &reading), b"salt", at(6), false);
        assert_eq!(events(&kept), [BaselineEvent::Raised]);
        let best = &baseline.links["0000:1c.4/00.0"];
        assert_eq!((best.loaded_megatransfers, best.lanes_at.as_str()), (Some(8000), "1970-01-01T00:00:05Z"));
    }

    #[test]
    fn a_device_that_moved_or_was_replaced_begins_anew() {
        let mut baseline = Baseline::default();
        let mut take = |(places, reading): (Places, Reading)| {
            events(&take(&mut baseline, (&places, &reading), b"salt", at(5), false))
        };
        assert_eq!(take(there("0000:1c.4/00.0", "06:00.0", Some("S1"), 4)), [BaselineEvent::New]);
        assert_eq!(take(there("0000:01.0/00.0", "01:00.0", Some("S1"), 2)), [BaselineEvent::Moved]);
        assert_eq!(take(there("0000:01.0/00.0", "01:00.0", Some("S2"), 2)), [BaselineEvent::Replaced]);
        assert_eq!(
            take(there("0000:1c.4/00.0", "06:00.0", None, 1)),
            [BaselineEvent::New],
            "not said to have moved"
        );
        assert_eq!(lanes(&baseline), [2, 1]);
    }

    #[test]
    fn other_bus_numbers_are_no_other_link() {
        let mut baseline = Baseline::default();
        for (address, changed) in [("06:00.0", true), ("07:00.0", true), ("07:00.0", false)] {
            let (places, reading) = there("0000:1c.4/00.0", address, Some("S1"), 4);
            assert_eq!(take(&mut baseline, (&places, &reading), b"salt", at(5), false).changed, changed);
        }
        assert_eq!(baseline.links["0000:1c.4/00.0"].address, "0000:07:00.0");
    }

    #[test]
    fn a_link_that_sleeps_says_nothing() {
        let mut baseline = Baseline::default();
        let (places, mut reading) = there("0000:1c.4/00.0", "06:00.0", None, 4);
        for link in reading.links.values_mut() {
            link.width = None;
        }
        let kept = take(&mut baseline, (&places, &reading), b"salt", at(5), true);
        assert!(kept.records.is_empty() && baseline.links.is_empty());
    }
}
