//! `narrows measure`: what can be typed after it, and which of its ways of measuring is meant.

mod benchmark;
mod layers;
mod loads;
mod short;
mod site;
mod together;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::grid::Grid;
use super::output::OutputArgs;
use super::require::RequireArgs;
use super::values::{Choices, EVERY, choices, duration, host, precision, size};
use super::{Failure, NOTHING_FOUND, output};
use narrows_base::units::Bytes;
use narrows_load::preset::{self, Preset, StopRule};
use narrows_runs::measure;
use narrows_session::measure::Timing;

/// What `measure` is asked.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct MeasureArgs {
    /// A device (only read, unless --write), or a directory, mount point or file (tested in a scratch file)
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// quick (10 s at most), full, kdiskmark, sweep, threads, layers, …: see --as list
    #[arg(long = "as", value_name = "NAME", default_value = "quick", value_parser = how, overrides_with = "how")]
    pub how: How,

    /// Every drive, or nvme, sata, sas, usb, virtio, ssd, hdd, node0, switch:SLOT
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = EVERY, hide_possible_values = true, value_parser = choices, conflicts_with = "what")]
    pub(super) all: Option<Choices>,

    /// The loads of sweep, threads and layers; of disks the size of a sample.
    #[command(flatten)]
    pub grid: Grid,

    /// layers: a host with `iperf3 --server`, to measure the network alone
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub peer: Option<String>,

    /// The size of the scratch file [default: as the tests and the drive ask]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,

    /// Read what WHAT names and write nothing; tests that write are left out
    #[arg(long)]
    pub read_only: bool,

    /// Stop a test when its rate is known so well [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = precision)]
    pub precision: Option<f64>,

    /// The longest that a test may run [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,

    /// Run each test for exactly this time [default: quick 2s, full 10s, layers 4s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Load before each test that is not counted [default: 200ms, layers 500ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub warm_up: Option<Duration>,

    /// Also write to the device that WHAT names, if it is proven empty and unused
    #[arg(long, requires = "i_own", conflicts_with = "read_only")]
    pub write: bool,

    /// With --write: the serial number of the device that is meant
    #[arg(long, value_name = "SERIAL", requires = "write")]
    pub i_own: Option<String>,

    /// The most that is written [default: 8GiB, or 0.01 % of rated life if less]
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "read_only")]
    pub max_writes: Option<Bytes>,

    /// Keep the results so far in FILE (JSON), after every test
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub save: Option<PathBuf>,

    /// Go on with the run that FILE keeps: same target, tests and settings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["how", "size", "read_only", "duration", "block_size", "depth", "threads", "mix", "order"])]
    pub resume: Option<PathBuf>,

    /// Write the same tests as a job file of fio, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "resume", "json"])]
    pub emit_fio: Option<PathBuf>,

    /// Rules by which it passes.
    #[command(flatten)]
    pub rules: RequireArgs,

    /// Show all that is known of each test, and the tests as commands of fio
    #[arg(long)]
    pub verbose: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `--as` names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum How {
    /// At most 10 s in all.
    #[default]
    Quick,
    /// Until the rate is steady.
    Full,
    /// Block sizes, depths and mixes, all with all.
    Sweep,
    /// More and more streams.
    Threads,
    /// One load at every layer of the path.
    Layers,
    /// Nothing: what there is, is shown.
    List,
    /// The tests of a well-known benchmark, by its name.
    Preset(&'static str),
}

/// What there is beside presets, and what it does.
const OTHERS: [(How, &str, &str); 6] = [
    (How::Quick, "quick", "the path against its ceilings: sequential and random reads, 10 s at most"),
    (How::Full, "full", "the same until the rate is steady, about a minute"),
    (
        How::Sweep,
        "sweep",
        "random reads of 4 KiB to 1 MiB at depths 1 to 64, or what is typed, all with all: the knee, plateaus, drops",
    ),
    (
        How::Threads,
        "threads",
        "1, 2, 4 … 1024 streams in parts of their own, or up to --threads: from how many on more add nothing",
    ),
    (
        How::Layers,
        "layers",
        "sequential reads of 1 MiB at depth 8, or what is typed, at every layer of the path: where is the rate lost, and to what",
    ),
    (How::List, "list", "nothing: this list is shown"),
];

impl How {
    /// What is typed for it.
    fn name(self) -> &'static str {
        match self {
            Self::Preset(name) => name,
            other => OTHERS.iter().find(|(how, ..)| *how == other).map_or("", |(_, name, _)| name),
        }
    }

    /// Whether it is a list of tests, each of which ends when its rate is known.
    const fn is_tests(self) -> bool {
        matches!(self, Self::Sweep | Self::Threads | Self::Preset(_))
    }
}

