//! The objects of a topology as they stand in the file, with bounds on all that a file can make large.

use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};

/// More objects than any machine has; the largest that hwloc's authors publish have 10,000.
const MOST_OBJECTS: usize = 100_000;
/// Nesting beyond any machine: caches, groups and a chain of bridges for each of 256 buses.
const DEEPEST: usize = 512;
/// hwloc writes at most 20 attributes and a few dozen infos.
const MOST_ATTRIBUTES: usize = 64;
/// The longest value that is kept: a set of 8192 processors is 2816 characters.
const LONGEST: usize = 4096;

/// The attributes that facts are taken from.
const KEPT: &[&str] = &[
    "type",
    "os_index",
    "name",
    "subtype",
    "cpuset",
    "nodeset",
    "local_memory",
    "bridge_type",
    "bridge_pci",
    "pci_busid",
    "pci_type",
    "pci_link_speed",
    "osdev_type",
];

/// One object.
#[derive(Debug, Clone, Default)]
pub(super) struct Object {
    /// The object around it.
    pub(super) parent: Option<usize>,
    /// The line it begins on, from 1 within the topology.
    pub(super) line: usize,
    attributes: Vec<(String, String)>,
    infos: Vec<(String, String)>,
}

impl Object {
    /// Its type: `PCIDev`.
    pub(super) fn kind(&self) -> &str {
        self.attribute("type").unwrap_or_default()
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        find(&self.attributes, name)
    }

    /// The value of `<info name=… value=…/>`.
    pub(super) fn info(&self, name: &str) -> Option<&str> {
        find(&self.infos, name).map(str::trim).filter(|value| !value.is_empty())
    }
}

fn find<'a>(pairs: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

#[derive(Debug, Default)]
pub(super) struct Topology {
    /// The major version of the format: 1, 2 or 3.
    pub(super) version: u32,
    /// Every object; parents stand before children.
    pub(super) objects: Vec<Object>,
    /// Infos of the topology itself, which version 3 has there and earlier ones at the machine.
    pub(super) infos: Object,
    /// The nodes and values of the latencies between NUMA nodes, row by row.
    pub(super) distances: (Vec<u32>, Vec<u32>),
}

/// Reads a topology. What follows a fault in the XML is left out.
pub(super) fn parse(xml: &str) -> Topology {
    let mut builder =
        Builder { topology: Topology { version: 1, ..Topology::default() }, ..Builder::default() };
    let mut reader = Reader::from_str(xml);
    // Entities of a document type are never expanded: quick-xml does not read their definitions.
    reader.config_mut().check_end_names = false;
    let (mut line, mut counted) = (1, 0);
    while let Ok(event) = reader.read_event() {
        match &event {
            Event::Eof => break,
            Event::Start(tag) => {
                if builder.open.len() >= DEEPEST {
                    break;
                }
                builder.start(tag, line);
            }
            Event::Empty(tag) => {
                builder.start(tag, line);
                builder.open.pop();
            }
            Event::End(_) => {
                let closed = builder.open.pop();
                if matches!(closed, Some(Tag::Topology)) {
                    break;
                }
            }
            Event::Text(text) => builder.text(text),
            _ => {}
        }
        let position = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX).min(xml.len());
        let passed = xml.as_bytes().get(counted..position).unwrap_or_default();
        line += passed.iter().filter(|byte| **byte == b'\n').count();
        counted = position;
    }
    builder.topology
}

/// An element that is open.
#[derive(Debug, Clone, Copy)]
enum Tag {
    Topology,
    Object(usize),
    /// A matrix of latencies.
    Latencies,
    Indexes,
    Values,
    Other,
}

#[derive(Default)]
struct Builder {
    topology: Topology,
    open: Vec<Tag>,
}

impl Builder {
    fn start(&mut self, tag: &BytesStart<'_>, line: usize) {
        let attributes = attributes(tag);
        let opened = match tag.name().into_inner() {
            "topology" => {
                let version = find(&attributes, "version").and_then(|version| version.split('.').next());
                self.topology.version = version.and_then(|version| version.parse().ok()).unwrap_or(1);
                Tag::Topology
            }
            "object" => self.object(attributes, line),
            "info" => self.info(&attributes),
            "distances2" if find(&attributes, "name") == Some("NUMALatency") => Tag::Latencies,
            "indexes" if self.is_in(Tag::Latencies) => Tag::Indexes,
            "u64values" if self.is_in(Tag::Latencies) => Tag::Values,
            _ => Tag::Other,
        };
        self.open.push(opened);
    }

    fn is_in(&self, tag: Tag) -> bool {
        self.open.last().is_some_and(|last| std::mem::discriminant(last) == std::mem::discriminant(&tag))
    }

    fn object(&mut self, mut attributes: Vec<(String, String)>, line: usize) -> Tag {
        if self.topology.objects.len() >= MOST_OBJECTS {
            return Tag::Other;
        }
        attributes.retain(|(name, _)| KEPT.contains(&name.as_str()));
        let parent = match self.open.last() {
            Some(Tag::Object(parent)) => Some(*parent),
            _ => None,
        };
        self.topology.objects.push(Object { parent, line, attributes, infos: Vec::new() });
        Tag::Object(self.topology.objects.len() - 1)
    }

    fn info(&mut self, attributes: &[(String, String)]) -> Tag {
        let of = match self.open.last() {
            Some(Tag::Object(index)) => self.topology.objects.get_mut(*index),
            Some(Tag::Topology) => Some(&mut self.topology.infos),
            _ => None,
        };
        if let (Some(object), Some(name), Some(value)) =
            (of, find(attributes, "name"), find(attributes, "value"))
            && object.infos.len() < MOST_ATTRIBUTES
        {
            object.infos.push((name.to_owned(), value.to_owned()));
        }
        Tag::Other
    }

    fn text(&mut self, text: &str) {
        /// A matrix of 1024 nodes.
        const MOST: usize = 1 << 20;
        let (indexes, values) = &mut self.topology.distances;
        let into = match self.open.last() {
            Some(Tag::Indexes) => indexes,
            Some(Tag::Values) => values,
            _ => return,
        };
        let room = MOST.saturating_sub(into.len());
        into.extend(text.split_whitespace().take(room).map_while(|number| number.parse::<u32>().ok()));
    }
}

fn attributes(tag: &BytesStart<'_>) -> Vec<(String, String)> {
    // The check for duplicates compares every attribute with every other.
    tag.attributes()
        .with_checks(false)
        .take(MOST_ATTRIBUTES)
        .map_while(Result::ok)
        .filter(|attribute| attribute.value.len() <= LONGEST)
        .map(|attribute| {
            let raw: &str = &attribute.value;
            // A stray `&` is meant as it stands.
            let value = unescape(raw).map_or_else(|_| raw.to_owned(), |value| value.into_owned());
            (attribute.key.into_inner().to_owned(), value)
        })
        .collect()
}
