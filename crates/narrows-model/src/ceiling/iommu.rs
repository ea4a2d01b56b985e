//! What address translation for devices costs.
//!
//! Each DMA looks its page up in a cache of translations (IOTLB) that reaches about [`REACH`] with 4 KiB pages on Xeons of
//! 2012 to 2016. While a transfer's buffers fit it, nothing is lost. Beyond, small transfers wait: at random addresses in
//! a large window 64-byte reads kept 0.35 of their rate, 256-byte reads 0.72, 512 bytes 0.975 (8 GT/s x8,
//! `pcie-bench/data`; Neugebauer et al., SIGCOMM 2018, section 6.5). [`kept`] is a page walk of `WALK` for each
//! transaction, hidden behind `HIDDEN` others, as those three give it within 10 %. Large pages lose nothing. At 200
//! Gbit/s up to 20 % was lost with packets of 1500 bytes (A. Farshin et al., PeerJ CS 2023), which this does not predict.

use narrows_base::units::{Bytes, BytesPerSec};

/// What the cache of translations reaches with 4 KiB pages.
pub const REACH: Bytes = Bytes::from_kib(256);

/// A page walk, seconds.
const WALK: f64 = 330e-9;

/// Transactions among which a walk is hidden.
const HIDDEN: f64 = 6.3;

/// The share of `rate` that transfers of `size` keep within a `window` of addresses.
pub fn kept(rate: BytesPerSec, size: Bytes, window: Bytes, large_pages: bool) -> f64 {
    if large_pages || window <= REACH || rate.get() <= 0.0 {
        return 1.0;
    }
    let transfer = size.as_f64() / rate.get();
    let walk = WALK / HIDDEN;
    // Walks overlap with transfers: the longer of both is seen.
    (transfer / walk).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_random_reads_lose_most() {
        let window = Bytes::from_mib(64);
        for (gigabits, size, measured) in [(28.4, 64, 9.8), (46.7, 256, 33.6), (55.0, 512, 53.6)] {
            let rate = BytesPerSec::new(gigabits * 1e9 / 8.0);
            let got = gigabits * kept(rate, Bytes::new(size), window, false);
            assert!((got / measured - 1.0).abs() < 0.2, "{size}: {got} {measured}");
        }
        assert_eq!(kept(BytesPerSec::from_gb(7.0), Bytes::new(64), REACH, false), 1.0);
        assert_eq!(kept(BytesPerSec::from_gb(7.0), Bytes::new(64), window, true), 1.0);
    }

    proptest! {
        #[test]
        fn a_share_is_a_share_and_grows_with_size(rate in 1e6..1e11f64, size in 64u64..65_536) {
            let of = |size| kept(BytesPerSec::new(rate), Bytes::new(size), Bytes::from_mib(64), false);
            prop_assert!(of(size) > 0.0 && of(size) <= 1.0 && of(size + 1) >= of(size));
        }
    }
}
