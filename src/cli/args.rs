//! What can be typed: the command line as clap parses it, with its help. No logic but that of parsing.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Parser, Subcommand};

pub use super::answer::AnswerArgs;
use super::compare::CompareArgs;
use super::copy::CopyArgs;
use super::fleet_run::args::{FleetCommand, HostStep};
use super::generate::{CompletionsArgs, ManArgs};
use super::guard::GuardArgs;
use super::lab::args::LabArgs;
use super::measure::MeasureArgs;
use super::output::ShownArgs;
use super::plan::PlanArgs;
use super::predict::PredictArgs;
use super::snapshot::SnapshotArgs;
use super::top::TopArgs;
use super::watch::WatchArgs;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Examples:
  narrows                        every storage path of this machine, without load
  narrows measure /srv           prove it with a short run (10 s at most)
  narrows lspci.txt dmesg.txt    somebody else's machine, from what was pasted
  narrows fio.json /dev/nvme0n1  whether to trust a result, and which hop of this machine limited it

Exit status: 0 nothing was found, 1 findings (a fault, a limit, a doubtful result), 2 it could not be
done; standard error says why. Rates are decimal, with MiB/s (2^20) beside measured ones; in JSON
bytes per second, bytes, nanoseconds.";

/// Finds the narrowest point of a storage path, proves it by measurement, and says what would widen it.
///
/// Without WHAT every storage path of this machine is shown. Nothing is written and no load is run; facts that only root may read are named as missing.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "narrows",
    version,
    styles = STYLES,
    max_term_width = 100,
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do; without a command, to answer what limits.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What is asked without a command.
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// Print help
    #[arg(short, long, action = ArgAction::HelpShort, global = true, display_order = 990)]
    pub help: Option<bool>,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Measure a path against its ceilings, or as a benchmark, a sweep, or layer by layer
    ///
    /// Examples:
    ///   narrows measure /srv                     10 s against the ceilings of the path
    ///   narrows measure /dev/sda /dev/sdb        drives alone and together: which shared hop limits them
    ///   narrows measure /srv --as kdiskmark      the tests of KDiskMark, each until its rate is known
    ///   narrows measure /dev/nvme0n1 --as sweep  block sizes and depths: where is the knee?
    ///   narrows measure /dev/md0 --as layers     drives, array, encryption: where is the rate lost?
    ///
    /// A scratch file is gone however the run ends, and a device is as it was found. What will be
    /// written is said first. What was measured until Ctrl-C is shown; with --save, --resume goes on.
    ///
    /// Exit status: 0 nothing was found, 1 a finding or a result that is not to be trusted, 2 it could
    /// not be done or not to its end.
    #[command(verbatim_doc_comment)]
    Measure(Box<MeasureArgs>),
    /// Say which result is faster and how sure that is, or what differs between two machines
    ///
    /// Exit status: 0 nothing differs that can be told, 1 something does, 2 the two cannot be compared.
    Compare(CompareArgs),
    /// Copy durably and verified, and say which side limited it
    ///
    /// DST is the name of the copy, not a directory to put it into. Nothing at the destination is ever overwritten: a
    /// file that is there already is named and left alone. Holes, links, permissions, times, extended attributes and,
    /// as root, owners are kept; devices, pipes and sockets are named and left out. A file gets its name only when its
    /// data are on stable storage and read back as they were written.
    ///
    /// Exit status: 0 everything was copied, 2 something was not.
    Copy(Box<CopyArgs>),
    /// Say what a described system will do, and what a change would bring
    ///
    /// A description (*.path.toml) names hosts, slots, switches, drives, arrays, encryption, networks and workloads;
    /// `docs/path-files.md` has its keys, `systems/` has examples. Nothing is measured.
    ///
    /// Exit status: 0 done, 1 a published result differs and nobody says why, 2 a description is wrong.
    Predict(Box<PredictArgs>),
    /// Say which card goes into which slot, and what to build on drives
    ///
    /// Without --want it shows the slots with their lanes, what is in them, and what is wasted. With wishes it says where
    /// each goes, which firmware settings change, what is lost, and how fast everything runs, alone and together. Examples:
    ///   narrows plan --board dell-poweredge-r720xd --want 4xnvme:gen3x4 --want nic:2x40g --want usb3card --max-slots 3
    ///   narrows plan systems/r720xd-switch-card.path.toml --want 2xnvme:gen3x4
    ///   narrows plan --board msi-b450-a-pro --cpu "Ryzen 5 2600" --want nvme:sn770 --aim encryption,sequential
    ///
    /// Exit status: 0 everything has a place, 2 something has none, or it could not be planned.
    #[command(verbatim_doc_comment)]
    Plan(Box<PlanArgs>),
    /// Record what narrows reads on this machine, to look at it elsewhere
    ///
    /// The record holds the parts of /sys, /proc and /dev that `narrows` looks at, nothing else. Serial numbers, WWNs,
    /// UUIDs, MAC and IP addresses, the host name, and mount points that are not well known are replaced, each by the
    /// same token wherever it stands, so that the verdict stays the same.
    Snapshot(SnapshotArgs),
    /// Say what speaks against writing to a block device
    ///
    /// A device is free when it, its partitions and whatever is built on it hold no known signature, no byte that is not
    /// zero is found anywhere on it, nobody uses it (mounts of every process, swap, arrays, mappings, loop devices,
    /// open and mapped files, what the kernel exports, and its counters for a second), and --i-own gives its serial
    /// number. All of it is read where that takes some seconds, else places in each MiB, else random places, with the
    /// bound that follows; never longer than two minutes. There is no way around a refusal but to change what it names;
    /// it says which commands would make the device blank. Run it as root: what cannot be looked at speaks against
    /// writing.
    ///
    /// Nothing is written, but with --clean.
    ///
    /// Exit status: 0 the device is free, 1 refused, 2 it could not be examined, or with --clean something is left.
    Guard(GuardArgs),
    /// Build layouts on empty devices, measure each, and undo them
    ///
    /// For each layout: build it with the real tools (mdadm, lvm, cryptsetup, mkfs) in a slice of each device that was read
    /// and is zero, wait until it is in step, fill and measure it, undo it, and clear the slice: it is zero again, read
    /// back. If somebody else writes to a device meanwhile, the lab stops and clears nothing. Only devices that are proven
    /// empty and unused, and whose serial numbers are typed, are touched. A journal announces each step before it is taken,
    /// so that `narrows lab --undo` restores a clean state after a kill or a power loss, and `--resume` goes on. Needs root.
    ///
    /// Exit status: 0 all was measured, 1 a layout failed or a result is not to be trusted, 2 it could not be done, was
    /// interrupted, or something is left to undo.
    Lab(Box<LabArgs>),
    /// Record when a link narrows, an array degrades, a drive gets hot
    ///
    /// Reads links, error counters, arrays, temperatures and network cards every 30 s, and at once when the kernel tells of a
    /// device or of an error of a link. Each change is dated by the two readings around it. The best state of each link is kept:
    /// `narrows` then finds `narrower_than_before`. A device that sleeps is never touched. Needs no root; without it the
    /// kernel's log may not be heard. Runs until it is ended. --export writes what is found now for Prometheus instead.
    ///
    /// Exit status: 0 it was ended, the journal was shown or the metrics were written, 2 it could not be done.
    Watch(WatchArgs),
    /// Print the completions of a shell: bash, zsh, fish, elvish or powershell
    ///
    /// Exit status: 0 printed, 2 it could not be done.
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write the manual pages into a directory, one for each command
    ///
    /// Exit status: 0 written, 2 it could not be done.
    #[command(hide = true)]
    Man(ManArgs),
    /// Look at many hosts over ssh, or load them with a common start
    ///
    /// Exit status: 0 nothing stands out, 1 something does, 2 a host is missing, or it could not be done.
    Fleet {
        /// Which of the three
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// What narrows starts of itself on the hosts of a fleet
    #[command(hide = true)]
    FleetHost {
        /// The run's directory
        #[arg(long)]
        directory: Option<std::path::PathBuf>,
        /// Which step
        #[command(subcommand)]
        step: HostStep,
    },
    /// Watch what crosses each hop now, against its ceiling
    ///
    /// Counters only: no load is run, nothing is written, and no device that sleeps is woken. What all drives and interfaces
    /// behind a hop move is summed, from main memory to the media; the hop that is nearest to its ceiling is highlighted, and a
    /// sentence says what that means. It needs no root; root sees the processes of all users. Keys: q ends, s puts the fullest
    /// first, i hides what is idle, space holds the picture, + and - change the interval, ? lists all.
    ///
    /// Exit status: 0 done, 2 it could not be done.
    Top(TopArgs),
    /// What narrows starts of itself to see whether devices answer
    #[command(hide = true)]
    LookAtDevices {
        /// Kernel names
        names: Vec<String>,
    },
}

