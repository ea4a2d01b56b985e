//! Linux software RAID: `/proc/mdstat`, `mdadm --detail` and `mdadm --examine`.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Nanos};
use narrows_machine::Machine;
use narrows_machine::block::MdArray;
use narrows_machine::block::is_numbered;
use narrows_machine::block::md::parse_speed;

use super::device::{array, device, key_of, known, learn, stack};
use super::fill::{Fill, Than};
use super::{Output, Part, Text, number, read_outputs};
use crate::text::is_digits;

/// Reads every output about md arrays in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

const OUTPUTS: [Output; 3] = [
    ("/proc/mdstat", &[" blocks"], read_mdstat),
    ("mdadm --detail", &["Raid Level"], read_detail),
    ("mdadm --examine", &["Array UUID"], read_examine),
];

/// The number of an algorithm of RAID-5 and RAID-6 (kernel `include/uapi/linux/raid/md_p.h` and
/// `drivers/md/raid5.h`, `ALGORITHM_*`), or of the copies of RAID-10 (md(4): near copies in the lowest byte, far copies
/// in the next, and a bit for offset).
fn layout_number(name: &str) -> Option<u64> {
    match name {
        "left-asymmetric" => Some(0),
        "right-asymmetric" => Some(1),
        "left-symmetric" => Some(2),
        "right-symmetric" => Some(3),
        _ => name.split_once('=').and_then(|(kind, count)| layout_of_copies(kind, count)),
    }
}

fn layout_of_copies(kind: &str, count: &str) -> Option<u64> {
    let copies = count.parse::<u8>().ok().filter(|copies| *copies > 0).map(u64::from)?;
    match kind {
        "near" => Some(0x100 | copies),
        "far" => Some(copies << 8 | 1),
        "offset" => Some(0x10000 | copies << 8 | 1),
        _ => None,
    }
}

/// `raid5` for what mdadm and the kernel also call `raid4`, `raid6`…; `None` for anything that is no level.
fn level(word: &str) -> Option<String> {
    let is_personality = matches!(word, "linear" | "multipath" | "faulty" | "container");
    let is_raid = matches!(word, "raid0" | "raid1" | "raid10" | "raid4" | "raid5" | "raid6");
    (is_raid || is_personality).then(|| word.to_owned())
}

/// `/proc/mdstat` (kernel `drivers/md/md.c`, `md_seq_show`, and the `status` functions of the levels).
///
/// Reads every array; whether there was one.
fn read_mdstat(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut current: Option<MdstatArray> = None;
    for (number, line) in text.lines() {
        let source = text.source(number);
        if let Some(begun) = MdstatArray::begin(&source, line) {
            found |= finish_mdstat(machine, current.replace(begun));
        } else if let Some(open) = &mut current
            && !open.take(&source, line)
        {
            found |= finish_mdstat(machine, current.take());
        }
    }
    found | finish_mdstat(machine, current)
}

/// One array as it is read.
#[derive(Debug, Default)]
struct MdstatArray {
    source: String,
    name: String,
    active: bool,
    members: Vec<MdstatMember>,
    blocks: Option<u64>,
    /// Members when complete, and those that are in sync.
    disks: Option<(u32, u32)>,
    /// What needs no more than a line.
    md: MdArray,
}

#[derive(Debug)]
struct MdstatMember {
    name: String,
    number: u32,
    flags: String,
}

impl MdstatArray {
    /// `md0 : active (auto-read-only) raid5 sdc1[2](S) sdb1[1]`.
    fn begin(source: &str, text: &str) -> Option<Self> {
        let (name, rest) = text.trim_start().split_once(" : ")?;
        let name = name.trim_end();
        if !(is_numbered(name, "md") || name.starts_with("md_") || name.starts_with("md/")) || name.len() > 64
        {
            return None;
        }
        let mut array = Self { source: source.to_owned(), name: name.to_owned(), ..Self::default() };
        for word in rest.split_whitespace() {
            match word {
                "active" => array.active = true,
                "inactive" | "(read-only)" | "(auto-read-only)" | "broken" | "failed" => {}
                _ if array.md.level.value().is_none() && level(word).is_some() => {
                    array.md.level = known(level(word), source);
                }
                _ => array.members.extend(mdstat_member(word)),
            }
        }
        (array.active || !array.members.is_empty()).then_some(array)
    }

