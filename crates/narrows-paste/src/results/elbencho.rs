//! elbencho: its table, `--csvfile`, `--jsonfile` and `--livecsv`.
//!
//! Each operation has two results: of the time when the first thread was done, and of the time when the last was. The
//! second is what is read: all of the work. MiB are binary in the files whatever the console shows
//! (`source/Statistics.cpp`, `printPhaseResultsToStringVec`); threads, directories and files are counts for each host
//! (`docs/csv-docs.md`).

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;
use serde_json::Value;

use super::command::Commands;
use super::csv::{Columns, cells};
use super::json::{Document, count, documents, number, text};
use super::number::{MIB, plain, to_bytes};
use super::{Cpu, Imported, Latency, Measured, Op, Page, Side, Spread, Tool, Work};
use crate::text::indent;

/// The direction of an operation that moves data (`source/toolkits/TranslatorTk.cpp`, `benchPhaseToPhaseName`). A
/// write with a share of reads is called after both.
fn op_of(phase: &str) -> Option<Op> {
    match phase.split_whitespace().next()? {
        phase if phase.starts_with("READ") => Some(Op::Read),
        phase if ["WRITE", "RWMIX", "MIX-T"].iter().any(|name| phase.starts_with(name)) => Some(Op::Write),
        _ => None,
    }
}

/// The command, each word of which stands in quotation marks.
fn command_of(quoted: &str) -> String {
    quoted.split('"').map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// What the settings of a run tell: on what it runs, and the counts and switches by their names in the table with commas.
fn work(
    phase: &str,
    path_type: Option<&str>,
    count: impl Fn(&str) -> Option<u64>,
    is_set: impl Fn(&str) -> Option<bool>,
) -> Work {
    let small = |count: u64| u32::try_from(count).ok();
    let threads = count("threads").and_then(|threads| threads.checked_mul(count("hosts").unwrap_or(1)));
    // All files together: of a directory those of each thread, and otherwise one for each path, which all share.
    let files = match path_type {
        Some("dir") => {
            let of_each = || count("dirs")?.max(1).checked_mul(count("files")?);
            threads.and_then(|threads| threads.checked_mul(of_each()?))
        }
        _ => Some(count("paths").unwrap_or(1)),
    };
    let working_set = count("file size").and_then(|size| size.checked_mul(files?));
    Work {
        pattern: is_set("random").map(|random| if random { Pattern::Random } else { Pattern::Sequential }),
        block_size: count("block size").filter(|size| *size > 0).map(Bytes::new),
        queue_depth: count("IO depth").and_then(small).map(|depth| depth.max(1)),
        jobs: threads.and_then(small),
        // Objects of S3 and the network test have no page cache to bypass.
        direct: is_set("direct IO").filter(|_| matches!(path_type, Some("dir" | "file" | "blockdev"))),
        working_set: working_set.filter(|all| *all > 0).map(Bytes::new),
        ..Work::named(phase)
    }
}

/// elbencho's table: each operation with a column for when the first thread was done and one for the last.
///
/// The rate of the last column is of everything; that of the first is of the time in which all threads were busy. The
/// first is what the storage can do, the last the time until the work is done. Its MiB are binary.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut op: Option<Op> = None;
    // A block may be set off: what begins a row stands as far to the right as the heading does.
    let mut margin = 0;
    for (number, line) in page.lines() {
        commands.see(number, line, "elbencho");
        if line.contains("FIRST DONE") {
            let command = commands.last().map(str::to_owned);
            found.push(Imported { command, ..Imported::new(Tool::Elbencho, page.name, number) });
            margin = indent(line);
            op = None;
            continue;
        }
        let Some(result) = found.last_mut() else { continue };
        if line.trim_start().starts_with("---") {
            op = None;
            continue;
        }
        let Some((name, values)) = line.split_once(" : ") else { continue };
        let mut words = name.split_whitespace();
        let goes_on = indent(line) > margin;
        if !goes_on {
            let phase = words.next().unwrap_or_default();
            op = match phase {
                "READ" | "RWMIX%READ" => Some(Op::Read),
                "WRITE" => Some(Op::Write),
                _ => None,
            };
            if let Some(op) = op {
                let work = Work::named(phase);
                result.push(number, work, op, Side::default());
            }
        }
        let Some(op) = op else { continue };
        let property: Vec<&str> = words.collect();
        let property = property.join(" ");
        let property = if goes_on { name.trim() } else { property.as_str() };
        if is_cut(property, values) {
            result.unread.push(number);
        } else if let Some(measured) = result.measurements.last_mut() {
            fill(measured, op, property, values);
        }
    }
    found.retain_mut(|result| {
        result.measurements.retain(|one| one.sides().any(|(_, side)| side.bytes_per_second.get() > 0.0));
        !result.is_empty()
    });
    found
}

