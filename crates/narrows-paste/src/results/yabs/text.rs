//! The table of YABS: two block sizes side by side, rates with I/Os per second in brackets.

use super::super::number::{Base, leading, scaled, size};
use super::super::{Imported, Page, Tool};
use super::{CORRECTION, Row, file_of};
use narrows_base::units::{Bytes, BytesPerSec, Iops};

/// Between a table whose I/Os times block size are what it prints, and one where they are 1.024 times that.
const BETWEEN: f64 = 1.012;

/// Fewer I/Os per second are printed too coarsely to tell 2.4 %.
const FEWEST: f64 = 200.0;

/// The tables in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["fio Disk Speed Tests"]) {
        return Vec::new();
    }
    let mut found: Vec<Table> = Vec::new();
    let mut version = None;
    for (number, line) in page.lines() {
        if line.starts_with('#') {
            let word = line.split_whitespace().find(|word| word.starts_with("v20") && word.len() == 11);
            version = word.map(str::to_owned).or(version);
        } else if line.contains("fio Disk Speed Tests") {
            found.push(Table { line: number, version: version.clone(), ..Table::default() });
        } else if let Some(table) = found.last_mut() {
            table.see(number, line);
        }
    }
    found.into_iter().filter_map(|table| table.finish(page)).collect()
}

#[derive(Debug, Default)]
struct Table {
    line: usize,
    version: Option<String>,
    /// The blocks of the row of headings that was seen last, and of all before it.
    columns: usize,
    rows: Vec<Row>,
    is_blank: bool,
    ended: bool,
}

impl Table {
    fn see(&mut self, number: usize, line: &str) {
        let mut cells = line.split('|').map(str::trim);
        let name = cells.next().unwrap_or_default();
        match name {
            _ if self.ended => {}
            "Block Size" => {
                self.columns = 0;
                for cell in cells {
                    let label = cell.split_whitespace().next().unwrap_or_default();
                    let block = size(label, Base::Binary);
                    self.rows.push(Row { line: number, label: label.to_owned(), block, ..Row::default() });
                    self.columns += 1;
                }
            }
            "Read" | "Write" => {
                let first = self.rows.len().saturating_sub(self.columns);
                for (row, cell) in self.rows.iter_mut().skip(first).zip(cells) {
                    self.is_blank |= cell == "()" || cell.is_empty();
                    let value = value(cell);
                    if name == "Read" { row.read = value } else { row.write = value }
                }
            }
            _ if line.starts_with("iperf3") || line.starts_with("Geekbench") => self.ended = true,
            _ => {}
        }
    }

    fn finish(mut self, page: &Page<'_>) -> Option<Imported> {
        let mut imported = Imported::new(Tool::Yabs, page.name, self.line);
        imported.version = self.version.take();
        if self.is_kib() {
            imported.corrections.push(CORRECTION.to_owned());
            for row in &mut self.rows {
                for (rate, _) in [&mut row.read, &mut row.write].into_iter().flatten() {
                    *rate = BytesPerSec::new(rate.get() * 1.024);
                }
            }
        }
        let is_blank = self.is_blank;
        imported.measurements = self.rows.into_iter().filter_map(|row| row.measured(file_of(None))).collect();
        if is_blank && imported.measurements.is_empty() {
            imported.failures.push("fio gave YABS no result: its table is empty".to_owned());
        }
        (!imported.is_empty()).then_some(imported)
    }

