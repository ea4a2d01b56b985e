//! The results of many machines that ran the same load together, as VMFleet collects them: one XML file of each virtual
//! machine in a directory, `result-…-NAME.xml` (VMFleet's `VMFleet.psm1`).
//!
//! They are one result: the sum, and each machine. Only what shows to be of one time and of machines that differ is
//! summed: a test that was repeated is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::{Imported, Latency, Measured, Op, Side, Tool, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops};

/// Machines are told to start at one time, and do so within this.
const START_TOGETHER_S: u64 = 60;

/// Puts one result in the place of those of machines that ran together.
pub(in crate::results) fn unite(results: &mut Vec<Imported>) {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, result) in results.iter().enumerate() {
        if let Some(key) = key(result) {
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
fn key(result: &Imported) -> Option<String> {
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
    united.measurements.push(sum(&each)?);
    united.measurements.append(&mut each);
    Some(united)
}

/// All machines as one.
fn sum(each: &[Measured]) -> Option<Measured> {
    let first = each.first()?;
    let count = u32::try_from(each.len()).ok()?;
    let added = |of: fn(&Work) -> Option<u64>| {
        each.iter().map(|one| of(&one.work)).try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)))
    };
    let work = Work {
        label: format!("{count} machines together"),
        jobs: added(|work| work.jobs.map(u64::from)).and_then(|jobs| u32::try_from(jobs).ok()),
        working_set: added(|work| work.working_set.map(Bytes::get)).map(Bytes::new),
        ..first.work.clone()
    };
    let mut all = Measured::new(first.line, work);
    all.nodes = Some(count);
    for op in [Op::Read, Op::Write] {
        let sides: Vec<&Side> = each.iter().filter_map(|one| one.side(op)).collect();
        if !sides.is_empty() {
            all.put(op, added_up(&sides));
        }
    }
    all.cpu = each.iter().filter_map(|one| one.cpu).max_by(|a, b| a.total().total_cmp(&b.total()));
    Some(all)
}

/// One direction of all machines: rates and counts add up, the mean latency is weighed by the I/Os, and percentiles cannot
/// be told.
fn added_up(sides: &[&Side]) -> Side {
    let count = |of: fn(&Side) -> Option<u64>| {
        sides.iter().map(|side| of(side)).try_fold(0u64, |sum, one| Some(sum.saturating_add(one?)))
    };
    let ios = count(|side| side.ios);
    let latency = |side: &&Side| Some((side.latency_ns.clone()?, side.ios? as f64));
    let latencies: Vec<(Latency, f64)> = sides.iter().filter_map(latency).collect();
    let weighed = || latencies.iter().filter_map(|(latency, ios)| Some((latency.mean?, *ios)));
    let weight: f64 = weighed().map(|(_, ios)| ios).sum();
    let mean = weighed().map(|(mean, ios)| mean * ios).sum::<f64>() / weight;
    let max = latencies.iter().filter_map(|(latency, _)| latency.max).reduce(f64::max);
    Side {
        bytes_per_second: BytesPerSec::new(sides.iter().map(|side| side.bytes_per_second.get()).sum()),
        iops: sides.iter().map(|side| Some(side.iops?.get())).sum::<Option<f64>>().map(Iops::new),
        bytes: count(|side| side.bytes.map(Bytes::get)).map(Bytes::new),
        ios,
        elapsed_ns: sides.iter().filter_map(|side| side.elapsed_ns).max(),
        latency_ns: (weight > 0.0).then(|| Latency { mean: Some(mean), max, ..Latency::default() }),
        ..Side::default()
    }
}

/// The seconds of a time as diskspd writes it, `2021/04/14 23:25:42 UTC`, since 1970.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|word| word.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let (year, month, day) = (next()?, next()?, next()?);
    let (hour, minute, second) = (next()?, next()?, next()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day > 31 {
        return None;
    }
    // The days before a month of a year that begins in March: E. G. Richards, Explanatory Supplement (2013), 15.11.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::surroundings::Surroundings;
    use crate::results::{Page, complete, read};

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
        assert_eq!(seconds("2021/04/14 23:25:42 UTC"), Some(1_618_442_742));
        assert_eq!(seconds("2000/02/29 00:00:00 GMT"), Some(951_782_400));
        assert_eq!(seconds("1970/01/01 00:00:00"), Some(0));
        assert_eq!(seconds("yesterday"), None);
        assert_eq!(seconds("2021/13/01 00:00:00"), None);
    }
}
