//! `winsat disk` of Windows: phases of seconds. The names of rates are English in every language, those of latencies are not.
//!
//! Whether MB is 1e6 or 1048576 bytes is not documented: it is read as 1e6, and said so.

use super::number::{leading, span, whole};
use super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};
use narrows_base::units::{Bytes, BytesPerSec};
use narrows_base::workload::Pattern;

/// The assessments in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["> Disk "]) && !page.has(&["Disk  Sequential", "Disk  Random"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut phases: Vec<(String, f64)> = Vec::new();
    let mut phase: Option<String> = None;
    let mut seen: Vec<String> = Vec::new();
    for (number, line) in page.lines() {
        let line = line.trim().trim_start_matches('>').trim();
        if let Some((_, options)) = line.split_once("'-") {
            phase = Some(options.trim_end_matches('\'').to_owned());
        } else if let Some((phase, seconds)) = phase.take().zip(clock(line)) {
            phases.push((phase, seconds));
        } else if let Some(measured) = rate(number, line, &phases) {
            let begins = found.is_empty() || seen.contains(&measured.work.label);
            if begins {
                seen.clear();
                let mut result = Imported::new(Tool::Winsat, page.name, number);
                result.notes.push(
                    "winsat does not say whether MB is 1e6 bytes; its rates are read as such".to_owned(),
                );
                found.push(result);
            }
            seen.push(measured.work.label.clone());
            if let Some(result) = found.last_mut() {
                result.measurements.push(measured);
            }
        } else if let (Some(measured), Some(result)) = (latency(number, line), found.last_mut()) {
            result.measurements.push(measured);
        }
    }
    found
}

/// `Run Time 00:00:05.48`, whatever the words before it are.
fn clock(line: &str) -> Option<f64> {
    let word = line.split_whitespace().next_back().filter(|word| word.matches(':').count() == 2)?;
    word.split(':').try_fold(0.0, |total, part| Some(total * 60.0 + leading(part)?.0))
}

/// `Disk  Sequential 64.0 Read   111.23 MB/s   6.7`.
fn rate(number: usize, line: &str, phases: &[(String, f64)]) -> Option<Measured> {
    let words: Vec<&str> = line.strip_prefix("Disk")?.split_whitespace().collect();
    let [order, kib, op, value, "MB/s", ..] = words.as_slice() else { return None };
    let (pattern, short) = match *order {
        "Sequential" => (Pattern::Sequential, "-seq"),
        "Random" => (Pattern::Random, "-ran"),
        _ => return None,
    };
    let op = match *op {
        "Read" => Op::Read,
        "Write" => Op::Write,
        _ => return None,
    };
    let is_own = |phase: &str| {
        let options: Vec<&str> = phase.split_whitespace().collect();
        let word = if op == Op::Read { "-read" } else { "-write" };
        options.contains(&short) && options.contains(&word) && !phase.contains("hybrid")
    };
    let time = phases.iter().find(|(phase, _)| is_own(phase)).map(|(_, seconds)| *seconds);
    let work = Work {
        label: words.get(..3)?.join(" "),
        pattern: Some(pattern),
        block_size: whole(kib).map(|(kib, _)| Bytes::new(kib.min(1 << 20) * 1024)),
        ..Work::default()
    };
    let side = Side {
        bytes_per_second: BytesPerSec::new(leading(value)?.0 * 1e6),
        elapsed_ns: time.and_then(super::number::seconds),
        ..Side::default()
    };
    let mut measured = Measured::new(number, work);
    measured.put(op, side);
    Some(measured)
}

/// `Average Read Time with Sequential Writes   6.720 ms   5.4`.
fn latency(number: usize, line: &str) -> Option<Measured> {
    let rest = line.strip_prefix("Average Read Time with ")?;
    let (order, rest) = rest.split_once(" Writes")?;
    let label = format!("reads while writing, {}", order.to_lowercase());
    let mut measured = Measured::new(number, Work { label, ..Work::default() });
    measured.latency_ns = Some(Latency::of_mean(span(rest)?.0));
    Some(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Nanos;

    #[test]
    fn rates_have_the_time_of_their_phase() {
        let body = "> Running: Storage Assessment '-drive c -seq -read'\n> Run Time 00:00:05.48\n> Disk  Sequential 64.0 Read                   111.23 MB/s          6.7\n\
            > Disk  Random 16.0 Read                       2.43 MB/s          4.4\n> Average Read Time with Random Writes         15.075 ms          3.4\n";
        let found = read(&Page { name: "x", body });
        let [sequential, random, wait] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = sequential.read.as_ref().expect("reads");
        assert_eq!(
            (side.bytes_per_second.get(), side.elapsed_ns),
            (111_230_000.0, Some(Nanos::from_millis(5480)))
        );
        assert_eq!(random.work.block_size, Some(Bytes::new(16_384)));
        assert_eq!(wait.latency_ns.as_ref().and_then(|latency| latency.mean), Some(15_075_000.0));
    }
}
