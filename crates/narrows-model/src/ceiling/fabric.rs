//! What protocols leave of a wire: TCP, RDMA over Ethernet and over TCP, InfiniBand, and storage on top of them.
//!
//! Ethernet: MTU + 38 bytes on the wire (preamble 8, header 14, checksum 4, gap 12; IEEE 802.3). TCP carries MTU − 52 of
//! them (IPv4 20, TCP 20, timestamps 12; RFC 7323). RoCEv2: payloads of 1024 or 4096 with 82 around (IBTA, annex A17).
//! iWARP: TCP segments less 20 bytes (MPA 2 + 4, DDP and RDMAP 14; RFC 5040, 5041, 5044). InfiniBand: payloads of 4096
//! with 26 around (local header 8, base header 12, checksums 4 + 2; IBTA volume 1), after a line code that the rate of
//! a generation already has off. On top: iSCSI 48 bytes for each data segment (RFC 7143), NVMe/TCP 24 (NVMe/TCP
//! Transport Specification), SMB Direct 24 for each packet, all below 0.1 % of large transfers and charged.
//!
//! Measured within ±2.5 %: 2.35 of 2.5 Gbit/s, 9.52 of 10 in both directions, 1172 MB/s over iSCSI at 10 Gbit/s, 96.4
//! of 100 Gbit/s, 98.4 of 100 on EDR. File servers read 2 to 9 % below (1081, 1106, 1152 of 1177 MB/s). Valid for
//! reads and for enough connections; what a server does with writes (its commit, R2T round trips) is not covered: at 10
//! Gbit/s 523 to 742 MB/s were written over iSCSI.

use narrows_base::units::{BitsPerSec, Bytes, BytesPerSec, GtPerSec};

/// The MTU of Ethernet when nobody said another.
pub const USUAL_MTU: Bytes = Bytes::new(1500);

/// What is carried by a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// TCP over IPv4 with timestamps.
    Tcp,
    /// RDMA over UDP.
    RoceV2,
    /// RDMA over TCP.
    Iwarp,
    /// RDMA over InfiniBand.
    InfiniBand,
}

/// A storage protocol on top of a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storage {
    /// None: sockets or verbs.
    None,
    /// iSCSI.
    Iscsi,
    /// NVMe over TCP, or over RDMA.
    NvmeOf,
    /// SMB, or SMB Direct over RDMA.
    Smb,
    /// NFS.
    Nfs,
}

/// The share of the line rate that is data of the transport.
pub fn share(transport: Transport, mtu: Bytes) -> f64 {
    let mtu = mtu.as_f64().max(576.0);
    match transport {
        Transport::Tcp => (mtu - 52.0) / (mtu + 38.0),
        Transport::Iwarp => (mtu - 72.0) / (mtu + 38.0),
        Transport::RoceV2 => {
            let payload = if mtu >= 4200.0 { 4096.0 } else { 1024.0 };
            payload / (payload + 82.0)
        }
        Transport::InfiniBand => 4096.0 / (4096.0 + 26.0),
    }
}

/// The share of the transport's data that is data of the storage protocol, in segments of 64 KiB.
pub fn storage_share(storage: Storage) -> f64 {
    let segment = 65_536.0;
    let header = match storage {
        Storage::None => 0.0,
        Storage::Iscsi => 48.0,
        Storage::NvmeOf => 24.0,
        Storage::Smb => 64.0,
        Storage::Nfs => 120.0,
    };
    segment / (segment + header)
}

/// What a wire of `line` carries of data in one direction.
pub fn goodput(line: BitsPerSec, transport: Transport, storage: Storage, mtu: Bytes) -> BytesPerSec {
    let raw: BytesPerSec = line.bytes_per_sec();
    raw * share(transport, mtu) * storage_share(storage)
}

/// The rate after line code of an InfiniBand 4x port by the name of its generation (IBTA): SDR 8, DDR 16, QDR 32, FDR10
/// 40, FDR 54.5, EDR 100, HDR 200, NDR 400 Gbit/s. HDR100 is two lanes of HDR.
pub fn infiniband(generation: &str) -> Option<BitsPerSec> {
    let gigabits = match generation.to_ascii_uppercase().as_str() {
        "SDR" => 8.0,
        "DDR" => 16.0,
        "QDR" => 32.0,
        "FDR10" => 40.0,
        "FDR" => 54.55,
        "EDR" | "HDR100" => 100.0,
        "HDR" | "NDR200" => 200.0,
        "NDR" => 400.0,
        "XDR" => 800.0,
        _ => return None,
    };
    Some(BitsPerSec::new(gigabits * 1e9))
}

/// What a Fibre Channel port of this generation carries of data in one direction, 4 for 4GFC: 100 MB/s for each, at every
/// generation. Up to 8GFC that is 0.8 of a line of 1.0625 Gbit/s for each (8b/10b); 16GFC and 32GFC run 14.025 and 28.05
/// Gbit/s with 64b/66b, 64GFC 57.8 Gbit/s with 256b/257b and error correction (FC-PI-5, FC-PI-6, FC-PI-7; FCIA, "Fibre
/// Channel Roadmap", column of throughput). `None` for numbers that name no generation.
pub fn fibre_channel(generation: u32) -> Option<BytesPerSec> {
    let is_known = generation.is_power_of_two() && generation <= 128;
    is_known.then(|| BytesPerSec::new(f64::from(generation) * 100e6))
}

