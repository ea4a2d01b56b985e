//! `mdadm --examine /dev/sda1`: what a member says of its array (mdadm `super1.c`, `examine_super1`).

use std::collections::BTreeMap;

use super::{layout_number, level};
use crate::capture::device::{array, key_of, learn, stack};
use crate::capture::{Text, size};
use narrows_base::fact::Fact;
use narrows_machine::Machine;

/// What one member says.
#[derive(Debug, Default)]
struct Member<'a> {
    device: String,
    fields: BTreeMap<&'a str, (usize, &'a str)>,
}

/// Reads every member; whether there was one. The members of one array are put together by its UUID; the array is
/// called by the name that it was created with.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(key) = line.strip_suffix(':').filter(|line| line.starts_with("/dev/")).and_then(key_of) {
            open = !key.starts_with("md");
            if open {
                members.push(Member { device: key, ..Member::default() });
            }
        } else if let (true, Some((key, value)), Some(member)) =
            (open, line.split_once(" : "), members.last_mut())
        {
            member.fields.entry(key.trim()).or_insert((number, value.trim()));
        }
    }
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut found = false;
    for member in &members {
        found |= fill(machine, text, member, &mut names).is_some();
    }
    found
}

fn fill<'a>(
    machine: &mut Machine,
    text: &Text,
    member: &Member<'a>,
    names: &mut BTreeMap<&'a str, String>,
) -> Option<()> {
    let get = |key: &str| member.fields.get(key).copied();
    let (line, uuid) = get("Array UUID")?;
    let source = text.source(line);
    let called = || {
        // `host:name  (local to host …)`; a name without a host is one of an older mdadm.
        let name = get("Name")?.1.split_whitespace().next()?;
        key_of(&format!("/dev/md/{}", name.rsplit(':').next()?))
    };
    let name = names.get(uuid).cloned().or_else(called)?;
    names.entry(uuid).or_insert_with(|| name.clone());
    stack(machine, &name, &member.device);
    let md = array(machine, &name)?;
    learn(&mut md.level, get("Raid Level").and_then(|(_, value)| level(value)).map(str::to_owned), &source);
    let count = get("Raid Devices").and_then(|(_, value)| value.split_whitespace().next()?.parse().ok());
    learn(&mut md.raid_disks, count, &source);
    learn(&mut md.chunk, get("Chunk Size").and_then(|(_, value)| size::binary(value)), &source);
    learn(&mut md.layout, get("Layout").and_then(|(_, value)| layout_number(value)), &source);
    let state = match get("Device Role").map(|(_, role)| role) {
        Some(role) if role.starts_with("Active") => Some("in_sync"),
        Some(role) if role.starts_with("spare") => Some("spare"),
        Some(role) if role.starts_with("Journal") => Some("journal"),
        _ => None,
    };
    if let Some(state) = state {
        md.members
            .entry(member.device.clone())
            .or_insert_with(|| Fact::known(state.to_owned(), source.as_str()));
    }
    let (line, states) = get("Array State")?;
    let missing = states.split_whitespace().next()?.bytes().filter(|state| *state == b'.').count();
    learn(&mut md.degraded, u32::try_from(missing).ok(), &text.source(line));
    Some(())
}
