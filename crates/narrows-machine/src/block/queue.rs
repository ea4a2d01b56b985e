//! How a request queue is set (kernel `Documentation/ABI/stable/sysfs-block`).

use crate::root::Root;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;

/// How a request queue is set, `/sys/block/*/queue`.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// The scheduler in force, the bracketed one of `…/scheduler`.
    pub scheduler: Fact<String>,
    /// `…/nr_requests`.
    pub requests: Fact<u32>,
    /// The number of hardware queues, entries of `../mq`.
    pub hardware_queues: Fact<u32>,
    /// The longest request, `…/max_sectors_kb`.
    pub max_request: Fact<Bytes>,
    /// `…/logical_block_size`.
    pub logical_block: Fact<Bytes>,
    /// `…/physical_block_size`.
    pub physical_block: Fact<Bytes>,
    /// `…/read_ahead_kb`.
    pub read_ahead: Fact<Bytes>,
    /// `…/rotational`.
    pub rotational: Fact<bool>,
    /// `write back` or `write through`, `…/write_cache`.
    pub write_cache: Fact<String>,
}

/// Reads the queue of a whole device, `block` being its directory.
pub(super) fn read(root: &Root, block: &str) -> Queue {
    let at = |file: &str| format!("{block}/queue/{file}");
    let count = |file: &str| root.parse(&at(file), |text| text.parse::<u32>().ok());
    let bytes = |file: &str| root.number(&at(file)).map(Bytes::new);
    let kib = |file: &str| root.number(&at(file)).map(Bytes::from_kib);
    Queue {
        scheduler: root.parse(&at("scheduler"), |text| Some(super::bracketed(text).to_owned())),
        requests: count("nr_requests"),
        hardware_queues: hardware_queues(root, block),
        max_request: kib("max_sectors_kb"),
        logical_block: bytes("logical_block_size"),
        physical_block: bytes("physical_block_size"),
        read_ahead: kib("read_ahead_kb"),
        rotational: root.parse(&at("rotational"), super::parse_flag),
        write_cache: root.text(&at("write_cache")),
    }
}

/// A device that takes bios directly (md, dm, bcache) has no hardware queues.
fn hardware_queues(root: &Root, block: &str) -> Fact<u32> {
    let queues = root.try_list(&format!("{block}/mq"));
    queues.absent_when(Vec::is_empty).map(|names| u32::try_from(names.len()).unwrap_or(u32::MAX))
}
