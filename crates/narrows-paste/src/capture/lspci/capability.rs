//! Capabilities, as `lspci -vv` decodes them: the link, PCI Express, Access Control Services, Advanced Error Reporting.

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_base::units::{Bytes, GtPerSec, Lanes};
use narrows_machine::pci::{Acs, Aer, Downgraded, Express, LinkEnd, PortType};

use super::block::{Block, BlockRecord};
use crate::capture::Text;
use crate::capture::device::known;
use crate::text::fields;

/// The widest link that PCI Express knows.
const WIDEST: u8 = 32;

/// The lines of a link, whichever of them are there. Those of `lspci` before version 3 are `Link: Supported Speed …`
/// and `Link: Speed …`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkLines<'b> {
    /// Link Capabilities.
    pub(super) capabilities: Option<&'b BlockRecord>,
    /// Link Status.
    pub(super) status: Option<&'b BlockRecord>,
    /// Link Control.
    pub(super) control: Option<&'b BlockRecord>,
    /// Link Capabilities 2, which has all rates.
    rates: Option<&'b BlockRecord>,
}

impl<'b> LinkLines<'b> {
    /// Finds the lines. Where a text has several of a kind under one function, only those that follow its PCI Express
    /// capability are its own: the others are of functions whose first lines were filtered away.
    pub(super) fn of(block: &'b Block) -> Self {
        let old = |start: &'static str| block.all("Link").find(move |record| record.text.starts_with(start));
        let express = block.all("Capabilities").find(|record| record.text.contains("Express"));
        let pick = |key: &'static str| {
            let mut all = block.all(key);
            match (all.next(), all.next(), express) {
                (Some(first), None, _) => Some(first),
                (Some(_), Some(_), Some(express)) => block.all(key).find(|record| record.line > express.line),
                _ => None,
            }
        };
        Self {
            capabilities: pick("LnkCap").or_else(|| old("Supported Speed")),
            status: pick("LnkSta").or_else(|| old("Speed")),
            control: pick("LnkCtl").or_else(|| old("ASPM")),
            rates: pick("LnkCap2"),
        }
    }

    /// This function's end of its link. `whole` tells whether the block ends because another starts, so that no word
    /// of it is cut.
    pub(super) fn end(&self, text: &Text, whole: bool) -> LinkEnd {
        let mut end = LinkEnd::default();
        if let Some(record) = self.capabilities {
            end.max_speed = speed(text, record);
            end.max_width = width(text, record);
        }
        if let Some(end) = self.status.and_then(|record| of_winlspci(text, record)) {
            return end;
        }
        if let Some(record) = self.status {
            end.current_speed = speed(text, record);
            end.current_width = width(text, record);
            if self.capabilities.is_none() {
                let (speed, width) = (note_link(&record.text, "Speed "), note_link(&record.text, "Width "));
                end.max_speed = implied(text, record, speed, &end.current_speed);
                if let Some((most, line)) =
                    self.rates.and_then(|rates| Some((fastest(&rates.text)?, rates.line)))
                {
                    end.max_speed = Fact::known(most, text.source(line));
                }
                end.max_width = implied(text, record, width, &end.current_width);
                let said = |note| says_more(note).then(|| Source::new(text.source(record.line)));
                end.downgraded = Downgraded { speed: said(speed), width: said(width) };
            } else if !whole && is_cut(record, &end) {
                let raw = "Width at the end of the text, perhaps cut".to_owned();
                end.current_width = Fact::Garbled { source: Source::new(text.source(record.line)), raw };
            }
        }
        end
    }
}

/// `LnkSta: 8GT/s x2 (max 8GT/s x4)`, as winlspci has it for Windows.
fn of_winlspci(text: &Text, record: &BlockRecord) -> Option<LinkEnd> {
    let [speed, lanes, max_speed, max_lanes] = fields(record.text.trim(), "{} x{} (max {} x{})")?;
    let source = text.source(record.line);
    let of_width = |lanes: &str| known(lanes_of(&format!("x{lanes}")), source.as_str());
    let of_speed = |speed: &str| known(speed_of(speed), source.as_str());
    let end = LinkEnd {
        current_speed: of_speed(speed),
        max_speed: of_speed(max_speed),
        current_width: of_width(lanes),
        max_width: of_width(max_lanes),
        ..LinkEnd::default()
    };
    (end.current_speed.value().is_some() && end.max_width.value().is_some()).then_some(end)
}

