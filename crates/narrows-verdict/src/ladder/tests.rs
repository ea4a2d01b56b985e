//! Ladders from synthetic samples: what each cause looks like, and what it must not be taken for.

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, Nanos};
use narrows_machine::block::{BlockDevice, CryptTable, MdArray, Queue};
use narrows_machine::cipher::CipherRate;
use narrows_model::path::{
    CryptHop, FilesystemHop, HopKind, HopSpec, RaidHop, RaidLevel, VolumeHop, VolumeLayout,
};

use super::*;
use crate::Run;
use crate::testing::{Sketch, run};

/// The rung of a drive alone.
fn alone(block: &str, megabytes: f64) -> Rung {
    let sketch = Sketch::of(&format!("/dev/{block}")).device(block, None).memory();
    rung(sketch.run(run(megabytes).disk(block, megabytes, 31.0)), HopKind::Device, block)
}

fn rung(sketch: Sketch, kind: HopKind, name: &str) -> Rung {
    Rung {
        hop: HopId::new(kind, name),
        at_once: false,
        subject: sketch.subject,
        members: Vec::new(),
        together: None,
        unmeasured: None,
    }
}

/// `top` over drives a and b, which give `alone` each and `together` at once.
fn over_two(rates: [f64; 2], together: Run, top: Rung) -> Vec<Rung> {
    let mut at_once = Rung { at_once: true, members: vec![0, 1], ..top.clone() };
    at_once.subject.runs = vec![together];
    let top = Rung { members: vec![0, 1], together: Some(2), ..top };
    vec![alone("a", rates[0]), alone("b", rates[1]), at_once, top]
}

fn both(megabytes: [f64; 2]) -> Run {
    run(megabytes[0] + megabytes[1]).disk("a", megabytes[0], 31.0).disk("b", megabytes[1], 31.0)
}

fn on_array(level: RaidLevel, share: f64, load: Run) -> Rung {
    let md = MdArray { chunk: Fact::known(Bytes::from_kib(512), "chunk_size"), ..MdArray::default() };
    let raid = RaidHop {
        block: "md0".to_owned(),
        level: Some(level),
        members: vec!["a".to_owned(), "b".to_owned()],
        md,
    };
    let sketch = Sketch::of("/dev/md0").hop("md0", HopSpec::Raid(Box::new(raid)), None);
    rung(below(sketch, HopKind::Raid, "md0", share).run(load), HopKind::Raid, "md0")
}

fn below(sketch: Sketch, kind: HopKind, name: &str, share: f64) -> Sketch {
    sketch.below(kind, name, share).device("a", None).below(kind, name, share).device("b", None)
}

fn judged(rungs: &[Rung]) -> LadderVerdict {
    judge(&Machine::default(), rungs, &[])
}

/// The cause and hop of the bottleneck.
fn named(verdict: &LadderVerdict) -> (Cause, &str) {
    let loss = verdict.limiting.as_ref().expect("something limits");
    (loss.cause, loss.hop.as_str())
}

/// The cause and hop that `judge` finds for `rungs`.
fn assert_named(rungs: &[Rung], cause: Cause, hop: &str) -> LadderVerdict {
    let verdict = judged(rungs);
    assert_eq!(named(&verdict), (cause, hop), "{}", verdict.sentence);
    verdict
}

#[test]
fn a_stripe_goes_at_the_pace_of_its_slowest_member() {
    let load = run(40.0).disk("md0", 40.0, 31.0).disk("a", 20.0, 1.0).disk("b", 20.0, 30.0);
    let rungs = over_two([80.0, 20.0], both([80.0, 20.0]), on_array(RaidLevel::Raid0, 0.5, load));
    let verdict = assert_named(&rungs, Cause::SlowestMember, "device:b");
    assert_eq!(verdict.steps[3].below, Some(BytesPerSec::from_mb(100.0)));
    assert!((verdict.steps[3].lost.expect("compared") - 0.6).abs() < 1e-9);
    assert!(verdict.steps[2].loss.is_none(), "at once they give what they give alone");
    assert!(verdict.sentence.contains("2 times the 20 MB/s of b is 40 MB/s"), "{}", verdict.sentence);
}

