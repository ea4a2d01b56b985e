//! `lsusb`: the tree (`-t`, `-tv`), the list, and descriptors (`-v`), of usbutils 0.8x to 018; `usb-devices`; the tree of Synology's DSM, and of
//! `lsusb.py` of usbutils before 018; and attributes of `/sys/bus/usb/devices` printed with their paths.

use narrows_base::fact::Fact;
use narrows_base::units::BitsPerSec;
use narrows_machine::Machine;
use narrows_machine::usb::{UsbAddress, UsbDevice, UsbDevices};

use super::device::known;
use super::lspci::pci_id;
use super::number::bit_rate;
use super::{Gap, Lacks, Part, Rank, Text, gap};

/// More devices than a machine can have: 256 buses of 127.
const MOST_DEVICES: usize = 32_512;

/// What is read line by line.
#[derive(Default)]
struct UsbFound {
    devices: UsbDevices,
    /// The device that lines without one belong to.
    last: Option<UsbAddress>,
    /// The place in the tree.
    branch: UsbBranch,
}

impl UsbFound {
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
    let mut found = UsbFound::default();
    for (number, line) in text.lines() {
        let source = || text.source(number);
        let taken = take_branch(&mut found, line, source).or_else(|| take_named(&mut found, line, source));
        let taken = taken.or_else(|| take_listed(&mut found, line, source));
        let taken = taken.or_else(|| take_usb_devices(&mut found, line, source));
        _ = taken.or_else(|| take_attribute(&mut found, line, source));
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
    vec![gap("the rates that the USB devices run at", "lsusb -t", Lacks::UsbRates)]
}

/// Keeps the faster of a known rate and another.
fn raise(rate: &mut Fact<BitsPerSec>, other: BitsPerSec, source: String) {
    if rate.value().is_none_or(|known| *known < other) {
        *rate = Fact::known(other, source);
    }
}

/// Takes `ID 0bda:9210 Realtek Semiconductor Corp. RTL9210` into a device.
fn take_identity(device: &mut UsbDevice, text: &str, source: impl Fn() -> String) {
    let (id, name) = text.split_once(' ').unwrap_or((text, ""));
    let Some(id) = pci_id(id) else { return };
    device.id = Fact::known((id.vendor, id.device), source());
    // Behind a tab stands what somebody added.
    let name = name.split('\t').next().unwrap_or_default().trim();
    if !name.is_empty() && device.product.value().is_none() {
        device.product = Fact::known(name.to_owned(), source());
    }
}

/// `usb-devices` of usbutils, which prints what the kernel's old `/proc/bus/usb/devices` had:
/// `T:  Bus=01 Lev=02 Prnt=02 Port=02 Cnt=01 Dev#=  3 Spd=480 MxCh= 0`, then lines of the same device.
fn take_usb_devices(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let (kind, rest) = line.trim_start().split_once(": ")?;
    let field = |key: &str| {
        let value = rest.split_once(key)?.1.trim_start();
        value.split_whitespace().next()
    };
    if kind == "T" {
        let (bus, device) = (field("Bus=")?.parse().ok()?, field("Dev#=")?.parse().ok()?);
        let speed = field("Spd=").and_then(|speed| speed.parse::<f64>().ok()).filter(|speed| *speed > 0.0);
        let open = found.open(UsbAddress { bus, device })?;
        open.speed = known(speed.map(BitsPerSec::from_mbit), source());
        return Some(());
    }
    let device = found.last()?;
    match kind {
        "D" => device.version = known(field("Ver=").map(str::to_owned), source()),
        "P" => {
            let number = |key| u16::from_str_radix(field(key)?, 16).ok();
            device.id = known(number("Vendor=").zip(number("ProdID=")), source());
        }
        "S" => {
            let product = rest.trim_start().strip_prefix("Product=")?;
            device.product = known(Some(product.trim().to_owned()), source());
        }
        "I" => {
            let class = field("Cls=")?.split_once('(')?.1.trim_end_matches(')');
            if device.class.value().is_none() {
                device.class = known(Some(class.to_owned()), source());
                device.driver = known(field("Driver=").map(str::to_owned), source());
            }
        }
        _ => return None,
    }
    Some(())
}

/// No chain of hubs is longer (Universal Serial Bus 3.2 Specification, section 10.1: seven tiers); kernel names stay
/// short.
const DEEPEST: usize = 8;

/// Where in the tree the line before was.
#[derive(Default)]
struct UsbBranch {
    bus: Option<u16>,
    /// The column and port of each device above.
    ports: Vec<(usize, u16)>,
}

/// The tree of `lsusb -t`, and the numbers that `-v` adds below each device.
///
/// Takes a line of the tree; `None` of another.
fn take_branch(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let plain = line.trim_start();
    if let Some(root) = plain.strip_prefix("/:") {
        return take_root(found, root.trim_start(), source);
    }
    if let Some(child) = plain.strip_prefix("|__ ") {
        return take_child(found, column(line), child, source);
    }
    // A number on a line of its own is that of the device above it (`-v`).
    let identity = plain.strip_prefix("ID ").filter(|_| found.branch.bus.is_some())?;
    take_identity(found.last()?, identity, source);
    Some(())
}

/// The column of the first character, tabs counting as eight.
fn column(line: &str) -> usize {
    line.bytes().take_while(u8::is_ascii_whitespace).map(|byte| if byte == b'\t' { 8 } else { 1 }).sum()
}

/// `Bus 02.Port 1: Dev 1, Class=root_hub, Driver=xhci_hcd/4p, 10000M`.
fn take_root(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let (bus, rest) = line.strip_prefix("Bus ")?.split_once('.')?;
    let bus = bus.parse().ok()?;
    found.branch = UsbBranch { bus: Some(bus), ports: Vec::new() };
    put(found, bus, format!("usb{bus}"), rest.split_once(": ")?.1, source)
}

/// `Port 4: Dev 4, If 0, Class=Mass Storage, Driver=usb-storage, 5000M`.
fn take_child(found: &mut UsbFound, column: usize, line: &str, source: impl Fn() -> String) -> Option<()> {
    let bus = found.branch.bus?;
    let (port, fields) = line.strip_prefix("Port ")?.split_once(": ")?;
    let port = port.parse().ok()?;
    let ports = &mut found.branch.ports;
    while ports.last().is_some_and(|(above, _)| *above >= column) {
        ports.pop();
    }
    if ports.len() >= DEEPEST {
        return None;
    }
    ports.push((column, port));
    let path: Vec<String> = ports.iter().map(|(_, port)| port.to_string()).collect();
    let name = format!("{bus}-{}", path.join("."));
    put(found, bus, name, fields, source)
}

/// Puts down a device by what stands behind its place; `None` where that names none.
fn put(
    found: &mut UsbFound,
    bus: u16,
    name: String,
    fields: &str,
    source: impl Fn() -> String,
) -> Option<()> {
    let mut fields = fields.split(", ");
    let number = fields.next()?.strip_prefix("Dev ")?.trim().parse().ok()?;
    let Some(device) = found.open(UsbAddress { bus, device: number }) else { return Some(()) };
    device.name = Fact::known(name, source());
    let (mut class, mut driver) = (None, None);
    for field in fields {
        if let Some(text) = field.strip_prefix("Class=") {
            class = Some(text.trim());
        } else if let Some(text) = field.strip_prefix("Driver=") {
            // Hubs add the number of their ports, `hub/4p`.
            let text = text.split('/').next().unwrap_or_default().trim();
            driver = Some(text).filter(|driver| !driver.is_empty() && *driver != "[none]");
        } else if let Some(speed) = parse_speed(field) {
            device.speed = Fact::known(speed, source());
        }
    }
    // A device has a line for each interface: the one that stores counts, else the first.
    let is_first = device.class.value().is_none() && device.driver.value().is_none();
    if is_first || (!device.is_storage() && matches!(driver, Some("uas" | "usb-storage"))) {
        device.class = known(class.map(str::to_owned), source());
        device.driver = known(driver.map(str::to_owned), source());
    }
    Some(())
}

/// Devices of which no text tells the number get one that none has.
const UNNUMBERED: u16 = 1000;

/// `|__usb1          1d6b:0002:0404 09  2.00  480MBit/s 0mA 1IF  (Linux 4.4.302+ xhci-hcd xHCI Host Controller 0000:00:15.0) hub`,
/// `  |__1-1         0bda:8157:3000 00  2.10  480MBit/s 500mA 1IF  (Realtek USB 10/100/1G/2.5G/5G LAN)`: name, numbers, class,
/// version and rate. Numbers of devices are not told, and whether one stores data is only with `-i`.
fn take_named(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let plain = line.trim_start().trim_start_matches("|__");
    let (name, rest) = plain.split_once(' ')?;
    let (facts, said) = rest.split_once('(').unwrap_or((rest, ""));
    let [id, _, version, rate, ..] = *facts.split_whitespace().collect::<Vec<_>>() else { return None };
    let rate = rate.strip_suffix("MBit/s")?.parse().ok().filter(|rate| (1.0..1e6).contains(rate))?;
    let id = pci_id(id.get(..9)?)?;
    let root = name.strip_prefix("usb");
    let bus = root.or_else(|| Some(name.split_once('-')?.0))?.parse().ok()?;
    if !name.trim_start_matches("usb").bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte)) {
        return None;
    }
    let is_known = |device: &&UsbDevice| device.name.value().is_some_and(|known| known == name);
    let count = u16::try_from(found.devices.len()).ok()?;
    let next = if root.is_some() { 1 } else { UNNUMBERED.checked_add(count)? };
    let known = found.devices.values().find(is_known).map(|device| device.address);
    let device = found.open(known.unwrap_or(UsbAddress { bus, device: next }))?;
    device.name = Fact::known(name.to_owned(), source());
    device.id = Fact::known((id.vendor, id.device), source());
    device.version = Fact::known(version.to_owned(), source());
    device.speed = Fact::known(BitsPerSec::from_mbit(rate), source());
    let said = said.rsplit_once(')').map_or(said, |(said, _)| said);
    let (words, last) = said.rsplit_once(' ').unwrap_or(("", said));
    if root.is_some() {
        device.driver = known_driver(said).map_or_else(Fact::default, |driver| Fact::known(driver, source()));
        device.pci = last.parse().map_or_else(|_| Fact::default(), |address| Fact::known(address, source()));
    } else {
        // A serial number, where there is one, stands behind the name.
        let is_number = last.len() >= 6 && last.bytes().filter(u8::is_ascii_digit).count() >= 3;
        let product = if is_number { words } else { said };
        device.product = Fact::known(product.to_owned(), source());
    }
    Some(())
}

