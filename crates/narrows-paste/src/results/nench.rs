//! nench: ioping and three runs of dd. Its MiB/s are binary; dd writes 1 GiB of zeros with `conv=fdatasync`.

use super::bench_sh::work;
use super::ioping::{requests, spread_of};
use super::number::{Base, rate};
use super::{Imported, Measured, Op, Page, Side, Tool, Work};
use crate::text::behind_marks;
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// The headings of its parts; only nench has those of the first kind.
const OWN_HEADS: [&str; 3] = ["ioping: seek rate", "ioping: sequential", "dd: sequential write"];
const HEADS: [&str; 3] = ["dd test", "IPv4", "IPv6"];

/// The reports in a text. Without nench's own first line, as people quote it, one begins at a heading that only nench has.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found: Vec<Imported> = Vec::new();
    if !page.has(&["nench.sh"]) && !page.has(&OWN_HEADS) {
        return found;
    }
    let mut part = "";
    let mut broken: Option<String> = None;
    let mut seen: Vec<&str> = Vec::new();
    for (number, line) in page.lines() {
        let line = line.trim();
        if let Some(version) = line.strip_prefix("nench.sh v") {
            let mut result = Imported::new(Tool::Nench, page.name, number);
            result.version = version.split_whitespace().next().map(str::to_owned);
            found.push(result);
            part = "";
            seen.clear();
        }
        let is_own = OWN_HEADS.iter().any(|head| line.starts_with(head));
        if let Some(head) = OWN_HEADS.into_iter().chain(HEADS).find(|head| line.starts_with(head)) {
            if is_own && (found.is_empty() || seen.contains(&head)) {
                found.push(Imported::new(Tool::Nench, page.name, number));
                seen.clear();
            }
            part = if seen.contains(&head) { "" } else { head };
            seen.push(head);
        } else if let Some(result) = found.last_mut() {
            // Mail may have broken the longest line of all.
            let rest = behind_marks(line);
            let whole = broken.take().map(|begun| format!("{begun} {rest}"));
            let line = whole.as_deref().unwrap_or(line);
            if whole.is_none() && line.starts_with("generated ") && !line.ends_with("B/s") {
                broken = Some(line.to_owned());
            }
            let found = measured(part, number, line);
            if whole.is_some() && found.is_none() {
                result.unread.push(number - 1);
            }
            result.measurements.extend(found);
        }
    }
    found.retain(|report| {
        report.version.is_some() || !report.measurements.is_empty() || !report.unread.is_empty()
    });
    found
}

fn measured(part: &str, number: usize, line: &str) -> Option<Measured> {
    if part.starts_with("dd") {
        let (run, text) = line.split_once(" run:")?;
        let side = Side {
            bytes_per_second: rate(text, Base::Decimal).filter(|_| text.trim().ends_with("B/s"))?,
            bytes: Some(Bytes::from_mib(1024)),
            ..Side::default()
        };
        let mut measured = Measured::new(number, work(format!("dd, {run} run")));
        measured.put(Op::Write, side);
        return Some(measured);
    }
    let order = match part {
        "ioping: seek rate" => Pattern::Random,
        "ioping: sequential" => Pattern::Sequential,
        _ => return None,
    };
    let one_at_a_time = Work {
        label: part.to_owned(),
        pattern: Some(order),
        queue_depth: Some(1),
        jobs: Some(1),
        ..Work::default()
    };
    let mut measured = Measured::new(number, one_at_a_time);
    if let Some(latency) = spread_of(line).filter(|_| order == Pattern::Random) {
        measured.latency_ns = Some(latency);
        return Some(measured);
    }
    measured.put(Op::Read, requests(line.strip_prefix("generated ")?)?.side());
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_reads_of_ioping_and_the_runs_of_dd() {
        let body = " nench.sh v2019.07.20 -- https://git.io/nench.sh\nioping: seek rate\n    \
            min/avg/max/mdev = 179.2 us / 270.9 us / 28.1 ms / 597.4 us\nioping: sequential read speed\n    \
            generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops, 136.9 MiB/s\n\ndd: sequential write speed\n    \
            1st run:    132.56 MiB/s\n    2nd run:    120.16 MiB/s\n    average:    126.36 MiB/s\nIPv4 speedtests\n    Cachefly CDN: 92.25 MiB/s\n";
        let found = read(&Page { name: "x", body });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let [seek, order, first, second] = result.measurements.as_slice() else { panic!("{result:?}") };
        assert_eq!(seek.latency_ns.as_ref().and_then(|latency| latency.mean), Some(270.9e3));
        let rate = |side: &Option<Side>| side.as_ref().map(|side| side.bytes_per_second.get() / 1_048_576.0);
        assert_eq!(rate(&order.read), Some(136.9));
        assert_eq!((rate(&first.write), rate(&second.write)), (Some(132.56), Some(120.16)));
    }

    #[test]
    fn the_longest_line_may_go_on_behind_a_mark_and_is_said_where_it_does_not() {
        let body = |rest: &str| {
            format!(
                "nench.sh v2019.07.20 --\nioping: sequential read speed\n\
                generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops,\n{rest}\n\ndd: sequential write speed\n"
            )
        };
        let read = |rest: &str| read(&Page { name: "x", body: &body(rest) }).remove(0);
        assert_eq!((read("#136.9 MiB/s").measurements.len(), read("").unread), (1, vec![3]));
    }

    #[test]
    fn a_report_may_lack_its_first_line() {
        let ioping = "ioping: seek rate\n    min/avg/max/mdev = 179.2 us / 270.9 us / 28.1 ms / 597.4 us\n\
            ioping: sequential read speed\n    generated 2.74 k requests in 5.01 s, 685.2 MiB, 547 iops, 136.9 MiB/s\n";
        let body = format!(" nench.sh v2019.07.20 --\n{ioping}IPv4 speedtests\n\nand another one:\n{ioping}");
        let count = |body: &str| {
            read(&Page { name: "x", body }).iter().map(|one| one.measurements.len()).collect::<Vec<_>>()
        };
        assert_eq!(count(&body), [2, 2]);
        assert_eq!(count(&format!("{body} nench.sh v2019.07.20 --\n{ioping}")), [2, 2, 2]);
        assert_eq!(count(&format!("what I got:\n{ioping}")), [2]);
        assert_eq!(count("I ran\nioping: seek rate\nand forgot the rest"), [0; 0]);
    }

    #[test]
    fn what_failed_is_no_rate() {
        let body = "nench.sh v2019.07.20 --\nioping: seek rate\n    ioping: sequential read speed\n    \ndd: sequential write speed\n";
        assert!(read(&Page { name: "x", body })[0].measurements.is_empty());
    }
}
