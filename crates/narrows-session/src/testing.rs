//! What tests of several modules need.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::lab::slice::{Counters, Moment, SliceKnown};
use crate::lab::{LabId, Names};
use crate::measure::Timing;
use narrows_load::guard::RunSecret;
use narrows_load::preset::StopRule;

/// Until the rate is known.
pub(crate) const UNTIL_KNOWN: Timing = Timing {
    stop: StopRule::Precision,
    precision: 0.02,
    max_time: Duration::from_secs(30),
    fixed: None,
    warm_up: Duration::ZERO,
};

/// A lab on two drives.
pub(crate) fn names() -> Names {
    Names {
        id: LabId::new([0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 8, 9, 10, 11, 12, 13, 14, 0xff]),
        secret: RunSecret::new([1; 32]),
        disks: vec!["nvme0n1".to_owned(), "sdb".to_owned()],
        devices: vec!["nvme0n1p1".to_owned(), "sdb1".to_owned()],
        array: "md127".to_owned(),
        scratch: None,
        zvol: None,
    }
}

/// A directory that only we can enter, whatever the umask is.
pub(crate) fn directory_of_ours() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

pub(crate) const fn known(minor: u32, written: u64) -> SliceKnown {
    SliceKnown { number: (8, minor), node: 100 + minor as u64, counters: Counters { written, discarded: 0 } }
}

/// A disk to which `disk` sectors were written, of these `slice` through the slice.
pub(crate) const fn moment(disk: u64, slice: u64) -> Moment {
    Moment {
        sequence: Some(9),
        disk: known(0, disk),
        slice: known(1, slice),
        rest: Some(known(2, 0)),
        counts: true,
    }
}
