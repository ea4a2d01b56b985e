//! diskspd's XML: counters of each thread and target, which are summed, as its own `Process-DiskSpd.ps1` does.
//!
//! Only the elements that are needed are looked for; the document is not validated.

use crate::results::number::plain;
use crate::results::{
    Cpu, Durability, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};
use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["<TestTimeSeconds>"]) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut rest = page.body;
    let mut line = 1;
    while let Some(start) = rest.find("<Results>") {
        let end = rest.get(start..).and_then(|text| text.find("</Results>")).map(|at| start + at);
        let document = rest.get(start..end.unwrap_or(rest.len())).unwrap_or_default();
        let begins = line + lines(rest.get(..start).unwrap_or_default());
        found.extend(result(page, document, begins, end.is_none()));
        let next = end.unwrap_or(rest.len());
        line += lines(rest.get(..next).unwrap_or_default());
        rest = rest.get(next..).unwrap_or_default();
    }
    found
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The text of the first element of this name.
fn element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    elements(text, name).next()
}

/// The texts of all elements of this name that have no attributes, outermost first, not those within them.
fn elements<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(&open)? + open.len();
        let inside = rest.get(start..)?;
        let end = inside.find(&close)?;
        rest = inside.get(end + close.len()..)?;
        inside.get(..end)
    })
}

fn number(text: &str, name: &str) -> Option<f64> {
    element(text, name).and_then(plain)
}

fn result(page: &Page<'_>, document: &str, begins: usize, truncated: bool) -> Option<Imported> {
    let (profile, results) = document.split_once("</Profile>")?;
    let span = element(results, "TimeSpan").unwrap_or(results);
    let seconds = number(span, "TestTimeSeconds").filter(|seconds| *seconds > 0.0)?;
    let threads: Vec<&str> = elements(span, "Thread").collect();
    let sum = |name: &str| -> f64 {
        let targets = threads.iter().flat_map(|thread| elements(thread, "Target"));
        targets.filter_map(|target| number(target, name)).sum()
    };
    let mut measured = Measured::new(begins, work(profile, threads.len()));
    for (op, bytes, count, word) in
        [(Op::Read, "ReadBytes", "ReadCount", "Read"), (Op::Write, "WriteBytes", "WriteCount", "Write")]
    {
        let (bytes, ios) = (sum(bytes), sum(count));
        if ios > 0.0 {
            let iops = ios / seconds;
            measured.put(
                op,
                Side {
                    bytes_per_second: BytesPerSec::new(bytes / seconds),
                    iops: Some(Iops::new(iops)),
                    bytes: crate::results::number::to_bytes(bytes),
                    ios: Some(ios as u64),
                    elapsed_ns: (seconds < 1e9).then(|| Nanos::new((seconds * 1e9) as u64)),
                    latency_ns: latency(span, word),
                    spread: spread(span, word, iops),
                    ..Side::default()
                },
            );
        }
    }
    measured.cpu = busiest(span);
    let mut imported = Imported::new(Tool::Diskspd, page.name, begins);
    imported.version = element(document, "Version").map(str::to_owned);
    imported.host = element(document, "ComputerName").map(|name| name.trim().to_owned());
    imported.started_s = element(document, "RunTime").and_then(super::fleet::seconds);
    imported.truncated = truncated;
    imported.measurements.push(measured);
    Some(imported)
}

fn work(profile: &str, threads: usize) -> Work {
    let target = elements(profile, "Target").next().unwrap_or(profile);
    let is = |name: &str| element(target, name).map(|text| text.trim() == "true");
    let is_random =
        element(target, "Random").is_some() || number(target, "RandomRatio").is_some_and(|r| r > 0.0);
    let bytes = |name: &str| number(target, name).and_then(crate::results::number::to_bytes);
    Work {
        label: "diskspd".to_owned(),
        pattern: Some(if is_random { Pattern::Random } else { Pattern::Sequential }),
        block_size: bytes("BlockSize"),
        queue_depth: number(target, "RequestCount").map(|depth| depth as u32),
        jobs: u32::try_from(threads).ok().filter(|threads| *threads > 0),
        direct: is("DisableOSCache").or(Some(element(target, "DisableAllCache").is_some())),
        durability: is("WriteThrough").map(|each| if each { Durability::Each } else { Durability::None }),
        working_set: bytes("FileSize").filter(|size| *size > Bytes::new(0)),
        target: element(target, "Path").map(str::to_owned),
        asked_ns: number(profile, "Duration").map(|seconds| Nanos::from_millis((seconds * 1e3) as u64)),
        ..Work::default()
    }
}

fn latency(span: &str, word: &str) -> Option<Latency> {
    let all = element(span, "Latency")?;
    let mean = number(all, &format!("Average{word}Milliseconds"))? * 1e6;
    let name = format!("{word}Milliseconds");
    let percentiles: Vec<Percentile> = elements(all, "Bucket")
        .filter_map(|bucket| {
            Some(Percentile {
                percent: number(bucket, "Percentile")?,
                latency_ns: number(bucket, &name)? * 1e6,
            })
        })
        .collect();
    let max = percentiles.iter().find(|one| one.percent >= 100.0).map(|one| one.latency_ns);
    Some(Latency { mean: Some(mean), max, ..Latency::default() }.with_percentiles(percentiles))
}

fn spread(span: &str, word: &str, iops: f64) -> Option<Spread> {
    let deviation = number(element(span, "Iops")?, &format!("{word}IopsStdDev"))?;
    Some(Spread { mean: iops, deviation, samples: None })
}

/// The busiest processor: a thread that fills one may be what limits.
fn busiest(span: &str) -> Option<Cpu> {
    let share = |cpu: &str, name: &str| number(cpu, name).map(|percent| percent / 100.0);
    elements(element(span, "CpuUtilization")?, "CPU")
        .filter_map(|cpu| {
            Some(Cpu { user: share(cpu, "UserPercent")?, system: share(cpu, "KernelPercent")? })
        })
        .max_by(|a, b| a.total().total_cmp(&b.total()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_threads_are_summed() {
        let body = "x\n<Results><System><Tool><Version>2.0.21a</Version></Tool></System><Profile><TimeSpans><TimeSpan>\
            <Duration>30</Duration><Targets><Target><Path>C:\\t</Path><BlockSize>65536</BlockSize>\
            <DisableOSCache>true</DisableOSCache><FileSize>838860800</FileSize><RequestCount>2</RequestCount>\
            </Target></Targets></TimeSpan></TimeSpans></Profile><TimeSpan><TestTimeSeconds>10</TestTimeSeconds>\
            <Thread><Target><ReadBytes>655360</ReadBytes><ReadCount>10</ReadCount><WriteCount>0</WriteCount></Target></Thread>\
            <Thread><Target><ReadBytes>655360</ReadBytes><ReadCount>10</ReadCount><WriteCount>0</WriteCount></Target></Thread>\
            </TimeSpan></Results>";
        let found = read(&Page { name: "x", body });
        assert_eq!((found.len(), found[0].line, found[0].truncated), (1, 2, false));
        let run = &found[0].measurements[0];
        let read = run.read.as_ref().expect("reads");
        assert_eq!((read.bytes_per_second.get(), read.ios), (131_072.0, Some(20)));
        assert!(run.write.is_none() && read.latency_ns.is_none());
        assert_eq!((run.work.jobs, run.work.queue_depth), (Some(2), Some(2)));
    }
}
