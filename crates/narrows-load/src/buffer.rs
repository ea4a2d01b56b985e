//! Page-aligned memory for I/O.

#![expect(unsafe_code, reason = "aligned memory comes from mmap, and the kernel writes into it")]

use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};

/// From this size on a huge page (2 MiB on x86-64 and on arm64 with 4 KiB pages) can pay.
const HUGE_PAGE: usize = 2 << 20;

/// Anonymous memory of its own mapping, aligned to a page, which satisfies the alignment of any direct I/O.
#[derive(Debug)]
pub(super) struct Buffer {
    start: NonNull<u8>,
    length: NonZeroUsize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that made it.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Maps at least `length` bytes of zeros and touches every page, so that no page fault falls into a measurement
    /// and the memory lies on the NUMA node of the calling thread.
    ///
    /// # Errors
    /// What `mmap(2)` answers, usually that there is not enough memory.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let huge = length.get() >= HUGE_PAGE;
        // The advice on huge pages must come before the pages do.
        let flags = MapFlags::MAP_PRIVATE | if huge { MapFlags::empty() } else { MapFlags::MAP_POPULATE };
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory in use.
        let start = unsafe { mmap_anonymous(None, length, protection, flags) }?.cast::<u8>();
        let mut buffer = Self { start, length };
        if huge {
            // SAFETY: the range is the mapping made above; this advice does not change its contents. A refusal only
            // costs speed.
            let _ = unsafe { madvise(start.cast(), length.get(), MmapAdvise::MADV_HUGEPAGE) };
        }
        buffer.bytes().iter_mut().step_by(4096).for_each(|byte| *byte = 0);
        Ok(buffer)
    }

    /// All bytes.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` bytes of initialised (zeroed) readable and writable memory that nobody else
        // refers to; `&mut self` keeps it exclusive. The ring, which lets the kernel write here, never calls this.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length.get()) }
    }

    /// `length` bytes from `from`; `None` when they are not all inside.
    ///
    /// Only these bytes are borrowed from the kernel's point of view: it may write elsewhere in the buffer meanwhile.
    pub(super) fn part(&mut self, from: usize, length: usize) -> Option<&mut [u8]> {
        let end = from.checked_add(length)?;
        if end > self.length.get() {
            return None;
        }
        // SAFETY: the range was just checked to lie inside the mapping, which is initialised, readable and writable;
        // `&mut self` keeps other references away. The ring asks only for the part of a slot that is not in flight, so
        // the kernel does not touch it.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(from), length) })
    }

    /// Where it starts, for the kernel.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How long it is.
    pub(super) fn length(&self) -> usize {
        self.length.get()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the range is the whole mapping of `new`, and no reference into it outlives `self`.
        let _ = unsafe { munmap(self.start.cast(), self.length.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_zeroed_aligned_and_writable() {
        for length in [1, 4096, 65_537, 3 << 20] {
            let mut buffer = Buffer::new(length).unwrap();
            assert_eq!(buffer.start().as_ptr() as usize % 4096, 0);
            assert_eq!(buffer.bytes().len(), length);
            assert!(buffer.bytes().iter().all(|byte| *byte == 0));
            buffer.bytes()[length - 1] = 7;
        }
    }

    #[test]
    fn no_memory_is_an_error() {
        assert!(Buffer::new(0).is_err());
        assert!(Buffer::new(usize::MAX / 2).is_err());
    }
}
