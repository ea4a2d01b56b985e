//! Texts that are read piece by piece: logs of fio, and JSON of fio that is long.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr, memchr_iter, memmem};

use super::fio::{self, Log, LogName, LogShape};
use super::surroundings::Surroundings;
use super::{Imported, Page, add, join, read};

/// What a text is that need not be held as a whole.
#[derive(Debug)]
pub struct Long(LongKind);

#[derive(Debug)]
enum LongKind {
    Log(LogName, LogShape),
    Json,
}

/// What was found in a long text.
#[derive(Debug, Default)]
pub struct FoundInLong {
    pub results: Vec<Imported>,
    /// Whether it held anything that is known.
    pub is_known: bool,
    /// Why it could not be read to its end.
    pub failure: Option<io::Error>,
}

impl Long {
    /// What the text with this name that begins so is. A text that is there as a whole (`is_whole`) is long only when it
    /// is a log: others are short enough for every parser.
    pub fn of(name: &str, head: &[u8], is_whole: bool) -> Option<Self> {
        if let Some(shape) = LogShape::of(head, is_whole) {
            return LogName::of(name).map(|name| Self(LongKind::Log(name, shape)));
        }
        (!is_whole && begins_document(head)).then_some(Self(LongKind::Json))
    }

    /// Reads the text, which begins with `head`. Text that stands between results is cleaned by `clean` and shown to all
    /// parsers.
    pub fn read(
        self,
        name: &str,
        head: &[u8],
        rest: &mut dyn Read,
        around: &mut Surroundings,
        clean: impl Fn(&str) -> String,
    ) -> FoundInLong {
        let mut chunks = Chunks::new(head, rest);
        let mut found = FoundInLong::default();
        match self.0 {
            LongKind::Log(parts, shape) => {
                let log = Log::of_chunks(parts, shape, &mut chunks);
                found.is_known = log.is_some();
                around.logs.extend(log);
            }
            LongKind::Json => {
                let (results, between) = fio::read_long_json(name, &mut chunks);
                found.results = results;
                if let Some(first) = found.results.first_mut() {
                    first.bytes = chunks.taken();
                }
                for (first, text) in between {
                    add(&mut found.results, between_results(name, first, &clean(&text), around));
                }
                found.results = join(found.results);
                found.is_known = !found.results.is_empty();
            }
        }
        found.failure = chunks.failure();
        found
    }
}

/// What stands in text between the results, which begins in line `first`.
fn between_results(name: &str, first: usize, body: &str, around: &mut Surroundings) -> Vec<Imported> {
    let before = first.saturating_sub(1);
    // Whoever looks up a remark has to count from there.
    let remarks = if before > 0 { format!("{name} behind line {before}") } else { name.to_owned() };
    around.see(&Page { name: &remarks, body });
    let mut found = read(&Page { name, body });
    for result in &mut found {
        result.line += before;
        result.measurements.iter_mut().for_each(|one| one.line += before);
    }
    found
}

/// Whether a document of fio begins a line.
fn begins_document(head: &[u8]) -> bool {
    let mark = [&b"\"fio version\""[..], b"\"client_stats\""]
        .into_iter()
        .filter_map(|mark| memmem::find(head, mark))
        .min();
    let before = mark.and_then(|mark| head.get(..mark)).unwrap_or_default();
    let Some(brace) = memchr::memrchr(b'{', before) else { return false };
    let line = before.get(..brace).unwrap_or_default().rsplit(|byte| *byte == b'\n').next();
    line.unwrap_or_default()
        .strip_prefix(b"\xef\xbb\xbf")
        .or(line)
        .unwrap_or_default()
        .trim_ascii()
        .is_empty()
}

/// So many bytes are asked for at a time.
const PIECE: usize = 256 << 10;

/// A long text in pieces: what was looked at is forgotten, so that a text of any length takes the same room.
///
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn logs_and_long_documents_are_long_and_the_rest_is_not() {
        assert!(Long::of("x_bw.1.log", b"1, 2, 0, 0\n", true).is_some());
        assert!(Long::of("x.csv", b"1, 2, 0, 0\n", true).is_none());
        let document = b"fio: x\n{\n  \"fio version\" : \"fio-3.33\",\n";
        assert!(Long::of("x", document, false).is_some() && Long::of("x", document, true).is_none());
        assert!(Long::of("x", b"> {\n>  \"fio version\" : \"fio-3.33\",\n", false).is_none());
        assert!(Long::of("x", b"", false).is_none());
    }

    #[test]
    fn messages_before_a_document_belong_to_it() {
        let body = "fio: terminating on signal 2\n{\"fio version\": \"fio-3.1\", \"jobs\": [{\"jobname\": \"a\",\n\
            \"read\": {\"io_bytes\": 4096, \"bw_bytes\": 4096, \"bw\": 4}}]}\nMemTotal: 1024 kB\n";
        let mut around = Surroundings::default();
        let long = Long::of("x", body.as_bytes(), false).expect("is long");
        let found = long.read("x", &[], &mut body.as_bytes(), &mut around, str::to_owned);
        assert_eq!((found.results.len(), found.results[0].failures.len()), (1, 1));
        assert_eq!(around.memory.map(|(_, source)| source), Some("x behind line 3:1".to_owned()));
    }

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
