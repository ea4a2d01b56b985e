//! What a placement means: how fast everything runs, what changes, what is lost, and why another is not the best.
//!
//! Rates together are max-min fair ([`crate::predict::flow`]) over the links, the uplinks of cards with a switch and that
//! of the chipset, with all devices at work in one direction at a time.

use serde::{Deserialize, Serialize};

use super::problem::{self, Class, Problem, WholeRate, link_of, uplink_of};
use super::search::{Component, Found, Placement, Prefer, Request, Sums, Uses, lanes_now};
use super::site::{Attachment, Shared, Site};
use super::wish::Kind;
use crate::predict::flow::{CapacityUse, Flow, max_min};
use narrows_base::lists::grouped;
use narrows_base::units::human::counted;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// One device as a flow.
struct Seat<'c> {
    slot: usize,
    class: &'c Class,
    link: (GtPerSec, Lanes),
}

/// What a placement means.
pub fn outcome(site: &Site, request: &Request, found: &Found, placement: &Placement) -> Outcome {
    let problem = Problem::new(site, request);
    let seated = || placement.seated.iter();
    let uses = |slot: usize| seated().find(|seat| seat.slot == slot).map(|seat| seat.choice.setting);
    let lanes: Vec<Lanes> =
        seated().map(|seat| lanes_now(&problem, seat.slot, &seat.choice, &uses)).collect();
    let (seats, groups) = seat(site, found, placement, &lanes);
    let read = solve(&seats, &groups, &|rates| rates.read);
    let write = solve(&seats, &groups, &|rates| rates.write);
    let devices: Vec<DeviceOutcome> = seats
        .iter()
        .enumerate()
        .map(|(at, seat)| seat.outcome(at, &groups, Rates { read: read[at], write: write[at] }))
        .collect();
    let moving = || devices.iter().filter(|device| device.kind != Kind::Gpu);
    let slots = seated()
        .zip(&lanes)
        .map(|(seated, lanes)| SlotOutcome {
            slot: site.slots[seated.slot].name.clone(),
            card: seated.choice.card.map(|card| card.name.clone()),
            is_switch: seated.choice.is_switch(),
            bifurcation: seated.choice.mode.as_ref().map(ToString::to_string),
            lanes: lanes.get(),
            devices: seats
                .iter()
                .zip(&devices)
                .filter(|(seat, _)| seat.slot == seated.slot)
                .map(|(_, d)| d.clone())
                .collect(),
        })
        .collect();
    let shared = groups.iter().map(|group| group.outcome(&devices)).collect();
    Outcome {
        together: moving().map(|device| device.together).sum(),
        alone: moving().map(|device| device.alone).sum(),
        shared,
        settings: settings(site, placement),
        lost: lost(site, &uses),
        parts: if site.gaps.is_empty() { parts(placement) } else { Vec::new() },
        slots_used: seated().filter(|seat| !site.slots[seat.slot].form.takes_drives()).count(),
        slots_free: free(&problem, &uses),
        balance: balance(&problem, found, placement, &lanes),
        slots,
    }
}

/// The devices in their places, and the uplinks that several share.
fn seat<'c>(
    site: &Site,
    found: &'c Found,
    placement: &Placement,
    lanes: &[Lanes],
) -> (Vec<Seat<'c>>, Vec<UplinkGroup>) {
    let mut seats: Vec<Seat<'_>> = Vec::new();
    let mut groups: Vec<UplinkGroup> = Vec::new();
    for (seated, lanes) in placement.seated.iter().zip(lanes) {
        let place = &site.slots[seated.slot];
        let first = seats.len();
        for (class, count) in &seated.devices {
            let Some(class) = found.classes.get(*class) else { continue };
            let link = link_of(place, &seated.choice, *lanes, class);
            seats.extend((0..*count).map(|_| Seat { slot: seated.slot, class, link }));
        }
        if let Some((speed, width)) = uplink_of(place, &seated.choice, *lanes) {
            groups.push(UplinkGroup {
                name: format!(
                    "PCIe {}.0 {width} uplink of the card in {}",
                    speed.pcie_generation().unwrap_or(0),
                    place.name
                ),
                carries: Rates {
                    read: problem::link_rate(speed, width).rate(),
                    write: problem::link_write(speed, width),
                },
                members: (first..seats.len()).collect(),
            });
        }
    }
    groups.extend(chipset_group(site, &seats));
    (seats, groups)
}

