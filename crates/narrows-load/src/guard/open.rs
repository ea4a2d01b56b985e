//! Opens block devices: to look at them, and, with a permit, to write.

#![expect(clippy::disallowed_methods, reason = "opening the device that is written is this file's job")]

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use nix::fcntl::{FcntlArg, OFlag, PosixFadviseAdvice, fcntl, posix_fadvise};
use nix::libc;
use nix::sys::stat::{major, minor};

use super::bulk::{Bulk, Opened};
use super::census::Census;
use super::clear::Ground;
use super::decide::{Permit, Refusal};
use super::discard::is_zoned;
use super::looks;
use super::prove::prove;
use super::reason::Reason;
use super::scan::{EDGE, Medium, Signature, examine, retain_foreign};
use super::search::{Searched, search};
use super::sentry::{Keeper, Sentry, Watch};
use super::signatures::Class;
use super::slice::Flusher;
use crate::buffer::Buffer;
use crate::error::LoadError;
use crate::marks::{DeviceKey, Marker, RunSecret};
use crate::target::direct_granularity;
use crate::workload::Region;
use narrows_base::shell;
use narrows_base::units::Bytes;

/// A block device that is open to be looked at.
#[derive(Debug)]
pub struct Device {
    path: PathBuf,
    file: File,
    number: (u32, u32),
    size: Bytes,
}

impl Device {
    /// Opens a block device for reading. Symbolic links are followed; what counts from then on is the number.
    ///
    /// # Errors
    /// There is none, it is no block device, or it may not be opened.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        // Without O_NONBLOCK a pipe of this name would block, and a drive with removable media wait for one.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        Self::of(path, file.map_err(|error| LoadError::io("open", path, error))?)
    }

    /// The same without what the page cache may still have of what stood there before.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_afresh(path: &Path) -> Result<Self, LoadError> {
        let opened = Self::open(path)?;
        // Advice that is not taken leaves what the cache has, which is then read.
        let _ = posix_fadvise(&opened.file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        Ok(opened)
    }

    fn of(path: &Path, mut file: File) -> Result<Self, LoadError> {
        let failed = |error| LoadError::io("look at", path, error);
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.file_type().is_block_device() {
            return Err(LoadError::NotADevice(path.to_owned()));
        }
        let number = (narrow(major(metadata.rdev())), narrow(minor(metadata.rdev())));
        let size = Bytes::new(file.seek(SeekFrom::End(0)).map_err(failed)?);
        // Advice.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_RANDOM);
        Ok(Self { path: path.to_owned(), file, number, size })
    }

    /// A file that is taken for a device, to test decisions.
    #[cfg(test)]
    pub(super) fn pretend(path: &Path, number: (u32, u32)) -> Self {
        let mut file = File::open(path).expect("a file");
        let size = Bytes::new(file.seek(SeekFrom::End(0)).expect("a size"));
        Self { path: path.to_owned(), file, number, size }
    }

    /// Major and minor number.
    pub const fn number(&self) -> (u32, u32) {
        self.number
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether somebody else has an exclusive claim on it: a mount, an array, a mapping, a pool.
    pub fn is_claimed(&self) -> bool {
        OpenOptions::new().read(true).custom_flags(libc::O_EXCL | libc::O_NONBLOCK).open(&self.path).is_err()
    }
}

/// Device numbers of Linux have 12 and 20 bits (`include/linux/kdev_t.h`).
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Medium for Device {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        // Small ones, without what the kernel would read ahead: of a slow device all of that holds up the end of the program.
        for (piece, at) in into.chunks_mut(16 << 10).zip((offset..).step_by(16 << 10)) {
            self.file.read_exact_at(piece, at)?;
        }
        Ok(())
    }
}

/// A block device that is ours alone and may be written past the page cache: a part of it, fixed when it was opened.
#[derive(Debug)]
pub struct WritableDevice {
    path: PathBuf,
    file: File,
    size: Bytes,
    region: Region,
    key: Option<DeviceKey>,
    /// What it is named by, with a permit.
    identity: Option<String>,
    unit: u64,
    searched: Option<Searched>,
    census: Option<Arc<Census>>,
}

