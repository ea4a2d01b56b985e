//! What tools that list the whole machine say of its drives: inxi, hwinfo, lshw, lsscsi.

mod hwinfo;
mod inxi;
mod lshw;
mod lsscsi;

pub use hwinfo::read as read_hwinfo;
pub use inxi::read as read_inxi_drives;
pub use lshw::read as read_lshw;
pub use lsscsi::read as read_lsscsi;

use super::device::{device, learn};
use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::Machine;
use narrows_machine::block::{Sata, Transport};

/// The longest model that is kept, in characters; ATA has 40 of them.
const LONGEST_MODEL: usize = 80;
/// More drives than one text has.
const MOST: usize = 4096;

/// What a listing says of one drive.
#[derive(Debug, Default)]
struct Drive {
    /// Where it was read.
    source: String,
    model: Option<String>,
    serial: Option<String>,
    size: Option<Bytes>,
    rotational: Option<bool>,
    /// The rate of its SATA link now, where the text says that it has one.
    sata: Option<BitsPerSec>,
    /// What carries its data, where the text tells.
    transport: Option<Transport>,
}

impl Drive {
    /// Puts the drive down under its kernel name. What is known already stays.
    fn put(self, machine: &mut Machine, name: &str) {
        if machine.block.len() >= MOST && !machine.block.contains_key(name) {
            return;
        }
        let device = device(machine, name);
        if device.partition_of.is_some() {
            return;
        }
        let source = self.source.as_str();
        learn(&mut device.model, self.model.as_deref().and_then(model), source);
        learn(&mut device.serial, self.serial, source);
        learn(&mut device.size, self.size, source);
        learn(&mut device.queue.rotational, self.rotational, source);
        if matches!(device.transport, Transport::None)
            && let Some(transport) = self.transport.or_else(|| implied(name))
        {
            device.transport = transport;
        }
        if let Some(speed) = self.sata {
            if matches!(device.transport, Transport::None) {
                device.transport = Transport::Sata(Sata::default());
            }
            if let Transport::Sata(sata) = &mut device.transport {
                learn(&mut sata.speed, Some(speed), source);
            }
        }
    }
}

/// A model in the form that the kernel has: words with one blank between.
fn model(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == '_').filter(|w| !w.is_empty()).collect();
    let model: String = words.join(" ").chars().take(LONGEST_MODEL).collect();
    let is_placeholder = ["", "N/A", "<filter>", "<superuser required>"].contains(&model.as_str());
    (!is_placeholder).then_some(model)
}

/// What the name of a drive alone says of its bus.
fn implied(name: &str) -> Option<Transport> {
    match name {
        _ if name.starts_with("nvme") => Some(Transport::Other { name: "nvme".to_owned(), pci: None }),
        _ if name.starts_with("mmcblk") => {
            Some(Transport::Mmc { pci: None, mode: narrows_base::fact::Fact::default() })
        }
        _ if name.starts_with("vd") => {
            Some(Transport::Virtio { pci: None, flavour: "virtio-blk".to_owned() })
        }
        _ => None,
    }
}

/// A rate of SATA in Gbit/s; other rates are of other links.
fn sata_rate(gigabits: &str) -> Option<BitsPerSec> {
    let rate: f64 = gigabits.trim().parse().ok()?;
    [1.5, 3.0, 6.0].contains(&rate).then(|| BitsPerSec::from_mbit(rate * 1000.0))
}
