//! What is counted, where, and how counts unite.

use proptest::prelude::*;

use super::*;
use crate::engine::Request;
use crate::histogram::Counts;

const WINDOW: Window = Window { start: 1000, end: 1350, bucket: 100 };

fn at(times: &[u64], stopped: u64) -> Tally {
    let mut tally = Tally::new(WINDOW);
    let request = Request { op: Op::Read, offset: 0, length: 4096 };
    for now in times {
        tally.record(Flight { start: now - 10, request }, *now);
        tally.add_to_series(4096, *now);
    }
    tally.stopped = stopped;
    tally
}

#[test]
fn what_ends_before_the_sample_does_belongs_to_it() {
    assert_eq!(at(&[], 1000).same_until(999), 0, "the window has not begun");
    assert_eq!(at(&[], 1000).same_until(1000), 1100);
    assert_eq!(at(&[1050], 1060).same_until(1060), 1100);
    assert_eq!(at(&[1050], 1060).same_until(1160), 1100, "another sample: not any more");
    assert_eq!(at(&[1050, 1349], 1349).same_until(1349), 1350, "the last ends with the window");
    assert_eq!(at(&[1050, 1349], 1349).same_until(1350), 0, "the window is over");
}

#[test]
fn the_unfinished_last_bucket_counts_in_the_bytes_and_not_in_the_series() {
    let tally = at(&[1000, 1099, 1100, 1349], 1360);
    assert_eq!(tally.all().bytes, 4 * 4096);
    assert_eq!(tally.elapsed(), 350);
    // The third I/O ended with the first bucket. The last had 249 ticks since then, 100 each in the second and third.
    assert_eq!(tally.full_buckets(), [3 * 4096, 1644, 1644]);
}

#[test]
fn a_run_that_was_cut_short_has_only_its_full_buckets() {
    let tally = at(&[1000, 1150], 1199);
    // Two thirds of the 150 ticks of the second I/O lie in the first bucket.
    assert_eq!((tally.elapsed(), tally.full_buckets()), (199, &[4096 + 2730][..]));
    let stopped_in_warm_up = at(&[], 990);
    assert_eq!((stopped_in_warm_up.elapsed(), stopped_in_warm_up.full_buckets().len()), (0, 0));
}

#[test]
fn a_steady_rate_of_large_ios_is_steady_in_the_series() {
    // An I/O in 30 ticks: 3 or 4 of them end in each bucket of 100.
    let mut tally = Tally::new(Window { start: 0, end: 3000, bucket: 100 });
    let mut shared = 0;
    for end in (30..3000).step_by(30) {
        let shares = tally.add_to_series(3000, end).unwrap_or_else(|| vec![(0, 3000)]);
        shared += shares.iter().map(|(_, bytes)| bytes).sum::<u64>();
    }
    tally.stopped = 2970;
    assert!(tally.full_buckets().iter().all(|bytes| (9_999..=10_001).contains(bytes)), "{tally:?}");
    assert_eq!(shared, 99 * 3000);
}

#[test]
fn a_window_of_whole_buckets_loses_none() {
    let mut tally = Tally::new(Window { start: 5, end: 305, bucket: 100 });
    tally.add_to_series(1, 304);
    tally.stopped = 310;
    assert_eq!(tally.full_buckets(), [0, 0, 1]);
}

#[test]
fn reads_and_writes_are_counted_apart() {
    let mut tally = at(&[1000, 1001], 1350);
    let request = Request { op: Op::Write, offset: 4096, length: 512 };
    tally.record(Flight { start: 1000, request }, 1070);
    assert_eq!((tally.reads.latencies.count(), tally.reads.bytes), (2, 8192));
    assert_eq!((tally.writes.latencies.max(), tally.writes.bytes), (Some(70), 512));
    let all = tally.all();
    assert_eq!((all.latencies.count(), all.bytes), (3, 8704));
    assert_eq!(all.slowest.kept()[0], Slow { ticks: 70, offset: 4096, end: 1070 });
}

#[test]
fn the_parts_of_the_window_hold_every_latency() {
    let mut tally = at(&[1000, 1099, 1100, 1349], 1360);
    tally.complete();
    let counts: Vec<u64> =
        tally.reads.parts.tenths(tally.begun_buckets()).iter().map(Counts::count).collect();
    // 350 ticks are four buckets. What shows that one is over still counts in it: 1100 in the first, and the I/O of
    // 1349, which was in flight since the second, there.
    assert_eq!(counts, [3, 1, 0, 0]);
    let mut twice = tally.clone();
    twice.merge(tally);
    let both = twice.all().parts.tenths(4);
    assert_eq!(both.iter().map(Counts::count).collect::<Vec<_>>(), [6, 2, 0, 0]);
}

