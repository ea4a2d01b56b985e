//! IOR 3.x and 4.x: its tables, and what `-O summaryFormat=JSON` and `=CSV` make of the same numbers.
//!
//! IOR divides by 2²⁰ and 2¹⁰ everywhere (`src/ior-output.c`, `MEBIBYTE` and `KIBIBYTE`): its MiB and KiB are binary.
//! Only the line `Max Write: … (… MB/sec)` has decimal ones too.

use narrows_base::units::{Bytes, BytesPerSec, Iops};
use narrows_base::workload::Pattern;
use serde_json::Value;

use super::command::{Commands, has_word, option};
use super::csv::{Columns, cells};
use super::json::{self, Document, count, documents, list, text};
use super::number::{self, Base, MIB, leading, plain, seconds, size, to_bytes};
use super::{Durability, Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// What IOR tells of one access in all its formats.
#[derive(Debug, Clone, Copy, Default)]
struct IorRow {
    /// MiB/s over the whole access.
    mib: f64,
    /// Transfers per second.
    iops: Option<f64>,
    /// Seconds of a transfer.
    latency: Option<f64>,
    transfer: Option<Bytes>,
    /// Seconds of the whole access.
    total: Option<f64>,
}

impl IorRow {
    /// What the columns of these names have: rate, transfers each second, latency, KiB of a transfer, seconds in all.
    fn of(names: [&str; 5], cell: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let [mib, iops, latency, transfer, total] = names.map(cell);
        let mib = mib.filter(|rate| rate.is_finite())?;
        let transfer = transfer.and_then(|kib| to_bytes(kib * 1024.0));
        Some(Self { mib, iops, latency, transfer, total: total.filter(|total| *total > 0.0) })
    }

    /// The bytes that were moved: rate times time.
    fn moved(&self) -> Option<Bytes> {
        to_bytes(self.mib * MIB * self.total.filter(|total| *total < 1e9)?)
    }

    /// One direction of it; `moved` where the text says how many bytes, and by rate and time otherwise.
    fn side(&self, moved: Option<Bytes>) -> Side {
        let rate = BytesPerSec::new(self.mib * MIB);
        let by_size = || {
            let size = self.transfer.filter(|size| size.get() > 0)?;
            Some(Iops::new(rate.get() / size.as_f64()))
        };
        Side {
            iops: self.iops.map(Iops::new).or_else(by_size),
            bytes: moved.or_else(|| self.moved()),
            elapsed_ns: self.total.and_then(seconds),
            // Only since 4.0 is it that of a transfer; before, it is that of the whole file in some releases.
            latency_ns: self
                .latency
                .filter(|latency| *latency > 0.0 && *latency < 1.0)
                .map(|seconds| Latency::of_mean(seconds * 1e9)),
            ..Side::at(rate)
        }
    }
}

/// The table of each access, with the columns that its heading names.
///
/// The aggregate file size is what was asked for; what was moved stands in a warning when a deadline cut the run.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut run = IorTextRun::default();
    for (number, line) in page.lines() {
        commands.see(number, line, "ior");
        let line = line.trim();
        if let Some(version) = line.strip_prefix("IOR-").and_then(|rest| rest.split(':').next()) {
            run = IorTextRun {
                version: Some(version.to_owned()),
                begins: Some(number),
                ..IorTextRun::default()
            };
        } else if line.starts_with("access") && line.contains("bw(MiB/s)") {
            run.columns = line.split_whitespace().map(str::to_owned).collect();
            run.begun = false;
        } else if ends_table(line) {
            run.columns.clear();
            // Of a table that is there they are the best rows.
            if let Some((op, side)) = most(line).filter(|_| !run.begun) {
                let goes_on = found.last().and_then(|result| result.measurements.last());
                if !goes_on.is_some_and(|one| op == Op::Read && one.read.is_none() && one.line + 1 == number)
                {
                    found.push(Imported { is_headless: true, ..Imported::new(Tool::Ior, page.name, number) });
                }
                if let Some(result) = found.last_mut() {
                    result.push(number, Work::named(op.word()), op, side);
                }
            }
        } else if let Some((op, cells)) = run.row(line) {
            if !run.begun {
                run.begun = true;
                let (version, command) = (run.version.clone(), commands.last().map(str::to_owned));
                let result = Imported::new(Tool::Ior, page.name, run.begins.unwrap_or(number));
                found.push(Imported { version, command, ..result });
            }
            let measured = run.measured(number, op, &cells, commands.last());
            if let Some(result) = found.last_mut() {
                result.measurements.push(measured);
            }
        } else {
            if run.is_broken(line) {
                run.unread.push(number);
            }
            run.setting(line);
        }
        if let Some(result) = found.last_mut().filter(|_| run.begun) {
            result.unread.append(&mut run.unread);
        }
    }
    found
}