/// Whether a row that has a number in each column has but one of them: which of both columns that is cannot be told.
fn is_cut(property: &str, values: &str) -> bool {
    let has_columns = ["Elapsed ms", "Throughput MiB/s", "IOPS", "Total MiB"].contains(&property);
    has_columns && values.split_whitespace().filter_map(plain).count() < 2
}

fn fill(measured: &mut Measured, op: Op, property: &str, values: &str) {
    let numbers: Vec<f64> = values.split_whitespace().filter_map(plain).collect();
    let Some(last) = numbers.last().copied() else { return };
    let Some(side) = measured.side_mut(op) else { return };
    match property {
        "Elapsed ms" | "Elapsed time" if last < 1e12 => {
            side.elapsed_ns = Some(Nanos::from_millis(last as u64))
        }
        "Throughput MiB/s" => side.bytes_per_second = BytesPerSec::new(last * MIB),
        "IOPS" => side.iops = Some(Iops::new(last)),
        "Total MiB" => side.bytes = to_bytes(last * MIB),
        property if property.starts_with("IO lat us") || property.starts_with("IO latency") => {
            let mean = values.split_whitespace().find_map(|word| plain(word.strip_prefix("avg=")?));
            side.latency_ns = mean.map(|micros| Latency::of_mean(micros * 1e3));
        }
        _ => {}
    }
}

/// `--csvfile`: a row for each operation, with a heading that names the columns.
///
/// The tables in a text: one result for each version and command in it.
pub(super) fn read_csv(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut columns: Option<Columns> = None;
    for (number, line) in page.lines() {
        let line = line.trim();
        if line.starts_with("ISO date,label,") {
            columns = Some(Columns::of(line));
            continue;
        }
        let Some(columns) = &columns else { continue };
        let row = cells(line);
        let Some(measured) = measured_of_csv(columns, number, &row) else { continue };
        let command = columns.text(&row, "command").map(command_of);
        let version = columns.text(&row, "version").map(str::to_owned);
        if found.last().is_none_or(|last| last.command != command || last.version != version) {
            found.push(Imported { command, version, ..Imported::new(Tool::Elbencho, page.name, number) });
        }
        if let Some(last) = found.last_mut() {
            last.measurements.push(measured);
        }
    }
    found
}

fn measured_of_csv(columns: &Columns, number: usize, row: &[&str]) -> Option<Measured> {
    let phase = columns.text(row, "operation")?;
    let op = op_of(phase)?;
    let count = |name: &str| columns.count(row, name);
    let is_set = |name: &str| columns.text(row, name).map(|text| text == "1" || text == "true");
    let work = work(phase, columns.text(row, "path type"), count, is_set);
    let mut measured = Measured::of(number, work, op, side_of_csv(columns, row, "")?);
    measured.nodes = count("hosts").and_then(|hosts| hosts.try_into().ok());
    measured.entries = columns.number(row, "entries/s [last]").filter(|rate| *rate > 0.0).map(Iops::new);
    measured.cpu = columns
        .number(row, "CPU% [last]")
        .filter(|percent| *percent > 0.0 && count("hosts") == Some(1) && count("threads") == Some(1))
        .map(|percent| Cpu { user: 0.0, system: percent / 100.0 });
    if let Some(reads) = side_of_csv(columns, row, "rwmix read ") {
        measured.put(Op::Read, reads);
    }
    Some(measured)
}

/// The columns of one direction; those of the reads in a mix begin with `rwmix read`.
fn side_of_csv(columns: &Columns, row: &[&str], of: &str) -> Option<Side> {
    let cell = |name: &str| columns.number(row, &format!("{of}{name}"));
    let [rate, bytes] = ["MiB/s [last]", "MiB [last]"].map(|name| cell(name).map(|mib| mib * MIB));
    let [iops, mean, longest] = ["IOPS [last]", "IO lat us [avg]", "IO lat us [max]"].map(cell);
    side([rate, iops, bytes], [mean, longest], columns.count(row, "time ms [last]"))
}

