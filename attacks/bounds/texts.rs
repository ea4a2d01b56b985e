//! Texts without end, of the kinds that people paste: memory is bounded by their length, time grows with it, and what was left
//! out is said.

use std::fs::{self, File};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::ground::{Ground, text};
use super::super::narrows::{Answer, Run};

const MIB: usize = 1 << 20;

/// What is taken whatever was given, a debug build's code among it, for each byte, and by the longest.
const ANY: u64 = 80 << 20;
const EACH: u64 = 40;
const MOST: u64 = 1 << 30;

/// One of the things that a text consists of, by its number.
type Thing = fn(usize) -> String;

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    let fio = |n: usize| {
        format!(
            "j{n}: (groupid={n}, jobs=1): err= 0: pid={n}: Wed Nov  7 17:27:09 2018\n  read: IOPS=10.0k, BW=39.1MiB/s (41.0MB/s)(2344MiB/60001msec)\n"
        )
    };
    let dmesg = |n: usize| {
        format!(
            "[{n:5}.000000] nvme 0000:{:02x}:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)\n",
            n % 200
        )
    };
    let lspci = |n: usize| {
        format!(
            "{:02x}:{:02x}.{} Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n",
            n % 256,
            n / 256 % 32,
            n / 8192 % 8
        )
    };
    let lsblk = |n: usize| format!("sd{n} 8:{n} 0 931.5G 0 disk /m{n}\n");
    let mdstat = |n: usize| {
        format!("md{n} : active raid1 sda{n}[0] sdb{n}[1]\n      1000 blocks super 1.2 [2/2] [UU]\n\n")
    };
    let own = |n: usize| {
        format!(
            "{{\"name\":\"t{n}\",\"load\":{{\"pattern\":\"random\",\"block_size\":4096,\"queue_depth\":32,\"parallel\":{{\"threads\":1}},\"write_percent\":0,\"buffered\":false}},\"write\":null,\"read\":{{\"bytes_per_second\":500000000,\"ci95\":[495000000,505000000]}}}},\n"
        )
    };
    let objects = |_: usize| "{\"\":0},".to_owned();
    let (bench, jobs) =
        ("{\"schema\":\"narrows/bench/1\",\"results\":[\n", "{\"fio version\":\"fio-3.33\",\"jobs\":[\n");
    let rows = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINT\n";
    vec![
        long("reports of dd", "", dd, &[]).quick(),
        long("jobs of fio", "", fio, &["--json"]),
        long("jobs of fio in JSON", jobs, |n| job(n, 4), &["--csv"]),
        long("messages of a kernel", "", dmesg, &["--json"]),
        long("functions of lspci", "", lspci, &[]),
        long("rows of lsblk", rows, lsblk, &[]).quick(),
        long("arrays that share all disks", "Personalities : [raid1]\n", mdstat, &["--json"]),
        long("tests of our own JSON", bench, own, &[]),
        long("objects of seven bytes", bench, objects, &[]).quick(),
        Attack::new(Class::Bounds, "an archive of texts without end", archive),
        Attack::new(Class::Bounds, "jobs that have no pair", compare).quick(),
    ]
}

fn dd(n: usize) -> String {
    format!(
        "1024+0 records in\n1024+0 records out\n{} bytes (1.1 GB, 1.0 GiB) copied, 2.0 s, 537 MB/s\n",
        1_073_741_824 + n
    )
}

fn job(n: usize, depth: usize) -> String {
    format!(
        "{{\"jobname\":\"j\",\"groupid\":{n},\"job options\":{{\"rw\":\"randread\",\"bs\":\"4k\",\"iodepth\":\"{depth}\"}},\"read\":{{\"io_bytes\":4096000,\"bw_bytes\":{n},\"iops\":1000.0,\"runtime\":1000,\"total_ios\":1000}}}},\n"
    )
}

/// `head`, and things behind it until the text is so long.
fn write(path: &Path, head: &str, thing: Thing, length: usize) -> Result<()> {
    let mut body = head.to_owned();
    let mut things = (0..).map(thing);
    while body.len() < length {
        body.extend(things.next());
    }
    if head.ends_with("[\n") {
        body.push_str("{}]}\n");
    }
    Ok(fs::write(path, body)?)
}

/// Bounded by an address space of its own, too: a text that takes all memory must not take that of others.
fn run(ground: &Ground, words: &[&str]) -> Result<Answer> {
    Run::through(ground, "ulimit -v 3000000; exec \"$NARROWS\" \"$@\"", words).answer()
}

fn long(name: &'static str, head: &'static str, thing: Thing, words: &'static [&'static str]) -> Attack {
    Attack::new(Class::Bounds, &format!("without end: {name}"), move |ground: &Ground, judge: &mut Judge| {
        let path = ground.path("long.txt");
        let mut times = Vec::new();
        let lengths: &[usize] = if ground.quick { &[MIB] } else { &[MIB, 4 * MIB] };
        for length in lengths {
            write(&path, head, thing, *length)?;
            let answer = run(ground, &[words, &[text(&path)?]].concat())?;
            bounded(judge, &answer, *length, name);
            times.push(answer.took.as_secs_f64());
        }
        linear(judge, &times, name);
        Ok(())
    })
}

fn bounded(judge: &mut Judge, answer: &Answer, length: usize, when: &str) {
    answer.must_be_orderly(judge, when);
    let most = MOST.min(ANY + EACH * length as u64);
    judge.that(answer.memory < most, || {
        format!(
            "{when}: {} MB of memory for {} kB, {} MB are allowed",
            answer.memory / 1_000_000,
            length / 1000,
            most / 1_000_000
        )
    });
}

/// Four times the text may take four times as long, and twice that on a busy machine; the square would be sixteen times.
fn linear(judge: &mut Judge, times: &[f64], when: &str) {
    if let [short, long] = times {
        judge.that(*long < 8.0 * short + 1.0, || {
            format!("{when}: {short:.1} s, and {long:.1} s for four times as much")
        });
    }
}

fn archive(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (path, part) = (ground.path("long.tar.gz"), ground.path("part.txt"));
    write(&part, "", dd, 2 * MIB)?;
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(&path)?, Compression::fast()));
    for name in ["a.txt", "b.txt", "c.txt"] {
        archive.append_path_with_name(&part, name)?;
    }
    archive.into_inner()?.finish()?;
    let answer = run(ground, &[text(&path)?])?;
    bounded(judge, &answer, 6 * MIB, "an archive");
    judge.that(answer.says(&["further results were left out"]), || {
        "does not say what was left out".to_owned()
    });
    Ok(())
}

fn compare(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (a, b) = (ground.path("a.json"), ground.path("b.json"));
    let mut times = Vec::new();
    for count in [500, 2000] {
        let head = "{\"fio version\":\"fio-3.33\",\"jobs\":[\n";
        write(&a, head, |n| job(n, 4), 200 * count)?;
        write(&b, head, |n| job(n, 8 + n % 500), 200 * count)?;
        let answer = run(ground, &["compare", text(&a)?, text(&b)?])?;
        bounded(judge, &answer, 400 * count, "compare");
        times.push(answer.took.as_secs_f64());
    }
    linear(judge, &times, "compare");
    Ok(())
}
