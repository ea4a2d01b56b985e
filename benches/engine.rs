//! What the engine costs, beside fio in the same run: `cargo bench --bench engine`.
//!
//! 1. NOPs through the ring, every latency recorded, alone and beside fio's null engine, plain and in batches.
//! 2. Random reads of a cached file in blocks of 4 KiB and of 512 bytes at depth 128 in batches of 32, on one CPU: ours
//!    with every latency recorded, and fio's io_uring engine at its best (registered file and buffers, the same batches,
//!    no random map) with its usual latency recording. When `NARROWS_T_IO_URING` names a build of fio's `t/io_uring`, it
//!    runs as well, without latency recording: in turns, and at the same time on the same CPU (`engine/uring.rs`).
//! 3. Sixteen cached files at once on two CPUs, a worker for each, and two workers beside twice one (`engine/many.rs`).
//! 4. The reads of 2 of a block device in memory, past the page cache: `NARROWS_BENCH_MEMORY_DEVICE=/dev/ram0`, or one that
//!    is made (`engine/memory.rs`); else that says `skipped: …`.
//! 5. `narrows copy` beside `cp -a` on the same tree (`engine/copying.rs`).
//! 6. 1 MiB sequential reads of a scratch file in `target/bench` past the page cache for 1 s, and the bytes that the
//!    counters of the disk below saw meanwhile. `NARROWS_BENCH_DEVICE=/dev/…` reads that device, read-only, instead.
//!
//! Rounds of ours and theirs alternate. A ratio is the median of the ratios of the rounds. Everything is written to
//! `target/bench/summary.json`. Words choose parts: `cargo bench --bench engine -- memory copy`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a benchmark makes a file, runs fio and prints a table"
)]

#[path = "engine/copying.rs"]
mod copying;
#[path = "engine/many.rs"]
mod many;
#[path = "engine/memory.rs"]
mod memory;
#[path = "engine/uring.rs"]
mod uring;

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use memory::MemoryDevice;
use narrows::load::measurement::{Measurement, Pattern, Workload};
use narrows::load::target::Region;
use narrows::load::{
    Control, EngineChoice, Phase, Reap, RunOptions, ScratchFile, ScratchOptions, Target, nop_ceiling, run,
};
use narrows::units::{Bytes, Nanos};
use nix::sys::stat::{major, minor};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Of each comparison: few enough for all parts to take less than 4 minutes.
const ROUNDS: usize = 7;
const SECONDS: u64 = 1;
/// Where all of them run.
const CPU: u32 = 0;
/// Small enough to stay in the page cache.
const FILE: Bytes = Bytes::from_mib(256);
const SCRATCH: Bytes = Bytes::from_mib(2048);
const DEPTH: u32 = 128;
const BATCH: u32 = 32;

/// The name of a part on the command line, its name in the summary, and the part.
type Part = (&'static str, &'static str, fn(&Path) -> Outcome<Value>);

const PARTS: &[Part] = &[
    ("nop", "nop", |_| nop()),
    ("null", "nop_against_fio_null", |_| nop_beside_null()),
    ("cached", "cached_random_read", cached_reads),
    ("many", "many_files", many::beside_fio),
    ("workers", "second_worker", many::second_worker),
    ("memory", "memory_device_random_read", |_| memory_reads()),
    ("copy", "copy", copying::beside_cp),
    ("device", "device_bytes", device_bytes),
];

fn main() -> Outcome<()> {
    // `cargo test --benches` runs every benchmark to see that it works; this one is too long for that.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let directory =
        PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("bench");
    fs::create_dir_all(&directory)?;
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if let Some(unknown) = words.iter().find(|word| !PARTS.iter().any(|(name, ..)| name == word)) {
        return Err(format!("there is no part `{unknown}`").into());
    }
    let mut summary = serde_json::Map::new();
    for (name, key, part) in PARTS {
        if words.is_empty() || words.iter().any(|word| word == name) {
            summary.insert((*key).to_owned(), part(&directory)?);
        }
    }
    let path = directory.join("summary.json");
    fs::write(&path, serde_json::to_string_pretty(&summary)? + "\n")?;
    println!("\nwritten to {}", path.display());
    Ok(())
}

