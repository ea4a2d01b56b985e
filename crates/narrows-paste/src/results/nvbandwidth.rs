//! What moves no data of a drive: NVIDIA's nvbandwidth, copies between main memory and GPUs, as text and as JSON; and the ciphers of `cryptsetup benchmark`.

use narrows_base::units::BytesPerSec;
use serde_json::Value;

use super::json::{Document, documents, list, number, text};
use super::number::{leading, plain};
use super::{Derived, Imported, Measured, Op, Page, Side, Spread, Tool, Work};
use crate::capture::dm::BenchmarkRow;

/// The matrix of a test.
#[derive(Debug, Clone, Default)]
struct CopyMatrix {
    line: usize,
    test: String,
    /// The columns that the heading of a text names.
    width: usize,
    rows: Vec<Vec<Option<f64>>>,
    sum: Option<f64>,
}

impl CopyMatrix {
    /// The direction as the GPU of the column sees it.
    fn op(&self) -> Op {
        let reads = ["device_to_host", "all_to_host", "_read_", "all_to_one_read"];
        if reads.iter().any(|name| self.test.contains(name)) { Op::Read } else { Op::Write }
    }

    /// A measurement for each GPU: of one row of main memory its column, and of many rows the mean of its row.
    fn add_to(self, imported: &mut Imported) {
        let op = self.op();
        let cells: Vec<f64> = self.rows.iter().flatten().flatten().copied().collect();
        if let Some(printed) = self.sum {
            let computed: f64 = cells.iter().sum();
            // Each cell is rounded to two digits behind the point, or to six in all.
            let rounding =
                0.005 * (cells.len() as f64 + 1.0) / computed.max(1e-9) + 1e-5 * cells.len() as f64;
            let name = format!("SUM {}", self.test);
            imported.derived.push(Derived { name, printed, computed, rounding });
        }
        let groups: Vec<Vec<f64>> = match self.rows.as_slice() {
            [row] => row.iter().map(|cell| cell.iter().copied().collect()).collect(),
            rows => rows.iter().map(|row| row.iter().flatten().copied().collect()).collect(),
        };
        let is_single = groups.len() == 1;
        for (gpu, group) in groups.iter().enumerate() {
            // A GPU's copy to itself is printed as nothing by old releases, and as N/A by later ones.
            let group: Vec<f64> = group.iter().copied().filter(|rate| *rate > 0.0).collect();
            let Some(spread) = Spread::of(&group) else { continue };
            let label = if is_single { self.test.clone() } else { format!("{} GPU {gpu}", self.test) };
            let side = Side {
                spread: (group.len() > 1).then_some(spread),
                ..Side::at(BytesPerSec::from_gb(spread.mean))
            };
            let measured = Measured::of(self.line, Work::named(label), op, side);
            imported.measurements.push(Measured { memory_only: true, ..measured });
        }
    }
}

