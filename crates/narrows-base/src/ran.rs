//! Which engine carried the I/Os, as a type: its text in reports is made and read here and nowhere else.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the kernel granted of what makes a ring fast. All of it is optional; none of it changes what is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Granted {
    /// `IORING_SETUP_CQSIZE` (Linux 5.5): a completion queue no larger than the depth.
    pub small_queue: bool,
    /// `IORING_SETUP_COOP_TASKRUN` (5.19): no inter-processor interrupt for a completion.
    pub cooperative: bool,
    /// `IORING_SETUP_SINGLE_ISSUER` with `IORING_SETUP_DEFER_TASKRUN` (6.1): completions are worked off only when the
    /// worker waits for them.
    pub deferred: bool,
    /// `IORING_SETUP_NO_SQARRAY` (6.6): no index array in front of the submission queue.
    pub no_array: bool,
    /// `IORING_REGISTER_BUFFERS`: pages are pinned once instead of for each I/O.
    pub fixed_buffer: bool,
    /// `IORING_REGISTER_FILES`: the file is looked up once.
    pub fixed_file: bool,
    /// `IORING_REGISTER_RING_FDS` (5.18): the ring itself is looked up once.
    pub ring_descriptor: bool,
}

/// What stands for a ring to which nothing was granted.
const NOTHING: &str = "no extras";

impl Granted {
    /// Each grant with its name.
    fn each(&mut self) -> [(&mut bool, &'static str); 7] {
        [
            (&mut self.small_queue, "cqsize"),
            (&mut self.cooperative, "coop_taskrun"),
            (&mut self.deferred, "single_issuer, defer_taskrun"),
            (&mut self.no_array, "no_sqarray"),
            (&mut self.fixed_buffer, "fixed buffer"),
            (&mut self.fixed_file, "fixed file"),
            (&mut self.ring_descriptor, "registered ring"),
        ]
    }

    fn parse(text: &str) -> Option<Self> {
        let mut granted = Self::default();
        if text == NOTHING {
            return Some(granted);
        }
        let words: Vec<&str> = text.split(", ").collect();
        for (is_granted, name) in granted.each() {
            *is_granted = name.split(", ").all(|word| words.contains(&word));
        }
        (granted.to_string() == text).then_some(granted)
    }
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut granted = *self;
        let names: Vec<&str> =
            granted.each().into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        if names.is_empty() { f.write_str(NOTHING) } else { f.write_str(&names.join(", ")) }
    }
}

/// The engine that ran. Its one text form, `io_uring (fixed buffer)`, is what JSON holds; reading a text and writing it
/// again gives the same text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EngineRan {
    /// Reads and writes through a ring.
    IoUring(Granted),
    /// One system call for each I/O.
    Psync {
        /// The threads that make them.
        threads: usize,
        /// Why there is no ring, where it was not asked to be left out.
        instead: Option<String>,
    },
    /// One that this version does not know, as a result of another version names it; empty where none ran.
    Other(String),
}

impl Default for EngineRan {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl EngineRan {
    /// The name alone: `io_uring`, `psync`.
    pub fn name(&self) -> &str {
        match self {
            Self::IoUring(_) => "io_uring",
            Self::Psync { .. } => "psync",
            Self::Other(text) => text.split(" (").next().unwrap_or_default(),
        }
    }

    /// Whether each of its threads keeps one I/O in flight at most.
    pub const fn is_synchronous(&self) -> bool {
        matches!(self, Self::Psync { .. })
    }
}

impl fmt::Display for EngineRan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IoUring(granted) => write!(f, "io_uring ({granted})"),
            Self::Psync { threads, instead: Some(reason) } => {
                write!(f, "psync ({threads} threads; {reason})")
            }
            Self::Psync { threads, instead: None } => write!(f, "psync ({threads} threads)"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<EngineRan> for String {
    fn from(engine: EngineRan) -> Self {
        engine.to_string()
    }
}

impl From<String> for EngineRan {
    fn from(text: String) -> Self {
        parse(&text).unwrap_or(Self::Other(text))
    }
}

fn parse(text: &str) -> Option<EngineRan> {
    let (name, rest) = text.split_once(" (")?;
    let how = rest.strip_suffix(')')?;
    let engine = match name {
        "io_uring" => EngineRan::IoUring(Granted::parse(how)?),
        "psync" => {
            let (threads, rest) = how.split_once(" threads")?;
            let instead = rest.strip_prefix("; ").map(str::to_owned);
            EngineRan::Psync { threads: threads.parse().ok()?, instead }
        }
        _ => return None,
    };
    (engine.to_string() == text).then_some(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_read_as_what_it_was_and_written_as_it_stood() {
        let all = Granted { fixed_file: true, deferred: true, ..Granted::default() };
        let psync =
            |instead: Option<&str>| EngineRan::Psync { threads: 16, instead: instead.map(str::to_owned) };
        for (text, kind) in [
            ("io_uring (no extras)", EngineRan::IoUring(Granted::default())),
            ("io_uring (single_issuer, defer_taskrun, fixed file)", EngineRan::IoUring(all)),
            ("psync (16 threads)", psync(None)),
            (
                "psync (16 threads; io_uring: Function not implemented (os error 38))",
                psync(Some("io_uring: Function not implemented (os error 38)")),
            ),
            ("io_uring", EngineRan::Other("io_uring".to_owned())),
            (
                "io_uring (a feature of tomorrow)",
                EngineRan::Other("io_uring (a feature of tomorrow)".to_owned()),
            ),
            ("psync (+16 threads)", EngineRan::Other("psync (+16 threads)".to_owned())),
            ("", EngineRan::default()),
        ] {
            let engine = EngineRan::from(text.to_owned());
            assert_eq!(engine, kind, "{text}");
            assert_eq!(engine.to_string(), text);
        }
    }

    #[test]
    fn the_name_stands_alone_also_of_engines_of_other_versions() {
        let name = |text: &str| EngineRan::from(text.to_owned()).name().to_owned();
        assert_eq!(name("psync (4 threads; no ring)"), "psync");
        assert_eq!(name("io_uring (a feature of tomorrow)"), "io_uring");
        assert_eq!(name("io_uring"), "io_uring");
    }
}
