//! Nothing is written to a device that holds data anywhere: loop devices with what real tools make, at places where a lost
//! partition table would have left it. Tests that need root skip aloud without it.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::devices::{self, Turn};
use crate::guard_device::{ALONE, note, shell};

const MIB: u64 = 1 << 20;

/// A loop device over a sparse file, detached when dropped.
pub(crate) struct Disk {
    pub(crate) device: PathBuf,
    /// Open only while it is read or written: who has it open is a user of the device.
    image: tempfile::TempPath,
    _turn: Turn,
}

impl Disk {
    /// `None`, with a note, where loop devices cannot be had.
    pub(crate) fn blank(size: u64) -> Option<Self> {
        let turn = devices::turn(&ALONE);
        let image = tempfile::NamedTempFile::new().expect("a temporary file");
        if let Err(error) = image.as_file().set_len(size) {
            note(&format!("skipped: no file of {size} bytes here: {error}"));
            return None;
        }
        let image = image.into_temp_path();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        match output {
            Ok(output) if output.status.success() => {
                let device: PathBuf = String::from_utf8_lossy(&output.stdout).trim().into();
                devices::forget_partitions(&device);
                Some(Self { device, image, _turn: turn })
            }
            _ => {
                note("skipped: no loop device here");
                None
            }
        }
    }

    pub(crate) fn own(&self) -> &str {
        self.image.to_str().expect("a name in UTF-8")
    }

    /// Puts bytes on the device without opening it.
    pub(crate) fn put(&self, at: u64, bytes: &[u8]) {
        let image = fs::File::options().write(true).open(&self.image).expect("opens");
        image.write_all_at(bytes, at).expect("room for it");
    }

    /// How much of the file takes room, looked at without opening it.
    pub(crate) fn used(&self) -> u64 {
        512 * fs::metadata(&self.image).expect("is there").blocks()
    }

    pub(crate) fn narrows(&self, words: &[&str]) -> Command {
        let mut narrows = Command::new(crate::narrows_binary());
        let (first, rest) = words.split_first().expect("a command");
        narrows.arg(first).arg(&self.device).args(["--i-own", self.own()]).args(rest);
        narrows.stdin(Stdio::null());
        narrows
    }

    /// Asks again where a test beside this one was in the way: the ring of one hid what it holds, descriptors were on their way to a
    /// program of one, or a tool of one that looks at every device came and went. All refuse, rightly.
    pub(crate) fn guard(&self) -> (Option<i32>, Value) {
        const AGAIN: usize = 3;
        let mut answer = self.guard_once();
        for _ in 0..AGAIN {
            let text = summaries(&answer.1);
            if !text.contains("files registered with io_uring, hidden")
                && !text.contains("descriptors on their way, hidden")
                && !names_a_process_that_is_gone(&text)
            {
                break;
            }
            answer = self.guard_once();
        }
        answer
    }

    fn guard_once(&self) -> (Option<i32>, Value) {
        let output = self.narrows(&["guard", "--json"]).output().expect("runs");
        let json = serde_json::from_slice(&output.stdout);
        let json =
            json.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code(), json)
    }

    /// The first places of runs of data, read through the file.
    pub(crate) fn data(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let (mut buffer, zeros) = (vec![0; MIB as usize], vec![0; MIB as usize]);
        let image = fs::File::open(&self.image).expect("opens");
        let size = fs::metadata(&self.image).expect("is there").len();
        for at in (0..size).step_by(MIB as usize) {
            let length = image.read_at(&mut buffer, at).expect("is readable");
            // Compared as a whole first: byte by byte takes a hundred times longer without optimisation.
            if buffer[..length] != zeros[..length] {
                found
                    .extend(buffer[..length].iter().position(|byte| *byte != 0).map(|byte| at + byte as u64));
            }
        }
        found
    }

    fn reads(&self) -> u64 {
        let name = self.device.file_name().expect("a name");
        let stat =
            fs::read_to_string(Path::new("/sys/class/block").join(name).join("stat")).expect("is there");
        stat.split_whitespace().next().and_then(|reads| reads.parse().ok()).expect("a number")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

/// What a command says, whatever of it is refused.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), output.stderr.as_slice()].concat()).into_owned()
}