/// The driver of a root hub, `xhci-hcd` or `ehci_hcd`.
fn known_driver(said: &str) -> Option<String> {
    said.split(' ')
        .find(|word| word.ends_with("_hcd") || word.ends_with("-hcd"))
        .map(|word| word.replace('-', "_"))
}

/// Reads `480M`, `1.5M`, `20000M/x2`; what somebody wrote behind it does not matter.
fn parse_speed(text: &str) -> Option<BitsPerSec> {
    let (number, rest) = text.split_once('M')?;
    let rate: f64 = number.parse().ok()?;
    let ends = rest.is_empty() || rest.starts_with(['/', ' ', '\t']);
    (ends && rate > 0.0 && rate < 1e6).then(|| BitsPerSec::from_mbit(rate))
}

/// The list of devices, and what `lsusb -v` prints below each.
///
/// Takes a line of the list or of descriptors; `None` of another.
fn take_listed(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let line = line.trim();
    if let Some((address, identity)) = parse_head(line) {
        found.branch = UsbBranch::default();
        if let Some(device) = found.open(address) {
            if device.is_root_hub() {
                device.name = Fact::known(format!("usb{}", address.bus), source());
            }
            take_identity(device, identity, source);
        }
        return Some(());
    }
    take_descriptor(found.last()?, line, source)
}

