//! `lshw` in words: nodes (`*-nvme`, `*-disk`) indented below what they hang on, with a line for each property.

use narrows_machine::block::{Sata, Transport, Usb};
use narrows_machine::nic::Nic;
use narrows_machine::pci::PciAddress;

use super::{Drive, put_nic};
use crate::capture::device::{implied, key_of, known};
use crate::capture::lspci::{ListedFunctions, class_of};
use crate::capture::{Part, Rank, Text, number};

/// More nodes above one than any machine has.
const DEEPEST: usize = 64;

/// One node.
#[derive(Debug, Default)]
struct Node<'t> {
    line: usize,
    indent: usize,
    fields: Vec<(&'t str, &'t str)>,
}

impl<'t> Node<'t> {
    fn get(&self, key: &str) -> Option<&'t str> {
        self.fields.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    /// `pci@0000:00:17.0`.
    fn pci(&self) -> Option<PciAddress> {
        self.get("bus info")?.strip_prefix("pci@")?.parse().ok()
    }

    /// The value of `driver=` among the words of the configuration.
    fn driver(&self) -> Option<&'t str> {
        self.get("configuration")?.split_whitespace().find_map(|word| word.strip_prefix("driver="))
    }

    /// The first of its names that is a whole disk or partition.
    fn disk(&self) -> Option<String> {
        let mut names = self.fields.iter().filter(|(key, _)| *key == "logical name");
        names.find_map(|(_, name)| key_of(name.strip_prefix("/dev/")?))
    }
}

/// Reads every function, drive and network interface.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Summary, ..Part::default() };
    let mut functions = ListedFunctions::default();
    let mut above: Vec<Node<'_>> = Vec::new();
    for node in nodes(text) {
        above.retain(|other| other.indent < node.indent);
        function(&mut functions, text, &node, &above);
        drive(&mut part, text, &node, &above);
        interface(&mut part, text, &node);
        if above.len() < DEEPEST {
            above.push(node);
        }
    }
    if let Some(pci) = functions.finish() {
        part.machine.pci = pci;
        part.kind = Some("lshw");
    }
    part
}

fn nodes(text: &Text) -> Vec<Node<'_>> {
    let mut nodes: Vec<Node<'_>> = Vec::new();
    for (line, words) in text.lines() {
        let trimmed = words.trim_start();
        let indent = words.len() - trimmed.len();
        if trimmed.starts_with("*-") {
            nodes.push(Node { line, indent, fields: Vec::new() });
        } else if let Some(node) = nodes.last_mut().filter(|node| indent > node.indent) {
            node.fields.extend(trimmed.split_once(": "));
        }
    }
    nodes
}

fn function(functions: &mut ListedFunctions, text: &Text, node: &Node<'_>, above: &[Node<'_>]) {
    let Some(address) = node.pci() else { return };
    let bridge = above.iter().rev().find_map(Node::pci).filter(|bridge| *bridge != address);
    let class = node.get("description").and_then(|words| match words {
        "NVMe device" | "Non-Volatile memory controller" => Some(0x0108),
        "Ethernet interface" => Some(0x0200),
        "Wireless interface" => Some(0x0280),
        other => class_of(other),
    });
    let name = match (node.get("vendor"), node.get("product")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => product.or(vendor).map(str::to_owned),
    };
    functions.add(&text.source(node.line), (address, bridge), (None, name.as_deref(), class), node.driver());
}

fn drive(part: &mut Part, text: &Text, node: &Node<'_>, above: &[Node<'_>]) {
    let Some(name) = node.disk() else { return };
    let Some(bus) = node.get("bus info") else { return };
    let controller = above.iter().rev().find(|node| node.pci().is_some());
    let pci = controller.and_then(Node::pci);
    let description = node.get("description").unwrap_or_default();
    let transport = match bus.split_once('@').map(|(bus, _)| bus) {
        Some("nvme" | "mmc") => Some(implied(&name, pci)),
        Some("scsi")
            if above.iter().any(|node| node.get("bus info").is_some_and(|bus| bus.starts_with("usb@"))) =>
        {
            Some(Transport::Usb(Usb { pci, ..Usb::default() }))
        }
        Some("scsi") if description == "ATA Disk" && controller.and_then(Node::driver) == Some("ahci") => {
            Some(Transport::Sata(Sata { pci, ..Sata::default() }))
        }
        Some("scsi") => {
            let driver = controller.and_then(Node::driver).unwrap_or("scsi");
            Some(Transport::Other { name: driver.to_owned(), pci })
        }
        _ => return,
    };
    // An NVMe drive is the node above its namespaces.
    let of_drive = if bus.starts_with("nvme@") { controller.unwrap_or(node) } else { node };
    let turns =
        node.get("capabilities").is_some_and(|all| all.split_whitespace().any(|word| word.ends_with("rpm")));
    let drive = Drive {
        source: text.source(node.line),
        model: of_drive.get("product").filter(|model| *model != "MassStorageClass").map(str::to_owned),
        serial: of_drive.get("serial").map(str::to_owned),
        size: node.get("size").and_then(|size| number::exact_size(size.split(" (").next()?)),
        rotational: turns.then_some(true),
        transport,
    };
    drive.put(&mut part.machine, &name);
    part.kind = Some("lshw");
}

