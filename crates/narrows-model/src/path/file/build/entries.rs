//! Entries of the catalogue, by what people call the parts.

use super::BuildError;
use crate::path::file::{Chipset, LinkGiven, Name, Part, Switch};
use narrows_base::catalog::{self, catalog};
use narrows_base::units::Lanes;

/// The catalogue's entry of a platform.
pub(in crate::path::file) fn processor_entry(name: &str) -> Option<&'static catalog::Processor> {
    find(&catalog().processors, |entry| &entry.name, name)
}

/// The catalogue's entry of a switch by name.
pub(in crate::path::file) fn find_switch(name: &str) -> Option<&'static catalog::Switch> {
    find(&catalog().switches, |entry| &entry.name, name)
}

/// The catalogue's entry of a chipset by name.
///
/// What people write also names one: `Intel Z97`, `C621`, `AMD B650`. A maker that is named must be its own.
pub(in crate::path::file) fn find_chipset(name: &str) -> Option<&'static catalog::Chipset> {
    let chipsets = &catalog().chipsets;
    find(chipsets, |entry| &entry.name, name).or_else(|| {
        let words: Vec<&str> =
            name.split_whitespace().filter(|word| !word.eq_ignore_ascii_case("chipset")).collect();
        let is_of = |entry: &&catalog::Chipset, word: &str| {
            let mut own =
                entry.name.split([' ', ',', '(', ')']).chain(entry.words.iter().map(String::as_str));
            own.any(|own| own.eq_ignore_ascii_case(word))
        };
        let mut found =
            chipsets.iter().filter(|entry| !words.is_empty() && words.iter().all(|word| is_of(entry, word)));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    })
}

/// The catalogue's entry of a switch.
pub(super) fn switch_entry(
    part: &Part,
    switch: &Switch,
) -> Result<Option<&'static catalog::Switch>, BuildError> {
    let Some(model) = &switch.model else { return Ok(None) };
    find_switch(model).map(Some).ok_or_else(|| unlisted(&part.name, "switch", model))
}

/// The catalogue's entry of a chipset, with what was given instead.
pub(in crate::path::file) fn chipset_entry(
    part: &Part,
    chipset: &Chipset,
) -> Result<Option<catalog::Chipset>, BuildError> {
    let mut entry = match &chipset.model {
        Some(model) => {
            Some(find_chipset(model).cloned().ok_or_else(|| unlisted(&part.name, "chipset", model))?)
        }
        None => None,
    };
    let LinkGiven { generation, width, payload, .. } = chipset.uplink;
    if let (Some(generation), Some(width)) = (
        generation.or(entry.as_ref().map(|entry| entry.generation)),
        width.or(entry.as_ref().map(|entry| Lanes::new(entry.lanes))),
    ) {
        let mut uplink = entry.unwrap_or_else(|| catalog::Chipset {
            name: part.name.to_string(),
            uplink: "uplink".to_owned(),
            max_payload: if generation > 2 { 256 } else { 128 },
            verified: true,
            source: part.given.to_string(),
            ..catalog::Chipset::default()
        });
        // The kernel would show the link; here it is what the catalogue or the file says.
        uplink.visible_link = false;
        (uplink.generation, uplink.lanes) = (generation, width.get());
        if let Some(payload) = payload {
            uplink.max_payload = u32::try_from(payload.get()).unwrap_or(uplink.max_payload);
        }
        entry = Some(uplink);
    }
    Ok(entry)
}

pub(super) fn unlisted(part: &Name, what: &'static str, name: &str) -> BuildError {
    BuildError::Unlisted { part: part.clone(), what, name: name.to_owned() }
}

/// The one entry that is called `name`, or whose name alone contains it.
fn find<'c, T>(entries: &'c [T], name_of: impl Fn(&T) -> &str, name: &str) -> Option<&'c T> {
    entries.iter().find(|entry| name_of(entry).eq_ignore_ascii_case(name.trim())).or_else(|| {
        let mut found = entries.iter().filter(|entry| contains(name_of(entry), name));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    })
}

pub(super) fn contains(whole: &str, part: &str) -> bool {
    whole.to_ascii_lowercase().contains(&part.trim().to_ascii_lowercase())
}
