//! What a network interface carries.
//!
//! TCP: each frame of MTU + 38 bytes on the wire (preamble 8, header 14, checksum 4, gap 12) carries MTU − 52 of data
//! (IPv4 20, TCP 20, timestamps 12). RDMA over Ethernet: packets of 1024 or 4096 bytes with 82 around them (Ethernet 18
//! and preamble and gap 20, IPv4 20, UDP 8, base header 12, checksum 4). Storage protocols add less than 0.1 % and are not
//! counted. Valid for large transfers over enough connections; expected error −1 % to +1 % (2.35 of 2.5 Gbit/s,
//! 1172 MB/s of 1177 over iSCSI). One connection often stays below because of its processor.

use super::{Basis, Ceilings, FactRef, Limit};
use crate::path::NetworkHop;
use narrows_base::units::{Bytes, BytesPerSec};

/// Bytes on the wire around the packet of one Ethernet frame.
const FRAME: f64 = 38.0;

/// Bytes of IPv4, TCP and its timestamp option in each packet.
const TCP: f64 = 52.0;

/// Bytes on the wire around the payload of one RoCEv2 packet.
const ROCE: f64 = 82.0;

/// The MTU of Ethernet when nothing else is said.
const USUAL_MTU: Bytes = Bytes::new(1500);

/// The ceilings of a network interface, the same in both directions.
pub fn of_network(hop: &NetworkHop) -> Ceilings {
    let Some(&speed) = hop.speed.value().filter(|speed| speed.get() > 0.0) else {
        let why = hop.speed.missing().unwrap_or_else(|| "it says 0".to_owned());
        return Ceilings::unknown(format!("the line rate of {} is not known: {why}", hop.interface));
    };
    let (mtu, assumed) = match hop.mtu.value() {
        Some(&mtu) if mtu.get() > 200 => (mtu, ""),
        _ => (USUAL_MTU, " (assumed)"),
    };
    let raw: BytesPerSec = speed.bytes_per_sec();
    let (share, packets) = match hop.protocol.as_deref() {
        Some(protocol) if protocol.contains("rdma") => rdma_share(mtu),
        _ => tcp_share(mtu),
    };
    let rate = raw * share;
    let bond = match hop.members {
        0 | 1 => String::new(),
        members => format!("; {members} links together, of which one connection uses one"),
    };
    let formula = format!("{speed} ÷ 8 = {raw} raw; {packets} leave {rate}{bond}");
    let facts = vec![
        FactRef::new("line rate", speed, hop.speed.source()),
        FactRef::new("MTU", format!("{} B{assumed}", mtu.get()), hop.mtu.source()),
    ];
    Ceilings::same(Limit { rate, raw: Some(raw), basis: Basis::Formula, formula, facts })
}

fn tcp_share(mtu: Bytes) -> (f64, String) {
    let (data, wire) = (mtu.as_f64() - TCP, mtu.as_f64() + FRAME);
    (data / wire, format!("Ethernet, IP and TCP headers (×{data:.0}/{wire:.0})"))
}

/// RDMA packets are the largest power of two that fits the MTU with its headers; the common ones are 1024 and 4096.
fn rdma_share(mtu: Bytes) -> (f64, String) {
    let payload = if mtu.get() >= 4200 { 4096.0 } else { 1024.0 };
    (payload / (payload + ROCE), format!("RoCE packets (×{payload:.0}/{:.0})", payload + ROCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::Ceiling;
    use narrows_base::fact::Fact;
    use narrows_base::units::{BitsPerSec, human};
    use proptest::prelude::*;

    fn nic(gigabits: f64, mtu: u64, protocol: &str) -> NetworkHop {
        NetworkHop {
            interface: "eth0".to_owned(),
            speed: Fact::known(BitsPerSec::new(gigabits * 1e9), "/sys/class/net/eth0/speed"),
            mtu: Fact::known(Bytes::new(mtu), "/sys/class/net/eth0/mtu"),
            protocol: Some(protocol.to_owned()),
            ..NetworkHop::default()
        }
    }

    fn megabytes(hop: &NetworkHop) -> f64 {
        of_network(hop).read.rate().expect("known").get() / 1e6
    }

    #[test]
    fn tcp_goodput_is_that_of_the_published_table() {
        // By hand: Gbit/s × 125 × 1448/1538, and × 8948/9038.
        for (gigabits, mtu, want) in [
            (1.0, 1500, 117.7),
            (2.5, 1500, 294.2),
            (10.0, 1500, 1176.9),
            (25.0, 1500, 2942.1),
            (40.0, 1500, 4707.4),
            (1.0, 9000, 123.8),
            (10.0, 9000, 1237.6),
            (25.0, 9000, 3093.9),
        ] {
            assert!((megabytes(&nic(gigabits, mtu, "nfs")) - want).abs() < 0.1, "{gigabits} {mtu}");
        }
    }

    #[test]
    fn published_measurements_lie_within_1_percent() {
        assert!((megabytes(&nic(2.5, 1500, "tcp")) / (2350.0 / 8.0) - 1.0).abs() < 0.01);
        assert!((megabytes(&nic(10.0, 1500, "iscsi")) / 1172.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn rdma_has_its_own_packets() {
        // 12.5 GB/s × 1024/1106 and × 4096/4178.
        assert_eq!(
            of_network(&nic(100.0, 1500, "nvme-rdma")).read.rate().map(human::rate).as_deref(),
            Some("11.6 GB/s")
        );
        assert_eq!(
            of_network(&nic(100.0, 9000, "nvme-rdma")).read.rate().map(human::rate).as_deref(),
            Some("12.3 GB/s")
        );
    }

    #[test]
    fn an_interface_without_line_rate_is_unknown_and_one_without_mtu_is_assumed() {
        assert!(matches!(of_network(&NetworkHop::default()).read, Ceiling::Unknown(_)));
        assert!(matches!(of_network(&nic(0.0, 1500, "nfs")).read, Ceiling::Unknown(_)));
        let blind = NetworkHop { mtu: Fact::default(), ..nic(1.0, 0, "nfs") };
        let limit = of_network(&blind).read.limit().cloned().expect("known");
        assert!(limit.facts.iter().any(|fact| fact.value == "1500 B (assumed)"));
    }

    proptest! {
        #[test]
        fn a_larger_mtu_never_carries_less_and_goodput_stays_below_the_line(
            gigabits in 0.1f64..400.0, mtu in 576u64..9000
        ) {
            let (small, large) = (megabytes(&nic(gigabits, mtu, "nfs")), megabytes(&nic(gigabits, mtu + 1, "nfs")));
            prop_assert!(large > small && large < gigabits * 125.0);
        }
    }
}
