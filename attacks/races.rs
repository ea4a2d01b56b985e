//! Things that change while narrows looks or writes. Each is tried many times, at moments that the seed decides.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::attack::{Attack, Class, Judge, Result, skip};
use super::device::{Device, MIB};
use super::ground::{Ground, text};
use super::lab::{self, Mounted};
use super::lanes::{Lane, Rounds, side_by_side};
use super::narrows::{Run, Running, bench};
use super::random::Random;
use super::tool::{Holder, needs, shell, succeeds};

/// How large the devices are, and how much of them is written, in MiB.
const SIZE: u64 = 256;
const REGION: u64 = 200;
/// What an answer may say of a writer who came in between.
const ELSE: &[&str] =
    &["somebody", "something else", "another", "changed", "holds", "data", "foreign", "process", "loop"];

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(Class::Race, "data that appears before the look ends", before_the_end).quick(),
        Attack::new(Class::Race, "data that appears later, outside of the region", later).quick(),
        Attack::new(Class::Race, "data where the file system of a lab will write", over_mounted).quick(),
        Attack::new(Class::Race, "a file system that is made meanwhile", made_meanwhile).quick(),
        Attack::new(Class::Race, "a node that is replaced meanwhile", node_replaced).quick(),
        Attack::new(Class::Race, "a link to the node that is swapped meanwhile", link_swapped),
        Attack::new(Class::Race, "the file behind the device is written meanwhile", |ground, judge| {
            behind(ground, judge, |device| {
                super::device::put(device.image(), 150 * MIB, &[b'x'; 4096])?;
                Ok(())
            })
        })
        .quick(),
        Attack::new(Class::Race, "the offset of the device is changed meanwhile", |ground, judge| {
            behind(ground, judge, |device| window(device, 24))
        }),
        Attack::new(Class::Race, "the size limit of the device is changed meanwhile", |ground, judge| {
            behind(ground, judge, |device| window(device, 32))
        }),
        Attack::new(Class::Race, "the file behind the device is cut off meanwhile", |ground, judge| {
            behind(ground, judge, |device| shell("truncate -s 255M \"$1\"", &[device.identity()]).map(drop))
        }),
        Attack::new(Class::Race, "two at once on one device", |ground, judge| two(ground, judge, false))
            .quick(),
        Attack::new(Class::Race, "two at once on twins", |ground, judge| two(ground, judge, true)).quick(),
        Attack::new(Class::Race, "data on the second device while the first is measured", second_device)
            .quick(),
        Attack::new(Class::Race, "a second device that is refused is not undone", refused_device).quick(),
    ]
}

/// Starts a bench and waits until it writes; how long that took. `None` when it ended without writing.
fn until_it_writes(device: &Device, run: Run) -> Result<(Running, Option<Duration>)> {
    let written = device.written();
    let begin = Instant::now();
    let mut running = run.start()?;
    while device.written() == written {
        if running.wait(Duration::from_millis(1)) {
            return Ok((running, None));
        }
    }
    Ok((running, Some(begin.elapsed())))
}

/// How long the look takes on such a device here.
fn length_of_look(ground: &Ground, device: &Device) -> Result<Duration> {
    let (running, begun) = until_it_writes(device, bench(ground, device, REGION))?;
    let answer = running.answer()?;
    device.erase()?;
    match begun {
        Some(time) => Ok(time),
        None => skip(format!("set-up: it never wrote: {}", answer.short())),
    }
}

fn moment(random: &mut Random, longest: Duration) -> Duration {
    Duration::from_micros(random.below(u64::try_from(longest.as_micros()).unwrap_or(u64::MAX)))
}

/// narrows is stopped at a random moment before its first write; a block is written; narrows goes on. It must refuse.
fn before_the_end(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let rounds = Rounds { wanted: ground.rounds(100, 5), most: ground.rounds(400, 25) };
    let hit = side_by_side(ground, judge, "before the look ends", rounds, |lane| {
        let device = Device::blank(&lane.ground, SIZE)?;
        let look = length_of_look(&lane.ground, &device)?;
        while let Some((round, mut random)) = lane.next() {
            before_the_end_once(lane, &device, look, round, &mut random)?;
        }
        Ok(())
    })?;
    if hit == 0 {
        skip(format!("no moment before the first write was met in {} tries", rounds.most))
    } else {
        Ok(())
    }
}

