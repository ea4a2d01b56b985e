//! Machines under load, and the hop that each shows to be the bottleneck.

use narrows_base::fact::Fact;
use narrows_base::units::{BytesPerSec, Nanos};
use narrows_machine::activity::{NicActivity, Resync, TcpState};
use narrows_machine::block::{CryptTable, Remote};
use narrows_machine::cipher::CipherRate;
use narrows_model::path::{
    CryptHop, FilesystemHop, HopKind, HopSpec, NetworkHop, RaidLevel, UplinkHop, VolumeHop, VolumeLayout,
};

use crate::testing::{Sketch, at, link, on_bus, run};
use crate::{Code, Confidence, Direction};

fn chipset(name: &str, megabytes: f64) -> impl FnOnce(Sketch) -> Sketch {
    let uplink = UplinkHop { name: name.to_owned(), address: at(0x40), ..UplinkHop::default() };
    let name = name.to_owned();
    move |sketch| sketch.hop(&name, HopSpec::Chipset(uplink), Some(megabytes))
}

#[test]
fn the_smallest_ceiling_limits_and_the_next_other_part_comes_behind() {
    let path = Sketch::of("/dev/nvme0n1").device("nvme0n1", Some(7000.0)).link(link((3, 4), (4, 4), (3, 4)));
    let path = chipset("X99 chipset, DMI 2.0", 1680.0)(path).memory();
    assert_eq!(path.limiting(), "chipset:X99 chipset, DMI 2.0");
    assert_eq!(path.next(), "link:0000:02:00.0");
    assert_eq!(path.attribution().confidence, Confidence::High);
}

#[test]
fn an_unknown_hop_lowers_confidence_and_is_named() {
    let path = Sketch::drive(link((3, 4), (3, 4), (3, 4)));
    let verdict = path.path();
    assert_eq!(verdict.limiting[&Direction::Read].as_str(), "link:0000:02:00.0");
    assert_eq!(path.attribution().confidence, Confidence::Medium);
    assert!(verdict.sentence.contains("What nvme0n1 can do is not known"), "{}", verdict.sentence);
}

#[test]
fn a_path_of_which_nothing_is_known_has_a_reason_and_no_hop() {
    let path = Sketch::of("/dev/vda").device("vda", None).memory().path();
    assert!(path.limiting.is_empty());
    assert!(path.unknown[&Direction::Read].contains("nobody says"));
    assert!(path.sentence.contains("narrows measure"), "{}", path.sentence);
}

#[test]
fn memory_is_not_the_narrows_while_something_before_it_is_unknown() {
    let memory = || HopSpec::Memory(Fact::absent(""));
    let path = Sketch::of("/dev/vda").device("vda", None).hop("memory", memory(), Some(20_000.0));
    assert_eq!(path.limiting(), "none");
}

/// Two drives of a RAID-0 on links of their own.
fn stripe() -> Sketch {
    Sketch::of("/dev/md0")
        .raid("md0", RaidLevel::Raid0, &["nvme0n1", "nvme1n1"])
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme0n1", None)
        .link(on_bus(2, link((3, 4), (3, 4), (3, 4))))
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme1n1", None)
        .link(on_bus(3, link((3, 4), (3, 4), (3, 4))))
        .below(HopKind::Link, "0000:02:00.0", 1.0)
        .memory()
}

#[test]
fn a_twin_on_a_parallel_branch_is_not_the_next_hop() {
    let path = chipset("chipset", 9000.0)(stripe());
    assert_eq!(path.limiting(), "link:0000:02:00.0");
    assert_eq!(path.next(), "chipset:chipset");
    // Each link carries half of the traffic, and 3308 MB/s with payloads of 128 bytes (or 3592 with 256).
    let rate = path.attribution().rate.expect("by arithmetic").get() / 1e6;
    assert!((6600.0..7200.0).contains(&rate), "{rate}");
}

#[test]
fn a_chipset_whose_uplink_is_a_link_of_its_own_is_one_part() {
    let uplink = UplinkHop { name: "X570".to_owned(), address: at(2), ..UplinkHop::default() };
    let path = Sketch::of("/dev/sda")
        .device("sda", Some(9000.0))
        .link(link((3, 4), (3, 4), (3, 4)))
        .hop("X570", HopSpec::Chipset(uplink), Some(3600.0))
        .memory();
    assert_eq!((path.limiting().as_str(), path.next().as_str()), ("link:0000:02:00.0", "device:sda"));
}

