//! Metrics for Prometheus: the text format 0.0.4 that node_exporter's textfile collector reads (Prometheus
//! documentation, "Exposition formats").
//!
//! What is not known is left out. No sample has a timestamp, no label a serial number, and no two samples the same labels:
//! they are kept in a map.

mod families;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::sanitize::inert;

pub use families::{Time, of_check};

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
    pub const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, samples: BTreeMap::new() }
    }

    /// As [`Self::add`], of the only sample.
    fn with(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        self.add(labels, value);
        self
    }

    /// Adds a sample, where its value is known. Of two with the same labels the last counts.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: impl Into<Option<f64>>) {
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
