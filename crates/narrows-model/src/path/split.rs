//! How arrays, volumes and caches spread their traffic over what they are built on.
//!
//! All fractions are those of long sequential transfers, in which an array spreads its work best and a parity array
//! writes whole stripes.

use super::graph::Spread;
use super::{RaidLevel, Traffic, VolumeLayout, of_word};
use narrows_machine::block::{Bcache, MdArray};

/// The level that md calls `name`.
pub(super) fn level(name: &str) -> Option<RaidLevel> {
    // Its parity is on one member, and as much.
    if name == "raid4" { Some(RaidLevel::Raid5) } else { of_word(name) }
}

/// What a member of an array does (kernel `Documentation/admin-guide/md.rst`, `dev-*/state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Holds data that is read and written.
    Full,
    /// Is written but not read: being rebuilt, or marked write-mostly.
    WriteOnly,
    /// Holds the journal of a parity array, through which all that is written goes first.
    Journal,
    /// Failed, or waits for another to fail.
    Idle,
}

fn role(md: &MdArray, member: &str) -> Role {
    let state = md.members.get(member).and_then(|state| state.value()).map_or("", String::as_str);
    let is = |flag: &str| state.split(',').any(|word| word.trim() == flag);
    let is_rebuilding = md.sync_action.value().is_some_and(|action| action == "recover");
    if is("faulty") || (is("spare") && !is_rebuilding) {
        Role::Idle
    } else if is("journal") {
        Role::Journal
    } else if is("spare") || is("write_mostly") {
        Role::WriteOnly
    } else {
        Role::Full
    }
}

/// The members of an array that carry traffic, and what of the array's traffic crosses each.
///
/// | level | read | write |
/// |---|---|---|
/// | RAID-0 of n | 1/n | 1/n |
/// | RAID-1 | 1/(members that are read) | 1 |
/// | RAID-10 of n in c copies | 1/(members that are read) | c/n |
/// | RAID-5, RAID-6 of n with p parities | 1/(members that are read) | 1/(n − p) |
/// | linear | 1 | 1 |
///
/// Only the members that are there are read; a parity array that lacks one reads all others to make up for it, which
/// comes to the same fraction. In a linear array each byte crosses one member only, but a single stream is on one
/// member at a time, which then carries all of it. While a mirror resyncs, reads of the part that is not yet in sync
/// come from one member; that is left to the verdict, which sees how far the resync is. A level that narrows does not
/// know may send every byte to every member.
pub(super) fn array(md: &MdArray, level: Option<RaidLevel>, members: &[String]) -> Vec<(String, Traffic)> {
    let roles: Vec<(&String, Role)> = members.iter().map(|member| (member, role(md, member))).collect();
    let count = |wanted: Role| roles.iter().filter(|(_, role)| *role == wanted).count();
    let writers = count(Role::Full) + count(Role::WriteOnly);
    let disks = md.raid_disks.get().and_then(|disks| usize::try_from(disks).ok()).filter(|disks| *disks > 0);
    let disks = disks.unwrap_or(writers).max(1);
    // Members that are only marked write-mostly are read after all when there is no other.
    let all_read = count(Role::Full) == 0;
    let readers = if all_read { writers } else { count(Role::Full) };
    let write = match level {
        Some(RaidLevel::Raid0) => part(1, disks),
        Some(RaidLevel::Raid10) => part(copies(md), disks).min(1.0),
        Some(level @ (RaidLevel::Raid5 | RaidLevel::Raid6)) => {
            part(1, disks.saturating_sub(level.parity().into()))
        }
        Some(RaidLevel::Raid1 | RaidLevel::Linear) | None => 1.0,
    };
    let read = match level {
        Some(RaidLevel::Raid0) => part(1, disks),
        Some(RaidLevel::Linear) | None => 1.0,
        Some(_) => part(1, readers),
    };
    let share = |role: Role| match role {
        Role::Full => Traffic { read, write },
        Role::WriteOnly => Traffic { read: if all_read { read } else { 0.0 }, write },
        Role::Journal => Traffic { read: 0.0, write: write * disks as f64 },
        Role::Idle => Traffic::NONE,
    };
    roles
        .into_iter()
        .filter(|(_, role)| *role != Role::Idle)
        .map(|(member, role)| (member.clone(), share(role)))
        .collect()
}

