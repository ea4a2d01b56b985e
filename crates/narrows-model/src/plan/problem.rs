//! A site and its wishes as the search takes them: classes of equal devices, and the ways to fill each slot.

use std::iter::Sum;
use std::ops::{Add, Sub};

use super::search::{Parts, Prefer, Request};
use super::site::{Site, Slot, SplitMode, Splitting};
use super::wish::{Kind, Wish};
use crate::ceiling::pcie;
use narrows_base::catalog::{Card, CardKind, catalog};
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// Equal devices: it does not matter which of them goes where.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Class {
    pub(super) wish: Wish,
    /// What each moves of data, as far as slots allow; none for graphics.
    pub(super) demand: WholeRate,
    /// What each moves of graphics.
    pub(super) graphics: WholeRate,
    pub(super) target: WholeRate,
}

/// A way to use a slot, whatever is put into it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// What carries the drives; `None` for a card or drive right in the slot.
    pub(super) card: Option<&'static Card>,
    /// How the firmware splits the slot.
    pub(super) mode: Option<SplitMode>,
    /// Whether the slot's setting is changed to give the most lanes.
    pub(super) setting: bool,
    /// How many devices fit.
    pub(super) ports: u8,
    /// Whether they are drives, or one card.
    pub(super) drives: bool,
}

impl Choice {
    pub(super) fn is_switch(&self) -> bool {
        self.card.is_some_and(|card| card.kind == CardKind::Switch)
    }

    pub(super) fn is_adapter(&self) -> bool {
        self.card.is_some_and(|card| card.kind == CardKind::Adapter)
    }
}

/// A slot with devices in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fill {
    /// Place in [`Problem::choices`] of its slot.
    pub(super) choice: usize,
    /// How many of each class.
    pub(super) counts: Vec<u8>,
}

/// What a filled slot moves towards the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Value {
    /// All together.
    pub(super) rate: WholeRate,
    /// The sum of what each moves alone.
    pub(super) alone: WholeRate,
    /// What graphics cards move.
    pub(super) graphics: WholeRate,
    /// What of it is read from drives.
    pub(super) drives: WholeRate,
    /// What network cards could send on.
    pub(super) network: WholeRate,
    /// The sum of what must be moved.
    pub(super) target: WholeRate,
}

/// A site and its wishes, made ready.
#[derive(Debug, Clone)]
pub(super) struct Problem<'a> {
    pub(super) site: &'a Site,
    pub(super) classes: Vec<Class>,
    /// The ways to use each slot; none for one that is dead.
    pub(super) choices: Vec<Vec<Choice>>,
    pub(super) max_slots: Option<u8>,
    pub(super) prefer: Prefer,
    /// Whether drives are read out through network cards, of which there may be some on each of several sockets.
    pub(super) serving: bool,
}

impl<'a> Problem<'a> {
    pub(super) fn new(site: &'a Site, request: &Request) -> Self {
        let choices = site.slots.iter().map(|slot| choices(slot, &request.parts)).collect();
        let any = |test: fn(Kind) -> bool| request.wishes.iter().any(|wish| test(wish.kind));
        let serving = site.sockets > 1 && any(Kind::is_drive) && any(Kind::is_network);
        let (max_slots, prefer) = (request.max_slots, request.prefer);
        Self { site, classes: classes(&request.wishes), choices, max_slots, prefer, serving }
    }

    /// The counts of all devices.
    pub(super) fn all(&self) -> Vec<u8> {
        self.classes.iter().map(|class| class.wish.count).collect()
    }

    /// Whether this class may use that slot at all, whatever else is there.
    pub(super) fn may_use(&self, class: usize, slot: usize) -> bool {
        self.classes.get(class).is_some_and(|class| class.wish.pinned.is_none_or(|pinned| pinned == slot))
    }

    /// The lanes that a slot has under a choice before others take any.
    pub(super) fn lanes(&self, slot: usize, choice: &Choice) -> Lanes {
        let slot = &self.site.slots[slot];
        match &slot.setting {
            Some(setting) if !choice.setting => setting.default_lanes.min(slot.lanes),
            _ => slot.lanes,
        }
    }

    /// What a filled slot moves with so many lanes; `None` when that does not work or a target is missed.
    pub(super) fn value(&self, slot: usize, choice: &Choice, counts: &[u8], lanes: Lanes) -> Option<Value> {
        value(&self.site.slots[slot], choice, lanes, counts, &self.classes)
    }

    /// How many firmware settings change, and how many connectors and slots are lost.
    pub(super) fn changes(&self, slot: usize, choice: &Choice) -> u64 {
        let place = &self.site.slots[slot];
        let setting = place.setting.as_ref().filter(|_| choice.setting);
        let lost = setting.map_or(0, |setting| 1 + setting.slots_off.len() + setting.connectors_off.len());
        (lost + place.connectors_off.len() + usize::from(choice.mode.is_some())) as u64
    }
}

