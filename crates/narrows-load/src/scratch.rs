//! The scratch file: what narrows writes to unless a device was named and permitted.
//!
//! The file has no name (`O_TMPFILE`), or loses it right after it was made, so nothing is left behind however the
//! process ends; a process that is killed between the two leaves an empty file, which the next run removes. It is made by
//! us, so no data of anybody can be in it.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::statvfs::{FsFlags, fstatvfs};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::error::LoadError;
use super::fill::{Fill, Filled, Filling};
use super::guard::Budget;
use super::held::{Aim, Held, Trust, look};
use super::measurement::Access;
use super::target::Target;
use narrows_base::units::Bytes;

/// Below this a file fits into the caches of drives and is read in a few milliseconds.
const MINIMUM: Bytes = Bytes::from_mib(64);

/// How a scratch file is made.
#[derive(Debug, Clone)]
pub struct ScratchOptions {
    /// What must stay free on the file system; by default the larger of 5 % of it and 1 GiB, where what is withheld from
    /// users beyond 5 % is no part of it.
    pub reserve: Option<Bytes>,
    /// The smallest useful file; a file that does not fit shrinks no further.
    pub minimum: Bytes,
    /// How long the filling may take; a file that is not full by then, but larger than the minimum, stays as it is.
    pub time: Option<Duration>,
    /// Decides the contents.
    pub seed: u64,
    /// What the writes are taken from, each before it happens, where that is limited.
    pub budget: Option<Arc<Budget>>,
}

impl Default for ScratchOptions {
    fn default() -> Self {
        Self { reserve: None, minimum: MINIMUM, time: None, seed: 0, budget: None }
    }
}

/// A file without a name, full of incompressible data, on stable storage.
#[derive(Debug)]
pub struct ScratchFile {
    target: Target,
}

impl ScratchFile {
    /// Makes a file of `size` in `dir`, or smaller when the space does not suffice, and fills it. `progress` is told
    /// the bytes written and the bytes to write; it ends the work by answering [`ControlFlow::Break`].
    ///
    /// # Errors
    /// `dir` is missing, no directory, not writable, on a read-only file system or too full; a write failed; or
    /// `progress` broke it off. Nothing is left behind in any case.
    pub fn create(
        dir: &Path,
        size: Bytes,
        options: &ScratchOptions,
        progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<Self, LoadError> {
        let held = Held::open(dir, Aim::Write)
            .map_err(|error| LoadError::held("create a scratch file in", dir, error))?;
        let parent = held.handle();
        let size = fitting_size(dir, parent, size, options)?;
        let (file, direct) =
            open_nameless(parent).map_err(|error| LoadError::io("create a scratch file in", dir, error))?;
        let least = options.minimum;
        let filled = fill(dir, &file, direct, (0, size), &Self::filling(options, least), progress)?;
        if filled.written < options.minimum.get() {
            return Err(no_space(dir, parent, options));
        }
        Ok(Self { target: Target::scratch(dir, file, filled.direct)? })
    }

    /// How large a file of `size` in `dir` would be; nothing is made.
    ///
    /// # Errors
    /// `dir` is missing, no directory, not writable, on a read-only file system or too full.
    pub fn fitting(dir: &Path, size: Bytes, options: &ScratchOptions) -> Result<Bytes, LoadError> {
        let held = Held::open(dir, Aim::Write)
            .map_err(|error| LoadError::held("create a scratch file in", dir, error))?;
        fitting_size(dir, held.handle(), size, options).map(Bytes::new)
    }

    /// Goes on to fill the file until it has `size` bytes, or fewer when the space or the time of `options` does not
    /// suffice. `progress` is told of the whole file.
    ///
    /// # Errors
    /// The space does not suffice for the minimum, a write failed, or `progress` broke it off.
    pub fn grow(
        self,
        size: Bytes,
        options: &ScratchOptions,
        progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
    ) -> Result<Self, LoadError> {
        let dir = self.target.path().to_owned();
        let (there, none) =
            (self.target.size(), ScratchOptions { minimum: Bytes::new(0), ..options.clone() });
        let more = fitting_size(&dir, self.target.file(), size.saturating_sub(there), &none)?;
        if there + Bytes::new(more) < options.minimum {
            return Err(no_space(&dir, self.target.file(), options));
        }
        if more == 0 {
            return Ok(self);
        }
        let direct = self.target.access() == Access::Direct;
        let file = self.target.into_file();
        let least = options.minimum.saturating_sub(there);
        let part = (there.get(), more);
        let told = &mut |written: Bytes, _| progress(there + written, size);
        let filled = fill(&dir, &file, direct, part, &Self::filling(options, least), told)?;
        Ok(Self { target: Target::scratch(&dir, file, filled.direct)? })
    }

    fn filling(options: &ScratchOptions, least: Bytes) -> Filling<'_> {
        Filling {
            time: options.time.map(|time| (time, least)),
            seed: options.seed,
            marker: None,
            budget: options.budget.as_deref(),
            census: None,
        }
    }

