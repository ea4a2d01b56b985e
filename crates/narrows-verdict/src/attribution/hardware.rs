//! Hardware: a ceiling that was reached, one slow member, the network, the medium.

use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_machine::activity::{DiskActivity, TcpState};
use narrows_model::ceiling::{Basis, Direction};
use narrows_model::path::{Hop, HopKind, HopSpec, RaidLevel, VolumeLayout};

use super::{Attribution, Cause};
use crate::case::{Case, carried};
use crate::finding::{Confidence, Evidence};
use crate::trust::is_physical;

/// A rate from this part of a ceiling on is that ceiling: healthy links reach 0.93 to 1.03 of theirs with deep queues,
/// network cards from 0.85.
pub const REACHED: f64 = 0.85;
/// A member is slow when it holds this many times what its siblings hold …
const SLOW_QUEUE: f64 = 2.0;
/// … or takes this many times as long, which is the same where all serve the same rate.
const SLOW_LATENCY: f64 = 1.5;
/// What moves more than this many times what its siblings move is not slow: it was chosen more often (the halves of a mirror).
/// Of four members in two mirrors, each of which reads from one half, a busy one moves 1.5 times the mean of the others; stripes and
/// parities give shares that differ by a few requests.
const MOST_OF_EVEN: f64 = 1.25;
/// A path queues when the round trip of most segments, and that of the data where we read, is this many times the least
/// one, and at least [`QUEUEING`] longer.
const QUEUEING_FACTOR: f64 = 3.0;
/// See [`QUEUEING_FACTOR`].
const QUEUEING: Nanos = Nanos::from_millis(1);

/// Where round trips are from.
const TCP_INFO: &str = "TCP_INFO of the connection";

/// A hop whose ceiling is the measured rate, with the requests waiting below the software. Of several the narrowest.
pub(super) fn explained(case: &Case<'_>) -> Option<Attribution> {
    if case.waiting_at_media().is_some_and(|part| part < 0.5) {
        return None;
    }
    let measured = case.measurement()?.bytes_per_second;
    let hardware = case.hops().filter(|(_, hop)| is_physical(hop) || hop.kind() == HopKind::Device);
    let reached = hardware.filter_map(|(index, hop)| {
        let limit = case.ceiling(index)?.limit().filter(|limit| limit.basis != Basis::Guess)?;
        let ceiling = case.path_rate(index)?;
        let (through, at_most) = (measured * carried(case, hop), case.bound(index).unwrap_or(ceiling));
        let is_reached = (ceiling * REACHED..=at_most).contains(&through);
        is_reached.then(|| (index, ceiling, through.fraction_of(ceiling), &limit.formula))
    });
    let (hop, ceiling, part, formula) = reached.min_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    let evidence = vec![
        Evidence::new("measured rate", measured, "the run"),
        Evidence::new("the hop's ceiling for this path", ceiling, formula),
        Evidence::new("measured as a part of it", human::percent(part), "the quotient of both"),
    ];
    Some(Attribution::found(hop, Cause::Explained, Confidence::High, evidence))
}

/// One member of an array that spreads bytes evenly holds the queue while its siblings wait.
pub(super) fn slow_member(case: &Case<'_>) -> Option<Attribution> {
    case.hops().find_map(|(_, hop)| {
        let members = spread_evenly(hop, case.direction)?;
        let disks = members.iter().filter_map(|member| Some((member.as_str(), case.disk(member)?)));
        let (slow, others) = slowest(case, &disks.collect::<Vec<_>>())?;
        let device = member_device(case, slow.0)?;
        let held = |(name, disk): (&str, &DiskActivity)| {
            let latency = disk.read_latency.map(|time| format!(", {time} each")).unwrap_or_default();
            let value = format!("{:.1} requests in flight{latency}", disk.in_flight);
            Evidence::new(format!("{name} held"), value, "/proc/diskstats")
        };
        let evidence = std::iter::once(slow).chain(others).map(held).collect();
        Some(Attribution::found(device, Cause::SlowMember, Confidence::High, evidence))
    })
}

/// The members of an array or volume that gives each of them the same share. A mirror writes all to each, but reads from the member that it
/// chooses (`drivers/md/raid1.c`, `read_balance`): a longer queue at one is that choice, and nothing waits for it.
fn spread_evenly(hop: &Hop, direction: Direction) -> Option<&[String]> {
    match &hop.spec {
        HopSpec::Raid(raid) => {
            let is_even = match raid.level? {
                RaidLevel::Linear => false,
                RaidLevel::Raid1 => direction == Direction::Write,
                RaidLevel::Raid0 | RaidLevel::Raid10 | RaidLevel::Raid5 | RaidLevel::Raid6 => true,
            };
            is_even.then_some(&*raid.members)
        }
        HopSpec::Volume(volume) => {
            matches!(volume.layout, VolumeLayout::Striped { .. }).then_some(&*volume.members)
        }
        _ => None,
    }
}

