//! What dm-crypt carries, what it adds to one I/O, and how fast one core encrypts.

use super::{Basis, Ceiling, Ceilings, FactRef, Limit};
use crate::path::CryptHop;
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};

// What dm-crypt carries.
//
// Share of the cipher's rate × rate on one core × cores at work. One submitter gets 0.90 of what `cryptsetup benchmark`
// shows when it reads and 0.785 when it writes; fitted on a Ryzen 5 2600 with two SN770 (2511 and 2465 of 2723 MB/s read,
// 2129 and 2147 written) and a laptop with a SATA drive (350 of 374 MB/s). Expected error ±6 % for one submitter and
// large blocks. One dm-crypt device under one submitter keeps about one core busy, however many there are; several
// submitters spread up to the number of cores. Not covered: small blocks at low depth, where the workqueues cost 20 to
// 40 µs each way.

/// What a reader gets of the cipher's rate.
pub const READ_SHARE: f64 = 0.90;

/// What a writer gets of the cipher's rate: it also copies into bounce pages.
pub const WRITE_SHARE: f64 = 0.785;

/// The ceilings of an encrypted mapping for `submitters` threads that read or write at the same time, on as many
/// cores as there are.
pub fn with_submitters(hop: &CryptHop, submitters: u32) -> Ceilings {
    let Some(cipher) = hop.cipher.value() else { return Ceilings::unknown(why_unknown(hop)) };
    let cores = submitters.clamp(1, hop.cores.max(1));
    Ceilings {
        read: limit(hop, cipher.decrypt, READ_SHARE, cores, "decrypts"),
        write: limit(hop, cipher.encrypt, WRITE_SHARE, cores, "encrypts"),
    }
}

/// Why the cipher has no rate: most often its table was not read, and then nobody could ask for a probe.
fn why_unknown(hop: &CryptHop) -> String {
    match (&hop.table, hop.cipher.missing()) {
        (Fact::Denied { source, need }, _) => {
            format!("which cipher it uses needs {need}; `{source}` says it")
        }
        (table, _) if table.value().is_none() => {
            format!("which cipher it uses is not known; {}", table.missing().unwrap_or_default())
        }
        (_, why) => format!("the rate of its cipher is not known; {}", why.unwrap_or_default()),
    }
}

fn limit(hop: &CryptHop, per_core: BytesPerSec, share: f64, cores: u32, verb: &str) -> Ceiling {
    let Some(cipher) = hop.cipher.value().filter(|_| per_core.get() > 0.0) else {
        return Ceiling::Unknown("the probe of its cipher gave no rate".to_owned());
    };
    let rate = per_core * share * f64::from(cores);
    let (who, basis) = match &cipher.driver {
        Some(driver) => (format!("the kernel's `{driver}`"), Basis::Measured),
        None => ("an estimate outside the kernel".to_owned(), Basis::Guess),
    };
    let cores = human::counted(cores, "core");
    let source = hop.cipher.source();
    let formula = format!(
        "{who} {verb} {} with a {} bit key at {per_core} on one core; × {cores} × {share} for dm-crypt = {rate}",
        cipher.cipher, cipher.key_bits
    );
    let facts = vec![
        FactRef::new("cipher rate", per_core, source),
        FactRef::new("sector size", human::block_size(cipher.sector_size), source),
    ];
    Ceiling::Known(Limit { rate, raw: None, basis, formula, facts })
}

