//! The engine that reads an NVMe namespace by the drive's own commands: `IORING_OP_URING_CMD` on its character device
//! (`/dev/ng0n1`, Linux 5.19), past the block layer with its scheduler, its counters and its limits.
//!
//! The only command that can be formed here is Read. The kernel splits nothing on this way, so an I/O that is larger than
//! the drive takes at once is sent as several commands and counts as one.

#![expect(unsafe_code, reason = "a command names memory by address")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use io_uring::types::Fixed;
use io_uring::{cqueue, opcode, squeue, types};
use nix::libc;

use super::engine::{Completion, Engine, Op, Request};
use super::error::LoadError;
use super::memory::Memory;
use super::polling::first_result;
use super::queue::{AnyRing, Queue};
use super::ran::EngineKind;
use super::workload::Workload;
use narrows_base::units::{Bytes, human};

/// A ring with the long entries that passthrough takes.
pub(super) type CommandRing = AnyRing<squeue::Entry128, cqueue::Entry32>;

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)` (kernel `include/uapi/linux/nvme_ioctl.h`).
const COMMAND: u32 = nix::request_code_readwrite!(b'N', 0x80, COMMAND_LENGTH) as u32;
/// The length of `struct nvme_uring_cmd`.
const COMMAND_LENGTH: usize = 72;
/// Read (NVM Command Set Specification, figure "Opcodes for NVM Commands").
const READ: u8 = 0x02;
/// Entries that a ring may have (kernel `io_uring/io_uring.h`, `IORING_MAX_ENTRIES`).
const MOST_ENTRIES: u64 = 32_768;
/// A command counts its blocks in 16 bits, from one on.
const MOST_BLOCKS: u64 = 1 << 16;

/// A namespace that is read by commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Its character device, `/dev/ng0n1`.
    pub device: PathBuf,
    /// Its identifier (NSID).
    pub id: u32,
    /// The size of a logical block. Blocks with metadata cannot be read this way: the caller sees to it that there is none.
    pub block: Bytes,
    /// The most that one command may read, so that neither the drive (MDTS) nor the kernel refuses it.
    pub largest: Bytes,
}

impl Namespace {
    /// The most that one command reads: whole blocks.
    fn at_once(&self) -> u64 {
        let block = self.block.get().max(1);
        let most = self.largest.get().min(block.saturating_mul(MOST_BLOCKS));
        (most / block).max(1).saturating_mul(block)
    }

    /// Commands for the largest I/O of a workload.
    fn commands(&self, workload: &Workload) -> u64 {
        workload.block_size.get().div_ceil(self.at_once()).max(1)
    }

    /// The entries that a ring needs for a workload.
    pub(super) fn entries(&self, workload: &Workload) -> u32 {
        let entries = self.commands(workload).saturating_mul(workload.queue_depth.into());
        u32::try_from(entries).unwrap_or(u32::MAX)
    }

    /// Whether a workload can be run by commands.
    ///
    /// # Errors
    /// It does not only read, in whole blocks of the namespace, or it would need more entries than a ring may have.
    pub(super) fn check(&self, workload: &Workload) -> Result<(), LoadError> {
        let refused = |why: String| Err(LoadError::Workload(why));
        if workload.changes() {
            return refused("NVMe passthrough only ever reads".to_owned());
        }
        let size = workload.block_size;
        if !size.get().is_multiple_of(self.block.get().max(1)) {
            return refused(format!(
                "{} are not whole blocks of {}, in which passthrough reads",
                human::block_size(size),
                human::block_size(self.block)
            ));
        }
        if u64::from(self.entries(workload)) > MOST_ENTRIES {
            return refused(format!(
                "passthrough needs {} commands for each I/O, too many at this depth",
                self.commands(workload)
            ));
        }
        Ok(())
    }

    /// Opens the character device, for reading.
    ///
    /// # Errors
    /// What the kernel answers.
    pub(super) fn open(&self) -> io::Result<File> {
        open(&self.device)
    }

    /// Tries one read of a workload, as the engine would do it.
    ///
    /// # Errors
    /// The kernel or the drive refuses it.
    pub(super) fn try_reading(&self, workload: &Workload, polled: bool) -> io::Result<()> {
        let file = self.open()?;
        let mut ring = CommandRing::with(self.entries(workload), polled)?;
        let memory = Memory::new(workload.block_size.get(), 1, true, false, 0)?;
        CommandEngine::on(&mut ring, &file, self, memory, 1)?.tried(workload).map(drop)
    }
}

#[expect(clippy::disallowed_methods, reason = "what is measured is opened in load/")]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// How far the I/O of a slot is.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Commands that have not ended.
    left: u32,
    /// Its bytes, once all have ended well.
    length: u32,
    /// The first error, a negated errno.
    error: i32,
}

/// A ring at work on one namespace, which lives no longer than its file (`'f`) and the ring (`'r`).
pub(super) struct CommandEngine<'r, 'f> {
    queue: Queue<'r, squeue::Entry128, cqueue::Entry32>,
    file: &'f File,
    id: u32,
    block: u64,
    at_once: u32,
    slots: Box<[Progress]>,
    /// Commands that ended.
    ended: Vec<Completion>,
}

impl<'r, 'f> CommandEngine<'r, 'f> {
    /// Reads the namespace that `file` is open on, each of `depth` slots with its own part of `memory`.
    ///
    /// # Errors
    /// The namespace's blocks are larger than any command can say.
    pub(super) fn on(
        ring: &'r mut CommandRing,
        file: &'f File,
        namespace: &Namespace,
        memory: Memory,
        depth: u32,
    ) -> io::Result<Self> {
        let mut queue = Queue::new(ring, memory);
        queue.register_memory();
        queue.register_file(file.as_raw_fd());
        Ok(Self {
            queue,
            file,
            id: namespace.id,
            block: namespace.block.get().max(1),
            at_once: u32::try_from(namespace.at_once()).map_err(|_| io::ErrorKind::InvalidInput)?,
            slots: vec![Progress::default(); depth as usize].into(),
            ended: Vec::with_capacity(2 * depth as usize),
        })
    }

    /// The same engine, after a read of the workload's size was tried. Before Linux 6.3 a command in a large registered buffer
    /// is refused, for it counts the pages of the whole buffer as its own; then the buffer is not used as registered.
    ///
    /// # Errors
    /// The read is refused either way.
    pub(super) fn tried(mut self, workload: &Workload) -> io::Result<Self> {
        let length = u32::try_from(workload.block_size.get()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let request = Request { op: Op::Read, offset: 0, length };
        self.prepare(0, request)?;
        let first = first_result(&mut self);
        let is_over = self.queue.in_flight() == 0;
        if first.is_err() && is_over && self.queue.granted.fixed_buffer {
            self.queue.granted.fixed_buffer = false;
            self.prepare(0, request)?;
            first_result(&mut self)?;
        } else {
            first?;
        }
        Ok(self)
    }

    /// What the kernel granted.
    pub(super) const fn describe(&self) -> EngineKind {
        EngineKind::Passthrough(self.queue.granted)
    }

    /// The entry of one command; `at` is an address inside the memory.
    #[inline]
    fn entry(&self, slot: u32, offset: u64, length: u32, at: u64) -> squeue::Entry128 {
        let command = read_command(self.id, offset / self.block, u64::from(length) / self.block, length, at);
        let index = self.queue.granted.fixed_buffer.then_some(0);
        macro_rules! on {
            ($file:expr) => {
                opcode::UringCmd80::new($file, COMMAND).cmd(command).buf_index(index).build()
            };
        }
        let entry =
            if self.queue.granted.fixed_file { on!(Fixed(0)) } else { on!(types::Fd(self.file.as_raw_fd())) };
        entry.user_data(slot.into())
    }
}

/// `struct nvme_uring_cmd` of a read, in the room that an entry has for it.
#[inline]
fn read_command(namespace: u32, first: u64, blocks: u64, length: u32, address: u64) -> [u8; 80] {
    let mut command = [0; 80];
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(field) = command.get_mut(at..at + bytes.len()) {
            field.copy_from_slice(bytes);
        }
    };
    put(0, &[READ]);
    put(4, &namespace.to_ne_bytes());
    put(24, &address.to_ne_bytes());
    put(36, &length.to_ne_bytes());
    // Dwords 10 and 11: the first block; dword 12: the number of blocks, less one.
    put(40, &(first as u32).to_ne_bytes());
    put(44, &((first >> 32) as u32).to_ne_bytes());
    put(48, &(blocks.saturating_sub(1) as u32).to_ne_bytes());
    command
}

impl Engine for CommandEngine<'_, '_> {
    #[inline]
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()> {
        let Request { op, offset, length } = request;
        let is_whole = offset.is_multiple_of(self.block) && u64::from(length).is_multiple_of(self.block);
        if op != Op::Read || !is_whole || length == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let from = self.queue.memory().place(slot, request).ok_or(io::ErrorKind::InvalidInput)?;
        let start = self.queue.memory().buffer().start().as_ptr() as u64 + from as u64;
        let left = length.div_ceil(self.at_once);
        let progress = self.slots.get_mut(slot as usize).ok_or(io::ErrorKind::InvalidInput)?;
        *progress = Progress { left, length, error: 0 };
        let mut done = 0;
        while done < length {
            let part = self.at_once.min(length - done);
            let entry = self.entry(slot, offset + u64::from(done), part, start + u64::from(done));
            // SAFETY: the command reads `part` bytes to the slot's own place in the queue's memory, which has room for
            // `length` (`place` checked it); the file lives for `'f`, longer than the engine. The worker gives out a
            // slot to one I/O at a time.
            unsafe { self.queue.push(&entry) }?;
            done += part;
        }
        Ok(())
    }

    #[inline]
    fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        let before = done.len();
        loop {
            self.ended.clear();
            let missing = want.saturating_sub((done.len() - before) as u32);
            self.queue.submit_and_reap(missing, patience, &mut self.ended)?;
            let is_silent = self.ended.is_empty();
            for command in self.ended.drain(..) {
                let Some(progress) = self.slots.get_mut(command.slot as usize) else { continue };
                progress.left = progress.left.saturating_sub(1);
                if progress.error == 0 {
                    progress.error = errno(command.result);
                }
                if progress.left == 0 {
                    let length = i32::try_from(progress.length).unwrap_or(i32::MAX);
                    let result = if progress.error == 0 { length } else { progress.error };
                    done.push(Completion { slot: command.slot, result });
                }
            }
            // A command may end without its I/O being over.
            if is_silent || done.len() - before >= want as usize {
                return Ok(());
            }
        }
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        Some(self.queue.memory_mut())
    }

    fn enters(&self) -> u64 {
        self.queue.enters()
    }

    fn has_io_workers(&self) -> bool {
        true
    }
}

