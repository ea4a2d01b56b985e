//! diskspd's XML: counters of each thread and target, which are summed, as its own `Process-DiskSpd.ps1` does.
//!
//! Only the elements that are needed are looked for; the document is not validated.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use narrows_base::units::{Bytes, BytesPerSec, Iops, Nanos};
use narrows_base::workload::Pattern;

use crate::results::number::{plain, seconds, to_bytes};
use crate::results::{
    Cpu, Durability, Imported, Latency, Measured, Op, Page, Percentile, Side, Spread, Tool, Work,
};

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
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

fn number_in(text: &str, name: &str) -> Option<f64> {
    element(text, name).and_then(plain)
}

fn result(page: &Page<'_>, document: &str, begins: usize, truncated: bool) -> Option<Imported> {
    let (profile, results) = document.split_once("</Profile>")?;
    let span = element(results, "TimeSpan").unwrap_or(results);
    let time = number_in(span, "TestTimeSeconds").filter(|time| *time > 0.0)?;
    let threads: Vec<&str> = elements(span, "Thread").collect();
    let sum = |name: &str| -> f64 {
        let targets = threads.iter().flat_map(|thread| elements(thread, "Target"));
        targets.filter_map(|target| number_in(target, name)).sum()
    };
    let side = |word: &str, bytes: &str, count: &str| {
        let (bytes, ios) = (sum(bytes), sum(count));
        (ios > 0.0).then(|| Side {
            iops: Some(Iops::new(ios / time)),
            bytes: to_bytes(bytes),
            ios: Some(ios as u64),
            elapsed_ns: seconds(time),
            latency_ns: latency(span, word),
            spread: spread(span, word, ios / time),
            ..Side::at(BytesPerSec::new(bytes / time))
        })
    };
    let read = side("Read", "ReadBytes", "ReadCount");
    let write = side("Write", "WriteBytes", "WriteCount");
    let measured =
        Measured { read, write, cpu: busiest(span), ..Measured::new(begins, work(profile, threads.len())) };
    Some(Imported {
        version: element(document, "Version").map(str::to_owned),
        host: element(document, "ComputerName").map(|name| name.trim().to_owned()),
        started_s: element(document, "RunTime").and_then(seconds_of),
        truncated,
        measurements: vec![measured],
        ..Imported::new(Tool::Diskspd, page.name, begins)
    })
}

fn work(profile: &str, threads: usize) -> Work {
    let target = elements(profile, "Target").next().unwrap_or(profile);
    let is = |name: &str| element(target, name).map(|text| text.trim() == "true");
    let is_random =
        element(target, "Random").is_some() || number_in(target, "RandomRatio").is_some_and(|r| r > 0.0);
    let bytes = |name: &str| number_in(target, name).and_then(to_bytes);
    Work {
        pattern: Some(if is_random { Pattern::Random } else { Pattern::Sequential }),
        block_size: bytes("BlockSize"),
        queue_depth: number_in(target, "RequestCount").map(|depth| depth as u32),
        jobs: u32::try_from(threads).ok().filter(|threads| *threads > 0),
        direct: is("DisableOSCache").or(Some(element(target, "DisableAllCache").is_some())),
        durability: is("WriteThrough").map(|each| if each { Durability::Each } else { Durability::None }),
        working_set: bytes("FileSize").filter(|size| *size > Bytes::new(0)),
        target: element(target, "Path").map(str::to_owned),
        asked_ns: number_in(profile, "Duration").map(|seconds| Nanos::from_millis((seconds * 1e3) as u64)),
        ..Work::named("diskspd")
    }
}

fn latency(span: &str, word: &str) -> Option<Latency> {
    let all = element(span, "Latency")?;
    let mean = number_in(all, &format!("Average{word}Milliseconds"))? * 1e6;
    let name = format!("{word}Milliseconds");
    let percentiles: Vec<Percentile> = elements(all, "Bucket")
        .filter_map(|bucket| {
            Some(Percentile {
                percent: number_in(bucket, "Percentile")?,
                latency_ns: number_in(bucket, &name)? * 1e6,
            })
        })
        .collect();
    let max = percentiles.iter().find(|one| one.percent >= 100.0).map(|one| one.latency_ns);
    Some(Latency { mean: Some(mean), max, ..Latency::default() }.with_percentiles(percentiles))
}

