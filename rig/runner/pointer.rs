//! Finds values in JSON by a pointer like that of RFC 6901, with two additions: `*` stands for every element or member,
//! and `key=value` for the elements of an array whose member `key` is that text.
//!
//! `/paths/0/hops/kind=link/ceiling/read/bytes_per_second` finds the read ceilings of all links of the first path.

use serde_json::Value;

/// The values that `pointer` finds, in document order; the empty pointer finds the whole document.
pub(crate) fn find<'a>(document: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let mut found = vec![document];
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        found = found.into_iter().flat_map(|value| step(value, &segment)).collect();
    }
    found
}

fn step<'a>(value: &'a Value, segment: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(members) if segment == "*" => members.values().collect(),
        Value::Object(members) => members.get(segment).into_iter().collect(),
        Value::Array(elements) if segment == "*" => elements.iter().collect(),
        Value::Array(elements) => match segment.split_once('=') {
            Some((key, wanted)) => elements
                .iter()
                .filter(|element| element.get(key).and_then(Value::as_str) == Some(wanted))
                .collect(),
            None => segment.parse::<usize>().ok().and_then(|index| elements.get(index)).into_iter().collect(),
        },
        _ => Vec::new(),
    }
}
