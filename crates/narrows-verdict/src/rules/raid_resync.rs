//! `raid_resync`: an array is resyncing, and shares its members' bandwidth with whoever reads.
//!
//! Rebuilding is a `fault` state until it is done. A routine check is `info`, unless a run shows that it limits.

use narrows_base::fact::Fact;
use narrows_base::units::human;
use narrows_model::path::{HopSpec, RaidHop};

use super::super::attribution::{Cause, is_syncing};
use super::super::finding::{Advice, Code, Confidence, Evidence, Finding, Severity};
use super::{Context, Judged};

pub(super) fn check(_context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let hops = judged.subject.path.hops.iter().enumerate();
    hops.filter_map(|(index, hop)| {
        let HopSpec::Raid(raid) = &hop.spec else { return None };
        let limit = judged.caused_by(Cause::Resync).find(|(_, limit)| limit.hop == index);
        let action = running(judged, raid)?;
        let severity = match (limit.is_some(), action.as_str()) {
            (true, "check") => Severity::Limit,
            (false, "check") => Severity::Info,
            _ => Severity::Fault,
        };
        let done = raid.md.sync_done.value();
        let done = done.map(|done| format!(", {} done", human::percent(*done))).unwrap_or_default();
        let speed = raid.md.sync_speed.value().map(|speed| format!(" at {speed}")).unwrap_or_default();
        let left = raid.md.sync_left.value();
        let left = left.map(|left| format!(", {} left by the kernel's count", human::time(*left))).unwrap_or_default();
        let effect = if limit.is_some() { "; it limits this path" } else { "" };
        let summary = format!("/dev/{} is busy with a {action}{speed}{done}{left}{effect}.", raid.block);
        Some(
            Finding::about(Code::RaidResync, severity, hop, summary)
                .with_confidence(Confidence::High)
                .with_evidence([Evidence::from_fact("sync action", &raid.md.sync_action)])
                .with_evidence(speed_evidence(&raid.md.sync_speed))
                .with_evidence(limit.iter().flat_map(|(_, limit)| limit.evidence.iter().cloned()))
                .with_advice([
                    Advice::new("Wait until it is done, and measure again."),
                    Advice::new(format!(
                        "To favour other work meanwhile, lower /sys/block/{}/md/sync_speed_max (KiB/s for each member).",
                        raid.block
                    )),
                ]),
        )
    })
    .collect()
}

/// Pools of ZFS, of which captures tell, scrub and resilver as arrays check and recover.
pub(super) fn check_pools(context: &Context<'_>) -> Vec<Finding> {
    let running = context.machine.zfs.iter().filter_map(|pool| Some((pool, pool.scan.value()?)));
    running
        .map(|(pool, scan)| {
            let done = scan.done.map(|done| format!(", {} done", human::percent(done))).unwrap_or_default();
            let rate = scan.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
            let severity = if scan.action == "scrub" { Severity::Info } else { Severity::Fault };
            let summary = format!("The ZFS pool {} is busy with a {}{rate}{done}.", pool.name, scan.action);
            Finding::on(Code::RaidResync, severity, pool.name.clone(), summary)
                .with_confidence(Confidence::High)
                .with_evidence([Evidence::new("scan", &scan.action, pool.scan.source().as_str())])
                .with_advice([Advice::new("Wait until it is done, and measure again.")])
        })
        .collect()
}

fn speed_evidence(speed: &Fact<narrows_base::units::BytesPerSec>) -> Option<Evidence> {
    speed.value().map(|_| Evidence::from_fact("sync speed", speed))
}

/// What the array is busy with, during a run or when its facts were read.
fn running(judged: &Judged<'_>, raid: &RaidHop) -> Option<String> {
    let runs = judged.subject.runs.iter();
    let during = runs.filter_map(|run| run.activity.resyncs.get(&raid.block).map(|sync| &sync.action));
    during.chain(raid.md.sync_action.value()).find(|action| is_syncing(action)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sketch;
    use narrows_machine::zfs::{ZfsPool, ZfsScan};
    use narrows_model::path::RaidLevel;

    fn severity(action: &str) -> Option<Severity> {
        let path = Sketch::of("/dev/md0").raid("md0", RaidLevel::Raid1, &["sda", "sdb"]).change(|hop| {
            if let HopSpec::Raid(raid) = &mut hop.spec {
                raid.md.sync_action = Fact::known(action.to_owned(), "sync_action");
            }
        });
        path.finding(Code::RaidResync).map(|finding| finding.severity)
    }

    #[test]
    fn a_rebuild_is_a_fault_a_routine_check_is_mentioned_and_idle_is_silent() {
        assert_eq!(severity("recover"), Some(Severity::Fault));
        assert_eq!(severity("check"), Some(Severity::Info));
        for quiet in ["idle", "frozen", "none", "garbage"] {
            assert_eq!(severity(quiet), None, "{quiet}");
        }
    }

    #[test]
    fn a_resilver_is_a_fault_and_a_scrub_is_mentioned() {
        for (action, severity) in [("resilver", Severity::Fault), ("scrub", Severity::Info)] {
            let scan = ZfsScan { action: action.to_owned(), done: Some(0.25), rate: None };
            let pool = ZfsPool { scan: Fact::known(scan, "zpool.txt:3"), ..ZfsPool::default() };
            let finding =
                Sketch::of("/tank").on(|machine| machine.zfs = vec![pool]).finding(Code::RaidResync);
            assert_eq!(finding.map(|finding| finding.severity), Some(severity), "{action}");
        }
        let idle = Sketch::of("/tank").on(|machine| machine.zfs = vec![ZfsPool::default()]);
        assert_eq!(idle.finding(Code::RaidResync), None);
    }
}