/// The median; `None` of nothing.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn nop() -> Outcome<Value> {
    let mut costs = Vec::new();
    let mut engine = String::new();
    for _ in 0..ROUNDS {
        let result = nop_ceiling(Nanos::from_millis(500))?;
        assert_eq!(result.latency.count, result.ios, "every NOP is recorded");
        costs.push(result.ns_per_io);
        engine = result.engine.to_string();
    }
    let best = costs.iter().copied().fold(f64::MAX, f64::min);
    let median = median(costs).ok_or("no round ran")?;
    println!("engine: {engine}");
    println!("NOP through the ring, every latency recorded: {median:.1} ns per I/O (best {best:.1})");
    Ok(json!({ "engine": engine, "ns_per_io": median, "ns_per_io_best": best, "rounds": ROUNDS }))
}

/// Our NOPs beside fio's null engine, which does nothing without asking the kernel.
fn nop_beside_null() -> Outcome<Value> {
    let null = ["--ioengine=null", "--size=1g", "--bs=4k"];
    let (mut plain, mut batched) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        let ours = || nop_ceiling(Nanos::from_millis(SECONDS * 1000)).map(|nop| 1e9 / nop.ns_per_io);
        plain.push(ours()?, fio(&null));
        batched.push(ours()?, fio(&[&null[..], &batches()].concat()));
    }
    println!("\nNOP through the ring against fio's null engine, depth {DEPTH}, one CPU   IOPS   ratio");
    plain.print("narrows, every latency recorded", "fio null");
    batched.print("narrows, every latency recorded", "fio null, in batches");
    Ok(json!({ "plain": plain.json("iops"), "in_batches": batched.json("iops") }))
}

/// What makes fio submit and reap in batches.
fn batches() -> [&'static str; 3] {
    ["--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32", "--iodepth_batch_complete_max=32"]
}

/// Rounds of ours and theirs in turn.
#[derive(Default)]
struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// The ratio of each round, in which the machine was in the same mood for both.
    ratios: Vec<f64>,
    /// Why the other one did not run, if it did not.
    why_not: Option<String>,
}

impl Pairs {
    fn push(&mut self, ours: f64, theirs: Outcome<f64>) {
        self.ours.push(ours);
        match theirs {
            Ok(theirs) => {
                self.theirs.push(theirs);
                self.ratios.push(ours / theirs);
            }
            Err(error) => self.why_not = Some(error.to_string()),
        }
    }

    fn print(&self, ours: &str, theirs: &str) {
        let rate = |values: &[f64]| {
            median(values.to_vec()).map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"))
        };
        match (median(self.ratios.clone()), &self.why_not) {
            (Some(ratio), _) => {
                println!("  {ours:<44} {:>12}    {ratio:.2}", rate(&self.ours));
                println!("  {theirs:<44} {:>12}    1.00", rate(&self.theirs));
            }
            (None, why) => {
                println!("  {ours:<44} {:>12}", rate(&self.ours));
                println!("  {theirs:<44} not compared: {}", why.as_deref().unwrap_or("no round ran"));
            }
        }
    }

    /// Both medians, in `unit`, and the ratio; `null` with a reason where there was nothing to compare with.
    fn json(&self, unit: &str) -> Value {
        json!({
            format!("narrows_{unit}"): median(self.ours.clone()),
            format!("their_{unit}"): median(self.theirs.clone()),
            "ratio": median(self.ratios.clone()),
            "ratios": self.ratios,
            "rounds": self.ours.len(),
            "reason": self.why_not,
        })
    }
}

fn cached_reads(directory: &Path) -> Outcome<Value> {
    let path = directory.join("cached.data");
    let mut file = File::create(&path)?;
    for _ in 0..FILE.get() >> 20 {
        file.write_all(&[0x5a; 1 << 20])?;
    }
    file.sync_all()?;
    // The file was just written, so it is in the page cache as a whole.
    let cached = Subject {
        what: "cached",
        path: &path,
        open: &|| Ok(Target::open_file_cached(&path)?),
        direct: false,
        region: None,
    };
    let outcome = both_sizes(&cached);
    fs::remove_file(&path)?;
    outcome
}