fn spread(span: &str, word: &str, iops: f64) -> Option<Spread> {
    let deviation = number_in(element(span, "Iops")?, &format!("{word}IopsStdDev"))?;
    Some(Spread { mean: iops, deviation, samples: None })
}

/// The busiest processor: a thread that fills one may be what limits.
fn busiest(span: &str) -> Option<Cpu> {
    let share = |cpu: &str, name: &str| number_in(cpu, name).map(|percent| percent / 100.0);
    elements(element(span, "CpuUtilization")?, "CPU")
        .filter_map(|cpu| {
            Some(Cpu { user: share(cpu, "UserPercent")?, system: share(cpu, "KernelPercent")? })
        })
        .max_by(|a, b| a.total().total_cmp(&b.total()))
}

/// Machines are told to start at one time, and do so within this.
const START_TOGETHER_S: u64 = 60;

/// The results of many machines that ran the same load together, as VMFleet collects them: one XML file of each virtual
/// machine in a directory, `result-…-NAME.xml` (VMFleet's `VMFleet.psm1`).
///
/// They are one result: the sum, and each machine. Only what shows to be of one time and of machines that differ is
/// summed: a test that was repeated is not.
///
/// Puts one result in the place of those of machines that ran together.
pub(in crate::results) fn unite(results: &mut Vec<Imported>) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, result) in results.iter().enumerate() {
        if let Some(key) = together_key(result) {
            groups.entry(key).or_default().push(at);
        }
    }
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for members in groups.into_values() {
        let own: Vec<&Imported> = members.iter().filter_map(|at| results.get(*at)).collect();
        let Some(united) = together(&own) else { continue };
        let mut members = members.into_iter();
        if let Some(first) = members.next().and_then(|at| results.get_mut(at)) {
            *first = united;
        }
        gone.extend(members);
    }
    let mut at = 0..;
    results.retain(|_| !at.next().is_some_and(|at| gone.contains(&at)));
}

/// What results of one run have in common: the directory, the name but for the machine's, and what was asked.
fn together_key(result: &Imported) -> Option<String> {
    let [only] = result.measurements.as_slice() else { return None };
    let host = result.host.as_deref().filter(|host| result.tool == Tool::Diskspd && !host.is_empty())?;
    let work = Work { target: None, label: String::new(), ..only.work.clone() };
    let ios = |op| only.side(op).and_then(|side| side.ios).unwrap_or_default() as f64;
    let reads = (10.0 * ios(Op::Read) / (ios(Op::Read) + ios(Op::Write)).max(1.0)).round();
    let name = if result.file.contains(host) {
        result.file.replace(host, "*")
    } else {
        result.file.rsplit_once('/').map_or("", |(directory, _)| directory).to_owned()
    };
    Some(format!("{name}\n{reads}\n{work:?}"))
}

/// The results of several machines as one; `None` when they are not of one time or not of different machines.
fn together(own: &[&Imported]) -> Option<Imported> {
    let hosts: BTreeSet<&str> = own.iter().filter_map(|one| one.host.as_deref()).collect();
    if own.len() < 2 || hosts.len() != own.len() {
        return None;
    }
    let starts = || own.iter().filter_map(|one| one.started_s);
    if let (Some(first), Some(last)) = (starts().min(), starts().max())
        && last - first > START_TOGETHER_S
    {
        return None;
    }
    let first = own.first()?;
    let place = first.file.rsplit_once('/').map_or(first.file.as_str(), |(directory, _)| directory);
    let mut united = Imported::new(Tool::Diskspd, place, 1);
    united.version.clone_from(&first.version);
    united.truncated = own.iter().any(|one| one.truncated);
    united.failures = own.iter().flat_map(|one| one.failures.clone()).collect();
    let each = own.iter().flat_map(|one| {
        let name = one.host.clone().unwrap_or_default();
        one.measurements.iter().map(move |measured| {
            let mut measured = measured.clone();
            measured.work.label.clone_from(&name);
            measured
        })
    });
    let mut each: Vec<Measured> = each.collect();
    each.sort_by(|a, b| a.work.label.cmp(&b.work.label));
    united.measurements.push(sum_of_machines(&each)?);
    united.measurements.append(&mut each);
    Some(united)
}

