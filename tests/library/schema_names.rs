//! The names of an enumeration, as its schema has them: so a list in a document is held against the type itself.

use schemars::JsonSchema;
use serde_json::Value;

/// Every name of `T`, in alphabetical order.
pub(crate) fn of<T: JsonSchema>() -> Vec<String> {
    let mut names = Vec::new();
    collect(schemars::schema_for!(T).as_value(), &mut names);
    names.sort();
    names
}

fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            into.extend(fields.get("const").and_then(Value::as_str).map(str::to_owned));
            let listed = fields.get("enum").and_then(Value::as_array);
            into.extend(listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        _ => {}
    }
}
