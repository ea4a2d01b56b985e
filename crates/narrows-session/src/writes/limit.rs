//! The most that a run may write, and how large a scratch file that allows.

use super::endurance::Life;
use crate::objection::Objection;
use narrows_base::units::{Bytes, human};
use narrows_load::preset::{LoadSpec, Work};
use narrows_model::path::{HopSpec, Path};

/// The most that a run writes to a drive unless it is told otherwise.
const MOST: Bytes = Bytes::from_mib(8 << 10);
/// The part of its rated life that it costs a drive at most, unless it is told otherwise: 0.01 %.
const SHARE: f64 = 1e-4;
/// A file system adds its own records to what is written to a file: this part is kept for them, as a divisor. Metadata and
/// journal of ext4 and XFS take less than a hundredth for files that are written in large parts; where it is more, the drive's own
/// counters show it while it is written, and the tests have so much less.
const RECORDS: u64 = 32;
/// The part of what may be written that a file of a size that nobody asked for may take, as a divisor: the rest is for tests.
const FILLED: u64 = 4;
/// A smaller file fits into the caches of drives.
const LEAST: Bytes = Bytes::from_mib(64);
/// What earlier versions allowed when nothing was asked, and kept in their reports as if it had been.
const FORMER: Bytes = Bytes::from_mib(256 << 10);

/// The most that may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// Of data: the filling and the tests.
    pub(super) data: Bytes,
    /// By the counters of the drive: with what a file system adds.
    pub(super) device: Bytes,
    /// Whether `--max-writes` said so.
    pub(super) is_asked: bool,
}

impl Limit {
    /// What was asked for, or what is always allowed on a drive of this life. A file system that `adds` a part (a divisor of
    /// the data) needs that, too.
    pub(super) fn of(asked: Option<Bytes>, life: Option<Life>, adds: Option<u64>) -> Self {
        if let Some(data) = asked {
            let records = adds.map_or(0, |part| data.get() / part.max(1));
            return Self { data, device: data + Bytes::new(records), is_asked: true };
        }
        let by_life = life.map_or(MOST, |life| Bytes::new((life.rated.as_f64() * SHARE) as u64));
        let device = MOST.min(by_life);
        let of_all = |part: u64| u128::from(device.get()) * u128::from(part) / (u128::from(part) + 1);
        let data = adds.map_or(device, |part| Bytes::new(u64::try_from(of_all(part)).unwrap_or(0)));
        Self { data, device, is_asked: false }
    }

    /// What an earlier part of the run was allowed, if somebody asked for it.
    pub(super) fn kept(limit: Bytes, is_asked: Option<bool>) -> Option<Bytes> {
        is_asked.unwrap_or(limit != FORMER).then_some(limit)
    }
}

/// The part of what is written to a file on this path that its file system adds, as a divisor: one that keeps data in its
/// journal (ext4 with `data=journal`, kernel `Documentation/filesystems/ext4/journal.rst`) writes all of it twice.
pub(super) fn added(path: Option<&Path>) -> u64 {
    let hops = path.into_iter().flat_map(|path| &path.hops);
    let twice = hops.filter_map(|hop| match &hop.spec {
        HopSpec::Filesystem(file_system) => Some(file_system.options.iter()),
        _ => None,
    });
    if twice.flatten().any(|option| option == "data=journal") { 1 } else { RECORDS }
}

/// The load of a test; `None` for a scan.
pub(super) fn load_of(work: &Work) -> Option<&LoadSpec> {
    match work {
        Work::Load(load) => Some(load),
        Work::Scan(_) => None,
    }
}

/// How much is filled, of `wanted`, where `left` may be written, all is filled or zeroed `times` times,
/// and `writes` says whether tests write, too.
///
/// # Errors
/// There is too little for what was asked, or for anything that tells something of a drive.
pub(super) fn size(
    limit: Limit,
    left: Bytes,
    (wanted, is_asked): (Bytes, bool),
    times: u64,
    writes: bool,
) -> Result<Bytes, Objection> {
    let at_most = Bytes::new(left.get() / times);
    if is_asked || wanted <= at_most.min(LEAST) {
        return if wanted <= at_most { Ok(wanted) } else { Err(too_little(limit, left, wanted, times)) };
    }
    let size = if writes { part(left, wanted, times) } else { in_whole_mib(at_most) };
    let size = size.max(LEAST).min(wanted);
    if size <= at_most { Ok(size) } else { Err(too_little(limit, left, size, times)) }
}