#[test]
fn merging_adds_what_workers_did_and_keeps_the_first_error() {
    let mut a = at(&[1000, 1200], 1350);
    let mut b = at(&[1001], 1400);
    a.fail(1101, || "a failed later".to_owned());
    b.fail(1100, || "b failed".to_owned());
    b.fail(1102, || "again".to_owned());
    b.effort.processor_seconds = 0.5;
    b.effort.queued_seconds = 0.25;
    b.effort.enters = 3;
    b.effort.io_worker_seconds = 0.5;
    a.effort.busiest_io_worker_seconds = 0.125;
    b.effort.busiest_io_worker_seconds = 0.375;
    a.merge(b);
    assert_eq!((a.all().bytes, a.all().latencies.count(), a.errors), (3 * 4096, 3, 3));
    assert_eq!(a.first_error().as_deref(), Some("b failed"));
    assert_eq!(a.full_buckets(), [2 * 4096 + 2048, 2048, 0]);
    assert_eq!((a.effort.io_worker_seconds, a.effort.busiest_io_worker_seconds), (0.5, 0.375));
    assert_eq!((a.effort.processor_seconds, a.effort.queued_seconds), (0.5, 0.25));
    assert_eq!((a.effort.enters, a.stopped), (3, 1400));
}

/// A run in which each sample records its own number, `each` times.
fn counted(samples: u64, each: u64) -> (Parts, Histogram) {
    let (mut parts, mut histogram) = (Parts::new(), Histogram::new());
    for sample in 0..samples {
        (0..each).for_each(|_| histogram.record(sample));
        parts.enter(sample + 1, &histogram);
    }
    (parts, histogram)
}

#[test]
fn each_tenth_has_what_was_recorded_in_it() {
    let (parts, _) = counted(30, 2);
    let tenths = parts.tenths(30);
    assert_eq!(tenths.len(), 10);
    assert_eq!(tenths[3].values().collect::<Vec<_>>(), [(9, 2), (10, 2), (11, 2)]);
}

#[test]
fn a_time_without_any_io_is_an_empty_part() {
    let (mut parts, mut histogram) = (Parts::new(), Histogram::new());
    histogram.record(1);
    parts.enter(10, &histogram);
    histogram.record(2);
    parts.enter(11, &histogram);
    let counts: Vec<u64> = parts.tenths(20).iter().map(Counts::count).collect();
    assert_eq!(counts, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
}

#[test]
fn a_short_run_has_fewer_parts_and_an_empty_one_has_one() {
    let (parts, _) = counted(3, 1);
    assert_eq!(parts.tenths(3).len(), 3);
    assert_eq!(Parts::new().tenths(0).len(), 1);
}

#[test]
fn a_jump_over_a_week_keeps_few_parts() {
    let (mut parts, mut histogram) = counted(5, 1);
    parts.enter(7 * 24 * 36_000, &histogram);
    histogram.record(7);
    parts.enter(7 * 24 * 36_000 + 1, &histogram);
    assert!(parts.parts.len() as u64 <= MOST);
    let tenths = parts.tenths(7 * 24 * 36_000 + 1);
    assert_eq!((tenths[0].count(), tenths[9].count()), (5, 1));
}

proptest! {
    #[test]
    fn nothing_is_lost_however_long_a_run_is(samples in 1u64..3000, each in 1u64..3) {
        let (parts, histogram) = counted(samples, each);
        let tenths = parts.tenths(samples);
        prop_assert_eq!(tenths.iter().map(Counts::count).sum::<u64>(), histogram.count());
        let sizes: Vec<u64> = tenths.iter().map(Counts::count).collect();
        if samples >= MOST {
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            prop_assert!(*most as f64 <= *least as f64 * 1.25, "{:?}", sizes);
        }
    }

    #[test]
    fn workers_add_up_whatever_their_widths(a in 1u64..900, b in 1u64..900) {
        let ((mut one, x), (two, y)) = (counted(a, 1), counted(b, 3));
        one.merge(&two);
        prop_assert_eq!(one.seen.count(), x.count() + y.count());
        let all: u64 = one.tenths(a.max(b)).iter().map(Counts::count).sum();
        prop_assert_eq!(all, a + 3 * b);
    }
}

proptest! {
    #[test]
    fn the_slowest_of_all_are_kept_in_order(ticks in prop::collection::vec(0u64..1000, 0..200), split in 0usize..200) {
        let offer = |ticks: &[u64]| {
            let mut slowest = Slowest::default();
            ticks.iter().for_each(|ticks| slowest.offer(Slow { ticks: *ticks, offset: 0, end: 0 }));
            slowest
        };
        let (a, b) = ticks.split_at(split.min(ticks.len()));
        let mut merged = offer(a);
        merged.merge(&offer(b));
        let mut want = ticks.clone();
        want.sort_unstable_by(|a, b| b.cmp(a));
        want.truncate(KEPT);
        prop_assert_eq!(merged.kept().iter().map(|slow| slow.ticks).collect::<Vec<_>>(), want);
    }
}