impl Cli {
    /// How its report is shown, if it has one that is.
    pub(super) fn shown(&self) -> Option<&ShownArgs> {
        let output = match self.command.as_ref() {
            None => &self.answer.output,
            Some(Command::Compare(args)) => &args.output,
            Some(Command::Copy(args)) => &args.output,
            Some(Command::Predict(args)) => &args.output,
            Some(Command::Plan(args)) => &args.output,
            Some(Command::Measure(args)) => &args.output,
            Some(Command::Lab(args)) => &args.output,
            Some(Command::Top(args)) => &args.output,
            Some(Command::Fleet { command: FleetCommand::Check(args) }) => &args.output,
            Some(Command::Fleet { command: FleetCommand::Run(args) }) => &args.output,
            Some(Command::Fleet { command: FleetCommand::Report(args) }) => &args.output,
            Some(_) => return None,
        };
        Some(&output.shown)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use clap::CommandFactory;

    fn answer(words: &[&str]) -> AnswerArgs {
        match Cli::try_parse_from([&["narrows"], words].concat()) {
            Ok(Cli { command: None, answer, .. }) => answer,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    fn refused(words: &[&str]) -> String {
        Cli::try_parse_from([&["narrows"], words].concat()).expect_err("is refused").to_string()
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_reads_well() {
        let mut command = crate::cli::help::command().term_width(100);
        insta::assert_snapshot!("help", command.render_help());
        insta::assert_snapshot!("long_help", command.render_long_help());
        let snapshot = command.find_subcommand_mut("snapshot").expect("is a command");
        insta::assert_snapshot!("snapshot_help", snapshot.render_long_help());
        let guard = command.find_subcommand_mut("guard").expect("is a command");
        insta::assert_snapshot!("guard_help", guard.render_long_help());
    }

    #[test]
    fn measure_alone_is_quick_and_never_takes_the_target_for_its_value() {
        assert_eq!(answer(&["--json", "0000:02:00.0"]).what, ["0000:02:00.0"]);
    }

    #[test]
    fn what_makes_no_sense_together_is_refused() {
        assert!(refused(&["/srv", "--json", "--plain"]).contains("--plain"));
        assert!(refused(&["--machine"]).contains("WHAT"));
    }

    #[test]
    fn a_snapshot_goes_to_a_file_or_to_standard_output() {
        let parsed = Cli::try_parse_from(["narrows", "snapshot", "-o", "-", "--no-redact"]);
        let Ok(Cli { command: Some(Command::Snapshot(args)), .. }) = parsed else { panic!("{parsed:?}") };
        assert_eq!(args, SnapshotArgs { output: Some(PathBuf::from("-")), no_redact: true, script: false });
        assert!(refused(&["snapshot"]).contains("--output"));
        assert!(refused(&["snapshot", "--script", "-o", "x"]).contains("--output"));
    }
}
