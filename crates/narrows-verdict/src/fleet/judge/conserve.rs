//! Whether the bytes that clients count also cross the servers' interfaces and their drives.

use narrows_base::units::{BytesPerSec, human};

use super::{Case, Conservation, Side};
use crate::fleet::samples::Activity;

/// Bytes that are missing further along the way beyond this share came from a cache.
const MISSING: f64 = 0.1;

pub(super) fn conserve(case: &Case<'_>) -> Conservation {
    let clients = case.point.rate();
    // Interfaces send what is read, and receive what is written.
    let side = usize::from(case.reads_most());
    let watched: Vec<&Activity> = case.servers.iter().flatten().collect();
    let is_whole = !watched.is_empty() && watched.len() == case.run.servers.len();
    let servers = (is_whole && case.is_remote())
        .then(|| watched.iter().fold(BytesPerSec::default(), |sum, activity| sum + activity.network()[side]));
    let drives = drives(case);
    let (differs, cache_of) = missing(case, clients, servers, drives).unzip();
    Conservation { clients, servers, drives, differs, cache_of }
}

/// Where bytes are missing along the way, and so whose cache answered.
fn missing(
    case: &Case<'_>,
    clients: BytesPerSec,
    servers: Option<BytesPerSec>,
    drives: Option<BytesPerSec>,
) -> Option<(String, Side)> {
    let short = |of: BytesPerSec, is: &BytesPerSec| is.get() < of.get() * (1.0 - MISSING);
    if let Some(sent) = servers.filter(|sent| short(clients, sent)) {
        let (counted, sent) = (human::rate(clients), human::rate(sent));
        let text = format!(
            "the clients counted {counted}, the servers' network cards carried {sent}: a cache of the clients answered"
        );
        return Some((text, Side::Clients));
    }
    // What is written reaches drives later.
    let before = servers.unwrap_or(clients);
    let carried = drives.filter(|read| case.reads_most() && short(before, read))?;
    let (read, carried) = (human::rate(before), human::rate(carried));
    let side = if case.is_remote() { Side::Servers } else { Side::Clients };
    let of = if side == Side::Servers { "the servers'" } else { "the hosts'" };
    Some((format!("{read} were read, {of} drives carried {carried}: the rest came from memory"), side))
}

/// What the drives below all targets carried: those of the servers where the storage is theirs, else each client's own. `None` where
/// drives of one host are not known.
fn drives(case: &Case<'_>) -> Option<BytesPerSec> {
    let carried = |activity: &Activity, drives: &[String]| {
        drives.iter().try_fold(BytesPerSec::default(), |sum, name| {
            let disk = activity.disks.get(name)?;
            Some(sum + if case.reads_most() { disk.read } else { disk.written })
        })
    };
    let (hosts, activities, places): (_, _, Vec<usize>) = match case.is_remote() {
        true => (&case.run.servers, case.servers, (0..case.run.servers.len()).collect()),
        false => (&case.run.clients, case.clients, case.counted()),
    };
    let mut sum = BytesPerSec::default();
    for place in &places {
        let target = hosts.get(*place)?.target.as_ref()?;
        let activity = activities.get(*place)?.as_ref()?;
        let names = Some(&target.drives).filter(|drives| !drives.is_empty())?;
        sum = sum + carried(activity, names)?;
    }
    (!places.is_empty()).then_some(sum)
}
