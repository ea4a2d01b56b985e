//! What encryption adds to one I/O: the time in the cipher, and the hand-offs between threads.
//!
//! dm-crypt by default queues each request to a worker and back: [`HAND_OFF_AWAKE`] while the workers do not sleep (a RAM
//! disk never lets them: 147 MB/s in each direction at 4 KiB, 13.9 µs for each I/O of which 6.4 without queues;
//! `same_cpu_crypt` 136 and `submit_from_crypt_cpus` 166 hand over as often; Cloudflare 2020), [`HAND_OFF_ASLEEP`]
//! when they sleep in between, as they do at depth 1 on a real drive (38 µs, Tiger Lake, dm-devel
//! `20201130144826.GC4327@casper.infradead.org`; 15 for a read and 24 for a write, EPYC 7402P, scs.community 2023/02/24) or in a
//! virtual machine (35 to 41 µs, dm-devel `20200706173731.3734-1-ignat@cloudflare.com`): the mean of the three.
//! `no_read_workqueue` and `no_write_workqueue` remove them (Linux 5.9).
//! [`MAPPING`] stays: the target, its bio and its sector loop. Sectors of 512 bytes cost 1.2 to 1.5 times as much cipher
//! time for each byte as large ones (E. Biggers, `lkml.org` 2403.3/11828); [`SMALL_SECTORS`] is the middle.
//!
//! One block is worked on by one core, however large it is (Linux commit `0d815e3400e6`: kernels before 6.11 do not split it:
//! 512 KiB then go at 0.83 of the rate of 128 KiB). With sectors of 512 bytes what lies beyond [`LARGE`] costs [`BEYOND_LARGE`] for
//! each byte on top: 1 MiB alone under way took 1.1 and 1.7 ms more than without dm-crypt (EPYC 7402P, reads and writes through
//! queues, scs.community 2023/02/24), and 0.75 and 0.8 ms without queues (long-cat.net 2024/05/09), where the cipher alone is
//! 0.45 ms. 0.3 to 1.2 ns for each byte were left for it; mitigations of the processor, of which no key tells, may be most of that.
//! Of large sectors nothing is published, so nothing is added.
//!
//! Expected error ±15 % where the cipher's rate is known; the hand-offs alone vary by 25 %. Blocks beyond 128 KiB: −30 … +40 %.

use narrows_base::units::{Bytes, BytesPerSec, Nanos};

/// Handing one I/O to a worker and back while workers are awake.
pub const HAND_OFF_AWAKE: Nanos = Nanos::new(7500);

/// Handing one I/O to a sleeping worker and back.
pub const HAND_OFF_ASLEEP: Nanos = Nanos::new(30_000);

/// What the mapping takes without any hand-off.
pub const MAPPING: Nanos = Nanos::new(1500);

/// The cost of 512-byte sectors over that of the benchmark's large blocks.
pub const SMALL_SECTORS: f64 = 1.35;

/// Bytes of a block that cost no more than those of a small one.
pub const LARGE: Bytes = Bytes::from_kib(128);

/// What each byte beyond [`LARGE`] costs on top of the cipher with sectors of 512 bytes, nanoseconds.
pub const BEYOND_LARGE: f64 = 0.6;

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
    let is_long = sector.get() >= 4096;
    let factor = if is_long { 1.0 } else { SMALL_SECTORS };
    let cipher_time = if cipher.get() > 0.0 { size.as_f64() * factor / cipher.get() } else { f64::MAX };
    let beyond = if is_long { 0.0 } else { size.saturating_sub(LARGE).as_f64() * BEYOND_LARGE };
    let fixed = MAPPING.get().saturating_add(queues.hand_off().get());
    // A cast from f64 saturates.
    Nanos::new(fixed.saturating_add((cipher_time * 1e9 + beyond).round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::{cipher, io_cost};
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

    /// 1 MiB, one under way or one core at work: microseconds with dm-crypt, and without it where that was measured, or what the link takes.
    #[test]
    fn a_large_block_takes_one_core_for_long() {
        for (bits_128, gigahertz, queues, with, without) in [
            (true, 3.35, Queues::Asleep, 1597.0, 520.0),
            (true, 3.35, Queues::Asleep, 1837.0, 476.0),
            (true, 3.35, Queues::Asleep, 2166.0, 510.0),
            (false, 4.8, Queues::Inline, 928.0, 180.0),
            (false, 4.8, Queues::Inline, 807.0, 4.0),
        ] {
            let core = cipher::AesCore { cycles_per_round: 0.5, gigahertz };
            let cipher = cipher::xts_rate(core, if bits_128 { 256 } else { 512 }, cipher::AF_ALG);
            let added = added(Bytes::from_mib(1), cipher, Bytes::new(512), queues).as_secs_f64() * 1e6;
            let rate = with / (without + added);
            assert!((0.7..1.5).contains(&rate), "{with}: {rate:.3}");
        }
        let long = |size| added(size, BytesPerSec::from_gb(1.0), Bytes::from_kib(4), Queues::Inline).get();
        assert_eq!(long(Bytes::from_mib(1)) - long(Bytes::from_kib(128)), (1 << 20) - (128 << 10));
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
