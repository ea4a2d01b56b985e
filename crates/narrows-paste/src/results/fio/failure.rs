//! What fio says when something goes wrong: it may be all that a text holds.

use crate::results::{Imported, Page, Tool};

/// The messages of fio in a text, as one result without measurements.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["fio: ", "error: failed to setup shm segment", "verify: "]) {
        return Vec::new();
    }
    let mut found: Option<Imported> = None;
    for (number, line) in page.lines() {
        let Some(message) = message(line.trim_start_matches('\u{feff}').trim()) else { continue };
        let result = found.get_or_insert_with(|| Imported::new(Tool::Fio, page.name, number));
        if result.failures.len() < MOST && !result.failures.iter().any(|known| known == message) {
            result.failures.push(message.to_owned());
        }
    }
    found.into_iter().collect()
}

/// The most messages that are kept: a failed verification prints one for each block.
const MOST: usize = 8;

/// The line, when it is a message of fio that a run failed or ended early (fio's `log_err` and `td_verror` calls).
fn message(line: &str) -> Option<&str> {
    let is_failure = match line.split_once(": ") {
        Some(("fio", rest)) => {
            rest.starts_with("terminating on signal")
                || rest.starts_with("pid=") && rest.contains("err=")
                || rest.starts_with("job <") && rest.contains("error")
                || rest.contains("failed")
                || rest.contains("engine") && rest.contains("not loadable")
                || rest.starts_with("io_u error")
                || rest.starts_with("first I/O failed")
        }
        Some(("verify", rest)) => rest.starts_with("bad ") || rest.contains("verify failed"),
        Some(("error", rest)) => rest.starts_with("failed to setup shm segment"),
        Some((verify, _)) => verify.ends_with("verify failed at file"),
        None => line.contains("verify failed at file"),
    };
    is_failure.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(body: &str) -> Vec<String> {
        read(&Page { name: "x", body }).into_iter().flat_map(|one| one.failures).collect()
    }

    #[test]
    fn a_run_that_did_not_start_is_a_result_of_its_own() {
        assert_eq!(failures("error: failed to setup shm segment\n").len(), 1);
        assert_eq!(
            failures("fio: pid=4879, err=84/file:io_u.c:2141, func=io_u_queued_complete, error=x\n").len(),
            1
        );
    }

    #[test]
    fn ordinary_words_are_no_failure() {
        assert!(failures("fio: a benchmark\nerror: failed to open x\nfio-3.1\n").is_empty());
    }
}