fn before_the_end_once(
    lane: &mut Lane<'_>,
    device: &Device,
    look: Duration,
    round: u64,
    random: &mut Random,
) -> Result<()> {
    let written = device.written();
    let mut running = bench(&lane.ground, device, REGION).start()?;
    running.wait(moment(random, look));
    running.signal(Signal::SIGSTOP);
    let at = MIB + random.below((REGION - 2) * 256) * 4096;
    thread::sleep(Duration::from_millis(5));
    let is_looking = device.written() == written && !running.has_ended();
    let block = random.bytes(4096);
    if is_looking {
        device.plant(at, &block)?;
    }
    running.signal(Signal::SIGCONT);
    if !is_looking {
        super::ground::kill_group(running.id());
        running.answer()?;
        return device.erase();
    }
    lane.count();
    let answer = running.answer()?;
    let kept = device.block(at)? == block;
    let judge = &mut lane.judge;
    judge.that(kept, || format!("round {round}: the block at byte {at} is gone: {}", answer.short()));
    judge.that(answer.status == Some(2), || format!("round {round}: data at byte {at}: {}", answer.short()));
    judge.that(answer.says(ELSE), || format!("round {round}: the reason is not named: {}", answer.short()));
    device.erase()
}

/// While it writes, somebody writes elsewhere on the device. That must be seen at once, and stay.
fn later(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(100, 4));
    side_by_side(ground, judge, "later data", rounds, |lane| {
        let device = Device::blank(&lane.ground, SIZE)?;
        while let Some((round, mut random)) = lane.next() {
            later_once(lane, &device, round, &mut random)?;
        }
        Ok(())
    })
    .map(drop)
}

fn later_once(lane: &mut Lane<'_>, device: &Device, round: u64, random: &mut Random) -> Result<()> {
    let words = [
        "measure",
        "--as",
        "kdiskmark",
        device.node(),
        "--write",
        "--i-own",
        device.identity(),
        "--size",
        "64MiB",
    ];
    let rest = ["--as", "peak", "--duration", "2s", "--warm-up", "1ms"];
    let run = Run::new(&lane.ground, &[&words[..], &rest].concat());
    let (mut running, begun) = until_it_writes(device, run)?;
    if begun.is_none() {
        return skip(format!("set-up: it never wrote: {}", running.answer()?.short()));
    }
    thread::sleep(moment(random, Duration::from_millis(1500)));
    // Beyond what is written, now and then in the last MiB, which is nobody's to write.
    let at = if random.coin() { (SIZE - 1) * MIB + 4096 } else { (100 + random.below(150)) * MIB + 8192 };
    let block = random.bytes(4096);
    device.plant(at, &block)?;
    let planted = Instant::now();
    running.wait(Duration::from_secs(60));
    let stopped_after = planted.elapsed();
    let answer = running.answer()?;
    let kept = device.block(at)? == block;
    let judge = &mut lane.judge;
    judge.that(kept, || format!("round {round}: the block at byte {at} is gone: {}", answer.short()));
    judge.that(answer.status == Some(2), || format!("round {round}: not seen: {}", answer.short()));
    judge.that(answer.says(ELSE), || format!("round {round}: the reason is not named: {}", answer.short()));
    // 250 ms until it is seen, and what a busy machine takes to end a process.
    judge.that(stopped_after < Duration::from_millis(2500), || {
        format!("round {round}: it went on for {} ms", stopped_after.as_millis())
    });
    device.erase()
}

