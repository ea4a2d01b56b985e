//! The best placement of all wishes, and the proof that there is none better.
//!
//! Branch and bound over slots. Devices that are equal are one class with a count, so no two orders of the same devices
//! are looked at. Where the use of a slot takes lanes from another, every pattern of such uses is searched by itself, and
//! in it slots share nothing but the uplink of the chipset. A table of `bound` holds the best that the remaining slots
//! can do with the remaining devices; apart from that uplink and from what crosses sockets it is exact, so that the search
//! goes straight to the optimum and cuts all else off. Two ways to reach the same remaining devices with the same shared
//! loads are compared once (`walk`).
//!
//! Optimal means: no placement of these devices into these slots, with these cards and the rules of the board as
//! [`narrows_base::catalog`] has them, has a better [`Score`] in the order that was preferred.

mod bound;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeSet;
use std::fmt;

use super::problem::{Choice, Class, Problem, Value, WholeRate};
use super::site::{Attachment, Site, Slot};
use super::wish::Wish;
use narrows_base::catalog::SlotForm;
use narrows_base::units::Lanes;
use serde::{Deserialize, Serialize};

/// Which cards may be bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Cards with a PCIe switch.
    pub switches: bool,
    /// Cards of wires for several drives, in slots that the firmware splits.
    pub splitting: bool,
}

impl Default for Parts {
    fn default() -> Self {
        Self { switches: true, splitting: true }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// What is wanted.
    pub wishes: Vec<Wish>,
    /// What counts most.
    pub prefer: Prefer,
    /// At most so many slots for cards may be used.
    pub max_slots: Option<u8>,
    /// Which cards may be bought.
    pub parts: Parts,
}

/// A slot with what is put into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seated {
    /// The slot, as a place in [`Site::slots`].
    pub slot: usize,
    pub(super) choice: Choice,
    /// The devices: which class, and how many of it.
    pub(super) devices: Vec<(usize, u8)>,
}

/// Where everything goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The slots that are used, in the order of the site.
    pub seated: Vec<Seated>,
    /// How good that is.
    pub score: Score,
}

/// How far a search came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// Whether every placement was looked at or cut off: then the best one is optimal.
    pub complete: bool,
    /// No placement has a better score than this.
    pub bound: Option<Score>,
    /// How many partial placements were looked at.
    pub nodes: u64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The best placement and the next best with another score; none when the wishes cannot all be placed.
    pub placements: Vec<Placement>,
    /// Whether the first is the best.
    pub proof: Proof,
    /// Whether the other is the next best.
    pub others: Proof,
    pub(super) classes: Vec<Class>,
}

/// How many partial placements are looked at for the best one, and for the next.
const NODES: u64 = 100_000;
const NODES_FOR_NEXT: u64 = 20_000;

/// The best placement of all wishes, and the next best with another score.
pub fn search(site: &Site, request: &Request) -> Found {
    let mut found = best(site, request);
    if let Some(first) = found.placements.first().map(|first| first.score) {
        let (next, proof) = run(&Problem::new(site, request), Some(first), NODES_FOR_NEXT);
        found.placements.extend(next);
        found.others = proof;
    }
    found
}

/// The best placement alone: for comparisons, where the next best is of no interest.
pub fn best(site: &Site, request: &Request) -> Found {
    let problem = Problem::new(site, request);
    let (placement, proof) = run(&problem, None, NODES);
    let others = Proof { complete: true, bound: None, nodes: 0 };
    Found { placements: placement.into_iter().collect(), proof, others, classes: problem.classes }
}

/// The best placement that is worse than `below`.
fn run(problem: &Problem<'_>, below: Option<Score>, nodes: u64) -> (Option<Placement>, Proof) {
    let mut walk = walk::Walk::new(problem, below, nodes);
    for sockets in assignments(problem) {
        walk.search(&sockets);
    }
    walk.finish()
}

/// For each class the socket that it must be on: every way to give each group one socket.
fn assignments(problem: &Problem<'_>) -> Vec<Vec<Option<u8>>> {
    let groups: BTreeSet<&String> =
        problem.classes.iter().filter_map(|class| class.wish.group.as_ref()).collect();
    let mut ways: Vec<Vec<Option<u8>>> = vec![vec![None; problem.classes.len()]];
    for group in groups {
        ways = ways
            .iter()
            .flat_map(|way| {
                (0..problem.site.sockets).map(|socket| {
                    let own = |class: &Class| class.wish.group.as_ref() == Some(group);
                    way.iter()
                        .zip(&problem.classes)
                        .map(|(known, class)| if own(class) { Some(socket) } else { *known })
                        .collect()
                })
            })
            .collect();
    }
    ways
}