/// What a command's result means: zero is success, a positive number the drive's own status, a negative one an errno.
const fn errno(result: i32) -> i32 {
    if result > 0 { -libc::EIO } else { result }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;
    use narrows_base::workload::Pattern;

    fn namespace(largest: u64) -> Namespace {
        let device = PathBuf::from("/dev/ng0n1");
        Namespace { device, id: 1, block: Bytes::new(512), largest: Bytes::new(largest) }
    }

    fn reading(block: u64, depth: u32) -> Workload {
        Workload::read(Pattern::Random, Bytes::new(block), depth, Nanos::from_millis(1))
    }

    #[test]
    fn a_read_is_laid_out_as_the_kernel_header_says() {
        // What a C compiler makes of `NVME_URING_CMD_IO`.
        assert_eq!(COMMAND, 0xc048_4e80);
        let command = read_command(7, 0x1_0000_0002, 8, 4096, 0xdead_beef_0000);
        let word = |at: usize| u32::from_ne_bytes(command[at..at + 4].try_into().unwrap());
        assert_eq!((command[0], word(4), word(36)), (2, 7, 4096));
        assert_eq!(u64::from_ne_bytes(command[24..32].try_into().unwrap()), 0xdead_beef_0000);
        // Block 2^32 + 2, and seven more after the first.
        assert_eq!((word(40), word(44), word(48)), (2, 1, 7));
        assert!(command[52..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn large_reads_are_split_into_whole_blocks() {
        assert_eq!(namespace(256 << 10).at_once(), 256 << 10);
        assert_eq!(namespace(1000).at_once(), 512);
        assert_eq!(namespace(0).at_once(), 512, "no command reads less than a block");
        assert_eq!(namespace(1 << 40).at_once(), 32 << 20, "65536 blocks");
        assert_eq!(namespace(256 << 10).entries(&reading(1 << 20, 8)), 32);
        assert_eq!(namespace(256 << 10).entries(&reading(4096, 32)), 32);
    }

    #[test]
    fn only_reads_of_whole_blocks_are_taken() {
        let refused = |workload: &Workload| namespace(65_536).check(workload).unwrap_err().to_string();
        assert!(namespace(65_536).check(&reading(4096, 32)).is_ok());
        let writes = Workload { write_percent: 1, ..reading(4096, 1) };
        assert_eq!(refused(&writes), "NVMe passthrough only ever reads");
        assert_eq!(refused(&Workload { trim_percent: 1, ..reading(4096, 1) }), refused(&writes));
        assert!(refused(&reading(1000, 1)).contains("whole blocks of 512 B"));
        assert!(refused(&reading(64 << 20, 4096)).contains("1024 commands"));
    }

    #[test]
    fn a_file_takes_no_commands_and_the_engine_takes_nothing_but_reads() {
        let Ok(mut ring) = CommandRing::open(8) else {
            println!("skipped: no io_uring with long entries here");
            return;
        };
        let file = tempfile::tempfile().unwrap();
        let memory = Memory::new(4096, 2, true, true, 0).unwrap();
        let mut engine = CommandEngine::on(&mut ring, &file, &namespace(1024), memory, 2).unwrap();
        for (op, offset, length) in
            [(Op::Write, 0, 512), (Op::Discard, 0, 512), (Op::Read, 1, 512), (Op::Read, 0, 100)]
        {
            assert!(engine.prepare(0, Request { op, offset, length }).is_err(), "{op:?}");
        }
        // Four commands, one I/O, one error.
        engine.prepare(1, Request { op: Op::Read, offset: 0, length: 4096 }).unwrap();
        let mut done = Vec::new();
        engine.submit_and_reap(1, Duration::from_secs(1), &mut done).unwrap();
        assert_eq!(done, [Completion { slot: 1, result: -libc::EOPNOTSUPP }]);
        assert_eq!(engine.queue.in_flight(), 0);
    }

    #[test]
    fn a_status_of_the_drive_is_an_io_error() {
        assert_eq!([0, 0x281, -libc::ENODEV].map(errno), [0, -libc::EIO, -libc::ENODEV]);
    }

    #[test]
    fn an_io_is_over_when_all_its_commands_are() {
        let Ok(mut ring) = CommandRing::open(8) else {
            println!("skipped: no io_uring with long entries here");
            return;
        };
        // The null device takes any command and does nothing (kernel drivers/char/mem.c, since 6.0).
        let null = open(Path::new("/dev/null")).unwrap();
        let memory = Memory::new(4096, 2, true, false, 0).unwrap();
        let mut engine = CommandEngine::on(&mut ring, &null, &namespace(1024), memory, 2).unwrap();
        engine.prepare(0, Request { op: Op::Read, offset: 512, length: 3584 }).unwrap();
        engine.prepare(1, Request { op: Op::Read, offset: 0, length: 512 }).unwrap();
        assert_eq!(engine.queue.in_flight(), 5);
        let mut done = Vec::new();
        engine.submit_and_reap(2, Duration::from_secs(1), &mut done).unwrap();
        if done.iter().any(|completion| completion.result == -libc::EOPNOTSUPP) {
            println!("skipped: the null device of this kernel takes no commands");
            return;
        }
        done.sort_by_key(|completion| completion.slot);
        assert_eq!(done, [(0, 3584), (1, 512)].map(|(slot, result)| Completion { slot, result }));
    }

    #[test]
    fn what_is_no_namespace_is_refused() {
        let full = Namespace { device: PathBuf::from("/dev/full"), ..namespace(4096) };
        assert!(full.try_reading(&reading(4096, 1), false).is_err());
        let missing = Namespace { device: PathBuf::from("/dev/no-such-namespace"), ..namespace(4096) };
        assert!(missing.open().is_err());
    }
}
