//! The step between an encrypted device and the one below it.

use super::case::Case;
use super::not_so_when;
use crate::results::surroundings::Word;
use crate::results::{Imported, Tool};
use crate::units::{BytesPerSec, human};
use crate::verdict::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};

/// A layer that takes more than a quarter shows in three seconds of reading.
const STEP: f64 = 0.75;

pub(super) fn find(case: &Case<'_>) -> Vec<Finding> {
    if case.result.tool != Tool::Hdparm {
        return Vec::new();
    }
    let (Some(source), Some((target, rate))) = (case.around.has(Word::Encrypted), disk_rate(case.result))
    else {
        return Vec::new();
    };
    let below = case.all.iter().filter(|one| one.tool == Tool::Hdparm).filter_map(disk_rate);
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
                not_so_when("`cryptsetup benchmark` shows several times this rate for the cipher in use"),
            ])
            .with_advice([Advice::new("run `cryptsetup benchmark`; use a processor with AES instructions")])
            .with_confidence(Confidence::Medium),
    ]
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
