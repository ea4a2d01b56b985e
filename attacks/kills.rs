//! narrows is killed, at moments that the seed decides; in half of the rounds somebody then writes to the device. What they
//! wrote must stay, and all else must be as it was found.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::attack::{Attack, Class, Judge, Result, Stop};
use super::device::{Device, MIB, Sum};
use super::ground::{Ground, kill_group, signal, text};
use super::lab;
use super::lanes::{Lane, Rounds, side_by_side};
use super::narrows::{Answer, Run};
use super::random::Random;
use super::tool::{shell, succeeds};

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    let mut all = vec![
        Attack::new(Class::Kill, "bench, then guard --clean", clean).quick(),
        Attack::new(Class::Kill, "bench, then guard --clean on a twin", clean_twin),
        Attack::new(Class::Kill, "guard --clean, then guard --clean", clean_killed),
        Attack::new(Class::Kill, "guard --clean where nothing was killed", clean_nothing).quick(),
    ];
    for file_system in ["none", "ext4", "xfs", "btrfs"] {
        let body = move |ground: &Ground, judge: &mut Judge| labs(ground, judge, file_system);
        let attack = Attack::new(Class::Kill, &format!("a lab with {file_system}, then --undo"), body);
        all.push(if file_system == "ext4" { attack.quick() } else { attack });
    }
    all.push(
        Attack::new(Class::Kill, "a tool that makes a file system ends with its lab", tool_ends).quick(),
    );
    all.push(Attack::new(Class::Kill, "copy, then copy --resume", copies).quick());
    all
}

/// Writes foreign blocks at random places, and returns what is theirs: all that differs afterwards.
fn plant(device: &Device, random: &mut Random, mib: u64) -> Result<Sum> {
    device.wait_until_quiet()?;
    let before = device.sum()?;
    for _ in 0..=random.below(4) {
        let at = match random.below(4) {
            0 => random.below(256) * 4096,
            1 => (mib - 1) * MIB + random.below(256) * 4096,
            _ => random.below(mib * 256) * 4096,
        };
        let block = match random.below(3) {
            0 => b"somebody wrote this after the kill\n".repeat(120)[..4096].to_vec(),
            1 => random.bytes(4096),
            _ => vec![0xff; 4096],
        };
        device.plant(at, &block)?;
    }
    let after = device.sum()?;
    Ok(after.only(|at| before.differs_at(&after, at)))
}

fn clean_run(ground: &Ground, device: &Device) -> Run {
    Run::new(ground, &["guard", device.node(), "--i-own", device.identity(), "--clean"])
}

/// Starts a bench and kills it at a random moment after its first write.
fn killed_bench(ground: &Ground, device: &Device, random: &mut Random) -> Result<()> {
    let written = device.written();
    let words = [
        "measure",
        "--as",
        "kdiskmark",
        device.node(),
        "--write",
        "--i-own",
        device.identity(),
        "--size",
        "150MiB",
    ];
    let rest = ["--as", "peak", "--duration", "500ms", "--warm-up", "1ms"];
    let mut running = Run::new(ground, &[&words[..], &rest].concat()).start()?;
    while device.written() == written && !running.wait(Duration::from_millis(1)) {}
    running.wait(Duration::from_millis(random.below(2500)));
    kill_group(running.id());
    running.answer()?;
    device.wait_until_quiet()
}

fn clean(ground: &Ground, judge: &mut Judge) -> Result<()> {
    const SIZE: u64 = 200;
    let rounds = Rounds::all(ground.rounds(60, 4));
    side_by_side(ground, judge, "clean", rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            let device = Device::blank(&lane.ground, SIZE)?;
            killed_bench(&lane.ground, &device, &mut random)?;
            let theirs = if random.coin() { plant(&device, &mut random, SIZE)? } else { Sum::default() };
            let answer = clean_run(&lane.ground, &device).answer()?;
            after(&mut lane.judge, &device, &theirs, &answer, &format!("round {round}"), &[1, 2])?;
        }
        Ok(())
    })
    .map(drop)
}

/// What must hold when something was cleared: theirs is there, said, and nothing else.
fn after(
    judge: &mut Judge,
    device: &Device,
    theirs: &Sum,
    answer: &Answer,
    when: &str,
    statuses: &[i32],
) -> Result<()> {
    let left = device.sum()?;
    answer.must_be_orderly(judge, when);
    if theirs.is_zero() {
        judge.that(answer.status == Some(0), || format!("{when}: not undone: {}", answer.short()));
        let found = Sum::default().difference(&left);
        judge.that(found.is_none(), || {
            format!("{when}: left: {}: {}", found.unwrap_or_default(), answer.short())
        });
    } else {
        let lost = theirs.lost(&left);
        judge.that(lost.is_none(), || {
            format!("{when}: foreign: {}: {}", lost.unwrap_or_default(), answer.short())
        });
        judge.that(answer.status.is_some_and(|status| statuses.contains(&status)), || {
            format!("{when}: foreign bytes, and it says nothing of them: {}", answer.short())
        });
    }
    Ok(())
}

