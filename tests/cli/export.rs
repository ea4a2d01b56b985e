//! `narrows watch --export`, `completions` and `man`.

use std::collections::BTreeSet;

use super::{run, scratch_dir, skip, text, watch};

/// Whether each series is there once, and each line is a comment or a sample.
pub(super) fn assert_unique(metrics: &str) {
    let samples: Vec<&str> = metrics.lines().filter(|line| !line.starts_with('#')).collect();
    let series: BTreeSet<&str> = samples.iter().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    assert_eq!(series.len(), samples.len(), "{metrics}");
}

#[test]
fn a_machine_as_metrics_has_each_series_once_and_no_unknown_value() {
    let place = scratch_dir();
    let machine = place.path().join("machine.tar.zst");
    watch::record(&machine, 1, |_| ());
    let machine = machine.to_str().expect("is text");
    let ran = run(&["watch", "--export", "-", machine]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_unique(&ran.out);
    for line in [
        "narrows_link_width_lanes{address=\"0000:06:00.0\",",
        "narrows_finding_active{code=\"link_width_degraded\",",
        "narrows_last_run_timestamp_seconds ",
        "narrows_hop_ceiling_bytes_per_second{basis=\"formula\",",
    ] {
        assert!(ran.out.contains(line), "no {line} in\n{}", ran.out);
    }
    assert!(!ran.out.contains(" -1\n") && !ran.out.contains("NaN"), "{}", ran.out);
    let file = place.path().join("narrows.prom");
    std::fs::write(&file, "old").expect("is written");
    let written = run(&["watch", "--export", file.to_str().expect("is text"), machine]);
    assert_eq!((written.status, written.out.as_str()), (Some(0), ""), "{written:?}");
    let kept = std::fs::read_to_string(&file).expect("is in place");
    assert!(kept.starts_with("# HELP narrows_"), "{kept}");
}

#[test]
fn promtool_finds_nothing_to_complain_of() {
    let live = run(&["watch", "--export", "-"]);
    assert_eq!(live.status, Some(0), "{live:?}");
    assert_unique(&live.out);
    let mut promtool = super::alerts::tool("promtool");
    let promtool = promtool.args(["check", "metrics"]).stdin(std::process::Stdio::piped());
    let Ok(mut child) =
        promtool.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()
    else {
        return skip("promtool check metrics", "promtool (package prometheus) is not installed");
    };
    let mut stdin = child.stdin.take().expect("is piped");
    std::io::Write::write_all(&mut stdin, live.out.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn pages_and_completions_are_made_for_every_command() {
    let place = scratch_dir();
    let made = run(&["man", text(&place)]);
    assert_eq!((made.status, made.err.as_str()), (Some(0), ""), "{made:?}");
    let pages = super::names_in(&place);
    for page in ["narrows.1", "narrows-watch.1", "narrows-fleet-run.1"] {
        assert!(pages.contains(&page.to_owned()), "{pages:?}");
    }
    assert!(!pages.iter().any(|page| page.contains("look-at") || page.contains("help")), "{pages:?}");
    assert_eq!(run(&["man", text(&place)]).status, Some(2), "nothing is replaced");
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert!(script.status == Some(0) && script.out.contains("watch"), "{shell}: {script:?}");
    }
}