// What encryption adds to one I/O: the time in the cipher, and the hand-offs between threads.
//
// dm-crypt by default queues each request to a worker and back: `HAND_OFF_AWAKE` while the workers do not sleep (a RAM
// disk never lets them: 147 MB/s in each direction at 4 KiB, 13.9 µs for each I/O of which 6.4 without queues;
// `same_cpu_crypt` 136 and `submit_from_crypt_cpus` 166 hand over as often; Cloudflare 2020), `HAND_OFF_ASLEEP`
// when they sleep in between, as they do at depth 1 on a real drive (38 µs, Tiger Lake, dm-devel
// `20201130144826.GC4327@casper.infradead.org`; 15 for a read and 24 for a write, EPYC 7402P, scs.community 2023/02/24) or in a
// virtual machine (35 to 41 µs, dm-devel `20200706173731.3734-1-ignat@cloudflare.com`): the mean of the three.
// `no_read_workqueue` and `no_write_workqueue` remove them (Linux 5.9).
// `MAPPING` stays: the target, its bio and its sector loop. Sectors of 512 bytes cost 1.2 to 1.5 times as much cipher
// time for each byte as large ones (E. Biggers, `lkml.org` 2403.3/11828); `SMALL_SECTORS` is the middle.
//
// One block is worked on by one core, however large it is (Linux commit `0d815e3400e6`: kernels before 6.11 do not split it:
// 512 KiB then go at 0.83 of the rate of 128 KiB). With sectors of 512 bytes what lies beyond `LARGE` costs `BEYOND_LARGE` for
// each byte on top: 1 MiB alone under way took 1.1 and 1.7 ms more than without dm-crypt (EPYC 7402P, reads and writes through
// queues, scs.community 2023/02/24), and 0.75 and 0.8 ms without queues (long-cat.net 2024/05/09), where the cipher alone is
// 0.45 ms. 0.3 to 1.2 ns for each byte were left for it; mitigations of the processor, of which no key tells, may be most of that.
// Of large sectors nothing is published, so nothing is added.
//
// Expected error ±15 % where the cipher's rate is known; the hand-offs alone vary by 25 %. Blocks beyond 128 KiB: −30 … +40 %.

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
pub enum CryptQueues {
    /// In the caller's or the interrupt's context.
    Inline,
    /// Through workers that have other work too.
    Awake,
    /// Through workers that sleep until this request.
    Asleep,
}

impl CryptQueues {
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
pub fn added_time(size: Bytes, cipher: BytesPerSec, sector: Bytes, queues: CryptQueues) -> Nanos {
    let is_long = sector.get() >= 4096;
    let factor = if is_long { 1.0 } else { SMALL_SECTORS };
    let cipher_time = if cipher.get() > 0.0 { size.as_f64() * factor / cipher.get() } else { f64::MAX };
    let beyond = if is_long { 0.0 } else { size.saturating_sub(LARGE).as_f64() * BEYOND_LARGE };
    let fixed = MAPPING.get().saturating_add(queues.hand_off().get());
    // A cast from f64 saturates.
    Nanos::new(fixed.saturating_add((cipher_time * 1e9 + beyond).round() as u64))
}

// How fast one core encrypts, from what its instructions do.
//
// AES works on 16 bytes in 10 (128-bit key) or 14 rounds (256-bit key); a core with AES instructions starts one round in
// `r` cycles (its reciprocal throughput, `uops.info`; A. Fog, instruction tables). XTS takes two keys, so "aes-xts 512b"
// has 14 rounds and "256b" 10. `cryptsetup benchmark` moves 64 KiB through the kernel's AF_ALG and back, which costs
// `AF_ALG` for each byte on top:
//
// 1/C = rounds × r / (16 × f) + 0.225 ns
//
// | core | r | f | key | measured | law |
// |---|---|---|---|---|---|
// | Core i7-4720HQ (jo-so.de 2017) | 1 | 3.6 | 512b, 256b | 2101, 2732 MB/s | +2 %, −8 % |
// | Ryzen 5 2600 (linuxreviews.org, 5.12) | 0.5 | 3.9 | 512b, 256b | 2723, 3090 | +9 %, +6 % |
// | Apple M1 (linsk issue 37) | 0.25 | 3.2 | 256b | 3758 | −3 % |
// | Cortex-A76 (gitbls/sdm issue 199) | 1 | 2.4 | 256b | 1821 | +13 % |
//
// Each of the four leaves 0.19 to 0.28 ns for AF_ALG; the mean of the others predicts it within 15 %. Expected error ±15 %;
// software AES without instructions, VAES (Linux 6.10 and newer, 2.3 to 2.6 times as fast: E. Biggers, `lkml.org` 2403.3/11828) and
// kernels that called the cipher through retpolines (4.15 to 5.11, 0.61 of the rate on one Ryzen 2600) are not covered.

/// What AF_ALG and its copies cost, nanoseconds for each byte.
pub const AF_ALG: f64 = 0.225;

/// A core that has AES instructions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AesCore {
    /// Cycles between two rounds that it starts.
    pub cycles_per_round: f64,
    /// Its clock with one core at work, GHz.
    pub gigahertz: f64,
}

/// The rounds of AES with this XTS key, both halves together: 10 for 256 bits, 14 for 512.
pub const fn rounds(xts_key_bits: u32) -> u32 {
    match xts_key_bits {
        0..=256 => 10,
        257..=384 => 12,
        _ => 14,
    }
}

