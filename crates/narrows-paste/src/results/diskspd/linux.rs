//! diskspd for Linux. Its MB/s are MiB/s. Blogs glue its lines together, so that a table may begin behind another's sum.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use crate::results::number::{Base, MIB, Rounded, contradiction, seconds, size, value, whole};
use crate::results::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};

/// The jobs in a text, each a result. What only this diskspd prints tells it from that of Windows.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["I/O per s"]) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut job = Job::default();
    for (number, line) in page.lines() {
        if let Some((_, command)) = line.split_once("Command Line:") {
            found.extend(std::mem::take(&mut job).finish(page));
            let command = command.split("System info:").next().unwrap_or(command);
            job = Job { line: number, command: Some(command.trim().to_owned()), ..Job::default() };
        }
        if is_of_windows(line.trim()) {
            found.extend(std::mem::take(&mut job).finish(page));
        }
        job.see(number, line.trim());
    }
    found.extend(job.finish(page));
    found
}

/// What only the diskspd of Windows prints.
fn is_of_windows(line: &str) -> bool {
    line.starts_with("Results for timespan") || line.starts_with("actual test time:")
}

#[derive(Debug, Default)]
struct Job {
    line: usize,
    command: Option<String>,
    work: Work,
    threads: Option<u32>,
    time: Option<Rounded>,
    table: Option<Op>,
    sides: Vec<(usize, Op, Sum)>,
}

/// `total: 9401901056 | 2295386 | 298.88 | 76512.87`.
#[derive(Debug, Clone, Copy)]
struct Sum {
    bytes: u64,
    ios: u64,
    rate: Rounded,
    iops: Rounded,
}

impl Job {
    fn see(&mut self, number: usize, line: &str) {
        if let Some((_, rest)) = line.split_once("total:") {
            // Each job has one table of each direction.
            let is_new = |op: &Op| self.sides.iter().all(|(_, known, _)| known != op);
            if let (Some(op), Some(sum)) = (self.table.filter(is_new), sum(rest)) {
                self.sides.push((number, op, sum));
            }
            self.table = None;
        }
        // The name of the next table may stand on the same line.
        for (name, op) in [("Total IO", None), ("Read IO", Some(Op::Read)), ("Write IO", Some(Op::Write))] {
            if line.trim_end().ends_with(name) {
                self.table = op;
            }
        }
        self.option(line);
    }

    fn option(&mut self, line: &str) {
        if line.contains("using O_DIRECT") {
            self.work.direct = Some(true);
        } else if line.contains("using O_SYNC") || line.contains("using O_DSYNC") {
            self.work.durability = Some(Durability::Each);
        } else if line.contains("using random I/O") {
            self.work.pattern = Some(Pattern::Random);
        } else if line.contains("using sequential I/O") || line.contains("using interlocked sequential I/O") {
            self.work.pattern = Some(Pattern::Sequential);
        } else if let Some(size) = line.strip_prefix("block size:").and_then(|text| size(text, Base::Binary))
        {
            self.work.block_size = Some(size);
        } else if let Some(size) = line.strip_prefix("size:").and_then(|text| size(text, Base::Binary)) {
            self.work.working_set = Some(size);
        } else if let Some(depth) = value(line, "outstanding I/O operations:") {
            self.work.queue_depth = (depth < 1e6).then_some(depth as u32);
        } else if let Some((count, _)) = line.strip_prefix("total threads:").and_then(whole) {
            self.threads = u32::try_from(count).ok();
        } else if let Some((time, _)) = line.strip_prefix("test time:").and_then(Rounded::leading) {
            self.time = Some(time);
        } else if let Some(path) = line.strip_prefix("path:") {
            self.work.target =
                Some(path.trim_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '.').to_owned());
        }
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let time = self.time?;
        let mut result = Imported::new(Tool::Diskspd, page.name, self.line.max(1));
        result.version = Some("for Linux".to_owned());
        let first = self.sides.first()?.0;
        let work = Work { label: "total".to_owned(), jobs: self.threads, ..self.work };
        let mut measured = Measured::new(first, work);
        for (_, op, sum) in self.sides.into_iter().filter(|(_, _, sum)| sum.bytes > 0) {
            let amount = Rounded::exact(sum.bytes as f64 / MIB);
            result.derived.extend(contradiction("rate, in MB/s", sum.rate, &[1.0], amount, time));
            let count = Rounded::exact(sum.ios as f64);
            result.derived.extend(contradiction("I/O per s", sum.iops, &[1.0], count, time));
            let side = Side {
                iops: Some(Iops::new(sum.iops.value())),
                bytes: Some(Bytes::new(sum.bytes)),
                ios: Some(sum.ios),
                elapsed_ns: seconds(time.value()),
                ..Side::at(BytesPerSec::new(sum.rate.value() * MIB))
            };
            measured.put(op, side);
        }
        measured.sides().next()?;
        result.measurements.push(measured);
        result.corrections.push("MB/s of diskspd are MiB/s; read as such".to_owned());
        result.command = self.command;
        Some(result)
    }
}

