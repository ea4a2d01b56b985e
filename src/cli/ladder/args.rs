//! What can be typed after `narrows ladder`.

use std::time::Duration;

use clap::Args;

use crate::cli::output_args::OutputArgs;
use crate::cli::sweep::Order;
use crate::cli::values::{duration, size};
use narrows_base::units::Bytes;
use narrows_session::ladder::Ask;

/// What `ladder` is asked.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct LadderArgs {
    /// A device, mount point, directory or file
    pub target: String,

    /// Write nothing, not even a scratch file: a file system is read through the file that TARGET names
    #[arg(long, conflicts_with = "write_scratch")]
    pub read: bool,

    /// Also write, to the scratch file on the file system; devices are only ever read
    #[arg(long)]
    pub write_scratch: bool,

    /// The reading loads of a preset of `narrows bench` in place of one, each with a ladder of its own
    #[arg(long, value_name = "NAME", value_parser = preset_names(), conflicts_with_all = ["bs", "depth", "order", "jobs"])]
    pub preset: Option<String>,

    /// Bytes in each I/O
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1MiB")]
    pub bs: Bytes,

    /// I/Os in flight at each layer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), default_value_t = 8)]
    pub depth: u32,

    /// The order of addresses
    #[arg(long, value_name = "ORDER", value_enum, default_value = "sequential")]
    pub order: Order,

    /// Threads that read, each with a queue of --depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), default_value_t = 1)]
    pub jobs: u32,

    /// The measured time of each layer: 4s, 500ms
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "4s")]
    pub time: Duration,

    /// Load before each measurement that is not counted
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "500ms")]
    pub warm_up: Duration,

    /// The size of the scratch file, or less where writing it takes long [default: 1GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub size: Option<Bytes>,

    /// The most that may be written in all, the scratch file included [default: 8GiB, or 0.01 % of the drive's rated life if
    /// that is less]
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "read")]
    pub max_writes: Option<Bytes>,

    /// A host with `iperf3 --server` at the far end of the path, to measure the network alone with the iperf3 installed here
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub peer: Option<String>,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn preset_names() -> clap::builder::PossibleValuesParser {
    narrows_load::preset::names().collect::<Vec<_>>().into()
}

/// A host name or address: nothing that another program could take for an option.
fn host(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:-_%[]".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.len() <= 255 && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a host name or address"))
    }
}

impl LadderArgs {
    /// What the climb is asked.
    pub(super) const fn ask(&self) -> Ask {
        Ask {
            read: self.read,
            write_scratch: self.write_scratch,
            size: self.size,
            max_writes: self.max_writes,
            time: self.time,
            warm_up: self.warm_up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Cli, Command};
    use clap::Parser;

    fn ladder(words: &[&str]) -> Result<LadderArgs, String> {
        match Cli::try_parse_from([&["narrows", "ladder"], words].concat()).map(Cli::into_command) {
            Ok(Command::Ladder(args)) => Ok(*args),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_help() {
        let args = ladder(&["/srv"]).unwrap();
        assert_eq!((args.bs, args.depth, args.jobs), (Bytes::from_mib(1), 8, 1));
        assert_eq!(args.order, Order::Sequential);
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(ladder(&[]).is_err());
        assert!(ladder(&["/srv", "--read", "--write-scratch"]).is_err());
        assert!(ladder(&["/srv", "--preset", "kdiskmark", "--bs", "4K"]).is_err());
        assert!(ladder(&["/srv", "--depth", "0"]).is_err());
        assert!(ladder(&["/srv", "--peer", "--version"]).is_err());
        assert!(ladder(&["/srv", "--peer=-d"]).is_err());
        assert!(ladder(&["/srv", "--peer", "a b"]).is_err());
        assert!(ladder(&["/srv", "--peer", "fe80::1%eth0"]).is_ok());
    }
}
