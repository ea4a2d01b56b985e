//! Every placement of a small problem, scored by arithmetic of its own, to hold the search to.

use super::{Component, Request, Score, assignments};
use crate::ceiling::pcie::{device_to_host, raw};
use crate::plan::problem::{Choice, Problem};
use crate::plan::site::{Attachment, Site, Slot};
use crate::plan::wish::{Kind, Wish};
use narrows_base::catalog::{Card, CardKind};
use narrows_base::units::{Bytes, GtPerSec, Lanes};

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

/// What a placement moves and takes, all slots together.
#[derive(Default)]
struct Sums {
    together: i64,
    behind: i64,
    behind_target: i64,
    alone: i64,
    graphics: i64,
    switches: i64,
    slots: i64,
    changes: i64,
    adapters: i64,
    /// By socket.
    drives: [i64; 8],
    network: [i64; 8],
}

/// What the devices in one slot move, each by itself and all together.
#[derive(Default)]
struct InSlot {
    sum: i64,
    alone: i64,
    targets: i64,
    graphics: i64,
    network: i64,
    links: u8,
}

fn choice<'p>(problem: &'p Problem<'_>, ways: &[Way], slot: usize) -> Option<&'p Choice> {
    ways[slot].as_ref().map(|(choice, _)| &problem.choices[slot][*choice])
}

fn generation(card: &Card) -> GtPerSec {
    GtPerSec::from_pcie_generation(card.generation).expect("a generation")
}

/// The lanes that a slot has with what stands in the others.
fn lanes_of(problem: &Problem<'_>, ways: &[Way], at: usize, is_set: bool) -> u8 {
    let slot = &problem.site.slots[at];
    let mut lanes = slot.lanes.get();
    if let Some(setting) = slot.setting.as_ref().filter(|_| !is_set) {
        lanes = lanes.min(setting.default_lanes.get());
    }
    for rule in &slot.narrowed {
        if rule.by.iter().any(|by| ways[*by].is_some()) {
            lanes = lanes.min(rule.lanes.get());
        }
    }
    let is_off = problem.site.slots.iter().enumerate().any(|(other, place)| {
        place.setting.as_ref().is_some_and(|setting| setting.slots_off.contains(&at))
            && choice(problem, ways, other).is_some_and(|choice| choice.setting)
    });
    if is_off { 0 } else { lanes }
}

/// Whether a device fits where it is put.
fn fits(wish: &Wish, slot: &Slot, choice: &Choice) -> bool {
    let is_of_kind = wish.kind.is_drive() == choice.drives;
    let has_room = choice.drives || wish.connector <= slot.connector;
    let is_plugged = match (wish.form, choice.card) {
        (None, _) => true,
        (Some(form), Some(card)) => form == card.carries,
        (Some(form), None) => form == slot.form,
    };
    let holds = choice.card.map_or(slot.longest, |card| Some(card.longest));
    let is_short = match (wish.length, holds) {
        (Some(length), Some(longest)) => length <= longest,
        _ => true,
    };
    is_of_kind && has_room && is_plugged && is_short
}

/// What the devices in a slot move; `None` where one does not fit or misses its target.
fn in_slot(
    problem: &Problem<'_>,
    (slot, choice, counts): (&Slot, &Choice, &[u8]),
    lanes: u8,
    uplink: Option<i64>,
) -> Option<InSlot> {
    let mut all = InSlot::default();
    for (class, count) in problem.classes.iter().zip(counts).filter(|(_, count)| **count > 0) {
        let wish = &class.wish;
        if !fits(wish, slot, choice) {
            return None;
        }
        let (speed, width) = match choice.card {
            None => (slot.speed, lanes),
            Some(card) if card.kind == CardKind::Switch => (generation(card), card.port_lanes),
            Some(card) => (slot.speed, card.port_lanes.min(lanes)),
        };
        let link = wire(speed.min(wish.speed), width.min(wish.lanes.get()));
        let wants = wire(wish.speed, wish.lanes.get());
        let moved = link.min(wish.own.map_or(wants, |own| wants.min(own.get() as i64)));
        let (own, drawn) = if wish.kind == Kind::Gpu { (0, moved) } else { (moved, 0) };
        let single = uplink.map_or(own, |uplink| own.min(uplink));
        let target = wish.target.map_or(0, |target| target.get() as i64);
        if target > single.max(drawn) {
            return None;
        }
        all.links += count;
        let count = i64::from(*count);
        all.graphics += drawn * count;
        all.sum += own * count;
        all.alone += single * count;
        all.targets += target * count;
        if wish.kind.is_network() {
            all.network += own * count;
        }
    }
    Some(all)
}

