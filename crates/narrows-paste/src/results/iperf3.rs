//! iperf3, text and JSON: what a network carries. No storage is measured.
//!
//! `Transfer` is binary, `Bitrate` decimal bits. The receiver's rate is the result; of UDP, whose JSON has one sum, it is
//! what was sent. Of a run whose summary is missing the intervals are the result, where they follow each other.

use narrows_base::units::{BytesPerSec, Nanos};
use serde_json::Value;

use super::command::Commands;
use super::json::{Document, documents, list, number};
use super::number::{Base, Rounded, contradiction, factor, leading, seconds, to_bytes};
use super::{Derived, Imported, Measured, Page, Side, Spread, Tool, Work};

/// The runs whose summary stands in a text.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    let mut found = Iperf3Found::default();
    let mut commands = Commands::default();
    let mut run = Iperf3Run::default();
    let mut held: Option<(usize, Iperf3Row<'_>)> = None;
    for (number, line) in page.lines().filter(|(_, line)| !line.trim().is_empty()) {
        commands.see(number, line, "iperf3");
        let line = line.trim();
        if let Some((at, row)) = held.take() {
            // Mail may have broken the line before its last word, and put what was below behind it.
            let last = line.split_whitespace().find_map(End::of).filter(|_| !line.starts_with('['));
            let lost = row.lost.or_else(|| lost_of(line).filter(|_| !line.starts_with('[')));
            let row = Iperf3Row { end: row.end.or(last), lost, ..row };
            if run.is_before(&row) {
                found.end(std::mem::take(&mut run), page);
            }
            run.see(at, row);
        }
        let is_head = line.starts_with("Connecting to host") || line.starts_with("iperf Done");
        if (run.is_told() || run.has_whole()) && is_table(line) {
            found.end(std::mem::take(&mut run), page);
        } else if is_head || Commands::is_call(line, "iperf3") {
            found.end(std::mem::take(&mut run), page);
            run.command = commands.last().map(str::to_owned);
        } else {
            held = Iperf3Row::of(line).map(|row| (number, row));
        }
        if held.is_none() && is_broken(line) {
            found.lost.push(number);
            run.see_broken(line);
        }
    }
    if let Some((at, row)) = held {
        run.see(at, row);
    }
    found.end(run, page);
    found.all()
}

/// The runs that were read, and the lines of summaries that were not.
#[derive(Default)]
struct Iperf3Found {
    runs: Vec<Imported>,
    lost: Vec<usize>,
}

impl Iperf3Found {
    fn end(&mut self, run: Iperf3Run<'_>, page: &Page<'_>) {
        let rows = [run.sender, run.receiver].into_iter().flatten();
        let told = rows.filter(|(_, row)| row.amount.value() > 0.0).map(|(line, _)| line).max();
        match run.finish(page) {
            Some(result) => self.runs.push(result),
            None => self.lost.extend(told),
        }
    }

    fn all(mut self) -> Vec<Imported> {
        if let Some(last) = self.runs.last_mut() {
            last.unread = self.lost;
        }
        self.runs
    }
}

/// Whether a line has the first half of a row, or one behind something else.
fn is_broken(line: &str) -> bool {
    line.contains(" sec ") && line.contains("Bytes") && line.contains('[')
}

/// Whether a line is the heading of a table. Below the summary of a run there is none.
fn is_table(line: &str) -> bool {
    line.starts_with("[ ID]") && line.contains("Interval")
}

/// `[  5]   0.00-30.00  sec  45.8 GBytes  13.1 Gbits/sec  4369             sender`.
#[derive(Debug, Clone, Copy)]
struct Iperf3Row<'t> {
    id: &'t str,
    from: f64,
    time: Rounded,
    /// In bytes.
    amount: Rounded,
    /// In bytes per second.
    rate: Rounded,
    /// Datagrams of UDP that did not arrive, and how many were sent.
    lost: Option<(f64, f64)>,
    end: Option<End>,
}