fn sum(text: &str) -> Option<Sum> {
    let cells: Vec<&str> = text.split('|').map(str::trim).collect();
    let [bytes, ios, rate, iops, ..] = cells.as_slice() else { return None };
    Some(Sum {
        bytes: bytes.parse().ok()?,
        ios: ios.parse().ok()?,
        rate: Rounded::leading(rate)?.0,
        iops: Rounded::leading(iops)?.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "Command Line: diskspd -c50G -b4K -r x\ntotal threads: 4\nusing O_DIRECT\nblock size: 4096\nusing random I/O (alignment: 65536)\n\
        number of outstanding I/O operations: 128)\ndevice scheduler: noneResults for job 1:\ntest time: 30s\nTotal IO\nthread | bytes | I/Os | MB/s | I/O per s | file\n\
        total: 9401901056 | 2295386 | 298.88 | 76512.87Read IO\ntotal: 9401901056 | 2295386 | 298.88 | 76512.87Write IO\ntotal: 0 | 0 | 0.00 | 0.00\n";

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
    }

    #[test]
    fn lines_that_a_blog_glued_together_are_read() {
        let found = of(BODY);
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let one = &result.measurements[0];
        let read = one.read.as_ref().expect("reads");
        assert_eq!(read.bytes_per_second.get(), 298.88 * 1_048_576.0);
        assert!(one.write.is_none() && result.derived.is_empty(), "{result:?}");
        assert_eq!((one.work.queue_depth, one.work.jobs, one.work.direct), (Some(128), Some(4), Some(true)));
    }

    #[test]
    fn an_output_of_windows_beside_it_is_none_of_its_own() {
        let windows = "Total IO\nthread | bytes | I/Os | MB/s | I/O per s | file\n\
            total:        2775056384 |        21172 |     529.36 |    4234.88\n";
        let both = format!("{BODY}\nand the other one:\n{windows}");
        let page = Page { name: "x", body: &both };
        assert_eq!(of(&both).len(), 1);
        let of_windows = super::super::read_text(&page);
        let [result] = of_windows.as_slice() else { panic!("{of_windows:?}") };
        assert!(result.measurements[0].both.is_some() && result.command.is_none(), "{result:?}");
        let whole = format!(
            "{BODY}\nInput parameters:\n\nResults for timespan 1:\nactual test time: 60.00s\n{windows}"
        );
        assert_eq!(of(&whole)[0].measurements[0].sides().count(), 1);
        let command =
            format!("{BODY}\nCommand Line: diskspd.exe -b4K testfile.dat\nInput parameters:\n{windows}");
        let page = Page { name: "x", body: &command };
        assert_eq!(super::super::read_text(&page).len(), 1);
    }

    #[test]
    fn a_rate_that_is_not_that_of_bytes_and_time_contradicts_them() {
        assert_eq!(of(&BODY.replace("298.88", "398.88"))[0].derived.len(), 1);
    }
}
