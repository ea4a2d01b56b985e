//! What several drives carry together when one stream or several are spread over them.
//!
//! The sum of what each carries alone is never exceeded and rarely met: a stream waits for the slowest of the chunks that it has asked
//! for, readers of parity arrays skip over parity, and drives of one box share more than their links. No key of a description
//! tells how much, so this is no model but the middle of what was published, over the sum of the drives' own rates: 0.50
//! and 0.85 (twelve P5520 in RAID-10, blog.nyman.re), 0.60 (raidz2 of eight disks, openzfs/zfs issue 14743), 0.61, 0.78, 0.78 and 0.86
//! (four 870 EVO in an appliance, thestorageguy.net), 0.68 (RAID-5 of four disks, openzfs/zfs issue 1705), 0.69 (three SATA drives on
//! a small board, github.com/ThomasKaiser), 0.74 (three S3610, github.com/maharmstone/winmd), 0.95 (raidz2 of six disks, openzfs/zfs)
//! and 1.01 (ten drives, many readers, vuink.com). The middle of sources is 0.74, that of rows 0.76;
//! [`SHARE`] is a little above: half of the rows are from people who ask why their array is slow.

use narrows_base::units::BytesPerSec;

/// The share of the sum of their own rates that drives carry together.
pub const SHARE: f64 = 0.8;

/// What drives carry together that would carry `sum` if each gave all it can alone.
pub fn carried(sum: BytesPerSec) -> BytesPerSec {
    sum * SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let off = published.map(|(got, sum)| got * 1e6 / carried(BytesPerSec::from_mb(sum)).get());
        assert!(off.iter().all(|off| (0.62..1.28).contains(off)), "{off:?}");
        let above = off.iter().filter(|off| **off > 1.0).count();
        assert!((4..=8).contains(&above), "{off:?}");
    }
}
