//! The facts of the machine on who uses a device, as the guard takes them.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use narrows_base::shell;
use narrows_load::guard::{Identity, Usage, Use, UseKind};
use narrows_machine::root::{FileId, Root};
use narrows_machine::usage::{
    self, Behind, Class, Counters, DeviceUsage, DeviceUse, Hidden, How, Traffic, backing,
};
use nix::libc;
use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use nix::sys::stat::{major, minor};
use rustix::fs::{Mode, OFlags};

/// What a device in memory is told by.
const KERNEL_NAME: &str = "kernel name";

/// Reads who uses the device with this kernel name.
pub(crate) fn of(root: &Root, name: &str) -> Usage {
    plain(usage::read(root, name))
}

/// How long the counters of a device must stand still.
const STILL: Duration = Duration::from_secs(1);
/// How often that is tried where something only reads: udev looks at each device that is new.
const TRIES: usize = 3;

/// Watches the counters of the device for a second in which narrows does nothing to it, and adds who reads or writes it, and
/// that its counters tell nothing. For a device that is in use already there is nothing to watch for.
pub fn watch(root: &Root, usage: &mut Usage) {
    if !usage.uses.is_empty() {
        return;
    }
    let names = [usage.device.clone()];
    for left in (0..TRIES).rev() {
        let first = Counters::read(root, &names);
        // What is memory has no counters in some kernels, and nobody to share it with.
        let is_memory = usage.identity.as_ref().is_some_and(|identity| identity.what == KERNEL_NAME);
        if !first.uncounted().is_empty() && !is_memory {
            let iostats = shell::word(&format!("/sys/block/{}/queue/iostats", usage.device));
            let why = format!("{} does not count (`echo 1 > {iostats}`)", usage.device);
            usage.unseen.push(Hidden { classes: vec![Class::Traffic], why }.to_string());
            return;
        }
        thread::sleep(STILL);
        let seen = first.until(&Counters::read(root, &names));
        if seen.is_empty() {
            return;
        }
        if left == 0 || seen.iter().any(Traffic::is_change) {
            usage.uses.extend(seen.into_iter().map(traffic));
            return;
        }
    }
}

fn traffic(seen: Traffic) -> Use {
    let Traffic { device, reads, changes, in_flight } = seen;
    let what = match (reads, changes) {
        (0, 0) => format!("{in_flight} reads or writes of somebody do not end"),
        (reads, 0) => format!("somebody who is not seen read it ({reads} times in a second)"),
        (_, changes) => format!("somebody who is not seen changed it ({changes} times in a second)"),
    };
    Use { device, kind: UseKind::Traffic, by: what }
}

fn plain(usage: DeviceUsage) -> Usage {
    Usage {
        number: usage.number.get(),
        size: usage.size.get(),
        read_only: usage.read_only.get(),
        identity: identity(usage.identity),
        family: usage.family,
        uses: usage.uses.into_iter().map(plain_use).collect(),
        unseen: usage.unseen,
        device: usage.name,
    }
}

fn identity(identity: usage::Identity) -> Option<Identity> {
    let (what, text) = match identity {
        usage::Identity::Serial(text) => ("serial number", text),
        usage::Identity::WorldWideName(text) => ("worldwide name", text),
        usage::Identity::BackingFile(text) => ("backing file", text),
        usage::Identity::KernelName(text) => (KERNEL_NAME, text),
        usage::Identity::None => return None,
    };
    Some(Identity { what, text })
}

fn plain_use(used: DeviceUse) -> Use {
    let (kind, by) = match used.how {
        How::Mounted { point, process } => (UseKind::Mount, format!("{point} (seen by process {process})")),
        How::Swap(path) => (UseKind::Swap, path),
        How::Holder(holder) => (UseKind::Holder, holder),
        How::Bcache => (UseKind::Holder, "bcache".to_owned()),
        How::BuiltOn(component) => (UseKind::Component, component),
        How::Partition(partition) => (UseKind::Partitioned, partition),
        How::PartitionOf(disk) => (UseKind::PartitionOf, disk),
        How::Open { process, program } => (UseKind::OpenFile, format!("process {process} ({program})")),
        How::Loop(device) => (UseKind::Loop, device),
        How::Mapped { process, program } => (UseKind::Mapped, format!("process {process} ({program})")),
        How::Registered { process, program } => {
            (UseKind::Registered, format!("process {process} ({program})"))
        }
        How::Exported(by) => (UseKind::Exported, by),
        How::FileSystem(kind) => (UseKind::FileSystem, kind),
        How::Kernel(by) => (UseKind::Kernel, by),
        How::Locked { process: 0 } => (UseKind::Locked, "somebody who is not seen".to_owned()),
        How::Locked { process } => (UseKind::Locked, format!("process {process}")),
        How::Path(other) => (UseKind::Path, other),
        How::Suspended => (UseKind::Suspended, "reading it would wait for ever".to_owned()),
    };
    Use { device: used.device, kind, by }
}

/// What the kernel adds to the path of a file that has no name any more. Nobody can open such a file anew.
const NAMELESS: &str = " (deleted)";
/// In the flags of a process (`proc_pid_stat(5)`): it is a thread of the kernel, as those are that write for a loop device.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// What is watched of a loop device: whether the file behind it is still that part of that file, and whether others write to it. The
/// kernel tells that by fanotify(7), and not of what the loop device itself writes.
#[derive(Debug)]
pub(super) struct Backing {
    disk: String,
    first: Behind,
    path: String,
    watched: Option<(File, u64, Fanotify)>,
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
        let unseen =
            |why: &dyn std::fmt::Display| format!("who writes to `{path}`, the file behind {disk}: {why}");
        let first =
            backing(root, disk).ok_or_else(|| unseen(&"the kernel does not tell which file it is"))?;
        if first.device.is_some() {
            return Err(unseen(&"it is a device itself; name that"));
        }
        let mut watched = None;
        if !path.ends_with(NAMELESS) {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let opened = rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| unseen(&error))?;
            let file = File::from(opened);
            let found = file.metadata().map_err(|error| unseen(&error))?;
            if id(&found) != first.file {
                return Err(unseen(&"its name leads to another file"));
            }
            let events = watch_file(&file).map_err(|error| unseen(&error))?;
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
        let Self { disk, path, .. } = self;
        let what = format!("its file `{path}`, that file's length, its offset or its size limit");
        let said = || format!("what is behind {disk} changed while narrows used it ({what})");
        is_same.then_some(()).ok_or_else(said)
    }

    /// Whether nobody else wrote to the file, or closed it after having it open to write.
    pub(super) fn check_writers(&self, root: &Root) -> Result<(), String> {
        let Self { disk, path, watched: Some((_, _, events)), .. } = self else { return Ok(()) };
        let seen = match events.read_events() {
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(()),
            Err(error) => {
                return Err(format!("writes to `{path}`, behind {disk}, are not told any more: {error}"));
            }
            Ok(seen) => seen,
        };
        let is_theirs = |mask: MaskFlags, pid: i32| {
            mask.intersects(MaskFlags::FAN_CLOSE_WRITE | MaskFlags::FAN_Q_OVERFLOW) || !is_kernel(root, pid)
        };
        match seen.iter().find(|event| is_theirs(event.mask(), event.pid())) {
            Some(event) => Err(format!(
                "somebody else wrote to `{path}`, the file behind {disk}, while narrows used it: process {}",
                event.pid()
            )),
            None => Ok(()),
        }
    }
}

fn watch_file(file: &File) -> nix::Result<Fanotify> {
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
