use super::*;
use narrows_verdict::counterfactual::{Counterfactual, Foreseen};

fn report(text: &str) -> CheckReport {
    serde_json::from_str(text).expect("is a report")
}

fn x1_slot() -> CheckReport {
    report(include_str!("../../../../../tests/figures/s3-x1-slot.json"))
}

fn two_sockets() -> CheckReport {
    report(include_str!("../../../../../tests/figures/s2-two-sockets.json"))
}

/// Twenty-four drives behind two sockets: each of the eight thrice.
fn many_drives() -> CheckReport {
    let mut report = two_sockets();
    let path = &mut report.paths[0];
    let begins = |kind| matches!(kind, HopKind::BlockQueue | HopKind::Socket | HopKind::Memory);
    let mut hops = Vec::new();
    for group in path.hops.chunk_by(|_, next| !begins(next.kind)) {
        let copies = if group[0].kind == HopKind::BlockQueue { 3 } else { 1 };
        for copy in 0..copies {
            let renamed = |id: &str| if copy == 0 { id.to_owned() } else { format!("{id}-{copy}") };
            for (at, hop) in group.iter().enumerate() {
                let above =
                    hop.above.as_deref().map(|above| if at == 0 { above.to_owned() } else { renamed(above) });
                let is_last = at + 1 == group.len();
                let below =
                    hop.below.iter().map(|id| if is_last { id.clone() } else { renamed(id) }).collect();
                hops.push(HopView { id: renamed(&hop.id), above, below, ..hop.clone() });
            }
        }
    }
    let queues = hops.iter().filter(|hop| hop.kind == HopKind::BlockQueue);
    let queues: Vec<String> = queues.map(|hop| hop.id.clone()).collect();
    let raid = hops.iter_mut().find(|hop| hop.kind == HopKind::Raid).expect("an array");
    raid.below = queues;
    path.hops = hops;
    report
}

#[test]
fn all_of_24_drives_are_on_the_map_and_each_bears_its_rate() {
    let report = many_drives();
    let figure = path_map(&report, 0).expect("a figure");
    for drawing in [Some(&figure.pictures[0].wide), figure.pictures[0].narrow.as_ref()].into_iter().flatten()
    {
        let svg = drawing.element();
        assert_eq!(svg.matches("data-hop=\"device:nvme").count(), 24);
        assert_eq!(svg.matches("data-hop=\"link:").count(), 24);
        assert_eq!(svg.matches("data-hop=\"socket:").count(), 2);
    }
    assert!(figure.html((3, ""), "Values").len() < 300_000, "{}", figure.html((3, ""), "Values").len());
}

#[test]
fn main_memory_is_torn_and_the_narrowest_lane_is_narrow_and_seen() {
    let all = |rates: &[(HopKind, f64)]| full_width(rates.iter().copied());
    let slot = [
        (HopKind::Memory, 50e9),
        (HopKind::Chipset, 1.6e9),
        (HopKind::Link, 0.4e9),
        (HopKind::Device, 3.2e9),
    ];
    assert_eq!(all(&slot), 3.2e9);
    assert_eq!(all(&[(HopKind::Link, 8e9), (HopKind::Usb, 40e6)]), 640e6);
    assert_eq!(all(&[(HopKind::Socket, 50e9), (HopKind::Link, 3.6e9)]), 14.4e9);
    assert_eq!(all(&[]), 0.0);
}

/// What each node has behind it, by the titles of hops.
fn shape(tree: &tree::Tree, node: usize, depth: usize, out: &mut String) {
    let titles: Vec<&str> =
        tree.nodes[node].items.iter().map(|item| tree.items[*item].title.as_str()).collect();
    out.push_str(&format!("{}{}\n", " ".repeat(depth), titles.join(" + ")));
    for &child in &tree.nodes[node].children {
        shape(tree, child, depth + 1, out);
    }
}

fn shape_of(report: &CheckReport) -> String {
    let tree = tree_of(report, &[&report.paths[0]], Direction::Read).expect("a tree");
    let mut out = String::new();
    shape(&tree, tree.root, 0, &mut out);
    out
}

#[test]
fn a_path_leads_from_the_application_to_the_medium() {
    let expected = "application\n main memory\n  DMI 2.0\n   PCIe 2.0 x1\n    nvme2n1\n";
    assert_eq!(shape_of(&x1_slot()), expected);
}

#[test]
fn what_drives_share_stands_once_before_them() {
    let mut expected = "application + xfs on /data + md md0 raid0\n main memory\n".to_owned();
    for (socket, drives) in [("NUMA node 0, local", 0..4), ("NUMA node 1 to node 0", 4..8)] {
        expected.push_str(&format!("  {socket}\n"));
        for drive in drives {
            expected.push_str(&format!("   PCIe 3.0 x4\n    nvme{drive}n1\n"));
        }
    }
    assert_eq!(shape_of(&two_sockets()), expected);
}