/// While it writes, `change` does something to what is behind the device. It must end, say so, and have lost no byte there.
fn behind(ground: &Ground, judge: &mut Judge, change: fn(&Device) -> Result<()>) -> Result<()> {
    let device = Device::blank(ground, SIZE)?;
    let words = [
        "measure",
        "--as",
        "kdiskmark",
        device.node(),
        "--write",
        "--i-own",
        device.identity(),
        "--size",
        "64MiB",
    ];
    let rest = ["--as", "peak", "--duration", "2s", "--warm-up", "1ms"];
    let run = Run::new(ground, &[&words[..], &rest].concat());
    let (mut running, begun) = until_it_writes(&device, run)?;
    if begun.is_none() {
        return skip(format!("set-up: it never wrote: {}", running.answer()?.short()));
    }
    thread::sleep(Duration::from_millis(1000));
    change(&device)?;
    let changed = Instant::now();
    running.wait(Duration::from_secs(60));
    let took = changed.elapsed();
    let answer = running.answer()?;
    answer.must_refuse(judge, "meanwhile", &[2], &["the file behind", "what is behind"]);
    judge.that(took < Duration::from_millis(2500), || format!("it went on for {} ms", took.as_millis()));
    let block = device.block(150 * MIB)?;
    judge.that(block.iter().all(|byte| *byte == 0 || *byte == b'x'), || "it wrote elsewhere".to_owned());
    Ok(())
}

/// Moves a loop device by 140 MiB, or limits it to that: the word of `struct loop_info64` at `at`.
fn window(device: &Device, at: u32) -> Result<()> {
    needs(&["perl"])?;
    let script = "open(F, '+<', $ARGV[0]) or die; my $s = \"\\0\" x 232; ioctl(F, 0x4C05, $s) or die; \
                  substr($s, $ARGV[1], 8) = pack('Q', 140 << 20); ioctl(F, 0x4C04, $s) or die";
    shell("perl -e \"$1\" \"$2\" \"$3\"", &[script, device.node(), &at.to_string()]).map(drop)
}

/// The file system of a running lab keeps a change of its root directory in memory. Somebody writes just where that will go,
/// through the disk's node: the lab sees it and stops, and to unmount its file system as usual would write over it.
fn over_mounted(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["debugfs"])?;
    let rounds = Rounds::all(ground.rounds(20, 2));
    side_by_side(ground, judge, "over a mounted file system", rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            over_mounted_once(lane, round, &mut random)?;
        }
        Ok(())
    })
    .map(drop)
}

fn over_mounted_once(lane: &mut Lane<'_>, round: u64, random: &mut Random) -> Result<()> {
    let (ground, judge) = (&lane.ground, &mut lane.judge);
    let device = Device::blank(ground, lab::SIZE)?;
    let journal = lab::closed_directory(ground)?.join("lab.jsonl");
    let words = lab::words(&[&device], "ext4", &journal)?;
    let words: Vec<&str> = words.into_iter().map(|word| if word == "100ms" { "3s" } else { word }).collect();
    let mut running = lab::run(ground, &[&device], &words).start()?;
    let mounted = loop {
        match Mounted::of(&running, &device) {
            Some(mounted) => break mounted,
            None if running.wait(Duration::from_millis(1)) => {
                return skip(format!("set-up: nothing was mounted: {}", running.answer()?.short()));
            }
            None => {}
        }
    };
    thread::sleep(moment(random, Duration::from_millis(1500)));
    let at = place_of_root_directory(&mounted.partition)?;
    shell("touch \"$1\"", &[text(&mounted.point)?])?;
    let block = random.bytes(4096);
    device.plant(at, &block)?;
    let answer = running.answer()?;
    let kept = device.block(at)? == block;
    judge.that(kept, || format!("round {round}: the block at byte {at} is gone: {}", answer.short()));
    judge.that(answer.status == Some(2), || format!("round {round}: not seen: {}", answer.short()));
    judge.that(answer.says(ELSE), || format!("round {round}: the reason is not named: {}", answer.short()));
    Ok(())
}

