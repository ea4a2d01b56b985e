//! Storage that keeps copies on several hosts: what its networks allow.
//!
//! Clients read what the networks of all hosts carry together, and no more than all drives. A write is sent once for each
//! copy: the networks' sum over the copies (vitastor, `docs/performance`, "theoretical performance"). Erasure coding with d
//! data and p parity parts writes (d + p)/d. Reads that a host serves itself do not cross the network; published clusters
//! do not show that gain (16.25 GB/s of 18.75 raw with a third local), so it is only taken when `local` is given.
//! Expected error ±10 % with RDMA (16.25 and 7.88 GB/s of three hosts with 2 × 25 Gbit/s); with TCP and no more than
//! 25 Gbit/s a port up to +35 %, for processors limit first.

use narrows_base::units::BytesPerSec;

/// What clients read: `network` of each of `hosts`, at most `drives` of each; `local` of the reads stay on their host.
pub fn read(network: BytesPerSec, drives: BytesPerSec, hosts: u32, local: f64) -> BytesPerSec {
    let remote = (1.0 - local.clamp(0.0, 1.0)).max(1e-9);
    (network / remote).min(drives) * f64::from(hosts)
}

/// What clients write when each byte is written `amplification` times (copies, or (d + p)/d).
pub fn write(network: BytesPerSec, drives: BytesPerSec, hosts: u32, amplification: f64) -> BytesPerSec {
    network.min(drives) * f64::from(hosts) / amplification.max(1.0)
}

/// How often erasure coding writes a byte.
pub fn erasure(data: u32, parity: u32) -> f64 {
    f64::from(data + parity) / f64::from(data.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::fabric;
    use narrows_base::units::{BitsPerSec, Bytes};
    use proptest::prelude::*;

    #[test]
    fn a_cluster_of_three_was_measured() {
        let line = BitsPerSec::new(50e9);
        let network =
            fabric::goodput(line, fabric::Transport::RoceV2, fabric::Storage::None, Bytes::new(1500));
        let drives = BytesPerSec::from_gb(26.4);
        assert!((read(network, drives, 3, 0.0).get() / 16.25e9 - 1.0).abs() < 0.10);
        assert!((write(network, drives, 3, 2.0).get() / 7.88e9 - 1.0).abs() < 0.12);
        assert!((erasure(4, 2) - 1.5).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn copies_cost_and_hosts_add(network in 1e8..1e11f64, drives in 1e8..1e11f64, hosts in 1u32..64, local in 0.0..1.0f64) {
            let (network, drives) = (BytesPerSec::new(network), BytesPerSec::new(drives));
            prop_assert!(write(network, drives, hosts, 3.0) < write(network, drives, hosts, 2.0));
            prop_assert!(read(network, drives, hosts + 1, local) > read(network, drives, hosts, local));
            prop_assert!(read(network, drives, hosts, local) >= read(network, drives, hosts, 0.0));
        }
    }
}
