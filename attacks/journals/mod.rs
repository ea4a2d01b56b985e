//! Journals that are not what they say: `lab --undo` and `lab --resume` must change no byte for them.

mod forged;
mod live;
mod marks;
mod places;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::attack::{Attack, Judge, Result};
use super::device::{Device, MIB, put, sparse};
use super::ground::{Ground, text};
use super::lab::{SIZE, closed_directory, killed, with_journal};
use super::tool::shell;

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    // One genuine journal, and the device that it names, serve them all.
    let turns = [forged::attacks(), places::attacks(), marks::attacks()].into_iter().flatten();
    turns.map(Attack::in_turn).chain(live::attacks()).collect()
}

/// The journal of a lab on the device over [`image`], which was then undone by the book. Made once: the text is what forgers
/// copy.
static GENUINE: Mutex<Option<String>> = Mutex::new(None);

/// Where the file of the device lies of which the genuine journal speaks.
fn image(ground: &Ground) -> PathBuf {
    ground.root().join("lab-device.img")
}

/// The device of which the genuine journal speaks: the same file name, the same size. Blank.
fn same_device(ground: &Ground) -> Result<Device> {
    let path = image(ground);
    let _ = fs::remove_file(&path);
    sparse(&path, SIZE * MIB)?;
    Device::over(&path)
}

fn genuine(ground: &Ground) -> Result<String> {
    let mut kept = GENUINE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = &*kept {
        return Ok(text.clone());
    }
    let device = same_device(ground)?;
    let lab = killed(ground, &device, "ext4")?;
    let answer = with_journal(ground, "--undo", &lab.journal)?;
    if answer.status != Some(0) {
        return super::attack::skip(format!("set-up: a killed lab is not undone: {}", answer.short()));
    }
    *kept = Some(lab.text.clone());
    Ok(lab.text)
}

/// Puts on a device what somebody stored there since: an ext4 that lost its first superblock, and text without a format.
fn store(ground: &Ground, device: &Device) -> Result<()> {
    let made = ground.path("foreign.img");
    sparse(&made, SIZE * MIB)?;
    shell("mkfs.ext4 -q -F \"$1\"", &[text(&made)?])?;
    super::device::clear(&made, 0, 4096)?;
    super::device::lay(&made, device.image(), 0)?;
    for at in [5 * MIB, 17 * MIB + 8192, 64 * MIB, (SIZE - 1) * MIB] {
        put(device.image(), at, &b"somebody wrote this after the lab\n".repeat(200))?;
    }
    fs::remove_file(made)?;
    Ok(())
}

/// Undo and resume with this journal must refuse, name the reason, and change nothing on the device.
fn must_change_nothing(
    ground: &Ground,
    judge: &mut Judge,
    device: &Device,
    journal: &Path,
    words: &[&str],
) -> Result<()> {
    for how in ["--undo", "--resume"] {
        if journal.symlink_metadata().is_err() {
            break;
        }
        let before = device.sum()?;
        let answer = with_journal(ground, how, journal)?;
        answer.must_refuse(judge, how, &[2], words);
        let difference = before.difference(&device.sum()?);
        judge.that(difference.is_none(), || {
            format!("{how}: foreign bytes changed: {}: {}", difference.unwrap_or_default(), answer.short())
        });
    }
    Ok(())
}

/// Writes a journal as the lab does: root's, 0600, in a closed directory.
fn proper_place(ground: &Ground, text: &str) -> Result<PathBuf> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = closed_directory(ground)?.join("lab.jsonl");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    Ok(path)
}

/// Changes each value of each line that is JSON, with the key under which it stands.
fn change(text: &str, mut with: impl FnMut(&str, &mut Value)) -> String {
    fn walk(key: &str, value: &mut Value, with: &mut impl FnMut(&str, &mut Value)) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| walk(key, value, with)),
            Value::Array(items) => items.iter_mut().for_each(|item| walk(key, item, with)),
            leaf => with(key, leaf),
        }
    }
    let mut out = String::new();
    for line in text.lines() {
        match serde_json::from_str::<Value>(line) {
            Ok(mut value) => {
                walk("", &mut value, &mut with);
                out += &value.to_string();
            }
            Err(_) => out += line,
        }
        out.push('\n');
    }
    out
}
