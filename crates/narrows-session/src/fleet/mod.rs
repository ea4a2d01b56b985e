//! One load on many hosts, by fio's own client/server protocol through ssh.
//!
//! The controller opens one connection to each host (`link`), over which it pushes this program and starts what keeps the run's
//! directory there (`script`): a lock, a `fio --server` on a socket in that directory, and a watchdog that takes all of it away when
//! the controller, the connection, the keeper or the time ends. One `fio --client` for each host talks to its server through the
//! connection (`run`). When the jobs of all hosts wait, each is told the same moment on its own host's clock (`hosts`), and sleeps
//! until then before its first I/O. Nothing listens on a port, here or there, but for the network's own leg (`leg`), which is asked for.
//! Where another program than ssh starts commands on hosts, it is told as a launcher (`link/reach`).

pub mod hosts;
pub mod job;
pub mod leg;
mod link;
mod run;
pub mod script;
pub mod started;

pub use hosts::HostName;
pub use job::{Job, JobTarget};
pub use link::{HOST, Launcher, Looked, Reach, as_bytes, as_lines};
pub use run::{Asked, Fleet, Point, Preflight, objections};
pub use script::{Ground, Pushed, files};
pub use started::LinkError;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use link::{Link, collect};
use script::Terms;

/// Does `work` on every item with at most `most` threads; the results are in the order of the items.
pub fn each<T: Sync, R: Send>(items: &[T], most: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, R>> = Mutex::default();
    let run = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, result);
        }
    };
    thread::scope(|scope| {
        // One of them is this thread.
        for _ in 1..most.min(items.len()).max(1) {
            scope.spawn(run);
        }
        run();
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// How many hosts are talked to at once: ssh spends a processor's time on each handshake.
pub fn fan_out() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).saturating_mul(8).min(64)
}

/// How long a host keeps what was pushed, in seconds, if nobody takes it away.
const KEPT: u64 = 300;

/// So many hosts at once: each may send the most that any may, which is in memory twice.
const AT_ONCE: usize = 16;

/// Takes the inventory of all hosts, in a directory of their own each below `ground`. `collector` is the text of the POSIX collector; `keep`
/// keeps a capture by the name of its file, so that none waits in memory for the others. Why it is the collector's, where it is, or why there is none.
pub fn inventory(
    ground: &Ground,
    reach: &Reach,
    hosts: &[HostName],
    (pushed, collector): (&Pushed, &str),
    keep: impl Fn(&str, &[u8]) -> Result<(), String> + Sync,
) -> Vec<Result<Option<String>, LinkError>> {
    let numbered: Vec<(usize, &HostName)> = hosts.iter().enumerate().collect();
    each(&numbered, fan_out().min(AT_ONCE), |(number, host)| {
        let (directory, token) = ground.place(*number)?;
        let place = (directory.clone(), &token);
        let terms = Terms { seconds: KEPT, has_load: false };
        let (ending, bytes, why) = match Link::open(reach, host, place, pushed, terms) {
            Ok(mut link) => {
                let record = link.record();
                link.close();
                ("tar.zst", record?, None)
            }
            Err(LinkError::Refused(why)) => ("txt", collect(reach, host, &directory, collector)?, Some(why)),
            Err(error) => return Err(error),
        };
        keep(&format!("{host}.{ending}"), &bytes).map_err(LinkError::Refused)?;
        Ok(why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
        assert_eq!(each(&items, 7, |item| item * 2), doubled);
        assert_eq!(each(&items[..1], 0, |item| *item), [0]);
        assert!(each(&[] as &[usize], 3, |item| *item).is_empty());
    }
}
