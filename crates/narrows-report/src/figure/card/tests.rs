use super::*;

fn report() -> (Vec<u8>, CheckReport) {
    let text = include_bytes!("../../../../../tests/figures/s3-x1-slot.json").to_vec();
    let report = serde_json::from_slice(&text).expect("is a report");
    (text, report)
}

fn stamp(run: &[u8]) -> Stamp {
    Stamp { date: "2026-11-25".to_owned(), path: 1, run: hash(run), snapshot: None }
}

#[test]
fn a_card_says_hop_rate_and_advice_and_follows_from_its_report() {
    let (text, report) = report();
    let forms =
        [svg(&report, &stamp(&text)).expect("a card"), markdown(&report, &stamp(&text)).expect("a card")];
    for card in forms {
        assert!(
            card.contains("420 MB/s") && card.contains("PCIe 2.0 x1 link") && card.contains("X4 Mode"),
            "{card}"
        );
        assert_eq!(Stamp::of(&card), Some(stamp(&text)));
        assert_eq!(check(&card, &report, &text), Some(Check::Follows));
    }
}

#[test]
fn a_changed_number_and_another_report_are_told() {
    let (text, report) = report();
    let card = svg(&report, &stamp(&text)).expect("a card");
    let forged = card.replace("420 MB/s", "920 MB/s");
    let Some(Check::Differs(lines)) = check(&forged, &report, &text) else { panic!("not seen") };
    assert!(
        lines.iter().any(|(has, gives)| has.contains("920 MB/s") && gives.contains("420 MB/s")),
        "{lines:?}"
    );
    assert_eq!(check(&card, &report, b"{}"), Some(Check::OtherRun));
    assert_eq!(check("<svg>no card</svg>", &report, &text), None);
}

#[test]
fn names_of_others_are_text_on_a_card() {
    let (text, mut report) = report();
    let hostile = format!("</text><script>x</script>`|{}", "W".repeat(10_000));
    report.machine.board = Some(hostile.clone());
    report.paths[0].target.clone_from(&hostile);
    report.paths[0].sentence.clone_from(&hostile);
    for hop in &mut report.paths[0].hops {
        hop.name.clone_from(&hostile);
    }
    for card in
        [svg(&report, &stamp(&text)).expect("a card"), markdown(&report, &stamp(&text)).expect("a card")]
    {
        assert!(!card.contains("<script"), "{card}");
        assert!(card.len() < 200_000, "{}", card.len());
    }
}
