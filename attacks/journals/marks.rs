//! What bears marks and is not of the run whose record is there; and users who came after the kill.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::super::attack::{Attack, Class, Judge, Result, skip};
use super::super::device::{Device, MIB, lay, put};
use super::super::ground::{Ground, text};
use super::super::lab::{killed, with_journal};
use super::super::narrows::{Answer, Run, bench};
use super::super::tool::{Holder, shell};
use super::same_device;

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    let new = |name, body: fn(&Ground, &mut Judge) -> Result<()>| Attack::new(Class::Journal, name, body);
    vec![
        new("blocks of an earlier run come back after it was cleaned", replayed).quick(),
        new("blocks of a killed run beside somebody's file system", beside_format),
        new("undo while a process has the backing file open and wrote to it", |ground, judge| {
            used(ground, judge, |device, ready| {
                let script = "exec 3<>\"$1\"; : >\"$2\"; exec sleep 120";
                Ok(Box::new(Holder::shell(script, &[device.identity(), text(ready)?], ready)?))
            })
        }),
        new("undo while another loop device over the file was written to", |ground, judge| {
            used(ground, judge, |device, _| Ok(Box::new(Device::over(device.image())?)))
        }),
        new("undo while somebody has the node open", |ground, judge| {
            used(ground, judge, |device, ready| {
                let script = "exec 3<\"$1\"; : >\"$2\"; exec sleep 120";
                Ok(Box::new(Holder::shell(script, &[device.node(), text(ready)?], ready)?))
            })
        }),
    ]
}

/// A run over 24 MiB that was killed while it filled them.
fn killed_run(ground: &Ground) -> Result<Device> {
    let device = Device::blank(ground, 64)?;
    fill_and_kill(ground, &device)?;
    Ok(device)
}

fn fill_and_kill(ground: &Ground, device: &Device) -> Result<()> {
    let before = device.written();
    let running = bench(ground, device, 24).with(|run| run.args(["--max-time", "30s"])).start()?;
    let begin = Instant::now();
    while device.written() == before && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(2));
    }
    thread::sleep(Duration::from_millis(30));
    running.signal(Signal::SIGKILL);
    let answer = running.answer()?;
    device.wait_until_quiet()?;
    if device.sum()?.is_zero() {
        skip(format!("set-up: it left nothing: {}", answer.short()))
    } else {
        Ok(())
    }
}

fn clean(ground: &Ground, device: &Device) -> Result<Answer> {
    Run::new(ground, &["guard", "--clean", device.node(), "--i-own", device.identity()]).answer()
}

/// What bore marks once was kept by somebody, and comes back when no record has that run; or when that of another run is there.
fn replayed(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = killed_run(ground)?;
    let kept = ground.path("kept.img");
    shell("cp --sparse=always \"$1\" \"$2\"", &[device.identity(), text(&kept)?])?;
    let answer = clean(ground, &device)?;
    judge.that(answer.status == Some(0), || format!("not cleaned by the book: {}", answer.short()));
    for when in ["without a record", "with the record of another run"] {
        if when.starts_with("with ") {
            device.erase()?;
            fill_and_kill(ground, &device)?;
            device.erase()?;
        }
        lay(&kept, device.image(), 0)?;
        shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
        let before = device.sum()?;
        let answer = clean(ground, &device)?;
        answer.must_refuse(judge, when, &[2], &["no record", "holds data"]);
        let lost = before.lost(&device.sum()?);
        judge.that(lost.is_none(), || format!("{when}: {}", lost.unwrap_or_default()));
    }
    Ok(())
}

/// Somebody made a file system over what a killed run left, whose blocks are in one of its files now.
fn beside_format(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = killed_run(ground)?;
    for (format, at, magic) in [
        ("ext4", 1080, &b"\x53\xef"[..]),
        ("XFS", 0, b"XFSB"),
        ("LUKS", 0, b"LUKS\xba\xbe"),
        ("md", 4096, b"\xfc\x4e\x2b\xa9"),
    ] {
        put(device.image(), at, magic)?;
        shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
        let before = device.sum()?;
        let answer = clean(ground, &device)?;
        answer.must_refuse(judge, format, &[2], &[format]);
        let difference = before.difference(&device.sum()?);
        judge.that(difference.is_none(), || format!("beside {format}: {}", difference.unwrap_or_default()));
        put(device.image(), at, &vec![0; magic.len()])?;
    }
    shell("blockdev --flushbufs \"$1\"", &[device.node()])?;
    let answer = clean(ground, &device)?;
    judge.that(answer.status == Some(0), || format!("not cleaned afterwards: {}", answer.short()));
    device.must_be_zero(judge, "afterwards")
}

/// A killed lab's slice, into whose file somebody who still has it open wrote.
fn used(
    ground: &Ground,
    judge: &mut Judge,
    hold: impl Fn(&Device, &std::path::Path) -> Result<Box<dyn std::any::Any>>,
) -> Result<()> {
    let device = same_device(ground)?;
    let lab = killed(ground, &device, "ext4")?;
    device.wait_until_quiet()?;
    let holder = hold(&device, &ground.path("ready"))?;
    put(device.image(), 33 * MIB, &[b'x'; 4096])?;
    let answer = with_journal(ground, "--undo", &lab.journal)?;
    answer.must_refuse(judge, "undo", &[2], &["is open in", "backs", "process"]);
    let mut block = vec![0; 4096];
    std::os::unix::fs::FileExt::read_exact_at(&fs::File::open(device.image())?, &mut block, 33 * MIB)?;
    judge.that(block == [b'x'; 4096], || format!("what they wrote is gone: {}", answer.short()));
    drop(holder);
    Ok(())
}
