//! How much an archive may give when it is unpacked.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// A reader that fails, rather than ends, when more is asked of it than it may give.
#[derive(Debug)]
pub struct Limited<R> {
    inner: R,
    left: u64,
    is_spent: Rc<Cell<bool>>,
}

impl<R: Read> Limited<R> {
    /// A reader of at most so many bytes, and what says later whether more were asked for.
    pub fn new(inner: R, most: u64) -> (Self, Rc<Cell<bool>>) {
        let is_spent = Rc::new(Cell::new(false));
        (Self { inner, left: most, is_spent: Rc::clone(&is_spent) }, is_spent)
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        if most == 0 && !into.is_empty() {
            self.is_spent.set(true);
            return Err(io::Error::other("too large"));
        }
        let got = self.inner.read(into.get_mut(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(got).unwrap_or(u64::MAX));
        Ok(got)
    }
}
