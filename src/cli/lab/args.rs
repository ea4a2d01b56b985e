//! What can be typed after `narrows lab`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::output::OutputArgs;
use crate::cli::values::{duration, each_with_each, precision, preset_names, size};
use narrows_base::lists::distinct;
use narrows_base::units::Bytes;
use narrows_load::preset::{self, StopRule};
use narrows_session::lab::aim::{Aim, AimError};
use narrows_session::lab::{Cell, Encryption, FileSystem, Layout};
use narrows_session::measure::Timing;
use narrows_session::trials::Wish;

/// What `lab` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct LabArgs {
    /// The devices, in the order in which they are used: whole disks that are proven empty and unused
    #[arg(value_name = "DEVICE", required_unless_present_any = ["scratch", "resume", "undo"])]
    pub devices: Vec<String>,

    /// The serial numbers of the devices that are meant
    #[arg(long, value_name = "SERIAL", value_delimiter = ',')]
    pub i_own: Vec<String>,

    /// single, raid0, raid1, raid10, raid5, lvm-linear, lvm-striped, zfs-stripe, zfs-mirror [default: all but ZFS]
    #[arg(long, value_name = "LAYOUT", value_enum, hide_possible_values = true, value_delimiter = ',')]
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

    /// File systems to make: none, ext4, xfs, btrfs
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        hide_possible_values = true,
        value_delimiter = ',',
        default_value = "none"
    )]
    pub file_system: Vec<FileSystem>,

    /// The tests, those of `narrows measure --as list`
    #[arg(long = "as", hide_possible_values = true, value_name = "NAME", value_delimiter = ',', default_value = "kdiskmark", value_parser = preset_names())]
    pub preset: Vec<String>,

    /// The part of what is built that is filled and measured [default: as tests ask]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,

    /// The only part of each device that is written [default: as needed]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub slice: Option<Bytes>,

    /// Stop a test when its rate is known so well
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "2%")]
    pub precision: f64,

    /// The longest that a test may run
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub max_time: Duration,

    /// Run each test for exactly this time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,

    /// Load before each test that is not counted
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "200ms")]
    pub warm_up: Duration,

    /// The most that tests write in all [default: 8GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_writes: Option<Bytes>,

    /// Do not wait until a new array is in step: what is measured then is marked
    #[arg(long)]
    pub no_wait: bool,

    /// Also copy this file or directory to each file system, and read it back
    #[arg(long, value_name = "SRC", conflicts_with_all = ["resume", "undo"])]
    pub copy: Option<PathBuf>,

    /// Use files in this directory through loop devices, to try the lab out
    #[arg(long, value_name = "DIR", conflicts_with_all = ["devices", "i_own"])]
    pub scratch: Option<PathBuf>,

    /// With --scratch: how many files, and how large each is
    #[arg(long, value_name = "NxSIZE", requires = "scratch", conflicts_with = "devices", value_parser = Files::parse, default_value = "2x1GiB")]
    pub files: Files,

    /// The journal [default: a new file in /var/lib/narrows]
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Undo what an earlier lab left, then go on with it
    #[arg(long, conflicts_with_all = ["devices", "scratch", "i_own", "layout", "undo", "dry_run"])]
    pub resume: bool,

    /// Undo what earlier labs left, after a kill, a crash or a power loss
    #[arg(long, conflicts_with_all = ["devices", "scratch", "i_own", "layout", "dry_run"])]
    pub undo: bool,

    /// Show every command that would be run, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// What counts most first: sequential, writes, iops, capacity, endurance, survive:N, encryption, copy; survive and encryption must hold
    #[arg(long, value_name = "AIMS", value_parser = aims)]
    pub aim: Option<Aims>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Files that stand for devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    pub count: u8,
    /// That of each.
    pub size: Bytes,
}

impl Files {
    fn parse(text: &str) -> Result<Self, String> {
        let (count, each) = text.split_once('x').ok_or_else(|| format!("`{text}` is not like 2x1GiB"))?;
        let count = count.parse().ok().filter(|count| (1..=16).contains(count));
        Ok(Self { count: count.ok_or("a lab takes 1 to 16 files")?, size: size(each)? })
    }
}

/// Aims in the order in which they count.
pub type Aims = Vec<Aim>;

fn aims(text: &str) -> Result<Aims, String> {
    Aim::parse_all(text).map_err(|error| format!("{error}; {}", AimError::HINT))
}

/// All layouts, in the order in which they are built.
const LAYOUTS: [Layout; 7] = {
    use Layout::{LvmLinear, LvmStriped, Raid0, Raid1, Raid5, Raid10, Single};
    [Single, LvmLinear, LvmStriped, Raid0, Raid1, Raid10, Raid5]
};

impl LabArgs {
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
        let kinds = each_with_each(&self.encryption, &self.file_system);
        let cells = each_with_each(&layouts, &kinds).into_iter();
        distinct(cells.map(|(layout, (encryption, file_system))| Cell { layout, encryption, file_system }))
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
        assert!(lab(&["/dev/x", "--files", "3x1GiB"]).is_err(), "without --scratch");
        let scratch = lab(&["--scratch", "/srv", "--files", "3x96MiB"]).unwrap();
        assert_eq!(scratch.files, Files { count: 3, size: Bytes::from_mib(96) });
        assert!(lab(&["--scratch", "/srv", "--files", "17x96MiB"]).is_err());
        assert_eq!(lab(&["/dev/x", "--i-own", "A,B"]).unwrap().i_own, ["A", "B"]);
    }
}
