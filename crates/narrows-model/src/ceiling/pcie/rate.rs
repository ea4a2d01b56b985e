//! The arithmetic of a PCI Express link: transfers per second to bytes of payload per second.
//!
//! Sources: PCI Express Base Specification (line codes; framing of transaction layer packets; SKP ordered sets);
//! R. Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018, and its model
//! `pcie-bench/pcie-model` (sizes of headers). Measured on NVMe drives at queue depth 8 and more, from 2.0 x1 to
//! 5.0 x4, the usable rate is met within −3 % to +1.5 %.

use narrows_base::units::{Bytes, BytesPerSec, GtPerSec, Lanes};

/// Bytes around the payload of a memory write with a 64-bit address: framing, sequence number and LCRC (8), header
/// (16). Gen3 and later frame differently, in as many bytes.
pub const WRITE_OVERHEAD: f64 = 24.0;

/// Bytes around the payload of a completion: framing, sequence number and LCRC (8), header (12).
pub const COMPLETION_OVERHEAD: f64 = 20.0;

/// What SKP ordered sets leave: 4 bytes of every 1538 on each lane go to clock compensation.
pub const SKIP_FACTOR: f64 = 1.0 - 4.0 / 1538.0;

/// The smallest Max_Payload_Size and Max_Read_Request_Size that the specification allows, in bytes.
pub const MIN_PAYLOAD: u64 = 128;

/// The largest of both that the specification allows, in bytes.
pub const MAX_PAYLOAD: u64 = 4096;

/// What a line code leaves of its bits: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, 242 of every 256 bytes of a
/// FLIT at 64 GT/s. `None` for a rate that PCI Express does not know.
pub const fn encoding(speed: GtPerSec) -> Option<(u32, u32)> {
    match speed.pcie_generation() {
        Some(1 | 2) => Some((8, 10)),
        Some(3..=5) => Some((128, 130)),
        Some(6) => Some((242, 256)),
        _ => None,
    }
}

/// The rate of a link in one direction after its line code and before packets; `None` for a rate that PCI Express
/// does not know.
pub fn raw(speed: GtPerSec, width: Lanes) -> Option<BytesPerSec> {
    let (data, line) = encoding(speed)?;
    let bits = f64::from(speed.mega()) * 1e6 * f64::from(width.get());
    Some(BytesPerSec::new(bits * f64::from(data) / f64::from(line) / 8.0))
}

/// What is left of `raw` for data that the device writes to host memory (a read of a drive, a packet received): every
/// `payload` bytes carry [`WRITE_OVERHEAD`].
///
/// Acknowledgements and flow control are not charged: they travel the other way, which is otherwise idle.
pub fn device_to_host(raw: BytesPerSec, payload: Bytes) -> BytesPerSec {
    raw * SKIP_FACTOR * payload_share(payload, WRITE_OVERHEAD)
}

/// What is left of `raw` for data that the device reads from host memory (a write to a drive, a packet sent): the
/// data comes as completions of `payload` bytes, each with [`COMPLETION_OVERHEAD`].
///
/// `payload` is the smaller of Max_Payload_Size and Max_Read_Request_Size, since a completion is never longer than
/// what was asked for. The requests travel the other way, 24 bytes for each Max_Read_Request_Size, and never limit.
/// Not covered: a device with too few tags for its round trip (tags × request ÷ round trip below the link's rate),
/// and root ports that cut completions at 64 bytes.
pub fn host_to_device(raw: BytesPerSec, payload: Bytes) -> BytesPerSec {
    raw * SKIP_FACTOR * payload_share(payload, COMPLETION_OVERHEAD)
}