/// Every name that `--as` takes.
fn names() -> impl Iterator<Item = &'static str> {
    OTHERS.iter().map(|(_, name, _)| *name).chain(preset::names())
}

/// Reads what `--as` names.
fn how(text: &str) -> Result<How, String> {
    let other = OTHERS.iter().find(|(_, name, _)| *name == text).map(|(how, ..)| *how);
    let preset = || preset::names().find(|name| *name == text).map(How::Preset);
    other.or_else(preset).ok_or_else(|| {
        let all: Vec<&str> = names().collect();
        format!("it is none of {}; `narrows measure --as list` says what each does", all.join(", "))
    })
}

/// The most that can be asked of the engine.
const MOST_DEPTH: u32 = 4096;
const MOST_THREADS: u32 = 65_536;
/// The longest that a test runs, unless another time is asked for.
const LONGEST: Duration = Duration::from_secs(30);
/// The width of the interval at which a test ends, unless another is asked for.
const PRECISION: f64 = 0.02;

impl MeasureArgs {
    /// How long tests run that end by this rule.
    fn timing(&self, stop: StopRule) -> Timing {
        Timing {
            stop,
            precision: self.precision.unwrap_or(PRECISION),
            max_time: self.max_time.unwrap_or(LONGEST),
            fixed: self.duration,
            warm_up: self.warm_up.unwrap_or(Duration::from_millis(200)),
        }
    }

    /// How the report is printed.
    fn shown(&self) -> OutputArgs {
        let mut output = self.output.clone();
        output.shown.verbose = self.verbose;
        output
    }

    /// Refuses an option that this way of measuring has no use for.
    ///
    /// # Errors
    /// There is one.
    fn check(&self) -> Result<(), Failure> {
        let how = self.how;
        let (is_tests, is_layers) = (how.is_tests() || self.resume.is_some(), how == How::Layers);
        let is_grid = matches!(how, How::Sweep | How::Threads | How::Layers);
        let is_disks = how == How::Preset("disks");
        let (grids, tests, both) = (
            "sweep, threads and layers",
            "sweep, threads and benchmarks",
            "sweep, threads, layers and benchmarks",
        );
        let grid = &self.grid;
        grid.within(MOST_DEPTH, MOST_THREADS)?;
        if is_layers && self.read_only && grid.mix.iter().any(|reads| *reads < 100) {
            return Err(
                Failure::new("--read-only writes nothing, and this --mix does").hint("leave out one of them")
            );
        }
        let options = [
            (
                "--block-size",
                !grid.block_size.is_empty(),
                is_grid || is_disks,
                "sweep, threads, layers and disks",
            ),
            ("--depth", !grid.depth.is_empty(), is_grid && how != How::Threads, "sweep and layers"),
            ("--threads", !grid.threads.is_empty(), is_grid, grids),
            ("--mix", !grid.mix.is_empty(), is_grid, grids),
            ("--order", grid.order.is_some(), is_grid, grids),
            ("--peer", self.peer.is_some(), is_layers, "layers"),
            ("--size", self.size.is_some(), is_tests || is_layers, both),
            ("--read-only", self.read_only, is_tests || is_layers, both),
            ("--max-writes", self.max_writes.is_some(), is_tests || is_layers, both),
            ("--warm-up", self.warm_up.is_some(), is_tests || is_layers, both),
            ("--precision", self.precision.is_some(), is_tests, tests),
            ("--max-time", self.max_time.is_some(), is_tests, tests),
            ("--write", self.write, is_tests, tests),
            ("--save", self.save.is_some(), is_tests, tests),
            ("--emit-fio", self.emit_fio.is_some(), is_tests, tests),
            ("--require", !self.rules.require.is_empty(), !is_layers, "one target and not for layers"),
            ("--all", self.all.is_some(), matches!(how, How::Quick | How::Full), "quick and full"),
        ];
        match options.iter().find(|(_, is_given, has_use, _)| *is_given && !has_use) {
            Some((option, _, _, of)) => Err(Failure::new(format!("--as {} takes no {option}", how.name()))
                .hint(format!("{option} is for {of}: see --as list"))),
            None => Ok(()),
        }
    }

