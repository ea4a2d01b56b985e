use super::*;
use narrows_verdict::Confidence;

fn report() -> FleetRunReport {
    serde_json::from_str(include_str!("../../../../../tests/figures/fleet-run.json")).expect("is a report")
}

fn map_of(report: &FleetRunReport) -> &FleetMap {
    report.points[0].map.as_ref().expect("a map")
}

#[test]
fn each_hop_stands_once_with_the_values_of_the_report_and_the_narrowest_is_marked() {
    let report = report();
    let figure = fleet_map(&report).expect("a figure");
    assert!(figure.alternative.starts_with(&report.points[0].verdict.sentence));
    for drawing in [Some(&figure.pictures[0].wide), figure.pictures[0].narrow.as_ref()].into_iter().flatten()
    {
        let svg = drawing.element();
        for hop in &map_of(&report).hops {
            let begin = format!("data-hop=\"{}\"", hop.id);
            assert_eq!(svg.matches(&begin).count(), 1, "{}", hop.id);
            let tag = svg.split_once(&begin).and_then(|(_, rest)| rest.split_once('>')).map(|(tag, _)| tag);
            let tag = tag.expect("is closed");
            let value = |name: &str, rate: Option<BytesPerSec>| match rate {
                Some(rate) => assert!(tag.contains(&format!("data-{name}=\"{}\"", rate.get())), "{tag}"),
                None => assert!(!tag.contains(&format!("data-{name}=")), "{tag}"),
            };
            value("ceiling", hop.ceiling);
            value("measured", hop.measured);
            assert_eq!(tag.contains("data-mark=\"narrowest\""), hop.is_narrowest, "{tag}");
        }
        assert!(svg.contains("58 equal hosts") && svg.contains("Server srv1"), "{svg}");
    }
    assert_eq!(figure.data.rows.len(), map_of(&report).hops.len());
}

#[test]
fn places_of_a_column_do_not_overlap_and_flows_end_at_lanes() {
    let report = report();
    let fleet = Fleet::new(&report.points[0], map_of(&report));
    for (at, one) in fleet.layout.places.iter().enumerate() {
        for other in fleet.layout.places.iter().skip(at + 1).filter(|other| other.left == one.left) {
            let apart = (one.middle - other.middle).abs();
            assert!(apart >= (one.thick + other.thick) / 2.0, "{one:?} {other:?}");
        }
    }
    for (from, to) in &fleet.edges {
        let [from, to] = [from, to].map(|at| &fleet.layout.places[*at]);
        assert!(from.left + from.width < to.left);
    }
}

#[test]
fn an_unsure_verdict_is_marked_as_such_and_a_cache_of_clients_is_doubted() {
    let mut report = report();
    report.points[0].verdict.limit.confidence = Confidence::Low;
    report.points[0].verdict.conservation.cache_of = Some(Side::Clients);
    let svg = fleet_map(&report).expect("a figure").pictures[0].wide.element();
    assert!(svg.contains("narrowest, a guess") && !svg.contains("data-mark=\"narrowest\""), "{svg}");
    assert!(svg.contains("not trusted") && svg.contains("band doubted"));
}

#[test]
fn without_any_ceiling_the_bands_have_the_scale_and_nothing_is_claimed() {
    let mut report = report();
    for hop in report.points[0].map.iter_mut().flat_map(|map| &mut map.hops) {
        (hop.ceiling, hop.formula, hop.reason) = (None, None, Some("no line rate".to_owned()));
    }
    let svg = fleet_map(&report).expect("a figure").pictures[0].wide.element();
    assert!(svg.contains("the width of a band is what was measured"), "{svg}");
    assert!(!svg.contains("is its ceiling") && !svg.contains("data-ceiling"));
}

#[test]
fn several_loads_are_shown_in_turn_and_names_are_text() {
    let mut report = report();
    let hostile = "</svg><script>x</script>\u{202e}";
    let mut second = report.points[0].clone();
    second.load.depth = 32;
    if let Some(map) = &mut second.map {
        map.hops.iter_mut().for_each(|hop| {
            hop.hosts = vec![hostile.to_owned(); hop.hosts.len()];
            hop.drives = vec![hostile.repeat(300)];
        });
    }
    report.points.push(second);
    let html = fleet_map(&report).expect("a figure").html((3, ""), "Values");
    assert_eq!(html.matches("type=\"radio\"").count(), 2);
    assert!(!html.contains("<script") && !html.contains('\u{202e}'));
    report.points.iter_mut().for_each(|point| point.map = None);
    assert_eq!(fleet_map(&report), None);
}
