//! A reading as subjects and values, and what the kernel's log says of links.

use std::collections::BTreeMap;

use crate::record::{KernelEvent, Kind, LinkEvent, Property, Subject, Value};
use narrows_base::fact::Fact;
use narrows_machine::kept::identity;
use narrows_machine::listen::Message;
use narrows_machine::log::LogKind;
use narrows_machine::pci::PciDevice;
use narrows_machine::reading::{LinkPlace, LinkReading, Places, Reading};
use narrows_paste::capture::{Text, dmesg};

/// What is known of each subject that is there. A value that is not known this time is left out.
pub type Observed = BTreeMap<Subject, BTreeMap<Property, Value>>;

/// The values of a reading.
pub fn observe(places: &Places, reading: &Reading, salt: &[u8]) -> Observed {
    let links = places.links.iter().map(|(address, place)| {
        (subject_of(place, salt), reading.links.get(address).map(link).unwrap_or_default())
    });
    let arrays = places.arrays.iter().map(|name| {
        let values = reading.arrays.get(name).map(|array| {
            let action = array.action.clone().map(|action| (Property::SyncAction, Value::Text(action)));
            let missing = array.missing.map(|missing| (Property::MissingMembers, number(missing)));
            action.into_iter().chain(missing).collect()
        });
        (plain(Kind::Array, name), values.unwrap_or_default())
    });
    let drives = places.drives.keys().map(|name| {
        let values = reading.drives.get(name).map(|drive| {
            let now = drive.temperature.map(|celsius| celsius.get());
            let celsius = now.map(|now| (Property::Celsius, Value::Number(now.round() as i64)));
            // A threshold of nothing is none.
            let warning = drive.warning.map(|celsius| celsius.get()).filter(|warning| *warning > 0.0);
            let hot =
                now.zip(warning).map(|(now, warning)| (Property::Hot, number(u64::from(now >= warning))));
            celsius.into_iter().chain(hot).collect()
        });
        (plain(Kind::Drive, name), values.unwrap_or_default())
    });
    let nics = places.nics.keys().map(|name| {
        let rate = reading.nics.get(name).copied().flatten();
        let rate = rate.map(|rate| (Property::Megabits, Value::Number((rate.get() / 1e6).round() as i64)));
        (plain(Kind::Nic, name), rate.into_iter().collect())
    });
    links.chain(arrays).chain(drives).chain(nics).collect()
}

/// The link at a place as a subject.
pub fn subject_of(place: &LinkPlace, salt: &[u8]) -> Subject {
    let class = place.class.map(|class| {
        PciDevice { class: Fact::known(class, "class"), ..PciDevice::default() }.class_name().to_owned()
    });
    let id = place.id.map(|id| id.to_string());
    let device = [class, id].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Subject {
        kind: Kind::Link,
        name: place.device.to_string(),
        slot: place.slot.clone(),
        device: (!device.is_empty()).then_some(device),
        identity: Some(identity(salt, place)),
    }
}

fn plain(kind: Kind, name: &str) -> Subject {
    Subject { kind, name: name.to_owned(), slot: None, device: None, identity: None }
}

fn link(reading: &LinkReading) -> BTreeMap<Property, Value> {
    let lanes = reading.width.map(|width| (Property::Lanes, number(u64::from(width.get()))));
    let loaded = reading.speed.filter(|_| reading.loaded);
    let speed = loaded.map(|speed| (Property::LoadedMegatransfers, number(u64::from(speed.mega()))));
    let errors = reading.errors.map(|errors| {
        [
            (Property::CorrectableErrors, number(errors.correctable)),
            (Property::NonfatalErrors, number(errors.nonfatal)),
            (Property::FatalErrors, number(errors.fatal)),
        ]
    });
    lanes.into_iter().chain(speed).chain(errors.into_iter().flatten()).collect()
}

fn number(value: u64) -> Value {
    Value::Number(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The name under which the reader knows these lines.
const LOG: &str = "kmsg";

/// The events of links in these messages, each with the time of the first message that tells of it.
pub fn events(messages: &[Message]) -> Vec<KernelEvent> {
    // One message at a time: the reader counts what is told twice and keeps the place of the first alone.
    let mut events: Vec<KernelEvent> = messages.iter().flat_map(of_one).collect();
    events.dedup_by(|later, first| later == first);
    events
}

fn of_one(message: &Message) -> Vec<KernelEvent> {
    let line =
        format!("[{:5}.{:06}] {}\n", message.micros / 1_000_000, message.micros % 1_000_000, message.text);
    let part = dmesg::read(&Text::new(LOG, line.as_bytes()));
    let events = part.machine.log.into_iter().filter_map(|event| {
        let (what, error) = link_event(&event.kind)?;
        let function = event.pci?.to_string();
        Some(KernelEvent { micros: message.micros, function, what, error })
    });
    events.collect()
}

fn link_event(kind: &LogKind) -> Option<(LinkEvent, Option<String>)> {
    Some(match kind {
        LogKind::AerError { name, .. } => (LinkEvent::Error, Some((*name).to_owned())),
        LogKind::AerMessage(_) => (LinkEvent::Error, None),
        LogKind::LinkDown | LogKind::Contained => (LinkEvent::Down, None),
        LogKind::LinkUp => (LinkEvent::Up, None),
        LogKind::LinkRetrainedAt(_) | LogKind::RetrainFailed => (LinkEvent::Retrained, None),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[(u64, &str)]) -> Vec<(u64, String, LinkEvent)> {
        let messages: Vec<Message> = lines
            .iter()
            .map(|(micros, text)| Message { micros: *micros, text: (*text).to_owned() })
            .collect();
        events(&messages).into_iter().map(|event| (event.micros, event.function, event.what)).collect()
    }

    #[test]
    fn errors_and_states_of_links_are_told_with_their_times() {
        let told = told(&[
            (5_140_900, "pcieport 0000:00:1c.4: AER: Corrected error message received from 0000:06:00.0"),
            (9_140_900, "pcieport 0000:00:1c.4: pciehp: Slot(3): Link Down"),
            (9_200_000, "usb 1-1: new high-speed USB device number 2 using xhci_hcd"),
        ]);
        let port = "0000:00:1c.4".to_owned();
        assert!(told.contains(&(9_140_900, port, LinkEvent::Down)), "{told:?}");
        assert!(
            told.iter().any(|(micros, _, what)| (*micros, *what) == (5_140_900, LinkEvent::Error)),
            "{told:?}"
        );
        assert!(told.iter().all(|(micros, _, _)| *micros != 9_200_000));
    }
}
