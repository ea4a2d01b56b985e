//! What arrays carry of their own and what they cost: software RAID, mirrors, parity, ZFS, and several drives together.

use super::{Basis, Ceiling, Ceilings, FactRef, Limit};
use crate::path::{RaidHop, RaidLevel, ZfsHop, ZfsLayout};
use narrows_base::units::{BytesPerSec, Iops, Nanos, human};

// What a software RAID array carries of its own.
//
// Striping and mirroring move no bytes themselves: what the array costs its members is the traffic of each member,
// and that is part of the path. The exception is writing with parity: one kernel thread for each array handles the
// stripes, and it was seen to move 0.9 to 1.6 GB/s (linux-raid, `20250817152645.7115-2-colyli@kernel.org`: eight SSDs,
// 0.94 unaligned, 1.58 with full stripes; `20260114171241.3043364-1-yukuai@fnnas.com`: 1.1). More threads
// (`group_thread_cnt`) are believed to add up. Expected error up to 2×; a guess that only matters above disks.

/// The most that one stripe thread was seen to write, decimal GB/s.
const STRIPE_THREAD: f64 = 1.6;

/// The ceilings of a RAID array.
pub fn of_raid(hop: &RaidHop) -> Ceilings {
    let Some(level) = hop.level else {
        let level = hop.md.level.value().map_or("of an unknown level", String::as_str);
        return Ceilings::unknown(format!("narrows knows no arithmetic for arrays {level}"));
    };
    let mut found = Ceilings::transparent(arithmetic(level, hop.members.len(), &hop.md));
    if level.parity() > 0 {
        found.write = Ceiling::Known(threads_of_stripes(hop));
    }
    found
}

/// The ceilings of a ZFS pool or one of its virtual devices: checksums and parity are computed by as many threads as there
/// are processors, so that only the traffic of each device counts.
pub fn of_zfs(hop: ZfsHop) -> Ceilings {
    let members = hop.members;
    let rule = match hop.layout {
        ZfsLayout::Unknown => {
            return Ceilings::unknown(
                "the kernel does not show which devices a pool lies on; `zpool list -vP` does, beside a snapshot",
            );
        }
        ZfsLayout::Stripe if members == 1 => "all data is on its one virtual device".to_owned(),
        ZfsLayout::Stripe => format!("data is spread over {members} virtual devices by their free space"),
        ZfsLayout::Mirror => format!("{members} devices share reads; a write goes to each"),
        ZfsLayout::RaidZ { parity } => {
            format!("records are spread over {members} devices, with {parity} parity in each")
        }
        ZfsLayout::Draid { parity, data } => {
            format!("groups of {data} data and {parity} parity are spread over {members} devices")
        }
    };
    Ceilings::transparent(rule)
}

fn arithmetic(level: RaidLevel, members: usize, md: &narrows_machine::block::MdArray) -> String {
    let rule = match level {
        RaidLevel::Raid0 => format!("each of {members} members carries 1/{members} of the data"),
        RaidLevel::Raid1 => {
            format!("a read goes to one of {members} members, many streams to all; a write goes to each")
        }
        RaidLevel::Raid10 => format!("{members} members share reads; a write goes to each copy"),
        RaidLevel::Raid5 => {
            format!("reads are spread over {members} members, one part in {members} is parity")
        }
        RaidLevel::Raid6 => {
            format!("reads are spread over {members} members, two parts in {members} are parity")
        }
        RaidLevel::Linear => "one member after another; data lies on one at a time".to_owned(),
    };
    match (md.sync_action.value().map(String::as_str), md.sync_speed.value()) {
        (Some("idle" | "frozen") | None, _) => rule,
        (Some(action), Some(&speed)) => {
            format!("{rule}; a {action} takes {speed} from each member meanwhile")
        }
        (Some(action), None) => format!("{rule}; a {action} takes its share of each member meanwhile"),
    }
}

fn threads_of_stripes(hop: &RaidHop) -> Limit {
    let groups = hop.md.group_threads.value().copied().unwrap_or(0).max(1);
    let thread = BytesPerSec::from_gb(STRIPE_THREAD);
    let rate = thread * f64::from(groups);
    let threads = human::counted(groups, "stripe thread");
    let formula = format!("{threads} × {thread}, the most that one was seen to write, = {rate}");
    let facts = vec![FactRef::new("stripe threads", groups, hop.md.group_threads.source())];
    Limit { rate, raw: None, basis: Basis::Guess, formula, facts }
}