/// The text of nvbandwidth (`output.cpp`; the matrix in `inline_common.h`).
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut test: Option<String> = None;
    let mut matrix: Option<CopyMatrix> = None;
    let mut begins: Option<(usize, String)> = None;
    let mut broken: Option<String> = None;
    let mut lost: Vec<usize> = Vec::new();
    for (number, line) in page.lines() {
        let bare = line.trim();
        let line = bare;
        if let Some(version) = line.strip_prefix("nvbandwidth Version:") {
            put(&mut found, page, matrix.take(), begins.take());
            begins = Some((number, version.trim().to_owned()));
        } else if let Some(name) = line.strip_prefix("Running ") {
            put(&mut found, page, matrix.take(), begins.take());
            test = Some(name.trim_end_matches('.').to_owned());
        } else if line.ends_with("bandwidth (GB/s)") {
            put(&mut found, page, matrix.take(), begins.take());
            let test = test.clone().unwrap_or_else(|| line.trim_end_matches(" bandwidth (GB/s)").to_owned());
            matrix = Some(CopyMatrix { line: number, test, ..CopyMatrix::default() });
        } else if let Some(rest) = line.strip_prefix("SUM ").or_else(|| line.strip_prefix("&&&& PERF ")) {
            match &mut matrix {
                Some(matrix) => {
                    matrix.sum = rest.split_whitespace().nth(1).and_then(leading).map(|(sum, _)| sum)
                }
                None => lost.push(number),
            }
        } else if line.starts_with("ASSERT in expression") || line.starts_with("[CUDA_ERROR") {
            put(&mut found, page, matrix.take(), begins.take());
            found.last_mut().into_iter().for_each(|run| run.failures.push(line.chars().take(200).collect()));
        } else if let Some(matrix) = &mut matrix {
            // A mail program breaks rows where they have no more room.
            let whole = broken.take().map(|begun| format!("{begun} {line}"));
            let line =
                whole.as_deref().filter(|line| heading(line).or(row(line).map(|row| row.len())).is_some());
            let line = line.unwrap_or(bare);
            if let Some(width) = heading(line) {
                matrix.width = width;
                broken = Some(line.to_owned());
            } else if let Some(row) = row(line).filter(|_| matrix.sum.is_none()) {
                // The last row of a text that ends in it has fewer cells than columns.
                if row.len() == matrix.width {
                    matrix.rows.push(row);
                } else {
                    broken = Some(line.to_owned());
                }
            }
        }
    }
    put(&mut found, page, matrix, begins);
    if let Some(run) = found.last_mut() {
        run.unread.extend(lost);
    }
    found
}

/// The heading of a matrix: a whole number for each column.
fn heading(line: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_count = |(at, word): (usize, &&str)| word.parse() == Ok(at);
    (!words.is_empty() && words.iter().enumerate().all(is_count)).then_some(words.len())
}

/// A row: the device, and a number or `N/A` for each column. The heading has whole numbers only.
fn row(line: &str) -> Option<Vec<Option<f64>>> {
    let mut words = line.split_whitespace();
    words.next()?.parse::<u32>().ok()?;
    let cells: Vec<&str> = words.collect();
    let is_cell = |cell: &&str| *cell == "N/A" || cell.contains('.') && plain(cell).is_some();
    (!cells.is_empty() && cells.iter().all(is_cell)).then(|| cells.iter().map(|cell| plain(cell)).collect())
}

fn put(
    found: &mut Vec<Imported>,
    page: &Page<'_>,
    matrix: Option<CopyMatrix>,
    begins: Option<(usize, String)>,
) {
    let begins_with = begins.or_else(|| {
        let first = matrix.as_ref().filter(|_| found.is_empty())?;
        Some((first.line, String::new()))
    });
    if let Some((line, version)) = begins_with {
        let version = Some(version).filter(|version| !version.is_empty());
        found.push(Imported { version, ..Imported::new(Tool::Nvbandwidth, page.name, line) });
    }
    if let (Some(matrix), Some(run)) = (matrix, found.last_mut()) {
        if matrix.rows.is_empty() {
            run.unread.push(matrix.line);
        }
        matrix.add_to(run);
    }
}

/// `nvbandwidth -j` (`json_output.cpp`): cells are strings, `N/A` where nothing was measured.
pub(super) fn read_json(page: &Page<'_>) -> Vec<Imported> {
    documents(page, "\"nvbandwidth\"").iter().filter_map(|document| run_of_json(page, document)).collect()
}

