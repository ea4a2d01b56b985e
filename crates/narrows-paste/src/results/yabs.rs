//! Yet Another Bench Script: the JSON of `-j` and `-w`, and its table.
//!
//! It runs `fio --rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2 --runtime=30 --direct=1` on one file of 2 GiB (512 MiB
//! on ARM) with blocks of 4 KiB, 64 KiB, 512 KiB and 1 MiB (`yabs.sh`, `disk_test`), and takes fio's terse bandwidths,
//! which are KiB/s. The JSON has those as they are and calls them `KBps`. The table divided them by 1000 and called the
//! quotient MB/s before `v2026-07-03`, 2.34 % too low; since then it multiplies by 1024 first. Which of both a table is,
//! its own I/Os per second times block size tell.

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use super::json::{Document, count, documents, number, text};
use super::number::{Base, leading, scaled, size};
use super::{Imported, Measured, Page, Side, Tool, Work};

/// What the correction is called.
const CORRECTION: &str = "YABS prints fio's KiB/s as KB/s; its rates are multiplied by 1.024";

/// fio ends each test by itself after this long.
const ASKED_SECONDS: Nanos = Nanos::from_millis(30_000);

/// The rates of one block size.
#[derive(Debug, Clone, Default)]
struct YabsRow {
    line: usize,
    label: String,
    block: Option<Bytes>,
    read: Option<(BytesPerSec, Option<Iops>)>,
    write: Option<(BytesPerSec, Option<Iops>)>,
}

impl YabsRow {
    /// The measurement; `file` is the size of the file that both jobs visit once.
    fn measured(self, file: Bytes) -> Option<Measured> {
        let all: f64 = [self.read, self.write].iter().flatten().map(|(rate, _)| rate.get()).sum();
        if all <= 0.0 {
            return None;
        }
        // Two jobs move the whole file each, or as much as they can in the time.
        let seconds = (2.0 * file.as_f64() / all).min(ASKED_SECONDS.as_secs_f64());
        let work = Work {
            pattern: Some(Pattern::Random),
            block_size: self.block,
            queue_depth: Some(64),
            jobs: Some(2),
            engine: Some("libaio".to_owned()),
            direct: Some(true),
            working_set: Some(file),
            asked_ns: Some(ASKED_SECONDS),
            ..Work::named(self.label)
        };
        let side = |(rate, iops): (BytesPerSec, Option<Iops>)| Side {
            iops,
            bytes: super::number::to_bytes(rate.get() * seconds),
            elapsed_ns: Some(Nanos::new((seconds * 1e9) as u64)),
            ..Side::at(rate)
        };
        let (read, write) = (self.read.map(side), self.write.map(side));
        Some(Measured { read, write, ..Measured::new(self.line, work) })
    }
}

/// The size of the file by the processor's architecture (`yabs.sh`, `FIO_SIZE`).
fn file_of(architecture: Option<&str>) -> Bytes {
    match architecture {
        Some("aarch64" | "arm") => Bytes::from_mib(512),
        _ => Bytes::from_mib(2048),
    }
}

/// Between a table whose I/Os times block size are what it prints, and one where they are 1.024 times that.
const BETWEEN: f64 = 1.012;

/// Fewer I/Os per second are printed too coarsely to tell 2.4 %.
const FEWEST: f64 = 200.0;

/// The table of YABS: two block sizes side by side, rates with I/Os per second in brackets.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<YabsTable> = Vec::new();
    let mut version = None;
    for (number, line) in page.lines() {
        if line.starts_with('#') {
            let word = line.split_whitespace().find(|word| word.starts_with("v20") && word.len() == 11);
            version = word.map(str::to_owned).or(version);
        } else if line.contains("fio Disk Speed Tests") {
            found.push(YabsTable { line: number, version: version.clone(), ..YabsTable::default() });
        } else if let Some(table) = found.last_mut() {
            table.see(number, line);
        }
    }
    found.into_iter().filter_map(|table| table.finish(page)).collect()
}

#[derive(Debug, Default)]
struct YabsTable {
    line: usize,
    version: Option<String>,
    /// The blocks of the row of headings that was seen last, and of all before it.
    columns: usize,
    rows: Vec<YabsRow>,
    is_blank: bool,
    ended: bool,
}