    /// Takes a line that belongs to the array; `false` when the line ends it.
    fn take(&mut self, source: &str, line: &str) -> bool {
        let line = line.trim_start();
        if line.contains(" blocks") && line.starts_with(|c: char| c.is_ascii_digit()) {
            self.blocks_line(line);
            return true;
        }
        if ["%", "=DELAYED", "=PENDING", "=REMOTE"].iter().any(|mark| line.contains(mark)) {
            _ = mdstat_sync(&mut self.md, source, line);
            return true;
        }
        if let Some(rest) = line.strip_prefix("bitmap:") {
            let file = rest.split_once("file:").map(|(_, file)| format!("file:{}", file.trim()));
            let place = file.unwrap_or_else(|| "internal".to_owned());
            self.md.bitmap = Fact::known(place, self.source.as_str());
            return true;
        }
        // Members that a mail program moved to the next line, and what it cut off the line of blocks.
        let members: Vec<MdstatMember> = line.split_whitespace().filter_map(mdstat_member).collect();
        if self.blocks.is_none() && !members.is_empty() {
            self.members.extend(members);
            return true;
        }
        let continues =
            self.disks.is_none() && line.starts_with(['[', '(', 'l', 'a']) && self.blocks.is_some();
        if continues {
            self.blocks_line(line);
        }
        continues && self.disks.is_some()
    }

    /// `1953260544 blocks super 1.2 level 6, 512k chunk, algorithm 2 [6/5] [UUUUU_]`, or `… 512K chunks 2 near-copies
    /// [4/4] [UUUU]`.
    fn blocks_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().map(|word| word.trim_end_matches(',')).collect();
        for pair in words.windows(2) {
            let [first, second] = pair else { continue };
            match *second {
                "blocks" => self.blocks = first.parse().ok(),
                "chunk" | "chunks" => {
                    let kib = first.trim_end_matches(['k', 'K']).parse::<u64>().ok();
                    let chunk = kib.filter(|kib| (1..1 << 30).contains(kib)).map(Bytes::from_kib);
                    self.md.chunk = known(chunk, self.source.as_str());
                }
                "near-copies" | "far-copies" | "offset-copies" => {
                    let layout = layout_of_copies(second.trim_end_matches("-copies"), first);
                    self.md.layout = known(layout, self.source.as_str());
                }
                _ => {}
            }
            if *first == "algorithm" {
                self.md.layout = known(second.parse().ok(), self.source.as_str());
            }
        }
        for word in words {
            let inner = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
            if let Some((all, working)) = inner.and_then(|inner| inner.split_once('/')) {
                self.disks = all.parse().ok().zip(working.parse().ok());
            }
        }
    }

    /// The state of a member in the words of sysfs (kernel `Documentation/admin-guide/md.rst`, `dev-*/state`).
    fn state(&self, member: &MdstatMember) -> String {
        const FLAGS: [(&str, &str); 6] = [
            ("(F)", "faulty"),
            ("(S)", "spare"),
            ("(J)", "journal"),
            ("(R)", "replacement"),
            ("(E)", "in_sync,write_error"),
            ("(W)", "in_sync,write_mostly"),
        ];
        let state =
            FLAGS.iter().find(|(flag, _)| member.flags.contains(flag)).map_or("in_sync", |found| found.1);
        // Whatever else is said of it, what is being rebuilt is not in use yet.
        (if state != "faulty" && self.is_rebuilt(member) { "spare" } else { state }).to_owned()
    }

    /// Whether a member is the one that is being rebuilt. It takes the place of one that is gone, and so has a number
    /// above those that the array began with; when that does not tell exactly as many as are missing, none is named.
    fn is_rebuilt(&self, member: &MdstatMember) -> bool {
        let (action, done) = (self.md.sync_action.value(), self.md.sync_done.value());
        let recovers = action.is_some_and(|action| action == "recover") && done.is_some();
        let Some((all, working)) = self.disks.filter(|_| recovers) else { return false };
        let is_new = |member: &&MdstatMember| member.number >= all && member.flags.is_empty();
        let new = self.members.iter().filter(is_new).count();
        is_new(&member) && usize::try_from(all.saturating_sub(working)).is_ok_and(|missing| missing == new)
    }
}