#[test]
fn a_map_follows_what_each_hop_says_is_below_it() {
    let mut report = two_sockets();
    // One drive of the second socket hangs on the first, which the order of the list alone would not tell.
    let link = report.paths[0].hops.iter_mut().find(|hop| hop.id == "link:0000:af:00.0").expect("a link");
    link.below = vec!["socket:0-0".to_owned()];
    let shape = shape_of(&report);
    let (first, second) = shape.split_once("NUMA node 1").expect("two sockets");
    assert!(first.contains("nvme4n1") && !second.contains("nvme4n1"), "{shape}");
}

/// All boxes of text of a drawing: left, top, right, bottom, words.
fn boxes(layout: &layout::Layout) -> Vec<(f64, f64, f64, f64, String)> {
    let mut all = Vec::new();
    for place in &layout.places {
        for (y, line) in place.words() {
            let wide = line.face.width(&line.text);
            let left = if place.is_box { place.left + (place.width - wide) / 2.0 } else { place.left };
            all.push((
                left,
                y - line.face.size * 0.76,
                left + wide,
                y + line.face.size * 0.22,
                line.text.clone(),
            ));
        }
    }
    all
}

#[test]
fn no_label_covers_another_whatever_the_names_are() {
    let long = "A Very Long Model Name of Many Words ".repeat(9);
    for (mut report, name) in [
        (x1_slot(), ""),
        (two_sockets(), ""),
        (many_drives(), ""),
        (two_sockets(), long.as_str()),
        (two_sockets(), &"W".repeat(999)),
    ] {
        if !name.is_empty() {
            for hop in &mut report.paths[0].hops {
                hop.name = format!("{name}{}", hop.name);
            }
        }
        let tree = tree_of(&report, &[&report.paths[0]], Direction::Read).expect("a tree");
        let all = boxes(&layout::layout(&tree, 6.0));
        for (at, a) in all.iter().enumerate() {
            assert!(a.0 >= 0.0 && a.2 <= layout::WIDTH, "{a:?} is not on the map");
            for b in &all[at + 1..] {
                let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                assert!(apart, "{a:?} and {b:?} overlap");
            }
        }
    }
}

#[test]
fn a_picture_holds_the_values_of_the_report() {
    let report = x1_slot();
    let figure = path_map(&report, 0).expect("a figure");
    let svg = figure.pictures[0].wide.element();
    for hop in &report.paths[0].hops {
        if let Some(rate) = hop.ceiling.read.bytes_per_second {
            let stated = format!("data-hop=\"{}\" data-ceiling=\"{}\"", hop.id, rate.get());
            assert!(svg.contains(&stated), "{stated} is not in {svg}");
        }
    }
    assert!(svg.contains("data-mark=\"narrowest\"") && svg.contains("pinch fault"), "{svg}");
    assert_eq!(svg, path_map(&report, 0).expect("a figure").pictures[0].wide.element());
}

#[test]
fn each_advice_has_its_map_and_what_is_not_predicted_is_said() {
    let figure = path_map(&x1_slot(), 0).expect("a figure");
    let labels: Vec<&str> = figure.pictures.iter().map(|picture| picture.label.as_str()).collect();
    assert_eq!(labels[..2], ["Reads", "Writes"]);
    assert!(labels[2].contains("X4 Mode") && labels[3].contains("move the card"), "{labels:?}");
    assert!(
        figure.pictures[2].note.starts_with("The ceiling: reads of at most 1.68 GB/s instead of 420 MB/s."),
        "{}",
        figure.pictures[2].note
    );
    assert_eq!(
        figure.pictures[3].note,
        "How much it brings cannot be computed. The ceiling of the next hop: reads of at most 1.68 GB/s."
    );
    let bound = figure.pictures[3].wide.element();
    assert!(bound.contains("lane unknown") && bound.contains("used at most 1.68 GB/s"), "{bound}");
    // What the slot could do beyond its uplink is not seen, so the uplink alone is the narrowest.
    let known = figure.pictures[2].wide.element();
    assert!(known.contains("at least 1.68 GB/s") && known.contains("today PCIe 2.0 x1"), "{known}");
    let marked = known.split("<g ").filter(|group| group.contains("data-mark=\"narrowest"));
    assert_eq!(marked.map(|group| group.contains("data-hop=\"chipset:")).collect::<Vec<_>>(), [true]);
    // The band and its interval are of today.
    assert!(figure.pictures.iter().skip(2).all(|picture| !picture.wide.element().contains("class=\"band")));
}

