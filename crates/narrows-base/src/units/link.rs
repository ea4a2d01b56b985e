//! The units of a serial link: transfers per second and lanes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A signalling rate per lane, kept in millions of transfers per second so that it can be compared exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct GtPerSec(u32);

impl GtPerSec {
    /// PCIe 1.x, 2.5 GT/s.
    pub const GEN1: Self = Self(2500);
    /// PCIe 2.x, 5 GT/s.
    pub const GEN2: Self = Self(5000);
    /// PCIe 3.x, 8 GT/s.
    pub const GEN3: Self = Self(8000);
    /// PCIe 4.0, 16 GT/s.
    pub const GEN4: Self = Self(16000);
    /// PCIe 5.0, 32 GT/s.
    pub const GEN5: Self = Self(32000);
    /// PCIe 6.x, 64 GT/s.
    pub const GEN6: Self = Self(64000);
    const GENERATIONS: [Self; 6] = [Self::GEN1, Self::GEN2, Self::GEN3, Self::GEN4, Self::GEN5, Self::GEN6];

    /// `rate` million transfers per second.
    pub const fn from_mega(rate: u32) -> Self {
        Self(rate)
    }

    /// Million transfers per second.
    pub const fn mega(self) -> u32 {
        self.0
    }

    /// The PCI Express generation that first defined this rate, 1 to 6; `None` for a rate that PCIe does not know.
    pub fn pcie_generation(self) -> Option<u8> {
        (1..).zip(Self::GENERATIONS).find(|(_, rate)| *rate == self).map(|(generation, _)| generation)
    }

    /// The rate of a PCI Express generation, 1 to 6.
    pub fn from_pcie_generation(generation: u8) -> Option<Self> {
        Self::GENERATIONS.get(usize::from(generation).checked_sub(1)?).copied()
    }

    /// Reads the kernel's and lspci's spellings: `8.0 GT/s PCIe`, `8 GT/s`, `2.5GT/s`. `Unknown` and anything else
    /// is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.trim().split("GT/s").next()?.trim();
        if number.len() == text.trim().len() {
            return None;
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if fraction.len() > 3 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let thousandths: u32 = format!("{fraction:0<3}").parse().ok()?;
        whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(thousandths).map(Self)
    }
}

impl fmt::Display for GtPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) {
            write!(f, "{} GT/s", self.0 / 1000)
        } else {
            write!(f, "{} GT/s", f64::from(self.0) / 1000.0)
        }
    }
}

/// A link width: the number of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Lanes(u8);

impl Lanes {
    /// `count` lanes.
    pub const fn new(count: u8) -> Self {
        Self(count)
    }

    /// The count of lanes.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Reads a width as the kernel prints it (`4`) or as lspci does (`x4`). Zero (no link) and 255 (unknown) are
    /// `None`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        match text.strip_prefix('x').unwrap_or(text).parse() {
            Ok(0 | 255) | Err(_) => None,
            Ok(count) => Some(Self(count)),
        }
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "x{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_in_every_spelling_of_kernel_and_lspci() {
        for (text, want) in [
            ("8.0 GT/s PCIe", GtPerSec::GEN3),
            ("8 GT/s", GtPerSec::GEN3),
            ("2.5GT/s", GtPerSec::GEN1),
            ("2.5 GT/s PCIe\n", GtPerSec::GEN1),
            ("64.0 GT/s PCIe", GtPerSec::GEN6),
        ] {
            assert_eq!(GtPerSec::parse(text), Some(want), "{text}");
        }
        for text in ["Unknown", "Unknown speed", "", "GT/s", "8", "x GT/s", "-1 GT/s", "99999999999 GT/s"] {
            assert_eq!(GtPerSec::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_width_of_zero_or_255_is_no_width() {
        assert_eq!(Lanes::parse("4"), Some(Lanes::new(4)));
        assert_eq!(Lanes::parse("x16"), Some(Lanes::new(16)));
        for text in ["0", "255", "256", "", "x"] {
            assert_eq!(Lanes::parse(text), None, "{text}");
        }
    }

    #[test]
    fn speeds_print_without_needless_decimals() {
        assert_eq!(GtPerSec::GEN1.to_string(), "2.5 GT/s");
        assert_eq!(GtPerSec::GEN4.to_string(), "16 GT/s");
    }
}
