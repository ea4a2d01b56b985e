//! One sentence for a person: which hop limits the path, what it carries, and what comes next.

use narrows_machine::pci::End;
use narrows_model::ceiling::{Basis, Ceiling, Direction, medium, pcie};
use narrows_model::path::{Hop, HopKind, HopSpec, LinkHop};

use crate::attribution::{Attribution, Cause, peers, unknown_hops, why_unknown};
use crate::case::{self, Case};
use crate::rules::Judged;

/// Rates of both directions closer than this are one number for a person.
const ALIKE: f64 = 0.005;
/// Greater numbers are figures.
const MOST_WORDS: usize = 9;
/// Rates that differ by more than this are worth a sentence each.
const WORTH_A_WORD: f64 = 0.05;

/// The sentence of a path: reads first; writes where another hop limits them, unless only reads were measured (then
/// arithmetic has nothing to add to what was seen).
pub(super) fn of(judged: &Judged<'_>) -> String {
    let target = &judged.subject.path.target;
    let silent = judged.audits.values().filter_map(|audit| audit.silent.as_ref()).next();
    if let Some(what) = silent {
        return format!("Of {target} {what}; what limits it cannot be said.");
    }
    let (read, write) = (judged.limit(Direction::Read), judged.limit(Direction::Write));
    let mut text = match (read, write) {
        (Some(read), _) => {
            let who = if same(read, write) { "Reads and writes of" } else { "Reads of" };
            of_direction(judged, Direction::Read, read, &format!("{who} {target}"))
        }
        (None, Some(write)) => of_direction(judged, Direction::Write, write, &format!("Writes to {target}")),
        (None, None) => return nothing_known(judged),
    };
    let Some((read, write)) = read.zip(write) else { return text };
    let is_told = judged.audits.is_empty() || judged.audits.contains_key(&Direction::Write);
    if read.hop != write.hop && is_told {
        text.push(' ');
        text.push_str(&of_direction(judged, Direction::Write, write, &format!("Writes to {target}")));
    } else if judged.audits.is_empty()
        && let Some(rate) = write.rate.filter(|write| {
            // So much more or less than reads get that a person wants to know.
            read.rate.is_none_or(|read| (read.get() - write.get()).abs() > WORTH_A_WORD * read.get())
        })
    {
        text.push_str(&format!(" Writes get {rate} at most."));
    }
    text
}

/// Whether both directions have one limit, found in the same way, at nearly the same rate.
fn same(read: &Attribution, write: Option<&Attribution>) -> bool {
    write.is_some_and(|write| {
        let close = match (read.rate, write.rate) {
            (Some(read), Some(write)) => (read.get() - write.get()).abs() <= ALIKE * read.get(),
            (read, write) => read == write,
        };
        read.hop == write.hop && read.cause == write.cause && close
    })
}

fn nothing_known(judged: &Judged<'_>) -> String {
    let target = &judged.subject.path.target;
    let case = judged.case(Direction::Read);
    let mut reasons = why_unknown(&case, &unknown_hops(&case));
    reasons.truncate(2);
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    if let Some(measurement) = case.measurement() {
        let rate = measurement.bytes_per_second;
        return format!("Reads of {target} reached {rate}; what limits them cannot be seen{why}.");
    }
    // A controller or an interface alone has no bytes to read.
    let has_bytes = |hop: &Hop| matches!(hop.kind(), HopKind::Device | HopKind::Filesystem);
    let is_data = case.path().hops.iter().any(has_bytes);
    let next = if is_data { "; `narrows measure` shows what it does" } else { "" };
    format!("No hop of the path to {target} has a known ceiling{why}{next}.")
}

fn of_direction(judged: &Judged<'_>, direction: Direction, limit: &Attribution, who: &str) -> String {
    let case = judged.case(direction);
    let Some(hop) = case.path().hops.get(limit.hop) else { return String::new() };
    let mut text = match limit.cause {
        Cause::Smallest => by_ceiling(&case, limit, hop, who),
        Cause::Cache => return from_cache(&case, limit, who),
        _ => by_measurement(judged, &case, limit, hop, who),
    };
    text.push_str(&behind(&case, limit));
    text
}

fn by_ceiling(case: &Case<'_>, limit: &Attribution, hop: &Hop, who: &str) -> String {
    let at_most = if limit.unknown.is_empty() { "" } else { ", as far as is known," };
    let mut text =
        format!("{who} are limited{at_most} by {}: {}.", named(case, limit.hop), carries(case, limit, hop));
    let names: Vec<&str> =
        limit.unknown.iter().filter_map(|index| Some(case.path().hops.get(*index)?.name.as_str())).collect();
    match names.as_slice() {
        [] => {}
        [one] => text.push_str(&format!(" What {one} can do is not known, so it may be less.")),
        [first, rest @ ..] => text.push_str(&format!(
            " What {first} and {} more can do is not known, so it may be less.",
            counted(rest.len(), MOST_WORDS)
        )),
    }
    text
}