    /// The file as a target of runs.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The file as a target of runs, on its own.
    pub fn into_target(self) -> Target {
        self.target
    }
}

/// Fills a part of the file, given by where it begins and its length, onto stable storage.
fn fill(
    dir: &Path,
    file: &File,
    direct: bool,
    (start, length): (u64, u64),
    filling: &Filling<'_>,
    progress: &mut dyn FnMut(Bytes, Bytes) -> ControlFlow<()>,
) -> Result<Filled, LoadError> {
    let work = Fill::new("write the scratch file in", dir, file, direct);
    let filled = work.write(start, length, filling, progress)?;
    let written = match filled.is_full {
        true => end_early(dir, file, start + filled.written)?.saturating_sub(start),
        false => filled.written,
    };
    file.sync_data().map_err(|error| LoadError::io("write the scratch file in", dir, error))?;
    Ok(Filled { written, ..filled })
}

/// Space on the file system of `dir`: free for this user, and to be kept free.
fn space(parent: &File, options: &ScratchOptions) -> nix::Result<(Bytes, Bytes)> {
    let statistics = fstatvfs(parent)?;
    let unit = statistics.fragment_size();
    let [total, unused, free] =
        [statistics.blocks(), statistics.blocks_free(), statistics.blocks_available()]
            .map(|blocks| blocks.saturating_mul(unit));
    Ok((Bytes::new(free), options.reserve.unwrap_or(Bytes::new(default_reserve(total, unused, free)))))
}

/// The larger of 5 % of a file system and 1 GiB, in bytes as all of its arguments: its size, what nothing is stored in, and what
/// of that users may fill. What is withheld from users beyond ext4's usual 5 % (a disk that was promised larger than it is)
/// counts as no part of the file system: else one with a tenth of its room left would be called full.
fn default_reserve(total: u64, unused: u64, free: u64) -> u64 {
    let usual = total / 20;
    let withheld = unused.saturating_sub(free);
    let size = total.saturating_sub(withheld.saturating_sub(usual));
    (size / 20).max(1 << 30)
}

fn no_space(dir: &Path, parent: &File, options: &ScratchOptions) -> LoadError {
    match space(parent, options) {
        Ok((free, reserve)) => {
            LoadError::NoSpace { dir: dir.to_owned(), free, reserve, minimum: options.minimum }
        }
        Err(error) => LoadError::io("look at the free space of", dir, error.into()),
    }
}

/// The size that leaves the reserve free, in whole MiB where it had to shrink.
fn fitting_size(dir: &Path, parent: &File, size: Bytes, options: &ScratchOptions) -> Result<u64, LoadError> {
    // A full image (squashfs, ISO 9660) is read-only before it is full.
    if fstatvfs(parent).is_ok_and(|statistics| statistics.flags().contains(FsFlags::ST_RDONLY)) {
        return Err(LoadError::ReadOnly(dir.to_owned()));
    }
    let (free, reserve) = space(parent, options)
        .map_err(|error| LoadError::io("look at the free space of", dir, error.into()))?;
    let usable = free.saturating_sub(reserve).get();
    let size = if usable < size.get() { usable >> 20 << 20 } else { size.get() };
    if size < options.minimum.get() {
        return Err(LoadError::NoSpace { dir: dir.to_owned(), free, reserve, minimum: options.minimum });
    }
    Ok(size)
}

