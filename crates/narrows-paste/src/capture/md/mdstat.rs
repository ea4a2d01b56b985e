//! `/proc/mdstat` (kernel `drivers/md/md.c`, `md_seq_show`, and the `status` functions of the levels).

use super::level;
use crate::capture::Text;
use crate::capture::device::{array, device, key_of, learn, stack};
use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Nanos};
use narrows_machine::Machine;
use narrows_machine::block::MdArray;
use narrows_machine::block::is_numbered;
use narrows_machine::block::md::parse_speed;

/// Reads every array; whether there was one.
pub(super) fn read(machine: &mut Machine, text: &Text) -> bool {
    let mut found = false;
    let mut current: Option<Array> = None;
    for (number, line) in text.lines() {
        if let Some(begun) = Array::begin(number, line) {
            found |= finish(machine, text, current.replace(begun));
        } else if let Some(open) = &mut current
            && !open.take(number, line)
        {
            found |= finish(machine, text, current.take());
        }
    }
    found | finish(machine, text, current)
}

/// One array as it is read.
#[derive(Debug, Default)]
struct Array {
    line: usize,
    name: String,
    level: Option<&'static str>,
    active: bool,
    members: Vec<Member>,
    blocks: Option<u64>,
    /// The chunk in KiB.
    chunk: Option<u64>,
    layout: Option<u64>,
    /// Members when complete, and those that are in sync.
    disks: Option<(u32, u32)>,
    bitmap: Option<String>,
    sync: Option<Sync>,
}

#[derive(Debug)]
struct Member {
    name: String,
    number: u32,
    flags: String,
}

#[derive(Debug)]
struct Sync {
    line: usize,
    action: &'static str,
    done: Option<f64>,
    speed: Option<String>,
    left: Option<Nanos>,
}

impl Array {
    /// `md0 : active (auto-read-only) raid5 sdc1[2](S) sdb1[1]`.
    fn begin(line: usize, text: &str) -> Option<Self> {
        let (name, rest) = text.trim_start().split_once(" : ")?;
        let name = name.trim_end();
        if !(is_numbered(name, "md") || name.starts_with("md_") || name.starts_with("md/")) || name.len() > 64
        {
            return None;
        }
        let mut array = Self { line, name: name.to_owned(), ..Self::default() };
        for word in rest.split_whitespace() {
            match word {
                "active" => array.active = true,
                "inactive" | "(read-only)" | "(auto-read-only)" | "broken" | "failed" => {}
                _ if array.level.is_none() && level(word).is_some() => array.level = level(word),
                _ => array.members.extend(member(word)),
            }
        }
        (array.active || !array.members.is_empty()).then_some(array)
    }

