//! `-O summaryFormat=JSON`: options, parameters and results of each test (`src/ior-output.c`).
//!
//! Where the file was asked for, nothing else is in it; on the standard output, warnings stand between. Infinite rates
//! are written as strings.

use serde_json::Value;

use super::super::json::{Document, count, documents, number, text};
use super::super::number::{Base, size, to_bytes};
use super::super::{Durability, Imported, Measured, Op, Page, Tool, Work};
use super::command::{tasks_of, work};
use super::{Row, op_of};
use narrows_base::units::Bytes;
use narrows_base::workload::Pattern;

/// The documents in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["\"bwMiB\""]) {
        return Vec::new();
    }
    documents(page, "\"bwMiB\"").iter().filter_map(|document| run(page, document)).collect()
}

fn run(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = &document.value;
    let mut imported = Imported::new(Tool::Ior, page.name, document.line);
    imported.version = text(value, "Version").map(str::to_owned);
    imported.command = text(value, "Command line").map(str::to_owned);
    imported.truncated = document.truncated;
    for test in value.get("tests")?.as_array()? {
        for row in rows(test) {
            imported.measurements.extend(measured(document.line, test, row, imported.command.as_deref()));
        }
    }
    (!imported.is_empty()).then_some(imported)
}

/// The accesses of a test: a list for each repetition, or, in some releases, one list of all.
fn rows(test: &Value) -> impl Iterator<Item = &Value> {
    let results = test.get("Results").and_then(Value::as_array);
    results.into_iter().flatten().flat_map(|one| match one {
        Value::Array(accesses) => accesses.iter().collect::<Vec<_>>(),
        other => vec![other],
    })
}

fn measured(line: usize, test: &Value, row: &Value, command: Option<&str>) -> Option<Measured> {
    let op = op_of(text(row, "access")?)?;
    let value = Row {
        mib: number(row, "bwMiB").filter(|rate| rate.is_finite())?,
        iops: number(row, "iops"),
        latency: number(row, "latency"),
        transfer: number(row, "xferKiB").and_then(|kib| to_bytes(kib * 1024.0)),
        total: number(row, "totalTime").filter(|total| *total > 0.0),
    };
    let none = Value::Null;
    let options = test.get("Options").unwrap_or(&none);
    let asked = text(options, "aggregate filesize").and_then(|size_of| size(size_of, Base::Binary));
    let stonewalled = count(options, "stonewallingTime").is_some_and(|seconds| seconds > 0);
    // A deadline ends the run before all is moved that was asked for.
    let moved = if stonewalled { value.moved() } else { asked.or_else(|| value.moved()) };
    let mut measured = Measured::new(line, settings(op, test, options, command, &value, moved));
    measured.nodes = small(options, "nodes");
    measured.put(op, value.side(moved));
    Some(measured)
}

fn settings(
    op: Op,
    test: &Value,
    options: &Value,
    command: Option<&str>,
    row: &Row,
    moved: Option<Bytes>,
) -> Work {
    let none = Value::Null;
    let parameters = test.get("Parameters").unwrap_or(&none);
    let order = text(options, "ordering in a file");
    let flag = |name: &str| count(parameters, name).map(|value| value > 0);
    let durability = match (flag("fsyncperwrite"), flag("fsync")) {
        (Some(true), _) => Some(Durability::Each),
        (_, Some(true)) => Some(Durability::AtEnd),
        (_, Some(false)) => Some(Durability::None),
        _ => None,
    };
    let typed = work(command);
    Work {
        label: op.word().to_owned(),
        pattern: order
            .map(|order| if order == "random" { Pattern::Random } else { Pattern::Sequential })
            .or(typed.pattern),
        block_size: row.transfer,
        jobs: small(options, "tasks").or_else(|| command.and_then(tasks_of)),
        engine: text(options, "api").map(str::to_owned).or_else(|| typed.engine.clone()),
        durability: (op == Op::Write).then(|| durability.or(typed.durability)).flatten(),
        working_set: moved,
        target: text(options, "test filename").map(str::to_owned),
        ..typed
    }
}

fn small(value: &Value, key: &str) -> Option<u32> {
    count(value, key).and_then(|count| u32::try_from(count).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{
"Version": "4.1.0+dev", "Began": "x", "Command line": "ior -w -r -C -e -F -t 1m -b 64g -O summaryFormat=JSON",
"tests": [ {
  "TestID": 0,
  "Parameters": { "fsync": 1, "fsyncperwrite": 0, "deadlineForStonewall": 0 },
  "Options": { "api": "POSIX", "test filename": "/scratch/f", "ordering in a file": "sequential", "nodes": 4, "tasks": 64,
    "repetitions": 1, "xfersize": "1 MiB", "blocksize": "64 GiB", "aggregate filesize": "4 TiB" },
  "Results": [ [ {"access": "write", "bwMiB": 11915.2100, "blockKiB": 67108864.0, "xferKiB": 1024.0, "iops": 11990.5,
     "latency": 0.0053, "openTime": 0.01, "wrRdTime": 349.8, "closeTime": 0.2, "totalTime": 352.0150},
    {"access": "read", "bwMiB": 9000.5, "blockKiB": 67108864.0, "xferKiB": 1024.0, "iops": 9001.0,
     "latency": 0.0071, "openTime": 0.01, "wrRdTime": 465.9, "closeTime": 0.2, "totalTime": 466.0}
  ] ]
} ],
"summary": [ ], "Finished": "x"
}
"#;

    #[test]
    fn accesses_have_the_options_of_their_test() {
        let found = read(&Page { name: "x", body: BODY });
        assert_eq!((found.len(), found[0].version.as_deref()), (1, Some("4.1.0+dev")));
        let [write, back] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = write.write.as_ref().expect("writes");
        assert_eq!(side.bytes_per_second.get(), 11_915.21 * 1_048_576.0);
        assert_eq!((write.nodes, write.work.jobs), (Some(4), Some(64)));
        assert_eq!(write.work.durability, Some(Durability::AtEnd));
        assert_eq!(write.work.working_set, Some(Bytes::new(4 << 40)));
        assert_eq!(back.work.durability, None);
        assert_eq!(side.latency_ns.as_ref().and_then(|latency| latency.mean), Some(5.3e6));
    }

    #[test]
    fn what_was_whole_before_the_text_ends_is_kept() {
        let at = BODY.find("\"access\": \"read\"").expect("it is there");
        let found = read(&Page { name: "x", body: &BODY[..at] });
        assert_eq!((found.len(), found[0].measurements.len(), found[0].truncated), (1, 1, true));
    }

    #[test]
    fn a_rate_of_infinity_is_none() {
        let body = BODY.replace("11915.2100", "\"inf\"");
        assert_eq!(read(&Page { name: "x", body: &body })[0].measurements.len(), 1);
    }
}