    /// Whether the rates are KiB/s ÷ 1000; where too few I/Os were done to tell, as the many releases had it.
    fn is_kib(&self) -> bool {
        let sides = self.rows.iter().flat_map(|row| [(row.block, row.read), (row.block, row.write)]);
        let mut ratios: Vec<f64> = sides
            .filter_map(|(block, side)| {
                let (rate, iops) = side?;
                let iops = iops.filter(|iops| iops.get() >= FEWEST)?;
                Some(iops.get() * block?.as_f64() / rate.get())
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).is_none_or(|middle| *middle > BETWEEN)
    }
}

/// `139.84 MB/s  (34.9k)`.
fn value(cell: &str) -> Option<(BytesPerSec, Option<Iops>)> {
    let (rate, rest) = leading(cell)?;
    let unit = rest.split_whitespace().next()?;
    if !unit.ends_with("B/s") || rate <= 0.0 {
        return None;
    }
    let rate = BytesPerSec::new(scaled(&format!("{rate}{unit}"), Base::Decimal)?);
    let iops = rest.split_once('(').and_then(|(_, iops)| scaled(iops.trim_end_matches(')'), Base::Decimal));
    Some((rate, iops.map(Iops::new)))
}

/// Main memory as the table of the system tells it, with the line: `RAM        : 15.4 GiB`.
pub(in crate::results) fn memory(page: &Page<'_>) -> Option<(Bytes, usize)> {
    if !page.has(&["Basic System Information"]) {
        return None;
    }
    page.lines().find_map(|(number, line)| {
        let value = line.trim().strip_prefix("RAM")?.trim_start().strip_prefix(':')?;
        let words: String = value.split_whitespace().take(2).collect();
        Some((size(&words, Base::Binary).filter(|size| size.get() > 1 << 20)?, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of masonr/yet-another-bench-script pull request 17.
    const OF_2020: &str = "#                     v2020-11-20                    #\nBasic System Information:\nRAM        : 15.4 GiB\n\
        fio Disk Speed Tests (Mixed R/W 50/50):\n---------------------------------\n\
        Block Size | 4k            (IOPS) | 64k           (IOPS)\n  ------   | ---            ----  | ----           ----\n\
        Read       | 139.84 MB/s  (34.9k) | 1.34 GB/s    (21.0k)\nWrite      | 140.20 MB/s  (35.0k) | 1.35 GB/s    (21.1k)\n\
        Total      | 280.04 MB/s  (70.0k) | 2.70 GB/s    (42.1k)\n           |                      |\n\
        Block Size | 512k          (IOPS) | 1m            (IOPS)\n  ------   | ---            ----  | ----           ----\n\
        Read       | 1.75 GB/s     (3.4k) | 1.86 GB/s     (1.8k)\nWrite      | 1.84 GB/s     (3.6k) | 1.99 GB/s     (1.9k)\n\
        Total      | 3.59 GB/s     (7.0k) | 3.86 GB/s     (3.7k)\n\niperf3 Network Speed Tests (IPv4):\nRead | 1 MB/s (1)\n";

    #[test]
    fn an_old_table_is_too_low_and_says_so_itself() {
        let found = read(&Page { name: "x", body: OF_2020 });
        assert_eq!((found.len(), found[0].version.as_deref()), (1, Some("v2020-11-20")));
        let labels: Vec<&str> = found[0].measurements.iter().map(|one| one.work.label.as_str()).collect();
        assert_eq!(labels, ["4k", "64k", "512k", "1m"]);
        let read = found[0].measurements[0].read.as_ref().expect("reads");
        // 34.9 thousand of 4096 bytes are 142.95 MB/s.
        assert!((read.bytes_per_second.get() / 142.95e6 - 1.0).abs() < 3e-3);
        assert!((read.bytes_per_second.get() - 139.84e6 * 1.024).abs() < 1.0);
        assert_eq!(found[0].corrections.len(), 1);
        assert_eq!(
            memory(&Page { name: "x", body: OF_2020 }).map(|(size, _)| size.get() >> 20),
            Some(15_769)
        );
    }

    #[test]
    fn a_table_of_2026_is_right_as_it_is() {
        let body = "fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda2):\n\
            Block Size | 4k            (IOPS) | 64k           (IOPS)\n\
            Read       | 204.90 MB/s  (50.0k) | 1.31 GB/s    (20.0k)\nWrite      | 204.80 MB/s  (50.0k) | 1.31 GB/s    (20.0k)\n";
        let found = read(&Page { name: "x", body });
        assert!(found[0].corrections.is_empty());
        let read = found[0].measurements[0].read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 204.9e6);
    }

    #[test]
    fn an_empty_table_is_a_failed_run() {
        let body = "fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda2):\n\
            Block Size | 4k            (IOPS) | 64k           (IOPS)\nRead       |                   () |                   ()\n\
            Write      |                   () |                   ()\nTotal      | 0.00 KB/s        (0) | 0.00 KB/s        (0)\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found[0].measurements.len(), found[0].failures.len()), (0, 1));
    }
}
