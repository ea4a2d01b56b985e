//! What the processors have time for.
//!
//! A byte takes time of a processor in the generator, in the driver of each drive that it crosses, and in the cipher. The
//! utilization law bounds a rate by the processors over the sum of these (P. J. Denning and J. P. Buzen, ACM Computing Surveys
//! 10, 1978): rate ≤ cores / Σ. Each part is known from the whole machine's own account during a test on one thing less: a drive
//! alone gives generator and driver, the target that takes no time the generator, an encryption above it generator and cipher.
//!
//! | of a byte | takes |
//! |---|---|
//! | generator | target that takes no time |
//! | each drive that it crosses | drive alone − target that takes no time |
//! | cipher | encryption above that target − target that takes no time |
//!
//! On one processor the bound is near what is reached; on many it is far above, since not all of them find work. What md and the
//! device mapper take to pass a request on is not in it, nor that requests which end one by one above a drive are handed
//! over one by one, where the target without a drive ends them in batches. Where it is the narrowest, on one emulated
//! processor: 15 to 27 % too fast for 4 KiB through dm-crypt, up to 73 % for 4 KiB written to a mirror.

use super::drive::find;
use super::{Carried, Narrow};
use crate::lab::{Basis, Encryption, Measured};
use crate::load::preset::LoadSpec;
use crate::units::{Bytes, BytesPerSec, Nanos, human};

/// The same within what the processors of `basis` have time for. Unchanged where it is not known what they did.
pub(super) fn within(
    carried: Carried,
    encryption: Encryption,
    basis: &Basis,
    (test, load): (&str, &LoadSpec),
) -> Carried {
    let Some(parts) = Parts::of(encryption, basis, test, load) else { return carried };
    let each = parts.generator + carried.crossings * parts.drive + parts.cipher;
    if each <= 0.0 {
        return carried;
    }
    let cores = f64::from(basis.cores.max(1));
    let rate = BytesPerSec::new(cores / each);
    let block = load.block_size;
    let time = |seconds: f64| human::time(Nanos::new((seconds * block.as_f64() * 1e9) as u64));
    let drives = if carried.crossings == 1.0 {
        time(parts.drive).to_string()
    } else {
        format!("{:.2} × {}", carried.crossings, time(parts.drive))
    };
    let formula = format!(
        "a block of {} takes {} in the generator, {drives} in drives and {} in the cipher: {cores} / {} = {rate}",
        human::block_size(block),
        time(parts.generator),
        time(parts.cipher),
        time(each)
    );
    let (seconds, crossings) = (carried.seconds, carried.crossings);
    let mut narrow = Narrow::from(carried);
    narrow.take(rate, bound(basis.cores), formula);
    Carried { crossings, ..narrow.carried(seconds) }
}

const fn bound(cores: u32) -> &'static str {
    if cores <= 1 { "the processor" } else { "the processors" }
}

/// Seconds of a processor for a byte.
struct Parts {
    generator: f64,
    drive: f64,
    cipher: f64,
}

impl Parts {
    fn of(encryption: Encryption, basis: &Basis, test: &str, load: &LoadSpec) -> Option<Self> {
        let above = |encryption: Encryption| {
            let mapping = basis.mappings.iter().find(|mapping| mapping.encryption == encryption)?;
            find(&mapping.tests, test, load).and_then(each)
        };
        let generator = above(Encryption::Plain)?;
        let alone: Option<Vec<f64>> =
            basis.alone.iter().map(|tests| find(tests, test, load).and_then(each)).collect();
        let alone = alone.filter(|alone| !alone.is_empty())?;
        let mean = alone.iter().sum::<f64>() / alone.len() as f64;
        let cipher = match encryption {
            Encryption::Plain => 0.0,
            encryption => (above(encryption)? - generator).max(0.0),
        };
        Some(Self { generator, drive: (mean - generator).max(0.0), cipher })
    }
}

/// What all processors together spent on a byte of a test.
fn each(test: &Measured) -> Option<f64> {
    let rate = test.measurement.bytes_per_second.get();
    test.processors.filter(|at_work| *at_work > 0.0 && rate > 0.0).map(|at_work| at_work / rate)
}

/// What a request of `size` takes in the generator and the kernel above any drive, in seconds, where that was measured.
pub(super) fn generator_seconds(basis: &Basis, test: &str, load: &LoadSpec, size: Bytes) -> Option<f64> {
    let plain = basis.mappings.iter().find(|mapping| mapping.encryption == Encryption::Plain)?;
    let rate = find(&plain.tests, test, load)?.measurement.bytes_per_second;
    (rate.get() > 0.0).then(|| size.as_f64() / rate.get())
}
