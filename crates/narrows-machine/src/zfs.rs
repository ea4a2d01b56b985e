//! ZFS pools. Which there are and how they are stands in `/proc/spl/kstat/zfs` (OpenZFS
//! `module/os/linux/spl/spl-kstat.c`, `module/zfs/spa_stats.c`). Their layers are in no file of `/proc` or `/sys`;
//! `zpool status` and `zpool list -v` tell them (zpool-status(8)), so that they are known of captured machines only.

use super::fact::Fact;
use super::root::Root;
use narrows_base::units::BytesPerSec;

#[derive(Debug, Clone, Default)]
pub struct ZfsPool {
    pub name: String,
    /// `ONLINE`, `DEGRADED`, `FAULTED`, `SUSPENDED`…
    pub state: Fact<String>,
    /// The scrub or resilver that is running; absent when none is.
    pub scan: Fact<ZfsScan>,
    /// The virtual devices over which data are spread, and those with other roles.
    pub vdevs: Vec<ZfsVdev>,
    /// How many reads and writes failed, and how many checksums were wrong, where no device made up for it.
    pub errors: Fact<[u64; 3]>,
    /// What it says of data that are lost; absent where it says that none are.
    pub lost: Fact<String>,
}

/// The directory with one directory for each imported pool, beside files of the module itself.
const POOLS: &str = "/proc/spl/kstat/zfs";

/// More pools than any machine has.
const MOST: usize = 4096;

/// Every pool that is imported, and its state.
pub fn read(root: &Root) -> Vec<ZfsPool> {
    let names = root.list(POOLS).into_iter().take(MOST);
    let pools = names.filter(|name| root.exists(&format!("{POOLS}/{name}/state")));
    pools
        .map(|name| {
            let state = root.text(&format!("{POOLS}/{name}/state"));
            ZfsPool { name, state, ..ZfsPool::default() }
        })
        .collect()
}

/// Whether a pool of this name is imported.
pub fn is_imported(root: &Root, name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && root.exists(&format!("{POOLS}/{name}/state"))
}

/// The data set (`tank/disk`) that the volume with this kernel name (`zd0`) is.
pub fn volume(root: &Root, kernel_name: &str) -> Option<String> {
    root.probe(&format!("zvol/{kernel_name}"), || crate::kernel::data_set_of_zvol(kernel_name)).get()
}

/// The pool that a file system is in: `tank` of `tank/home`.
pub fn pool_of(set: &str) -> &str {
    set.split('/').next().unwrap_or(set)
}

/// A running scrub or resilver.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsScan {
    /// `scrub` or `resilver`.
    pub action: String,
    /// How far it is, 0 to 1.
    pub done: Option<f64>,
    /// How fast it reads or issues work.
    pub rate: Option<BytesPerSec>,
}

/// A virtual device of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsVdev {
    /// `mirror-0`, `raidz2-1`, or the name of a device that stands alone.
    pub name: String,
    /// What it is for: `data`, `logs`, `cache`, `spares`, `special`, `dedup`.
    pub role: String,
    /// `ONLINE`, `DEGRADED`, `FAULTED`, `AVAIL`… as printed.
    pub state: String,
    /// The devices that it is made of, by key where the name tells it and as printed where not.
    pub devices: Vec<ZfsDevice>,
}

/// A device of a pool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZfsDevice {
    /// `sda1`, or a name of `/dev/disk/by-id`.
    pub name: String,
    /// `ONLINE`, `FAULTED`, `UNAVAIL`… as printed.
    pub state: String,
    /// Whether it is one of the two of `replacing-0`: it is being replaced, or replaces.
    pub is_replaced: bool,
    /// Reads and writes that failed and blocks whose checksum was wrong, since they were cleared; of a device that is being written
    /// anew none, as its old errors say nothing.
    pub errors: [u64; 3],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn the_pools_of_a_live_machine_tell_their_state() {
        let mut tree = Tree::new();
        tree.file("/proc/spl/kstat/zfs/arcstats", "1\n")
            .file("/proc/spl/kstat/zfs/tank/state", "DEGRADED\n")
            .file("/proc/spl/kstat/zfs/tank/txgs", "1\n")
            .file("/proc/spl/kstat/zfs/old/io", "1\n");
        let pools = read(&Root::from_tree(tree));
        assert_eq!(pools.len(), 1);
        assert_eq!(pools[0].name, "tank");
        assert_eq!(pools[0].state.value().map(String::as_str), Some("DEGRADED"));
        assert!(read(&Root::from_tree(Tree::new())).is_empty());
    }

    #[test]
    fn a_file_system_is_in_the_pool_that_its_name_begins_with() {
        assert_eq!((pool_of("tank/home/alice"), pool_of("tank")), ("tank", "tank"));
    }
}
