//! The part of each device in which a lab builds: a partition that only the kernel knows (`BLKPG`) or, where the kernel makes
//! none, a linear mapping. Making it writes nothing, and nothing outside of it can be reached through it.
//!
//! What was written since it was made is told by counters: all that is written through a slice counts for it and for its
//! disk. While both grew equally, nobody wrote to the disk but through the slice, and what stands in it is the lab's. See
//! [`doubt`].

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, human};
pub use narrows_load::guard::Counters;

/// The number of the partition that the lab builds in.
pub const PARTITION: u32 = 1;
/// The number of the partition that keeps the rest of the device from others while the lab runs.
pub const REST: u32 = 2;
/// Where slices begin and end.
pub const ALIGNMENT: u64 = 1 << 20;

/// A part of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The first byte.
    pub start: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Extent {
    /// The part of a device of `device` bytes in which a lab builds that needs `needed` bytes: its first and its last MiB are
    /// left out. `None` where there is no room.
    pub fn of(device: u64, needed: u64) -> Option<Self> {
        let room = (device / ALIGNMENT).checked_sub(2)? * ALIGNMENT;
        let bytes = needed.div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT).min(room);
        (bytes > 0).then_some(Self { start: ALIGNMENT, bytes })
    }

    /// The rest of the device behind it, but for what is no whole MiB.
    pub fn rest(self, device: u64) -> Self {
        let start = self.start + self.bytes;
        Self { start, bytes: (device / ALIGNMENT * ALIGNMENT).saturating_sub(start) }
    }

    /// The byte after the last.
    pub const fn end(self) -> u64 {
        self.start.saturating_add(self.bytes)
    }
}

/// A disk or partition as the kernel knows it at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceKnown {
    /// Major and minor number.
    pub number: (u32, u32),
    /// What tells it from one of the same name that was there before or comes later: the number of its directory in sysfs, which
    /// the kernel gives out once for each start of the machine.
    pub node: u64,
    /// What was written.
    pub counters: Counters,
}

/// A slice and its device at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The number that the kernel gave this medium (`diskseq`), since Linux 5.15.
    pub sequence: Option<u64>,
    /// The device.
    pub disk: SliceKnown,
    pub slice: SliceKnown,
    /// The rest of the device; `None` where the slice is a mapping, which has all of the device claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<SliceKnown>,
    /// Whether the kernel counts (`queue/iostats`).
    pub counts: bool,
}

impl SliceKnown {
    /// Whether both are one disk or partition, in one start of the machine.
    pub fn is(&self, other: &Self) -> bool {
        self.number == other.number && self.node == other.node
    }
}

impl Moment {
    /// Whether both are moments of one slice, in one start of the machine.
    pub fn is_of(&self, other: &Self) -> bool {
        let is_rest = match (&self.rest, &other.rest) {
            (Some(rest), Some(other)) => rest.is(other),
            (None, None) => true,
            _ => false,
        };
        let is_both = self.disk.is(&other.disk) && self.slice.is(&other.slice);
        self.sequence == other.sequence && is_both && is_rest
    }
}

/// What the journal has of a slice, written before its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// The place of its device.
    pub index: usize,
    /// The part of the device.
    pub extent: Extent,
    /// As it was then, nothing but zeros in it.
    pub made: Moment,
}

/// Why what stands in a slice is not known to be the lab's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The journal is damaged.
    #[error("the journal is damaged, or says that others wrote to what is behind a device")]
    Journal,
    /// The machine was started since.
    #[error("the machine was started since then")]
    OtherBoot,
    /// The slice was removed.
    #[error("the lab's part of it was removed meanwhile")]
    Gone,
    /// Device or slice are others of the same name.
    #[error("it was taken out, or the lab's part of it made anew, meanwhile")]
    Other,
    /// The kernel does not count.
    #[error("the kernel does not count what is written to it (queue/iostats)")]
    Uncounted,
    /// The device has not counted all that came through the slice, so that what others wrote may hide behind that.
    #[error("it has counted {} less than came through the lab's part of it, and what others wrote may hide in that", human::bytes(*.0))]
    Hidden(Bytes),
    /// Somebody wrote to the device outside of the slice, or past it.
    #[error("somebody else wrote or discarded {} on it while the lab had it", human::bytes(*.0))]
    Written(Bytes),
    /// What is behind a loop device changed, or others wrote to it.
    #[error("{0}")]
    Behind(String),
    /// It holds data, and nothing was ever written through it.
    #[error("it holds data, and nothing was written through the lab's part of it")]
    Unexplained,
}

