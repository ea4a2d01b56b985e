//! What makes one placement better than another.

use std::fmt;

use crate::plan::rate::WholeRate;

/// What counts most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Prefer {
    /// What all devices move together; then few parts.
    #[default]
    Rate,
    /// Few slots, as long as no device alone is slower for it; then the rate.
    Slots,
    /// Few parts to buy; then the rate.
    Parts,
    /// Cards that cost little, by what the user pays for them; then the rate.
    Price,
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
    /// What the cards cost, negative, in hundredths of the user's currency.
    Price,
}

/// How many things count.
const COMPONENTS: usize = 9;

impl Prefer {
    /// What counts, the most important first.
    pub const fn order(self) -> [Component; COMPONENTS] {
        use Component::{Adapters, Alone, Changes, Graphics, Price, Served, Slots, Switches, Together};
        match self {
            Self::Rate => [Together, Served, Alone, Graphics, Switches, Slots, Changes, Adapters, Price],
            Self::Slots => [Alone, Graphics, Slots, Together, Served, Switches, Changes, Adapters, Price],
            Self::Parts => [Switches, Adapters, Together, Served, Alone, Graphics, Slots, Changes, Price],
            Self::Price => [Price, Together, Served, Alone, Graphics, Switches, Slots, Changes, Adapters],
        }
    }

    /// The place of a component.
    pub(in crate::plan) fn place(self, component: Component) -> usize {
        self.order().iter().position(|known| *known == component).unwrap_or(0)
    }
}

/// How good a placement is: what counts in the order of [`Prefer::order`], each the greater the better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score(pub(in crate::plan) [i64; COMPONENTS]);

impl Score {
    /// The score of these amounts.
    pub(in crate::plan) fn of(prefer: Prefer, amount: impl Fn(Component) -> i64) -> Self {
        Self(prefer.order().map(amount))
    }

    /// One thing that counts.
    pub fn get(&self, prefer: Prefer, component: Component) -> i64 {
        self.0.get(prefer.place(component)).copied().unwrap_or_default()
    }

    /// The sum, place by place.
    pub(in crate::plan) fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        for (mine, theirs) in sum.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
        sum
    }

    /// With another amount in one place.
    pub(in crate::plan) fn with(mut self, place: usize, amount: i64) -> Self {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = amount;
        }
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
        f.write_str(match self {
            Self::Rate => "rate",
            Self::Slots => "slots",
            Self::Parts => "parts",
            Self::Price => "price",
        })
    }
}

/// A rate as an amount.
pub(in crate::plan) fn amount(rate: WholeRate) -> i64 {
    i64::try_from(rate.get()).unwrap_or(i64::MAX)
}

/// A count of something that should be few.
pub(in crate::plan) fn cost(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX).saturating_neg()
}
