//! ZFS: `zpool status`, `zpool list -v`, `zfs list`.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::BytesPerSec;
use narrows_machine::mount::Mount;
use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsScan, ZfsVdev};

use super::device::key_of;
use super::{Output, Part, Text, number, read_outputs};

const OUTPUTS: [Output; 3] = [
    ("zpool status", &["CKSUM"], |machine, text| {
        machine.zfs = read_status(text);
        !machine.zfs.is_empty()
    }),
    ("zpool list", &["HEALTH", "ONLINE\t"], |machine, text| {
        let listed = read_list(text);
        let is_there = !listed.is_empty();
        add_pools(&mut machine.zfs, listed);
        is_there
    }),
    ("zfs list", &["MOUNTPOINT", "\t/"], |machine, text| {
        machine.mounts = read_datasets(text);
        !machine.mounts.is_empty()
    }),
];

/// Reads every pool and file system in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

/// Adds what a list says of pools whose status did not.
fn add_pools(pools: &mut Vec<ZfsPool>, listed: Vec<ZfsPool>) {
    for pool in listed {
        match pools.iter().position(|known| known.name == pool.name).and_then(|at| pools.get_mut(at)) {
            Some(known) if known.vdevs.is_empty() => known.vdevs = pool.vdevs,
            Some(_) => {}
            None => pools.push(pool),
        }
    }
    pools.truncate(MOST_VDEVS);
}

/// What vdevs may be for, as headings among them say; those before any heading hold data.
const VDEV_ROLES: &[&str] = &["logs", "cache", "spares", "special", "dedup"];

/// No pool has more; a text that names more was made to be slow.
const MOST_VDEVS: usize = 4096;

/// `zpool status`, with names of any kind (`-P`, `-L`, `-g` or none).
///
/// Every pool of a text.
fn read_status(text: &Text) -> Vec<ZfsPool> {
    let mut pools: Vec<StatusPool> = Vec::new();
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("pool: ").map(str::trim).filter(|name| is_name(name)) {
            let pool = ZfsPool { name: name.to_owned(), ..ZfsPool::default() };
            pools.push(StatusPool { pool, ..StatusPool::default() });
            continue;
        }
        // Somebody left out what stands above; the first row names the pool.
        if pools.is_empty()
            && (is_status_head(trimmed) || ["state: ", "scan: "].iter().any(|key| trimmed.starts_with(key)))
        {
            pools.push(StatusPool::default());
        }
        if let Some(open) = pools.last_mut() {
            open.take(text, number, line, trimmed);
        }
    }
    pools.truncate(MOST_VDEVS);
    pools.into_iter().map(|open| open.pool).filter(|pool| !pool.name.is_empty()).collect()
}

fn is_status_head(line: &str) -> bool {
    line.starts_with("NAME") && line.contains("STATE") && line.contains("CKSUM")
}

/// A pool as it is read.
#[derive(Default)]
struct StatusPool {
    pool: ZfsPool,
    /// Where names begin in the list of devices; `None` outside it.
    indent: Option<usize>,
    role: String,
    in_scan: bool,
    /// How deep the `replacing-0` stands whose devices follow.
    replacing: Option<usize>,
}

impl StatusPool {
    fn take(&mut self, text: &Text, number: usize, line: &str, trimmed: &str) {
        if let Some(state) = trimmed.strip_prefix("state: ") {
            self.pool.state = Fact::known(state.trim().to_owned(), text.source(number));
        } else if let Some(scan) = trimmed.strip_prefix("scan: ").or_else(|| trimmed.strip_prefix("scrub: "))
        {
            self.begin_scan(scan, text.source(number));
        } else if trimmed.starts_with("config:") || trimmed.starts_with("errors:") {
            self.in_scan = false;
            self.indent = None;
            if let Some(what) = trimmed.strip_prefix("errors: ") {
                let is_lost = what.starts_with("Permanent errors") || what.contains(" data errors");
                let source = text.source(number);
                self.pool.lost =
                    if is_lost { Fact::known(what.to_owned(), source) } else { Fact::absent(source) };
            }
        } else if trimmed.starts_with("NAME") && trimmed.contains("STATE") {
            self.indent = Some(status_indent(line));
            self.role = "data".to_owned();
        } else if let Some(base) = self.indent {
            self.device(status_indent(line).saturating_sub(base), trimmed, || text.source(number));
        } else if self.in_scan {
            self.progress(trimmed);
        }
    }

