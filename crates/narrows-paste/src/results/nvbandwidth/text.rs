//! The text of nvbandwidth (`output.cpp`; the matrix in `inline_common.h`).

use super::super::number::{leading, plain};
use super::super::{Imported, Page, Tool};
use super::Matrix;

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["bandwidth (GB/s)"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut test: Option<String> = None;
    let mut matrix: Option<Matrix> = None;
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
            matrix = Some(Matrix { line: number, test, ..Matrix::default() });
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

fn put(found: &mut Vec<Imported>, page: &Page<'_>, matrix: Option<Matrix>, begins: Option<(usize, String)>) {
    let begins_with = begins.or_else(|| {
        let first = matrix.as_ref().filter(|_| found.is_empty())?;
        Some((first.line, String::new()))
    });
    if let Some((line, version)) = begins_with {
        let mut imported = Imported::new(Tool::Nvbandwidth, page.name, line);
        imported.version = Some(version).filter(|version| !version.is_empty());
        found.push(imported);
    }
    if let (Some(matrix), Some(run)) = (matrix, found.last_mut()) {
        if matrix.rows.is_empty() {
            run.unread.push(matrix.line);
        }
        matrix.add_to(run);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Derived, Op};
    use super::*;
    use proptest::prelude::*;

    /// Figures of NVIDIA/nvbandwidth issue 15 (v0.2) and issue 50 (v0.8).
    const BODY: &str = "nvbandwidth Version: v0.2\nBuilt from Git version: 6cefdda\n\nDevice 0: NVIDIA GeForce RTX 4090\n\n\
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
        let found = read(&Page { name: "x", body: BODY });
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
        let broken = BODY.replace("         7\n", "\n7\n").replace("     26.31\n", "\n26.31\n");
        assert!(broken != BODY);
        let cells = |body: &str| read(&Page { name: "x", body })[0].measurements.len();
        assert_eq!(cells(&broken), cells(BODY));
    }

    #[test]
    fn a_matrix_without_its_heading_or_its_rows_is_said_to_be_unread() {
        let unread = |body: &str| -> Vec<usize> {
            read(&Page { name: "x", body }).iter().flat_map(|run| run.unread.clone()).collect()
        };
        assert_eq!(unread(BODY), Vec::<usize>::new());
        let sum = BODY.lines().position(|line| line.starts_with("SUM host_to_device")).unwrap() + 1;
        let heading = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)";
        assert_eq!(unread(&BODY.replace(heading, "memcpy CE CPU(row) ->")), [sum]);
        let row = "0     25.50     24.26     23.90     26.30     26.28     26.38     26.09     26.31";
        let cut = BODY.replace(row, "0     25.50     24.26     23.90");
        assert_eq!(unread(&cut), [BODY.lines().position(|line| line == heading).unwrap() + 1]);
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
}
