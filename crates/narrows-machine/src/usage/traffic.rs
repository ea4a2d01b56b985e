//! The last class of user: anybody who reads or writes, by the device's own counters. Whoever is not seen in any other way
//! is seen here, if only he does something.
//!
//! Source: `Documentation/block/stat.rst` of the kernel; for a loop device also the times of its file.

use std::collections::BTreeMap;

use crate::block::transport::paths_of;
use crate::root::{FileId, Root};

/// What was counted on some devices until now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    devices: BTreeMap<String, Count>,
    /// Files behind loop devices, with when each was last changed.
    files: BTreeMap<String, (FileId, i128)>,
    /// Devices that do not count.
    uncounted: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Count {
    reads: u64,
    /// Writes, discards and flushes.
    changes: u64,
    in_flight: u64,
}

/// What somebody did to a device between two looks at its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The device, or the file behind it.
    pub device: String,
    /// Reads that ended.
    pub reads: u64,
    /// Writes, discards and flushes that ended.
    pub changes: u64,
    /// What had not ended.
    pub in_flight: u64,
}

impl Traffic {
    /// Whether it may have changed what stands there.
    pub const fn is_change(&self) -> bool {
        self.changes > 0
    }
}

impl Counters {
    /// Reads the counters of devices.
    pub fn read(root: &Root, names: &[String]) -> Self {
        let mut all = Self::default();
        for name in names {
            match count(root, name) {
                Some(count) => drop(all.devices.insert(name.clone(), count)),
                None => all.uncounted.push(name.clone()),
            }
            let file = root.text(&format!("/sys/class/block/{name}/loop/backing_file")).get();
            if let Some(changed) = file.and_then(|path| root.changed(&path)) {
                all.files.insert(name.clone(), changed);
            }
        }
        all
    }

    /// The devices that do not count what is done to them.
    pub fn uncounted(&self) -> &[String] {
        &self.uncounted
    }

    /// What was done until a later look.
    pub fn until(&self, later: &Self) -> Vec<Traffic> {
        let mut found = Vec::new();
        for (name, now) in &later.devices {
            let was = self.devices.get(name).copied().unwrap_or_default();
            let traffic = Traffic {
                device: name.clone(),
                reads: now.reads.wrapping_sub(was.reads),
                changes: now.changes.wrapping_sub(was.changes),
                in_flight: now.in_flight.min(was.in_flight),
            };
            if (traffic.reads, traffic.changes, traffic.in_flight) != (0, 0, 0) {
                found.push(traffic);
            }
        }
        for (name, now) in &later.files {
            if self.files.get(name).is_some_and(|was| was != now) {
                let device = format!("the file behind {name}");
                found.push(Traffic { device, reads: 0, changes: 1, in_flight: 0 });
            }
        }
        found
    }
}

/// What a device counted; `None` when it does not count. The paths of an NVMe drive with several count for it.
fn count(root: &Root, name: &str) -> Option<Count> {
    let names = root.list("/sys/class/block");
    let paths = paths_of(name, names.iter().map(String::as_str));
    let counted = std::iter::once(name).chain(paths.iter().map(String::as_str));
    let counts: Vec<Count> = counted.filter_map(|name| count_one(root, name)).collect();
    (!counts.is_empty()).then(|| counts.into_iter().fold(Count::default(), Count::and))
}

fn count_one(root: &Root, name: &str) -> Option<Count> {
    let block = format!("/sys/class/block/{name}");
    if root.text(&format!("{block}/queue/iostats")).value().is_some_and(|text| text == "0") {
        return None;
    }
    root.parse(&format!("{block}/stat"), parse).get()
}

/// The fields of `stat` that count what ended, and what has not.
fn parse(text: &str) -> Option<Count> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let field = |at: usize| fields.get(at).copied();
    // Discards since Linux 4.18, flushes since 5.5.
    let changes = [field(4)?, field(11).unwrap_or_default(), field(15).unwrap_or_default()];
    let changes = changes.into_iter().fold(0, u64::wrapping_add);
    Some(Count { reads: field(0)?, changes, in_flight: field(8)? })
}

