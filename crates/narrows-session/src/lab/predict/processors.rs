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
//! Where a thread of the kernel stands between generator and drives, as dm-crypt's workers do and the thread of md that passes
//! on what is written to a mirror, requests end one by one however many are under way: a worker is woken for each, and the
//! generator after it. Generator and drives then take what they take with one request at a time. An encryption above the target
//! that takes no time hands requests over one by one just the same, so the generator's part of that is this one, too.
//!
//! On one processor the bound is near what is reached; on many it is far above, since not all of them find work. Expected
//! error, from 4 KiB at depths of 32 and 512 on one emulated processor: 3 % too slow to 11 % too fast through dm-crypt, but
//! up to 21 % too slow for reads with long sectors where batches come through after all; 10 to 14 % too slow for writes to a plain
//! mirror. What md and the device mapper take to pass a request on is not in it: 8 to 18 % too fast for reads of plain layouts.

use super::drive::find;
use super::{Carried, Narrow};
use crate::lab::{Basis, Cell, Encryption, Layout, Measured};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::preset::LoadSpec;

/// The same within what the processors of `basis` have time for. Unchanged where it is not known what they did.
pub(super) fn within(
    carried: Carried,
    cell: &Cell,
    basis: &Basis,
    (test, load): (&str, &LoadSpec),
) -> Carried {
    let handed_over = cell.encryption != Encryption::Plain || carried.crossings > 1.0;
    let Some(parts) = Parts::of(cell, basis, (test, load), handed_over) else { return carried };
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
    let singly = if handed_over { ", one by one" } else { "" };
    let formula = format!(
        "a block of {} takes {} in the generator, {drives} in drives and {} in the cipher{singly}: {cores} / {} = {rate}",
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
    /// Those of a test; `handed_over` where a thread of the kernel stands between generator and drives.
    fn of(cell: &Cell, basis: &Basis, (test, load): (&str, &LoadSpec), handed_over: bool) -> Option<Self> {
        let one = load.one_at_a_time();
        let alone = match cell.layout {
            // Data lies on the first drive alone.
            Layout::Single | Layout::LvmLinear => basis.alone.get(..1)?,
            _ => basis.alone.as_slice(),
        };
        let below = |test| Self::below(basis, alone, test);
        let singly = if handed_over { below(("", &one)) } else { None };
        let (generator, drive) = singly.or_else(|| below((test, load)))?;
        let cipher = match cell.encryption {
            Encryption::Plain => 0.0,
            encryption => (above(basis, encryption, (test, load))? - generator).max(0.0),
        };
        Some(Self { generator, drive, cipher })
    }

    /// The generator, and one of these drives.
    fn below(basis: &Basis, alone: &[Vec<Measured>], test: (&str, &LoadSpec)) -> Option<(f64, f64)> {
        let generator = above(basis, Encryption::Plain, test)?;
        let alone: Option<Vec<f64>> =
            alone.iter().map(|tests| find(tests, test.0, test.1).and_then(each)).collect();
        let alone = alone.filter(|alone| !alone.is_empty())?;
        let mean = alone.iter().sum::<f64>() / alone.len() as f64;
        Some((generator, (mean - generator).max(0.0)))
    }
}

/// What a byte takes with an encryption above the target that takes no time.
fn above(basis: &Basis, encryption: Encryption, (test, load): (&str, &LoadSpec)) -> Option<f64> {
    let mapping = basis.mappings.iter().find(|mapping| mapping.encryption == encryption)?;
    find(&mapping.tests, test, load).and_then(each)
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
