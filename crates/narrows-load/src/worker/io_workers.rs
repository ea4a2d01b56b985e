//! The kernel's worker threads for a ring (io-wq): they take the I/Os that a device or a layer above it cannot take without
//! waiting, such as those of dm-crypt or zram.
//!
//! They are threads of our process, `iou-wrk-` and the number of the thread whose ring they serve (Linux 5.12,
//! `io_uring/io-wq.c`).

use std::fs;
use std::time::Duration;

use nix::unistd::gettid;

use crate::schedstat;

/// Processor time so far of the workers for a ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// That of all of them.
    pub(super) all: Duration,
    /// That of the one that has used the most.
    pub(super) most: Duration,
}

/// What the workers that serve the rings of the calling thread have used. One that has ended, as idle ones do after some
/// seconds, is missing.
#[expect(
    clippy::disallowed_methods,
    reason = "the account of threads of our own process is a clock, no fact of the machine"
)]
pub(super) fn processor_time() -> Spent {
    let name = format!("iou-wrk-{}\n", gettid());
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = threads
        .filter(|thread| fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm == name))
        .filter_map(|thread| schedstat::ran(&thread.path().join("schedstat")));
    spent.fold(Spent::default(), |so_far, one| Spent { all: so_far.all + one, most: so_far.most.max(one) })
}
