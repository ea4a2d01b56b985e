//! What a person should know of a prediction.

use super::bound::{Bound, BoundKind};
use super::hops::Loaded;
use crate::ceiling::{Basis, Ceiling, Direction, bcache};
use crate::path::HopKind;
use crate::path::file::{Pattern, Workload};
use narrows_base::units::{Bytes, human};

/// What was assumed, and what is not covered.
pub(super) fn of(
    workload: &Workload,
    hops: &[Loaded],
    bounds: &[Bound],
    deciding: Option<&Bound>,
) -> Vec<String> {
    let mut notes: Vec<String> = deciding.and_then(|bound| law(bound, hops)).into_iter().collect();
    for loaded in hops {
        let ignored = matches!(loaded.hop.kind(), HopKind::Memory | HopKind::Application);
        let used = if workload.read_share > 0.0 { &loaded.ceilings.read } else { &loaded.ceilings.write };
        if let (Ceiling::Unknown(why), false) = (used, ignored) {
            notes.push(format!("{} is not counted: {why}", loaded.hop.name));
        }
    }
    let guessed = bounds.first().filter(|bound| bound.basis == Basis::Guess && bound.kind == BoundKind::Iops);
    if let Some(bound) = guessed {
        notes.push(format!(
            "the I/Os that {} completes are those of its class; give read_iops and write_iops",
            bound.name
        ));
    }
    let parity = hops.iter().any(|loaded| loaded.read_to_write > 0.0);
    if parity && workload.read_share < 1.0 {
        notes.push("writes smaller than a stripe read the old data and parity first".to_owned());
    }
    notes.extend(file_system(workload, hops));
    notes
}

/// Which law the deciding bound is of, where that is not the plain ceiling of its hop, and how far it holds.
fn law(bound: &Bound, hops: &[Loaded]) -> Option<String> {
    let loaded = hops.iter().find(|loaded| loaded.hop.id == bound.hop)?;
    let said = match (bound.kind, loaded.hop.kind()) {
        (BoundKind::Cap, _) => {
            format!("a cap decides ({}); it is exact once the burst that it allows is spent", bound.formula)
        }
        (BoundKind::Depth, HopKind::Cache) => {
            "hits and misses of the cache take turns for one reader (harmonic mean); the share of hits decides".to_owned()
        }
        (BoundKind::Iops, HopKind::Raid) => {
            "every record of a raidz vdev lies on all of its members, so it does the random reads of one".to_owned()
        }
        (BoundKind::Bandwidth, HopKind::Memory) if loaded.copied_by_zfs && bound.direction == Some(Direction::Write) => {
            "written data crosses main memory four times under ZFS: into the ARC, checksum, parity or compression, out"
                .to_owned()
        }
        (BoundKind::Bandwidth, HopKind::Link) if loaded.translated => {
            "address translation takes a part of the link; its law was measured with 4 KiB pages on Xeons of 2012 to 2016"
                .to_owned()
        }
        _ => return None,
    };
    Some(said)
}

/// What was assumed of ZFS and of caches before drives.
fn file_system(workload: &Workload, hops: &[Loaded]) -> Vec<String> {
    let mut notes = Vec::new();
    let missed = hops.iter().map(|loaded| loaded.missed).fold(1.0, f64::min);
    if missed < 1.0 && workload.read_share > 0.0 {
        let hit = human::percent(1.0 - missed);
        notes.push(format!(
            "{hit} of reads are taken to find their data in the ARC, as if all had been read before"
        ));
    }
    let writes = workload.read_share < 1.0;
    if writes && workload.pattern == Pattern::Random && hops.iter().any(|loaded| loaded.grown > 1.0) {
        notes.push(
            "random writes of less than a record have no law: what ZFS reads for them is not counted"
                .to_owned(),
        );
    }
    let length = workload
        .size
        .map_or(Bytes::new(u64::MAX), |size| Bytes::new(size.get() / u64::from(workload.jobs.max(1))));
    let is_stream = workload.pattern == Pattern::Sequential && bcache::passes_by(length);
    if writes && is_stream && hops.iter().any(|loaded| loaded.hop.kind() == HopKind::Cache) {
        let cutoff = human::block_size(bcache::SEQUENTIAL_CUTOFF);
        notes.push(format!(
            "streams longer than {cutoff} pass bcache by unless sequential_cutoff is 0: then the backing device takes all writes"
        ));
    }
    notes
}
