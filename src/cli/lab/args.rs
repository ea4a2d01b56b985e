//! What can be typed after `narrows lab`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::output::OutputArgs;
use crate::cli::values::{duration, precision, preset_names, size};
use narrows_base::units::Bytes;
use narrows_load::preset::{self, StopRule};
use narrows_session::lab::aim::{Aim, AimError};
use narrows_session::lab::{Cell, Encryption, FileSystem, Layout};
use narrows_session::measure::Timing;
use narrows_session::trials::Wish;

/// What `lab` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct LabArgs {
    /// The devices: whole disks that are proven empty and unused (see `narrows guard`), in the order in which they are used
    #[arg(value_name = "DEVICE", required_unless_present_any = ["scratch", "resume", "undo"])]
    pub devices: Vec<String>,

    /// The serial numbers of the devices, to show that they are the ones that are meant
    #[arg(long, value_name = "SERIAL", value_delimiter = ',')]
    pub i_own: Vec<String>,

    /// Layouts to build [default: all but those of ZFS that so many devices allow]
    #[arg(long, value_name = "LAYOUT", value_enum, value_delimiter = ',')]
    pub layout: Vec<Layout>,

    /// Ways to encrypt
    #[arg(
        long,
        hide_possible_values = true,
        value_name = "HOW",
        value_enum,
        value_delimiter = ',',
        default_value = "plain,luks2,luks2-tuned,veracrypt"
    )]
    pub encryption: Vec<Encryption>,

    /// File systems to make; none measures the block device itself
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',', default_value = "none")]
    pub file_system: Vec<FileSystem>,

    /// The tests, those of `narrows bench --list`; several are run one after the other
    #[arg(long, hide_possible_values = true, value_name = "NAME", value_delimiter = ',', default_value = "kdiskmark", value_parser = preset_names())]
    pub preset: Vec<String>,

    /// The part of each device and of what is built that is filled and measured [default: that of the preset]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,

    /// The part of each device in which everything is built; nothing outside of it is written [default: what the tests and
    /// the copy need]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub slice: Option<Bytes>,

    /// Stop a test when the 95 % confidence interval of its rate is this narrow, half of it as a part of the rate
    #[arg(long, hide_short_help = true, value_name = "PERCENT", value_parser = precision, default_value = "2%")]
    pub precision: f64,

    /// The longest that a test may run
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub max_time: Duration,

    /// Run each test for exactly this time, however sure its rate is
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Load before each test that is not counted
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, default_value = "200ms")]
    pub warm_up: Duration,

    /// The most that tests may write in all; the lab ends when the next write would be more [default: 8GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_writes: Option<Bytes>,

    /// Do not wait until a new array is in step; what is measured meanwhile is marked
    #[arg(long, hide_short_help = true)]
    pub no_wait: bool,

    /// Also copy this file or directory to each file system that is built, read it back, and say how long it took
    #[arg(long, value_name = "SRC", conflicts_with_all = ["resume", "undo"])]
    pub copy: Option<PathBuf>,

    /// Use files in this directory through loop devices in place of devices, to try the lab out
    #[arg(long, value_name = "DIR", conflicts_with_all = ["devices", "i_own"])]
    pub scratch: Option<PathBuf>,

    /// With --scratch: how many files
    #[arg(long, hide_short_help = true, value_name = "N", requires = "scratch", conflicts_with = "devices", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub count: u8,

    /// With --scratch: the size of each file
    #[arg(long, hide_short_help = true, value_name = "SIZE", requires = "scratch", conflicts_with = "devices", value_parser = size, default_value = "1GiB")]
    pub file_size: Bytes,

    /// The journal [default: a new file in /var/lib/narrows]
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Undo what an earlier lab left, then go on with it: same devices, layouts and tests; what it measured is kept
    #[arg(long, conflicts_with_all = ["devices", "scratch", "i_own", "layout", "undo", "dry_run"])]
    pub resume: bool,

    /// Undo what earlier labs left, after a kill, a crash or a power loss
    #[arg(long, conflicts_with_all = ["devices", "scratch", "i_own", "layout", "dry_run"])]
    pub undo: bool,

    /// Show every command that would be run, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// What the devices are for, what counts most first: sequential, writes, iops, capacity, endurance, survive:N,
    /// encryption, and with --copy also copy; survive and encryption must hold [default: a ranking each for reads, writes,
    /// random I/O and copies]
    #[arg(long, value_name = "AIMS", value_parser = aims)]
    pub aim: Option<Aims>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Aims in the order in which they count.
