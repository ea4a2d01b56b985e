//! Why a device may not be written, as values, with what to do about each.

use std::fmt;

use super::census::Others;
use super::looks::Looks;
use super::scan::Signature;
use super::signatures::Class;
use super::usage::Use;
use narrows_base::units::{Bytes, human};

/// What to do when somebody else writes to a device that is ours.
pub(crate) const OTHERS_HINT: &str = "find out who writes to it (`fuser -v`, `lsof`) and look at what was written (`hexdump -C`) before anything else";

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Something stands on it.
    Content {
        /// The device: the one asked about, or one that belongs to it.
        device: String,
        /// What it is, and where.
        signature: Signature,
    },
    /// It holds data: bytes that are not zero, and no known signature stands where one belongs.
    Data {
        /// The device.
        device: String,
        /// The first byte that is not zero.
        at: Bytes,
        /// What the data look like.
        looks: Looks,
    },
    /// A run of ours that was killed wrote there.
    Marked {
        /// The device.
        device: String,
        /// The first place.
        at: Bytes,
    },
    /// No record tells what a run of ours wrote there.
    Unrecorded {
        /// The device.
        device: String,
    },
    /// Somebody wrote to it while it was looked at.
    Written {
        /// The device.
        device: String,
        /// What was seen of that.
        others: Others,
    },
    /// The device is written in zones.
    Zoned {
        /// The device.
        device: String,
    },
    /// It could not be searched for data well enough.
    Unsearched {
        /// What is not known, and why.
        what: String,
    },
    /// Something uses it.
    InUse(Use),
    /// The kernel lets nobody else claim it (`O_EXCL`).
    Claimed {
        /// The device.
        device: String,
    },
    /// The kernel refuses writes.
    ReadOnly {
        /// The device.
        device: String,
    },
    /// It has no room for two ends.
    TooSmall {
        /// Its size.
        size: Bytes,
    },
    /// A part of it cannot be read, so it is not known to be empty.
    Unreadable {
        /// The device.
        device: String,
        /// What the kernel said.
        error: String,
    },
    /// Something that may speak against it could not be looked at.
    Unseen {
        /// What, and why.
        what: String,
    },
    /// It changed between two looks.
    Changed {
        /// What changed.
        what: String,
    },
    /// The user did not say which device is meant.
    NotNamed {
        /// What to type: `serial number`.
        what: &'static str,
    },
    /// The user named another device.
    OtherNamed {
        /// What was to be typed.
        what: &'static str,
        /// What was typed.
        typed: String,
    },
    /// Nothing tells it from other devices.
    NoIdentity,
}

impl Reason {
    /// Whether something of a known format stands there, or what cannot be read may be that.
    pub(super) const fn is_format(&self) -> bool {
        matches!(
            self,
            Self::Content { .. } | Self::Unreadable { .. } | Self::Data { looks: Looks::Begins { .. }, .. }
        )
    }

