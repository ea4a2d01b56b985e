//! What limits in runs that real hosts brought back (`tests/fleet-runs/README.md`), from their directories alone.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "the tests read files and may panic")]

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn report(directory: &Path) -> Value {
    let done = Command::new(crate::narrows_binary())
        .args(["fleet", "report", "--json"])
        .arg(directory)
        .output()
        .expect("it runs");
    assert!(matches!(done.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("is JSON")
}

#[test]
fn each_recorded_run_names_what_was_put_there() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fleet-runs");
    let mut count = 0;
    for entry in fs::read_dir(&place).expect("is there").flatten().filter(|entry| entry.path().is_dir()) {
        let directory = entry.path();
        let text = fs::read_to_string(directory.join("expected.json")).expect("says what was put there");
        let expected: Value = serde_json::from_str(&text).expect("is JSON");
        let report = report(&directory);
        let point = &report["points"][0];
        let limit = &point["verdict"]["limit"];
        let name = directory.display();
        assert_eq!(limit["kind"], expected["kind"], "{name}: {limit}");
        if let Some(clients) = expected.get("clients") {
            assert_eq!(&limit["clients"], clients, "{name}: {limit}");
        }
        if let Some(rate) = expected["bytes_per_second"].as_f64() {
            let found = limit["bytes_per_second"].as_f64().expect("has a rate");
            assert!((0.9..=1.1).contains(&(found / rate)), "{name}: {found} and not {rate}");
        }
        let outliers: Vec<&Value> =
            point["outliers"].as_array().expect("a list").iter().map(|one| &one["host"]).collect();
        let wanted: Vec<&Value> = expected["outliers"].as_array().into_iter().flatten().collect();
        assert_eq!(outliers, wanted, "{name}");
        count += 1;
    }
    assert!(count >= 7, "{count}");
}