/// Where the disk has the block with the inode of an ext4's root directory. debugfs says `located at block 38, offset 0x0100` and
/// `Block size: 4096`.
fn place_of_root_directory(partition: &str) -> Result<u64> {
    // In one call: the lab may end between two. Without the bitmaps (-c), which the kernel changes meanwhile.
    let told = shell("printf 'imap <2>\\nstats -h\\n' | debugfs -c -f - \"$1\" 2>&1", &[partition])?;
    let name = partition.trim_start_matches("/dev/");
    let start = shell("cat \"/sys/class/block/$1/start\"", &[name])?;
    let number = |before: &str| -> Option<u64> {
        let rest = told.split_once(before)?.1.trim_start();
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let place =
        || Some(start.parse::<u64>().ok()? * 512 + number("located at block")? * number("Block size:")?);
    place()
        .map_or_else(|| skip(format!("set-up: debugfs does not say where the root directory is: {told}")), Ok)
}

/// mkfs runs at a random moment of a look. Where it succeeds, its file system must be whole in the end.
fn made_meanwhile(ground: &Ground, judge: &mut Judge) -> Result<()> {
    needs(&["mkfs.ext4", "e2fsck"])?;
    let rounds = Rounds::all(ground.rounds(100, 4));
    side_by_side(ground, judge, "made meanwhile", rounds, |lane| {
        let device = Device::blank(&lane.ground, SIZE)?;
        let look = length_of_look(&lane.ground, &device)? * 3 / 2;
        while let Some((round, mut random)) = lane.next() {
            let mut running = bench(&lane.ground, &device, REGION).start()?;
            running.wait(moment(&mut random, look));
            let made = succeeds("mkfs.ext4 -q -F \"$1\" 2>/dev/null && sync \"$1\"", &[device.node()]);
            let answer = running.answer()?;
            device.settle()?;
            let judge = &mut lane.judge;
            if made {
                let whole = succeeds("e2fsck -fn \"$1\" >/dev/null 2>&1", &[device.identity()]);
                judge
                    .that(whole, || format!("round {round}: the file system is damaged: {}", answer.short()));
                judge.that(answer.status == Some(2), || {
                    format!("round {round}: not refused: {}", answer.short())
                });
            } else {
                judge.that(!answer.err.contains("panicked"), || answer.short());
            }
            device.erase()?;
        }
        Ok(())
    })
    .map(drop)
}

/// The typed path is a node in a directory of ours, and is now one device, now another. The other must not be written.
fn node_replaced(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let make = "mknod \"$1.new\" b $(cat /sys/block/$3/dev | tr : ' '); mv -T \"$1.new\" \"$1\"";
    swapped(ground, judge, make)
}

fn link_swapped(ground: &Ground, judge: &mut Judge) -> Result<()> {
    swapped(ground, judge, "ln -s \"/dev/$3\" \"$1.new\"; mv -T \"$1.new\" \"$1\"")
}

fn swapped(ground: &Ground, judge: &mut Judge, make: &str) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(100, 6));
    side_by_side(ground, judge, "replaced", rounds, |lane| swapped_in(lane, make)).map(drop)
}

fn swapped_in(lane: &mut Lane<'_>, make: &str) -> Result<()> {
    let ground = &lane.ground;
    let (device, other) = (Device::blank(ground, SIZE)?, Device::blank(ground, SIZE)?);
    let place = ground.directory("nodes")?;
    let node = place.join("disk");
    let ready = ground.path("ready");
    let script = format!(
        "swap() {{ rm -f \"$1.new\"; {make}; }}; swap \"$1\" \"$2\" \"$2\"; : >\"$4\"; while :; do swap \"$1\" x \"$3\"; sleep 0.00$5; swap \"$1\" x \"$2\"; sleep 0.00$5; done",
    );
    let mut pace = ground.random(text(&node)?);
    let words = [text(&node)?, device.name(), other.name(), text(&ready)?, &pace.below(9).to_string()];
    let _swapper = Holder::shell(&script, &words, &ready)?;
    while let Some((round, _)) = lane.next() {
        let written = other.written();
        let words = [
            "measure",
            "--as",
            "kdiskmark",
            text(&node)?,
            "--write",
            "--i-own",
            device.identity(),
            "--size",
            "32MiB",
        ];
        let answer = Run::new(&lane.ground, &[&words[..], &super::narrows::BENCH].concat()).answer()?;
        answer.must_be_orderly(&mut lane.judge, "bench");
        let touched = other.written() - written;
        lane.judge.that(touched == 0, || {
            format!("round {round}: {touched} bytes written to the other: {}", answer.short())
        });
    }
    Ok(())
}

