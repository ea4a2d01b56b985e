//! The queries of `contrib/sql` on JSON lines, by DuckDB and by Apache Spark: the same groups and outliers as `--fleet` has. Where a
//! Python with the module is not there, that is said and nothing is tested. `PYTHON` names another Python.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "the tests run the binary and Python, make files for them, and may panic"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::fleet::{listing, put};
use super::skip;

const DUCKDB: &str = "
import sys, json, duckdb
duckdb.sql(open(sys.argv[1] + '/duckdb.sql').read())
for query in ['groups', 'outliers']:
    rows = duckdb.sql(open(sys.argv[1] + f'/{query}.sql').read()).fetchall()
    print(json.dumps([[None if cell is None else str(cell) for cell in row] for row in rows]))
";
const SPARK: &str = "
import sys, json
from pyspark.sql import SparkSession
spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').config('spark.driver.host', '127.0.0.1').getOrCreate()
spark.sparkContext.setLogLevel('ERROR')
for view in open(sys.argv[1] + '/spark.sql').read().strip().removesuffix(';').split(';\\n'):
    spark.sql(view)
for query in ['groups', 'outliers']:
    rows = spark.sql(open(sys.argv[1] + f'/{query}.sql').read()).collect()
    print(json.dumps([[None if cell is None else str(cell) for cell in row] for row in rows]))
";

/// Two models: 24 hosts of which two have narrow links and one another firmware, and 12 of which all but one are narrow.
fn captures() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let bios = |version: &str| format!("/sys/devices/virtual/dmi/id/bios_version:{version}\n");
    for number in 0..24 {
        let width = if number < 2 { 2 } else { 4 };
        let text = listing("PowerEdge R740xd", width) + &bios(if number == 7 { "1.2.3" } else { "2.8.1" });
        put(dir.path(), &format!("a{number:02}.txt"), text.as_bytes());
    }
    for number in 0..12 {
        let text = listing("ProLiant DL380", if number == 3 { 4 } else { 1 }) + &bios("U30");
        put(dir.path(), &format!("b{number:02}.txt"), text.as_bytes());
    }
    dir
}

/// The day before, one host had another width.
fn earlier() -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    put(dir.path(), "a00.txt", listing("PowerEdge R740xd", 4).as_bytes());
    dir
}

fn fleet(dir: &Path) -> Vec<u8> {
    let mut command = Command::new(crate::narrows_binary());
    command.args(["--fleet", "--json"]).arg(dir);
    command.output().expect("the binary runs").stdout
}

/// What `--fleet` says, in the columns of the queries.
fn told(dir: &Path) -> [BTreeSet<Vec<Option<String>>>; 2] {
    let text = String::from_utf8(fleet(dir)).expect("is text");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let of = |kind: &str, keys: &[&str]| {
        let cell = |value: &Value| match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let row = |record: &Value| keys.iter().map(|key| cell(&record[*key])).collect();
        records.iter().filter(|record| record["record"] == kind).map(row).collect()
    };
    [
        of("group", &["model", "of", "affected", "code", "severity", "place", "state"]),
        of("outlier", &["host", "model", "aspect", "place", "value", "usual", "same", "of"]),
    ]
}

fn are_the_same(test: &str, module: &str, program: &str) {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", &format!("import {module}")]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return skip(test, &format!("Python has no {module}"));
    }
    let dir = captures();
    let [groups, outliers] = told(dir.path());
    assert!(groups.len() >= 2 && outliers.len() >= 3, "{groups:?} {outliers:?}");
    let files = tempfile::tempdir().expect("a directory");
    put(files.path(), "fleet/taken=2026-11-01/part-0.jsonl", &fleet(earlier().path()));
    put(files.path(), "fleet/taken=2026-11-25/part-0.jsonl", &fleet(dir.path()));
    let output = Command::new(&python)
        .args(["-c", program])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/sql"))
        .current_dir(files.path())
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("is text");
    let rows: Vec<BTreeSet<Vec<Option<String>>>> =
        text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    assert_eq!(rows, [groups, outliers]);
    let _ = fs::remove_dir_all(files.path());
}

#[test]
fn duckdb_finds_the_same_groups_and_outliers() {
    are_the_same("duckdb_finds_the_same_groups_and_outliers", "duckdb", DUCKDB);
}

#[test]
fn spark_finds_the_same_groups_and_outliers() {
    are_the_same("spark_finds_the_same_groups_and_outliers", "pyspark", SPARK);
}
