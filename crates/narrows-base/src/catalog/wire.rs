//! What ports of InfiniBand and Fibre Channel carry, by the names of their generations.

use crate::units::{BitsPerSec, BytesPerSec};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_of_infiniband_have_their_rates() {
        assert_eq!(infiniband("edr"), Some(BitsPerSec::new(100e9)));
        assert_eq!(infiniband("HDR100"), infiniband("EDR"));
        assert_eq!(infiniband("Ethernet"), None);
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
}
