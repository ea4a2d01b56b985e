//! Tests of `runner/confusion.rs`.

use crate::runner::confusion::*;

fn answer(injected: &str, named: &str, right: bool) -> Answer {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Answer { injected: text(injected), named: text(named), right, false_alarms: None }
}

fn counted() -> Confusion {
    let healthy = |alarms| Answer { false_alarms: Some(alarms), ..answer("device:c", "device:c", true) };
    let answers = [
        ("a", answer("device:a", "device:a", true)),
        ("b", answer("device:a", "device:b", false)),
        ("c", answer("remote", "network:eth0", false)),
        ("d", answer("crypt:dm-0", "", false)),
        ("e", answer("", "device:a", false)),
        ("f", healthy(0)),
        ("g", healthy(2)),
    ];
    Confusion::count(answers.iter().map(|(name, answer)| (*name, answer)))
}

#[test]
fn hops_are_counted_by_kind_and_right_ones_by_hop() {
    let confusion = counted();
    assert_eq!((confusion.checks, confusion.right), (6, 3));
    assert_eq!(confusion.share_right, Some(0.5));
    assert_eq!((confusion.healthy, confusion.false_alarms), (2, 1));
    assert_eq!(confusion.named_by_injected["device"]["device"], 4);
    assert_eq!(confusion.named_by_injected["remote"]["network"], 1);
    assert_eq!(confusion.named_by_injected["crypt"]["nothing"], 1);
    let wrong: Vec<&str> = confusion.wrong.iter().map(|wrong| wrong.scenario.as_str()).collect();
    assert_eq!(wrong, ["b", "c", "d"]);
}

#[test]
fn the_table_has_a_row_for_each_injected_kind() {
    assert_eq!(
        counted().lines(),
        [
            "injected \\ named  device  network  nothing",
            "crypt                  ·        ·        1",
            "device                 4        ·        ·",
            "remote                 ·        1        ·",
            "wrong: b: injected device:a, named device:b",
            "wrong: c: injected remote, named network:eth0",
            "wrong: d: injected crypt:dm-0, named nothing",
            "3 of 6 limits attributed to the right hop (50.0 %); false alarms on 1 of 2 healthy machines",
        ]
    );
}

#[test]
fn no_checks_have_no_share() {
    assert_eq!(Confusion::count(std::iter::empty()), Confusion::default());
}
