//! One line for each device, as `sbc-bench` prints its links: `* Vendor Device: Speed 5GT/s (downgraded), Width x2`.

use super::device::{Detail, Found};
use super::functions::Functions;
use super::head::kept;
use super::line;
use super::link::{self, lanes_of, speed_of, value};
use crate::capture::{Part, Rank, Text};
use narrows_base::fact::{Fact, Source};
use narrows_machine::Machine;
use narrows_machine::pci::{Downgraded, LinkEnd, PciAddress, PciDevice};

/// Classes by driver, where the name of the device does not end in its class. The kernel's drivers of these names bind
/// to one kind of device.
const CLASSES: &[(&str, u32)] = &[
    ("ahci", 0x01_0601),
    ("nvme", 0x01_0802),
    ("mpt3sas", 0x01_0700),
    ("megaraid_sas", 0x01_0400),
    ("xhci_hcd", 0x0c_0330),
    ("nvidia", 0x03_0000),
    ("nouveau", 0x03_0000),
    ("amdgpu", 0x03_0000),
    ("radeon", 0x03_0000),
    ("i915", 0x03_0000),
    ("mlx4_core", 0x02_0000),
    ("mlx5_core", 0x02_0000),
    ("igb", 0x02_0000),
    ("igc", 0x02_0000),
    ("ixgbe", 0x02_0000),
    ("i40e", 0x02_0000),
    ("ice", 0x02_0000),
    ("e1000e", 0x02_0000),
    ("r8169", 0x02_0000),
    ("r8125", 0x02_0000),
    ("r8127", 0x02_0000),
];

/// Reads such lines. The devices have no address; the most that their ends can do is known only where the link runs at
/// it.
pub fn read_summary(text: &Text) -> Part {
    if !text.body().contains(": Speed ") {
        return Part::default();
    }
    let mut functions = Functions::default();
    for (number, line) in text.lines() {
        device(text, number, line::bare(line)).into_iter().for_each(|device| {
            functions.add(Found { device, buses: None, detail: Detail::Full, dumped: 0 });
        });
    }
    if functions.detail().is_none() {
        return Part::default();
    }
    let (pci, gaps) = functions.finish();
    Part {
        kind: Some("sbc-bench"),
        rank: Rank::Summary,
        machine: Machine { pci, ..Machine::default() },
        gaps,
    }
}

fn device(text: &Text, number: usize, line: &str) -> Option<PciDevice> {
    let (name, link) = line.split_once(": Speed ")?;
    let name = name.trim_start_matches(['*', '-', ' ']);
    let link = format!("Speed {link}");
    let (speed, width) = (value(&link, "Speed ")?, value(&link, ", Width ")?);
    let is_lspci = matches!(name, "LnkSta" | "LnkCap" | "Link") || line::is_log(name);
    if is_lspci || speed_of(speed).is_none() || lanes_of(width).is_none() {
        return None;
    }
    let source = || text.source(number);
    let driver = value(&link, "driver in use: ").map(str::to_owned);
    let drive = name.contains(" as /dev/nvme").then_some("nvme");
    let driver = driver.or_else(|| drive.map(str::to_owned));
    let class = super::class::at_the_end_of(name).map(|code| super::class::full(code, None));
    let class = class.or_else(|| {
        CLASSES.iter().find(|(known, _)| Some(*known) == driver.as_deref()).map(|(_, class)| *class)
    });
    let fact = |value: Option<String>| value.map_or_else(Fact::default, |value| Fact::known(value, source()));
    let said = |what| link::says_more(link::note(&link, what)).then(|| Source::new(source()));
    Some(PciDevice {
        address: PciAddress::unnamed(0),
        name: fact(kept(name)),
        driver: fact(driver),
        class: class.map_or_else(Fact::default, |class| Fact::known(class, source())),
        link: LinkEnd {
            current_speed: speed_of(speed).map_or_else(Fact::default, |speed| Fact::known(speed, source())),
            max_speed: most(speed_of(speed), link::note(&link, "Speed "), &source()),
            current_width: lanes_of(width).map_or_else(Fact::default, |width| Fact::known(width, source())),
            max_width: most(lanes_of(width), link::note(&link, "Width "), &source()),
            downgraded: Downgraded { speed: said("Speed "), width: said("Width ") },
        },
        ..PciDevice::default()
    })
}

/// lspci 3.9 and later print nothing where the link runs at the most that its end can do, and `sbc-bench` shows
/// endpoints only, whose ends are always compared.
fn most<T>(current: Option<T>, note: Option<&str>, source: &str) -> Fact<T> {
    match (note, current) {
        (None | Some("ok"), Some(current)) => Fact::known(current, source),
        (Some(note), _) if !link::says_more(Some(note)) => {
            Fact::Garbled { source: Source::new(source), raw: note.to_owned() }
        }
        _ => Fact::absent(source),
    }
}
