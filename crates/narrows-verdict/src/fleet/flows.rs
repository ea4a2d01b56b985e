//! Which connections are congested, and what that set names.
//!
//! A sender always has data on its way when a queue between it and the receiver is full, and every segment then waits in that
//! queue. So the hop is named by the set of congested connections: all of a server's, its network card; one client's, that client's
//! card; those of some clients with equal round trips, what these have in common on the way. Tried with shaped bridges (one server, six
//! clients): busy shares of 98 % and more against 0 to 10 %, round trips of 8 to 17 ms against 0.05 to 0.25 ms.

use std::collections::BTreeSet;

use narrows_base::lists::ends;

use super::samples::FlowActivity;

/// A connection that is busy for this share of the time has a full queue ahead of it, or a receiver that is slow.
const BUSY: f64 = 0.8;
/// Where the receiver's window is the limit for this share of the time, the receiver is slow.
const WINDOW: f64 = 0.5;
/// A queue makes the round trip this many times the least one of all connections.
const QUEUED: u64 = 3;
/// A queue that limits is the longest there is: what waits for less than this part of the longest round trip waits for processors and
/// late acknowledgements.
const OF_LONGEST: u64 = 4;
/// Round trips through one queue differ by no more than this factor.
const EQUAL: f64 = 2.0;

/// What carries data between a client and a server, seen by the sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The client, by its place.
    pub client: usize,
    /// The server, by its place among the servers.
    pub server: usize,
    /// What the sender saw.
    pub seen: FlowActivity,
    /// Whether the client gets all that was asked for, so that nothing on its way limits it, however long segments wait.
    pub is_capped: bool,
}

/// The hop that the set of congested connections names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Congested {
    /// No connection is congested.
    None,
    /// All connections of these servers, and no others.
    Servers(BTreeSet<usize>),
    /// Those of some clients, through one queue.
    Between(BTreeSet<usize>),
    /// Those of one client, or of some with a queue each.
    Clients(BTreeSet<usize>),
    /// Those of one client that a server serves alone, or of some with a queue and a server each: either side may be full.
    EitherSide(BTreeSet<usize>),
}

impl Flow {
    /// Whether a full queue is on its way, among all connections.
    pub fn is_congested(&self, among: &[Self]) -> bool {
        let least = among.iter().map(|flow| flow.seen.least_rtt.get()).min().unwrap_or(0).max(1);
        let longest = among.iter().map(|flow| flow.seen.rtt.get()).max().unwrap_or(0);
        let is_queued = self.seen.rtt.get() >= least.saturating_mul(QUEUED).max(longest / OF_LONGEST);
        !self.is_capped && self.seen.busy >= BUSY && self.seen.window_limited < WINDOW && is_queued
    }
}

/// Names the hop.
pub fn congested(flows: &[Flow]) -> Congested {
    let set = |of: fn(&Flow) -> usize, is_full: bool| -> BTreeSet<usize> {
        flows.iter().filter(|flow| flow.is_congested(flows) == is_full).map(of).collect()
    };
    let (clients, free_clients) = (set(|flow| flow.client, true), set(|flow| flow.client, false));
    let (servers, free_servers) = (set(|flow| flow.server, true), set(|flow| flow.server, false));
    if clients.is_empty() {
        return Congested::None;
    }
    let full = flows.iter().filter(|flow| flow.is_congested(flows));
    let rtts: Vec<f64> = full.map(|flow| flow.seen.rtt.get() as f64).collect();
    let is_one_queue = ends(&rtts).is_some_and(|[low, high]| high <= low * EQUAL);
    let is_whole = servers.is_disjoint(&free_servers);
    let are_pairs = is_whole && serves_one_each(flows, &servers);
    let is_all = free_clients.is_empty() && free_servers.is_empty();
    match () {
        () if is_all && (clients.len() == 1 || !is_one_queue && servers.len() == 1) => {
            Congested::EitherSide(clients)
        }
        // No connection of these servers is free, though the clients may have free ones to others.
        () if is_whole && !are_pairs && clients.len() > 1 => Congested::Servers(servers),
        () if is_one_queue && clients.len() > 1 => Congested::Between(clients),
        () if are_pairs => Congested::EitherSide(clients),
        () => Congested::Clients(clients),
    }
}

