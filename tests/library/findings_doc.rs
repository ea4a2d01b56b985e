//! `docs/findings.md` explains every finding code, and only those.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads the repository")]

use std::collections::BTreeMap;

use narrows::verdict::Code;
use serde_json::Value;

/// Every code, from the schema of the type.
fn codes() -> Vec<String> {
    crate::schema_names::of::<Code>()
}

/// What disproves a finding of each code.
pub(crate) fn not_so_when() -> Vec<&'static str> {
    let of = |code| serde_json::from_value::<Code>(Value::String(code)).expect("a code").not_so_when();
    codes().into_iter().map(of).collect()
}

/// The text of each section by its title.
fn sections() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/findings.md"))
        .expect("docs/findings.md is readable");
    let sections = text.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    sections.map(|(title, text)| (title.trim().to_owned(), text.trim().to_owned())).collect()
}

#[test]
fn every_code_has_a_section_and_every_section_a_code() {
    let codes = codes();
    assert!(codes.contains(&"link_width_degraded".to_owned()), "{codes:?}");
    assert_eq!(sections().into_keys().collect::<Vec<_>>(), codes);
}

#[test]
fn what_disproves_a_finding_is_told_in_the_words_of_its_section() {
    assert_eq!(Code::NumaUnbalanced.not_so_when(), "the work is kept on that node on purpose");
    assert!(not_so_when().iter().all(|words| !words.is_empty()), "{:?}", not_so_when());
}

#[test]
fn every_section_says_how_it_is_found_what_disproves_it_and_what_to_do() {
    for (code, text) in sections() {
        for label in ["*Found:*", "*Not so when:*", "*Do:*"] {
            assert_eq!(
                text.split_whitespace().collect::<Vec<_>>().join(" ").matches(label).count(),
                1,
                "{code} {label}"
            );
        }
        let severity = ["Fault", "Limit", "Info"].iter().any(|word| text.starts_with(word));
        assert!(severity && !text.contains("\n\n"), "{code}: one paragraph that begins with its severity");
    }
}