#[derive(Debug, Clone, PartialEq)]
pub struct Aims(Vec<Aim>);

fn aims(text: &str) -> Result<Aims, String> {
    Aim::parse_all(text).map(Aims).map_err(|error| format!("{error}; {}", AimError::HINT))
}

/// All layouts, in the order in which they are built.
const LAYOUTS: [Layout; 7] = {
    use Layout::{LvmLinear, LvmStriped, Raid0, Raid1, Raid5, Raid10, Single};
    [Single, LvmLinear, LvmStriped, Raid0, Raid1, Raid10, Raid5]
};

impl LabArgs {
    /// The stated aims; none without `--aim`.
    pub(super) fn aims(&self) -> Vec<Aim> {
        self.aim.as_ref().map_or_else(Vec::new, |aims| aims.0.clone())
    }

    /// What is asked of the tests.
    pub(super) fn wish(&self) -> Wish {
        Wish {
            presets: self.preset.iter().filter_map(|name| preset::by_name(name)).collect(),
            timing: Timing {
                stop: StopRule::Precision,
                precision: self.precision,
                max_time: self.max_time,
                fixed: self.duration,
                warm_up: self.warm_up,
            },
            size: self.size,
            max_writes: self.max_writes,
            encrypts: self.encryption.iter().any(|encryption| *encryption != Encryption::Plain),
        }
    }

    /// The cells, in the order in which they are built, for so many devices.
    pub fn cells(&self, devices: usize) -> Vec<Cell> {
        let fitting = || LAYOUTS.into_iter().filter(|layout| layout.fewest() <= devices).collect();
        let layouts: Vec<Layout> = if self.layout.is_empty() { fitting() } else { self.layout.clone() };
        let mut cells: Vec<Cell> = Vec::new();
        for layout in layouts {
            for encryption in self.encryption.iter().copied() {
                let kinds = self.file_system.iter().copied();
                cells.extend(kinds.map(|file_system| Cell { layout, encryption, file_system }));
            }
        }
        let mut known = BTreeSet::new();
        cells.retain(|cell| known.insert((cell.layout, cell.encryption, cell.file_system)));
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn lab(words: &[&str]) -> Result<LabArgs, String> {
        match Cli::try_parse_from([&["narrows", "lab"], words].concat()).map(|cli| cli.command) {
            Ok(Some(Command::Lab(args))) => Ok(*args),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_matrix_is_what_the_devices_allow_unless_it_was_asked_for() {
        let two = lab(&["/dev/x", "/dev/y"]).unwrap();
        assert_eq!(two.cells(2).len(), 6 * 4);
        assert_eq!(two.cells(4).len(), 7 * 4);
        assert_eq!(two.cells(1).len(), 4);
        let asked = lab(&["/dev/x", "--layout", "raid5,raid5", "--encryption", "plain,luks2-tuned"]).unwrap();
        assert_eq!(asked.cells(1).len(), 2, "what cannot be built is reported, not left out");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(lab(&[]).is_err());
        assert!(lab(&["--undo"]).is_ok() && lab(&["--resume"]).is_ok());
        assert!(lab(&["/dev/x", "--undo"]).is_err());
        assert!(lab(&["/dev/x", "--scratch", "/srv"]).is_err());
        assert!(lab(&["/dev/x", "--layout", "raid6"]).is_err());
        assert!(lab(&["/dev/x", "--count", "3"]).is_err(), "without --scratch");
        let scratch = lab(&["--scratch", "/srv", "--count", "3"]).unwrap();
        assert_eq!((scratch.count, scratch.file_size), (3, Bytes::from_mib(1024)));
        assert_eq!(lab(&["/dev/x", "--i-own", "A,B"]).unwrap().i_own, ["A", "B"]);
    }
}