/// Whether each of these servers has one client. Then all connections of a server are those of one client, and tell its card from the
/// client's no more.
pub fn serves_one_each(flows: &[Flow], servers: &BTreeSet<usize>) -> bool {
    let clients =
        |server: usize| flows.iter().filter(move |flow| flow.server == server).map(|flow| flow.client);
    servers.iter().all(|server| clients(*server).collect::<BTreeSet<usize>>().len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

    fn flow(client: usize, server: usize, busy: f64, rtt_us: u64) -> Flow {
        let (rtt, least_rtt) = (Nanos::new(rtt_us * 1000), Nanos::new(50_000));
        let seen = FlowActivity { busy, rtt, least_rtt, ..FlowActivity::default() };
        Flow { client, server, seen, is_capped: false }
    }

    fn six(busy: impl Fn(usize) -> (f64, u64)) -> Vec<Flow> {
        (0..6).map(|client| flow(client, 0, busy(client).0, busy(client).1)).collect()
    }

    fn clients(numbers: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        numbers.into_iter().collect()
    }

    // The four rows of what was measured on shaped bridges (module documentation).
    #[test]
    fn the_set_names_the_hop() {
        assert_eq!(congested(&six(|_| (0.06, 50))), Congested::None);
        assert_eq!(congested(&six(|_| (0.99, 11_000))), Congested::Servers(clients([0])));
        let trunk = six(|client| if client >= 3 { (0.99, 16_700 + client as u64 * 40) } else { (0.1, 250) });
        assert_eq!(congested(&trunk), Congested::Between(clients(3..6)));
        let one = six(|client| if client == 2 { (1.0, 8_000) } else { (0.05, 60) });
        assert_eq!(congested(&one), Congested::Clients(clients([2])));
    }

    #[test]
    fn a_slow_receiver_and_a_busy_sender_without_a_queue_are_no_congestion() {
        let mut slow = six(|_| (0.99, 11_000));
        slow.iter_mut().for_each(|flow| flow.seen.window_limited = 0.9);
        assert_eq!(congested(&slow), Congested::None);
        assert_eq!(congested(&six(|_| (0.99, 90))), Congested::None);
        assert_eq!(congested(&[]), Congested::None);
    }

    // As seen with one client behind 40 Mbit/s while the others, at a cap, were served by a busy processor.
    #[test]
    fn connections_that_wait_for_processors_are_not_congested() {
        let seen = [(0.98, 2_020), (0.76, 1_940), (1.0, 24_500), (0.03, 15)];
        let flows: Vec<Flow> =
            seen.iter().enumerate().map(|(client, (busy, rtt))| flow(client, 0, *busy, *rtt)).collect();
        assert_eq!(congested(&flows), Congested::Clients(clients([2])));
    }

    // As seen with six clients at a cap, of which one waited for the processors of both ends.
    #[test]
    fn a_client_that_gets_all_that_was_asked_for_is_not_congested() {
        let mut flows = six(|client| if client == 1 { (0.99, 3_790) } else { (0.3, 1_000) });
        assert_eq!(congested(&flows), Congested::Clients(clients([1])));
        flows.iter_mut().for_each(|flow| flow.is_capped = flow.client == 1);
        assert_eq!(congested(&flows), Congested::None);
    }

    #[test]
    fn one_client_alone_does_not_tell_the_sides_apart() {
        assert_eq!(congested(&[flow(0, 0, 1.0, 9_000)]), Congested::EitherSide(clients([0])));
        // Each its own queue.
        let each = six(|client| (0.99, 6_000 + 2_600 * (client as u64)));
        assert_eq!(congested(&each), Congested::EitherSide(clients(0..6)));
    }

    // As seen with three nodes that serve a client each, two of these behind a trunk.
    #[test]
    fn servers_with_one_client_each_are_not_named_for_what_their_clients_share() {
        let pairs = |rtts: [u64; 3]| -> Vec<Flow> {
            let busy = |rtt: u64| if rtt > 1000 { 0.99 } else { 0.2 };
            (0..3).zip(rtts).map(|(place, rtt)| flow(place, place, busy(rtt), rtt)).collect()
        };
        assert_eq!(congested(&pairs([9_000, 9_500, 200])), Congested::Between(clients([0, 1])));
        assert_eq!(congested(&pairs([9_000, 30_000, 200])), Congested::EitherSide(clients([0, 1])));
        assert_eq!(congested(&pairs([9_000, 200, 200])), Congested::EitherSide(clients([0])));
    }

    #[test]
    fn one_of_two_servers_is_full() {
        let mut flows = six(|_| (0.99, 11_000));
        flows.extend((0..6).map(|client| flow(client, 1, 0.05, 60)));
        assert_eq!(congested(&flows), Congested::Servers(clients([0])));
    }

    proptest! {
        #[test]
        fn nothing_that_is_free_is_ever_named(
            looks in prop::collection::vec((0usize..8, 0usize..3, 0.0f64..1.0, 50u64..20_000), 0..40),
        ) {
            let flows: Vec<Flow> =
                looks.into_iter().map(|(client, server, busy, rtt)| flow(client, server, busy, rtt)).collect();
            let full: BTreeSet<usize> = flows.iter().filter(|flow| flow.seen.busy >= BUSY).map(|flow| flow.client).collect();
            if let Congested::Between(named) | Congested::Clients(named) = congested(&flows) {
                prop_assert!(named.is_subset(&full));
            }
        }
    }
}
