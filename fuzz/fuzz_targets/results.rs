//! What strangers paste of benchmarks: every parser of results, what stands beside them, and the audit of both.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::Text;
use narrows::report::result_csv;
use narrows::report::view::{JudgedResult, judged};
use narrows::results::surroundings::Surroundings;
use narrows::results::{Page, complete, read};
use narrows::verdict::results::judge_results;
use narrows::verdict::results::sweep::sweeps;

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz_bw.log", bytes);
    let page = Page { name: text.name(), body: text.body() };
    let mut around = Surroundings::default();
    around.see(&page);
    let mut results = read(&page);
    complete(&mut results, &around);
    let verdicts = judge_results(&results, &around, None);
    assert_eq!(results.len(), verdicts.len());
    let _ = sweeps(&results, &[]);
    let all = judged(&results, &verdicts);
    let _ = result_csv::render(&all);
    for JudgedResult { result, verdict } in &all {
        assert!(!result.measurements.is_empty() || !result.failures.is_empty());
        // A result that is not trusted says why, and every finding says what would disprove it.
        assert!(verdict.trusted || !verdict.findings.is_empty());
        assert!(verdict.findings.iter().all(|one| !one.not_so_when.is_empty()));
    }
    // JSON has no infinite numbers: they would become null without a reason.
    let json = serde_json::to_string(&all).expect("serialises");
    assert!(!json.contains("\"bytes_per_second\":null"));
});