/// A link of which nothing may be read.
pub(super) fn closed(source: &Source, need: &str) -> LinkEnd {
    fn fact<T>(source: &Source, need: &str) -> Fact<T> {
        Fact::Denied { source: source.clone(), need: need.to_owned() }
    }
    LinkEnd {
        current_speed: fact(source, need),
        max_speed: fact(source, need),
        current_width: fact(source, need),
        max_width: fact(source, need),
        ..LinkEnd::default()
    }
}

/// The value behind `name`, as of `Speed 8GT/s (ok)`; `unknown` and anything else is garbled.
fn stated<T>(text: &Text, record: &BlockRecord, name: &str, parse: fn(&str) -> Option<T>) -> Fact<T> {
    match link_value(&record.text, name) {
        Some(value) => {
            let word = value.split_whitespace().next().unwrap_or_default();
            Fact::known(word.chars().take(80).collect(), text.source(record.line)).parse(|_| parse(value))
        }
        None => Fact::absent(text.source(record.line)),
    }
}

/// The last of `Supported Link Speeds: 2.5-8GT/s, Crosslink- …`.
fn fastest(text: &str) -> Option<GtPerSec> {
    speed_of(link_value(text, "Supported Link Speeds: ")?.rsplit('-').next()?)
}

/// The speed of Link Capabilities or Link Status.
fn speed(text: &Text, record: &BlockRecord) -> Fact<GtPerSec> {
    stated(text, record, "Speed ", speed_of)
}

/// The width. Zero is garbled: no link, or a port that hides its width.
fn width(text: &Text, record: &BlockRecord) -> Fact<Lanes> {
    stated(text, record, "Width ", lanes_of)
}

/// Reads `8GT/s`, and `2.5Gb/s` as `lspci` wrote before version 3.
pub(super) fn speed_of(text: &str) -> Option<GtPerSec> {
    let text = text.split('(').next()?.trim();
    match text.split_once("Gb/s") {
        Some((number, _)) => GtPerSec::parse(&format!("{number}GT/s")),
        None => GtPerSec::parse(text),
    }
}

/// Reads `x4`, whatever follows.
pub(in crate::capture) fn lanes_of(text: &str) -> Option<Lanes> {
    let digits = text.trim().strip_prefix('x')?;
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    Lanes::parse(digits.get(..end)?).filter(|lanes| lanes.get() <= WIDEST)
}

/// What follows `name`, up to the next comma.
pub(super) fn link_value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.split_once(name)?.1.trim_start();
    let value = rest.split(',').next()?.trim();
    (!value.is_empty()).then_some(value)
}

/// The word in parentheses that lspci puts after a value of Link Status when it compares it with Link Capabilities:
/// `ok`, `downgraded`, `overdriven`, `strange` (`ls-caps.c`, `link_compare`).
pub(super) fn note_link<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value = link_value(text, name)?;
    value.split_once(" (")?.1.split(')').next()
}

/// Whether an end can do more than its link runs at, without a word of how much.
pub(super) fn says_more(note: Option<&str>) -> bool {
    note == Some("downgraded")
}

/// The most that an end can do where only Link Status was pasted: the same when lspci says `ok`.
fn implied<T: Clone>(text: &Text, record: &BlockRecord, note: Option<&str>, current: &Fact<T>) -> Fact<T> {
    match note {
        Some("ok") => current.clone(),
        _ => Fact::absent(format!("{}, LnkCap", text.source(record.line))),
    }
}

/// Whether the last word of the text may be `x16` cut to `x1`. lspci compares the width with that of Link Capabilities
/// and says when it is less, or (before version 3.6) goes on after a comma.
fn is_cut(record: &BlockRecord, end: &LinkEnd) -> bool {
    let ends_in_digits = record.text.ends_with(|c: char| c.is_ascii_digit());
    let is_less = end.current_width.value() < end.max_width.value();
    let starts_another = end
        .max_width
        .value()
        .zip(end.current_width.value())
        .is_some_and(|(most, now)| most.get().to_string().starts_with(&now.get().to_string()));
    ends_in_digits && is_less && starts_another
}

/// Reads the whole capability; `None` when lines of it are missing or cut.
pub(super) fn parse_express(block: &Block, links: LinkLines<'_>) -> Option<Express> {
    let head = block.all("Capabilities").find_map(|record| capability(&record.text))?;
    let port = port_type(head)?;
    let (supported, control) = device_lines(block)?;
    let sizes =
        [size(&supported, "MaxPayload")?, size(&control, "MaxPayload")?, size(&control, "MaxReadReq")?];
    let mut express = Express {
        relaxed_ordering: flag(&control, "RlxdOrd")?,
        extended_tags: flag(&control, "ExtTag")?,
        slot_implemented: head.contains("(Slot+)"),
        ..Express::new(port, sizes)
    };
    if port != PortType::RootComplexIntegrated {
        fill_link(&mut express, block, links)?;
    }
    Some(express)
}