    /// The one target; `None` where the saved run says it.
    ///
    /// # Errors
    /// There are several.
    fn one(&self) -> Result<Option<&str>, Failure> {
        match self.what.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(Failure::new(format!("--as {} measures one target", self.how.name()))
                .hint("name one; several are measured alone and together by --as quick and --as full")),
        }
    }

    /// The tests, those of a sweep as typed.
    ///
    /// # Errors
    /// There is no such preset.
    fn preset(&self) -> Result<Preset, Failure> {
        match self.how {
            How::Sweep | How::Threads => Ok(Preset::sweep(self.how.name(), loads::of(self))),
            how => preset::by_name(how.name())
                .ok_or_else(|| Failure::new(format!("there is no benchmark `{}`", how.name()))),
        }
    }
}

/// Measures in the way that was asked for.
///
/// # Errors
/// [`Failure`] when the target does not exist or cannot be measured as asked.
pub(super) fn run(args: &MeasureArgs) -> Result<u8, Failure> {
    args.check()?;
    match args.how {
        How::List => {
            let others = OTHERS.map(|(_, name, about)| (name, about));
            output::data(&measure::list(&others, &preset::all(), &args.output.shown.style()))?;
            Ok(NOTHING_FOUND)
        }
        _ if args.resume.is_some() => benchmark::run(args),
        _ if args.what.is_empty() && args.all.is_none() => Err(Failure::new("nothing to measure is named")
            .hint("name a device, mount or directory, such as the current one: `narrows measure .`")),
        How::Quick | How::Full => match (args.what.as_slice(), &args.all) {
            ([one], _) => short::run(args, one),
            _ if !args.rules.require.is_empty() => {
                Err(Failure::new("--require is for one target").hint("measure each by itself"))
            }
            _ => together::run(args),
        },
        How::Layers => layers::run(args),
        How::Sweep | How::Threads | How::Preset(_) => benchmark::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn measure(words: &[&str]) -> Result<MeasureArgs, String> {
        match Cli::try_parse_from([&["narrows", "measure"], words].concat()).map(|cli| cli.command) {
            Ok(Some(Command::Measure(args))) => {
                let is_one = args.how.is_tests() || args.how == How::Layers;
                let one = || if is_one { args.one().map(drop) } else { Ok(()) };
                args.check().and_then(|()| one()).map_err(|failure| failure.to_string())?;
                Ok(*args)
            }
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_help() {
        let args = measure(&["/srv"]).unwrap();
        let timing = args.timing(StopRule::Precision);
        assert_eq!((args.how, timing.precision), (How::Quick, 0.02));
        assert_eq!(timing.longest(), Duration::from_secs(30));
        assert_eq!(measure(&["--as", "list"]).unwrap().how, How::List);
        assert!(names().all(|name| how(name).unwrap().name() == name));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for wrong in [
            "/srv --as nothing",
            "/srv --as kdiskmark --save a --resume a",
            "/srv --as kdiskmark --precision 0",
            "/dev/x --as kdiskmark --write",
            "/dev/x --as kdiskmark --i-own S",
            "/dev/x --as kdiskmark --write --i-own S --read-only",
            "--resume x --depth 5",
            "--resume x --as sweep",
            "/srv --as layers --depth 0",
            "/srv --as sweep --depth 5000",
            "/srv --as layers --read-only --mix 70",
            "/srv --as layers --peer --version",
            "/srv --as layers --peer=-d",
            "/srv --as layers --save a",
            "/srv --as threads --depth 4",
            "/srv --depth 4",
            "/srv --as kdiskmark --block-size 4KiB",
            "/srv /home --as sweep",
            "/srv --all",
        ] {
            assert!(measure(&wrong.split_whitespace().collect::<Vec<_>>()).is_err(), "{wrong}");
        }
        assert!(measure(&["/srv", "--as", "layers", "--peer", "a b"]).is_err());
        assert!(measure(&["/srv", "--as", "nothing"]).unwrap_err().contains("kdiskmark-nvme"));
    }

    #[test]
    fn what_is_meant_is_taken() {
        for fine in [
            "--resume x",
            "/srv /home",
            "--all=nvme",
            "/srv --as disks --block-size 1MiB",
            "/srv --as layers --peer fe80::1%eth0 --threads 4 --depth 1,8",
            "/srv --as sweep --threads 1,4",
            "/srv --as threads --threads 16 --mix 100,0",
        ] {
            assert!(measure(&fine.split_whitespace().collect::<Vec<_>>()).is_ok(), "{fine}");
        }
    }
}
