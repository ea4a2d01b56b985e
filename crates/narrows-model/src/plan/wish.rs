//! What is wanted: devices, what each can use, and what it must get.

use std::fmt;

use super::problem::{self, WholeRate};
use crate::path::of_word;
use narrows_base::catalog::{Medium, SlotForm, catalog};
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};

/// What a device is, as far as slots and traffic care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An NVMe drive: goes into M.2 and U.2 slots, or onto a card.
    #[serde(alias = "ssd", alias = "drive")]
    Nvme,
    /// An Ethernet card.
    #[serde(alias = "eth")]
    Nic,
    /// An InfiniBand adapter.
    #[serde(alias = "ib")]
    Hca,
    /// A drive on a SATA port of the board: takes no slot.
    Sata,
    /// A SAS or SATA adapter.
    #[serde(alias = "sas")]
    Hba,
    /// A USB card.
    #[serde(alias = "usb3card", alias = "usbcard")]
    Usb,
    /// A graphics card or accelerator.
    Gpu,
    /// Any other card.
    Card,
}

impl Kind {
    /// The word of a wish.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nvme => "nvme",
            Self::Nic => "nic",
            Self::Hca => "hca",
            Self::Hba => "hba",
            Self::Sata => "sata",
            Self::Usb => "usb3card",
            Self::Gpu => "gpu",
            Self::Card => "card",
        }
    }

    /// Whether it stores data.
    pub const fn is_drive(self) -> bool {
        matches!(self, Self::Nvme)
    }

    /// Whether it brings data to other hosts.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Nic | Self::Hca)
    }

    /// The link of a usual device of this kind, where a wish names none: drives 3.0 x4, adapters 3.0 x8, USB cards
    /// 3.0 x2 (ASM2142, ASM3142: pci-ids.ucw.cz), graphics 4.0 x16, as most that are sold since 2020. A network card's goes by
    /// its rate. SATA drives have none.
    const fn usual_link(self) -> (GtPerSec, u8) {
        match self {
            Self::Nvme | Self::Card => (GtPerSec::GEN3, 4),
            Self::Nic | Self::Hba => (GtPerSec::GEN3, 8),
            Self::Usb => (GtPerSec::GEN3, 2),
            Self::Hca => (GtPerSec::GEN3, 16),
            Self::Gpu => (GtPerSec::GEN4, 16),
            Self::Sata => (GtPerSec::GEN1, 1),
        }
    }
}

/// Devices of one kind that are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// What they are called: `nvme`, `nic:40g`, `Samsung 970 EVO`.
    pub name: String,
    /// How many.
    pub count: u8,
    /// What they are.
    pub kind: Kind,
    /// The fastest speed of each one's link.
    pub speed: GtPerSec,
    /// The widest width of it.
    pub lanes: Lanes,
    /// The length of its edge: the shortest slot that it fits into. Drives have none.
    pub connector: Lanes,
    /// What each delivers by itself (a medium, a wire); `None` when its PCIe link is all that limits it.
    pub own: Option<BytesPerSec>,
    /// What each takes, where that differs from what it delivers.
    pub own_write: Option<BytesPerSec>,
    /// What each must get while all others with a target get theirs.
    pub target: Option<BytesPerSec>,
    /// Whether all of them must be on one socket; wishes with the same name of a group share theirs.
    pub group: Option<String>,
    /// The connector that each needs, where it matters: an M.2 drive fits into no U.2 bay.
    pub form: Option<SlotForm>,
    /// The length of each M.2 drive, millimetres: 80 of 2280.
    pub length: Option<u16>,
    /// The slots that it may use, as places in [`crate::plan::Site::slots`]; `None` for any.
    pub pinned: Option<usize>,
}

impl Wish {
    /// Says that each delivers and takes what is published of a medium.
    pub(super) fn delivers(&mut self, medium: &Medium) {
        self.own = Some(BytesPerSec::from_mb(medium.read_megabytes_per_second));
        self.own_write = Some(BytesPerSec::from_mb(medium.write_megabytes_per_second));
    }

