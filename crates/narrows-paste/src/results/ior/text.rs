//! The table of each access, with the columns that its heading names.
//!
//! The aggregate file size is what was asked for; what was moved stands in a warning when a deadline cut the run.

use super::super::command::Commands;
use super::super::number::{Base, plain, size, to_bytes, whole};
use super::super::{Imported, Measured, Op, Page, Tool};
use super::command::{tasks_of, work};
use super::{Row, op_of};
use narrows_base::units::Bytes;

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["bw(MiB/s)"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut run = Run::default();
    for (number, line) in page.lines() {
        commands.see(number, line, "ior");
        let line = line.trim();
        if let Some(version) = line.strip_prefix("IOR-").and_then(|rest| rest.split(':').next()) {
            run = Run { version: Some(version.to_owned()), begins: Some(number), ..Run::default() };
        } else if line.starts_with("access") && line.contains("bw(MiB/s)") {
            run.columns = line.split_whitespace().map(str::to_owned).collect();
            run.begun = false;
        } else if ends_table(line) {
            run.columns.clear();
        } else if let Some((op, cells)) = run.row(line) {
            if !run.begun {
                run.begun = true;
                let mut imported = Imported::new(Tool::Ior, page.name, run.begins.unwrap_or(number));
                imported.version.clone_from(&run.version);
                imported.command = commands.last().map(str::to_owned);
                found.push(imported);
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

/// Whether a line stands behind the table: the rows of the summary begin as its rows do, and broken ones may have as many
/// cells.
fn ends_table(line: &str) -> bool {
    ["Max Write:", "Max Read:", "Summary of all tests:", "Operation "]
        .iter()
        .any(|word| line.starts_with(word))
}

/// What was said of a run above its table.
#[derive(Debug, Default)]
struct Run {
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

impl Run {
    /// `nodes               : 10`, or before 3.2 `clients            = 64 (1 per node)`.
    fn setting(&mut self, line: &str) {
        let Some((name, value)) = line.split_once([':', '=']) else { return };
        let (name, value) = (name.trim(), value.trim());
        let count = || whole(value).and_then(|(count, _)| u32::try_from(count).ok());
        match name {
            "nodes" => self.nodes = count(),
            "tasks" => self.tasks = count(),
            "clients" => {
                self.tasks = count();
                let per_node =
                    value.split_once('(').and_then(|(_, rest)| whole(rest)).map(|(count, _)| count);
                self.nodes = self.tasks.zip(per_node).and_then(|(tasks, per)| {
                    tasks.checked_div(u32::try_from(per).ok()?).filter(|nodes| *nodes > 0)
                });
            }
            "test filename" => self.target = Some(value.to_owned()),
            "aggregate filesize" => self.aggregate = size(value, Base::Binary),
            "WARNING" => {
                if let Some(rest) = value.strip_prefix("Using actual aggregate bytes moved") {
                    let text = rest.trim_start_matches([' ', '=']);
                    self.moved = whole(text).map(|(bytes, _)| Bytes::new(bytes));
                }
            }
            _ => {}
        }
    }

    fn row<'l>(&self, line: &'l str) -> Option<(Op, Vec<&'l str>)> {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let op = op_of(cells.first()?)?;
        let is_row =
            !self.columns.is_empty() && cells.len() == self.columns.len() && plain(cells.get(1)?).is_some();
        is_row.then_some((op, cells))
    }

    /// Whether a line begins as a row does, and is none.
    fn is_broken(&self, line: &str) -> bool {
        let mut cells = line.split_whitespace();
        !self.columns.is_empty()
            && cells.next().and_then(op_of).is_some()
            && cells.next().and_then(plain).is_some()
    }

    fn measured(&self, number: usize, op: Op, cells: &[&str], command: Option<&str>) -> Measured {
        let cell = |name: &str| {
            let at = self.columns.iter().position(|column| column == name)?;
            plain(cells.get(at)?)
        };
        let row = Row {
            mib: cell("bw(MiB/s)").unwrap_or_default(),
            iops: cell("IOPS"),
            latency: cell("Latency(s)"),
            transfer: cell("xfer(KiB)").and_then(|kib| to_bytes(kib * 1024.0)),
            total: cell("total(s)"),
        };
        let moved = self.moved.or(self.aggregate).or_else(|| row.moved());
        let mut work = work(command);
        work.label = op.word().to_owned();
        work.block_size = row.transfer;
        work.jobs = self.tasks.or_else(|| command.and_then(tasks_of));
        work.target.clone_from(&self.target);
        work.working_set = moved;
        if op == Op::Read {
            work.durability = None;
        }
        let mut measured = Measured::new(number, work);
        measured.nodes = self.nodes;
        measured.put(op, row.side(moved));
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;

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
}
