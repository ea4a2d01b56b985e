//! fio's normal output, whole and in the parts that people quote.

use narrows_base::units::{Bytes, Nanos};

use super::*;

const NEW: &str = "\
root@nas[~]# fio --rw=write --ioengine=sync --fdatasync=1 --size=22m --bs=4k --name=mytest --filename=/dev/nvme1n1
mytest: (g=0): rw=write, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=sync, iodepth=1
fio-3.25
mytest: (groupid=0, jobs=1): err= 0: pid=1683564: Tue Jul  4 02:56:33 2023
  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec); 0 zone resets
    clat (usec): min=2, max=139, avg= 4.34, stdev= 3.43
     lat (usec): min=3, max=139, avg= 4.53, stdev= 3.44
    clat percentiles (usec):
     |  1.00th=[    4],  5.00th=[    4], 50.00th=[    4],
     | 99.00th=[   12], 99.50th=[   18],
     | 99.99th=[  139]
  lat (usec)   : 4=70.95%, 10=27.36%
  fsync/fdatasync/sync_file_range:
    sync (usec): min=41, max=109, avg=47.60, stdev= 4.93
    sync percentiles (usec):
     |  1.00th=[   43], 50.00th=[   47], 99.00th=[   68]
  cpu          : usr=15.95%, sys=12.62%, ctx=5631, majf=0, minf=14
     issued rwts: total=0,5632,0,0 short=5631,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=1

Disk stats (read/write):
  nvme1n1: ios=0/2568, merge=0/0, ticks=0/103, in_queue=103, util=57.63%
";

fn one(body: &str) -> Imported {
    let mut all = read(&Page { name: "x", body });
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn a_run_of_version_3() {
    let result = one(NEW);
    assert_eq!((result.version.as_deref(), result.line), (Some("3.25"), 2));
    let run = &result.measurements[0];
    let write = run.write.as_ref().expect("writes");
    assert_eq!(write.bytes_per_second.get(), 76.4e6);
    assert_eq!(write.bytes, Some(Bytes::from_mib(22)));
    assert_eq!(write.ios, Some(5632));
    assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(302)));
    let latency = write.latency_ns.as_ref().expect("latency");
    assert_eq!((latency.mean, latency.p99, latency.max), (Some(4530.0), Some(12_000.0), Some(139_000.0)));
    assert_eq!(run.sync_ns.as_ref().and_then(|sync| sync.p50), Some(47_000.0));
    assert_eq!(run.devices[0].write_ios, 2568);
    assert_eq!(run.work.durability, Some(crate::results::Durability::Each));
    assert_eq!(run.work.direct, Some(false));
}

#[test]
fn reads_below_the_writes_of_a_job_are_of_another_run() {
    let cut = NEW.split_once("  cpu ").map_or("", |(head, _)| head);
    let quoted = "read: IOPS=20.0k, BW=78.3MiB/s (82.1MB/s)(3070MiB/39227msec)\nwrite: IOPS=6695, BW=26.2MiB/s (27.4MB/s)(1026MiB/39227msec)\n";
    let body = format!("{cut}\nsomewhere else:\n{quoted}");
    let found = read(&Page { name: "x", body: &body });
    let rates: Vec<Vec<f64>> = found
        .iter()
        .map(|run| {
            let sides = run.measurements.iter().flat_map(Measured::sides);
            sides.map(|(_, side)| side.bytes_per_second.get()).collect()
        })
        .collect();
    assert_eq!(rates, [vec![76.4e6], vec![82.1e6, 27.4e6]]);
    assert!(found[1].is_headless);
}

#[test]
fn sums_of_a_group_that_are_more_than_its_jobs_stand_beside_them() {
    let group = |millis: u64| {
        format!(
            "\nRun status group 0 (all jobs):\n  WRITE: bw=1500MiB/s (1573MB/s), 1500MiB/s-1500MiB/s (1573MB/s-1573MB/s), io=2250MiB (2359MB), run={millis}-{millis}msec\n"
        )
    };
    let rates = |body: &str| -> Vec<u64> {
        let found = read(&Page { name: "x", body });
        let sides = found.iter().flat_map(|run| &run.measurements).flat_map(Measured::sides);
        sides.map(|(_, side)| side.bytes_per_second.get() as u64).collect()
    };
    let left_out = "of the same time, so that other jobs of it were left out";
    assert_eq!(rates(&format!("{NEW}{}", group(302))), [76_400_000, 1_573_000_000], "{left_out}");
    assert_eq!(rates(&format!("{NEW}{}", group(1500))), [76_400_000, 1_573_000_000]);
}

