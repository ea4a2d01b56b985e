//! Line rates that names of cards state, as `lspci` and labels have them.

use narrows_base::catalog::wire;
use narrows_base::units::BytesPerSec;

use super::Wires;

/// The generations of InfiniBand that names have, for adapters whose ports have four lanes, as all do that are sold as cards.
const GENERATIONS: [&str; 10] =
    ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR100", "HDR", "NDR200", "NDR"];

/// The generation for the rate on the wire that names state instead: four lanes of 2.5, 5, 10, 14.0625, 25.78125, 53.125 and
/// 106.25 Gbit/s (InfiniBand Architecture Specification 1.6, volume 2, table of link speeds).
const ON_THE_WIRE: [(f64, &str); 7] = [
    (10.0, "SDR"),
    (20.0, "DDR"),
    (40.0, "QDR"),
    (56.0, "FDR"),
    (100.0, "EDR"),
    (200.0, "HDR"),
    (400.0, "NDR"),
];

/// The parts of a name between spaces and marks, without the empty ones.
fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !(c.is_alphanumeric() || c == '.')).filter(|word| !word.is_empty())
}

/// The rate after line code of an InfiniBand port, by the generation or the rate that a name states: `IB QDR / 10GigE`,
/// `IBA7322 QDR InfiniBand HCA`, `Dual Port 40Gb/s InfiniBand`. The greatest of several, for a port that does the faster one
/// does the slower one too.
pub(super) fn infiniband(name: &str) -> Option<BytesPerSec> {
    let is = |word: &str, what: &str| word.eq_ignore_ascii_case(what);
    if name.contains("Omni-Path") {
        // Four lanes of 25.78125 Gbit/s with 64b/66b (Intel Omni-Path Architecture 100 Series product brief).
        return words(name).any(|word| word == "100").then(|| BytesPerSec::new(100e9 / 8.0));
    }
    let at = words(name).position(|word| is(word, "infiniband") || is(word, "ib"))?;
    let named = words(name).filter_map(|word| GENERATIONS.into_iter().find(|known| is(word, known)));
    let fastest = named.filter_map(wire::infiniband).max_by(|a, b| a.get().total_cmp(&b.get()));
    let stated = || {
        // `40Gb/s InfiniBand` makes the words `40Gb` and `s`.
        let before = words(name).take(at).last().filter(|word| *word == "s").and(at.checked_sub(2))?;
        let rate = gigabits(words(name).nth(before)?)?;
        let (_, generation) = ON_THE_WIRE.into_iter().find(|(known, _)| *known == rate)?;
        wire::infiniband(generation)
    };
    Some(fastest.or_else(stated)?.bytes_per_sec())
}

/// The rates of Fibre Channel ports by the generations that a name states, the slowest and the fastest: `ISP2532-based 8Gb
/// Fibre Channel to PCI Express HBA`, `425/825/42B/82B 4Gbps/8Gbps PCIe dual port FC HBA`, `LPe15000/LPe16000 Series 8Gb/16Gb
/// Fibre Channel Adapter`. Such a name stands for cards of each rate.
pub(super) fn fibre_channel(name: &str) -> Option<Wires> {
    if !name.contains("Fibre Channel") && words(name).all(|word| word != "FC") {
        return None;
    }
    let parts = name.split([' ', '(', ')', '*', ',', '-']);
    let rates = parts.flat_map(generations).map(|rate| Wires { least: rate, most: rate });
    rates.reduce(|all, one| Wires { least: all.least.min(one.least), most: all.most.max(one.most) })
}

