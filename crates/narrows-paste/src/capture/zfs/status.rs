//! `zpool status`, with names of any kind (`-P`, `-L`, `-g` or none).

use crate::capture::Text;
use crate::capture::device::key_of;
use crate::capture::size;
use narrows_base::fact::Fact;
use narrows_base::units::BytesPerSec;
use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsScan, ZfsVdev};

/// What vdevs may be for, as headings among them say; those before any heading hold data.
pub(super) const ROLES: &[&str] = &["logs", "cache", "spares", "special", "dedup"];

/// No pool has more; a text that names more was made to be slow.
pub(super) const MOST: usize = 4096;

/// Every pool of a text.
pub(super) fn read(text: &Text) -> Vec<ZfsPool> {
    let mut pools: Vec<Open> = Vec::new();
    for (number, line) in text.lines() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix("pool: ").map(str::trim).filter(|name| is_name(name)) {
            let pool = ZfsPool { name: name.to_owned(), ..ZfsPool::default() };
            pools.push(Open { pool, ..Open::default() });
        } else if let Some(open) = pools.last_mut() {
            open.take(text, number, line, trimmed);
        }
    }
    pools.truncate(MOST);
    pools.into_iter().map(|open| open.pool).collect()
}

/// A pool as it is read.
#[derive(Default)]
struct Open {
    pool: ZfsPool,
    /// Where names begin in the list of devices; `None` outside it.
    indent: Option<usize>,
    role: String,
    in_scan: bool,
    /// How deep the `replacing-0` stands whose devices follow.
    replacing: Option<usize>,
}

impl Open {
    fn take(&mut self, text: &Text, number: usize, line: &str, trimmed: &str) {
        if let Some(state) = trimmed.strip_prefix("state: ") {
            self.pool.state = Fact::known(state.trim().to_owned(), text.source(number));
        } else if let Some(scan) = trimmed.strip_prefix("scan: ").or_else(|| trimmed.strip_prefix("scrub: "))
        {
            self.begin_scan(scan, text.source(number));
        } else if trimmed.starts_with("config:") || trimmed.starts_with("errors:") {
            self.in_scan = false;
            self.indent = None;
        } else if trimmed.starts_with("NAME") && trimmed.contains("STATE") {
            self.indent = Some(indent(line));
            self.role = "data".to_owned();
        } else if let Some(base) = self.indent {
            self.device(indent(line).saturating_sub(base), trimmed);
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
        let rates = line.split(" at ").skip(1).filter_map(|rest| size::binary(rest.split("/s").next()?));
        // What is issued to the disks stands behind what was scanned in memory.
        scan.rate = rates.last().map(|rate| BytesPerSec::new(rate.as_f64())).or(scan.rate);
        let percent = line.split_once("% done").and_then(|(before, _)| before.split([' ', ',']).next_back());
        let percent = percent.and_then(|percent| percent.parse::<f64>().ok());
        let done = percent.filter(|done| (0.0..=100.0).contains(done)).map(|done| done / 100.0);
        scan.done = done.or(scan.done);
    }

    /// A line of the list: the pool itself, a vdev two blanks below it, or a device two more.
    fn device(&mut self, depth: usize, line: &str) {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { return };
        if ROLES.contains(&name) {
            self.role = name.to_owned();
            return;
        }
        let state = words.next().unwrap_or_default().to_owned();
        let is_state = !state.is_empty() && state.bytes().all(|byte| byte.is_ascii_uppercase());
        if !is_state || name == self.pool.name && depth == 0 || self.pool.vdevs.len() >= MOST {
            return;
        }
        let is_group = is_group(name);
        self.replacing = self.replacing.filter(|above| depth > *above);
        let device = ZfsDevice {
            name: key_of(name).unwrap_or_else(|| name.to_owned()),
            state: state.clone(),
            is_replaced: self.replacing.is_some(),
        };
        if name.starts_with("replacing") {
            self.replacing = Some(depth);
        }
        match self.pool.vdevs.last_mut().filter(|vdev| depth >= 4 && vdev.role == self.role) {
            // `replacing-0` and `spare-0` stand for one device of a vdev, with two below.
            Some(_) if is_group => {}
            Some(vdev) if vdev.devices.len() < MOST => vdev.devices.push(device),
            Some(_) => {}
            None => {
                let devices = if is_group { Vec::new() } else { vec![device] };
                self.pool.vdevs.push(ZfsVdev {
                    name: name.to_owned(),
                    role: self.role.clone(),
                    state,
                    devices,
                });
            }
        }
    }
}

/// Whether a name is that of a vdev with devices below: `mirror-0`, `raidz2-1`, `draid1:4d:6c:1s-0`; `zpool list` of
/// OpenZFS before 2.0 has no number behind it.
pub(super) fn is_group(name: &str) -> bool {
    let kinds = ["mirror-", "raidz", "draid", "replacing-", "spare-"];
    let is_numbered = kinds.iter().any(|kind| name.starts_with(kind)) && name.rsplit_once('-').is_some();
    is_numbered || ["mirror", "raidz", "raidz1", "raidz2", "raidz3", "replacing"].contains(&name)
}

pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 256 && !name.contains(char::is_whitespace)
}

/// The blanks in front, a tab being eight of them as terminals have it.
fn indent(line: &str) -> usize {
    let blanks = line.chars().take_while(|c| c.is_whitespace());
    blanks.fold(0, |column, c| if c == '\t' { (column / 8 + 1) * 8 } else { column + 1 })
}