/// What so many devices of each class could move.
pub(super) fn demand<'c>(devices: impl Iterator<Item = (&'c u8, &'c Class)>) -> WholeRate {
    devices.map(|(count, class)| class.demand.times(u64::from(*count))).sum()
}

fn classes(wishes: &[Wish]) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for wish in wishes {
        let same = |class: &&mut Class| Wish { count: wish.count, ..class.wish.clone() } == *wish;
        match classes.iter_mut().find(same) {
            Some(class) => class.wish.count = class.wish.count.saturating_add(wish.count),
            None => classes.push(Class {
                wish: wish.clone(),
                demand: if wish.kind == Kind::Gpu { WholeRate::ZERO } else { wish.demand() },
                graphics: if wish.kind == Kind::Gpu { wish.demand() } else { WholeRate::ZERO },
                target: wish.target.map_or(WholeRate::ZERO, WholeRate::new),
            }),
        }
    }
    classes
}

/// The ways to use a slot. Of two that hold as many drives only one is kept.
fn choices(slot: &Slot, parts: &Parts) -> Vec<Choice> {
    if slot.dead.is_some() {
        return Vec::new();
    }
    let right_in = |drives| Choice { card: None, mode: None, setting: false, ports: 1, drives };
    let mut found = vec![right_in(slot.form.takes_drives())];
    if !slot.form.takes_drives() {
        found.extend(carriers(slot, parts));
    }
    if slot.setting.is_some() {
        let set: Vec<Choice> =
            found.iter().map(|choice| Choice { setting: true, ..choice.clone() }).collect();
        found.extend(set);
    }
    found
}

fn carriers(slot: &Slot, parts: &Parts) -> Vec<Choice> {
    let mut found: Vec<Choice> = Vec::new();
    let fitting = catalog().cards.iter().filter(|card| card.connector <= slot.connector.get());
    for card in fitting {
        let on = |mode: Option<SplitMode>, ports| Choice {
            card: Some(card),
            mode,
            setting: false,
            ports,
            drives: true,
        };
        match card.kind {
            CardKind::Switch if parts.switches => found.push(on(None, card.ports)),
            CardKind::Adapter if card.ports == 1 => {
                // A narrower one is of use where the wider one does not fit.
                if !found.iter().any(|known| known.mode.is_none() && known.is_adapter()) {
                    found.push(on(None, 1));
                }
            }
            CardKind::Adapter if parts.splitting => {
                let modes = match &slot.splitting {
                    Splitting::Modes(modes) => modes.as_slice(),
                    Splitting::Unknown | Splitting::Never => &[],
                };
                for mode in modes {
                    let ports = links_of(card, mode, slot.lanes);
                    let is_known = found.iter().any(|known| known.is_adapter() && known.ports >= ports);
                    if ports > 1 && !is_known {
                        found.push(on(Some(mode.clone()), ports));
                    }
                }
            }
            CardKind::Switch | CardKind::Adapter => {}
        }
    }
    found
}

/// How many drives of a card of wires have a link of their own in this mode. Each port is wired to the next lanes of the
/// edge; it works when a link begins at its first lane.
fn links_of(card: &Card, mode: &SplitMode, lanes: Lanes) -> u8 {
    let mut begin = 0u8;
    let mut links = 0;
    for link in &mode.0 {
        let end = begin.saturating_add(link.get());
        let has_port =
            begin.is_multiple_of(card.port_lanes.max(1)) && begin / card.port_lanes.max(1) < card.ports;
        if end <= lanes.get() && has_port {
            links += 1;
        }
        begin = end;
    }
    links
}

/// The link of one device under a choice, when the slot has so many lanes.
pub(super) fn link_of(slot: &Slot, choice: &Choice, lanes: Lanes, class: &Class) -> (GtPerSec, Lanes) {
    let wish = &class.wish;
    let Some(card) = choice.card else {
        return (slot.speed.min(wish.speed), lanes.min(wish.lanes));
    };
    let port = Lanes::new(card.port_lanes);
    match GtPerSec::from_pcie_generation(card.generation) {
        // Behind a switch each port trains by itself.
        Some(speed) => (speed.min(wish.speed), port.min(wish.lanes)),
        None => (slot.speed.min(wish.speed), port.min(wish.lanes).min(lanes)),
    }
}

/// The uplink that the devices on a card with a switch share.
pub(super) fn uplink_of(slot: &Slot, choice: &Choice, lanes: Lanes) -> Option<(GtPerSec, Lanes)> {
    let card = choice.card.filter(|_| choice.is_switch())?;
    let speed = GtPerSec::from_pcie_generation(card.generation)?;
    Some((speed.min(slot.speed), Lanes::new(card.lanes).min(lanes)))
}

