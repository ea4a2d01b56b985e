//! The state of a link: the one place that says which of several sources is believed.
//!
//! An end tells by sysfs (or the words of a text), and by its config space where sysfs is silent. A link runs at one speed
//! and width, so of two ends that differ the lower value is the safe one. A port that a hypervisor made up tells nothing.

use super::{Express, LinkEnd, PciDevice};
use narrows_base::fact::{Fact, Source};
use narrows_base::units::{GtPerSec, Lanes};

/// A value with the place where it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told<'a, T> {
    /// The value.
    pub value: T,
    /// Where it was read.
    pub source: &'a Source,
}

/// One end of a link.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    link: &'a LinkEnd,
    express: &'a Fact<Express>,
}

impl<'a> End<'a> {
    /// An end of which both views are known.
    pub const fn new(link: &'a LinkEnd, express: &'a Fact<Express>) -> Self {
        Self { link, express }
    }

    /// The end that a function describes.
    pub const fn of(device: &'a PciDevice) -> Self {
        Self::new(&device.link, &device.express)
    }

    /// The speed now.
    pub fn speed(self) -> Option<Told<'a, GtPerSec>> {
        self.told(&self.link.current_speed, |express| express.speed)
    }

    /// The width now.
    pub fn width(self) -> Option<Told<'a, Lanes>> {
        self.told(&self.link.current_width, |express| express.width)
    }

    /// The fastest speed of this end.
    pub fn max_speed(self) -> Option<Told<'a, GtPerSec>> {
        self.told(&self.link.max_speed, |express| express.max_speed)
    }

    /// The most lanes of this end.
    pub fn max_width(self) -> Option<Told<'a, Lanes>> {
        self.told(&self.link.max_width, |express| express.max_width)
    }

    /// Speed and width now, where both are known.
    pub fn state(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.speed()?.value, self.width()?.value))
    }

    /// The greatest speed and width, where both are known.
    pub fn most(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.max_speed()?.value, self.max_width()?.value))
    }

    fn told<T: Copy>(
        self,
        sysfs: &'a Fact<T>,
        config: impl Fn(&Express) -> Option<T>,
    ) -> Option<Told<'a, T>> {
        if let Fact::Known { value, source } = sysfs {
            return Some(Told { value: *value, source });
        }
        let Fact::Known { value, source } = self.express else { return None };
        Some(Told { value: config(value)?, source })
    }
}

/// Both ends of a link, without one that is not seen or does not tell the truth.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// The end away from the processor.
    pub device: End<'a>,
    /// The end towards the processor.
    pub port: Option<End<'a>>,
}

impl<'a> Ends<'a> {
    /// The speed at which the link runs now.
    pub fn speed(self) -> Option<Told<'a, GtPerSec>> {
        self.lower(End::speed)
    }

    /// The width at which the link runs.
    pub fn width(self) -> Option<Told<'a, Lanes>> {
        self.lower(End::width)
    }

    /// The fastest speed that both ends can do, or the one that tells.
    pub fn max_speed(self) -> Option<Told<'a, GtPerSec>> {
        self.lower(End::max_speed)
    }

    /// The most lanes that both ends can do, or the one that tells.
    pub fn max_width(self) -> Option<Told<'a, Lanes>> {
        self.lower(End::max_width)
    }

    /// Speed and width now, where both are known.
    pub fn state(self) -> Option<(GtPerSec, Lanes)> {
        Some((self.speed()?.value, self.width()?.value))
    }

    fn lower<T: Ord>(self, value: impl Fn(End<'a>) -> Option<Told<'a, T>>) -> Option<Told<'a, T>> {
        let ends = std::iter::once(self.device).chain(self.port);
        ends.filter_map(value).min_by(|a, b| a.value.cmp(&b.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(speed: Option<GtPerSec>, width: Option<u8>) -> LinkEnd {
        let lanes = width.map(Lanes::new);
        LinkEnd {
            current_speed: speed.map_or_else(Fact::default, |speed| Fact::known(speed, "sysfs")),
            current_width: lanes.map_or_else(Fact::default, |lanes| Fact::known(lanes, "sysfs")),
            ..LinkEnd::default()
        }
    }

    #[test]
    fn the_lower_end_counts_and_the_end_that_tells_counts_alone() {
        let nothing = Fact::default();
        let (fast, slow, silent) =
            (link(Some(GtPerSec::GEN3), Some(4)), link(Some(GtPerSec::GEN1), Some(8)), link(None, None));
        let of = |device, port| Ends {
            device: End::new(device, &nothing),
            port: Option::map(port, |port| End::new(port, &nothing)),
        };
        let state = |speed, width| Some((speed, Lanes::new(width)));
        assert_eq!(of(&fast, Some(&slow)).state(), state(GtPerSec::GEN1, 4));
        assert_eq!(of(&slow, Some(&fast)).state(), state(GtPerSec::GEN1, 4));
        assert_eq!(of(&silent, Some(&fast)).state(), state(GtPerSec::GEN3, 4));
        assert_eq!(of(&fast, None).state(), state(GtPerSec::GEN3, 4));
        assert_eq!(of(&silent, None).state(), None);
    }

    #[test]
    fn of_ends_that_agree_the_device_is_the_source() {
        let nothing = Fact::default();
        let (one, mut two) = (link(Some(GtPerSec::GEN3), Some(4)), link(Some(GtPerSec::GEN3), Some(4)));
        two.current_speed = Fact::known(GtPerSec::GEN3, "the port");
        let ends = Ends { device: End::new(&one, &nothing), port: Some(End::new(&two, &nothing)) };
        assert_eq!(ends.speed().map(|told| told.source.as_str()), Some("sysfs"));
    }
}
