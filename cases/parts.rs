//! The parts of the case scorer that can be tested without the binary.

#![expect(dead_code, clippy::expect_used, reason = "the scorer itself uses the rest; tests may panic")]

mod case;
mod contradictions;
mod files;
mod properties;
mod report;
mod score;

mod of_case {
    use crate::case::*;

    fn case(verdict: &str, hop: &str, note: &str) -> Case {
        let json = serde_json::json!({
            "id": "x",
            "expected": { "verdict": verdict, "limiting_hop": hop },
            "confidence": "high",
            "files": ["lspci.txt", "dmidecode-other-machine-same-board.txt"],
            "note": note,
        });
        serde_json::from_value(json).expect("a case")
    }

    #[test]
    fn a_note_may_accept_a_second_verdict() {
        let case = case(
            "link_width_degraded",
            "02:00.0",
            "A x2 slot. slot_limited is an acceptable verdict. Not mps_mrrs.",
        );
        assert_eq!(case.accepted().into_iter().collect::<Vec<_>>(), ["link_width_degraded", "slot_limited"]);
        assert_eq!(case.texts().len(), 1);
    }

    #[test]
    fn addresses_are_found_in_words() {
        let hop = "10000:e1:00.0 <-> 10000:e0:06.0 (NVMe behind VMD), 60:00.x";
        assert_eq!(addresses(hop).into_iter().collect::<Vec<_>>(), ["60:00.x", "e0:06.0", "e1:00.0"]);
        assert_eq!(
            addresses("0000:03:00.0..0f:0e.0").into_iter().collect::<Vec<_>>(),
            ["03:00.0", "0f:0e.0"]
        );
        assert!(addresses("none (2.5GT/s x4 at 8.0 GB/s)").is_empty());
    }

    #[test]
    fn devices_are_found_in_words() {
        let devices = case("raid_resync", "md3 (recovery), usb5, x16, 4k", "").devices();
        assert_eq!(devices.into_iter().collect::<Vec<_>>(), ["md3", "usb5"]);
    }
}

mod of_score {
    use crate::case::Case;
    use crate::score::*;
    use serde_json::Value;
    use serde_json::json;

    fn case(verdict: &str, hop: &str) -> Case {
        let json = json!({
            "id": "x",
            "expected": { "verdict": verdict, "limiting_hop": hop },
            "confidence": "high",
            "files": [],
        });
        serde_json::from_value(json).expect("a case")
    }

    fn report(code: &str, severity: &str) -> Value {
        json!({
            "paths": [{ "hops": [{ "id": "link:0000:01:00.0", "name": "PCIe link", "port": "0000:00:1c.4" }] }],
            "findings": [
                { "code": "partial_input", "severity": "info", "hop": null, "subject": "", "summary": "" },
                { "code": code, "severity": severity, "hop": "link:0000:01:00.0", "subject": "", "summary": "" },
            ],
        })
    }

    #[test]
    fn either_end_of_the_link_is_the_right_hop() {
        for (hop, right) in [("00:1c.4 (root port)", true), ("0000:01:00.0", true), ("00:1c.5", false)] {
            let score = judge(&case("slot_limited", hop), &report("slot_limited", "limit"), "");
            assert_eq!((score.verdict_right, score.hop_right), (true, right), "{hop}");
        }
    }

    #[test]
    fn an_alarm_on_a_healthy_machine_is_a_false_one() {
        let score = judge(&case("ok", "none"), &report("slot_limited", "limit"), "");
        assert!(score.false_alarm && !score.is_right());
        let score = judge(&case("ok", "none"), &report("power_save", "info"), "");
        assert!(!score.false_alarm && score.is_right());
    }

    #[test]
    fn no_report_is_never_right() {
        for verdict in ["ok", "other", "slot_limited"] {
            assert!(!judge(&case(verdict, "none"), &Value::Null, "refused").is_right(), "{verdict}");
        }
    }
}

mod of_properties {
    use serde_json::{Value, json};

    use crate::properties::broken;

