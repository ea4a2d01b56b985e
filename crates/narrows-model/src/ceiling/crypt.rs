//! What dm-crypt carries.
//!
//! Share of the cipher's rate × rate on one core × cores at work. One submitter gets 0.90 of what `cryptsetup benchmark`
//! shows when it reads and 0.785 when it writes; fitted on a Ryzen 5 2600 with two SN770 (2511 and 2465 of 2723 MB/s read,
//! 2129 and 2147 written) and a laptop with a SATA drive (350 of 374 MB/s). Expected error ±6 % for one submitter and
//! large blocks. One dm-crypt device under one submitter keeps about one core busy, however many there are; several
//! submitters spread up to the number of cores. Not covered: small blocks at low depth, where the workqueues cost 20 to
//! 40 µs each way.

use super::{Basis, Ceiling, Ceilings, FactRef, Limit};
use crate::path::CryptHop;
use narrows_base::fact::Fact;
use narrows_base::units::{BytesPerSec, human};

/// What a reader gets of the cipher's rate.
pub const READ_SHARE: f64 = 0.90;

/// What a writer gets of the cipher's rate: it also copies into bounce pages.
pub const WRITE_SHARE: f64 = 0.785;

/// The ceilings of an encrypted mapping for one submitter.
pub fn of_crypt(hop: &CryptHop) -> Ceilings {
    with_submitters(hop, 1)
}

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
    let noun = if cores == 1 { "core" } else { "cores" };
    let source = hop.cipher.source();
    Ceiling::Known(Limit {
        rate,
        raw: None,
        basis,
        formula: format!(
            "{who} {verb} {} with a {} bit key at {per_core} on one core; × {cores} {noun} × {share} for dm-crypt = {rate}",
            cipher.cipher, cipher.key_bits
        ),
        facts: vec![
            FactRef::new("cipher rate", per_core, source),
            FactRef::new("sector size", human::block_size(cipher.sector_size), source),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Source;
    use narrows_base::units::Bytes;
    use narrows_machine::cipher::CipherRate;

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
        let ceilings = of_crypt(&hop(2566.2 * mib, 2596.5 * mib, Some("xts-aes-aesni")));
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
        let limit = of_crypt(&hop(1000.0, 1000.0, None)).read.limit().cloned().expect("known");
        assert_eq!(limit.basis, Basis::Guess);
        assert!(limit.formula.starts_with("an estimate outside the kernel"), "{}", limit.formula);
    }

    #[test]
    fn without_a_rate_it_is_unknown() {
        assert!(matches!(of_crypt(&CryptHop::default()).read, Ceiling::Unknown(_)));
        assert!(matches!(of_crypt(&hop(0.0, 1.0, None)).read, Ceiling::Unknown(_)));
    }

    #[test]
    fn a_table_that_only_root_may_read_says_so_first() {
        let table = Fact::Denied { source: Source::new("dm table of root"), need: "root".to_owned() };
        let hop = CryptHop { table, ..CryptHop::default() };
        assert_eq!(
            of_crypt(&hop),
            Ceilings::unknown("which cipher it uses needs root; `dm table of root` says it")
        );
    }
}