#[test]
fn a_stripe_of_equal_members_that_gives_their_sum_loses_nothing() {
    let load = run(98.0).disk("md0", 98.0, 31.0).disk("a", 49.0, 15.0).disk("b", 49.0, 15.0);
    let verdict = judged(&over_two([50.0, 50.0], both([50.0, 50.0]), on_array(RaidLevel::Raid0, 0.5, load)));
    assert!(verdict.steps.iter().all(|step| step.loss.is_none()));
    assert_eq!(named(&verdict).0, Cause::Medium);
}

#[test]
fn one_small_request_at_a_time_works_one_member_of_a_stripe() {
    let mut load = run(2.0).disk("md0", 2.0, 1.0).disk("a", 1.0, 0.5).disk("b", 1.0, 0.5);
    load.measurement.workload.block_size = Bytes::from_kib(4);
    load.measurement.workload.queue_depth = 1;
    let rungs = over_two([2.0, 2.0], both([2.0, 2.0]), on_array(RaidLevel::Raid0, 0.5, load));
    let verdict = assert_named(&rungs, Cause::ChunkOrDepth, "raid:md0");
    assert!(verdict.sentence.contains("1.0 of 2 members work"), "{}", verdict.sentence);
}

#[test]
fn a_mirror_that_reads_one_member_is_told_from_one_with_a_slow_member() {
    let load = run(80.0).disk("md0", 80.0, 31.0).disk("a", 80.0, 31.0).disk("b", 0.0, 0.0);
    let rungs = over_two([80.0, 80.0], both([80.0, 80.0]), on_array(RaidLevel::Raid1, 0.5, load));
    assert_named(&rungs, Cause::ReadBalance, "raid:md0");
}

#[test]
fn a_mirror_that_reads_in_turns_leaves_members_idle_though_both_read_alike() {
    let mut load = run(60.0).disk("md0", 60.0, 31.0).disk("a", 33.0, 18.0).disk("b", 27.0, 13.0);
    for (block, busy) in [("a", 0.79), ("b", 0.6)] {
        load.activity.disks.get_mut(block).expect("just made").busy = busy;
    }
    let mut rungs = over_two([40.0, 40.0], both([40.0, 40.0]), on_array(RaidLevel::Raid1, 0.5, load));
    assert_named(&rungs, Cause::ReadBalance, "raid:md0");
    for disk in rungs[3].subject.runs[0].activity.disks.values_mut() {
        disk.busy = 1.0;
    }
    assert_eq!(named(&judged(&rungs)).0, Cause::Unknown);
}

#[test]
fn a_parity_array_that_rebuilds_what_it_reads_is_bound_by_its_thread() {
    let load = run(60.0).disk("md0", 60.0, 31.0).disk("a", 60.0, 2.0).disk("b", 60.0, 2.0);
    let load = load.thread("md0_raid5", 0.98);
    let rungs = over_two([80.0, 80.0], both([80.0, 80.0]), on_array(RaidLevel::Raid5, 1.0, load));
    assert_named(&rungs, Cause::StripeThread, "raid:md0");
}

#[test]
fn a_resync_is_suspected_before_the_members() {
    let mut load = run(40.0).disk("md0", 40.0, 31.0).disk("a", 60.0, 20.0).disk("b", 60.0, 20.0);
    let resync = narrows_machine::activity::Resync { action: "resync".to_owned(), speed: None };
    load.activity.resyncs.insert("md0".to_owned(), resync);
    let rungs = over_two([60.0, 60.0], both([60.0, 60.0]), on_array(RaidLevel::Raid0, 0.5, load));
    assert_named(&rungs, Cause::Resync, "raid:md0");
}

