//! `flatfile.html`: every interval and average of every run on one line, behind one line of names. Lines that begin with
//! an asterisk are comments; what was not measured is `n/a`.

use super::super::{Imported, Page};
use super::run::{Run, averaged, bytes_of, imported};
use super::{MB, Sample};

/// The runs in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["reqrate"]) {
        return Vec::new();
    }
    let mut names: Option<Vec<&str>> = None;
    let mut runs: Vec<Run> = Vec::new();
    let mut version = None;
    let mut last_time: Option<f64> = None;
    for (number, line) in page.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.trim_start().starts_with('*') {
            continue;
        }
        if words.contains(&"reqrate") && words.contains(&"Interval") {
            names = Some(words);
            continue;
        }
        let Some(names) = &names else { continue };
        let row = Row { names, words: &words };
        let (Some(name), Some(interval), Some(sample)) =
            (row.text("Run"), row.text("Interval"), row.sample())
        else {
            continue;
        };
        if runs.last().is_none_or(|run| run.name != name || run.average.is_some()) {
            runs.push(Run { line: number, name: name.to_owned(), ..Run::default() });
            last_time = None;
        }
        let Some(run) = runs.last_mut() else { continue };
        run.threads = row.number("threads").filter(|threads| *threads < 1e6).map(|threads| threads as u32);
        run.seeks = row.number("seekpct").map(|percent| percent / 100.0).filter(|part| *part >= 0.0);
        version = row.text("version").map(str::to_owned).or(version);
        match averaged(interval) {
            Some((first, last)) => run.average = Some((sample, first, last)),
            None if interval.parse::<u32>().is_ok() => {
                run.samples.push(sample);
                let now = row.text("tod").and_then(time_of);
                let step =
                    last_time.zip(now).map(|(before, now)| (now - before).rem_euclid(86_400.0).round());
                run.interval = run.interval.or(step).filter(|step| *step > 0.0);
                last_time = now;
            }
            None => {}
        }
    }
    let line = runs.first().map_or(1, |run| run.line);
    imported(page.name, line, version, &runs)
}

struct Row<'r> {
    names: &'r [&'r str],
    words: &'r [&'r str],
}

impl<'r> Row<'r> {
    fn text(&self, name: &str) -> Option<&'r str> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.words.get(at).copied().filter(|word| *word != "n/a")
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.text(name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn sample(&self) -> Option<Sample> {
        // A row that was cut off has fewer words than names.
        let size = self.number("bytes/io").or_else(|| Some(bytes_of(self.text("xfersize")?)?.as_f64()))?;
        Some(Sample {
            rate: self.number("rate")?,
            bytes: self.number("MB/sec")? * MB,
            size,
            reads: self.number("read%")? / 100.0,
            response: self.number("resp")?,
            read_response: self.number("read_resp"),
            write_response: self.number("write_resp"),
            longest: self.number("resp_max"),
            longest_read: self.number("read_max"),
            longest_write: self.number("write_max"),
            ..Sample::default()
        })
    }
}

/// Seconds of the day.
fn time_of(word: &str) -> Option<f64> {
    let mut parts = word.split(':').map(|part| part.parse::<f64>().ok());
    Some(parts.next()?? * 3600.0 + parts.next()?? * 60.0 + parts.next()??)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::workload::Pattern;

    const BODY: &str = "* 'flatfile.html' contains Vdbench generated information\n* reqrate         : Requested i/o rate\n\
        tod Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max write_max resp_std read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize version\n\
        10:00:05.000 run1 1 max 900.0 3.52 4096 100.00 1.1 1.1 0.0 9.0 9.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:10.000 run1 2 max 1000.0 3.91 4096 100.00 8.0 8.0 0.0 30.0 30.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:15.000 run1 3 max 1100.0 4.30 4096 100.00 7.2 7.2 0.0 31.0 31.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n\
        10:00:15.000 run1 avg_2-3 max 1050.0 4.10 4096 100.00 7.6 7.6 0.0 31.0 31.0 0.0 .1 .1 n/a 4096 8 100 n/a n/a 100.00 931.5 50407\n";

    #[test]
    fn the_columns_are_found_by_name() {
        let found = read(&Page { name: "x", body: BODY });
        assert_eq!(
            (found.len(), found[0].measurements.len(), found[0].version.as_deref()),
            (1, 1, Some("50407"))
        );
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 4.1 * 1_048_576.0);
        assert_eq!((one.work.pattern, one.work.jobs), (Some(Pattern::Random), Some(8)));
        assert_eq!(side.elapsed_ns.map(|time| time.get()), Some(10_000_000_000));
        assert!(!found[0].truncated);
    }

    #[test]
    fn a_file_without_the_average_is_averaged_here() {
        let at = BODY.find("10:00:15.000 run1 avg").expect("it is there");
        let found = read(&Page { name: "x", body: &BODY[..at + 20] });
        let side = found[0].measurements[0].read.as_ref().expect("reads");
        assert!(found[0].truncated);
        assert_eq!(side.iops.map(|rate| rate.get()), Some(1050.0));
    }
}
