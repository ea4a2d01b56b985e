//! `power_save`: a link is slow because its device is idle. Not a fault: it speeds up under load.

use super::super::finding::{Code, Confidence, Evidence, Finding, Severity};
use super::super::link::{Link, wires};
use super::link_speed_degraded::is_asleep;
use super::link_width_degraded::capitalised;
use super::{Context, Judged};

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    wires(context, judged).iter().filter_map(|link| check_link(judged, link)).collect()
}

fn check_link(judged: &Judged<'_>, link: &Link<'_>) -> Option<Finding> {
    let speed = link.speed()?;
    let common = link.common_speed()?;
    if speed >= common {
        return None;
    }
    let loaded = link.speed_under_load(judged);
    let sped_up = loaded.is_some_and(|loaded| loaded >= common);
    // Without load only a device that sleeps, or a kind that is known to idle, explains itself.
    let explains_itself = loaded.is_none() && (is_asleep(link) || link.is_display());
    if !sped_up && !explains_itself {
        return None;
    }
    let proof = if sped_up { " and sped up under load" } else { "" };
    let summary = format!("{} idles at {speed}{proof}; it can do {common}.", link.place());
    let mut evidence = link.speed_evidence();
    evidence.push(Evidence::from_fact("power state", &link.link.device.power_state));
    evidence.extend(loaded.map(|loaded| Evidence::new("speed under load", loaded, "current_link_speed")));
    Some(
        Finding::about(Code::PowerSave, Severity::Info, link.hop, capitalised(&summary))
            .with_confidence(if sped_up { Confidence::High } else { Confidence::Medium })
            .with_evidence(evidence),
    )
}