/// Devices behind one uplink.
struct UplinkGroup {
    name: String,
    carries: Rates,
    members: Vec<usize>,
}

impl UplinkGroup {
    fn outcome(&self, devices: &[DeviceOutcome]) -> SharedOutcome {
        let asked: Rates =
            self.members.iter().filter_map(|at| devices.get(*at)).map(|device| device.alone).sum();
        SharedOutcome {
            name: self.name.clone(),
            carries: self.carries,
            asked,
            devices: self.members.len(),
            // Rates of the search are whole, those of the flow solver are not: equal within one byte per second.
            limits: asked.read.get() + 1.0 >= self.carries.read.get(),
        }
    }
}

impl Seat<'_> {
    /// What it moves when no uplink limits it.
    fn own(&self) -> Rates {
        let (speed, lanes) = self.link;
        let wish = &self.class.wish;
        let write = problem::link_write(speed, lanes);
        let limit = wish.own_write.or(wish.own);
        Rates {
            read: problem::link_rate(speed, lanes).min(wish.demand()).rate(),
            write: limit.map_or(write, |limit| limit.min(write)),
        }
    }

    fn outcome(&self, at: usize, groups: &[UplinkGroup], together: Rates) -> DeviceOutcome {
        let own = self.own();
        let (speed, lanes) = self.link;
        let wish = &self.class.wish;
        let generation = speed.pcie_generation();
        let mut alone = own;
        let could = wish.demand().rate();
        let mut limited_by = match own.read < could {
            true => format!("its PCIe {}.0 {lanes} link", generation.unwrap_or(0)),
            false if wish.demand() < problem::link_rate(wish.speed, wish.lanes) => "itself".to_owned(),
            false => "its own link".to_owned(),
        };
        for group in groups.iter().filter(|group| group.members.contains(&at)) {
            if group.carries.read < alone.read {
                limited_by = group.name.clone();
            }
            alone = Rates {
                read: alone.read.min(group.carries.read),
                write: alone.write.min(group.carries.write),
            };
        }
        let (name, lanes) = (wish.name.clone(), lanes.get());
        DeviceOutcome { name, kind: wish.kind, generation, lanes, alone, together, limited_by }
    }
}

fn chipset_group(site: &Site, seats: &[Seat<'_>]) -> Option<UplinkGroup> {
    let uplink = site.chipset.as_ref()?;
    let is_behind = |seat: &Seat<'_>| {
        site.slots[seat.slot].attachment == Attachment::Chipset && seat.class.wish.kind != Kind::Gpu
    };
    let members: Vec<usize> = (0..seats.len()).filter(|at| is_behind(&seats[*at])).collect();
    (!members.is_empty()).then(|| UplinkGroup {
        name: uplink.name.clone(),
        carries: Rates { read: uplink.rate.rate(), write: uplink.write.rate() },
        members,
    })
}