/// One direction: its rate, I/Os each second and bytes, the mean and greatest latency in microseconds, and the milliseconds that it took.
fn side(
    [rate, iops, bytes]: [Option<f64>; 3],
    [mean, longest]: [Option<f64>; 2],
    millis: Option<u64>,
) -> Option<Side> {
    let mean = mean.filter(|mean| *mean > 0.0).map(|micros| micros * 1e3);
    let max = longest.map(|micros| micros * 1e3);
    Some(Side {
        iops: iops.map(Iops::new),
        bytes: bytes.and_then(to_bytes),
        elapsed_ns: millis.filter(|millis| *millis < 1 << 40).map(Nanos::from_millis),
        latency_ns: mean.map(|mean| Latency { max, ..Latency::of_mean(mean) }),
        ..Side::at(BytesPerSec::new(rate.filter(|rate| *rate > 0.0)?))
    })
}

/// `--jsonfile`: an object for each operation, one below the other; every number is a string (`source/Statistics.cpp`,
/// `printPhaseResultsAsJSON`). Rates are bytes per second here.
///
/// The operations in a text; those of one command are one result.
pub(super) fn read_json(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    for document in documents(page, "\"phase_type\"") {
        let Some(measured) = measured_of_json(&document) else { continue };
        let config = document.value.get("config").unwrap_or(&Value::Null);
        let command = text(config, "command").map(command_of);
        if found.last().is_none_or(|last| last.command != command) {
            let version = text(config, "version").map(str::to_owned);
            let result = Imported::new(Tool::Elbencho, page.name, document.line);
            found.push(Imported { command, version, ..result });
        }
        if let Some(last) = found.last_mut() {
            last.truncated |= document.truncated;
            last.measurements.push(measured);
        }
    }
    found
}

fn measured_of_json(document: &Document) -> Option<Measured> {
    let value = &document.value;
    let phase = text(value, "phase_type")?;
    let op = op_of(phase)?;
    let none = Value::Null;
    let config = value.get("config").unwrap_or(&none);
    let last = value.get("last_done")?;
    let setting = |name: &str| count::<u64>(config, &name.to_lowercase().replace(' ', "_"));
    let is_set = |name: &str| {
        let key = if name == "random" { "random_offsets" } else { "direct_io" };
        match config.get(key)? {
            Value::Bool(set) => Some(*set),
            Value::String(text) => Some(matches!(text.as_str(), "1" | "true")),
            Value::Number(number) => Some(number.as_u64() == Some(1)),
            _ => None,
        }
    };
    let millis = count(last, "elapsed_time_ms");
    let latency = last.get("latency").and_then(|latency| latency.get("IO"));
    let side = side_of_json(last, latency, millis)?;
    let work = work(phase, text(config, "path_type"), setting, is_set);
    let mut measured = Measured::of(document.line, work, op, side);
    measured.nodes = count(config, "hosts");
    measured.entries = number(last, "entries/s").filter(|rate| *rate > 0.0).map(Iops::new);
    let of_mix = latency.and_then(|latency| latency.get("rwmix_read"));
    if let Some(mixed) = last.get("rwmix_read").and_then(|read| side_of_json(read, of_mix, millis)) {
        measured.put(Op::Read, mixed);
    }
    Some(measured)
}

fn side_of_json(value: &Value, latency: Option<&Value>, millis: Option<u64>) -> Option<Side> {
    let latencies = ["avg_us", "max_us"].map(|key| latency.and_then(|latency| number(latency, key)));
    side(["bytes/s", "iops", "bytes"].map(|key| number(value, key)), latencies, millis)
}

/// Fewer intervals show nothing of how steady a rate was.
const FEWEST_LIVE: usize = 5;