/// What a hop carries, or each of several that only together are the bottleneck, and for a link what its device could use.
fn carries(case: &Case<'_>, limit: &Attribution, hop: &Hop) -> String {
    let who = if peers(case, limit.hop).len() > 1 { "each" } else { "it" };
    let own = case.ceiling(limit.hop).and_then(Ceiling::limit);
    let Some(own) = own else { return "its ceiling is not known".to_owned() };
    let mut text = match &hop.spec {
        HopSpec::Link(link) => {
            let wants = End::of(&link.device).most().zip(pcie::device_wants(link));
            let wants = wants
                .filter(|(_, wants)| wants.rate.get() > own.rate.get() * 1.01)
                .map(|((speed, width), wants)| {
                    format!("; the device can use {width} at {speed} ({})", wants.rate)
                })
                .unwrap_or_default();
            format!("{}{} usable{wants}", runs_at(case, link, who), own.rate)
        }
        _ => {
            let is_class =
                matches!(&hop.spec, HopSpec::Device(device) if medium::least_share(device).is_some());
            let how = match own.basis {
                Basis::Guess if is_class => " at most, by estimate",
                Basis::Guess => ", by estimate",
                Basis::Spec => ", as published",
                Basis::Formula | Basis::Measured => "",
            };
            format!("{who} carries {}{how}", own.rate)
        }
    };
    if let Some(rate) = limit.rate.filter(|rate| (rate.get() - own.rate.get()).abs() > 0.01 * own.rate.get())
    {
        text.push_str(&format!(", which is {rate} for this path"));
    }
    text
}

/// The state that the ceiling of a link counts on, and the speed while idle where that is another.
fn runs_at(case: &Case<'_>, link: &LinkHop, who: &str) -> String {
    let Some((speed, width)) = case.subject.loaded_state(link) else { return String::new() };
    match link.state().speed().filter(|idle| idle.value != speed) {
        Some(idle) => format!("{who} runs {width} at {speed} under load ({} while idle), ", idle.value),
        None => format!("{who} runs {width} at {speed}, "),
    }
}

fn from_cache(case: &Case<'_>, limit: &Attribution, who: &str) -> String {
    let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let mut text = format!(
        "{who} came from memory{rate}, not from the device: the devices moved fewer bytes than were asked for."
    );
    if let Some(next) = limit.next {
        text.push_str(&format!(" The narrowest known hop is {}, {}.", named(case, next.hop), next.rate));
    }
    text
}

fn by_measurement(judged: &Judged<'_>, case: &Case<'_>, limit: &Attribution, hop: &Hop, who: &str) -> String {
    let rate = limit.rate.map(|rate| format!(" {rate}")).unwrap_or_default();
    let name = described(hop);
    let why = match limit.cause {
        Cause::Generator => ", and it was narrows itself that could do no more: the path can".to_owned(),
        Cause::Resync => format!(", limited by {name}: it is resyncing and takes part of its members"),
        Cause::Cipher => format!(", limited by {name}: the cipher uses up the processor"),
        Cause::MdThread => format!(", limited by {name}: its kernel thread uses up a core"),
        Cause::Filesystem => format!(", limited by {name}: a kernel thread of it uses up a core"),
        Cause::Explained => explained(case, limit, hop),
        Cause::SlowMember => format!(", limited by {name}: the other members wait for it"),
        Cause::Network => format!(", limited by {name}: the network is full"),
        Cause::Remote => format!("; the network has room, so {name} at the far end is the limit"),
        _ => format!(", limited by {}", media(case, limit, hop)),
    };
    let is_trusted = case::is_trusted(judged, case.direction) || limit.cause == Cause::Generator;
    let doubt = if is_trusted { "" } else { " The run is not to be trusted; the findings say why." };
    format!("{who} reached{rate}{why}.{doubt}")
}

fn explained(case: &Case<'_>, limit: &Attribution, hop: &Hop) -> String {
    let part = match (limit.rate, case.path_rate(limit.hop)) {
        (Some(rate), Some(ceiling)) => narrows_base::units::human::percent(rate.fraction_of(ceiling)),
        _ => "all".to_owned(),
    };
    let inner = Attribution { rate: case.path_rate(limit.hop), ..limit.clone() };
    let verb = if peers(case, limit.hop).len() > 1 { "allow" } else { "allows" };
    format!(", {part} of what {} {verb}: {}", named(case, limit.hop), carries(case, &inner, hop))
}

