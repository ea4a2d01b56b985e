//! The line that fio 3 writes while it runs, where a text has nothing else of the run: people paste what they see.

use narrows_base::units::{BytesPerSec, Iops};

use super::options;
use crate::results::command::Commands;
use crate::results::number::{Base, rate, scaled};
use crate::results::{Imported, Measured, Op, Page, Side, Tool, Work};

/// What a text that has anything else of a run holds.
const OF_A_RUN: [&str; 6] = ["IOPS=", "iops=", "aggrb=", "bw=", "\"jobs\"", ";0%=0;"];

/// The last of the lines of each call, as the rates of that moment.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if page.has(&OF_A_RUN) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut is_begun = false;
    for (number, line) in page.lines() {
        is_begun &= !Commands::is_call(line, "fio");
        commands.see(number, line, "fio");
        let Some(measured) = of_line(number, line) else { continue };
        if std::mem::replace(&mut is_begun, true) {
            found.pop();
        }
        let mut result = Imported::new(Tool::Fio, page.name, number);
        result.command = commands.last().map(str::to_owned);
        result.truncated = true;
        result.notes.push("the rate of a moment: fio was not done".to_owned());
        result.measurements.push(measured);
        options::fill_of_command(&mut result);
        found.push(result);
    }
    found
}

/// `Jobs: 1 (f=1): [w(1)][67.3%][r=0KiB/s,w=97.4MiB/s][r=0,w=24.9k IOPS][eta 01m:38s]`.
fn of_line(number: usize, line: &str) -> Option<Measured> {
    let (_, rest) = line.split_once("Jobs: ")?;
    let (jobs, rest) = rest.split_once(" (f=")?;
    let mut rates = [None::<BytesPerSec>; 2];
    let mut iops = [None::<f64>; 2];
    for group in rest.split('[').skip(1) {
        let group = group.split(']').next().unwrap_or_default();
        for (at, key) in ["r=", "w="].into_iter().enumerate() {
            let figure = group.split(',').find_map(|part| part.trim().strip_prefix(key));
            let (Some(figure), Some(rates), Some(iops)) = (figure, rates.get_mut(at), iops.get_mut(at))
            else {
                continue;
            };
            if group.ends_with("B/s") {
                *rates = rate(figure, Base::Decimal).filter(|rate| rate.get() > 0.0);
            } else if let Some(text) = group.strip_suffix(" IOPS").map(|_| figure.trim_end_matches(" IOPS")) {
                *iops = scaled(text, Base::Decimal);
            }
        }
    }
    let work = Work { jobs: jobs.trim().parse().ok(), ..Work::default() };
    let mut measured = Measured::new(number, work);
    for ((op, rate), iops) in [Op::Read, Op::Write].into_iter().zip(rates).zip(iops) {
        *measured.side_mut(op) = rate.map(|rate| Side { iops: iops.map(Iops::new), ..Side::at(rate) });
    }
    let is_any = measured.sides().next().is_some();
    is_any.then_some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_call_is_what_was_seen_of_it() {
        let body = "fio --name=x --filename=/dev/sda --direct=1 --rw=randwrite --bs=4k --iodepth=32\n\
            Jobs: 1 (f=1): [w(1)][3.0%][w=91.0MiB/s][w=23.3k IOPS][eta 05m:00s]\n\
            Jobs: 1 (f=1): [w(1)][67.3%][w=97.4MiB/s][w=24.9k IOPS][eta 01m:38s]\n";
        let found = read(&Page { name: "x", body });
        let [result] = found.as_slice() else { panic!("{found:?}") };
        let one = &result.measurements[0];
        let write = one.write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 97.4 * 1_048_576.0);
        assert_eq!((write.iops.map(Iops::get), result.truncated), (Some(24_900.0), true));
        assert_eq!((one.work.queue_depth, one.work.direct), (Some(32), Some(true)));
        assert!(
            read(&Page { name: "x", body: &format!("{body}  write: IOPS=24.9k, BW=97.4MiB/s\n") }).is_empty()
        );
        assert!(
            read(&Page {
                name: "x",
                body: "Jobs: 4 (f=4): [P(4)][0.0%][eta 01m:38s]\nJobs: 12 (full time)\n"
            })
            .is_empty()
        );
    }
}
