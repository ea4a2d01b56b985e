//! `nvbandwidth -j` (`json_output.cpp`): cells are strings, `N/A` where nothing was measured.

use serde_json::Value;

use super::super::json::{Document, documents, number, text};
use super::super::number::plain;
use super::super::{Imported, Page, Tool};
use super::Matrix;

/// The documents in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["\"nvbandwidth\""]) {
        return Vec::new();
    }
    documents(page, "\"nvbandwidth\"").iter().filter_map(|document| run(page, document)).collect()
}

fn run(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = document.value.get("nvbandwidth")?;
    let mut imported = Imported::new(Tool::Nvbandwidth, page.name, document.line);
    imported.version = text(value, "version").map(str::to_owned);
    imported.truncated = document.truncated;
    imported.failures.extend(text(value, "error").map(str::to_owned));
    for test in value.get("testcases").and_then(Value::as_array).into_iter().flatten() {
        let name = text(test, "name").unwrap_or_default();
        if text(test, "status").is_some_and(|status| status.starts_with("Error")) {
            let reason = text(test, "error").unwrap_or("no reason given");
            imported.failures.push(format!("{name}: {reason}"));
        }
        let rows = test.get("bandwidth_matrix").and_then(Value::as_array).into_iter().flatten();
        let matrix = Matrix {
            line: document.line,
            test: name.to_owned(),
            rows: rows.filter_map(Value::as_array).map(|row| row.iter().map(cell).collect()).collect(),
            sum: number(test, "sum"),
            ..Matrix::default()
        };
        if !matrix.rows.is_empty() {
            matrix.add_to(&mut imported);
        }
    }
    (!imported.is_empty()).then_some(imported)
}

fn cell(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => plain(text),
        other => other.as_f64().filter(|number| *number >= 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Derived;
    use super::*;

    const BODY: &str = r#"{
	"nvbandwidth" : {
		"CUDA Runtime Version" : 12060, "version" : "v0.8", "git_version" : "v0.8",
		"testcases" : [
			{ "bandwidth_description" : "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
			  "bandwidth_matrix" : [ [ "25.13", "12.5712" ] ], "name" : "host_to_device_memcpy_ce", "status" : "Passed", "sum" : 37.7012 },
			{ "bandwidth_matrix" : [ [ "N/A", "276.07" ], [ "276.19", "N/A" ] ], "name" : "device_to_device_memcpy_read_ce", "status" : "Passed", "sum" : 552.26 },
			{ "name" : "multinode_x", "status" : "Waived" }
		]
	}
}
"#;

    #[test]
    fn a_gpu_on_half_a_link_stands_by_itself() {
        let found = read(&Page { name: "x", body: BODY });
        let rates: Vec<f64> = found[0]
            .measurements
            .iter()
            .flat_map(|one| one.sides().map(|(_, side)| side.bytes_per_second.get()).collect::<Vec<_>>())
            .collect();
        assert_eq!(rates, [25.13e9, 12.5712e9, 276.07e9, 276.19e9]);
        assert!(found[0].derived.iter().all(Derived::agrees));
        assert_eq!((found[0].version.as_deref(), found[0].failures.len()), (Some("v0.8"), 0));
    }

    #[test]
    fn a_document_that_was_cut_off_keeps_its_whole_tests() {
        let at = BODY.find("\"276.19\"").expect("it is there");
        let found = read(&Page { name: "x", body: &BODY[..at] });
        assert!(found[0].truncated && found[0].measurements.len() >= 2);
    }
}