/// `sdc1[2](S)`: the device, its number and its flags. `(E)` is a mark of Synology's md for a member that had errors and still
/// serves.
fn mdstat_member(word: &str) -> Option<MdstatMember> {
    let (name, rest) = word.split_once('[')?;
    let (number, flags) = rest.split_once(']')?;
    let key = key_of(&format!("/dev/{name}"))?;
    let are_flags = flags.chars().all(|c| "()EFSWJR".contains(c));
    are_flags.then_some(MdstatMember { name: key, number: number.parse().ok()?, flags: flags.to_owned() })
}

/// `[=>…] recovery = 7.7% (109702192/1423666176) finish=5790.5min speed=3781K/sec`, `resync=DELAYED`.
fn mdstat_sync(md: &mut MdArray, source: &str, line: &str) -> Option<()> {
    let names = [
        ("recovery", "recover"),
        ("resync", "resync"),
        ("check", "check"),
        ("repair", "repair"),
        ("reshape", "reshape"),
    ];
    let (action, rest) = names.iter().find_map(|(name, action)| {
        let (_, rest) = line.split_once(name)?;
        Some((*action, rest.trim_start().strip_prefix('=')?))
    })?;
    let counts = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(counts, _)| counts);
    let done = counts.and_then(|counts| {
        let (done, all) = counts.split_once('/')?;
        let (done, all): (u64, u64) = (done.trim().parse().ok()?, all.trim().parse().ok()?);
        (all > 0).then(|| (done as f64 / all as f64).min(1.0))
    });
    let percent = || number::percent(rest.split_once('%')?.0);
    let speed = rest.split_once("speed=").and_then(|(_, speed)| parse_speed(speed.split_once('K')?.0));
    let left = rest
        .split_once("finish=")
        .and_then(|(_, left)| left.split_once("min")?.0.trim().parse::<f64>().ok())
        .filter(|minutes| minutes.is_finite() && (0.0..1e9).contains(minutes))
        .map(|minutes| Nanos::new((minutes * 60e9) as u64));
    md.sync_action = Fact::known(action.to_owned(), source);
    md.sync_done = known(done.or_else(percent), source);
    md.sync_speed = known(speed, source);
    md.sync_left = known(left, source);
    Some(())
}

/// Puts a finished array down; whether there was one.
fn finish_mdstat(machine: &mut Machine, open: Option<MdstatArray>) -> bool {
    let Some(open) = open else { return false };
    let source = open.source.as_str();
    for member in &open.members {
        stack(machine, &open.name, &member.name);
    }
    let size = open.blocks.filter(|blocks| *blocks < 1 << 50).map(Bytes::from_kib);
    learn(&mut device(machine, &open.name).size, size, source);
    let Some(md) = array(machine, &open.name) else { return false };
    // Levels without redundancy show no such pair; all that is listed is then needed.
    let listed = u32::try_from(open.members.iter().filter(|member| member.flags.is_empty()).count()).ok();
    let needed = open.disks.map(|(all, _)| all).or(listed.filter(|count| *count > 0 && open.active));
    learn(&mut md.raid_disks, needed, source);
    learn(&mut md.degraded, open.disks.map(|(all, working)| all.saturating_sub(working)), source);
    for member in &open.members {
        let state = Fact::known(open.state(member), source);
        md.members.entry(member.name.clone()).or_insert(state);
    }
    md.fill(open.md, Than::Same);
    if open.active && open.blocks.is_some() {
        learn(&mut md.sync_action, Some("idle".to_owned()), source);
    }
    true
}