fn run_of_json(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = document.value.get("nvbandwidth")?;
    let mut imported = Imported::new(Tool::Nvbandwidth, page.name, document.line);
    imported.version = text(value, "version").map(str::to_owned);
    imported.truncated = document.truncated;
    imported.failures.extend(text(value, "error").map(str::to_owned));
    for test in list(value, "testcases") {
        let name = text(test, "name").unwrap_or_default();
        if text(test, "status").is_some_and(|status| status.starts_with("Error")) {
            let reason = text(test, "error").unwrap_or("no reason given");
            imported.failures.push(format!("{name}: {reason}"));
        }
        let matrix = CopyMatrix {
            line: document.line,
            test: name.to_owned(),
            rows: list(test, "bandwidth_matrix")
                .filter_map(Value::as_array)
                .map(|row| row.iter().map(json_cell).collect())
                .collect(),
            sum: number(test, "sum"),
            ..CopyMatrix::default()
        };
        if !matrix.rows.is_empty() {
            matrix.add_to(&mut imported);
        }
    }
    (!imported.is_empty()).then_some(imported)
}

fn json_cell(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => plain(text),
        other => other.as_f64().filter(|number| *number >= 0.0),
    }
}

/// `cryptsetup benchmark`: the ciphers in memory, by the tool's own word. Its MiB/s are binary.
pub(super) fn read_cryptsetup(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut last = None;
    for (number, line) in page.lines() {
        let Some(measured) = cipher(number, line) else { continue };
        if last.is_none_or(|last| number > last + 2) {
            found.push(Imported::new(Tool::Cryptsetup, page.name, number));
        }
        last = Some(number);
        if let Some(table) = found.last_mut() {
            table.measurements.push(measured);
        }
    }
    found
}

