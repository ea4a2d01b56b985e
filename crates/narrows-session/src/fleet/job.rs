//! The job file that each host's fio gets. Everything in it is a number or a word of ours: the target is a link in the run's
//! directory ([`TARGET`]), so that no path and no name of a host stands in it.

use std::fmt::Write;

use super::hosts::Prepared;
use narrows_base::units::{Bytes, Nanos};
use narrows_verdict::fleet::record::Load;

/// The name of the link to what is read or written, in the run's directory on the host.
pub const TARGET: &str = "t0";
/// The name of the job, with which its logs begin.
pub const NAME: &str = "narrows";
/// The step of logs of rates and latencies.
pub const LOG_STEP: Nanos = Nanos::from_millis(250);
/// The step of logs of histograms.
const HISTOGRAM_STEP: Nanos = Nanos::from_millis(1000);
/// With more jobs on a host none logs histograms: each line of each job takes 15 KB of the host's memory.
const MOST_WITH_HISTOGRAMS: u32 = 64;

/// What fio reads or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobTarget {
    /// What the link leads to.
    Link(Prepared),
    /// An export of a network block device, through fio's own engine.
    Nbd(NbdUri),
}

/// `nbd://host[:port][/export]`, with no character but those of host names, ports and words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdUri(String);

impl NbdUri {
    /// The port of a server that names none (NBD protocol, "Transport").
    pub const PORT: u16 = 10809;

    /// Takes a URI if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("nbd://")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-:/[]".contains(c);
        let uri = Self(text.to_owned());
        (rest.len() < 200 && rest.chars().all(is_plain) && uri.port().is_some()).then_some(uri)
    }

    /// The port of the server.
    pub fn port(&self) -> Option<u16> {
        let server = self.server();
        match server.rsplit_once(':') {
            Some((_, port)) if !server.ends_with(']') => port.parse().ok(),
            _ if server.is_empty() => None,
            _ => Some(Self::PORT),
        }
    }

    /// The server, with its port where that is named.
    pub fn server(&self) -> &str {
        let rest = self.0.strip_prefix("nbd://").unwrap_or_default();
        rest.split('/').next().unwrap_or_default()
    }

    /// The whole.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What one host is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Job<'a> {
    pub load: &'a Load,
    /// So many hosts share its cap.
    pub hosts: usize,
    /// Decides the random addresses.
    pub seed: u64,
    /// What it is put on.
    pub target: &'a JobTarget,
    /// The number of the run: each job waits until it is told when that begins.
    pub point: usize,
}