fn solve(seats: &[Seat<'_>], groups: &[UplinkGroup], of: &dyn Fn(Rates) -> BytesPerSec) -> Vec<BytesPerSec> {
    let capacities: Vec<f64> = groups.iter().map(|group| of(group.carries).get()).collect();
    let flows: Vec<Flow> = seats
        .iter()
        .enumerate()
        .map(|(at, seat)| {
            let behind = groups.iter().enumerate().filter(|(_, group)| group.members.contains(&at));
            Flow {
                weight: 1.0,
                demand: Some(of(seat.own()).get()),
                uses: behind.map(|(capacity, _)| CapacityUse { capacity, per_unit: 1.0 }).collect(),
            }
        })
        .collect();
    max_min(&capacities, &flows).iter().map(|share| BytesPerSec::new(share.rate)).collect()
}

fn settings(site: &Site, placement: &Placement) -> Vec<FirmwareSetting> {
    let mut settings = Vec::new();
    for seat in &placement.seated {
        let slot = &site.slots[seat.slot];
        if let Some(setting) = slot.setting.as_ref().filter(|_| seat.choice.setting) {
            settings.push(FirmwareSetting { menu: setting.menu.clone(), value: setting.value.clone() });
        }
        if let Some(mode) = &seat.choice.mode {
            let menu = format!("bifurcation of {}", slot.name);
            settings.push(FirmwareSetting { menu, value: mode.to_string() });
        }
    }
    settings
}

fn lost(site: &Site, uses: Uses<'_>) -> Vec<String> {
    let mut lost = Vec::new();
    for (at, slot) in site.slots.iter().enumerate().filter(|(_, slot)| slot.dead.is_none()) {
        if let Some(setting) = slot.setting.as_ref().filter(|_| uses(at) == Some(true)) {
            let slots =
                setting.slots_off.iter().filter_map(|off| site.slots.get(*off)).map(|slot| &slot.name);
            lost.extend(slots.chain(&setting.connectors_off).map(|name| format!("{name} (off)")));
        }
        if uses(at).is_some() {
            lost.extend(slot.connectors_off.iter().map(|name| format!("{name} (off)")));
        }
        if let Some(lanes) = slot.left_by(&|by| uses(by).is_some()) {
            lost.push(match lanes.get() {
                0 => format!("{} (off)", slot.name),
                _ => format!("{} ({lanes} of {})", slot.name, slot.lanes),
            });
        }
    }
    lost
}

fn parts(placement: &Placement) -> Vec<BoughtCards> {
    let cards = placement.seated.iter().filter_map(|seat| Some((&seat.choice.card?.name, ())));
    let part = |(name, all): (&String, Vec<()>)| BoughtCards { count: all.len(), name: name.clone() };
    grouped(cards).into_iter().map(part).collect()
}

fn free(problem: &Problem<'_>, uses: Uses<'_>) -> Vec<String> {
    let site = problem.site;
    let has_lanes = |at: usize| {
        let first = problem.choices[at].first();
        first.is_some_and(|choice| lanes_now(problem, at, choice, uses).get() > 0)
    };
    let works = |at: &usize| site.is_usable(*at) && uses(*at).is_none() && has_lanes(*at);
    let cards = (0..site.slots.len()).filter(|at| !site.slots[*at].form.takes_drives());
    cards.filter(works).map(|at| site.slots[at].name.clone()).collect()
}

fn balance(problem: &Problem<'_>, found: &Found, placement: &Placement, lanes: &[Lanes]) -> Option<Balance> {
    if !problem.serving {
        return None;
    }
    let mut sums = Sums::default();
    for (seat, lanes) in placement.seated.iter().zip(lanes) {
        let mut counts = vec![0u8; found.classes.len()];
        seat.devices.iter().for_each(|(class, count)| counts[*class] = *count);
        sums = sums.add(problem, seat.slot, (&seat.choice, &counts), *lanes)?;
    }
    let sockets = usize::from(problem.site.sockets);
    let one_sided =
        (0..sockets).map(|socket| sums.all_drives_on(socket).served(problem)).min().unwrap_or_default();
    let (served, one_sided) = (sums.served(problem).rate(), WholeRate::rate(one_sided));
    Some(Balance {
        sockets: sums
            .sockets(sockets)
            .into_iter()
            .map(|(drives, network)| SocketTraffic { drives: drives.rate(), network: network.rate() })
            .collect(),
        served,
        crossing: sums.crossing(problem).rate(),
        one_sided,
        gain: (served - one_sided).fraction_of(one_sided),
        interconnect: problem.site.interconnect.clone(),
    })
}

/// Why a placement is not as good as the best, in one sentence.
pub fn why_worse(prefer: Prefer, best: (&Placement, &Outcome), other: (&Placement, &Outcome)) -> String {
    let ((best_placement, best), (placement, outcome)) = (best, other);
    let component = placement.score.first_difference(&best_placement.score, prefer);
    let less =
        |what: &str, mine: BytesPerSec, theirs: BytesPerSec| format!("{what} {mine} instead of {theirs}");
    let why = |found: Option<String>| found.map(|why| format!(": {why}")).unwrap_or_default();
    match component {
        Some(Component::Together) => {
            less("together", outcome.together.read, best.together.read) + &why(narrowest(outcome))
        }
        Some(Component::Served) => match (&outcome.balance, &best.balance) {
            (Some(mine), Some(theirs)) => {
                less("sent through the network cards", mine.served, theirs.served)
                    + &format!(": {} of it crosses sockets", mine.crossing)
            }
            _ => "less reaches the network cards".to_owned(),
        },
        Some(Component::Alone) => {
            less("alone, added up", outcome.alone.read, best.alone.read) + &why(narrowest(outcome))
        }
        Some(Component::Graphics) => {
            let link = why(narrow_link(outcome, |kind| kind == Kind::Gpu));
            format!("a graphics card has fewer lanes, or slower ones{link}")
        }
        Some(Component::Switches) => {
            let switches = |outcome: &Outcome| outcome.slots.iter().filter(|slot| slot.is_switch).count();
            let (mine, theirs) = (switches(outcome), switches(best));
            format!("it needs {} with a PCIe switch instead of {theirs}", counted(mine, "card"))
        }
        Some(Component::Slots) => {
            format!("it takes {} instead of {}", counted(outcome.slots_used, "slot"), best.slots_used)
        }
        Some(Component::Changes) => {
            let more = |outcome: &Outcome| outcome.settings.len() + outcome.lost.len();
            format!(
                "it changes or switches off {} instead of {}",
                counted(more(outcome), "thing"),
                more(best)
            )
        }
        Some(Component::Adapters) => {
            let cards = |placement: &Placement| {
                placement.seated.iter().filter(|seat| seat.choice.card.is_some()).count()
            };
            format!("it needs {} instead of {}", counted(cards(placement), "card"), cards(best_placement))
        }
        None => "it is as good".to_owned(),
    }
}

/// What holds a placement back most: a shared uplink that is full, or a link that is narrower than its device.
fn narrowest(outcome: &Outcome) -> Option<String> {
    let full = outcome.shared.iter().filter(|shared| shared.limits && shared.devices > 1);
    let most = full.max_by(|one, other| {
        let over = |shared: &SharedOutcome| shared.asked.read.fraction_of(shared.carries.read);
        over(one).total_cmp(&over(other))
    });
    let shared = most
        .filter(|shared| shared.asked.read.get() > shared.carries.read.get() + 1.0)
        .map(|shared| format!("{} devices share {} of {}", shared.devices, shared.carries.read, shared.name));
    shared.or_else(|| narrow_link(outcome, |kind| kind != Kind::Gpu))
}

/// A device whose link is narrower than it could use, of those kinds.
fn narrow_link(outcome: &Outcome, is_meant: impl Fn(Kind) -> bool) -> Option<String> {
    let devices = outcome.slots.iter().flat_map(|slot| &slot.devices).filter(|device| is_meant(device.kind));
    let narrow = devices.filter(|device| device.limited_by.starts_with("its PCIe"));
    narrow
        .map(|device| format!("{} has only {}", device.name, device.limited_by.trim_start_matches("its ")))
        .next()
}

/// Rates in both directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Towards the host.
    #[serde(rename = "read_bytes_per_second")]
    pub read: BytesPerSec,
    /// Towards the device.
    #[serde(rename = "write_bytes_per_second")]
    pub write: BytesPerSec,
}