    /// What one device moves towards the host when nothing but itself limits it.
    pub fn demand(&self) -> WholeRate {
        let link = problem::link_rate(self.speed, self.lanes);
        self.own.map_or(link, |own| WholeRate::new(own).min(link))
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 1 { f.write_str(&self.name) } else { write!(f, "{} × {}", self.count, self.name) }
    }
}

/// Why a wish is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{wish}` is not a wish: {why}")]
pub struct WishError {
    wish: String,
    why: String,
}

impl WishError {
    /// What to do about it.
    pub const HINT: &'static str = "write [COUNTx]KIND[:PROPERTY…][@RATE], such as 4xnvme:gen3x4, nvme:sn770@3GB/s, 6xsata, \
         nic:2x40g, hca:edr, hba:gen3x8, usb3card, gpu, card:gen4x8; properties are a link (gen3x4), a line rate (40g), a \
         drive's model, its connector (m2, u2) or M.2 size (2280, 22110), and same-socket";
}

/// The most devices of one wish.
const MOST: u8 = 64;

/// Reads a wish such as `4xnvme:gen3x4`.
///
/// # Errors
/// [`WishError`] when it is none.
pub fn parse(text: &str) -> Result<Wish, WishError> {
    let refused = |why: &str| WishError { wish: text.to_owned(), why: why.to_owned() };
    let (body, target) = match text.split_once('@') {
        Some((body, rate)) => {
            let rate = parse_rate(rate).ok_or_else(|| refused("a rate is a number with GB/s or MB/s"))?;
            (body, Some(rate))
        }
        None => (text, None),
    };
    let mut parts = body.split(':');
    let head = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let (count, word) = match head.split_once('x') {
        Some((number, word)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let count = number.parse().ok().filter(|count| (1..=MOST).contains(count));
            (count.ok_or_else(|| refused("the count is 1 to 64"))?, word.to_owned())
        }
        _ => (1, head),
    };
    let kind: Kind = of_word(&word)
        .ok_or_else(|| refused("the kinds are nvme, sata, nic, hca, hba, usb3card, gpu and card"))?;
    let mut wish = usual(kind, count);
    wish.target = target;
    let mut link = None;
    for property in parts.map(str::trim) {
        let lower = property.to_ascii_lowercase();
        if let Some(found) = parse_link(&lower) {
            link = Some(found);
        } else if let Some(form) = drive_form(&lower).filter(|_| kind.is_drive()) {
            wish.form = Some(form);
        } else if let Some(length) = drive_length(&lower).filter(|_| kind.is_drive()) {
            (wish.form, wish.length) = (Some(SlotForm::M2), Some(length));
        } else if lower == "same-socket" {
            wish.group = Some(text.to_owned());
        } else if kind.is_network()
            && let Some(line) = line_rate(kind, &lower)
        {
            with_line(&mut wish, line);
            wish.name = format!("{}:{lower}", kind.word());
        } else if kind.is_drive()
            && let Some(medium) = medium(&lower)
        {
            wish.name.clone_from(&medium.name);
            wish.delivers(medium);
            if let (Some(speed), 1..) = (GtPerSec::from_pcie_generation(medium.generation), medium.lanes) {
                (wish.speed, wish.lanes) = (speed, Lanes::new(medium.lanes));
            }
        } else {
            return Err(refused(&format!("`{property}` is no property of {}", kind.word())));
        }
    }
    if let Some((speed, lanes)) = link {
        (wish.speed, wish.lanes) = (speed, lanes);
        wish.connector = if kind.is_drive() { wish.connector } else { lanes };
    }
    Ok(wish)
}

/// Reads the connector of a drive: `m2`, `u2`.
fn drive_form(text: &str) -> Option<SlotForm> {
    match text {
        "m2" | "m.2" => Some(SlotForm::M2),
        "u2" | "u.2" => Some(SlotForm::U2),
        _ => None,
    }
}

/// Reads the size of an M.2 drive, such as `2280`: its length in millimetres.
fn drive_length(text: &str) -> Option<u16> {
    let length: u16 = text.strip_prefix("22")?.parse().ok()?;
    [30, 42, 60, 80, 110].contains(&length).then_some(length)
}

