//! What can be typed for a load on many hosts.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::grid::Grid;
use crate::cli::output::OutputArgs;
use crate::cli::values::{duration, rate, size};
use narrows_base::units::{Bytes, BytesPerSec};

/// What `fleet` is asked.
#[derive(Debug, Clone, Subcommand)]
pub enum FleetCommand {
    /// Take the inventory of every host over ssh, and say what they have in common and which differs; no load
    ///
    /// Exit status: 0 no fault and no limit, 1 some (with --since: new or worse ones), 2 a host could not be read.
    Check(CheckHosts),
    /// Put one load on many hosts with a common start, and say what limits all of them
    ///
    /// fio does the load, over its own client/server protocol through ssh; narrows and fio are the only programs that run, in a
    /// directory that is gone afterwards, however the run ends. No port is opened. Reads by default. Examples:
    ///   narrows fleet run --hosts c[01-60] --servers srv1 --target /mnt/data --as seq1m -o result
    ///   narrows fleet run --hosts hosts.txt --target @map.toml --block-size 4k,64k --mix 100,70 --write -o result
    ///
    /// Exit status: 0 every host took part and nothing stands out, 1 something stands out, or with --partial a host is missing,
    /// 2 a host is missing, or it could not be done.
    #[command(verbatim_doc_comment)]
    Run(Box<RunArgs>),
    /// Show a run again from its directory alone
    ///
    /// Exit status: as of the run.
    Report(ReportArgs),
}

/// How hosts are reached.
#[derive(Debug, Clone, Args)]
pub struct ReachArgs {
    /// The hosts: names between commas with ranges (c[01-60]), a file with them, or @group of ClusterShell
    #[arg(long, value_name = "HOSTS")]
    pub hosts: String,

    /// A configuration for ssh in the place of yours
    #[arg(long, value_name = "FILE")]
    pub ssh_config: Option<PathBuf>,

    /// What starts commands on hosts in the place of ssh, with {host} where the host goes: 'srun --overlap -N1 -n1 -w {host}'
    #[arg(long, value_name = "COMMAND", conflicts_with = "ssh_config")]
    pub launcher: Option<String>,

    /// A static program that is pushed to hosts: narrows=FILE where this one does not run, fio=FILE
    #[arg(long, value_name = "PROGRAM=FILE", value_parser = Push::parse)]
    pub push: Vec<Push>,
}

/// What `fleet check` is asked.
#[derive(Debug, Clone, Args)]
pub struct CheckHosts {
    /// Which hosts, and how they are reached.
    #[command(flatten)]
    pub reach: ReachArgs,

    /// Hosts that serve storage; they are compared like all others
    #[arg(long, value_name = "HOSTS")]
    pub servers: Option<String>,

    /// Keep the capture of each host in this new directory
    #[arg(short, long = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Print one row for each host and finding, for a spreadsheet
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,

    /// An earlier run (its JSON lines), or a directory of captures: say what is new, changed and gone
    #[arg(long, value_name = "PATH")]
    pub since: Option<PathBuf>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fleet run` is asked.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Which hosts put load on, and how they are reached.
    #[command(flatten)]
    pub reach: ReachArgs,

    /// Hosts that serve the storage: they are watched for the same time
    #[arg(long, value_name = "HOSTS")]
    pub servers: Option<String>,

    /// What is read on each host: a device, file or directory, serial:TEXT, nqn:TEXT, `nbd://HOST[:PORT][/EXPORT]`; @FILE names
    /// hosts with another (TOML: `"c01" = "serial:S5GXNX0R"`)
    #[arg(long, value_name = "TARGET", required = true)]
    pub target: Vec<String>,

    /// A load by name; --block-size, --depth, --threads, --mix and --order change it
    #[arg(long = "as", value_name = "NAME", value_enum, default_value_t)]
    pub preset: FleetPreset,

    /// What it is changed to: each block size, depth, number of threads and mix is a run of its own.
    #[command(flatten)]
    pub grid: Grid,

    /// Write to scratch files, too, as --mix below 100 asks
    #[arg(long)]
    pub write: bool,

    /// The time of each run: 30s, 2m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "30s")]
    pub duration: Duration,

