//! Metrics for Prometheus: the text format 0.0.4 that node_exporter's textfile collector reads (Prometheus
//! documentation, "Exposition formats").
//!
//! What is not known is left out. No sample has a timestamp, no label a serial number, and no two samples the same labels:
//! they are kept in a map.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::sanitize::inert;
use crate::view::CheckReport;
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::block::BlockKind;
use narrows_machine::pci::{PciAddress, PciDevice};
use narrows_machine::reading::Errors;
use narrows_verdict::word;

/// All samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    name: &'static str,
    help: &'static str,
    samples: BTreeMap<Labels, f64>,
}

type Labels = Vec<(&'static str, String)>;

impl Family {
    /// A name without samples; that of a counter ends in `_total`, all others are gauges.
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, samples: BTreeMap::new() }
    }

    /// Adds a sample, where its value is known. Of two with the same labels the last counts.
    fn add(&mut self, labels: &[(&'static str, &str)], value: impl Into<Option<f64>>) {
        let labels = labels.iter().filter(|(_, value)| !value.is_empty());
        let mut labels: Labels = labels.map(|(name, value)| (*name, inert(value))).collect();
        labels.sort();
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.samples.insert(labels, value);
        }
    }

    fn write(&self, out: &mut String) {
        let kind = if self.name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(out, "# HELP {} {}", self.name, self.help);
        let _ = writeln!(out, "# TYPE {} {kind}", self.name);
        for (labels, value) in &self.samples {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let braces = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{}{braces} {value}", self.name);
        }
    }
}

/// A value between quotes: backslash, quote and end of line are escaped.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// The text of all families that have samples.
pub fn render(families: &[Family]) -> String {
    let mut out = String::new();
    for family in families.iter().filter(|family| !family.samples.is_empty()) {
        family.write(&mut out);
    }
    out
}

/// The metrics of a machine that was checked at a time, in seconds since 1970.
pub fn of_check(machine: &Machine, report: &CheckReport, at: f64) -> Vec<Family> {
    let mut families = links(machine);
    families.extend([ceilings(report), findings(report), errors(machine)]);
    families.extend(arrays(machine));
    families.extend([wires(machine), temperatures(machine)]);
    families.extend(wear(machine));
    let mut build = Family::new("narrows_build_info", "1, with the version of narrows.");
    build.add(&[("version", report.tool.version.as_str())], 1.0);
    let help = "When narrows last read the machine, in seconds since 1970.";
    let mut last = Family::new("narrows_last_run_timestamp_seconds", help);
    last.add(&[], at);
    families.extend([build, last]);
    families
}

/// What drives say of their wear, which takes root to read.
fn wear(machine: &Machine) -> [Family; 3] {
    let mut families = [
        ("narrows_drive_spare_ratio", "Spare blocks that a drive has left, of all it had."),
        ("narrows_drive_spare_threshold_ratio", "The part of spare blocks below which a drive warns."),
        ("narrows_drive_used_ratio", "The part of its rated life that a drive has used."),
    ]
    .map(|(name, help)| Family::new(name, help));
    let logs = machine.health.iter().filter_map(|(drive, health)| Some((drive, health.smart.value()?)));
    for (drive, log) in logs {
        let percent = [log.available_spare, log.spare_threshold, log.percentage_used];
        for (family, percent) in families.iter_mut().zip(percent) {
            family.add(&[("drive", drive.as_str())], f64::from(percent) / 100.0);
        }
    }
    families
}

/// A link with the words that find it.
struct Named {
    address: String,
    slot: String,
    device: String,
}

impl Named {
    fn of(device: &PciDevice) -> Self {
        let id = device.id.value().map(ToString::to_string).unwrap_or_default();
        Self {
            address: device.address.to_string(),
            slot: device.slot.value().cloned().unwrap_or_default(),
            device: format!("{} {id}", device.class_name()).trim_end().to_owned(),
        }
    }

    fn with<'a>(&'a self, name: &'static str, value: &'a str) -> [(&'static str, &'a str); 4] {
        [("address", &self.address), ("slot", &self.slot), ("device", &self.device), (name, value)]
    }
}

/// Links that have a true port above them, once for each card.
fn wired(machine: &Machine) -> impl Iterator<Item = &PciDevice> {
    machine.pci.values().filter(|device| {
        let is_first = device.address.function == 0
            || !machine.pci.contains_key(&PciAddress { function: 0, ..device.address });
        is_first && !faces_down(machine, device) && machine.link_of(device).port.is_some()
    })
}

/// Whether it is the upper end of the link below it: a bridge below a bridge that does not face down.
fn faces_down(machine: &Machine, device: &PciDevice) -> bool {
    let above = device.parent.and_then(|parent| machine.pci.get(&parent));
    device.is_bridge() && above.is_none_or(|above| !faces_down(machine, above))
}

fn links(machine: &Machine) -> Vec<Family> {
    let mut width = Family::new(
        "narrows_link_width_lanes",
        "Lanes of a PCIe link: now, the most that both ends can do, and the most that was seen.",
    );
    let mut speed = Family::new(
        "narrows_link_transfers_per_second",
        "Transfers of a lane of a PCIe link: now, the most that both ends can do, under load, and the most under load.",
    );
    for device in wired(machine) {
        let (named, ends) = (Named::of(device), machine.link_of(device));
        let best = machine.kept.value().and_then(|kept| kept.get(&device.address));
        let lanes = |lanes: Lanes| f64::from(lanes.get());
        let transfers = |speed: GtPerSec| f64::from(speed.mega()) * 1e6;
        let widths = [
            ("current", ends.width().map(|told| lanes(told.value))),
            ("max", ends.max_width().map(|told| lanes(told.value))),
            ("baseline", best.map(|best| f64::from(best.lanes))),
        ];
        let mega = |mega: Option<u32>| mega.map(|mega| f64::from(mega) * 1e6);
        let speeds = [
            ("current", ends.speed().map(|told| transfers(told.value))),
            ("max", ends.max_speed().map(|told| transfers(told.value))),
            ("loaded", mega(best.and_then(|best| best.last_loaded_megatransfers))),
            ("baseline", mega(best.and_then(|best| best.loaded_megatransfers))),
        ];
        widths.into_iter().for_each(|(state, value)| width.add(&named.with("state", state), value));
        speeds.into_iter().for_each(|(state, value)| speed.add(&named.with("state", state), value));
    }
    vec![width, speed]
}