/// What the fractions of an array's members mean.
pub(super) fn array_spread(level: Option<RaidLevel>) -> Spread {
    match level {
        Some(RaidLevel::Linear) => Spread::Either,
        Some(_) => Spread::Together,
        None => Spread::ReadEither,
    }
}

/// What the fractions of a volume's members mean. Targets that narrows has no layout for (`raid`, `cache`, `mirror`…)
/// may write to all of them.
pub(super) fn volume_spread(layout: &VolumeLayout) -> Spread {
    match layout {
        VolumeLayout::Striped { .. } => Spread::Together,
        VolumeLayout::Linear | VolumeLayout::Multipath => Spread::Either,
        VolumeLayout::Other(_) => Spread::ReadEither,
    }
}

fn part(of: usize, whole: usize) -> f64 {
    of as f64 / whole.max(1) as f64
}

/// The copies of each chunk: near copies in the lowest byte of the layout, far copies in the next (md(4), kernel
/// `drivers/md/raid10.c`, `setup_geo`). Two near copies is what mdadm makes when not told otherwise.
fn copies(md: &MdArray) -> usize {
    let Some(layout) = md.layout.get() else { return 2 };
    let [near, far, ..] = layout.to_le_bytes();
    (usize::from(near) * usize::from(far)).max(1)
}

/// What of a volume's traffic crosses each of its `members`. Of a linear one that lies on several devices, the one
/// that a stream is on carries all of it; of several paths to one device, the kernel may use one only.
pub(super) fn volume(layout: &VolumeLayout, members: usize) -> Traffic {
    match layout {
        VolumeLayout::Striped { .. } => Traffic::both(part(1, members)),
        VolumeLayout::Linear | VolumeLayout::Multipath | VolumeLayout::Other(_) => Traffic::ONE,
    }
}