impl Job<'_> {
    /// The text of the job file.
    pub fn text(&self) -> String {
        let Load { block_size, depth, jobs, read_percent, is_random, time_ns, rate_cap } = self.load;
        let mut out = String::from("[global]\n");
        // Writing to a string does not fail.
        let mut put = |name: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(out, "{name}={value}");
        };
        match self.target {
            JobTarget::Link(Prepared { size, is_direct }) => {
                put("filename", &TARGET);
                put("ioengine", &"libaio");
                put("direct", &u8::from(*is_direct));
                self.place(*size, &mut put);
            }
            JobTarget::Nbd(uri) => {
                put("ioengine", &"nbd");
                put("uri", &uri.as_str());
            }
        }
        // Nothing is made, filled or shortened by fio itself.
        put("allow_file_create", &0);
        put("overwrite", &1);
        let random = if *is_random { "rand" } else { "" };
        match read_percent {
            100 => put("rw", &format!("{random}read")),
            0 => put("rw", &format!("{random}write")),
            mixed => {
                put("rw", &format!("{random}rw"));
                put("rwmixread", mixed);
            }
        }
        put("bs", &block_size.get());
        put("iodepth", depth);
        put("numjobs", jobs);
        put("thread", &1);
        put("group_reporting", &1);
        put("time_based", &1);
        put("runtime", &format!("{}ms", time_ns.get() / 1_000_000));
        put("randseed", &self.seed);
        put("norandommap", &1);
        if let Some(cap) = rate_cap {
            let of_host = (cap.get() / self.hosts.max(1) as f64) as u64;
            let each = (of_host / u64::from((*jobs).max(1))).max(1);
            let share = |percent: u8| (each as f64 * f64::from(percent) / 100.0) as u64;
            match read_percent {
                0 | 100 => put("rate", &each),
                mixed => put("rate", &format!("{},{}", share(*mixed).max(1), share(100 - mixed).max(1))),
            }
        }
        put("disable_slat", &1);
        put("log_unix_epoch", &1);
        let step = LOG_STEP.get() / 1_000_000;
        put("log_avg_msec", &step);
        put("bwavgtime", &step);
        put("write_bw_log", &NAME);
        put("write_lat_log", &NAME);
        if *jobs <= MOST_WITH_HISTOGRAMS {
            put("write_hist_log", &NAME);
            put("log_hist_msec", &(HISTOGRAM_STEP.get() / 1_000_000));
        }
        put("exec_prerun", &format!("./narrows fleet-host at {}", self.point));
        let _ = writeln!(out, "[{NAME}]");
        out
    }

    /// Sequential jobs read a part each: several at one place would be one and its cache.
    fn place(&self, size: Bytes, put: &mut impl FnMut(&str, &dyn std::fmt::Display)) {
        let (jobs, block) = (u64::from(self.load.jobs.max(1)), self.load.block_size.get().max(1));
        let part = (size.get() / jobs / block).saturating_mul(block);
        if self.load.is_random || part < block {
            put("size", &(size.get() / block * block));
        } else {
            put("size", &part);
            put("offset_increment", &part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::BytesPerSec;
    use proptest::prelude::*;

    fn load() -> Load {
        Load {
            block_size: Bytes::new(4096),
            depth: 8,
            jobs: 2,
            read_percent: 70,
            is_random: true,
            time_ns: Nanos::from_millis(30_000),
            rate_cap: Some(BytesPerSec::new(1e6)),
        }
    }

    #[test]
    fn a_job_says_what_is_read_and_when() {
        let target = JobTarget::Link(Prepared { size: Bytes::from_mib(64), is_direct: true });
        let text = Job { load: &load(), hosts: 1, seed: 7, target: &target, point: 17 }.text();
        for line in [
            "filename=t0",
            "rw=randrw",
            "rwmixread=70",
            "rate=350000,150000",
            "size=67108864",
            "runtime=30000ms",
            "exec_prerun=./narrows fleet-host at 17",
            "log_unix_epoch=1",
            "allow_file_create=0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} in\n{text}");
        }
        assert!(!text.contains([';', '#']), "what begins a comment of fio:\n{text}");
        let many = Load { jobs: 1024, ..load() };
        let many = Job { load: &many, hosts: 1, seed: 7, target: &target, point: 17 }.text();
        assert!(text.contains("write_hist_log") && !many.contains("hist"), "{many}");
    }

    #[test]
    fn jobs_in_sequence_have_a_part_each() {
        let target = JobTarget::Link(Prepared { size: Bytes::new(10 << 20), is_direct: false });
        let load =
            Load { is_random: false, read_percent: 100, jobs: 3, block_size: Bytes::from_mib(1), ..load() };
        let text = Job { load: &load, hosts: 1, seed: 7, target: &target, point: 1 }.text();
        assert!(text.contains("size=3145728\noffset_increment=3145728\n"), "{text}");
        assert!(text.contains("rw=read\n") && text.contains("rate=333333\n"), "{text}");
    }

    #[test]
    fn only_plain_uris_are_taken() {
        let uri = NbdUri::parse("nbd://10.0.0.1:2000/disk").expect("is one");
        assert_eq!((uri.port(), uri.server()), (Some(2000), "10.0.0.1:2000"));
        assert_eq!(NbdUri::parse("nbd://[fe80::1]").and_then(|uri| uri.port()), Some(NbdUri::PORT));
        for text in [
            "nbd://",
            "nbd://a;b",
            "nbd://a\nexec_prerun=id",
            "nbd://a:x",
            "http://a",
            "nbd://a b",
            "nbd://a?x",
        ] {
            assert_eq!(NbdUri::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_uri_brings_a_line_of_its_own(text in "nbd://\\PC{0,40}") {
            if let Some(uri) = NbdUri::parse(&text) {
                let job = Job { load: &load(), hosts: 1, seed: 7, target: &JobTarget::Nbd(uri.clone()), point: 1 }.text();
                let expected = format!("uri={}", uri.as_str());
                prop_assert!(job.lines().any(|line| line == expected));
                prop_assert!(!job.contains([';', '#']));
            }
        }
    }
}