#[test]
fn a_link_that_stays_slow_under_load_is_the_narrows_and_one_that_speeds_up_is_not() {
    // Gen1 x4: 1 GB/s raw, 840 MB/s in payloads of 128 bytes. It was expected to speed up to Gen4.
    let under_load = |generation| {
        let load = run(830.0).disk("nvme0n1", 830.0, 31.0).link_at(at(2), generation);
        let mut path = Sketch::drive(link((1, 4), (4, 4), (4, 4))).run(load);
        path.subject.settle_links();
        path
    };
    assert_eq!(under_load(1).limiting(), "link:0000:02:00.0");
    let gain = under_load(1).finding(Code::LinkSpeedDegraded).map(|finding| finding.best_gain().get() > 6e9);
    assert_eq!(gain, Some(true));
    assert_eq!(under_load(4).limiting(), "device:nvme0n1");
}

#[test]
fn the_slow_member_of_a_stripe_is_named_by_the_queue_that_it_holds() {
    let slow = run(40.0).disk("nvme0n1", 20.0, 1.0).disk("nvme1n1", 20.0, 31.0);
    assert_eq!(stripe().run(slow).limiting(), "device:nvme1n1");
    let even = run(160.0).disk("nvme0n1", 80.0, 15.0).disk("nvme1n1", 80.0, 17.0);
    let even = stripe().run(even);
    assert_eq!(even.limiting(), "device:nvme0n1");
    assert_eq!(even.finding(Code::RaidSlowMember), None);
    assert!(even.path().sentence.contains("its two members"), "{}", even.path().sentence);
}

#[test]
fn a_mirror_reads_from_whom_it_chooses_and_has_no_slow_member() {
    for [first, second] in
        [[(80.0, 32.0), (0.0, 0.0)], [(36.0, 22.0), (36.0, 8.0)], [(44.0, 24.0), (28.0, 7.0)]]
    {
        let read = run(first.0 + second.0);
        let mirror = mirror().run(read.disk("nvme0n1", first.0, first.1).disk("nvme1n1", second.0, second.1));
        assert_eq!(mirror.limiting(), "device:nvme0n1", "{first:?} {second:?}");
        assert_eq!(mirror.finding(Code::RaidSlowMember), None, "{first:?} {second:?}");
    }
}

fn mirror() -> Sketch {
    Sketch::of("/dev/md0")
        .raid("md0", RaidLevel::Raid1, &["nvme0n1", "nvme1n1"])
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme0n1", None)
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme1n1", None)
        .below(HopKind::Device, "nvme0n1", 1.0)
        .memory()
}

#[test]
fn of_a_linear_volume_the_device_that_got_the_bytes_limits() {
    let volume = VolumeHop {
        block: "dm-0".to_owned(),
        layout: VolumeLayout::Linear,
        members: vec!["sda".to_owned(), "sdb".to_owned()],
    };
    let path = Sketch::of("/dev/vg/lv")
        .hop("dm-0", HopSpec::Volume(volume), None)
        .below(HopKind::LogicalVolume, "dm-0", 1.0)
        .device("sda", None)
        .below(HopKind::LogicalVolume, "dm-0", 1.0)
        .device("sdb", None)
        .memory()
        .run(run(80.0).disk("dm-0", 80.0, 32.0).disk("sda", 0.0, 0.0).disk("sdb", 80.0, 32.0));
    assert_eq!(path.limiting(), "device:sdb");
    let verdict = path.path();
    let measured: Vec<&str> = verdict.measured.keys().map(|(id, _)| id.as_str()).collect();
    assert!(measured.contains(&"device:sdb") && !measured.contains(&"device:sda"), "{measured:?}");
}

