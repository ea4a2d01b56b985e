//! What would show that a finding does not hold, for each code: `docs/findings.md` has the same words.

use super::finding::Code;

/// The observation that disproves a finding of this code.
pub const fn not_so_when(code: Code) -> &'static str {
    match code {
        Code::LinkWidthDegraded => {
            "the slot is wired for fewer lanes than its port claims (the board's manual says so)"
        }
        Code::NarrowerThanBefore => {
            "the card was put on a narrower riser or the slot was split on purpose since then"
        }
        Code::LinkSpeedDegraded => "a run shows that the link speeds up under load (then it is `power_save`)",
        Code::SlotLimited => "a measurement stays below the link's ceiling; then something else is narrower",
        Code::PowerSave => "the link stays slow in a run with `--measure` (then it is `link_speed_degraded`)",
        Code::SwitchOversubscribed => {
            "the devices are not used at the same time, or are slower than their links"
        }
        Code::ChipsetShared => "the other devices behind it are idle, and one drive alone fits",
        Code::NumaRemote => "the work runs on the device's node anyway",
        Code::NumaUnbalanced => "the work is kept on that node on purpose",
        Code::MpsMrrs => "a switch between both ends supports no more",
        Code::AerErrors => "the counters stand still under load",
        Code::Thermal => "the counters stand still: a drive may be hot and keep its rate",
        Code::MissingDeviceBifurcation => "the card has an empty socket",
        Code::SmbiosContradiction => "the record belongs to another slot of the same name",
        Code::UsbLimited => "the device announces what it cannot do, as no maker should",
        Code::SataLimited => "the drive is made for the slower rate",
        Code::HbaLimited => "the disks together are slower",
        Code::NetworkLimited => {
            "a run stays below the wire and the round trip does not grow: then the far end is the limit"
        }
        Code::NicSlotLimited => "only one of the ports is used",
        Code::CryptoCpu => "the requests wait at the drives",
        Code::CryptoWorkqueue => "the drive's queue is full",
        Code::RaidSlowMember => "the array does not spread data evenly",
        Code::RaidResync => "`sync_action` is idle",
        Code::RaidDegraded => "`/proc/mdstat` shows all of them up",
        Code::FilesystemLimited => "the requests wait at the drives",
        Code::DeviceLimited => "the same drive is faster elsewhere",
        Code::GeneratorCpu => "larger blocks or more jobs give no more",
        Code::CacheMeasured => "the storage's own counters moved as many bytes as the tool",
        Code::TooShort => "a longer run gives the same",
        Code::NoReadEnded => "another run of the same length has a rate",
        Code::Unsteady => "a longer run on a quiet machine holds",
        Code::SlcExhausted => "the rate comes back without a pause",
        Code::DepthTooLow => "a deeper queue gives no more",
        Code::AboveCeiling => "the fact behind the ceiling is wrong, as `--why` shows",
        Code::UnitsSuspect => "I/Os per second × block size is the printed rate",
        Code::Throttled => "the volume and the machine have no such limit",
        Code::ZeroOrSparseData => "neither file system nor drive recognises zeros; the medium is not NAND",
        Code::InconsistentNumbers => "the tool measured them in different parts of the run",
        Code::RunFailed => "the message is of another run in the same text",
        Code::NotSynchronous => "the file system forces every write to be synchronous",
        Code::ConcurrentLoad => "a run on the idle storage has the same rate",
        Code::UnevenNodes => "the machines were given different limits or loads on purpose",
        Code::PartialInput => "run as root; all that is needed was captured",
    }
}
