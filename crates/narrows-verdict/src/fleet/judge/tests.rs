use narrows_base::units::{Bytes, Nanos};

use super::super::record::{DrivesLeg, DrivesRate, LegFlow, Load, NetworkLeg, PointRecord, State};
use super::super::samples::DiskActivity;
use super::super::testing::{STEP, load, record, run, told};
use super::*;

/// Six clients that read 12 MB/s each from one server; what the server's connections are like is given by client.
fn verdict(
    flow: impl Fn(usize) -> (f64, u64),
    change: impl Fn(&mut Run, &mut Vec<Option<Activity>>, &mut Vec<Option<Activity>>),
) -> Verdict {
    let point = record(6, 10);
    let told: Vec<_> = (0..6).map(|_| told(0, 12_000, 10, &[(1000, 900)])).collect();
    let counted = super::super::Point::of(&point, &told, STEP);
    let mut whole = run(6, 1, point);
    let ends = |client: usize| (format!("10.0.0.{}:500", client + 2), "10.0.0.1:10809".to_owned());
    let mut clients: Vec<Option<Activity>> = (0..6)
        .map(|client| {
            let (local, remote) = ends(client);
            let flow = FlowActivity { local, remote, ..FlowActivity::default() };
            Some(Activity { flows: vec![flow], cpu: Some(0.2), ..Activity::default() })
        })
        .collect();
    let flows = (0..6).map(|client| {
        let ((remote, local), (busy, rtt)) = (ends(client), flow(client));
        FlowActivity {
            local,
            remote,
            busy,
            rtt: Nanos::new(rtt * 1000),
            least_rtt: Nanos::new(50_000),
            sent: BytesPerSec::new(12e6),
            ..FlowActivity::default()
        }
    });
    let nics = BTreeMap::from([("eth0".to_owned(), [BytesPerSec::new(1e6), BytesPerSec::new(76e6)])]);
    let server = Activity { flows: flows.collect(), cpu: Some(0.3), nics, ..Activity::default() };
    let mut servers = vec![Some(server)];
    change(&mut whole, &mut clients, &mut servers);
    judge(&Case {
        run: &whole,
        record: &whole.points[0],
        point: &counted,
        clients: &clients,
        servers: &servers,
    })
}

#[test]
fn each_side_of_the_network_is_named_with_its_rate() {
    let server = verdict(|_| (0.99, 11_000), |_, _, _| {});
    assert_eq!(server.limit.kind, Kind::ServerNic);
    assert_eq!(server.sentence, "6 clients read 73.7 MB/s; network card of s0 limits them.");
    let trunk = verdict(|client| if client > 2 { (0.99, 16_800) } else { (0.08, 250) }, |_, _, _| {});
    assert_eq!((trunk.limit.kind, trunk.limit.clients.as_slice()), (Kind::Fabric, &[3, 4, 5][..]));
    assert!((trunk.limit.bytes_per_second.get() - 36_000.0 * 1024.0).abs() < 1e3);
    assert!(trunk.sentence.contains("limits 3 of them (36.9 MB/s)"), "{}", trunk.sentence);
    let one = verdict(|client| if client == 4 { (1.0, 8_000) } else { (0.02, 60) }, |_, _, _| {});
    assert_eq!((one.limit.kind, one.limit.clients.as_slice()), (Kind::ClientNic, &[4][..]));
}

// As NVMe/TCP has it: a connection of the administrative queue for each controller, and the controller of a drive not in use.
#[test]
fn connections_that_carry_keep_alives_alone_do_not_free_a_server() {
    let idle = |activity: &mut Activity| {
        let port = |address: &str| address.replace(":500", ":501");
        let spare: Vec<FlowActivity> = activity
            .flows
            .iter()
            .map(|flow| FlowActivity {
                local: port(&flow.local),
                remote: port(&flow.remote),
                busy: 0.0,
                rtt: Nanos::new(60_000),
                sent: BytesPerSec::new(30.0),
                ..flow.clone()
            })
            .collect();
        activity.flows.extend(spare);
    };
    let both = |clients: &mut Vec<Option<Activity>>, servers: &mut Vec<Option<Activity>>| {
        clients.iter_mut().chain(servers).flatten().for_each(idle);
    };
    let card = verdict(|_| (0.99, 11_000), |_, clients, servers| both(clients, servers));
    assert_eq!((card.limit.kind, card.limit.clients.len()), (Kind::ServerNic, 6));
    let trunk = |client| if client > 2 { (0.99, 16_800) } else { (0.08, 250) };
    let trunk = verdict(trunk, |_, clients, servers| both(clients, servers));
    assert_eq!((trunk.limit.kind, trunk.limit.clients.as_slice()), (Kind::Fabric, &[3, 4, 5][..]));
}