/// What is filled of `wanted` when so many times as much is, out of `left`: most is left to the tests.
pub(super) fn part(left: Bytes, wanted: Bytes, times: u64) -> Bytes {
    wanted.min(in_whole_mib(Bytes::new(left.get() / (times * FILLED))))
}

fn in_whole_mib(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get() >> 20 << 20)
}

fn too_little(limit: Limit, left: Bytes, size: Bytes, times: u64) -> Objection {
    let needed = Bytes::new(size.get().saturating_mul(times));
    let what = match times {
        1 => String::new(),
        _ => format!(" ({} filled and zeroed again)", human::bytes(size)),
    };
    let (needed_text, left, data) = (human::bytes(needed), human::bytes(left), human::bytes(limit.data));
    let why = match limit.is_asked {
        true => format!("{left} of the {data} that --max-writes allows are left"),
        false => format!(
            "{left} of the {data} are left that are written without --max-writes (at most 8 GiB, and 0.01 % of the \
             drive's rated life)"
        ),
    };
    Objection::new(format!("{needed_text} are to be written{what}, and {why}")).with_hint(
        "allow more with --max-writes, use a smaller --size, or read a large file with --read-only",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(terabytes: u64) -> Option<Life> {
        Some(Life { rated: Bytes::new(terabytes * 1_000_000_000_000), class: None })
    }

    fn mib(count: u64) -> Bytes {
        Bytes::from_mib(count)
    }

    #[test]
    fn the_default_is_eight_gib_or_a_ten_thousandth_of_the_rated_life() {
        assert_eq!(Limit::of(None, None, None).device, mib(8192));
        assert_eq!(Limit::of(None, life(600), None).device, mib(8192));
        assert_eq!(Limit::of(None, life(3), None).device, Bytes::new(300_000_000));
        let in_file = Limit::of(None, None, Some(32));
        assert_eq!(in_file.device, mib(8192));
        assert!(in_file.data < mib(8192) && in_file.data + Bytes::new(in_file.data.get() / 32) <= mib(8192));
        let asked = Limit::of(Some(mib(320)), life(3), Some(32));
        assert_eq!((asked.data, asked.device, asked.is_asked), (mib(320), mib(330), true));
        assert_eq!(added(None), 32);
        let twice = Limit::of(None, None, Some(1));
        assert_eq!((twice.data, twice.device), (mib(4096), mib(8192)));
    }

    #[test]
    fn a_kept_limit_counts_if_somebody_asked_for_it() {
        assert_eq!(Limit::kept(mib(10), Some(true)), Some(mib(10)));
        assert_eq!(Limit::kept(mib(10), Some(false)), None);
        assert_eq!(Limit::kept(mib(10), None), Some(mib(10)));
        assert_eq!(Limit::kept(mib(256 << 10), None), None, "the default of earlier versions");
    }

    #[test]
    fn what_is_filled_leaves_three_quarters_for_the_tests_unless_it_was_asked_for() {
        let limit = Limit::of(None, None, None);
        let of = |wanted, left, times, writes| size(limit, left, (wanted, false), times, writes);
        assert_eq!(of(mib(1024), mib(8192), 1, true).unwrap(), mib(1024));
        assert_eq!(of(mib(4096), mib(8192), 1, true).unwrap(), mib(2048));
        assert_eq!(of(mib(4096), mib(8192), 1, false).unwrap(), mib(4096));
        assert_eq!(of(mib(4096), mib(8192), 2, true).unwrap(), mib(1024));
        // A card of 8 GB of which 80 MB are allowed: the smallest file that tells something, and little beside it.
        assert_eq!(of(mib(1024), mib(76), 1, true).unwrap(), mib(64));
        let refused = of(mib(1024), mib(40), 1, true).unwrap_err().to_string();
        assert!(
            refused.contains("67.1 MB are to be written") && refused.contains("--max-writes"),
            "{refused}"
        );
        let asked = |wanted| size(limit, mib(100), (wanted, true), 1, true);
        assert_eq!(asked(mib(100)).unwrap(), mib(100));
        assert!(asked(mib(101)).is_err());
    }
}
