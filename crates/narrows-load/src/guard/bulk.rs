//! Reads many pieces of a medium at once: through io_uring, or with a thread for each read in flight where the kernel
//! forbids that.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::super::buffer::Buffer;
use super::super::engine::{Completion, Engine, Op, PATIENCE, Request};
use super::super::memory::Memory;
use super::super::ring::{Ring, RingEngine};
use nix::libc;

/// Reads in flight. Any drive reaches its rate at random places with so many.
const DEPTH: u32 = 64;
/// More reads are sent at once as long as each ends within the first of these, and fewer when one takes longer than the second:
/// what is in flight is waited for when the time is over.
const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_millis(400);
/// No more memory than this for what is in flight.
const MOST_MEMORY: u64 = 64 << 20;

/// A part of a medium that is read in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// The first byte, a multiple of the medium's unit.
    pub(super) offset: u64,
    /// How many bytes: a multiple of the unit, but at the end of the medium.
    pub(super) length: u32,
}

/// Is told what a piece holds, or why it cannot be read; ends the work by answering [`ControlFlow::Break`].
pub(super) type See<'a> = &'a mut dyn FnMut(Piece, io::Result<&[u8]>) -> ControlFlow<()>;

/// What can be read in many pieces at once, in any order.
pub(super) trait Bulk {
    /// How large it is, in bytes.
    fn size(&self) -> u64;

    /// What offsets and lengths of pieces are multiples of: 4 KiB, unless the medium has larger blocks.
    fn unit(&self) -> u64;

    /// Reads every piece, none longer than `longest`, and shows each to `see` once.
    ///
    /// # Errors
    /// Memory is short, or the engine broke down. A piece that cannot be read is shown as such.
    fn read_all(
        &self,
        longest: u32,
        pieces: &mut (dyn Iterator<Item = Piece> + Send),
        see: See<'_>,
    ) -> io::Result<()>;
}

/// A device that is open past the page cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Opened<'f> {
    pub(super) file: &'f File,
    pub(super) size: u64,
    pub(super) unit: u64,
}

impl Bulk for Opened<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn unit(&self) -> u64 {
        self.unit
    }

    fn read_all(
        &self,
        longest: u32,
        pieces: &mut (dyn Iterator<Item = Piece> + Send),
        see: See<'_>,
    ) -> io::Result<()> {
        let depth = depth(longest);
        match Ring::open(depth) {
            Ok(mut ring) => {
                let memory = Memory::new(longest.into(), depth, true, false, 0)?;
                through_ring(&mut RingEngine::on(&mut ring, self.file, memory), depth, pieces, see)
            }
            Err(_) => by_threads(self.file, depth, longest, pieces, see),
        }
    }
}

/// Reads in flight of pieces of this length.
fn depth(longest: u32) -> u32 {
    let fitting = MOST_MEMORY / u64::from(longest.max(1));
    u32::try_from(fitting).unwrap_or(DEPTH).clamp(8, DEPTH)
}

fn through_ring<E: Engine>(
    engine: &mut E,
    depth: u32,
    pieces: &mut dyn Iterator<Item = Piece>,
    see: See<'_>,
) -> io::Result<()> {
    let mut flying: Vec<Option<(Piece, Instant)>> = vec![None; depth as usize];
    let mut most = 1;
    let mut free: Vec<u32> = (0..depth).rev().collect();
    let mut done = Vec::new();
    let mut is_over = false;
    loop {
        while flying.len() - free.len() < most
            && let Some(slot) = free.pop_if(|_| !is_over)
        {
            let Some(piece) = pieces.next() else {
                free.push(slot);
                is_over = true;
                break;
            };
            engine.prepare(slot, request(piece))?;
            if let Some(place) = flying.get_mut(slot as usize) {
                *place = Some((piece, Instant::now()));
            }
        }
        if flying.iter().all(Option::is_none) {
            return Ok(());
        }
        engine.submit_and_reap(1, PATIENCE, &mut done)?;
        for Completion { slot, result } in done.drain(..) {
            let Some((piece, sent)) = flying.get(slot as usize).copied().flatten() else { continue };
            if matches!(-result, libc::EAGAIN | libc::EINTR) {
                engine.prepare(slot, request(piece))?;
                continue;
            }
            let bytes = engine.memory().and_then(|memory| memory.bytes(slot, request(piece)));
            most = match sent.elapsed() {
                taken if taken < SOON => (2 * most).min(depth as usize),
                taken if taken > LATE => (most / 2).max(1),
                _ => most,
            };
            // What was on its way when the end came is still looked at.
            if see(piece, whole(piece, result).and(bytes.map(|bytes| &*bytes).ok_or_else(short))).is_break() {
                is_over = true;
            }
            if let Some(place) = flying.get_mut(slot as usize) {
                *place = None;
            }
            free.push(slot);
        }
    }
}

