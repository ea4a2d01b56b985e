//! Yet Another Bench Script: the JSON of `-j` and `-w`, and its table.
//!
//! It runs `fio --rw=randrw --rwmixread=50 --iodepth=64 --numjobs=2 --runtime=30 --direct=1` on one file of 2 GiB (512 MiB
//! on ARM) with blocks of 4 KiB, 64 KiB, 512 KiB and 1 MiB (`yabs.sh`, `disk_test`), and takes fio's terse bandwidths,
//! which are KiB/s. The JSON has those as they are and calls them `KBps`. The table divided them by 1000 and called the
//! quotient MB/s before `v2026-07-03`, 2.34 % too low; since then it multiplies by 1024 first. Which of both a table is,
//! its own I/Os per second times block size tell.

mod json;
mod text;

pub(super) use json::memory as memory_of_json;
pub(super) use json::read as read_json;
pub(super) use text::memory as memory_of_text;
pub(super) use text::read;

use super::{Measured, Op, Side, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

/// What the correction is called.
const CORRECTION: &str = "YABS prints fio's KiB/s as KB/s; its rates are multiplied by 1.024";

/// fio ends each test by itself after this long.
const ASKED: Nanos = Nanos::from_millis(30_000);

/// The rates of one block size.
#[derive(Debug, Clone, Default)]
struct Row {
    line: usize,
    label: String,
    block: Option<Bytes>,
    read: Option<(BytesPerSec, Option<Iops>)>,
    write: Option<(BytesPerSec, Option<Iops>)>,
}

impl Row {
    /// The measurement; `file` is the size of the file that both jobs visit once.
    fn measured(self, file: Bytes) -> Option<Measured> {
        let all: f64 = [self.read, self.write].iter().flatten().map(|(rate, _)| rate.get()).sum();
        if all <= 0.0 {
            return None;
        }
        // Two jobs move the whole file each, or as much as they can in the time.
        let seconds = (2.0 * file.as_f64() / all).min(ASKED.as_secs_f64());
        let work = Work {
            label: self.label,
            pattern: Some(Pattern::Random),
            block_size: self.block,
            queue_depth: Some(64),
            jobs: Some(2),
            engine: Some("libaio".to_owned()),
            direct: Some(true),
            working_set: Some(file),
            asked_ns: Some(ASKED),
            ..Work::default()
        };
        let mut measured = Measured::new(self.line, work);
        for (op, side) in [(Op::Read, self.read), (Op::Write, self.write)] {
            let Some((rate, iops)) = side else { continue };
            measured.put(
                op,
                Side {
                    bytes_per_second: rate,
                    iops,
                    bytes: super::number::to_bytes(rate.get() * seconds),
                    elapsed_ns: Some(Nanos::new((seconds * 1e9) as u64)),
                    ..Side::default()
                },
            );
        }
        Some(measured)
    }
}

/// The size of the file by the processor's architecture (`yabs.sh`, `FIO_SIZE`).
fn file_of(architecture: Option<&str>) -> Bytes {
    match architecture {
        Some("aarch64" | "arm") => Bytes::from_mib(512),
        _ => Bytes::from_mib(2048),
    }
}
