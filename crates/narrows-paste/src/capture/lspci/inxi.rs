//! Devices as `inxi -xxx` and `inxi -a` print them:
//! `Device-1: NVIDIA GA102 driver: nvidia … pcie: gen: 1 speed: 2.5 GT/s lanes: 16 link-max: gen: 4 speed: 16 GT/s
//! bus-ID: 01:00.0 chip-ID: 10de:2206 class-ID: 0300`, broken at the width of the terminal.

use narrows_base::fact::Fact;
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::Machine;
use narrows_machine::pci::{LinkEnd, PciDevice, PciId};

use super::class;
use super::device::{Detail, FoundFunction};
use super::functions::Functions;
use super::line::{self, half_id, kept_name};
use crate::capture::{Part, Rank, Text};

/// The longest entry, in bytes; a real one has a tenth of it.
const LONGEST: usize = 4000;

/// Reads the entries that have a PCI address.
pub fn read_inxi(text: &Text) -> Part {
    if !text.body().contains("bus-ID:") {
        return Part::default();
    }
    let mut functions = Functions::default();
    let mut entry: Option<(usize, String)> = None;
    for (number, line) in text.lines() {
        let line = line::bare(line);
        if let Some(start) = start(line) {
            let done = start.then(|| (number, line.chars().take(LONGEST).collect()));
            let before = std::mem::replace(&mut entry, done);
            before
                .and_then(|(line, words)| device(text, line, &words))
                .into_iter()
                .for_each(|found| functions.add(found));
        } else if let Some((_, words)) = entry.as_mut().filter(|(_, words)| words.len() < LONGEST) {
            words.push(' ');
            words.extend(line.chars().take(LONGEST));
        }
    }
    let last = entry.and_then(|(line, words)| device(text, line, &words));
    last.into_iter().for_each(|found| functions.add(found));
    if functions.detail().is_none() {
        return Part::default();
    }
    let (pci, gaps) = functions.finish();
    Part { kind: Some("inxi"), rank: Rank::Summary, machine: Machine { pci, ..Machine::default() }, gaps }
}

/// Whether the line starts a device (`Device-1:`); `None` when it goes on with what is before. Names that start
/// something have a capital.
fn start(line: &str) -> Option<bool> {
    let (name, _) = line.split_once(':')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_capital = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    (is_name && is_capital).then(|| name.starts_with("Device-"))
}

fn device(text: &Text, number: usize, words: &str) -> Option<FoundFunction> {
    let address = line::address(after(words, "bus-ID: ")?)?;
    let source = || text.source(number);
    let (_, rest) = words.split_once(": ")?;
    let name =
        [" vendor: ", " driver: "].into_iter().fold(rest, |name, end| name.split(end).next().unwrap_or(name));
    let id = after(words, "chip-ID: ").and_then(|id| id.split_once(':'));
    let id =
        id.and_then(|(vendor, device)| Some(PciId { vendor: half_id(vendor)?, device: half_id(device)? }));
    let class = after(words, "class-ID: ").and_then(|digits| class::code(digits.get(..4)?));
    let device = PciDevice {
        address,
        id: id.map_or_else(Fact::default, |id| Fact::known(id, source())),
        name: kept_name(name).map_or_else(Fact::default, |name| Fact::known(name, source())),
        class: class.map_or_else(Fact::default, |code| Fact::known(class::full(code, None), source())),
        driver: after(words, "driver: ")
            .map_or_else(Fact::default, |name| Fact::known(name.to_owned(), source())),
        link: link(words, &source()),
        ..PciDevice::default()
    };
    Some(FoundFunction { device, buses: None, detail: Detail::Full, dumped: 0 })
}

