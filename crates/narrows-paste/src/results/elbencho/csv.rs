//! `--csvfile`: a row for each operation, with a heading that names the columns.

use super::super::csv::{Columns, cells};
use super::super::number::to_bytes;
use super::super::{Cpu, Imported, Latency, Measured, Op, Page, Side, Tool};
use super::{MIB, Settings, command_of, op_of};
use narrows_base::units::{BytesPerSec, Iops, Nanos};

/// The tables in a text: one result for each version and command in it.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["ISO date,label,"]) {
        return Vec::new();
    }
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
        let Some(measured) = measured(columns, number, &row) else { continue };
        let command = columns.text(&row, "command").map(command_of);
        let version = columns.text(&row, "version").map(str::to_owned);
        if found.last().is_none_or(|last| last.command != command || last.version != version) {
            let mut imported = Imported::new(Tool::Elbencho, page.name, number);
            (imported.command, imported.version) = (command, version);
            found.push(imported);
        }
        if let Some(last) = found.last_mut() {
            last.measurements.push(measured);
        }
    }
    found
}

fn measured(columns: &Columns, number: usize, row: &[&str]) -> Option<Measured> {
    let phase = columns.text(row, "operation")?;
    let op = op_of(phase)?;
    let is_set = |name: &str| columns.text(row, name).map(|text| text == "1" || text == "true");
    let settings = Settings {
        path_type: columns.text(row, "path type"),
        paths: columns.count(row, "paths"),
        hosts: columns.count(row, "hosts"),
        threads: columns.count(row, "threads"),
        directories: columns.count(row, "dirs"),
        files: columns.count(row, "files"),
        file_size: columns.count(row, "file size"),
        block_size: columns.count(row, "block size"),
        direct: is_set("direct IO"),
        random: is_set("random"),
        depth: columns.count(row, "IO depth"),
    };
    let mut measured = Measured::new(number, settings.work(phase));
    measured.nodes = settings.hosts();
    measured.entries = columns.number(row, "entries/s [last]").filter(|rate| *rate > 0.0).map(Iops::new);
    measured.cpu = columns
        .number(row, "CPU% [last]")
        .filter(|percent| *percent > 0.0 && settings.hosts == Some(1) && settings.threads == Some(1))
        .map(|percent| Cpu { user: 0.0, system: percent / 100.0 });
    measured.put(op, side(columns, row, "")?);
    if let Some(reads) = side(columns, row, "rwmix read ") {
        measured.put(Op::Read, reads);
    }
    Some(measured)
}

/// The columns of one direction; those of the reads in a mix begin with `rwmix read`.
fn side(columns: &Columns, row: &[&str], of: &str) -> Option<Side> {
    let cell = |name: &str| columns.number(row, &format!("{of}{name}"));
    let mib = cell("MiB/s [last]").filter(|rate| *rate > 0.0)?;
    Some(Side {
        bytes_per_second: BytesPerSec::new(mib * MIB),
        iops: cell("IOPS [last]").map(Iops::new),
        bytes: cell("MiB [last]").and_then(|mib| to_bytes(mib * MIB)),
        elapsed_ns: columns.count(row, "time ms [last]").filter(|ms| *ms < 1 << 40).map(Nanos::from_millis),
        latency_ns: cell("IO lat us [avg]").filter(|mean| *mean > 0.0).map(|mean| Latency {
            max: cell("IO lat us [max]").map(|most| most * 1e3),
            ..Latency::of_mean(mean * 1e3)
        }),
        ..Side::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        let found = read(&Page { name: "x", body: &body });
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
        assert!(read(&Page { name: "x", body: &format!("{HEAD}2022-05-31,,dir,1,2,32,WRITE") }).is_empty());
    }

    proptest! {
        #[test]
        fn a_row_has_the_numbers_that_it_was_made_of(mib in 1u32..1_000_000, iops in 1u32..9_000_000, ms in 1u64..99_999_999) {
            let body = format!(
                "{HEAD}d,l,file,1,1,4,,,1048576,4096,0,1,1,8,,,READ,1,{ms},,,1,{iops},1,{mib},,,,,1,{mib},,,,1,20,300,,,3.0,c\n"
            );
            let found = read(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            prop_assert_eq!(side.bytes_per_second.get(), f64::from(mib) * 1_048_576.0);
            prop_assert_eq!(side.iops.map(|rate| rate.get()), Some(f64::from(iops)));
            prop_assert_eq!(side.elapsed_ns, Some(Nanos::from_millis(ms)));
            prop_assert_eq!(side.latency_ns.and_then(|latency| latency.mean), Some(20_000.0));
        }
    }
}