    /// The size of the scratch file of each host
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1g")]
    pub size: Bytes,

    /// The most that all hosts together may read or write in a second: 500m
    #[arg(long, value_name = "SIZE", value_parser = rate)]
    pub rate: Option<BytesPerSec>,

    /// Run each load once more with every second client: the same in all is a shared limit, half of it the clients' own
    #[arg(long)]
    pub prove: bool,

    /// Measure a part alone, too: network (each server opens a port for it), or drives=TARGET, which each server reads of its own
    #[arg(long, value_name = "PART", value_parser = Alone::parse, requires = "servers")]
    pub alone: Vec<Alone>,

    /// A host that is missing makes the exit status 1 in the place of 2
    #[arg(long)]
    pub partial: bool,

    /// The new directory for all that hosts bring back; `narrows fleet report DIR` shows it again
    #[arg(short, long = "output", value_name = "DIR")]
    pub out: PathBuf,

    /// Print one row for each host and run, for a spreadsheet
    #[arg(long, conflicts_with_all = ["json", "plain", "html"])]
    pub csv: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What `fleet report` is asked.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// The directory that `fleet run -o` made
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,

    /// A host that is missing makes the exit status 1 in the place of 2
    #[arg(long)]
    pub partial: bool,

    /// Print one row for each host and run, for a spreadsheet
    #[arg(long, conflicts_with_all = ["json", "plain", "html"])]
    pub csv: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A part that is measured alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alone {
    /// The network, from memory to memory.
    Network,
    /// The servers' drives: what each reads of its own.
    Drives(String),
}

impl Alone {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "network" => Ok(Self::Network),
            Some(("drives", target)) if !target.is_empty() => Ok(Self::Drives(target.to_owned())),
            _ => Err(format!("`{text}` is neither network nor drives=TARGET")),
        }
    }
}

/// A program that is pushed to hosts in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Push {
    /// narrows itself, for hosts on which this one does not run.
    Narrows(PathBuf),
    /// fio, in the place of that of the hosts.
    Fio(PathBuf),
}

impl Push {
    fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("narrows", file)) => Ok(Self::Narrows(file.into())),
            Some(("fio", file)) => Ok(Self::Fio(file.into())),
            _ => Err(format!("`{text}` is neither narrows=FILE nor fio=FILE")),
        }
    }
}

/// Loads by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum FleetPreset {
    /// Reads of 1 MiB in sequence, 1 thread, depth 8
    #[default]
    Seq1m,
    /// Random reads of 4 KiB, 4 threads, depth 32
    Rand4k,
    /// Reads of 1 MiB in sequence with 1 to 64 threads on each host, as IOzone's N-to-N test
    Threads,
    /// Random reads of 4 to 512 KiB, 4 threads, depth 8; with --write 70 % reads and writes, too
    Blocks,
}

/// What a host is asked; the controller types it.
#[derive(Debug, Clone, Subcommand)]
pub enum HostStep {
    /// Keep the run's directory until standard input ends
    Keep {
        /// The fio that serves; `-` for none
        #[arg(long)]
        fio: String,
    },
    /// Say what the host has
    Look {
        /// The target, in hexadecimal digits
        #[arg(long)]
        target: Option<String>,
    },
    /// Make the target ready and hold it until standard input ends
    Hold {
        /// The target, in hexadecimal digits
        #[arg(long)]
        target: String,
        /// The size of a scratch file
        #[arg(long)]
        size: u64,
    },
    /// Sample counters until nobody reads them
    Sample {
        /// Ports of storage servers
        #[arg(long, value_delimiter = ',')]
        ports: Vec<u16>,
    },
    /// Say what the clock says for each line of standard input
    Clock,
    /// Wait until the keeper knows when a run begins, and sleep until then
    At {
        /// The number of the run
        point: usize,
    },
    /// Write a record of this host to standard output, as lines of text
    Record,
    /// Hand on what comes between standard input and output, as lines of text, and the socket of fio
    Bridge,
    /// Be one side of the network's own leg, as standard input orders
    Leg,
    /// End what works in the run's directory
    End {
        /// How long it may take to end by itself, in milliseconds
        grace: u64,
    },
}