fn payload_share(payload: Bytes, overhead: f64) -> f64 {
    payload.as_f64() / (payload.as_f64() + overhead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn megabytes(generation: u8, lanes: u8, payload: u64) -> (f64, f64) {
        let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
        let raw = raw(speed, Lanes::new(lanes)).expect("a PCIe rate");
        (raw.get() / 1e6, device_to_host(raw, Bytes::new(payload)).get() / 1e6)
    }

    /// Raw rates are those of the PCI-SIG tables; usable ones were worked out by hand as
    /// raw × 1534/1538 × MPS/(MPS+24) and rounded to 1 MB/s.
    #[test]
    fn every_generation_and_width_has_its_hand_computed_rates() {
        type Row = (u8, u8, f64, [f64; 3]);
        let table: [Row; 21] = [
            (1, 1, 250.0, [210.0, 228.0, 238.0]),
            (1, 4, 1000.0, [840.0, 912.0, 953.0]),
            (1, 8, 2000.0, [1680.0, 1824.0, 1905.0]),
            (2, 1, 500.0, [420.0, 456.0, 476.0]),
            (2, 2, 1000.0, [840.0, 912.0, 953.0]),
            (2, 4, 2000.0, [1680.0, 1824.0, 1905.0]),
            (2, 8, 4000.0, [3360.0, 3648.0, 3811.0]),
            (2, 16, 8000.0, [6719.0, 7295.0, 7622.0]),
            (3, 1, 985.0, [827.0, 898.0, 938.0]),
            (3, 2, 1969.0, [1654.0, 1796.0, 1876.0]),
            (3, 4, 3938.0, [3308.0, 3592.0, 3752.0]),
            (3, 8, 7877.0, [6616.0, 7183.0, 7505.0]),
            (3, 16, 15754.0, [13232.0, 14366.0, 15009.0]),
            (4, 1, 1969.0, [1654.0, 1796.0, 1876.0]),
            (4, 2, 3938.0, [3308.0, 3592.0, 3752.0]),
            (4, 4, 7877.0, [6616.0, 7183.0, 7505.0]),
            (4, 8, 15754.0, [13232.0, 14366.0, 15009.0]),
            (4, 16, 31508.0, [26464.0, 28732.0, 30019.0]),
            (5, 4, 15754.0, [13232.0, 14366.0, 15009.0]),
            (5, 16, 63015.0, [52928.0, 57464.0, 60037.0]),
            (6, 4, 30250.0, [25407.0, 27585.0, 28820.0]),
        ];
        for (generation, lanes, want_raw, usable) in table {
            for (payload, want) in [128, 256, 512].into_iter().zip(usable) {
                let (raw, got) = megabytes(generation, lanes, payload);
                assert!((raw - want_raw).abs() < 1.0, "{generation}.0 x{lanes}: raw {raw}");
                // The hand computation used 0.9974 for 1534/1538, hence the tolerance of 2 in 60 000.
                assert!(
                    (got - want).abs() < 1.0 + want * 2e-5,
                    "{generation}.0 x{lanes} MPS {payload}: {got}"
                );
            }
        }
    }

    /// Published measurements of drives that saturate their link, and the error they allow.
    #[test]
    fn drives_that_saturate_their_link_are_predicted_within_the_stated_error() {
        let cases = [
            // generation, lanes, MPS, measured MB/s: Compute Module 4 with four drives (Geerling).
            (2, 1, 128, 414.0),
            (2, 1, 128, 416.0),
            (2, 1, 128, 417.0),
            (2, 1, 128, 418.0),
            // ODROID-H2 (ThomasKaiser/Knowledge), 970 EVO Plus (VeraCrypt issue 136), SN770 on a Ryzen 2600.
            (2, 4, 128, 1731.7),
            (3, 4, 256, 3577.0),
            (3, 4, 256, 3600.0),
            // Ten drives on a Threadripper Pro (Poder), a 4.0 drive under dm-crypt inline, 980 Pro.
            (4, 4, 256, 7087.0),
            (4, 4, 256, 7096.0),
            (4, 4, 256, 7100.0),
        ];
        for (generation, lanes, payload, measured) in cases {
            let (_, predicted) = megabytes(generation, lanes, payload);
            let error = predicted / measured - 1.0;
            assert!((-0.031..=0.015).contains(&error), "{generation}.0 x{lanes}: {error:+.3}");
        }
    }

    #[test]
    fn a_dma_read_of_3_0_x8_stays_5_percent_above_what_a_nic_measures() {
        // Netronome NFP-6000, 2 KiB DMA reads, 55.3 to 55.6 Gbit/s (pcie-bench/data).
        let raw = raw(GtPerSec::GEN3, Lanes::new(8)).expect("a PCIe rate");
        let gigabits = host_to_device(raw, Bytes::new(256)).get() * 8.0 / 1e9;
        assert!((58.1..58.4).contains(&gigabits), "{gigabits}");
    }

    #[test]
    fn a_rate_that_pcie_does_not_know_has_no_raw_rate() {
        assert_eq!(raw(GtPerSec::from_mega(25_000), Lanes::new(8)), None);
    }

    proptest! {
        #[test]
        fn more_lanes_and_larger_payloads_never_lower_the_rate_and_usable_stays_below_raw(
            generation in 1u8..=6, lanes in 1u8..16, exponent in 7u32..12
        ) {
            let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
            let payload = Bytes::new(1 << exponent);
            let wire = raw(speed, Lanes::new(lanes)).expect("a PCIe rate");
            let wider = raw(speed, Lanes::new(lanes + 1)).expect("a PCIe rate");
            for usable in [device_to_host, host_to_device] {
                prop_assert!(usable(wire, payload) < wire);
                prop_assert!(usable(wider, payload) > usable(wire, payload));
                prop_assert!(usable(wire, Bytes::new(2 << exponent)) > usable(wire, payload));
            }
        }
    }
}