/// `aes-xts        256b      2734.6 MiB/s      2732.8 MiB/s`.
fn cipher(number: usize, line: &str) -> Option<Measured> {
    let row = BenchmarkRow::of(line)?;
    let work = Work { jobs: Some(1), ..Work::named(format!("{} {}b", row.name, row.key_bits)) };
    let mut measured = Measured::of(number, work, Op::Write, Side::at(row.encrypt));
    measured.memory_only = true;
    measured.put(Op::Read, Side::at(row.decrypt));
    Some(measured)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Derived, Op};
    use super::*;

    /// Figures of NVIDIA/nvbandwidth issue 15 (v0.2) and issue 50 (v0.8).
    const TEXT_BODY: &str = "nvbandwidth Version: v0.2\nBuilt from Git version: 6cefdda\n\nDevice 0: NVIDIA GeForce RTX 4090\n\n\
        Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n\
        \x20         0         1         2         3         4         5         6         7\n\
        0     25.50     24.26     23.90     26.30     26.28     26.38     26.09     26.31\n\n\
        SUM host_to_device_memcpy_ce 205.04\n\nRunning device_to_host_memcpy_ce.\n\
        memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n          0         1\n0     26.77     26.47\n\n\
        nvbandwidth Version: v0.8\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1         2\n \
        0       N/A     26.34     26.35\n 1     26.34       N/A     26.34\n 2     26.34     26.35       N/A\n\n\
        SUM device_to_device_memcpy_read_ce 158.06\n";

    #[test]
    fn a_gpu_is_a_measurement_and_the_sum_of_the_cells_is_checked() {
        let found = read(&Page { name: "x", body: TEXT_BODY });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [10, 3]);
        let third = &found[0].measurements[2];
        assert_eq!(third.work.label, "host_to_device_memcpy_ce GPU 2");
        assert_eq!(third.write.as_ref().map(|side| side.bytes_per_second.get()), Some(23.9e9));
        assert!(found[0].measurements[8].side(Op::Read).is_some());
        assert!(found[0].measurements.iter().all(|one| one.memory_only));
        // The eight cells of the first make 205.02; what was added was not rounded.
        assert!(found.iter().flat_map(|one| &one.derived).all(Derived::agrees), "{found:?}");
    }

    #[test]
    fn rows_and_headings_that_mail_broke_are_whole() {
        let broken = TEXT_BODY.replace("         7\n", "\n7\n").replace("     26.31\n", "\n26.31\n");
        assert!(broken != TEXT_BODY);
        let cells = |body: &str| read(&Page { name: "x", body })[0].measurements.len();
        assert_eq!(cells(&broken), cells(TEXT_BODY));
    }

    #[test]
    fn a_matrix_without_its_heading_or_its_rows_is_said_to_be_unread() {
        let unread = |body: &str| -> Vec<usize> {
            read(&Page { name: "x", body }).iter().flat_map(|run| run.unread.clone()).collect()
        };
        assert_eq!(unread(TEXT_BODY), Vec::<usize>::new());
        let sum = TEXT_BODY.lines().position(|line| line.starts_with("SUM host_to_device")).unwrap() + 1;
        let heading = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)";
        assert_eq!(unread(&TEXT_BODY.replace(heading, "memcpy CE CPU(row) ->")), [sum]);
        let row = "0     25.50     24.26     23.90     26.30     26.28     26.38     26.09     26.31";
        let cut = TEXT_BODY.replace(row, "0     25.50     24.26     23.90");
        assert_eq!(unread(&cut), [TEXT_BODY.lines().position(|line| line == heading).unwrap() + 1]);
        // What is N/A was read.
        let none =
            "Running t.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n   0\n0  N/A\n\nSUM t 0.00\n";
        assert_eq!(unread(none), Vec::<usize>::new());
    }

    #[test]
    fn a_failed_test_says_so_and_a_cut_off_matrix_keeps_its_rows() {
        let body = "nvbandwidth Version: v0.7\nRunning device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           \
            0         1\n 0       N/A     26.34\n 1     26.";
        let found = read(&Page { name: "x", body });
        assert_eq!(found[0].measurements.len(), 1, "{found:?}");
        let body = "nvbandwidth Version: v0.7\n\nRunning x bandwidth (GB/s)\nASSERT in expression h_errorFlag == 0 in void f()\n";
        assert_eq!(read(&Page { name: "x", body })[0].failures.len(), 1);
    }

    proptest! {
        #[test]
        fn a_row_has_the_numbers_that_it_was_made_of(cells in prop::collection::vec(1u32..99_999, 2..9)) {
            let shown: Vec<String> = cells.iter().map(|cell| format!("{:10.2}", f64::from(*cell) / 100.0)).collect();
            let heading: Vec<String> = (0..cells.len()).map(|gpu| format!("{gpu:10}")).collect();
            let body = format!(
                "Running t.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n  {}\n 0{}\n",
                heading.concat(),
                shown.concat()
            );
            let found = read(&Page { name: "x", body: &body });
            let rates: Vec<f64> =
                found[0].measurements.iter().filter_map(|one| one.write.as_ref()).map(|side| side.bytes_per_second.get()).collect();
            prop_assert_eq!(rates.len(), cells.len());
            for (rate, cell) in rates.iter().zip(&cells) {
                prop_assert!((rate - f64::from(*cell) * 1e7).abs() < 1.0);
            }
        }
    }

    const JSON_BODY: &str = r#"{
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
        let found = read_json(&Page { name: "x", body: JSON_BODY });
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
        let at = JSON_BODY.find("\"276.19\"").expect("it is there");
        let found = read_json(&Page { name: "x", body: &JSON_BODY[..at] });
        assert!(found[0].truncated && found[0].measurements.len() >= 2);
    }

    #[test]
    fn a_table_with_annotations_is_one_result() {
        let body = "# Tests are approximate using memory only (no storage IO).\n#     Algorithm |       Key |      Encryption |      Decryption\n\
            \n#       aes-cbc        128b      1105.1 MiB/s      3125.5 MiB/s\n    serpent-cbc        128b       108.4 MiB/s       680.3 MiB/s <- slow\n\
            aes - 3 MiB/s\n";
        let found = read_cryptsetup(&Page { name: "x", body });
        assert_eq!(found.len(), 1);
        let aes = &found[0].measurements[0];
        assert_eq!(aes.read.as_ref().map(|side| side.bytes_per_second.get()), Some(3125.5 * 1_048_576.0));
        assert!(aes.memory_only && found[0].measurements.len() == 2);
    }
}