/// The constraints that make the wishes impossible, the most particular first; never empty.
pub fn impossible(site: &Site, request: &Request) -> Vec<String> {
    let lonely: Vec<String> =
        request.wishes.iter().filter_map(|wish| fits_nowhere(site, request, wish)).collect();
    if !lonely.is_empty() {
        return lonely;
    }
    let mut why = Vec::new();
    let works = |changed: &Request| !best(site, changed).placements.is_empty();
    if let Some(most) = request.max_slots {
        let freed = Request { max_slots: None, prefer: Prefer::Slots, ..request.clone() };
        if works(&freed) {
            let needed =
                (most..=u8::MAX).find(|slots| works(&Request { max_slots: Some(*slots), ..freed.clone() }));
            let needed = needed.map_or_else(String::new, |needed| format!(": they need {needed}"));
            why.push(format!("at most {most} slots may be used{needed}"));
        }
    }
    let each = |change: &dyn Fn(&mut Wish)| {
        let mut changed = request.clone();
        changed.wishes.iter_mut().for_each(change);
        changed
    };
    if request.wishes.iter().any(|wish| wish.target.is_some()) && works(&each(&|wish| wish.target = None)) {
        why.push(
            "not all targets can be met at the same time: what the devices share carries less".to_owned(),
        );
    }
    if request.wishes.iter().any(|wish| wish.group.is_some()) && works(&each(&|wish| wish.group = None)) {
        why.push("no socket has slots for all devices that must share one".to_owned());
    }
    if request.parts != Parts::default() && works(&Request { parts: Parts::default(), ..request.clone() }) {
        why.push(
            "without cards with a PCIe switch or split slots there are too few places for drives".to_owned(),
        );
    }
    if why.is_empty() {
        why.push(too_many(site, request));
    }
    why
}

/// Why one device of a wish fits into no slot, even with all others left out.
fn fits_nowhere(site: &Site, request: &Request, wish: &Wish) -> Option<String> {
    let alone = |wish: Wish| {
        let request = Request { wishes: vec![wish], max_slots: None, ..request.clone() };
        best(site, &request).placements.is_empty()
    };
    let one = Wish { count: 1, group: None, ..wish.clone() };
    if !alone(one.clone()) {
        return None;
    }
    let slots: Vec<&Slot> = site.slots.iter().filter(|slot| slot.dead.is_none()).collect();
    if slots.is_empty() {
        return Some(format!("{} has no slot that is free and works", site.name));
    }
    let longest = slots.iter().filter(|slot| slot.form == SlotForm::Card).map(|slot| slot.connector).max();
    Some(match (&wish.target, longest) {
        (Some(target), _) if !alone(Wish { target: None, ..one.clone() }) => {
            format!("no slot gives {} its {target}", wish.name)
        }
        _ if wish.length.is_some() && !alone(Wish { length: None, ..one }) => format!(
            "no socket that is free and no card that is known holds an M.2 drive of {} mm",
            wish.length.unwrap_or_default()
        ),
        (_, Some(longest)) if !wish.kind.is_drive() && longest < wish.connector => {
            format!(
                "{} needs a slot of length {}, and the longest that is free is {longest}",
                wish.name, wish.connector
            )
        }
        (_, None) if !wish.kind.is_drive() => {
            format!("{} needs a slot for a card, and none is free", wish.name)
        }
        _ => format!("{} fits into no slot that is free", wish.name),
    })
}

/// How many of the wishes fit, and which do not.
fn too_many(site: &Site, request: &Request) -> String {
    let mut fewer = request.clone();
    fewer.wishes.iter_mut().for_each(|wish| (wish.target, wish.group) = (None, None));
    let all: usize = request.wishes.iter().map(|wish| usize::from(wish.count)).sum();
    let mut left_out = 0;
    while best(site, &fewer).placements.is_empty() {
        let Some(last) = fewer.wishes.last_mut() else { break };
        last.count = last.count.saturating_sub(1);
        left_out += 1;
        if last.count == 0 {
            fewer.wishes.pop();
        }
    }
    let names: Vec<String> = fewer.wishes.iter().map(ToString::to_string).collect();
    let slots = site.slots.iter().filter(|slot| slot.dead.is_none()).count();
    format!(
        "{slots} slots are free, and of {all} devices {} fit ({})",
        all - left_out,
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    )
}

/// What counts most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// What all devices move together; then few parts. Before that, and before the others, graphics cards have their lanes.
    #[default]
    Rate,
    /// Few slots, as long as no device alone is slower for it; then the rate.
    Slots,
    /// Few parts to buy; then the rate.
    Parts,
}

