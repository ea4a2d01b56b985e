//! Writes into a fast cache (pseudo-SLC) and after it.
//!
//! Writing V bytes takes min(V, cache)/fast + max(0, V − cache)/steady (piecewise; exact for a known cache that was empty).
//! What the rates are a drive's data sheet or a review tells: over whole drives of TLC 480 MB/s (A2000 1 TB), 582 (NV2 1 TB), 830
//! (FX900 1 TB), 1000 (P5 1 TB), 1514 (NM800 Pro 2 TB), 2300 (A440 Pro 2 TB) and 3100 (M480 Play 2 TB; all techpowerup.com/review) are
//! published, and one and the same FX900 makes 830 there and 1540 at guru3d.com. QLC drives make 120 to 300 over all of them (MP44S,
//! FX700, P1: techpowerup.com; P41 Plus: guru3d.com). That is why a class of drives has no law for long writes.

use narrows_base::units::{Bytes, BytesPerSec};

/// The mean rate of writing `volume`.
pub fn mean_rate(volume: Bytes, cache: Bytes, fast: BytesPerSec, steady: BytesPerSec) -> BytesPerSec {
    let within = volume.min(cache).as_f64();
    let beyond = volume.saturating_sub(cache).as_f64();
    let part = |bytes: f64, rate: BytesPerSec| if bytes > 0.0 { bytes / rate.get() } else { 0.0 };
    let time = part(within, fast) + part(beyond, steady);
    if time > 0.0 { BytesPerSec::new(volume.as_f64() / time) } else { fast }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fill_was_measured() {
        // HP FX700 2 TB: techpowerup.com gives 168 MB/s over all of it; 54 GB at 5, 406 at 3.5 GB/s, then 130 MB/s.
        let gigabytes = |count: u64| Bytes::new(count * 1_000_000_000);
        let fast = BytesPerSec::from_mb(3700.0);
        let whole = mean_rate(gigabytes(2000), gigabytes(460), fast, BytesPerSec::from_mb(130.0));
        assert!((whole.get() / 168e6 - 1.0).abs() < 0.03, "{whole}");
        assert_eq!(mean_rate(Bytes::new(0), gigabytes(1), fast, fast), fast);
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_both_and_falls_with_the_volume(
            volume in 1u64..4_000_000_000_000, cache in 0u64..1_000_000_000_000, steady in 1e7..1e9f64
        ) {
            let (fast, slow) = (BytesPerSec::new(5e9), BytesPerSec::new(steady));
            let rate = mean_rate(Bytes::new(volume), Bytes::new(cache), fast, slow).get();
            prop_assert!(rate <= 5e9 * (1.0 + 1e-9) && rate >= steady * (1.0 - 1e-9));
            prop_assert!(mean_rate(Bytes::new(volume * 2), Bytes::new(cache), fast, slow).get() <= rate * (1.0 + 1e-9));
        }
    }
}
