//! What `plan` is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::output_args::OutputArgs;
use narrows_model::plan::search::Prefer;

/// What `plan` is asked.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct PlanArgs {
    /// Plan for a described system: a path file (*.path.toml, docs/path-files.md) instead of a machine
    #[arg(value_name = "FILE", conflicts_with_all = ["board", "from", "cpu"])]
    pub file: Option<PathBuf>,

    /// The host of FILE to plan for [default: the first]
    #[arg(long, value_name = "NAME", requires = "file")]
    pub host: Option<String>,

    /// Plan for a board instead of a machine: its id, such as asus-x99-a; list shows them all
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    pub board: Option<String>,

    /// Plan for another machine: a record of `narrows snapshot`, or pasted outputs; - is standard input
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub from: Vec<PathBuf>,

    /// The processor of the board, where it decides how many lanes there are: part of its name, such as i7-5820K
    #[arg(long, value_name = "NAME")]
    pub cpu: Option<String>,

    /// How many processors are fitted [default: all that fit]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8), requires = "board")]
    pub cpus: Option<u8>,

    /// What is wanted, as often as needed: `[COUNTx]KIND[:PROPERTY…][@RATE]`
    ///
    /// KIND is nvme, sata, nic, hca, hba, usb3card, gpu or card. PROPERTY is a link (gen3x4), a line rate (40g, 2x25g, edr), a
    /// drive's model (sn770), connector (m2, u2) or M.2 size (2280, 22110), or same-socket. RATE is what each must get while all
    /// others with a rate get theirs. Examples: 4xnvme:gen3x4, nvme:sn770@3GB/s, nic:2x40g, hba:gen3x8.
    #[arg(long, value_name = "WISH")]
    pub want: Vec<String>,

    /// Move what is in the slots now, too
    #[arg(long = "move")]
    pub replace: bool,

    /// What counts most
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub prefer: PreferArg,

    /// Use at most so many slots for cards
    #[arg(long, value_name = "N")]
    pub max_slots: Option<u8>,

    /// Kinds of device that must share a socket, such as nvme,nic
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub same_socket: Vec<String>,

    /// Plan without cards that have a PCIe switch
    #[arg(long)]
    pub no_switch_cards: bool,

    /// Plan without splitting slots
    #[arg(long)]
    pub no_bifurcation: bool,

    /// Take slots of which it is not known whether the firmware can split them for ones that it can
    #[arg(long, conflicts_with = "no_bifurcation")]
    pub assume_bifurcation: bool,

    /// What the drives are for: rank layouts (single, RAID, LVM, with and without LUKS), the first aim counts most
    ///
    /// Aims: capacity, survive:N, `sequential[:RATE]`, `writes[:RATE]`, iops, encryption, endurance, with commas. What is
    /// given as survive, encryption or RATE must hold.
    #[arg(long, value_name = "AIMS")]
    pub aim: Option<String>,

    /// What one core encrypts with AES-XTS, as `cryptsetup benchmark` says [default: what is known of the processor]
    #[arg(long, value_name = "RATE", requires = "aim")]
    pub cipher: Option<String>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What counts most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum PreferArg {
    /// What all devices move together; then few parts
    #[default]
    Rate,
    /// Few slots, as long as no device alone is slower for it
    Slots,
    /// Few parts to buy
    Parts,
}

impl From<PreferArg> for Prefer {
    fn from(arg: PreferArg) -> Self {
        match arg {
            PreferArg::Rate => Self::Rate,
            PreferArg::Slots => Self::Slots,
            PreferArg::Parts => Self::Parts,
        }
    }
}
