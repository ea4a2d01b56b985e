//! Memory: what there is, and what is left to this process.

use super::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

/// The memory that programs and the page cache can still get without swapping (`MemAvailable`).
pub fn available_memory(root: &Root) -> Fact<Bytes> {
    root.parse("/proc/meminfo", |text| parse_memory(text, "MemAvailable"))
}

/// Finds `MemTotal:  10315988 kB` in `/proc/meminfo`, or the same behind `Node 0 ` in a node's. The kernel's kB are
/// KiB.
pub fn parse_memory(text: &str, name: &str) -> Option<Bytes> {
    let (_, rest) =
        text.lines().find_map(|line| line.split_once(':').filter(|(key, _)| key.ends_with(name)))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes::new)
}

/// How much memory this process may still take without swapping or being killed: what the machine has left, and what its
/// control groups allow; `None` where nothing tells it.
pub fn memory_left(root: &Root) -> Option<Bytes> {
    let machine = available_memory(root).get();
    let groups = root.text("/proc/self/cgroup").get();
    let limits = groups.iter().flat_map(|text| text.lines()).filter_map(|line| of_group(root, line));
    machine.into_iter().chain(limits.map(Bytes::new)).min()
}

/// What the group of a line of `/proc/self/cgroup` and all above it allow (`cgroups(7)`): `0::/user.slice` of version 2,
/// `4:memory:/user.slice` of version 1.
fn of_group(root: &Root, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let files = match (number, controllers) {
        ("0", "") => {
            Files { top: "/sys/fs/cgroup", most: "memory.max", now: "memory.current", cache: "file" }
        }
        (_, list) if list.split(',').any(|name| name == "memory") => Files {
            top: "/sys/fs/cgroup/memory",
            most: "memory.limit_in_bytes",
            now: "memory.usage_in_bytes",
            cache: "total_cache",
        },
        _ => return None,
    };
    let mut least: Option<u64> = None;
    let mut path = path.trim_end_matches('/');
    loop {
        least = files.left(root, path).into_iter().chain(least).min();
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None => return least,
        }
    }
}

/// Where a version keeps its numbers.
struct Files {
    top: &'static str,
    most: &'static str,
    now: &'static str,
    /// The page cache in `memory.stat`, which gives way.
    cache: &'static str,
}

impl Files {
    /// What is left in one group. `max` is no number: no limit.
    fn left(&self, root: &Root, path: &str) -> Option<u64> {
        let top = self.top;
        let most = root.number(&format!("{top}{path}/{}", self.most)).get()?;
        let now = root.number(&format!("{top}{path}/{}", self.now)).get()?;
        let stat = root.text(&format!("{top}{path}/memory.stat")).get().unwrap_or_default();
        let cache = stat.lines().find_map(|line| {
            let (word, value) = line.split_once(' ')?;
            (word == self.cache).then(|| value.trim().parse::<u64>().ok()).flatten()
        });
        Some(most.saturating_sub(now.saturating_sub(cache.unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    #[test]
    fn memory_is_counted_in_kib() {
        let text = "MemTotal:       10315988 kB\nMemFree:         9311880 kB\n";
        assert_eq!(parse_memory(text, "MemTotal"), Some(Bytes::new(10_563_571_712)));
        assert_eq!(
            parse_memory("Node 1 MemTotal:         468140 kB", "MemTotal"),
            Some(Bytes::from_kib(468_140))
        );
        assert_eq!(parse_memory("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
        assert_eq!(parse_memory("MemFree: 1 kB", "MemTotal"), None);
    }

    fn machine(files: &[(&str, &str)]) -> Root {
        let mut tree = Tree::new();
        for (path, text) in files {
            tree.file(path, text);
        }
        Root::from_tree(tree)
    }

    #[test]
    fn the_machine_tells_what_is_left() {
        let root = machine(&[("/proc/meminfo", "MemTotal: 8000 kB\nMemAvailable:    4000 kB\n")]);
        assert_eq!(memory_left(&root), Some(Bytes::new(4_096_000)));
        assert_eq!(memory_left(&machine(&[("/proc/meminfo", "MemTotal: 8 kB\n")])), None);
    }

    #[test]
    fn the_tightest_group_counts_and_its_cache_gives_way() {
        let root = machine(&[
            ("/proc/meminfo", "MemAvailable: 4000000 kB\n"),
            ("/proc/self/cgroup", "0::/a/b\n"),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000000\n"),
            ("/sys/fs/cgroup/a/memory.current", "900000\n"),
            ("/sys/fs/cgroup/a/memory.stat", "anon 1\nfile 300000\n"),
        ]);
        assert_eq!(memory_left(&root), Some(Bytes::new(400_000)));
    }

    #[test]
    fn version_1_has_other_names() {
        let root = machine(&[
            ("/proc/self/cgroup", "5:cpu,memory:/x\n0::/\nnonsense\n"),
            ("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5000\n"),
            ("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "6000\n"),
        ]);
        assert_eq!(memory_left(&root), Some(Bytes::new(0)));
    }
}
