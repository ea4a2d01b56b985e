use std::collections::BTreeMap;

use narrows_base::units::Nanos;

use super::super::judge;
use super::*;
use crate::fleet::record::{Run, State};
use crate::fleet::samples::{DiskActivity, FlowActivity};
use crate::fleet::testing::{STEP, record, run, told};
use crate::fleet::{Point, Told};

/// Clients that read 12.288 MB/s each; what the connections of each are like, and what else is changed.
struct Fleet {
    run: Run,
    told: Vec<Told>,
    clients: Vec<Option<Activity>>,
    servers: Vec<Option<Activity>>,
}

impl Fleet {
    fn new(count: usize, servers: usize, flow: impl Fn(usize) -> (f64, u64)) -> Self {
        let told: Vec<_> = (0..count).map(|_| told(0, 12_000, 10, &[(1000, 900)])).collect();
        let mut run = run(count, servers, record(count, 10));
        let facts = BTreeMap::from([
            ("speed of eth0".to_owned(), "10000".to_owned()),
            ("MTU of eth0".to_owned(), "1500".to_owned()),
        ]);
        run.clients.iter_mut().chain(&mut run.servers).for_each(|host| host.facts = facts.clone());
        let rate = |received: f64, sent: f64| [BytesPerSec::new(received), BytesPerSec::new(sent)];
        let ends = |client: usize| (format!("10.0.0.{}:500", client + 2), "10.0.0.1:10809".to_owned());
        let clients = (0..count).map(|client| {
            let (local, remote) = ends(client);
            let flow = FlowActivity { local, remote, ..FlowActivity::default() };
            let nics = BTreeMap::from([("eth0".to_owned(), rate(12.9e6, 1e5))]);
            Some(Activity { flows: vec![flow], nics, cpu: Some(0.2), ..Activity::default() })
        });
        let flows = (0..count).map(|client| {
            let ((remote, local), (busy, rtt)) = (ends(client), flow(client));
            let (rtt, least_rtt) = (Nanos::new(rtt * 1000), Nanos::new(50_000));
            let sent = BytesPerSec::new(12e6);
            FlowActivity { local, remote, busy, rtt, least_rtt, sent, ..FlowActivity::default() }
        });
        let flows: Vec<FlowActivity> = flows.collect();
        let sent = 12.9e6 * count as f64 / servers.max(1) as f64;
        let server = |place: usize| {
            let nics = BTreeMap::from([("eth0".to_owned(), rate(1e5, sent))]);
            let disks = BTreeMap::from([
                (
                    "nvme0n1".to_owned(),
                    DiskActivity { read: BytesPerSec::new(sent), busy: 0.4, ..DiskActivity::default() },
                ),
                ("sda".to_owned(), DiskActivity::default()),
            ]);
            let flows = if place == 0 { flows.clone() } else { Vec::new() };
            Some(Activity { flows, nics, disks, cpu: Some(0.3), ..Activity::default() })
        };
        for host in &mut run.servers {
            host.target.as_mut().expect("a target").drives = vec!["nvme0n1".to_owned(), "sda".to_owned()];
        }
        Self { clients: clients.collect(), servers: (0..servers).map(server).collect(), run, told }
    }

    fn map(&self, apart: &[usize]) -> FleetMap {
        let point = Point::of(&self.run.points[0], &self.told, STEP);
        let case = Case {
            run: &self.run,
            record: &self.run.points[0],
            point: &point,
            clients: &self.clients,
            servers: &self.servers,
        };
        let limit = judge(&case).limit;
        map(&case, &limit, &apart.iter().copied().collect()).expect("a map")
    }
}

fn parts(map: &FleetMap) -> Vec<(Part, usize, bool)> {
    map.hops.iter().map(|hop| (hop.part, hop.hosts.len(), hop.is_narrowest)).collect()
}