/// The generations of `16/32Gb`, `4Gbps/8Gbps`, `16/32Gb/s` or `32GFC`: numbers without a unit take that of the next.
fn generations(part: &str) -> Vec<BytesPerSec> {
    let part = part.trim_end_matches("/s");
    if part.rsplit('/').next().and_then(gigabits).is_none() {
        return Vec::new();
    }
    let rates = part.split('/').map(|one| gigabits(one).or_else(|| one.parse().ok()));
    let known = rates.map(|rate| {
        // A cast from f64 saturates.
        wire::fibre_channel(rate.filter(|rate| rate.fract() == 0.0)? as u32)
    });
    known.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The number of `8Gb`, `8Gbps`, `32G`, `32GFC`, `40Gb`.
fn gigabits(word: &str) -> Option<f64> {
    let lower = word.to_ascii_lowercase();
    let number = ["gbps", "gbit", "gfc", "gb", "g"].iter().find_map(|unit| lower.strip_suffix(unit))?;
    number.parse().ok().filter(|rate| *rate > 0.0)
}

/// The line rate that the name of a card states, in Mbit/s: `82599ES 10-Gigabit SFI/SFP+`, `X710 for 10GbE SFP+`, `RTL8125
/// 2.5GbE`. The greatest of several.
pub(super) fn ethernet(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let stated = lower.match_indices('g').filter_map(|(at, _)| {
        let (before, behind) = (lower.get(..at)?, lower.get(at..)?);
        let is_unit =
            ["gigabit", "gige", "gbe", "gb ", "gbase", "g "].iter().any(|unit| behind.starts_with(unit));
        let before = before.trim_end_matches(['-', ' ']);
        // `802.11g` is a standard of wireless networks and no rate.
        let is_unit = is_unit && !before.ends_with("802.11");
        let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let rate: f64 = if is_unit { number.parse().ok()? } else { return None };
        (rate > 0.0 && rate <= 1600.0).then_some(rate * 1000.0)
    });
    stated.max_by(f64::total_cmp)
}

/// The line rate, in Mbit/s, of a name that has no number before it: `BCM5720 Gigabit Ethernet`, `AR8132 Fast Ethernet`.
pub(super) fn plain_ethernet(name: &str) -> Option<f64> {
    let lower = name.to_ascii_lowercase();
    let gigabit = lower.contains("gigabit").then_some(1000.0);
    gigabit.or_else(|| lower.contains("fast ethernet").then_some(100.0))
}

/// The ports that a name counts, where it counts any: `Dual Port`, `2-port`, `Quad Port`.
pub(super) fn ports(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let all: Vec<&str> = words(&lower).collect();
    let counted =
        all.iter().zip(all.iter().skip(1)).find(|(_, noun)| ["port", "ports", "channel"].contains(noun));
    match *counted?.0 {
        "single" | "one" | "1" => Some(1),
        "dual" | "two" | "2" => Some(2),
        "quad" | "four" | "4" => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Names of pci-ids.ucw.cz of 22 August 2026, of devices and of cards; the rates are by hand.
    const CONNECTX_2: &str = "MT25408A0-FCC-QI ConnectX, Dual Port 40Gb/s InfiniBand / 10GigE Adapter IC with PCIe 2.0 x8 5.0GT/s Interface";

    #[test]
    fn names_of_network_cards_state_their_line_rate() {
        for (name, megabits) in [
            ("Broadcom NetXtreme BCM5720 2-port Gigabit Ethernet PCIe", Some(1000.0)),
            ("Intel 82599ES 10-Gigabit SFI/SFP+ Network Connection", Some(10_000.0)),
            ("Intel Ethernet Controller X710 for 10GbE SFP+", Some(10_000.0)),
            ("Realtek RTL8125 2.5GbE Controller", Some(2500.0)),
            ("Intel Ethernet Controller 10G X550T", Some(10_000.0)),
            ("Broadcom BCM57414 NetXtreme-E 10Gb/25Gb RDMA", Some(25_000.0)),
            ("Qualcomm Atheros AR8132 Fast Ethernet", Some(100.0)),
            ("MT26478 [ConnectX EN 40GigE, PCIe 2.0 5GT/s]", Some(40_000.0)),
            ("ConnectX-5 EN network interface card, 10/25GbE dual-port SFP28, PCIe3.0 x8", Some(25_000.0)),
            ("Mellanox MT27800 Family [ConnectX-5]", None),
            ("Broadcom BCM4318 [AirForce One 54g] 802.11g Wireless LAN Controller", None),
        ] {
            assert_eq!(ethernet(name).or_else(|| plain_ethernet(name)), megabits, "{name}");
        }
    }

    #[test]
    fn names_of_infiniband_adapters_state_their_generation() {
        // 8b/10b leaves 32 of 40 Gbit/s, 64b/66b 54.5 of 56.25.
        for (name, gigabits) in [
            ("MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]", Some(32.0)),
            ("MT26418 [ConnectX VPI PCIe 2.0 5GT/s - IB DDR / 10GigE]", Some(16.0)),
            (CONNECTX_2, Some(32.0)),
            ("IBA7322 QDR InfiniBand HCA", Some(32.0)),
            ("InfiniBand FDR/EN 10/40Gb Dual Port 544FLR-QSFP Adapter (Rev Cx)", Some(54.55)),
            ("ConnectX-4 VPI IB EDR/100 GbE Dual Port QSFP28 Adapter", Some(100.0)),
            ("Omni-Path HFI Silicon 100 Series [discrete]", Some(100.0)),
            // A generation alone may be one of memory, and a family says none.
            ("Acme DDR controller", None),
            ("MT25204 [InfiniHost III Lx HCA]", None),
            ("MT27600 [Connect-IB]", None),
            ("MT27500 Family [ConnectX-3]", None),
        ] {
            let rate = gigabits.map(|rate: f64| BytesPerSec::new(rate * 1e9 / 8.0));
            assert_eq!(infiniband(name), rate, "{name}");
        }
    }

    #[test]
    fn names_of_fibre_channel_adapters_state_their_generations() {
        for (name, rates) in [
            ("QLogic Corp. ISP2432-based 4Gb Fibre Channel to PCI Express HBA", Some((400, 400))),
            ("QLogic Corp. ISP2532-based 8Gb Fibre Channel to PCI Express HBA", Some((800, 800))),
            ("QLogic Corp. ISP2722-based 16/32Gb Fibre Channel to PCIe Adapter", Some((1600, 3200))),
            ("QLogic Corp. ISP2812-based 64/32G Fibre Channel to PCIe Controller", Some((3200, 6400))),
            ("Emulex LPe15000/LPe16000 Series 8Gb/16Gb Fibre Channel Adapter", Some((800, 1600))),
            ("Emulex LPe32000-M2 1-Port 32Gb Fibre Channel Adapter", Some((3200, 3200))),
            ("LightPulse 8Gb/s PCIe Shared I/O Fibre Channel Adapter", Some((800, 800))),
            ("Brocade 425/825/42B/82B 4Gbps/8Gbps PCIe dual port FC HBA", Some((400, 800))),
            ("Brocade 1867/1869 16Gbps FC HBA", Some((1600, 1600))),
            ("ATTO Celerity FC 16/32Gb/s Gen 6 Fibre Channel HBA", Some((1600, 3200))),
            ("SN1610Q - 1P Enhanced 32GFC Single Port Fibre Channel Host Bus Adapter", Some((3200, 3200))),
            ("Huawei Hi1822 Family (2*32G FC)", Some((3200, 3200))),
            ("Emulex Saturn-X: LightPulse Fibre Channel Host Adapter", None),
            ("QLA2100 64-bit Fibre Channel Adapter", None),
            ("8200 Series 10GbE Converged Network Adapter (FCoE)", None),
        ] {
            let rate = |megabytes: i32| BytesPerSec::new(f64::from(megabytes) * 1e6);
            let rates = rates.map(|(least, most)| Wires { least: rate(least), most: rate(most) });
            assert_eq!(fibre_channel(name), rates, "{name}");
        }
    }

    #[test]
    fn names_count_their_ports() {
        for (name, count) in [
            (CONNECTX_2, Some(2)),
            ("NetXtreme BCM5720 2-port Gigabit Ethernet PCIe", Some(2)),
            ("QLE2694 Quad Port 16Gb Fibre Channel to PCIe Adapter", Some(4)),
            ("415/815/41B/81B 4Gbps/8Gbps PCIe single port FC HBA", Some(1)),
            ("MT27500 Family [ConnectX-3]", None),
            ("ISP2532-based 8Gb Fibre Channel to PCI Express HBA", None),
        ] {
            assert_eq!(ports(name), count, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_name_upsets_the_readers(name in "(\\PC|[0-9]{1,3}G(b|bps|FC)?/|FC |IB |s ){0,12}") {
            let _ = (infiniband(&name), fibre_channel(&name), ethernet(&name), plain_ethernet(&name));
            let _ = ports(&name);
        }
    }
}