/// Whether a text names a process, `process 5 (dd)`, that is gone by now. One of narrows itself excuses nothing: its own
/// processes must never be in its way.
fn names_a_process_that_is_gone(text: &str) -> bool {
    text.split("process ").skip(1).any(|rest| {
        let Some((number, name)) = rest.split_once(" (") else { return false };
        number.parse::<u32>().is_ok()
            && !name.starts_with("narrows")
            && !Path::new("/proc").join(number).exists()
    })
}

fn summaries(json: &Value) -> String {
    let reasons = json["reasons"].as_array().expect("reasons");
    reasons.iter().map(|reason| format!("{}\n", reason["summary"].as_str().unwrap_or_default())).collect()
}

/// The bytes of a file system that a tool makes in a file of so many MiB.
fn made(mib: u64, command: &str) -> Option<Vec<u8>> {
    let image = tempfile::NamedTempFile::new().expect("a temporary file");
    image.as_file().set_len(mib * MIB).expect("a sparse file");
    if !shell(command, image.path().to_str().expect("a name")) {
        note(&format!("skipped: `{command}` does not work here"));
        return None;
    }
    Some(fs::read(image.path()).expect("is readable"))
}

#[test]
fn data_in_the_middle_refuse_and_stay_whatever_is_asked() {
    let Some(disk) = Disk::blank(256 * MIB) else { return };
    disk.put(100 * MIB, &b"PRECIOUS".repeat(1000));
    let (status, json) = disk.guard();
    assert_eq!((status, &json["may_write"]), (Some(1), &Value::Bool(false)), "{json}");
    assert!(summaries(&json).contains("holds data at byte 104857600: text, `PRECIOUSPRECIOUS"), "{json}");
    let ways = json["blank_by"].as_array().expect("ways");
    assert!(
        ways.iter().any(|way| way["command"]
            .as_str()
            .is_some_and(|text| text.starts_with("blkdiscard -z /dev/loop")))
    );
    for words in [
        &["measure", "--write", "--size", "200MiB", "--as", "peak", "--duration", "50ms"][..],
        // The region that would be written ends before the data: they are found all the same.
        &["measure", "--write", "--size", "16MiB", "--as", "peak", "--duration", "50ms"],
        &[
            "measure",
            "--as",
            "sweep",
            "--write",
            "--size",
            "16MiB",
            "--mix",
            "0",
            "--depth",
            "1",
            "--block-size",
            "64KiB",
            "--duration",
            "50ms",
        ],
    ] {
        let output = disk.narrows(words).output().expect("runs");
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("holds data at byte 104857600"), "{text}");
        assert!(text.contains("`wipefs` alone is not enough") && text.contains("blkdiscard -z"), "{text}");
    }
    assert_eq!(disk.data(), [100 * MIB], "nothing else is there, and they are");
}

#[test]
fn any_single_byte_refuses() {
    let Some(disk) = Disk::blank(64 * MIB + 512 * 3) else { return };
    for at in [0, 511, MIB - 1, MIB, 7 * MIB + 4097, 33 * MIB + 12_345, 63 * MIB, 64 * MIB + 512 * 3 - 1] {
        disk.put(at, &[1]);
        let (status, json) = disk.guard();
        assert_eq!(status, Some(1), "{at}: {json}");
        assert!(summaries(&json).contains(&format!("at byte {at}")), "{at}: {json}");
        disk.put(at, &[0]);
    }
    let (status, json) = disk.guard();
    assert_eq!(status, Some(0), "{json}");
}

