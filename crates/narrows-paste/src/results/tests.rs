//! What holds for every parser.

use proptest::prelude::*;

use super::surroundings::Surroundings;
use super::{Page, Tool, read};

fn tools(body: &str) -> Vec<Tool> {
    read(&Page { name: "x", body }).into_iter().map(|one| one.tool).collect()
}

#[test]
fn results_of_several_tools_in_one_text_come_in_its_order() {
    let body = "$ dd if=/dev/sda of=/dev/null bs=1M count=100\n100+0 records in\n100+0 records out\n\
        104857600 bytes (105 MB) copied, 0.5 s, 210 MB/s\n\
        # hdparm -t /dev/sda\n/dev/sda:\n Timing buffered disk reads: 142 MB in  3.01 seconds =  47.24 MB/sec\n\
        j: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=100, BW=100MiB/s (105MB/s)(100MiB/1000msec)\n";
    assert_eq!(tools(body), [Tool::Dd, Tool::Hdparm, Tool::Fio]);
}

#[test]
fn prose_holds_no_results() {
    assert!(
        tools("I measured read: 500 MB/s with fio and dd, then copied 3 files (4 GB) in 5 s, at 6 MB/s.\n")
            .is_empty()
    );
}

/// Pieces that the parsers look for, in any order.
fn pieces() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "\n",
        " ",
        ":",
        "=",
        "(",
        ")",
        "[",
        "]",
        ",",
        "/",
        "|",
        "%",
        "{",
        "}",
        "\"",
        "1",
        "0.5",
        "99999999999999999999",
        "read",
        "write",
        "IOPS=",
        "BW=",
        "MiB/s",
        "msec",
        "iops=",
        "bw=",
        "runt=",
        "(groupid=0, jobs=",
        "err= -1",
        "clat percentiles (usec)",
        "50.00th=[",
        "lat (nsec)",
        "avg=",
        "min=",
        "stdev=",
        "issued rwts: total=",
        "cpu ",
        "Disk stats",
        ": ios=",
        "fio-3.1",
        "fio ",
        "--rw=read",
        "\"fio version\"",
        "\"jobs\"",
        "bytes",
        "copied",
        "+0",
        "dd if=",
        "Timing buffered disk reads",
        "/dev/sda:",
        " MB in ",
        "seconds",
        "KDiskMark (",
        "[Read]",
        "(Q=",
        "MB/s [",
        "Sequential 1MiB",
        "Total IO",
        "total:",
        "%-ile",
        "3-nines",
        "max",
        "<Results>",
        "<TestTimeSeconds>",
        "</Profile>",
        "Children see throughput for",
        "reclen",
        "rewrite",
        "bw(MiB/s)",
        "access",
        "LAST DONE",
        "FIRST DONE",
        "READ",
        "Throughput MiB/s",
        "+++++",
        "1.96,",
        "aes-xts",
        "512b",
        "Version $Revision:",
        "zpool",
        "hit%",
        "miss",
        "Mem:",
        "operations     bandwidth",
        "IO500 version",
        "[RESULT] ",
        "ior-easy-write",
        "GiB/s : time ",
        "[SCORE ] Bandwidth ",
        "interval i/o MB/sec bytes read resp\n",
        "rate 1024**2 i/o pct time\n",
        "avg_2-5 ",
        "ReqstdOps",
        "fio Disk Speed Tests",
        "Block Size | 4k",
        "Read |",
        "bandwidth (GB/s)",
        "SUM ",
        "N/A",
        "\"phase_type\"",
        "\"bwMiB\"",
        "\"speed_r\"",
        "\"nvbandwidth\"",
        "access,bw(MiB/s)",
        "ISO date,label,",
        "ISO Date,Label,Phase,",
        "{'version': <1>",
        "'access-time-samples': <[(",
        "Sequential Output",
        "[Mix] Read 70",
        "Device r/s rkB/s %util\n",
        "\"Writer report\"",
        "tank 1G 1G 1 1 1M 1M",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_panics_and_every_number_is_finite(body in pieces()) {
        let page = Page { name: "x_bw.1.log", body: &body };
        Surroundings::default().see(&page);
        for result in read(&page) {
            for measured in &result.measurements {
                for (_, side) in measured.sides() {
                    prop_assert!(side.bytes_per_second.get().is_finite() || side.bytes_per_second.get() > 0.0);
                }
            }
        }
    }

    #[test]
    fn a_rate_that_fio_prints_is_the_rate_that_is_read(mb in 1u32..100_000, ms in 1u64..1_000_000, iops in 1u32..999) {
        let body = format!(
            "j: (groupid=0, jobs=1): err= 0: pid=1\n  write: IOPS={iops}, BW=1MiB/s ({mb}MB/s)(22.0MiB/{ms}msec)\n"
        );
        let found = read(&Page { name: "x", body: &body });
        let side = found[0].measurements[0].write.clone().expect("writes");
        prop_assert_eq!(side.bytes_per_second.get(), f64::from(mb) * 1e6);
        prop_assert_eq!(side.iops.map(|iops| iops.get()), Some(f64::from(iops)));
        prop_assert_eq!(side.elapsed_ns.map(|time| time.get()), Some(ms * 1_000_000));
    }
}

#[test]
fn a_result_measured_something_or_says_why_not() {
    let body = "nvbandwidth Version: v0.2\nBuilt from Git version: 6cefdda\n\nCUDA Runtime Version: 12030\n\n\
                Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n          0         1\n\
                0     25.50me Version: 12030\n";
    let results = read(&Page { name: "nv.txt", body });
    assert!(
        results.iter().all(|one| !one.measurements.is_empty() || !one.failures.is_empty()),
        "{results:?}"
    );
}