/// Reads `Bus 004 Device 002: ID 0578:0578 Intrinsix Corp. JMS580`.
fn parse_head(line: &str) -> Option<(UsbAddress, &str)> {
    let (bus, rest) = line.strip_prefix("Bus ")?.split_once(" Device ")?;
    let (device, identity) = rest.split_once(": ID ")?;
    Some((UsbAddress { bus: bus.parse().ok()?, device: device.parse().ok()? }, identity))
}

fn take_descriptor(device: &mut UsbDevice, line: &str, source: impl Fn() -> String) -> Option<()> {
    let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let value = value.trim();
    // The number of a string or class comes before it.
    let name = value.split_once(' ').map(|(_, name)| name.trim().to_owned()).filter(|name| !name.is_empty());
    match (key, name) {
        ("bcdUSB", _) => device.version = Fact::known(value.to_owned(), source()),
        ("iProduct", Some(name)) => device.product = Fact::known(name, source()),
        ("bInterfaceClass", Some(class)) if !device.is_storage() => {
            device.class = Fact::known(class, source());
        }
        ("iProduct" | "bInterfaceClass", _) => {}
        _ => return take_rate(device, line, source),
    }
    Some(())
}

/// The rates that a device announces, and the one that usbutils from 014 on asks the kernel for.
fn take_rate(device: &mut UsbDevice, line: &str, source: impl Fn() -> String) -> Option<()> {
    if let Some(rate) = line.strip_prefix("Negotiated speed: ") {
        device.speed = Fact::known(bit_rate(bracketed(rate)?)?, source());
        return Some(());
    }
    let most = match line.strip_prefix("Device can operate at ") {
        Some(speed) => bracketed(speed)?,
        None => line.strip_prefix("Speed Attribute ID: ")?.split_once(' ')?.1,
    };
    raise(&mut device.most_speed, bit_rate(most)?, source());
    Some(())
}

