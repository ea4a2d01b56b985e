//! How much may be written.
//!
//! Flash wears with every write, so what a run will write is announced before it, checked against `--max-writes`, and
//! counted while it runs: the engine takes bytes from the [`Budget`] before it submits them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use narrows_base::units::{Bytes, human};

/// Bytes that may be written. Threads share it by reference.
#[derive(Debug)]
pub struct Budget {
    limit: Bytes,
    left: AtomicU64,
    refused: AtomicBool,
    /// What this is a part of: the allowance of one test is a part of that of the run.
    whole: Option<Arc<Self>>,
}

/// More was to be written than the budget holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{} are to be written, and {} of the {} that --max-writes allows are left", human::bytes(*wanted), human::bytes(*left), human::bytes(*limit))]
pub struct OverBudget {
    /// What was to be written.
    pub wanted: Bytes,
    /// What may still be written.
    pub left: Bytes,
    /// What might be written in all.
    pub limit: Bytes,
    /// Whether only a [part](Budget::part_of) is used up, and more of the whole is left.
    pub is_part: bool,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub const fn new(limit: Bytes) -> Self {
        Self { limit, left: AtomicU64::new(limit.get()), refused: AtomicBool::new(false), whole: None }
    }

    /// A part of `whole`: `limit` bytes, and no more than the whole has left. What is taken of the part is taken of the
    /// whole, too. A run whose part is used up has ended well; one whose whole is used up was cut short.
    pub fn part_of(whole: &Arc<Self>, limit: Bytes) -> Self {
        Self { whole: Some(whole.clone()), ..Self::new(limit) }
    }

    /// Whether a run that writes `planned` bytes fits into what is left. Takes nothing.
    ///
    /// # Errors
    /// [`OverBudget`] when it does not.
    pub fn announce(&self, planned: Bytes) -> Result<(), OverBudget> {
        if planned <= self.left() { Ok(()) } else { Err(self.over(planned)) }
    }