#[test]
fn without_a_queue_the_storage_is_named_and_without_servers_nothing() {
    let drives = verdict(|_| (0.05, 60), |_, _, _| {});
    assert_eq!((drives.limit.kind, drives.limit.confidence), (Kind::Drive, Confidence::Low));
    let busy = verdict(
        |_| (0.05, 60),
        |run, _, servers| {
            run.servers[0].target.as_mut().unwrap().drives = vec!["nvme0n1".to_owned()];
            let disk = DiskActivity { read: BytesPerSec::new(75e6), busy: 0.99, ..DiskActivity::default() };
            servers[0].as_mut().unwrap().disks.insert("nvme0n1".to_owned(), disk);
        },
    );
    assert_eq!((busy.limit.kind, busy.limit.confidence), (Kind::Drive, Confidence::Medium));
    let memory = |flow: (f64, u64)| {
        verdict(
            move |_| flow,
            |run, _, servers| {
                run.servers[0].target.as_mut().unwrap().drives = vec!["sda".to_owned()];
                servers[0].as_mut().unwrap().disks.insert("sda".to_owned(), DiskActivity::default());
            },
        )
    };
    // The servers' memory answers: a queue of the network limits that all the same.
    assert_eq!(memory((0.05, 60)).limit.kind, Kind::Cache);
    let queued = memory((0.99, 11_000));
    assert_eq!((queued.limit.kind, queued.conservation.cache_of), (Kind::ServerNic, Some(Side::Servers)));
    let blind = verdict(
        |_| (0.99, 11_000),
        |run, _, servers| {
            run.servers.clear();
            servers.clear();
        },
    );
    assert_eq!(blind.limit.kind, Kind::Unknown);
    assert!(blind.sentence.contains("the servers were not watched"), "{}", blind.sentence);
}

#[test]
fn the_run_itself_is_suspected_first() {
    let full = verdict(
        |_| (0.99, 11_000),
        |_, clients, _| {
            clients.iter_mut().flatten().for_each(|client| client.cpu = Some(0.99));
        },
    );
    assert_eq!(full.limit.kind, Kind::Generator);
    let capped = verdict(
        |_| (0.01, 60),
        |run, _, _| {
            run.points[0].load.rate_cap = Some(BytesPerSec::new(74e6));
        },
    );
    assert_eq!(capped.limit.kind, Kind::RateCap);
    let cached = verdict(
        |_| (0.01, 60),
        |_, _, servers| {
            let quarter = [BytesPerSec::new(1e6), BytesPerSec::new(19e6)];
            servers[0].as_mut().unwrap().nics.insert("eth0".to_owned(), quarter);
        },
    );
    assert_eq!(cached.limit.kind, Kind::Cache);
    assert!(cached.conservation.differs.is_some_and(|why| why.contains("a cache of the clients")));
    let server = verdict(|_| (0.01, 60), |_, _, servers| servers[0].as_mut().unwrap().cpu = Some(0.99));
    assert_eq!(server.limit.kind, Kind::ServerCpu);
}

// As seen with nbdkit behind a filter that lets 20 MB/s through, on two processors that builds at idle priority kept busy; and with
// nbdkit that compresses.
#[test]
fn full_processors_of_a_server_limit_where_serving_fills_them_or_waits_for_them() {
    let with = |kernel: f64, serving: [f64; 2]| {
        let change = move |_: &mut Run, _: &mut Vec<_>, servers: &mut Vec<Option<Activity>>| {
            let server = servers[0].as_mut().unwrap();
            (server.cpu, server.processors) = (Some(0.999), 2);
            (server.kernel, server.serving) = (Some(kernel), Some(serving));
        };
        verdict(|_| (0.05, 60), change).limit
    };
    let others = with(0.3, [0.1, 0.02]);
    assert_eq!(others.kind, Kind::Drive, "{others:?}");
    assert!(others.evidence.iter().any(|why| why.contains("other work fills them")), "{others:?}");
    for (kernel, serving) in [(0.4, [1.7, 0.1]), (1.8, [0.0, 0.0]), (0.3, [0.3, 0.9])] {
        let full = with(kernel, serving);
        assert_eq!(full.kind, Kind::ServerCpu, "{full:?}");
    }
}

