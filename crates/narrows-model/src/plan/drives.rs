//! What the drives of a described system do, alone and all at once: what layouts on them are ranked by.

use crate::path::file::{BuildError, DeviceKind, Name, Part, PartKind, System, Workload};
use crate::predict::{Prediction, predict_together};
use narrows_base::units::BytesPerSec;

/// I/Os under way on each drive: enough that bytes limit and not the time of one.
const DEEP: u32 = 32;

/// Drives of one kind, and their rates in sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Drives {
    /// Their names.
    pub names: Vec<Name>,
    /// What the slowest reads alone.
    pub read: BytesPerSec,
    /// What the slowest writes alone.
    pub write: BytesPerSec,
    /// What all read at once.
    pub read_together: BytesPerSec,
    /// What all write at once.
    pub write_together: BytesPerSec,
    /// Drives of other kinds, with which no layout is made.
    pub others: Vec<Name>,
    /// Why a rate is a bound and not what is predicted, each reason once; empty where all rates are known.
    pub not_known: Vec<String>,
}

/// The drives of a host: those of the kind that it has most of. `None` when it has none.
///
/// # Errors
/// The description is no path.
pub fn drives(system: &System, host: &Name) -> Result<Option<Drives>, BuildError> {
    let on_host: Vec<(&Part, DeviceKind)> = system
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Device(device) if is_on(system, part, host) => Some((part, device.kind)),
            _ => None,
        })
        .filter(|(_, kind)| *kind != DeviceKind::Ramdisk)
        .collect();
    let count = |wanted: DeviceKind| on_host.iter().filter(|(_, kind)| *kind == wanted).count();
    // Of kinds with as many drives the first in the order of kinds, which has the faster first.
    let most =
        on_host.iter().map(|(_, kind)| *kind).max_by_key(|kind| (count(*kind), std::cmp::Reverse(*kind)));
    let Some(most) = most else { return Ok(None) };
    let named = |wanted: bool| {
        let found = on_host.iter().filter(move |(_, kind)| (*kind == most) == wanted);
        found.map(|(part, _)| part.name.clone()).collect::<Vec<Name>>()
    };
    let names = named(true);
    let workloads =
        |write: bool| -> Vec<Workload> { names.iter().map(|name| transfer(name, write)).collect() };
    let mut not_known = Vec::new();
    let read = alone(system, &workloads(false), &mut not_known)?;
    let write = alone(system, &workloads(true), &mut not_known)?;
    let sum = |all: Vec<Prediction>| all.iter().map(|one| one.rate).sum();
    Ok(Some(Drives {
        read,
        write,
        read_together: sum(predict_together(system, &workloads(false))?),
        write_together: sum(predict_together(system, &workloads(true))?),
        others: named(false),
        names,
        not_known,
    }))
}

/// What the slowest of these gets, each by itself. Where that is not known it is the lowest rate that bounds it, with the reason.
fn alone(
    system: &System,
    workloads: &[Workload],
    not_known: &mut Vec<String>,
) -> Result<BytesPerSec, BuildError> {
    let mut least: Option<BytesPerSec> = None;
    for workload in workloads {
        let found = predict_together(system, std::slice::from_ref(workload))?;
        let Some(one) = found.first() else { continue };
        let because = one.answer.not_known().map(|it| it.because.clone());
        not_known.extend(because.filter(|because| !not_known.contains(because)));
        let rate = one.at_most().map_or(one.rate, |bound| bound.rate);
        least = Some(least.map_or(rate, |least| least.min(rate)));
    }
    Ok(least.unwrap_or_default())
}

fn transfer(name: &Name, write: bool) -> Workload {
    let reading = Workload { name: name.clone(), depth: DEEP, ..Workload::reading(name.as_str()) };
    if write { reading.writing() } else { reading }
}

/// Whether a part is on a host, by its first way down.
fn is_on(system: &System, part: &Part, host: &Name) -> bool {
    let mut part = Some(part);
    for _ in 0..=system.parts.len() {
        match part {
            Some(found) if found.name == *host => return true,
            Some(found) => part = found.needs().first().and_then(|name| system.part(name)),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::file::parse;
    use narrows_base::units::human;

    fn of(text: &str) -> Drives {
        let system = parse("t", &format!("format = \"narrows/path/1\"\n[host.h]\n{text}"))
            .unwrap_or_else(|error| panic!("{error}"));
        drives(&system, &Name::new("h")).expect("is a path").expect("has drives")
    }

    /// By hand: 8 GT/s × 4 and × 8 lanes, 128/130, 256/280, 1534/1538: 3.59 GB/s each, 7.18 together.
    #[test]
    fn drives_behind_one_uplink_read_less_together() {
        let found = of(
            "[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 8\n\
            port_generation = 3\nport_width = 4\n[device.d]\ncount = 4\nin = \"c\"\nread = \"3.7 GB/s\"\n\
            write = \"2 GB/s\"\ngeneration = 3\nwidth = 4\n[device.disk]\nkind = \"hdd\"\nread = \"200 MB/s\"\n\
            write = \"200 MB/s\"\n",
        );
        assert_eq!((found.names.len(), found.others.len()), (4, 1));
        assert_eq!([found.read, found.write].map(human::rate), ["3.59 GB/s", "2 GB/s"]);
        assert_eq!(human::rate(found.read_together), "7.18 GB/s");
    }

    #[test]
    fn the_slowest_of_unlike_drives_counts() {
        let found = of(
            "[device.a]\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n[device.b]\nread = \"1 GB/s\"\nwrite = \"2 GB/s\"\n",
        );
        assert_eq!([found.read, found.write].map(human::rate), ["1 GB/s", "2 GB/s"]);
        assert_eq!(human::rate(found.read_together), "4 GB/s");
        assert!(found.not_known.is_empty(), "{:?}", found.not_known);
    }

    /// 32 reads under way at 200 ms each would decide, by the time in a switch, of which there are no measurements.
    #[test]
    fn what_no_law_answers_is_a_bound_and_said_once() {
        let found = of(
            "[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 8\nport_generation = 3\n\
             port_width = 4\nlatency = \"100 ms\"\n[device.d]\ncount = 2\nin = \"c\"\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\n",
        );
        assert_eq!([found.read, found.write].map(human::rate), ["3 GB/s", "3 GB/s"]);
        assert_eq!(found.not_known.len(), 1, "{:?}", found.not_known);
    }
}