/// One thing that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// What all devices move together towards the host, in bytes per second.
    Together,
    /// What drives can send out through network cards, less what crossing sockets costs, in bytes per second.
    Served,
    /// The sum of what each device moves when the others are idle, in bytes per second.
    Alone,
    /// What graphics cards can move, each alone: it is no traffic of storage.
    Graphics,
    /// Cards with a switch, negative.
    Switches,
    /// Slots for cards that are used, negative.
    Slots,
    /// Firmware settings that change and connectors that are lost, negative.
    Changes,
    /// Cards of wires, negative.
    Adapters,
}

/// How many things count.
const COMPONENTS: usize = 8;

impl Prefer {
    /// What counts, the most important first. Nobody buys a graphics card for a narrow slot: who can do with fewer lanes
    /// says so (`gpu:gen3x8`).
    pub const fn order(self) -> [Component; COMPONENTS] {
        use Component::{Adapters, Alone, Changes, Graphics, Served, Slots, Switches, Together};
        match self {
            Self::Rate => [Graphics, Together, Served, Alone, Switches, Slots, Changes, Adapters],
            Self::Slots => [Graphics, Alone, Slots, Together, Served, Switches, Changes, Adapters],
            Self::Parts => [Graphics, Switches, Adapters, Together, Served, Alone, Slots, Changes],
        }
    }

    /// The place of a component.
    fn place(self, component: Component) -> usize {
        self.order().iter().position(|known| *known == component).unwrap_or(0)
    }
}

/// How good a placement is: what counts in the order of [`Prefer::order`], each the greater the better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub(super) [i64; COMPONENTS]);

impl Score {
    /// The score of these amounts.
    pub(super) fn of(prefer: Prefer, amount: impl Fn(Component) -> i64) -> Self {
        Self(prefer.order().map(amount))
    }

    /// One thing that counts.
    pub fn get(&self, prefer: Prefer, component: Component) -> i64 {
        self.0[prefer.place(component)]
    }

    /// The sum, place by place.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (mine, theirs) in sum.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
        sum
    }

    /// With another amount of one thing.
    pub(super) fn with(mut self, prefer: Prefer, component: Component, amount: i64) -> Self {
        self.0[prefer.place(component)] = amount;
        self
    }

    /// The first place in which two scores differ.
    pub fn first_difference(&self, other: &Self, prefer: Prefer) -> Option<Component> {
        let differs = |component: &Component| self.get(prefer, *component) != other.get(prefer, *component);
        prefer.order().into_iter().find(differs)
    }
}

impl fmt::Display for Prefer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A rate as an amount.
pub(super) fn amount(rate: WholeRate) -> i64 {
    i64::try_from(rate.get()).unwrap_or(i64::MAX)
}

/// A count of something that should be few.
pub(super) fn cost(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_neg()
}

/// What a filled slot counts for whatever else moves.
fn of_slot(problem: &Problem<'_>, slot: usize, choice: &Choice, value: &Value, component: Component) -> i64 {
    match component {
        Component::Together | Component::Served | Component::Alone => 0,
        Component::Graphics => amount(value.graphics),
        Component::Switches => cost(u64::from(choice.is_switch())),
        Component::Slots => cost(u64::from(!problem.site.slots[slot].form.takes_drives())),
        Component::Changes => cost(problem.changes(slot, choice)),
        Component::Adapters => cost(u64::from(choice.is_adapter())),
    }
}

/// No machine has more sockets.
const SOCKETS: usize = 8;

/// What of traffic between drives and network cards is left when it crosses sockets, in hundredths: misses cost 10 % or
/// more (Dell BeeGFS guide, page 13). A guess for any other machine.
const REMOTE_PERCENT: u64 = 90;

/// What filled slots come to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// All that simply adds up; the chipset's rate and what is served are not in it.
    score: Score,
    /// What the slots behind the chipset move, as if its uplink had no limit.
    chipset: WholeRate,
    /// What they must move.
    chipset_target: WholeRate,
    /// For each socket what is read from drives.
    drives: [WholeRate; SOCKETS],
    /// For each socket what network cards can send.
    network: [WholeRate; SOCKETS],
}

impl Sums {
    /// With one more slot; `None` when it does not work with so many lanes.
    pub(super) fn add(
        mut self,
        problem: &Problem<'_>,
        slot: usize,
        (choice, counts): (&Choice, &[u8]),
        lanes: Lanes,
    ) -> Option<Self> {
        let value = problem.value(slot, choice, counts, lanes)?;
        let place = &problem.site.slots[slot];
        let on_chipset = place.attachment == Attachment::Chipset && problem.site.chipset.is_some();
        let score = Score::of(problem.prefer, |component| match component {
            Component::Together if on_chipset => 0,
            Component::Together => amount(value.rate),
            Component::Alone => amount(value.alone),
            other => of_slot(problem, slot, choice, &value, other),
        });
        self.score = self.score.plus(&score);
        if on_chipset {
            self.chipset = self.chipset + value.rate;
            self.chipset_target = self.chipset_target + value.target;
        }
        let socket = usize::from(place.attachment.socket()).min(SOCKETS - 1);
        self.drives[socket] = self.drives[socket] + value.drives;
        self.network[socket] = self.network[socket] + value.network;
        Some(self)
    }