impl YabsTable {
    fn see(&mut self, number: usize, line: &str) {
        let mut cells = line.split('|').map(str::trim);
        let name = cells.next().unwrap_or_default();
        match name {
            _ if self.ended => {}
            "Block Size" => {
                let before = self.rows.len();
                self.rows.extend(cells.map(|cell| {
                    let label = cell.split_whitespace().next().unwrap_or_default().to_owned();
                    YabsRow { line: number, block: size(&label, Base::Binary), label, ..YabsRow::default() }
                }));
                self.columns = self.rows.len() - before;
            }
            "Read" | "Write" => {
                let first = self.rows.len().saturating_sub(self.columns);
                for (row, cell) in self.rows.iter_mut().skip(first).zip(cells) {
                    self.is_blank |= cell == "()" || cell.is_empty();
                    let value = table_value(cell);
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
        imported.measurements = self.rows.into_iter().filter_map(|row| row.measured(file_of(None))).collect();
        if self.is_blank && imported.measurements.is_empty() {
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
fn table_value(cell: &str) -> Option<(BytesPerSec, Option<Iops>)> {
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
pub(super) fn memory_of_text(page: &Page<'_>) -> Option<(Bytes, usize)> {
    if !page.has(&["Basic System Information"]) {
        return None;
    }
    page.lines().find_map(|(number, line)| {
        let value = line.trim().strip_prefix("RAM")?.trim_start().strip_prefix(':')?;
        let words: String = value.split_whitespace().take(2).collect();
        Some((size(&words, Base::Binary).filter(|size| size.get() > 1 << 20)?, number))
    })
}

/// `yabs.sh -j`: one object on one line.
pub(super) fn read_json(page: &Page<'_>) -> Vec<Imported> {
    documents(page, "\"speed_r\"").iter().filter_map(|document| run_of_json(page, document)).collect()
}

fn run_of_json(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = &document.value;
    let file = file_of(value.get("os").and_then(|os| text(os, "arch")));
    let mut imported = Imported::new(Tool::Yabs, page.name, document.line);
    imported.version = text(value, "version").map(str::to_owned);
    imported.truncated = document.truncated;
    for one in value.get("fio")?.as_array()? {
        let label = text(one, "bs").unwrap_or_default();
        let side = |rate: &str, iops: &str| {
            let kib = number(one, rate).filter(|rate| *rate > 0.0)?;
            Some((BytesPerSec::from_kib(kib), number(one, iops).map(Iops::new)))
        };
        let row = YabsRow {
            line: document.line,
            label: label.to_owned(),
            block: size(label, Base::Binary),
            read: side("speed_r", "iops_r"),
            write: side("speed_w", "iops_w"),
        };
        imported.measurements.extend(row.measured(file));
    }
    if !imported.measurements.is_empty() {
        imported.corrections.push(CORRECTION.to_owned());
    }
    (!imported.is_empty()).then_some(imported)
}

/// Main memory as the object tells it, with the line.
pub(super) fn memory_of_json(page: &Page<'_>) -> Option<(Bytes, usize)> {
    if !page.has(&["\"ram_units\""]) {
        return None;
    }
    documents(page, "\"ram_units\"").iter().find_map(|document| {
        let memory = document.value.get("mem")?;
        let is_kib = text(memory, "ram_units") == Some("KiB");
        Some((Bytes::from_kib(count(memory, "ram").filter(|_| is_kib)?), document.line))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            memory_of_text(&Page { name: "x", body: OF_2020 }).map(|(size, _)| size.get() >> 20),
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

    const ONE: &str = r#"{"version":"v2023-04-23","os":{"arch":"x64"},"mem":{"ram":2010004,"ram_units":"KiB"},"fio":[{"bs":"4k","speed_r":200100,"iops_r":50025,"speed_w":200628,"iops_w":50157,"speed_rw":400728,"iops_rw":100182,"speed_units":"KBps"},{"bs":"1m","speed_r":512000,"iops_r":500,"speed_w":524288,"iops_w":512,"speed_rw":1036288,"iops_rw":1012,"speed_units":"KBps"}],"iperf":[]}"#;

    #[test]
    fn what_is_called_kilobytes_are_kibibytes_as_the_ios_show() {
        let found = read_json(&Page { name: "x", body: ONE });
        let [small, large] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = small.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 200_100.0 * 1024.0);
        assert_eq!(side.bytes_per_second.get(), 50_025.0 * 4096.0);
        assert_eq!(large.write.as_ref().map(|side| side.bytes_per_second.get()), Some(512.0 * 1_048_576.0));
        assert!(!found[0].corrections.is_empty());
        // 4 GiB at 410 MB/s are over in 10.5 s.
        let seconds = side.elapsed_ns.expect("a time").as_secs_f64();
        assert!((seconds - 10.466).abs() < 0.01, "{seconds}");
        assert_eq!(memory_of_json(&Page { name: "x", body: ONE }), Some((Bytes::from_kib(2_010_004), 1)));
    }

    #[test]
    fn of_a_text_that_was_cut_off_the_whole_sizes_are_kept() {
        let at = ONE.find("{\"bs\":\"1m\"").expect("it is there") + 30;
        let found = read_json(&Page { name: "x", body: &ONE[..at] });
        assert_eq!((found.len(), found[0].measurements.len(), found[0].truncated), (1, 1, true));
    }

    proptest! {
        #[test]
        fn the_numbers_of_an_object_are_those_that_are_read(kib in 1u32..9_000_000, iops in 1u32..900_000) {
            let body = format!("{{\"fio\":[{{\"bs\":\"64k\",\"speed_r\":{kib},\"iops_r\":{iops},\"speed_w\":1,\"iops_w\":1}}]}}");
            let found = read_json(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            prop_assert_eq!(side.bytes_per_second.get(), f64::from(kib) * 1024.0);
            prop_assert_eq!(side.iops.map(|rate| rate.get()), Some(f64::from(iops)));
        }
    }
}