/// Two that start together: never both may write.
fn two(ground: &Ground, judge: &mut Judge, on_twins: bool) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(100, 4));
    side_by_side(ground, judge, "two", rounds, |lane| {
        let device = Device::blank(&lane.ground, SIZE)?;
        let link = lane.ground.path("twin");
        std::fs::hard_link(device.image(), &link)?;
        let twin = if on_twins { Some(Device::over(&link)?) } else { None };
        let second = twin.as_ref().unwrap_or(&device);
        while let Some((round, _)) = lane.next() {
            let first = bench(&lane.ground, &device, 64).start()?;
            let second = bench(&lane.ground, second, 64).start()?;
            let answers = [first.answer()?, second.answer()?];
            let wrote = answers.iter().filter(|answer| answer.status != Some(2)).count();
            let most = usize::from(!on_twins);
            lane.judge
                .that(wrote <= most, || format!("round {round}: {wrote} wrote: {}", answers[1].short()));
            device.erase()?;
        }
        Ok(())
    })
    .map(drop)
}

/// A lab of two devices: data appears on the second while the first is measured.
fn second_device(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let rounds = Rounds::all(ground.rounds(100, 3));
    side_by_side(ground, judge, "second device", rounds, |lane| {
        while let Some((round, mut random)) = lane.next() {
            second_device_once(lane, round, &mut random)?;
        }
        Ok(())
    })
    .map(drop)
}

fn second_device_once(lane: &mut Lane<'_>, round: u64, random: &mut Random) -> Result<()> {
    let (ground, judge) = (&lane.ground, &mut lane.judge);
    let (first, second) = (Device::blank(ground, lab::SIZE)?, Device::blank(ground, lab::SIZE)?);
    let journal = lab::closed_directory(ground)?.join("lab.jsonl");
    let words = lab::words(&[&first, &second], "none", &journal)?;
    let mut running = lab::run(ground, &[&first, &second], &words).start()?;
    let (written, untouched) = (first.written(), second.written());
    while first.written() == written && !running.wait(Duration::from_millis(1)) {}
    let is_early = second.written() == untouched;
    // Where no layout of one device reaches; in half of the rounds in the last MiB.
    let at = if random.coin() { (lab::SIZE - 1) * MIB } else { (lab::SIZE - 40) * MIB + 4096 };
    let block = random.bytes(4096);
    second.plant(at, &block)?;
    let answer = running.answer()?;
    let kept = second.block(at)? == block;
    judge.that(kept, || format!("round {round}: byte {at} of the second is gone: {}", answer.short()));
    judge.that(!is_early || answer.status == Some(2), || {
        format!("round {round}: not seen: {}", answer.short())
    });
    if journal.exists() {
        let undone = lab::with_journal(ground, "--undo", &journal)?;
        let kept = second.block(at)? == block;
        judge.that(kept, || format!("round {round}: undo took byte {at}: {}", undone.short()));
    }
    Ok(())
}

/// The second device holds data in its middle and in its first 32 MiB from the beginning: refused, and then not undone.
fn refused_device(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for at in [4 * MIB, 31 * MIB + 4096, 133 * MIB] {
        let (first, second) = (Device::blank(ground, lab::SIZE)?, Device::blank(ground, lab::SIZE)?);
        super::device::put(second.image(), at, &b"mine, not the lab's\n".repeat(200))?;
        let before = second.sum()?;
        let journal = lab::closed_directory(ground)?.join("lab.jsonl");
        let words = lab::words(&[&first, &second], "ext4", &journal)?;
        let answer = lab::run(ground, &[&first, &second], &words).answer()?;
        answer.must_refuse(judge, "lab", &[2], &["holds", "data", "not zero"]);
        let after = if Path::new(&journal).exists() {
            Some(lab::with_journal(ground, "--undo", &journal)?)
        } else {
            None
        };
        let difference = before.difference(&second.sum()?);
        judge.that(difference.is_none(), || {
            let said = after.as_ref().map_or_else(|| answer.short(), super::narrows::Answer::short);
            format!("data at byte {at}: {}: {said}", difference.unwrap_or_default())
        });
        first.must_be_zero(judge, "the first device")?;
    }
    Ok(())
}