    /// The whole score but for what is served.
    fn added_up(&self, problem: &Problem<'_>) -> Score {
        let prefer = problem.prefer;
        let uplink =
            problem.site.chipset.as_ref().map_or(self.chipset, |uplink| uplink.rate.min(self.chipset));
        let together = self.score.get(prefer, Component::Together).saturating_add(amount(uplink));
        self.score.with(prefer, Component::Together, together)
    }

    /// The whole score.
    fn total(&self, problem: &Problem<'_>) -> Score {
        let score = self.added_up(problem);
        match problem.serving {
            true => score.with(problem.prefer, Component::Served, amount(self.served(problem))),
            false => score,
        }
    }

    /// What drives can send out through network cards: those of their own socket first, then over the connection
    /// between the sockets.
    pub(super) fn served(&self, problem: &Problem<'_>) -> WholeRate {
        let local = self.local();
        let all = |rates: &[WholeRate]| rates.iter().copied().sum::<WholeRate>();
        let rest = (all(&self.drives) - local).min(all(&self.network) - local);
        let crossing = problem.site.interconnect.as_ref().map_or(rest, |shared| rest.min(shared.rate));
        local + crossing.percent(REMOTE_PERCENT)
    }

    /// What of it crosses sockets.
    pub(super) fn crossing(&self, problem: &Problem<'_>) -> WholeRate {
        self.served(problem) - self.local()
    }

    /// For each socket what is read from drives and what network cards can send.
    pub(super) fn sockets(&self, count: usize) -> Vec<(WholeRate, WholeRate)> {
        self.drives.iter().copied().zip(self.network.iter().copied()).take(count).collect()
    }

    /// The same with all drives on one socket.
    #[must_use]
    pub(super) fn all_drives_on(mut self, socket: usize) -> Self {
        let all: WholeRate = self.drives.iter().copied().sum();
        self.drives = std::array::from_fn(|at| if at == socket { all } else { WholeRate::ZERO });
        self
    }

    /// With the open sockets taken for one, on which these drives and network cards are added.
    #[must_use]
    fn at_most(mut self, open: &dyn Fn(usize) -> bool, drives: WholeRate, network: WholeRate) -> Self {
        let Some(home) = (0..SOCKETS).find(|socket| open(*socket)) else { return self };
        for socket in (home + 1..SOCKETS).filter(|socket| open(*socket)) {
            self.drives[home] = self.drives[home] + self.drives[socket];
            self.network[home] = self.network[home] + self.network[socket];
            (self.drives[socket], self.network[socket]) = (WholeRate::ZERO, WholeRate::ZERO);
        }
        self.drives[home] = self.drives[home] + drives;
        self.network[home] = self.network[home] + network;
        self
    }

    fn local(&self) -> WholeRate {
        self.drives.iter().zip(&self.network).map(|(drives, network)| *drives.min(network)).sum()
    }

    /// Whether the uplink of the chipset carries what must be moved.
    fn fits_chipset(&self, problem: &Problem<'_>) -> bool {
        problem.site.chipset.as_ref().is_none_or(|uplink| self.chipset_target <= uplink.rate)
    }
}

/// How each slot is used: `None` where it is not, else whether its setting is changed.
pub(super) type Uses<'u> = &'u dyn Fn(usize) -> Option<bool>;

/// The lanes that a slot has under a choice when slots are used so.
pub(super) fn lanes_now(problem: &Problem<'_>, slot: usize, choice: &Choice, uses: Uses<'_>) -> Lanes {
    problem.lanes(slot, choice).min(left_by_others(problem, slot, uses))
}

/// The lanes that other slots leave to one when they are used so.
fn left_by_others(problem: &Problem<'_>, slot: usize, uses: Uses<'_>) -> Lanes {
    let place = &problem.site.slots[slot];
    let is_off = problem.site.slots.iter().enumerate().any(|(at, other)| {
        uses(at) == Some(true)
            && other.setting.as_ref().is_some_and(|setting| setting.slots_off.contains(&slot))
    });
    let left = if is_off { Some(Lanes::new(0)) } else { place.left_by(&|by| uses(by).is_some()) };
    left.map_or(place.lanes, |left| left.min(place.lanes))
}