/// The rate in `SuperSpeed+ (10Gbps)`.
fn bracketed(text: &str) -> Option<&str> {
    text.split_once('(')?.1.split_once(')').map(|(rate, _)| rate)
}

/// The rate of two lanes, Gen 2x2: a root hub has two only when it can do that (kernel `xhci_gen_setup`).
const TWO_LANES: f64 = 20_000.0;

/// Attributes of root hubs, printed with their paths: `/sys/bus/usb/devices/usb5/rx_lanes = 2`, or as `grep` does,
/// `…/usb5/speed:10000` (kernel `Documentation/ABI/testing/sysfs-bus-usb`).
///
/// Takes a line; `None` of another.
fn take_attribute(found: &mut UsbFound, line: &str, source: impl Fn() -> String) -> Option<()> {
    let (_, rest) = line.split_once("/sys/bus/usb/devices/usb")?;
    let (bus, rest) = rest.split_once('/')?;
    let (name, value) = rest.split_once(['=', ':', ' '])?;
    let value = value.trim_start_matches(['=', ':', ' ']).trim();
    let (bus, number) = (bus.parse().ok()?, value.parse::<f64>().ok()?);
    let rate = match name.trim() {
        "speed" if number > 0.0 && number < 1e6 => BitsPerSec::from_mbit(number),
        "rx_lanes" | "tx_lanes" if value == "2" => BitsPerSec::from_mbit(TWO_LANES),
        _ => return None,
    };
    let hub = found.open(UsbAddress { bus, device: 1 })?;
    hub.name = Fact::known(format!("usb{bus}"), source());
    raise(&mut hub.speed, rate, source());
    Some(())
}

#[cfg(test)]
mod tests;