// What mirrors give and cost: RAID-1, RAID-10, ZFS mirrors.
//
// A write goes to every copy, so n members with c copies write n/c. One stream reads one member of a RAID-1; many
// streams read all. RAID-10 ("near" copies) stripes what one stream reads over all members too: 920 MB/s of two
// SATA drives of 480 and 3390 of two NVMe drives of 2490 through the cache (linux-raid `ZobegsG8eh-_sDAA@lazy.lzy`).
//
// A write that waits for all copies waits for the slowest. For times with standard deviation σ around μ, the mean of
// the largest of n is about μ + k·σ, with k 0.56, 0.85, 1.03 for 2, 3, 4 (order statistics of the normal
// distribution; L. H. C. Tippett, Biometrika 17, 1925). Drives have σ of about 0.4 μ, which gives 1.23 μ for two (1.3
// was measured at depth 1 with md between: 18.5 k of 26.2 k, linux-raid `CAGqmV7ojxm…`). Expected error ±15 %.

/// The spread of the time of one write: its standard deviation over its mean.
pub const MIRROR_SPREAD: f64 = 0.4;

/// The mean of the largest of n standard normal values, n from 1.
const LARGEST: [f64; 8] = [0.0, 0.564, 0.846, 1.029, 1.163, 1.267, 1.352, 1.424];

/// The time of a write that waits for `copies` writes of `one`.
pub fn slowest_of(one: Nanos, copies: u32) -> Nanos {
    let place = (copies.max(1) as usize - 1).min(LARGEST.len() - 1);
    let factor = 1.0 + MIRROR_SPREAD * LARGEST.get(place).copied().unwrap_or_default();
    Nanos::new((one.get() as f64 * factor).round() as u64)
}

/// What is read of `members` that each read `one`: by `streams` from whole copies (RAID-1), or from stripes (RAID-10).
pub fn mirror_read(one: BytesPerSec, members: u32, streams: u32, striped: bool) -> BytesPerSec {
    let at_work = if striped { members } else { streams.clamp(1, members.max(1)) };
    one * f64::from(at_work)
}

/// What a sequence reads of a RAID-1 whose members do `each` alone, in passes of `blocks` of which `depth` are under way.
///
/// md leaves a sequence on its member; the next pass begins on the one that has the fewest requests under way, which is another
/// (kernel `drivers/md/raid1.c`, `read_balance`, Linux 6.1). Each carries as many bytes, so that long passes get the harmonic
/// mean of the members. While a member works off the last `depth` blocks of its pass the next is read already: with two
/// members a and b, two passes take (n − d)/a + (n − d)/b for 2n blocks. No more than all of them do.
pub fn mirror_passes(each: &[BytesPerSec], blocks: f64, depth: f64) -> BytesPerSec {
    let sum: BytesPerSec = each.iter().copied().sum();
    let times: f64 = each.iter().map(|rate| 1.0 / rate.get()).sum();
    let mean = each.len() as f64 / times;
    let alone = 1.0 - depth / blocks;
    if alone <= 0.0 { sum } else { sum.min(BytesPerSec::new(mean / alone)) }
}

// What parity costs: RAID-5 and RAID-6.
//
// A full stripe is written with one write for each member: n − p of n carry data. A smaller write reads the old data
// and parity and writes the new: 4 I/Os with one parity, 6 with two (D. Patterson, G. Gibson, R. Katz, SIGMOD 1988;
// exact in I/Os). Sequential reads get n − p of n, since members skip over parity; random reads get all n.
//
// md handles stripes in one thread (`group_thread_cnt` adds some). A single writer that does not align with full stripes
// gets `UNALIGNED` of it (944 MB/s with eight SSDs, linux-raid `20250817152645.7115-2-colyli@kernel.org`; 782 MB/s with
// 32 disks, `20260114171241.3043364-1-yukuai@fnnas.com`), one that does `ALIGNED` (1.58, 1.15 and 1.1 GB/s in the same
// threads). Left out one at a time: ±19 % and ±35 %. Two rows were found later and no constant rests on them: 461 MB/s with 24 disks and
// I/Os of 10 MiB (`20260223035834.3132498-1-yukuai@fnnas.com`), and 600 MB/s with nine disks, an Atom and many I/Os under way (Linux
// commit 765d704db1f5), which fill stripes together: no law foresees that, 180 MB/s would be said of it, and disks with more than 16
// under way are refused. The parity itself is no limit: a core
// computes 8 GB/s of it and more (the kernel's boot benchmark).