/// What a bench left on one device is copied to another, which is somebody's image of it now.
fn clean_twin(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let mut random = ground.random("clean twin");
    let (device, other) = (Device::blank(ground, 200)?, Device::blank(ground, 200)?);
    killed_bench(ground, &device, &mut random)?;
    super::device::lay(device.image(), other.image(), 0)?;
    other.plant(0, &b"an image that somebody keeps\n".repeat(300)[..8192])?;
    let before = other.sum()?;
    let answer = clean_run(ground, &other).answer()?;
    judge
        .that(answer.status.is_some_and(|status| status != 0), || format!("not refused: {}", answer.short()));
    let difference = before.difference(&other.sum()?);
    judge.that(difference.is_none(), || format!("{}: {}", difference.unwrap_or_default(), answer.short()));
    Ok(())
}

/// Clearing is killed, too, and done again.
fn clean_killed(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(20, 2));
    side_by_side(ground, judge, "clean killed", rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            let device = Device::blank(&lane.ground, 200)?;
            killed_bench(&lane.ground, &device, &mut random)?;
            let theirs = if random.coin() { plant(&device, &mut random, 200)? } else { Sum::default() };
            for _ in 0..3 {
                let mut running = clean_run(&lane.ground, &device).start()?;
                running.wait(Duration::from_millis(random.below(120)));
                // Its part that reads the device dies with it, but not in the same moment.
                running.signal(Signal::SIGSTOP);
                let parts = children(running.id());
                running.signal(Signal::SIGKILL);
                running.answer()?;
                wait_for_all(&parts);
            }
            device.wait_until_quiet()?;
            let answer = clean_run(&lane.ground, &device).answer()?;
            after(&mut lane.judge, &device, &theirs, &answer, &format!("round {round}"), &[1, 2])?;
        }
        Ok(())
    })
    .map(drop)
}

/// Nothing on the device is ours: clearing must change nothing.
fn clean_nothing(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for script in [
        "mkfs.ext4 -q -F \"$1\"",
        "head -c 9000000 /dev/urandom | dd of=\"$1\" conv=notrunc bs=1M seek=3 status=none",
    ] {
        let device = Device::blank(ground, 200)?;
        super::tool::shell(script, &[device.identity()])?;
        let before = device.sum()?;
        let answer = clean_run(ground, &device).answer()?;
        answer.must_refuse(judge, "guard --clean", &[1, 2], &["holds", "data", "ext4", "not ours", "left"]);
        let difference = before.difference(&device.sum()?);
        judge
            .that(difference.is_none(), || format!("{}: {}", difference.unwrap_or_default(), answer.short()));
    }
    Ok(())
}

/// Labs that are killed at a random line of their journals, a random time after it; half of them with all their tools.
fn labs(ground: &Ground, judge: &mut Judge, file_system: &str) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(50, 3));
    side_by_side(ground, judge, &format!("labs with {file_system}"), rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            lab_once(lane, file_system, round, &mut random)?;
        }
        Ok(())
    })
    .map(drop)
}

fn lab_once(lane: &mut Lane<'_>, file_system: &str, round: u64, random: &mut Random) -> Result<()> {
    let (ground, judge) = (&lane.ground, &mut lane.judge);
    let device = Device::blank(ground, lab::SIZE)?;
    let written = device.written();
    let journal = lab::closed_directory(ground)?.join("lab.jsonl");
    let words = lab::words(&[&device], file_system, &journal)?;
    let mut running = lab::run(ground, &[&device], &words).start()?;
    let lines = random.below(16);
    let reached = || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count() as u64) > lines;
    while !reached() && !running.wait(Duration::from_millis(2)) {}
    running.wait(Duration::from_millis(random.below(300)));
    let with_tools = random.coin();
    // It starts no other tool while those are told that it has.
    running.signal(Signal::SIGSTOP);
    let tools = children(running.id());
    if with_tools {
        tools.iter().for_each(|tool| kill_group(*tool));
    }
    running.signal(Signal::SIGKILL);
    running.answer()?;
    let with = if with_tools { " with its tools" } else { "" };
    let when = format!("round {round}, killed after line {lines}{with}");
    wait_for_all(&tools);
    device.wait_until_unclaimed()?;
    device.wait_until_quiet()?;
    if !journal.exists() {
        // It had ended.
        return device.must_be_zero(judge, &when);
    }
    // A lab that has written nothing yet has nothing to undo, so whose the bytes on the device are is none of its business.
    let statuses: &[i32] = if device.written() == written { &[0, 2] } else { &[2] };
    let theirs = if random.coin() { plant(&device, random, lab::SIZE)? } else { Sum::default() };
    let answer = lab::with_journal(ground, "--undo", &journal)?;
    after(judge, &device, &theirs, &answer, &when, statuses)
}

