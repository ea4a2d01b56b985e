//! Every placement of a small problem, scored by arithmetic of its own, to hold the search to.

use crate::ceiling::pcie::rate::{device_to_host, raw};
use crate::plan::problem::{Choice, Problem};
use crate::plan::site::{Attachment, Site};
use narrows_base::catalog::CardKind;
use narrows_base::units::{Bytes, GtPerSec, Lanes};

use super::score::{Component, Score};
use super::{Request, assignments};

/// A slot's choice and how many of each class are in it.
type Way = Option<(usize, Vec<u8>)>;

/// The scores of all placements, the best first, each once.
pub(super) fn scores(site: &Site, request: &Request) -> Vec<Score> {
    let problem = Problem::new(site, request);
    let mut found = Vec::new();
    let mut ways: Vec<Way> = Vec::new();
    descend(&problem, request, &problem.all(), &mut ways, &mut found);
    found.sort_by(|one: &Score, other| other.cmp(one));
    found.dedup();
    found
}

fn descend(
    problem: &Problem<'_>,
    request: &Request,
    left: &[u8],
    ways: &mut Vec<Way>,
    found: &mut Vec<Score>,
) {
    let slot = ways.len();
    if slot == problem.site.slots.len() {
        if left.iter().all(|count| *count == 0) {
            found.extend(score(problem, request, ways));
        }
        return;
    }
    ways.push(None);
    descend(problem, request, left, ways, found);
    ways.pop();
    for (at, choice) in problem.choices[slot].iter().enumerate() {
        for counts in subsets(left) {
            let devices: u8 = counts.iter().sum();
            let is_whole = !(choice.mode.is_some() || choice.is_switch()) || devices > 1;
            if devices == 0 || devices > choice.ports || !is_whole {
                continue;
            }
            let rest: Vec<u8> = left.iter().zip(&counts).map(|(left, count)| left - count).collect();
            ways.push(Some((at, counts)));
            descend(problem, request, &rest, ways, found);
            ways.pop();
        }
    }
}

fn subsets(left: &[u8]) -> Vec<Vec<u8>> {
    left.iter().fold(vec![Vec::new()], |all, most| {
        let with = |counts: &Vec<u8>, count: u8| counts.iter().copied().chain([count]).collect();
        all.iter().flat_map(|counts| (0..=*most).map(move |count| with(counts, count))).collect()
    })
}

/// Whole bytes per second of one lane, as the law of links has them.
fn lane(speed: GtPerSec) -> i64 {
    let payload = Bytes::new(if speed.mega() > 5000 { 256 } else { 128 });
    device_to_host(raw(speed, Lanes::new(1)).expect("a PCIe rate"), payload).get() as i64
}

fn wire(speed: GtPerSec, lanes: u8) -> i64 {
    lane(speed) * i64::from(lanes)
}