fn ceilings(report: &CheckReport) -> Family {
    let mut family = Family::new(
        "narrows_hop_ceiling_bytes_per_second",
        "The most that a hop can carry, by what that rests on.",
    );
    for (path, hop) in report.paths.iter().flat_map(|path| path.hops.iter().map(move |hop| (path, hop))) {
        for (direction, ceiling) in [("read", &hop.ceiling.read), ("write", &hop.ceiling.write)] {
            let (target, hop, basis) = (path.target.as_str(), hop.id.as_str(), word(ceiling.basis));
            let labels = [("target", target), ("hop", hop), ("direction", direction), ("basis", &basis)];
            family.add(&labels, ceiling.bytes_per_second.map(BytesPerSec::get));
        }
    }
    family
}

fn findings(report: &CheckReport) -> Family {
    let mut family = Family::new("narrows_finding_active", "1 for each finding of narrows.");
    for finding in &report.findings {
        let (code, severity) = (finding.code.as_str(), word(finding.severity));
        let hop = finding.hop.as_deref().unwrap_or_default();
        family.add(&[("code", &code), ("severity", &severity), ("hop", hop)], 1.0);
    }
    family
}

fn errors(machine: &Machine) -> Family {
    let mut family = Family::new(
        "narrows_pcie_aer_errors_total",
        "Errors that a PCIe function reported since boot (AER), its own end of the link.",
    );
    for device in machine.pci.values() {
        let Some(aer) = device.aer.value().filter(|aer| !aer.is_status) else { continue };
        let (named, it) = (Named::of(device), Errors::of(aer));
        for (severity, count) in
            [("correctable", it.correctable), ("nonfatal", it.nonfatal), ("fatal", it.fatal)]
        {
            family.add(&named.with("severity", severity), count as f64);
        }
    }
    family
}

/// What md arrays lack, and whether they work on themselves.
fn arrays(machine: &Machine) -> [Family; 2] {
    let mut missing = Family::new("narrows_array_missing_members", "Members that a md array lacks.");
    let mut syncing = Family::new(
        "narrows_array_syncing",
        "1 while a md array resyncs, recovers, checks or reshapes, else 0.",
    );
    for (name, device) in &machine.block {
        let BlockKind::Md(array) = &device.kind else { continue };
        let labels = [("array", name.as_str())];
        missing.add(&labels, array.degraded.get().map(f64::from));
        let is_syncing = array.sync_action.value().map(|action| f64::from(u8::from(action != "idle")));
        syncing.add(&labels, is_syncing);
    }
    [missing, syncing]
}

fn wires(machine: &Machine) -> Family {
    let mut family =
        Family::new("narrows_network_line_bytes_per_second", "The line rate of a network interface.");
    for (name, nic) in machine.nics.iter().filter(|(_, nic)| !nic.is_virtual) {
        family.add(&[("interface", name)], nic.speed.value().map(|speed| speed.bytes_per_sec().get()));
    }
    family
}

fn temperatures(machine: &Machine) -> Family {
    let mut family = Family::new(
        "narrows_drive_temperature_celsius",
        "The temperature of a drive: now, and from which on it warns.",
    );
    for (name, health) in &machine.health {
        let states = [("current", &health.temperature), ("warning", &health.warning)];
        for (state, celsius) in states {
            // A threshold of nothing is none.
            let known = celsius.value().filter(|it| state == "current" || it.get() > 0.0);
            family.add(&[("drive", name), ("state", state)], known.map(|it| it.get()));
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn errors() -> Family {
        Family::new("narrows_pcie_aer_errors_total", "Errors.")
    }

    #[test]
    fn a_sample_without_a_value_of_a_label_leaves_it_out() {
        let mut family = errors();
        family.add(&[("address", "0000:06:00.0"), ("slot", "")], 6.0);
        let sample = "narrows_pcie_aer_errors_total{address=\"0000:06:00.0\"} 6\n";
        let text =
            "# HELP narrows_pcie_aer_errors_total Errors.\n# TYPE narrows_pcie_aer_errors_total counter\n";
        assert_eq!(render(&[family]), format!("{text}{sample}"));
    }

    #[test]
    fn a_name_with_no_samples_is_left_out_and_what_is_no_number_too() {
        let mut family = errors();
        family.add(&[], f64::NAN);
        assert_eq!(render(&[family]), "");
    }

    proptest! {
        #[test]
        fn whatever_the_labels_are_each_series_is_there_once_and_on_one_line(
            values in proptest::collection::vec("\\PC{0,12}|[\"\\\\\n]{0,4}", 0..12)
        ) {
            let mut family = errors();
            for value in &values {
                family.add(&[("hop", value), ("code", "x")], 1.0);
            }
            let text = render(&[family]);
            let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            let (begin, end) = ("narrows_pcie_aer_errors_total{code=", "} 1");
            let all_whole = series.iter().all(|line| line.starts_with(begin) && line.ends_with(end));
            prop_assert!(all_whole, "{}", text);
            let unique: BTreeSet<&&str> = series.iter().collect();
            prop_assert_eq!(unique.len(), series.len());
        }
    }
}
