//! What `check` is asked.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::fleet::args::FleetArgs;
use crate::cli::output_args::OutputArgs;
use crate::cli::values::{Choices, EVERY, choices, duration};

/// What `check` is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct CheckArgs {
    /// A device, partition, mount point, directory, file, PCI address or network interface
    ///
    /// Examples: /dev/nvme0n1, /home, ./file, 0000:02:00.0, eth0. Write ./check or ./snapshot for files of that name.
    pub target: Option<String>,

    /// More targets, with --measure: each is read alone, and then together those that share a hop
    #[arg(value_name = "TARGET", requires = "measure",
        conflicts_with_all = ["why", "to_path", "fleet", "scratch"])]
    pub others: Vec<String>,

    /// With --measure and in place of targets: every drive of this machine, alone and together, or those that are named
    ///
    /// WHICH is a kind (nvme, sata, sas, usb, virtio, ssd, hdd), a NUMA node (node0), or a PCIe switch that they are behind, by
    /// the address of one of its ports or the name of its slot (switch:0000:02:00.0, switch:SLOT). With several, all have to hold:
    /// --all=nvme,node0.
    #[arg(long, hide_short_help = true, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = EVERY, hide_possible_values = true, value_parser = choices, requires = "measure",
        conflicts_with_all = ["target", "why", "to_path", "fleet", "scratch"])]
    pub(in crate::cli) all: Option<Choices>,

    /// With several targets: find out by more runs which of them share a limit, also one that the topology hides
    #[arg(long, hide_short_help = true, requires = "measure")]
    pub find_shared: bool,

    /// Measure the path, and the link state under load: reads from a device, or reads and writes of a scratch file
    ///
    /// quick takes 10 s at most, full runs until the rate is steady (about a minute). A device is only ever read. For
    /// a file system a scratch file is made and removed again, however the run ends. Ctrl-C ends the run early: what
    /// was measured until then is shown, and the exit status is 2.
    #[arg(
        long,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "quick",
        conflicts_with = "from"
    )]
    pub measure: Option<Measure>,

    /// A GPU: where it meets the devices of TARGET, whether data may go directly, and how much at most
    ///
    /// GPU is a PCI address, or GPU0, GPU1… as nvidia-smi numbers them. `narrows GPU0` shows the same for all drives and network cards.
    #[arg(long, hide_short_help = true, value_name = "GPU", conflicts_with_all = ["why", "to_path", "fleet", "others", "all"])]
    pub to: Option<String>,

    /// Say where the numbers of a hop come from: its id, the beginning of its id, or a kind such as link
    #[arg(long, value_name = "HOP", conflicts_with_all = ["json", "html", "markdown"])]
    pub why: Option<String>,

    /// Write a short answer in Markdown to post where somebody asked: the sentence, the evidence, and the one command to ask for next
    #[arg(long, requires = "from", conflicts_with_all = ["json", "plain", "html", "markdown", "why"])]
    pub reply: bool,

    /// Look at another machine: a record of `narrows snapshot`, or pasted outputs (lspci, dmesg, lsblk…); - is standard input
    ///
    /// Each PATH is a file, a directory or a tar archive, compressed (gz, xz, zst, bz2) or not. What is in it is told by
    /// the content, not by the name: outputs of lspci, dmesg, dmidecode, lsblk, mdadm, nvme, smartctl, zpool, nvidia-smi
    /// and others, listings of /dev/disk/by-path, alone or mixed, quoted or not, and directories sys and proc as a support
    /// bundle has them (a text that is none of these is answered with the whole list). All that is given is one machine.
    /// Put TARGET first: `narrows /dev/sda --from lspci.txt dmesg.txt`.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// Write the machine as a description that `narrows predict` reads (*.path.toml); FILE must not be there yet, - is standard output
    #[arg(long, hide_short_help = true, value_name = "FILE", conflicts_with_all = ["measure", "json", "why", "fleet"])]
    pub to_path: Option<PathBuf>,

    /// Many captures, each of its own machine.
    #[command(flatten)]
    pub fleet: FleetArgs,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,

    /// The directory for the scratch file [default: TARGET, or the directory that it is in]
    #[arg(long, hide_short_help = true, value_name = "DIR", requires = "measure")]
    pub scratch: Option<PathBuf>,

    /// The measured time of each run: 4s, 500ms, 2m; a number alone is seconds [default: 2s, full: 10s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration, requires = "measure")]
    pub duration: Option<Duration>,
}

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// At most 10 s in all
    Quick,
    /// Until the rate is steady
    Full,
}

impl CheckArgs {
    /// Takes the last of several words behind `--from` for the target, when no other is there and it names no file or
    /// directory of this machine: `--from machine.tar.zst /dev/nvme0n1`.
    pub(super) fn settled(mut self) -> Self {
        let is_input = |path: &PathBuf| path.as_os_str() == "-" || path.is_dir() || path.is_file();
        let is_target = self.target.is_none() && self.from.len() > 1 && !self.fleet.fleet;
        if is_target && self.from.last().is_some_and(|last| !is_input(last) && last.to_str().is_some()) {
            self.target = self.from.pop().map(|last| last.to_string_lossy().into_owned());
        }
        self
    }
}