fn encrypted(no_read_workqueue: bool) -> Sketch {
    let table = CryptTable {
        cipher: "aes-xts-plain64".to_owned(),
        key_bits: 512,
        sector_size: narrows_base::units::Bytes::new(512),
        no_read_workqueue,
        ..CryptTable::default()
    };
    let rate = BytesPerSec::from_mb(100.0);
    let cipher = CipherRate { decrypt: rate, encrypt: rate, ..CipherRate::default() };
    let crypt = CryptHop {
        block: "dm-0".to_owned(),
        table: Fact::known(table, "DM_TABLE_STATUS"),
        cipher: Fact::known(cipher, "AF_ALG"),
        ..CryptHop::default()
    };
    Sketch::of("/dev/mapper/secret").crypt(crypt, 100.0).device("nvme0n1", None).memory()
}

#[test]
fn busy_kcryptd_threads_over_a_drive_with_room_are_the_narrows() {
    let load = run(90.0).disk("dm-0", 90.0, 32.0).disk("nvme0n1", 90.0, 0.5);
    let load = load.thread("kworker/u4:1-kcryptd/253:0", 0.6).thread("kworker/u4:3-kcryptd/253:0", 0.35);
    let path = encrypted(false).run(load);
    assert_eq!(path.limiting(), "crypt:dm-0");
    assert!(path.finding(Code::CryptoCpu).is_some());
}

#[test]
fn kcryptd_threads_that_have_most_of_a_full_machine_are_the_narrows() {
    let on = |busy: &[f64]| {
        let mut load = run(128.0).disk("dm-0", 128.0, 32.0).disk("nvme0n1", 128.0, 1.0);
        load.activity.cpus = (0..).zip(busy.iter().copied()).collect();
        encrypted(false).run(load.thread("kworker/u2:1-kcryptd/253:0", 0.7))
    };
    let full = on(&[0.98]);
    assert_eq!(full.limiting(), "crypt:dm-0");
    let found = full.finding(Code::CryptoCpu).expect("a cipher");
    assert_eq!(found.confidence, Confidence::Medium, "others had a part of it");
    let evidence = found.evidence;
    assert!(evidence.iter().any(|one| one.fact == "processors without time left"), "{evidence:?}");
    assert_eq!(on(&[0.75]).limiting(), "device:nvme0n1", "it had time left");
    assert_eq!(on(&[0.98, 0.97]).limiting(), "device:nvme0n1", "others had more of it");
}

#[test]
fn busy_kcryptd_threads_over_a_full_drive_are_not() {
    let load = run(60.0).disk("dm-0", 60.0, 32.0).disk("nvme0n1", 60.0, 30.0);
    let path = encrypted(false).run(load.thread("kworker/u4:1-kcryptd/253:0", 0.95));
    assert_eq!(path.limiting(), "device:nvme0n1");
    assert_eq!(path.finding(Code::CryptoCpu), None);
}

#[test]
fn a_cipher_in_the_worker_is_not_taken_for_a_slow_generator() {
    let load = run(90.0).disk("dm-0", 90.0, 1.0).disk("nvme0n1", 90.0, 0.5).generator(0.99);
    assert_eq!(encrypted(true).run(load.clone()).limiting(), "crypt:dm-0");
    // With work queues the same worker is busy with something else.
    assert_eq!(encrypted(false).run(load).limiting(), "application:application");
}

#[test]
fn a_worker_at_its_end_is_the_narrows_only_if_requests_do_not_wait_below() {
    let path = || Sketch::drive(link((3, 4), (3, 4), (3, 4)));
    let idle_drive = run(2000.0).disk("nvme0n1", 2000.0, 2.0).generator(0.97);
    let path_of_generator = path().run(idle_drive);
    assert_eq!(path_of_generator.limiting(), "application:application");
    assert!(path_of_generator.finding(Code::GeneratorCpu).is_some());
    let full_drive = run(2000.0).disk("nvme0n1", 2000.0, 31.0).generator(0.97);
    assert_eq!(path().run(full_drive).limiting(), "device:nvme0n1");
}