/// What happened on a device since its slice was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Since {
    /// What was written and discarded through the slice.
    pub ours: Counters,
    /// What was written or discarded on the device past the slice, in sectors; or through the rest.
    pub others: u64,
    /// What was written through the slice and the device has not counted, in sectors. While I/Os are in flight there may be
    /// some; with none in flight others could hide behind it.
    pub uncounted: u64,
}

/// So many sectors.
pub(super) const fn bytes(sectors: u64) -> Bytes {
    Bytes::new(sectors.saturating_mul(512))
}

/// What happened between two moments of one slice.
///
/// # Errors
/// They are not of one slice, or cannot be compared.
pub fn since(before: &Moment, now: &Moment) -> Result<Since, Doubt> {
    if !before.is_of(now) {
        return Err(Doubt::Other);
    }
    if !before.counts || !now.counts {
        return Err(Doubt::Uncounted);
    }
    let grown =
        |known: &SliceKnown, from: &SliceKnown| known.counters.since(from.counters).ok_or(Doubt::Other);
    let disk = grown(&now.disk, &before.disk)?;
    let ours = grown(&now.slice, &before.slice)?;
    let rest = match (&now.rest, &before.rest) {
        (Some(rest), Some(from)) => grown(rest, from)?,
        _ => Counters::default(),
    };
    // The kernel counts for both at once, or the slice has ended what the disk has, and the disk was asked first: it never has
    // more by chance.
    let past = disk.written.saturating_sub(ours.written) + disk.discarded.saturating_sub(ours.discarded);
    let uncounted = ours.written.saturating_sub(disk.written);
    Ok(Since { ours, others: past.max(rest.written + rest.discarded), uncounted })
}

