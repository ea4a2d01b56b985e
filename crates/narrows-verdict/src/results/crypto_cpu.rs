//! The step between an encrypted device and the one below it.

use super::case::Case;
use crate::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::crypt;
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Imported, Measured, Op, Tool};

/// A layer that takes more than a quarter shows in three seconds of reading.
const STEP: f64 = 0.75;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if let Some(finding) = at_the_cipher(case) {
        return vec![finding];
    }
    if case.result.tool != Tool::Hdparm {
        return Vec::new();
    }
    let (Some(source), Some((target, rate))) = (case.around.has(Word::Encrypted), disk_rate(case.result))
    else {
        return Vec::new();
    };
    let below = case.beside.results().filter(|one| one.tool == Tool::Hdparm).filter_map(disk_rate);
    let Some((name, most)) = below.max_by(|a, b| a.1.get().total_cmp(&b.1.get())) else { return Vec::new() };
    if is_plain(target) || rate.get() >= STEP * most.get() {
        return Vec::new();
    }
    let summary = format!(
        "{target} reads {}, {name} below it {}: encryption takes the rest",
        human::rate(rate),
        human::rate(most)
    );
    vec![
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .with_evidence([
                Evidence::new(format!("rate of {target}"), human::rate(rate), case.result.place()),
                Evidence::new(format!("rate of {name}"), human::rate(most), case.result.place()),
                Evidence::new("in the path", "encryption", source),
            ])
            .not_so_when("`cryptsetup benchmark` shows several times this rate for the cipher in use")
            .with_advice([Advice::new("run `cryptsetup benchmark`; use a processor with AES instructions")])
            .with_confidence(Confidence::Medium),
    ]
}

/// What dm-crypt makes of a cipher's rate on one core, with the error of both laws (`ceiling::crypt`).
const NEAR: std::ops::Range<f64> = 0.85..1.1;

/// An encrypted volume whose rate is what `cryptsetup benchmark`, given beside it, lets dm-crypt reach: one submitter
/// keeps one core busy.
fn at_the_cipher(case: &Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Encrypted)?;
    let ciphers = case.beside.measured().filter(|(of, _)| of.tool == Tool::Cryptsetup).map(|(_, one)| one);
    let ciphers: Vec<&Measured> = ciphers.filter(|one| one.work.label.starts_with("aes-xts")).collect();
    let (measured, op, side, cipher, ceiling) = case.sides().find_map(|(measured, op, side)| {
        let share = match op {
            Op::Read => crypt::READ_SHARE,
            Op::Write => crypt::WRITE_SHARE,
        };
        let near = ciphers.iter().filter_map(|cipher| {
            let ceiling = cipher.side(op)?.bytes_per_second * share;
            NEAR.contains(&side.bytes_per_second.fraction_of(ceiling)).then_some((*cipher, ceiling))
        });
        let off = |ceiling: BytesPerSec| (side.bytes_per_second.fraction_of(ceiling) - 1.0).abs();
        let near = near.min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
        // Random and small I/O is limited by its latency.
        let is_large = measured.work.block_size.is_none_or(|size| size.get() >= 128 << 10);
        is_large.then_some((measured, op, side, near.0, near.1))
    })?;
    let rate = cipher.side(op)?.bytes_per_second;
    let summary = format!(
        "The {} ({}) are what dm-crypt reaches with {} on one core ({}): more or faster drives behind it change nothing",
        case.name(measured, op),
        human::rate(side.bytes_per_second),
        cipher.work.label,
        human::rate(ceiling)
    );
    Some(
        case.finding(Code::CryptoCpu, Severity::Limit, summary)
            .with_evidence([
                case.evidence(measured, "rate", human::rate(side.bytes_per_second)),
                Evidence::new(format!("{} in memory", cipher.work.label), human::rate(rate), case.result.place()),
                Evidence::new("in the path", "encryption", source)])
.not_so_when("the volume is as fast with another cipher, or the plain volume is no faster")
            .with_advice([Advice::new(
                "several submitters spread over cores: measure with more jobs; look at sector size and workqueues",
            )])
            .with_confidence(Confidence::Medium),
    )
}

/// A whole drive or its partition, which has no layer above it.
fn is_plain(target: &str) -> bool {
    let name = target.trim_start_matches("/dev/");
    ["sd", "nvme", "hd", "mmcblk", "vd"].iter().any(|kind| name.starts_with(kind)) && !name.contains('/')
}

fn disk_rate(result: &Imported) -> Option<(&str, BytesPerSec)> {
    let measured = result.measurements.iter().find(|one| !one.memory_only)?;
    Some((measured.work.target.as_deref()?, measured.read.as_ref()?.bytes_per_second))
}