/// A tool is halted in its work, so that it would go on for ever, and its lab is killed.
fn tool_ends(ground: &Ground, judge: &mut Judge) -> Result<()> {
    const TRIES: u32 = 40;
    for _ in 0..TRIES {
        let device = Device::blank(ground, lab::SIZE)?;
        let journal = lab::closed_directory(ground)?.join("lab.jsonl");
        let words = lab::words(&[&device], "btrfs", &journal)?;
        let mut running = lab::run(ground, &[&device], &words).start()?;
        let mut halted = None;
        while halted.is_none() && !running.wait(Duration::from_millis(1)) {
            halted = children(running.id()).into_iter().find(|tool| is_halted(*tool, "mkfs.btrfs"));
        }
        let company = halted.and_then(company);
        running.signal(Signal::SIGKILL);
        running.answer()?;
        if let (Some(tool), Some(mut company)) = (halted, company) {
            let ended = succeeds_soon(|| !runs(&tool));
            kill_group(tool);
            company.wait()?;
            judge.that(ended, || "mkfs.btrfs goes on when its lab was killed".to_owned());
            wait_for_all(&[tool]);
            device.wait_until_unclaimed()?;
            let answer = lab::with_journal(ground, "--undo", &journal)?;
            return after(judge, &device, &Sum::default(), &answer, "killed within a tool", &[0]);
        }
    }
    Err(Stop::Skip(format!("set-up: the tool was too quick, {TRIES} times")))
}

/// Another process in the group of a tool, whose parent lives on: the kernel ends what is halted in a group that lost all others.
fn company(tool: u32) -> Option<Child> {
    let group = i32::try_from(tool).ok()?;
    Command::new("sleep").arg("100").process_group(group).spawn().ok()
}

/// Halts a process, if it is this program and has not ended before.
fn is_halted(process: u32, program: &str) -> bool {
    let comm = || std::fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    if comm().trim() != program {
        return false;
    }
    signal(process, Signal::SIGSTOP);
    succeeds_soon(|| state(process).is_none_or(|state| matches!(state, 'T' | 'Z')))
        && state(process) == Some('T')
}

/// Whether something comes true within some seconds.
fn succeeds_soon(is_true: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        is_true()
    })
}

/// The processes that a process has started, which lead groups of their own.
fn children(process: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Waits until the tools that a killed lab started have ended.
fn wait_for_all(tools: &[u32]) {
    for _ in 0..3000 {
        if !tools.iter().any(runs) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The letter of its state; `None` of a process that is not there.
fn state(process: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn runs(process: &u32) -> bool {
    state(*process).is_some_and(|state| state != 'Z')
}

/// Copies, of which half came to their end, are gone on with; that is killed or interrupted, three times, and then let be.
fn copies(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let make = "cd \"$1\"; for i in $(seq 300); do d=d$((i % 7)); mkdir -p $d; echo $i >$d/f$i; done; \
                ln d1/f1 twin; ln -s twin link; head -c 9000000 /dev/urandom >large; chown -hR \"$2\" .";
    let is_whole = "diff -r --no-dereference \"$1\" \"$2\" && [ $(find \"$1\" \"$2\"* | wc -l) = 622 ] && \
                    [ $(stat -c %h \"$2/twin\") = 2 ] && ! ls -A \"${2%/*}\" | grep -q '^[.]narrows'";
    let rounds = Rounds::all(ground.rounds(40, 6));
    side_by_side(ground, judge, "copies", rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            let (ground, judge) = (&lane.ground, &mut lane.judge);
            let (source, target) = (ground.directory("tree")?, ground.path("copy"));
            shell(make, &[text(&source)?, if random.coin() { "0" } else { "65534" }])?;
            let words = ["copy", text(&source)?, text(&target)?, "--resume"];
            if random.coin() {
                Run::new(ground, &words[..3]).answer()?;
            }
            for _ in 0..3 {
                let mut running = Run::new(ground, &words).start()?;
                running.wait(Duration::from_millis(random.below(250)));
                running.signal(if random.coin() { Signal::SIGKILL } else { Signal::SIGINT });
                let said = running.answer()?;
                judge.that(!said.says(&["not copied: "]), || format!("round {round}: {}", said.out));
            }
            let said = Run::new(ground, &words).answer()?;
            let is_whole = succeeds(is_whole, &words[1..3]);
            judge.that(said.status == Some(0) && is_whole, || {
                format!(
                    "round {round}: the copy is {}whole: {}",
                    if is_whole { "" } else { "not " },
                    said.short()
                )
            });
        }
        Ok(())
    })
    .map(drop)
}
