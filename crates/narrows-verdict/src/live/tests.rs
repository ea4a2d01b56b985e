use std::collections::{BTreeMap, BTreeSet};

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, GtPerSec, Lanes as Width};
use narrows_machine::Machine;
use narrows_machine::activity::{LinkState, NicActivity};
use narrows_machine::block::BlockDevice;
use narrows_model::ceiling::{Ceiling, Ceilings, Limit};
use narrows_model::path::{
    DeviceHop, GivenHop, Hop, HopId, HopKind, HopSpec, LinkHop, NetworkHop, Path, RaidHop, Target, Traffic,
};

use super::*;

fn hop(kind: HopKind, name: &str, spec: HopSpec) -> Hop {
    Hop {
        id: HopId::new(kind, name),
        name: name.to_owned(),
        spec,
        traffic: Traffic::ONE,
        against: Traffic::NONE,
        depth: 0,
        above: None,
        below: Vec::new(),
        shared_with: Vec::new(),
    }
}

/// A hop that carries so many MB/s each way.
fn carries(kind: HopKind, name: &str, megabytes: f64) -> Hop {
    let rate = Fact::known(BytesPerSec::from_mb(megabytes), "test");
    let given = GivenHop { kind, read: rate.clone(), write: rate, does: String::new() };
    hop(kind, name, HopSpec::Given(given))
}

fn drive(name: &str, nearer_to_memory: Vec<Hop>) -> Path {
    let device = HopSpec::Device(DeviceHop { block: name.to_owned(), ..DeviceHop::default() });
    let mut hops = vec![hop(HopKind::Application, "application", HopSpec::Application)];
    hops.push(hop(HopKind::Device, name, device));
    hops.extend(nearer_to_memory);
    hops.push(hop(HopKind::Memory, "memory", HopSpec::Memory(Fact::default())));
    Path { target: format!("/dev/{name}"), asked: Target::Block(name.to_owned()), hops }
}

/// Four drives below a switch whose uplink carries 100 MB/s, and one beside it.
fn five() -> Vec<Path> {
    let mut paths: Vec<Path> = ["a", "b", "c", "d"]
        .map(|name| {
            let link = carries(HopKind::Link, &format!("link of {name}"), 80.0);
            drive(name, vec![link, carries(HopKind::Switch, "uplink", 100.0)])
        })
        .to_vec();
    paths.push(drive("e", vec![carries(HopKind::Link, "link of e", 80.0)]));
    paths
}

/// What two seconds brought: so many MB/s read and written by each disk, in I/Os of 1 MB that took 4 ms each.
fn activity(disks: &[(&str, f64, f64)]) -> Activity {
    let one = |(name, read, write): &(&str, f64, f64)| {
        let (reads, writes) = ((read * 2.0) as u64, (write * 2.0) as u64);
        let mean = Some(Nanos::from_millis(4));
        let disk = DiskActivity {
            read_bytes: Bytes::new(reads * 1_000_000),
            written_bytes: Bytes::new(writes * 1_000_000),
            reads,
            writes,
            read_latency: mean.filter(|_| reads > 0),
            write_latency: mean.filter(|_| writes > 0),
            in_flight: 3.0,
            busy: 1.0,
            ..DiskActivity::default()
        };
        ((*name).to_owned(), disk)
    };
    Activity {
        elapsed: Nanos::from_millis(2000),
        disks: disks.iter().map(one).collect(),
        ..Activity::default()
    }
}

const ALL: [(&str, f64, f64); 5] =
    [("a", 25.0, 0.0), ("b", 25.0, 0.0), ("c", 25.0, 0.0), ("d", 21.0, 0.0), ("e", 0.0, 40.0)];

fn at<'a>(lanes: &Lanes, picture: &'a Picture, name: &str) -> &'a LaneNow {
    let place = lanes.all().iter().position(|lane| lane.name == name).expect("is a lane");
    &picture.lanes[place]
}

