//! The file behind a loop device: whether it is still that part of that file, and whether others write to it. The kernel tells
//! that by fanotify(7), and not of what the loop device itself writes.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;

use nix::libc;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use nix::sys::stat::{major, minor};
use rustix::fs::{Mode, OFlags};

use narrows_machine::root::{FileId, Root};
use narrows_machine::usage::{Behind, backing};

/// What the kernel adds to the path of a file that has no name any more. Nobody can open such a file anew.
const NAMELESS: &str = " (deleted)";
/// In the flags of a process (`proc_pid_stat(5)`): it is a thread of the kernel, as those are that write for a loop device.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is watched of a loop device.
pub(super) struct Backing {
    disk: String,
    first: Behind,
    path: String,
    watched: Option<(File, u64, Fanotify)>,
}

impl std::fmt::Debug for Backing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backing")
            .field("disk", &self.disk)
            .field("first", &self.first)
            .finish_non_exhaustive()
    }
}

impl Backing {
    /// Begins to watch; `None` for what is no loop device.
    ///
    /// # Errors
    /// What cannot be watched, and why.
    pub(super) fn begin(root: &Root, disk: &str) -> Result<Option<Self>, String> {
        let Some(path) = root.text(&format!("/sys/class/block/{disk}/loop/backing_file")).get() else {
            return Ok(None);
        };
        let unseen = |why: &str| format!("who writes to `{path}`, the file behind {disk}: {why}");
        let first = backing(root, disk).ok_or_else(|| unseen("the kernel does not tell which file it is"))?;
        if first.device.is_some() {
            return Err(unseen("it is a device itself; name that"));
        }
        let mut watched = None;
        if !path.ends_with(NAMELESS) {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened =
                rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| unseen(&error.to_string()))?;
            let file = File::from(opened);
            let found = file.metadata().map_err(|error| unseen(&error.to_string()))?;
            if id(&found) != first.file {
                return Err(unseen("its name leads to another file"));
            }
            let events = watch(&file).map_err(|error| unseen(&error.to_string()))?;
            watched = Some((file, found.len(), events));
        }
        Ok(Some(Self { disk: disk.to_owned(), first, path, watched }))
    }

    /// Whether it is the same part of the same file.
    pub(super) fn check(&self, root: &Root) -> Result<(), String> {
        self.unless(backing(root, &self.disk) == Some(self.first))
    }

    /// Whether the file is as long as it was: whoever has it open may cut it off without being told of.
    pub(super) fn check_length(&self) -> Result<(), String> {
        let has_length =
            |(file, bytes, _): &(File, u64, Fanotify)| file.metadata().is_ok_and(|now| now.len() == *bytes);
        self.unless(self.watched.as_ref().is_none_or(has_length))
    }

    fn unless(&self, is_same: bool) -> Result<(), String> {
        let said = || {
            format!(
                "what is behind {} changed while narrows used it (its file `{}`, that file's length, its offset or its size limit)",
                self.disk, self.path
            )
        };
        is_same.then_some(()).ok_or_else(said)
    }

    /// Whether nobody else wrote to the file, or closed it after having it open to write.
    pub(super) fn check_writers(&self, root: &Root) -> Result<(), String> {
        let Some((_, _, events)) = &self.watched else { return Ok(()) };
        let seen = match events.read_events() {
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(()),
            Err(error) => {
                return Err(format!(
                    "writes to `{}`, behind {}, are not told any more: {error}",
                    self.path, self.disk
                ));
            }
            Ok(seen) => seen,
        };
        let is_theirs = |mask: MaskFlags, pid: i32| {
            mask.intersects(MaskFlags::FAN_CLOSE_WRITE | MaskFlags::FAN_Q_OVERFLOW) || !is_kernel(root, pid)
        };
        match seen.iter().find(|event| is_theirs(event.mask(), event.pid())) {
            Some(event) => Err(format!(
                "somebody else wrote to `{}`, the file behind {}, while narrows used it: process {}",
                self.path,
                self.disk,
                event.pid()
            )),
            None => Ok(()),
        }
    }
}

fn watch(file: &File) -> nix::Result<Fanotify> {
    let flags = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
    let events = Fanotify::init(flags, EventFFlags::from_bits_truncate(libc::O_CLOEXEC as u32))?;
    let mask = MaskFlags::FAN_MODIFY | MaskFlags::FAN_CLOSE_WRITE;
    events.mark::<_, str>(MarkFlags::FAN_MARK_ADD, mask, file, None)?;
    Ok(events)
}

fn id(found: &Metadata) -> FileId {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    FileId { device: (narrow(major(found.dev())), narrow(minor(found.dev()))), inode: found.ino() }
}

fn is_kernel(root: &Root, pid: i32) -> bool {
    let text = root.text(&format!("/proc/{pid}/stat")).get().unwrap_or_default();
    // The name may hold spaces and brackets; the flags are the seventh word behind it.
    let behind = text.rsplit_once(") ").map_or("", |(_, behind)| behind);
    let flags = behind.split_whitespace().nth(6).and_then(|word| word.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & KERNEL_THREAD != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_told_from_processes() {
        let root = Root::live();
        // Number 2 is kthreadd, unless this is a PID namespace of its own.
        if root.text("/proc/2/comm").get().is_some_and(|name| name.trim() == "kthreadd") {
            assert!(is_kernel(&root, 2));
        }
        assert!(!is_kernel(&root, i32::try_from(std::process::id()).unwrap()) && !is_kernel(&root, i32::MAX));
    }
}
