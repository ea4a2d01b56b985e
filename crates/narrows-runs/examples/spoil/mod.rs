//! Reports with names that attack: of the pages that `make pages` looks at, and of tests.

use serde_json::Value;

/// Keys of texts that devices, people and other programs chose.
const FOREIGN: &str = "
    at_most_by target name sentence summary fact value source action subject host file about
    differs cpu board board_vendor product system_vendor kernel model reason workload destination
    path what a b because not_known_because measure_instead detail hint first_error fio formula
    vendor place ended tool_version label trust_reason processor attachment slot limited_by card
    why_not_best statement text link array key";

/// Keys of lists of such names.
const NAMES: &str = "hosts drives notes slots_free devices sources";

/// The report with names that would be markup, commands or endless anywhere else. What it does not follow its schema with any more
/// stays as it was.
pub(crate) fn spoiled(text: &str) -> String {
    let mut out = String::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let mut value = value.expect("JSON");
        let mut turn = 0;
        let is_lines = text.starts_with("{\"record\"");
        spoil(&mut value, &mut turn, is_lines);
        out.push_str(&value.to_string());
        out.push('\n');
    }
    out
}

fn is_one_of(words: &str, key: &str) -> bool {
    words.split_whitespace().any(|word| word == key)
}

fn spoil(value: &mut Value, turn: &mut usize, is_lines: bool) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, turn, is_lines)),
        Value::Object(all) => {
            for (key, one) in all {
                match one {
                    // A host is known by its name in the lines of a fleet.
                    Value::String(_) if is_lines && key == "host" => {}
                    Value::String(text) if is_one_of(FOREIGN, key) => *text = hostile(turn),
                    Value::Array(names) if is_one_of(NAMES, key) && names.iter().all(Value::is_string) => {
                        names.iter_mut().for_each(|name| *name = Value::String(hostile(turn)));
                    }
                    _ => spoil(one, turn, is_lines),
                }
            }
        }
        _ => {}
    }
}

fn hostile(turn: &mut usize) -> String {
    *turn += 1;
    match *turn % 40 {
        7 => "W".repeat(10_000),
        23 => "long words ".repeat(900),
        it => [
            "</style><script>alert(1)</script>",
            "\u{202e}gnp.exe\u{2066}",
            "\" onload=\"alert(1)",
            "<img src=x onerror=alert(1)>",
        ][it % 4]
            .to_owned(),
    }
}
