//! The PCI Express capability, as `lspci -vv` decodes it.

use super::block::Block;
use super::link::{LinkLines, lanes_of, speed_of, value};
use narrows_base::units::{Bytes, GtPerSec};
use narrows_machine::pci::{Express, PortType};

/// Reads the whole capability; `None` when lines of it are missing or cut.
pub(super) fn parse(block: &Block, links: LinkLines<'_>) -> Option<Express> {
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
pub(super) fn port(block: &Block) -> Option<(PortType, usize)> {
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
    express.max_speed = value(capabilities, "Speed ").and_then(speed_of);
    express.max_width = value(capabilities, "Width ").and_then(lanes_of);
    express.port_number = port_number(capabilities).unwrap_or_default();
    express.speed = value(status, "Speed ").and_then(speed_of);
    express.width = value(status, "Width ").and_then(lanes_of);
    let aspm = aspm(control);
    express.aspm_l0s = aspm.contains("L0s");
    express.aspm_l1 = aspm.contains("L1");
    express.target_speed = block.get("LnkCtl2").and_then(|record| target(&record.text));
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

fn target(text: &str) -> Option<GtPerSec> {
    speed_of(value(text, "Target Link Speed:")?)
}

/// The speeds of `Supported Link Speeds: 2.5-16GT/s`. lspci prints the first and the last of them (`ls-caps.c`,
/// `cap_express_link2_speed_cap`).
fn supported(text: &str) -> Vec<GtPerSec> {
    let range = value(text, "Supported Link Speeds:").map(|range| range.rsplit('-').next().unwrap_or(range));
    let Some(most) = range.and_then(speed_of) else { return Vec::new() };
    (1..=6).filter_map(GtPerSec::from_pcie_generation).filter(|speed| *speed <= most).collect()
}

/// The number after `name`: `MaxPayload 256 bytes`. PCI Express knows 128 to 4096 (section 7.5.3.3).
fn size(text: &str, name: &str) -> Option<Bytes> {
    let rest = text.split_once(name)?.1.trim_start();
    let bytes: u64 = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
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
