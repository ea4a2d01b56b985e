//! `pciconf -l` of FreeBSD with `-v`, `-b`, `-c`, `-B` and `-e`.
//!
//! Sources: FreeBSD `usr.sbin/pciconf/pciconf.c` (`list_devs`, `list_verbose`, `print_bus_range`) and `cap.c`
//! (`cap_express`), versions 6 to 16. Each pair `link x4(x8)` is the value in force and, in parentheses, the most that
//! the function can do.

use narrows_base::fact::{Fact, Source};
use narrows_base::units::GtPerSec;
use narrows_machine::pci::{Express, LinkEnd, PciAddress, PciDevice, PciId, PortType};

use super::capability::{lanes_of, payload};
use super::device::{Detail, FoundFunction};
use super::functions::Functions;
use super::line::{half_id, kept_name};
use crate::capture::device::{address_of, known};
use crate::capture::{Lacks, Part, Rank, Text};

/// What shows the links and the bus numbers of bridges.
const NEED: &str = "root: sudo pciconf -lvbcB";
/// The capability of PCI Express has fewer lines, and they are shorter.
const MOST_LINES: usize = 8;
const LONGEST: usize = 600;

/// Reads every function that `pciconf` lists.
pub fn read_pciconf(text: &Text) -> Part {
    let blocks = blocks(text);
    let Some(last) = blocks.len().checked_sub(1) else { return Part::default() };
    let has_capabilities = blocks.iter().any(|block| block.lists_capabilities);
    let mut functions = Functions::default();
    for (at, block) in blocks.iter().enumerate() {
        functions.add(found(text, block, has_capabilities && at < last));
    }
    let mut part = functions.part(Rank::Decoded, |detail| match detail {
        Detail::Full => "pciconf -lc",
        Detail::Verbose => "pciconf -lv",
        Detail::Listed => "pciconf -l",
    });
    for gap in part.gaps.iter_mut().filter(|gap| matches!(gap.lacks, Lacks::Links(_) | Lacks::Port(_))) {
        gap.run = "sudo pciconf -lvbcB".to_owned();
    }
    part
}

/// What is said of one function.
#[derive(Debug, Default)]
struct PciconfBlock {
    address: PciAddress,
    line: usize,
    /// The driver with the number of its instance; `none0` has none.
    instance: String,
    class: Option<u32>,
    vendor_id: Option<u16>,
    device_id: Option<u16>,
    vendor: Option<String>,
    device: Option<String>,
    buses: Option<(u8, u8)>,
    lists_capabilities: bool,
    /// The capability of PCI Express with the lines that go on with it, and where it starts.
    express: Option<(usize, String)>,
    /// How many more lines go on with it.
    open: usize,
}

fn blocks(text: &Text) -> Vec<PciconfBlock> {
    let mut blocks: Vec<PciconfBlock> = Vec::new();
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(block) = head(number, line) {
            // Memory is bounded: no machine has as many functions.
            if blocks.len() >= super::functions::MOST {
                break;
            }
            blocks.push(block);
        } else if let Some(block) = blocks.last_mut() {
            block.take(number, line);
        }
    }
    blocks
}

/// Reads `nvme0@pci0:1:0:0: class=0x010802 rev=0x00 hdr=0x00 vendor=0x15b7 device=0x5006 …`, or with
/// `card=0x… chip=0x…` before version 14.
fn head(number: usize, line: &str) -> Option<PciconfBlock> {
    let (selector, fields) = line.split_once([' ', '\t'])?;
    let (instance, place) = selector.split_once("@pci")?;
    let is_name =
        !instance.is_empty() && instance.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mut block = PciconfBlock {
        address: address(place)?,
        line: number,
        instance: instance.to_owned(),
        ..PciconfBlock::default()
    };
    block.take_fields(fields);
    (is_name && block.class.is_some()).then_some(block)
}