/// `26800/51492 (52%)`.
fn lost_of(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split_whitespace().filter_map(|word| word.split_once('/'));
    let (lost, sent) = words.find_map(|(lost, sent)| Some((lost.parse().ok()?, sent.parse().ok()?)))?;
    (0.0 <= lost && lost <= sent).then_some((lost, sent))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

impl End {
    fn of(word: &str) -> Option<Self> {
        match word {
            "sender" => Some(Self::Sender),
            "receiver" => Some(Self::Receiver),
            _ => None,
        }
    }
}

impl<'t> Iperf3Row<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let (id, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (from, rest) = leading(rest)?;
        let (to, rest) = Rounded::leading(rest.strip_prefix('-')?)?;
        let (amount, rest) = Rounded::leading(rest.trim_start().strip_prefix("sec")?)?;
        let (unit, rest) = rest.trim_start().split_once("Bytes")?;
        let (bits, rest) = Rounded::leading(rest)?;
        let (bits_unit, rest) = rest.trim_start().split_once("bits/sec")?;
        let last = rest.split_whitespace().next_back();
        Some(Self {
            id: id.trim(),
            from,
            time: to,
            amount: amount.times(factor(unit, Base::Binary)),
            rate: bits.times(factor(bits_unit, Base::Decimal) / 8.0),
            lost: lost_of(rest),
            end: last.and_then(End::of),
        })
    }

    /// Its rate, where amount and time make another.
    fn contradiction(&self) -> Option<Derived> {
        contradiction("rate, in bytes per second", self.rate, &[1.0], self.amount, self.time)
    }
}