#[test]
fn lanes_go_from_memory_to_the_media_each_below_what_it_hangs_on() {
    let lanes = Lanes::of(&Machine::default(), &five(), None);
    let told: Vec<(usize, &str)> = lanes.all().iter().map(|lane| (lane.depth, lane.name.as_str())).collect();
    let expected = [
        (0, "link of e"),
        (1, "e"),
        (0, "uplink"),
        (1, "link of a"),
        (2, "a"),
        (1, "link of b"),
        (2, "b"),
        (1, "link of c"),
        (2, "c"),
        (1, "link of d"),
        (2, "d"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_shared_hop_carries_what_all_behind_it_move_and_is_named_when_it_is_full() {
    let lanes = Lanes::of(&Machine::default(), &five(), None);
    let picture = lanes.now(&activity(&ALL), &[]);
    let uplink = at(&lanes, &picture, "uplink");
    assert_eq!(uplink.flow.read, BytesPerSec::from_mb(96.0));
    assert_eq!((uplink.fraction, uplink.fuller), (Some(0.96), Some(Direction::Read)));
    assert_eq!(uplink.iops, Some(Iops::new(96.0)));
    assert_eq!(uplink.latency, Some(Nanos::from_millis(4)));
    assert_eq!(picture.moved.sum(), BytesPerSec::from_mb(136.0), "each drive counts once");
    let sentence = "uplink is at its ceiling: 96 MB/s of 100 MB/s read (96 %). 4 drives share it.";
    assert_eq!(picture.sentence, sentence);
}

#[test]
fn below_its_ceiling_a_hop_is_only_the_fullest_and_who_waits_is_named() {
    let lanes = Lanes::of(&Machine::default(), &five(), None);
    let picture = lanes.now(&activity(&[("a", 20.0, 10.0), ("e", 0.0, 0.0)]), &[]);
    // b, c and d have no counters: what crosses the uplink is not known.
    assert_eq!(at(&lanes, &picture, "uplink").fraction, None);
    assert_eq!(at(&lanes, &picture, "uplink").gone.len(), 3);
    let sentence = "The fullest hop is link of a: 20 MB/s of 80 MB/s read (25 %). a always has requests to work on, \
        3 on average.";
    assert_eq!(picture.sentence, sentence);
}

#[test]
fn a_machine_at_rest_says_so_and_a_resync_is_told() {
    let lanes = Lanes::of(&Machine::default(), &five(), None);
    let mut still =
        activity(&[("a", 0.0, 0.0), ("b", 0.0, 0.0), ("c", 0.0, 0.0), ("d", 0.0, 0.0), ("e", 0.0, 0.0)]);
    let picture = lanes.now(&still, &[]);
    assert_eq!((picture.sentence.as_str(), picture.fullest), ("Nothing moves.", None));
    let resync = Resync { action: "recover".to_owned(), speed: Some(BytesPerSec::from_mb(95.0)) };
    still.resyncs.insert("md0".to_owned(), resync);
    assert_eq!(lanes.now(&still, &[]).sentence, "md0 works on itself (recover) at 95 MB/s.");
    assert_eq!(lanes.now(&Activity::default(), &[]).sentence, "Nothing moves.", "no time has passed");
}

#[test]
fn a_hop_whose_directions_share_one_capacity_is_as_full_as_both_together() {
    let paths = [drive("a", vec![carries(HopKind::Sata, "sata", 100.0)])];
    let lanes = Lanes::of(&Machine::default(), &paths, None);
    let picture = lanes.now(&activity(&[("a", 40.0, 50.0)]), &[]);
    let sata = at(&lanes, &picture, "sata");
    assert_eq!((sata.fraction, sata.fuller), (Some(0.9), None));
    assert!(picture.sentence.contains("40 MB/s of 100 MB/s read and 50 MB/s of 100 MB/s written (90 %)"));
}

#[test]
fn an_estimate_is_shown_and_never_called_the_fullest() {
    let mut lanes = Lanes::of(&Machine::default(), &five(), None);
    let estimate = Limit {
        rate: BytesPerSec::from_mb(26.0),
        raw: None,
        basis: Basis::Guess,
        formula: "a class of drives".to_owned(),
        facts: Vec::new(),
    };
    for lane in lanes.all.iter_mut().filter(|lane| lane.name == "a") {
        lane.ceilings =
            Ceilings { read: Ceiling::Known(estimate.clone()), write: Ceiling::Known(estimate.clone()) };
    }
    let picture = lanes.now(&activity(&ALL), &[]);
    assert!(at(&lanes, &picture, "a").is_estimate && at(&lanes, &picture, "a").fraction > Some(0.95));
    assert_eq!(picture.fullest.map(|at| lanes.all()[at].name.as_str()), Some("uplink"));
}

#[test]
fn a_link_under_load_is_judged_by_what_it_shows_then() {
    let mut link = LinkHop::default();
    link.device.address = "0000:02:00.0".parse().expect("an address");
    link.device.link.current_speed = Fact::known(GtPerSec::GEN3, "test");
    link.device.link.max_speed = Fact::known(GtPerSec::GEN3, "test");
    link.device.link.current_width = Fact::known(Width::new(4), "test");
    link.device.link.max_width = Fact::known(Width::new(4), "test");
    let address = link.device.address;
    let link = hop(HopKind::Link, "link", HopSpec::Link(Box::new(link)));
    let mut lanes = Lanes::of(&Machine::default(), &[drive("a", vec![link])], None);
    assert_eq!(lanes.links().collect::<Vec<_>>(), [address]);
    let ceiling = |lanes: &Lanes| lanes.all()[0].ceilings.read.rate().expect("is known");
    let whole = ceiling(&lanes);
    let slow = LinkState { speed: Some(GtPerSec::GEN1), width: Some(Width::new(4)) };
    let mut rest = activity(&[("a", 1.0, 0.0)]);
    rest.links.insert(address, slow);
    lanes.settle(&rest);
    assert_eq!(ceiling(&lanes), whole, "at rest a link may save power");
    let mut loaded = activity(&[("a", 300.0, 0.0)]);
    loaded.links.insert(address, slow);
    lanes.settle(&loaded);
    // 2.5 GT/s with 8b/10b against 8 GT/s with 128b/130b on as many lanes: about a quarter.
    let part = ceiling(&lanes).fraction_of(whole);
    assert!((0.2..0.3).contains(&part), "{part}");
}

#[test]
fn a_server_is_behind_its_interface_whose_counters_tell_what_crosses_the_card() {
    let network = NetworkHop { interface: "eth0".to_owned(), ..NetworkHop::default() };
    let hops = vec![
        hop(HopKind::Network, "eth0", HopSpec::Network(network)),
        carries(HopKind::Link, "link of the card", 1000.0),
    ];
    let lanes = Lanes::of(&Machine::default(), &[drive("nvme1n1", hops)], None);
    let mut activity = activity(&[("nvme1n1", 50.0, 0.0)]);
    let moved = NicActivity { received: BytesPerSec::from_mb(110.0), ..NicActivity::default() };
    activity.nics.insert("eth0".to_owned(), moved);
    let picture = lanes.now(&activity, &[]);
    assert_eq!(at(&lanes, &picture, "nvme1n1").flow.read, BytesPerSec::from_mb(50.0));
    let card = at(&lanes, &picture, "link of the card");
    assert_eq!((card.flow.read, card.iops), (BytesPerSec::from_mb(110.0), None));
}

#[test]
fn a_foreign_load_is_ascribed_to_the_path_that_its_files_lie_on() {
    let mut machine = Machine::default();
    for name in ["a", "b", "e"] {
        machine.block.insert(name.to_owned(), BlockDevice::default());
    }
    let array = BlockDevice { slaves: vec!["a".to_owned(), "b".to_owned()], ..BlockDevice::default() };
    machine.block.insert("md0".to_owned(), array);
    let mut paths = five();
    let mut stacked = drive("a", Vec::new());
    stacked.asked = Target::Block("md0".to_owned());
    let raid = RaidHop { block: "md0".to_owned(), ..RaidHop::default() };
    stacked.hops.insert(1, hop(HopKind::Raid, "md0", HopSpec::Raid(Box::new(raid))));
    paths.push(stacked.clone());
    let lanes = Lanes::of(&machine, &paths, None);
    let mover = |pid, name: &str, device: &str, read| Mover {
        pid,
        name: name.to_owned(),
        read: BytesPerSec::from_mb(read),
        written: BytesPerSec::default(),
        devices: BTreeSet::from([device.to_owned()]),
    };
    let movers = [mover(9, "cp", "e", 60.0), mover(7, "fio", "md0", 50.0)];
    let mut disks = ALL.to_vec();
    disks.push(("md0", 50.0, 0.0));
    let picture = lanes.now(&activity(&disks), &movers);
    assert_eq!(
        picture.moved.sum(),
        BytesPerSec::from_mb(136.0),
        "an array moves no bytes beside its members'"
    );
    assert!(
        picture.sentence.ends_with("fio (7) reads 50 MB/s; its open files are on md0."),
        "{}",
        picture.sentence
    );
    // Of the path to the array, only who has files behind it.
    let lanes = Lanes::of(&machine, &paths, Some(&stacked));
    let names: BTreeMap<u32, String> =
        lanes.now(&activity(&disks), &movers).movers.into_iter().map(|one| (one.pid, one.name)).collect();
    assert_eq!(names.into_values().collect::<Vec<_>>(), ["fio"]);
}