impl Count {
    const fn and(self, other: Self) -> Self {
        Self {
            reads: self.reads.wrapping_add(other.reads),
            changes: self.changes.wrapping_add(other.changes),
            in_flight: self.in_flight.wrapping_add(other.in_flight),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    fn counters(files: &[(&str, &str)]) -> Counters {
        let mut tree = Tree::new();
        for (path, text) in files {
            tree.file(&format!("/sys/class/block/{path}"), text);
        }
        Counters::read(&Root::from_tree(tree), &["sdc".to_owned()])
    }

    /// As `stat.rst` orders them: reads, merges, sectors, ms, the same of writes, in flight, ms, ms, the same of discards,
    /// flushes, ms.
    fn stat(reads: u64, writes: u64, in_flight: u64, discards: u64, flushes: u64) -> String {
        format!("{reads} 5 80 9 {writes} 6 90 9 {in_flight} 10 11 {discards} 0 8 1 {flushes} 2\n")
    }

    #[test]
    fn what_ended_in_between_and_what_did_not_end_is_traffic() {
        let read = |text: &str| counters(&[("sdc/stat", text)]);
        let first = read(&stat(10, 20, 0, 3, 4));
        assert_eq!(first.until(&first), []);
        let traffic =
            |reads, changes, in_flight| Traffic { device: "sdc".to_owned(), reads, changes, in_flight };
        assert_eq!(first.until(&read(&stat(12, 20, 0, 3, 4))), [traffic(2, 0, 0)]);
        assert_eq!(first.until(&read(&stat(10, 21, 0, 4, 5))), [traffic(0, 3, 0)]);
        let stuck = read(&stat(10, 20, 1, 3, 4));
        assert_eq!(stuck.until(&stuck), [traffic(0, 0, 1)]);
        assert!(!traffic(2, 0, 1).is_change() && traffic(0, 1, 0).is_change());
        let old = read("10 5 80 9 20 6 90 9 0 10 11\n");
        assert_eq!(old.until(&read("10 5 80 9 21 6 90 9 0 10 11\n")), [traffic(0, 1, 0)]);
    }

    #[test]
    fn a_device_that_does_not_count_is_named() {
        assert_eq!(
            counters(&[("sdc/stat", &stat(0, 0, 0, 0, 0)), ("sdc/queue/iostats", "0\n")]).uncounted(),
            ["sdc"]
        );
        assert_eq!(counters(&[]).uncounted(), ["sdc"]);
        assert_eq!(counters(&[("sdc/stat", "words\n")]).uncounted(), ["sdc"]);
        assert!(counters(&[("sdc/stat", &stat(0, 0, 0, 0, 0))]).uncounted().is_empty());
    }

    #[test]
    fn the_paths_of_a_drive_count_for_it() {
        let read = |reads: u64| {
            let mut tree = Tree::new();
            tree.file("/sys/class/block/nvme0n1/stat", &stat(0, 0, 0, 0, 0))
                .file("/sys/class/block/nvme0n1/queue/iostats", "0\n")
                .file("/sys/class/block/nvme0c1n1/stat", &stat(reads, 0, 0, 0, 0))
                .file("/sys/class/block/nvme0c1n12/stat", &stat(reads * 9, 0, 0, 0, 0))
                .file("/sys/class/block/nvme01c1n1/stat", &stat(reads * 9, 0, 0, 0, 0));
            Counters::read(&Root::from_tree(tree), &["nvme0n1".to_owned()])
        };
        let found = read(1).until(&read(4));
        assert_eq!(found.iter().map(|traffic| traffic.reads).collect::<Vec<_>>(), [3]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,100}", fields in proptest::collection::vec(any::<u64>(), 0..20)) {
            parse(&text);
            let text: Vec<String> = fields.iter().map(u64::to_string).collect();
            parse(&text.join(" "));
        }
    }
}
