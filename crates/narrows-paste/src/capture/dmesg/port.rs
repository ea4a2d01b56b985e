//! Host bridges of small machines, which say how their only link came up.

use super::{Boot, Line};
use narrows_base::units::{GtPerSec, Lanes};
use narrows_machine::log::StatedLink;

/// Understands `rockchip-dw-pcie a40000000.pcie: PCIe Gen.2 x1 link up`, `xgene-pcie 1f500000.pcie: (rc) x8 gen-2 link
/// up`, `brcm-pcie fd500000.pcie: link up, 5.0 GT/s PCIe x1 (SSC)`, and `… PCI host bridge to bus 0000:00`.
pub(super) fn take(boot: &mut Boot, line: &Line<'_>) -> bool {
    let Some((driver, behind)) = line.message.split_once(' ') else { return false };
    let Some((name, rest)) = behind.split_once(": ") else { return false };
    if name.contains(' ') || !(driver.contains("pci") || name.contains("pci")) {
        return false;
    }
    if let Some(link) = parse_link_up(rest) {
        boot.buses.set_port_link(name, line.known(link.speed), line.known(link.width));
        return true;
    }
    rest.strip_prefix("PCI host bridge to bus ").is_some_and(|bus| boot.buses.set_host(name, bus))
}

fn parse_link_up(rest: &str) -> Option<StatedLink> {
    if rest.starts_with("link up, ") {
        return super::link::parse_link(rest);
    }
    let words = rest.strip_suffix("link up")?;
    let words = || words.split_whitespace();
    let generation =
        words().find_map(|word| word.strip_prefix("Gen.").or_else(|| word.strip_prefix("gen-")))?;
    let width = words().find(|word| word.starts_with('x'))?;
    Some(StatedLink {
        speed: GtPerSec::from_pcie_generation(generation.parse().ok()?)?,
        width: Lanes::parse(width)?,
    })
}