/// What follows `Express` in `[70] Express (v2) Endpoint, MSI 00`.
fn capability(text: &str) -> Option<&str> {
    let rest = text.split_once("] ")?.1.strip_prefix("Express ")?;
    Some(if rest.starts_with("(v") { rest.split_once(") ")?.1 } else { rest })
}

/// The role that the capability names, also where `-v` shows no more of it than its first line.
pub(super) fn express_port(block: &Block) -> Option<(PortType, usize)> {
    block.all("Capabilities").find_map(|record| Some((port_type(capability(&record.text)?)?, record.line)))
}

/// Device/Port Type by the words of `ls-caps.c`, `cap_express`.
fn port_type(text: &str) -> Option<PortType> {
    [
        ("Endpoint", PortType::Endpoint),
        ("Legacy Endpoint", PortType::Endpoint),
        ("Root Port", PortType::RootPort),
        ("Upstream Port", PortType::UpstreamPort),
        ("Downstream Port", PortType::DownstreamPort),
        ("PCI-Express to PCI", PortType::PciBridge),
        ("PCI/PCI-X to PCI-Express", PortType::PciBridge),
        ("PCI/PCI-X Bridge", PortType::PciBridge),
        ("Root Complex", PortType::RootComplexIntegrated),
    ]
    .into_iter()
    .find(|(words, _)| text.starts_with(words))
    .map(|(_, port)| port)
}

/// Device Capabilities and Device Control. Before version 3 both were lines named `Device`.
fn device_lines(block: &Block) -> Option<(String, String)> {
    if let (Some(supported), Some(control)) = (block.get("DevCap"), block.get("DevCtl")) {
        return Some((supported.text.clone(), control.text.clone()));
    }
    let old = |wanted: bool| {
        let lines = block.all("Device").map(|record| record.text.as_str());
        lines.filter(|line| line.starts_with("Supported") == wanted).collect::<Vec<_>>().join(" ")
    };
    block.get("Device").map(|_| (old(true), old(false)))
}

fn fill_link(express: &mut Express, block: &Block, links: LinkLines<'_>) -> Option<()> {
    let capabilities = &links.capabilities?.text;
    let control = &links.control?.text;
    let status = &links.status?.text;
    express.max_speed = link_value(capabilities, "Speed ").and_then(speed_of);
    express.max_width = link_value(capabilities, "Width ").and_then(lanes_of);
    express.port_number = port_number(capabilities).unwrap_or_default();
    express.speed = link_value(status, "Speed ").and_then(speed_of);
    express.width = link_value(status, "Width ").and_then(lanes_of);
    let aspm = aspm(control);
    express.aspm_l0s = aspm.contains("L0s");
    express.aspm_l1 = aspm.contains("L1");
    express.target_speed =
        block.get("LnkCtl2").and_then(|record| speed_of(link_value(&record.text, "Target Link Speed:")?));
    express.supported_speeds = block.get("LnkCap2").map(|record| supported(&record.text)).unwrap_or_default();
    Some(())
}

