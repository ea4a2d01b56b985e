//! How do machines of one kind differ from each other, and from what they were before?
//!
//! A [`Host`] is what remains of a machine once it has been judged: its model, its findings and the state of its links,
//! a few kilobytes. [`Tally`] takes hosts one by one and keeps counts, so that thousands of machines need little memory;
//! at the end it names what many of a model have in common ([`Group`]) and who differs from nearly all others
//! ([`Outlier`]). [`changes_since`] compares two looks at the same host.

mod tally;
#[cfg(test)]
mod testing;

use narrows_base::lists::known_of;
use narrows_base::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Code, Confidence, Severity};

pub use tally::{Group, Outlier, Summary, Tally};

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
    /// The hop it is about, as `narrows` names it.
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
        let state = known_of([self.speed.clone(), self.width.map(|width| format!("x{width}"))], " ");
        Some(state).filter(|state| !state.is_empty())
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

/// What became of a finding since the earlier look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there.
    New,
    /// It was there, and is different now.
    Changed,
    /// It is as it was.
    Same,
    /// It is not there any more.
    Gone,
}

/// A link that runs at something else than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkChange {
    /// The link as it is.
    pub link: Link,
    /// What it ran at before.
    pub before: Option<String>,
}

/// What changed on one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// What became of each of its findings, in their order.
    pub findings: Vec<Change>,
    /// The findings that went away.
    pub gone: Vec<Found>,
    /// The links of the same device that run at something else now.
    pub links: Vec<LinkChange>,
}

impl Changes {
    /// Whether there is a fault or limit that was not one before.
    pub fn is_worse(&self, before: Option<&Host>, now: &Host) -> bool {
        let was_less = |found: &Found| earlier(before?, found).map(|was| was.severity > found.severity);
        self.findings.iter().zip(&now.findings).filter(|(_, found)| found.counts()).any(|(change, found)| {
            *change == Change::New || *change == Change::Changed && was_less(found) == Some(true)
        })
    }
}

/// What changed on a host between two looks at it.
///
/// Compares a host with what it was; `None` when it was not there, or nothing was known of it. A host of which nothing
/// is known now has lost nothing.
pub fn changes_since(before: Option<&Host>, now: &Host) -> Changes {
    let Some(before) = before.filter(|before| before.failure.is_none()) else {
        return Changes { findings: vec![Change::New; now.findings.len()], ..Changes::default() };
    };
    if now.failure.is_some() {
        return Changes::default();
    }
    let is_gone = |was: &&Found| !now.findings.iter().any(|found| is_same_thing(was, found));
    Changes {
        findings: now.findings.iter().map(|found| change_of(earlier(before, found), found)).collect(),
        gone: before.findings.iter().filter(is_gone).cloned().collect(),
        links: now.links.iter().filter_map(|link| link_change(before, link)).collect(),
    }
}

fn change_of(was: Option<&Found>, found: &Found) -> Change {
    let told = |found: &Found| (found.severity, found.state.clone(), found.summary.clone());
    match was {
        None => Change::New,
        Some(was) if told(was) == told(found) => Change::Same,
        Some(_) => Change::Changed,
    }
}

fn earlier<'h>(before: &'h Host, found: &Found) -> Option<&'h Found> {
    before.findings.iter().find(|was| is_same_thing(was, found))
}

/// Whether two findings are one: the same code on the same device. A slot may have got its name since.
fn is_same_thing(was: &Found, found: &Found) -> bool {
    was.code == found.code && was.subject == found.subject && was.hop == found.hop
}

/// A speed or width that only one of the looks knows is no change.
fn link_change(before: &Host, link: &Link) -> Option<LinkChange> {
    let was = before.links.iter().find(|was| was.address == link.address && was.device == link.device)?;
    let differs = was.width.zip(link.width).is_some_and(|(was, now)| was != now)
        || was.speed.as_ref().zip(link.speed.as_ref()).is_some_and(|(was, now)| was != now);
    differs.then(|| LinkChange { link: link.clone(), before: was.state() })
}

#[cfg(test)]
mod tests;