#[test]
fn a_linear_volume_gives_what_the_device_gives_that_its_start_lies_on() {
    let volume = VolumeHop {
        block: "dm-0".to_owned(),
        layout: VolumeLayout::Linear,
        members: vec!["a".to_owned(), "b".to_owned()],
    };
    let sketch = Sketch::of("/dev/dm-0").hop("dm-0", HopSpec::Volume(volume), None);
    let load = run(40.0).disk("dm-0", 40.0, 31.0).disk("a", 40.0, 31.0).disk("b", 0.0, 0.0);
    let sketch = below(sketch, HopKind::LogicalVolume, "dm-0", 1.0).run(load);
    let top = rung(sketch, HopKind::LogicalVolume, "dm-0");
    let rungs = over_two([40.0, 80.0], both([40.0, 80.0]), top);
    assert_named(&rungs, Cause::Linear, "device:a");
}

#[test]
fn members_that_give_less_at_once_are_bound_by_what_they_share_or_by_the_processors() {
    let mut together = both([30.0, 30.0]);
    together.activity.cpus = [(0, 1.0), (1, 0.97)].into();
    let load = run(60.0).disk("md0", 60.0, 31.0).disk("a", 30.0, 15.0).disk("b", 30.0, 15.0);
    let mut rungs = over_two([50.0, 50.0], together, on_array(RaidLevel::Raid0, 0.5, load));
    assert_named(&rungs, Cause::Processor, "raid:md0");
    rungs[2].subject.runs[0].activity.cpus = [(0, 0.2), (1, 0.1)].into();
    assert_named(&rungs, Cause::Unknown, "raid:md0");
}

/// An encrypted mapping on one drive of 1000 MB/s, in sectors of this size, with a cipher of 500 MB/s on one core.
fn on_crypt(sector: u64, load: Run) -> Vec<Rung> {
    let rate = CipherRate {
        cipher: "xts(aes)".to_owned(),
        key_bits: 512,
        sector_size: Bytes::new(sector),
        decrypt: BytesPerSec::from_mb(500.0),
        encrypt: BytesPerSec::from_mb(500.0),
        driver: Some("xts-aes-aesni".to_owned()),
    };
    let table = CryptTable { sector_size: Bytes::new(sector), ..CryptTable::default() };
    let crypt = CryptHop {
        block: "dm-0".to_owned(),
        table: Fact::known(table, "dm table"),
        cipher: Fact::known(rate, "probe"),
        cores: 2,
    };
    let sketch = Sketch::of("/dev/dm-0").crypt(crypt, 450.0).device("a", None).memory().run(load);
    let top = Rung { members: vec![0], ..rung(sketch, HopKind::Crypt, "dm-0") };
    vec![alone("a", 1000.0), top]
}

#[test]
fn a_cipher_that_fills_its_cores_is_the_narrows() {
    let load =
        run(450.0).disk("dm-0", 450.0, 31.0).disk("a", 450.0, 1.0).thread("kworker/u4:1-kcryptd/253:0", 0.97);
    assert_named(&on_crypt(4096, load.clone()), Cause::CipherPerCore, "crypt:dm-0");
    assert_named(&on_crypt(512, load), Cause::CipherPerCore, "crypt:dm-0");
}

#[test]
fn a_cipher_that_is_called_for_every_512_bytes_falls_short_of_its_own_rate() {
    let load = |name| run(250.0).disk("dm-0", 250.0, 31.0).disk("a", 250.0, 1.0).thread(name, 0.97);
    let rungs = on_crypt(512, load("kworker/u4:1-kcryptd/253:0"));
    assert_named(&rungs, Cause::CryptSectorSize, "crypt:dm-0");
    let rungs = on_crypt(4096, load("kworker/u4:1-kcryptd/253:0"));
    assert_named(&rungs, Cause::CipherPerCore, "crypt:dm-0");
}