fn score(problem: &Problem<'_>, request: &Request, ways: &[Way]) -> Option<Score> {
    let site = problem.site;
    let choice = |slot: usize| -> Option<&Choice> {
        ways[slot].as_ref().map(|(choice, _)| &problem.choices[slot][*choice])
    };
    let (mut together, mut behind, mut behind_target, mut alone) = (0i64, 0i64, 0i64, 0i64);
    let (mut graphics, mut price) = (0i64, 0i64);
    let (mut switches, mut slots, mut changes, mut adapters) = (0i64, 0i64, 0i64, 0i64);
    let (mut drives, mut network) = (vec![0i64; 8], vec![0i64; 8]);
    for (at, way) in ways.iter().enumerate() {
        let (Some((_, counts)), Some(choice_here)) = (way, choice(at)) else { continue };
        let slot = &site.slots[at];
        let mut lanes = slot.lanes.get();
        if let Some(setting) = slot.setting.as_ref().filter(|_| !choice_here.setting) {
            lanes = lanes.min(setting.default_lanes.get());
        }
        for rule in &slot.narrowed {
            if rule.by.iter().any(|by| ways[*by].is_some()) {
                lanes = lanes.min(rule.lanes.get());
            }
        }
        for (other, place) in site.slots.iter().enumerate() {
            let off = place.setting.as_ref().is_some_and(|setting| setting.slots_off.contains(&at));
            if off && choice(other).is_some_and(|choice| choice.setting) {
                lanes = 0;
            }
        }
        if lanes == 0 {
            return None;
        }
        let uplink = choice_here.card.filter(|card| card.kind == CardKind::Switch).map(|card| {
            let speed =
                GtPerSec::from_pcie_generation(card.generation).expect("a generation").min(slot.speed);
            wire(speed, card.lanes.min(lanes))
        });
        let (mut sum, mut targets) = (0i64, 0i64);
        let mut links = 0u8;
        for (class, count) in problem.classes.iter().zip(counts).filter(|(_, count)| **count > 0) {
            let wish = &class.wish;
            if wish.kind.is_drive() != choice_here.drives
                || !choice_here.drives && wish.connector > slot.connector
            {
                return None;
            }
            let is_plugged = match (wish.form, choice_here.card) {
                (None, _) => true,
                (Some(form), Some(card)) => form == card.carries,
                (Some(form), None) => form == slot.form,
            };
            let holds = choice_here.card.map_or(slot.longest, |card| Some(card.longest));
            let is_short = match (wish.length, holds) {
                (Some(length), Some(longest)) => length <= longest,
                _ => true,
            };
            if !is_plugged || !is_short {
                return None;
            }
            let (speed, width) = match choice_here.card {
                None => (slot.speed, lanes),
                Some(card) if card.kind == CardKind::Switch => {
                    (GtPerSec::from_pcie_generation(card.generation).expect("a generation"), card.port_lanes)
                }
                Some(card) => (slot.speed, card.port_lanes.min(lanes)),
            };
            let link = wire(speed.min(wish.speed), width.min(wish.lanes.get()));
            let wants = wire(wish.speed, wish.lanes.get());
            let wants = wish.own.map_or(wants, |own| wants.min(own.get() as i64));
            let is_graphics = wish.kind == crate::plan::wish::Kind::Gpu;
            let own = if is_graphics { 0 } else { link.min(wants) };
            let single = uplink.map_or(own, |uplink| own.min(uplink));
            let target = wish.target.map_or(0, |target| target.get() as i64);
            let drawn = if is_graphics { link.min(wants) } else { 0 };
            if target > single.max(drawn) {
                return None;
            }
            let count = i64::from(*count);
            graphics += drawn * count;
            sum += own * count;
            alone += single * count;
            targets += target * count;
            links += u8::try_from(count).expect("few");
            if wish.kind.is_network() {
                network[usize::from(slot.attachment.socket())] += own * count;
            }
        }
        if let (Some(mode), Some(card)) = (&choice_here.mode, choice_here.card) {
            // Links that begin where a drive is wired and end within the lanes that are left.
            let mut begin = 0;
            let mut usable = 0;
            for link in &mode.0 {
                let wired = begin % card.port_lanes == 0 && begin / card.port_lanes < card.ports;
                usable += u8::from(wired && begin + link.get() <= lanes);
                begin += link.get();
            }
            if links > usable {
                return None;
            }
        }
        let moved = uplink.map_or(sum, |uplink| sum.min(uplink));
        if uplink.is_some_and(|uplink| targets > uplink) {
            return None;
        }
        if choice_here.drives {
            drives[usize::from(slot.attachment.socket())] += moved;
        }
        if slot.attachment == Attachment::Chipset && site.chipset.is_some() {
            behind += moved;
            behind_target += targets;
        } else {
            together += moved;
        }
        switches += i64::from(choice_here.is_switch());
        adapters += i64::from(choice_here.is_adapter());
        price += choice_here.card.map_or(0, |card| request.parts.price(&card.name)) as i64;
        slots += i64::from(!slot.form.takes_drives());
        changes += slot.connectors_off.len() as i64 + i64::from(choice_here.mode.is_some());
        if let Some(setting) = slot.setting.as_ref().filter(|_| choice_here.setting) {
            changes += 1 + (setting.slots_off.len() + setting.connectors_off.len()) as i64;
        }
    }
    let uplink = site.chipset.as_ref().map_or(i64::MAX, |uplink| uplink.rate.get() as i64);
    if behind_target > uplink || request.max_slots.is_some_and(|most| slots > i64::from(most)) {
        return None;
    }
    if !groups_hold(problem, ways) {
        return None;
    }
    together += behind.min(uplink);
    let has =
        |test: &dyn Fn(super::super::wish::Kind) -> bool| problem.classes.iter().any(|c| test(c.wish.kind));
    let serving = site.sockets > 1 && has(&|kind| kind.is_drive()) && has(&|kind| kind.is_network());
    let local: i64 = drives.iter().zip(&network).map(|(drives, network)| *drives.min(network)).sum();
    let rest = (drives.iter().sum::<i64>() - local).min(network.iter().sum::<i64>() - local);
    let crossing = site.interconnect.as_ref().map_or(rest, |shared| rest.min(shared.rate.get() as i64));
    let served = if serving { local + crossing * 90 / 100 } else { 0 };
    Some(Score::of(request.prefer, |component| match component {
        Component::Together => together,
        Component::Served => served,
        Component::Alone => alone,
        Component::Switches => -switches,
        Component::Slots => -slots,
        Component::Changes => -changes,
        Component::Adapters => -adapters,
        Component::Graphics => graphics,
        Component::Price => -price,
    }))
}

/// Whether there is a socket for each group on which all of its devices are.
fn groups_hold(problem: &Problem<'_>, ways: &[Way]) -> bool {
    assignments(problem).iter().any(|sockets| {
        ways.iter().enumerate().all(|(slot, way)| {
            let here = problem.site.slots[slot].attachment.socket();
            way.as_ref().is_none_or(|(_, counts)| {
                counts
                    .iter()
                    .zip(sockets)
                    .all(|(count, socket)| *count == 0 || socket.is_none_or(|s| s == here))
            })
        })
    })
}