#[test]
fn file_systems_behind_a_lost_partition_table_refuse_and_are_named() {
    let kinds = [
        (32, "ext2, ext3 or ext4", "mkfs.ext4 -q -F $1"),
        (320, "XFS", "mkfs.xfs -q -f $1"),
        (128, "btrfs", "mkfs.btrfs -q -f $1"),
        (64, "F2FS", "mkfs.f2fs -q -f $1"),
        (64, "FAT", "mkfs.vfat -F 32 $1"),
        (16, "NTFS", "mkfs.ntfs -q -F -Q $1"),
        (16, "swap space", "mkswap $1"),
        (
            32,
            "LUKS",
            "printf k | cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $1 -",
        ),
    ];
    // `attacks/contents` has each kind at each of these places.
    for ((mib, name, command), start) in kinds.into_iter().zip([MIB, 63 * 512, 200 * MIB].into_iter().cycle())
    {
        let Some(bytes) = made(mib, command) else { continue };
        let Some(disk) = Disk::blank(600 * MIB) else { return };
        disk.put(start, &bytes);
        // The edges of the device are zero, whatever stands in its first MiB.
        let before = disk.data();
        let (status, json) = disk.guard();
        let text = summaries(&json);
        assert_eq!(status, Some(1), "{name} at {start}: {json}");
        assert!(text.contains(&format!("what looks like {name}")), "{name} at {start}: {text}");
        assert!(text.contains("a lost partition table?"), "{name} at {start}: {text}");
        assert_eq!(before, disk.data(), "nothing changed");
    }
}

#[test]
fn what_is_left_of_a_file_system_whose_ends_were_wiped_refuses() {
    for (mib, command) in
        [(256, "mkfs.ext4 -q -F $1"), (320, "mkfs.xfs -q -f $1"), (128, "mkfs.btrfs -q -f $1")]
    {
        let Some(bytes) = made(mib, command) else { continue };
        let Some(disk) = Disk::blank(mib * MIB) else { return };
        disk.put(0, &bytes);
        disk.put(0, &vec![0; MIB as usize]);
        disk.put((mib - 1) * MIB, &vec![0; MIB as usize]);
        let (status, json) = disk.guard();
        assert_eq!(status, Some(1), "{command}: {json}");
    }
}

#[test]
fn a_large_device_is_searched_in_bounded_time_with_bounded_reads() {
    let Some(disk) = Disk::blank(64 << 30) else { return };
    let (before, begin) = (disk.reads(), Instant::now());
    let (status, json) = disk.guard();
    let reads = disk.reads() - before;
    assert_eq!(status, Some(0), "{json}");
    assert!(begin.elapsed() < Duration::from_secs(125) && reads <= 4_200_000, "{reads} reads: {json}");
    let searched = &json["searched"];
    let share = searched["at_most_share"].as_f64();
    assert_eq!(searched["method"] == "random", share.is_some(), "{json}");
    // A file system that begins at any GiB is found whatever the speed.
    disk.put(37 << 30, b"XFSB");
    let (status, json) = disk.guard();
    assert_eq!(status, Some(1), "{json}");
    assert!(summaries(&json).contains("what looks like XFS (file system) begins at 37 GiB"), "{json}");
}

/// Takes up to two minutes: `cargo test --test cli -- --ignored four_terabytes`.
#[test]
#[ignore = "takes up to two minutes"]
fn four_terabytes_take_no_more_reads_than_promised() {
    let Some(disk) = Disk::blank(4_000_000_000_000) else { return };
    let (before, begin) = (disk.reads(), Instant::now());
    let (status, json) = disk.guard();
    let (reads, took) = (disk.reads() - before, begin.elapsed());
    note(&format!("{reads} reads in {took:?}: {}", json["searched"]));
    assert_eq!(status, Some(0), "{json}");
    assert!(reads <= 4_200_000 && took < Duration::from_secs(120));
}

#[test]
fn the_plan_is_said_before_a_long_search() {
    let Some(disk) = Disk::blank(1 << 40) else { return };
    // As soon as the plan is said the search may end.
    let mut narrows =
        disk.narrows(&["guard"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("runs");
    let mut line = String::new();
    let stderr = narrows.stderr.take().expect("is piped");
    io::BufRead::read_line(&mut io::BufReader::new(stderr), &mut line).expect("is readable");
    narrows.kill().and_then(|()| narrows.wait()).expect("ends");
    assert!(
        line.starts_with("searches loop")
            && line.contains("(1.1 TB) for data: reads ")
            && line.contains("; about "),
        "{line}"
    );
}