/// Opens a file without a name, for direct access if possible (second value).
fn open_nameless(parent: &File) -> io::Result<(File, bool)> {
    for direct in [OFlags::DIRECT, OFlags::empty()] {
        // With O_TMPFILE, O_EXCL means that the file can never be given a name.
        let flags = OFlags::TMPFILE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | direct;
        match openat(parent, ".", flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::INVAL) => {}
            // The file system cannot make nameless files (NFS, FUSE, older overlayfs; EISDIR before Linux 3.11).
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => break,
            opened => return Ok((opened?.into(), !direct.is_empty())),
        }
    }
    sweep(parent);
    for direct in [OFlags::DIRECT, OFlags::empty()] {
        match open_and_unlink(parent, direct) {
            Err(Errno::INVAL) => {}
            opened => return Ok((opened?, !direct.is_empty())),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

/// Makes a file under a name that cannot be there before, and takes the name away at once.
fn open_and_unlink(parent: &File, direct: OFlags) -> Result<File, Errno> {
    let name = scratch_name(getrandom::u64().map_err(|_| Errno::AGAIN)?);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC | direct;
    match openat(parent, name.as_str(), flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => {
            let file = File::from(file);
            lock(&file);
            // One that kept its name would stay when we are killed, so it is not filled.
            unlinkat(parent, name.as_str(), AtFlags::empty())?;
            Ok(file)
        }
        Err(error) => {
            // Some file systems make the file and then refuse to open it with O_DIRECT. After any other error, EEXIST above
            // all, there is no file of ours.
            if error == Errno::INVAL {
                let _ = unlinkat(parent, name.as_str(), AtFlags::empty());
            }
            Err(error)
        }
    }
}

/// The disk or the quota is full although there seemed to be room: keeps the whole MiB that were written, less one so
/// that the file system can still write its own data.
fn end_early(dir: &Path, file: &File, written: u64) -> Result<u64, LoadError> {
    let kept = (written >> 20).saturating_sub(1) << 20;
    file.set_len(kept).map_err(|error| LoadError::io("shorten the scratch file in", dir, error))?;
    Ok(kept)
}

/// What the name of a scratch file begins with; the process and a random number follow.
const PREFIX: &str = ".narrows-scratch-";

/// The name of a scratch file of this process.
fn scratch_name(random: u64) -> String {
    format!("{PREFIX}{}-{random:016x}", std::process::id())
}

/// The process that a name was made by; `None` when it is not the name of a scratch file.
fn maker(name: &str) -> Option<Pid> {
    let (pid, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_hex = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    (is_hex && is_number).then(|| pid.parse().ok()).flatten().and_then(Pid::from_raw)
}

/// Removes the scratch files in a directory whose process no longer runs: empty regular files of our own user with one
/// name that nobody has locked, never a link. A process of another PID namespace seems dead from here and has its file
/// locked. What cannot be listed or removed stays.
fn sweep(parent: &File) {
    let Ok(entries) = Dir::read_from(parent) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        // Before Linux 5.3 nobody is known to be dead.
        let is_dead = |pid| pidfd_open(pid, PidfdFlags::empty()).is_err_and(|errno| errno == Errno::SRCH);
        if maker(name).is_some_and(is_dead) {
            // What cannot be told to be ours stays.
            let _ = remove(parent, name);
        }
    }
}

/// Locks a scratch file as long as it has a name.
fn lock(file: &File) {
    // Where there are no locks the number of the process has to do.
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Removes a leftover if what has its name is one.
fn remove(parent: &File, name: &str) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(parent, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || stat.st_size != 0 || !Trust::of_process().is_ours_alone(&stat) {
        return Ok(());
    }
    flock(&file, FlockOperation::NonBlockingLockShared)?;
    match look(parent, name.as_bytes())? {
        Some(now) if (now.st_dev, now.st_ino) == (stat.st_dev, stat.st_ino) => {
            Ok(unlinkat(parent, name, AtFlags::empty())?)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use crate::target::drop_direct;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use std::fs;
    use std::os::unix::fs::{FileExt, MetadataExt, symlink};

    const SMALL: ScratchOptions = ScratchOptions {
        reserve: Some(Bytes::new(0)),
        minimum: Bytes::new(4096),
        time: None,
        seed: 1,
        budget: None,
    };

    fn go(_: Bytes, _: Bytes) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    #[test]
    fn the_file_has_no_name_and_its_size() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(5), &SMALL, &mut go).unwrap();
        assert_eq!(scratch.target().size(), Bytes::from_mib(5));
        assert_eq!(scratch.target().file().metadata().unwrap().nlink(), 0);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_with_a_name_loses_it_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let parent = File::open(dir.path()).unwrap();
        let file = open_and_unlink(&parent, OFlags::empty()).unwrap();
        assert_eq!(file.metadata().unwrap().nlink(), 0);
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn its_blocks_are_all_different_and_not_compressible() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(9), &SMALL, &mut go).unwrap();
        drop_direct(scratch.target().file()).unwrap();
        let mut data = vec![0; 9 << 20];
        scratch.target().file().read_exact_at(&mut data, 0).unwrap();
        let blocks: HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), 9 << 8);
        // Entropy of the byte distribution; 8 bits would be perfect.
        let mut counts = [0u32; 256];
        data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
        let share = |n: &u32| f64::from(*n) / data.len() as f64;
        let entropy: f64 = counts.iter().map(|n| -share(n) * share(n).log2()).sum();
        assert!(entropy > 7.99, "{entropy} bits in a byte");
    }

    #[test]
    fn a_file_grows_and_all_of_it_is_data() {
        let dir = tempfile::tempdir().unwrap();
        let mib = Bytes::from_mib;
        let budget = Arc::new(Budget::new(mib(9)));
        let options = ScratchOptions { budget: Some(budget.clone()), ..SMALL };
        let scratch = ScratchFile::create(dir.path(), mib(4), &options, &mut go).unwrap();
        let mut seen = Vec::new();
        let grown = scratch.grow(mib(9), &ScratchOptions { seed: 2, ..options.clone() }, &mut |done, of| {
            seen.push((done.get() >> 20, of.get() >> 20));
            ControlFlow::Continue(())
        });
        let grown = grown.unwrap();
        assert_eq!((grown.target().size(), budget.left()), (mib(9), Bytes::new(0)));
        assert_eq!(seen, [(4, 9), (8, 9), (9, 9)]);
        drop_direct(grown.target().file()).unwrap();
        let mut data = vec![0; 9 << 20];
        grown.target().file().read_exact_at(&mut data, 0).unwrap();
        let blocks: HashSet<&[u8]> = data.chunks(4096).collect();
        assert_eq!(blocks.len(), 9 << 8, "all are different");
        let refused = grown.grow(mib(10), &options, &mut go);
        assert!(matches!(refused, Err(LoadError::OverBudget(_))), "{refused:?}");
    }

    #[test]
    fn progress_tells_the_truth_and_can_end_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut seen = Vec::new();
        let scratch = ScratchFile::create(dir.path(), Bytes::from_mib(10), &SMALL, &mut |done, of| {
            seen.push((done.get() >> 20, of.get() >> 20));
            ControlFlow::Continue(())
        });
        assert_eq!(scratch.unwrap().into_target().size(), Bytes::from_mib(10));
        assert_eq!(seen, [(0, 10), (4, 10), (8, 10), (10, 10)]);
        let broken =
            ScratchFile::create(dir.path(), Bytes::from_mib(10), &SMALL, &mut |_, _| ControlFlow::Break(()));
        assert!(matches!(broken, Err(LoadError::Interrupted)));
    }

    #[test]
    fn the_reserve_is_respected() {
        let dir = tempfile::tempdir().unwrap();
        let parent = File::open(dir.path()).unwrap();
        let (free, _) = space(&parent, &SMALL).unwrap();
        let tight = ScratchOptions { reserve: Some(free), ..ScratchOptions::default() };
        let refused = ScratchFile::create(dir.path(), Bytes::from_mib(100), &tight, &mut go);
        assert!(matches!(refused, Err(LoadError::NoSpace { .. })), "{refused:?}");
        let asked = ScratchFile::fitting(dir.path(), Bytes::from_mib(100), &tight);
        assert!(matches!(asked, Err(LoadError::NoSpace { .. })), "{asked:?}");
        let fits = ScratchFile::fitting(dir.path(), Bytes::from_mib(10), &SMALL);
        assert_eq!(fits.unwrap(), Bytes::from_mib(10));
    }

    #[test]
    fn what_is_withheld_from_users_is_no_room_to_keep_free() {
        const GIB: u64 = 1 << 30;
        // As `mkfs.ext4` makes it: 5 % are for root, and 5 % of the whole stay free for users.
        assert_eq!(default_reserve(1000 * GIB, 250 * GIB, 200 * GIB), 50 * GIB);
        assert_eq!(default_reserve(1000 * GIB, 200 * GIB, 200 * GIB), 50 * GIB);
        // 600 GiB are promised and not there: of the 450 GiB that may be used or are withheld as usual, 5 %.
        assert_eq!(default_reserve(1000 * GIB, 650 * GIB, 50 * GIB), 450 * GIB / 20);
        assert_eq!(default_reserve(8 * GIB, 8 * GIB, 8 * GIB), GIB);
        // Numbers that cannot be: more free than nothing is stored in, more of that than there is.
        assert_eq!(default_reserve(1000 * GIB, 0, 900 * GIB), 50 * GIB);
        assert_eq!(default_reserve(10 * GIB, u64::MAX, 0), GIB);
    }

    #[test]
    fn what_is_no_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        let create =
            |path: &Path| ScratchFile::create(path, Bytes::from_mib(1), &SMALL, &mut go).unwrap_err();
        assert!(matches!(create(&file), LoadError::NotADirectory(_)));
        let missing = create(&dir.path().join("none"));
        assert_eq!(missing.hint(), Some("check the spelling of the path"));
        assert_eq!(fs::read(&file).unwrap(), b"x");
    }

    /// Above the largest process number that Linux gives (2²², proc_sys_kernel(5)).
    const DEAD: &str = ".narrows-scratch-1999999999-0123456789abcdef";

    fn left_after_sweep(make: impl Fn(&std::path::Path)) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        make(directory.path());
        sweep(&File::open(directory.path()).unwrap());
        let names = fs::read_dir(directory.path()).unwrap().flatten();
        names.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn the_file_of_a_dead_process_is_removed() {
        assert_eq!(left_after_sweep(|dir| fs::write(dir.join(DEAD), "").unwrap()), Vec::<String>::new());
    }

    #[test]
    fn the_file_of_a_living_process_stays() {
        let ours = scratch_name(7);
        assert_eq!(maker(&ours), Some(rustix::process::getpid()));
        let left = left_after_sweep(|dir| fs::write(dir.join(&ours), "").unwrap());
        assert_eq!(left, std::slice::from_ref(&ours));
    }

    #[test]
    fn one_that_is_locked_stays() {
        let held = std::cell::RefCell::new(Vec::new());
        let left = left_after_sweep(|dir| {
            let file = File::create(dir.join(DEAD)).unwrap();
            lock(&file);
            held.borrow_mut().push(file);
        });
        assert_eq!(left, [DEAD]);
    }

    #[test]
    fn what_only_looks_like_one_stays() {
        assert_eq!(left_after_sweep(|dir| symlink("/etc/passwd", dir.join(DEAD)).unwrap()), [DEAD]);
        assert_eq!(left_after_sweep(|dir| fs::create_dir(dir.join(DEAD)).unwrap()), [DEAD]);
        let twice = left_after_sweep(|dir| {
            fs::write(dir.join(DEAD), "data").unwrap();
            fs::hard_link(dir.join(DEAD), dir.join("kept")).unwrap();
        });
        assert_eq!(twice.len(), 2, "a file with a second name is somebody's");
        assert_eq!(
            left_after_sweep(|dir| fs::write(dir.join(DEAD), "data").unwrap()),
            [DEAD],
            "ours is empty"
        );
        let names = ["x.narrows-scratch-1999999999-0123456789abcdef", ".narrows-scratch-1999999999-0123"];
        for name in
            names.into_iter().chain([".narrows-scratch--0123456789abcdef", ".narrows-scratch-1999999999"])
        {
            assert_eq!(left_after_sweep(|dir| fs::write(dir.join(name), "").unwrap()), [name]);
        }
    }

    proptest! {
        #[test]
        fn no_name_is_a_panic_and_no_number_addresses_a_group(name in ".*", pid in any::<i64>()) {
            maker(&name);
            let named = maker(&format!("{PREFIX}{pid}-0123456789abcdef"));
            prop_assert!(named.is_none_or(|pid| pid.as_raw_nonzero().get() > 0));
        }
    }
}
