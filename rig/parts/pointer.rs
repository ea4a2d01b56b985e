//! Tests of `runner/pointer.rs`.

use crate::runner::pointer::*;
use serde_json::{Value, json};

fn document() -> Value {
    json!({"hops": [
        {"id": "link:0000:01:00.0", "kind": "link", "rate": 1},
        {"id": "device:nvme0n1", "kind": "device", "rate": 2},
        {"id": "link:0000:02:00.0", "kind": "link", "rate": 3},
    ], "a/b": {"x": 4, "y": 5}})
}

#[test]
fn an_index_and_a_key_lead_to_one_value() {
    assert_eq!(find(&document(), "/hops/1/rate"), [&json!(2)]);
    assert_eq!(find(&document(), "/a~1b/x"), [&json!(4)]);
}

#[test]
fn a_member_picks_elements_of_an_array() {
    assert_eq!(find(&document(), "/hops/kind=link/rate"), [&json!(1), &json!(3)]);
    assert_eq!(find(&document(), "/hops/id=link:0000:02:00.0/rate"), [&json!(3)]);
}

#[test]
fn a_star_goes_everywhere() {
    assert_eq!(find(&document(), "/*/*/rate").len(), 3);
    assert_eq!(find(&document(), "/a~1b/*"), [&json!(4), &json!(5)]);
}

#[test]
fn what_is_not_there_is_not_found() {
    assert!(find(&document(), "/hops/7/rate").is_empty());
    assert!(find(&document(), "/hops/1/rate/deeper").is_empty());
    assert!(find(&document(), "/nowhere").is_empty());
}
