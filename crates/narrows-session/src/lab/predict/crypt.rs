//! What dm-crypt leaves of what lies below it.
//!
//! Two bounds. The cipher: its rate on one core, as [`crypt::with_submitters`] has it for as many threads as ask, and with
//! long sectors [`crypt_time::SMALL_SECTORS`] times as fast, but never above the cipher itself. The time: at low depth each
//! request takes the drive's time, the cipher's and the hand-over to the work queues, one after another
//! ([`crypt_time::added`], [`queueing::little`]). Without work queues the cipher runs in the thread that writes, and where
//! reads end; that is one core for one thread, too.
//!
//! Hand-overs vary by 25 % between machines and manyfold in virtual ones, so a mapping that was measured above a target that
//! takes no time is taken at its word instead.

use super::drive::find;
use super::{Carried, Narrow, processors};
use crate::lab::{Basis, CipherRate, Encryption};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::preset::LoadSpec;
use narrows_model::ceiling::{crypt, crypt_time, queueing};

/// What LUKS2 and VeraCrypt are made with here: AES-256 in XTS takes two keys of 256 bits.
const CIPHER: &str = "aes-xts-plain64";
const KEY_BITS: u32 = 512;

/// The cipher that the encryptions use; of several the one with their key.
fn cipher(basis: &Basis) -> Option<&CipherRate> {
    let named = |rate: &&CipherRate| rate.cipher == CIPHER && rate.key_bits == KEY_BITS;
    let usable = |rate: &&CipherRate| rate.decrypt.get() > 0.0 && rate.encrypt.get() > 0.0;
    basis.ciphers.iter().filter(usable).find(named).or_else(|| basis.ciphers.iter().find(usable))
}

/// How an encryption is set.
struct Setting {
    sector: Bytes,
    queues: bool,
}

const fn setting(encryption: Encryption) -> Option<Setting> {
    match encryption {
        Encryption::Plain => None,
        Encryption::Luks2 | Encryption::VeraCrypt => Some(Setting { sector: Bytes::new(512), queues: true }),
        Encryption::Luks2Tuned => Some(Setting { sector: Bytes::from_kib(4), queues: false }),
    }
}

/// The same below `encryption`, in one direction; `Err` when the cipher is not known.
pub(super) fn below(
    encryption: Encryption,
    carried: Carried,
    basis: &Basis,
    (test, load): (&str, &LoadSpec),
    writes: bool,
) -> Result<Carried, String> {
    let Some(setting) = setting(encryption) else { return Ok(carried) };
    if let Some(measured) = mapping(basis, encryption, test, load) {
        // The time of the generator is in what the drive gave, too.
        let twice = processors::generator_seconds(basis, test, load, load.block_size).unwrap_or(0.0);
        return Ok(as_measured(carried, measured, twice, load));
    }
    let cipher = cipher(basis).ok_or("the rate of the cipher on one core is not known")?;
    let (alone, share) =
        if writes { (cipher.encrypt, crypt::WRITE_SHARE) } else { (cipher.decrypt, crypt::READ_SHARE) };
    let long = setting.sector.get() >= 4096;
    let share = if long { (share * crypt_time::SMALL_SECTORS).min(1.0) } else { share };
    let cores = load.parallel.count().clamp(1, basis.cores.max(1));
    let rate = alone * share * f64::from(cores);
    let noun = if cores == 1 { "core" } else { "cores" };
    let bound =
        if cores == 1 { "the cipher on one core".to_owned() } else { format!("the cipher on {cores} cores") };
    let seconds = carried.seconds + added(load, alone, &setting);
    let crossings = carried.crossings;
    let mut narrow = Narrow::from(carried);
    let size = human::block_size(setting.sector);
    narrow.take(
        rate,
        &bound,
        format!("{} does {alone} on one core × {cores} {noun} × {share:.3} for dm-crypt with sectors of {size} = {rate}", cipher.cipher),
    );
    let depth = load.total_depth().max(1) as f64;
    let timely = BytesPerSec::new(queueing::little(depth, seconds).get() * load.block_size.as_f64());
    let time = human::time(Nanos::new((seconds * 1e9) as u64));
    narrow.take(
        timely,
        "the time of each request with dm-crypt",
        format!("{depth} at a time, each takes {time} with cipher and hand-over = {timely}"),
    );
    Ok(Carried { crossings, ..narrow.carried(seconds) })
}

/// What the same mapping gave above nothing, where that was measured.
fn mapping(basis: &Basis, encryption: Encryption, test: &str, load: &LoadSpec) -> Option<BytesPerSec> {
    let mapping = basis.mappings.iter().find(|mapping| mapping.encryption == encryption)?;
    let rate = find(&mapping.tests, test, load)?.measurement.bytes_per_second;
    (rate.get() > 0.0).then_some(rate)
}

/// The lesser of both; one request at a time passes one after the other.
fn as_measured(carried: Carried, mapping: BytesPerSec, twice: f64, load: &LoadSpec) -> Carried {
    let alone = load.block_size.as_f64() / mapping.get();
    let seconds = if carried.seconds > 0.0 { carried.seconds + (alone - twice).max(0.0) } else { alone };
    let crossings = carried.crossings;
    let mut narrow = Narrow::from(carried);
    narrow.take(mapping, "dm-crypt itself", format!("the same mapping over nothing gave {mapping}"));
    if load.total_depth() <= 1 {
        let rate = BytesPerSec::new(load.block_size.as_f64() / seconds);
        let time = human::time(Nanos::new((seconds * 1e9) as u64));
        let formula =
            format!("one at a time, each takes {time} with dm-crypt, which alone gave {mapping}, = {rate}");
        narrow.take(rate, "the time of each request with dm-crypt", formula);
    }
    Carried { crossings, ..narrow.carried(seconds) }
}

/// What encryption adds to a request, in seconds.
fn added(load: &LoadSpec, cipher: BytesPerSec, setting: &Setting) -> f64 {
    let queues = match (setting.queues, load.total_depth()) {
        (false, _) => crypt_time::Queues::Inline,
        (true, 0 | 1) => crypt_time::Queues::Asleep,
        (true, _) => crypt_time::Queues::Awake,
    };
    crypt_time::added(load.block_size, cipher, setting.sector, queues).as_secs_f64()
}