/// What one core encrypts or decrypts with XTS, `overhead` nanoseconds for each byte on top ([`AF_ALG`]).
pub fn xts_rate(core: AesCore, xts_key_bits: u32, overhead: f64) -> BytesPerSec {
    if core.gigahertz <= 0.0 {
        return BytesPerSec::new(0.0);
    }
    let nanoseconds = f64::from(rounds(xts_key_bits)) * core.cycles_per_round / (16.0 * core.gigahertz);
    BytesPerSec::new(1e9 / (nanoseconds + overhead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ceiling::queueing;
    use narrows_base::fact::Source;
    use narrows_base::units::Bytes;
    use narrows_machine::cipher::CipherRate;
    use proptest::prelude::*;

    fn hop(decrypt: f64, encrypt: f64, driver: Option<&str>) -> CryptHop {
        let rate = CipherRate {
            cipher: "xts(aes)".to_owned(),
            key_bits: 512,
            sector_size: Bytes::new(512),
            decrypt: BytesPerSec::from_mb(decrypt),
            encrypt: BytesPerSec::from_mb(encrypt),
            driver: driver.map(str::to_owned),
        };
        CryptHop {
            cipher: Fact::known(rate, "probe cipher/xts(aes)/512/512"),
            cores: 6,
            ..CryptHop::default()
        }
    }

    /// Ryzen 5 2600: 2596.5 MiB/s encrypting and 2566.2 decrypting (linuxreviews.org, kernel 5.12) against LUKS on one
    /// SN770 (2511 read, 2129 written) and on RAID-0 (2465, 2147).
    #[test]
    fn the_plateau_of_luks_on_a_ryzen_2600_is_met_within_6_percent() {
        let mib = 1.048_576;
        let ceilings = with_submitters(&hop(2566.2 * mib, 2596.5 * mib, Some("xts-aes-aesni")), 1);
        for (ceiling, measured) in [(&ceilings.read, [2511e6, 2465e6]), (&ceilings.write, [2129e6, 2147e6])] {
            for measured in measured {
                let error = ceiling.rate().expect("known").get() / measured - 1.0;
                assert!(error.abs() < 0.06, "{error:+.3}");
            }
        }
        assert_eq!(ceilings.read.limit().map(|limit| limit.basis), Some(Basis::Measured));
    }

    #[test]
    fn submitters_add_up_to_the_number_of_cores() {
        let hop = hop(1000.0, 1000.0, Some("xts-aes-aesni"));
        let rate = |submitters| with_submitters(&hop, submitters).read.rate().map(human::rate);
        assert_eq!(rate(1).as_deref(), Some("900 MB/s"));
        assert_eq!(rate(4).as_deref(), Some("3.6 GB/s"));
        assert_eq!(rate(64).as_deref(), Some("5.4 GB/s"));
        assert_eq!(rate(0).as_deref(), Some("900 MB/s"));
    }

    #[test]
    fn an_estimate_outside_the_kernel_is_a_guess() {
        let limit = with_submitters(&hop(1000.0, 1000.0, None), 1).read.limit().cloned().expect("known");
        assert_eq!(limit.basis, Basis::Guess);
        assert!(limit.formula.starts_with("an estimate outside the kernel"), "{}", limit.formula);
    }

    #[test]
    fn without_a_rate_it_is_unknown() {
        assert!(matches!(with_submitters(&CryptHop::default(), 1).read, Ceiling::Unknown(_)));
        assert!(matches!(with_submitters(&hop(0.0, 1.0, None), 1).read, Ceiling::Unknown(_)));
    }

    #[test]
    fn a_table_that_only_root_may_read_says_so_first() {
        let table = Fact::Denied { source: Source::new("dm table of root"), need: "root".to_owned() };
        let hop = CryptHop { table, ..CryptHop::default() };
        assert_eq!(
            with_submitters(&hop, 1),
            Ceilings::unknown("which cipher it uses needs root; `dm table of root` says it")
        );
    }

    /// Cloudflare: `cryptsetup benchmark` says 1724.4 MiB/s for 512b keys; reads and writes of 4 KiB by one job.
    #[test]
    fn a_ram_disk_under_dm_crypt_is_met() {
        let (block, cipher) = (Bytes::new(4096), BytesPerSec::from_mb(1808.0));
        let each_way = |queues| {
            let time =
                queueing::memory_io(block).get() + added_time(block, cipher, Bytes::new(512), queues).get();
            4096.0 / (time as f64 * 1e-9) / 2.0
        };
        for (queues, measured) in [
            (CryptQueues::Inline, 320e6),
            (CryptQueues::Awake, 147e6),
            (CryptQueues::Awake, 136e6),
            (CryptQueues::Awake, 166e6),
        ] {
            let error = each_way(queues) / measured - 1.0;
            assert!(error.abs() < 0.15, "{queues:?} {error:+.3}");
        }
    }

    /// Tiger Lake: 64 KiB at depth 1 go from 1.2 GB/s to 600 MB/s with a cipher of 4 GB/s.
    #[test]
    fn a_sleeping_worker_halves_a_laptop() {
        let block = Bytes::from_kib(64);
        let raw = 65_536.0 / 1.2e9;
        let time = raw
            + added_time(block, BytesPerSec::from_gb(4.0), Bytes::new(512), CryptQueues::Asleep)
                .as_secs_f64();
        assert!((65_536.0 / time / 600e6 - 1.0).abs() < 0.10);
    }

    /// 1 MiB, one under way or one core at work: microseconds with dm-crypt, and without it where that was measured, or what the link takes.
    #[test]
    fn a_large_block_takes_one_core_for_long() {
        for (bits_128, gigahertz, queues, with, without) in [
            (true, 3.35, CryptQueues::Asleep, 1597.0, 520.0),
            (true, 3.35, CryptQueues::Asleep, 1837.0, 476.0),
            (true, 3.35, CryptQueues::Asleep, 2166.0, 510.0),
            (false, 4.8, CryptQueues::Inline, 928.0, 180.0),
            (false, 4.8, CryptQueues::Inline, 807.0, 4.0),
        ] {
            let core = AesCore { cycles_per_round: 0.5, gigahertz };
            let cipher = xts_rate(core, if bits_128 { 256 } else { 512 }, AF_ALG);
            let added = added_time(Bytes::from_mib(1), cipher, Bytes::new(512), queues).as_secs_f64() * 1e6;
            let rate = with / (without + added);
            assert!((0.7..1.5).contains(&rate), "{with}: {rate:.3}");
        }
        let long =
            |size| added_time(size, BytesPerSec::from_gb(1.0), Bytes::from_kib(4), CryptQueues::Inline).get();
        assert_eq!(long(Bytes::from_mib(1)) - long(Bytes::from_kib(128)), (1 << 20) - (128 << 10));
    }

    proptest! {
        #[test]
        fn queues_never_help_and_larger_sectors_never_hurt(size in 512u64..4_194_304, cipher in 1e8..1e10f64) {
            let (size, cipher) = (Bytes::new(size), BytesPerSec::new(cipher));
            let of = |sector, queues| added_time(size, cipher, Bytes::new(sector), queues);
            prop_assert!(of(512, CryptQueues::Inline) < of(512, CryptQueues::Awake));
            prop_assert!(of(512, CryptQueues::Awake) < of(512, CryptQueues::Asleep));
            prop_assert!(of(4096, CryptQueues::Awake) <= of(512, CryptQueues::Awake));
        }
    }

    const fn core(cycles_per_round: f64, gigahertz: f64) -> AesCore {
        AesCore { cycles_per_round, gigahertz }
    }

    #[test]
    fn published_cores_are_met_within_15_percent() {
        let mib = 1.048_576;
        for (core, key, measured) in [
            (core(1.0, 3.6), 512, 2004.1 * mib),
            (core(1.0, 3.6), 256, 2605.5 * mib),
            (core(0.5, 3.9), 512, 2596.5 * mib),
            (core(0.5, 3.9), 256, 2947.3 * mib),
            (core(0.25, 3.2), 256, 3583.5 * mib),
            (core(1.0, 2.4), 256, 1737.0 * mib),
        ] {
            let error = xts_rate(core, key, AF_ALG).get() / (measured * 1e6) - 1.0;
            assert!(error.abs() < 0.15, "{core:?} {key}: {error:+.3}");
        }
    }

    proptest! {
        #[test]
        fn longer_keys_and_slower_clocks_never_help(cycles in 0.1..4.0f64, clock in 0.5..6.0f64, overhead in 0.0..1.0f64) {
            let fast = xts_rate(core(cycles, clock), 256, overhead);
            prop_assert!(xts_rate(core(cycles, clock), 512, overhead) < fast);
            prop_assert!(xts_rate(core(cycles, clock * 1.1), 256, overhead) > fast);
        }
    }
}