impl WritableDevice {
    /// The handle to write through (`O_EXCL | O_RDWR | O_DIRECT`): while it is open, nobody can mount or claim the
    /// device.
    pub const fn file(&self) -> &File {
        &self.file
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part that may be written, trimmed and discarded. With a permit all of it was read through this handle when
    /// the device was opened, and was zero.
    pub const fn region(&self) -> Region {
        self.region
    }

    /// What came of the search of the whole device, for one that was opened with a permit.
    pub const fn searched(&self) -> Option<&Searched> {
        self.searched.as_ref()
    }

    /// How what we write to it is marked; `None` before anything is, and for what keeps nothing.
    pub const fn key(&self) -> Option<DeviceKey> {
        self.key
    }

    /// The marks of what is written to it.
    pub(crate) fn marker(&self) -> Option<Marker> {
        self.key.map(|key| key.marker(self.region.start + self.region.length))
    }

    /// The same device, of whose marks there is a durable record from now on. Nothing is written to a device of the user's before.
    ///
    /// # Errors
    /// There is no record.
    pub(crate) fn recorded(self) -> Result<Self, LoadError> {
        let failed =
            |error| LoadError::io("keep a record of what is going to be written to", &self.path, error);
        let keeper = self.census.as_ref().and_then(|census| census.keeper());
        let (None, Some(identity), Some(keeper)) = (self.key, &self.identity, keeper) else {
            return Ok(self);
        };
        let secret = RunSecret::random().map_err(|error| failed(io::Error::other(error)))?;
        keeper.record(&secret).map_err(failed)?;
        let key = DeviceKey::of(&secret, identity, self.size);
        Ok(self.marked_by(key))
    }

    /// Who keeps its record and watches what is behind it; `None` without a permit.
    pub fn keeper(&self) -> Option<Arc<dyn Keeper>> {
        self.census.as_ref()?.keeper().cloned()
    }

    /// The same device, on which what bears marks of this key is ours.
    pub(super) fn marked_by(self, key: DeviceKey) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same device, to be cleared.
    pub fn ground(&self) -> Ground<'_> {
        let census = self.census.as_deref();
        Ground { path: self.path.as_path(), file: &self.file, key: self.key, unit: self.unit, census }
    }

    /// What it counts beside what was sent to it, since before it was searched; `None` without a permit.
    pub(crate) const fn census(&self) -> Option<&Arc<Census>> {
        self.census.as_ref()
    }

    /// Watches it from now on, and raises `stop` when somebody else writes to it; `None` without a permit.
    ///
    /// # Errors
    /// There is no room for another handle or thread.
    pub fn sentry(&self, stop: Arc<AtomicBool>) -> Result<Option<Sentry>, LoadError> {
        let failed = |error| LoadError::io("watch", &self.path, error);
        let Some(census) = self.census.clone() else { return Ok(None) };
        let flusher = Flusher::of(&self.file).map_err(failed)?;
        Sentry::start(census, flusher, stop).map(Some).map_err(failed)
    }

    /// Makes sure that nobody else has written to it since it was searched; what the kernel still keeps of that is written
    /// first, and so counted. Nothing of ours may be in flight.
    ///
    /// # Errors
    /// Somebody has, or the kernel refuses.
    pub(crate) fn check_alone(&self) -> Result<(), LoadError> {
        check_alone(&self.path, &self.file, self.census.as_deref())
    }

    /// The handle on its own.
    pub(crate) fn into_file(self) -> File {
        self.file
    }

    /// To be read in many pieces at once.
    pub(super) fn bulk(&self) -> Opened<'_> {
        Opened { file: &self.file, size: self.size.get(), unit: self.unit.max(LEAST_READ) }
    }
}

/// As [`WritableDevice::check_alone`], for whatever has a census.
fn check_alone(path: &Path, file: &File, census: Option<&Census>) -> Result<(), LoadError> {
    let Some(census) = census else { return Ok(()) };
    // What cannot be written any more cannot be counted; the device says why when it is used.
    let synced = file.sync_data();
    census.check().map_err(LoadError::Others)?;
    synced.map_err(|error| LoadError::io("write to", path, error))
}

/// Pieces are read in multiples of this, or of a larger logical block.
const LEAST_READ: u64 = 4096;

impl Medium for WritableDevice {
    fn size(&self) -> Bytes {
        self.size
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut buffer = Buffer::new(into.len())?;
        self.file.read_exact_at(buffer.bytes().get_mut(..into.len()).unwrap_or_default(), offset)?;
        into.copy_from_slice(buffer.bytes().get(..into.len()).unwrap_or_default());
        Ok(())
    }
}

