//! `lsusb`: the tree (`-t`, `-tv`), the list, and descriptors (`-v`), of usbutils 0.8x to 018; and attributes of
//! `/sys/bus/usb/devices` printed with their paths.

mod attributes;
mod descriptors;
mod tree;

use super::{Gap, Lacks, Part, Rank, Text};
use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;
use narrows_machine::usb::{UsbAddress, UsbDevice, UsbDevices};

/// More devices than a machine can have: 256 buses of 127.
const MOST_DEVICES: usize = 32_512;

/// What is read line by line.
#[derive(Default)]
struct Found {
    devices: UsbDevices,
    /// The device that lines without one belong to.
    last: Option<UsbAddress>,
    /// The place in the tree.
    branch: tree::Branch,
}

impl Found {
    /// The device at `address`, which further lines belong to; `None` when there are too many.
    fn open(&mut self, address: UsbAddress) -> Option<&mut UsbDevice> {
        if self.devices.len() >= MOST_DEVICES && !self.devices.contains_key(&address) {
            self.last = None;
            return None;
        }
        self.last = Some(address);
        Some(self.devices.entry(address).or_insert_with(|| UsbDevice { address, ..UsbDevice::default() }))
    }

    fn last(&mut self) -> Option<&mut UsbDevice> {
        self.devices.get_mut(&self.last?)
    }
}

/// Reads what `lsusb` printed in `text`.
pub fn read(text: &Text) -> Part {
    if !["Bus ", "/sys/bus/usb/devices/usb"].iter().any(|mark| text.body().contains(mark)) {
        return Part::default();
    }
    let mut found = Found::default();
    for (number, line) in text.lines() {
        let source = || text.source(number);
        let _ = tree::take(&mut found, line, source)
            || descriptors::take(&mut found, line, source)
            || attributes::take(&mut found, line, source);
    }
    if found.devices.is_empty() {
        return Part::default();
    }
    let gaps = gaps(&found.devices);
    let machine = Machine { usb: found.devices, ..Machine::default() };
    Part { kind: Some("lsusb"), rank: Rank::Summary, machine, gaps }
}

/// A bare list says neither how fast the devices are nor which of them store data.
fn gaps(devices: &UsbDevices) -> Vec<Gap> {
    let says_more = |device: &UsbDevice| device.speed.value().is_some() || device.version.value().is_some();
    if devices.values().any(says_more) {
        return Vec::new();
    }
    vec![Gap {
        what: "the rates that the USB devices run at".to_owned(),
        run: "lsusb -t".to_owned(),
        lacks: Lacks::UsbRates,
    }]
}

/// Keeps the faster of a known rate and another.
fn raise(rate: &mut Fact<BitsPerSec>, other: BitsPerSec, source: String) {
    if rate.value().is_none_or(|known| *known < other) {
        *rate = Fact::known(other, source);
    }
}

/// Reads `0bda:9210`.
fn parse_id(text: &str) -> Option<(u16, u16)> {
    let (vendor, product) = text.split_once(':')?;
    let number = |text: &str| (text.len() == 4).then(|| u16::from_str_radix(text, 16).ok()).flatten();
    Some((number(vendor)?, number(product)?))
}

/// Takes `ID 0bda:9210 Realtek Semiconductor Corp. RTL9210` into a device.
fn take_identity(device: &mut UsbDevice, text: &str, source: impl Fn() -> String) {
    let (id, name) = text.split_once(' ').unwrap_or((text, ""));
    let Some(id) = parse_id(id) else { return };
    device.id = Fact::known(id, source());
    // Behind a tab stands what somebody added.
    let name = name.split('\t').next().unwrap_or_default().trim();
    if !name.is_empty() && device.product.value().is_none() {
        device.product = Fact::known(name.to_owned(), source());
    }
}

#[cfg(test)]
mod tests;
