//! How a machine came out of texts that were put together: which texts, and what they do not tell.

use super::fact::Source;
use super::pci::PciAddress;

/// A text, and what it turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The name of the text: a file, or a path in a directory or archive.
    pub name: String,
    /// What is in it: `lspci -vv`, `dmesg`.
    pub kinds: Vec<&'static str>,
}

/// How a machine that was put together from texts came to be. What such a machine does not have may exist all the
/// same: nobody was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The texts that facts are from.
    pub texts: Vec<Recognised>,
    /// What the texts could have told and none of them does, sorted.
    pub gaps: Vec<Gap>,
}

impl Captured {
    /// Whether a fact is from a log: it was so when the line was written.
    pub fn is_past(&self, source: &Source) -> bool {
        let name = source.as_str().rsplit_once(':').map_or(source.as_str(), |(name, _)| name);
        self.texts.iter().any(|text| text.name == name && text.kinds == ["dmesg"])
    }
}

/// What is missing in a text, and how its owner gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What could not be known: `the link registers of 0000:01:00.0`.
    pub what: String,
    /// What to run to get it: `sudo lspci -vvv`.
    pub run: String,
    /// The same for the program, so that it sees when another text tells it.
    pub lacks: Lacks,
}

/// What a text lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lacks {
    /// Something that no other text is known to tell.
    #[default]
    Other,
    /// Link registers of some of its PCI functions.
    Links(Counted),
    /// Vendor and device numbers of some of its PCI functions.
    Numbers(Counted),
    /// The port above a function.
    Port(PciAddress),
    /// The link of a function, speed and width.
    Link(PciAddress),
    /// The links as they are now: it is a log.
    PresentLinks,
    /// How fast USB devices run.
    UsbRates,
    /// What a block device lies on.
    Below(String),
    /// A disk of which the name alone is known.
    Disk(String),
}

/// The functions that something is missing of, of how many.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Those.
    pub functions: Vec<PciAddress>,
    /// All that the text names.
    pub of: usize,
}