/// `Max Write: 694.41 MiB/sec (728.14 MB/sec)`: all that many keep of a run.
fn most(line: &str) -> Option<(Op, Side)> {
    let kinds = [("Max Write:", Op::Write), ("Max Read:", Op::Read)];
    let (op, rest) = kinds.into_iter().find_map(|(start, op)| Some((op, line.strip_prefix(start)?)))?;
    let (rate, unit) = leading(rest.trim_start())?;
    (unit.trim_start().starts_with("MiB/sec") && rate > 0.0)
        .then(|| (op, Side::at(BytesPerSec::new(rate * MIB))))
}

/// Whether a line stands behind the table: the rows of the summary begin as its rows do, and broken ones may have as many
/// cells.
fn ends_table(line: &str) -> bool {
    ["Max Write:", "Max Read:", "Summary of all tests:", "Operation "]
        .iter()
        .any(|word| line.starts_with(word))
}

/// What was said of a run above its table.
#[derive(Debug, Default)]
struct IorTextRun {
    version: Option<String>,
    begins: Option<usize>,
    begun: bool,
    columns: Vec<String>,
    nodes: Option<u32>,
    tasks: Option<u32>,
    target: Option<String>,
    aggregate: Option<Bytes>,
    moved: Option<Bytes>,
    /// Rows of the table with other cells than its heading, which was not broken as they were.
    unread: Vec<usize>,
}

impl IorTextRun {
    /// `nodes               : 10`, or before 3.2 `clients            = 64 (1 per node)`.
    fn setting(&mut self, line: &str) {
        let Some((name, value)) = line.split_once([':', '=']) else { return };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "nodes" => self.nodes = number::count(value),
            "tasks" => self.tasks = number::count(value),
            "clients" => {
                self.tasks = number::count(value);
                let per_node: Option<u32> = value.split_once('(').and_then(|(_, rest)| number::count(rest));
                let nodes = self.tasks.zip(per_node).and_then(|(tasks, per)| tasks.checked_div(per));
                self.nodes = nodes.filter(|nodes| *nodes > 0);
            }
            "test filename" => self.target = Some(value.to_owned()),
            "aggregate filesize" => self.aggregate = size(value, Base::Binary),
            "WARNING" => {
                let moved = value.strip_prefix("Using actual aggregate bytes moved");
                let moved = moved.and_then(|rest| number::count(rest.trim_start_matches([' ', '='])));
                self.moved = moved.map(Bytes::new).or(self.moved);
            }
            _ => {}
        }
    }

    fn row<'l>(&self, line: &'l str) -> Option<(Op, Vec<&'l str>)> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let op = Op::named(cells.first()?)?;
        let is_row = cells.len() == self.columns.len() && plain(cells.get(1)?).is_some();
        is_row.then_some((op, cells))
    }

    /// Whether a line begins as a row does, and is none.
    fn is_broken(&self, line: &str) -> bool {
        let mut cells = line.split_whitespace();
        !self.columns.is_empty()
            && cells.next().and_then(Op::named).is_some()
            && cells.next().and_then(plain).is_some()
    }

    fn measured(&self, number: usize, op: Op, cells: &[&str], command: Option<&str>) -> Measured {
        let cell = |name: &str| {
            let at = self.columns.iter().position(|column| column == name)?;
            plain(cells.get(at)?)
        };
        let names = ["bw(MiB/s)", "IOPS", "Latency(s)", "xfer(KiB)", "total(s)"];
        let row = IorRow::of(names, cell).unwrap_or_default();
        let moved = self.moved.or(self.aggregate).or_else(|| row.moved());
        let mut work = work_of_command(command);
        work.label = op.word().to_owned();
        work.block_size = row.transfer;
        work.jobs = self.tasks.or_else(|| command.and_then(tasks_of));
        work.target.clone_from(&self.target);
        work.working_set = moved;
        if op == Op::Read {
            work.durability = None;
        }
        Measured { nodes: self.nodes, ..Measured::of(number, work, op, row.side(moved)) }
    }
}

