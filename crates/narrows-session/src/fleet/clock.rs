//! What a host's clock is ahead of ours, from round trips.

/// One question and its answer, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When we asked, on our clock.
    pub asked: u64,
    /// What the host's clock said.
    pub told: u64,
    /// When the answer came, on our clock.
    pub came: u64,
}

/// What a host's clock is ahead of ours, and by how much that may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Ahead by so many nanoseconds; negative when it is behind.
    pub ahead_ns: i64,
    /// Half of the round trip: the host may have looked at its clock at any moment of it.
    pub uncertainty_ns: u64,
}

/// More than this is too uncertain for a common start: it is as long as the starts of all hosts may lie apart.
pub const MOST_UNCERTAIN_NS: u64 = 50_000_000;

/// The offset by the fastest of several round trips, which waited least. `None` of none.
pub fn offset(trips: &[RoundTrip]) -> Option<Offset> {
    let fastest =
        trips.iter().filter(|trip| trip.came >= trip.asked).min_by_key(|trip| trip.came - trip.asked)?;
    let half = (fastest.came - fastest.asked) / 2;
    let ours = i128::from(fastest.asked) + i128::from(half);
    let ahead_ns = i64::try_from(i128::from(fastest.told) - ours).ok()?;
    Some(Offset { ahead_ns, uncertainty_ns: half.max(1) })
}

impl Offset {
    /// A moment of our clock on the host's.
    pub const fn on_host(self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_fastest_round_trip_counts() {
        let hour = 3_600_000_000_000;
        let trips = [
            RoundTrip { asked: 1_000_000, told: hour + 90_000_000, came: 101_000_000 },
            RoundTrip { asked: 200_000_000, told: hour + 200_300_000, came: 200_600_000 },
        ];
        let offset = offset(&trips).expect("has trips");
        assert_eq!(offset, Offset { ahead_ns: hour as i64, uncertainty_ns: 300_000 });
        assert_eq!(offset.on_host(5), hour + 5);
        assert_eq!(super::offset(&[]), None);
    }

    proptest! {
        #[test]
        fn the_truth_lies_within_the_uncertainty(
            ahead in -7_200_000_000_000i64..7_200_000_000_000,
            trips in prop::collection::vec((0u64..1_000_000_000, 1u64..100_000_000, 0.0f64..1.0), 1..9),
        ) {
            let base = 1_700_000_000_000_000_000u64;
            let trips: Vec<RoundTrip> = trips.into_iter().map(|(at, length, part)| {
                let asked = base + at;
                let seen = asked + (length as f64 * part) as u64;
                RoundTrip { asked, told: seen.saturating_add_signed(ahead), came: asked + length }
            }).collect();
            let found = offset(&trips).expect("has trips");
            prop_assert!(found.ahead_ns.abs_diff(ahead) <= found.uncertainty_ns + 1);
        }
    }
}
