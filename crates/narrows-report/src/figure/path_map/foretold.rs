//! What is foretold of a hop.

use narrows_base::units::{BytesPerSec, human};

/// What is foretold of a hop, in its own bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Foretold {
    /// What crosses it, and the ends of the 95 % interval.
    Rate(f64, [f64; 2]),
    /// No more than this crosses it; how much is not known.
    AtMost(f64),
}

impl Foretold {
    /// What crosses the hop at most by it.
    pub(super) const fn most(self) -> f64 {
        match self {
            Self::Rate(_, [_, high]) => high,
            Self::AtMost(most) => most,
        }
    }

    pub(super) fn in_words(self) -> String {
        let rate = |rate: f64| human::rate(BytesPerSec::new(rate));
        match self {
            Self::Rate(of, [low, high]) => {
                format!("predicted {}, 95 %: {} to {}", rate(of), rate(low), rate(high))
            }
            Self::AtMost(most) => format!("not predicted, at most {}", rate(most)),
        }
    }
}