/// Each hop but the last ones leads to one that is there, and every one but the first ones is led to.
fn is_whole(map: &FleetMap) {
    let first = map.hops.iter().map(|hop| hop.part).min();
    for hop in &map.hops {
        assert!(hop.behind.iter().all(|id| map.hops.iter().any(|other| other.id == *id)), "{hop:?}");
        let is_led_to = map.hops.iter().any(|other| other.behind.contains(&hop.id));
        assert!(is_led_to || Some(hop.part) == first, "{hop:?}");
        assert_eq!(hop.ceiling.is_none(), hop.reason.is_some(), "{hop:?}");
        assert_eq!(map.hops.iter().filter(|other| other.id == hop.id).count(), 1);
    }
}

#[test]
fn sixty_hosts_that_are_alike_are_one_hop_and_the_full_card_is_marked() {
    let map = Fleet::new(60, 1, |_| (0.99, 11_000)).map(&[]);
    is_whole(&map);
    use Part::{ClientNetwork, Drives, Network, ServerNetwork};
    let want =
        [(ClientNetwork, 60, false), (Network, 60, false), (ServerNetwork, 1, true), (Drives, 1, false)];
    assert_eq!(parts(&map), want);
    // By hand: 10 Gbit/s ÷ 8 × 1448/1538, of sixty cards; 12,000 KiB/s of sixty hosts.
    let clients = &map.hops[0];
    assert!((clients.ceiling.expect("is known").get() / 1e9 - 60.0 * 1.25 * 1448.0 / 1538.0).abs() < 1e-6);
    assert!((clients.measured.expect("is known").get() - 60.0 * 12_000.0 * 1024.0).abs() < 1e3);
    assert!((map.hops[2].measured.expect("is known").get() - 60.0 * 12.9e6).abs() < 1e3);
    assert_eq!(map.hops[3].drives, ["nvme0n1"], "a drive that carried nothing is none of the storage");
    assert_eq!(map.hops[3].busy, Some([0.4, 0.4]));
}

#[test]
fn hosts_that_share_what_limits_them_are_apart_with_that() {
    let map = Fleet::new(6, 1, |client| if client > 2 { (0.99, 16_800) } else { (0.08, 250) }).map(&[]);
    is_whole(&map);
    let networks: Vec<&MapHop> = map.hops.iter().filter(|hop| hop.part == Part::Network).collect();
    assert_eq!(networks.len(), 2);
    assert_eq!(
        (networks[0].hosts.as_slice(), networks[0].is_narrowest),
        (&["c3", "c4", "c5"].map(str::to_owned)[..], true)
    );
    assert!(!networks[1].is_narrowest && networks.iter().all(|hop| hop.ceiling.is_none()));
    let shared = map.hops.iter().find(|hop| hop.behind == [networks[0].id.clone()]).expect("its clients");
    assert_eq!(shared.hosts, networks[0].hosts);
    let one = Fleet::new(6, 1, |client| if client == 4 { (1.0, 8_000) } else { (0.02, 60) }).map(&[]);
    assert_eq!(parts(&one)[0], (Part::ClientNetwork, 1, true));
}

#[test]
fn what_is_unlike_the_others_or_without_a_result_has_a_hop_of_its_own() {
    let mut fleet = Fleet::new(8, 1, |_| (0.99, 11_000));
    fleet.told[7] = Told::default();
    fleet.run.clients[2].facts.insert("speed of eth0".to_owned(), "1000".to_owned());
    let map = fleet.map(&[5]);
    is_whole(&map);
    let clients: Vec<&MapHop> = map.hops.iter().filter(|hop| hop.part == Part::ClientNetwork).collect();
    let sizes: Vec<(usize, usize)> = clients.iter().map(|hop| (hop.hosts.len(), hop.lost)).collect();
    assert_eq!(sizes, [(1, 0), (1, 0), (5, 0), (1, 1)]);
    assert_eq!(clients[0].hosts, ["c5"]);
    assert_eq!(clients[3].measured, None);
}

