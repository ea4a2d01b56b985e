//! How a ceiling is put in words, and how long its bar is.

use crate::view::CeilingView;
use narrows_base::lists::ends;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Basis;

/// A ceiling in full, `3.94 GB/s raw → 3.59`, or without the raw rate where room is short. An estimate has a `~`. Nothing where
/// none is known: that says why in the room of all columns together.
pub(super) fn ceiling(ceiling: &CeilingView, with_raw: bool) -> String {
    let Some(rate) = ceiling.bytes_per_second else { return String::new() };
    let usable = range(ceiling, rate);
    let raw = ceiling.raw_bytes_per_second.filter(|raw| with_raw && human::rate(*raw) != human::rate(rate));
    raw.map_or(usable.clone(), |raw| format!("{raw} raw → {usable}"))
}

/// A rate of a ceiling, the ceiling itself or that of the path: `~80 to 200 MB/s` where it is the upper end of a range.
pub(super) fn range(ceiling: &CeilingView, rate: BytesPerSec) -> String {
    let share = ceiling.least_bytes_per_second.zip(ceiling.bytes_per_second);
    let share = share.filter(|(_, most)| most.get() > 0.0).map(|(least, most)| least.fraction_of(most));
    let most = human::rate(rate);
    let Some(share) = share else { return estimate(ceiling.basis, rate) };
    let least = human::rate(rate * share);
    format!("~{}", joined(&least, " to ", &most))
}

/// Two rates, with the unit once where it is the same.
pub(super) fn joined(one: &str, between: &str, other: &str) -> String {
    match (one.split_once(' '), other.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}{between}{other}"),
        _ => format!("{one}{between}{other}"),
    }
}

/// A rate, with `~` before it when it is a guess.
pub fn estimate(basis: Option<Basis>, rate: BytesPerSec) -> String {
    let mark = if basis == Some(Basis::Guess) { "~" } else { "" };
    format!("{mark}{rate}")
}

/// A logarithmic scale that all bars of a ladder share: hops differ by factors, and on a linear scale the narrowest
/// would vanish beside memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale on which the least rate still has a visible bar and the greatest a full one; `None` without rates.
    pub(super) fn of(rates: impl Iterator<Item = BytesPerSec>) -> Option<Self> {
        let logs = rates.filter(|rate| rate.get() > 0.0).map(|rate| rate.get().log10());
        let [least, most] = ends(&logs.collect::<Vec<f64>>())?;
        // A third of a decade below the least: the narrowest hop keeps a stub of a bar.
        let low = least - 1.0 / 3.0;
        Some(Self { low, high: most.max(low + 1.0) })
    }

    /// The share of a full bar that a rate has, 0 to 1.
    pub(super) fn share(self, rate: BytesPerSec) -> f64 {
        // The logarithm of 0 is below all.
        ((rate.get().max(0.0).log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_marked_and_a_missing_ceiling_is_silent() {
        let known = CeilingView {
            bytes_per_second: Some(BytesPerSec::from_gb(3.59)),
            raw_bytes_per_second: Some(BytesPerSec::from_gb(3.938)),
            basis: Some(Basis::Guess),
            ..CeilingView::default()
        };
        assert_eq!(ceiling(&known, true), "3.94 GB/s raw → ~3.59 GB/s");
        assert_eq!(ceiling(&known, false), "~3.59 GB/s");
        let class = CeilingView {
            bytes_per_second: Some(BytesPerSec::from_mb(200.0)),
            least_bytes_per_second: Some(BytesPerSec::from_mb(80.0)),
            ..known
        };
        assert_eq!(ceiling(&class, false), "~80 to 200 MB/s");
        assert_eq!(range(&class, BytesPerSec::from_mb(100.0)), "~40 to 100 MB/s");
        assert_eq!(ceiling(&CeilingView::default(), true), "");
    }

    #[test]
    fn shares_grow_with_the_rate_and_the_least_has_one() {
        let rates = [390e6, 1.6e9, 3.5e9, 50e9].map(BytesPerSec::new);
        let scale = Scale::of(rates.into_iter()).expect("has rates");
        let shares = rates.map(|rate| scale.share(rate));
        assert!(shares.is_sorted() && shares[0] > 0.05 && (shares[3] - 1.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_factor_of_ten_is_equally_long_everywhere_on_the_scale() {
        let scale = Scale::of([1e6, 1e9].map(BytesPerSec::new).into_iter()).expect("has rates");
        let step =
            |rate: f64| scale.share(BytesPerSec::new(rate * 10.0)) - scale.share(BytesPerSec::new(rate));
        assert!((step(1e6) - step(1e8)).abs() < 1e-9);
    }

    #[test]
    fn one_rate_alone_and_none_at_all_have_a_scale_or_none() {
        assert!(Scale::of(std::iter::empty()).is_none());
        assert!(Scale::of([BytesPerSec::new(0.0)].into_iter()).is_none());
        let scale = Scale::of([BytesPerSec::from_gb(1.0)].into_iter()).expect("has a rate");
        assert!(scale.share(BytesPerSec::from_gb(1.0)) > 0.0);
    }
}
