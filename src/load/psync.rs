//! The second engine: one `pread(2)` at a time. Several threads of it make a queue.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::buffer::Buffer;
use super::engine::{Completion, Engine};

/// One read at a time from one file.
#[derive(Debug)]
pub(super) struct Psync<'f> {
    file: &'f File,
    buffer: Buffer,
    prepared: Option<(u32, u64)>,
    enters: u64,
}

impl<'f> Psync<'f> {
    /// An engine of depth 1 that reads blocks as long as the buffer.
    pub(super) fn new(file: &'f File, buffer: Buffer) -> Self {
        Self { file, buffer, prepared: None, enters: 0 }
    }
}

impl Engine for Psync<'_> {
    fn prepare(&mut self, slot: u32, offset: u64) -> io::Result<()> {
        match self.prepared.replace((slot, offset)) {
            None => Ok(()),
            Some(_) => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn submit_and_reap(&mut self, _want: u32, done: &mut Vec<Completion>) -> io::Result<()> {
        if let Some((slot, offset)) = self.prepared.take() {
            self.enters += 1;
            let result = match self.file.read_at(self.buffer.bytes(), offset) {
                Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
                Err(error) => -error.raw_os_error().unwrap_or(nix::libc::EIO),
            };
            done.push(Completion { slot, result });
        }
        Ok(())
    }

    fn enters(&self) -> u64 {
        self.enters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_was_prepared_and_returns_short_reads_and_errors_as_they_are() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[7; 6000], 0).unwrap();
        let mut engine = Psync::new(&file, Buffer::new(4096).unwrap());
        let mut done = Vec::new();
        for offset in [0, 4096, 8192, u64::MAX] {
            engine.prepare(3, offset).unwrap();
            engine.submit_and_reap(1, &mut done).unwrap();
        }
        let results: Vec<i32> = done.iter().map(|completion| completion.result).collect();
        assert_eq!(results, [4096, 1904, 0, -nix::libc::EINVAL]);
        assert_eq!(engine.buffer.bytes()[0], 7);
        assert_eq!(engine.enters(), 4);
    }

    #[test]
    fn a_second_read_at_once_is_refused() {
        let file = tempfile::tempfile().unwrap();
        let mut engine = Psync::new(&file, Buffer::new(4096).unwrap());
        engine.prepare(0, 0).unwrap();
        assert!(engine.prepare(1, 0).is_err());
    }
}
