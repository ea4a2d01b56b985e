//! Whether a device takes the discards that a test of trims sends, asked of its queue before anything is written.

use std::path::Path as FilePath;

use crate::place::Place;
use crate::scene::Scene;
use narrows_base::units::{Bytes, human};
use narrows_load::LoadError;
use narrows_load::preset::LoadSpec;

/// What a device says of its discards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Discards {
    /// The least that it gives back, `queue/discard_granularity`; zero where that is not known or nothing is discarded.
    granularity: Bytes,
}

impl Discards {
    /// What the device at `place` says, if any of `loads` trims it.
    ///
    /// # Errors
    /// It takes no discards (`queue/discard_max_bytes` is 0, kernel `Documentation/ABI/stable/sysfs-block`).
    pub fn of(scene: &Scene, place: &Place, loads: &[&LoadSpec]) -> Result<Self, LoadError> {
        let Place::Owned { name, .. } = place else { return Ok(Self::default()) };
        if loads.iter().all(|load| load.trim_percent == 0) {
            return Ok(Self::default());
        }
        // A partition has the queue of its disk.
        let disk = scene.machine.block.get(name).and_then(|device| device.partition_of.as_ref());
        let queue = format!("/sys/class/block/{}/queue", disk.unwrap_or(name));
        let number = |file: &str| scene.root.number(&format!("{queue}/{file}")).get();
        if number("discard_max_bytes") == Some(0) {
            let error = LoadError::NoDiscard(FilePath::new("/dev").join(name));
            return Err(error);
        }
        Ok(Self { granularity: Bytes::new(number("discard_granularity").unwrap_or(0)) })
    }

    /// Why a load cannot be run, if it cannot: a device may ignore what is smaller than it can give back.
    pub fn obstacle(&self, load: &LoadSpec) -> Option<String> {
        let whole =
            self.granularity.get() == 0 || load.block_size.get().is_multiple_of(self.granularity.get());
        (load.trim_percent > 0 && !whole).then(|| {
            let (block, least) = (human::block_size(load.block_size), human::block_size(self.granularity));
            format!("its trims are {block}, and the device gives back whole {least} only")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::measurement::Pattern;

    #[test]
    fn what_a_device_would_ignore_is_not_measured() {
        let load = |kib, trims| LoadSpec::reading(Pattern::Random, Bytes::from_kib(kib), 1).trimming(trims);
        let coarse = Discards { granularity: Bytes::from_kib(64) };
        let why = coarse.obstacle(&load(4, 50)).unwrap();
        assert_eq!(why, "its trims are 4 KiB, and the device gives back whole 64 KiB only");
        assert!(coarse.obstacle(&load(96, 100)).is_some());
        assert_eq!(coarse.obstacle(&load(128, 100)), None);
        assert_eq!(coarse.obstacle(&load(4, 0)), None, "nothing is trimmed");
        assert_eq!(Discards::default().obstacle(&load(4, 100)), None, "nothing is known");
    }
}
