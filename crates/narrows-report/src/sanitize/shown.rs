//! JSON that is shown: every string in it is inert also when it is decoded, whoever put it there.

use serde::Serialize;
use serde_json::Deserializer;

use super::inert;

/// A report as JSON for people and programs, indented, without an end of line. Each of its strings is [inert] when it is
/// decoded, names of fields included.
///
/// Not for what is kept to go on with (`--save`): that has to hold names as they are.
///
/// # Errors
/// It has no form in JSON.
pub fn shown_json(report: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(report)?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Outside of strings JSON has no quotes.
    while let Some((layout, string)) = rest.find('"').and_then(|at| rest.split_at_checked(at)) {
        let mut values = Deserializer::from_str(string).into_iter::<String>();
        let value = values.next().transpose()?.unwrap_or_default();
        out.push_str(layout);
        out.push_str(&serde_json::to_string(&inert(&value))?);
        rest = string.get(values.byte_offset()..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::sanitize::is_obeyed;
    use proptest::prelude::*;

    #[test]
    fn a_string_is_inert_when_it_is_decoded() {
        let name = "SSD\x1b[2J \"a\\b\"\n\u{202e}\u{9b}31m\u{7f}\u{e0041}ö/";
        let text = shown_json(&[name]).expect("is JSON");
        let decoded: Vec<String> = serde_json::from_str(&text).expect("is JSON");
        assert_eq!(decoded, [inert(name)]);
        assert_eq!(decoded[0], "SSD\\x1b[2J \"a\\b\"\\n\\u{202e}\\x9b31m\\x7f\\u{e0041}ö/");
    }

    #[test]
    fn an_endless_string_is_cut_off_and_the_next_is_whole() {
        for long in ["x".repeat(100_000), "ö".repeat(100_000), "\x1b".repeat(100_000), "x\"".repeat(50_000)]
        {
            let text = shown_json(&[long.as_str(), "whole"]).expect("is JSON");
            let decoded: Vec<String> = serde_json::from_str(&text).expect("is JSON");
            assert_eq!(decoded, [inert(&long), "whole".to_owned()]);
        }
    }

    #[test]
    fn it_is_laid_out_as_before() {
        let value =
            serde_json::json!({"a": [1, 2.5, null, true], "b": {}, "c": [], "d": {"e": "f", "g": [[]]}});
        assert_eq!(
            shown_json(&value).expect("is JSON"),
            serde_json::to_string_pretty(&value).expect("is JSON")
        );
    }

    proptest! {
        #[test]
        fn strings_and_names_are_those_that_inert_makes(map: BTreeMap<String, String>) {
            let text = shown_json(&map).expect("is JSON");
            prop_assert!(text.chars().all(|c| c == '\n' || !is_obeyed(c)), "{}", text);
            let decoded: BTreeMap<String, String> = serde_json::from_str(&text).expect("is JSON");
            let expected: BTreeMap<String, String> =
                map.iter().map(|(name, text)| (inert(name), inert(text))).collect();
            prop_assert_eq!(decoded, expected);
        }
    }
}
