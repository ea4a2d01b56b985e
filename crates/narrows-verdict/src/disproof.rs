//! What would show that a finding does not hold, for each code: `docs/findings.md` has the same words.

use super::finding::Code;

impl Code {
    /// The observation that disproves a finding of this code.
    pub const fn not_so_when(self) -> &'static str {
        match self {
            Self::LinkWidthDegraded => {
                "the slot is wired for fewer lanes than its port claims (the board's manual says so)"
            }
            Self::NarrowerThanBefore => {
                "the card was put on a narrower riser or the slot was split on purpose since then"
            }
            Self::LinkSpeedDegraded => {
                "a run shows that the link speeds up under load (then it is `power_save`)"
            }
            Self::SlotLimited => {
                "a measurement stays below the link's ceiling; then something else is narrower"
            }
            Self::PowerSave => {
                "the link stays slow in a run with `--measure` (then it is `link_speed_degraded`)"
            }
            Self::SwitchOversubscribed => {
                "the devices are not used at the same time, or are slower than their links"
            }
            Self::ChipsetShared => "the other devices behind it are idle, and one drive alone fits",
            Self::NumaRemote => "the work runs on the device's node anyway",
            Self::NumaUnbalanced => "the work is kept on that node on purpose",
            Self::MpsMrrs => "a switch between both ends supports no more",
            Self::AerErrors => "the counters stand still under load",
            Self::Thermal => "the counters stand still: a drive may be hot and keep its rate",
            Self::MissingDeviceBifurcation => "the card has an empty socket",
            Self::SmbiosContradiction => "the record belongs to another slot of the same name",
            Self::UsbLimited => "the device announces what it cannot do, as no maker should",
            Self::SataLimited => "the drive is made for the slower rate",
            Self::HbaLimited => "the disks together are slower",
            Self::NetworkLimited => {
                "a run stays below the wire and the round trip does not grow: then the far end is the limit"
            }
            Self::NicSlotLimited => "only one of the ports is used",
            Self::CryptoCpu => "the requests wait at the drives",
            Self::CryptoWorkqueue => "the drive's queue is full",
            Self::RaidSlowMember => "the array does not spread data evenly",
            Self::RaidResync => "`sync_action` is idle",
            Self::RaidDegraded => "`/proc/mdstat` shows all of them up",
            Self::FilesystemLimited => "the requests wait at the drives",
            Self::DeviceLimited => "the same drive is faster elsewhere",
            Self::GeneratorCpu => "larger blocks or more jobs give no more",
            Self::CacheMeasured => "the storage's own counters moved as many bytes as the tool",
            Self::TooShort => "a longer run gives the same",
            Self::NoReadEnded => "another run of the same length has a rate",
            Self::Unsteady => "a longer run on a quiet machine holds",
            Self::SlcExhausted => "the rate comes back without a pause",
            Self::DepthTooLow => "a deeper queue gives no more",
            Self::AboveCeiling => "the fact behind the ceiling is wrong, as `--why` shows",
            Self::UnitsSuspect => "I/Os per second × block size is the printed rate",
            Self::Throttled => "the volume and the machine have no such limit",
            Self::ZeroOrSparseData => {
                "neither file system nor drive recognises zeros; the medium is not NAND"
            }
            Self::InconsistentNumbers => "the tool measured them in different parts of the run",
            Self::RunFailed => "the message is of another run in the same text",
            Self::NotSynchronous => "the file system forces every write to be synchronous",
            Self::ConcurrentLoad => "a run on the idle storage has the same rate",
            Self::UnevenNodes => "the machines were given different limits or loads on purpose",
            Self::PartialInput => "run as root; all that is needed was captured",
        }
    }
}
