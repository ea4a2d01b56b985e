use super::*;
use proptest::prelude::*;

fn flow(weight: f64, demand: Option<f64>, uses: &[(usize, f64)]) -> Flow {
    let uses = uses.iter().map(|&(capacity, per_unit)| CapacityUse { capacity, per_unit }).collect();
    Flow { weight, demand, uses }
}

fn rates(capacities: &[f64], flows: &[Flow]) -> Vec<f64> {
    max_min(capacities, flows).iter().map(|share| share.rate).collect()
}

/// Bertsekas and Gallager, Data Networks, section 6.5.2, the example of figure 6.17 in numbers: two flows fill the first
/// link, the third gets what it leaves of the second.
#[test]
fn what_a_flow_that_is_stopped_elsewhere_leaves_goes_to_the_others() {
    let flows =
        [flow(1.0, None, &[(0, 1.0)]), flow(1.0, None, &[(0, 1.0), (1, 1.0)]), flow(1.0, None, &[(1, 1.0)])];
    assert_eq!(rates(&[1.0, 2.0], &flows), [0.5, 0.5, 1.5]);
}

#[test]
fn four_drives_of_3_6_behind_an_uplink_of_7_2_get_a_quarter_each_and_one_alone_its_own() {
    let drives: Vec<Flow> = (0..4).map(|at| flow(1.0, None, &[(at, 1.0), (4, 1.0)])).collect();
    let capacities = [3.6, 3.6, 3.6, 3.6, 7.2];
    assert_eq!(rates(&capacities, &drives), [1.8; 4]);
    assert_eq!(rates(&capacities, &drives[..1]), [3.6]);
    assert_eq!(max_min(&capacities, &drives)[0].stop, Stop::Capacity(4));
}

#[test]
fn weights_demands_and_amplified_traffic_count() {
    let flows = [flow(2.0, None, &[(0, 1.0)]), flow(1.0, None, &[(0, 1.0)])];
    assert_eq!(rates(&[9.0], &flows), [6.0, 3.0]);
    let modest = [flow(1.0, Some(1.0), &[(0, 1.0)]), flow(1.0, None, &[(0, 1.0)])];
    assert_eq!(rates(&[9.0], &modest), [1.0, 8.0]);
    assert_eq!(max_min(&[9.0], &modest)[0].stop, Stop::Demand);
    // Of a mirror each written byte crosses the uplink twice.
    assert_eq!(rates(&[9.0], &[flow(1.0, None, &[(0, 2.0)])]), [4.5]);
}

#[test]
fn nothing_shared_nothing_there_and_nothing_wanted() {
    let shares = max_min(&[0.0], &[flow(1.0, None, &[]), flow(1.0, None, &[(0, 1.0)]), flow(0.0, None, &[])]);
    assert_eq!((shares[0].rate, shares[0].stop), (f64::INFINITY, Stop::Nothing));
    assert_eq!((shares[1].rate, shares[1].stop), (0.0, Stop::Capacity(0)));
    assert_eq!(shares[2].rate, 0.0);
    assert_eq!(rates(&[f64::NAN], &[flow(1.0, None, &[(0, 1.0), (7, 1.0)])]), [0.0]);
    assert_eq!(rates(&[], &[flow(f64::NAN, None, &[])]), [0.0]);
}

#[test]
fn a_shared_direction_divides_time_and_two_directions_do_not() {
    let mut pool = Pool::default();
    let medium = pool.hop(Some(4.0), Some(2.0), Duplex::Half);
    let wire = pool.hop(Some(4.0), Some(4.0), Duplex::Full);
    let mixed = |hop: &HopCapacity| Flow { weight: 1.0, demand: None, uses: hop.uses(0.5, 0.5) };
    // 0.5/4 + 0.5/2 = 0.375 of each second for a unit.
    assert_eq!(rates(pool.capacities(), &[mixed(&medium)]), [1.0 / 0.375]);
    assert_eq!(rates(pool.capacities(), &[mixed(&wire)]), [8.0]);
}

fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Flow>)> {
    let uses = prop::collection::vec((0usize..5, 0.1f64..4.0), 1..5);
    let flows = prop::collection::vec((0.1f64..8.0, prop::option::of(0.01f64..50.0), uses), 1..8);
    (prop::collection::vec(0.0f64..100.0, 5), flows).prop_map(|(capacities, flows)| {
        let flows = flows.into_iter().map(|(weight, demand, uses)| flow(weight, demand, &uses)).collect();
        (capacities, flows)
    })
}

fn filled(capacities: &[f64], flows: &[Flow], shares: &[Share], capacity: usize) -> (f64, f64) {
    let used = flows.iter().zip(shares).flat_map(|(flow, share)| {
        flow.uses.iter().filter(|used| used.capacity == capacity).map(|used| used.per_unit * share.rate)
    });
    (used.sum(), capacities[capacity])
}

proptest! {
    #[test]
    fn no_capacity_is_overfilled_and_every_flow_is_stopped_by_something_that_is_full((capacities, flows) in networks()) {
        let shares = max_min(&capacities, &flows);
        for capacity in 0..capacities.len() {
            let (used, there) = filled(&capacities, &flows, &shares, capacity);
            prop_assert!(used <= there * (1.0 + 1e-9) + 1e-9, "{} of {}", used, there);
        }
        for (flow, share) in flows.iter().zip(&shares) {
            match share.stop {
                Stop::Demand => prop_assert!((share.rate - flow.demand.unwrap()).abs() <= 1e-9 * share.rate),
                Stop::Capacity(capacity) => {
                    let (used, there) = filled(&capacities, &flows, &shares, capacity);
                    prop_assert!(used >= there * (1.0 - 1e-9) - 1e-9, "{} of {}", used, there);
                }
                Stop::Nothing => prop_assert!(false, "every flow uses something"),
            }
        }
    }

    /// The definition: at the capacity that stops a flow, no other flow has a higher level (rate over weight).
    #[test]
    fn nobody_has_more_where_somebody_is_stopped((capacities, flows) in networks()) {
        let shares = max_min(&capacities, &flows);
        for (flow, share) in flows.iter().zip(&shares) {
            let Stop::Capacity(capacity) = share.stop else { continue };
            for (other, its) in flows.iter().zip(&shares) {
                if other.uses.iter().any(|used| used.capacity == capacity) {
                    prop_assert!(its.rate / other.weight <= share.rate / flow.weight * (1.0 + 1e-6) + 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_larger_capacity_never_lowers_the_lowest_level_nor_a_flow_that_is_alone(
        (capacities, flows) in networks(), which in 0usize..5, more in 0.0f64..50.0
    ) {
        let mut larger = capacities.clone();
        larger[which] += more;
        let lowest = |capacities: &[f64]| {
            let shares = max_min(capacities, &flows);
            let levels = shares.iter().zip(&flows);
            levels.map(|(share, flow)| share.rate / flow.weight).fold(f64::INFINITY, f64::min)
        };
        prop_assert!(lowest(&larger) >= lowest(&capacities) * (1.0 - 1e-9));
        let alone = &flows[..1];
        prop_assert!(rates(&larger, alone)[0] >= rates(&capacities, alone)[0] * (1.0 - 1e-12));
    }

    #[test]
    fn the_order_of_flows_does_not_matter((capacities, flows) in networks()) {
        let forth = rates(&capacities, &flows);
        let back: Vec<Flow> = flows.iter().rev().cloned().collect();
        for (a, b) in forth.iter().zip(rates(&capacities, &back).iter().rev()) {
            prop_assert!((a - b).abs() <= 1e-9 * a.abs() + 1e-12, "{} {}", a, b);
        }
    }
}