/// The link. `link-max` has only what differs from the running link, and is printed with `-a` alone, so that without it
/// the most is unknown.
fn link(words: &str, source: &str) -> LinkEnd {
    let Some((_, pcie)) = words.split_once("pcie: ") else { return LinkEnd::default() };
    let (running, most) = match pcie.split_once("link-max: ") {
        Some((running, most)) => (running, Some(most)),
        None => (pcie, None),
    };
    // What follows the link may have a speed of its own.
    let own = |words: &str| {
        words.split(" bus-ID:").next().unwrap_or_default().split(" ports:").next().map(str::to_owned)
    };
    let (running, most) = (own(running).unwrap_or_default(), most.and_then(own));
    let fact = |value: Option<GtPerSec>| value.map_or_else(Fact::default, |value| Fact::known(value, source));
    let width = |value: Option<Lanes>| value.map_or_else(Fact::default, |value| Fact::known(value, source));
    let most_speed = most.as_deref().and_then(|most| speed(most).or_else(|| speed(&running)));
    let most_lanes = most.as_deref().and_then(|most| lanes(most).or_else(|| lanes(&running)));
    LinkEnd {
        current_speed: fact(speed(&running)),
        max_speed: fact(most_speed),
        current_width: width(lanes(&running)),
        max_width: width(most_lanes),
        ..LinkEnd::default()
    }
}

fn speed(words: &str) -> Option<GtPerSec> {
    let rest = words.split_once("speed: ")?.1;
    GtPerSec::parse(rest.get(..rest.find("GT/s")? + "GT/s".len())?)
}

fn lanes(words: &str) -> Option<Lanes> {
    Lanes::parse(after(words, "lanes: ")?).filter(|lanes| lanes.get() <= 32)
}

/// The word after `name`.
fn after<'t>(words: &'t str, name: &str) -> Option<&'t str> {
    words.split_once(name)?.1.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use narrows_machine::pci::PciAddress;
    use proptest::prelude::*;

    use super::*;

    /// As `man inxi` describes the fields of `-Gxxxa` and `-Nxxx`.
    const DEVICES: &str = "\
    Graphics:
  Device-1: NVIDIA GA102 [GeForce RTX 3080] vendor: Gigabyte driver: nvidia
    v: 525.60 arch: Ampere pcie: gen: 1 speed: 2.5 GT/s lanes: 16 link-max:
    gen: 4 speed: 16 GT/s ports: active: none bus-ID: 01:00.0
    chip-ID: 10de:2206 class-ID: 0300
  Display: x11 server: X.org
Network:
  Device-1: Intel I350 driver: igb v: kernel pcie: gen: 2 speed: 5 GT/s lanes: 4
    port: e000 bus-ID: 02:00.0 chip-ID: 8086:1521 class-ID: 0200
  IF: enp2s0 state: up speed: 1000 Mbps
  Device-2: Logitech Camera type: USB driver: uvcvideo bus-ID: 1-3:2 chip-ID: 046d:0825
";

    #[test]
    fn links_are_read_with_what_differs_from_the_most() {
        let part = read_inxi(&Text::new("inxi.txt", DEVICES.as_bytes()));
        assert_eq!((part.kind, part.machine.pci.len()), (Some("inxi"), 2));
        let at = |text: &str| text.parse::<PciAddress>().expect("an address");
        let card = &part.machine.pci[&at("01:00.0")];
        assert_eq!(card.link.current_speed.get(), Some(GtPerSec::GEN1));
        assert_eq!(card.link.max_speed.get(), Some(GtPerSec::GEN4));
        assert_eq!(
            (card.link.current_width.get(), card.link.max_width.get()),
            (Some(Lanes::new(16)), Some(Lanes::new(16)))
        );
        assert!(card.is_display());
        assert_eq!(card.name.value().map(String::as_str), Some("NVIDIA GA102 [GeForce RTX 3080]"));
        assert_eq!(card.id.get().map(|id| id.to_string()).as_deref(), Some("10de:2206"));
        let network = &part.machine.pci[&at("02:00.0")];
        assert_eq!(
            (network.link.current_speed.get(), network.link.max_speed.get()),
            (Some(GtPerSec::GEN2), None)
        );
        assert_eq!(network.driver.value().map(String::as_str), Some("igb"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = read_inxi(&Text::new("x", format!("Device-1: pcie: speed: {text} bus-ID: 01:00.0").as_bytes()));
            let _ = read_inxi(&Text::new("x", format!("{text} bus-ID: {text}").as_bytes()));
        }
    }
}