    /// Takes a line that belongs to the array; `false` when the line ends it.
    fn take(&mut self, number: usize, line: &str) -> bool {
        let line = line.trim_start();
        if line.contains(" blocks") && line.starts_with(|c: char| c.is_ascii_digit()) {
            self.blocks_line(line);
            return true;
        }
        if line.contains('%')
            || line.contains("=DELAYED")
            || line.contains("=PENDING")
            || line.contains("=REMOTE")
        {
            self.sync = sync(number, line).or(self.sync.take());
            return true;
        }
        if let Some(rest) = line.strip_prefix("bitmap:") {
            let file = rest.split_once("file:").map(|(_, file)| format!("file:{}", file.trim()));
            self.bitmap = Some(file.unwrap_or_else(|| "internal".to_owned()));
            return true;
        }
        // Members that a mail program moved to the next line, and what it cut off the line of blocks.
        let members: Vec<Member> = line.split_whitespace().filter_map(member).collect();
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
                "chunk" | "chunks" => self.chunk = first.trim_end_matches(['k', 'K']).parse().ok(),
                "near-copies" => self.layout = copies(first).map(|near| 0x100 | near),
                "far-copies" => self.layout = copies(first).map(|far| far << 8 | 1),
                "offset-copies" => self.layout = copies(first).map(|far| 0x10000 | far << 8 | 1),
                _ => {}
            }
            if *first == "algorithm" {
                self.layout = second.parse().ok();
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
    fn state(&self, member: &Member) -> String {
        let has = |flag: &str| member.flags.contains(flag);
        if has("(F)") {
            return "faulty".to_owned();
        }
        if has("(S)") || self.is_rebuilt(member) {
            return "spare".to_owned();
        }
        if has("(J)") {
            return "journal".to_owned();
        }
        if has("(R)") {
            return "replacement".to_owned();
        }
        if has("(E)") {
            return "in_sync,write_error".to_owned();
        }
        if has("(W)") { "in_sync,write_mostly".to_owned() } else { "in_sync".to_owned() }
    }

    /// Whether a member is the one that is being rebuilt. It takes the place of one that is gone, and so has a number
    /// above those that the array began with; when that does not tell exactly as many as are missing, none is named.
    fn is_rebuilt(&self, member: &Member) -> bool {
        let recovers = self.sync.as_ref().is_some_and(|sync| sync.action == "recover" && sync.done.is_some());
        let Some((all, working)) = self.disks.filter(|_| recovers) else { return false };
        let is_new = |member: &&Member| member.number >= all && member.flags.is_empty();
        let new = self.members.iter().filter(is_new).count();
        is_new(&member) && usize::try_from(all.saturating_sub(working)).is_ok_and(|missing| missing == new)
    }
}

fn copies(text: &str) -> Option<u64> {
    text.parse::<u8>().ok().filter(|copies| *copies > 0).map(u64::from)
}

/// `sdc1[2](S)`: the device, its number and its flags. `(E)` is a mark of Synology's md for a member that had errors and still
/// serves.
fn member(word: &str) -> Option<Member> {
    let (name, rest) = word.split_once('[')?;
    let (number, flags) = rest.split_once(']')?;
    let key = key_of(&format!("/dev/{name}"))?;
    let are_flags = flags.chars().all(|c| "()EFSWJR".contains(c));
    are_flags.then_some(Member { name: key, number: number.parse().ok()?, flags: flags.to_owned() })
}

/// `[=>…] recovery = 7.7% (109702192/1423666176) finish=5790.5min speed=3781K/sec`, `resync=DELAYED`.
fn sync(number: usize, line: &str) -> Option<Sync> {
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
    let percent =
        || rest.split_once('%')?.0.trim().parse::<f64>().ok().filter(|done| (0.0..=100.0).contains(done));
    let speed =
        rest.split_once("speed=").and_then(|(_, speed)| speed.split_once('K')).map(|(kib, _)| kib.to_owned());
    let left = rest
        .split_once("finish=")
        .and_then(|(_, left)| left.split_once("min")?.0.trim().parse::<f64>().ok())
        .filter(|minutes| minutes.is_finite() && (0.0..1e9).contains(minutes))
        .map(|minutes| Nanos::new((minutes * 60e9) as u64));
    Some(Sync {
        line: number,
        action,
        done: done.or_else(|| percent().map(|done| done / 100.0)),
        speed,
        left,
    })
}

/// Puts a finished array down; whether there was one.
fn finish(machine: &mut Machine, text: &Text, open: Option<Array>) -> bool {
    let Some(open) = open else { return false };
    let source = text.source(open.line);
    for member in &open.members {
        stack(machine, &open.name, &member.name);
    }
    let size = open.blocks.filter(|blocks| *blocks < 1 << 50).map(Bytes::from_kib);
    learn(&mut device(machine, &open.name).size, size, &source);
    let Some(md) = array(machine, &open.name) else { return false };
    fill(md, &open, text, &source);
    true
}

fn fill(md: &mut MdArray, open: &Array, text: &Text, source: &str) {
    learn(&mut md.level, open.level.map(str::to_owned), source);
    learn(&mut md.chunk, open.chunk.filter(|kib| (1..1 << 30).contains(kib)).map(Bytes::from_kib), source);
    learn(&mut md.layout, open.layout, source);
    // Levels without redundancy show no such pair; all that is listed is then needed.
    let listed = u32::try_from(open.members.iter().filter(|member| member.flags.is_empty()).count()).ok();
    let needed = open.disks.map(|(all, _)| all).or(listed.filter(|count| *count > 0 && open.active));
    learn(&mut md.raid_disks, needed, source);
    learn(&mut md.degraded, open.disks.map(|(all, working)| all.saturating_sub(working)), source);
    learn(&mut md.bitmap, open.bitmap.clone(), source);
    for member in &open.members {
        let state = Fact::known(open.state(member), source);
        md.members.entry(member.name.clone()).or_insert(state);
    }
    match &open.sync {
        Some(sync) => {
            let source = text.source(sync.line);
            learn(&mut md.sync_action, Some(sync.action.to_owned()), &source);
            learn(&mut md.sync_done, sync.done, &source);
            learn(&mut md.sync_left, sync.left, &source);
            learn(&mut md.sync_speed, sync.speed.as_deref().and_then(parse_speed), &source);
        }
        None if open.active && open.blocks.is_some() => {
            learn(&mut md.sync_action, Some("idle".to_owned()), source);
        }
        None => {}
    }
}