fn interface(part: &mut Part, text: &Text, node: &Node<'_>) {
    if node.get("description").is_some_and(|what| what.ends_with("interface")) {
        let source = text.source(node.line);
        let mut settings = node.get("configuration").into_iter().flat_map(str::split_whitespace);
        let speed = settings.find_map(|word| number::bit_rate(word.strip_prefix("speed=")?));
        let nic = Nic {
            pci: node.pci(),
            driver: known(node.driver().map(str::to_owned), source.as_str()),
            speed: known(speed, source.as_str()),
            most_speed: known(node.get("capacity").and_then(number::bit_rate), source),
            ..Nic::default()
        };
        put_nic(&mut part.machine, node.get("logical name"), nic);
    }
}

#[cfg(test)]
mod tests {
    use narrows_base::units::BitsPerSec;
    use narrows_machine::Machine;
    use proptest::prelude::*;

    use super::*;

    fn machine(text: &str) -> Machine {
        read(&Text::new("lshw.txt", text.as_bytes())).machine
    }

    /// As lshw B.02.19 prints them; made up.
    const ALL: &str = "\
    host
    description: Desktop Computer
  *-core
     *-pci
          description: Host bridge
          bus info: pci@0000:00:00.0
        *-pci:0
             description: PCI bridge
             bus info: pci@0000:00:1c.0
             configuration: driver=pcieport
           *-nvme
                description: NVMe device
                product: Samsung SSD 970 EVO 500GB
                vendor: Samsung Electronics Co Ltd
                bus info: pci@0000:03:00.0
                logical name: /dev/nvme0
                serial: S1
                configuration: driver=nvme latency=0
              *-namespace:1
                   description: NVMe disk
                   bus info: nvme@0:1
                   logical name: /dev/nvme0n1
                   size: 465GiB (500GB)
        *-sata
             description: SATA controller
             bus info: pci@0000:00:17.0
             configuration: driver=ahci latency=0
           *-disk
                description: ATA Disk
                product: ST4000DM004-2CV1
                bus info: scsi@2:0.0.0
                logical name: /dev/sda
                size: 3726GiB (4TB)
                capabilities: 5425rpm gpt-1.00 partitioned
        *-network
             description: Ethernet interface
             product: I210
             bus info: pci@0000:04:00.0
             logical name: eno1
             configuration: autonegotiation=on driver=igb speed=1Gbit/s
";

    #[test]
    fn drives_hang_on_the_function_that_they_are_indented_below() {
        let machine = machine(ALL);
        let at = |text: &str| text.parse::<PciAddress>().expect("an address");
        let nvme = Transport::NvmePci { controller: "nvme0".to_owned(), pci: at("0000:03:00.0") };
        assert_eq!(machine.block["nvme0n1"].transport, nvme);
        assert_eq!(
            machine.block["nvme0n1"].model.value().map(String::as_str),
            Some("Samsung SSD 970 EVO 500GB")
        );
        assert!(
            matches!(&machine.block["sda"].transport, Transport::Sata(sata) if sata.pci == Some(at("0000:00:17.0")))
        );
        assert_eq!(machine.block["sda"].queue.rotational.get(), Some(true));
        assert_eq!(machine.pci[&at("0000:03:00.0")].parent, Some(at("0000:00:1c.0")));
        assert_eq!(machine.pci[&at("0000:03:00.0")].class.get(), Some(0x01_0802));
        assert_eq!(machine.nics["eno1"].speed.get(), Some(BitsPerSec::from_mbit(1000.0)));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "( |\\*-|bus info: |pci@0000:|01:00.0|scsi@|nvme@|logical name: /dev/|sda|nvme0n1|é|size: |\n){0,40}") {
            let _ = machine(&text);
            let _ = machine(&format!("*-a\n  bus info: {text}"));
        }
    }
}
