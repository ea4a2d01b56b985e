//! Amounts over time in a bounded number of equal spans, however long the time turns out to be.

/// The most spans that are kept; when time needs more, each two become one.
const MOST: usize = 1024;

/// The width that spans begin with, in milliseconds.
const NARROWEST: u64 = 16;

/// What was moved in each span of time. Times are milliseconds since any moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Spans {
    width: u64,
    /// The number of the first span: it begins at `first × width`.
    first: u64,
    amounts: Vec<f64>,
}

impl Spans {
    /// Adds an amount that was moved evenly from one time to another; at one time when they are the same.
    pub(super) fn add(&mut self, from: f64, to: f64, amount: f64) {
        if !(from.is_finite() && to.is_finite() && amount.is_finite()) || from < 0.0 || to < from || to > 1e17
        {
            return;
        }
        self.make_room(from as u64, to as u64);
        let width = self.width as f64;
        let (first, last) = (self.number(from), self.number(to));
        if first == last {
            self.put(first, amount);
            return;
        }
        for number in first..=last {
            let begins = (number as f64 * width).max(from);
            let ends = ((number + 1) as f64 * width).min(to);
            self.put(number, amount * ((ends - begins).max(0.0) / (to - from)));
        }
    }

    /// The amounts in `count` equal spans between two times.
    pub(super) fn between(&self, from: f64, to: f64, count: usize) -> Vec<f64> {
        let mut sums = vec![0.0; count];
        let width = (to - from) / count as f64;
        if self.amounts.is_empty() || width <= 0.0 {
            return sums;
        }
        let own = self.width as f64;
        for (number, amount) in (self.first..).zip(&self.amounts).filter(|(_, amount)| **amount > 0.0) {
            let begins = (number as f64 * own).clamp(from, to);
            let ends = (number as f64 * own + own).clamp(from, to);
            let place = |at: f64| (((at - from) / width) as usize).min(count.saturating_sub(1));
            // What lies outside belongs to the end that is nearer.
            let is_point = ends <= begins;
            for number in place(begins)..=place(ends) {
                let low = (from + number as f64 * width).max(begins);
                let high =
                    if number + 1 == count { ends } else { (from + (number + 1) as f64 * width).min(ends) };
                let share = if is_point { 1.0 } else { (high - low).max(0.0) / (ends - begins) };
                if let Some(sum) = sums.get_mut(number) {
                    *sum += amount * share;
                }
            }
        }
        sums
    }

    /// All of it.
    pub(super) fn total(&self) -> f64 {
        self.amounts.iter().sum()
    }

    fn number(&self, at: f64) -> u64 {
        (at as u64) / self.width.max(1)
    }

    fn put(&mut self, number: u64, amount: f64) {
        let place = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if let Some(sum) = self.amounts.get_mut(place) {
            *sum += amount;
        }
    }

    /// Widens spans until these times have one.
    fn make_room(&mut self, from: u64, to: u64) {
        if self.amounts.is_empty() {
            self.width = NARROWEST;
            while to / self.width - from / self.width >= MOST as u64 {
                self.width *= 2;
            }
            self.first = from / self.width;
        }
        loop {
            let first = self.first.min(from / self.width);
            let last = (to / self.width).max(self.first + self.amounts.len() as u64);
            if last - first < MOST as u64 {
                break;
            }
            self.widen();
        }
        let before = self.first - self.first.min(from / self.width);
        if before > 0 {
            let more = usize::try_from(before).unwrap_or(0);
            self.amounts.splice(0..0, std::iter::repeat_n(0.0, more));
            self.first -= before;
        }
        let needed = usize::try_from(to / self.width - self.first).unwrap_or(0) + 1;
        if needed > self.amounts.len() {
            self.amounts.resize(needed, 0.0);
        }
    }

    fn widen(&mut self) {
        let mut wider: Vec<f64> = Vec::with_capacity(MOST);
        let first = self.first / 2;
        for (number, amount) in (self.first..).zip(&self.amounts) {
            let place = usize::try_from(number / 2 - first).unwrap_or(0);
            match wider.get_mut(place) {
                Some(sum) => *sum += amount,
                None => wider.push(*amount),
            }
        }
        self.amounts = wider;
        self.first = first;
        self.width *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_amount_is_spread_over_the_time_it_took() {
        let mut spans = Spans::default();
        spans.add(0.0, 1000.0, 100.0);
        spans.add(1000.0, 2000.0, 300.0);
        let halves = spans.between(0.0, 2000.0, 2);
        // The span from 992 to 1008 ms lies across the middle.
        assert!(
            (halves[0] - 100.0).abs() < 2.0 && (halves[0] + halves[1] - 400.0).abs() < 1e-6,
            "{halves:?}"
        );
    }

    #[test]
    fn times_since_1970_take_no_more_room() {
        let mut spans = Spans::default();
        for second in 0..100_000u64 {
            let at = (1_700_000_000 + second) as f64 * 1000.0;
            spans.add(at, at + 1000.0, 1.0);
        }
        assert!(spans.amounts.len() <= MOST);
        let start = 1_700_000_000_000.0;
        let quarters = spans.between(start, start + 1e8, 4);
        assert!(quarters.iter().all(|sum| (sum - 25_000.0).abs() < 200.0), "{quarters:?}");
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            points in prop::collection::vec((0u32..10_000_000, 0u32..100_000, 1u32..1000), 1..60),
            count in 1usize..40,
        ) {
            let mut spans = Spans::default();
            for (at, length, amount) in &points {
                spans.add(f64::from(*at), f64::from(at + length), f64::from(*amount));
            }
            let total: f64 = points.iter().map(|(_, _, amount)| f64::from(*amount)).sum();
            prop_assert!(spans.amounts.len() <= MOST);
            prop_assert!((spans.total() - total).abs() < 1e-6 * total, "{} {}", spans.total(), total);
            let end = points.iter().map(|(at, length, _)| at + length).max().unwrap_or(1);
            let sums: f64 = spans.between(0.0, f64::from(end.max(1)), count).iter().sum();
            prop_assert!((sums - total).abs() < 1e-3 * total, "{} {}", sums, total);
        }
    }
}