/// `-O summaryFormat=CSV`: the rows of the tables and nothing else (`src/ior-output.c`, `PrintReducedResult`).
///
/// The tables in a text: one for each heading.
pub(super) fn read_csv(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    let mut columns = Columns::default();
    for (number, line) in page.lines() {
        let line = line.trim();
        if line.starts_with("access,bw(MiB/s)") {
            columns = Columns::of(line);
            found.push(Imported::new(Tool::Ior, page.name, number));
        } else if let Some(table) = found.last_mut()
            && let Some(measured) = measured_of_csv(&columns, number, line)
        {
            table.measurements.push(measured);
        }
    }
    found.retain(|table| !table.is_empty());
    found
}

fn measured_of_csv(columns: &Columns, number: usize, line: &str) -> Option<Measured> {
    let row = cells(line);
    let op = Op::named(columns.text(&row, "access")?)?;
    let names = ["bw(MiB/s)", "IOPS", "Latency", "xfer(KiB)", "total(s)"];
    let value = IorRow::of(names, |name| columns.number(&row, name))?;
    let tasks = columns.count(&row, "numTasks").and_then(|tasks| u32::try_from(tasks).ok());
    let work = Work {
        block_size: value.transfer,
        queue_depth: Some(1),
        jobs: tasks,
        working_set: value.moved(),
        ..Work::named(op.word())
    };
    Some(Measured::of(number, work, op, value.side(None)))
}

/// `-O summaryFormat=JSON`: options, parameters and results of each test (`src/ior-output.c`).
///
/// Where the file was asked for, nothing else is in it; on the standard output, warnings stand between. Infinite rates
/// are written as strings.
pub(super) fn read_json(page: &Page<'_>) -> Vec<Imported> {
    documents(page, "\"bwMiB\"").iter().filter_map(|document| run_of_json(page, document)).collect()
}

fn run_of_json(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = &document.value;
    let command = text(value, "Command line");
    let accesses = list(value, "tests").flat_map(|test| rows_of_json(test).map(move |row| (test, row)));
    let imported = Imported {
        version: text(value, "Version").map(str::to_owned),
        command: command.map(str::to_owned),
        truncated: document.truncated,
        measurements: accesses
            .filter_map(|(test, row)| measured_of_json(document.line, test, row, command))
            .collect(),
        ..Imported::new(Tool::Ior, page.name, document.line)
    };
    (!imported.is_empty()).then_some(imported)
}

/// The accesses of a test: a list for each repetition, or, in some releases, one list of all.
fn rows_of_json(test: &Value) -> impl Iterator<Item = &Value> {
    list(test, "Results").flat_map(|one| match one {
        Value::Array(accesses) => accesses.iter().collect::<Vec<_>>(),
        other => vec![other],
    })
}

fn measured_of_json(line: usize, test: &Value, row: &Value, command: Option<&str>) -> Option<Measured> {
    let op = Op::named(text(row, "access")?)?;
    let names = ["bwMiB", "iops", "latency", "xferKiB", "totalTime"];
    let value = IorRow::of(names, |name| json::number(row, name))?;
    let none = Value::Null;
    let [options, parameters] = ["Options", "Parameters"].map(|name| test.get(name).unwrap_or(&none));
    let asked = text(options, "aggregate filesize").and_then(|size_of| size(size_of, Base::Binary));
    let stonewalled = count::<u64>(options, "stonewallingTime").is_some_and(|seconds| seconds > 0);
    // A deadline ends the run before all is moved that was asked for.
    let moved = if stonewalled { value.moved() } else { asked.or_else(|| value.moved()) };
    let order = text(options, "ordering in a file");
    let flag = |name: &str| count::<u64>(parameters, name).map(|value| value > 0);
    let durability = match (flag("fsyncperwrite"), flag("fsync")) {
        (Some(true), _) => Some(Durability::Each),
        (_, Some(true)) => Some(Durability::AtEnd),
        (_, Some(false)) => Some(Durability::None),
        _ => None,
    };
    let typed = work_of_command(command);
    let work = Work {
        label: op.word().to_owned(),
        pattern: order
            .map(|order| if order == "random" { Pattern::Random } else { Pattern::Sequential })
            .or(typed.pattern),
        block_size: value.transfer,
        jobs: count(options, "tasks").or_else(|| command.and_then(tasks_of)),
        engine: text(options, "api").map(str::to_owned).or_else(|| typed.engine.clone()),
        durability: (op == Op::Write).then(|| durability.or(typed.durability)).flatten(),
        working_set: moved,
        target: text(options, "test filename").map(str::to_owned),
        ..typed
    };
    Some(Measured { nodes: count(options, "nodes"), ..Measured::of(line, work, op, value.side(moved)) })
}

