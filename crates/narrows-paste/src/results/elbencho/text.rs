//! elbencho's table: each operation with a column for when the first thread was done and one for the last.
//!
//! The rate of the last column is of everything; that of the first is of the time in which all threads were busy. The
//! first is what the storage can do, the last the time until the work is done. Its MiB are binary.

use narrows_base::units::{BytesPerSec, Iops, Nanos};

use super::super::command::Commands;
use super::super::number::plain;
use super::super::{Imported, Latency, Measured, Op, Page, Side, Tool, Work};

/// The tables in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["LAST DONE"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut op: Option<Op> = None;
    // A block may be set off: what begins a row stands as far to the right as the heading does.
    let mut margin = 0;
    for (number, line) in page.lines() {
        commands.see(number, line, "elbencho");
        if line.contains("FIRST DONE") {
            let mut imported = Imported::new(Tool::Elbencho, page.name, number);
            imported.command = commands.last().map(str::to_owned);
            found.push(imported);
            margin = indent(line);
            op = None;
            continue;
        }
        let Some(result) = found.last_mut() else { continue };
        if line.trim_start().starts_with("---") {
            op = None;
            continue;
        }
        let Some((name, values)) = line.split_once(" : ") else { continue };
        let mut words = name.split_whitespace();
        let goes_on = indent(line) > margin;
        if !goes_on {
            let phase = words.next().unwrap_or_default();
            op = match phase {
                "READ" | "RWMIX%READ" => Some(Op::Read),
                "WRITE" => Some(Op::Write),
                _ => None,
            };
            if let Some(op) = op {
                let work = Work { label: phase.to_owned(), ..Work::default() };
                let mut measured = Measured::new(number, work);
                measured.put(op, Side::default());
                result.measurements.push(measured);
            }
        }
        let Some(op) = op else { continue };
        let property: Vec<&str> = words.collect();
        let property = property.join(" ");
        let property = if goes_on { name.trim() } else { property.as_str() };
        if is_cut(property, values) {
            result.unread.push(number);
        } else if let Some(measured) = result.measurements.last_mut() {
            fill(measured, op, property, values);
        }
    }
    found.retain_mut(|result| {
        result.measurements.retain(|one| one.sides().any(|(_, side)| side.bytes_per_second.get() > 0.0));
        !result.is_empty()
    });
    found
}

/// Blanks at the beginning of a line, in bytes.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a row that has a number in each column has but one of them: which of both columns that is cannot be told.
fn is_cut(property: &str, values: &str) -> bool {
    let has_columns = ["Elapsed ms", "Throughput MiB/s", "IOPS", "Total MiB"].contains(&property);
    has_columns && values.split_whitespace().filter_map(plain).count() < 2
}

fn fill(measured: &mut Measured, op: Op, property: &str, values: &str) {
    let numbers: Vec<f64> = values.split_whitespace().filter_map(plain).collect();
    let Some(last) = numbers.last().copied() else { return };
    let side = match op {
        Op::Read => measured.read.as_mut(),
        Op::Write => measured.write.as_mut(),
    };
    let Some(side) = side else { return };
    match property {
        "Elapsed ms" | "Elapsed time" if last < 1e12 => {
            side.elapsed_ns = Some(Nanos::from_millis(last as u64))
        }
        "Throughput MiB/s" => side.bytes_per_second = BytesPerSec::new(last * f64::from(1 << 20)),
        "IOPS" => side.iops = Some(Iops::new(last)),
        "Total MiB" => side.bytes = super::super::number::to_bytes(last * f64::from(1 << 20)),
        property if property.starts_with("IO lat us") || property.starts_with("IO latency") => {
            let mean = values.split_whitespace().find_map(|word| plain(word.strip_prefix("avg=")?));
            side.latency_ns = mean.map(|micros| Latency::of_mean(micros * 1e3));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_that_move_data_are_measurements() {
        let body = "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ================   ==========  =========\n\
MKDIRS    Elapsed ms       :          0          2\n          Dirs/s           :      21201      18716\n---\n\
WRITE     Elapsed ms       :      18618      19506\n          Files/s          :      53679      53757\n          \
Throughput MiB/s :         52         53\n          Total MiB        :        976       1024\n---\n";
        let found = read(&Page { name: "x", body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 1));
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!(write.bytes_per_second.get(), 53.0 * 1_048_576.0);
        assert_eq!(write.elapsed_ns, Some(Nanos::from_millis(19_506)));
    }

    #[test]
    fn a_row_that_lost_a_column_gives_no_number_and_is_said() {
        let body = "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n========= ================   ==========  =========\n\
WRITE     Elapsed ms       :      18618      19506\n          IOPS             :       53679\n          \
Throughput MiB/s :         52         53\n---\n";
        let found = read(&Page { name: "x", body });
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!((write.iops, found[0].unread.clone()), (None, vec![4]));
    }

    #[test]
    fn a_table_that_was_set_off_is_read_as_one_at_the_margin() {
        let body = "  OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n  WRITE       Elapsed time     :     30.140s     30.196s\n\
                           IOPS             :         291         291\n\
                           Throughput MiB/s :          36          36\n";
        let body = body
            .replace("\nIOPS", "\n              IOPS")
            .replace("\nThroughput", "\n              Throughput");
        let found = read(&Page { name: "x", body: &body });
        let write = found[0].measurements[0].write.as_ref().expect("writes");
        assert_eq!((found[0].measurements.len(), write.bytes_per_second.get()), (1, 36.0 * 1_048_576.0));
    }
}