/// The medium, or the members of an array that did the same.
fn media(case: &Case<'_>, limit: &Attribution, hop: &Hop) -> String {
    let bytes = |hop: &Hop| case.hop_disk(hop).map_or(0.0, |disk| case.moved(disk));
    let most = bytes(hop);
    let alike = case.leaves().iter().filter(|(_, leaf, _)| most > 0.0 && bytes(leaf) >= 0.9 * most).count();
    let sure = match limit.confidence {
        super::finding::Confidence::Low => " (the likeliest hop: no counter shows another)",
        _ => "",
    };
    match alike {
        0 | 1 => format!("{}{sure}", described(hop)),
        count => format!("its {} members, {} first{sure}", counted(count, MOST_WORDS), described(hop)),
    }
}

fn behind(case: &Case<'_>, limit: &Attribution) -> String {
    let Some(next) = limit.next else { return String::new() };
    let are_several = |index: usize| peers(case, index).len() > 1;
    let it = if limit.cause == Cause::Smallest && are_several(limit.hop) { "them" } else { "it" };
    let comes = if are_several(next.hop) { "come" } else { "comes" };
    format!(" Behind {it} {comes} {}, {}.", named(case, next.hop), next.rate)
}

/// The hop at `index` as it stands in a sentence; of several that do the same, all of them: they are the bottleneck only
/// together.
fn named(case: &Case<'_>, index: usize) -> String {
    let peers = peers(case, index);
    match (peers.as_slice(), case.path().hops.get(index)) {
        ([] | [_], hop) => hop.map(described).unwrap_or_default(),
        (all, hop) => together(all, hop.map(Hop::kind)),
    }
}

/// `its four members (nvme0n1, nvme1n1, nvme2n1, nvme3n1)`.
fn together(hops: &[&Hop], kind: Option<HopKind>) -> String {
    /// More names than this say no more.
    const MOST: usize = 4;
    let names: Vec<String> = hops.iter().take(MOST).map(|hop| short_name(hop)).collect();
    let more = match hops.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {} more", counted(more, MOST_WORDS)),
    };
    let count = counted(hops.len(), MOST_WORDS);
    let what = match kind {
        Some(HopKind::Device) => format!("its {count} members"),
        Some(HopKind::Link) => format!("the {count} PCIe links of its members"),
        Some(HopKind::Sata) => format!("the {count} SATA links of its members"),
        Some(HopKind::Sas) => format!("the {count} SAS ports of its members"),
        Some(HopKind::Network) => format!("{count} network interfaces"),
        _ => format!("{count} hops alike"),
    };
    format!("{what} ({}{more})", names.join(", "))
}

/// The part of a hop's name that tells it from its peers.
fn short_name(hop: &Hop) -> String {
    match &hop.spec {
        HopSpec::Device(device) => device.block.clone(),
        HopSpec::Link(link) => {
            link.slot.as_ref().map_or_else(|| link.device.address.to_string(), |slot| format!("slot {slot}"))
        }
        HopSpec::Network(network) => network.interface.clone(),
        _ => hop.id.as_str().split_once(':').map_or(hop.id.as_str(), |(_, name)| name).to_owned(),
    }
}