    /// `scrub in progress since Sun Jul 25 16:07:49 2010`, `resilver in progress, …`.
    fn begin_scan(&mut self, scan: &str, source: String) {
        let action = ["resilver", "scrub"].into_iter().find(|action| scan.starts_with(*action));
        let running = action.filter(|_| scan.contains("in progress"));
        self.in_scan = running.is_some();
        self.pool.scan = match running {
            Some(action) => Fact::known(ZfsScan { action: action.to_owned(), ..ZfsScan::default() }, source),
            None => Fact::absent(source),
        };
        self.progress(scan);
    }

    /// `68.4M issued at 10.0M/s, 405M total`, `0B repaired, 16.91% done, 00:00:04 to go`.
    fn progress(&mut self, line: &str) {
        let Fact::Known { value: scan, .. } = &mut self.pool.scan else { return };
        let rates =
            line.split(" at ").skip(1).filter_map(|rest| number::binary_size(rest.split("/s").next()?));
        // What is issued to the disks stands behind what was scanned in memory.
        scan.rate = rates.last().map(|rate| BytesPerSec::new(rate.as_f64())).or(scan.rate);
        // Some languages write `1,57%`.
        let percent = line.split_once("% done").and_then(|(before, _)| before.split(' ').next_back());
        scan.done = percent.and_then(|part| number::percent(&part.replace(',', "."))).or(scan.done);
    }

    /// A line of the list: the pool itself, a vdev two blanks below it, or a device two more.
    fn device(&mut self, depth: usize, line: &str, source: impl Fn() -> String) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return };
        if VDEV_ROLES.contains(&name) {
            self.role = name.to_owned();
            return;
        }
        let state = words.next().unwrap_or_default().to_owned();
        let is_state = !state.is_empty() && state.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_state || self.pool.vdevs.len() >= MOST_VDEVS {
            return;
        }
        let is_written_anew = line.contains("(resilvering)") || line.contains("(repairing)");
        let errors = if is_written_anew { [0; 3] } else { [(); 3].map(|()| words.next().map_or(0, counter)) };
        if depth == 0 && (self.pool.name.is_empty() || self.pool.name == name) {
            name.clone_into(&mut self.pool.name);
            self.pool.errors = Fact::known(errors, source());
            if self.pool.state.value().is_none() {
                self.pool.state = Fact::known(state, source());
            }
            return;
        }
        let is_group = is_group(name);
        self.replacing = self.replacing.filter(|above| depth > *above);
        let device = ZfsDevice {
            name: key_of(name).unwrap_or_else(|| name.to_owned()),
            state,
            is_replaced: self.replacing.is_some(),
            errors,
        };
        if name.starts_with("replacing") {
            self.replacing = Some(depth);
        }
        match self.pool.vdevs.last_mut().filter(|vdev| depth >= 4 && vdev.role == self.role) {
            // `replacing-0` and `spare-0` stand for one device of a vdev, with two below.
            Some(_) if is_group => {}
            Some(vdev) if vdev.devices.len() < MOST_VDEVS => vdev.devices.push(device),
            Some(_) => {}
            None => self.pool.vdevs.push(vdev(name, &self.role, device)),
        }
    }
}

/// A count of errors, `701` or `1.2K` (`zfs_nicenum`, in steps of 1024); none where there is no number.
fn counter(word: &str) -> u64 {
    word.parse().ok().or_else(|| Some(number::binary_size(word)?.get())).unwrap_or(0)
}

/// The first device of a vdev, or the vdev itself where devices follow.
fn vdev(name: &str, role: &str, device: ZfsDevice) -> ZfsVdev {
    let state = device.state.clone();
    let devices = if is_group(name) { Vec::new() } else { vec![device] };
    ZfsVdev { name: name.to_owned(), role: role.to_owned(), state, devices }
}