#[derive(Debug, Default)]
struct Iperf3Run<'t> {
    command: Option<String>,
    /// The intervals: of all streams together, or of the only one.
    sums: Vec<(usize, Iperf3Row<'t>)>,
    singles: Vec<(usize, Iperf3Row<'t>)>,
    ids: Vec<&'t str>,
    /// Whether a row with the sum of several streams could not be read.
    has_lost_sum: bool,
    /// The receiver's line of the whole run, and the sender's: of the sum where there is one.
    receiver: Option<(usize, Iperf3Row<'t>)>,
    sender: Option<(usize, Iperf3Row<'t>)>,
    /// A row from the beginning that is longer than an interval and says nothing of its end: all that a post may have of a run.
    whole: Option<(usize, Iperf3Row<'t>)>,
}

impl<'t> Iperf3Run<'t> {
    fn see(&mut self, number: usize, row: Iperf3Row<'t>) {
        /// A day of seconds.
        const MOST: usize = 100_000;
        /// Seconds of an interval, unless another one was asked for.
        const INTERVAL: f64 = 1.5;
        let is_sum = row.id == "SUM";
        // A server prints such a row of what it did not send itself; the word behind it may be lost.
        if row.end.is_none() && row.from == 0.0 && row.time.value() > INTERVAL && row.amount.value() <= 0.0 {
            return;
        }
        if !is_sum && !self.ids.contains(&row.id) && self.ids.len() < 1000 {
            self.ids.push(row.id);
        }
        let place = match row.end {
            Some(End::Receiver) => &mut self.receiver,
            Some(End::Sender) => &mut self.sender,
            // The receiver's line follows the sender's; its last word may have been broken off.
            None if self.is_below_sender(&row) => &mut self.receiver,
            None => {
                let rows = if is_sum { &mut self.sums } else { &mut self.singles };
                if row.from >= 0.0 && rows.len() < MOST {
                    rows.push((number, row));
                }
                let is_whole = row.from == 0.0 && row.time.value() > INTERVAL;
                self.whole = is_whole.then_some((number, row));
                return;
            }
        };
        if place.is_none_or(|(_, before)| before.id != "SUM") {
            *place = Some((number, row));
        }
    }

    /// The stream of a row that could not be read is one of the run, and a sum is of several.
    fn see_broken(&mut self, line: &'t str) {
        let id = line.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(id, _)| id.trim());
        let is_stream = |id: &&str| !id.is_empty() && id.chars().all(|c| c.is_ascii_digit());
        self.has_lost_sum |= id == Some("SUM");
        if let Some(id) = id.filter(is_stream).filter(|id| !self.ids.contains(id) && self.ids.len() < 1000) {
            self.ids.push(id);
        }
    }

    /// Whether a row is of another run: its time begins anew below a summary, or the summary of a stream stands there already.
    fn is_before(&self, row: &Iperf3Row<'_>) -> bool {
        let told = [&self.sender, &self.receiver].into_iter().flatten().map(|(_, told)| told);
        let is_told = |end: End| told.clone().any(|one| one.end == Some(end) && one.id == row.id);
        match row.end {
            None => {
                let is_other =
                    |received: &(usize, Iperf3Row<'_>)| received.1.id == row.id || !self.is_below_sender(row);
                // A sum is the last row of its run.
                let is_next = |whole: &(usize, Iperf3Row<'_>)| whole.1.id == "SUM" || whole.1.id == row.id;
                row.from == 0.0
                    && (self.receiver.as_ref().is_some_and(is_other)
                        || self.whole.as_ref().is_some_and(is_next))
            }
            Some(end) => is_told(end) && (end == End::Receiver || self.receiver.is_some()),
        }
    }

    /// Whether the summary stands there, or the first line of it.
    const fn is_told(&self) -> bool {
        self.receiver.is_some() || self.sender.is_some()
    }

    /// Whether a row of the whole run stands below its intervals, without a word of whose it is.
    const fn has_whole(&self) -> bool {
        self.whole.is_some() && (self.singles.len() > 1 || self.sums.len() > 1)
    }

    fn is_below_sender(&self, row: &Iperf3Row<'_>) -> bool {
        self.sender.is_some_and(|(_, sent)| {
            let is_same_time = (sent.time.value() - row.time.value()).abs() < 0.1;
            sent.id == row.id && sent.from == row.from && is_same_time
        })
    }

    fn finish(self, page: &Page<'_>) -> Option<Imported> {
        let intervals = if self.ids.len() == 1 { self.singles } else { self.sums };
        // A server does not know what the client sent and prints nothing of it.
        let told = self.receiver.or(self.sender.filter(|(_, row)| row.amount.value() > 0.0)).or(self.whole);
        let is_cut = told.is_none();
        let (line, row) = told.or_else(|| all_of(&intervals))?;
        // Of several streams without their sum no row is the whole.
        if (self.ids.len() > 1 || self.has_lost_sum) && row.id != "SUM" {
            return None;
        }
        let mut result = Imported::new(Tool::Iperf3, page.name, line);
        result.command = self.command;
        result.derived.extend(row.contradiction().filter(|_| !is_cut));
        result.truncated = is_cut;
        let note = match (row.end, self.receiver) {
            _ if is_cut && row.lost.is_some() => None,
            (Some(End::Sender), _) => Some("the receiver's rate is missing: the sender's was taken"),
            (None, None) => Some("it does not tell whether its rate is the sender's or the receiver's"),
            _ => None,
        };
        result.notes.extend(note.map(str::to_owned));
        let series: Vec<f64> = intervals.iter().map(|(_, row)| row.rate.value()).collect();
        let side = Side {
            lost: row.lost.and_then(share),
            bytes_per_second: BytesPerSec::new(row.rate.value()),
            bytes: to_bytes(row.amount.value()),
            // How long a run was of which the text has a part is not told.
            elapsed_ns: seconds(row.time.value() - row.from).filter(|_| !is_cut),
            ..with_series(&series)
        };
        let streams = u32::try_from(self.ids.len()).ok().filter(|count| *count > 0);
        result.measurements.push(network(line, "iperf3".to_owned(), streams, side));
        Some(result)
    }
}

/// The whole of intervals that follow each other, and the line of the first; `None` of one alone, which is a beginning.
fn all_of<'t>(intervals: &[(usize, Iperf3Row<'t>)]) -> Option<(usize, Iperf3Row<'t>)> {
    /// Seconds that the end of an interval and the beginning of the next may be apart by rounding.
    const APART: f64 = 0.05;
    let ((line, first), (_, last)) = (intervals.first()?, intervals.last()?);
    let mut pairs = intervals.iter().zip(intervals.get(1..)?);
    let follow = |((_, row), (_, next)): (&(usize, Iperf3Row<'_>), &(usize, Iperf3Row<'_>))| {
        (row.time.value() - next.from).abs() < APART
    };
    if intervals.len() < 2 || !pairs.all(follow) {
        return None;
    }
    let sum = |of: fn(&Iperf3Row<'_>) -> f64| intervals.iter().map(|(_, row)| of(row)).sum::<f64>();
    let (bytes, time) = (sum(|row| row.amount.value()), last.time.value() - first.from);
    let lost = sum(|row| row.lost.map_or(0.0, |(lost, _)| lost));
    let sent = sum(|row| row.lost.map_or(0.0, |(_, sent)| sent));
    let row = Iperf3Row {
        time: last.time,
        amount: Rounded::exact(bytes),
        rate: Rounded::exact(bytes / time),
        lost: first.lost.map(|_| (lost, sent)),
        ..*first
    };
    (time > 0.0 && bytes > 0.0).then_some((*line, row))
}

/// The part of the datagrams that was lost.
fn share((lost, sent): (f64, f64)) -> Option<f64> {
    (sent > 0.0).then(|| lost / sent)
}

fn network(line: usize, label: String, streams: Option<u32>, side: Side) -> Measured {
    let work = Work { label, jobs: streams, ..Work::default() };
    Measured { network: Some(side), ..Measured::new(line, work) }
}

fn with_series(rates: &[f64]) -> Side {
    Side {
        spread: Spread::of(rates).filter(|_| rates.len() > 1),
        series: rates.iter().copied().map(BytesPerSec::new).collect(),
        series_span_ns: (!rates.is_empty()).then(|| Nanos::from_millis(1000)),
        ..Side::default()
    }
}

/// The runs that stand in a text as JSON.
pub(super) fn read_json(page: &Page<'_>) -> Vec<Imported> {
    documents(page, "\"bits_per_second\"").iter().filter_map(|document| of_document(page, document)).collect()
}

fn of_document(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let (line, value) = (document.line, &document.value);
    let start = value.get("start")?;
    let mut result = Imported::new(Tool::Iperf3, page.name, line);
    let version = start.get("version").and_then(Value::as_str);
    result.version = version.map(|version| version.trim_start_matches("iperf ").to_owned());
    let test = start.get("test_start");
    let streams = test.and_then(|test| number(test, "num_streams")).map(|count| count as u32);
    let protocol = test.and_then(|test| test.get("protocol")).and_then(Value::as_str);
    let clock = start.get("timestamp").and_then(|time| number(time, "timesecs"));
    result.started_s = clock.map(|seconds| seconds as u64);
    result.failures.extend(value.get("error").and_then(Value::as_str).map(str::to_owned));
    result.truncated = document.truncated;
    let series: Vec<f64> = list(value, "intervals")
        .filter_map(|interval| number(interval.get("sum")?, "bits_per_second"))
        .map(|bits| bits / 8.0)
        .collect();
    let end = value.get("end");
    let sum = ["sum_received", "sum", "sum_sent"].into_iter().find_map(|name| end?.get(name));
    if let Some(sum) = sum {
        result.derived.extend(of_sum(sum));
        let lost = number(sum, "lost_packets").filter(|lost| *lost > 0.0);
        result.notes.extend(lost.map(|lost| {
            let of = number(sum, "packets").map(|all| format!(" of {all}")).unwrap_or_default();
            format!("{lost}{of} packets were lost: the rate is of what was sent")
        }));
        let side = Side {
            lost: number(sum, "lost_packets").zip(number(sum, "packets")).and_then(share),
            bytes_per_second: BytesPerSec::new(number(sum, "bits_per_second")? / 8.0),
            bytes: number(sum, "bytes").and_then(to_bytes),
            elapsed_ns: number(sum, "seconds").and_then(seconds),
            ..with_series(&series)
        };
        result.measurements.push(network(line, protocol.unwrap_or("iperf3").to_owned(), streams, side));
    }
    Some(result)
}

/// The rate against bytes and seconds; JSON is not rounded.
fn of_sum(sum: &Value) -> Option<Derived> {
    let (bytes, time) = (number(sum, "bytes")?, number(sum, "seconds")?);
    let printed = number(sum, "bits_per_second")?;
    let computed = bytes * 8.0 / time;
    // iperf 3.6 divides the bytes that were received by the receiver's time, and tells the sender's for one stream.
    let one = Derived { name: "bits_per_second".to_owned(), printed, computed, rounding: 0.02 };
    (time > 0.0 && !one.agrees()).then_some(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_nothing_whose_last_word_is_lost_is_no_result() {
        let text = "[  5]   0.00-1.00   sec  10.6 MBytes  88.7 Mbits/sec\n[  5]   0.00-3.04   sec  0.00 Bytes  0.00 bits/sec\n\
            [  5]   0.00-3.04   sec   34 MBytes  94.2 Mbits/sec\n";
        let found = read(&Page { name: "x", body: text });
        let rate = |result: &Imported| {
            result.measurements[0].network.as_ref().map(|side| side.bytes_per_second.get())
        };
        assert_eq!(found.iter().map(rate).collect::<Vec<_>>(), [Some(94.2e6 / 8.0)]);
        assert!(
            read(&Page { name: "x", body: "[  5]   0.00-11.30  sec  0.00 Bytes  0.00 bits/sec\n" })
                .is_empty()
        );
    }

    fn of(body: &str) -> Vec<Imported> {
        read(&Page { name: "x", body })
    }

    fn rate(result: &Imported) -> f64 {
        result.measurements[0].network.as_ref().expect("a network").bytes_per_second.get()
    }

    #[test]
    fn the_receivers_rate_of_the_sum_is_the_result() {
        let row = |id: &str, amount: &str, bits: &str, end: &str| {
            format!("[{id:>3}]   0.00-10.00  sec  {amount} GBytes  {bits} Gbits/sec    0    {end}\n")
        };
        let body = row("5", "1.74", "1.49", "sender")
            + &row("5", "1.73", "1.49", "receiver")
            + &row("7", "1.74", "1.49", "sender")
            + &row("7", "1.73", "1.49", "receiver");
        assert!(of(&body).is_empty(), "of two streams neither is the whole");
        let whole = body + &row("SUM", "3.48", "2.99", "sender") + &row("SUM", "3.46", "2.97", "receiver");
        let found = of(&whole);
        assert_eq!((found.len(), rate(&found[0])), (1, 2.97e9 / 8.0));
        assert_eq!(found[0].measurements[0].work.jobs, Some(2));
        assert!(found[0].derived.is_empty(), "{found:?}");
    }

    #[test]
    fn a_line_alone_that_is_longer_than_an_interval_is_a_run() {
        let one = "[  5] 0.00-10.00  sec  10.3 GBytes  8.83 Gbits/sec\nCPU: iperf3 22.5% ksoftirqd 16.6%\n";
        let sum = "[SUM]   0.00-10.00  sec  9.36 GBytes  8.04 Gbits/sec\nperf3: 19.3%\n";
        let found = of(&format!("$ iperf3 -c x\n{one}\n$ iperf3 -c x -P4\n{sum}\n\nWITHOUT it:\n{one}{one}"));
        let rates: Vec<f64> = found.iter().map(|one| rate(one) * 8e-9).collect();
        assert_eq!(rates, [8.83, 8.04, 8.83, 8.83]);
        let second = "[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0\n";
        assert!(of(second).is_empty(), "the first second of a run");
    }

    #[test]
    fn runs_with_intervals_are_told_apart_by_their_heads() {
        let run = "Connecting to host x, port 5201\n[ ID] Interval           Transfer     Bandwidth\n\
            [  4]   0.00-1.00   sec  88.4 MBytes   742 Mbits/sec   12    361 KBytes\n[  4]   1.00-2.00   sec  82.5 MBytes   692 Mbits/sec\n\
            [  4]   0.00-2.00   sec   171 MBytes   717 Mbits/sec                  receiver\n\niperf Done.\n";
        let found = of(&format!("$ iperf3 -c x -R\n{run}$ iperf3 -c x\n{run}"));
        assert_eq!(found.len(), 2);
        let side = found[0].measurements[0].network.as_ref().expect("a network");
        assert_eq!((side.series.len(), side.elapsed_ns), (2, Some(Nanos::from_millis(2000))));
    }

    #[test]
    fn a_heading_below_the_row_of_the_whole_begins_another_run() {
        let run = |id: u32, rate: u32| {
            format!(
                "[ ID] Interval           Transfer     Bitrate\n\
                 [  {id}]   0.00-1.00   sec   270 MBytes  2.27 Gbits/sec\n[  {id}]   1.00-2.00   sec   271 MBytes  2.27 Gbits/sec\n\
                 - - - - - - - - - - - - -\n[ ID] Interval           Transfer     Bitrate     receiver\n\
                 [  {id}]   0.00-2.00   sec   541 MBytes  2.{rate} Gbits/sec\n\n"
            )
        };
        let body = run(5, 27) + &run(4, 26);
        let found = read(&Page { name: "a", body: &body });
        let rates: Vec<f64> = found
            .iter()
            .map(|one| one.measurements[0].network.as_ref().unwrap().bytes_per_second.get())
            .collect();
        assert_eq!(rates, [2.27e9 / 8.0, 2.26e9 / 8.0]);
    }

    #[test]
    fn tables_without_anything_between_them_are_runs_of_their_own() {
        let table = |amount: &str, bits: &str| {
            format!(
                "[ ID] Interval           Transfer     Bitrate         Retr\n\
                [  5]   0.00-1.00   sec  {amount} MBytes  {bits} Mbits/sec    0    783 KBytes\n- - -\n\
                [ ID] Interval           Transfer     Bitrate         Retr\n\
                [  5]   0.00-1.00   sec  {amount} MBytes  {bits} Mbits/sec  214             sender\n\
                [  5]   0.00-1.00   sec  {amount} MBytes  {bits} Mbits/sec                  receiver\n\n"
            )
        };
        let body =
            table("108", "906") + "with the patch:\n" + &table("5.82", "48.8") + &table("7.08", "59.4");
        let found = of(&body);
        assert_eq!(found.iter().map(rate).collect::<Vec<_>>(), [906e6 / 8.0, 48.8e6 / 8.0, 59.4e6 / 8.0]);
        assert!(found.iter().all(|one| one.measurements[0].work.jobs == Some(1)));
    }

    #[test]
    fn a_stream_beside_others_that_were_broken_is_not_the_whole() {
        let row = "[  5]   0.00-10.00  sec  1.74 GBytes  1.49 Gbits/sec    0             sender\n";
        for broken in
            ["[  7]   0.00-10.00  sec   888 MBytes   745\n", "[SUM]   0.00-10.00  sec  13.9 GBytes\n"]
        {
            assert!(of(&format!("{row}{broken}")).is_empty(), "{broken}");
        }
        assert_eq!(of(&format!("{row}[  5]   0.00-10.00  sec  1.74 GBytes\n")).len(), 1);
    }

    #[test]
    fn what_a_server_does_not_know_is_no_rate() {
        let sent = "[  5]   0.00-10.04  sec  0.00 Bytes  0.00 bits/sec                  sender\n";
        assert_eq!(of(sent), []);
        let body =
            format!("{sent}[  5]   0.00-10.04  sec  3.86 GBytes  3.30 Gbits/sec                  receiver\n");
        assert_eq!(rate(&of(&body)[0]), 3.3e9 / 8.0);
    }

    #[test]
    fn a_line_of_the_whole_time_below_the_senders_is_the_receivers() {
        let body = "[  4]   0.00-10.00  sec   955 MBytes   801 Mbits/sec  430             sender\n\
            [  4]   0.00-10.00  sec   952 MBytes   798 Mbits/sec\n";
        assert_eq!(rate(&of(body)[0]), 798e6 / 8.0);
    }

    #[test]
    fn a_rate_that_is_not_that_of_amount_and_time_contradicts_them() {
        let body = "[  4]   0.00-10.00  sec   952 MBytes   898 Mbits/sec                  receiver\n";
        assert_eq!(of(body)[0].derived.len(), 1);
    }

    #[test]
    fn a_row_that_ends_beside_the_next_call_is_whole_and_one_cut_in_two_is_said() {
        let body = "# iperf3 -c h -u -b100M\n[  5]   0.00-10.05  sec   113 MBytes  94.6 Mbits/sec  0.044 ms\n\
            467/82603 (0.57%)  receiver # iperf3 -c h -u -b90M\n\
            [  5]   0.00-10.04  sec  90.5 MBytes  75.6 Mbits/sec  0.146 ms\n12163/77688 (16%)  receiver\n\
            Lost/Total Datagrams [  5]   0.00-10.01  sec   114 MBytes  95.4\nMbits/sec  0.030 ms  0/82363 (0%)  receiver\n";
        let found = of(body);
        assert_eq!(found.iter().map(rate).collect::<Vec<_>>(), [94.6e6 / 8.0, 75.6e6 / 8.0]);
        assert_eq!(found.iter().flat_map(|one| one.unread.clone()).collect::<Vec<_>>(), [6]);
    }

    #[test]
    fn streams_without_their_sum_are_said_beside_a_run_that_has_one() {
        let row = |id: u8| {
            format!("[  {id}]   0.00-10.00  sec  1.73 GBytes  1.49 Gbits/sec                  receiver\n")
        };
        let body = format!("$ iperf3 -c h\n{}$ iperf3 -c h -P 2\n{}{}", row(4), row(5), row(7));
        let found = of(&body);
        assert_eq!((found.len(), found[0].unread.len()), (1, 1));
    }

    #[test]
    fn a_run_of_udp_that_is_cut_is_the_mean_of_what_arrived_and_says_what_was_lost() {
        let body = "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
            [  5]   0.00-1.00   sec  71.1 MBytes   596 Mbits/sec  0.025 ms  0/57350 (0%)\n\
            [  5]   1.00-2.00   sec  30.9 MBytes   258 Mbits/sec  0.016 ms  27153/52052 (52%)\n\
            [  5]   2.00-3.00   sec  21.7 MBytes   183 Mbits/sec  0.007 ms  38721/56258 (69%)\n\
            [  5]   3.00-4.00   sec  52.\n";
        let found = of(body);
        let side = found[0].measurements[0].network.as_ref().expect("a network");
        // By hand: 123.7 MiB in 3 s; 65874 of 165660.
        assert_eq!((rate(&found[0]) / 1e6).round(), 43.0);
        assert_eq!(side.lost.map(|lost| (lost * 1000.0).round()), Some(398.0));
        assert_eq!((found[0].truncated, found[0].notes.len(), side.series.len()), (true, 0, 3));
        let gap = body.replace("   2.00-3.00", "   7.00-8.00");
        assert_eq!(of(&gap), [], "what lies between is not known");
    }

    #[test]
    fn json_of_udp_has_one_sum() {
        let body = "{\"start\":{\"version\":\"iperf 3.1.3\",\"test_start\":{\"protocol\":\"UDP\",\"num_streams\":1}},\n\
            \"intervals\":[],\"end\":{\"sum\":{\"seconds\":0.785134,\"bytes\":81920000,\"bits_per_second\":834711189.0,\"lost_packets\":69,\"packets\":9996}}}\n";
        let found = read_json(&Page { name: "x", body });
        assert!((rate(&found[0]) - 104_338_898.6).abs() < 1.0);
        assert_eq!((found[0].version.as_deref(), found[0].notes.len()), (Some("3.1.3"), 1));
    }
}
