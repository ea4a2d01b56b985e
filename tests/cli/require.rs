//! `--require`: with a rule, the rules alone decide the exit status.

use super::run;

const DISK: &str = "tests/result-cases/021-hdd-7k2-qd1-baseline/fio.json";
const MEMORY: &str = "tests/result-cases/fio-ram/fio.txt";
const SLOT: &str = "tests/systems/s3-terminal.txt";

fn status(file: &str, rules: &[&str]) -> (Option<i32>, String) {
    let file = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut words = vec![file.as_str()];
    rules.iter().for_each(|rule| words.extend(["--require", rule]));
    let ran = run(&words);
    (ran.status, ran.err)
}

#[test]
fn rules_decide_and_each_is_said() {
    let (code, said) = status(DISK, &["p99<50ms", "no fault"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("required p99<50ms: met: 22.9 ms"), "{said}");
    let (code, said) = status(DISK, &["no fault", "read>=100MB/s"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("required read>=100MB/s: NOT met: 268 kB/s"), "{said}");
    // Findings alone are no failure any more.
    assert_eq!(status(SLOT, &[]).0, Some(1));
    assert_eq!(status(SLOT, &["no fault", "read>=300MB/s"]).0, Some(0));
}

#[test]
fn what_is_not_known_passes_no_rule() {
    for (file, rule) in [(MEMORY, "read>=1MB/s"), (SLOT, "p99<1s"), (SLOT, "link=full"), (DISK, "link=full")]
    {
        let (code, said) = status(file, &[rule]);
        assert_eq!(code, Some(1), "{rule}: {said}");
        assert!(said.contains("NOT met: not known"), "{said}");
    }
}

#[test]
fn a_saved_report_is_asked_and_where_nothing_answers_a_rule_is_refused() {
    assert_eq!(status("tests/figures/bench.json", &["read>=1kB/s"]).0, Some(0));
    let (code, said) = status("tests/figures/bench.json", &["read>=900GB/s"]);
    assert_eq!(code, Some(1), "{said}");
    for other in
        ["tests/figures/compare.json", "tests/figures/fleet.jsonl", "systems/r720xd-switch-card.path.toml"]
    {
        let (code, said) = status(other, &["no fault"]);
        assert_eq!(code, Some(2), "{other}: {said}");
    }
}

#[test]
fn a_rule_that_is_none_and_a_file_that_is_not_there_are_no_answer() {
    assert_eq!(status(DISK, &["read>=fast"]).0, Some(2));
    assert_eq!(status("no such file", &["no fault"]).0, Some(2));
}
