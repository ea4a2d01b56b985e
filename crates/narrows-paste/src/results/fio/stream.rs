//! fio's JSON of any length: each job is read, reduced and forgotten before the next.
//!
//! A document of JSON+ is nearly all `bins`, the counts of each latency, which are passed over without a look at each:
//! percentiles stand beside them. What is kept of a job is small and goes the way of a short document.

use memchr::{memchr, memchr2};
use serde_json::Value;

use super::json::{FioDocument, devices, measured};
use super::options::{self, Options};
use crate::results::json::{text, what_is_whole};
use crate::results::long::Chunks;
use crate::results::{Imported, MOST_MEASUREMENTS};

/// No job is longer without its bins, in bytes.
const LONGEST_JOB: usize = 16 << 20;

/// Values are nested no deeper.
const DEEPEST: usize = 64;

/// The most text between documents that is kept, in bytes.
const MOST_BETWEEN: usize = 24 << 20;

/// The most of a line between documents that is kept, in bytes.
const LONGEST_LINE: usize = 64 << 10;

/// Text that stands between documents, and the number of its first line, from 1.
pub(in crate::results) type Between = (usize, String);

/// The results in a long text, and what stands between them.
pub(in crate::results) fn read(name: &str, chunks: &mut Chunks<'_>) -> (Vec<Imported>, Vec<Between>) {
    let mut reader = JobReader {
        name,
        chunks,
        value: Vec::new(),
        between: Vec::new(),
        goes_on: false,
        room: MOST_BETWEEN,
        jobs_left: MOST_MEASUREMENTS,
    };
    let mut found = Vec::new();
    if reader.chunks.ahead().starts_with(b"\xef\xbb\xbf") {
        reader.chunks.take(3);
    }
    while reader.chunks.peek().is_some() {
        if let Some(line) = reader.opens() {
            found.extend(reader.document(line));
        } else {
            reader.keep_line();
        }
    }
    (found, reader.between)
}

/// Why a value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// The text ends before it does.
    Cut,
    /// It is not JSON, or larger than any value of fio.
    Broken,
}

struct JobReader<'c, 'r> {
    name: &'c str,
    chunks: &'c mut Chunks<'r>,
    /// The value that was read last, without the contents of `bins`.
    value: Vec<u8>,
    between: Vec<Between>,
    /// Whether the last of them goes on.
    goes_on: bool,
    room: usize,
    /// How many jobs may still come.
    jobs_left: usize,
}

/// A document as far as it is read.
#[derive(Default)]
struct Document {
    told: FioDocument,
    global: Options,
    /// How many jobs were read before the options of all.
    before_global: usize,
    left_out: usize,
}

impl JobReader<'_, '_> {
    /// Whether a document begins here, at the beginning of a line: then goes past its brace and gives its line. What was
    /// looked at and is none is kept as text.
    fn opens(&mut self) -> Option<usize> {
        let mut seen = String::new();
        while let Some(blank @ (b' ' | b'\t')) = self.chunks.peek() {
            seen.push(char::from(blank));
            self.chunks.take(1);
        }
        let line = self.chunks.line();
        if self.chunks.peek() == Some(b'{') {
            self.chunks.take(1);
            seen.push('{');
            if matches!(self.significant(), Ok(b'"')) {
                return Some(line);
            }
        }
        self.keep(line, &seen);
        None
    }

    fn keep_line(&mut self) {
        let line = self.chunks.line();
        let mut bytes = Vec::new();
        self.chunks.line_into(&mut bytes, LONGEST_LINE);
        bytes.push(b'\n');
        self.keep(line, &String::from_utf8_lossy(&bytes));
    }

    /// Keeps text between documents.
    fn keep(&mut self, line: usize, text: &str) {
        let Some(room) = self.room.checked_sub(text.len()) else { return };
        match self.between.last_mut().filter(|_| self.goes_on) {
            Some((_, known)) => known.push_str(text),
            None if text.trim().is_empty() => return,
            None => self.between.push((line, text.to_owned())),
        }
        self.goes_on = true;
        self.room = room;
    }

