//! Removes scratch files that a killed process left behind.
//!
//! A scratch file has a name only where the file system cannot make nameless ones, and only from its creation to the
//! next call. A process that is killed in between leaves an empty file, which the next one finds and removes.

#![expect(clippy::disallowed_methods, reason = "looking for our own leftovers is this file's job")]

use std::fs::{self, File};
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::fcntl::AtFlags;
use nix::libc;
use nix::sys::signal::kill;
use nix::sys::stat::fstatat;
use nix::unistd::{Pid, UnlinkatFlags, geteuid, unlinkat};

/// What the name of a scratch file begins with; the process and a random number follow.
const PREFIX: &str = ".narrows-scratch-";

/// The name of a scratch file of this process.
pub(super) fn scratch_name(random: u64) -> String {
    format!("{PREFIX}{}-{random:016x}", std::process::id())
}

/// The process that a name was made by; `None` when it is not the name of a scratch file.
fn maker(name: &str) -> Option<i32> {
    let (pid, random) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_hex = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    (is_hex && is_number).then(|| pid.parse().ok()).flatten().filter(|pid| *pid > 0)
}

/// Removes the scratch files in a directory whose process no longer runs: regular files of our own user, never a link.
/// A process of another PID namespace seems dead from here; removing its file's name is what it does itself next, so it
/// loses nothing. What cannot be listed or removed stays.
pub(super) fn sweep(parent: &File) {
    // By its descriptor, so that it is the same directory whatever happens to its path.
    let Ok(entries) = fs::read_dir(format!("/proc/self/fd/{}", parent.as_raw_fd())) else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let is_dead = |pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH);
        if maker(&name).is_some_and(is_dead) && is_our_file(parent, &name) {
            let _ = unlinkat(parent, name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

fn is_our_file(parent: &File, name: &str) -> bool {
    fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok_and(|status| {
        status.st_mode & libc::S_IFMT == libc::S_IFREG
            && status.st_uid == geteuid().as_raw()
            && status.st_nlink == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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
        assert_eq!(maker(&ours), Some(std::process::id() as i32));
        let left = left_after_sweep(|dir| fs::write(dir.join(&ours), "").unwrap());
        assert_eq!(left, std::slice::from_ref(&ours));
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
            prop_assert!(named.is_none_or(|pid| pid > 0));
        }
    }
}
