//! Whether an array can have the members that it names.

use crate::path::RaidLevel;
use crate::path::file::{Name, PartKind, Raid, RaidKind};

/// What is wrong with the members of a part, and what to do about it.
pub(super) fn wrong(kind: &PartKind) -> Option<(String, String)> {
    let (members, least) = match kind {
        PartKind::Raid(raid) => (&raid.members, least(raid)),
        PartKind::Volume(volume) => (&volume.members, 1),
        PartKind::Cluster(cluster) => (&cluster.members, 1),
        _ => return None,
    };
    if let Some(name) = twice(members) {
        return Some((format!("`{name}` is a member twice"), "name each member once".to_owned()));
    }
    if members.len() < least {
        let noun = if members.len() == 1 { "member" } else { "members" };
        let message = format!("it has {} {noun}, and its level needs {least}", members.len());
        return Some((message, "add members, or say another level".to_owned()));
    }
    None
}

/// The fewest members that a level is made of: md(4) and zpoolconcepts(7).
fn least(raid: &Raid) -> usize {
    match (raid.kind, raid.kind.level()) {
        (RaidKind::Zfs { parity, .. }, RaidLevel::Raid5 | RaidLevel::Raid6) => usize::from(parity) + 1,
        (_, RaidLevel::Raid6) => 4,
        (_, RaidLevel::Raid5 | RaidLevel::Raid10 | RaidLevel::Raid1) => 2,
        (_, RaidLevel::Raid0 | RaidLevel::Linear) => 1,
    }
}

fn twice(members: &[Name]) -> Option<&Name> {
    let mut seen = std::collections::BTreeSet::new();
    members.iter().find(|name| !seen.insert(*name))
}
