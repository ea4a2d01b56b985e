//! The kernel's worker threads for a ring (io-wq): they take the I/Os that a device or a layer above it cannot take without
//! waiting, such as those of dm-crypt or zram.
//!
//! They are threads of our process, `iou-wrk-` and the number of the thread whose ring they serve (Linux 5.12,
//! `io_uring/io-wq.c`).

use std::fs;
use std::time::Duration;

use nix::unistd::gettid;

use crate::load::schedstat;

/// The processor time so far of the workers that serve the rings of the calling thread. One that has ended, as idle ones do
/// after some seconds, is missing.
#[expect(
    clippy::disallowed_methods,
    reason = "the account of threads of our own process is a clock, no fact of the machine"
)]
pub(super) fn processor_time() -> Duration {
    let name = format!("iou-wrk-{}\n", gettid());
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter(|thread| fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm == name))
        .filter_map(|thread| schedstat::ran(&thread.path().join("schedstat")))
        .sum()
}
