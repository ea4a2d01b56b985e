//! How much is written, where, and what is left of it.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::attack::{Attack, Class, Judge, Result, skip};
use super::device::{Device, MIB, sparse};
use super::ground::{Ground, text};
use super::lab;
use super::narrows::{Answer, Run, bench};
use super::tool::{needs, shell, succeeds};

const GIB: u64 = 1 << 30;
/// The most that a command writes by default.
const DEFAULT: u64 = 8 * GIB;

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        on_device(
            "bench leaves zeros and keeps its word",
            &["measure", "--as", "peak", "--size", "64MiB", "--duration", "300ms"],
        )
        .quick(),
        on_device(
            "bench with all tests of KDiskMark",
            &["measure", "--as", "kdiskmark", "--size", "64MiB", "--duration", "200ms"],
        ),
        on_device(
            "bench until it is sure",
            &["measure", "--as", "peak", "--size", "64MiB", "--max-time", "4s"],
        ),
        on_device(
            "sweep with writes",
            &[
                "measure",
                "--as",
                "sweep",
                "--block-size",
                "4KiB,1MiB",
                "--depth",
                "1,8",
                "--mix",
                "0",
                "--size",
                "64MiB",
                "--duration",
                "100ms",
            ],
        )
        .quick(),
        on_device(
            "sweep of streams",
            &[
                "measure",
                "--as",
                "threads",
                "--threads",
                "4",
                "--mix",
                "0",
                "--size",
                "64MiB",
                "--duration",
                "100ms",
            ],
        ),
        on_device(
            "bench of a few writes",
            &["measure", "--as", "peak", "--size", "8MiB", "--max-writes", "40MiB", "--max-time", "2s"],
        )
        .quick(),
        Attack::new(Class::Bytes, "a default bench of a directory", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "kdiskmark"])
        }),
        Attack::new(Class::Bytes, "a default bench of the whole box", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "real"])
        }),
        Attack::new(Class::Bytes, "a default steady-state bench", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "steady"])
        }),
        Attack::new(Class::Bytes, "a default sweep that writes", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "sweep", "--mix", "0"])
        }),
        Attack::new(Class::Bytes, "a default ladder with a scratch file", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "layers", "--mix", "100,0"])
        }),
        Attack::new(Class::Bytes, "a check that measures a directory", |ground, judge| {
            by_default(ground, judge, &["measure", "--as", "full"])
        }),
        Attack::new(Class::Bytes, "a bench leaves room on the file system", leaves_room).quick(),
        Attack::new(Class::Bytes, "a default bench of a device", default_on_device),
        Attack::new(Class::Bytes, "a lab leaves zeros and keeps its word", lab_word).quick(),
        Attack::new(Class::Bytes, "nothing beside the region is discarded", discards).quick(),
        Attack::new(Class::Bytes, "the kernel discards nothing beside a lab's slice", lab_discards),
        ended("ended by SIGTERM", Signal::SIGTERM).quick(),
        ended("ended by SIGINT", Signal::SIGINT).quick(),
        ended("ended by SIGHUP", Signal::SIGHUP),
        Attack::new(Class::Bytes, "the medium fills up", full).quick(),
    ]
}

/// The number of bytes behind `at most` or `never more than` in what was announced, with half of its last digit.
fn announced(said: &str) -> Option<u64> {
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let places = ["at most ", "never more than "].into_iter().flat_map(|words| said.match_indices(words));
    places.filter_map(|(at, words)| size(&said[at + words.len()..])).min()
}

/// A size at the beginning of a text.
fn size(text: &str) -> Option<u64> {
    let mut words = text.split(' ');
    let number: f64 = words.next()?.replace('~', "").parse().ok()?;
    let factor: f64 = match words.next()?.trim_end_matches(|c: char| !c.is_ascii_alphabetic()) {
        "B" => 1.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size that fits on a disk")]
    Some((number * factor * 1.006) as u64)
}

fn keeps_its_word(judge: &mut Judge, answer: &Answer, written: u64) {
    match announced(&answer.said_as_is()) {
        Some(most) => judge.that(written <= most, || {
            format!("{written} bytes were written, announced were at most {most}: {}", answer.short())
        }),
        None => {
            judge.that(false, || format!("it does not say how much it writes at most: {}", answer.short()))
        }
    }
}

/// A command on a blank device: it says how much it will write at most, keeps to that by the device's own counters, and leaves
/// zeros.
fn on_device(name: &str, words: &'static [&'static str]) -> Attack {
    Attack::new(Class::Bytes, name, move |ground: &Ground, judge: &mut Judge| {
        let device = Device::blank(ground, 200)?;
        let before = device.written();
        let target = [words[0], device.node(), "--write", "--i-own", device.identity(), "--warm-up", "1ms"];
        let answer = Run::new(ground, &[&target[..], &words[1..]].concat()).answer()?;
        answer.must_be_orderly(judge, words[0]);
        let is_budget = words.contains(&"--max-writes");
        let statuses: &[i32] = if is_budget { &[0, 1, 2] } else { &[0, 1] };
        judge.that(answer.status.is_some_and(|status| statuses.contains(&status)), || answer.short());
        let written = device.written() - before;
        keeps_its_word(judge, &answer, written);
        judge.that(written <= DEFAULT, || format!("{written} bytes were written"));
        judge.that(!is_budget || written <= 40 * MIB, || format!("{written} bytes, allowed were 40 MiB"));
        device.must_be_zero(judge, "afterwards")
    })
}

