//! One file under two identities: an overlay shows the files of another file system as its own.

use std::path::{Path, PathBuf};

use super::super::attack::{Attack, Class, Judge, Result, Stop};
use super::super::device::{BLOCK, Device, MIB, sparse};
use super::super::ground::{Ground, text};
use super::super::narrows::{guard, steady};
use super::super::tool::{Holder, shell, succeeds};
use super::{SIZE, processes, refused};

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        process("the file behind it is open below an overlay", Side::Merged, "write"),
        process("the file behind it is open through an overlay", Side::Upper, "write"),
        process("the file behind it is mapped below an overlay", Side::Merged, "map"),
        process("the file behind it is mapped through an overlay", Side::Upper, "map"),
        twin("a second loop device below an overlay", Side::Merged),
        twin("a second loop device through an overlay", Side::Upper),
    ]
}

/// Through which side of an overlay the attacked device has its file.
#[derive(Debug, Clone, Copy)]
enum Side {
    Merged,
    Upper,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Upper => "upper",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Merged => Self::Upper,
            Self::Upper => Self::Merged,
        }
    }

    fn file(self, place: &Path) -> PathBuf {
        place.join(self.name()).join("disk.img")
    }
}

/// An overlay, taken away when this is dropped.
struct Overlay(PathBuf);

impl Overlay {
    /// Mounts one, with a sparse file in it that is made through it. It is as long as no file of the attacks beside it.
    fn make(ground: &Ground, name: &str) -> Result<Self> {
        let place = ground.directory("overlay")?;
        shell(
            "cd \"$1\"; mkdir lower upper work merged; mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged",
            &[text(&place)?],
        )?;
        let overlay = Self(place);
        let more = 1 + ground.random(name).below(10_000);
        sparse(&Side::Merged.file(&overlay.0), SIZE * MIB + more * BLOCK)?;
        Ok(overlay)
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        succeeds("umount \"$1/merged\"", &[self.0.to_str().unwrap_or_default()]);
    }
}

/// A device over the file on one side is refused as soon as `hold` uses the file on the other.
fn seen<T: 'static>(
    name: &str,
    side: Side,
    words: &'static [&'static str],
    hold: impl Fn(&Ground, &Path) -> Result<T> + Send + Sync + 'static,
) -> Attack {
    let kind = name.to_owned();
    let body = move |ground: &Ground, judge: &mut Judge| {
        let overlay = Overlay::make(ground, &kind)?;
        let device = Device::over(&side.file(&overlay.0))?;
        if !ground.quick {
            let answer = steady(|| guard(ground, &device), &[])?;
            if answer.status != Some(0) {
                return Err(Stop::Skip(format!("a blank device is refused here: {}", answer.short())));
            }
        }
        let holder = hold(ground, &side.other().file(&overlay.0))?;
        refused(ground, judge, &device, words)?;
        drop((holder, device));
        Ok(())
    };
    Attack::new(Class::Use, name, body).quick().beside()
}

fn process(name: &str, side: Side, how: &'static str) -> Attack {
    seen(name, side, &["process"], move |ground, file| -> Result<Holder> {
        processes::hold(ground, how, file)
    })
}

fn twin(name: &str, side: Side) -> Attack {
    seen(name, side, &["backs loop"], |_, file| Device::over(file))
}
