//! A block device in memory, made for the benchmark or named by `NARROWS_BENCH_MEMORY_DEVICE`.
//!
//! Without a name a RAM disk is made (`modprobe brd`, where the module is not loaded), else a device of zram
//! (`/sys/class/zram-control`), and removed again. It is filled with permission of the write guard, so that a device with
//! anything on it is refused, and only read from then on.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use narrows::load::guard::{Device, Identity, Medium, Usage, decide, examine, open_for_writing};
use narrows::load::target::Region;
use narrows::load::{Target, owned};
use narrows::units::Bytes;

use super::Outcome;

/// The size of a device that is made.
const SIZE: Bytes = Bytes::from_mib(256);
/// How long a device may be in use after its last reader has ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to undo.
enum Made {
    Brd,
    Zram(String),
}

/// A filled device. One that was made is removed when dropped.
pub(super) struct MemoryDevice {
    /// Its path.
    pub(super) path: PathBuf,
    /// The part of it that holds data.
    pub(super) region: Region,
    _made: Option<Made>,
}

impl MemoryDevice {
    /// The device that is named, or one that is made.
    ///
    /// # Errors
    /// There is none, it is none in memory, or it may not be written.
    pub(super) fn new() -> Outcome<Self> {
        let (path, made) = match std::env::var_os("NARROWS_BENCH_MEMORY_DEVICE").filter(|it| !it.is_empty()) {
            Some(named) => (PathBuf::from(named), None),
            None => make()?,
        };
        let region = fill(&path)?;
        Ok(Self { path, region, _made: made })
    }

    /// The device, opened for reading only.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn target(&self) -> Outcome<Target> {
        Ok(Target::open_device(&self.path)?.with_region(self.region))
    }
}

impl Made {
    fn remove(&self) -> bool {
        match self {
            Self::Brd => Command::new("rmmod").arg("brd").status().is_ok_and(|status| status.success()),
            Self::Zram(number) => {
                let reset = fs::write(format!("/sys/block/zram{number}/reset"), "1");
                reset.and_then(|()| fs::write("/sys/class/zram-control/hot_remove", number)).is_ok()
            }
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // The kernel takes the rings of a reader apart on its own time, and until then the device is in use.
        let begin = Instant::now();
        while !self.remove() {
            if begin.elapsed() > PATIENCE {
                println!("the device in memory is still there");
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn make() -> Outcome<(PathBuf, Option<Made>)> {
    let ram_disk = make_ram_disk();
    let zram = ram_disk.is_none().then(make_zram).transpose();
    match (ram_disk, zram) {
        (Some(made), _) | (None, Ok(Some(made))) => Ok((made.0, Some(made.1))),
        (None, Ok(None)) => Err("no device in memory".into()),
        (None, Err(error)) => Err(format!("no RAM disk (modprobe brd) and no zram: {error}").into()),
    }
}

/// A RAM disk, unless there are some already: those are somebody else's.
fn make_ram_disk() -> Option<(PathBuf, Made)> {
    if Path::new("/sys/module/brd").exists() || Path::new("/dev/ram0").exists() {
        return None;
    }
    let size = format!("rd_size={}", SIZE.get() >> 10);
    let loaded = Command::new("modprobe").args(["brd", "rd_nr=1", &size]).output();
    if !loaded.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let made = Made::Brd;
    let path = PathBuf::from("/dev/ram0");
    path.exists().then_some((path, made))
}

/// A new device of zram. What it is filled with cannot be compressed, so that a read copies it.
fn make_zram() -> Outcome<(PathBuf, Made)> {
    if !Path::new("/sys/class/zram-control").exists() {
        let loaded = Command::new("modprobe").args(["zram", "num_devices=0"]).output();
        if !loaded.is_ok_and(|output| output.status.success()) {
            return Err("the kernel has no module".into());
        }
    }
    let number = fs::read_to_string("/sys/class/zram-control/hot_add")?.trim().to_owned();
    let made = Made::Zram(number.clone());
    fs::write(format!("/sys/block/zram{number}/disksize"), SIZE.get().to_string())?;
    // The guard asks what was written; some kernels do not count it of zram unless they are told to.
    fs::write(format!("/sys/block/zram{number}/queue/iostats"), "1")?;
    Ok((PathBuf::from(format!("/dev/zram{number}")), made))
}

/// Fills a device between its first and last MiB, if the guard permits it.
fn fill(path: &Path) -> Outcome<Region> {
    let real = fs::canonicalize(path)?;
    let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !["ram", "zram"].iter().any(|kind| name.strip_prefix(kind).is_some_and(is_number)) {
        return Err(format!("{} is neither a RAM disk nor a device of zram", path.display()).into());
    }
    let device = Device::open(&real)?;
    let usage = Usage {
        device: name.clone(),
        number: Some(device.number()),
        size: Some(device.size()),
        read_only: Some(false),
        identity: Some(Identity { what: "name", text: name.clone() }),
        family: vec![name.clone()],
        ..Usage::default()
    };
    // What the last run filled is refused: `blkdiscard` makes the device blank.
    let go = &mut |_| ControlFlow::Continue(());
    let examined = [examine(&name, &device)];
    let region = owned::usable(device.size(), SIZE).ok_or("the device is too small")?;
    let permit = decide(device, &usage, &examined, Some(&name)).map_err(|refusal| refusal.to_string())?;
    let writable = open_for_writing(permit, region, go).map_err(|error| error.to_string())?;
    let go = &mut |_, _| ControlFlow::Continue(());
    Ok(owned::prepare(writable, SIZE, 1, go)?.region())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
