//! Which rows no law covers, and why. Every rule is about the kind of row; none about a single one.

use narrows::catalog::catalog;
use narrows::path::file::{Engine, Pattern};

use crate::laws;
use crate::table::Row;
use crate::text;
use crate::work::Work;

/// Why there is no prediction of a row; `None` where there may be one.
pub(crate) fn refusal(row: &Row, work: &Work) -> Option<&'static str> {
    unit(row)
        .or_else(|| source(row))
        .or_else(|| platform(row, work))
        .or_else(|| stack(row, work))
        .or_else(|| ran(row, work))
}

/// Whether a path file can express what a row measured: the rate or time of a workload, of a machine that its source calls
/// healthy. One law alone (a cipher in memory, a DMA engine, a resync) and copies of files have no place in a path file.
pub(crate) fn is_in_scope(row: &Row, work: &Work) -> bool {
    let words = row.workload.to_lowercase();
    let is_workload = !text::has_any(&words, &["copy", "streaming", "cached", "scrub"]);
    unit(row).is_none() && source(row).is_none() && is_workload && !laws::is_alone(row, work)
}

fn unit(row: &Row) -> Option<&'static str> {
    match row.unit.as_str() {
        "percent" | "%" => Some("a change in percent is no rate"),
        "threads" => Some("a count of threads is no rate"),
        "MB/s" | "MiB/s" | "GB/s" | "GiB/s" | "IOPS" | "Gbit/s" | "us" | "ns" => None,
        _ => Some("its unit is not known"),
    }
}

/// What the source says of its own row: measured unhealthy, or not measured.
fn source(row: &Row) -> Option<&'static str> {
    let note = row.note.to_lowercase();
    let words = row.workload.to_lowercase();
    if note.contains("unhealthy") || note.contains("far below its") {
        return Some("its source calls the machine unhealthy");
    }
    if words.contains("expected") || words.contains("range") {
        return Some("an expectation of its author and no measurement");
    }
    None
}

fn platform(row: &Row, work: &Work) -> Option<&'static str> {
    let core = catalog().core_by_words(&row.platform);
    if core.is_some_and(|core| core.slow_copy) && matches!(work.engine, Engine::Buffered | Engine::Hdparm) {
        return Some("how fast this small core copies out of the page cache is not known");
    }
    if row.topology == "vm" {
        return Some("what carries a virtual disk is not named");
    }
    if row.devices == "-" && row.device.to_lowercase().contains("set") {
        return Some("how many drives there are is not named");
    }
    if core.is_none() && in_memory(row) && text::has_word(&row.platform.to_lowercase(), "vm") {
        return Some("what a call costs in this virtual machine is not known");
    }
    if row.topology.contains("numa") && work.depth == Some(1) && !is_dma(row) {
        return Some("power states outweigh a remote node at depth 1");
    }
    None
}

/// Layers for which there is no law.
fn stack(row: &Row, work: &Work) -> Option<&'static str> {
    let layers = row.layers.to_lowercase();
    let has = |word: &str| layers.contains(word);
    if has("s2d") || has("vmfleet") || has("ceph") {
        return Some("what each I/O of this cluster costs hypervisor and cores is not known");
    }
    if has("nvmesh") && !row.workload.contains("theoretical") {
        return Some("what NVMesh and its cluster file system add is not known");
    }
    if has("spdk") {
        return Some("what drives an SPDK target is not named");
    }
    if has("rdma-soft") {
        return Some("RDMA in software costs the processor at an unknown rate");
    }
    if has("bitlocker") {
        return Some("there is no law for BitLocker in software");
    }
    if has("bitmap") && work.pattern == Pattern::Random {
        return Some("there is no law for the locks of a write-intent bitmap");
    }
    if work.pattern == Pattern::Random && md_locks(row, work) {
        return Some("above some 100 k I/Os a second md's locks limit, by a law that depends on the kernel");
    }
    if has("zfs")
        && !served(row)
        && (work.depth.is_some() || work.jobs.is_some())
        && !row.workload.contains("scrub")
    {
        return Some("ZFS: the ARC may hold the files, so that no drive is measured");
    }
    if row.workload.contains("scrub") {
        return Some("there is no law for scrubs");
    }
    let is_raidz = has("raidz") || has("zfs");
    if is_raidz && row.year.parse::<u32>().is_ok_and(|year| year < 2017) {
        return Some("ZFS before 0.7 had no vector parity");
    }
    encryption(row, work)
}