/// What the command line tells (`ior -h`): `-z` random offsets, `-e` fsync before the clock stops.
fn work_of_command(command: Option<&str>) -> Work {
    let Some(command) = command else { return Work::default() };
    let direct = command.contains("odirect") || command.contains("useO_DIRECT=1") || has_word(command, "-B");
    Work {
        pattern: Some(if has_word(command, "-z") { Pattern::Random } else { Pattern::Sequential }),
        queue_depth: Some(1),
        engine: option(command, "a").map(str::to_owned),
        direct: Some(direct),
        durability: Some(if has_word(command, "-e") { Durability::AtEnd } else { Durability::None }),
        ..Work::default()
    }
}

/// `mpirun -n 64 ./ior`.
fn tasks_of(command: &str) -> Option<u32> {
    let (_, rest) = command.split_once("-n ")?;
    leading(rest).map(|(count, _)| count as u32)
}

/// Whether readers read what another process wrote, so that a node's own page cache does not answer: `-C` and `-Z`.
pub fn is_reordered(command: &str) -> bool {
    let flags = command.split_whitespace().skip(1).filter_map(|word| word.strip_prefix('-'));
    flags.filter(|word| !word.starts_with('-')).any(|word| word == "C" || word == "Z" || word == "Cg")
}

#[cfg(test)]
mod tests {
    use narrows_base::units::Nanos;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_run_without_its_table_the_best_rates_are_read() {
        let body = "Max Write: 694.41 MiB/sec\nMax Read:  38430.23 MiB/sec\n\nMax Write: 708.10 MiB/sec (742.49 MB/sec)\n";
        let found = read(&Page { name: "x", body });
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.measurements.len(), second.measurements.len()), (2, 1));
        assert_eq!(
            first.measurements[0].write.as_ref().map(|side| side.bytes_per_second.get()),
            Some(694.41 * MIB)
        );
    }

    #[test]
    fn a_row_of_the_summary_that_mail_broke_is_no_row_of_the_table() {
        // Figures of IOR 3.2.1 on a Lustre file system, broken at 72 characters.
        let body = "access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)  \nclose(s)   total(s)   iter\n\
            read      74066      314572800  1024.00    0.051877   289.86    \n0.031022   289.88     0   \n\
            Max Read:  74065.51 MiB/sec (77663.32 MB/sec)\n\nSummary of all tests:\n\
            read        74065.51   74065.51   74065.51       0.00   74065.51  \n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 1));
    }

    #[test]
    fn a_row_that_was_broken_is_said() {
        let body = "access bw(MiB/s) block(KiB) xfer(KiB) open(s)  wr/rd(s)\nwrite  41326     16384      1024.00   0.005756 0.39\nread   3310.00   16384\n1024.00   0.011786 4.95\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found[0].measurements.len(), found[0].unread.as_slice()), (1, &[3][..]));
    }

    #[test]
    fn a_table_with_iops_and_one_without() {
        let body = "IOR-3.4.0+dev: MPI Coordinated Test of Parallel I/O\nCommand line        : ./ior -C -e -t 47008 -w -a POSIX --posix.odirect\n\
            nodes               : 10\ntasks               : 240\naggregate filesize  : 10.26 TiB\n\
            access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n\
            ------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n\
            WARNING: Using actual aggregate bytes moved = 4546613760.\n\
            write     14.39      321.09     300.87      45.91      45.91      0.019778   301.22     0.001263   301.24     0   \n\
            IOR-3.1.0: MPI\n\tclients            = 64 (16 per node)\n\
            access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n\
            read      7587       16384      16384      0.013876   251.02     0.000379   251.03     0   \n\
            read         7587.30    7587.30    7587.30       0.00  251.03007 0 64 1 1 1 1\n";
        let found = read(&Page { name: "x", body });
        assert_eq!(found.iter().map(|one| one.measurements.len()).collect::<Vec<_>>(), [1, 1]);
        let write = &found[0].measurements[0];
        assert_eq!(write.work.working_set, Some(Bytes::new(4_546_613_760)));
        assert_eq!((write.nodes, write.work.direct), (Some(10), Some(true)));
        assert_eq!(write.write.as_ref().and_then(|side| side.elapsed_ns), Some(Nanos::from_millis(301_240)));
        assert_eq!(found[1].measurements[0].nodes, Some(4));
    }

    #[test]
    fn a_table_with_the_count_of_tasks_and_one_without() {
        // Figures of hpc/ior pull request 260; the column of tasks came later.
        let body = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),iter\n\
            write,436.5474,228841.8502,0.0000,2048.0000,2.0000,0.0001,0.0045,0.0000,0.0046,0\n\
            read,2367.9204,1220176.2821,0.0000,2048.0000,2.0000,0.0000,0.0008,0.0000,0.0008,0\n\
            access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n\
            write,565.6700,565.6700,0.0849,32768.0000,1024.0000,0.0010,2.7143,0.0001,2.7154,48,0\n\
            remove,-,-\n";
        let found = read_csv(&Page { name: "x", body });
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
        let found = read_csv(&Page { name: "x", body });
        assert_eq!(found[0].measurements.len(), 1);
    }

    proptest! {
        #[test]
        fn a_row_has_the_numbers_that_it_was_made_of(mib in 1u32..1_000_000, kib in 1u32..65_536, tasks in 1u32..9999) {
            let body = format!(
                "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n\
                 read,{mib}.0000,10.0000,0.0010,{kib}.0000,{kib}.0000,0.0,60.0000,0.0,60.0000,{tasks},0\n"
            );
            let found = read_csv(&Page { name: "x", body: &body });
            let one = &found[0].measurements[0];
            prop_assert_eq!(one.read.as_ref().map(|side| side.bytes_per_second.get()), Some(f64::from(mib) * 1_048_576.0));
            prop_assert_eq!(one.work.block_size.map(|size| size.get()), Some(u64::from(kib) * 1024));
            prop_assert_eq!(one.work.jobs, Some(tasks));
        }
    }

    const BODY: &str = r#"{
