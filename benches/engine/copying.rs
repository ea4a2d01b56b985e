//! `narrows copy` beside `cp -a` on the same tree, both until the copy is durable.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use narrows::load::copy::{CopyControl, CopyOptions, copy};
use serde_json::{Value, json};

use super::{Outcome, Pairs};

/// Small files, of up to 64 KiB,
const SMALL: u64 = 1000;
/// and large ones, of 32 MiB.
const LARGE: u64 = 4;
const LARGE_SIZE: u64 = 32 << 20;
/// Each has four copies.
const ROUNDS: usize = 5;

/// Copies a tree in `directory` in turn.
///
/// # Errors
/// The tree cannot be made, or a copy failed.
pub(super) fn beside_cp(directory: &Path) -> Outcome<Value> {
    let (source, copied) = (directory.join("tree"), directory.join("tree-copied"));
    remove(&source)?;
    let bytes = make_tree(&source)? as f64;
    let (mut plain, mut verified) = (Pairs::default(), Pairs::default());
    // The first copy reads what is not in the page cache yet.
    with_cp(&source, &copied)?;
    for _ in 0..ROUNDS {
        let ours = bytes / with_narrows(&source, &copied, false)?;
        plain.push(ours, with_cp(&source, &copied).map(|seconds| bytes / seconds));
        let ours = bytes / with_narrows(&source, &copied, true)?;
        verified.push(ours, with_cp(&source, &copied).map(|seconds| bytes / seconds));
    }
    remove(&copied)?;
    remove(&source)?;
    println!("\n{} files, {:.0} MB, copied and made durable   B/s   ratio", SMALL + LARGE, bytes / 1e6);
    plain.print("narrows copy --no-verify", "cp -a, sync -f");
    verified.print("narrows copy, read back and compared", "cp -a, sync -f");
    Ok(json!({
        "bytes": bytes,
        "files": SMALL + LARGE,
        "plain": plain.json("bytes_per_second"),
        "verified": verified.json("bytes_per_second"),
    }))
}

/// Makes the tree and returns its bytes.
fn make_tree(top: &Path) -> Outcome<u64> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    let mut bytes = 0;
    for index in 0..SMALL + LARGE {
        let length = if index < SMALL { 1 + (next() >> 33) % (64 << 10) } else { LARGE_SIZE };
        let directory = top.join(format!("{}", index / 100));
        fs::create_dir_all(&directory)?;
        let data: Vec<u8> = (0..length.div_ceil(8)).flat_map(|_| next().to_ne_bytes()).collect();
        let data = data.get(..length as usize).unwrap_or_default();
        File::create(directory.join(index.to_string()))?.write_all(data)?;
        bytes += length;
    }
    Ok(bytes)
}

/// The seconds that narrows takes.
fn with_narrows(source: &Path, copied: &Path, verify: bool) -> Outcome<f64> {
    remove(copied)?;
    let options = CopyOptions { verify, ..CopyOptions::default() };
    let begin = Instant::now();
    let result = copy(source, copied, &options, &CopyControl::default())?;
    let seconds = begin.elapsed().as_secs_f64();
    if !result.is_whole() {
        return Err(format!("the copy is not whole: {:?}", result.faults.first()).into());
    }
    Ok(seconds)
}

/// The seconds that `cp` takes until all of its copy is on stable storage, which is when narrows says that it is done.
fn with_cp(source: &Path, copied: &Path) -> Outcome<f64> {
    remove(copied)?;
    let begin = Instant::now();
    for command in
        [Command::new("cp").arg("-a").arg(source).arg(copied), Command::new("sync").arg("-f").arg(copied)]
    {
        let status = command.status()?;
        if !status.success() {
            return Err(format!("{command:?}: {status}").into());
        }
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// Removes a tree and waits for that.
fn remove(top: &Path) -> Outcome<()> {
    match fs::remove_dir_all(top) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let parent = top.parent().unwrap_or(top);
    Ok(File::open(parent).and_then(|parent| nix::unistd::syncfs(parent).map_err(io::Error::from))?)
}
