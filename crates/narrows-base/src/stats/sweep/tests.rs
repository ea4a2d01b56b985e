use super::super::testing::Random;
use super::super::testing::normal;
use super::*;
use proptest::prelude::*;

const THREADS: [f64; 11] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

fn series(x: &[f64], gb: &[f64], half_width: Option<f64>) -> Vec<Point> {
    x.iter()
        .zip(gb)
        .map(|(x, gb)| {
            let rate = BytesPerSec::from_gb(*gb);
            let ci95 = half_width.map(|half| [rate * (1.0 - half), rate * (1.0 + half)]);
            Point { x: *x, bytes_per_second: rate, ci95 }
        })
        .collect()
}

/// What Dell's administrator guide "Dell EMC Ready Solution for HPC PixStor Storage" says of its figure 20 (N to N
/// sequential IOzone, 1 to 1024 threads in powers of two), with every number that the text leaves open as a parameter:
/// "Write performance rises with the number of threads used and then reaches a plateau at around 64 threads for writes and
/// 128 threads for reads"; reads stay "stable until the maximum number of threads"; "write performance drops about 10% at
/// 1024 threads"; "an anomaly on the reads was observed at 64 threads, where performance did not scale at the rate that
/// was observed for previous data points, and then on the next data point moves to a value very close to the sustained
/// performance". The text has no table; the shape is what it states, and the shape is what must be found.
struct Pixstor {
    /// The plateau in GB/s.
    sustained: f64,
    /// By how much the rate grows with each doubling before the plateau.
    growth: f64,
    /// How much of the growth from 32 threads to 128 the reads have made at 64: on the chord it is half.
    shortfall: f64,
}

impl Pixstor {
    fn writes(&self) -> Vec<f64> {
        let rising = (0..6).map(|step| self.sustained / self.growth.powi(6 - step));
        let plateau = [1.0, 1.01, 1.0, 0.99, 0.9].map(|share| share * self.sustained);
        rising.chain(plateau).collect()
    }

    fn reads(&self) -> Vec<f64> {
        let rising: Vec<f64> = (0..6).map(|step| self.sustained / self.growth.powi(7 - step)).collect();
        let odd = rising[5] * (self.sustained / rising[5]).powf(self.shortfall);
        let plateau = [0.98, 1.0, 1.0, 0.99].map(|share| share * self.sustained);
        rising.into_iter().chain([odd]).chain(plateau).collect()
    }
}

#[test]
fn the_plateaus_the_anomaly_and_the_drop_of_the_pixstor_charts_are_found() {
    // Theoretical NVMe speed ~102 GB/s and 4 × EDR ~96 GB/s, says the text; the reads stay below both.
    let dell = Pixstor { sustained: 80.0, growth: 1.9, shortfall: 0.2 };
    for half_width in [None, Some(0.02)] {
        let reads = shape(&series(&THREADS, &dell.reads(), half_width));
        let plateau = reads.plateau.expect("reads reach a plateau");
        assert_eq!((plateau.from, plateau.to), (128.0, 1024.0));
        assert_eq!(reads.knee(), Some(128.0));
        assert_eq!(reads.drops, []);
        assert_eq!(reads.anomalies.iter().map(|anomaly| anomaly.x).collect::<Vec<_>>(), [64.0]);
        assert!(reads.anomalies[0].fraction < -0.05);

        let writes = shape(&series(&THREADS, &dell.writes(), half_width));
        let plateau = writes.plateau.expect("writes reach a plateau");
        assert_eq!((plateau.from, plateau.to), (64.0, 512.0));
        assert_eq!(writes.anomalies, []);
        let [drop] = writes.drops[..] else { panic!("{:?}", writes.drops) };
        assert_eq!((drop.from, drop.to), (1024.0, 1024.0));
        assert!((drop.fraction - 0.10).abs() < 0.011, "{drop:?}");
    }
}