/// Random reads of a block device in memory, or why there are none.
fn memory_reads() -> Outcome<Value> {
    let device = match MemoryDevice::new() {
        Ok(device) => device,
        Err(why) => {
            println!("\nrandom reads of a block device in memory\n  skipped: {why}");
            return Ok(json!({ "skipped": why.to_string() }));
        }
    };
    let subject = Subject {
        what: "block device in memory",
        path: &device.path,
        open: &|| device.target(),
        direct: true,
        region: Some(device.region),
    };
    let mut outcome = both_sizes(&subject)?;
    outcome["device"] = json!(device.path);
    Ok(outcome)
}

/// What is read at random.
struct Subject<'a> {
    what: &'a str,
    path: &'a Path,
    open: &'a dyn Fn() -> Outcome<Target>,
    direct: bool,
    /// The part that is read; the whole of it if `None`.
    region: Option<Region>,
}

impl Subject<'_> {
    /// What fio is told of it.
    fn for_fio(&self, size: u64) -> Vec<String> {
        let mut options = vec![
            format!("--bs={size}"),
            format!("--filename={}", self.path.display()),
            format!("--direct={}", u8::from(self.direct)),
            "--readonly".to_owned(),
        ];
        options.extend(self.region.iter().flat_map(|region| {
            [format!("--offset={}", region.start.get()), format!("--size={}", region.length.get())]
        }));
        options
    }
}

fn both_sizes(subject: &Subject<'_>) -> Outcome<Value> {
    let block = (subject.open)()?.logical_block_size().get();
    let one = |size: u64| {
        if size.is_multiple_of(block) {
            return compare(subject, size);
        }
        let why = format!("the logical block has {block} bytes");
        println!("\n{size} B random read, {}\n  skipped: {why}", subject.what);
        Ok(json!({ "skipped": why }))
    };
    Ok(json!({ "4096": one(4096)?, "512": one(512)? }))
}

/// Random reads of one size: ours beside fio, and beside `t/io_uring` where it is at hand.
fn compare(subject: &Subject<'_>, size: u64) -> Outcome<Value> {
    let place = subject.for_fio(size);
    let place: Vec<&str> = place.iter().map(String::as_str).collect();
    let uring = std::env::var_os("NARROWS_T_IO_URING").filter(|path| !path.is_empty()).map(PathBuf::from);
    let (mut fios, mut urings, mut at_once) = (Pairs::default(), Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        let fixed = ["--ioengine=io_uring", "--fixedbufs", "--registerfiles"];
        fios.push(narrows_iops(subject, size)?, fio(&[&fixed[..], &place, &batches()].concat()));
        if let Some(program) = &uring {
            urings.push(narrows_iops(subject, size)?, uring::iops(program, subject, size));
            let (ours, theirs) = uring::at_once(program, subject, size)?;
            at_once.push(ours, Ok(theirs));
        }
    }
    println!(
        "\n{size} B random read, {}, depth {DEPTH}, batch {BATCH}, one CPU   IOPS   ratio",
        subject.what
    );
    fios.print("narrows, every latency recorded", "fio io_uring, fixed buffers and file");
    if uring.is_some() {
        urings.print("narrows, every latency recorded", "t/io_uring, no latency recorded");
        println!("  both at once on this CPU, for each second of its time");
        at_once.print("narrows, every latency recorded", "t/io_uring, no latency recorded");
    }
    Ok(json!({
        "fio_io_uring": fios.json("iops"),
        "t_io_uring": uring.as_ref().map(|_| urings.json("iops")),
        "t_io_uring_at_once": uring.map(|_| at_once.json("iops_per_cpu_second")),
    }))
}

fn narrows_iops(subject: &Subject<'_>, size: u64) -> Outcome<f64> {
    Ok(narrows_reads(subject, size, Nanos::from_millis(200), Nanos::from_millis(SECONDS * 1000))?.iops.get())
}

fn narrows_reads(subject: &Subject<'_>, size: u64, warm_up: Nanos, duration: Nanos) -> Outcome<Measurement> {
    let target = (subject.open)()?;
    let workload = Workload::read(Pattern::Random, Bytes::new(size), DEPTH, duration);
    let options = RunOptions {
        cpus: vec![CPU],
        engine: EngineChoice::IoUring,
        reap: Reap::Batch(BATCH),
        warm_up,
        ..RunOptions::default()
    };
    let measurement = run(&target, &workload, &options, &Control::default())?;
    assert_eq!(measurement.checks.recorded, measurement.checks.completed, "every read is recorded");
    Ok(measurement)
}