/// Whether a split slot has so many links that begin where a drive is wired and end within the lanes that are left.
fn is_split_enough(choice: &Choice, lanes: u8, links: u8) -> bool {
    let (Some(mode), Some(card)) = (&choice.mode, choice.card) else { return true };
    let (mut begin, mut usable) = (0, 0);
    for link in &mode.0 {
        let is_wired = begin % card.port_lanes == 0 && begin / card.port_lanes < card.ports;
        usable += u8::from(is_wired && begin + link.get() <= lanes);
        begin += link.get();
    }
    links <= usable
}

impl Sums {
    /// Adds a slot; `None` where what is put into it cannot be there.
    fn add(&mut self, problem: &Problem<'_>, ways: &[Way], at: usize) -> Option<()> {
        let (Some((_, counts)), Some(choice)) = (&ways[at], choice(problem, ways, at)) else {
            return Some(());
        };
        let slot = &problem.site.slots[at];
        let lanes = Some(lanes_of(problem, ways, at, choice.setting)).filter(|lanes| *lanes > 0)?;
        let switch = choice.card.filter(|card| card.kind == CardKind::Switch);
        let uplink = switch.map(|card| wire(generation(card).min(slot.speed), card.lanes.min(lanes)));
        let here = in_slot(problem, (slot, choice, counts), lanes, uplink)?;
        if !is_split_enough(choice, lanes, here.links) || uplink.is_some_and(|uplink| here.targets > uplink) {
            return None;
        }
        let moved = uplink.map_or(here.sum, |uplink| here.sum.min(uplink));
        let socket = usize::from(slot.attachment.socket());
        self.graphics += here.graphics;
        self.alone += here.alone;
        self.network[socket] += here.network;
        if choice.drives {
            self.drives[socket] += moved;
        }
        if slot.attachment == Attachment::Chipset && problem.site.chipset.is_some() {
            self.behind += moved;
            self.behind_target += here.targets;
        } else {
            self.together += moved;
        }
        self.switches += i64::from(choice.is_switch());
        self.adapters += i64::from(choice.is_adapter());
        self.slots += i64::from(!slot.form.takes_drives());
        self.changes += slot.connectors_off.len() as i64 + i64::from(choice.mode.is_some());
        if let Some(setting) = slot.setting.as_ref().filter(|_| choice.setting) {
            self.changes += 1 + (setting.slots_off.len() + setting.connectors_off.len()) as i64;
        }
        Some(())
    }

    /// What drives serve by the network, that of their own socket first.
    fn served(&self, problem: &Problem<'_>) -> i64 {
        let site = problem.site;
        let has = |test: fn(Kind) -> bool| problem.classes.iter().any(|class| test(class.wish.kind));
        if site.sockets <= 1 || !has(Kind::is_drive) || !has(Kind::is_network) {
            return 0;
        }
        let pairs = self.drives.iter().zip(&self.network);
        let local: i64 = pairs.map(|(drives, network)| *drives.min(network)).sum();
        let rest = (self.drives.iter().sum::<i64>() - local).min(self.network.iter().sum::<i64>() - local);
        let crossing = site.interconnect.as_ref().map_or(rest, |shared| rest.min(shared.rate.get() as i64));
        local + crossing * 90 / 100
    }
}

fn score(problem: &Problem<'_>, request: &Request, ways: &[Way]) -> Option<Score> {
    let mut sums = Sums::default();
    (0..ways.len()).try_for_each(|at| sums.add(problem, ways, at))?;
    let uplink = problem.site.chipset.as_ref().map_or(i64::MAX, |uplink| uplink.rate.get() as i64);
    let is_over = request.max_slots.is_some_and(|most| sums.slots > i64::from(most));
    if sums.behind_target > uplink || is_over || !groups_hold(problem, ways) {
        return None;
    }
    let served = sums.served(problem);
    Some(Score::of(request.prefer, |component| match component {
        Component::Together => sums.together + sums.behind.min(uplink),
        Component::Served => served,
        Component::Alone => sums.alone,
        Component::Switches => -sums.switches,
        Component::Slots => -sums.slots,
        Component::Changes => -sums.changes,
        Component::Adapters => -sums.adapters,
        Component::Graphics => sums.graphics,
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