/// The devices of a bcache and what crosses each. How much of a workload finds its data in the cache is not known
/// before it runs, so each device is taken to carry all that it may be asked for (kernel
/// `Documentation/admin-guide/bcache.rst`): in write-around mode writes go to the backing device alone, and without a
/// cache or in mode `none` everything does.
pub(super) fn cache(bcache: &Bcache) -> Vec<(String, Traffic)> {
    let mode = bcache.mode.value().map_or("", String::as_str);
    let is_detached = mode == "none" || bcache.state.value().is_some_and(|state| state == "no cache");
    let cached = match mode {
        "writearound" => Traffic { read: 1.0, write: 0.0 },
        _ => Traffic::ONE,
    };
    let caches = bcache.caches.iter().filter(|_| !is_detached).map(|cache| (cache.clone(), cached));
    caches.chain(bcache.backing.iter().map(|backing| (backing.clone(), Traffic::ONE))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::fact::Fact;
    use proptest::prelude::*;

    fn md(level: &str, disks: u32) -> MdArray {
        MdArray {
            level: Fact::known(level.to_owned(), "level"),
            raid_disks: Fact::known(disks, "raid_disks"),
            ..MdArray::default()
        }
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("sd{}", char::from(b'a' + at as u8))).collect()
    }

    fn shares(md: &MdArray, members: usize) -> Vec<(f64, f64)> {
        let level = md.level.value().and_then(|name| level(name));
        array(md, level, &names(members)).iter().map(|(_, share)| (share.read, share.write)).collect()
    }

    fn with_state(mut md: MdArray, member: &str, state: &str) -> MdArray {
        md.members.insert(member.to_owned(), Fact::known(state.to_owned(), "state"));
        md
    }

    #[test]
    fn complete_arrays_spread_their_traffic_by_level() {
        assert_eq!(shares(&md("raid0", 4), 4), [(0.25, 0.25); 4]);
        assert_eq!(shares(&md("raid1", 2), 2), [(0.5, 1.0); 2]);
        assert_eq!(shares(&md("raid5", 5), 5), [(0.2, 0.25); 5]);
        assert_eq!(shares(&md("raid6", 6), 6), [(1.0 / 6.0, 0.25); 6]);
        assert_eq!(shares(&md("linear", 2), 2), [(1.0, 1.0); 2]);
        assert_eq!(shares(&md("multipath", 2), 2), [(1.0, 1.0); 2]);
    }

    #[test]
    fn raid_10_writes_as_many_copies_as_its_layout_says() {
        // mdadm --detail: "Layout : near=2" is 0x102, "far=3" is 0x301 (md(4)).
        let near = MdArray { layout: Fact::known(0x102, "layout"), ..md("raid10", 4) };
        assert_eq!(shares(&near, 4), [(0.25, 0.5); 4]);
        let far = MdArray { layout: Fact::known(0x301, "layout"), ..md("raid10", 6) };
        assert_eq!(shares(&far, 6), [(1.0 / 6.0, 0.5); 6]);
        assert_eq!(shares(&md("raid10", 4), 4), [(0.25, 0.5); 4]);
    }

    #[test]
    fn a_degraded_array_is_read_from_the_members_that_are_left() {
        assert_eq!(shares(&md("raid1", 2), 1), [(1.0, 1.0)]);
        assert_eq!(shares(&md("raid5", 5), 4), [(0.25, 0.25); 4]);
        let failed = with_state(md("raid1", 2), "sdb", "faulty");
        assert_eq!(shares(&failed, 2), [(1.0, 1.0)]);
    }

    #[test]
    fn a_member_that_is_rebuilt_is_written_but_not_read() {
        let waiting = with_state(md("raid1", 2), "sdc", "spare");
        assert_eq!(shares(&waiting, 3), [(0.5, 1.0); 2]);
        let rebuilt = with_state(md("raid1", 2), "sdb", "spare");
        let rebuilt = MdArray { sync_action: Fact::known("recover".to_owned(), "sync_action"), ..rebuilt };
        assert_eq!(shares(&rebuilt, 2), [(1.0, 1.0), (0.0, 1.0)]);
        let mostly = with_state(md("raid1", 2), "sdb", "in_sync,write_mostly");
        assert_eq!(shares(&mostly, 2), [(1.0, 1.0), (0.0, 1.0)]);
    }

    #[test]
    fn the_journal_of_a_parity_array_takes_data_and_parity() {
        // 4 disks, 1 parity: for each byte of data 4/3 bytes go to the stripe, and all of that to the journal first.
        let journal = with_state(md("raid5", 4), "sde", "journal");
        let shares = shares(&journal, 5);
        assert_eq!(shares[0].0, 0.25);
        assert!((shares[4].1 - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(shares[4].0, 0.0);
    }

    #[test]
    fn a_cache_carries_what_its_mode_sends_through_it() {
        let bcache = |mode: &str, state: &str| Bcache {
            mode: Fact::known(mode.to_owned(), "cache_mode"),
            state: Fact::known(state.to_owned(), "state"),
            backing: Some("sda".to_owned()),
            caches: vec!["nvme0n1".to_owned()],
            ..Bcache::default()
        };
        let shares = |bcache: &Bcache| {
            cache(bcache)
                .iter()
                .map(|(name, share)| (name.clone(), share.read, share.write))
                .collect::<Vec<_>>()
        };
        let (ssd, hdd) = ("nvme0n1".to_owned(), "sda".to_owned());
        assert_eq!(shares(&bcache("writeback", "dirty")), [(ssd.clone(), 1.0, 1.0), (hdd.clone(), 1.0, 1.0)]);
        assert_eq!(shares(&bcache("writearound", "clean")), [(ssd, 1.0, 0.0), (hdd.clone(), 1.0, 1.0)]);
        assert_eq!(shares(&bcache("writeback", "no cache")), [(hdd, 1.0, 1.0)]);
    }

    proptest! {
        #[test]
        fn no_array_reads_more_than_it_is_asked_for_nor_divides_by_nothing(
            level in "raid0|raid1|raid10|raid5|raid6", disks in 0u32..300, members in 1usize..20, layout: u64,
        ) {
            let md = MdArray { layout: Fact::known(layout, "layout"), ..md(&level, disks) };
            for (read, write) in shares(&md, members) {
                prop_assert!(read > 0.0 && read <= 1.0, "read {}", read);
                prop_assert!(write > 0.0 && write <= 1.0, "write {}", write);
            }
        }
    }
}