/// The IOPS of fio for random reads at the same depth, with no map of what was read.
fn fio(special: &[&str]) -> Outcome<f64> {
    let place = [format!("--iodepth={DEPTH}"), format!("--cpus_allowed={CPU}")];
    let options: Vec<&str> = place.iter().map(String::as_str).chain(special.iter().copied()).collect();
    fio_sum(&[&["--name=peer"], &options[..]].concat())
}

/// What all jobs of fio give together, in IOPS.
fn fio_sum(jobs: &[&str]) -> Outcome<f64> {
    let output = Command::new("fio")
        .args(["--name=global", "--rw=randread", "--norandommap", "--direct=0", "--invalidate=0"])
        .args(["--time_based", "--ramp_time=200ms", "--thread", "--output-format=json"])
        .arg(format!("--runtime={SECONDS}"))
        .args(jobs)
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "fio is not installed".to_owned(),
            _ => format!("fio cannot be run: {error}"),
        })?;
    let text = String::from_utf8(output.stdout)?;
    let start = text.find('{').ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let result: Value = serde_json::from_str(&text[start..])?;
    let jobs = result["jobs"].as_array().ok_or("no jobs in fio's output")?;
    let iops = |job: &Value| job["read"]["iops"].as_f64().ok_or_else(|| "no IOPS in fio's output".into());
    jobs.iter().map(iops).sum()
}

/// What to read for the comparison with the disk's counters, and the disk's number.
fn counted_target(directory: &Path) -> Outcome<(Target, u64)> {
    if let Some(device) = std::env::var_os("NARROWS_BENCH_DEVICE") {
        return Ok((Target::open_device(Path::new(&device))?, fs::metadata(&device)?.rdev()));
    }
    let go = &mut |_, _| ControlFlow::Continue(());
    let scratch = ScratchFile::create(directory, SCRATCH, &ScratchOptions::default(), go)?;
    Ok((scratch.into_target(), fs::metadata(directory)?.dev()))
}

fn device_bytes(directory: &Path) -> Outcome<Value> {
    let (target, number) = counted_target(directory)?;
    let workload =
        Workload::read(Pattern::Sequential, Bytes::from_mib(1), 8, Nanos::from_millis(SECONDS * 1000));
    let options = RunOptions { warm_up: Nanos::from_millis(300), ..RunOptions::default() };
    let control = Control::default();
    let (measurement, seen): (Measurement, _) = thread::scope(|scope| -> Outcome<_> {
        let watcher = scope.spawn(|| {
            control.wait_for(Phase::Measuring);
            let before = bytes_read(number);
            control.wait_for(Phase::Done);
            Some(bytes_read(number)? - before?)
        });
        let measurement = run(&target, &workload, &options, &control)?;
        let seen = watcher.join().map_err(|_| "the watcher failed")?;
        Ok((measurement, seen.ok_or("the device has no line in /proc/diskstats")?))
    })?;
    let ratio = measurement.bytes.as_f64() / seen as f64;
    println!("\n1 MiB sequential read, depth 8, {:?}, {:?}", target.kind(), measurement.access);
    println!("  {} in {}: {}", measurement.bytes, measurement.elapsed_ns, measurement.bytes_per_second);
    println!("  counted {} bytes, /proc/diskstats {seen}: ratio {ratio:.4}", measurement.bytes.get());
    Ok(json!({ "counted": measurement.bytes, "diskstats": seen, "ratio": ratio, "measurement": measurement }))
}

/// The bytes read so far from a disk or partition: field 6 of its line in `/proc/diskstats`, in sectors of 512 bytes
/// (kernel Documentation/admin-guide/iostats.rst).
fn bytes_read(number: u64) -> Option<u64> {
    let table = fs::read_to_string("/proc/diskstats").ok()?;
    let disk = [major(number).to_string(), minor(number).to_string()];
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let sectors = fields
        .filter(|fields| fields.iter().take(2).eq(&disk))
        .find_map(|fields| fields.get(5)?.parse().ok());
    sectors.map(|sectors: u64| sectors * 512)
}