    /// The next byte that is no white space, which is not gone past.
    fn significant(&mut self) -> Result<u8, Stop> {
        loop {
            let ahead = self.chunks.ahead();
            match ahead.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(blanks) => {
                    let byte = ahead.get(blanks).copied();
                    self.chunks.take(blanks);
                    return byte.ok_or(Stop::Cut);
                }
                None if ahead.is_empty() => return Err(Stop::Cut),
                None => {
                    let blanks = ahead.len();
                    self.chunks.take(blanks);
                }
            }
        }
    }

    /// Reads a document behind its first brace. `None` when it is not fio's.
    fn document(&mut self, line: usize) -> Option<Imported> {
        self.goes_on = false;
        let mut document = Document::default();
        let stopped = self.members(&mut document).is_err();
        let late = document.told.measurements.get_mut(..document.before_global).unwrap_or_default();
        late.iter_mut().for_each(|one| options::fill(&mut one.work, &document.global, true));
        let result = document.told.result(self.name, line, stopped)?;
        Some(Imported { left_out: document.left_out, ..result })
    }

    fn members(&mut self, document: &mut Document) -> Result<(), Stop> {
        loop {
            match self.significant()? {
                b'}' => {
                    self.chunks.take(1);
                    return Ok(());
                }
                b',' => self.chunks.take(1),
                b'"' => self.member(document)?,
                _ => return Err(Stop::Broken),
            }
        }
    }

    fn member(&mut self, document: &mut Document) -> Result<(), Stop> {
        self.collect()?;
        let key: String = serde_json::from_slice(&self.value).map_err(|_| Stop::Broken)?;
        if self.significant()? != b':' {
            return Err(Stop::Broken);
        }
        self.chunks.take(1);
        match (key.as_str(), self.significant()?) {
            ("jobs" | "client_stats", b'[') => {
                self.chunks.take(1);
                return self.jobs(document);
            }
            _ => self.collect()?,
        }
        match key.as_str() {
            "fio version" => document.told.version = self.json()?.as_str().map(str::to_owned),
            "global options" => {
                document.global = options::of_json(Some(&self.json()?));
                document.before_global = document.told.measurements.len();
            }
            "disk_util" => document.told.devices = devices(Some(&self.json()?)),
            _ => {}
        }
        Ok(())
    }

    fn jobs(&mut self, document: &mut Document) -> Result<(), Stop> {
        loop {
            match self.significant()? {
                b']' => {
                    self.chunks.take(1);
                    return Ok(());
                }
                b',' => self.chunks.take(1),
                _ if self.jobs_left == 0 => {
                    self.collect()?;
                    document.left_out += 1;
                }
                _ => {
                    self.jobs_left -= 1;
                    let line = self.chunks.line();
                    let done = self.collect();
                    let job = match done {
                        Ok(()) => self.json()?,
                        Err(_) => match what_is_whole(&String::from_utf8_lossy(&self.value)) {
                            Some((part, _)) => part,
                            None => return done,
                        },
                    };
                    // The sum over all clients would count everything twice.
                    if job.is_object() && text(&job, "jobname") != Some("All clients") {
                        let one = measured(&job, &document.global, line);
                        if done.is_ok() || one.sides().next().is_some() {
                            document.told.measurements.push(one);
                        }
                    }
                    done?;
                }
            }
        }
    }

    fn json(&self) -> Result<Value, Stop> {
        serde_json::from_str(&String::from_utf8_lossy(&self.value)).map_err(|_| Stop::Broken)
    }

    /// Reads the value that begins here into `self.value`, without the contents of `bins`.
    fn collect(&mut self) -> Result<(), Stop> {
        self.value.clear();
        let mut walk = Walk::default();
        loop {
            let ahead = self.chunks.ahead();
            if ahead.is_empty() {
                return Err(Stop::Cut);
            }
            let (taken, is_done) = walk.through(ahead, &mut self.value)?;
            self.chunks.take(taken);
            if is_done {
                return Ok(());
            }
        }
    }
}

