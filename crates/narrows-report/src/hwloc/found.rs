//! What was found, by the device that it is about.

use std::collections::BTreeMap;

use super::element::Xml;
use crate::view::{CheckReport, FindingView, HopView};
use narrows_base::units::human;
use narrows_model::ceiling::Direction;
use narrows_verdict::Severity;

/// Findings and links by PCI address, block device or interface.
pub(super) struct Found<'a> {
    findings: BTreeMap<&'a str, Vec<&'a FindingView>>,
    links: BTreeMap<&'a str, &'a HopView>,
}

impl<'a> Found<'a> {
    pub(super) fn of(report: &'a CheckReport) -> Self {
        let mut findings: BTreeMap<&str, Vec<&FindingView>> = BTreeMap::new();
        for finding in &report.findings {
            findings.entry(place(finding)).or_default().push(finding);
        }
        let hops = report.paths.iter().flat_map(|path| &path.hops);
        let links = hops.filter_map(|hop| Some((hop.id.strip_prefix("link:")?, hop))).collect();
        Self { findings, links }
    }

    /// What was found of a device.
    fn at(&self, name: &str) -> &[&'a FindingView] {
        self.findings.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether anything was found of a device.
    pub(super) fn is_any(&self, name: &str) -> bool {
        !self.at(name).is_empty()
    }

    /// What was found of the devices that are not among `drawn`.
    pub(super) fn elsewhere(&self, drawn: impl Fn(&str) -> bool) -> Vec<&'a FindingView> {
        let others = self.findings.iter().filter(|(name, _)| !drawn(name));
        others.flat_map(|(_, findings)| findings.iter().copied()).collect()
    }

    /// Writes the infos and boxes of a device into the object that is open.
    pub(super) fn write(&self, xml: &mut Xml, name: &str) {
        if let Some(link) = self.links.get(name) {
            for (direction, info) in
                [(Direction::Read, "narrows:ceiling_read"), (Direction::Write, "narrows:ceiling_write")]
            {
                let rate = link.ceiling.of(direction).bytes_per_second;
                xml.info(info, &rate.map(human::rate).unwrap_or_default());
            }
        }
        infos(xml, self.at(name));
        boxes(xml, self.at(name));
    }
}

/// Writes findings as infos of the object that is open. hwloc wants them before the objects in it.
pub(super) fn infos(xml: &mut Xml, findings: &[&FindingView]) {
    let worst = findings.iter().map(|finding| finding.severity).min();
    for finding in findings {
        let sure = word(&finding.confidence);
        let text = format!("{} ({sure} confidence): {}", title(finding), finding.summary);
        xml.info("narrows:finding", &text);
        finding.advice.iter().for_each(|advice| xml.info("narrows:advice", &advice.action));
    }
    if let Some(style) = worst.and_then(style) {
        xml.info("lstopoStyle", style);
    }
}

/// Writes findings as boxes in the object that is open.
pub(super) fn boxes(xml: &mut Xml, findings: &[&FindingView]) {
    for finding in findings {
        xml.leaf("Misc", &[("name", format!("narrows: {}", title(finding)))]);
    }
}

/// `fault link_width_degraded`.
fn title(finding: &FindingView) -> String {
    format!("{} {}", word(&finding.severity), finding.code.as_str())
}

/// The word that stands in JSON.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// lstopo's colours: red for what can be put right, yellow for a bottleneck by design.
const fn style(severity: Severity) -> Option<&'static str> {
    match severity {
        Severity::Fault => Some("Background=#ff8080"),
        Severity::Limit => Some("Background=#ffe680"),
        Severity::Info => None,
    }
}

/// The device of a finding: that of its hop (`link:0000:02:00.0`), else what it names.
fn place(finding: &FindingView) -> &str {
    let of_hop = |hop: &'static str| finding.hop.as_deref().and_then(|id| id.strip_prefix(hop));
    of_hop("link:")
        .or_else(|| of_hop("controller:"))
        .or_else(|| of_hop("device:"))
        .unwrap_or(&finding.subject)
}
