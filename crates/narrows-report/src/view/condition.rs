//! The view of what links and drives of a path did around a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::why_null;
use narrows_base::lists::known_of;
use narrows_base::units::{Celsius, Nanos, human};
use narrows_machine::activity::{Activity, Condition, Happened, LinkState, Pressure};
use narrows_machine::health::{DriveHealth, SmartChange};
use narrows_machine::pci::PciAddress;
use narrows_model::path::{Hop, HopSpec, Path};

/// Links and drives of the path around a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConditionView {
    /// The PCIe links of the path.
    pub links: Vec<LinkView>,
    /// The drives of the path that say anything of themselves.
    pub drives: Vec<DriveView>,
    /// What links and arrays of the path did in the measured time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventView>,
    /// For how much of the measured time somebody waited for `cpu`, `io` or `memory` (`/proc/pressure`); empty where the kernel does
    /// not tell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure: BTreeMap<String, Pressure>,
}

/// Something that happened while a load ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventView {
    /// When it was seen, from the beginning of the measured time; links and arrays are looked at every second.
    pub at_ns: Nanos,
    /// What happened, in words.
    pub what: String,
}

/// A link before, in and after a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkView {
    /// The PCI address of the function below it.
    pub function: String,
    /// Before the load began.
    pub before: Option<LinkState>,
    /// Under load, near the end.
    pub under_load: Option<LinkState>,
    /// When the load was over.
    pub after: Option<LinkState>,
    /// Whether speed or width differ between any of them.
    pub changed: bool,
    /// Why one is `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A drive before and after a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriveView {
    /// Its kernel name.
    pub name: String,
    /// Its temperature before, in degrees Celsius.
    pub before_celsius: Option<Celsius>,
    /// Its temperature after.
    pub after_celsius: Option<Celsius>,
    /// The temperature from which on it warns.
    pub warning_celsius: Option<Celsius>,
    /// What its SMART / Health Information log says.
    pub smart: Option<SmartView>,
    /// Why fields that are `null` are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The SMART / Health Information log of an NVMe drive: its state after the run, and what the run added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmartView {
    /// Warnings in force, a bit each, as the NVMe specification numbers them.
    pub critical_warning: u8,
    /// Spare blocks left, in percent.
    pub available_spare: u8,
    /// The part of its rated life that is used, in percent.
    pub percentage_used: u8,
    /// What the run added.
    #[serde(flatten)]
    pub change: SmartChange,
}

/// Programs that wait for memory so much of the time do not run as they would: a cache that was just filled takes less.
const SHORT_OF_MEMORY: f64 = 0.05;
/// From here on waiting for processors is worth a word.
const BUSY: f64 = 0.05;

impl ConditionView {
    /// What a run did to the links and drives of its path; `None` when none of them tells, or they were not asked.
    pub fn of(path: &Path, activity: &Activity) -> Option<Self> {
        let is_asked = activity.before != Condition::default() || activity.after != Condition::default();
        let pressure = activity.pressure.iter().map(|(resource, part)| ((*resource).to_owned(), *part));
        let (events, pressure) = (events(path, activity), pressure.collect());
        let mut view = Self { events, pressure, ..Self::default() };
        if !is_asked && view.events.is_empty() && view.pressure.is_empty() {
            return None;
        }
        for hop in &path.hops {
            match &hop.spec {
                HopSpec::Link(link) => {
                    let at = link.device.address;
                    let states = [&activity.before.links, &activity.links, &activity.after.links]
                        .map(|l| l.get(&at).copied());
                    let is_new = view.links.iter().all(|known| known.function != at.to_string());
                    if is_new && states.iter().any(Option::is_some) {
                        view.links.push(link_view(at.to_string(), states));
                    }
                }
                HopSpec::Device(device) => {
                    let drive = |condition: &'_ Condition| condition.drives.get(&device.block).cloned();
                    let (before, after) = (drive(&activity.before), drive(&activity.after));
                    if before.is_some() || after.is_some() {
                        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                        view.drives.push(drive_view(&device.block, &before, &after));
                    }
                }
                _ => {}
            }
        }
        Some(view)
    }