type Member<'a> = (&'a str, &'a DiskActivity);

/// The member that is slow, and the others; `None` when none is, or the shares were not even (a mirror that reads one
/// stream from one member).
fn slowest<'a>(case: &Case<'_>, disks: &[Member<'a>]) -> Option<(Member<'a>, Vec<Member<'a>>)> {
    let slow = *disks.iter().max_by(|a, b| a.1.in_flight.total_cmp(&b.1.in_flight))?;
    let others: Vec<_> = disks.iter().filter(|disk| disk.0 != slow.0).copied().collect();
    if others.is_empty() {
        return None;
    }
    let mean = |of: &dyn Fn(&DiskActivity) -> f64| {
        others.iter().map(|(_, disk)| of(disk)).sum::<f64>() / others.len() as f64
    };
    let share = mean(&|disk| case.moved(disk));
    let even = (0.5..=MOST_OF_EVEN).contains(&(case.moved(slow.1) / share.max(1.0)));
    let latency = |disk: &DiskActivity| disk.read_latency.map_or(disk.in_flight, |time| time.as_secs_f64());
    let longer = latency(slow.1) >= SLOW_LATENCY * mean(&latency);
    (even && longer && slow.1.in_flight >= SLOW_QUEUE * mean(&|disk| disk.in_flight))
        .then_some((slow, others))
}

/// The medium of a member, which may be a partition or a mapping on it.
fn member_device(case: &Case<'_>, member: &str) -> Option<usize> {
    let disk = case.machine.block.get(member).and_then(|block| block.partition_of.as_deref());
    let named = |name: &str| case.hops().find(|(_, hop)| hop.block_name() == Some(name));
    let (index, hop) = named(member).or_else(|| disk.and_then(named))?;
    if hop.kind() == HopKind::Device {
        return Some(index);
    }
    case.leaves().iter().find(|(_, leaf, _)| case.is_above(hop, leaf)).map(|(index, _, _)| *index)
}

/// The wire is full, or the round trip grew because packets queue in it.
pub(super) fn network(case: &Case<'_>) -> Option<Attribution> {
    let (hop, _) = case.of_kind(HopKind::Network).next()?;
    let (evidence, confidence) = wire_is_full(case, hop)
        .map(|evidence| (evidence, Confidence::High))
        .or_else(|| round_trip_grew(case).map(|evidence| (evidence, Confidence::Medium)))?;
    Some(Attribution::found(hop, Cause::Network, confidence, evidence))
}

fn wire_is_full(case: &Case<'_>, hop: usize) -> Option<Vec<Evidence>> {
    let (interface, moved) = case.interface_rate()?;
    let ceiling = case.ceiling(hop)?.rate()?;
    let part = moved.fraction_of(ceiling);
    let of_ceiling = || Evidence::new("as a part of what it carries", human::percent(part), "its ceiling");
    (part >= REACHED).then(|| vec![rate_on(interface, moved), of_ceiling()])
}

fn rate_on(interface: &str, moved: BytesPerSec) -> Evidence {
    let source = format!("/sys/class/net/{interface}/statistics");
    Evidence::new(format!("rate on {interface}"), moved, source)
}

fn round_trip_grew(case: &Case<'_>) -> Option<Vec<Evidence>> {
    let run = case.run?;
    let (key, state) = connection(case)?;
    let idle = run.idle.tcp.get(key).map(|idle| idle.round_trip);
    let least = idle.into_iter().chain([state.least_round_trip]).filter(|time| time.get() > 0).min()?;
    let grew = |time: Nanos| {
        time.get() as f64 >= QUEUEING_FACTOR * least.get() as f64
            && time.get().saturating_sub(least.get()) >= QUEUEING.get()
    };
    let data = state.data_round_trip.filter(|_| run.direction == Direction::Read);
    (grew(state.round_trip_of_most()) && data.is_none_or(grew)).then(|| {
        let sent_again = Some(state.retransmitted).filter(|count| *count > 0);
        let always = [
            Evidence::new("round-trip time under load", state.round_trip, TCP_INFO),
            Evidence::new("its mean deviation", state.deviation, TCP_INFO),
            Evidence::new("least round-trip time", least, TCP_INFO),
        ];
        let data = data.map(|time| Evidence::new("round trip of the data read", time, TCP_INFO));
        let sent_again = sent_again.map(|count| Evidence::new("segments sent again", count, TCP_INFO));
        always.into_iter().chain(data).chain(sent_again).collect()
    })
}

