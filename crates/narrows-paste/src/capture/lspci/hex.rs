//! Hex dumps of config space: `lspci -x` (64 bytes), `-xxx` (256), `-xxxx` (4096).
//!
//! Registers: PCI Local Bus Specification 3.0, section 6.1; PCI-to-PCI Bridge Architecture Specification 1.2,
//! section 3.2; PCI Express Base Specification 5.0, sections 7.6.3 and 7.8.4.

use std::collections::BTreeMap;

use narrows_base::fact::{Fact, Source};
use narrows_machine::pci::{
    Aer, Express, LinkEnd, NoExpress, PciAddress, PciDevice, PciId, PortType, parse_acs, parse_express,
};

use super::block::{self, Block};
use super::device::FoundFunction;
use super::functions::{Functions, denied};
use crate::capture::aer::{AerBit, CORRECTABLE, UNCORRECTABLE};
use crate::capture::{Part, Rank, Text};

/// The header that every function has.
const HEADER: usize = 64;
/// Where the list of extended capabilities starts.
const EXTENDED: usize = 0x100;
/// More extended capabilities do not fit: (4096 − 256) / 4.
const MOST_EXTENDED: usize = 960;
/// Extended Capability ID of Advanced Error Reporting.
const AER: u32 = 0x0001;

/// Reads the dumps of config space in a text, with narrows' own decoder.
pub fn read_hex(text: &Text) -> Part {
    let mut functions = Functions::default();
    block::each(text, &mut |block| {
        device(text, &block).into_iter().for_each(|found| functions.add(found));
    });
    functions.part(Rank::Raw, |_| "lspci -x")
}

/// Decodes the raw config space of one function, as support bundles copy it from `/proc/bus/pci`. What is missing beside
/// it is not for one file to say.
pub(in crate::capture) fn of_config(address: PciAddress, config: &[u8], source: &str) -> Part {
    let mut functions = Functions::default();
    decode(address, None, config, source.to_owned()).into_iter().for_each(|found| functions.add(found));
    Part { gaps: Vec::new(), ..functions.part(Rank::Raw, |_| "config space") }
}

fn device(text: &Text, block: &Block) -> Option<FoundFunction> {
    let place = block.place?;
    decode(place.address, place.above, &block.bytes, text.source(block.bytes_line))
}

fn decode(
    address: PciAddress,
    above: Option<PciAddress>,
    config: &[u8],
    source: String,
) -> Option<FoundFunction> {
    if config.len() < HEADER {
        return None;
    }
    let mut device = PciDevice { address, parent: above, ..PciDevice::default() };
    device.express = match parse_express(config) {
        Ok(express) => Fact::known(express, source.clone()),
        Err(NoExpress::NotExpress) => Fact::absent(format!("{source}, PCI Express capability")),
        Err(NoExpress::Hidden) => denied(source.clone()),
        Err(NoExpress::Garbled(raw)) => Fact::Garbled { source: Source::new(source.clone()), raw },
    };
    let vendor = u16_at(config, 0)?;
    if vendor != u16::MAX {
        let id = PciId { vendor, device: u16_at(config, 2)? };
        device.id = Fact::known(id, source.clone());
        let [_, interface, sub, base] = u32_at(config, 8)?.to_le_bytes();
        device.class = Fact::known(u32::from_be_bytes([0, base, sub, interface]), source.clone());
    }
    if let Some(express) = device.express.value() {
        device.link = link(express, &source);
    }
    if config.len() > EXTENDED {
        device.acs = parse_acs(config, &source);
    }
    if let Some(aer) = aer(config) {
        device.aer = Fact::known(aer, source);
    }
    let buses = buses(config).filter(|_| vendor != u16::MAX);
    Some(FoundFunction { buses, ..FoundFunction::of(device) })
}

/// The ends that sysfs would show of these registers.
fn link(express: &Express, source: &str) -> LinkEnd {
    fn fact<T: Copy>(value: Option<T>, register: &str, source: &str) -> Fact<T> {
        match value {
            Some(value) => Fact::known(value, source),
            None => Fact::Garbled { source: Source::new(source), raw: format!("no value in {register}") },
        }
    }
    if express.port == PortType::RootComplexIntegrated {
        return LinkEnd::default();
    }
    LinkEnd {
        current_speed: fact(express.speed, "LnkSta", source),
        max_speed: fact(express.max_speed, "LnkCap", source),
        current_width: fact(express.width, "LnkSta", source),
        max_width: fact(express.max_width, "LnkCap", source),
        ..LinkEnd::default()
    }
}

/// Secondary and Subordinate Bus Number of a bridge, PCI or CardBus (header types 1 and 2 have them in one place).
fn buses(config: &[u8]) -> Option<(u8, u8)> {
    let header = config.get(0x0e)? & 0x7f;
    let (secondary, subordinate) = (*config.get(0x19)?, *config.get(0x1a)?);
    (matches!(header, 1 | 2) && secondary > 0).then_some((secondary, subordinate.max(secondary)))
}

/// The status of Advanced Error Reporting: each error that is set and not masked counts once.
fn aer(config: &[u8]) -> Option<Aer> {
    let at = extended(config, AER)?;
    let register = |offset: usize| u32_at(config, at + offset);
    let (uncorrectable, mask, severity) = (register(0x04)?, register(0x08)?, register(0x0c)?);
    let (correctable, correctable_mask) = (register(0x10)?, register(0x14)?);
    let is_fatal = |bit: u32| severity & 1 << bit != 0;
    Some(Aer {
        correctable: counts(CORRECTABLE, correctable, |bit| correctable_mask & 1 << bit == 0),
        nonfatal: counts(UNCORRECTABLE, uncorrectable, |bit| mask & 1 << bit == 0 && !is_fatal(bit)),
        fatal: counts(UNCORRECTABLE, uncorrectable, |bit| mask & 1 << bit == 0 && is_fatal(bit)),
        is_status: true,
    })
}

fn counts(bits: &[AerBit], status: u32, counts: impl Fn(u32) -> bool) -> BTreeMap<String, u64> {
    // The specification takes a bit back that older ones had; only the kernel still names it.
    let counted = bits.iter().filter(|(bit, name, _)| counts(*bit) && *name != "Undefined");
    counted.map(|(bit, name, _)| ((*name).to_owned(), u64::from(status >> bit & 1))).collect()
}

/// Where the extended capability `wanted` starts.
fn extended(config: &[u8], wanted: u32) -> Option<usize> {
    let mut at = EXTENDED;
    for _ in 0..MOST_EXTENDED {
        let header = u32_at(config, at)?;
        if header == u32::MAX {
            return None;
        }
        if header & 0xffff == wanted {
            return Some(at);
        }
        at = usize::try_from(header >> 20 & 0xffc).ok()?;
        if at < EXTENDED {
            return None;
        }
    }
    None
}

fn u16_at(config: &[u8], at: usize) -> Option<u16> {
    config.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
}

fn u32_at(config: &[u8], at: usize) -> Option<u32> {
    config.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