/// Whether everything in a slice is the lab's, since nobody but the lab can have written it; else why not. `now` is `None` when
/// the slice is not there; else nothing was in flight then.
///
/// # Errors
/// [`Doubt`]. Then only what bears a mark of the lab is.
pub fn doubt(
    record: &SliceRecord,
    now: Option<&Moment>,
    is_same_boot: bool,
    is_damaged: bool,
) -> Result<Since, Doubt> {
    if is_damaged {
        return Err(Doubt::Journal);
    }
    if !is_same_boot {
        return Err(Doubt::OtherBoot);
    }
    let since = since(&record.made, now.ok_or(Doubt::Gone)?)?;
    if since.others > 0 {
        return Err(Doubt::Written(bytes(since.others)));
    }
    // For a partition the kernel counts both at once. A disk below a mapping counts for itself, and may leave out whole kinds of
    // requests.
    if since.uncounted > 0 {
        return Err(Doubt::Hidden(bytes(since.uncounted)));
    }
    Ok(since)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{known, moment};
    use proptest::prelude::*;

    fn record() -> SliceRecord {
        SliceRecord { index: 0, extent: Extent { start: 1 << 20, bytes: 64 << 20 }, made: moment(500, 0) }
    }

    fn asked(now: Option<Moment>) -> Result<Since, Doubt> {
        doubt(&record(), now.as_ref(), true, false)
    }

    #[test]
    fn the_slice_leaves_both_ends_out() {
        let of = |device: u64, needed: u64| {
            Extent::of(device << 20, needed).map(|it| (it.start >> 20, it.bytes >> 20))
        };
        assert_eq!(of(100, 10 << 20), Some((1, 10)));
        assert_eq!(of(100, (10 << 20) + 1), Some((1, 11)));
        assert_eq!(of(100, u64::MAX), Some((1, 98)));
        assert_eq!((of(2, 1), of(0, 1), of(3, 1)), (None, None, Some((1, 1))));
        let extent = Extent::of((100 << 20) + 512, u64::MAX).unwrap();
        assert_eq!(extent.rest((100 << 20) + 512), Extent { start: 99 << 20, bytes: 1 << 20 });
    }

    #[test]
    fn counters_are_the_seventh_and_the_fourteenth_number() {
        let text = "  1 2 3 4 5 6 77 8 9 10 11 12 13 144 15 16 17\n";
        assert_eq!(Counters::parse(text), Some(Counters { written: 77, discarded: 144 }));
        let old = "1 2 3 4 5 6 77 8 9 10 11\n";
        assert_eq!(Counters::parse(old), Some(Counters { written: 77, discarded: 0 }));
        assert_eq!(Counters::parse("1 2 3"), None);
        assert_eq!(Counters::parse("x"), None);
    }

    #[test]
    fn what_came_through_the_slice_alone_is_the_labs() {
        assert_eq!(asked(Some(moment(500, 0))), Ok(Since::default()));
        let since = asked(Some(moment(580, 80))).unwrap();
        assert_eq!((since.ours.written, since.others), (80, 0));
        // While I/Os are in flight: the disk was asked a moment earlier.
        assert_eq!(super::since(&record().made, &moment(580, 88)).map(|since| since.others), Ok(0));
    }

    #[test]
    fn whatever_else_happened_leaves_a_doubt() {
        assert_eq!(asked(None), Err(Doubt::Gone));
        assert_eq!(asked(Some(moment(588, 80))), Err(Doubt::Written(Bytes::new(8 * 512))));
        assert_eq!(asked(Some(moment(580, 88))), Err(Doubt::Hidden(Bytes::new(8 * 512))));
        let mut through_rest = moment(588, 80);
        through_rest.rest = Some(known(2, 8));
        assert_eq!(asked(Some(through_rest)), Err(Doubt::Written(Bytes::new(8 * 512))));
        let mut discarded = moment(580, 80);
        discarded.disk.counters.discarded = 2;
        assert_eq!(asked(Some(discarded)), Err(Doubt::Written(Bytes::new(2 * 512))));
        assert_eq!(asked(Some(Moment { counts: false, ..moment(500, 0) })), Err(Doubt::Uncounted));
        assert_eq!(asked(Some(Moment { sequence: Some(10), ..moment(580, 80) })), Err(Doubt::Other));
        let mut anew = moment(580, 80);
        anew.slice.node += 1;
        assert_eq!(asked(Some(anew)), Err(Doubt::Other), "a partition of the same name and place");
        assert_eq!(asked(Some(moment(499, 0))), Err(Doubt::Other), "a counter that goes back");
        let now = moment(580, 80);
        assert_eq!(doubt(&record(), Some(&now), false, false), Err(Doubt::OtherBoot));
        assert_eq!(doubt(&record(), Some(&now), true, true), Err(Doubt::Journal));
    }

    #[test]
    fn a_mapping_leaves_no_rest_and_is_never_taken_for_a_partition() {
        let mapped = |disk, slice| Moment { rest: None, ..moment(disk, slice) };
        let record = SliceRecord { made: mapped(500, 0), ..record() };
        let asked = |now: Moment| doubt(&record, Some(&now), true, false).map(|since| since.others);
        assert_eq!(asked(mapped(580, 80)), Ok(0));
        assert_eq!(asked(mapped(588, 80)), Err(Doubt::Written(Bytes::new(8 * 512))));
        assert_eq!(asked(mapped(580, 88)), Err(Doubt::Hidden(Bytes::new(8 * 512))));
        assert_eq!(asked(moment(580, 80)), Err(Doubt::Other));
        let line = serde_json::to_string(&record).unwrap();
        assert!(!line.contains("rest") && serde_json::from_str::<SliceRecord>(&line).unwrap() == record);
    }

    proptest! {
        #[test]
        fn nothing_is_taken_for_ours_unless_both_have_written_the_same(
            disk in 2_u64..1000, beside in -2_i64..=2, rest in 0_u64..2, thrown in 0_u64..1000, ours in 0_u64..1000,
        ) {
            let slice = disk.saturating_add_signed(beside);
            let mut now = moment(500 + disk, slice);
            now.rest = Some(known(2, rest));
            now.disk.counters.discarded = thrown;
            now.slice.counters.discarded = ours;
            let allowed = asked(Some(now)).is_ok();
            prop_assert_eq!(allowed, disk == slice && thrown <= ours && rest == 0);
            let (made, now) = (Moment { rest: None, ..record().made }, Moment { rest: None, ..now });
            let allowed = doubt(&SliceRecord { made, ..record() }, Some(&now), true, false).is_ok();
            prop_assert_eq!(allowed, disk == slice && thrown <= ours);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,80}", numbers in "([0-9]{1,22} ){0,20}") {
            let _ = Counters::parse(&text);
            let _ = Counters::parse(&numbers);
        }
    }
}