impl std::iter::Sum for Rates {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        let all: Vec<Self> = rates.collect();
        Self {
            read: all.iter().map(|rates| rates.read).sum(),
            write: all.iter().map(|rates| rates.write).sum(),
        }
    }
}

/// A device in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceOutcome {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The PCIe generation of its link.
    pub generation: Option<u8>,
    /// The lanes of its link.
    pub lanes: u8,
    /// What it moves when all others are idle.
    pub alone: Rates,
    /// What it moves when all others are at work.
    pub together: Rates,
    /// Why it does not move more alone: `itself`, or a link.
    pub limited_by: String,
}

/// A slot in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlotOutcome {
    /// The name of the slot.
    pub slot: String,
    /// The card that carries the drives; `None` for a card, or a drive right in the slot.
    pub card: Option<String>,
    /// Whether it has a switch.
    #[serde(skip)]
    pub is_switch: bool,
    /// How the firmware has to split the slot.
    pub bifurcation: Option<String>,
    /// The lanes that the slot has then.
    pub lanes: u8,
    /// What is in it.
    pub devices: Vec<DeviceOutcome>,
}

/// Something that several devices share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedOutcome {
    /// What it is.
    pub name: String,
    /// What it carries.
    pub carries: Rates,
    /// What the devices behind it could move alone, added up.
    pub asked: Rates,
    /// How many devices that are.
    pub devices: usize,
    /// Whether it leaves them no more than it carries when all of them read.
    pub limits: bool,
}

