//! Block devices: loop devices over files of our own, where the tests may make them.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "tests make files, attach loop devices and may panic"
)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::devices;
use narrows::load::measurement::{Access, Pattern, Workload};
use narrows::load::{Control, Kind, LoadError, RunOptions, Target, run};
use narrows::units::{Bytes, Nanos};

/// One test at a time: a child process that another test starts holds a copy of each open file, and with it the claim
/// on a device, between fork and exec.
static ALONE: Mutex<()> = Mutex::new(());

/// A loop device over a file of 16 MiB, detached when dropped.
struct Loop {
    device: PathBuf,
    _alone: MutexGuard<'static, ()>,
    image: tempfile::NamedTempFile,
}

impl Loop {
    /// `None`, with a note past the test harness, where loop devices cannot be had.
    fn attach(logical_block_size: u32) -> Option<Self> {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut image = tempfile::NamedTempFile::new().expect("a temporary file");
        image.write_all(&vec![0x3c; 16 << 20]).expect("room for it");
        let attached = Command::new("losetup")
            .args(["--find", "--show", "--sector-size", &logical_block_size.to_string()])
            .arg(image.path())
            .output();
        match attached {
            Ok(output) if output.status.success() => {
                let device: PathBuf = String::from_utf8_lossy(&output.stdout).trim().into();
                devices::forget_partitions(&device);
                Some(Self { device, _alone: alone, image })
            }
            Ok(output) => skip(&String::from_utf8_lossy(&output.stderr)),
            Err(error) => skip(&error.to_string()),
        }
    }

    /// Bytes read so far, by `/sys/class/block/*/stat`, field 3 in sectors of 512 bytes (kernel
    /// Documentation/block/stat.rst).
    fn bytes_read(&self) -> u64 {
        let name = self.device.file_name().expect("a name").to_string_lossy();
        let stat = fs::read_to_string(format!("/sys/class/block/{name}/stat")).expect("counters");
        512 * stat.split_whitespace().nth(2).and_then(|field| field.parse::<u64>().ok()).expect("a number")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

fn skip(why: &str) -> Option<Loop> {
    let _ = writeln!(std::io::stderr(), "skipped: no loop device here: {}", why.trim());
    None
}

fn workload(block_size: Bytes) -> Workload {
    Workload::read(Pattern::Random, block_size, 8, Nanos::from_millis(200))
}

fn opened_exclusively(device: &Path) -> bool {
    match Target::open_device(device).expect("it opens").kind() {
        Kind::Device { exclusive } => exclusive,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_device_is_claimed_when_free_and_read_all_the_same_when_in_use() {
    let Some(device) = Loop::attach(512) else { return };
    let first = Target::open_device(&device.device).expect("it opens");
    assert_eq!(first.kind(), Kind::Device { exclusive: true });
    assert_eq!((first.size(), first.access()), (Bytes::from_mib(16), Access::Direct));
    assert!(!opened_exclusively(&device.device), "the first target holds the claim");
    drop(first);
    assert!(opened_exclusively(&device.device));
}

#[test]
fn the_device_counts_the_bytes_that_we_count() {
    let Some(device) = Loop::attach(512) else { return };
    let target = Target::open_device(&device.device).expect("it opens");
    let block = Bytes::from_kib(64);
    let before = device.bytes_read();
    let measurement =
        run(&target, &workload(block), &RunOptions::default(), &Control::default()).expect("the run begins");
    let seen = device.bytes_read() - before;
    let counted = measurement.bytes.get();
    // What was in flight when the time was over is read, but not counted.
    let in_flight = block.get() * u64::from(measurement.generator.queue_depth);
    assert!(counted > 0 && counted <= seen && seen <= counted + in_flight, "{counted} counted, {seen} seen");
    drop(target);
    assert!(opened_exclusively(&device.device), "the run has given the device back");
}

#[test]
fn the_logical_block_size_is_found_by_reading() {
    let Some(device) = Loop::attach(4096) else { return };
    let target = Target::open_device(&device.device).expect("it opens");
    assert_eq!(target.logical_block_size(), Bytes::from_kib(4));
    let refused = run(&target, &workload(Bytes::new(512)), &RunOptions::default(), &Control::default());
    match refused {
        Err(LoadError::Workload(why)) => {
            assert_eq!(why, "the block size 512 B is no multiple of the device's logical block of 4 KiB");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_empty_device_is_refused() {
    let Some(device) = Loop::attach(512) else { return };
    fs::OpenOptions::new()
        .write(true)
        .open(device.image.path())
        .and_then(|file| file.set_len(0))
        .expect("truncated");
    let resized = Command::new("losetup").arg("--set-capacity").arg(&device.device).status();
    assert!(resized.expect("losetup runs").success());
    assert!(matches!(Target::open_device(&device.device), Err(LoadError::TooSmall { .. })));
}
