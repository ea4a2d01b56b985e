//! The devices that are attacked: loop devices over sparse files of our own, and what is told of their bytes.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::SeekFrom;
use twox_hash::XxHash3_64;

use super::attack::{Judge, Result, skip};
use super::ground::{Ground, text};
use super::tool::shell;

/// Blocks by which bytes are told apart.
pub(crate) const BLOCK: u64 = 4096;
/// 1 MiB.
pub(crate) const MIB: u64 = 1 << 20;

/// What a file holds: the hash of each block that is not all zeros.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sum(BTreeMap<u64, u64>);

impl Sum {
    /// Reads a file, but for its holes.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let mut blocks = BTreeMap::new();
        each_extent(&file, |offset, bytes| {
            for (index, block) in bytes.chunks(4096).enumerate() {
                if block != &[0; 4096][..block.len()] {
                    blocks.insert(offset + index as u64 * BLOCK, XxHash3_64::oneshot(block));
                }
            }
            Ok(())
        })?;
        Ok(Self(blocks))
    }

    /// Whether all is zero.
    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Where two differ, as text; nothing where they are the same.
    pub(crate) fn difference(&self, after: &Self) -> Option<String> {
        let gone = self.0.iter().filter(|(at, _)| !after.0.contains_key(at)).count();
        let changed =
            self.0.iter().filter(|(at, hash)| after.0.get(at).is_some_and(|now| now != *hash)).count();
        let new = after.0.keys().filter(|at| !self.0.contains_key(at)).count();
        if gone + changed + new == 0 {
            return None;
        }
        let differs = |at: &u64| self.0.get(at) != after.0.get(at);
        let first = self.0.keys().chain(after.0.keys()).filter(|at| differs(at)).min().copied();
        Some(format!(
            "{gone} blocks cleared, {changed} changed, {new} written, from byte {}",
            first.unwrap_or_default()
        ))
    }

    /// Whether a block is not the same in another.
    pub(crate) fn differs_at(&self, other: &Self, at: u64) -> bool {
        self.0.get(&at) != other.0.get(&at)
    }

    /// Only the blocks for which `is_meant` holds.
    pub(crate) fn only(&self, is_meant: impl Fn(u64) -> bool) -> Self {
        Self(self.0.iter().filter(|(at, _)| is_meant(**at)).map(|(at, hash)| (*at, *hash)).collect())
    }

    /// The blocks of this one that `after` does not hold unchanged.
    pub(crate) fn lost(&self, after: &Self) -> Option<String> {
        let lost = self.0.iter().filter(|(at, hash)| after.0.get(at) != Some(hash));
        let mut lost = lost.map(|(at, _)| *at);
        let first = lost.next()?;
        Some(format!("{} blocks lost, from byte {first}", lost.count() + 1))
    }
}

/// Calls with each piece of data of a file, in multiples of blocks but at its end.
fn each_extent(file: &File, mut take: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let end = file.metadata()?.len();
    let mut buffer = vec![0; 1 << 20];
    let mut at = 0;
    while at < end {
        let Ok(data) = rustix::fs::seek(file, SeekFrom::Data(at)) else { break };
        let hole = rustix::fs::seek(file, SeekFrom::Hole(data)).unwrap_or(end);
        at = data / BLOCK * BLOCK;
        while at < hole {
            let count = (end - at).min(buffer.len() as u64);
            let piece = &mut buffer[..usize::try_from(count).unwrap_or(0)];
            file.read_exact_at(piece, at)?;
            take(at, piece)?;
            at += count;
        }
    }
    Ok(())
}

/// Copies what a file holds into another, shifted, without its holes.
pub(crate) fn lay(from: &Path, into: &Path, at: u64) -> io::Result<()> {
    let (source, target) = (File::open(from)?, OpenOptions::new().write(true).open(into)?);
    each_extent(&source, |offset, bytes| {
        for (index, block) in bytes.chunks(4096).enumerate() {
            if block != &[0; 4096][..block.len()] {
                target.write_all_at(block, at + offset + index as u64 * BLOCK)?;
            }
        }
        Ok(())
    })
}

/// Makes a sparse file.
pub(crate) fn sparse(path: &Path, bytes: u64) -> io::Result<()> {
    File::create_new(path)?.set_len(bytes)
}

/// Writes into a file at a place.
pub(crate) fn put(path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all_at(bytes, at)
}

/// Makes zeros of a part of a file.
pub(crate) fn clear(path: &Path, at: u64, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, at, length)?)
}

/// A loop device over a file of ours. Detached when dropped.
#[derive(Debug)]
pub(crate) struct Device {
    node: PathBuf,
    image: PathBuf,
}

impl Device {
    /// A blank one.
    pub(crate) fn blank(ground: &Ground, mib: u64) -> Result<Self> {
        let image = ground.path("device.img");
        sparse(&image, mib * MIB)?;
        Self::over(&image)
    }

