use super::super::record::State;
use super::super::samples::DiskActivity;
use super::super::testing::{STEP, record, run, told};
use super::*;
use narrows_base::units::Nanos;

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