// As seen with files in the hosts' own memory, beside a server that shared their processors.
#[test]
fn a_server_that_serves_nothing_of_what_is_read_limits_nothing() {
    let busy = verdict(
        |_| (0.99, 11_000),
        |run, _, servers| {
            run.clients.iter_mut().for_each(|client| client.target.as_mut().unwrap().server = None);
            servers[0].as_mut().unwrap().cpu = Some(0.99);
        },
    );
    assert!(!matches!(busy.limit.kind, Kind::ServerCpu | Kind::ServerNic), "{:?}", busy.limit);
}

// As seen with six clients at a cap of 8 MB/s each, one of which read from an export of 2 MB/s, on a server whose processors were busy.
#[test]
fn one_slow_client_is_no_limit_of_all_that_reach_their_cap() {
    let point =
        PointRecord { load: Load { rate_cap: Some(BytesPerSec::new(48e6)), ..load(10) }, ..record(6, 10) };
    let told: Vec<_> =
        (0..6).map(|client| told(0, if client == 2 { 2_700 } else { 7_800 }, 10, &[(1000, 900)])).collect();
    let counted = super::super::Point::of(&point, &told, STEP);
    let whole = run(6, 1, point);
    let nics = BTreeMap::from([("eth0".to_owned(), [BytesPerSec::new(1e6), BytesPerSec::new(46e6)])]);
    let servers = [Some(Activity { cpu: Some(1.0), processors: 2, nics, ..Activity::default() })];
    let clients = vec![Some(Activity { cpu: Some(0.2), ..Activity::default() }); 6];
    let case =
        Case { run: &whole, record: &whole.points[0], point: &counted, clients: &clients, servers: &servers };
    let verdict = judge(&case);
    assert_eq!((verdict.limit.kind, verdict.limit.clients.as_slice()), (Kind::RateCap, &[0, 1, 3, 4, 5][..]));
    assert!(verdict.limit.evidence[0].starts_with("c2 gets 2.76 MB/s of 8 MB/s"), "{:?}", verdict.limit);
    assert!(verdict.sentence.contains("5 of them as much as was asked for"), "{}", verdict.sentence);
}

#[test]
fn nobody_left_is_said() {
    let point = record(1, 10);
    let counted = super::super::Point::of(&point, &[super::super::Told::default()], STEP);
    assert_eq!(counted.hosts[0].outcome.state, State::Failed);
    let whole = run(1, 0, point);
    let case = Case { run: &whole, record: &whole.points[0], point: &counted, clients: &[], servers: &[] };
    let verdict = judge(&case);
    assert_eq!(verdict.sentence, "No client has a result that counts.");
}

/// The network alone with so many MB/s in all.
fn alone(mb: u64, is_write: bool) -> NetworkLeg {
    let flow = |client| LegFlow { client, server: 0, bytes: Bytes::new(mb * 1_000_000 * 5 / 6) };
    NetworkLeg {
        is_write,
        time_ns: Nanos::from_millis(5000),
        flows: (0..6).map(flow).collect(),
        ..NetworkLeg::default()
    }
}

#[test]
fn the_network_alone_takes_the_network_off_the_list_or_names_it() {
    let with = |flow: (f64, u64), leg: NetworkLeg| {
        verdict(move |_| flow, move |run, _, _| run.network_leg = Some(leg.clone())).limit
    };
    let same = with((0.05, 60), alone(76, false));
    assert_eq!((same.kind, same.confidence), (Kind::Network, Confidence::Medium), "{same:?}");
    let more = with((0.05, 60), alone(200, false));
    assert_eq!((more.kind, more.confidence), (Kind::Drive, Confidence::Medium), "{more:?}");
    assert!(more.evidence.iter().any(|why| why.contains("the network alone carried 200 MB/s")), "{more:?}");
    let queued = with((0.99, 11_000), alone(200, false));
    assert_eq!((queued.kind, queued.confidence), (Kind::ServerNic, Confidence::Medium), "{queued:?}");
    let full = with((0.99, 11_000), alone(76, false));
    assert_eq!((full.kind, full.confidence), (Kind::ServerNic, Confidence::High), "{full:?}");
    // The other way, with a client less, and no further than the cap: these tell nothing of this run.
    let mut fewer = alone(76, false);
    fewer.flows.pop();
    let capped = NetworkLeg { rate_cap: Some(BytesPerSec::new(76e6)), ..alone(76, false) };
    for leg in [alone(76, true), fewer, capped] {
        assert_eq!(with((0.05, 60), leg.clone()).kind, Kind::Drive, "{leg:?}");
    }
}

