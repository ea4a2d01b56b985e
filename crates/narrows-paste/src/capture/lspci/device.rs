//! One function from its block.

use narrows_base::fact::{Fact, Source};
use narrows_machine::pci::{Express, LinkEnd, PciAddress, PciDevice};

use super::NEED;
use super::block::{Block, BlockHead, BlockRecord, SILENT};
use super::capability::{self, LinkLines};
use super::line::{self, LspciPlace};
use crate::capture::Text;
use crate::capture::device::known;

/// What would tell of a device that is silent.
const ANSWER: &str = "a device that answers: it is asleep, or gone from the bus";

/// Names of slots and drivers are kept to this many characters.
const LONGEST_WORD: usize = 60;

/// A function with what decides about its neighbours.
#[derive(Debug, Clone)]
pub(super) struct FoundFunction {
    /// The function. Its address is [`PciAddress::unnamed`] when the text does not tell it.
    pub(super) device: PciDevice,
    /// The bus directly below a bridge and the last bus below it.
    pub(super) buses: Option<(u8, u8)>,
    /// How much of it was printed.
    pub(super) detail: Detail,
    /// How many bytes of config space stand beside the words; [`super::read_hex`] reads them.
    pub(super) dumped: usize,
}

impl FoundFunction {
    /// A function of which a listing tells all that it knows.
    pub(super) const fn of(device: PciDevice) -> Self {
        Self { device, buses: None, detail: Detail::Full, dumped: 0 }
    }
}

/// How much `lspci` was asked for, as far as a block shows. Ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    /// One line, or the few of `-k` and `-vmm`.
    Listed,
    /// `-v`.
    Verbose,
    /// `-vv` or `-vvv`.
    Full,
}

/// Reads a block; `None` when it tells nothing of a function. `whole` says that another block follows.
pub(super) fn read(text: &Text, block: &Block, whole: bool) -> Option<FoundFunction> {
    let head = parse_head(block);
    let buses = buses(block);
    let place = block.place.or_else(|| own_place(block));
    let links = LinkLines::of(block);
    let is_silent = head.is_silent || block.get(SILENT).is_some();
    let silent = is_silent.then(|| {
        let line = block.get(SILENT).map_or(block.line, |record| record.line);
        Source::new(text.source(line))
    });
    let link = match &silent {
        Some(source) => capability::closed(source, ANSWER),
        None => links.end(text, whole),
    };
    let is_named = place.is_some() && block.head != BlockHead::Missing;
    let runs = link.current_speed.value().is_some() || link.current_width.value().is_some();
    let shows_link = runs || place.is_some() && link.max_speed.value().is_some();
    let says_anything = head.class.is_some() || !block.records.is_empty();
    if !(is_named && says_anything || shows_link) {
        return None;
    }
    let source = || text.source(block.line);
    let mut device = PciDevice {
        address: place.map_or(PciAddress::unnamed(0), |place| place.address),
        parent: place.and_then(|place| place.above),
        id: known(head.id, source()),
        name: known(head.name, source()),
        class: class(text, block, head.class, buses),
        express: match silent {
            Some(source) => Fact::Denied { source, need: ANSWER.to_owned() },
            None => express(text, block, links, &link, whole),
        },
        link,
        ..PciDevice::default()
    };
    device.port = said(text, capability::express_port(block));
    device.aer = said(text, capability::parse_aer(block));
    device.acs = capability::parse_acs(text, block);
    fill_words(text, block, &mut device);
    Some(FoundFunction { device, buses, detail: detail(block), dumped: block.bytes.len() })
}

fn parse_head(block: &Block) -> line::FunctionHead {
    match &block.head {
        BlockHead::Words(words) => line::parse_head(words),
        BlockHead::Quoted(words) => line::parse_machine_head(words),
        BlockHead::Named => {
            let value = |key| block.get(key).map_or("", |record| record.text.as_str());
            let interface = u8::from_str_radix(value("ProgIf"), 16).ok();
            Some(line::head_of_names(value("Class"), value("Vendor"), value("Device"), interface))
        }
        BlockHead::Missing => None,
    }
    .unwrap_or_default()
}

/// The class of the first line. What has bus numbers of its own is a bridge.
fn class(text: &Text, block: &Block, named: Option<u32>, buses: Option<(u8, u8)>) -> Fact<u32> {
    const PCI_BRIDGE: u32 = 0x06_0400;
    match (named, block.get("Bus")) {
        (Some(class), _) => Fact::known(class, text.source(block.line)),
        (None, Some(bus)) if buses.is_some() => Fact::known(PCI_BRIDGE, text.source(bus.line)),
        _ => Fact::default(),
    }
}

/// Reads `primary=00, secondary=01, subordinate=05`; a bridge that was given no bus has 0.
fn buses(block: &Block) -> Option<(u8, u8)> {
    let text = &block.get("Bus")?.text;
    let (first, last) = (bus_number(text, "secondary=")?, bus_number(text, "subordinate=")?);
    (first > 0).then_some((first, last.max(first)))
}

/// The two digits after `name`. Mail that was not decoded writes `=3D` for the sign before them (RFC 2045, section
/// 6.7); a comma follows where `3D` is the bus.
fn bus_number(text: &str, name: &str) -> Option<u8> {
    let rest = text.split_once(name)?.1;
    let number = |text: &str| u8::from_str_radix(text.get(..2)?, 16).ok();
    rest.strip_prefix("3D").and_then(number).or_else(|| number(rest))
}

