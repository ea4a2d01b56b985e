mod brute;

use super::*;
use crate::plan::problem::WholeRate;
use crate::plan::site::{
    Attachment, BoardOptions, Narrowed, Setting, Shared, Slot, SplitMode, Splitting, of_board,
};
use crate::plan::wish::parse;
use narrows_base::catalog::{SlotForm, catalog};
use narrows_base::units::{BytesPerSec, GtPerSec, Lanes};
use proptest::prelude::*;

fn slot(name: usize, lanes: u8, generation: u8, attachment: Attachment) -> Slot {
    let connector = Lanes::new(if lanes < 4 { 16 } else { lanes.max(8) });
    let speed = GtPerSec::from_pcie_generation(generation).expect("a generation");
    let link = (connector, Lanes::new(lanes), speed);
    Slot { splitting: Splitting::Never, ..Slot::new(format!("S{name}"), SlotForm::Card, link, attachment) }
}

fn site(slots: Vec<Slot>, sockets: u8) -> Site {
    let shared = |name: &str, gigabytes: f64| {
        let rate = WholeRate::new(BytesPerSec::from_gb(gigabytes));
        Some(Shared { name: name.to_owned(), rate, write: rate })
    };
    Site {
        name: "a board".to_owned(),
        source: "made up".to_owned(),
        sockets,
        slots,
        chipset: shared("uplink", 3.5),
        interconnect: if sockets > 1 { shared("UPI", 20.0) } else { None },
        ..Site::default()
    }
}

fn request(wishes: &[&str], prefer: Prefer) -> Request {
    let wishes = wishes.iter().map(|text| parse(text).unwrap_or_else(|error| panic!("{error}"))).collect();
    Request { wishes, prefer, ..Request::default() }
}

/// Slots of a random board: links, attachments, a rule between the first two, a setting on the last.
fn any_site() -> impl Strategy<Value = Site> {
    let one = (
        prop::sample::select(vec![1u8, 4, 8, 16]),
        2u8..=4,
        prop::sample::select(vec![Attachment::Cpu(0), Attachment::Cpu(1), Attachment::Chipset]),
        0u8..4,
    );
    (prop::collection::vec(one, 1..=4), 0u8..4, any::<bool>(), 0u8..=8).prop_map(
        |(parts, rule, setting, left)| {
            let mut slots: Vec<Slot> = parts
                .into_iter()
                .enumerate()
                .map(|(at, (lanes, generation, attachment, kind))| {
                    let mut made = slot(at, lanes, generation, attachment);
                    match kind {
                        0 => {
                            made.form = SlotForm::M2;
                            made.lanes = Lanes::new(lanes.min(4));
                            made.connectors_off = vec![format!("SATA{at}")];
                        }
                        1 if lanes == 16 => {
                            let modes = ["x8x8", "x8x4x4", "x4x4x4x4"];
                            made.splitting = Splitting::Modes(
                                modes.iter().filter_map(|mode| SplitMode::parse(mode)).collect(),
                            );
                        }
                        1 if lanes == 8 => {
                            made.splitting = Splitting::Modes(SplitMode::parse("x4x4").into_iter().collect());
                        }
                        _ => {}
                    }
                    made
                })
                .collect();
            let last = slots.len() - 1;
            if rule > 0 && last > 0 {
                slots[0].narrowed =
                    vec![Narrowed { by: vec![1], lanes: Lanes::new(left.min(slots[0].lanes.get())) }];
                if rule == 2 {
                    slots[1].narrowed = vec![Narrowed { by: vec![0], lanes: Lanes::new(1) }];
                }
            }
            if setting && last > 1 && slots[last].lanes.get() > 1 {
                slots[last].setting = Some(Setting {
                    menu: "menu".to_owned(),
                    value: "X4 Mode".to_owned(),
                    default_lanes: Lanes::new(1),
                    slots_off: vec![1],
                    connectors_off: vec!["USB".to_owned()],
                });
            }
            let sockets = if slots.iter().any(|slot| slot.attachment == Attachment::Cpu(1)) { 2 } else { 1 };
            site(slots, sockets)
        },
    )
}

