//! The slowest I/Os of a run, as evidence: which offsets stall.

/// How many are kept.
pub(super) const KEPT: usize = 8;

/// One slow I/O in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slow {
    /// How long it took.
    pub(super) ticks: u64,
    /// Where it went.
    pub(super) offset: u64,
    /// When it ended.
    pub(super) end: u64,
}

/// The [`KEPT`] slowest I/Os, slowest first.
#[derive(Debug, Clone, Default)]
pub(super) struct Slowest {
    kept: Vec<Slow>,
    /// What an I/O must exceed to be kept.
    bar: u64,
}

impl Slowest {
    /// Looks at one I/O.
    #[inline]
    pub(super) fn offer(&mut self, slow: Slow) {
        if slow.ticks > self.bar || self.kept.len() < KEPT {
            self.insert(slow);
        }
    }

    /// What an I/O must exceed, in ticks, to be kept.
    #[inline]
    pub(super) fn bar(&self) -> u64 {
        self.bar
    }

    #[cold]
    fn insert(&mut self, slow: Slow) {
        let at = self.kept.partition_point(|other| other.ticks >= slow.ticks);
        self.kept.insert(at, slow);
        self.kept.truncate(KEPT);
        self.bar = self.kept.get(KEPT - 1).map_or(0, |least| least.ticks);
    }

    /// Adds those of another worker.
    pub(super) fn merge(&mut self, other: &Self) {
        other.kept.iter().for_each(|slow| self.offer(*slow));
    }

    /// The slowest, slowest first.
    pub(super) fn kept(&self) -> &[Slow] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_slowest_of_all_are_kept_in_order(ticks in prop::collection::vec(0u64..1000, 0..200), split in 0usize..200) {
            let offer = |ticks: &[u64]| {
                let mut slowest = Slowest::default();
                ticks.iter().for_each(|ticks| slowest.offer(Slow { ticks: *ticks, offset: 0, end: 0 }));
                slowest
            };
            let (a, b) = ticks.split_at(split.min(ticks.len()));
            let mut merged = offer(a);
            merged.merge(&offer(b));
            let mut want = ticks.clone();
            want.sort_unstable_by(|a, b| b.cmp(a));
            want.truncate(KEPT);
            prop_assert_eq!(merged.kept().iter().map(|slow| slow.ticks).collect::<Vec<_>>(), want);
        }
    }
}
