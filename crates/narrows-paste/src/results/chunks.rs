//! A long text in pieces: what was looked at is forgotten, so that a text of any length takes the same room.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memchr_iter};

/// So many bytes are asked for at a time.
const PIECE: usize = 256 << 10;

/// A text that is read once, from its beginning to its end.
pub(super) struct Chunks<'r> {
    source: &'r mut dyn Read,
    piece: Vec<u8>,
    at: usize,
    end: usize,
    lines: usize,
    taken: usize,
    has_ended: bool,
    failure: Option<io::Error>,
}

impl<'r> Chunks<'r> {
    /// A text that begins with `head` and goes on with `source`.
    pub(super) fn new(head: &[u8], source: &'r mut dyn Read) -> Self {
        Self {
            source,
            piece: head.to_vec(),
            at: 0,
            end: head.len(),
            lines: 0,
            taken: 0,
            has_ended: false,
            failure: None,
        }
    }

    /// What comes next; nothing at the end of the text. What was taken is not shown again.
    pub(super) fn ahead(&mut self) -> &[u8] {
        if self.at >= self.end {
            self.fill();
        }
        self.piece.get(self.at..self.end).unwrap_or_default()
    }

    /// The next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.ahead().first().copied()
    }

    /// Goes past so many bytes of what is ahead.
    pub(super) fn take(&mut self, count: usize) {
        let to = self.at.saturating_add(count).min(self.end);
        self.lines += memchr_iter(b'\n', self.piece.get(self.at..to).unwrap_or_default()).count();
        self.taken += to - self.at;
        self.at = to;
    }

    /// The line of the next byte, from 1.
    pub(super) const fn line(&self) -> usize {
        self.lines + 1
    }

    /// How many bytes are behind.
    pub(super) const fn taken(&self) -> usize {
        self.taken
    }

    /// Why the text could not be read to its end.
    pub(super) fn failure(self) -> Option<io::Error> {
        self.failure
    }

    /// Puts the rest of the line into `into`, of a long one the first `most` bytes, and goes past it. Whether there was
    /// anything left.
    pub(super) fn line_into(&mut self, into: &mut Vec<u8>, most: usize) -> bool {
        into.clear();
        let mut is_any = false;
        loop {
            let ahead = self.ahead();
            if ahead.is_empty() {
                return is_any;
            }
            is_any = true;
            let end = memchr(b'\n', ahead);
            let line = ahead.get(..end.unwrap_or(ahead.len())).unwrap_or_default();
            let room = most.saturating_sub(into.len());
            into.extend_from_slice(line.get(..room).unwrap_or(line));
            let taken = end.map_or(line.len(), |end| end + 1);
            self.take(taken);
            if end.is_some() {
                return true;
            }
        }
    }

    /// Shows every line that is left, of long ones the first `most` bytes.
    pub(super) fn each_line(&mut self, most: usize, mut see: impl FnMut(&[u8])) {
        let mut broken = Vec::new();
        loop {
            // Whole lines are looked at where they are; one that goes on in the next piece is put together.
            let ahead = self.ahead();
            let mut from = 0usize;
            for end in memchr_iter(b'\n', ahead) {
                see(ahead.get(from..end.min(from.saturating_add(most))).unwrap_or_default());
                from = end + 1;
            }
            self.take(from);
            if !self.line_into(&mut broken, most) {
                return;
            }
            see(&broken);
        }
    }

    fn fill(&mut self) {
        if self.has_ended {
            return;
        }
        if self.piece.len() < PIECE {
            self.piece.resize(PIECE, 0);
        }
        (self.at, self.end) = (0, 0);
        loop {
            match self.source.read(&mut self.piece) {
                Ok(count) => {
                    self.has_ended = count == 0;
                    self.end = count.min(self.piece.len());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.has_ended = true;
                    self.failure = Some(error);
                }
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives as many bytes at a time as it was told.
    struct Slow<'t>(&'t [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(into.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    proptest! {
        #[test]
        fn lines_are_the_same_whatever_the_pieces(text in "[a-c\n]{0,60}", head in 0usize..60, step in 1usize..9) {
            let (first, rest) = text.as_bytes().split_at(head.min(text.len()));
            let mut source = Slow(rest, step);
            let mut chunks = Chunks::new(first, &mut source);
            let mut seen: Vec<String> = Vec::new();
            chunks.each_line(1000, |line| seen.push(String::from_utf8_lossy(line).into_owned()));
            let expected: Vec<&str> = text.lines().collect();
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(chunks.line(), text.matches('\n').count() + 1);
        }
    }

    #[test]
    fn a_failure_is_an_end_and_is_told() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let mut source = Broken;
        let mut chunks = Chunks::new(b"ab", &mut source);
        chunks.take(2);
        assert_eq!(chunks.peek(), None);
        assert_eq!(chunks.failure().map(|error| error.to_string()), Some("gone".to_owned()));
    }
}
