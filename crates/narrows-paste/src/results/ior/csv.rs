//! `-O summaryFormat=CSV`: the rows of the tables and nothing else (`src/ior-output.c`, `PrintReducedResult`).

use super::super::csv::{Columns, cells};
use super::super::number::to_bytes;
use super::super::{Imported, Measured, Page, Tool, Work};
use super::{Row, op_of};

/// The tables in a text: one for each heading.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["access,bw(MiB/s)"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut columns = Columns::default();
    for (number, line) in page.lines() {
        let line = line.trim();
        if line.starts_with("access,bw(MiB/s)") {
            columns = Columns::of(line);
            found.push(Imported::new(Tool::Ior, page.name, number));
        } else if let Some(table) = found.last_mut()
            && let Some(measured) = measured(&columns, number, line)
        {
            table.measurements.push(measured);
        }
    }
    found.retain(|table| !table.is_empty());
    found
}

fn measured(columns: &Columns, number: usize, line: &str) -> Option<Measured> {
    let row = cells(line);
    let op = op_of(columns.text(&row, "access")?)?;
    let mib = columns.number(&row, "bw(MiB/s)")?;
    let value = Row {
        mib,
        iops: columns.number(&row, "IOPS"),
        latency: columns.number(&row, "Latency"),
        transfer: columns.number(&row, "xfer(KiB)").and_then(|kib| to_bytes(kib * 1024.0)),
        total: columns.number(&row, "total(s)").filter(|total| *total > 0.0),
    };
    let tasks = columns.count(&row, "numTasks").and_then(|tasks| u32::try_from(tasks).ok());
    let work = Work {
        label: op.word().to_owned(),
        block_size: value.transfer,
        queue_depth: Some(1),
        jobs: tasks,
        working_set: value.moved(),
        ..Work::default()
    };
    let mut measured = Measured::new(number, work);
    measured.put(op, value.side(None));
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_table_with_the_count_of_tasks_and_one_without() {
        // Figures of hpc/ior pull request 260; the column of tasks came later.
        let body = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),iter\n\
            write,436.5474,228841.8502,0.0000,2048.0000,2.0000,0.0001,0.0045,0.0000,0.0046,0\n\
            read,2367.9204,1220176.2821,0.0000,2048.0000,2.0000,0.0000,0.0008,0.0000,0.0008,0\n\
            access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n\
            write,565.6700,565.6700,0.0849,32768.0000,1024.0000,0.0010,2.7143,0.0001,2.7154,48,0\n\
            remove,-,-\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [2, 1]);
        let write = found[1].measurements[0].write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 565.67 * 1_048_576.0);
        assert_eq!(found[1].measurements[0].work.jobs, Some(48));
        // 48 tasks of 32 MiB each are 1536 MiB.
        let moved = write.bytes.expect("bytes").as_f64() / 1_048_576.0;
        assert!((moved / 1536.0 - 1.0).abs() < 1e-3, "{moved}");
    }

    #[test]
    fn half_a_row_is_none() {
        let body = "access,bw(MiB/s),IOPS,Latency,block(KiB)\nwrite,43\nread,";
        let found = read(&Page { name: "x", body });
        assert_eq!(found[0].measurements.len(), 1);
    }

    proptest! {
        #[test]
        fn a_row_has_the_numbers_that_it_was_made_of(mib in 1u32..1_000_000, kib in 1u32..65_536, tasks in 1u32..9999) {
            let body = format!(
                "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n\
                 read,{mib}.0000,10.0000,0.0010,{kib}.0000,{kib}.0000,0.0,60.0000,0.0,60.0000,{tasks},0\n"
            );
            let found = read(&Page { name: "x", body: &body });
            let one = &found[0].measurements[0];
            prop_assert_eq!(one.read.as_ref().map(|side| side.bytes_per_second.get()), Some(f64::from(mib) * 1_048_576.0));
            prop_assert_eq!(one.work.block_size.map(|size| size.get()), Some(u64::from(kib) * 1024));
            prop_assert_eq!(one.work.jobs, Some(tasks));
        }
    }
}
