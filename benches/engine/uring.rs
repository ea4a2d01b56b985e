//! Fio's `t/io_uring` beside ours.
//!
//! In turns the two meet different minutes of a shared machine, and rates of memory differ by tens of percent from one to
//! the next. At once on one CPU, which gives each of them half of its time in turns of milliseconds, they meet the same:
//! I/Os for each second of processor time differ by what the programs cost.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use narrows::units::Nanos;

use super::{BATCH, CPU, DEPTH, Outcome, SECONDS, Subject, narrows_reads};

/// For how many seconds both are counted, beginning one second after their start, and over the same ones: the machine's
/// speed changes by more from one second to the next than the programs differ.
const COUNTED: u64 = 4;
/// Samples of a measurement's series in a second: one for each 100 ms (`Measurement::series`).
const SAMPLES: usize = 10;

/// Its IOPS: the mean of what it prints for each second, as ours is a mean.
///
/// # Errors
/// It did not run, or printed nothing that is understood.
pub(super) fn iops(program: &Path, subject: &Subject<'_>, size: u64) -> Outcome<f64> {
    let output = command(program, subject, size, SECONDS + 1).output()?;
    mean(&seconds(&output.stdout)).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into())
}

/// The I/Os of ours and of `t/io_uring` for each second of processor time, both at once on one CPU.
///
/// # Errors
/// One of them did not run.
pub(super) fn at_once(program: &Path, subject: &Subject<'_>, size: u64) -> Outcome<(f64, f64)> {
    let child =
        command(program, subject, size, COUNTED + 3).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let processes = [std::process::id(), child.id()];
    let (ours, shares) = thread::scope(|scope| {
        let shares = scope.spawn(move || {
            thread::sleep(Duration::from_secs(1));
            let (begin, before) = (Instant::now(), processes.map(processor_time));
            thread::sleep(Duration::from_secs(COUNTED));
            let elapsed = begin.elapsed().as_secs_f64();
            let used = |index: usize| processor_time(processes[index]).saturating_sub(before[index]);
            [0, 1].map(|index| used(index).as_secs_f64() / elapsed)
        });
        // A second longer than what is counted, for its threads to be there when their time is read.
        let (warm_up, duration) = (Nanos::from_millis(1000), Nanos::from_millis((COUNTED + 1) * 1000));
        (narrows_reads(subject, size, warm_up, duration), shares.join())
    });
    let output = child.wait_with_output()?;
    let [our_share, their_share] = shares.map_err(|_| "the watching thread panicked")?;
    let counted = ..COUNTED as usize * SAMPLES;
    let rates: Vec<f64> = ours?.series.iter().map(|rate| rate.get()).collect();
    let ours = mean(rates.get(counted).unwrap_or_default()).ok_or("the run ended early")? / size as f64;
    let all = seconds(&output.stdout);
    let theirs = mean(all.get(1..=COUNTED as usize).unwrap_or_default())
        .ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok((ours / our_share, theirs / their_share))
}

fn command(program: &Path, subject: &Subject<'_>, size: u64, seconds: u64) -> Command {
    let mut command = Command::new("taskset");
    command
        .args(["-c", &CPU.to_string()])
        .arg(program)
        .args([format!("-b{size}"), format!("-d{DEPTH}"), format!("-s{BATCH}"), format!("-c{BATCH}")])
        .args(["-p0", "-B1", "-F1", "-n1"])
        .arg(format!("-O{}", u8::from(subject.direct)))
        .arg(format!("-r{seconds}"))
        .arg(subject.path);
    command
}

/// The IOPS of each second (`IOPS=1.20M, BW=…`).
fn seconds(printed: &[u8]) -> Vec<f64> {
    let text = String::from_utf8_lossy(printed);
    text.lines().filter_map(|line| scaled(line.strip_prefix("IOPS=")?.split(',').next()?)).collect()
}

/// A number with K or M behind it.
fn scaled(figure: &str) -> Option<f64> {
    let (number, scale) = match figure.strip_suffix('M') {
        Some(number) => (number, 1e6),
        None => figure.strip_suffix('K').map_or((figure, 1.0), |number| (number, 1e3)),
    };
    Some(number.parse::<f64>().ok()? * scale)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What all threads of a process have run so far, the kernel's workers for its rings among them: the first field of
/// `/proc/PID/task/TID/schedstat`, in nanoseconds.
fn processor_time(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let nanos = threads.filter_map(|thread| {
        fs::read_to_string(thread.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