/// Usual devices of a kind.
pub(super) fn usual(kind: Kind, count: u8) -> Wish {
    let (speed, lanes) = kind.usual_link();
    let connector = match kind {
        Kind::Nvme => 1,
        // The chip has two lanes, and the edges of such cards four.
        Kind::Usb => 4,
        _ => lanes,
    };
    let own = (kind == Kind::Usb).then(|| BytesPerSec::from_mb(USB_10G));
    Wish {
        name: kind.word().to_owned(),
        count,
        kind,
        speed,
        lanes: Lanes::new(lanes),
        connector: Lanes::new(connector),
        own,
        own_write: None,
        target: None,
        group: None,
        form: None,
        length: None,
        pinned: None,
    }
}

/// What a 10 Gbit/s USB port carries, MB/s (techpowerup.com/review/gigabyte-x670e-aorus-master/9, measured).
const USB_10G: f64 = 1040.0;

/// A line rate of a network card: how many ports, and what each carries of data.
#[derive(Debug, Clone, Copy, PartialEq)]
struct WishLine {
    ports: u8,
    gigabits: f64,
    /// The part of it that is data.
    share: f64,
}

/// Reads `40g`, `2x40g`, `edr`, `2xedr`.
fn line_rate(kind: Kind, text: &str) -> Option<WishLine> {
    let (ports, rate) = match text.split_once('x') {
        Some((ports, rate)) => (ports.parse().ok().filter(|ports| (1..=8).contains(ports))?, rate),
        None => (1, text),
    };
    // Data rates of four lanes, one direction (infiniband.jp, 2022-06-01).
    let generation = match rate {
        "qdr" => Some(32.0),
        "fdr" => Some(54.55),
        "edr" => Some(100.0),
        "hdr" => Some(200.0),
        "ndr" => Some(400.0),
        _ => None,
    };
    let gigabits = match generation {
        Some(rate) if kind == Kind::Hca => rate,
        _ => rate.strip_suffix('g')?.parse().ok().filter(|rate| (0.1..=1600.0).contains(rate))?,
    };
    // Ethernet: 8948 of 9038 bytes of a frame with an MTU of 9000 are data of TCP. InfiniBand: 98.4 of 100 Gbit/s
    // with an MTU of 4096 (github.com/linux-rdma/perftest/issues/225).
    let share = if kind == Kind::Hca { 0.984 } else { 8948.0 / 9038.0 };
    Some(WishLine { ports, gigabits, share })
}

/// A card of this rate: the link that such cards have, the narrowest that carries all ports.
fn with_line(wish: &mut Wish, line: WishLine) {
    let own = BytesPerSec::from_gb(line.gigabits / 8.0 * line.share) * f64::from(line.ports);
    let whole = line.gigabits * f64::from(line.ports);
    let (speed, lanes) = match whole {
        rate if rate <= 1.0 => (GtPerSec::GEN2, 1),
        rate if rate <= 10.0 => (GtPerSec::GEN3, 4),
        rate if rate <= 80.0 => (GtPerSec::GEN3, 8),
        rate if rate <= 100.0 => (GtPerSec::GEN3, 16),
        rate if rate <= 200.0 => (GtPerSec::GEN4, 16),
        _ => (GtPerSec::GEN5, 16),
    };
    wish.own = Some(own);
    (wish.speed, wish.lanes, wish.connector) = (speed, Lanes::new(lanes), Lanes::new(lanes));
}

/// Reads `gen3x4`.
fn parse_link(text: &str) -> Option<(GtPerSec, Lanes)> {
    let (generation, lanes) = text.strip_prefix("gen")?.split_once('x')?;
    let lanes = lanes.parse().ok().filter(|lanes| [1, 2, 4, 8, 16].contains(lanes))?;
    Some((GtPerSec::from_pcie_generation(generation.parse().ok()?)?, Lanes::new(lanes)))
}