/// Where in a value the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Within {
    /// Between strings.
    #[default]
    Value,
    String,
    /// Behind a backslash in a string.
    Escape,
    /// In the object of `bins`, which holds no other.
    Bins,
}

/// The way through one value, which may come in pieces.
#[derive(Debug, Default)]
struct Walk {
    within: Within,
    /// The closing brackets that are to come.
    open: Vec<u8>,
    has_begun: bool,
}

impl Walk {
    /// Copies what belongs to the value; how much was taken, and whether it has ended.
    fn through(&mut self, ahead: &[u8], into: &mut Vec<u8>) -> Result<(usize, bool), Stop> {
        let mut at = 0;
        while let Some(rest) = ahead.get(at..).filter(|rest| !rest.is_empty()) {
            if into.len() > LONGEST_JOB {
                return Err(Stop::Broken);
            }
            let (taken, is_done) = match self.within {
                Within::Value => self.value(rest, into)?,
                Within::String => (self.string(rest, into), false),
                Within::Escape => {
                    into.extend(rest.first());
                    self.within = Within::String;
                    (1, false)
                }
                Within::Bins => (self.bins(rest, into), false),
            };
            at += taken;
            if is_done || self.within == Within::Value && self.has_begun && self.is_closed(into) {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    /// Whether a string, object or array has ended.
    fn is_closed(&self, into: &[u8]) -> bool {
        self.open.is_empty() && matches!(into.last(), Some(b'"' | b'}' | b']'))
    }

    fn value(&mut self, rest: &[u8], into: &mut Vec<u8>) -> Result<(usize, bool), Stop> {
        let is_bare = self.open.is_empty();
        let is_mark =
            |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']') || is_bare && *byte == b',';
        let at = rest.iter().position(is_mark);
        into.extend_from_slice(rest.get(..at.unwrap_or(rest.len())).unwrap_or_default());
        let Some((at, mark)) = at.and_then(|at| Some((at, *rest.get(at)?))) else {
            self.has_begun |= !rest.is_empty();
            return Ok((rest.len(), false));
        };
        match mark {
            // Behind a number or word without brackets around it.
            b',' => return Ok((at, true)),
            b'}' | b']' if self.open.is_empty() => return Ok((at, true)),
            b'}' | b']' => {
                if self.open.pop() != Some(mark) {
                    return Err(Stop::Broken);
                }
            }
            b'"' => self.within = Within::String,
            b'{' if ends_with_bins(into) => {
                self.open.push(b'}');
                self.within = Within::Bins;
            }
            _ => self.open.push(if mark == b'{' { b'}' } else { b']' }),
        }
        if self.open.len() > DEEPEST {
            return Err(Stop::Broken);
        }
        self.has_begun = true;
        into.push(mark);
        Ok((at + 1, false))
    }

    fn string(&mut self, rest: &[u8], into: &mut Vec<u8>) -> usize {
        let end = memchr2(b'"', b'\\', rest);
        let taken = end.map_or(rest.len(), |end| end + 1);
        into.extend_from_slice(rest.get(..taken).unwrap_or_default());
        if let Some(end) = end {
            self.within = if rest.get(end) == Some(&b'"') { Within::Value } else { Within::Escape };
        }
        taken
    }

    fn bins(&mut self, rest: &[u8], into: &mut Vec<u8>) -> usize {
        let Some(end) = memchr(b'}', rest) else { return rest.len() };
        into.push(b'}');
        self.open.pop();
        self.within = Within::Value;
        end + 1
    }
}

/// Whether the key that stands before an opening brace is `bins`.
fn ends_with_bins(value: &[u8]) -> bool {
    let value = value.trim_ascii_end();
    value.strip_suffix(b":").is_some_and(|key| key.trim_ascii_end().ends_with(b"\"bins\""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::read_json;
    use super::*;
    use crate::results::Page;

    const TWO_JOBS: &str = r#"fio: terminating on signal 2
{
  "fio version" : "fio-3.33",
  "global options" : { "bs" : "4k", "bs" : "8k", "rw" : "randread" },
  "jobs" : [
    {
      "jobname" : "a \"}]\\", "error" : 0,
      "job options" : { "iodepth" : "4" },
      "read" : { "io_bytes" : 8192, "bw_bytes" : 4096, "bw" : 4, "iops" : 1.0, "runtime" : 2000, "total_ios" : 2,
        "clat_ns" : { "min" : 1, "max" : 900, "mean" : 500.5,
          "percentile" : { "50.000000" : 402, "99.000000" : 900 },
          "bins" : { "402" : 1, "900" : 1 } } },
      "write" : { "io_bytes" : 0, "bw" : 0 }, "usr_cpu" : 1.5, "sys_cpu" : 3.5
    },
    {
      "jobname" : "b", "error" : 5, "read" : { "io_bytes" : 0, "bw" : 0 },
      "write" : { "io_bytes" : 4096, "bw_bytes" : 4096, "bw" : 4, "iops" : 1.0, "runtime" : 1000 }
    }
  ],
  "disk_util" : [ { "name" : "sda", "read_ios" : 2 } ]
}
end
{"fio version": "fio-3.1", "jobs": []}
"#;

    fn streamed(body: &str, piece: usize) -> (Vec<Imported>, Vec<Between>) {
        let (head, rest) = body.as_bytes().split_at(piece.min(body.len()));
        let mut source = std::io::Cursor::new(rest);
        let mut chunks = Chunks::new(head, &mut source);
        read("x", &mut chunks)
    }

    /// Lines differ: of a long document each job has its own.
    fn without_lines(mut results: Vec<Imported>) -> Vec<Imported> {
        results.iter_mut().flat_map(|one| &mut one.measurements).for_each(|one| one.line = 0);
        results
    }

    fn whole(body: &str) -> Vec<Imported> {
        without_lines(read_json(&Page { name: "x", body }))
    }

    #[test]
    fn a_long_document_says_what_a_short_one_says() {
        for piece in [0, 1, 50, 400, 10_000] {
            let (found, between) = streamed(TWO_JOBS, piece);
            assert_eq!(found[0].measurements.iter().map(|one| one.line).collect::<Vec<_>>(), [6, 15]);
            assert_eq!(without_lines(found), whole(TWO_JOBS), "{piece}");
            let between: Vec<(usize, &str)> =
                between.iter().map(|(line, text)| (*line, text.trim())).collect();
            assert_eq!(between, [(1, "fio: terminating on signal 2"), (22, "end")]);
        }
    }

    #[test]
    fn bins_are_passed_over_and_never_kept() {
        let bins = (0..10_000).map(|bin| format!("\"{bin}\" : 1")).collect::<Vec<_>>().join(",\n");
        let body = TWO_JOBS.replace("\"402\" : 1, \"900\" : 1", &bins);
        assert_eq!(without_lines(streamed(&body, 100).0), whole(&body));
    }

    #[test]
    fn a_run_that_was_cut_off_keeps_its_whole_jobs() {
        let cut = &TWO_JOBS[..TWO_JOBS.find("\"jobname\" : \"b\"").expect("is there")];
        let (found, _) = streamed(cut, 10);
        assert!(found[0].truncated && found[0].measurements.len() == 1);
        assert_eq!(without_lines(found), whole(cut));
    }

    #[test]
    fn what_is_no_document_is_text() {
        let (found, between) =
            streamed("{ no document\n {\n  \"a\" : 1 }\n{\"b\": [1, \"x\"], \"c\": tru}\nend\n", 3);
        assert!(found.is_empty());
        assert_eq!(between.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 5]);
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same_as_of_a_short_document(end in 0usize..1400, piece in 0usize..200) {
            let body = TWO_JOBS.get(..end).unwrap_or(TWO_JOBS);
            prop_assert_eq!(without_lines(streamed(body, piece).0), whole(body));
        }

        #[test]
        fn no_text_panics(body in "[\\[\\]{}\",:a1\\\\\n ]{0,200}", piece in 0usize..50) {
            let _ = streamed(&format!("{{\"fio version\": \"fio-3\", \"jobs\": [{body}"), piece);
            let _ = streamed(&body, piece);
        }
    }
}