/// All machines as one.
fn sum_of_machines(each: &[Measured]) -> Option<Measured> {
    let first = each.first()?;
    let count = u32::try_from(each.len()).ok()?;
    let jobs = sum(each.iter().map(|one| one.work.jobs.map(u64::from)));
    let working_set = sum(each.iter().map(|one| one.work.working_set.map(Bytes::get)));
    let work = Work {
        label: format!("{count} machines together"),
        jobs: jobs.and_then(|jobs| u32::try_from(jobs).ok()),
        working_set: working_set.map(Bytes::new),
        ..first.work.clone()
    };
    let mut all = Measured::new(first.line, work);
    all.nodes = Some(count);
    let side = |op| {
        let sides: Vec<&Side> = each.iter().filter_map(|one| one.side(op)).collect();
        (!sides.is_empty()).then(|| added_up(&sides))
    };
    (all.read, all.write) = (side(Op::Read), side(Op::Write));
    all.cpu = each.iter().filter_map(|one| one.cpu).max_by(|a, b| a.total().total_cmp(&b.total()));
    Some(all)
}

/// `None` where one does not tell.
fn sum(mut counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)))
}

/// One direction of all machines: rates and counts add up, the mean latency is weighed by the I/Os, and percentiles cannot
/// be told.
fn added_up(sides: &[&Side]) -> Side {
    let latency = |side: &&Side| Some((side.latency_ns.clone()?, side.ios? as f64));
    let latencies: Vec<(Latency, f64)> = sides.iter().filter_map(latency).collect();
    let weighed = || latencies.iter().filter_map(|(latency, ios)| Some((latency.mean?, *ios)));
    let weight: f64 = weighed().map(|(_, ios)| ios).sum();
    let mean = weighed().map(|(mean, ios)| mean * ios).sum::<f64>() / weight;
    let max = latencies.iter().filter_map(|(latency, _)| latency.max).reduce(f64::max);
    Side {
        iops: sides.iter().map(|side| Some(side.iops?.get())).sum::<Option<f64>>().map(Iops::new),
        bytes: sum(sides.iter().map(|side| side.bytes.map(Bytes::get))).map(Bytes::new),
        ios: sum(sides.iter().map(|side| side.ios)),
        elapsed_ns: sides.iter().filter_map(|side| side.elapsed_ns).max(),
        latency_ns: (weight > 0.0).then(|| Latency { mean: Some(mean), max, ..Latency::default() }),
        ..Side::at(BytesPerSec::new(sides.iter().map(|side| side.bytes_per_second.get()).sum()))
    }
}