/// Random I/O of a parity array or of mirrors in memory meets locks before drives.
fn md_locks(row: &Row, work: &Work) -> bool {
    let layers = row.layers.to_lowercase();
    let is_flash = !row.device.to_lowercase().contains("hdd");
    let many = work.jobs.unwrap_or(1) >= 16;
    let parity = layers.contains("raid5") || layers.contains("raid6");
    let mirrors = layers.contains("raid1");
    is_flash && many && (parity || mirrors)
}

fn encryption(row: &Row, work: &Work) -> Option<&'static str> {
    let layers = row.layers.to_lowercase();
    let encrypts = ["luks", "dm-crypt", "veracrypt"].iter().any(|word| layers.contains(word));
    if !encrypts {
        return None;
    }
    let core = catalog().core_by_words(&row.platform);
    let one_by_one = work.depth == Some(1) && work.block <= 65_536;
    if core.is_none() && !one_by_one {
        return Some("the processor that encrypts is not named");
    }
    if core.is_some_and(|core| core.aes_cycles_per_round.is_none()) {
        return Some("there is no law for AES without its instructions");
    }
    if !work.says_depth()
        && !text::has_any(&row.workload.to_lowercase(), &["kdiskmark", "cdm", "crystaldiskmark"])
    {
        return Some("how many submit to the encrypted device is not said, and that decides");
    }
    None
}

/// What ran, where there is no law for it.
fn ran(row: &Row, work: &Work) -> Option<&'static str> {
    let words = row.workload.to_lowercase();
    if text::has_any(&words, &["copy", "streaming"]) {
        return Some("files are copied or streamed: file systems and sources are not in the model");
    }
    if words.contains("cached") {
        return Some("read from a cache, as its source says");
    }
    if words.contains("polled") && work.block < 4096 {
        return Some("records of tuned kernels with 512 bytes have no law");
    }
    let writes = work.read_share < 0.5;
    let slow_wire = row.network.starts_with("1GbE") || row.network.starts_with("1 G");
    let wide = ["40G", "50G", "100G", "200G", "400G"].iter().any(|rate| row.network.contains(rate));
    if wide && row.layers.contains("smb") {
        return Some("what a server's processors do of SMB limits above 25 Gbit/s, by no common rate");
    }
    if served(row) && writes && !slow_wire {
        return Some("what a file server does with writes (commits, R2T round trips) has no law");
    }
    if work.pattern == Pattern::Sequential
        && work.depth == Some(1)
        && work.block < 16_384
        && !in_memory(row)
        && !is_dma(row)
    {
        return Some("small sequential reads at depth 1 come from the drive's own read-ahead");
    }
    let windows = row.fs.contains("ntfs") || row.platform.contains("Windows");
    if windows && work.pattern == Pattern::Random && work.depth.unwrap_or(1) * work.jobs.unwrap_or(1) > 32 {
        return Some("what one I/O costs a core under Windows is not known");
    }
    if words.contains("sustained") && words.contains("after") && !is_qlc(row) {
        return Some("TLC drives have no common rate after their cache");
    }
    None
}

fn in_memory(row: &Row) -> bool {
    row.topology == "memory" || row.device.to_lowercase().contains("ramdisk")
}

/// Whether a file or block server stands before the drives.
fn served(row: &Row) -> bool {
    ["iscsi", "smb", "nfs"].iter().any(|word| row.layers.to_lowercase().contains(word))
}

fn is_dma(row: &Row) -> bool {
    row.workload.to_lowercase().starts_with("dma")
}

fn is_qlc(row: &Row) -> bool {
    let class = catalog().medium_by_words(&row.device).and_then(|medium| medium.class.as_deref());
    class.is_some_and(|class| class.contains("qlc")) || row.device.to_lowercase().contains("qlc")
}