/// Reads a rate such as `3GB/s`, `3.5 GB/s` or `900MB/s`; `None` for anything else.
pub(super) fn parse_rate(text: &str) -> Option<BytesPerSec> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix("/s").unwrap_or(&text);
    let (number, factor) = match text.strip_suffix("gb") {
        Some(number) => (number, 1e9),
        None => (text.strip_suffix("mb")?, 1e6),
    };
    let number: f64 = number.trim().parse().ok()?;
    (number > 0.0 && number < 1e6).then(|| BytesPerSec::new(number * factor))
}

/// The letters and digits of a name, in lower case.
pub(super) fn squeezed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The drive whose name contains this, whatever stands between its letters and digits; the shortest name wins.
fn medium(text: &str) -> Option<&'static Medium> {
    let wanted = squeezed(text);
    let fits = |medium: &&Medium| squeezed(&medium.name).contains(&wanted);
    let found = catalog().media.iter().filter(fits).min_by_key(|medium| medium.name.len());
    found.filter(|_| wanted.len() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wish(text: &str) -> Wish {
        parse(text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn wishes_say_how_many_of_what_and_how_fast() {
        let drives = wish("4xnvme:gen3x4");
        assert_eq!(
            (drives.count, drives.kind, drives.lanes, drives.speed),
            (4, Kind::Nvme, Lanes::new(4), GtPerSec::GEN3)
        );
        assert_eq!(drives.demand().get() / 1_000_000, 3591);
        let fast = wish("nvme:gen5x4@9.5GB/s");
        assert_eq!(fast.target, Some(BytesPerSec::from_gb(9.5)));
        let card = wish("hba:gen3x8");
        assert_eq!((card.count, card.connector), (1, Lanes::new(8)));
        assert_eq!(wish("usb3card").connector, Lanes::new(4));
        let long = wish("nvme:22110");
        assert_eq!((long.form, long.length), (Some(SlotForm::M2), Some(110)));
        assert_eq!(wish("nvme:gen4x4:2280").length, Some(80));
        assert!(wish("2xnvme:same-socket").group.is_some());
    }

    #[test]
    fn a_model_brings_its_rates_and_its_link() {
        let sn770 = wish("2xnvme:sn770");
        assert_eq!(sn770.name, "WD Black SN770");
        assert_eq!((sn770.speed, sn770.lanes), (GtPerSec::GEN4, Lanes::new(4)));
        assert_eq!(sn770.own, Some(BytesPerSec::from_mb(5150.0)));
        assert_eq!(wish("nvme:970-evo").name, "Samsung 970 EVO");
    }

    /// 40 Gbit/s ÷ 8 × 8948/9038, InfiniBand EDR 12.3 GB/s (perftest issue 225).
    #[test]
    fn a_network_card_carries_its_ports() {
        let gigabytes =
            |text: &str| (wish(text).own.map(BytesPerSec::get).unwrap_or_default() / 1e7).round() / 100.0;
        assert_eq!(gigabytes("nic:40g"), 4.95);
        assert_eq!(gigabytes("nic:2x40g"), 9.9);
        assert_eq!(gigabytes("hca:edr"), 12.3);
        assert_eq!(wish("nic:10g").lanes, Lanes::new(4));
        assert_eq!(wish("nic:100g").lanes, Lanes::new(16));
        assert_eq!(wish("nic:10g:gen2x8").lanes, Lanes::new(8));
    }

    #[test]
    fn what_is_no_wish_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "kinds"),
            ("4x", "kinds"),
            ("0xnvme", "count"),
            ("65xnvme", "count"),
            ("floppy", "kinds"),
            ("nvme:gen3x3", "property"),
            ("nvme:gen9x4", "property"),
            ("nvme:40g", "property"),
            ("nvme:2270", "property"),
            ("hba:2280", "property"),
            ("nvme@fast", "rate"),
            ("nvme@-1GB/s", "rate"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            if let Ok(wish) = parse(&text) {
                prop_assert!((1..=MOST).contains(&wish.count));
                prop_assert!(wish.demand() > WholeRate::ZERO);
            }
        }
    }
}