/// Whether a name is that of a vdev with devices below: `mirror-0`, `raidz2-1`, `draid1:4d:6c:1s-0`; `zpool list` of
/// OpenZFS before 2.0 has no number behind it.
fn is_group(name: &str) -> bool {
    let kinds = ["mirror-", "raidz", "draid", "replacing-", "spare-"];
    let is_numbered = kinds.iter().any(|kind| name.starts_with(kind)) && name.rsplit_once('-').is_some();
    is_numbered || ["mirror", "raidz", "raidz1", "raidz2", "raidz3", "replacing"].contains(&name)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 256 && !name.contains(char::is_whitespace)
}

/// The blanks in front, a tab being eight of them as terminals have it.
fn status_indent(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.fold(0, |column, c| if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 })
}

/// States of pools and devices (zpoolconcepts(7)).
const STATES: &[&str] =
    &["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "REMOVED", "UNAVAIL", "SUSPENDED", "AVAIL", "INUSE"];

/// The fewest columns that a version prints: name, size, allocated, free, capacity, health.
const FEWEST: usize = 6;

/// `zpool list -v`, whole or `-H` (tabs, no head), with numbers of any kind (`-p`) and names of any kind (`-P`, `-L`).
///
/// OpenZFS (`cmd/zpool/zpool_main.c`, `print_list_stats`) indents a vdev by two blanks and its devices by two more; with
/// `-H` one tab stands before either, so that a group holds what follows it up to the next.
///
/// Every pool whose devices are listed; a list without `-v` tells the state of each pool only.
fn read_list(text: &Text) -> Vec<ZfsPool> {
    let mut pools: Vec<ZfsPool> = Vec::new();
    let mut open: Option<ListedPool> = None;
    for (number, line) in text.lines() {
        if let Some(head) = list_head(line) {
            open = Some(ListedPool { base: head, role: DATA.to_owned(), in_pool: false });
            continue;
        }
        let is_scripted = line.matches('\t').count() >= FEWEST - 1;
        if is_scripted && open.is_none() {
            open = Some(ListedPool { base: 0, role: DATA.to_owned(), in_pool: false });
        }
        let Some(list) = &mut open else { continue };
        if list.take(&mut pools, text, (number, line)).is_none() {
            open = None;
        }
    }
    pools.truncate(MOST_VDEVS);
    pools
}

/// The role of vdevs before any heading.
const DATA: &str = "data";

/// A list as it is read.
struct ListedPool {
    /// Where names of pools begin.
    base: usize,
    role: String,
    in_pool: bool,
}

impl ListedPool {
    /// Takes a line; `None` of one that is not of the list.
    fn take(&mut self, pools: &mut Vec<ZfsPool>, text: &Text, (number, line): (usize, &str)) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, rest) = words.split_first().filter(|(_, rest)| rest.len() + 1 >= FEWEST)?;
        let state = rest.iter().rev().find(|word| STATES.contains(word));
        let is_tabbed = line.starts_with('\t');
        let depth = list_indent(line).saturating_sub(self.base);
        if VDEV_ROLES.contains(name) && state.is_none() {
            self.role = (*name).to_owned();
            return self.in_pool.then_some(());
        }
        let state = state.filter(|_| pools.len() <= MOST_VDEVS)?;
        if depth == 0 && !is_tabbed {
            let is_size = |size: &&&str| size.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            rest.first().filter(is_size).filter(|_| is_name(name))?;
            self.role = DATA.to_owned();
            self.in_pool = true;
            let state = Fact::known((*state).to_owned(), text.source(number));
            pools.push(ZfsPool { name: (*name).to_owned(), state, ..ZfsPool::default() });
            return Some(());
        }
        let pool = pools.last_mut().filter(|_| self.in_pool)?;
        let own_space = is_tabbed.then(|| rest.get(1).is_some_and(|allocated| *allocated != "-"));
        self.device(pool, name, state, own_space, depth);
        Some(())
    }

    /// Puts down a vdev or device. `own_space` says of a line without indent whether it has space of its own, which only
    /// a vdev has.
    fn device(&self, pool: &mut ZfsPool, name: &str, state: &str, own_space: Option<bool>, depth: usize) {
        if pool.vdevs.len() >= MOST_VDEVS {
            return;
        }
        let device = ZfsDevice {
            name: key_of(name).unwrap_or_else(|| name.to_owned()),
            state: state.to_owned(),
            ..ZfsDevice::default()
        };
        let is_group = is_group(name);
        let is_below = |vdev: &&mut ZfsVdev| {
            vdev.role == self.role && self::is_group(&vdev.name) && own_space.map_or(depth >= 4, |own| !own)
        };
        match pool.vdevs.last_mut().filter(is_below) {
            // `replacing-0` and `spare-0` stand for one device of a vdev, with two below.
            Some(_) if is_group && (depth >= 4 || is_stand_in(name)) => {}
            Some(vdev) if !is_group && vdev.devices.len() < MOST_VDEVS => vdev.devices.push(device),
            _ => pool.vdevs.push(vdev(name, &self.role, device)),
        }
    }
}

