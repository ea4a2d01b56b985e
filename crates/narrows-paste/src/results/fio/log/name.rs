//! What the name of a log tells: `NAME_bw.1.log` (fio's `init.c`, `gen_log_name`), with a host behind it where a client
//! collected it (`client.c`).

/// What a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Quantity {
    /// KiB per second.
    Bandwidth,
    /// I/Os per second.
    Iops,
    /// The time until an I/O was submitted.
    Submission,
    /// The time from there to its end.
    Completion,
    /// Both together.
    Latency,
}

impl Quantity {
    /// Whether it is something per second.
    pub(super) const fn is_rate(self) -> bool {
        matches!(self, Self::Bandwidth | Self::Iops)
    }
}

/// The name of a log, in its parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::results) struct Name {
    /// All of it.
    pub(super) whole: String,
    /// The directory it stands in, empty when not told.
    pub(super) directory: String,
    /// What the logs of a run have in common: the value of `write_bw_log`, or the job's name.
    pub(super) prefix: String,
    /// What it holds.
    pub(super) quantity: Quantity,
    /// The number of the job, from 1.
    pub(super) job: Option<u32>,
    /// The host that it is from.
    pub(super) host: String,
}

/// The words that stand before the number of the job; longer ones first.
const WORDS: [(&str, Quantity); 9] = [
    ("clat_hist", Quantity::Completion),
    ("slat_hist", Quantity::Submission),
    ("lat_hist", Quantity::Latency),
    ("hist", Quantity::Completion),
    ("slat", Quantity::Submission),
    ("clat", Quantity::Completion),
    ("lat", Quantity::Latency),
    ("iops", Quantity::Iops),
    ("bw", Quantity::Bandwidth),
];

impl Name {
    /// The parts of a name; `None` when it does not say what the log holds.
    pub(in crate::results) fn of(whole: &str) -> Option<Self> {
        let (directory, file) = whole.rsplit_once('/').unwrap_or(("", whole));
        let (stem, host) = file.split_once(".log").unwrap_or((file, ""));
        let (stem, job) = match stem.rsplit_once('.') {
            Some((stem, number))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                (stem, number.parse().ok())
            }
            _ => (stem, None),
        };
        let (prefix, quantity) = WORDS.iter().find_map(|(word, quantity)| {
            let prefix = stem.strip_suffix(word)?;
            let is_word = prefix.is_empty() || prefix.ends_with(['_', '-', '.']);
            is_word.then(|| (prefix.trim_end_matches(['_', '-', '.']), *quantity))
        })?;
        Some(Self {
            whole: whole.to_owned(),
            directory: directory.to_owned(),
            prefix: prefix.to_owned(),
            quantity,
            job,
            host: host.trim_start_matches('.').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_prefix_a_quantity_and_a_job() {
        let of = |name: &str| Name::of(name).map(|name| (name.prefix, name.quantity, name.job));
        assert_eq!(of("a/fio_bw.1.log"), Some(("fio".to_owned(), Quantity::Bandwidth, Some(1))));
        assert_eq!(of("x_clat_hist.12.log"), Some(("x".to_owned(), Quantity::Completion, Some(12))));
        assert_eq!(of("my_job_iops.log"), Some(("my_job".to_owned(), Quantity::Iops, None)));
        assert_eq!(of("bw.log"), Some((String::new(), Quantity::Bandwidth, None)));
        let remote = Name::of("d/j_lat.2.log.node-7").expect("a name");
        assert_eq!((remote.host.as_str(), remote.directory.as_str()), ("node-7", "d"));
        assert_eq!(of("flat.1.log"), None);
        assert_eq!(of("notes.txt"), None);
    }
}