/// `mdadm --detail /dev/md0` (mdadm `Detail.c`).
///
/// Reads every array; whether there was one.
fn read_detail(machine: &mut Machine, text: &Text) -> bool {
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
                    detail_field(md, key.trim(), value.trim(), &source);
                }
            }
            None => {
                if let Some((member, state)) = detail_member(line) {
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

fn detail_field(md: &mut MdArray, key: &str, value: &str, source: &str) {
    let count = || value.split_whitespace().next().and_then(|count| count.parse::<u32>().ok());
    match key {
        "Raid Level" => learn(&mut md.level, level(value), source),
        "Raid Devices" => learn(&mut md.raid_disks, count(), source),
        "Active Devices" => {
            let missing = md.raid_disks.get().zip(count()).map(|(all, active)| all.saturating_sub(active));
            // Levels without redundancy cannot lack a member.
            let is_redundant =
                md.level.value().is_some_and(|level| !matches!(level.as_str(), "raid0" | "linear"));
            learn(&mut md.degraded, missing.filter(|_| is_redundant), source);
        }
        "Chunk Size" => {
            learn(&mut md.chunk, number::binary_size(value).filter(|chunk| chunk.get() > 0), source)
        }
        "Layout" => learn(&mut md.layout, layout_number(value), source),
        "Intent Bitmap" | "Bitmap" => learn(&mut md.bitmap, Some(value.to_lowercase()), source),
        "State" => learn(&mut md.sync_action, action(value), source),
        "Rebuild Status" | "Resync Status" | "Check Status" | "Reshape Status" => {
            let done = value.split_once('%').and_then(|(percent, _)| number::percent(percent));
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
fn detail_member(line: &str) -> Option<(String, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [number, major, minor, place, state @ .., path] = words.as_slice() else { return None };
    let is_number = |word: &&str| *word == "-" || is_digits(word);
    [number, major, minor, place].into_iter().all(is_number).then_some(())?;
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

/// What one member says.
#[derive(Debug, Default)]
struct ExamineMember<'a> {
    device: String,
    fields: BTreeMap<&'a str, (usize, &'a str)>,
}

/// `mdadm --examine /dev/sda1`: what a member says of its array (mdadm `super1.c`, `examine_super1`).
///
/// Reads every member; whether there was one. The members of one array are put together by its UUID; the array is
/// called by the name that it was created with.
fn read_examine(machine: &mut Machine, text: &Text) -> bool {
    let mut members: Vec<ExamineMember<'_>> = Vec::new();
    let mut open = false;
    for (number, line) in text.lines() {
        let line = line.trim();
        if let Some(key) = line.strip_suffix(':').filter(|line| line.starts_with("/dev/")).and_then(key_of) {
            open = !key.starts_with("md");
            if open {
                members.push(ExamineMember { device: key, ..ExamineMember::default() });
            }
        } else if let (true, Some((key, value)), Some(member)) =
            (open, line.split_once(" : "), members.last_mut())
        {
            member.fields.entry(key.trim()).or_insert((number, value.trim()));
        }
    }
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut found = false;
    for member in &members {
        found |= fill_examined(machine, text, member, &mut names).is_some();
    }
    found
}

fn fill_examined<'a>(
    machine: &mut Machine,
    text: &Text,
    member: &ExamineMember<'a>,
    names: &mut BTreeMap<&'a str, String>,
) -> Option<()> {
    let get = |key: &str| member.fields.get(key).copied();
    let (line, uuid) = get("Array UUID")?;
    let source = text.source(line);
    let called = || {
        // `host:name  (local to host …)`; a name without a host is one of an older mdadm.
        let name = get("Name")?.1.split_whitespace().next()?;
        key_of(&format!("/dev/md/{}", name.rsplit(':').next()?))
    };
    let name = names.get(uuid).cloned().or_else(called)?;
    names.entry(uuid).or_insert_with(|| name.clone());
    stack(machine, &name, &member.device);
    let md = array(machine, &name)?;
    for key in ["Raid Level", "Raid Devices", "Chunk Size", "Layout"] {
        if let Some((_, value)) = get(key) {
            detail_field(md, key, value, &source);
        }
    }
    let roles = [("Active", "in_sync"), ("spare", "spare"), ("Journal", "journal")];
    let role = get("Device Role").map_or("", |(_, role)| role);
    if let Some((_, state)) = roles.into_iter().find(|(word, _)| role.starts_with(word)) {
        let state = Fact::known(state.to_owned(), source.as_str());
        md.members.entry(member.device.clone()).or_insert(state);
    }
    let (line, states) = get("Array State")?;
    let missing = states.split_whitespace().next()?.bytes().filter(|state| *state == b'.').count();
    learn(&mut md.degraded, u32::try_from(missing).ok(), &text.source(line));
    Some(())
}

#[cfg(test)]
mod tests;
