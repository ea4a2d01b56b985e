//! The second engine: one `pread(2)` or `pwrite(2)` at a time. Several threads of it make a queue.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use super::engine::{Completion, Engine, Op, Request};
use super::memory::Memory;

/// One I/O at a time on one file.
#[derive(Debug)]
pub(super) struct Psync<'f> {
    file: &'f File,
    memory: Memory,
    prepared: Option<(u32, Request)>,
    enters: u64,
}

impl<'f> Psync<'f> {
    /// An engine of depth 1. All slots share the first part of the memory.
    pub(super) fn new(file: &'f File, memory: Memory) -> Self {
        Self { file, memory, prepared: None, enters: 0 }
    }
}

impl Engine for Psync<'_> {
    fn prepare(&mut self, slot: u32, request: Request) -> io::Result<()> {
        if self.memory.place(0, request).is_none() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        match self.prepared.replace((slot, request)) {
            None => Ok(()),
            Some(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn submit_and_reap(
        &mut self,
        want: u32,
        patience: Duration,
        done: &mut Vec<Completion>,
    ) -> io::Result<()> {
        if let Some((slot, request)) = self.prepared.take() {
            self.enters += 1;
            let bytes = self.memory.bytes(0, request).ok_or(io::ErrorKind::InvalidInput)?;
            done.push(Completion { slot, result: carry_out(self.file, bytes, request) });
        } else if want > 0 {
            std::thread::sleep(patience);
        }
        Ok(())
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        Some(&mut self.memory)
    }

    fn enters(&self) -> u64 {
        self.enters
    }
}

/// Does one I/O on `bytes` and returns what the kernel would put into a completion: the bytes moved, or a negated errno.
pub(super) fn carry_out(file: &File, bytes: &mut [u8], request: Request) -> i32 {
    let moved = match request.op {
        Op::Read => file.read_at(bytes, request.offset),
        Op::Write => file.write_at(bytes, request.offset),
    };
    match moved {
        Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
        Err(error) => -error.raw_os_error().unwrap_or(nix::libc::EIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset: u64) -> Request {
        Request { op, offset, length: 4096 }
    }

    fn memory() -> Memory {
        Memory::new(4096, 1, true, true, 1).unwrap()
    }

    #[test]
    fn it_reads_what_was_prepared_and_returns_short_reads_and_errors_as_they_are() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 6000], 0).unwrap();
        let mut engine = Psync::new(&file, memory());
        let mut done = Vec::new();
        for offset in [0, 4096, 8192, u64::MAX] {
            engine.prepare(3, request(Op::Read, offset)).unwrap();
            engine.submit_and_reap(1, Duration::ZERO, &mut done).unwrap();
        }
        let results: Vec<i32> = done.iter().map(|completion| completion.result).collect();
        assert_eq!(results, [4096, 1904, 0, -nix::libc::EINVAL]);
        assert_eq!(engine.memory.bytes(0, request(Op::Read, 0)).unwrap()[0], 7);
        assert_eq!(engine.enters(), 4);
    }

    #[test]
    fn it_writes_the_data_of_the_slot() {
        let file = tempfile::tempfile().unwrap();
        let mut engine = Psync::new(&file, memory());
        let mut done = Vec::new();
        engine.prepare(0, request(Op::Write, 4096)).unwrap();
        engine.submit_and_reap(1, Duration::ZERO, &mut done).unwrap();
        assert_eq!(done, [Completion { slot: 0, result: 4096 }]);
        let mut written = [0; 4096];
        file.read_exact_at(&mut written, 4096).unwrap();
        assert_eq!(engine.memory.bytes(0, request(Op::Write, 0)).unwrap(), written);
    }

    #[test]
    fn a_second_io_at_once_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let mut engine = Psync::new(&file, memory());
        engine.prepare(0, request(Op::Read, 0)).unwrap();
        assert!(engine.prepare(1, request(Op::Read, 0)).is_err());
    }
}
