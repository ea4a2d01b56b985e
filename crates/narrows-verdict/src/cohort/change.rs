//! What changed on a host between two looks at it.

use serde::{Deserialize, Serialize};

use super::{Found, Host, Link};

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

impl Change {
    /// The change as it stands in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Same => "same",
            Self::Gone => "gone",
        }
    }
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
        self.findings.iter().zip(&now.findings).any(|(change, found)| match change {
            Change::New => found.counts(),
            Change::Changed => {
                let was = before.and_then(|before| earlier(before, found)).map(|was| was.severity);
                found.counts() && was.is_some_and(|was| was > found.severity)
            }
            Change::Same | Change::Gone => false,
        })
    }
}

/// Compares a host with what it was; `None` when it was not there, or nothing was known of it. A host of which nothing
/// is known now has lost nothing.
pub fn compare(before: Option<&Host>, now: &Host) -> Changes {
    let Some(before) = before.filter(|before| before.failure.is_none()) else {
        return Changes { findings: vec![Change::New; now.findings.len()], ..Changes::default() };
    };
    if now.failure.is_some() {
        return Changes::default();
    }
    let is_gone = |was: &&Found| !now.findings.iter().any(|found| is_same_thing(was, found));
    Changes {
        findings: now.findings.iter().map(|found| since(earlier(before, found), found)).collect(),
        gone: before.findings.iter().filter(is_gone).cloned().collect(),
        links: now.links.iter().filter_map(|link| link_change(before, link)).collect(),
    }
}

fn since(was: Option<&Found>, found: &Found) -> Change {
    match was {
        None => Change::New,
        Some(was)
            if was.severity == found.severity && was.state == found.state && was.summary == found.summary =>
        {
            Change::Same
        }
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
    let differs = (was.width.is_some() && link.width.is_some() && was.width != link.width)
        || (was.speed.is_some() && link.speed.is_some() && was.speed != link.speed);
    differs.then(|| LinkChange { link: link.clone(), before: was.state() })
}

#[cfg(test)]
mod tests;
