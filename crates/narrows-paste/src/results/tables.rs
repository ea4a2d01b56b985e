//! What scripts and small tools for single-board computers and models print: PiBenchmarks, the table of Jeff Geerling's reviews,
//! iobench.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;

use super::number::{Base, MIB, Rounded, leading, rate, seconds, size};
use super::{Durability, Imported, Op, Page, Side, Tool, Work};
use crate::text::fields;

/// Tables of rows with a tool, a test and its rate: what PiBenchmarks prints (`HDParm  Disk Read  707.07 MB/sec`; its `Storage.sh`
/// runs hdparm with `--direct`, dd of 4 KiB zeros with `conv=fsync`, fio and iozone direct), and that of Jeff Geerling's reviews
/// (`| iozone 4K random read | 79.51 MB/s |`; his `disk-benchmark.sh` runs iozone with `-e -I`). The first line names the columns.
///
/// A result for each tool of each table.
pub(super) fn read_tables(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    // The results of the table that is open begin here.
    let mut open: Option<usize> = None;
    for (number, line) in page.lines() {
        let words: Vec<&str> =
            line.split(|c: char| c.is_whitespace() || c == '|').filter(|word| !word.is_empty()).collect();
        if is_table_head(&words) {
            open = Some(found.len());
        } else if let (Some(first), Some(row)) = (open, ScriptRow::parse(&words)) {
            let known = found.iter().skip(first).position(|one| one.tool == row.tool);
            let at = first + known.unwrap_or(found.len() - first);
            if at == found.len() {
                found.push(Imported::new(row.tool, page.name, number));
            }
            if let Some(result) = found.get_mut(at) {
                row.put(result, number);
            }
        } else if words.iter().any(|word| word.contains(|c: char| c != '-')) {
            open = None;
        }
    }
    found
}

/// `Category  Test  Result`, `| Benchmark | Result |`.
fn is_table_head(words: &[&str]) -> bool {
    matches!(
        words,
        ["Category", "Test", "Result"] | ["Benchmark", "Result"] | ["Category", "Benchmark", "Result"]
    )
}

struct ScriptRow {
    tool: Tool,
    label: String,
    op: Op,
    rate: BytesPerSec,
    iops: Option<f64>,
}

impl ScriptRow {
    fn parse(words: &[&str]) -> Option<Self> {
        let (name, rest) = words.split_first()?;
        let tool = match name.to_ascii_lowercase().as_str() {
            "hdparm" => Tool::Hdparm,
            "dd" => Tool::Dd,
            "fio" => Tool::Fio,
            "iozone" => Tool::Iozone,
            _ => return None,
        };
        let end = rest.iter().position(|word| Op::named(word).is_some())?;
        let op = Op::named(rest.get(end)?)?;
        let label = rest.get(..=end)?.join(" ");
        let amount = rest.get(end + 1..).filter(|words| (1..=6).contains(&words.len()))?.join(" ");
        let (number, unit) = leading(&amount)?;
        let is_counted = unit.trim_start().starts_with("IOPS");
        // `103434 IOPS (413737 KB/s)`.
        let amount = if is_counted { amount.split_once('(')?.1 } else { &amount };
        // hdparm's MB, fio's and iozone's KB are binary; dd's are not, nor what a person made MB/s of.
        let base = match tool {
            Tool::Hdparm => Base::Binary,
            _ if amount.contains("KB/s") || amount.contains("kB/s") => Base::Binary,
            _ => Base::Decimal,
        };
        let rate = rate(amount, base).filter(|_| amount.contains("B/s"))?;
        (rate.get() > 0.0).then(|| Self { tool, label, op, rate, iops: is_counted.then_some(number) })
    }

    fn put(self, result: &mut Imported, number: usize) {
        let Self { tool, label, op, rate, iops } = self;
        let is_random = label.to_ascii_lowercase().contains("random");
        let block_size = label.split(' ').find_map(|word| size(word, Base::Binary));
        let work = Work {
            pattern: Some(if is_random { Pattern::Random } else { Pattern::Sequential }),
            block_size: block_size.or((tool == Tool::Dd).then_some(Bytes::new(4096))),
            direct: (tool != Tool::Dd).then_some(true),
            zeros: (tool == Tool::Dd).then_some(true),
            durability: (tool == Tool::Dd).then_some(Durability::AtEnd),
            ..Work::named(label)
        };
        result.push(number, work, op, Side { iops: iops.map(Iops::new), ..Side::at(rate) });
        // hdparm's "cached" reads repeat the same blocks: with --direct the drive's own memory answers.
        if tool == Tool::Hdparm
            && result.measurements.last().is_some_and(|one| one.work.label.contains("Cached"))
        {
            result
                .notes
                .push("`Cached Disk Read` repeats reads that the drive's own cache answers".to_owned());
        }
    }
}

/// `O_DIRECT x8 threads: 64 reads x 19MB = 1.3 GB in 0.73s -> 1.76 GB/s (11.3 effective ms/block)`: iobench, which tells people who
/// run large models from a drive what it reads. Its blocks are of 1024² bytes, its GB of 10⁹; newer versions name the call behind a
/// slash.
pub(super) fn read_iobench(page: &Page<'_>) -> Vec<Imported> {
    page.lines().filter_map(|(number, line)| iobench(page, number, line.trim())).collect()
}

