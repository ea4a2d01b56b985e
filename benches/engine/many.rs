//! Many files at once, and a second worker: what the engine gives where several drives are read together.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use narrows::load::measurement::{Pattern, Workload};
use narrows::load::{Control, EngineChoice, Reap, RunOptions, Target, run};
use narrows::units::{Bytes, Nanos};
use serde_json::{Value, json};

use super::{BATCH, Outcome, Pairs, ROUNDS, SECONDS, batches, fio_sum};

/// As many as a server has drives.
const FILES: u32 = 16;
/// All of them together stay in the page cache.
const EACH: Bytes = Bytes::from_mib(16);
/// The depth of each file.
const DEPTH: u32 = 32;
/// Where they run.
const CPUS: [u32; 2] = [0, 1];

/// Sixteen cached files at once, a worker for each, beside fio with a thread for each file, and with a thread for each
/// processor that reads half of the files.
///
/// # Errors
/// A file cannot be made, or a run of ours fails.
pub(super) fn beside_fio(directory: &Path) -> Outcome<Value> {
    let paths = (0..FILES).map(|number| cached(directory, number)).collect::<Outcome<Vec<PathBuf>>>()?;
    let (mut each, mut few) = (Pairs::default(), Pairs::default());
    for _ in 0..ROUNDS {
        each.push(all_at_once(&paths)?, fio(&paths, paths.len()));
        few.push(all_at_once(&paths)?, fio(&paths, CPUS.len()));
    }
    println!(
        "\n4096 B random read, {FILES} cached files at once, depth {DEPTH} each, {} CPUs   IOPS   ratio",
        CPUS.len()
    );
    each.print("narrows, every latency recorded", "fio io_uring, a thread for each file");
    few.print("narrows, every latency recorded", "fio io_uring, a thread for each CPU");
    paths.iter().try_for_each(std::fs::remove_file)?;
    Ok(json!({ "thread_for_each_file": each.json("iops"), "thread_for_each_cpu": few.json("iops") }))
}

/// Two workers on two processors beside twice what one gives, in turns.
///
/// # Errors
/// The file cannot be made, or a run fails.
pub(super) fn second_worker(directory: &Path) -> Outcome<Value> {
    let path = cached(directory, 0)?;
    let mut pairs = Pairs::default();
    for _ in 0..ROUNDS {
        let both = iops(&path, &CPUS)?;
        // Each processor alone: they need not be equally fast at this moment.
        let alone = CPUS.iter().map(|cpu| iops(&path, &[*cpu])).sum::<Outcome<f64>>();
        pairs.push(both, alone);
    }
    println!("\n4096 B random read, cached, depth {DEPTH}, two workers   IOPS   ratio");
    pairs.print("both at once", "each alone, added up");
    std::fs::remove_file(&path)?;
    Ok(pairs.json("iops"))
}

fn cached(directory: &Path, number: u32) -> Outcome<PathBuf> {
    let path = directory.join(format!("many-{number}.data"));
    let mut file = File::create(&path)?;
    for _ in 0..EACH.get() >> 20 {
        file.write_all(&[0x5a; 1 << 20])?;
    }
    file.sync_all()?;
    Ok(path)
}

/// The sum of what the files give at once, each read by a worker of its own.
fn all_at_once(paths: &[PathBuf]) -> Outcome<f64> {
    thread::scope(|scope| {
        let read = |(path, cpu): (&PathBuf, u32)| {
            let path = path.clone();
            scope.spawn(move || iops(&path, &[cpu]).map_err(|error| error.to_string()))
        };
        let runs: Vec<_> = paths.iter().zip(CPUS.into_iter().cycle()).map(read).collect();
        let rates = runs.into_iter().map(|run| run.join().map_err(|_| "a run panicked")?.map_err(Into::into));
        rates.sum()
    })
}

fn iops(path: &Path, cpus: &[u32]) -> Outcome<f64> {
    let target = Target::open_file_cached(path)?;
    let workload =
        Workload::read(Pattern::Random, Bytes::new(4096), DEPTH, Nanos::from_millis(SECONDS * 1000));
    let options = RunOptions {
        cpus: cpus.to_vec(),
        workers: u32::try_from(cpus.len())?,
        engine: EngineChoice::IoUring,
        reap: Reap::Batch(BATCH),
        warm_up: Nanos::from_millis(200),
        ..RunOptions::default()
    };
    let measurement = run(&target, &workload, &options, &Control::default())?;
    assert_eq!(measurement.checks.recorded, measurement.checks.completed, "every read is recorded");
    Ok(measurement.iops.get())
}

/// Fio with `threads` threads, which share the files and the processors equally.
fn fio(paths: &[PathBuf], threads: usize) -> Outcome<f64> {
    let mut options: Vec<String> =
        ["--ioengine=io_uring", "--fixedbufs", "--registerfiles", "--bs=4k", "--readonly"]
            .map(str::to_owned)
            .into();
    options.extend(batches().map(str::to_owned));
    let share = paths.len() / threads;
    for (number, files) in paths.chunks(share).enumerate() {
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        options.extend([
            format!("--name=peer{number}"),
            format!("--filename={}", names.join(":")),
            format!("--iodepth={}", DEPTH as usize * files.len()),
            format!("--cpus_allowed={}", CPUS[number % CPUS.len()]),
        ]);
    }
    fio_sum(&options.iter().map(String::as_str).collect::<Vec<_>>())
}
