//! Limits that somebody set: virtual machines and volumes with capped IOPS and throughput.
//!
//! A token bucket (QEMU throttling, cgroup `io.max`, clouds) lets I/Os and bytes pass at most at its rates, so with blocks
//! of `size` the rate is min(throughput, IOPS × size): exact once the bucket's burst is spent. Machines with caps share
//! what is below them; together they get min(count × cap, shared).

use narrows_base::units::{Bytes, BytesPerSec, Iops};

/// A cap; what is `None` is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cap {
    /// I/Os a second.
    pub iops: Option<Iops>,
    /// Bytes a second.
    pub rate: Option<BytesPerSec>,
}

impl Cap {
    /// What passes with blocks of `size`; `None` when nothing is limited.
    pub fn passes(&self, size: Bytes) -> Option<BytesPerSec> {
        let by_iops = self.iops.map(|iops| BytesPerSec::new(iops.get() * size.as_f64()));
        match (by_iops, self.rate) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        }
    }
}

/// What `count` machines with this cap get together of something that carries `shared`.
pub fn together(cap: Cap, count: u32, size: Bytes, shared: BytesPerSec) -> BytesPerSec {
    cap.passes(size).map_or(shared, |each| (each * f64::from(count)).min(shared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_blocks_meet_the_iops_and_large_ones_the_throughput() {
        let cap = Cap { iops: Some(Iops::new(10_000.0)), rate: Some(BytesPerSec::from_mb(250.0)) };
        assert_eq!(cap.passes(Bytes::new(4096)), Some(BytesPerSec::new(40.96e6)));
        assert_eq!(cap.passes(Bytes::from_mib(1)), Some(BytesPerSec::from_mb(250.0)));
        assert_eq!(Cap::default().passes(Bytes::new(4096)), None);
    }

    proptest! {
        #[test]
        fn together_never_more_than_shared(iops in 1.0..1e6f64, count in 1u32..100, shared in 1e6..1e10f64) {
            let cap = Cap { iops: Some(Iops::new(iops)), rate: None };
            let shared = BytesPerSec::new(shared);
            let size = Bytes::new(4096);
            prop_assert!(together(cap, count, size, shared) <= shared);
            prop_assert!(together(cap, count + 1, size, shared) >= together(cap, count, size, shared));
        }
    }
}