#[test]
fn the_speeds_of_cards_tell_the_sides_of_one_client_and_its_server_apart() {
    // Only the first client reads, 76 MB/s from one server.
    let of = |client: &'static str, server: &'static str| {
        let verdict = verdict(
            |_| (1.0, 9_000),
            move |run, clients, servers| {
                let card = |speed: &str| {
                    BTreeMap::from([
                        ("speed of eth0".to_owned(), speed.to_owned()),
                        ("MTU of eth0".to_owned(), "1500".to_owned()),
                    ])
                };
                run.clients[0].facts = card(client);
                run.servers[0].facts = card(server);
                let mut nics = servers[0].as_ref().unwrap().nics.clone();
                nics.get_mut("eth0").unwrap().swap(0, 1);
                clients[0].as_mut().unwrap().nics = nics;
                clients.iter_mut().skip(1).for_each(|client| client.as_mut().unwrap().flows.clear());
            },
        );
        verdict.limit.kind
    };
    assert_eq!(of("640", "10000"), Kind::ClientNic);
    assert_eq!(of("10000", "640"), Kind::ServerNic);
    assert_eq!(of("640", "640"), Kind::Network);
    assert_eq!(of("10000", "10000"), Kind::Network, "something between them, or that shapes a card");
    assert_eq!(of("-1", "640"), Kind::ServerNic);
    assert_eq!(of("-1", "-1"), Kind::Network);
}

#[test]
fn the_drives_alone_tell_them_from_the_software_before_them() {
    let leg = |mb: f64| DrivesLeg {
        load: Some(record(6, 10).load),
        rates: vec![DrivesRate { server: 0, bytes_per_second: BytesPerSec::new(mb * 1e6) }],
        ..DrivesLeg::default()
    };
    let with = |flow: (f64, u64), leg: DrivesLeg| {
        verdict(move |_| flow, move |run, _, _| run.drives_leg = Some(leg.clone())).limit
    };
    let free = (0.05, 60);
    let same = with(free, leg(76.0));
    assert_eq!(
        (same.name.as_str(), same.confidence),
        ("drives of the servers", Confidence::Medium),
        "{same:?}"
    );
    assert!(same.evidence.iter().any(|why| why == "the servers' drives alone gave 76 MB/s"), "{same:?}");
    let more = with(free, leg(300.0));
    assert_eq!((more.kind, more.confidence), (Kind::Unknown, Confidence::Low), "{more:?}");
    assert!(
        more.evidence[0].contains("alone gave 300 MB/s")
            && more.evidence[0].contains("not the servers' drives")
    );
    // Neither clearly more nor the same; no further than the cap; not of every server; and a network that is full.
    let capped = DrivesLeg { rate_cap: Some(BytesPerSec::new(76e6)), ..leg(76.0) };
    let none = DrivesLeg { rates: Vec::new(), ..leg(0.0) };
    let other = |change: fn(&mut Load)| {
        let mut leg = leg(76.0);
        change(leg.load.as_mut().unwrap());
        leg
    };
    let larger = other(|load| load.block_size = Bytes::from_mib(1));
    let deeper = other(|load| load.depth += 1);
    for leg in [leg(88.0), capped, none, larger, deeper] {
        let name = with(free, leg.clone()).name;
        assert_eq!(name, "the storage of the servers (drives, or the software before them)", "{leg:?}");
    }
    assert_eq!(with((0.99, 11_000), leg(76.0)).kind, Kind::ServerNic);
}

#[test]
fn drives_and_cards_of_a_server_on_two_sockets_are_told() {
    let of = |drive: &'static str, card: &'static str| {
        let verdict = verdict(
            |_| (0.99, 11_000),
            move |run, _, servers| {
                let host = &mut run.servers[0];
                host.target.as_mut().unwrap().drives = vec!["nvme0n1".to_owned()];
                host.facts.insert(format!("{NODE}nvme0n1"), drive.to_owned());
                host.facts.insert(format!("{NODE}eth0"), card.to_owned());
                let disk = DiskActivity { read: BytesPerSec::new(75e6), ..DiskActivity::default() };
                servers[0].as_mut().unwrap().disks.insert("nvme0n1".to_owned(), disk);
            },
        );
        verdict.limit.evidence.iter().any(|why| why.contains("crosses the link between sockets"))
    };
    assert!(of("1", "0"));
    assert!(!of("1", "1") && !of("-", "0"));
}