/// `--livecsv`: what was done so far, at intervals (`source/Statistics.cpp`, `printLiveStatsCSV`).
///
/// `DoneBytes` counts from the start, `MiB/s` and `IOPS` are those of the interval. Rows of single threads and hosts
/// (`--livecsvex`) are left out: the row `Total` has all of them.
///
/// The progress of the operations in a text.
pub(super) fn read_live(page: &Page<'_>) -> Vec<Imported> {
    let mut columns: Option<Columns> = None;
    let mut phases: Vec<LivePhase<'_>> = Vec::new();
    for (number, line) in page.lines() {
        if line.trim().starts_with("ISO Date,Label,Phase,") {
            columns = Some(Columns::of(line));
            continue;
        }
        let sample = columns.as_ref().and_then(|columns| LiveSample::of(columns, &cells(line)));
        let Some(sample) = sample else { continue };
        // A row that begins earlier than the last of its direction ended is of another operation.
        let goes_on = |one: &LiveSample<'_>| one.phase == sample.phase && one.millis < sample.millis;
        let own = phases.iter_mut().rev().find(|(_, all)| all.last().is_some_and(|one| one.op == sample.op));
        match own.filter(|(_, all)| all.last().is_some_and(goes_on)) {
            Some((_, samples)) => samples.push(sample),
            None => phases.push((number, vec![sample])),
        }
    }
    let mut imported = Imported::new(Tool::Elbencho, page.name, phases.first().map_or(1, |(line, _)| *line));
    imported.measurements =
        phases.iter().filter_map(|(line, samples)| measured_live(*line, samples)).collect();
    if imported.is_empty() { Vec::new() } else { vec![imported] }
}

/// The rows of one direction of an operation, and the line of the first.
type LivePhase<'t> = (usize, Vec<LiveSample<'t>>);

/// One row of all threads together.
#[derive(Debug, Clone, Copy)]
struct LiveSample<'a> {
    phase: &'a str,
    op: Op,
    millis: u64,
    bytes: f64,
    mib: f64,
    iops: f64,
    micros: Option<f64>,
    threads: Option<u64>,
}

impl<'a> LiveSample<'a> {
    fn of(columns: &Columns, row: &[&'a str]) -> Option<Self> {
        let phase = columns.text(row, "Phase")?;
        let op = match columns.text(row, "MixType") {
            Some("Read") => Op::Read,
            Some("Write") => Op::Write,
            _ => op_of(phase)?,
        };
        (columns.text(row, "Rank") == Some("Total")).then_some(())?;
        Some(Self {
            phase,
            op,
            millis: columns.count(row, "RuntimeMS").filter(|millis| (1..1 << 40).contains(millis))?,
            bytes: columns.number(row, "DoneBytes")?,
            mib: columns.number(row, "MiB/s")?,
            iops: columns.number(row, "IOPS")?,
            micros: columns.number(row, "Lat IO us").filter(|micros| *micros > 0.0),
            threads: columns.count(row, "Active"),
        })
    }
}

fn measured_live(line: usize, samples: &[LiveSample<'_>]) -> Option<Measured> {
    let last = samples.last()?;
    let bytes = samples.iter().map(|sample| sample.bytes).fold(0.0, f64::max);
    if bytes <= 0.0 {
        return None;
    }
    let each = |of: fn(&LiveSample<'_>) -> Option<f64>| samples.iter().filter_map(of).collect::<Vec<f64>>();
    let mean = |values: &[f64]| Spread::of(values).map(|all| all.mean);
    let rates = each(|sample| Some(sample.mib * MIB));
    let threads = samples.iter().filter_map(|sample| sample.threads).max();
    let jobs = threads.and_then(|jobs| u32::try_from(jobs).ok()).filter(|jobs| *jobs > 0);
    let side = Side {
        iops: mean(&each(|sample| Some(sample.iops))).filter(|rate| *rate > 0.0).map(Iops::new),
        bytes: to_bytes(bytes),
        elapsed_ns: Some(Nanos::from_millis(last.millis)),
        latency_ns: mean(&each(|sample| sample.micros)).map(|micros| Latency::of_mean(micros * 1e3)),
        spread: live_spread(&rates),
        series: rates.into_iter().map(BytesPerSec::new).collect(),
        ..Side::at(BytesPerSec::new(bytes / (last.millis as f64 / 1e3)))
    };
    let work = Work { jobs, ..Work::named(last.phase) };
    Some(Measured::of(line, work, last.op, side))
}

/// How far the rate of the intervals moved. In the last one threads end.
fn live_spread(rates: &[f64]) -> Option<Spread> {
    let (_, whole) = rates.split_last().filter(|(_, whole)| whole.len() >= FEWEST_LIVE)?;
    Spread::of(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn phases_that_move_data_are_measurements() {
        let body = "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ================   ==========  =========\n\
    MKDIRS    Elapsed ms       :          0          2\n          Dirs/s           :      21201      18716\n---\n\
    WRITE     Elapsed ms       :      18618      19506\n          Files/s          :      53679      53757\n          \
    Throughput MiB/s :         52         53\n          Total MiB        :        976       1024\n---\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 1));
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 53.0 * 1_048_576.0);
        assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(19_506)));
    }

    #[test]
    fn a_row_that_lost_a_column_gives_no_number_and_is_said() {
        let body = "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ================   ==========  =========\n\
    WRITE     Elapsed ms       :      18618      19506\n          IOPS             :       53679\n          \
    Throughput MiB/s :         52         53\n---\n";
        let found = read(&Page { name: "x", body });
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!((write.iops, found[0].unread.clone()), (None, vec![4]));
    }

    #[test]
    fn a_table_that_was_set_off_is_read_as_one_at_the_margin() {
        let body = "  OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n  WRITE       Elapsed time     :     30.140s     30.196s\n\
                           IOPS             :         291         291\n\
                           Throughput MiB/s :          36          36\n";
        let body = body
            .replace("\nIOPS", "\n              IOPS")
            .replace("\nThroughput", "\n              Throughput");
        let found = read(&Page { name: "x", body: &body });
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!((found[0].measurements.len(), write.bytes_per_second.get()), (1, 36.0 * 1_048_576.0));
    }

    const HEAD: &str = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,\
        random aligned,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],entries/s [first],\
        entries/s [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],CPU% [first],CPU% [last],\
        entries [first],entries [last],MiB [first],MiB [last],Ent lat us [min],Ent lat us [avg],Ent lat us [max],\
        IO lat us [min],IO lat us [avg],IO lat us [max],rwmix read IOPS [last],rwmix read MiB/s [last],version,command\n";

