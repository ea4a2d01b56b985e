//! What unpacking may cost: bytes and time of all inputs together. A few kilobytes can hold gigabytes, and archives lie in
//! archives.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::{LONGEST_UNPACKING, MOST_UNPACKED_IN_ALL};
use narrows_machine::snapshot::SnapshotError;

/// In words, what passed its bound.
const TIME: &str = "is unpacked and read in 120 s";

/// What is left of bytes and time.
#[derive(Debug, Clone)]
pub(super) struct Spent {
    bytes: Rc<Cell<u64>>,
    until: Instant,
}

impl Spent {
    /// Nothing is spent yet, and time begins.
    pub(super) fn nothing() -> Self {
        Self::of(MOST_UNPACKED_IN_ALL, LONGEST_UNPACKING)
    }

    fn of(bytes: u64, time: Duration) -> Self {
        let now = Instant::now();
        Self { bytes: Rc::new(Cell::new(bytes)), until: now.checked_add(time).unwrap_or(now) }
    }

    /// # Errors
    /// [`SnapshotError::TooLarge`] when the time is over.
    pub(super) fn check(&self) -> Result<(), SnapshotError> {
        if Instant::now() > self.until { Err(SnapshotError::TooLarge { limit: TIME }) } else { Ok(()) }
    }

    /// A reader of unpacked bytes, which fails when the bytes or the time of all are spent.
    pub(super) fn reader<R: Read>(&self, inner: R) -> impl Read + use<R> {
        Counted { inner, spent: self.clone() }
    }
}

struct Counted<R> {
    inner: R,
    spent: Spent,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.spent.bytes.get();
        if left == 0 && !into.is_empty() {
            return Err(io::Error::other(format!(
                "what was given unpacks to more than {} GiB in all",
                MOST_UNPACKED_IN_ALL >> 30
            )));
        }
        if self.spent.check().is_err() {
            return Err(io::Error::other(format!("it holds more than {TIME}")));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let got = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.spent.bytes.set(left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX)));
        Ok(got)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_over_all_readers() {
        let spent = Spent::of(5, Duration::from_secs(60));
        let mut whole = Vec::new();
        assert_eq!(spent.reader(&b"abc"[..]).read_to_end(&mut whole).expect("fits"), 3);
        let error = spent.reader(&b"abc"[..]).read_to_end(&mut whole).expect_err("does not fit");
        assert!(error.to_string().contains("in all"), "{error}");
        assert_eq!(whole, b"abcab");
    }

    #[test]
    fn time_ends_too() {
        let spent = Spent::of(5, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(2));
        assert!(spent.check().is_err() && spent.reader(&b"abc"[..]).read(&mut [0]).is_err());
    }
}