    /// What of it calls for attention, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let links = self.links.iter().filter(|link| link.changed).map(LinkView::in_words);
        let drives = self.drives.iter().filter_map(|drive| {
            let smart = &drive.smart.as_ref()?.change;
            let is_throttled = smart.throttle_transitions > 0 || smart.throttled.get() > 0;
            let parts = [
                (smart.media_errors > 0).then(|| format!("{} media errors", smart.media_errors)),
                is_throttled.then(|| format!("throttled for {}", smart.throttled)),
            ];
            let said = Some(known_of(parts, ", ")).filter(|said| !said.is_empty())?;
            Some(format!("{}: {said}", drive.name))
        });
        let waited = self.waited("memory", SHORT_OF_MEMORY);
        let waited = waited.map(|part| format!("programs waited for memory {part} of the time"));
        links.chain(drives).chain(waited).collect()
    }

    /// The rest of it, in a few words each.
    pub fn in_words(&self) -> Vec<String> {
        let kept = self.links.iter().filter(|link| !link.changed).count();
        let kept = (kept > 0).then(|| format!("{} unchanged", human::counted(kept, "link")));
        let mut parts: Vec<String> = kept.into_iter().collect();
        parts.extend(self.drives.iter().filter_map(|drive| {
            let after = drive.after_celsius?;
            let before = drive.before_celsius.filter(|before| before.to_string() != after.to_string());
            let from = before.map(|before| format!("{before} → ")).unwrap_or_default();
            Some(format!("{} {from}{after}", drive.name))
        }));
        let waited = self.waited("cpu", BUSY);
        parts.extend(waited.map(|part| format!("a task waited for a processor {part} of the time")));
        parts
    }

    /// The part of the time that somebody waited for something, from so much on.
    fn waited(&self, resource: &str, least: f64) -> Option<String> {
        let part = self.pressure.get(resource)?.some;
        (part >= least).then(|| human::percent(part))
    }
}

/// What links and arrays of the path did in the measured time.
fn events(path: &Path, activity: &Activity) -> Vec<EventView> {
    let is_of = |hop: &Hop, function| hop.link().is_some_and(|link| link.device.address == function);
    let has_link = |function: &PciAddress| path.hops.iter().any(|hop| is_of(hop, *function));
    let has_array = |array: &str| path.hops.iter().any(|hop| hop.block_name() == Some(array));
    let said = |what: &Happened| match what {
        Happened::Link { function, from, to } => has_link(function).then(|| {
            let [from, to] = [from, to].map(in_words);
            format!("link {function} went from {from} to {to}")
        }),
        Happened::ResyncBegan { array, action } => {
            has_array(array).then(|| format!("{array} began a {action}"))
        }
        Happened::ResyncEnded { array } => has_array(array).then(|| format!("the resync of {array} ended")),
    };
    let events = activity.events.iter();
    events.filter_map(|it| Some(EventView { at_ns: it.at, what: said(&it.what)? })).collect()
}

impl LinkView {
    fn in_words(&self) -> String {
        let moments = [(&self.before, "before"), (&self.under_load, "under load"), (&self.after, "after")];
        let states = moments.map(|(state, when)| Some(format!("{} {when}", in_words(state.as_ref()?))));
        format!("link {} changed: {}", self.function, known_of(states, ", "))
    }
}

/// `8 GT/s x4`.
fn in_words(state: &LinkState) -> String {
    let known = speed_and_width(state);
    if known.is_empty() { "unknown".to_owned() } else { known }
}

/// The same of what is known.
pub fn speed_and_width(state: &LinkState) -> String {
    let speed = state.speed.map(|speed| speed.to_string());
    known_of([speed, state.width.map(|width| width.to_string())], " ")
}

fn link_view(function: String, [before, under_load, after]: [Option<LinkState>; 3]) -> LinkView {
    let states = [before, under_load, after];
    let mut seen = states.into_iter().flatten();
    let first = seen.next();
    let changed = seen.any(|state| Some(state) != first);
    let why = "it was not there, or the run was too short to look";
    let reason = states.contains(&None).then(|| why.to_owned());
    LinkView { function, before, under_load, after, changed, reason }
}

