//! What was achieved in one direction: rates, latencies, and how far they moved.

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};

/// A percentile of latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentile {
    /// Of 100 I/Os, how many were no slower.
    pub percent: f64,
    /// Their greatest latency.
    pub latency_ns: f64,
}

/// Latencies in nanoseconds, as far as a tool tells them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The arithmetic mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The most.
    pub max: Option<f64>,
    /// The standard deviation of single latencies, if the tool tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Every percentile, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
}

impl Latency {
    /// Latencies of which only the mean is known.
    pub fn of_mean(nanoseconds: f64) -> Self {
        Self { mean: Some(nanoseconds), ..Self::default() }
    }

    /// Adds percentiles, sorted, and takes the median and the 99th from them.
    pub fn with_percentiles(mut self, mut percentiles: Vec<Percentile>) -> Self {
        percentiles.retain(|one| one.percent > 0.0 && one.latency_ns.is_finite());
        percentiles.sort_by(|a, b| a.percent.total_cmp(&b.percent));
        let at = |percent: f64| {
            percentiles.iter().find(|one| (one.percent - percent).abs() < 1e-9).map(|one| one.latency_ns)
        };
        self.p50 = self.p50.or(at(50.0));
        self.p99 = self.p99.or(at(99.0));
        self.percentiles = percentiles;
        self
    }
}

/// How far a rate moved, by the tool's own samples. The unit is that of the samples: only quotients mean anything.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// The mean of the samples.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// How many there are, if the tool says so.
    pub samples: Option<u64>,
}

impl Spread {
    /// The mean of samples and their standard deviation; `None` of none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let count = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / count;
        let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / count;
        let samples = u64::try_from(samples.len()).ok().filter(|count| *count > 0)?;
        Some(Self { mean, deviation: variance.sqrt(), samples: Some(samples) })
    }

    /// The standard deviation as a fraction of the mean; `None` when the mean is nothing.
    pub fn relative(&self) -> Option<f64> {
        (self.mean > 0.0).then_some(self.deviation / self.mean)
    }
}

/// What was achieved in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// The mean rate.
    pub bytes_per_second: BytesPerSec,
    /// I/Os per second.
    pub iops: Option<Iops>,
    /// The bytes that were moved.
    pub bytes: Option<Bytes>,
    /// The I/Os that were done.
    pub ios: Option<u64>,
    /// The measured time.
    pub elapsed_ns: Option<Nanos>,
    /// Latencies from the call to the end of an I/O.
    pub latency_ns: Option<Latency>,
    /// The mean time until an I/O was handed to the kernel, in nanoseconds.
    pub submission_ns: Option<f64>,
    /// The mean time from there to its end, in nanoseconds.
    pub completion_ns: Option<f64>,
    /// How far the rate moved.
    pub spread: Option<Spread>,
    /// The rate in equal spans of the run, all jobs together, where a log of it is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<BytesPerSec>,
    /// The length of these spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_span_ns: Option<Nanos>,
    /// The log that tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_source: Option<String>,
    /// The rate in another unit of the same text, for checks of consistency.
    #[serde(skip)]
    pub second_rate: Option<BytesPerSec>,
}