/// The place of a root port whose first line is missing: its Error Source Identification names the function that an
/// error message came from (PCI Express Base Specification 5.0, section 7.8.4.10). On the root port's own bus that is
/// the port itself.
fn own_place(block: &Block) -> Option<LspciPlace> {
    let primary = bus_number(&block.get("Bus")?.text, "primary=")?;
    let is_root = block.all("Capabilities").any(|record| record.text.contains("Root Port"));
    let text = &block.get("ErrorSrc")?.text;
    let id = u16::from_str_radix(text.split_once("ERR_COR: ")?.1.get(..4)?, 16).ok()?;
    let [bus, devfn] = id.to_be_bytes();
    let address = PciAddress { domain: 0, bus, device: devfn >> 3, function: devfn & 7 };
    (is_root && id != 0 && bus == primary).then_some(LspciPlace::of(address))
}

fn express(text: &Text, block: &Block, links: LinkLines<'_>, link: &LinkEnd, whole: bool) -> Fact<Express> {
    let capabilities = block.get("Capabilities");
    let express = block.all("Capabilities").find(|record| record.text.contains("Express ("));
    let line = express.or(capabilities).map_or(block.line, |record| record.line);
    if let Some(express) = capability::parse_express(block, links) {
        return Fact::known(express, text.source(line));
    }
    // What was cut away around both lines of the link was readable.
    if link.max_speed.value().is_some() && link.max_width.value().is_some() {
        return Fact::default();
    }
    let has_port = capability::express_port(block).is_some();
    let is_closed = capabilities.is_some_and(|record| record.text.contains("access denied"));
    // What only root sees was seen: the rest of it was left out.
    let is_read = link.current_speed.value().is_some() || link.current_width.value().is_some();
    if is_closed || !is_read && (has_port || link.is_present()) {
        return Fact::Denied { source: Source::new(text.source(line)), need: NEED.to_owned() };
    }
    if is_read {
        return Fact::default();
    }
    // Every capability was listed, and PCI Express is not among them.
    let has_none = block.all("Status").any(|record| record.text.contains("Cap-"));
    let is_listed = capabilities.is_some() || (has_none || is_short(block)) && whole;
    if is_listed {
        return Fact::absent(format!("{}, PCI Express capability", text.source(line)));
    }
    Fact::default()
}

/// Whether the block is one of `-v`.
fn is_short(block: &Block) -> bool {
    block.get("Flags").is_some_and(|record| record.text.contains("devsel"))
}

fn detail(block: &Block) -> Detail {
    let is_full = block.get("DevCap").is_some()
        || block.get("LnkSta").is_some()
        || block.get("Link").is_some()
        || block.all("Status").any(|record| record.text.starts_with("Cap"));
    match (is_full, is_short(block)) {
        (true, _) => Detail::Full,
        (false, true) => Detail::Verbose,
        (false, false) => Detail::Listed,
    }
}

/// The single words: driver, slot, node, group, power state.
fn fill_words(text: &Text, block: &Block, device: &mut PciDevice) {
    let line = |keys: [&str; 2]| keys.into_iter().find_map(|key| block.get(key));
    let word = |record: &BlockRecord| (record.text.chars().take(LONGEST_WORD).collect(), record.line);
    let word = |keys| said(text, line(keys).map(word));
    let number = |keys: [&str; 2], name: &str| match line(keys) {
        Some(record) => Fact::known(record.text.clone(), text.source(record.line)),
        None => flag_number(text, block, name),
    };
    device.driver = word(["Kernel driver in use", "Driver"]);
    device.slot = word(["Physical Slot", "PhySlot"]);
    if let Some(record) = line(["Subsystem", "SDevice"]) {
        let (name, _) = line::split_id(&record.text);
        device.board = known(line::kept_name(name), text.source(record.line));
    }
    device.numa_node = number(["NUMA node", "NUMANode"], "NUMA node ").parse(|node| node.parse().ok());
    device.iommu_group =
        number(["IOMMU group", "IOMMUGroup"], "IOMMU group ").parse(|group| group.parse().ok());
    let state = |record: &BlockRecord| Some((power_state(&record.text)?.to_owned(), record.line));
    device.power_state = said(text, block.all("Status").find_map(state));
}

/// What a line says.
fn said<T>(text: &Text, found: Option<(T, usize)>) -> Fact<T> {
    found.map_or_else(Fact::default, |(value, line)| Fact::known(value, text.source(line)))
}

/// A number among the flags of `-v`: `Flags: bus master, fast devsel, latency 0, IRQ 24, NUMA node 0`.
fn flag_number(text: &Text, block: &Block, name: &str) -> Fact<String> {
    let found = block.get("Flags").and_then(|record| {
        let rest = record.text.split_once(name)?.1;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((digits.to_owned(), record.line))
    });
    said(text, found)
}

/// The state of `Status: D0 NoSoftRst+`. A function in D3cold answers nothing, so that D3 is D3hot.
fn power_state(text: &str) -> Option<&'static str> {
    match text.split(' ').next()? {
        "D0" => Some("D0"),
        "D1" => Some("D1"),
        "D2" => Some("D2"),
        "D3" => Some("D3hot"),
        _ => None,
    }
}