#[test]
fn a_run_of_version_2_means_mebibytes() {
    let body = "\
JOB: (g=0): rw=read, bs=1M-1M/1M-1M/1M-1M, ioengine=libaio, iodepth=1
fio-2.16
JOB: (groupid=0, jobs=10): err= 0: pid=16019: Wed Nov  7 17:27:09 2018
  read : io=1000.0MB, bw=5586.7MB/s, iops=5586, runt=   179msec
    slat (usec): min=154, max=31358, avg=1426.10, stdev=2935.67
    clat (usec): min=0, max=20, avg= 2.53, stdev= 1.37
     lat (usec): min=155, max=31363, avg=1435.98, stdev=2941.15
";
    let result = one(body);
    let run = &result.measurements[0];
    let read = run.read.as_ref().expect("reads");
    assert_eq!(read.bytes_per_second.get(), 5586.7 * 1_048_576.0);
    assert_eq!((run.work.jobs, run.work.block_size), (Some(10), Some(Bytes::from_mib(1))));
    assert_eq!((read.submission_ns, read.completion_ns), (Some(1_426_100.0), Some(2530.0)));
}

#[test]
fn what_people_quote_of_an_output_is_read_and_marked_as_a_part() {
    let line = "  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n    clat (usec): min=49, max=77227, avg=2304.87, stdev=10577.33\n";
    let part = one(line);
    assert!(part.truncated);
    let read = part.measurements[0].read.as_ref().expect("reads");
    assert_eq!((read.bytes_per_second.get(), read.completion_ns), (97.2e6, Some(2_304_870.0)));
    let broken = one(&line.replace(" (97.2", "\n(97.2"));
    let side = |one: &Imported| one.measurements[0].read.clone();
    assert_eq!(side(&broken), side(&part), "a mail program broke the line");
    let two = one(&format!("before\n{line}after\n{}", line.replace("97.2", "97.3")));
    assert_eq!(two.measurements.len(), 2);
    // What is quoted above its own output is told once.
    let rate = "  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec)\n";
    assert!(!one(&format!("{rate}\n{NEW}")).truncated);
    let (head, _) = NEW.split_once("    clat percentiles").expect("a table");
    let cut = one(head);
    assert!(cut.truncated && !cut.is_headless && part.is_headless);
    assert_eq!(read_all(&format!("{NEW}\nwith the patch:\n{}", rate.replace("76.4", "76.5"))), 2);
}

fn read_all(body: &str) -> usize {
    read(&Page { name: "x", body }).len()
}

#[test]
fn a_group_is_read_where_its_jobs_are_not() {
    let group = "Run status group 0 (all jobs):\n   READ: bw=15.8MiB/s (16.5MB/s), 7459KiB/s-8671KiB/s (7638kB/s-8879kB/s), io=964MiB (1010MB), run=61179-61179msec\n  \
        WRITE: bw=15.8MiB/s (16.6MB/s), 7490KiB/s-8682KiB/s (7670kB/s-8890kB/s), io=966MiB (1013MB), run=61179-61179msec\n";
    let part = one(&format!("x: (g=0): rw=randrw, bs=4k, ioengine=psync, iodepth=1\n...\n{group}"));
    let measured = &part.measurements[0];
    assert_eq!(
        (measured.work.label.as_str(), measured.read.is_some(), measured.write.is_some()),
        ("x", true, true)
    );
    let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=4000, BW=15.8MiB/s (16.5MB/s)(964MiB/61179msec)\n  write: IOPS=4000, BW=15.8MiB/s (16.6MB/s)(966MiB/61179msec)\n";
    assert_eq!(one(&format!("{job}{group}")).measurements.len(), 1);
    assert_eq!(
        one(&format!("{group}\nlater\n{}", group.replace("16.", "17.").replace("io=96", "io=86")))
            .measurements
            .len(),
        2
    );
}