#[test]
fn a_processor_that_the_kernels_workers_for_the_ring_use_up_is_the_narrows() {
    let path = |io_workers: f64, busy: f64, held: f64| {
        let load = run(900.0).disk("nvme0n1", 900.0, held).generator(0.3).io_workers(io_workers, busy);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    };
    let full = path(0.67, 0.98, 1.0);
    assert_eq!(full.limiting(), "application:application");
    let finding = full.finding(Code::GeneratorCpu).expect("the processor is used up");
    assert!(finding.summary.contains("io-wq"), "{}", finding.summary);
    assert!(finding.evidence.iter().any(|one| one.value == "67 % of a core"), "{:?}", finding.evidence);
    // They run elsewhere, or have time left, or the drive holds the requests.
    for (io_workers, busy, held) in [(0.67, 0.4, 1.0), (0.3, 0.98, 1.0), (0.67, 0.98, 31.0)] {
        let other = path(io_workers, busy, held);
        assert_eq!((other.limiting(), other.finding(Code::GeneratorCpu)), ("device:nvme0n1".into(), None));
    }
    // One of them has a processor to itself.
    let mut load = run(900.0).disk("nvme0n1", 900.0, 1.0).generator(0.1);
    load.measurement.generator.busiest_io_worker = 0.96;
    let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load);
    assert_eq!(path.limiting(), "application:application");
}

#[test]
fn bytes_that_the_drive_did_not_move_came_from_memory() {
    let path = Sketch::drive(link((3, 4), (3, 4), (3, 4)));
    let path = path.run(run(9000.0).disk("nvme0n1", 10.0, 0.1).generator(0.99));
    assert_eq!(path.limiting(), "memory:memory");
    assert!(path.path().measured.values().all(|measured| !measured.trusted));
    assert_eq!(path.finding(Code::AboveCeiling), None);
}

#[test]
fn a_link_that_is_full_explains_the_rate() {
    // Gen3 x1 carries 827 MB/s of payload in packets of 128 bytes.
    let path = Sketch::drive(link((3, 1), (3, 4), (3, 1)));
    let full = path.run(run(790.0).disk("nvme0n1", 790.0, 31.0));
    assert_eq!(full.limiting(), "link:0000:02:00.0");
    assert!(full.path().measured.values().all(|measured| measured.trusted));
    let below = Sketch::drive(link((3, 1), (3, 4), (3, 1))).run(run(400.0).disk("nvme0n1", 400.0, 31.0));
    assert_eq!(below.limiting(), "device:nvme0n1");
    assert_eq!(below.next(), "link:0000:02:00.0");
}

fn resyncing(ours: f64, all: f64) -> Sketch {
    let mut load = run(ours).disk("nvme0n1", all, 30.0).disk("nvme1n1", 0.0, 0.0);
    let sync = Resync { action: "resync".to_owned(), speed: Some(BytesPerSec::from_mb(40.0)) };
    load.activity.resyncs.insert("md0".to_owned(), sync);
    Sketch::of("/dev/md0")
        .raid("md0", RaidLevel::Raid1, &["nvme0n1", "nvme1n1"])
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme0n1", None)
        .below(HopKind::Raid, "md0", 0.5)
        .device("nvme1n1", None)
        .run(load)
}

#[test]
fn a_resync_limits_only_when_it_takes_a_substantial_part() {
    assert_eq!(resyncing(40.0, 80.0).limiting(), "raid:md0");
    assert_eq!(resyncing(76.0, 80.0).limiting(), "device:nvme0n1");
}

#[test]
fn a_busy_thread_of_the_array_limits_when_its_members_have_room() {
    let busy = |held: f64| {
        stripe()
            .run(
                run(500.0)
                    .disk("nvme0n1", 250.0, held)
                    .disk("nvme1n1", 250.0, held)
                    .thread("md0_raid5", 0.97),
            )
            .limiting()
    };
    assert_eq!(busy(2.0), "raid:md0");
    assert_eq!(busy(16.0), "device:nvme0n1");
}

#[test]
fn a_busy_thread_of_the_file_system_limits_when_the_device_has_room() {
    let filesystem = FilesystemHop { fstype: "btrfs".to_owned(), ..FilesystemHop::default() };
    let path = |thread: &str| {
        Sketch::of("/data")
            .hop("btrfs", HopSpec::Filesystem(filesystem.clone()), None)
            .device("nvme0n1", None)
            .memory()
            .run(run(900.0).disk("nvme0n1", 900.0, 2.0).thread(thread, 0.98))
    };
    assert_eq!(path("kworker/u32:4-btrfs-endio").limiting(), "filesystem:btrfs");
    assert!(path("kworker/u32:4-btrfs-endio").finding(Code::FilesystemLimited).is_some());
    assert_eq!(path("kworker/u32:4-nvme-wq").limiting(), "device:nvme0n1");
}