/// Domain, bus, device and function in decimal: `0:1:0:0:`; before version 8 without the domain.
fn address(text: &str) -> Option<PciAddress> {
    let numbers: Vec<u32> =
        text.trim_end_matches(':').split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    match *numbers.as_slice() {
        [bus, device, function] => address_of([0, bus, device, function]),
        _ => address_of(numbers.try_into().ok()?),
    }
}

impl PciconfBlock {
    fn take(&mut self, number: usize, line: &str) {
        if let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            if let Some((_, id)) = key.strip_prefix("cap ").and_then(|_| key.split_once(' ')) {
                self.lists_capabilities = true;
                self.open = 0;
                if id.starts_with("10[") && self.express.is_none() {
                    self.express = Some((number, value.to_owned()));
                    self.open = MOST_LINES;
                }
                return;
            }
            self.open = 0;
            let word = || value.strip_prefix('\'')?.strip_suffix('\'').map(str::to_owned);
            match key {
                "vendor" => self.vendor = self.vendor.take().or_else(word),
                "device" => self.device = self.device.take().or_else(word),
                "bus range" => self.buses = self.buses.or_else(|| buses(value, self.address.bus)),
                // A mail program broke the first line.
                _ => self.take_fields(line),
            }
        } else if let (Some((_, express)), true) = (&mut self.express, self.open > 0)
            && express.len() + line.len() < LONGEST
            && !line.is_empty()
        {
            express.push(' ');
            express.push_str(line);
            self.open -= 1;
        }
    }

    /// `key=0x…` of the first line.
    fn take_fields(&mut self, fields: &str) {
        for (key, digits) in fields.split_whitespace().filter_map(|word| word.split_once("=0x")) {
            let number = || u32::from_str_radix(digits, 16).ok();
            match key {
                "class" if digits.len() == 6 => self.class = self.class.or_else(number),
                "vendor" => self.vendor_id = self.vendor_id.or_else(|| half_id(digits)),
                "device" => self.device_id = self.device_id.or_else(|| half_id(digits)),
                // The device is the upper half.
                "chip" if digits.len() == 8 => {
                    self.device_id = self.device_id.or_else(|| half_id(digits.get(..4)?));
                    self.vendor_id = self.vendor_id.or_else(|| half_id(digits.get(4..)?));
                }
                _ => {}
            }
        }
    }

    fn id(&self) -> Option<PciId> {
        Some(PciId { vendor: self.vendor_id?, device: self.device_id? })
    }

    fn name(&self) -> Option<String> {
        let words = [&self.vendor, &self.device].map(|word| word.as_deref().unwrap_or_default());
        kept_name(&words.join(" "))
    }

    /// `nvme` of `nvme0`.
    fn driver(&self) -> Option<&str> {
        let driver = self.instance.trim_end_matches(|c: char| c.is_ascii_digit());
        (!driver.is_empty() && driver != "none").then_some(driver)
    }
}

/// The buses below a bridge, `1-5`; one that was given none has 0.
fn buses(range: &str, own: u8) -> Option<(u8, u8)> {
    let (first, last) = range.split_once('-')?;
    let (first, last): (u8, u8) = (first.parse().ok()?, last.parse().ok()?);
    (first > own).then_some((first, last.max(first)))
}

/// `is_listed` says that a capability of the function would stand in the text.
fn found(text: &Text, block: &PciconfBlock, is_listed: bool) -> FoundFunction {
    let source = || text.source(block.line);
    let mut device = PciDevice {
        address: block.address,
        id: known(block.id(), source()),
        name: known(block.name(), source()),
        class: known(block.class, source()),
        driver: known(block.driver().map(str::to_owned), source()),
        ..PciDevice::default()
    };
    match &block.express {
        Some((line, words)) => take_express(&mut device, words, &text.source(*line)),
        None if block.lists_capabilities || is_listed => {
            device.express = Fact::absent(format!("{}, PCI Express capability", source()));
        }
        None => {
            device.express = Fact::Denied { source: Source::new(source()), need: NEED.to_owned() };
        }
    }
    let detail = match (block.lists_capabilities, block.name()) {
        (true, _) => Detail::Full,
        (false, Some(_)) => Detail::Verbose,
        (false, None) => Detail::Listed,
    };
    FoundFunction { device, buses: block.buses, detail, dumped: 0 }
}