/// Why a permitted device could not be opened for writing after all.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The kernel refused to open it.
    #[error(transparent)]
    Open(#[from] LoadError),
    /// What the handle shows is not what was examined.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Opens the device of a permit for writing, exclusively, and proves through the very handle that writes that nothing
/// stands in its way: looks at every place where a known format puts its magic number, searches all of the device, and
/// reads every byte of `region` last. Whatever came onto it since the decision is found, and nothing can be mounted on it
/// from then on. Meanwhile the device must have counted no write.
///
/// [`open_built`](super::open_built) and [`restore`](super::restore) open what the lab built, and built on.
///
/// # Errors
/// The kernel refuses, above all because somebody claimed the device meanwhile; or it is another device, has another
/// size, is not empty, or `watch` broke it off.
pub fn open_for_writing(
    permit: Permit,
    region: Region,
    watch: Watch<'_>,
) -> Result<WritableDevice, WriteError> {
    let Permit { device, name, identity, keeper } = permit;
    let key = keeper.earlier().map(|secret| DeviceKey::of(&secret, &identity, device.size));
    let claimed = claim(&device.path)?;
    let mut reasons = changed(&device, &claimed, &name);
    let number = claimed.number;
    let mut writable = WritableDevice { region, identity: Some(identity), ..WritableDevice::of(claimed)? };
    if (region.start + region.length) > writable.size || region.length.get() == 0 {
        reasons.push(Reason::TooSmall { size: writable.size });
    }
    if is_zoned(&writable.file) {
        reasons.push(Reason::Zoned { device: name.clone() });
    }
    if reasons.is_empty() {
        reasons.extend(writable.begin_census(number, &name, keeper.clone())?);
    }
    if reasons.is_empty() {
        let searched = look_everywhere(&name, &writable, &writable.bulk(), key, watch, &mut reasons)?;
        writable.searched = Some(searched);
    }
    if reasons.is_empty() {
        reasons.extend(proof(&name, &writable, key, watch)?);
    }
    if reasons.is_empty() {
        reasons.extend(written(&name, &writable)?);
    }
    if reasons.is_empty() {
        // The search may have taken two minutes, in which others who claim nothing may have opened it.
        keeper.check_unused()?;
    }
    if reasons.is_empty() { Ok(writable) } else { Err(Refusal { device: name, reasons }.into()) }
}

/// Whether somebody has written to it since it was searched: what was read before that is no proof.
fn written(name: &str, device: &WritableDevice) -> Result<Option<Reason>, LoadError> {
    match device.check_alone() {
        Ok(()) => Ok(None),
        Err(LoadError::Others(others)) => Ok(Some(Reason::Written { device: name.to_owned(), others })),
        Err(error) => Err(error),
    }
}

/// What differs between the device that was decided about and the one that was opened.
pub(super) fn changed(device: &Device, claimed: &Device, name: &str) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if claimed.number != device.number {
        reasons.push(Reason::Changed { what: format!("`{}` is another device now", device.path.display()) });
    }
    if claimed.size != device.size {
        reasons.push(Reason::Changed { what: format!("the size of {name} changed") });
    }
    reasons
}

/// Looks at a whole device through one handle: for known formats at their places, then for anything that is not zero.
pub(super) fn look_everywhere(
    name: &str,
    medium: &dyn Medium,
    bulk: &dyn Bulk,
    key: Option<DeviceKey>,
    watch: Watch<'_>,
    reasons: &mut Vec<Reason>,
) -> Result<Searched, LoadError> {
    let began = Instant::now();
    let found = examine(name, medium);
    let content = |signature| Reason::Content { device: name.to_owned(), signature };
    // What we wrote ourselves may look like anything, and data at the ends are found below.
    let is_format = |signature: &Signature| signature.class != Class::Data;
    let mut formats: Vec<Signature> = found.signatures.into_iter().filter(is_format).collect();
    retain_foreign(&mut formats, medium, key);
    reasons.extend(formats.into_iter().map(content));
    reasons.extend(found.unreadable.map(|error| Reason::Unreadable { device: name.to_owned(), error }));
    let failed = |error| LoadError::io("search", Path::new(name), error);
    let seed = getrandom::u64().map_err(|error| failed(io::Error::other(error)))?;
    let searched = search(bulk, key, seed, began, watch).map_err(failed)?;
    if searched.is_broken_off {
        return Err(LoadError::Interrupted);
    }
    reasons.extend(searched.reasons(name, medium));
    Ok(searched)
}