    fn link(rate: f64, findings: &Value) -> Value {
        let ceiling = json!({"read": {"bytes_per_second": rate}});
        json!({"paths": [{"hops": [{"id": "link:0000:01:00.0", "ceiling": ceiling}]}], "findings": findings})
    }

    #[test]
    fn a_ceiling_above_the_kernels_line_is_broken_and_one_below_is_not() {
        let log = "pci 0000:01:00.0: 7.876 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x1 link at 0000:01:00.0 (capable of 31.504 Gb/s)\n";
        assert_eq!(broken(&link(3.9e9, &json!([])), log).len(), 1);
        assert_eq!(broken(&link(0.98e9, &json!([])), log), [""; 0]);
        assert_eq!(broken(&link(3.9e9, &json!([])), &format!("{log}LnkSta: x4")), [""; 0]);
    }

    #[test]
    fn two_states_of_one_link_and_hidden_controllers_are_broken() {
        let state = |code: &str| json!({"code": code, "hop": "link:0000:01:00.0"});
        let two = json!([state("slot_limited"), state("link_width_degraded")]);
        assert_eq!(broken(&link(1.0, &two), "").len(), 1);
        assert_eq!(broken(&link(1.0, &json!([state("slot_limited"), state("mps_mrrs")])), ""), [""; 0]);
        let lspci =
            |address: &str| format!("{address} Non-Volatile memory controller: Samsung [144d:a80a]\n");
        assert_eq!(broken(&link(1.0, &json!([])), &lspci("02:00.0")).len(), 1);
        assert_eq!(broken(&link(1.0, &json!([])), &lspci("01:00.1")), [""; 0]);
        assert_eq!(broken(&link(1.0, &json!([])), "02:00.0 Ethernet controller: RTL8111\n"), [""; 0]);
    }
}

mod of_contradictions {
    use serde_json::{Value, json};

    use crate::contradictions::contradictions;

    fn result(parts: &Value) -> Value {
        let mut result = json!({"file": "x", "line": 1, "trusted": true, "trust": "yes", "findings": []});
        for (key, part) in parts.as_object().into_iter().flatten() {
            result[key] = part.clone();
        }
        json!({ "results": [result] })
    }

    fn finding(code: &str, severity: &str, label: &str) -> Value {
        let summary =
            format!("it is so: random reads of `a` (1 MB/s), sequential writes of `{label}` (2 MB/s)");
        json!({"code": code, "severity": severity, "summary": summary})
    }

    #[test]
    fn trust_in_what_is_void_is_a_contradiction() {
        assert_eq!(contradictions(&result(&json!({}))), [""; 0]);
        assert_eq!(contradictions(&result(&json!({"trust": "no"}))).len(), 1);
        let void = |severity: &str| json!({"findings": [finding("cache_measured", severity, "b")]});
        assert_eq!(contradictions(&result(&void("limit"))).len(), 1);
        assert_eq!(contradictions(&result(&void("info"))), [""; 0]);
    }

    #[test]
    fn two_limits_of_one_rate_are_a_contradiction() {
        let full = |kind: &str| json!({"limiting_hop": {"kind": "memory"}, "against": [{"standing": "at", "kind": kind, "name": "x"}]});
        assert_eq!(contradictions(&result(&full("link"))).len(), 1);
        assert_eq!(contradictions(&result(&full("memory"))), [""; 0]);
        let two = json!({"trusted": false, "trust": "no", "findings": [
            finding("cache_measured", "limit", "b"),
            json!({"code": "throttled", "severity": "limit", "summary": "held the sequential writes of `b` at 3 MB/s"}),
        ]});
        assert_eq!(
            contradictions(&result(&two)),
            ["x:1: sequential writes of b: cache_measured, and throttled"]
        );
    }

    #[test]
    fn a_path_is_limited_by_a_hop_that_it_has() {
        let path = |id: &str| json!({"paths": [{"target": "t", "hops": [{"id": "link:1"}], "limiting_hop": {"read": id}}]});
        assert_eq!(contradictions(&path("link:1")), [""; 0]);
        assert_eq!(contradictions(&path("link:2")), ["t: no hop link:2"]);
    }
}