fn take_express(device: &mut PciDevice, words: &str, source: &str) {
    let port = port_type(words);
    if let Some(port) = port {
        device.port = Fact::known(port, source);
    }
    // What has no link has no line of one.
    // What is integrated in the root complex has no link.
    device.link = link(if port == Some(PortType::RootComplexIntegrated) { "" } else { words }, source);
    device.express = match port.and_then(|port| express(port, words, &device.link)) {
        Some(express) => Fact::known(express, source),
        None => Fact::Denied { source: Source::new(source), need: NEED.to_owned() },
    };
}

/// Device/Port Type by the words of `cap_express`.
fn port_type(words: &str) -> Option<PortType> {
    let (_, role) = words.strip_prefix("PCI-Express ")?.split_once(' ')?;
    [
        ("endpoint", PortType::Endpoint),
        ("legacy endpoint", PortType::Endpoint),
        ("root port", PortType::RootPort),
        ("upstream port", PortType::UpstreamPort),
        ("downstream port", PortType::DownstreamPort),
        ("PCI bridge", PortType::PciBridge),
        ("PCI to PCIe bridge", PortType::PciBridge),
        ("root endpoint", PortType::RootComplexIntegrated),
        ("event collector", PortType::RootComplexIntegrated),
    ]
    .into_iter()
    .find(|(words, _)| role.starts_with(words))
    .map(|(_, port)| port)
}

/// `link x4(x8) speed 8.0(16.0)`. A port without a device has `x0` and `0.0`; versions before 10 print no speed.
fn link(words: &str, source: &str) -> LinkEnd {
    fn both<T>(words: &str, name: &str, source: &str, parse: fn(&str) -> Option<T>) -> (Fact<T>, Fact<T>) {
        let fact = |text: &str| Fact::known(text.chars().take(80).collect(), source).parse(|_| parse(text));
        let none = || Fact::absent(format!("{source}, link"));
        pair(words, name).map_or_else(|| (none(), none()), |(now, most)| (fact(now), fact(most)))
    }
    let speed = |text: &str| GtPerSec::parse(&format!("{text}GT/s")).filter(|speed| *speed >= GtPerSec::GEN1);
    let (current_width, max_width) = both(words, " link ", source, lanes_of);
    let (current_speed, max_speed) = both(words, " speed ", source, speed);
    LinkEnd { current_speed, max_speed, current_width, max_width, ..LinkEnd::default() }
}

/// The value in force and the most, of `x4(x8)`. Both parentheses must be there, so that no number is cut.
fn pair<'t>(words: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let (now, rest) = words.split_once(name)?.1.split_once('(')?;
    let (most, _) = rest.split_once(')')?;
    let is_one = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (is_one(now) && is_one(most)).then_some((now, most))
}

/// The capability, where all of it that is judged was printed: versions before 10 leave out the size of reads.
fn express(port: PortType, words: &str, link: &LinkEnd) -> Option<Express> {
    let (now, most) = pair(words, " max data ")?;
    let read = words.split_once(" max read ")?.1.split_whitespace().next()?;
    let head = words.split(" max read ").next()?;
    let aspm = pair(words, " ASPM ").map_or("", |(now, _)| now);
    Some(Express {
        relaxed_ordering: head.split_whitespace().any(|word| word == "RO"),
        max_speed: link.max_speed.value().copied(),
        max_width: link.max_width.value().copied(),
        speed: link.current_speed.value().copied(),
        width: link.current_width.value().copied(),
        aspm_l0s: aspm.contains("L0s"),
        aspm_l1: aspm.contains("L1"),
        slot_implemented: words.contains(" slot "),
        // Extended tags and the port are not printed. Nothing is judged by them.
        ..Express::new(port, [payload(most)?, payload(now)?, payload(read)?])
    })
}

#[cfg(test)]
mod tests;
