//! How do flows that share capacities share them?
//!
//! Max-min fair rates by progressive filling (D. Bertsekas and R. Gallager, Data Networks, 2nd edition, 1992, section
//! 6.5.2): the rates of all flows grow together, each in proportion to its weight, until a capacity is full; the flows
//! that use it stop there, and the others go on. The result is the only one in which no flow can get more without taking
//! it from a flow that has no more than itself (by weight).
//!
//! A capacity can be anything that is used in proportion to a flow's rate: bytes of a direction of a link, I/Os of a
//! drive, seconds of a core. [`Pool`] makes the usual ones out of hops: one for each direction, or one that both
//! directions share.

/// A capacity that a flow uses, and how much of it for each unit of the flow's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityUse {
    /// The capacity, as a place in the list of capacities.
    pub capacity: usize,
    /// What the flow uses of it for each unit of its own rate; uses that are not above zero are ignored.
    pub per_unit: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Flow {
    /// Its weight against other flows, above zero: a flow of twice the weight gets twice the rate where both meet.
    pub weight: f64,
    /// The most that it wants; `None` when it takes all that it can get.
    pub demand: Option<f64>,
    /// What it uses.
    pub uses: Vec<CapacityUse>,
}

/// What keeps a flow from going faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// This capacity is full.
    Capacity(usize),
    /// It has what it wants.
    Demand,
    /// Nothing: it uses no capacity and its rate is infinite.
    Nothing,
}

/// What a flow gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    pub rate: f64,
    /// Why it is not more.
    pub stop: Stop,
}

/// Levels that differ by less than this part of themselves are one: the flows stop together.
const SAME_LEVEL: f64 = 1e-12;

/// The max-min fair rates of `flows` over `capacities`, in the order of the flows.
///
/// A capacity that is negative or not a number counts as zero; a use of a capacity that is not in the list counts as one of
/// zero. A flow whose weight is not above zero gets nothing. Takes flows × capacities × rounds, and a round for each
/// flow at most.
pub fn max_min(capacities: &[f64], flows: &[Flow]) -> Vec<Share> {
    let mut shares: Vec<Option<Share>> = flows.iter().map(idle).collect();
    let mut left: Vec<f64> = capacities.iter().map(|&capacity| positive(capacity)).collect();
    while shares.iter().any(Option::is_none) {
        let levels: Vec<Option<(f64, Stop)>> = stops(&left, flows, &shares);
        let lowest = levels.iter().flatten().map(|(level, _)| *level).fold(f64::INFINITY, f64::min);
        for (flow, (share, level)) in flows.iter().zip(shares.iter_mut().zip(&levels)) {
            let Some((level, stop)) = *level else { continue };
            if level.is_infinite() || level <= lowest * (1.0 + SAME_LEVEL) {
                let rate = if level.is_infinite() { level } else { level * flow.weight };
                *share = Some(Share { rate, stop });
                take(&mut left, flow, rate);
            }
        }
    }
    shares.into_iter().map(|share| share.unwrap_or(NONE)).collect()
}

/// A flow that gets nothing.
const NONE: Share = Share { rate: 0.0, stop: Stop::Demand };

fn idle(flow: &Flow) -> Option<Share> {
    let wants = flow.demand.is_none_or(|demand| demand > 0.0);
    (!(flow.weight > 0.0 && wants)).then_some(NONE)
}

fn positive(amount: f64) -> f64 {
    if amount > 0.0 { amount } else { 0.0 }
}

fn used(flow: &Flow) -> impl Iterator<Item = CapacityUse> + '_ {
    flow.uses.iter().copied().filter(|used| used.per_unit > 0.0)
}

fn take(left: &mut [f64], flow: &Flow, rate: f64) {
    for used in used(flow) {
        if let Some(left) = left.get_mut(used.capacity) {
            *left = positive(*left - rate * used.per_unit);
        }
    }
}

/// For each flow that still grows, the level (rate over weight) at which it must stop if all grow alike, and why.
fn stops(left: &[f64], flows: &[Flow], shares: &[Option<Share>]) -> Vec<Option<(f64, Stop)>> {
    let mut load = vec![0.0; left.len()];
    for (flow, _) in flows.iter().zip(shares).filter(|(_, share)| share.is_none()) {
        for used in used(flow) {
            if let Some(load) = load.get_mut(used.capacity) {
                *load += flow.weight * used.per_unit;
            }
        }
    }
    let full = |capacity: usize| match (left.get(capacity), load.get(capacity)) {
        (Some(left), Some(load)) if *load > 0.0 => left / load,
        _ => 0.0,
    };
    let level = |flow: &Flow| {
        let demand =
            flow.demand.map_or((f64::INFINITY, Stop::Nothing), |it| (it / flow.weight, Stop::Demand));
        used(flow).fold(demand, |lowest, used| {
            let level = full(used.capacity);
            if level < lowest.0 { (level, Stop::Capacity(used.capacity)) } else { lowest }
        })
    };
    flows.iter().zip(shares).map(|(flow, share)| share.is_none().then(|| level(flow))).collect()
}

/// Whether both directions of a hop have a capacity each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Duplex {
    /// Each direction has its own: PCIe, SAS, Ethernet.
    Full,
    /// Both share one: media, memory, SATA, USB bridges, cores that encrypt.
    Half,
}

/// The capacities of one hop in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HopCapacity {
    read: Option<CapacityUse>,
    write: Option<CapacityUse>,
}

impl HopCapacity {
    /// What a flow uses of the hop that reads `read` and writes `write` bytes across it for each unit of its rate.
    pub fn uses(&self, read: f64, write: f64) -> Vec<CapacityUse> {
        let scaled = |per_byte: Option<CapacityUse>, bytes: f64| {
            per_byte.map(|it| CapacityUse { per_unit: it.per_unit * bytes, ..it })
        };
        match (scaled(self.read, read), scaled(self.write, write)) {
            (Some(read), Some(write)) if read.capacity == write.capacity => {
                vec![CapacityUse { per_unit: read.per_unit + write.per_unit, ..read }]
            }
            (read, write) => read.into_iter().chain(write).collect(),
        }
    }
}

/// The capacities of hops.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    capacities: Vec<f64>,
}

impl Pool {
    /// The capacities, for [`max_min`].
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// Adds one capacity and says its place.
    pub fn add(&mut self, capacity: f64) -> usize {
        self.capacities.push(capacity);
        self.capacities.len() - 1
    }

    /// Adds a hop that carries `read` and `write` in each direction alone; `None` for a direction that does not limit.
    ///
    /// A hop of which both directions share one capacity is used up in time: it reads for a part of each second and
    /// writes for the rest, so r/`read` + w/`write` ≤ 1.
    pub fn hop(&mut self, read: Option<f64>, write: Option<f64>, duplex: Duplex) -> HopCapacity {
        match duplex {
            Duplex::Full => {
                let mut own = |rate: Option<f64>| {
                    rate.map(|rate| CapacityUse { capacity: self.add(rate), per_unit: 1.0 })
                };
                HopCapacity { read: own(read), write: own(write) }
            }
            Duplex::Half => {
                let capacity = self.add(1.0);
                let mut part = |rate: Option<f64>| match rate {
                    // A direction that carries nothing stops its own flows and no others.
                    Some(rate) if rate <= 0.0 => Some(CapacityUse { capacity: self.add(0.0), per_unit: 1.0 }),
                    Some(rate) => Some(CapacityUse { capacity, per_unit: 1.0 / rate }),
                    None => None,
                };
                HopCapacity { read: part(read), write: part(write) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
