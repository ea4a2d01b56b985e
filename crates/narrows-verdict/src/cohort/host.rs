//! One machine among many, reduced to what is compared.

use serde::{Deserialize, Serialize};

use crate::{Code, Confidence, Severity};
use narrows_base::units::Bytes;

/// What a machine is, as its firmware says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// Who made the system.
    pub vendor: Option<String>,
    /// The product: `PowerEdge R740xd`.
    pub product: Option<String>,
    /// The board: `X11DPi-N`.
    pub board: Option<String>,
}

/// Products that several boards share, in lower case: the board tells more.
const FAMILIES: [&str; 4] = ["super server", "all series", "system product", "server"];

impl Model {
    /// The name by which machines are of one kind: the product, or the board where the product says less or nothing.
    pub fn name(&self) -> Option<&str> {
        let is_family = |product: &str| FAMILIES.contains(&product.trim().to_lowercase().as_str());
        match (self.product.as_deref(), self.board.as_deref()) {
            (Some(product), Some(board)) if is_family(product) => Some(board),
            (Some(name), _) | (None, Some(name)) => Some(name),
            (None, None) => None,
        }
    }
}

/// One finding of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    /// What kind of finding it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// How sure we are.
    pub confidence: Confidence,
    /// Where it is, by a name that machines of one model share: `slot 3`, or the device.
    pub place: String,
    /// The device it is about: a PCI address, block device, interface or mount.
    pub subject: String,
    /// The hop it is about, as `narrows check` names it.
    pub hop: Option<String>,
    /// What the link there runs at, when it is about a link: `8 GT/s x4`.
    pub state: Option<String>,
    /// One sentence with the numbers.
    pub summary: String,
    /// What to do first.
    pub advice: Option<String>,
}

impl Found {
    /// Whether something should be done about it, or it is a bottleneck by design.
    pub const fn counts(&self) -> bool {
        matches!(self.severity, Severity::Fault | Severity::Limit)
    }
}

/// A PCIe link of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The address of the device at its end.
    pub address: String,
    /// Its slot, or the address where no slot is known.
    pub place: String,
    /// The device as `vendor:device`, when known.
    pub device: Option<String>,
    /// Lanes, when known.
    pub width: Option<u8>,
    /// The speed of each lane, when known: `8 GT/s`.
    pub speed: Option<String>,
}

impl Link {
    /// What it runs at, in words: `8 GT/s x4`.
    pub fn state(&self) -> Option<String> {
        let width = self.width.map(|width| format!("x{width}"));
        match (&self.speed, width) {
            (Some(speed), Some(width)) => Some(format!("{speed} {width}")),
            (Some(one), None) => Some(one.clone()),
            (None, one) => one,
        }
    }
}

/// One machine of a fleet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// What it is called: the name of its capture.
    pub host: String,
    /// What it is.
    #[serde(flatten)]
    pub model: Model,
    /// The firmware's version.
    pub bios: Option<String>,
    /// The kernel release.
    pub kernel: Option<String>,
    /// The processor's model.
    pub cpu: Option<String>,
    /// Main memory in bytes.
    pub memory_bytes: Option<Bytes>,
    /// How many storage paths were found.
    pub paths: usize,
    /// Its links.
    pub links: Vec<Link>,
    /// Why nothing is known of it, when nothing is: its capture is broken, empty or not understood.
    pub failure: Option<String>,
    /// What of its capture could not be used.
    pub notes: Vec<String>,
    /// What was found, worst first. In JSON lines each is a record of its own.
    #[serde(skip)]
    pub findings: Vec<Found>,
}

impl Host {
    /// A host whose capture says nothing.
    pub fn failed(host: impl Into<String>, why: impl Into<String>) -> Self {
        Self { host: host.into(), failure: Some(why.into()), ..Self::default() }
    }

    /// Whether there is a finding that calls for action or names a bottleneck by design.
    pub fn has_faults_or_limits(&self) -> bool {
        self.findings.iter().any(Found::counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_by_product_and_by_board_where_the_product_is_a_family() {
        let name = |product: Option<&str>, board: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            let model = Model { vendor: None, product: owned(product), board: owned(board) };
            model.name().map(str::to_owned)
        };
        assert_eq!(name(Some("PowerEdge R740xd"), Some("0YWR7D")).as_deref(), Some("PowerEdge R740xd"));
        assert_eq!(name(Some("Super Server"), Some("X11DPi-N")).as_deref(), Some("X11DPi-N"));
        assert_eq!(name(Some("Super Server"), None).as_deref(), Some("Super Server"));
        assert_eq!(name(None, Some("X99-A")).as_deref(), Some("X99-A"));
        assert_eq!(name(None, None), None);
    }

    #[test]
    fn the_state_of_a_link_says_what_is_known() {
        let link = |speed: Option<&str>, width| Link {
            address: String::new(),
            place: String::new(),
            device: None,
            width,
            speed: speed.map(str::to_owned),
        };
        assert_eq!(link(Some("8 GT/s"), Some(4)).state().as_deref(), Some("8 GT/s x4"));
        assert_eq!(link(None, Some(4)).state().as_deref(), Some("x4"));
        assert_eq!(link(Some("8 GT/s"), None).state().as_deref(), Some("8 GT/s"));
        assert_eq!(link(None, None).state(), None);
    }
}
