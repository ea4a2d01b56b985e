//! What `plan` is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::output_args::OutputArgs;
use narrows_base::units::Bytes;
use narrows_model::plan::owning::Stated;
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

    /// What cards cost you: a CSV file with a card's name and its price in each line; other cards are not bought
    ///
    /// With `--prefer price` the cheapest placement is found in which each wish with a rate gets it (nvme@3GB/s). What a card is called
    /// stands in the line `buy` of a plan, and in the hint for a name that is not known.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub price: Option<PathBuf>,

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

    /// What one drive holds, such as 4TB: says what each layout holds and how long it rebuilds
    #[arg(long, value_name = "SIZE", requires = "aim", value_parser = drive_size)]
    pub drive_size: Option<Bytes>,

    /// What is written each day, such as 200GB: with --endurance says how many years each layout lasts
    #[arg(long, hide_short_help = true, value_name = "SIZE", requires = "endurance", value_parser = drive_size)]
    pub daily_writes: Option<Bytes>,

    /// What may be written to one drive in its life (TBW), such as 1200TB
    #[arg(long, hide_short_help = true, value_name = "SIZE", requires = "daily_writes", value_parser = drive_size)]
    pub endurance: Option<Bytes>,

    /// The share of such drives that fails in a year, such as 1.5%: says how likely data is lost while a layout rebuilds
    ///
    /// Failures are taken for independent, which is the best case, and sectors that cannot be read are not counted.
    #[arg(long, hide_short_help = true, value_name = "PERCENT", requires = "drive_size", value_parser = percent)]
    pub failure_rate: Option<f64>,

    /// The share of a drive's rate that other load takes while it rebuilds, such as 50% [default: 0%]
    #[arg(long, hide_short_help = true, value_name = "PERCENT", requires = "drive_size", value_parser = percent)]
    pub load: Option<f64>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl PlanArgs {
    /// What the owner of the drives states.
    pub(super) const fn stated(&self) -> Stated {
        Stated {
            size: self.drive_size,
            daily_writes: self.daily_writes,
            endurance: self.endurance,
            failures: self.failure_rate,
            load: self.load,
        }
    }
}

/// A size as drives are sold: `4TB`, `3.84TB`, `500GB`; `4TiB` is binary.
fn drive_size(text: &str) -> Result<Bytes, String> {
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let factor = match unit.trim() {
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "pb" => 1e15,
        "gib" => 1_073_741_824.0,
        "tib" => 1_099_511_627_776.0,
        _ => return Err("this is no size such as 500GB, 3.84TB or 1200TB".to_owned()),
    };
    let bytes = number.parse::<f64>().map_err(|_| "this is no number with a unit, such as 4TB")? * factor;
    match (1e6..=1e18).contains(&bytes) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between a megabyte and an exabyte"
        )]
        true => Ok(Bytes::new(bytes as u64)),
        false => Err("a size is between 1 MB and 1000 PB".to_owned()),
    }
}

/// A share of 0 to 100 %, with or without the sign.
fn percent(text: &str) -> Result<f64, String> {
    let number: f64 =
        text.trim().trim_end_matches('%').trim().parse().map_err(|_| "this is no percentage")?;
    match (0.0..=100.0).contains(&number) {
        true => Ok(number / 100.0),
        false => Err("a share is between 0 % and 100 %".to_owned()),
    }
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
    /// Cards that cost little; needs --price
    Price,
}

impl From<PreferArg> for Prefer {
    fn from(arg: PreferArg) -> Self {
        match arg {
            PreferArg::Rate => Self::Rate,
            PreferArg::Slots => Self::Slots,
            PreferArg::Parts => Self::Parts,
            PreferArg::Price => Self::Price,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_drives_and_shares_have_a_sign_or_none() {
        for (text, want) in [("4TB", 4_000_000_000_000), ("3.84 TB", 3_840_000_000_000), ("1gib", 1 << 30)] {
            assert_eq!(drive_size(text), Ok(Bytes::new(want)), "{text}");
        }
        for text in ["4", "4T", "-1TB", "", "1e9TB", "99999999PB", "0TB", "..TB"] {
            assert!(drive_size(text).is_err(), "{text}");
        }
        assert_eq!((percent("1.5%"), percent("50")), (Ok(0.015), Ok(0.5)));
        assert!(["", "x", "-1", "101%", "nan"].iter().all(|text| percent(text).is_err()));
    }
}