#[test]
fn a_card_that_tells_no_line_rate_and_a_bond_are_not_guessed() {
    let mut fleet = Fleet::new(2, 1, |_| (0.99, 11_000));
    fleet.run.clients[0].facts.insert("speed of eth0".to_owned(), "-1".to_owned());
    fleet.run.clients[1].facts.clear();
    let map = fleet.map(&[]);
    is_whole(&map);
    let clients = map.hops.iter().filter(|hop| hop.part == Part::ClientNetwork);
    let why: Vec<&str> = clients.filter_map(|hop| hop.reason.as_deref()).collect();
    assert!(why.len() == 2 && why.iter().any(|why| why.contains("eth0 does not tell")), "{why:?}");
    // Two members of a bond carry half of it each: both count, and the bond is not counted again.
    let mut bonded = Fleet::new(2, 1, |_| (0.99, 11_000));
    for host in &mut bonded.run.clients {
        host.facts.insert("speed of eth1".to_owned(), "10000".to_owned());
    }
    for activity in bonded.clients.iter_mut().flatten() {
        let [all, half] = [12.9e6, 6.45e6].map(|rate| [BytesPerSec::new(rate), BytesPerSec::default()]);
        activity.nics =
            BTreeMap::from([("bond0".to_owned(), all), ("eth0".to_owned(), half), ("eth1".to_owned(), half)]);
    }
    let ceiling = bonded.map(&[]).hops[0].ceiling.expect("is known").get();
    assert!((ceiling / 1e9 - 4.0 * 1.25 * 1448.0 / 1538.0).abs() < 1e-6, "{ceiling}");
}

#[test]
fn unwatched_servers_and_drives_of_each_host_are_said() {
    let mut blind = Fleet::new(3, 0, |_| (0.99, 11_000));
    let map = blind.map(&[]);
    is_whole(&map);
    let far = map.hops.last().expect("a hop");
    assert_eq!((far.part, far.hosts.as_slice()), (Part::ServerNetwork, &["10.0.0.1:10809".to_owned()][..]));
    assert!(map.hops.iter().all(|hop| !hop.is_narrowest), "nothing is known to limit");
    for (number, host) in blind.run.clients.iter_mut().enumerate() {
        let target = host.target.as_mut().expect("a target");
        (target.server, target.drives) = (None, vec![format!("nvme{number}n1")]);
        let disk = DiskActivity { read: BytesPerSec::new(12.2e6), busy: 0.99, ..DiskActivity::default() };
        blind.clients[number].as_mut().expect("has").disks.insert(format!("nvme{number}n1"), disk);
    }
    let map = blind.map(&[]);
    is_whole(&map);
    assert_eq!(parts(&map), [(Part::Drives, 3, true)]);
    assert!((map.hops[0].measured.expect("is known").get() - 36.6e6).abs() < 1.0);
}

#[test]
fn no_host_that_counts_is_no_map_and_many_kinds_are_few_hops() {
    let mut fleet = Fleet::new(30, 1, |_| (0.99, 11_000));
    for (number, host) in fleet.run.clients.iter_mut().enumerate() {
        host.facts.insert("speed of eth0".to_owned(), format!("{}", 1000 * (number + 1)));
    }
    let map = fleet.map(&[]);
    is_whole(&map);
    let clients = map.hops.iter().filter(|hop| hop.part == Part::ClientNetwork);
    let sizes: Vec<usize> = clients.map(|hop| hop.hosts.len()).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (6, 30));
    fleet.told = vec![Told::default(); 30];
    let point = Point::of(&fleet.run.points[0], &fleet.told, STEP);
    let case = Case {
        run: &fleet.run,
        record: &fleet.run.points[0],
        point: &point,
        clients: &fleet.clients,
        servers: &fleet.servers,
    };
    assert_eq!(point.hosts[0].outcome.state, State::Failed);
    assert_eq!(map_of_none(&case), None);
}

fn map_of_none(case: &Case<'_>) -> Option<FleetMap> {
    map(case, &judge(case).limit, &BTreeSet::new())
}