#[test]
fn a_cipher_that_shares_its_core_is_no_hand_over_however_long_requests_wait() {
    let load = run(430.0).disk("dm-0", 430.0, 31.0).disk("a", 430.0, 1.0);
    let mut load = load.thread("kworker/u2:5-kcryptd/252:0", 0.5).thread("iou-wrk-7", 0.3);
    load.activity.cpus = [(0, 1.0)].into();
    assert_named(&on_crypt(4096, load.clone()), Cause::CipherPerCore, "crypt:dm-0");
    // With an idle core beside it, 30 requests that wait for their turn in the cipher are none either.
    load.activity.cpus = [(0, 0.5), (1, 0.0)].into();
    assert_ne!(named(&judged(&on_crypt(4096, load))).0, Cause::CryptHandoff);
}

#[test]
fn time_between_mapping_and_drive_with_idle_cores_is_the_hand_over() {
    let mut load = run(20.0).disk("dm-0", 20.0, 1.0).disk("a", 20.0, 0.6);
    load.measurement.workload.block_size = Bytes::from_kib(4);
    load.measurement.workload.queue_depth = 1;
    let time = |load: &mut Run, block: &str, micros: u64| {
        let disk = load.activity.disks.get_mut(block).expect("just made");
        disk.read_latency = Some(Nanos::new(micros * 1000));
        disk.reads = disk.read_bytes.get() / 4096;
    };
    time(&mut load, "dm-0", 120);
    time(&mut load, "a", 70);
    assert_named(&on_crypt(4096, load.clone()), Cause::CryptHandoff, "crypt:dm-0");
    time(&mut load, "a", 115);
    assert_ne!(named(&judged(&on_crypt(4096, load))).0, Cause::CryptHandoff);
}

#[test]
fn single_requests_that_wait_for_the_cipher_with_idle_cores_are_bound_by_it() {
    // 64 KiB at 500 MB/s are 131 of the 147 µs between mapping and drive.
    let mut load = run(20.0).disk("dm-0", 20.0, 1.0).disk("a", 20.0, 0.3);
    load.measurement.workload.block_size = Bytes::from_kib(64);
    load.measurement.workload.queue_depth = 1;
    for (block, micros) in [("dm-0", 222), ("a", 75)] {
        let disk = load.activity.disks.get_mut(block).expect("just made");
        disk.read_latency = Some(Nanos::new(micros * 1000));
        disk.reads = disk.read_bytes.get() / 65_536;
    }
    let verdict = assert_named(&on_crypt(4096, load), Cause::CipherPerCore, "crypt:dm-0");
    let summary = &verdict.limiting.expect("named").summary;
    assert!(summary.contains("131 µs"), "{summary}");
}

fn on_filesystem(load: Run) -> Vec<Rung> {
    let ext4 =
        FilesystemHop { fstype: "ext4".to_owned(), point: "/srv".to_owned(), ..FilesystemHop::default() };
    let sketch = Sketch::of("/srv").hop("/srv", HopSpec::Filesystem(ext4), None).device("a", None).memory();
    let top = Rung { members: vec![0], ..rung(sketch.run(load), HopKind::Filesystem, "/srv") };
    vec![alone("a", 100.0), top]
}

#[test]
fn a_file_system_that_passes_on_what_it_gets_loses_nothing() {
    let verdict = judged(&on_filesystem(run(98.0).disk("a", 98.0, 31.0)));
    assert_eq!(named(&verdict), (Cause::Medium, "device:a"));
    assert!(verdict.sentence.contains("No layer loses more than 5 %"), "{}", verdict.sentence);
}

#[test]
fn a_cache_that_answers_is_no_file_system() {
    let verdict = judged(&on_filesystem(run(900.0).disk("a", 10.0, 0.1)));
    assert_eq!(named(&verdict).0, Cause::Cache);
    assert_eq!(verdict.steps[1].trusted, Some(false));
}

