//! What reports look like, and that their JSON keeps its contract.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads and updates the schema that is kept in the repository"
)]

use crate::report_samples as samples;
use crate::schema;
use narrows::report::document::{Audience, Style};
use narrows::report::sanitize;
use narrows::report::text::document;
use narrows::report::view::CheckReport;
use narrows::report::why;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

fn render(report: &CheckReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

fn style(width: usize) -> Style {
    Style { colour: false, width, unicode: true, plain: false, verbose: false }
}

fn every_report() -> Vec<(&'static str, CheckReport)> {
    vec![
        ("slow slot", samples::slow_slot_report()),
        ("measured", samples::measured_report()),
        ("mirror", samples::mirror_report()),
        ("overview", samples::overview_report()),
        ("empty", samples::empty_report()),
        ("hostile", samples::hostile_report()),
    ]
}

#[test]
fn a_drive_in_a_slow_slot_at_80_columns() {
    insta::assert_snapshot!(render(&samples::slow_slot_report(), &style(80)));
}

#[test]
fn a_drive_in_a_slow_slot_at_120_columns() {
    insta::assert_snapshot!(render(&samples::slow_slot_report(), &style(120)));
}

#[test]
fn a_measured_drive_at_100_columns() {
    insta::assert_snapshot!(render(&samples::measured_report(), &style(100)));
}

#[test]
fn a_measured_drive_at_80_columns() {
    insta::assert_snapshot!(render(&samples::measured_report(), &style(80)));
}

#[test]
fn a_mirror_at_100_columns() {
    insta::assert_snapshot!(render(&samples::mirror_report(), &style(100)));
}

#[test]
fn all_paths_at_80_columns() {
    insta::assert_snapshot!(render(&samples::overview_report(), &style(80)));
}

#[test]
fn all_paths_at_120_columns() {
    insta::assert_snapshot!(render(&samples::overview_report(), &style(120)));
}

#[test]
fn plain_text_for_a_forum() {
    insta::assert_snapshot!(render(&samples::measured_report(), &Style::PLAIN));
}

#[test]
fn why_a_link_carries_what_it_does() {
    let text = why::explain(&samples::measured_report(), "link", &style(100)).expect("there is a link");
    insta::assert_snapshot!(text);
}

#[test]
fn json_of_a_measured_drive() {
    insta::assert_json_snapshot!(samples::measured_report());
}

#[test]
fn no_line_is_wider_than_asked() {
    for (name, report) in every_report() {
        for width in [60, 80, 100, 120, 140] {
            for line in render(&report, &style(width)).lines() {
                assert!(line.width() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

#[test]
fn plain_text_is_narrow_ascii() {
    for (name, report) in every_report() {
        let text = render(&report, &Style::PLAIN);
        assert!(text.bytes().all(|b| b == b'\n' || (b' '..=b'~').contains(&b)), "{name}: {text}");
        assert!(text.lines().all(|line| line.len() <= 78), "{name}: {text}");
    }
}

#[test]
fn plain_text_names_no_server_address_or_uuid() {
    let report = samples::remote_report();
    let shown = render(&report, &style(100));
    let plain = render(&report, &Style::PLAIN);
    for secret in ["nas.example.org", "10.20.30.40", "0f8fad5b"] {
        assert!(shown.contains(secret), "{secret}: {shown}");
        assert!(!plain.contains(secret), "{secret}: {plain}");
    }
    assert!(plain.contains("server-1") && plain.contains("192.0.2.1"), "{plain}");
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    for (name, report) in every_report() {
        let plain = render(&report, &style(100));
        let coloured = render(&report, &Style { colour: true, ..style(100) });
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain, "{name}");
        assert!(!plain.contains('\x1b'), "{name}");
    }
}

#[test]
fn what_devices_call_themselves_is_never_obeyed() {
    let report = samples::hostile_report();
    for text in [render(&report, &style(100)), sanitize::shown_json(&report).expect("serialises")] {
        assert!(!text.contains(['\x1b', '\x07', '\r', '\u{202e}']), "{text}");
    }
}

#[test]
fn the_schema_in_the_repository_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/narrows.json");
    let now = serde_json::to_string_pretty(&schema::of("")).expect("serialises") + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(path, &now).expect("schema/ is writable");
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == now, "out of date; run: UPDATE_SCHEMA=1 cargo test --test library report_golden");
}

#[test]
fn every_report_follows_the_schema() {
    let validator = jsonschema::validator_for(&schema::of("check")).expect("is a schema");
    for (name, report) in every_report() {
        let json = serde_json::to_value(&report).expect("serialises");
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema": "narrows/check/1" })));
}

#[test]
fn a_report_survives_json() {
    for (name, report) in every_report() {
        let json = serde_json::to_string(&report).expect("serialises");
        assert_eq!(serde_json::from_str::<CheckReport>(&json).expect("deserialises"), report, "{name}");
    }
}

#[test]
fn whatever_is_null_has_a_reason_beside_it() {
    fn look(at: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                let missing: Vec<&String> =
                    fields.iter().filter(|(_, v)| v.is_null()).map(|(k, _)| k).collect();
                let reason = fields.get("reason").and_then(Value::as_str).unwrap_or_default();
                assert!(missing.is_empty() || !reason.is_empty(), "{at}: {missing:?} without a reason");
                fields.iter().for_each(|(key, value)| look(&format!("{at}.{key}"), value));
            }
            Value::Array(items) => items.iter().for_each(|item| look(at, item)),
            _ => {}
        }
    }
    for (name, report) in every_report() {
        look(name, &serde_json::to_value(&report).expect("serialises"));
    }
}

#[test]
fn a_hop_is_explained_by_its_id_the_beginning_of_it_or_its_kind() {
    let report = samples::slow_slot_report();
    let by_id = why::explain(&report, "chipset:intel-x99", &style(100)).expect("an id");
    assert!(by_id.contains("5 GT/s × 4 × 8/10 / 8 = 2 GB/s raw"));
    assert_eq!(why::explain(&report, "chip", &style(100)), Ok(by_id.clone()));
    assert_eq!(why::explain(&report, "chipset", &style(100)), Ok(by_id));
}

#[test]
fn an_unknown_or_unclear_hop_is_answered_with_the_ones_to_choose_from() {
    let report = samples::mirror_report();
    let error =
        why::explain(&report, "link:0000:99:00.0", &style(100)).expect_err("is not there").to_string();
    assert!(error.contains("hint: ") && error.contains("sata:ata1"), "{error}");
    let error = why::explain(&report, "device:", &style(100)).expect_err("two devices").to_string();
    assert!(error.contains("device:nvme0n1, device:sda"), "{error}");
}