fn drive_view(name: &str, before: &DriveHealth, after: &DriveHealth) -> DriveView {
    let smart = before.smart.value().zip(after.smart.value()).map(|(before, after)| SmartView {
        critical_warning: after.critical_warning,
        available_spare: after.available_spare,
        percentage_used: after.percentage_used,
        change: after.since(before),
    });
    let missing = before.smart.missing().or_else(|| after.smart.missing());
    let celsius = [before.temperature.get(), after.temperature.get(), after.warning.get()];
    let reason = why_null([
        (smart.is_none(), &*format!("smart: {}", missing.as_deref().unwrap_or("not read"))),
        (celsius.contains(&None), "celsius: neither the drive nor a hardware monitor tells"),
    ]);
    let [before_celsius, after_celsius, warning_celsius] = celsius;
    DriveView { name: name.to_owned(), before_celsius, after_celsius, warning_celsius, reason, smart }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_base::units::{GtPerSec, Lanes};
    use narrows_machine::health::SmartLog;
    use narrows_model::path::{DeviceHop, Hop, HopId, LinkHop, Target, Traffic};

    fn path() -> Path {
        let hop = |spec: HopSpec| Hop {
            id: HopId::new(spec.kind(), "x"),
            name: String::new(),
            spec,
            traffic: Traffic::ONE,
            depth: 0,
            above: None,
            against: narrows_model::path::Traffic::NONE,
            below: Vec::new(),
            shared_with: Vec::new(),
        };
        let device = DeviceHop { block: "nvme0n1".to_owned(), ..DeviceHop::default() };
        let hops = vec![hop(HopSpec::Device(device)), hop(HopSpec::Link(Box::<LinkHop>::default()))];
        Path { target: "/dev/nvme0n1".to_owned(), asked: Target::Block("nvme0n1".to_owned()), hops }
    }

    fn links(speed: GtPerSec, width: u8) -> BTreeMap<PciAddress, LinkState> {
        let state = LinkState { speed: Some(speed), width: Some(Lanes::new(width)) };
        BTreeMap::from([(PciAddress::default(), state)])
    }

    fn condition(width: u8, degrees: f64, media_errors: u64) -> Condition {
        let log = SmartLog { media_errors, ..SmartLog::default() };
        let health = DriveHealth {
            temperature: Fact::known(Celsius::new(degrees), ""),
            smart: Fact::known(log, ""),
            ..DriveHealth::default()
        };
        Condition {
            links: links(GtPerSec::GEN3, width),
            drives: BTreeMap::from([("nvme0n1".to_owned(), health)]),
        }
    }

    fn view(
        before: Condition,
        under_load: BTreeMap<PciAddress, LinkState>,
        after: Condition,
    ) -> ConditionView {
        let activity = Activity { before, after, links: under_load, ..Activity::default() };
        ConditionView::of(&path(), &activity).expect("was asked")
    }

    #[test]
    fn a_link_that_lost_lanes_under_load_is_named() {
        let view = view(condition(4, 38.0, 0), links(GtPerSec::GEN3, 1), condition(4, 38.0, 0));
        assert_eq!(
            view.troubles(),
            ["link 0000:00:00.0 changed: 8 GT/s x4 before, 8 GT/s x1 under load, 8 GT/s x4 after"]
        );
        assert_eq!(view.in_words(), ["nvme0n1 38 °C"]);
    }

    #[test]
    fn what_held_is_said_in_a_few_words_and_new_errors_are_troubles() {
        let view = view(condition(4, 38.0, 3), links(GtPerSec::GEN3, 4), condition(4, 51.2, 5));
        assert_eq!(view.in_words(), ["1 link unchanged", "nvme0n1 38 °C → 51 °C"]);
        assert_eq!(view.troubles(), ["nvme0n1: 2 media errors"]);
    }

    #[test]
    fn what_happened_to_hops_of_the_path_is_told_and_nothing_of_others() {
        use narrows_machine::activity::Event;
        let state = |width| LinkState { speed: Some(GtPerSec::GEN3), width: Some(Lanes::new(width)) };
        let link = |function: &str| Event {
            at: Nanos::from_millis(2100),
            what: Happened::Link {
                function: function.parse().expect("an address"),
                from: state(4),
                to: state(1),
            },
        };
        let ended = Event { at: Nanos::new(0), what: Happened::ResyncEnded { array: "md7".to_owned() } };
        let events = vec![link("0000:00:00.0"), link("0000:09:00.0"), ended];
        let view = ConditionView::of(&path(), &Activity { events, ..Activity::default() }).expect("an event");
        let told: Vec<(u64, &str)> =
            view.events.iter().map(|it| (it.at_ns.get(), it.what.as_str())).collect();
        assert_eq!(told, [(2_100_000_000, "link 0000:00:00.0 went from 8 GT/s x4 to 8 GT/s x1")]);
    }

    #[test]
    fn who_waits_for_memory_is_trouble_and_for_processors_is_said() {
        let pressure = |cpu: f64, memory: f64| {
            let part = |some: f64| Pressure { some, full: None };
            let activity = Activity {
                before: condition(4, 38.0, 0),
                after: condition(4, 38.0, 0),
                links: links(GtPerSec::GEN3, 4),
                pressure: BTreeMap::from([("cpu", part(cpu)), ("memory", part(memory))]),
                ..Activity::default()
            };
            ConditionView::of(&path(), &activity).expect("was asked")
        };
        let calm = pressure(0.01, 0.0);
        assert!(calm.troubles().is_empty() && calm.in_words().len() == 2, "{calm:?}");
        assert_eq!(calm.pressure.len(), 2);
        let short = pressure(0.34, 0.2);
        assert_eq!(short.troubles(), ["programs waited for memory 20 % of the time"]);
        assert!(short.in_words().contains(&"a task waited for a processor 34 % of the time".to_owned()));
    }

    #[test]
    fn a_run_around_which_nobody_asked_has_no_condition() {
        assert_eq!(ConditionView::of(&path(), &Activity::default()), None);
    }
}
