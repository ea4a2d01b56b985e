//! What encryption adds to one I/O: the time in the cipher, and the hand-offs between threads.
//!
//! dm-crypt by default queues each request to a worker and back: [`HAND_OFF_AWAKE`] while the workers do not sleep (a RAM
//! disk never lets them: 147 MB/s in each direction at 4 KiB, 13.9 µs for each I/O of which 6.4 without queues;
//! `same_cpu_crypt` 136 and `submit_from_crypt_cpus` 166 hand over as often; Cloudflare 2020), [`HAND_OFF_ASLEEP`]
//! when they sleep in between, as they do at depth 1 on a real drive (38 µs, Tiger Lake, dm-devel
//! `20201130144826.GC4327@casper.infradead.org`) or in a virtual machine (35 to 41 µs, dm-devel
//! `20200706173731.3734-1-ignat@cloudflare.com`). `no_read_workqueue` and `no_write_workqueue` remove them (Linux 5.9).
//! [`MAPPING`] stays: the target, its bio and its sector loop. Sectors of 512 bytes cost 1.2 to 1.5 times as much cipher
//! time for each byte as large ones (E. Biggers, `lkml.org` 2403.3/11828); [`SMALL_SECTORS`] is the middle.
//!
//! Expected error ±15 % where the cipher's rate is known; the hand-offs alone vary by 25 %.

use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// Handing one I/O to a worker and back while workers are awake.
pub const HAND_OFF_AWAKE: Nanos = Nanos::new(7500);

/// Handing one I/O to a sleeping worker and back.
pub const HAND_OFF_ASLEEP: Nanos = Nanos::new(38_000);

/// What the mapping takes without any hand-off.
pub const MAPPING: Nanos = Nanos::new(1500);

/// The cost of 512-byte sectors over that of the benchmark's large blocks.
pub const SMALL_SECTORS: f64 = 1.35;

/// How requests reach the cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// In the caller's or the interrupt's context.
    Inline,
    /// Through workers that have other work too.
    Awake,
    /// Through workers that sleep until this request.
    Asleep,
}

impl Queues {
    /// What handing one I/O over costs.
    pub const fn hand_off(self) -> Nanos {
        match self {
            Self::Inline => Nanos::new(0),
            Self::Awake => HAND_OFF_AWAKE,
            Self::Asleep => HAND_OFF_ASLEEP,
        }
    }
}

/// What encryption adds to one I/O of `size` when one core does `cipher` with large blocks.
pub fn added(size: Bytes, cipher: BytesPerSec, sector: Bytes, queues: Queues) -> Nanos {
    let factor = if sector.get() >= 4096 { 1.0 } else { SMALL_SECTORS };
    let cipher_time = if cipher.get() > 0.0 { size.as_f64() * factor / cipher.get() } else { f64::MAX };
    let fixed = MAPPING.get().saturating_add(queues.hand_off().get());
    // A cast from f64 saturates.
    Nanos::new(fixed.saturating_add((cipher_time * 1e9).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::io_cost;
    use proptest::prelude::*;

    /// Cloudflare: `cryptsetup benchmark` says 1724.4 MiB/s for 512b keys; reads and writes of 4 KiB by one job.
    #[test]
    fn a_ram_disk_under_dm_crypt_is_met() {
        let (block, cipher) = (Bytes::new(4096), BytesPerSec::from_mb(1808.0));
        let each_way = |queues| {
            let time = io_cost::memory_io(block).get() + added(block, cipher, Bytes::new(512), queues).get();
            4096.0 / (time as f64 * 1e-9) / 2.0
        };
        for (queues, measured) in
            [(Queues::Inline, 320e6), (Queues::Awake, 147e6), (Queues::Awake, 136e6), (Queues::Awake, 166e6)]
        {
            let error = each_way(queues) / measured - 1.0;
            assert!(error.abs() < 0.15, "{queues:?} {error:+.3}");
        }
    }

    /// Tiger Lake: 64 KiB at depth 1 go from 1.2 GB/s to 600 MB/s with a cipher of 4 GB/s.
    #[test]
    fn a_sleeping_worker_halves_a_laptop() {
        let block = Bytes::from_kib(64);
        let raw = 65_536.0 / 1.2e9;
        let time =
            raw + added(block, BytesPerSec::from_gb(4.0), Bytes::new(512), Queues::Asleep).as_secs_f64();
        assert!((65_536.0 / time / 600e6 - 1.0).abs() < 0.10);
    }

    proptest! {
        #[test]
        fn queues_never_help_and_larger_sectors_never_hurt(size in 512u64..4_194_304, cipher in 1e8..1e10f64) {
            let (size, cipher) = (Bytes::new(size), BytesPerSec::new(cipher));
            let of = |sector, queues| added(size, cipher, Bytes::new(sector), queues);
            prop_assert!(of(512, Queues::Inline) < of(512, Queues::Awake));
            prop_assert!(of(512, Queues::Awake) < of(512, Queues::Asleep));
            prop_assert!(of(4096, Queues::Awake) <= of(512, Queues::Awake));
        }
    }
}
