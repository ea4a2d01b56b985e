//! A lab was killed, its journal is genuine, and then somebody used the device.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use super::super::attack::{Attack, Class, Judge, Result, skip};
use super::super::device::{Device, MIB, clear};
use super::super::ground::Ground;
use super::super::lab::{Killed, SIZE, killed, with_journal};
use super::super::tool::{shell, succeeds};
use super::{must_change_nothing, same_device, store};

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        since("text was written between what the lab wrote", |device, _| {
            for at in [9 * MIB + 4096, 23 * MIB, 41 * MIB + 512 * 1024, 333 * MIB] {
                device.plant(at, &foreign())?;
            }
            Ok(())
        })
        .quick(),
        since("text was written in its first MiB", |device, _| device.plant(4096, &foreign())),
        since("text was written in its last MiB", |device, _| {
            device.plant((SIZE - 1) * MIB + 8192, &foreign())
        }),
        since("text was written into the lab's file system", |device, _| {
            device.plant(2 * MIB + 12_288, &foreign())
        }),
        since("the device was attached again, then written", |device, _| {
            succeeds("umount -l \"$1\"", &[device.node()]);
            device.plant(31 * MIB, &foreign())
        }),
        since("the slice was removed, then text was written", |device, _| {
            remove_slices(device)?;
            device.plant(19 * MIB, &foreign())
        }),
        since("a slice of the same place was made anew, then written", |device, _| {
            let again = slices(device);
            remove_slices(device)?;
            for (number, start, length) in again {
                shell("addpart \"$1\" \"$2\" \"$3\" \"$4\"", &[device.node(), &number, &start, &length])?;
            }
            device.plant(19 * MIB, &foreign())
        }),
        since("another slice was made, and written", |device, _| {
            remove_slices(device)?;
            shell("addpart \"$1\" 1 40960 40960", &[device.node()])?;
            shell(
                "printf 'somebody wrote this' | dd of=\"$1p1\" bs=4096 conv=sync oflag=sync status=none",
                &[device.node()],
            )?;
            Ok(())
        }),
        Attack::new(
            Class::Journal,
            "killed, then the whole device became somebody's ext4",
            |ground, judge| {
                let device = same_device(ground)?;
                let lab = killed(ground, &device, "ext4")?;
                release(&device)?;
                remove_slices(&device)?;
                clear(device.image(), 0, SIZE * MIB)?;
                shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
                store(ground, &device)?;
                must_change_nothing(
                    ground,
                    judge,
                    &device,
                    &lab.journal,
                    &["holds", "data", "left", "ext4", "not"],
                )
            },
        )
        .quick()
        .beside(),
        Attack::new(Class::Journal, "killed, undone and resumed by the book", by_the_book).quick().beside(),
    ]
}

fn foreign() -> Vec<u8> {
    b"somebody wrote this after the lab\n".repeat(256)[..8192].to_vec()
}

/// The lab was killed with its file system mounted; `write` then writes. Undo must leave that, say so, and may clear what is
/// the lab's. What is foreign is what `write` changed.
fn since(name: &str, write: impl Fn(&Device, &Killed) -> Result<()> + Send + Sync + 'static) -> Attack {
    let name = format!("killed, then {name}");
    let body = move |ground: &Ground, judge: &mut Judge| {
        let device = same_device(ground)?;
        let lab = killed(ground, &device, "ext4")?;
        release(&device)?;
        let before = device.sum()?;
        write(&device, &lab)?;
        let after = device.sum()?;
        let theirs = after.only(|at| before.differs_at(&after, at));
        for how in ["--undo", "--resume"] {
            if !lab.journal.exists() {
                break;
            }
            let answer = with_journal(ground, how, &lab.journal)?;
            answer.must_refuse(
                judge,
                how,
                &[2],
                &[
                    "holds",
                    "data",
                    "left",
                    "not ours",
                    "not the lab",
                    "somebody",
                    "changed",
                    "has the partition",
                ],
            );
            let lost = theirs.lost(&device.sum()?);
            judge.that(lost.is_none(), || {
                format!("{how}: foreign bytes: {}: {}", lost.unwrap_or_default(), answer.short())
            });
        }
        Ok(())
    };
    Attack::new(Class::Journal, &name, body).beside()
}

/// How long a killed lab may keep its device busy on a machine with other work.
const BUSY: Duration = Duration::from_secs(60);

/// Waits until `is_so`.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > BUSY {
            return skip(format!("set-up: {what}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A mount of the lab's own namespace goes with its last process; here it is made sure.
fn release(device: &Device) -> Result<()> {
    wait("the lab's file system stays mounted", || {
        succeeds("! grep -q \"$1\" /proc/[0-9]*/mountinfo 2>/dev/null", &[device.node()]) && is_let_go(device)
    })
}

/// Whether the kernel has let go of the slices: the last block of a file system is written after it is gone from all mounts, and
/// what is written then is nobody's foreign byte.
fn is_let_go(device: &Device) -> bool {
    let alone = |number: &str| {
        let node = format!("{}p{number}", device.node());
        OpenOptions::new().read(true).custom_flags(nix::libc::O_EXCL).open(node).is_ok()
    };
    slices(device).iter().all(|(number, ..)| alone(number))
}

/// Number, start and length of the partitions that the kernel knows on a device, as text.
fn slices(device: &Device) -> Vec<(String, String, String)> {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let entries = std::fs::read_dir(format!("/sys/block/{}", device.name())).into_iter().flatten().flatten();
    let parts = entries.filter(|entry| entry.path().join("partition").exists());
    parts
        .map(|part| part.path())
        .map(|path| (read(path.join("partition")), read(path.join("start")), read(path.join("size"))))
        .collect()
}

/// Removes them: a slice that stayed would still be the lab's, with all that is in it.
fn remove_slices(device: &Device) -> Result<()> {
    wait("a slice cannot be removed", || {
        let there = slices(device);
        for (number, _, _) in &there {
            succeeds("partx --delete --nr \"$2\" \"$1\"", &[device.node(), number]);
        }
        there.is_empty()
    })
}

/// What is the lab's own is cleared, to the last byte, and the exit status says so: a guard that never undid would hold
/// against all other attacks.
fn by_the_book(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for file_system in ["ext4", "xfs", "btrfs"] {
        let device = same_device(ground)?;
        let lab = killed(ground, &device, file_system)?;
        let answer = with_journal(ground, "--undo", &lab.journal)?;
        judge.that(answer.status == Some(0), || format!("{file_system}: not undone: {}", answer.short()));
        device.must_be_zero(judge, &format!("{file_system}: after undo"))?;
        judge.that(slices(&device).is_empty(), || format!("{file_system}: a slice is left"));
        judge.that(!lab.journal.exists(), || format!("{file_system}: the journal is left"));
    }
    Ok(())
}
