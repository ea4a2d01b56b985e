//! What root runs and leaves where others look.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::super::attack::{Judge, Result};
use super::super::ground::{Ground, text};
use super::super::narrows::Run;

pub(super) fn snapshot_mode(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let out = ground.path("snapshot.tar.zst");
    let script = "umask 0; exec \"$NARROWS\" \"$@\"";
    let answer = Run::through(ground, script, &["snapshot", "--no-redact", "-o", text(&out)?]).answer()?;
    answer.must_be_orderly(judge, "snapshot");
    let mode = fs::metadata(&out)?.permissions().mode() & 0o777;
    judge.that(mode == 0o600, || format!("serial numbers and addresses are open to others: {mode:o}"));
    Ok(())
}

/// Programs of somebody's stand first in root's search path.
pub(super) fn search_path(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (place, work) = (ground.directory("bin")?, ground.directory("work")?);
    let mark = ground.path("ran");
    for program in [
        "fio",
        "iperf3",
        "lsblk",
        "losetup",
        "mkfs.ext4",
        "mdadm",
        "lspci",
        "dmidecode",
        "nvme",
        "zpool",
        "smartctl",
        "udevadm",
    ] {
        let path = place.join(program);
        fs::write(&path, format!("#!/bin/sh\necho {program} >>{}\n", text(&mark)?))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let bench = ["measure", text(&work)?, "--as", "hdparm", "--size", "16MiB", "--duration", "50ms"];
    let lab = [
        "lab",
        "--scratch",
        text(&work)?,
        "--files",
        "2x320MiB",
        "--layout",
        "single,raid0",
        "--file-system",
        "ext4",
        "--dry-run",
    ];
    let ladder = [
        "measure",
        "--as",
        "layers",
        text(&work)?,
        "--mix",
        "100,0",
        "--size",
        "16MiB",
        "--duration",
        "50ms",
        "--peer",
        "127.0.0.1",
    ];
    for words in [&bench[..], &lab, &ladder, &[]] {
        let path = format!("{}:/usr/bin:/bin", place.display());
        Run::new(ground, words).with(|command| command.env("PATH", path)).within(60).answer()?;
        let ran = fs::read_to_string(&mark).unwrap_or_default();
        judge.that(ran.is_empty(), || format!("{} ran as root: {}", words[0], ran.replace('\n', " ")));
        let _ = fs::remove_file(&mark);
    }
    Ok(())
}