/// Whether a drive with the connector and the length of this wish can be plugged in. A length that nobody said stops none; see
/// [`Site::ask_for`].
pub(super) fn takes(slot: &Slot, choice: &Choice, wish: &Wish) -> bool {
    let (form, longest) =
        choice.card.map_or((slot.form, slot.longest), |card| (card.carries, Some(card.longest)));
    let is_short = wish.length.zip(longest).is_none_or(|(length, longest)| length <= longest);
    is_short && wish.form.is_none_or(|wanted| wanted == form)
}

/// What a slot moves with so many devices of each class in it; `None` when that does not work or a target is missed.
pub(super) fn value(
    slot: &Slot,
    choice: &Choice,
    lanes: Lanes,
    counts: &[u8],
    classes: &[Class],
) -> Option<Value> {
    if lanes.get() == 0 {
        return None;
    }
    let ports = match (&choice.mode, choice.card) {
        (Some(mode), Some(card)) => links_of(card, mode, lanes),
        _ => choice.ports,
    };
    let uplink = uplink_of(slot, choice, lanes).map(|(speed, lanes)| link_rate(speed, lanes));
    let mut value = Value::default();
    let mut used = 0u8;
    for (&count, class) in counts.iter().zip(classes).filter(|(count, _)| **count > 0) {
        let fits = class.wish.kind.is_drive() == choice.drives
            && takes(slot, choice, &class.wish)
            && (choice.drives || class.wish.connector <= slot.connector);
        used = used.saturating_add(count);
        if !fits || used > ports {
            return None;
        }
        let (speed, lanes) = link_of(slot, choice, lanes, class);
        let link = link_rate(speed, lanes);
        let own = link.min(class.demand);
        let alone = uplink.map_or(own, |uplink| own.min(uplink));
        let graphics = link.min(class.graphics);
        if class.target > alone.max(graphics) {
            return None;
        }
        let times = u64::from(count);
        value.graphics = value.graphics + graphics.times(times);
        value.rate = value.rate + own.times(times);
        value.alone = value.alone + alone.times(times);
        value.target = value.target + class.target.times(times);
        if class.wish.kind.is_network() {
            value.network = value.network + own.times(times);
        }
    }
    if let Some(uplink) = uplink {
        value.rate = value.rate.min(uplink);
        if value.target > uplink {
            return None;
        }
    }
    if choice.drives {
        value.drives = value.rate;
    }
    Some(value)
}

/// A rate in whole bytes per second.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct WholeRate(u64);

impl WholeRate {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `rate` without its fraction.
    pub fn new(rate: BytesPerSec) -> Self {
        // A float to integer cast saturates, and a rate is never negative.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; never negative"
        )]
        Self(rate.get() as u64)
    }

    /// Bytes per second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The rate as everything outside the search takes it.
    #[expect(clippy::cast_precision_loss, reason = "no rate comes near 2^53 bytes per second")]
    pub fn rate(self) -> BytesPerSec {
        BytesPerSec::new(self.0 as f64)
    }

    /// `count` times this.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// `hundredths` of this.
    #[must_use]
    pub const fn percent(self, hundredths: u64) -> Self {
        Self(self.0.saturating_mul(hundredths) / 100)
    }
}

impl Add for WholeRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for WholeRate {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Sum for WholeRate {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

/// What one lane carries towards the host; whole, so that x16 is exactly four times x4.
fn lane_rate(speed: GtPerSec) -> WholeRate {
    let raw = pcie::raw(speed, Lanes::new(1)).unwrap_or_default();
    WholeRate::new(pcie::device_to_host(raw, pcie::usual_payload(speed)))
}

/// What a link carries towards the host ([`crate::ceiling::pcie`]), with the payload size that is usual at its speed.
pub(super) fn link_rate(speed: GtPerSec, lanes: Lanes) -> WholeRate {
    lane_rate(speed).times(u64::from(lanes.get()))
}

/// What a link carries towards the device.
pub(super) fn link_write(speed: GtPerSec, lanes: Lanes) -> BytesPerSec {
    let raw = pcie::raw(speed, lanes).unwrap_or_default();
    pcie::host_to_device(raw, pcie::usual_payload(speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the table that `ceiling/pcie/rate.rs` holds: 3592, 14366 and 420 MB/s.
    #[test]
    fn links_carry_what_their_law_says_and_add_up_exactly() {
        let x4 = link_rate(GtPerSec::GEN3, Lanes::new(4));
        assert_eq!(x4.get() / 1_000_000, 3591);
        assert_eq!(link_rate(GtPerSec::GEN3, Lanes::new(16)), x4.times(4));
        assert_eq!(link_rate(GtPerSec::GEN2, Lanes::new(1)).get() / 1_000_000, 419);
        assert_eq!(x4.percent(50).get(), x4.get() / 2);
    }
}