/// A file system of its own, whose device counts what is written to it.
fn mounted(ground: &Ground, bytes: u64) -> Result<(Device, PathBuf)> {
    needs(&["mkfs.ext4"])?;
    let image = ground.path("fs.img");
    sparse(&image, bytes)?;
    let device = Device::over(&image)?;
    let point = ground.directory("fs")?;
    shell(
        "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 \"$1\"; mount \"$1\" \"$2\"; sync",
        &[device.node(), text(&point)?],
    )?;
    Ok((device, point))
}

fn by_default(ground: &Ground, judge: &mut Judge, words: &[&str]) -> Result<()> {
    let (device, point) = mounted(ground, 20 * GIB)?;
    device.settle()?;
    let before = device.written();
    let answer = Run::new(ground, &[words, &[text(&point)?]].concat()).within(900).answer()?;
    answer.must_be_orderly(judge, "by default");
    // A container may be refused the drive below: layers without that rung are incomplete.
    let lacks_a_rung =
        words.contains(&"layers") && answer.said_as_is().contains("is not measured: cannot open");
    let most = if lacks_a_rung { 2 } else { 1 };
    judge.that(answer.status.is_some_and(|status| status <= most), || answer.short());
    device.settle()?;
    let written = device.written() - before;
    // The file system writes its own, too: its journal, and where a file lies.
    keeps_its_word(judge, &answer, written.saturating_sub(32 * MIB));
    judge.that(written <= DEFAULT + 32 * MIB, || format!("{written} bytes were written by default"));
    let left: Vec<_> =
        fs::read_dir(&point)?.flatten().filter(|entry| entry.file_name() != "lost+found").collect();
    judge.that(left.is_empty(), || format!("left: {left:?}"));
    succeeds("umount \"$1\"", &[text(&point)?]);
    Ok(())
}

/// Whatever is asked for, 5 % of the file system stay free, at every moment.
fn leaves_room(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let (device, point) = mounted(ground, 256 * MIB)?;
    fs::write(point.join("theirs"), vec![b'x'; 100 << 20])?;
    for (how, size) in [("peak", "64MiB"), ("peak", "240MiB"), ("peak", "1GiB"), ("sweep", "200MiB")] {
        let words =
            ["measure", text(&point)?, "--as", how, "--size", size, "--duration", "50ms", "--warm-up", "1ms"];
        let rest: &[&str] = if how == "sweep" { &["--block-size", "1MiB", "--depth", "4"] } else { &[] };
        let mut running = Run::new(ground, &[&words[..], rest].concat()).start()?;
        let (mut least, mut whole) = (u64::MAX, 0);
        while !running.wait(Duration::from_millis(2)) {
            let room = rustix::fs::statvfs(&point).map_err(std::io::Error::from)?;
            least = least.min(room.f_bavail * room.f_frsize);
            whole = room.f_blocks * room.f_frsize;
        }
        let answer = running.answer()?;
        answer.must_be_orderly(judge, size);
        judge.that(least >= whole / 20, || {
            format!("--as {how} --size {size}: only {least} of {whole} bytes were free: {}", answer.short())
        });
    }
    judge.that(fs::read(point.join("theirs"))?.iter().all(|byte| *byte == b'x'), || {
        "their file changed".to_owned()
    });
    succeeds("umount \"$1\"", &[text(&point)?]);
    drop(device);
    Ok(())
}

fn default_on_device(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = Device::blank(ground, 12 * 1024)?;
    let before = device.written();
    let words = ["measure", "--as", "kdiskmark", device.node(), "--write", "--i-own", device.identity()];
    let answer = Run::new(ground, &words).within(900).answer()?;
    judge.that(answer.status.is_some_and(|status| status < 2), || answer.short());
    let written = device.written() - before;
    keeps_its_word(judge, &answer, written);
    judge.that(written <= DEFAULT, || format!("{written} bytes were written by default"));
    device.must_be_zero(judge, "afterwards")
}

fn lab_word(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for file_system in ["none", "ext4"] {
        let device = Device::blank(ground, lab::SIZE)?;
        let journal = lab::closed_directory(ground)?.join("lab.jsonl");
        let words = lab::words(&[&device], file_system, &journal)?;
        let before = device.written();
        let answer = lab::run(ground, &[&device], &words).answer()?;
        judge.that(answer.status.is_some_and(|status| status < 2), || {
            format!("{file_system}: {}", answer.short())
        });
        keeps_its_word(judge, &answer, device.written() - before);
        device.must_be_zero(judge, file_system)?;
        judge.that(!journal.exists(), || "the journal is left".to_owned());
    }
    Ok(())
}

