//! `mdadm --detail /dev/md0` (mdadm `Detail.c`).

use super::{layout_number, level};
use crate::capture::Text;
use crate::capture::device::{array, device, key_of, learn, stack};
use crate::capture::size;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::MdArray;

/// Reads every array; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    // The device that the last heading named, which an array begins below.
    let mut heading: Option<String> = None;
    let mut current: Option<String> = None;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(key) = line.strip_suffix(':').filter(|line| line.starts_with("/dev/")).and_then(key_of) {
            heading = Some(key);
            current = None;
        } else if line.starts_with("Raid Level :") {
            // `--examine` prints a level too, below a member; that one's heading is no array.
            current = heading.take().filter(|key| key.starts_with("md"));
            found |= current.is_some();
        }
        let Some(name) = &current else { continue };
        let source = text.source(number);
        match line.split_once(" : ") {
            Some((key, value)) => {
                if key.trim() == "Array Size" {
                    let kib = value.split_whitespace().next().and_then(|kib| kib.parse().ok());
                    let size = kib.filter(|kib| *kib < 1 << 50).map(Bytes::from_kib);
                    learn(&mut device(machine, name).size, size, &source);
                }
                if let Some(md) = array(machine, name) {
                    field(md, key.trim(), value.trim(), &source);
                }
            }
            None => {
                if let Some((member, state)) = member(line) {
                    stack(machine, name, &member);
                    if let Some(md) = array(machine, name) {
                        md.members.entry(member).or_insert_with(|| Fact::known(state, source));
                    }
                }
            }
        }
    }
    found
}

fn field(md: &mut MdArray, key: &str, value: &str, source: &str) {
    let count = || value.split_whitespace().next().and_then(|count| count.parse::<u32>().ok());
    match key {
        "Raid Level" => learn(&mut md.level, level(value).map(str::to_owned), source),
        "Raid Devices" => learn(&mut md.raid_disks, count(), source),
        "Active Devices" => {
            let missing = md.raid_disks.get().zip(count()).map(|(all, active)| all.saturating_sub(active));
            // Levels without redundancy cannot lack a member.
            let is_redundant =
                md.level.value().is_some_and(|level| !matches!(level.as_str(), "raid0" | "linear"));
            learn(&mut md.degraded, missing.filter(|_| is_redundant), source);
        }
        "Chunk Size" => learn(&mut md.chunk, size::binary(value).filter(|chunk| chunk.get() > 0), source),
        "Layout" => learn(&mut md.layout, layout_number(value), source),
        "Intent Bitmap" | "Bitmap" => learn(&mut md.bitmap, Some(value.to_lowercase()), source),
        "State" => learn(&mut md.sync_action, action(value), source),
        "Rebuild Status" | "Resync Status" | "Check Status" | "Reshape Status" => {
            let percent = value.split_once('%').and_then(|(percent, _)| percent.trim().parse::<f64>().ok());
            let done = percent.filter(|done| (0.0..=100.0).contains(done)).map(|done| done / 100.0);
            learn(&mut md.sync_done, done, source);
            if key == "Reshape Status" {
                md.sync_action = Fact::known("reshape".to_owned(), source);
            }
        }
        _ => {}
    }
}

/// What the array is busy with, in the words of sysfs: `clean, degraded, recovering`.
fn action(state: &str) -> Option<String> {
    let names =
        [("recovering", "recover"), ("resyncing", "resync"), ("checking", "check"), ("reshaping", "reshape")];
    let mut words = state.split(',').map(str::trim);
    let running = words.find_map(|word| {
        names.iter().find(|(name, _)| word.split(' ').next() == Some(*name)).map(|(_, action)| *action)
    });
    Some(running.unwrap_or("idle").to_owned())
}

/// `0  8  129  0  active sync  /dev/sdi1`: number, major, minor, place, state, device.
fn member(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [number, major, minor, place, state @ .., path] = words.as_slice() else { return None };
    let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = *place == "-" || digits(place);
    if !([number, major, minor].into_iter().all(|word| digits(word) || *word == "-") && is_place) {
        return None;
    }
    Some((path.strip_prefix("/dev/").and_then(|_| key_of(path))?, state_of(state)?))
}

/// The state of a member in the words of sysfs.
fn state_of(words: &[&str]) -> Option<String> {
    let state = match words {
        ["active", "sync", rest @ ..] if rest.contains(&"writemostly") => "in_sync,write_mostly",
        ["active", "sync", ..] => "in_sync",
        ["faulty", ..] => "faulty",
        ["spare", ..] => "spare",
        ["journal", ..] => "journal",
        ["active", ..] | ["write-mostly", ..] | ["replacement", ..] => "in_sync",
        _ => return None,
    };
    Some(state.to_owned())
}
