//! The journal of `narrows watch`, for a person and for other programs.

use serde::{Deserialize, Serialize};

use narrows_base::units::{GtPerSec, Lanes};
use narrows_report::document::{Blocks, Document, Style, Tone};
use narrows_watch::record::{
    BaselineEvent, Change, KernelEvent, Kind, LinkEvent, Noticed, Property, Record, Subject, Value, What,
};

/// The schema of [`WatchLog`].
pub const SCHEMA: &str = "narrows/watch/1";

/// What the journal says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchLog {
    /// Always `narrows/watch/1`.
    pub schema: String,
    /// The records, oldest first.
    pub records: Vec<Record>,
    /// Lines that are not whole: a kill or a full disk left them.
    pub damaged_lines: u64,
}

impl WatchLog {
    /// The journal with these records.
    pub fn new(records: Vec<Record>, damaged_lines: u64) -> Self {
        Self { schema: SCHEMA.to_owned(), records, damaged_lines }
    }
}

/// A record as a line; `None` where it only says that the recorder is there.
pub fn line(record: &Record) -> Option<String> {
    is_told(record).then(|| format!("{}  {}", record.at, sentence(record)))
}

const fn is_told(record: &Record) -> bool {
    !matches!(record.what, What::Alive { .. })
}

/// The journal as text, a line for each record; those that only say that the recorder is there are left out.
pub fn render(log: &WatchLog) -> String {
    let mut out = Document::new("watch", "", None);
    for record in log.records.iter().filter(|record| is_told(record)) {
        out.lead((Tone::Normal, &format!("{}  ", record.at)), Tone::Normal, sentence(record));
    }
    if out.blocks.is_empty() {
        out.say(0, Tone::Normal, "The journal is empty.");
    }
    if log.damaged_lines > 0 {
        out.say(0, Tone::Normal, format!("{} lines are not whole and were left out.", log.damaged_lines));
    }
    out.text(&Style::UNWRAPPED)
}

fn sentence(record: &Record) -> String {
    match &record.what {
        What::Started { version, every_seconds, unheard } => {
            let began = format!("narrows {version} began to watch, every {every_seconds} s");
            if unheard.is_empty() { began } else { format!("{began}; not heard: {}", unheard.join("; ")) }
        }
        What::Stopped => "ended".to_owned(),
        What::Alive { .. } => "watches".to_owned(),
        What::State { subject, values } => {
            let values: Vec<String> =
                values.iter().map(|(property, value)| named(*property, value)).collect();
            match values.as_slice() {
                [] => format!("{}: nothing is known of it", name(subject)),
                values => format!("{}: {}", name(subject), values.join(", ")),
            }
        }
        What::Change(change) => change_of(change, &record.at),
        What::Gone { subject, after } => {
            format!("{}: gone, between {after} and {}", name(subject), record.at)
        }
        What::Gap { lost, after, times } => {
            let often = if *times > 1 { format!(", {times} times") } else { String::new() };
            format!("lost {lost}{often}, after {after}; everything was read again")
        }
        What::ClockSet { seconds } => format!("the clock was set by {seconds:+.1} s"),
        What::Slept { seconds } => format!("the machine slept for {seconds:.0} s"),
        What::Baseline { subject, event, lanes, loaded_megatransfers, was } => {
            let speed =
                loaded_megatransfers.map(|mega| format!(" at {} under load", GtPerSec::from_mega(mega)));
            let best = format!("{}{}", Lanes::new(*lanes), speed.unwrap_or_default());
            let was = was.as_deref().unwrap_or("another place");
            let moved = format!("the device was in {was} before; it begins anew with");
            let what = match event {
                BaselineEvent::New => "kept as seen,",
                BaselineEvent::Raised => "better than ever,",
                BaselineEvent::Replaced => "another device, which begins anew with",
                BaselineEvent::Moved => moved.as_str(),
                BaselineEvent::Accepted => "accepted as it is,",
            };
            format!("{}: {what} {best}", name(subject))
        }
    }
}

fn name(subject: &Subject) -> String {
    let what = match (subject.kind, &subject.slot) {
        (Kind::Link, Some(slot)) => format!("slot {slot}"),
        (Kind::Link, None) => format!("link of {}", subject.name),
        (Kind::Array, _) => format!("array {}", subject.name),
        (Kind::Drive, _) => format!("drive {}", subject.name),
        (Kind::Nic, _) => format!("interface {}", subject.name),
    };
    let address = subject.slot.as_ref().map(|_| subject.name.clone());
    let about: Vec<String> = address.into_iter().chain(subject.device.clone()).collect();
    if about.is_empty() { what } else { format!("{what} ({})", about.join(", ")) }
}

fn change_of(change: &Change, at: &str) -> String {
    let (from, to) = (bare(change.property, &change.from), bare(change.property, &change.to));
    let value = match change.property {
        Property::Lanes => String::new(),
        property => format!("{} ", words(property)),
    };
    let how = match change.noticed_by {
        Noticed::Start => ", while nobody watched",
        Noticed::Reading | Noticed::Event | Noticed::KernelLog => "",
    };
    let name = name(&change.subject);
    format!("{name}: {value}{from} → {to} between {} and {at}{how}{}", change.after, order(&change.kernel))
}

