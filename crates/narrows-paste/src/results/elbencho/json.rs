//! `--jsonfile`: an object for each operation, one below the other; every number is a string (`source/Statistics.cpp`,
//! `printPhaseResultsAsJSON`). Rates are bytes per second here.

use serde_json::Value;

use super::super::json::{Document, count, documents, number, text};
use super::super::number::to_bytes;
use super::super::{Imported, Latency, Measured, Op, Page, Side, Tool};
use super::{Settings, command_of, op_of};
use narrows_base::units::{BytesPerSec, Iops, Nanos};

/// The operations in a text; those of one command are one result.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["\"phase_type\""]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    for document in documents(page, "\"phase_type\"") {
        let Some(measured) = measured(&document) else { continue };
        let config = document.value.get("config").unwrap_or(&Value::Null);
        let command = text(config, "command").map(command_of);
        if found.last().is_none_or(|last| last.command != command) {
            let mut imported = Imported::new(Tool::Elbencho, page.name, document.line);
            imported.version = text(config, "version").map(str::to_owned);
            imported.command = command;
            found.push(imported);
        }
        if let Some(last) = found.last_mut() {
            last.truncated |= document.truncated;
            last.measurements.push(measured);
        }
    }
    found
}

fn measured(document: &Document) -> Option<Measured> {
    let value = &document.value;
    let phase = text(value, "phase_type")?;
    let op = op_of(phase)?;
    let none = Value::Null;
    let config = value.get("config").unwrap_or(&none);
    let last = value.get("last_done")?;
    let is_set = |key: &str| match config.get(key)? {
        Value::Bool(set) => Some(*set),
        Value::String(text) => Some(matches!(text.as_str(), "1" | "true")),
        Value::Number(number) => Some(number.as_u64() == Some(1)),
        _ => None,
    };
    let settings = Settings {
        path_type: text(config, "path_type"),
        paths: count(config, "paths"),
        hosts: count(config, "hosts"),
        threads: count(config, "threads"),
        directories: count(config, "dirs"),
        files: count(config, "files"),
        file_size: count(config, "file_size"),
        block_size: count(config, "block_size"),
        direct: is_set("direct_io"),
        random: is_set("random_offsets"),
        depth: count(config, "io_depth"),
    };
    let mut measured = Measured::new(document.line, settings.work(phase));
    measured.nodes = settings.hosts();
    measured.entries = number(last, "entries/s").filter(|rate| *rate > 0.0).map(Iops::new);
    let elapsed = count(last, "elapsed_time_ms").filter(|ms| *ms < 1 << 40).map(Nanos::from_millis);
    let latency = last.get("latency").unwrap_or(&none);
    measured.put(op, side(last, latency.get("IO"), elapsed)?);
    let mixed = last
        .get("rwmix_read")
        .and_then(|read| side(read, latency.get("IO").and_then(|io| io.get("rwmix_read")), elapsed));
    if let Some(mixed) = mixed {
        measured.put(Op::Read, mixed);
    }
    Some(measured)
}

fn side(value: &Value, latency: Option<&Value>, elapsed_ns: Option<Nanos>) -> Option<Side> {
    let rate = number(value, "bytes/s").filter(|rate| *rate > 0.0)?;
    let mean = latency.and_then(|latency| number(latency, "avg_us")).filter(|mean| *mean > 0.0);
    Some(Side {
        bytes_per_second: BytesPerSec::new(rate),
        iops: number(value, "iops").map(Iops::new),
        bytes: number(value, "bytes").and_then(to_bytes),
        elapsed_ns,
        latency_ns: mean.map(|mean| Latency {
            max: latency.and_then(|latency| number(latency, "max_us")).map(|most| most * 1e3),
            ..Latency::of_mean(mean * 1e3)
        }),
        ..Side::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"phase_type":"READ","phase_id":"a","config":{"path_type":"blockdev","paths":"1","hosts":"1","threads":"16","file_size":"1073741824","block_size":"4096","direct_io":"true","random_offsets":"true","io_depth":"16","version":"3.1-9","command":"\"elbencho\" \"-r\" "},"first_done":{"elapsed_time_ms":"19990","iops":"30000","bytes/s":"122880000"},"last_done":{"elapsed_time_ms":"20001","iops":"30151","bytes/s":"123498496","bytes":"2470093414","latency":{"IO":{"min_us":"90","avg_us":"530","max_us":"9000"}}}}"#;

    #[test]
    fn operations_stand_one_below_the_other_and_numbers_are_strings() {
        let body = format!("{ONE}\n{}\n", ONE.replace("READ", "WRITE"));
        let found = read(&Page { name: "x", body: &body });
        assert_eq!((found.len(), found[0].measurements.len()), (1, 2));
        let one = &found[0].measurements[0];
        let side = one.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 123_498_496.0);
        assert_eq!(side.latency_ns.as_ref().and_then(|latency| latency.mean), Some(530_000.0));
        assert_eq!((one.work.direct, one.work.jobs, one.work.queue_depth), (Some(true), Some(16), Some(16)));
        assert_eq!(one.work.working_set.map(|set| set.get()), Some(1 << 30));
    }

    #[test]
    fn an_object_that_was_cut_off_is_no_result_without_its_rate() {
        assert!(read(&Page { name: "x", body: &ONE[..300] }).is_empty());
    }
}