#[test]
fn a_file_system_that_costs_is_named_and_ourselves_before_it() {
    let load = run(60.0).disk("a", 60.0, 5.0);
    assert_named(&on_filesystem(load.clone()), Cause::Filesystem, "filesystem:/srv");
    assert_named(&on_filesystem(load.generator(0.99)), Cause::Generator, "application:application");
}

#[test]
fn a_loss_below_lies_behind_the_one_above_it() {
    let load = run(40.0).disk("md0", 40.0, 31.0).disk("a", 20.0, 1.0).disk("b", 20.0, 30.0);
    let mut rungs = over_two([80.0, 20.0], both([80.0, 20.0]), on_array(RaidLevel::Raid0, 0.5, load));
    let ext4 =
        FilesystemHop { fstype: "ext4".to_owned(), point: "/srv".to_owned(), ..FilesystemHop::default() };
    let sketch = Sketch::of("/srv").hop("/srv", HopSpec::Filesystem(ext4), None);
    let load = run(20.0).disk("md0", 20.0, 2.0).disk("a", 10.0, 1.0).disk("b", 10.0, 1.0);
    let sketch = sketch.raid("md0", RaidLevel::Raid0, &["a", "b"]);
    let sketch = below(sketch, HopKind::Raid, "md0", 0.5).run(load);
    rungs.push(Rung { members: vec![3], ..rung(sketch, HopKind::Filesystem, "/srv") });
    let verdict = assert_named(&rungs, Cause::Filesystem, "filesystem:/srv");
    assert_eq!(verdict.next.map(|loss| loss.cause), Some(Cause::SlowestMember));
}

#[test]
fn requests_that_wait_in_a_scheduler_are_told_from_a_full_device() {
    let busy = |cpu: f64, at_driver: f64, scheduler: &str| {
        let mut rung = alone("a", 100.0);
        rung.subject.runs[0].activity.cpus = [(0, cpu)].into();
        rung.subject.runs[0].activity.disks.get_mut("a").expect("just made").at_driver = Some(at_driver);
        let queue =
            Queue { scheduler: Fact::known(scheduler.to_owned(), "queue/scheduler"), ..Queue::default() };
        let mut machine = Machine::default();
        machine.block.insert("a".to_owned(), BlockDevice { queue, ..BlockDevice::default() });
        let verdict = judge(&machine, &[rung], &[]);
        let blamed = verdict.findings.iter().any(|finding| finding.code == Code::DeviceLimited);
        let cause = named(&verdict).0;
        assert_eq!(blamed, cause == Cause::Medium, "{cause:?}: {:?}", verdict.findings);
        assert_eq!(verdict.sentence.contains("wait in the scheduler"), cause == Cause::Scheduler);
        cause
    };
    let judged = |at_driver, scheduler| busy(0.5, at_driver, scheduler);
    assert_eq!(judged(0.4, "bfq"), Cause::Scheduler);
    // A sample that takes the only processor away from whoever submits always finds the driver idle.
    assert_eq!(busy(0.99, 0.0, "bfq"), Cause::Medium);
    assert_eq!(judged(0.4, "none"), Cause::Medium);
    // A device that takes one request at a time, and a full native command queue, are no scheduler's fault.
    assert_eq!(judged(1.0, "mq-deadline"), Cause::Medium);
    assert_eq!(judged(15.0, "mq-deadline"), Cause::Medium);
}

#[test]
fn what_was_not_measured_has_no_verdict() {
    let mut rung = alone("a", 1.0);
    rung.subject.runs.clear();
    rung.unmeasured = Some("needs root".to_owned());
    let verdict = judged(&[rung]);
    assert_eq!((verdict.limiting, verdict.sentence.as_str()), (None, "Nothing could be measured."));
    assert_eq!(judged(&[]).steps, []);
}