    /// One over this file.
    pub(crate) fn over(image: &Path) -> Result<Self> {
        if !Path::new("/dev/loop-control").exists() {
            return skip("no loop devices");
        }
        let node = shell("losetup --find --show -- \"$1\"", &[text(image)?])?;
        let device = Self { node: node.into(), image: image.to_owned() };
        // A node keeps the partitions that somebody gave it, over files that never had any.
        device.forget_partitions();
        Ok(device)
    }

    /// `/dev/loop7`.
    pub(crate) fn node(&self) -> &str {
        self.node.to_str().unwrap_or_default()
    }

    /// `loop7`.
    pub(crate) fn name(&self) -> &str {
        self.node().trim_start_matches("/dev/")
    }

    /// The file, which is also what the user types to name the device.
    pub(crate) fn image(&self) -> &Path {
        &self.image
    }

    /// The same, as text.
    pub(crate) fn identity(&self) -> &str {
        self.image.to_str().unwrap_or_default()
    }

    /// All that it holds now, with what the kernel had not yet passed on.
    pub(crate) fn sum(&self) -> Result<Sum> {
        self.settle()?;
        Ok(Sum::of(&self.image)?)
    }

    /// Lets the kernel pass on what was written through the node, and forget what it has read.
    pub(crate) fn settle(&self) -> Result<()> {
        if let Ok(node) = File::open(&self.node) {
            node.sync_all()?;
        }
        Ok(())
    }

    /// Writes as somebody else would: through the node, past the cache, with no claim, and closes it again.
    pub(crate) fn plant(&self, at: u64, block: &[u8]) -> Result<()> {
        let file = OpenOptions::new().write(true).custom_flags(nix::libc::O_SYNC).open(&self.node)?;
        file.write_all_at(block, at)?;
        file.sync_all()?;
        Ok(())
    }

    /// Takes away the partitions that only the kernel knows.
    pub(crate) fn forget_partitions(&self) {
        forget_partitions(self.node());
    }

    /// Makes zeros of all that it holds, behind the kernel's back.
    pub(crate) fn erase(&self) -> Result<()> {
        self.settle()?;
        clear(&self.image, 0, fs::metadata(&self.image)?.len())?;
        shell("blockdev --flushbufs \"$1\"", &[self.node()])?;
        Ok(())
    }

    /// A block of it, as somebody else would read it, past what the kernel remembers.
    pub(crate) fn block(&self, at: u64) -> Result<Vec<u8>> {
        self.settle()?;
        let mut block = vec![0; 4096];
        File::open(&self.image)?.read_exact_at(&mut block, at)?;
        Ok(block)
    }

    /// Waits until nothing has been written to it for a while, so that what was killed has let go of it.
    pub(crate) fn wait_until_quiet(&self) -> Result<()> {
        let mut quiet = 0;
        for _ in 0..200 {
            let before = self.written();
            self.settle()?;
            std::thread::sleep(std::time::Duration::from_millis(20));
            quiet = if self.written() == before && self.counter(8) == 0 { quiet + 1 } else { 0 };
            if quiet == 5 {
                break;
            }
        }
        Ok(())
    }

    /// Waits until nobody claims a partition of it any more: rings of a killed process are taken down after it has ended, and a
    /// file system lives on in the kernel, and writes, as long as they hold a file of it.
    pub(crate) fn wait_until_unclaimed(&self) -> Result<()> {
        for _ in 0..3000 {
            if !self.is_claimed()? {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok(())
    }

    fn is_claimed(&self) -> io::Result<bool> {
        let Some(directory) = self.node.parent() else { return Ok(false) };
        for entry in fs::read_dir(directory)? {
            let name = entry?.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(self.name()));
            let open =
                || OpenOptions::new().read(true).custom_flags(nix::libc::O_EXCL).open(directory.join(&name));
            let is_busy = |error: io::Error| error.raw_os_error() == Some(nix::libc::EBUSY);
            if rest.is_some_and(|rest| rest.starts_with('p')) && open().is_err_and(is_busy) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A counter of the device: 6 is sectors written, 8 what is in flight.
    pub(crate) fn counter(&self, index: usize) -> u64 {
        let text = fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap_or_default();
        text.split_whitespace().nth(index).and_then(|word| word.parse().ok()).unwrap_or_default()
    }

    /// Bytes that were written to it since it was attached.
    pub(crate) fn written(&self) -> u64 {
        self.counter(6) * 512
    }

    /// Whether all is zero.
    pub(crate) fn must_be_zero(&self, judge: &mut Judge, when: &str) -> Result<()> {
        let sum = self.sum()?;
        judge.that(sum.is_zero(), || {
            let found = Sum::default().difference(&sum).unwrap_or_default();
            format!("{when}: the device is not zero as it was found: {found}")
        });
        Ok(())
    }
}

/// Has the kernel forget the partitions that it knows of a loop device.
pub(crate) fn forget_partitions(node: &str) {
    super::tool::succeeds("if ls \"$1\"p* >/dev/null 2>&1; then partx --delete \"$1\"; fi", &[node]);
}

impl Drop for Device {
    fn drop(&mut self) {
        self.forget_partitions();
        let _ = super::tool::attempt("losetup --detach \"$1\"", &[self.node()]);
    }
}
