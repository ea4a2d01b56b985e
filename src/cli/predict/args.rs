//! What `predict` is asked.

use std::path::PathBuf;

use clap::Args;

use crate::cli::output_args::OutputArgs;
use narrows_base::units::Bytes;
use narrows_model::path::file::Engine;

const AFTER_HELP: &str = "\
Examples:
  narrows predict systems/x99-slot.path.toml
  narrows predict x99.path.toml --set PCIEX16_2.width=4
  narrows predict box.path.toml --bs 4k,64k,1m --depth 1,8,32
  narrows predict box.path.toml --add nvme:sn770@slot2 --layer raid0
  narrows predict box.path.toml --layer luks --set luks.sector_size=4096
  narrows predict systems/ --published";

/// What `predict` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = AFTER_HELP)]
pub struct PredictArgs {
    /// Descriptions of systems (*.path.toml), or directories with some
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Only this workload of the file (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub workload: Vec<String>,

    /// What is read and written [default: the workload's, or the topmost part]
    #[arg(long, value_name = "PART")]
    pub target: Option<String>,

    /// Block sizes: 4k, 64k, 1m, each tried
    #[arg(long, value_name = "SIZE", value_delimiter = ',', value_parser = size)]
    pub bs: Vec<Bytes>,

    /// I/Os under way for each job, each tried
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub depth: Vec<u32>,

    /// Jobs at work together, each tried
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub jobs: Vec<u32>,

    /// The share of I/Os that read, 0.0 to 1.0, each tried
    #[arg(long, value_name = "SHARE", value_delimiter = ',', value_parser = share)]
    pub read_share: Vec<f64>,

    /// At random, not one after another
    #[arg(long)]
    pub random: bool,

    /// How I/Os are handed to the kernel: io_uring, polled, libaio, sync, buffered, hdparm
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub engine: Option<Engine>,

    /// Change a value: NAME.KEY=VALUE, such as slot3.width=4 (may be given several times)
    #[arg(long, value_name = "NAME.KEY=VALUE")]
    pub set: Vec<String>,

    /// Add a drive: KIND:MODEL@PLACE, such as nvme:sn770@slot2; it joins the array of the target, or that of --layer
    #[arg(long, value_name = "KIND:MODEL@PLACE")]
    pub add: Vec<String>,

    /// Put a layer on the target and what was added: raid0, raid1, raid10, raid5, raid6, linear, luks, ext4, xfs
    #[arg(long, value_name = "LAYER")]
    pub layer: Vec<String>,

    /// Show what was published of the system beside what is predicted
    #[arg(long, conflicts_with_all = ["set", "add", "layer", "workload", "bs", "depth", "jobs", "read_share"])]
    pub published: bool,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads `4k`, `4KiB`, `512`, `1m`: binary, as benchmarks have them.
fn size(text: &str) -> Result<Bytes, String> {
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(end);
    let factor: u64 = match unit.trim() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => 1 << 20,
        "g" | "gi" | "gib" => 1 << 30,
        _ => return Err(format!("`{text}` is no block size such as 4k or 1m")),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let bytes = bytes.filter(|bytes| (1..=1 << 40).contains(bytes));
    bytes.map(Bytes::new).ok_or_else(|| format!("`{text}` is no block size such as 4k or 1m"))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("`{text}` is no share from 0.0 to 1.0"))
}

fn engine(text: &str) -> Result<Engine, String> {
    Engine::from_word(text)
        .ok_or_else(|| format!("`{text}` is none of io_uring, polled, libaio, sync, buffered, hdparm"))
}
