use super::*;
use narrows_report::document::Style;

fn render(report: &TopReport, style: &Style) -> String {
    document(report, Audience::of(style)).text(style)
}

fn side(megabytes: f64, ceiling: Option<f64>) -> SideView {
    SideView {
        bytes_per_second: Some(BytesPerSec::from_mb(megabytes)),
        ceiling_bytes_per_second: ceiling.map(BytesPerSec::from_mb),
        basis: ceiling.map(|_| Basis::Formula),
    }
}

fn lane(kind: HopKind, depth: usize, name: &str, read: SideView) -> LaneView {
    let ceiling = read.ceiling_bytes_per_second.zip(read.bytes_per_second);
    LaneView {
        hop: format!("{kind}:{name}"),
        kind,
        name: name.to_owned(),
        depth,
        sources: Vec::new(),
        write: SideView { bytes_per_second: Some(BytesPerSec::default()), ..read.clone() },
        part_of_ceiling: ceiling.map(|(ceiling, rate)| rate.fraction_of(ceiling)),
        iops: read.bytes_per_second.map(|rate| Iops::new(rate.get() / 131_072.0)),
        latency_ns: Some(Nanos::from_millis(1)),
        in_flight: (kind == HopKind::Device).then_some(12.5),
        busy: None,
        is_estimate: false,
        link: (kind == HopKind::Link).then(|| "8.0 GT/s x4".to_owned()),
        reason: ceiling.is_none().then(|| "no data sheet".to_owned()),
        read,
    }
}

/// Two drives behind the uplink of a switch that is full, a drive at rest and an array.
pub(crate) fn report() -> TopReport {
    let uplink = "PCIe 3.0 x4 uplink of the switch 0000:03:00.0";
    let mut lanes = vec![lane(HopKind::Switch, 0, uplink, side(3400.0, Some(3580.0)))];
    for name in ["nvme0n1", "nvme1n1"] {
        let link = format!("PCIe 3.0 x4 link of {name}");
        lanes.push(lane(HopKind::Link, 1, &link, side(1700.0, Some(3580.0))));
        lanes.push(lane(HopKind::Device, 2, name, side(1700.0, None)));
    }
    let mut idle = lane(HopKind::Device, 0, "sda", side(0.0, Some(210.0)));
    (idle.is_estimate, idle.latency_ns, idle.in_flight) = (true, None, None);
    lanes.push(idle);
    lanes.push(lane(HopKind::Raid, 0, "RAID-0 md0", side(3400.0, None)));
    TopReport {
        schema: SCHEMA.to_owned(),
        tool: Tool { name: "narrows".to_owned(), version: "0".to_owned() },
        target: None,
        elapsed_ns: Nanos::from_millis(500),
        read_bytes_per_second: BytesPerSec::from_mb(3400.0),
        write_bytes_per_second: BytesPerSec::default(),
        fullest_hop: lanes.first().map(|lane| lane.hop.clone()),
        lanes,
        processes: vec![ProcessView {
            mover: Mover {
                pid: 4711,
                name: "fio".to_owned(),
                read: BytesPerSec::from_mb(3390.0),
                written: BytesPerSec::default(),
                devices: ["md0".to_owned()].into(),
            },
            hops: Vec::new(),
        }],
        resyncs: BTreeMap::new(),
        sentence: format!(
            "{uplink} is at its ceiling: 3.40 GB/s of 3.58 GB/s read (95 %). 2 drives share it."
        ),
        notes: vec!["what 312 processes move: `sudo narrows top` shows it".to_owned()],
        reason: None,
    }
}

#[test]
fn the_text_shows_each_hop_against_its_ceiling() {
    let style = Style { colour: false, width: 100, unicode: true, plain: false, verbose: false };
    insta::assert_snapshot!("text", render(&report(), &style));
}

#[test]
fn text_for_the_public_is_ascii_of_78_columns() {
    let mine = TopReport { target: Some("/home/anna".to_owned()), ..report() };
    let text = render(&mine, &Style::PLAIN);
    assert!(text.is_ascii(), "{text}");
    assert!(text.lines().all(|line| line.len() <= 78), "{text}");
    assert!(!text.contains("anna"), "a name tells of its owner: {text}");
}

#[test]
fn what_is_gone_or_still_is_no_number() {
    let gone = SideView { bytes_per_second: None, ceiling_bytes_per_second: None, basis: None };
    assert_eq!((table::rate(&gone), table::rate(&side(0.0, None))), ("gone".to_owned(), "-".to_owned()));
    assert_eq!(table::bar(None, 4, true), "    ");
    let bars: BTreeMap<u8, String> = [0_u8, 50, 100, 250]
        .map(|percent| (percent, table::bar(Some(f64::from(percent) / 100.0), 4, true)))
        .into();
    assert_eq!(bars.into_values().collect::<Vec<_>>(), ["░░░░", "██░░", "████", "████"]);
}