/// A device whose every byte takes room in its file: a discard makes a hole, so that each can be seen.
fn thick(ground: &Ground, mib: u64) -> Result<Device> {
    let image = ground.path("thick.img");
    shell("head -c \"$2M\" /dev/zero >\"$1\"", &[text(&image)?, &mib.to_string()])?;
    Device::over(&image)
}

/// Holes of a file outside of a region.
fn holes_beside(device: &Device, from: u64, to: u64) -> Result<u64> {
    device.settle()?;
    let file = fs::File::open(device.image())?;
    let end = file.metadata()?.len();
    let mut holes = 0;
    for (start, stop) in [(0, from), (to.min(end), end)] {
        let mut at = start;
        while at < stop {
            let data = rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(at)).unwrap_or(end).min(stop);
            holes += data - at;
            at = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(data)).unwrap_or(end).max(data + 4096);
        }
    }
    Ok(holes)
}

fn discards(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = thick(ground, 128)?;
    if holes_beside(&device, 0, 0)? != 0 {
        return skip("set-up: the file has holes");
    }
    let words = ["measure", "--as", "kdiskmark", device.node(), "--write", "--i-own", device.identity()];
    let quick = ["--as", "peak", "--size", "32MiB", "--duration", "100ms"];
    let answer = Run::new(ground, &[&words[..], &quick].concat()).answer()?;
    judge.that(answer.status.is_some_and(|status| status < 2), || answer.short());
    let holes = holes_beside(&device, MIB, 33 * MIB)?;
    judge.that(holes == 0, || format!("{holes} bytes beside the region were discarded"));
    Ok(())
}

/// mkfs discards what it is given. It must not be given the edges of the disk.
fn lab_discards(ground: &Ground, judge: &mut Judge) -> Result<()> {
    for file_system in ["ext4", "xfs", "btrfs"] {
        let device = thick(ground, lab::SIZE)?;
        let journal = lab::closed_directory(ground)?.join("lab.jsonl");
        let words = lab::words(&[&device], file_system, &journal)?;
        let answer = lab::run(ground, &[&device], &words).answer()?;
        judge.that(answer.status.is_some_and(|status| status < 2), || {
            format!("{file_system}: {}", answer.short())
        });
        let holes = holes_beside(&device, MIB, (lab::SIZE - 1) * MIB)?;
        judge.that(holes == 0, || format!("{file_system}: {holes} bytes of the edges were discarded"));
        fs::remove_file(device.image())?;
    }
    Ok(())
}

/// A bench that a signal ends: within two seconds, with zeros on the device.
fn ended(name: &str, by: Signal) -> Attack {
    Attack::new(Class::Bytes, name, move |ground: &Ground, judge: &mut Judge| {
        let mut random = ground.random("ended");
        let (rounds, mut on_record) = (ground.rounds(20, 2), 0);
        for round in 0..rounds {
            let device = Device::blank(ground, 200)?;
            let words = [
                "measure",
                "--as",
                "kdiskmark",
                device.node(),
                "--write",
                "--i-own",
                device.identity(),
                "--size",
                "100MiB",
            ];
            let mut running =
                Run::new(ground, &[&words[..], &["--as", "peak", "--duration", "2s"]].concat()).start()?;
            running.wait(Duration::from_millis(60 + random.below(6000)));
            let asked = Instant::now();
            running.signal(by);
            let in_time = running.wait(Duration::from_secs(5));
            let answer = running.answer()?;
            judge.that(in_time, || {
                format!("round {round}: it took {} ms to end", asked.elapsed().as_millis())
            });
            judge.that(!answer.err.contains("panicked"), || answer.short());
            // On a busy machine two seconds may end before clearing begins; the record knows what is left, which is to be rare.
            if answer.says(&["is on record"]) {
                on_record += 1;
                let clean = ["guard", device.node(), "--i-own", device.identity(), "--clean"];
                let cleaned = Run::new(ground, &clean).answer()?;
                judge.that(cleaned.status == Some(0), || cleaned.short());
            }
            device.must_be_zero(judge, &format!("round {round}: {}", answer.short()))?;
        }
        judge.that(on_record * 4 <= rounds, || format!("{on_record} of {rounds} were left to the record"));
        Ok(())
    })
}

/// The file behind the device has no room: writes fail half-way.
fn full(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("small")?;
    shell("mount -t tmpfs -o size=24m none \"$1\"", &[text(&place)?])?;
    let image = place.join("device.img");
    sparse(&image, 128 * MIB)?;
    let device = Device::over(&image)?;
    let answer = bench(ground, &device, 100).answer()?;
    answer.must_refuse(judge, "bench", &[2], &["i/o error", "no space", "error", "failed"]);
    device.must_be_zero(judge, "afterwards")?;
    drop(device);
    succeeds("umount \"$1\"", &[text(&place)?]);
    Ok(())
}
