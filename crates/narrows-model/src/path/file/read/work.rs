//! Workloads and published results.

use super::Quantity;
use super::document::{DocumentTable, Value};
use super::keys::{Keys, ReadSoFar};
use super::parts::TARGETS;
use crate::path::HopKind;
use crate::path::file::read;
use crate::path::file::{Engine, Name, Pattern, Published, PublishedValue, Workload};
use narrows_base::fact::Source;
use narrows_base::units::Bytes;

/// The most I/Os under way and the most jobs.
const MOST: u32 = 1 << 20;

/// The words for an engine.
const ENGINE_WORDS: &[&str] = &["io_uring", "polled", "libaio", "sync", "buffered", "hdparm"];

pub(super) fn workload(table: &DocumentTable, found: &mut ReadSoFar) -> Option<Workload> {
    let mut keys = Keys::new(table, found);
    let target = keys.name("target", TARGETS);
    if target.is_none() && keys.raw("target").is_none() {
        keys.missing("target", "\"md0\"");
    }
    let block_size = keys.size("block_size");
    if block_size.is_none() && keys.raw("block_size").is_none() {
        keys.missing("block_size", "\"1 MiB\"");
    }
    if block_size.is_some_and(|size| size.get() == 0) {
        keys.wrong("block_size", "an I/O has at least one byte", "512 B is the smallest that drives know");
    }
    let pattern = match keys.word("pattern", &["sequential", "random"]) {
        Some("random") => Pattern::Random,
        _ => Pattern::Sequential,
    };
    let engine = keys.word("engine", ENGINE_WORDS);
    let engine = engine.and_then(Engine::from_word);
    let workload = Workload {
        name: Name::new(table.name.as_str()),
        target: target.unwrap_or_else(|| Name::new("")),
        pattern,
        block_size: block_size.unwrap_or(Bytes::new(4096)),
        depth: keys.count("depth", 1, MOST).unwrap_or(1),
        jobs: keys.count("jobs", 1, MOST).unwrap_or(1),
        read_share: keys.share("read_share").unwrap_or(1.0),
        size: keys.size("size"),
        engine: engine.unwrap_or_default(),
        flush: keys.flag("flush"),
        with: keys.names("with", &["workload"]),
        given: Source::new(table.at.cited()),
    };
    keys.finish();
    (!workload.target.as_str().is_empty()).then_some(workload)
}

pub(super) fn published(table: &DocumentTable, found: &mut ReadSoFar) -> Option<Published> {
    let mut keys = Keys::new(table, found);
    let what = keys.text("what").unwrap_or_default();
    let workload = keys.name("workload", &["workload"]);
    if workload.is_none() && keys.raw("workload").is_none() {
        keys.missing("workload", "\"NAME\"");
    }
    let value = value(&mut keys);
    let set = changes(&mut keys);
    let (source, why) = (keys.text("source").unwrap_or_default(), keys.text("why"));
    let limited_by = blamed(&mut keys);
    keys.finish();
    let given = Source::new(table.at.cited());
    Some(Published { what, workload: workload?, set, value: value?, source, why, limited_by, given })
}

fn blamed(keys: &mut Keys<'_>) -> Vec<HopKind> {
    let mut kinds = Vec::new();
    for (word, _) in keys.texts("limited_by") {
        match HopKind::from_word(&word) {
            Some(kind) => kinds.push(kind),
            None => keys.wrong(
                "limited_by",
                format!("`{word}` is no kind of hop"),
                "name kinds as `narrows check --json` does: limited_by = [\"link\", \"device\"]",
            ),
        }
    }
    kinds
}

fn value(keys: &mut Keys<'_>) -> Option<PublishedValue> {
    let example = "\"373.6 MiB/s\", \"978k IOPS\" or \"81 us\"";
    let text = match keys.text("value") {
        Some(text) => text,
        None => {
            if keys.raw("value").is_none() {
                keys.missing("value", example);
            }
            return None;
        }
    };
    let value = match read::parse_quantity(&text) {
        Ok(Quantity::Rate(rate)) => Ok(PublishedValue::Rate(rate)),
        Ok(Quantity::BitRate(rate)) => Ok(PublishedValue::Rate(rate.bytes_per_sec())),
        Ok(Quantity::Iops(iops)) => Ok(PublishedValue::Iops(iops)),
        Ok(Quantity::Time(time)) => Ok(PublishedValue::Latency(time)),
        Ok(Quantity::Size(_)) => Err(format!("`{text}` is a size, not a result")),
        Err(why) => Err(why),
    };
    value.map_err(|why| keys.wrong("value", why, format!("write it with its unit: value = {example}"))).ok()
}

/// `set = { "slot3.width" = 4 }`, or `set = ["slot3.width=4"]`.
fn changes(keys: &mut Keys<'_>) -> Vec<(String, String)> {
    let Some(key) = keys.raw("set") else { return Vec::new() };
    let hint = "write set = { \"slot3.width\" = 4 }";
    let mut changes = Vec::new();
    match &key.value {
        Value::Table(entries) => {
            for entry in entries {
                match (&entry.value, entry.name.contains('.')) {
                    (Value::Text(text), true) => changes.push((entry.name.clone(), text.clone())),
                    (Value::Integer(number), true) => changes.push((entry.name.clone(), number.to_string())),
                    (Value::Float(number), true) => changes.push((entry.name.clone(), number.to_string())),
                    (Value::Flag(flag), true) => changes.push((entry.name.clone(), flag.to_string())),
                    (Value::Table(inner), false) => changes.extend(inner.iter().filter_map(|inner| {
                        let value = match &inner.value {
                            Value::Text(text) => text.clone(),
                            Value::Integer(number) => number.to_string(),
                            Value::Float(number) => number.to_string(),
                            Value::Flag(flag) => flag.to_string(),
                            _ => return None,
                        };
                        Some((format!("{}.{}", entry.name, inner.name), value))
                    })),
                    _ => keys.wrong("set", format!("`{}` is no change of a value", entry.name), hint),
                }
            }
        }
        Value::List(items) => {
            for (item, _) in items {
                let change = match item {
                    Value::Text(text) => text.split_once('=').filter(|(left, _)| left.contains('.')),
                    _ => None,
                };
                match change {
                    Some((left, value)) => changes.push((left.trim().to_owned(), value.trim().to_owned())),
                    None => keys.wrong("set", "this is no change of a value", hint),
                }
            }
        }
        other => keys.wrong("set", format!("`set` is {}", other.is_a()), hint),
    }
    changes
}