/// The seconds of a time as diskspd writes it, `2021/04/14 23:25:42 UTC`, since 1970.
fn seconds_of(text: &str) -> Option<u64> {
    let iso = text.get(..19)?.replace('/', "-") + "Z";
    u64::try_from(iso.parse::<Timestamp>().ok()?.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::surroundings::Surroundings;
    use crate::results::{Page, complete, read};

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

    /// What VMFleet collects of one machine: 4 KiB random reads for 60 s.
    fn xml(host: &str, iops: u64, time: &str) -> String {
        let target = "<Target><Path>C:\\run\\testfile1.dat</Path><BlockSize>4096</BlockSize>\
            <DisableOSCache>true</DisableOSCache><FileSize>10737418240</FileSize><Random>4096</Random>\
            <RequestCount>8</RequestCount>";
        format!(
            "<Results><System><ComputerName>{host}</ComputerName><Tool><Version>2.0.21a</Version></Tool>\
             <RunTime>{time}</RunTime></System><Profile><TimeSpans><TimeSpan><Duration>60</Duration><Targets>{target}\
             </Target></Targets></TimeSpan></TimeSpans></Profile><TimeSpan><TestTimeSeconds>60</TestTimeSeconds>\
             <Latency><AverageReadMilliseconds>0.5</AverageReadMilliseconds></Latency>\
             <Thread><Target><ReadBytes>{}</ReadBytes><ReadCount>{}</ReadCount><WriteCount>0</WriteCount></Target></Thread>\
             </TimeSpan></Results>",
            iops * 60 * 4096,
            iops * 60
        )
    }

    fn united(files: &[(String, String)]) -> Vec<Imported> {
        let mut all: Vec<Imported> =
            files.iter().flat_map(|(name, body)| read(&Page { name, body })).collect();
        complete(&mut all, &Surroundings::default());
        all
    }

    #[test]
    fn sixty_machines_are_one_result_and_sixty() {
        // 978K I/Os per second of 60 machines are 16.3K of each.
        let files: Vec<(String, String)> = (1..=60)
            .map(|vm| {
                let host = format!("vm-base-node{}-{vm:03}", vm % 3);
                let body = xml(&host, 16_300, "2018/01/12 17:36:35 GMT");
                (format!("results/result-b4t1o8w0pr-{host}.xml"), body)
            })
            .collect();
        let all = united(&files);
        assert_eq!(all.len(), 1);
        let [sum, each @ ..] = all[0].measurements.as_slice() else { panic!("is empty") };
        assert_eq!((each.len(), sum.nodes, sum.work.jobs), (60, Some(60), Some(60)));
        let read = sum.read.as_ref().expect("reads");
        assert_eq!(read.iops.map(Iops::get), Some(978_000.0));
        assert_eq!(read.latency_ns.as_ref().and_then(|latency| latency.mean), Some(500_000.0));
        assert_eq!(each[0].read.as_ref().and_then(|side| side.iops).map(Iops::get), Some(16_300.0));
        assert_eq!((all[0].file.as_str(), each[0].work.label.as_str()), ("results", "vm-base-node0-003"));
    }

    #[test]
    fn what_was_repeated_or_was_not_at_one_time_is_not_summed() {
        let at = |host: &str, time: &str, name: &str| (name.to_owned(), xml(host, 100, time));
        let (now, later) = ("2018/01/12 17:36:35 GMT", "2018/01/12 18:36:35 GMT");
        assert_eq!(united(&[at("a", now, "r/1.xml"), at("a", now, "r/2.xml")]).len(), 2);
        assert_eq!(united(&[at("a", now, "r/1.xml"), at("b", later, "r/2.xml")]).len(), 2);
        assert_eq!(united(&[at("a", now, "r/1.xml"), at("b", now, "s/2.xml")]).len(), 2);
        assert_eq!(united(&[at("a", now, "r/o1-a.xml"), at("b", now, "r/o8-b.xml")]).len(), 2);
        assert_eq!(united(&[at("a", now, "r/1.xml"), at("b", now, "r/2.xml")]).len(), 1);
        assert_eq!(united(&[at("", now, "r/1.xml"), at("", now, "r/2.xml")]).len(), 2);
    }

    #[test]
    fn times_are_seconds_since_1970() {
        // `date -u -d '2021-04-14 23:25:42' +%s`
        assert_eq!(seconds_of("2021/04/14 23:25:42 UTC"), Some(1_618_442_742));
        assert_eq!(seconds_of("2000/02/29 00:00:00 GMT"), Some(951_782_400));
        assert_eq!(seconds_of("1970/01/01 00:00:00"), Some(0));
        assert_eq!(seconds_of("yesterday"), None);
        assert_eq!(seconds_of("2021/13/01 00:00:00"), None);
    }
}