#[test]
fn groups_that_moved_as_much_in_another_time_are_of_other_runs() {
    let group = |rate: &str, millis: u32| {
        format!(
            "READ: bw={rate}MiB/s, {rate}MiB/s-{rate}MiB/s, io=3070MiB (3219MB), run={millis}-{millis}msec\n"
        )
    };
    let rates = |body: &str| -> Vec<u64> {
        let found = read(&Page { name: "x", body });
        let sides = found.iter().flat_map(|one| &one.measurements).filter_map(|one| one.read.as_ref());
        sides.map(|side| side.bytes_per_second.get() as u64 >> 20).collect()
    };
    let two = format!(
        "9p\n{}virtiofs\nRun status group 0 (all jobs):\n{}",
        group("211", 14_532),
        group("159", 19_321)
    );
    assert_eq!(rates(&two), [211, 159]);
    let job =
        |rate: &str, millis: u32| format!("read: IOPS=5, BW={rate}MiB/s (1MB/s)(3070MiB/{millis}msec)\n");
    let both = format!(
        "a\n{}{}b\n{}{}",
        job("211", 14_532),
        group("211", 14_532),
        job("159", 19_321),
        group("159", 19_321)
    );
    assert_eq!(rates(&both).len(), 2);
}

#[test]
fn a_rate_below_the_end_of_a_job_is_none_of_its_own() {
    let job = "x: (groupid=0, jobs=1): err= 0: pid=1\n  write: IOPS=18.6k, BW=72.8MiB/s (76.4MB/s)(22.0MiB/302msec)\n  cpu          : usr=7.15%, sys=37.12%, ctx=127008\n";
    let found = read(&Page {
        name: "x",
        body: &format!(
            "{job}\nand over the network:\nread: IOPS=20.0k, BW=78.3MiB/s (82.1MB/s)(3070MiB/39227msec)\n"
        ),
    });
    let sides: Vec<usize> =
        found.iter().flat_map(|one| &one.measurements).map(|one| one.sides().count()).collect();
    assert_eq!((found.len(), sides), (2, vec![1, 1]));
}

#[test]
fn two_runs_in_one_text_are_two_results() {
    let both = format!("{NEW}\n{NEW}");
    assert_eq!(read(&Page { name: "x", body: &both }).len(), 2);
}

#[test]
fn a_job_below_the_sums_of_a_run_is_of_another_run_and_keeps_its_own_figures() {
    let job = |name: &str, iops: u32, ios: u32| {
        format!(
            "{name}: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS={iops}, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n     issued rwts: total={ios},0,0,0 short=0,0,0,0 dropped=0,0,0,0\n"
        )
    };
    let sums = "\nRun status group 0 (all jobs):\n   READ: bw=92.7MiB/s (97.2MB/s), 92.7MiB/s-92.7MiB/s (97.2MB/s-97.2MB/s), io=128MiB (134MB), run=1381-1381msec\n";
    // The tail of a job whose rate was not quoted.
    let tail = "     issued rwts: total=7,0,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let body = format!("{}{}{sums}{tail}{}", job("a", 100, 256), job("b", 200, 512), job("c", 300, 768));
    let found = read(&Page { name: "x", body: &body });
    let ios = |run: &Imported| -> Vec<Option<u64>> {
        run.measurements.iter().map(|one| one.read.as_ref().and_then(|side| side.ios)).collect()
    };
    assert_eq!(found.iter().map(ios).collect::<Vec<_>>(), [vec![Some(256), Some(512)], vec![Some(768)]]);
    let clients = format!("{}{sums}{}{sums}", job("<a> x", 100, 256), job("<b> x", 200, 512));
    assert_eq!(read(&Page { name: "x", body: &clients }).len(), 1);
}

#[test]
fn sums_of_a_group_that_was_summed_before_are_of_another_run() {
    let job =
        "a: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=185, BW=92.7MiB/s (97.2MB/s)(128MiB/1381msec)\n";
    let sums = |group: u32, mib: u32| {
        format!(
            "\nRun status group {group} (all jobs):\n   READ: bw={mib}MiB/s, {mib}MiB/s-{mib}MiB/s, io={mib}MiB, run=1381-1381msec\n"
        )
    };
    let rates = |body: &str| -> Vec<u64> {
        let found = read(&Page { name: "x", body });
        let all = found.iter().flat_map(|run| &run.measurements);
        all.filter_map(|one| one.read.as_ref())
            .map(|side| side.bytes_per_second.get().round() as u64)
            .collect()
    };
    let tail = "  cpu          : usr=0.36%, sys=53.19%, ctx=521\n";
    let both = format!("{job}{}and another one:\n{tail}{}", sums(0, 93), sums(0, 7454));
    assert_eq!(rates(&both), [97_200_000, 7454 << 20]);
    assert_eq!(rates(&format!("{job}{}{}", sums(0, 93), sums(1, 95))), [97_200_000]);
}