/// What one stripe thread writes for one writer that does not fill stripes, decimal GB/s.
pub const UNALIGNED: f64 = 0.86;

/// What it writes when every write fills its stripes, decimal GB/s.
pub const ALIGNED: f64 = 1.3;

/// What members of `each` carry together as data in full stripes, reading or writing in sequence.
pub fn full_stripes(each: BytesPerSec, members: u32, parity: u32) -> BytesPerSec {
    each * f64::from(members.saturating_sub(parity))
}

/// I/Os that one small write becomes.
pub const fn small_write_ios(parity: u32) -> u32 {
    2 * (parity + 1)
}

/// Small writes a second of an array whose members do `each`.
pub fn small_writes(each: Iops, members: u32, parity: u32) -> Iops {
    Iops::new(each.get() * f64::from(members) / f64::from(small_write_ios(parity)))
}

/// What disks of an array write together in sequence when each write is smaller than a stripe: the heads go back and forth
/// between reading and writing, and about the rate of one disk is left (220 MB/s of four disks of 14 TB, linux-raid
/// `lMRgP8wc…@pm.me`; 150 of four of 123 MB/s, openzfs/zfs issue 1705: ±25 %).
pub const fn partial_stripes_of_disks(one: BytesPerSec) -> BytesPerSec {
    one
}

/// What `threads` stripe threads of md write.
pub fn stripe_threads(aligned: bool, threads: u32) -> BytesPerSec {
    BytesPerSec::from_gb(if aligned { ALIGNED } else { UNALIGNED }) * f64::from(threads.max(1))
}

// What ZFS makes of its vdevs.
//
// A pool stripes over its vdevs, so theirs add up. A mirror reads from all members and writes as one; raidz with p
// parities reads and writes n − p members in sequence and does the random reads of about one (OpenZFS documentation,
// "RAIDZ" and "Workload tuning"). Measured: 987 MB/s written on raidz2 of six disks of 250 MB/s (openzfs/zfs issue 9375). Expected
// error ±15 % on disks with large records.
//
// On fast drives memory limits first: a buffered write is copied into the ARC, its checksum and parity are computed,
// and it is copied out again, so data crosses memory about `ZFS_MEMORY_COPIES` times; `zfs_from_memory` bounds by that. What
// the ARC already holds is read at the rate of memory and says nothing of the drives. Not covered: random writes,
// small records on raidz (parity and padding for each), scrubs, releases before 0.7 (no vector parity).

/// How often written data crosses memory: into the ARC, checksum, parity or compression, out.
pub const ZFS_MEMORY_COPIES: f64 = 4.0;

/// What a mirror reads and writes, its members doing `read` and `write`.
pub fn zfs_mirror(read: BytesPerSec, write: BytesPerSec, members: u32) -> (BytesPerSec, BytesPerSec) {
    (read * f64::from(members), write)
}

/// What memory of `rate` allows when data crosses it [`ZFS_MEMORY_COPIES`] times.
pub fn zfs_from_memory(rate: BytesPerSec) -> BytesPerSec {
    rate / ZFS_MEMORY_COPIES
}

// What several drives carry together when one stream or several are spread over them.
//
// The sum of what each carries alone is never exceeded and rarely met: a stream waits for the slowest of the chunks that it has asked
// for, readers of parity arrays skip over parity, and drives of one box share more than their links. No key of a description
// tells how much, so this is no model but the middle of what was published, over the sum of the drives' own rates: 0.50
// and 0.85 (twelve P5520 in RAID-10, blog.nyman.re), 0.60 (raidz2 of eight disks, openzfs/zfs issue 14743), 0.61, 0.78, 0.78 and 0.86
// (four 870 EVO in an appliance, thestorageguy.net), 0.68 (RAID-5 of four disks, openzfs/zfs issue 1705), 0.69 (three SATA drives on
// a small board, github.com/ThomasKaiser), 0.74 (three S3610, github.com/maharmstone/winmd), 0.95 (raidz2 of six disks, openzfs/zfs)
// and 1.01 (ten drives, many readers, vuink.com). The middle of sources is 0.74, that of rows 0.76;
// `TOGETHER_SHARE` is a little above: half of the rows are from people who ask why their array is slow.

