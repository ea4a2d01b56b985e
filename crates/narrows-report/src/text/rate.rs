//! How a ceiling is put in words, and how long its bar is.

use super::Style;
use crate::view::CeilingView;
use narrows_base::units::{BytesPerSec, human};
use narrows_model::ceiling::Basis;

/// A ceiling in full, `3.94 GB/s raw → 3.59`, or without the raw rate when `room` is short. An estimate has a `~`.
pub(super) fn ceiling(ceiling: &CeilingView, with_raw: bool) -> String {
    let Some(rate) = ceiling.bytes_per_second else {
        return match (ceiling.transparent, &ceiling.reason) {
            (true, _) => "passes on".to_owned(),
            (false, Some(reason)) => format!("unknown ({reason})"),
            (false, None) => "unknown".to_owned(),
        };
    };
    let usable = estimate(ceiling.basis, rate);
    match ceiling.raw_bytes_per_second {
        Some(raw) if with_raw && human::rate(raw) != human::rate(rate) => {
            format!("{} raw → {usable}", human::rate(raw))
        }
        _ => usable,
    }
}

/// A rate, with `~` before it when it is a guess.
pub(super) fn estimate(basis: Option<Basis>, rate: BytesPerSec) -> String {
    let mark = if basis == Some(Basis::Guess) { "~" } else { "" };
    format!("{mark}{}", human::rate(rate))
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
        let (least, most) = logs.fold(None, |range: Option<(f64, f64)>, log| {
            Some(range.map_or((log, log), |(least, most)| (least.min(log), most.max(log))))
        })?;
        // A third of a decade below the least: the narrowest hop keeps a stub of a bar.
        let low = least - 1.0 / 3.0;
        Some(Self { low, high: most.max(low + 1.0) })
    }

    /// The share of a full bar that a rate has, 0 to 1.
    fn share(self, rate: BytesPerSec) -> f64 {
        if rate.get() <= 0.0 {
            return 0.0;
        }
        ((rate.get().log10() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// A bar of at most `columns`, in eighths of a column where the reader can show them.
    pub(super) fn bar(self, style: &Style, rate: BytesPerSec, columns: usize) -> String {
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let columns = u32::try_from(columns).unwrap_or(u32::MAX);
        if !style.unicode {
            let full = (self.share(rate) * f64::from(columns)).round().max(1.0);
            return "#".repeat(full as usize);
        }
        let eighths = (self.share(rate) * f64::from(columns) * 8.0).round().max(1.0) as usize;
        format!("{}{}", "█".repeat(eighths / 8), PARTS.get(eighths % 8).unwrap_or(&""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Style = Style { colour: false, width: 100, unicode: true, plain: false };

    #[test]
    fn a_guess_is_marked_and_a_missing_ceiling_says_why() {
        let known = CeilingView {
            bytes_per_second: Some(BytesPerSec::from_gb(3.59)),
            raw_bytes_per_second: Some(BytesPerSec::from_gb(3.938)),
            basis: Some(Basis::Guess),
            ..CeilingView::default()
        };
        assert_eq!(ceiling(&known, true), "3.94 GB/s raw → ~3.59 GB/s");
        assert_eq!(ceiling(&known, false), "~3.59 GB/s");
        let unknown = CeilingView { reason: Some("virtual".to_owned()), ..CeilingView::default() };
        assert_eq!(ceiling(&unknown, true), "unknown (virtual)");
    }

    #[test]
    fn bars_grow_with_the_rate_and_never_vanish() {
        let rates = [390e6, 1.6e9, 3.5e9, 50e9].map(BytesPerSec::new);
        let scale = Scale::of(rates.into_iter()).expect("has rates");
        let ascii = Style { unicode: false, ..WIDE };
        let lengths: Vec<usize> = rates.iter().map(|rate| scale.bar(&ascii, *rate, 24).len()).collect();
        assert!(lengths.is_sorted() && lengths[0] >= 1 && lengths[3] == 24, "{lengths:?}");
        assert_eq!(scale.bar(&WIDE, rates[3], 24).chars().count(), 24);
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
        assert!(!scale.bar(&WIDE, BytesPerSec::from_gb(1.0), 10).is_empty());
    }
}