/// What `narrows predict` would say of the first advice.
fn foretold(report: &CheckReport) -> Counterfactual {
    let rate = |rate: f64| BytesPerSec::new(rate);
    Counterfactual {
        hop: report.findings[0].hop.clone().expect("a hop"),
        action: report.findings[0].advice[0].action.clone(),
        direction: Direction::Read,
        workload: "sequential reads of 1 MiB, 8 under way".to_owned(),
        foreseen: Foreseen {
            bytes_per_second: Some(rate(1.5e9)),
            interval_80: Some([rate(1.4e9), rate(1.55e9)]),
            interval_95: Some([rate(1.25e9), rate(1.6e9)]),
            ..Foreseen::default()
        },
    }
}

fn with_counterfactual(change: impl Fn(&mut Counterfactual)) -> Figure {
    let mut report = x1_slot();
    let mut it = foretold(&report);
    change(&mut it);
    report.paths[0].counterfactuals = vec![it];
    path_map(&report, 0).expect("a figure")
}

#[test]
fn what_is_predicted_of_an_advice_is_drawn_with_its_interval() {
    let figure = with_counterfactual(|_| {});
    let picture = &figure.pictures[2];
    let expected = "Predicted for sequential reads of 1 MiB, 8 under way: 1.5 GB/s, in 95 of 100 cases 1.25 GB/s to 1.6 GB/s.";
    assert!(picture.note.starts_with(expected), "{}", picture.note);
    for drawing in [Some(&picture.wide), picture.narrow.as_ref()].into_iter().flatten() {
        let svg = drawing.element();
        let stated = "data-predicted=\"1500000000\" data-predicted-interval=\"1250000000 1600000000\"";
        // On each of the four hops that move bytes.
        assert_eq!((svg.matches(stated).count(), svg.matches("band range").count() >= 4), (4, true), "{svg}");
    }
    // Of today and of the other advice nothing is foretold.
    for other in [0, 1, 3] {
        assert!(!figure.pictures[other].wide.element().contains("data-predicted"), "{other}");
    }
}

#[test]
fn where_a_prediction_is_refused_the_bound_is_dashed_and_the_reason_is_said() {
    let figure = with_counterfactual(|it| {
        let it = &mut it.foreseen;
        (it.bytes_per_second, it.interval_80, it.interval_95) = (None, None, None);
        it.at_most_bytes_per_second = Some(BytesPerSec::new(1.6e9));
        it.at_most_by = Some("DMI 2.0".to_owned());
        it.reason = Some("nobody measured it".to_owned());
        it.measure_instead = Some("reads behind the chipset".to_owned());
    });
    let picture = &figure.pictures[2];
    let expected = "Not predicted for sequential reads of 1 MiB, 8 under way: nobody measured it. It is at most 1.6 GB/s, by DMI 2.0. \
                    To know it, measure reads behind the chipset.";
    assert!(picture.note.starts_with(expected), "{}", picture.note);
    for drawing in [Some(&picture.wide), picture.narrow.as_ref()].into_iter().flatten() {
        let svg = drawing.element();
        assert!(svg.contains("data-at-most=\"1600000000\"") && svg.contains("class=\"atmost\""), "{svg}");
        assert!(!svg.contains("data-predicted"), "{svg}");
    }
}

#[test]
fn a_gain_of_writes_is_none_that_reads_cannot_have() {
    let mut report = x1_slot();
    for finding in &mut report.findings {
        finding
            .advice
            .iter_mut()
            .for_each(|advice| advice.gain_bytes_per_second = Some(BytesPerSec::new(9e9)));
    }
    let figure = path_map(&report, 0).expect("a figure");
    assert!(figure.pictures[2].note.contains("at most 1.68 GB/s"), "{}", figure.pictures[2].note);
    // Reads have another narrowest hop: the advice is about writes.
    let path = &mut report.paths[0];
    path.limiting_hop.read.clone_from(&path.next_hop.read);
    let figure = path_map(&report, 0).expect("a figure");
    assert!(figure.pictures[2].note.contains("writes of at most"), "{}", figure.pictures[2].note);
}

#[test]
fn broken_paths_are_drawn_and_do_not_hang() {
    let mut report = two_sockets();
    let ids: Vec<String> = report.paths[0].hops.iter().map(|hop| hop.id.clone()).collect();
    for hop in &mut report.paths[0].hops {
        hop.below.clone_from(&ids);
        hop.above = Some(ids[3].clone());
    }
    assert!(path_map(&report, 0).is_some());
    report.paths[0].hops.truncate(1);
    assert!(path_map(&report, 0).is_some());
    report.paths[0].hops.clear();
    assert!(path_map(&report, 0).is_none() && path_map(&report, 7).is_none());
}
