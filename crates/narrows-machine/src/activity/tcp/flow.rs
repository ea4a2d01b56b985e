//! Single connections, as the side that sends sees them.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use nix::sys::socket::AddressFamily;

use super::{INET_DIAG_INFO, MESSAGE, SOCK_DIAG_BY_FAMILY, ask, attributes, long, messages, state};
use narrows_base::units::{Bytes, Nanos};

/// One connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Our end.
    pub local: SocketAddr,
    /// The other.
    pub remote: SocketAddr,
    /// Smoothed round-trip time, `tcpi_rtt`.
    pub round_trip: Nanos,
    /// The least one seen, `tcpi_min_rtt`.
    pub least_round_trip: Nanos,
    /// Time with data on its way, `tcpi_busy_time`.
    pub busy: Nanos,
    /// Of that, time in which the window of the receiver was the limit, `tcpi_rwnd_limited`.
    pub window_limited: Nanos,
    /// Bytes that were sent and acknowledged, `tcpi_bytes_acked`.
    pub sent: Bytes,
    /// Bytes received, `tcpi_bytes_received`.
    pub received: Bytes,
    /// Segments sent again, `tcpi_total_retrans`.
    pub retransmitted: u64,
}

/// The established connections of this machine of which either end has one of these ports.
pub fn flows(ports: &BTreeSet<u16>) -> Vec<Flow> {
    if ports.is_empty() {
        return Vec::new();
    }
    let families = [AddressFamily::Inet, AddressFamily::Inet6].into_iter();
    let answers = families.flat_map(|family| ask(family as u8).unwrap_or_default());
    answers.flat_map(|answer| collect(&answer, ports)).collect()
}

fn collect(answer: &[u8], ports: &BTreeSet<u16>) -> Vec<Flow> {
    let connections = messages(answer).filter(|(kind, _)| *kind == SOCK_DIAG_BY_FAMILY);
    let is_asked = |flow: &Flow| ports.contains(&flow.local.port()) || ports.contains(&flow.remote.port());
    connections.filter_map(|(_, message)| flow(message)).filter(is_asked).collect()
}

/// From a `struct inet_diag_msg` and its attributes: ports at 4 and 6, addresses at 8 and 24, all in network order.
fn flow(message: &[u8]) -> Option<Flow> {
    let end = |port_at: usize, address_at: usize| {
        let port = u16::from_be_bytes(*message.get(port_at..)?.first_chunk()?);
        let address = message.get(address_at..)?;
        let address = match i32::from(*message.first()?) {
            nix::libc::AF_INET => IpAddr::V4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
            _ => IpAddr::V6(Ipv6Addr::from(*address.first_chunk::<16>()?)).to_canonical(),
        };
        Some(SocketAddr::new(address, port))
    };
    let (_, info) = attributes(message.get(MESSAGE..)?).find(|(kind, _)| *kind == INET_DIAG_INFO)?;
    let known = state(info)?;
    // Times in microseconds; Linux has them since 4.10, and older ones answer with less.
    let micros = |at: usize| Some(Nanos::new(wide(info, at)?.saturating_mul(1000)));
    Some(Flow {
        local: end(4, 8)?,
        remote: end(6, 24)?,
        round_trip: known.round_trip,
        least_round_trip: known.least_round_trip,
        busy: micros(168)?,
        window_limited: micros(176)?,
        sent: Bytes::new(wide(info, 120)?),
        received: known.received,
        retransmitted: u64::from(long(info, 100)?),
    })
}

fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_ends_of_a_connection_on_this_machine_are_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("has one").port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).expect("connects");
        let (mut server, _) = listener.accept().expect("accepts");
        server.write_all(&[7; 1000]).expect("sends");
        client.read_exact(&mut [0; 1000]).expect("reads");
        let look = || {
            let found = flows(&BTreeSet::from([port]));
            assert_eq!(found.len(), 2, "{found:?}");
            found
        };
        // What was read may be acknowledged some milliseconds later.
        let mut found = look();
        while found.iter().all(|flow| flow.sent.get() < 1000) {
            found = look();
        }
        let sender = found.iter().find(|flow| flow.local.port() == port).expect("the server's end");
        assert_eq!(sender.remote.port(), client.local_addr().expect("has one").port());
        assert_eq!(sender.sent.get() / 100, 10, "{sender:?}");
        let receiver = found.iter().find(|flow| flow.remote.port() == port).expect("the client's end");
        assert_eq!((receiver.received, receiver.busy), (Bytes::new(1000), Nanos::new(0)));
        assert!(flows(&BTreeSet::new()).is_empty());
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = (collect(&bytes, &BTreeSet::from([0])), flow(&bytes));
        }
    }
}