proptest! {
    /// Whatever numbers the chart has, as long as they are as the text says.
    #[test]
    fn every_chart_that_is_as_the_text_says_is_read_alike(
        sustained in 20.0f64..96.0, growth in 1.5f64..2.0, shortfall in 0.0f64..0.3,
    ) {
        let dell = Pixstor { sustained, growth, shortfall };
        let reads = shape(&series(&THREADS, &dell.reads(), Some(0.01)));
        prop_assert_eq!(reads.knee(), Some(128.0));
        prop_assert_eq!(reads.anomalies.iter().map(|a| a.x).collect::<Vec<_>>(), vec![64.0]);
        prop_assert_eq!(reads.drops, vec![]);
        let writes = shape(&series(&THREADS, &dell.writes(), Some(0.01)));
        prop_assert_eq!(writes.knee(), Some(64.0));
        prop_assert_eq!(writes.anomalies, vec![]);
        prop_assert_eq!(writes.drops.iter().map(|d| d.from).collect::<Vec<_>>(), vec![1024.0]);
    }

    /// Saturating throughput, X(n) = n / (a + n) (the asymptotic bounds of a closed system, smoothed), has no anomaly.
    #[test]
    fn a_clean_saturation_curve_has_no_anomaly_and_no_drop(a in 0.5f64..20.0, half in 0.0f64..0.05) {
        let gb: Vec<f64> = THREADS.iter().map(|n| 10.0 * n / (a + n)).collect();
        let found = shape(&series(&THREADS, &gb, Some(half)));
        prop_assert_eq!((found.anomalies, found.drops), (vec![], vec![]));
        let knee = found.plateau.expect("it saturates").from;
        let at = |x: f64| x / (a + x);
        prop_assert!(at(knee) >= 0.9 * at(1024.0), "knee {} of {}", knee, a);
    }

    #[test]
    fn any_sweep_is_judged_in_any_order(
        points in prop::collection::vec((prop_oneof![Just(f64::NAN), Just(0.0), -1.0f64..1e6], 0.0f64..1e12), 0..20),
    ) {
        let points: Vec<Point> = points
            .into_iter()
            .map(|(x, rate)| Point { x, bytes_per_second: BytesPerSec::new(rate), ci95: None })
            .collect();
        let found = shape(&points);
        if let Some(plateau) = found.plateau {
            prop_assert!(plateau.from <= plateau.to);
        }
        for drop in found.drops {
            prop_assert!(drop.fraction >= NOTABLE - 1e-9 && drop.fraction <= 1.0);
        }
    }
}

#[test]
fn noise_within_the_intervals_makes_no_anomaly() {
    // 300 sweeps with noise of 3 % (one standard deviation) and intervals of 1.96 × 3 %: few points stand out by chance.
    let mut random = Random::seeded(17);
    let mut odd = 0;
    for _ in 0..300 {
        let gb: Vec<f64> =
            THREADS.iter().map(|n| 10.0 * n / (8.0 + n) * (1.0 + 0.03 * normal(&mut random))).collect();
        odd += shape(&series(&THREADS, &gb, Some(1.96 * 0.03))).anomalies.len();
    }
    assert!(odd < 60, "{odd} anomalies in 300 sweeps of nine inner points each");
}

#[test]
fn a_sweep_that_still_rises_has_no_plateau() {
    let found = shape(&series(&[1.0, 2.0, 4.0, 8.0], &[1.0, 2.0, 4.0, 8.0], None));
    assert_eq!(found, Shape::default());
    assert_eq!(shape(&[]), Shape::default());
    assert_eq!(shape(&series(&[1.0, 2.0], &[0.0, 0.0], None)), Shape::default());
}

#[test]
fn a_flat_sweep_has_its_knee_at_the_first_point() {
    let found = shape(&series(&[1.0, 2.0, 4.0], &[5.0, 5.1, 5.0], None));
    assert_eq!(found.plateau.map(|p| (p.from, p.to)), Some((1.0, 4.0)));
}

#[test]
fn a_fall_to_a_lower_plateau_is_a_drop_and_no_anomaly() {
    let found = shape(&series(&THREADS[..7], &[2.0, 4.0, 8.0, 8.0, 6.0, 6.0, 5.9], None));
    assert_eq!(found.anomalies, []);
    assert_eq!(found.drops.iter().map(|d| (d.from, d.to)).collect::<Vec<_>>(), [(16.0, 64.0)]);
    assert!((found.drops[0].fraction - (1.0 - 5.9 / 8.0)).abs() < 1e-9);
}

#[test]
fn a_dip_and_a_spike_on_the_plateau_are_anomalies() {
    let dip = shape(&series(&THREADS[..7], &[2.0, 4.0, 8.0, 8.0, 6.0, 8.0, 8.0], None));
    let [odd] = dip.anomalies[..] else { panic!("{:?}", dip.anomalies) };
    assert!(odd.x == 16.0 && (odd.fraction + 0.25).abs() < 1e-9, "{odd:?}");
    assert_eq!((dip.drops, dip.plateau.map(|p| (p.from, p.to))), (vec![], Some((4.0, 64.0))));
    let spike = shape(&series(&THREADS[..7], &[2.0, 4.0, 8.0, 8.0, 10.0, 8.0, 8.0], None));
    assert_eq!(spike.anomalies.iter().map(|a| a.x).collect::<Vec<_>>(), [16.0]);
    assert_eq!(spike.plateau.map(|p| (p.from, p.to)), Some((4.0, 64.0)));
}

#[test]
fn wide_intervals_keep_a_difference_from_being_one() {
    let gb = [2.0, 4.0, 8.0, 8.0, 7.0, 8.0, 8.0];
    assert_eq!(shape(&series(&THREADS[..7], &gb, Some(0.2))).anomalies, []);
    assert_eq!(shape(&series(&THREADS[..7], &gb, Some(0.01))).anomalies.len(), 1);
}
