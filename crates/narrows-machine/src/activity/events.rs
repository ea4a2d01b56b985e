//! What changed between looks at links and arrays, and when.

use super::{LinkState, Sample};
use crate::pci::PciAddress;
use narrows_base::units::Nanos;

/// Something that happened while a load ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When it was seen, from the beginning of the measured time: it happened between this look and the one before.
    pub at: Nanos,
    /// What.
    pub what: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Happened {
    /// A link runs at another speed or width.
    Link {
        /// The function below it.
        function: PciAddress,
        /// How it ran.
        from: LinkState,
        /// How it runs.
        to: LinkState,
    },
    /// An array began to work on itself.
    ResyncBegan {
        /// The array, by kernel name.
        array: String,
        /// `resync`, `recover`, `check` or the like.
        action: String,
    },
    /// An array was done with that.
    ResyncEnded {
        /// The array, by kernel name.
        array: String,
    },
}

/// What differs from one look to the next, in the order of the looks. A link or array that a look lacks is compared with the look before.
pub fn events(looks: &[(Nanos, Sample)]) -> Vec<Event> {
    let pairs = looks.windows(2).filter_map(|pair| Some((pair.first()?, pair.get(1)?)));
    pairs.flat_map(|((_, before), (at, after))| between(*at, before, after)).collect()
}

fn between(at: Nanos, before: &Sample, after: &Sample) -> Vec<Event> {
    let links = after.links.iter().filter_map(|(function, to)| {
        let from = before.links.get(function).filter(|from| *from != to)?;
        Some(Happened::Link { function: *function, from: *from, to: *to })
    });
    let arrays = after.resyncs.iter().filter_map(|(array, now)| {
        let was = before.resyncs.get(array)?;
        match (was.is_running(), now.is_running()) {
            (true, false) => Some(Happened::ResyncEnded { array: array.clone() }),
            (false, true) => Some(Happened::ResyncBegan { array: array.clone(), action: now.action.clone() }),
            _ => None,
        }
    });
    links.chain(arrays).map(|what| Event { at, what }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Resync;
    use narrows_base::units::{GtPerSec, Lanes};
    use std::collections::BTreeMap;

    fn look(millis: u64, width: u8, action: &str) -> (Nanos, Sample) {
        let state = LinkState { speed: Some(GtPerSec::GEN3), width: Some(Lanes::new(width)) };
        let resync = Resync { action: action.to_owned(), speed: None };
        let sample = Sample {
            links: BTreeMap::from([(PciAddress::default(), state)]),
            resyncs: BTreeMap::from([("md0".to_owned(), resync)]),
            ..Sample::default()
        };
        (Nanos::from_millis(millis), sample)
    }

    #[test]
    fn what_changes_is_told_once_at_the_look_that_saw_it() {
        let looks =
            [look(100, 4, "resync"), look(1100, 4, "resync"), look(2100, 1, "idle"), look(3100, 1, "check")];
        let events = events(&looks);
        let told: Vec<(u64, bool)> = events
            .iter()
            .map(|it| (it.at.get() / 1_000_000, matches!(it.what, Happened::Link { .. })))
            .collect();
        assert_eq!(told, [(2100, true), (2100, false), (3100, false)]);
        assert_eq!(events[1].what, Happened::ResyncEnded { array: "md0".to_owned() });
        assert!(matches!(&events[2].what, Happened::ResyncBegan { action, .. } if action == "check"));
    }

    #[test]
    fn nothing_is_told_of_what_a_look_lacks() {
        let (at, seen) = look(2000, 4, "resync");
        assert!(events(&[look(1000, 1, "idle"), (at, Sample::default())]).is_empty());
        assert!(events(&[(Nanos::new(0), Sample::default()), (at, seen)]).is_empty());
        assert!(events(&[]).is_empty());
    }
}