fn is_stand_in(name: &str) -> bool {
    name.starts_with("replacing") || name.starts_with("spare-")
}

/// Where the names begin below `NAME  SIZE  ALLOC  FREE … HEALTH  ALTROOT`.
fn list_head(line: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |name: &str| words.contains(&name);
    (words.first() == Some(&"NAME") && has("SIZE") && has("ALLOC") && has("HEALTH"))
        .then(|| list_indent(line))
}

fn list_indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}

/// No machine mounts more; a text that lists more was made to be slow.
const MOST_MOUNTS: usize = 4096;

/// What `-H` prints when nothing else is asked for: name, used, available, referenced, mount point.
const COLUMNS: usize = 5;

/// Columns of `lsblk`, which has names and mount points, too.
const OF_LSBLK: &[&str] =
    &["MAJ:MIN", "SIZE", "FSTYPE", "FSVER", "RM", "RO", "TRAN", "MODEL", "UUID", "LABEL"];

/// `zfs list`, whole or `-H` (tabs, no head): where each file system is mounted.
///
/// Every file system with a mount point. Of several at one point only one can be mounted (boot environments): where they
/// are of one pool, the first stands for all, and where not, it cannot be said which it is.
fn read_datasets(text: &Text) -> Vec<Mount> {
    let mut at: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut column: Option<usize> = None;
    for (_, line) in text.lines() {
        let cells: Vec<&str> = match is_scripted(line) {
            true => line.split('\t').collect(),
            // No other column has blanks in it, and mount points seldom do.
            false => line.split_whitespace().collect(),
        };
        if cells.first() == Some(&"NAME") {
            let is_lsblk = cells.iter().any(|name| OF_LSBLK.contains(name));
            column = cells.iter().position(|name| *name == "MOUNTPOINT").filter(|_| !is_lsblk);
            continue;
        }
        let Some(place) = column.or(is_scripted(line).then_some(COLUMNS - 1)) else { continue };
        let (Some(name), Some(point)) = (cells.first(), cells.get(place)) else { continue };
        let is_set = is_name(name) && !name.contains(['@', '#']) && !name.starts_with('/');
        if !is_set || !point.starts_with('/') || at.len() >= MOST_MOUNTS {
            continue;
        }
        let known = at.entry((*point).to_owned()).or_insert_with(|| Some((*name).to_owned()));
        if known.as_ref().is_some_and(|known| pool_of_set(known) != pool_of_set(name)) {
            *known = None;
        }
    }
    at.into_iter()
        .filter_map(|(point, source)| {
            Some(Mount {
                point,
                source: source?,
                fstype: "zfs".to_owned(),
                root: "/".to_owned(),
                ..Mount::default()
            })
        })
        .collect()
}

/// Whether a line is one of `-H`: sizes stand between name and mount point.
fn is_scripted(line: &str) -> bool {
    let cells: Vec<&str> = line.split('\t').collect();
    let is_size = |cell: &&str| *cell == "-" || number::binary_size(cell).is_some();
    cells.len() == COLUMNS && cells.get(1..COLUMNS - 1).is_some_and(|sizes| sizes.iter().all(is_size))
}

fn pool_of_set(set: &str) -> &str {
    set.split('/').next().unwrap_or(set)
}

#[cfg(test)]
mod tests;
