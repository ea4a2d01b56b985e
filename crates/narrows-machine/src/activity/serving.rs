//! What the processes that serve on some ports take of the processors, and how long they wait for one.

use std::collections::BTreeSet;

use crate::root::Root;
use narrows_base::units::Nanos;

/// What some processes did until now, all threads together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Time on a processor.
    pub run: Nanos,
    /// Time that they could have run and waited for a processor.
    pub waited: Nanos,
}

/// The sockets of this machine's side of connections on these ports, listening ones among them, by inode.
pub fn sockets_on(root: &Root, ports: &BTreeSet<u16>) -> BTreeSet<u64> {
    let texts = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| root.text(path).get().unwrap_or_default());
    texts.iter().flat_map(|text| text.lines()).filter_map(|line| inode_on(line, ports)).collect()
}

/// The inode of a line of `/proc/net/tcp` (kernel `Documentation/networking/proc_net_tcp.rst`) whose local port is one of these.
fn inode_on(line: &str, ports: &BTreeSet<u16>) -> Option<u64> {
    let mut words = line.split_whitespace();
    let port = words.nth(1)?.rsplit_once(':')?.1;
    let port = u16::from_str_radix(port, 16).ok()?;
    let inode = words.nth(7)?.parse().ok()?;
    (ports.contains(&port) && inode > 0).then_some(inode)
}

/// The processes that have one of these sockets. It looks at every open file of the machine, which root alone sees.
pub fn owners(root: &Root, sockets: &BTreeSet<u64>) -> BTreeSet<u32> {
    if sockets.is_empty() {
        return BTreeSet::new();
    }
    let processes = root.list("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let has = |process: &u32| {
        let place = format!("/proc/{process}/fd");
        root.list(&place).iter().any(|file| {
            let name = root.link_name(&format!("{place}/{file}")).get().unwrap_or_default();
            let inode = name.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'));
            inode.and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| sockets.contains(&inode))
        })
    };
    processes.filter(has).collect()
}

/// What these processes did until now (`schedstat` of each thread, kernel `Documentation/scheduler/sched-stats.rst`); `None` of none.
pub fn served(root: &Root, processes: &BTreeSet<u32>) -> Option<Served> {
    let threads = processes.iter().flat_map(|process| {
        let place = format!("/proc/{process}/task");
        let threads = root.list(&place);
        threads.into_iter().filter_map(move |thread| root.text(&format!("{place}/{thread}/schedstat")).get())
    });
    let of = threads.filter_map(|text| {
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        Some((words.next()?.ok()?, words.next()?.ok()?))
    });
    of.reduce(|(run, waited), (more, longer)| (run.saturating_add(more), waited.saturating_add(longer)))
        .map(|(run, waited)| Served { run: Nanos::new(run), waited: Nanos::new(waited) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    // As Linux 6.18 writes it: a server on port 10809, and sshd.
    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 02004D0A:2A39 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81234 1 0000000000000000 100 0 0 10 0
   1: 02004D0A:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 81111 1 0000000000000000 100 0 0 10 0
   2: 02004D0A:2A39 0A004D0A:A0F2 01 00000000:00000000 00:00000000 00000000     0        0 81300 1 0000000000000000 20 4 30 10 -1
";

    #[test]
    fn who_serves_is_found_by_its_sockets_and_what_it_takes_by_its_threads() {
        let mut tree = Tree::new();
        tree.file("/proc/net/tcp", TCP)
            .link("/proc/7/fd/3", "socket:[81234]")
            .link("/proc/7/fd/4", "/dev/null")
            .link("/proc/9/fd/3", "socket:[81111]")
            .file("/proc/7/task/7/schedstat", "1000 20 3\n")
            .file("/proc/7/task/8/schedstat", "500 5 9\n");
        let root = Root::from_tree(tree);
        let sockets = sockets_on(&root, &BTreeSet::from([10809]));
        assert_eq!(sockets, BTreeSet::from([81234, 81300]));
        let found = owners(&root, &sockets);
        assert_eq!(found, BTreeSet::from([7]));
        let served = served(&root, &found).expect("has threads");
        assert_eq!((served.run.get(), served.waited.get()), (1500, 25));
        assert_eq!(super::served(&root, &BTreeSet::new()), None);
        assert_eq!(super::served(&root, &BTreeSet::from([99])), None);
    }
}
