//! `0000:02:00.0`: domain, bus, device, function.

use std::fmt;
use std::str::FromStr;

/// A PCI address. The domain is wider than 16 bits because VMD makes domains from `10000` on.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(into = "String", try_from = "String")]
pub struct PciAddress {
    /// The PCI domain (segment).
    pub domain: u32,
    /// The bus, 0 to 255.
    pub bus: u8,
    /// The device, 0 to 31.
    pub device: u8,
    /// The function, 0 to 7.
    pub function: u8,
}

impl PciAddress {
    /// The address of the card or chip: that of function 0 beside this one.
    #[must_use]
    pub const fn card(self) -> Self {
        Self { function: 0, ..self }
    }

    /// Stands for a function of which a text does not say where it is, the `number`th of its kind. No real function has
    /// this domain: it would not fit the kernel's `int`.
    #[must_use]
    pub const fn unnamed(number: u8) -> Self {
        Self { domain: u32::MAX, bus: number, device: 0, function: 0 }
    }

    /// Whether it stands for a function of unknown place.
    #[must_use]
    pub const fn is_unnamed(self) -> bool {
        self.domain == u32::MAX
    }
}

/// A text that is no PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address such as `0000:02:00.0`")]
pub struct NotAnAddress(String);

impl From<PciAddress> for String {
    fn from(address: PciAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for PciAddress {
    type Error = NotAnAddress;

    fn try_from(text: String) -> Result<Self, NotAnAddress> {
        text.parse()
    }
}

impl FromStr for PciAddress {
    type Err = NotAnAddress;

    /// Reads `0000:02:00.0`, or `02:00.0` in domain 0.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| NotAnAddress(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let mut parts = rest.rsplit(':');
    let device = hex(parts.next()?, 2)?;
    let bus = hex(parts.next()?, 2)?;
    let domain = parts.next().map_or(Some(0), |domain| hex(domain, 8))?;
    if parts.next().is_some() || device > 31 {
        return None;
    }
    let function = hex(function, 1).filter(|function| *function < 8)?;
    Some(PciAddress {
        domain,
        bus: u8::try_from(bus).ok()?,
        device: u8::try_from(device).ok()?,
        function: u8::try_from(function).ok()?,
    })
}

fn hex(text: &str, most: usize) -> Option<u32> {
    let plain = !text.is_empty() && text.len() <= most && text.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unnamed() {
            return write!(f, "unnamed-{}", self.bus);
        }
        write!(f, "{:04x}:{:02x}:{:02x}.{}", self.domain, self.bus, self.device, self.function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_domain_may_be_left_out_and_may_be_one_of_vmd() {
        assert_eq!("02:00.0".parse::<PciAddress>().expect("valid").to_string(), "0000:02:00.0");
        assert_eq!("10000:e1:00.0".parse::<PciAddress>().expect("valid").to_string(), "10000:e1:00.0");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "02:00", "02:00.8", "02:20.0", "g2:00.0", "0:0:0:0.0", "+2:00.0", "/dev/sda"] {
            assert!(text.parse::<PciAddress>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_address_survives_printing(domain in 0u32..0x20000, bus: u8, device in 0u8..32, function in 0u8..8) {
            let address = PciAddress { domain, bus, device, function };
            prop_assert_eq!(address.to_string().parse::<PciAddress>(), Ok(address));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<PciAddress>();
        }
    }
}