fn request(piece: Piece) -> Request {
    Request { op: Op::Read, offset: piece.offset, length: piece.length }
}

fn short() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

/// Whether a read gave all of its piece.
fn whole(piece: Piece, result: i32) -> io::Result<()> {
    match u32::try_from(result) {
        Ok(moved) if moved == piece.length => Ok(()),
        Ok(_) => Err(short()),
        Err(_) => Err(io::Error::from_raw_os_error(result.wrapping_neg())),
    }
}

/// The same with threads, each of which has one read in flight.
fn by_threads(
    file: &File,
    threads: u32,
    longest: u32,
    pieces: &mut (dyn Iterator<Item = Piece> + Send),
    see: See<'_>,
) -> io::Result<()> {
    let pieces = Mutex::new(pieces);
    thread::scope(|scope| {
        let (sender, came) = sync_channel(threads as usize);
        for _ in 0..threads {
            let (sender, pieces) = (sender.clone(), &pieces);
            let reader = move || {
                let Ok(mut buffer) = Buffer::new(longest as usize) else { return };
                loop {
                    let next = pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(piece) = next else { return };
                    let into = buffer.bytes().get_mut(..piece.length as usize).ok_or_else(short);
                    let read =
                        into.and_then(|into| file.read_exact_at(into, piece.offset).map(|()| into.to_vec()));
                    if sender.send((piece, read)).is_err() {
                        return;
                    }
                }
            };
            // Fewer threads read more slowly; without any nothing is read, and that is seen below.
            if thread::Builder::new().spawn_scoped(scope, reader).is_err() {
                break;
            }
        }
        drop(sender);
        for (piece, read) in &came {
            if see(piece, read.as_deref().map_err(copy_of)).is_break() {
                return Ok(());
            }
        }
        let left = pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        if left.is_some() { Err(io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
    })
}

fn copy_of(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(blocks: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        for block in 0..blocks {
            file.write_all_at(&[block as u8 + 1; 4096], block * 4096).unwrap();
        }
        file
    }

    fn all(blocks: u64) -> impl Iterator<Item = Piece> + Send {
        (0..blocks).map(|block| Piece { offset: block * 4096, length: 4096 })
    }

    fn check(read: impl Fn(&mut (dyn Iterator<Item = Piece> + Send), See<'_>) -> io::Result<()>) {
        let mut seen = [0_u8; 200];
        read(&mut all(200), &mut |piece, bytes| {
            let bytes = bytes.unwrap();
            let number = (piece.offset / 4096) as usize;
            assert!(bytes.len() == 4096 && bytes.iter().all(|byte| *byte == number as u8 + 1));
            seen[number] += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(seen.iter().all(|count| *count == 1), "each piece is seen once");
        let mut count = 0;
        read(&mut all(200), &mut |_, _| {
            count += 1;
            ControlFlow::Break(())
        })
        .unwrap();
        assert!(count <= DEPTH, "{count} after the first said no");
        let mut beyond = std::iter::once(Piece { offset: 200 * 4096, length: 4096 });
        let mut errors = 0;
        read(&mut beyond, &mut |_, bytes| {
            errors += u32::from(bytes.is_err());
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(errors, 1, "a piece beyond the end is an error, not a short read");
    }

    #[test]
    fn every_piece_is_read_once_through_a_ring_and_by_threads() {
        let file = numbered(200);
        let opened = Opened { file: &file, size: 200 * 4096, unit: 4096 };
        check(|pieces, see| opened.read_all(4096, pieces, see));
        check(|pieces, see| by_threads(&file, DEPTH, 4096, pieces, see));
    }

    #[test]
    fn long_pieces_take_no_more_memory_than_allowed() {
        assert_eq!((depth(4096), depth(1 << 20), depth(4 << 20)), (64, 64, 16));
    }
}
