//! What `narrows guard` is asked.

use clap::Args;

/// What `guard` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct GuardArgs {
    /// The block device, such as /dev/nvme1n1; links are followed
    pub device: String,

    /// The serial number of the device, to show that it is the one that is meant
    ///
    /// A device without one is named by its worldwide name, a loop device by its file, a device in memory (zram, brd,
    /// null_blk) by its kernel name.
    #[arg(long, value_name = "SERIAL")]
    pub i_own: Option<String>,

    /// Clear exactly what a bench or sweep of narrows that was killed left on the device, and nothing else
    ///
    /// Every sector that narrows writes to a device bears a mark. What bears none stays and is named. Exit status: 0 the
    /// device is blank as far as is seen, 2 data of others are left or it could not be done.
    #[arg(long, requires = "i_own")]
    pub clean: bool,

    /// Print JSON (schema narrows/guard/1)
    #[arg(long)]
    pub json: bool,
}
