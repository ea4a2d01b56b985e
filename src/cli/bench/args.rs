//! What can be typed after `narrows bench` and `narrows sweep`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::output::OutputArgs;
use crate::cli::values::{duration, precision, preset_names, size};
use narrows_base::units::Bytes;
use narrows_load::preset::StopRule;
use narrows_session::measure::Timing;

/// What both commands are asked about target, time and output.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Common {
    /// The size of the scratch file: 512MiB, 4GiB [default: that of the preset, or what 2 s write, an eighth of it at least;
    /// no more than a quarter of what may be written]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,

    /// Read the file or device that TARGET names and write nothing; tests that write are left out
    #[arg(long)]
    pub read_only: bool,

    /// Stop a test when the 95 % confidence interval of its rate is this narrow, half of it as a part of the rate
    #[arg(long, hide_short_help = true, value_name = "PERCENT", value_parser = precision, default_value = "2%")]
    pub precision: f64,

    /// The longest that a test may run: 30s, 2m [default: 30s, and where tests write as long as the estimate of the whole run
    /// holds]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration)]
    pub max_time: Option<Duration>,

    /// Run each test for exactly this time, however sure its rate is
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Load before each test that is not counted
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, default_value = "200ms")]
    pub warm_up: Duration,

    /// Options of writing.
    #[command(flatten)]
    pub writing: Writing,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The longest that a test runs, unless another time is asked for.
const LONGEST: Duration = Duration::from_secs(30);

impl Common {
    /// How long tests run that end by this rule.
    pub(in crate::cli) fn timing(&self, stop: StopRule) -> Timing {
        Timing {
            stop,
            precision: self.precision,
            max_time: self.max_time.unwrap_or(LONGEST),
            fixed: self.duration,
            warm_up: self.warm_up,
        }
    }
}

/// What both commands are asked about what is written.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Writing {
    /// Also write to the device that TARGET names, if it is proven empty and unused (see `narrows guard`)
    ///
    /// The part that may be written, behind the first MiB and before the last, is read as a whole first, and the rest of the
    /// device is searched for data. Afterwards that part is cleared, so that the device is as it was found.
    #[arg(long, requires = "i_own", conflicts_with = "read_only")]
    pub write: bool,

    /// With --write: the serial number of the device, to show that it is the one that is meant
    #[arg(long, value_name = "SERIAL", requires = "write")]
    pub i_own: Option<String>,

    /// The most that may be written in all, the scratch file included; it is divided among the tests that write [default:
    /// 8GiB, or 0.01 % of the drive's rated life if that is less]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_writes: Option<Bytes>,
}

/// What `bench` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct BenchArgs {
    /// A directory, mount point or file (tested in a scratch file there), or a device (only read, unless --write)
    #[arg(required_unless_present_any = ["list", "resume"])]
    pub target: Option<String>,

    /// The tests to run; --list shows them
    #[arg(long, value_name = "NAME", default_value = "kdiskmark", value_parser = preset_names())]
    pub preset: String,

    /// Show the presets, what they do and where they are from
    #[arg(long, exclusive = true)]
    pub list: bool,

    /// Options of target, time and output.
    #[command(flatten)]
    pub common: Common,

    /// Show all that is known of each test, and the same tests as command lines of fio
    #[arg(long)]
    pub verbose: bool,

    /// Keep the results so far in FILE (JSON), after every test
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub save: Option<PathBuf>,

    /// Go on with the run that FILE keeps: same target, preset and settings
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "read_only", "samples", "sample_size", "duration"])]
    pub resume: Option<PathBuf>,

    /// Write the same tests as a job file of fio, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["save", "resume", "json"])]
    pub emit_fio: Option<PathBuf>,

    /// disks: how many samples to read
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub samples: Option<u32>,

    /// disks: the size of a sample
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = size)]
    pub sample_size: Option<Bytes>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn bench(words: &[&str]) -> Result<BenchArgs, String> {
        match Cli::try_parse_from([&["narrows", "bench"], words].concat()).map(|cli| cli.command) {
            Ok(Some(Command::Bench(args))) => Ok(*args),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_help() {
        let args = bench(&["/srv"]).unwrap();
        assert_eq!((args.preset.as_str(), args.common.precision), ("kdiskmark", 0.02));
        assert_eq!(args.common.timing(StopRule::Precision).longest(), Duration::from_secs(30));
        assert!(bench(&["--list"]).unwrap().list);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(bench(&[]).is_err());
        assert!(bench(&["/srv", "--preset", "nothing"]).unwrap_err().contains("kdiskmark-nvme"));
        assert!(bench(&["/srv", "--save", "a", "--resume", "a"]).is_err());
        assert!(bench(&["/srv", "--precision", "0"]).is_err());
        assert!(bench(&["/dev/x", "--write"]).is_err(), "without a serial number");
        assert!(bench(&["/dev/x", "--i-own", "S"]).is_err(), "without --write");
        assert!(bench(&["/dev/x", "--write", "--i-own", "S", "--read-only"]).is_err());
        assert!(bench(&["--resume", "x", "--samples", "5"]).is_err(), "the saved run has its samples");
        assert!(bench(&["--resume", "x"]).is_ok());
    }
}
