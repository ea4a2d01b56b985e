//! From a [`System`] to the text of a file that reads back as the same.

use std::fmt::Write;

use toml::{Table, Value};

use super::read::{Says, Unit, keys_of};
use super::{Published, PublishedValue, System, Workload};

impl System {
    /// The text of a `*.path.toml` that says the same. Notes go before everything as comments.
    pub fn to_toml(&self, notes: &[String]) -> String {
        let mut out = String::new();
        for line in notes.iter().flat_map(|note| note.lines()) {
            let _ = writeln!(out, "# {line}");
        }
        let texts = [("format", "narrows/path/1"), ("name", &self.name), ("source", &self.source)];
        put(&mut out, "", &texts.into_iter().map(|(key, text)| (key.to_owned(), text.into())).collect());
        for part in &self.parts {
            let kind = part.kind.table();
            let _ = writeln!(out, "\n[{kind}.{}]", part.name);
            if let Some(Value::Table(values)) = values(&part.kind).remove(kind) {
                put(&mut out, kind, &values);
            }
        }
        for workload in &self.workloads {
            let _ = writeln!(out, "\n[workload.{}]", workload.name);
            put(&mut out, "workload", &of_workload(workload));
        }
        for published in &self.published {
            out.push_str("\n[[published]]\n");
            put(&mut out, "published", &of_published(published));
        }
        out
    }
}

/// The values of a part. All that a part has is a table of TOML.
fn values(part: &impl serde::Serialize) -> Table {
    Table::try_from(part).unwrap_or_default()
}

fn of_workload(it: &Workload) -> Table {
    let mut values = values(it);
    let depth = values.remove("queue_depth");
    values.extend(depth.map(|depth| ("depth".to_owned(), depth)));
    values.extend(it.size.and_then(|size| Some(("size".to_owned(), i64::try_from(size.get()).ok()?.into()))));
    values.extend(it.flush.map(|flush| ("flush".to_owned(), flush.into())));
    values.insert("with".to_owned(), list(it.with.iter().map(|name| name.as_str())));
    values
}

fn of_published(it: &Published) -> Table {
    let value = match it.value {
        PublishedValue::Rate(it) => rate(it.get()),
        PublishedValue::Iops(it) => iops(it.get()),
        PublishedValue::Latency(it) => time(it.get() as f64),
    };
    let mut values = Table::from_iter([
        ("what".to_owned(), it.what.as_str().into()),
        ("workload".to_owned(), it.workload.as_str().into()),
        ("set".to_owned(), list(it.set.iter().map(|(key, value)| format!("{key}={value}")))),
        ("value".to_owned(), value.into()),
        ("source".to_owned(), it.source.as_str().into()),
        ("limited_by".to_owned(), list(it.limited_by.iter().map(ToString::to_string))),
    ]);
    values.extend(it.why.as_deref().map(|why| ("why".to_owned(), why.into())));
    values
}

fn list<T: Into<Value>>(items: impl Iterator<Item = T>) -> Value {
    Value::Array(items.map(Into::into).collect())
}

/// What a key says anyway when it is left out.
const USUAL: &[(&str, &str)] = &[
    ("source", "\"\""),
    ("pattern", "\"sequential\""),
    ("engine", "\"io_uring\""),
    ("with", "[]"),
    ("set", "[]"),
    ("limited_by", "[]"),
    ("sockets", "1"),
    ("socket", "0"),
    ("options", "[]"),
    ("workqueues", "true"),
    ("writeback", "false"),
    ("networks", "[]"),
    ("converged", "true"),
    ("technology", "\"ethernet\""),
    ("ports", "1"),
];

/// Writes the values of a table, those apart that are usual.
fn put(out: &mut String, kind: &str, values: &Table) {
    for (key, says) in keys_of(kind) {
        let Some(shown) = values.get(key).map(|value| shown(value, says)) else { continue };
        if !USUAL.contains(&(key, shown.as_str())) {
            let _ = writeln!(out, "{key} = {shown}");
        }
    }
}

fn shown(value: &Value, says: Says) -> String {
    match (value, says) {
        (Value::Float(number), Says::In(Unit::Rate)) => quoted(&rate(*number)),
        (Value::Float(number), Says::In(Unit::BitRate)) => quoted(&bit_rate(*number)),
        (Value::Float(number), Says::In(_)) => quoted(&iops(*number)),
        (Value::Float(number), _) => format!("{number:?}"),
        (Value::Integer(number), Says::In(Unit::Time)) => quoted(&time(*number as f64)),
        (Value::Integer(number), Says::In(_)) => quoted(&size(*number)),
        (Value::Integer(number), _) => number.to_string(),
        (Value::Boolean(flag), _) => flag.to_string(),
        (Value::Array(items), _) => {
            let items: Vec<String> = items.iter().map(|item| shown(item, Says::Text)).collect();
            format!("[{}]", items.join(", "))
        }
        (value, _) => quoted(value.as_str().unwrap_or_default()),
    }
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The number with the first of these units that shows it whole, in at most nine digits; or else as it is.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let exact = |factor: f64| {
        let number = value / factor;
        let short = format!("{number:.6}");
        let short = short.trim_end_matches('0').trim_end_matches('.').to_owned();
        let same = short.parse::<f64>().is_ok_and(|back| (back * factor).to_bits() == value.to_bits());
        (same && number >= 1.0).then_some(short)
    };
    let found =
        units.iter().find_map(|(factor, unit)| exact(*factor).map(|number| format!("{number} {unit}")));
    let last = units.last().map_or("", |(_, unit)| unit);
    found.unwrap_or_else(|| format!("{value} {last}"))
}

fn rate(rate: f64) -> String {
    scaled(rate, &[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
}

fn bit_rate(bits: f64) -> String {
    // Without a unit for single bits, what is no whole number of kbit/s is given in bytes.
    match bits % 1e3 == 0.0 {
        true => scaled(bits, &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")]),
        false => format!("{} B/s", bits / 8.0),
    }
}

fn size(size: i64) -> String {
    let units: [(i64, &str); 5] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1_000_000_000, "GB"), (1 << 10, "KiB")];
    let whole = units.into_iter().find(|(factor, _)| size > 0 && size % factor == 0);
    let (factor, unit) = whole.unwrap_or((1, "B"));
    format!("{} {unit}", size / factor)
}

fn time(time: f64) -> String {
    scaled(time, &[(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")])
}

fn iops(iops: f64) -> String {
    scaled(iops, &[(1e6, "MIOPS"), (1e3, "kIOPS"), (1.0, "IOPS")])
}
