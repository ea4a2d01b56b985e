//! What the engine costs, beside fio in the same run: `cargo bench --bench engine`.
//!
//! 1. NOPs through the ring, every latency recorded.
//! 2. 4 KiB random reads of a cached file at depth 128 in batches of 32, on one CPU: ours with every latency recorded,
//!    and fio's io_uring engine at its best (registered file and buffers, the same batches, no random map) with its
//!    usual latency recording.
//! 3. 1 MiB sequential reads of a scratch file in `target/bench` past the page cache for 2 s, and the bytes that the
//!    counters of the disk below saw meanwhile. `NARROWS_BENCH_DEVICE=/dev/…` reads that device, read-only, instead.
//!
//! Rounds of ours and theirs alternate; the table gives medians. Everything is written to `target/bench/summary.json`.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a benchmark makes a file, runs fio and prints a table"
)]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use narrows::load::measurement::{Measurement, Pattern, Workload};
use narrows::load::{
    Control, EngineChoice, Phase, Reap, RunOptions, ScratchFile, ScratchOptions, Target, nop_ceiling, run,
};
use narrows::units::{Bytes, Nanos};
use nix::sys::stat::{major, minor};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const ROUNDS: usize = 5;
const SECONDS: u64 = 2;
/// Small enough to stay in the page cache.
const FILE: Bytes = Bytes::from_mib(256);
const SCRATCH: Bytes = Bytes::from_mib(2048);
const DEPTH: u32 = 128;
const BATCH: u32 = 32;

fn main() -> Outcome<()> {
    // `cargo test --benches` runs every benchmark to see that it works; this one is too long for that.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let directory =
        PathBuf::from(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())).join("bench");
    fs::create_dir_all(&directory)?;
    let summary = json!({
        "nop": nop()?,
        "cached_4k_random_read": cached_reads(&directory)?,
        "device_bytes": device_bytes(&directory)?,
    });
    let path = directory.join("summary.json");
    fs::write(&path, serde_json::to_string_pretty(&summary)? + "\n")?;
    println!("\nwritten to {}", path.display());
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn nop() -> Outcome<Value> {
    let mut costs = Vec::new();
    let mut engine = String::new();
    for _ in 0..ROUNDS {
        let result = nop_ceiling(Nanos::from_millis(500))?;
        assert_eq!(result.latency.count, result.ios, "every NOP is recorded");
        costs.push(result.ns_per_io);
        engine = result.engine;
    }
    let (best, median) = (costs.iter().copied().fold(f64::MAX, f64::min), median(costs));
    println!("engine: {engine}");
    println!("NOP through the ring, every latency recorded: {median:.1} ns per I/O (best {best:.1})");
    Ok(json!({ "engine": engine, "ns_per_io": median, "ns_per_io_best": best, "rounds": ROUNDS }))
}

fn cached_reads(directory: &Path) -> Outcome<Value> {
    let path = directory.join("cached.data");
    let mut file = File::create(&path)?;
    for _ in 0..FILE.get() >> 20 {
        file.write_all(&[0x5a; 1 << 20])?;
    }
    file.sync_all()?;
    let outcome = compare(&path);
    fs::remove_file(&path)?;
    outcome
}

fn compare(path: &Path) -> Outcome<Value> {
    // The file was just written, so it is in the page cache as a whole.
    let cpu = 0;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(narrows_iops(path, cpu)?);
        match fio_iops(path, cpu) {
            Ok(iops) => theirs.push(iops),
            Err(error) => println!("fio did not run: {error}"),
        }
    }
    let (narrows, fio) = (median(ours), median(theirs));
    println!("\n4 KiB random read, cached, depth {DEPTH}, batch {BATCH}, one CPU   IOPS      ratio to fio");
    println!(
        "  narrows, every latency recorded                    {narrows:>12.0}      {:.2}",
        narrows / fio
    );
    println!("  fio io_uring, fixed buffers and file               {fio:>12.0}      1.00");
    Ok(json!({ "narrows_iops": narrows, "fio_iops": fio, "ratio": narrows / fio, "rounds": ROUNDS }))
}

fn narrows_iops(path: &Path, cpu: u32) -> Outcome<f64> {
    let target = Target::open_file_cached(path)?;
    let workload =
        Workload::read(Pattern::Random, Bytes::from_kib(4), DEPTH, Nanos::from_millis(SECONDS * 1000));
    let options = RunOptions {
        cpus: vec![cpu],
        engine: EngineChoice::IoUring,
        reap: Reap::Batch(BATCH),
        warm_up: Nanos::from_millis(200),
        ..RunOptions::default()
    };
    let measurement = run(&target, &workload, &options, &Control::default())?;
    assert_eq!(measurement.latency.count * 4096, measurement.bytes.get(), "every read is recorded");
    Ok(measurement.iops.get())
}

fn fio_iops(path: &Path, cpu: u32) -> Outcome<f64> {
    let output = Command::new("fio")
        .args([
            "--name=cached",
            "--ioengine=io_uring",
            "--fixedbufs",
            "--registerfiles",
            "--rw=randread",
            "--bs=4k",
        ])
        .args([
            "--norandommap",
            "--direct=0",
            "--invalidate=0",
            "--time_based",
            "--ramp_time=200ms",
            "--thread",
        ])
        .args([format!("--iodepth={DEPTH}"), format!("--iodepth_batch_submit={BATCH}")])
        .args([
            format!("--iodepth_batch_complete_min={BATCH}"),
            format!("--iodepth_batch_complete_max={BATCH}"),
        ])
        .args([
            format!("--runtime={SECONDS}"),
            format!("--cpus_allowed={cpu}"),
            "--output-format=json".to_owned(),
        ])
        .arg(format!("--filename={}", path.display()))
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let start = text.find('{').ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let result: Value = serde_json::from_str(&text[start..])?;
    result["jobs"][0]["read"]["iops"].as_f64().ok_or_else(|| "no IOPS in fio's output".into())
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
