//! `zpool list -v`, whole or `-H` (tabs, no head), with numbers of any kind (`-p`) and names of any kind (`-P`, `-L`).
//!
//! OpenZFS (`cmd/zpool/zpool_main.c`, `print_list_stats`) indents a vdev by two blanks and its devices by two more; with
//! `-H` one tab stands before either, so that a group holds what follows it up to the next.

use super::status::{MOST, ROLES, is_group, is_name};
use crate::capture::Text;
use crate::capture::device::key_of;
use narrows_base::fact::Fact;
use narrows_machine::zfs::{ZfsDevice, ZfsPool, ZfsVdev};

/// States of pools and devices (zpoolconcepts(7)).
const STATES: &[&str] =
    &["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "REMOVED", "UNAVAIL", "SUSPENDED", "AVAIL", "INUSE"];

/// The fewest columns that a version prints: name, size, allocated, free, capacity, health.
const FEWEST: usize = 6;

/// Every pool whose devices are listed; a list without `-v` tells the state of each pool only.
pub(super) fn read(text: &Text) -> Vec<ZfsPool> {
    let mut pools: Vec<ZfsPool> = Vec::new();
    let mut open: Option<Open> = None;
    for (number, line) in text.lines() {
        if let Some(head) = head(line) {
            open = Some(Open { base: head, role: DATA.to_owned(), in_pool: false });
            continue;
        }
        let is_scripted = line.matches('\t').count() >= FEWEST - 1;
        if is_scripted && open.is_none() {
            open = Some(Open { base: 0, role: DATA.to_owned(), in_pool: false });
        }
        let Some(list) = &mut open else { continue };
        if !list.take(&mut pools, text, (number, line)) {
            open = None;
        }
    }
    pools.truncate(MOST);
    pools
}

/// The role of vdevs before any heading.
const DATA: &str = "data";

/// A list as it is read.
struct Open {
    /// Where names of pools begin.
    base: usize,
    role: String,
    in_pool: bool,
}

impl Open {
    /// Takes a line; whether it was one of the list.
    fn take(&mut self, pools: &mut Vec<ZfsPool>, text: &Text, (number, line): (usize, &str)) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((name, rest)) = words.split_first().filter(|(_, rest)| rest.len() + 1 >= FEWEST) else {
            return false;
        };
        let state = rest.iter().rev().find(|word| STATES.contains(word));
        let is_tabbed = line.starts_with('\t');
        let depth = indent(line).saturating_sub(self.base);
        if ROLES.contains(name) && state.is_none() {
            self.role = (*name).to_owned();
            return self.in_pool;
        }
        let Some(state) = state.filter(|_| pools.len() <= MOST) else { return false };
        if depth == 0 && !is_tabbed {
            if !is_name(name)
                || rest.first().is_none_or(|size| !size.starts_with(|c: char| c.is_ascii_digit() || c == '-'))
            {
                return false;
            }
            self.role = DATA.to_owned();
            self.in_pool = true;
            let state = Fact::known((*state).to_owned(), text.source(number));
            pools.push(ZfsPool { name: (*name).to_owned(), state, ..ZfsPool::default() });
            return true;
        }
        let Some(pool) = pools.last_mut().filter(|_| self.in_pool) else { return false };
        self.device(
            pool,
            name,
            state,
            is_tabbed.then_some(rest.get(1).is_some_and(|allocated| *allocated != "-")),
            depth,
        );
        true
    }

    /// Puts down a vdev or device. `own_space` says of a line without indent whether it has space of its own, which only
    /// a vdev has.
    fn device(&self, pool: &mut ZfsPool, name: &str, state: &str, own_space: Option<bool>, depth: usize) {
        if pool.vdevs.len() >= MOST {
            return;
        }
        let device = ZfsDevice {
            name: key_of(name).unwrap_or_else(|| name.to_owned()),
            state: state.to_owned(),
            ..ZfsDevice::default()
        };
        let is_group = is_group(name);
        let is_below = |vdev: &&mut ZfsVdev| {
            vdev.role == self.role && is_group_name(vdev) && own_space.map_or(depth >= 4, |own| !own)
        };
        match pool.vdevs.last_mut().filter(is_below) {
            // `replacing-0` and `spare-0` stand for one device of a vdev, with two below.
            Some(_) if is_group && (depth >= 4 || is_stand_in(name)) => {}
            Some(vdev) if !is_group && vdev.devices.len() < MOST => vdev.devices.push(device),
            _ => pool.vdevs.push(ZfsVdev {
                name: name.to_owned(),
                role: self.role.clone(),
                state: state.to_owned(),
                devices: if is_group { Vec::new() } else { vec![device] },
            }),
        }
    }
}

fn is_group_name(vdev: &ZfsVdev) -> bool {
    is_group(&vdev.name)
}

fn is_stand_in(name: &str) -> bool {
    name.starts_with("replacing") || name.starts_with("spare-")
}

/// Where the names begin below `NAME  SIZE  ALLOC  FREE … HEALTH  ALTROOT`.
fn head(line: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let has = |name: &str| words.contains(&name);
    (words.first() == Some(&"NAME") && has("SIZE") && has("ALLOC") && has("HEALTH")).then(|| indent(line))
}

fn indent(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}