"Version": "4.1.0+dev", "Began": "x", "Command line": "ior -w -r -C -e -F -t 1m -b 64g -O summaryFormat=JSON",
"tests": [ {
  "TestID": 0,
  "Parameters": { "fsync": 1, "fsyncperwrite": 0, "deadlineForStonewall": 0 },
  "Options": { "api": "POSIX", "test filename": "/scratch/f", "ordering in a file": "sequential", "nodes": 4, "tasks": 64,
    "repetitions": 1, "xfersize": "1 MiB", "blocksize": "64 GiB", "aggregate filesize": "4 TiB" },
  "Results": [ [ {"access": "write", "bwMiB": 11915.2100, "blockKiB": 67108864.0, "xferKiB": 1024.0, "iops": 11990.5,
     "latency": 0.0053, "openTime": 0.01, "wrRdTime": 349.8, "closeTime": 0.2, "totalTime": 352.0150},
    {"access": "read", "bwMiB": 9000.5, "blockKiB": 67108864.0, "xferKiB": 1024.0, "iops": 9001.0,
     "latency": 0.0071, "openTime": 0.01, "wrRdTime": 465.9, "closeTime": 0.2, "totalTime": 466.0}
  ] ]
} ],
"summary": [ ], "Finished": "x"
}
"#;

    #[test]
    fn accesses_have_the_options_of_their_test() {
        let found = read_json(&Page { name: "x", body: BODY });
        assert_eq!((found.len(), found[0].version.as_deref()), (1, Some("4.1.0+dev")));
        let [write, back] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = write.write.as_ref().expect("writes");
        assert_eq!(side.bytes_per_second.get(), 11_915.21 * 1_048_576.0);
        assert_eq!((write.nodes, write.work.jobs), (Some(4), Some(64)));
        assert_eq!(write.work.durability, Some(Durability::AtEnd));
        assert_eq!(write.work.working_set, Some(Bytes::new(4 << 40)));
        assert_eq!(back.work.durability, None);
        assert_eq!(side.latency_ns.as_ref().and_then(|latency| latency.mean), Some(5.3e6));
    }

    #[test]
    fn what_was_whole_before_the_text_ends_is_kept() {
        let at = BODY.find("\"access\": \"read\"").expect("it is there");
        let found = read_json(&Page { name: "x", body: &BODY[..at] });
        assert_eq!((found.len(), found[0].measurements.len(), found[0].truncated), (1, 1, true));
    }

    #[test]
    fn a_rate_of_infinity_is_none() {
        let body = BODY.replace("11915.2100", "\"inf\"");
        assert_eq!(read_json(&Page { name: "x", body: &body })[0].measurements.len(), 1);
    }
}