/// What the kernel's log says of the order: only where it has both the error and the link that went down or came up.
fn order(events: &[KernelEvent]) -> String {
    let link = events.iter().find(|event| event.what != LinkEvent::Error);
    let is_before = |error: &&KernelEvent| link.is_none_or(|link| error.micros <= link.micros);
    let errors = || events.iter().filter(|event| event.what == LinkEvent::Error);
    let Some(error) = errors().rfind(is_before) else { return String::new() };
    let name = error.error.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let errors = format!("{name} of {}", error.function);
    let Some(link) = link else {
        return format!("; the kernel's log has errors{errors} meanwhile, which came first is not known");
    };
    let apart = (link.micros - error.micros) as f64 / 1e6;
    let what = match link.what {
        LinkEvent::Up => "came up",
        LinkEvent::Retrained => "was trained again",
        LinkEvent::Down | LinkEvent::Error => "went down",
    };
    format!("; in the kernel's log it {what} {apart:.1} s after error{errors}")
}

const fn words(property: Property) -> &'static str {
    match property {
        Property::Lanes => "width",
        Property::LoadedMegatransfers => "speed under load",
        Property::CorrectableErrors => "correctable errors",
        Property::NonfatalErrors => "non-fatal errors",
        Property::FatalErrors => "fatal errors",
        Property::SyncAction => "sync action",
        Property::MissingMembers => "missing members",
        Property::Celsius => "temperature",
        Property::Hot => "at its warning temperature",
        Property::Megabits => "line rate",
    }
}

/// A value with its unit.
fn bare(property: Property, value: &Value) -> String {
    let Value::Number(number) = value else { return value.to_string() };
    match property {
        Property::Lanes => format!("x{number}"),
        Property::LoadedMegatransfers => u32::try_from(*number)
            .map_or_else(|_| number.to_string(), |mega| GtPerSec::from_mega(mega).to_string()),
        Property::Celsius => format!("{number} °C"),
        Property::Hot => if *number == 0 { "no" } else { "yes" }.to_owned(),
        Property::Megabits => format!("{number} Mbit/s"),
        _ => number.to_string(),
    }
}

fn named(property: Property, value: &Value) -> String {
    match property {
        Property::Lanes | Property::Celsius | Property::Megabits => bare(property, value),
        _ => format!("{} {}", words(property), bare(property, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(kernel: Vec<KernelEvent>) -> Record {
        let subject = Subject {
            kind: Kind::Link,
            name: "0000:06:00.0".to_owned(),
            slot: Some("3".to_owned()),
            device: Some("NVMe controller".to_owned()),
            identity: None,
        };
        let change = Change {
            subject,
            property: Property::Lanes,
            from: Value::Number(4),
            to: Value::Number(1),
            after: "2026-11-24T03:11:40Z".to_owned(),
            noticed_by: Noticed::Reading,
            kernel,
        };
        Record { at: "2026-11-24T03:12:10Z".to_owned(), what: What::Change(change) }
    }

    fn event(seconds: u64, what: LinkEvent) -> KernelEvent {
        let error = (what == LinkEvent::Error).then(|| "RxErr".to_owned());
        KernelEvent { micros: seconds * 1_000_000, function: "0000:00:1c.4".to_owned(), what, error }
    }

    #[test]
    fn a_change_is_told_with_both_its_readings() {
        assert_eq!(
            render(&WatchLog::new(vec![change(Vec::new())], 0)),
            "2026-11-24T03:12:10Z  slot 3 (0000:06:00.0, NVMe controller): x4 → x1 between 2026-11-24T03:11:40Z and \
             2026-11-24T03:12:10Z\n"
        );
    }

    #[test]
    fn an_order_is_told_only_where_the_log_has_both() {
        let of = |events: Vec<KernelEvent>| sentence(&change(events));
        let both = of(vec![event(5, LinkEvent::Error), event(9, LinkEvent::Down)]);
        assert!(
            both.ends_with("in the kernel's log it went down 4.0 s after error RxErr of 0000:00:1c.4"),
            "{both}"
        );
        let one = of(vec![event(5, LinkEvent::Error)]);
        assert!(one.ends_with("which came first is not known"), "{one}");
        let after = of(vec![event(5, LinkEvent::Down), event(9, LinkEvent::Error)]);
        assert!(!after.contains("error"), "an error after the link was down did not precede it: {after}");
    }

    #[test]
    fn a_foreign_name_commands_no_terminal_and_lines_that_are_not_whole_are_counted() {
        let mut record = change(Vec::new());
        if let What::Change(change) = &mut record.what {
            change.subject.slot = Some("\x1b[2J3\n".to_owned());
        }
        let text = render(&WatchLog::new(vec![record], 2));
        assert!(!text.contains('\x1b'), "{text}");
        assert!(text.ends_with("2 lines are not whole and were left out.\n"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
}
