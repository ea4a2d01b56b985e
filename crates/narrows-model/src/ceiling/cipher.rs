//! How fast one core encrypts, from what its instructions do.
//!
//! AES works on 16 bytes in 10 (128-bit key) or 14 rounds (256-bit key); a core with AES instructions starts one round in
//! `r` cycles (its reciprocal throughput, `uops.info`; A. Fog, instruction tables). XTS takes two keys, so "aes-xts 512b"
//! has 14 rounds and "256b" 10. `cryptsetup benchmark` moves 64 KiB through the kernel's AF_ALG and back, which costs
//! [`AF_ALG`] for each byte on top:
//!
//! 1/C = rounds × r / (16 × f) + 0.225 ns
//!
//! | core | r | f | key | measured | law |
//! |---|---|---|---|---|---|
//! | Core i7-4720HQ (jo-so.de 2017) | 1 | 3.6 | 512b, 256b | 2101, 2732 MB/s | +2 %, −8 % |
//! | Ryzen 5 2600 (linuxreviews.org, 5.12) | 0.5 | 3.9 | 512b, 256b | 2723, 3090 | +9 %, +6 % |
//! | Apple M1 (linsk issue 37) | 0.25 | 3.2 | 256b | 3758 | −3 % |
//! | Cortex-A76 (gitbls/sdm issue 199) | 1 | 2.4 | 256b | 1821 | +13 % |
//!
//! Each of the four leaves 0.19 to 0.28 ns for AF_ALG; the mean of the others predicts it within 15 %. Expected error ±15 %;
//! software AES without instructions, VAES (Linux 6.10 and newer, 2.3 to 2.6 times as fast: E. Biggers, `lkml.org` 2403.3/11828) and
//! kernels that called the cipher through retpolines (4.15 to 5.11, 0.61 of the rate on one Ryzen 2600) are not covered.

use narrows_base::units::BytesPerSec;

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
    use proptest::prelude::*;

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