/// The share of the sum of their own rates that drives carry together.
pub const TOGETHER_SHARE: f64 = 0.8;

/// What drives carry together that would carry `sum` if each gave all it can alone.
pub fn carried_together(sum: BytesPerSec) -> BytesPerSec {
    sum * TOGETHER_SHARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use narrows_base::units::human;
    use narrows_machine::block::MdArray;
    use proptest::prelude::*;

    fn array(level: RaidLevel, md: MdArray) -> RaidHop {
        RaidHop {
            level: Some(level),
            members: vec!["sda".into(), "sdb".into(), "sdc".into()],
            md,
            ..RaidHop::default()
        }
    }

    #[test]
    fn striping_and_mirroring_move_no_bytes_of_their_own() {
        for level in [RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Linear] {
            let ceilings = of_raid(&array(level, MdArray::default()));
            assert!(matches!(ceilings.read, Ceiling::Transparent(_)), "{level:?}");
            assert!(matches!(ceilings.write, Ceiling::Transparent(_)), "{level:?}");
        }
    }

    #[test]
    fn writing_with_parity_is_bound_by_the_stripe_threads() {
        let one = of_raid(&array(RaidLevel::Raid5, MdArray::default()));
        assert!(matches!(one.read, Ceiling::Transparent(_)));
        assert_eq!(one.write.rate().map(human::rate).as_deref(), Some("1.6 GB/s"));
        assert_eq!(one.write.limit().map(|limit| limit.basis), Some(Basis::Guess));
        let md = MdArray {
            group_threads: Fact::known(4, "/sys/block/md0/md/group_thread_cnt"),
            ..MdArray::default()
        };
        let four = of_raid(&array(RaidLevel::Raid6, md));
        assert_eq!(four.write.rate().map(human::rate).as_deref(), Some("6.4 GB/s"));
    }

    #[test]
    fn a_running_resync_is_named_with_what_it_takes() {
        let md = MdArray {
            sync_action: Fact::known("resync".into(), "/sys/block/md0/md/sync_action"),
            sync_speed: Fact::known(BytesPerSec::from_kib(200_000.0), "/sys/block/md0/md/sync_speed"),
            ..MdArray::default()
        };
        let Ceiling::Transparent(text) = of_raid(&array(RaidLevel::Raid1, md)).read else {
            panic!("not transparent")
        };
        assert!(text.ends_with("a resync takes 205 MB/s from each member meanwhile"), "{text}");
    }

    #[test]
    fn a_level_without_arithmetic_is_unknown() {
        let faulty = RaidHop { level: None, ..array(RaidLevel::Raid0, MdArray::default()) };
        assert!(matches!(of_raid(&faulty).read, Ceiling::Unknown(_)));
    }

    #[test]
    fn two_copies_wait_for_the_slower() {
        assert_eq!(slowest_of(Nanos::new(100_000), 1), Nanos::new(100_000));
        assert_eq!(slowest_of(Nanos::new(100_000), 2), Nanos::new(122_560));
        assert_eq!(slowest_of(Nanos::new(100_000), 99), slowest_of(Nanos::new(100_000), 8));
    }

    #[test]
    fn one_stream_reads_one_copy_and_stripes_all() {
        let one = BytesPerSec::from_mb(500.0);
        assert_eq!(mirror_read(one, 2, 1, false), one);
        assert_eq!(mirror_read(one, 2, 8, false), one * 2.0);
        assert_eq!(mirror_read(one, 2, 1, true), one * 2.0);
    }

    #[test]
    fn passes_over_a_mirror_take_turns_and_overlap_by_the_depth() {
        let each = [600.0, 300.0].map(BytesPerSec::from_mb);
        let mb = |blocks, depth| mirror_passes(&each, blocks, depth).get() / 1e6;
        assert!((mb(1e9, 8.0) - 400.0).abs() < 1e-3 && (mb(f64::INFINITY, 8.0) - 400.0).abs() < 1e-6);
        assert!((mb(64.0, 8.0) - 400.0 * 64.0 / 56.0).abs() < 1e-6);
        assert!((mb(8.0, 8.0) - 900.0).abs() < 1e-6 && (mb(9.0, 8.0) - 900.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn more_copies_never_end_earlier(copies in 1u32..8, time in 1u64..1_000_000) {
            prop_assert!(slowest_of(Nanos::new(time), copies + 1) >= slowest_of(Nanos::new(time), copies));
        }
    }

    #[test]
    fn a_small_write_is_four_or_six() {
        assert_eq!((small_write_ios(1), small_write_ios(2)), (4, 6));
        assert_eq!(small_writes(Iops::new(100.0), 8, 1), Iops::new(200.0));
    }

    #[test]
    fn a_raidz2_of_six_disks_was_measured() {
        // openzfs/zfs issue 9375: 987 MB/s written on six disks of 250 MB/s.
        let rate = full_stripes(BytesPerSec::from_mb(250.0), 6, 2);
        assert!((rate.get() / 987e6 - 1.0).abs() < 0.02, "{rate}");
    }

    #[test]
    fn disks_that_read_before_they_write_are_about_one() {
        for (one, measured) in [(250e6, 220e6), (123e6, 150e6)] {
            let error = partial_stripes_of_disks(BytesPerSec::new(one)).get() / measured - 1.0;
            assert!(error.abs() < 0.25, "{error:+.2}");
        }
    }

    #[test]
    fn one_stripe_thread_was_measured() {
        for (aligned, measured) in [(false, 944e6), (false, 782e6), (true, 1.58e9), (true, 1.1e9)] {
            let error = stripe_threads(aligned, 1).get() / measured - 1.0;
            assert!(error.abs() < 0.2, "{error:+.2}");
        }
    }

    proptest! {
        #[test]
        fn parity_never_gives_more(each in 1e6..1e10f64, members in 3u32..64, parity in 1u32..3) {
            let whole = each * f64::from(members);
            prop_assert!(full_stripes(BytesPerSec::new(each), members, parity).get() < whole);
            prop_assert!(small_writes(Iops::new(each), members, parity).get() <= whole / 4.0);
            prop_assert!(small_write_ios(parity + 1) > small_write_ios(parity));
        }
    }

    #[test]
    fn vdevs_do_what_their_members_do() {
        let disk = BytesPerSec::from_mb(250.0);
        assert_eq!(zfs_mirror(disk, disk, 2), (disk * 2.0, disk));
        assert_eq!(full_stripes(disk, 6, 2), disk * 4.0);
        assert_eq!(zfs_from_memory(BytesPerSec::from_gb(40.0)), BytesPerSec::from_gb(10.0));
    }

    proptest! {
        #[test]
        fn more_parity_never_gives_more(each in 1e6..1e9f64, members in 4u32..20, parity in 0u32..3) {
            let each = BytesPerSec::new(each);
            prop_assert!(full_stripes(each, members, parity + 1) < full_stripes(each, members, parity));
        }
    }

    /// MB/s over the sum of the drives alone.
    #[test]
    fn what_was_published_lies_around_the_middle() {
        let published = [
            (42_950.0, 85_200.0),
            (21_475.0, 25_200.0),
            (900.0, 1500.0),
            (1142.0, 1880.0),
            (687.0, 800.0),
            (1474.0, 1880.0),
            (1461.0, 1880.0),
            (250.0, 369.0),
            (1130.7, 1638.5),
            (1200.0, 1620.0),
            (987.0, 1044.0),
            (70_867.0, 70_000.0),
        ];
        let off = published.map(|(got, sum)| got * 1e6 / carried_together(BytesPerSec::from_mb(sum)).get());
        assert!(off.iter().all(|off| (0.62..1.28).contains(off)), "{off:?}");
        let above = off.iter().filter(|off| **off > 1.0).count();
        assert!((4..=8).contains(&above), "{off:?}");
    }
}