/// What speaks against writing to the region of a device, once all of it was read.
fn proof(
    name: &str,
    device: &WritableDevice,
    key: Option<DeviceKey>,
    watch: Watch<'_>,
) -> Result<Vec<Reason>, LoadError> {
    let failed = |error| LoadError::io("read", &device.path, error);
    let proof = prove(&device.bulk(), device.region, key, watch).map_err(failed)?;
    if proof.is_broken_off {
        return Err(LoadError::Interrupted);
    }
    let name = || name.to_owned();
    let data = proof.found.map(|found| Reason::Data {
        device: name(),
        at: found.at,
        looks: looks::like(device, &found),
    });
    let marked = proof.marked.map(|at| Reason::Marked { device: name(), at });
    let unreadable = proof.unreadable.map(|(at, error)| Reason::Unreadable {
        device: name(),
        error: format!("cannot read at byte {}: {error}", at.get()),
    });
    Ok(data.into_iter().chain(marked).chain(unreadable).collect())
}

/// Searches a device that is only read, through a handle of its own that keeps others from claiming it meanwhile, and says
/// what speaks against writing to it. `key` is that of an earlier run that was not cleared.
///
/// # Errors
/// The kernel refuses, above all because somebody has claimed the device; or `watch` broke it off.
pub fn search_device(
    device: &Device,
    name: &str,
    key: Option<DeviceKey>,
    watch: Watch<'_>,
) -> Result<(Searched, Vec<Reason>), LoadError> {
    let path = &device.path;
    let failed = |error| LoadError::io("open", path, error);
    let flags = libc::O_EXCL | libc::O_DIRECT | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    let claimed = Device::of(path, file)?;
    let mut reasons = changed(device, &claimed, name);
    let medium = WritableDevice::of(claimed)?;
    if is_zoned(&medium.file) {
        reasons.push(Reason::Zoned { device: name.to_owned() });
    }
    let searched = look_everywhere(name, &medium, &medium.bulk(), key, watch, &mut reasons)?;
    Ok((searched, reasons))
}

/// Opens a device for reading and writing, exclusively and past the page cache. Whoever calls this has reasons why it may.
pub(super) fn claim(path: &Path) -> Result<Device, LoadError> {
    let failed = |error| LoadError::io("open for writing", path, error);
    let flags = libc::O_EXCL | libc::O_DIRECT | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)?;
    let claimed = Device::of(path, file)?;
    // With O_NONBLOCK io_uring would fail a write to a full queue instead of waiting.
    let waiting = fcntl(&claimed.file, FcntlArg::F_SETFL(OFlag::O_DIRECT));
    waiting.map_err(|error| failed(error.into()))?;
    Ok(claimed)
}

impl WritableDevice {
    /// Begins to compare what it counts with what is sent to it. What others wrote before and the kernel still keeps is
    /// written first, so that it is read and not counted.
    fn begin_census(
        &mut self,
        number: (u32, u32),
        name: &str,
        keeper: Arc<dyn Keeper>,
    ) -> Result<Option<Reason>, LoadError> {
        self.file.sync_data().map_err(|error| LoadError::io("write to", &self.path, error))?;
        self.census = Census::begin(&self.path, number, keeper).map(Arc::new);
        let what = || {
            format!(
                "what is written to {name}: the kernel does not count it (`echo 1 > {}` makes it count)",
                shell::word(&format!("/sys/block/{name}/queue/iostats"))
            )
        };
        Ok(self.census.is_none().then(|| Reason::Unseen { what: what() }))
    }

    /// What [`claim`] opened: nothing of it is proven, and all but its ends may be written.
    ///
    /// # Errors
    /// It cannot be read past the page cache.
    pub(super) fn of(claimed: Device) -> Result<Self, LoadError> {
        let Device { path, file, size, .. } = claimed;
        let unit = direct_granularity(&file).map_err(|error| LoadError::io("read", &path, error))?;
        let room = size.saturating_sub(EDGE).saturating_sub(EDGE);
        let region = Region { start: EDGE.min(size), length: room };
        Ok(Self {
            path,
            file,
            size,
            region,
            key: None,
            identity: None,
            unit: unit.unwrap_or(LEAST_READ),
            searched: None,
            census: None,
        })
    }
}
