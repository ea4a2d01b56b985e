//! Texts that are read piece by piece: logs of fio, and JSON of fio that is long.

use std::io::{self, Read};

use memchr::memmem;

use super::chunks::Chunks;
use super::fio::{self, Log, Name, Shape};
use super::surroundings::Surroundings;
use super::{Imported, Page, add, join, read};

/// What a text is that need not be held as a whole.
#[derive(Debug)]
pub struct Long(Kind);

#[derive(Debug)]
enum Kind {
    Log(Name, Shape),
    Json,
}

/// What was found in a long text.
#[derive(Debug, Default)]
pub struct FoundInLong {
    /// The results.
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
        if let Some(shape) = Shape::of(head, is_whole) {
            return Name::of(name).map(|name| Self(Kind::Log(name, shape)));
        }
        (!is_whole && begins_document(head)).then_some(Self(Kind::Json))
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
            Kind::Log(parts, shape) => {
                let log = Log::of_chunks(parts, shape, &mut chunks);
                found.is_known = log.is_some();
                around.logs.extend(log);
            }
            Kind::Json => {
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

#[cfg(test)]
mod tests {
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
}