/// A firmware setting to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirmwareSetting {
    /// Where it is.
    pub menu: String,
    /// What to set it to.
    pub value: String,
}

/// Cards of one kind that are to be bought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BoughtCards {
    /// How many.
    pub count: usize,
    /// Which.
    pub name: String,
}

/// What the drives and network cards of one socket move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SocketTraffic {
    /// What its drives read.
    #[serde(rename = "drives_bytes_per_second")]
    pub drives: BytesPerSec,
    /// What its network cards send.
    #[serde(rename = "network_bytes_per_second")]
    pub network: BytesPerSec,
}

/// How traffic between drives and network cards lies on the sockets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Balance {
    /// For each socket what its drives deliver and what its network cards send.
    pub sockets: Vec<SocketTraffic>,
    /// What is sent in all.
    #[serde(rename = "served_bytes_per_second")]
    pub served: BytesPerSec,
    /// What of it crosses sockets.
    #[serde(rename = "crossing_bytes_per_second")]
    pub crossing: BytesPerSec,
    /// What would be sent with all drives on one socket and the network cards where they are.
    #[serde(rename = "one_sided_bytes_per_second")]
    pub one_sided: BytesPerSec,
    /// What the balance gains over all drives on one socket, as a fraction.
    pub gain: f64,
    /// The connection between the sockets.
    pub interconnect: Option<Shared>,
}

/// What a placement means.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The slots in use.
    pub slots: Vec<SlotOutcome>,
    /// What all devices move together.
    pub together: Rates,
    /// What they would move if each were alone.
    pub alone: Rates,
    /// What they share.
    pub shared: Vec<SharedOutcome>,
    /// Firmware settings to change.
    pub settings: Vec<FirmwareSetting>,
    /// Slots and connectors that are off or narrower for it.
    pub lost: Vec<String>,
    /// Cards to buy; none while slots are not known, as those may be better ones.
    pub parts: Vec<BoughtCards>,
    /// Slots for cards in use.
    pub slots_used: usize,
    /// The slots for cards that are free and still work.
    pub slots_free: Vec<String>,
    /// How drives and network cards lie on the sockets; `None` when there is one socket, or not both of them.
    pub balance: Option<Balance>,
}