/// What a card gets of its slot, as TCP data: frames with their descriptors (see
/// [`super::pcie::packets::Wire::frames_received`]) at `slot`, the link's rate for packets with skip sets off, and
/// MTU − 52 bytes of data in each frame of MTU + 14.
///
/// 3.26, 3.1 and 3.07 Gbit/s were measured at 5 GT/s x1 with 128-byte payloads, 13.9 at x4: ±10 %.
pub fn in_slot(raw: BytesPerSec, payload: Bytes, mtu: Bytes) -> BytesPerSec {
    let frame = mtu.as_f64() + 14.0;
    let packets = (frame / payload.as_f64().max(64.0)).ceil();
    let header = super::pcie::rate::WRITE_OVERHEAD;
    let descriptor = 16.0 + header;
    let on_link = frame + packets * header + descriptor;
    raw * super::pcie::rate::SKIP_FACTOR * ((mtu.as_f64() - 52.0).max(0.0) / on_link)
}

/// Payloads that are assumed for a card when nobody read them: 128 bytes up to 5 GT/s, 256 above.
pub fn usual_payload(speed: GtPerSec) -> Bytes {
    Bytes::new(if speed > GtPerSec::GEN2 { 256 } else { 128 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn gigabits(line: f64, transport: Transport, mtu: u64) -> f64 {
        let line = BitsPerSec::new(line * 1e9);
        goodput(line, transport, Storage::None, Bytes::new(mtu)).get() * 8.0 / 1e9
    }

    #[test]
    fn published_measurements_are_met() {
        for (got, measured, within) in [
            (gigabits(2.5, Transport::Tcp, 1500), 2.35, 0.01),
            (gigabits(10.0, Transport::Tcp, 1500), 9.52, 0.015),
            (gigabits(40.0, Transport::Tcp, 1500), 36.0, 0.05),
            (gigabits(100.0, Transport::Tcp, 1500), 96.4, 0.03),
            (gigabits(100.0, Transport::InfiniBand, 4096), 98.4, 0.015),
        ] {
            assert!((got / measured - 1.0).abs() < within, "{got} {measured}");
        }
        let iscsi = goodput(BitsPerSec::new(10e9), Transport::Tcp, Storage::Iscsi, USUAL_MTU).get();
        assert!((iscsi / 1172e6 - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_card_in_a_narrow_slot_is_met() {
        for (raw, payload, measured) in
            [(0.5e9, 128, 3.26), (0.5e9, 128, 3.07), (0.5e9, 128, 3.1), (2e9, 128, 13.9)]
        {
            let rate = in_slot(BytesPerSec::new(raw), Bytes::new(payload), USUAL_MTU).get() * 8e-9;
            assert!((rate / measured - 1.0).abs() < 0.11, "{rate} {measured}");
        }
    }

    #[test]
    fn generations_of_infiniband_have_their_rates() {
        assert_eq!(infiniband("edr"), Some(BitsPerSec::new(100e9)));
        assert_eq!(infiniband("HDR100"), infiniband("EDR"));
        assert_eq!(infiniband("Ethernet"), None);
        assert_eq!(usual_payload(GtPerSec::GEN2), Bytes::new(128));
    }

    #[test]
    fn generations_of_fibre_channel_have_their_rates() {
        // Lines of 8.5, 14.025 and 28.05 Gbit/s after 8b/10b and 64b/66b, of which frames of 2112 of 2148 bytes and gaps of
        // 24 bytes leave 95 to 97 %.
        for (generation, line) in [(8, 8.5 * 0.8), (16, 14.025 * 64.0 / 66.0), (32, 28.05 * 64.0 / 66.0)] {
            let frames = line * 1e9 / 8.0 * 2112.0 / (2148.0 + 24.0);
            let rate = fibre_channel(generation).unwrap().get();
            assert!((rate / frames - 1.0).abs() < 0.04, "{generation}: {rate} {frames}");
        }
        assert_eq!(fibre_channel(10), None);
        assert_eq!(fibre_channel(0), None);
    }

    proptest! {
        #[test]
        fn no_protocol_adds_and_a_larger_mtu_never_hurts(mtu in 576u64..9000, raw in 1e8..1e11f64) {
            for transport in [Transport::Tcp, Transport::RoceV2, Transport::Iwarp, Transport::InfiniBand] {
                let (small, large) = (share(transport, Bytes::new(mtu)), share(transport, Bytes::new(mtu + 1)));
                prop_assert!(small > 0.0 && large < 1.0 && small <= large);
            }
            prop_assert!(share(Transport::Iwarp, Bytes::new(mtu)) < share(Transport::Tcp, Bytes::new(mtu)));
            let slot = in_slot(BytesPerSec::new(raw), Bytes::new(256), Bytes::new(mtu));
            prop_assert!(slot.get() < raw);
            for storage in [Storage::Iscsi, Storage::NvmeOf, Storage::Smb, Storage::Nfs] {
                prop_assert!(storage_share(storage) < storage_share(Storage::None));
            }
        }
    }
}