fn remote(round_trip: u64, deviation: u64, received: f64) -> Sketch {
    remote_data(round_trip, deviation, received, None)
}

fn remote_data(round_trip: u64, deviation: u64, received: f64, data: Option<u64>) -> Sketch {
    let network = NetworkHop { interface: "eth0".to_owned(), ..NetworkHop::default() };
    let server = Remote {
        address: Fact::known("10.0.0.2".to_owned(), ""),
        port: Fact::known(4420, ""),
        ..Remote::default()
    };
    let mut load = run(12.0).disk("nvme1n1", 12.0, 32.0);
    let state = TcpState {
        round_trip: Nanos::new(round_trip),
        deviation: Nanos::new(deviation),
        least_round_trip: Nanos::new(200_000),
        data_round_trip: data.map(Nanos::new),
        ..TcpState::default()
    };
    load.activity.tcp.insert("10.0.0.2:4420".to_owned(), state);
    let moved = NicActivity { received: BytesPerSec::from_mb(received), ..NicActivity::default() };
    load.activity.nics.insert("eth0".to_owned(), moved);
    Sketch::of("/dev/nvme1n1")
        .device("nvme1n1", None)
        .unknown("10.0.0.2", HopSpec::Remote(server))
        .unknown("eth0", HopSpec::Network(network))
        .memory()
        .run(load)
}

#[test]
fn a_round_trip_that_grew_under_load_shows_that_the_wire_queues() {
    let path = remote(60_000_000, 20_000_000, 12.2);
    assert_eq!(path.limiting(), "network:eth0");
    assert!(path.finding(Code::NetworkLimited).is_some());
}

#[test]
fn a_round_trip_that_stayed_leaves_the_far_end() {
    // Five times the least, but not a millisecond more: the noise of a fast network.
    let path = remote(1_000_000, 100_000, 12.2);
    assert_eq!(path.limiting(), "remote:10.0.0.2");
    assert_eq!(path.finding(Code::NetworkLimited), None);
}

#[test]
fn acknowledgements_that_a_slow_far_end_delays_are_no_queue_of_the_wire() {
    // As an iSCSI target with a slow drive gave them on an idle network: a mix of 40 ms and 0.2 ms.
    let path = remote(16_800_000, 14_300_000, 12.2);
    assert_eq!(path.limiting(), "remote:10.0.0.2");
    assert_eq!(path.finding(Code::NetworkLimited), None);
}

#[test]
fn data_that_comes_at_once_did_not_queue_however_late_all_acknowledgements_are() {
    let path = remote_data(40_000_000, 4_000_000, 12.2, Some(1_000_000));
    assert_eq!(path.limiting(), "remote:10.0.0.2");
    assert_eq!(path.finding(Code::NetworkLimited), None);

    let path = remote_data(9_400_000, 1_800_000, 12.2, Some(3_000_000));
    assert_eq!(path.limiting(), "network:eth0");
}

#[test]
fn a_worker_that_did_not_get_a_processor_shows_nothing_of_the_drive() {
    let path = |held: f64| {
        let load = run(27.0).disk("nvme0n1", 27.0, held).generator(0.22).queued(0.75);
        Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load)
    };
    assert_eq!(path(0.4).limiting(), "application:application");
    let finding = path(0.4).finding(Code::GeneratorCpu).expect("others had the processor");
    assert!(finding.summary.contains("did not get the processor time"), "{}", finding.summary);
    // A full queue of the drive is proof, whoever else runs.
    assert_eq!(path(31.0).limiting(), "device:nvme0n1");
}

#[test]
fn a_worker_that_waited_part_of_the_time_had_time_to_ask_for_more() {
    let load = run(27.0).disk("nvme0n1", 27.0, 15.0).generator(0.25).queued(0.4);
    let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load);
    assert_ne!(path.limiting(), "application:application");
    assert_eq!(path.finding(Code::GeneratorCpu), None);

    // Unless the drive had nothing to do most of that time.
    let load = run(27.0).disk("nvme0n1", 27.0, 0.2).generator(0.1).queued(0.5);
    let path = Sketch::drive(link((3, 4), (3, 4), (3, 4))).run(load);
    assert_eq!(path.limiting(), "application:application");
}