    /// Takes the bytes of a write that is about to be submitted; all of them, or none.
    ///
    /// # Errors
    /// [`OverBudget`] when not enough is left. The write must then not happen.
    pub fn take(&self, bytes: Bytes) -> Result<(), OverBudget> {
        // The count guards no other memory, so no ordering beyond its own is needed.
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes.get()));
        if taken.is_err() {
            self.refused.store(true, Ordering::Relaxed);
            return Err(self.over(bytes));
        }
        let of_whole = self.whole.as_ref().map_or(Ok(()), |whole| whole.take(bytes));
        of_whole.inspect_err(|_| {
            self.left.fetch_add(bytes.get(), Ordering::Relaxed);
        })
    }

    /// Takes `bytes`, or what is left if that is less, and returns what was taken. For what was written already by somebody
    /// else on our behalf, which cannot be refused.
    pub fn take_up_to(&self, bytes: Bytes) -> Bytes {
        let reduced = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(bytes.get()))
        });
        let before = reduced.unwrap_or_else(|left| left);
        if let Some(whole) = &self.whole {
            return whole.take_up_to(bytes);
        }
        Bytes::new(before.min(bytes.get()))
    }

    /// Gives back the bytes of a write that was taken and did not happen.
    pub fn give_back(&self, bytes: Bytes) {
        self.left.fetch_add(bytes.get(), Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }

    /// Whether a write was refused.
    pub fn is_exhausted(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// What may be written in all.
    pub const fn limit(&self) -> Bytes {
        self.limit
    }

    /// What may still be written.
    pub fn left(&self) -> Bytes {
        Bytes::new(self.left.load(Ordering::Relaxed))
    }

    /// What was taken so far.
    pub fn spent(&self) -> Bytes {
        self.limit.saturating_sub(self.left())
    }

    /// The share of its rated life that writing `planned` bytes costs a device, 1 for all of it. `rated` is the
    /// endurance that its maker states (TBW, JESD218A); `None` when none is known, or it is zero.
    pub fn share_of_life(planned: Bytes, rated: Option<Bytes>) -> Option<f64> {
        let rated = rated.filter(|rated| rated.get() > 0)?;
        Some(planned.as_f64() / rated.as_f64())
    }

    fn over(&self, wanted: Bytes) -> OverBudget {
        OverBudget { wanted, left: self.left(), limit: self.limit, is_part: self.whole.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_announcement_takes_nothing_and_says_what_is_left() {
        let budget = Budget::new(Bytes::new(10_000_000_000));
        assert_eq!(budget.announce(Bytes::new(10_000_000_000)), Ok(()));
        let over = budget.announce(Bytes::new(10_000_000_001)).expect_err("is one byte too much");
        assert_eq!(over.left, Bytes::new(10_000_000_000));
        assert_eq!(budget.spent(), Bytes::new(0));
    }

    #[test]
    fn the_share_of_life_is_that_of_the_data_sheet() {
        // 6 TB of the 600 TBW that a 1 TB drive is typically rated for are 1 %.
        let share =
            Budget::share_of_life(Bytes::new(6_000_000_000_000), Some(Bytes::new(600_000_000_000_000)));
        assert!(share.is_some_and(|share| (share - 0.01).abs() < 1e-12));
        assert_eq!(Budget::share_of_life(Bytes::new(1), None), None);
        assert_eq!(Budget::share_of_life(Bytes::new(1), Some(Bytes::new(0))), None);
    }

    #[test]
    fn threads_together_never_take_more_than_the_budget() {
        let budget = Budget::new(Bytes::new(1_000_003));
        let taken: u64 = std::thread::scope(|scope| {
            let worker = || (0..2000).filter(|_| budget.take(Bytes::new(512)).is_ok()).count() as u64;
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
            workers.into_iter().map(|worker| worker.join().expect("does not panic") * 512).sum()
        });
        // 1953 writes of 512 bytes fit into 1,000,003 bytes; 8000 were tried.
        assert_eq!(taken, 1953 * 512);
        assert_eq!(budget.spent(), Bytes::new(1953 * 512));
        assert_eq!(budget.left(), Bytes::new(67));
    }

    #[test]
    fn a_part_ends_before_the_whole_does_and_takes_of_both() {
        let whole = Arc::new(Budget::new(Bytes::new(1000)));
        let part = Budget::part_of(&whole, Bytes::new(300));
        assert_eq!(part.take(Bytes::new(250)), Ok(()));
        assert!(part.take(Bytes::new(100)).expect_err("is more than the part").is_part);
        assert_eq!((part.spent(), whole.spent()), (Bytes::new(250), Bytes::new(250)));
        assert!(part.is_exhausted() && !whole.is_exhausted());
        part.give_back(Bytes::new(50));
        assert_eq!((part.left(), whole.left()), (Bytes::new(100), Bytes::new(800)));
        // Somebody else wrote as well: the part cannot pay for all of it, the whole can.
        assert_eq!(part.take_up_to(Bytes::new(200)), Bytes::new(200));
        assert_eq!((part.left(), whole.left()), (Bytes::new(0), Bytes::new(600)));
        let large = Budget::part_of(&whole, Bytes::new(5000));
        let over = large.take(Bytes::new(601)).expect_err("is more than the whole has left");
        assert!(!over.is_part && whole.is_exhausted());
        assert_eq!(large.spent(), Bytes::new(0), "what the whole refused is not gone from the part");
        assert_eq!(whole.take_up_to(Bytes::new(9999)), Bytes::new(600));
    }

    proptest! {
        #[test]
        fn what_is_taken_and_what_is_left_are_the_limit(limit: u64, writes in proptest::collection::vec(any::<u64>(), 0..20)) {
            let budget = Budget::new(Bytes::new(limit));
            let mut taken = 0_u64;
            for write in writes {
                if budget.take(Bytes::new(write)).is_ok() {
                    taken = taken.checked_add(write).expect("never above the limit");
                }
            }
            prop_assert_eq!(budget.spent(), Bytes::new(taken));
            prop_assert_eq!(budget.left().get() + taken, limit);
        }
    }
}
