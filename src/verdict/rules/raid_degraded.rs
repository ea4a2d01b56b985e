//! `raid_degraded`: an array lacks members.

use crate::path::{HopSpec, RaidHop, RaidLevel};

use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter();
    hops.filter_map(|hop| {
        let HopSpec::Raid(raid) = &hop.spec else { return None };
        let missing = *raid.md.degraded.value()?;
        if missing == 0 {
            return None;
        }
        let of = raid.md.raid_disks.value().map(|disks| format!(" of {disks}")).unwrap_or_default();
        let summary = format!("/dev/{} lacks {missing}{of} members{}.", raid.block, effect(raid));
        let faulty = raid.md.members.iter().filter_map(|(name, state)| {
            let said = state.value().is_some_and(|state| state.contains("faulty"));
            said.then(|| Evidence::from_fact(format!("state of {name}"), state))
        });
        Some(
            Finding::about(Code::RaidDegraded, Severity::Fault, hop, summary)
                .with_evidence([Evidence::from_fact("missing members", &raid.md.degraded)])
                .with_evidence(faulty)
                .with_advice([Advice::new(format!(
                    "Replace the member and add it: mdadm /dev/{} --add DEVICE. Until then another failure may lose data.",
                    raid.block
                ))]),
        )
    })
    .collect()
}

/// What that costs besides safety.
const fn effect(raid: &RaidHop) -> &'static str {
    match raid.level {
        Some(RaidLevel::Raid1 | RaidLevel::Raid10) => "; the rest serves all reads",
        Some(RaidLevel::Raid5 | RaidLevel::Raid6) => {
            "; what was on them is computed from all others for every read"
        }
        _ => "",
    }
}
