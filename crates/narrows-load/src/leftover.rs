//! Removes scratch files that a killed process left behind.
//!
//! A scratch file has a name only where the file system cannot make nameless ones, and only from its creation to the
//! next call. A process that is killed in between leaves an empty file, which the next one finds and removes.

use std::fs::File;

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::held::{Trust, look};

/// What the name of a scratch file begins with; the process and a random number follow.
const PREFIX: &str = ".narrows-scratch-";

/// The name of a scratch file of this process.
pub(super) fn scratch_name(random: u64) -> String {
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
pub(super) fn sweep(parent: &File) {
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
pub(super) fn lock(file: &File) {
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
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::symlink;

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