/// The sentence with a capital letter.
pub fn capitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A number as a word, where it is no greater than `most`, which is 12 at most.
pub(super) fn counted(count: usize, most: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    let word = WORDS.get(count).filter(|_| count <= most);
    word.map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// A hop as it stands in a sentence.
fn described(hop: &Hop) -> String {
    match (&hop.spec, hop.kind()) {
        (HopSpec::Link(link), _) => match &link.slot {
            Some(slot) => format!("the PCIe link in slot {slot}"),
            None => format!("the PCIe link of {}", link.whose()),
        },
        (HopSpec::Chipset(_), _) => format!("the uplink of the {}", hop.name),
        (HopSpec::Device(device), _) if device.is_virtual() => {
            format!("the virtual disk {}, whose host decides", device.block)
        }
        (_, HopKind::Memory) => "main memory".to_owned(),
        _ => hop.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use narrows_model::path::{HopKind, RaidLevel};

    use crate::testing::{Sketch, link, on_bus, run};

    fn drive() -> Sketch {
        Sketch::drive(link((3, 4), (3, 4), (3, 4)))
    }

    #[test]
    fn a_full_link_is_told_with_its_share_and_a_slow_drive_with_what_comes_behind() {
        // Payloads of 256 bytes leave 3591.5 MB/s; 3500 are 97.45 % of it.
        let full = drive().run(run(3500.0).disk("nvme0n1", 3500.0, 31.0)).path().sentence;
        assert_eq!(
            full,
            "Reads of /dev/nvme0n1 reached 3.5 GB/s, 97.5 % of what the PCIe link of 0000:02:00.0 allows: it runs x4 at \
             8 GT/s, 3.59 GB/s usable."
        );
        let slow = drive().run(run(80.0).disk("nvme0n1", 80.0, 31.0)).path().sentence;
        assert_eq!(
            slow,
            "Reads of /dev/nvme0n1 reached 80 MB/s, limited by nvme0n1. Behind it comes the PCIe link of 0000:02:00.0, \
             3.59 GB/s."
        );
    }

    #[test]
    fn a_link_is_told_in_the_state_that_its_ceiling_counts_on() {
        let of = |link| Sketch::of("/dev/nvme0n1").device("nvme0n1", None).link(link).memory();
        let awake = link((1, 4), (3, 4), (3, 4));
        let mut asleep = awake.clone();
        asleep.device.power_state = narrows_base::fact::Fact::known("D3hot".to_owned(), "power_state");
        assert!(of(awake).path().sentence.contains("it runs x4 at 2.5 GT/s, 840 MB/s usable"));
        let sentence = of(asleep).path().sentence;
        assert!(
            sentence.contains("it runs x4 at 8 GT/s under load (2.5 GT/s while idle), 3.59 GB/s usable"),
            "{sentence}"
        );
        let mut ends = link((3, 4), (3, 4), (3, 4));
        ends.port.as_mut().expect("a port").link.current_width =
            narrows_base::fact::Fact::known(narrows_base::units::Lanes::new(2), "current_link_width");
        let narrow = Sketch::of("/dev/nvme0n1").device("nvme0n1", None).link(ends).memory();
        assert!(narrow.path().sentence.contains("it runs x2 at 8 GT/s, 1.8 GB/s usable"));
    }

    #[test]
    fn where_nothing_is_known_a_run_says_what_it_reached_and_only_bytes_can_be_measured() {
        let nothing = || Sketch::of("/").memory();
        assert_eq!(nothing().path().sentence, "No hop of the path to / has a known ceiling.");
        let with_device = Sketch::of("/dev/vda").device("vda", None).memory().path().sentence;
        assert!(with_device.ends_with("; `narrows measure` shows what it does."), "{with_device}");
        let measured = nothing().run(run(300.0)).path().sentence;
        assert_eq!(measured, "Reads of / reached 300 MB/s; what limits them cannot be seen.");
    }

    /// A stripe of four drives, each behind a link of its own and all behind one more link.
    fn stripe(drive: f64, uplink: (u8, u8)) -> Sketch {
        let members = ["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"];
        let mut sketch = Sketch::of("/dev/md0").raid("md0", RaidLevel::Raid0, &members);
        for (bus, member) in (5..).zip(members) {
            sketch = sketch.below(HopKind::Raid, "md0", 0.25).device(member, Some(drive));
            sketch = sketch.link(on_bus(bus, link((3, 4), (3, 4), (3, 4))));
        }
        sketch.below(HopKind::Raid, "md0", 1.0).link(on_bus(4, link(uplink, uplink, uplink)))
    }

    #[test]
    fn equal_members_are_named_together_and_of_equal_next_ones_the_uplink() {
        // Four links of 3591.5 MB/s are 14 366 MB/s, and so is the uplink of sixteen lanes.
        assert_eq!(
            stripe(3000.0, (3, 16)).path().sentence,
            "Reads and writes of /dev/md0 are limited by its four members (nvme0n1, nvme1n1, nvme2n1, nvme3n1): each \
             carries 3 GB/s, as published, which is 12 GB/s for this path. Behind them comes the PCIe link of \
             0000:04:00.0, 14.4 GB/s."
        );
        let sentence = stripe(3000.0, (4, 16)).path().sentence;
        assert!(
            sentence.ends_with(
                "Behind them come the four PCIe links of its members (0000:05:00.0, 0000:06:00.0, 0000:07:00.0, \
                 0000:08:00.0), 14.4 GB/s."
            ),
            "{sentence}"
        );
    }

    #[test]
    fn a_run_that_is_not_to_be_trusted_says_so() {
        let mut load = run(80.0).disk("nvme0n1", 80.0, 31.0);
        load.measurement.errors = 3;
        let sentence = drive().run(load).path().sentence;
        assert!(sentence.contains("not to be trusted"), "{sentence}");
    }

    #[test]
    fn writes_get_words_of_their_own_where_another_hop_limits_them() {
        let mut path = Sketch::of("/dev/sda").device("sda", Some(3000.0)).link(link((3, 4), (3, 4), (3, 4)));
        let slow = narrows_model::ceiling::Ceiling::Known(crate::testing::limit(
            100.0,
            narrows_model::ceiling::Basis::Spec,
        ));
        let write = path.subject.ceilings.get_mut(2).map(|ceilings| &mut ceilings.write);
        *write.expect("the link") = slow;
        let sentence = path.path().sentence;
        assert!(
            sentence.starts_with("Reads of /dev/sda are limited by sda: it carries 3 GB/s"),
            "{sentence}"
        );
        assert!(sentence.contains("Writes to /dev/sda are limited by the PCIe link"), "{sentence}");
    }
}