    #[test]
    fn a_row_is_of_all_hosts_and_the_last_thread() {
        let body = format!(
            "{HEAD}2022-05-31T10:00:00+0000,,dir,1,2,32,1,1,4294967296,131072,1,1,1,16,1,0,WRITE,1210,7353,0,8,404015,285176,\
             50501,35647,12,10,1,64,61153,262144,,,,10,1789,90000,,,2.1-6,\"elbencho\" \"--direct\"\n\
             2022-05-31T10:00:09+0000,,dir,1,2,32,1,1,4294967296,131072,1,1,1,16,1,0,RMFILES,2,3,1,2,,,,,0,0,1,2,,,,,,,,,,,2.1-6,x\n"
        );
        let found = read_csv(&Page { name: "x", body: &body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 1));
        let one = &found[0].measurements[0];
        let write = one.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 35_647.0 * 1_048_576.0);
        assert_eq!((one.work.jobs, one.work.queue_depth, one.nodes), (Some(64), Some(16), Some(2)));
        assert_eq!(one.work.working_set.map(|set| set.get()), Some(64 << 32));
        assert_eq!(write.bytes.map(|bytes| bytes.get()), Some(262_144 << 20));
        assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(7353)));
        assert_eq!(one.work.direct, Some(true));
        assert_eq!(found[0].command.as_deref(), Some("elbencho --direct"));
    }

    #[test]
    fn a_heading_with_half_a_row_has_no_result() {
        assert!(
            read_csv(&Page { name: "x", body: &format!("{HEAD}2022-05-31,,dir,1,2,32,WRITE") }).is_empty()
        );
    }

    proptest! {
        #[test]
        fn a_row_has_the_numbers_that_it_was_made_of(mib in 1u32..1_000_000, iops in 1u32..9_000_000, ms in 1u64..99_999_999) {
            let body = format!(
                "{HEAD}d,l,file,1,1,4,,,1048576,4096,0,1,1,8,,,READ,1,{ms},,,1,{iops},1,{mib},,,,,1,{mib},,,,1,20,300,,,3.0,c\n"
            );
            let found = read_csv(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            prop_assert_eq!(side.bytes_per_second.get(), f64::from(mib) * 1_048_576.0);
            prop_assert_eq!(side.iops.map(|rate| rate.get()), Some(f64::from(iops)));
            prop_assert_eq!(side.elapsed_ns, Some(Nanos::from_millis(ms)));
            prop_assert_eq!(side.latency_ns.and_then(|latency| latency.mean), Some(20_000.0));
        }
    }

    const ONE: &str = r#"{"phase_type":"READ","phase_id":"a","config":{"path_type":"blockdev","paths":"1","hosts":"1","threads":"16","file_size":"1073741824","block_size":"4096","direct_io":"true","random_offsets":"true","io_depth":"16","version":"3.1-9","command":"\"elbencho\" \"-r\" "},"first_done":{"elapsed_time_ms":"19990","iops":"30000","bytes/s":"122880000"},"last_done":{"elapsed_time_ms":"20001","iops":"30151","bytes/s":"123498496","bytes":"2470093414","latency":{"IO":{"min_us":"90","avg_us":"530","max_us":"9000"}}}}"#;

    #[test]
    fn operations_stand_one_below_the_other_and_numbers_are_strings() {
        let body = format!("{ONE}\n{}\n", ONE.replace("READ", "WRITE"));
        let found = read_json(&Page { name: "x", body: &body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 2));
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 123_498_496.0);
        assert_eq!(side.latency_ns.as_ref().and_then(|latency| latency.mean), Some(530_000.0));
        assert_eq!((one.work.direct, one.work.jobs, one.work.queue_depth), (Some(true), Some(16), Some(16)));
        assert_eq!(one.work.working_set.map(|set| set.get()), Some(1 << 30));
    }

    #[test]
    fn an_object_that_was_cut_off_is_no_result_without_its_rate() {
        assert!(read_json(&Page { name: "x", body: &ONE[..300] }).is_empty());
    }

    /// Figures of breuner/elbencho issue 99.
    const BODY: &str = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,Active,CPU,Service,\n\
        2025-12-17T11:58:08.821-0600,,READ,1001,Total,,35,49416241152,47127,94254,0,0,0,10549,128,5,,\n\
        2025-12-17T11:58:08.821-0600,,READ,1001,0,,35,49416241,,,0,,,,,,,\n\
        2025-12-17T11:58:09.821-0600,,READ,2001,Total,,73,100924391424,49122,98244,0,0,0,10380,128,5,,\n\
        2025-12-17T11:58:10.821-0600,,READ,3001,Total,,100,151463133184,48197,96395,0,0,0,10534,128,5,,\n";

    #[test]
    fn the_rate_is_all_bytes_over_all_of_the_time() {
        let found = read_live(&Page { name: "x", body: BODY });
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert!((side.bytes_per_second.get() - 151_463_133_184.0 / 3.001).abs() < 1.0);
        assert_eq!((side.series.len(), one.work.jobs), (3, Some(128)));
        // Counts of an interval in MiB/s are those of its bytes.
        assert!((side.series[1].get() / (100_924_391_424.0 - 49_416_241_152.0) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn an_operation_that_starts_anew_is_another_one_and_half_a_line_is_none() {
        let body = format!(
            "{BODY}2025,,WRITE,1000,Total,,1,1048576,1,2,0,0,0,9,4,5,,\n2025,,READ,1000,Total,,1,1048576,1,2,0,0,0,9,4,5,,\n2025,,READ,20"
        );
        assert_eq!(read_live(&Page { name: "x", body: &body })[0].measurements.len(), 3);
    }

    #[test]
    fn a_mix_has_rows_for_reads_and_for_writes() {
        let body = "ISO Date,Label,Phase,RuntimeMS,Rank,MixType,Done%,DoneBytes,MiB/s,IOPS,Entries,Entries/s,Lat Ent us,Lat IO us,Active,CPU,Service,\n\
            d,,RWMIX30,1000,Total,Write,9,7340032,7,1792,0,0,0,40,2,9,,\nd,,RWMIX30,1000,Total,Read,9,3145728,3,768,0,0,0,30,2,9,,\n";
        let found = read_live(&Page { name: "x", body });
        let ops: Vec<_> = found[0].measurements.iter().map(|one| one.read.is_some()).collect();
        assert_eq!(ops, [false, true]);
    }
}
