//! What a cache device gives: the mean of both by time.
//!
//! A byte is read from the cache with probability h, else from the backing device, one after the other:
//! 1/B = h/B_cache + (1 − h)/B_backing (the harmonic mean; J. Hennessy and D. Patterson, "Computer Architecture", average
//! memory access time). Exact for one reader and a known hit ratio. Sequential streams longer than
//! `sequential_cutoff` (4 MiB unless changed) pass the cache by, as does everything while the cache is congested (2 ms
//! for reads, 20 ms for writes; Linux `Documentation/admin-guide/bcache.rst`). Written data goes to both (writethrough,
//! the default) or to the cache until `writeback_percent` of it is dirty (writeback).

use narrows_base::units::{Bytes, BytesPerSec};

/// The default of `sequential_cutoff`.
pub const SEQUENTIAL_CUTOFF: Bytes = Bytes::from_mib(4);

/// What is read with hit ratio `hit` (0 to 1).
pub fn read(cache: BytesPerSec, backing: BytesPerSec, hit: f64) -> BytesPerSec {
    let hit = hit.clamp(0.0, 1.0);
    let part = |share: f64, rate: BytesPerSec| if share > 0.0 { share / rate.get() } else { 0.0 };
    let time = part(hit, cache) + part(1.0 - hit, backing);
    BytesPerSec::new(1.0 / time)
}

/// What is written: to the cache alone (writeback with room), or to both.
pub fn write(cache: BytesPerSec, backing: BytesPerSec, writeback: bool) -> BytesPerSec {
    if writeback { cache } else { cache.min(backing) }
}

/// Whether a sequential stream of `length` passes the cache by under the default cutoff.
pub fn passes_by(length: Bytes) -> bool {
    length > SEQUENTIAL_CUTOFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_of_the_reads_on_a_disk_are_nearly_a_disk() {
        let (ssd, disk) = (BytesPerSec::from_mb(500.0), BytesPerSec::from_mb(100.0));
        assert!((read(ssd, disk, 0.5).get() / 166.7e6 - 1.0).abs() < 1e-3);
        assert_eq!(write(ssd, disk, false), disk);
        assert_eq!(write(ssd, disk, true), ssd);
        assert!(passes_by(Bytes::from_mib(5)) && !passes_by(Bytes::from_mib(1)));
    }

    proptest! {
        #[test]
        fn the_mean_lies_between_both_and_grows_with_hits(cache in 1e6..1e10f64, share in 0.001..1.0f64, hit in 0.0..0.99f64) {
            let (cache, backing) = (BytesPerSec::new(cache), BytesPerSec::new(cache * share));
            let rate = read(cache, backing, hit).get();
            prop_assert!(rate <= cache.get() * (1.0 + 1e-9) && rate >= backing.get() * (1.0 - 1e-9));
            prop_assert!(read(cache, backing, hit + 0.01).get() >= rate * (1.0 - 1e-12));
        }
    }
}
