//! Contents: each kind of data stands on a device as it was made, with its edges zeroed, behind a lost partition table, and
//! in the middle. Every command that may write must refuse, say what it is or where, and change no byte.

mod bytes;
mod formats;
mod tools;

use std::path::{Path, PathBuf};

use super::attack::{Attack, Class, Judge, Result, Stop};
use super::device::{Device, MIB, clear, lay, put, sparse};
use super::ground::{Ground, text};
use super::narrows::{bench, guard, steady};
use super::random::Random;
use super::tool::shell;

/// How a kind is made.
#[derive(Clone, Copy)]
pub(crate) enum Make {
    /// By a shell command that fills the file `$1`.
    Tool(&'static str),
    /// From its published format, in a file of so many bytes.
    Bytes(fn(&mut Image<'_>) -> std::io::Result<()>),
}

/// A kind of contents.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// Its name.
    pub(crate) name: &'static str,
    /// Words of which the answer must have one, where its beginning is whole.
    pub(crate) words: &'static [&'static str],
    /// How it is made.
    pub(crate) make: Make,
}

/// A file that is filled by hand.
pub(crate) struct Image<'a> {
    path: &'a Path,
    /// How long it is.
    pub(crate) size: u64,
    /// Chance.
    pub(crate) random: Random,
}

impl Image<'_> {
    /// Writes bytes at a place.
    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) -> std::io::Result<()> {
        put(self.path, at, bytes)
    }

    /// Writes at a place that is so far from the end.
    pub(crate) fn put_before_end(&mut self, before: u64, bytes: &[u8]) -> std::io::Result<()> {
        put(self.path, self.size - before, bytes)
    }
}

/// Where a kind stands on its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    AsMade,
    EdgesZeroed,
    LostTable,
    Middle,
}

impl Placement {
    const fn name(self) -> &'static str {
        match self {
            Self::AsMade => "as made",
            Self::EdgesZeroed => "edges zeroed",
            Self::LostTable => "at 1 MiB without a table",
            Self::Middle => "in the middle",
        }
    }

    const fn at(self) -> u64 {
        match self {
            Self::AsMade | Self::EdgesZeroed => 0,
            Self::LostTable => MIB,
            Self::Middle => 48 * MIB,
        }
    }

    /// How much lies behind the contents, in MiB.
    const fn room(self) -> u64 {
        match self {
            Self::AsMade | Self::EdgesZeroed => 0,
            Self::LostTable => 31,
            Self::Middle => 16,
        }
    }
}

/// How much a kind takes: the least that mkfs.xfs makes, and a bit.
const CONTENT_MIB: u64 = 320;
/// Where a file of the user's lies inside of each kind, besides what its tool writes: at a whole MiB and beside one.
const FILES: [u64; 3] = [48 * MIB, 111 * MIB + 20_480, 200 * MIB];
/// What any answer may say of bytes that are not known to be something.
const DATA: [&str; 2] = ["holds", "not zero"];

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let kinds = tools::KINDS.iter().chain(formats::KINDS).chain(bytes::KINDS);
    kinds
        .map(|kind| {
            let body = move |ground: &Ground, judge: &mut Judge| attack(ground, judge, kind);
            Attack::new(Class::Contents, kind.name, body).quick().beside()
        })
        .collect()
}

fn attack(ground: &Ground, judge: &mut Judge, kind: &Kind) -> Result<()> {
    let template = template(ground, kind)?;
    for placement in placements(ground, kind) {
        let device = stand(ground, kind, &template, placement)?;
        try_to_write(ground, judge, kind, placement, &device)?;
        let image = device.image().to_owned();
        drop(device);
        std::fs::remove_file(image)?;
    }
    Ok(std::fs::remove_file(template)?)
}

/// Where a kind is tried. A quick run tries it as it was made and at one of the other places, another with another seed.
fn placements(ground: &Ground, kind: &Kind) -> Vec<Placement> {
    let (as_made, others) =
        (Placement::AsMade, [Placement::EdgesZeroed, Placement::LostTable, Placement::Middle]);
    if ground.quick {
        let choice = usize::try_from(ground.random(kind.name).below(3)).unwrap_or_default();
        std::iter::once(as_made).chain(others.get(choice).copied()).collect()
    } else {
        std::iter::once(as_made).chain(others).collect()
    }
}

/// The contents alone, in a file.
fn template(ground: &Ground, kind: &Kind) -> Result<PathBuf> {
    let path = ground.path("template.img");
    sparse(&path, CONTENT_MIB * MIB)?;
    match kind.make {
        Make::Tool(script) => {
            shell(script, &[text(&path)?])?;
        }
        Make::Bytes(fill) => {
            let random = ground.random(kind.name);
            fill(&mut Image { path: &path, size: CONTENT_MIB * MIB, random })?;
        }
    }
    Ok(path)
}

/// A device with the contents at a place.
fn stand(ground: &Ground, kind: &Kind, template: &Path, placement: Placement) -> Result<Device> {
    let image = ground.path("device.img");
    let size = placement.at() + (CONTENT_MIB + placement.room()) * MIB;
    sparse(&image, size)?;
    lay(template, &image, placement.at())?;
    if placement == Placement::EdgesZeroed || matches!(kind.make, Make::Bytes(_)) {
        for at in FILES {
            put(
                &image,
                placement.at() + at,
                &[b"a file of the user's\n".repeat(40), vec![b'.'; 700]].concat(),
            )?;
        }
    }
    if placement == Placement::EdgesZeroed {
        clear(&image, 0, MIB)?;
        clear(&image, size - MIB, MIB)?;
    }
    Device::over(&image)
}

fn try_to_write(
    ground: &Ground,
    judge: &mut Judge,
    kind: &Kind,
    placement: Placement,
    device: &Device,
) -> Result<()> {
    let before = device.sum()?;
    if before.is_zero() {
        return Err(Stop::Skip("set-up: nothing stands on the device".to_owned()));
    }
    // Without its edges some other part of it may be recognised, or none.
    let is_known = placement != Placement::EdgesZeroed && !kind.words.is_empty();
    let words = if is_known { kind.words } else { &DATA[..] };
    let answer = steady(|| bench(ground, device, CONTENT_MIB - 20), words)?;
    answer.must_refuse(judge, &format!("bench, {}", placement.name()), &[2], words);
    if !ground.quick {
        let answer = steady(|| guard(ground, device), words)?;
        answer.must_refuse(judge, &format!("guard, {}", placement.name()), &[1], words);
    }
    let difference = before.difference(&device.sum()?);
    judge.that(difference.is_none(), || {
        format!("{}: foreign bytes changed: {}", placement.name(), difference.unwrap_or_default())
    });
    Ok(())
}
