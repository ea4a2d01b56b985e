//! Labs on devices of ours, and what is left of them when they are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::attack::{Result, Stop};
use super::device::Device;
use super::ground::{Ground, kill_group, text};
use super::narrows::{Answer, Run, Running};

/// How large the devices of labs are, in MiB: what ext4, XFS and btrfs take.
pub(crate) const SIZE: u64 = 400;

/// What a lab builds, so that it is short: this file system on the first device alone.
pub(crate) fn words<'a>(
    devices: &[&'a Device],
    file_system: &'a str,
    journal: &'a Path,
) -> Result<Vec<&'a str>> {
    let mut words = vec!["lab"];
    words.extend(devices.iter().map(|device| device.node()));
    words.extend(["--layout", "single", "--encryption", "plain", "--file-system", file_system]);
    words.extend(["--as", "hdparm", "--size", "16MiB", "--duration", "100ms", "--warm-up", "1ms"]);
    words.extend(["--journal", text(journal)?]);
    Ok(words)
}

/// The lab of these words on these devices, with their identities typed.
pub(crate) fn run(ground: &Ground, devices: &[&Device], words: &[&str]) -> Run {
    let identities: Vec<&str> = devices.iter().map(|device| device.identity()).collect();
    let identities = identities.join(",");
    Run::new(ground, &[words, &["--i-own", &identities]].concat())
}

/// A directory in which a journal counts: root's, and closed to all others.
pub(crate) fn closed_directory(ground: &Ground) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = ground.directory("journals")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    Ok(path)
}

/// What a lab that was killed left behind.
#[derive(Debug)]
pub(crate) struct Killed {
    /// Its journal.
    pub(crate) journal: PathBuf,
    /// What stands in it.
    pub(crate) text: String,
}

/// Runs a lab with this file system, and kills it with all of its tools when it is about to mount it.
pub(crate) fn killed(ground: &Ground, device: &Device, file_system: &str) -> Result<Killed> {
    let journal = closed_directory(ground)?.join("lab.jsonl");
    let words = words(&[device], file_system, &journal)?;
    let mut lab = run(ground, &[device], &words).start()?;
    let reached = wait_for_line(&mut lab, &journal, "mount");
    kill_group(lab.id());
    let answer = lab.answer()?;
    // What it left busy needs a moment to let go.
    thread::sleep(Duration::from_millis(100));
    let text = fs::read_to_string(&journal).unwrap_or_default();
    if reached && !text.is_empty() {
        return Ok(Killed { journal, text });
    }
    Err(Stop::Skip(format!("set-up: the lab never mounted its {file_system}: {}", answer.short())))
}

/// A file system on a partition of a device.
#[derive(Debug)]
pub(crate) struct Mounted {
    /// The partition's node.
    pub(crate) partition: String,
    /// The directory, as it is reached from outside of the lab's mount namespace.
    pub(crate) point: PathBuf,
}

impl Mounted {
    /// What a running lab has mounted of a device.
    pub(crate) fn of(lab: &Running, device: &Device) -> Option<Self> {
        let tasks = fs::read_dir(format!("/proc/{}/task", lab.id())).into_iter().flatten().flatten();
        tasks.map(|task| task.path()).find_map(|task| {
            let table = fs::read_to_string(task.join("mounts")).unwrap_or_default();
            table.lines().find_map(|line| {
                let mut words = line.split(' ');
                let (partition, point) = (words.next()?, words.next()?.strip_prefix('/')?);
                let is_part = partition.strip_prefix(device.node())?.starts_with('p');
                is_part
                    .then(|| Self { partition: partition.to_owned(), point: task.join("root").join(point) })
            })
        })
    }
}

/// Waits until a journal announces something, or the lab ends.
pub(crate) fn wait_for_line(lab: &mut Running, journal: &Path, what: &str) -> bool {
    let patience = Instant::now() + Duration::from_secs(60);
    while Instant::now() < patience {
        let text = fs::read_to_string(journal).unwrap_or_default();
        // Not the first line, which names the device and what was typed.
        if text
            .lines()
            .skip(1)
            .any(|line| line.contains("\"mount\"") && what == "mount" || line.contains(what))
        {
            return true;
        }
        if lab.wait(Duration::from_millis(3)) {
            return false;
        }
    }
    false
}

/// `narrows lab --undo` or `--resume` with this journal.
pub(crate) fn with_journal(ground: &Ground, how: &str, journal: &Path) -> Result<Answer> {
    Run::new(ground, &["lab", how, "--journal", text(journal)?]).within(90).answer()
}
