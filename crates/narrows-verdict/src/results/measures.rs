//! What a result measures, where that is not what its figures are usually taken for.

use super::case::{Case, declares_memory};
use super::depth_too_low;
use narrows_base::units::human;
use narrows_paste::results::{Durability, Imported, Measured, Tool};

/// Whether to trust the figures, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// For what the output claims.
    Yes,
    /// The figures are right, but of something else.
    Other,
    /// Not at all.
    #[default]
    No,
}

/// What was measured, in words; `None` where it is what the output claims, as far as is known.
pub(super) fn of(case: &Case<'_>) -> Option<String> {
    let result = case.result;
    by_tool(result).or_else(|| memory(result)).or_else(|| {
        let (real, asked) = depth_too_low::in_flight(case)?;
        let one = "one I/O at a time".to_owned();
        let shown = if real <= 1.0 { one } else { format!("{} I/Os in flight", human::count(real)) };
        Some(format!("{shown}, not {}", human::count(asked)))
    })
}

/// Whether a tool says itself what it measures, so that a result of it is not taken for another.
pub(super) const fn is_claimed(tool: Tool) -> bool {
    matches!(tool, Tool::Iperf3 | Tool::Nvbandwidth)
}

fn by_tool(result: &Imported) -> Option<String> {
    let first = result.measurements.first()?;
    let count = |one: &str, many: &str| match first.work.jobs {
        Some(1) => format!("1 {one}"),
        Some(jobs) => format!("{jobs} {many}"),
        None => many.to_owned(),
    };
    Some(match result.tool {
        Tool::Cryptsetup => "the cipher in memory, not the disk".to_owned(),
        Tool::Nvbandwidth => "copies between memory and GPUs, no storage".to_owned(),
        Tool::Iperf3 => "the network, no storage".to_owned(),
        Tool::Dbench if first.network.is_some() => "sockets under a file server's load, no storage".to_owned(),
        Tool::Dbench => {
            let sync = if first.work.durability == Some(Durability::Each) { " with O_SYNC" } else { "" };
            format!("a file server's load of {}{sync}, whose reads mostly come from memory", count("client", "clients"))
        }
        Tool::Ioping => "one request at a time, for a short while".to_owned(),
        Tool::Pveperf => {
            "one small file with fsync at a time, and seconds of buffered reads of the device below the file system"
                .to_owned()
        }
        Tool::Sysbench => sysbench(first, &count("thread", "threads")),
        Tool::Iouring if !declares_memory(first) => {
            format!("what {} submit and reap, not what the drives can do", count("thread", "threads"))
        }
        Tool::Iostat | Tool::Zpooliostat => "what the devices carried under a load that is not told".to_owned(),
        _ => return None,
    })
}

/// Threads that wait for each request, mostly through the page cache.
fn sysbench(first: &Measured, threads: &str) -> String {
    let cache = match first.work.direct {
        Some(true) => "past the page cache",
        Some(false) => "through the page cache",
        None => "through the page cache unless its options say otherwise",
    };
    let syncs =
        if first.work.durability.is_some() { ", with fsyncs of all files among the requests" } else { "" };
    format!("{threads} that wait for each request, {cache}{syncs}")
}

fn memory(result: &Imported) -> Option<String> {
    let is_memory = |one: &Measured| one.memory_only || declares_memory(one);
    let all = !result.measurements.is_empty() && result.measurements.iter().all(is_memory);
    all.then(|| "memory, no drive".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::verdicts;
    use super::*;

    fn of(text: &str) -> (Trust, Option<String>) {
        let verdict = verdicts(text).remove(0);
        (verdict.trust, verdict.measures)
    }

    #[test]
    fn figures_may_be_right_and_of_something_else() {
        let (trust, measures) =
            of("/dev/sda:\n Timing cached reads:   3462 MB in  2.00 seconds = 1731.24 MB/sec\n");
        assert_eq!((trust, measures.as_deref()), (Trust::Other, Some("memory, no drive")));
        let (trust, measures) =
            of("/dev/sda:\n Timing buffered disk reads: 510 MB in  3.01 seconds = 169.62 MB/sec\n");
        assert_eq!((trust, measures), (Trust::Yes, None));
        let row = "[  5]   0.00-10.00  sec  118 MBytes  99.0 Mbits/sec                  receiver\n";
        let (trust, measures) = of(row);
        assert_eq!((trust, measures.as_deref()), (Trust::Yes, Some("the network, no storage")));
    }

    #[test]
    fn a_depth_that_was_not_reached_is_another_measurement() {
        let text = r#"{"fio version": "fio-3.36", "jobs": [{"jobname": "x", "job options": {"rw": "randread", "direct": "1", "ioengine": "psync", "iodepth": "16"},
            "read": {"io_bytes": 4096000000, "bw_bytes": 68266666, "bw": 66666, "iops": 16666, "runtime": 60000, "total_ios": 1000000}}]}"#;
        let (trust, measures) = of(text);
        assert_eq!((trust, measures.as_deref()), (Trust::Other, Some("one I/O at a time, not 16")));
    }
}
