//! Devices as `inxi -xxx` and `inxi -a` print them:
//! `Device-1: NVIDIA GA102 driver: nvidia … pcie: gen: 1 speed: 2.5 GT/s lanes: 16 link-max: gen: 4 speed: 16 GT/s
//! bus-ID: 01:00.0 chip-ID: 10de:2206 class-ID: 0300`, broken at the width of the terminal.

use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::pci::{LinkEnd, PciDevice};

use super::class;
use super::device::FoundFunction;
use super::functions::Functions;
use super::line::{self, kept_name, pci_id};
use crate::capture::device::known;
use crate::capture::{Part, Rank, Text};

/// The longest entry, in bytes; a real one has a tenth of it.
const LONGEST: usize = 4000;

/// Reads the entries that have a PCI address.
pub fn read_inxi(text: &Text) -> Part {
    let mut functions = Functions::default();
    for (number, words) in entries(text, line::bare, |line| start(line::bare(line))) {
        device(text, number, &words).into_iter().for_each(|found| functions.add(found));
    }
    functions.part(Rank::Summary, |_| "inxi")
}

/// The entries of a text, put together where they were broken, with the lines where they begin. `begins` says what of a line
/// begins an entry, or that it ends one (`Some(None)`).
pub(in crate::capture) fn entries<'t>(
    text: &'t Text,
    bare: fn(&str) -> &str,
    begins: impl Fn(&'t str) -> Option<Option<&'t str>>,
) -> Vec<(usize, String)> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines() {
        if let Some(begun) = begins(line) {
            is_open = begun.is_some();
            entries.extend(begun.map(|words| (number, words.chars().take(LONGEST).collect())));
        } else if let Some((_, words)) =
            entries.last_mut().filter(|(_, words)| is_open && words.len() < LONGEST)
        {
            words.push(' ');
            words.extend(bare(line).chars().take(LONGEST));
        }
    }
    entries
}

/// The line if it starts a device (`Device-1:`); `None` when it goes on with what is before. Names that start something have a
/// capital.
fn start(line: &str) -> Option<Option<&str>> {
    let (name, _) = line.split_once(':')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_capital = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase());
    (is_name && is_capital).then(|| Some(line).filter(|_| name.starts_with("Device-")))
}

fn device(text: &Text, number: usize, words: &str) -> Option<FoundFunction> {
    let address = line::address(after(words, "bus-ID: ")?)?;
    let source = || text.source(number);
    let (_, rest) = words.split_once(": ")?;
    let name =
        [" vendor: ", " driver: "].into_iter().fold(rest, |name, end| name.split(end).next().unwrap_or(name));
    let id = after(words, "chip-ID: ").and_then(pci_id);
    let class = after(words, "class-ID: ").and_then(|digits| class::code(digits.get(..4)?));
    let device = PciDevice {
        address,
        id: known(id, source()),
        name: known(kept_name(name), source()),
        class: known(class.map(|code| class::full(code, None)), source()),
        driver: known(after(words, "driver: ").map(str::to_owned), source()),
        link: link(words, &source()),
        ..PciDevice::default()
    };
    Some(FoundFunction::of(device))
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
    let most_speed = most.as_deref().and_then(|most| speed(most).or_else(|| speed(&running)));
    let most_lanes = most.as_deref().and_then(|most| lanes(most).or_else(|| lanes(&running)));
    LinkEnd {
        current_speed: known(speed(&running), source),
        max_speed: known(most_speed, source),
        current_width: known(lanes(&running), source),
        max_width: known(most_lanes, source),
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