fn any_request() -> impl Strategy<Value = Request> {
    let wish = prop::sample::select(vec![
        "nvme:gen3x4",
        "2xnvme:gen3x4",
        "3xnvme:gen4x4",
        "nvme:gen3x4@2GB/s",
        "2xnvme:gen4x4:same-socket",
        "nvme:gen3x2",
        "nic:40g",
        "nic:10g",
        "hba:gen3x8",
        "hba:gen3x4",
        "usb3card",
        "gpu",
        "gpu:gen3x8@7GB/s",
        "nvme:m2",
        "2xnvme:u2",
    ]);
    let prefer = prop::sample::select(vec![Prefer::Rate, Prefer::Slots, Prefer::Parts]);
    let max_slots = prop::option::weighted(0.3, 1u8..=3);
    (prop::collection::vec(wish, 1..=3), prefer, max_slots, any::<bool>()).prop_map(
        |(wishes, prefer, max_slots, switches)| Request {
            max_slots,
            parts: Parts { switches, splitting: true },
            ..request(&wishes, prefer)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn brute_force_finds_nothing_better_and_nothing_between_the_best_and_the_next(
        site in any_site(), request in any_request()
    ) {
        let all = brute::scores(&site, &request);
        let found = search(&site, &request);
        prop_assert!(found.proof.complete && found.others.complete);
        let scores: Vec<Score> = found.placements.iter().map(|placement| placement.score).collect();
        prop_assert_eq!(&scores[..], &all[..all.len().min(2)]);
        prop_assert_eq!(found.proof.bound, all.first().copied());
    }
}

/// Sixteen slots and twenty-four devices of eight kinds, with everything that makes a board hard: two sockets, a chipset
/// whose uplink is too small, rules between slots, and more devices than slots.
fn large() -> (Site, Request) {
    let mut slots = Vec::new();
    for at in 0..16 {
        let (lanes, generation, attachment) = match at {
            0..=3 => (16, 4, Attachment::Cpu(0)),
            4..=6 => (8, 4, Attachment::Cpu(0)),
            7..=9 => (4, 3, Attachment::Chipset),
            10..=12 => (16, 3, Attachment::Cpu(1)),
            _ => (8, 3, Attachment::Cpu(1)),
        };
        let mut made = slot(at, lanes, generation, attachment);
        if at % 2 == 0 && lanes == 16 {
            made.splitting = Splitting::Modes(SplitMode::parse("x4x4x4x4").into_iter().collect());
        }
        slots.push(made);
    }
    slots[0].narrowed = vec![Narrowed { by: vec![4], lanes: Lanes::new(8) }];
    slots[1].narrowed = vec![Narrowed { by: vec![5], lanes: Lanes::new(8) }];
    let wishes = [
        "6xnvme:gen4x4",
        "5xnvme:gen3x4",
        "2xnvme:gen3x2",
        "3xnic:40g",
        "2xnic:10g",
        "2xhba:gen3x8",
        "2xusb3card",
        "2xcard:gen3x4",
    ];
    (site(slots, 2), request(&wishes, Prefer::Rate))
}

#[test]
fn sixteen_slots_and_twenty_four_devices_are_solved_within_few_nodes() {
    let (site, request) = large();
    assert_eq!(request.wishes.iter().map(|wish| u32::from(wish.count)).sum::<u32>(), 24);
    let found = best(&site, &request);
    assert!(found.proof.complete && !found.placements.is_empty());
    assert!(found.proof.nodes < 5_000, "{} nodes", found.proof.nodes);
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let board = catalog().board_named("dell-poweredge-r640").expect("a known board");
    let site = of_board(board, &BoardOptions::default());
    let request = request(&["8xnvme", "2xhca:edr", "nic:10g"], Prefer::Rate);
    assert_eq!(search(&site, &request), search(&site, &request));
}

#[test]
fn a_board_that_cannot_hold_the_wishes_gives_no_placement() {
    let board = catalog().board_named("raspberry-pi-5").expect("a known board");
    let found = search(&of_board(board, &BoardOptions::default()), &request(&["2xnvme"], Prefer::Rate));
    assert!(found.placements.is_empty() && found.proof.complete);
    assert_eq!(found.proof.bound, None);
}
