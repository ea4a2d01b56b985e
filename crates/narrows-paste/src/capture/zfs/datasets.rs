//! `zfs list`, whole or `-H` (tabs, no head): where each file system is mounted.

use std::collections::BTreeMap;

use super::status::is_name;
use crate::capture::Text;
use crate::capture::size;
use narrows_machine::mount::Mount;

/// No machine mounts more; a text that lists more was made to be slow.
const MOST_MOUNTS: usize = 4096;

/// What `-H` prints when nothing else is asked for: name, used, available, referenced, mount point.
const COLUMNS: usize = 5;

/// Every file system with a mount point. Of several at one point only one can be mounted (boot environments): where they
/// are of one pool, the first stands for all, and where not, it cannot be said which it is.
pub(super) fn read(text: &Text) -> Vec<Mount> {
    let mut at: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut column: Option<usize> = None;
    for (_, line) in text.lines() {
        let cells: Vec<&str> = match is_scripted(line) {
            true => line.split('\t').collect(),
            // No other column has blanks in it, and mount points seldom do.
            false => line.split_whitespace().collect(),
        };
        if cells.first() == Some(&"NAME") {
            column = cells.iter().position(|name| *name == "MOUNTPOINT");
            continue;
        }
        let Some(place) = column.or(is_scripted(line).then_some(COLUMNS - 1)) else { continue };
        let (Some(name), Some(point)) = (cells.first(), cells.get(place)) else { continue };
        let is_set = is_name(name) && !name.contains(['@', '#']) && !name.starts_with('/');
        if !is_set || !point.starts_with('/') || at.len() >= MOST_MOUNTS {
            continue;
        }
        let known = at.entry((*point).to_owned()).or_insert_with(|| Some((*name).to_owned()));
        if known.as_ref().is_some_and(|known| pool(known) != pool(name)) {
            *known = None;
        }
    }
    at.into_iter()
        .filter_map(|(point, source)| {
            Some(Mount {
                point,
                source: source?,
                fstype: "zfs".to_owned(),
                root: "/".to_owned(),
                ..Mount::default()
            })
        })
        .collect()
}

/// Whether a line is one of `-H`: sizes stand between name and mount point.
fn is_scripted(line: &str) -> bool {
    let cells: Vec<&str> = line.split('\t').collect();
    let is_size = |cell: &&str| *cell == "-" || size::binary(cell).is_some();
    cells.len() == COLUMNS && cells.get(1..COLUMNS - 1).is_some_and(|sizes| sizes.iter().all(is_size))
}

fn pool(set: &str) -> &str {
    set.split('/').next().unwrap_or(set)
}
