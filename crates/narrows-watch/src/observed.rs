//! A reading as subjects and values.

use std::collections::BTreeMap;

use crate::record::{Kind, Property, Subject, Value};
use narrows_base::fact::Fact;
use narrows_machine::kept::identity;
use narrows_machine::pci::PciDevice;
use narrows_machine::reading::{LinkPlace, LinkReading, Places, Reading};

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