fn iobench(page: &Page<'_>, number: usize, line: &str) -> Option<Imported> {
    let [how, threads, reads, block, _, time, gigabytes, _] =
        fields(line, "{} x{} threads: {} reads x {}MB = {} GB in {}s -> {} GB/s ({}effective ms/block")?;
    let direct = match how.split('/').next()? {
        "O_DIRECT" => true,
        "buffered" => false,
        _ => return None,
    };
    let parse =
        |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    let (reads, block) = (reads.parse::<u64>().ok()?, parse(block)? * MIB);
    let bytes = Rounded::exact(reads as f64 * block);
    let elapsed = Rounded::of(time).filter(|time| time.value() > 0.0)?;
    let work = Work {
        pattern: Some(Pattern::Random),
        block_size: Some(Bytes::new(block as u64)),
        queue_depth: Some(1),
        jobs: Some(threads.parse().ok()?),
        direct: Some(direct),
        ..Work::named(how)
    };
    let rate = parse(gigabytes)? * 1e9;
    let side = Side {
        bytes: Some(Bytes::new(bytes.value() as u64)),
        ios: Some(reads),
        iops: Some(Iops::new(rate / block)),
        elapsed_ns: seconds(elapsed.value()),
        ..Side::at(BytesPerSec::new(rate))
    };
    let mut result = Imported::new(Tool::Iobench, page.name, number);
    result.push(number, work, Op::Read, side);
    Some(result)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(found: &[Imported]) -> Vec<(Tool, Op, f64)> {
        let all =
            found.iter().flat_map(|one| one.measurements.iter().map(move |measured| (one.tool, measured)));
        all.flat_map(|(tool, one)| {
            one.sides().map(move |(op, side)| (tool, op, side.bytes_per_second.get())).collect::<Vec<_>>()
        })
        .collect()
    }

    #[test]
    fn each_tool_of_a_script_has_its_own_units() {
        let body = "     Category                  Test                      Result      \n\
            HDParm                    Disk Read                 707.07 MB/sec            \n\
            DD                        Disk Write                418 MB/s                 \n\
            FIO                       4k random read            103434 IOPS (413737 KB/s)\n\
            IOZone                    4k write                  214328 KB/s              \n\
            \n                          Score: 13083\n\nfio reads 500 MB/s here\n";
        let found = read_tables(&Page { name: "x", body });
        assert_eq!(
            rates(&found),
            [
                (Tool::Hdparm, Op::Read, 707.07 * MIB),
                (Tool::Dd, Op::Write, 418e6),
                (Tool::Fio, Op::Read, 413_737.0 * 1024.0),
                (Tool::Iozone, Op::Write, 214_328.0 * 1024.0),
            ]
        );
        let of = |tool: Tool| {
            found.iter().find(|one| one.tool == tool).map(|one| &one.measurements[0]).expect("there")
        };
        assert_eq!(of(Tool::Fio).work.block_size, Some(Bytes::new(4096)));
        assert_eq!(of(Tool::Fio).work.pattern, Some(Pattern::Random));
        assert_eq!((of(Tool::Dd).work.zeros, of(Tool::Dd).work.direct), (Some(true), None));
    }

    #[test]
    fn a_table_of_a_review_is_read_and_one_that_nobody_filled_in_is_not() {
        let body = "| Benchmark                  | Result |\n| -------------------------- | ------ |\n\
            | iozone 4K random read      | 79.51 MB/s |\n| iozone 1M sequential write | 831.53 MB/s |\n";
        let found = read_tables(&Page { name: "x", body });
        assert_eq!(rates(&found), [(Tool::Iozone, Op::Read, 79.51e6), (Tool::Iozone, Op::Write, 831.53e6)]);
        assert_eq!(found.len(), 1);
        assert!(
            read_tables(&Page { name: "x", body: &body.replace("79.51", "TODO").replace("831.53", "TODO") })
                .is_empty()
        );
        assert!(
            read_tables(&Page { name: "x", body: body.split_once("--- |\n").expect("two").1 }).is_empty()
        );
    }

    #[test]
    fn iobench_says_whether_the_cache_was_left_out() {
        let of = |how: &str, rate: &str| {
            format!(
                "{how} x8 threads: 64 reads x 19MB = 1.3 GB in 0.73s -> {rate} GB/s (11.3 effective ms/block)\n"
            )
        };
        let body = of("buffered", "14.64") + &of("O_DIRECT", "1.76") + &of("O_DIRECT/pread", "1.76");
        let found = read_iobench(&Page { name: "x", body: &body });
        let told: Vec<_> = found.iter().map(|one| one.measurements[0].work.direct).collect();
        assert_eq!(told, [Some(false), Some(true), Some(true)]);
        assert_eq!(rates(&found)[1], (Tool::Iobench, Op::Read, 1.76e9));
        assert_eq!(found[0].measurements[0].work.jobs, Some(8));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(hdparm|iozone|O_DIRECT|buffered| x|read|write|4k|IOPS|[-0-9.,]{1,6}|MB/s|threads: |->|[|(]|\\PC{0,6}|[ \n]){0,60}") {
            let body = format!("Benchmark Result\n{text}");
            _ = (read_tables(&Page { name: "x", body: &body }), read_iobench(&Page { name: "x", body: &body }));
        }
    }
}
