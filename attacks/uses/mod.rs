//! Use: a blank device that somebody uses. It must be refused, whatever hides the user; and where a kind of user cannot be
//! seen, because it cannot be seen.

mod hidden;
mod kernel;
mod loops;
mod overlays;
mod processes;

use super::attack::{Attack, Class, Judge, Result, Stop};
use super::device::Device;
use super::ground::Ground;
use super::narrows::{Run, bench, guard, steady};

/// How large the devices are, in MiB.
const SIZE: u64 = 48;

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let nobody = Attack::new(Class::Use, "a device that nobody uses is free", nobody).quick();
    let kinds =
        [processes::attacks(), loops::attacks(), overlays::attacks(), hidden::attacks(), kernel::attacks()];
    std::iter::once(nobody).chain(kinds.into_iter().flatten()).collect()
}

/// A guard that refused everything would hold against every other attack. From some places users cannot be seen; there,
/// refusing is right, and these attacks say nothing.
fn nobody(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = Device::blank(ground, SIZE)?;
    let answer = steady(|| guard(ground, &device), &[])?;
    if answer.status == Some(1) && answer.says(&["not seen", "cannot be seen"]) {
        return Err(Stop::Skip(answer.short()));
    }
    judge.that(answer.status == Some(0), || format!("a blank device is refused: {}", answer.short()));
    device.must_be_zero(judge, "after a look")
}

/// A blank device that was free before the attack (which a quick run takes for granted).
fn free(ground: &Ground) -> Result<Device> {
    let device = Device::blank(ground, SIZE)?;
    if ground.quick {
        return Ok(device);
    }
    let answer = steady(|| guard(ground, &device), &[])?;
    match answer.status {
        Some(0) => Ok(device),
        // A device that is refused when nothing uses it says nothing of users.
        _ => Err(Stop::Skip(format!("a blank device is refused here: {}", answer.short()))),
    }
}

/// An attack on a device that was free, which `hold` makes used. What `hold` returns ends the use when it is dropped.
fn held<T: 'static>(
    name: &str,
    words: &'static [&'static str],
    hold: impl Fn(&Ground, &Device) -> Result<T> + Send + Sync + 'static,
) -> Attack {
    let body = move |ground: &Ground, judge: &mut Judge| {
        let device = free(ground)?;
        let holder = hold(ground, &device)?;
        refused(ground, judge, &device, words)?;
        drop(holder);
        Ok(())
    };
    Attack::new(Class::Use, name, body).quick().beside()
}

/// Guard and bench must refuse, name the reason, and change nothing.
fn refused(ground: &Ground, judge: &mut Judge, device: &Device, words: &[&str]) -> Result<()> {
    let before = device.sum()?;
    if !ground.quick {
        steady(|| guard(ground, device), words)?.must_refuse(judge, "guard", &[1], words);
    }
    steady(|| bench(ground, device, SIZE - 2), words)?.must_refuse(judge, "bench", &[2], words);
    unchanged(judge, device, &before)
}

/// The same, with the commands run through a script that gets the words of narrows as its arguments.
fn refused_through(
    ground: &Ground,
    judge: &mut Judge,
    device: &Device,
    script: &str,
    words: &[&str],
) -> Result<()> {
    let before = device.sum()?;
    let (node, identity) = (device.node(), device.identity());
    let root = ground.directory("root")?;
    let run = |command: &[&str]| {
        let through = || Run::through(ground, script, command).with(|run| run.env("ATTACK_ROOT", &root));
        steady(through, words)
    };
    let guard = run(&["guard", node, "--i-own", identity])?;
    if guard.err.contains("set-up:") {
        return Err(Stop::Skip(guard.err.lines().last().unwrap_or_default().to_owned()));
    }
    guard.must_refuse(judge, "guard", &[1, 2], words);
    let words_of_bench =
        ["measure", "--as", "kdiskmark", node, "--write", "--i-own", identity, "--size", "40MiB"];
    let words_of_bench = [&words_of_bench[..], &super::narrows::BENCH].concat();
    let bench = run(&words_of_bench)?;
    bench.must_refuse(judge, "bench", &[2], words);
    unchanged(judge, device, &before)
}

fn unchanged(judge: &mut Judge, device: &Device, before: &super::device::Sum) -> Result<()> {
    let difference = before.difference(&device.sum()?);
    judge.that(difference.is_none(), || format!("bytes changed: {}", difference.unwrap_or_default()));
    Ok(())
}
