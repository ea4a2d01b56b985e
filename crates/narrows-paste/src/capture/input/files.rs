//! The files and directories that a person names.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::collector::{Collector, Gathered};
use super::{Glance, InputError, Viewer, unusable, walk};
use crate::capture::Text;
use crate::capture::foreign::{self, Bounded, MOST_OF_FILE, MOST_OF_STREAM};

/// Gathers what is in `paths`; `-` is `stdin`.
///
/// # Errors
/// [`InputError`] when one of them cannot be opened, is a running machine, or is a damaged record of `narrows
/// snapshot`. Anything else that is wrong is a note in [`Gathered::notes`].
pub fn gather(paths: &[PathBuf], stdin: impl Read) -> Result<Gathered, InputError> {
    gather_with(paths, stdin, &mut |_: &Text| false)
}

/// Gathers as [`gather`] does, and shows each text to `viewer` too, who says whether it knew something in it.
///
/// # Errors
/// As of [`gather`].
pub fn gather_with(
    paths: &[PathBuf],
    stdin: impl Read,
    viewer: &mut dyn Viewer,
) -> Result<Gathered, InputError> {
    let mut collector = Collector::new(viewer);
    let mut stdin = Some(stdin);
    for path in paths {
        let named = path.display().to_string();
        if path == Path::new("-") {
            // There is only one standard input; named again it has ended.
            if let Some(stdin) = stdin.take() {
                let stdin = Bounded::new(stdin, MOST_OF_STREAM);
                collector.input("standard input", stdin).map_err(|error| unusable("-", error))?;
            }
        } else if path.is_dir() {
            walk::walk(path, &mut collector).map_err(|error| unusable(&named, error))?;
        } else {
            let file = foreign::open(path, MOST_OF_FILE)
                .map_err(|error| InputError::Unreadable { name: named.clone(), error })?;
            collector.input(&shown(path), file).map_err(|error| unusable(&named, error))?;
        }
        collector.end_path();
    }
    Ok(collector.finish())
}

/// Looks at the first 64 KiB of a file as [`gather_with`] would at all of it. What cannot be read shows nothing.
pub fn glance(path: &Path, viewer: &mut dyn Viewer) -> Glance {
    const LOOKED_AT: u64 = 64 << 10;
    let Ok(file) = foreign::open(path, MOST_OF_FILE) else { return Glance::default() };
    let mut collector = Collector::new(viewer);
    // A record that is cut off is damaged, and a record all the same.
    let is_damaged = collector.input(&shown(path), file.take(LOOKED_AT)).is_err();
    collector.end_path();
    let gathered = collector.finish();
    let is_record = is_damaged || !gathered.trees.is_empty();
    let kinds = gathered.merger.finish().captured.map(|captured| captured.texts).unwrap_or_default();
    Glance {
        is_known: is_record || gathered.is_known.contains(&true),
        is_record,
        kinds: kinds.into_iter().flat_map(|text| text.kinds).collect(),
    }
}

/// Whether a file that a person named can be read as one: it is a file or pipe, and no kernel makes its content.
pub fn is_readable(path: &Path) -> bool {
    foreign::open(path, MOST_OF_FILE).is_ok()
}

/// How a file is called in sources: as it was typed, but never with a whole path, which tells where its owner keeps it.
fn shown(path: &Path) -> String {
    let name = if path.is_absolute() { path.file_name().map(Path::new) } else { Some(path) };
    name.unwrap_or(path).display().to_string()
}