fn port_number(text: &str) -> Option<u8> {
    let rest = text.split_once("Port #").or_else(|| text.split_once("Port "))?.1;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// What is on: `ASPM L0s L1 Enabled; RCB 64 bytes …` gives `L0s L1`; `Disabled` gives nothing.
fn aspm(control: &str) -> &str {
    let on = control.split_once("ASPM ").and_then(|(_, rest)| rest.split_once(" Enabled"));
    on.map(|(states, _)| states).filter(|states| states.len() <= "L0s L1".len()).unwrap_or_default()
}

/// The speeds of `Supported Link Speeds: 2.5-16GT/s`. lspci prints the first and the last of them (`ls-caps.c`,
/// `cap_express_link2_speed_cap`).
fn supported(text: &str) -> Vec<GtPerSec> {
    let range =
        link_value(text, "Supported Link Speeds:").map(|range| range.rsplit('-').next().unwrap_or(range));
    let Some(most) = range.and_then(speed_of) else { return Vec::new() };
    (1..=6).filter_map(GtPerSec::from_pcie_generation).filter(|speed| *speed <= most).collect()
}

/// The number after `name`: `MaxPayload 256 bytes`.
fn size(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.split_once(name)?.1.trim_start();
    payload(rest.split(|c: char| !c.is_ascii_digit()).next()?)
}

/// A size of packets. PCI Express knows 128 to 4096 (section 7.5.3.3).
pub(super) fn payload(digits: &str) -> Option<Bytes> {
    let bytes: u64 = digits.parse().ok()?;
    (bytes.is_power_of_two() && (128..=4096).contains(&bytes)).then(|| Bytes::new(bytes))
}

/// Whether `name+` or `name-` stands in the text.
pub(super) fn flag(text: &str, name: &str) -> Option<bool> {
    text.split([' ', ',']).filter_map(|word| word.strip_prefix(name)).find_map(|sign| match sign {
        "+" => Some(true),
        "-" => Some(false),
        _ => None,
    })
}

/// Access Control Services, as `lspci -vv` decodes them (`ls-ecaps.c`, `cap_acs`).
///
/// What a port redirects. Absent where extended capabilities are listed and this is not among them.
pub(super) fn parse_acs(text: &Text, block: &Block) -> Fact<Acs> {
    if let Some(record) = block.get("ACSCtl") {
        let is_on = |name: &str| flag(&record.text, name);
        // The first four stood there before the others were decoded, and mail programs cut the line behind them.
        let acs =
            is_on("ReqRedir").zip(is_on("CmpltRedir")).map(|(request_redirect, completion_redirect)| Acs {
                source_validation: is_on("SrcValid").unwrap_or_default(),
                translation_blocking: is_on("TransBlk").unwrap_or_default(),
                request_redirect,
                completion_redirect,
                upstream_forwarding: is_on("UpstreamFwd").unwrap_or_default(),
                egress_control: is_on("EgressCtrl").unwrap_or_default(),
                direct_translated: is_on("DirectTrans").unwrap_or_default(),
            });
        return Fact::known(record.text.chars().take(120).collect(), text.source(record.line)).parse(|_| acs);
    }
    let capabilities = || block.all("Capabilities");
    let is_named = capabilities().any(|record| record.text.contains("Access Control Services"));
    let listed = capabilities().find(|record| is_extended(&record.text)).filter(|_| !is_named);
    match listed {
        Some(record) => Fact::absent(format!("{}, Access Control Services", text.source(record.line))),
        None => Fact::default(),
    }
}

/// Whether it is a line such as `[148 v1] Advanced Error Reporting`: one beyond the first 256 bytes.
fn is_extended(text: &str) -> bool {
    let place = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(place, _)| place);
    place.and_then(|place| place.split(' ').next()).is_some_and(|at| at.len() == 3)
}

/// The error status registers, as `lspci -vv` decodes them.
///
/// Reads the flags of Advanced Error Reporting. A status bit says that an error came at least once since it was cleared,
/// so that each stands with 1. Errors that the mask keeps from being reported are left out, as the kernel leaves them out
/// of its counts.
pub(super) fn parse_aer(block: &Block) -> Option<(Aer, usize)> {
    let status = block.get("CESta")?;
    let mut aer = Aer { correctable: raised(block, "CESta", "CEMsk"), is_status: true, ..Aer::default() };
    let severe = block.get("UESvrt").map(|record| status_flags(&record.text).collect::<BTreeMap<_, _>>());
    for (name, count) in raised(block, "UESta", "UEMsk") {
        let is_fatal = severe.as_ref().and_then(|severe| severe.get(name.as_str())).copied();
        let counts = if is_fatal == Some(true) { &mut aer.fatal } else { &mut aer.nonfatal };
        counts.insert(name, count);
    }
    Some((aer, status.line))
}

/// Every flag of `status` that `mask` lets through, with 1 for one that is set and 0 for one that is not.
fn raised(block: &Block, status: &str, mask: &str) -> BTreeMap<String, u64> {
    let Some(status) = block.get(status) else { return BTreeMap::new() };
    let masked: BTreeMap<&str, bool> =
        block.get(mask).map(|record| status_flags(&record.text).collect()).unwrap_or_default();
    let counted = status_flags(&status.text).filter(|(name, _)| masked.get(name) != Some(&true));
    counted.map(|(name, is_set)| (kernel_name(name).to_owned(), u64::from(is_set))).collect()
}

/// The flags of a register: `RxErr+ BadTLP-`.
fn status_flags(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_whitespace().filter_map(|word| {
        let (name, is_set) = match word.strip_suffix('+') {
            Some(name) => (name, true),
            None => (word.strip_suffix('-')?, false),
        };
        let is_name = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some((name, is_set))
    })
}

/// The name that the kernel counts the error under (`drivers/pci/pcie/aer.c`), where lspci has another.
fn kernel_name(name: &str) -> &str {
    match name {
        "AdvNonFatalErr" => "NonFatalErr",
        name => name,
    }
}
