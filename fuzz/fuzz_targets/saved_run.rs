//! Saved runs of tests and layers, as `--resume` and `compare` read them: any text ends in a report or an error, and
//! any report can be shown and compared with itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::compare::{Input, compare};
use narrows::report::document::{Audience, Style};
use narrows::report::text;
use narrows::runs::ladder::{self, LadderReport};
use narrows::runs::measure::{self, MeasureReport};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let style = Style::PLAIN;
    let mut shown = String::new();
    if let Ok(report) = serde_json::from_str::<MeasureReport>(&text) {
        shown += &measure::document(&report, Audience::Public).text(&style);
    }
    if let Ok(report) = serde_json::from_str::<LadderReport>(&text) {
        shown += &ladder::document(&report, Audience::Public).text(&style);
    }
    if let Ok(input) = Input::parse("a.json", &text) {
        let same = compare(&input, &input, 0.01);
        shown += &text::compare::document(&same, Audience::Public).text(&style);
    }
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
});