/// The connection to the path's server with the longest round trip.
fn connection<'a>(case: &Case<'a>) -> Option<(&'a str, &'a TcpState)> {
    let (address, port) = case.hops().find_map(|(_, hop)| match &hop.spec {
        HopSpec::Remote(remote) => Some((remote.address.value()?, remote.port.value())),
        _ => None,
    })?;
    let here = |key: &str| {
        key.rsplit_once(':').is_some_and(|(host, at)| {
            host.trim_matches(['[', ']']) == address && port.is_none_or(|port| at == port.to_string())
        })
    };
    let connections = case.run?.activity.tcp.iter().map(|(key, state)| (key.as_str(), state));
    let here = connections.filter(|(key, _)| here(key));
    here.max_by_key(|(_, state)| (state.round_trip_of_most(), state.round_trip))
}

/// A network path whose wire has room: the far end sets the rate.
pub(super) fn remote(case: &Case<'_>) -> Option<Attribution> {
    let (hop, _) = case.of_kind(HopKind::Remote).next()?;
    let wire = case.interface_rate().map(|(interface, moved)| rate_on(interface, moved));
    let round_trip = connection(case)
        .map(|(_, state)| Evidence::new("round-trip time under load", state.round_trip, TCP_INFO));
    let evidence: Vec<Evidence> = wire.into_iter().chain(round_trip).collect();
    let confidence = if evidence.is_empty() { Confidence::Low } else { Confidence::Medium };
    Some(Attribution::found(hop, Cause::Remote, confidence, evidence))
}

/// The medium that served the bytes. Of several that served the same the first stands for all.
pub(super) fn medium(case: &Case<'_>) -> Option<Attribution> {
    let leaves = case.leaves();
    let moved = |hop: &Hop| case.hop_disk(hop).map_or(0.0, |disk| case.moved(disk));
    let most = leaves.iter().map(|(_, hop, _)| moved(hop)).fold(0.0, f64::max);
    // Equal shares differ by a few requests; the first of them is the same one every time.
    let (hop, served) =
        leaves.iter().find(|(_, hop, _)| moved(hop) >= 0.9 * most).map(|(index, hop, _)| (*index, *hop))?;
    let disk = case.hop_disk(served);
    let confidence = match disk {
        _ if case.media_are_saturated() => Confidence::High,
        Some(disk) if disk.busy >= 0.9 => Confidence::Medium,
        _ => Confidence::Low,
    };
    let evidence = disk.map_or_else(Vec::new, |disk| {
        vec![
            Evidence::new("busy", human::percent(disk.busy), "/proc/diskstats"),
            Evidence::new("requests in flight", format!("{:.1}", disk.in_flight), "/proc/diskstats"),
        ]
    });
    Some(Attribution::found(hop, Cause::Medium, confidence, evidence))
}

/// The narrowest branch of an array whose members' known ceilings differ, with the narrowest hop of the branch, its
/// rate and the rate of the next slowest branch. Only hops that one member has for itself count; `None` when a branch
/// is only estimated, for two estimates do not compare.
pub(crate) fn unequal_members(case: &Case<'_>, array: &Hop) -> Option<(usize, BytesPerSec, BytesPerSec)> {
    // A mirror counts, too: what is written waits for the slowest.
    let members = spread_evenly(array, Direction::Write)?;
    let narrowest = |member: &String| {
        let device = member_device(case, member)?;
        let top = case.path().hops.get(device)?;
        let is_own = |hop: &Hop| case.is_above(top, hop) && case.traffic(hop) <= case.traffic(top) * 1.001;
        let branch = case.hops().filter(|(index, hop)| *index == device || is_own(hop));
        let limits = branch.filter_map(|(index, _)| Some((index, case.ceiling(index)?.limit()?)));
        let (index, limit) = limits.min_by(|a, b| a.1.rate.get().total_cmp(&b.1.rate.get()))?;
        (limit.basis != Basis::Guess).then_some((index, limit.rate))
    };
    let mut branches: Vec<(usize, BytesPerSec)> = members.iter().map(narrowest).collect::<Option<_>>()?;
    branches.sort_by(|a, b| a.1.get().total_cmp(&b.1.get()));
    let (slow, next) = (branches.first()?, branches.get(1)?);
    Some((slow.0, slow.1, next.1))
}
