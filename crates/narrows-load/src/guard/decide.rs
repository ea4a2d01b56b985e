//! The decision.

use std::fmt;
use std::sync::Arc;

use super::open::Device;
use super::reason::Reason;
use super::scan::{EDGE, Examined, Medium, Signature};
use super::sentry::{Keeper, Unkept};
use super::signatures::Class;
use super::usage::Usage;

/// The right to open one device for writing, once. Only [`decide`] makes it.
#[derive(Debug)]
pub struct Permit {
    /// Held open so that the number cannot pass to another device meanwhile.
    pub(super) device: Device,
    pub(super) name: String,
    /// What the user typed to name it.
    pub(super) identity: String,
    pub(super) keeper: Arc<dyn Keeper>,
}

impl Permit {
    /// The same permit, of which somebody keeps a record. Without one, what is left of a killed run stays.
    #[must_use]
    pub fn kept_by(self, keeper: Arc<dyn Keeper>) -> Self {
        Self { keeper, ..self }
    }
}

/// Why a device may not be written: every reason, never none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kernel name of the device.
    pub device: String,
    /// All that speaks against it.
    pub reasons: Vec<Reason>,
}

impl Refusal {
    /// Whether any of it holds until somebody changes something: then waiting is of no use.
    pub fn stays(&self) -> bool {
        self.reasons.iter().any(Reason::stays)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "narrows does not write to {}:", self.device)?;
        self.reasons
            .iter()
            .enumerate()
            .try_for_each(|(index, reason)| write!(f, "{}{reason}", if index == 0 { " " } else { "; " }))
    }
}

impl std::error::Error for Refusal {}

/// Decides whether `device` may be written: `usage` says who uses it, `examined` what stands on it and on every other
/// member of its family, `own` is the serial number that the user typed.
///
/// # Errors
/// [`Refusal`] with everything that speaks against it.
pub fn decide(
    device: Device,
    usage: &Usage,
    examined: &[Examined],
    own: Option<&str>,
) -> Result<Permit, Refusal> {
    let mut reasons = contents(usage, examined);
    reasons.extend(beside_contents(&device, usage, own));
    permit(device, usage, reasons)
}

fn permit(device: Device, usage: &Usage, reasons: Vec<Reason>) -> Result<Permit, Refusal> {
    if let Some(identity) = usage.identity.as_ref().filter(|_| reasons.is_empty()) {
        let (name, identity) = (usage.device.clone(), identity.text.clone());
        return Ok(Permit { device, name, identity, keeper: Arc::new(Unkept) });
    }
    Err(Refusal { device: usage.device.clone(), reasons })
}

/// The right to clear one device of what a run of ours left on it, once. Only [`decide_to_clean`] makes it.
#[derive(Debug)]
pub struct CleaningPermit(pub(super) Permit);

/// Decides whether `device` may be cleared of what runs of ours left on it: everything but its contents must permit that.
///
/// # Errors
/// [`Refusal`] with everything that speaks against it.
pub fn decide_to_clean(device: Device, usage: &Usage, own: Option<&str>) -> Result<CleaningPermit, Refusal> {
    let reasons = beside_contents(&device, usage, own);
    permit(device, usage, reasons).map(CleaningPermit)
}

/// What speaks against it, whatever stands on the device.
fn beside_contents(device: &Device, usage: &Usage, own: Option<&str>) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = usage.uses.iter().cloned().map(Reason::InUse).collect();
    reasons.extend(state(device, usage));
    reasons.extend(usage.unseen.iter().map(|what| Reason::Unseen { what: what.clone() }));
    reasons.extend(ownership(usage, own));
    reasons
}

/// What stands on the members of the family, and those that nobody looked at.
fn contents(usage: &Usage, examined: &[Examined]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for found in examined {
        reasons.extend(found.signatures.iter().map(|signature| content(found, signature)));
        let unreadable = |error| Reason::Unreadable { device: found.device.clone(), error };
        reasons.extend(found.unreadable.clone().map(unreadable));
    }
    let members =
        std::iter::once(&usage.device).chain(usage.family.iter().filter(|name| **name != usage.device));
    let missed = members.filter(|name| !examined.iter().any(|found| found.device == **name));
    reasons.extend(missed.map(|name| Reason::Unseen { what: format!("the contents of {name}") }));
    reasons
}

/// A signature as a reason; data at the ends with what they look like.
fn content(found: &Examined, signature: &Signature) -> Reason {
    let device = found.device.clone();
    match (&found.looks, signature.offsets.first()) {
        (Some(looks), Some(at)) if signature.class == Class::Data => {
            Reason::Data { device, at: *at, looks: looks.clone() }
        }
        _ => Reason::Content { device, signature: signature.clone() },
    }
}

/// What the device itself says.
fn state(device: &Device, usage: &Usage) -> Vec<Reason> {
    let name = || usage.device.clone();
    let mut reasons = Vec::new();
    if device.is_claimed() {
        reasons.push(Reason::Claimed { device: name() });
    }
    match usage.read_only {
        Some(false) => {}
        Some(true) => reasons.push(Reason::ReadOnly { device: name() }),
        None => reasons.push(Reason::Unseen { what: format!("whether {} is read-only", name()) }),
    }
    if device.size() < EDGE {
        reasons.push(Reason::TooSmall { size: device.size() });
    }
    if usage.number != Some(device.number()) {
        reasons.push(Reason::Changed { what: format!("{} is another device than the one opened", name()) });
    }
    if usage.size != Some(device.size()) {
        reasons.push(Reason::Changed { what: format!("the size of {} changed", name()) });
    }
    reasons
}

/// Whether the user typed what tells this device from all others.
fn ownership(usage: &Usage, own: Option<&str>) -> Option<Reason> {
    let identity = usage.identity.as_ref().filter(|identity| !identity.text.trim().is_empty());
    match (identity, own) {
        (None, _) => Some(Reason::NoIdentity),
        (Some(identity), None) => Some(Reason::NotNamed { what: identity.what }),
        (Some(identity), Some(typed)) if identity.text == typed => None,
        (Some(identity), Some(typed)) => {
            Some(Reason::OtherNamed { what: identity.what, typed: typed.to_owned() })
        }
    }
}
