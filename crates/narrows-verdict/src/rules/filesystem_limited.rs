//! `filesystem_limited`: the file system is the bottleneck: one of its kernel threads used up a core while the devices
//! below had room.

use super::super::attribution::Cause;
use super::super::finding::{Advice, Code, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .caused_by(Cause::Filesystem)
        .filter_map(|(_, limit)| {
            let hop = judged.hop(limit.hop)?;
            let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
            let summary = format!("The file system is the bottleneck of this path{rate}: {}.", hop.name);
            Some(
                Finding::about(Code::FilesystemLimited, Severity::Limit, hop, summary)
                    .with_confidence(limit.confidence)
                    .with_evidence(limit.evidence.clone())
                    .with_advice([Advice::new(
                        "Checksums, compression and encryption of a file system cost processor time; measure the device \
                         below to see what it could do.",
                    )]),
            )
        })
        .collect()
}