    /// A stable word for other programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Content { .. } => "content",
            Self::Data { .. } => "data",
            Self::Marked { .. } => "marked",
            Self::Unrecorded { .. } => "unrecorded",
            Self::Written { .. } => "written",
            Self::Zoned { .. } => "zoned",
            Self::Unsearched { .. } => "unsearched",
            Self::InUse(_) => "in_use",
            Self::Claimed { .. } => "claimed",
            Self::ReadOnly { .. } => "read_only",
            Self::TooSmall { .. } => "too_small",
            Self::Unreadable { .. } => "unreadable",
            Self::Unseen { .. } => "unseen",
            Self::Changed { .. } => "changed",
            Self::NotNamed { .. } => "not_named",
            Self::OtherNamed { .. } => "other_named",
            Self::NoIdentity => "no_identity",
        }
    }

    /// Whether it holds until somebody changes something, so that waiting for its end is of no use.
    pub const fn stays(&self) -> bool {
        match self {
            Self::InUse(used) => used.kind.stays(),
            Self::Claimed { .. }
            | Self::Written { .. }
            | Self::Unseen { .. }
            | Self::Unreadable { .. }
            | Self::Unsearched { .. } => false,
            Self::Content { .. }
            | Self::Data { .. }
            | Self::Marked { .. }
            | Self::Unrecorded { .. }
            | Self::Zoned { .. }
            | Self::ReadOnly { .. }
            | Self::TooSmall { .. }
            | Self::Changed { .. }
            | Self::NotNamed { .. }
            | Self::OtherNamed { .. }
            | Self::NoIdentity => true,
        }
    }

    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Content { .. } | Self::Data { .. } => {
                "look with `wipefs -n` and `hexdump -C`; narrows never erases what others wrote"
            }
            Self::Marked { .. } => {
                "a bench or sweep of narrows was killed there: `narrows guard --clean DEVICE --i-own SERIAL` clears exactly what it wrote"
            }
            Self::Unrecorded { .. } => {
                "records are in /var/lib/narrows of the machine on which the run was killed; without it nobody can tell what is narrows'. Keep what is yours; `blkdiscard -z` then makes all of it zero"
            }
            Self::Written { .. } => OTHERS_HINT,
            Self::Zoned { .. } => "name a device without zones: a discard would reset a whole zone",
            Self::Unsearched { .. } => {
                "the device answers too slowly; see `dmesg`, and try again when nothing else uses it"
            }
            Self::InUse(used) => used.kind.hint(),
            Self::Claimed { .. } => {
                "something in the kernel uses it (a pool, a target, a mount out of sight); stop it"
            }
            Self::ReadOnly { .. } => "look for a write-protect switch, or `blockdev --getro`",
            Self::TooSmall { .. } => "name a larger device",
            Self::Unreadable { .. } => "see `dmesg`; a device that cannot be read cannot be proven empty",
            Self::Unseen { .. } => "run as root, outside of containers",
            Self::Changed { .. } => "start again when nothing else works on the device",
            Self::NotNamed { .. } => {
                "type it after `--i-own`, as `lsblk -d -o NAME,MODEL,SERIAL,WWN` shows it (a loop device: `losetup -l`)"
            }
            Self::OtherNamed { .. } => {
                "compare with `lsblk -d -o NAME,MODEL,SERIAL`: is this the device that you mean?"
            }
            Self::NoIdentity => "name a device with a serial number, or a loop device",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content { device, signature } => {
                write!(f, "{device} holds {}", signature.name)?;
                if signature.class != Class::Data {
                    write!(f, " ({})", signature.class.name())?;
                }
                places(f, &signature.offsets)
            }
            Self::Data { device, at, looks } => {
                write!(f, "{device} holds data at byte {}: {looks}", at.get())
            }
            Self::Marked { device, at } => write!(
                f,
                "{device} holds blocks from byte {} on that a run of narrows wrote and did not clear",
                at.get()
            ),
            Self::Unrecorded { device } => {
                write!(
                    f,
                    "nothing on {device} was cleared: there is no record of a run that was killed on it"
                )
            }
            Self::Written { device, others } => match others.bytes {
                Some((written, discarded)) => write!(
                    f,
                    "somebody wrote {} to {device} while it was looked at",
                    human::bytes(written + discarded)
                ),
                None => write!(f, "{others}"),
            },
            Self::Zoned { device } => write!(f, "{device} is written in zones"),
            Self::Unsearched { what } => write!(f, "not known: {what}"),
            Self::InUse(used) => write!(f, "{} {} {}", used.device, used.kind.verb(), used.by),
            Self::Claimed { device } => write!(f, "{device} is claimed by something else"),
            Self::ReadOnly { device } => write!(f, "{device} is read-only"),
            Self::TooSmall { size } => {
                write!(f, "it holds {}, less than its first and last MiB", human::bytes(*size))
            }
            Self::Unreadable { device, error } => write!(f, "{device}: {error}"),
            Self::Unseen { what } => write!(f, "not seen: {what}"),
            Self::Changed { what } => f.write_str(what),
            Self::NotNamed { what } => write!(f, "its {what} was not typed"),
            Self::OtherNamed { what, typed } => write!(f, "its {what} is not `{typed}`"),
            Self::NoIdentity => f.write_str("it has no serial number by which it could be named"),
        }
    }
}

/// ` at byte 1080`, and how many more where there are many.
fn places(f: &mut fmt::Formatter<'_>, offsets: &[Bytes]) -> fmt::Result {
    const SHOWN: usize = 4;
    for (index, offset) in offsets.iter().take(SHOWN).enumerate() {
        write!(f, "{}{}", if index == 0 { " at byte " } else { ", " }, offset.get())?;
    }
    match offsets.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more places"),
    }
}
