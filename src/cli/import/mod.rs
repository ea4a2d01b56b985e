//! `narrows import`: what did another tool measure, and is it to be believed?

mod gather;
mod ground;

use std::path::PathBuf;

use clap::Args;

use super::facts::{self, Facts};
use super::output_args::OutputArgs;
use super::{FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_paste::results::understood;
use narrows_report::import::{build, csv, document};

use narrows_verdict::results::Ground;
use narrows_verdict::results::against::Stated;
use narrows_verdict::results::sweep::sweeps;

pub(super) use gather::Seen;

/// What `import` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct ImportArgs {
    /// Texts with results, directories or archives of them; - is standard input
    ///
    /// What is in a file is told by its content: outputs of fio (text, JSON, terse and logs), dd, hdparm, KDiskMark 1 to 3,
    /// CrystalDiskMark 3 to 9, diskspd, IOzone (-R too), IOR (text, JSON, CSV), IO500, elbencho (text, CSV, JSON, live CSV),
    /// bonnie++, Vdbench, YABS, nvbandwidth and cryptsetup benchmark, with any text around them; the files in which GNOME Disks
    /// kept its benchmarks; the summary of rsync, or `time cp` beside `du` of what was copied; and of rados bench, dbench,
    /// bench.sh, nench, iperf3, sysbench fileio, mdtest, pveperf, ioping, f3, t/io_uring, diskspd for Linux, fs_mark, btrfs scrub,
    /// winsat, HD Tune, spdk_nvme_perf, bdevperf, gdsio, pg_test_fsync and AS SSD; `iostat -x` and `zpool iostat` where no result stands beside them. What
    /// stands beside a result is evidence: the command, `free`, `zpool iostat`, `iostat -x`, `/proc/mdstat`, logs of fio, what the
    /// storage is called, and the outputs that `check --from` understands. All that is given is of one machine.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Put the results against the paths of this machine: those of the devices and files that they name, or --target
    ///
    /// A result above what a hop of its path carries is not trusted (above_ceiling); one near the narrowest hop is
    /// limited by it; of one far below it is said what else limits it.
    #[arg(long, conflicts_with = "from")]
    pub machine: bool,

    /// The same with another machine: a record of `narrows snapshot`, or pasted outputs (lspci, lsblk, …)
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// The device, mount or file that was measured, for results that do not name one
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,

    /// What a part of the path carries, where it cannot be looked at: EDR=96GB/s; may be given several times
    #[arg(long, value_name = "NAME=RATE", value_parser = ground::stated)]
    pub ceiling: Vec<Stated>,

    /// Print a line for each direction of each measurement, with the unit in the name of each column
    #[arg(long, conflicts_with_all = ["json", "plain", "markdown", "html"])]
    pub csv: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads the results, judges them, and shows both: 0 when all are to be trusted and no path has a finding, 1 when not.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or none holds a result.
pub(super) fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let mut seen = Seen::default();
    let all: Vec<PathBuf> = args.files.iter().chain(&args.from).cloned().collect();
    let gathered = gather::from(&all, &mut seen)?;
    gathered.notes.iter().for_each(|note| output::note(&format!("narrows: {note}")));
    // Logs without a result beside them become results only when all was seen.
    seen.complete();
    seen.unread.iter().for_each(|line| output::note(&format!("narrows: {line}")));
    if seen.results.is_empty() {
        return Err(Failure::new(format!("there is no result of a benchmark in {}", named(&args.files)))
            .hint(format!("narrows understands {}", understood())));
    }
    let Facts { root, machine, .. } =
        if args.machine { facts::open(&[])? } else { facts::put_together(gathered) };
    let asked = args.machine || !args.from.is_empty();
    let paths = ground::paths(&root, &machine, &seen.results, args.target.as_deref(), asked)?;
    let ground = Ground {
        machine: Some(&machine),
        paths: &paths.named,
        default: paths.default.as_ref(),
        stated: &args.ceiling,
    };
    let verdicts = seen.judge_on(ground);
    let report = build(&seen.results, &verdicts, &sweeps(&seen.results, &args.ceiling));
    if args.csv {
        output::data(&csv::render(&report))?;
    } else {
        output::report(&report, &args.output, document)?;
    }
    Ok(if report.has_findings() { FINDINGS } else { NOTHING_FOUND })
}

/// What was given, the first by its name.
fn named(files: &[PathBuf]) -> String {
    let name = |file: &PathBuf| match file.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => format!("`{}`", file.display()),
    };
    let first = files.first().map(name).unwrap_or_default();
    match files.len() {
        0 | 1 => first,
        more => format!("{first} or {} more", more - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_named() {
        let named = |files: &[&str]| named(&files.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(named(&["a.txt"]), "`a.txt`");
        assert_eq!(named(&["-"]), "standard input");
        assert_eq!(named(&["a.txt", "b.txt", "c.txt"]), "`a.txt` or 2 more");
    }
}
