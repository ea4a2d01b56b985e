//! Laws that a key of the description calls for: each gives what it says, decides where it must, and is named in a note.

use super::*;
use crate::ceiling::caps::{self, Cap};
use crate::ceiling::{bcache, buffered, iommu, together, zfs};
use crate::path::file::Engine;
use narrows_base::units::{BytesPerSec, Iops};

fn system(text: &str) -> System {
    let text = format!("format = \"narrows/path/1\"\n{text}");
    parse("t", &text).unwrap_or_else(|error| panic!("{error}"))
}

fn get(system: &System, workload: &Workload) -> Prediction {
    predict(system, workload).expect("is a path")
}

/// Reads at random, so many under way by so many jobs.
fn random(target: &str, block: Bytes, depth: u32, jobs: u32) -> Workload {
    let pattern = crate::path::file::Pattern::Random;
    Workload { block_size: block, depth, jobs, pattern, ..Workload::reading(target) }
}

fn near(got: f64, want: f64) {
    assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
}

fn says(prediction: &Prediction, words: &str) {
    assert!(prediction.notes.iter().any(|note| note.contains(words)), "{words}: {:?}", prediction.notes);
}

fn decides(prediction: &Prediction) -> (BoundKind, &str) {
    let bound = prediction.narrowest().expect("something limits");
    (bound.kind, bound.hop.as_str())
}

const FAST: &str = "[host.h]\ncores = 64\ncore_iops = \"10M IOPS\"\n[device.d]\nread = \"7 GB/s\"\nwrite = \"7 GB/s\"\n\
    read_iops = \"2M IOPS\"\nwrite_iops = \"2M IOPS\"\nread_latency = \"80 us\"\nwrite_latency = \"20 us\"\n";

#[test]
fn small_blocks_meet_the_iops_of_a_cap_and_large_ones_its_rate() {
    let system =
        system(&format!("{FAST}[vm.v]\non = \"d\"\ncount = 4\niops = \"10k IOPS\"\nrate = \"250 MB/s\"\n"));
    let cap = Cap { iops: Some(Iops::new(10e3)), rate: Some(BytesPerSec::from_mb(250.0)) };
    let shared = BytesPerSec::from_gb(7.0);
    for block in [Bytes::from_kib(4), Bytes::from_mib(1)] {
        let found = get(&system, &random("v", block, 32, 8));
        near(found.rate.get(), caps::together(cap, 4, block, shared).get());
        assert_eq!(decides(&found), (BoundKind::Cap, "controller:v"));
        says(&found, "a cap decides (4 machines");
        assert_eq!(found.sensitivity.first().map(|it| it.elasticity), Some(1.0));
    }
    // Two who use the same machines share their cap.
    let one = random("v", Bytes::from_kib(4), 32, 8);
    let both =
        predict_together(&system, &[one.clone(), Workload { name: "other".into(), ..one }]).expect("paths");
    near(both.iter().map(|it| it.iops.get()).sum(), 40e3);
}

#[test]
fn one_reader_of_a_cache_gets_the_mean_by_time_and_many_get_both_sides() {
    let text = "[host.h]\n[device.ssd]\nkind = \"sata\"\nread = \"500 MB/s\"\nwrite = \"400 MB/s\"\n[device.disk]\nkind = \"hdd\"\n\
        read = \"100 MB/s\"\nwrite = \"100 MB/s\"\n[cache.c]\ncache = \"ssd\"\nbacking = \"disk\"\nhit = 0.5\n";
    let system = system(text);
    let stream = Workload { engine: Engine::Buffered, depth: 1, ..Workload::reading("c") };
    let found = get(&system, &stream);
    let mean = bcache::read(BytesPerSec::from_mb(500.0), BytesPerSec::from_mb(100.0), 0.5);
    near(found.rate.get(), buffered::read_rate(mean, buffered::READAHEAD, 1).get());
    assert_eq!(decides(&found).1, "cache:c");
    says(&found, "take turns for one reader");
    // Many readers keep both busy; the disk serves every second byte.
    let many = get(&system, &Workload { jobs: 8, depth: 32, ..Workload::reading("c") });
    near(many.rate.get(), 200e6);
    // A stream of writes through bcache may pass it by.
    says(&get(&system, &Workload::reading("c").writing()), "sequential_cutoff");
}

const POOL: &str = "[host.h]\nmemory_rate = \"20 GB/s\"\n[device.d]\ncount = 6\nkind = \"hdd\"\nread = \"250 MB/s\"\n\
    write = \"250 MB/s\"\n[raid.z]\nlevel = \"raidz2\"\nmembers = [\"d\"]\n[filesystem.tank]\nkind = \"zfs\"\non = \"z\"\n";

#[test]
fn a_raidz_reads_at_random_like_one_member_and_in_sequence_like_those_with_data() {
    let system = system(POOL);
    let disk = BytesPerSec::from_mb(250.0);
    let stream = Workload { depth: 32, jobs: 4, ..Workload::reading("tank") };
    near(get(&system, &stream).rate.get(), together::carried(zfs::raidz(disk, 6, 2)).get());
    let one = get(&system, &random("d0", Bytes::from_kib(128), 32, 4));
    let found = get(&system, &random("tank", Bytes::from_kib(128), 32, 4));
    near(found.iops.get(), zfs::raidz_random(one.iops).get());
    says(&found, "random reads of one");
}

#[test]
fn a_part_of_a_record_costs_the_whole_record_and_compression_gives_back() {
    let nvme = |more: &str| system(&format!("{FAST}[filesystem.tank]\nkind = \"zfs\"\non = \"d\"\n{more}"));
    // 7 GB/s ÷ 128 KiB, and ÷ 16 KiB where the drive's IOPS are still out of reach.
    let small = random("tank", Bytes::from_kib(4), 64, 64);
    near(get(&nvme(""), &small).iops.get(), 7e9 / 131_072.0);
    near(get(&nvme("recordsize = \"16 KiB\"\n"), &small).iops.get(), 7e9 / 16_384.0);
    let stream = Workload { depth: 64, ..Workload::reading("tank") };
    let plain = get(&nvme(""), &stream).rate.get();
    near(get(&nvme("compression = 2.0\n"), &stream).rate.get(), 2.0 * plain);
}

#[test]
fn what_the_arc_holds_is_not_read_of_the_drives() {
    let pool = |arc: &str| {
        system(&format!(
            "{FAST}[filesystem.tank]\nkind = \"zfs\"\non = \"d\"\nrecordsize = \"4 KiB\"\narc = \"{arc}\"\n"
        ))
    };
    let work = Workload { size: Some(Bytes::from_mib(8192)), ..random("tank", Bytes::from_kib(4), 256, 64) };
    let half = get(&pool("4 GiB"), &work);
    // Bytes limit before I/Os do: 7 GB/s of every second read.
    near(half.rate.get(), 2.0 * 7e9);
    says(&half, "50 % of reads");
    let all = get(&pool("16 GiB"), &work);
    assert!(
        all.iops.get() > half.iops.get() && !decides(&all).1.starts_with("device"),
        "{:?}",
        decides(&all)
    );
    // A stream longer than the ARC finds nothing in it.
    let stream = Workload { size: Some(Bytes::from_mib(8192)), depth: 64, ..Workload::reading("tank") };
    assert_eq!(decides(&get(&pool("4 GiB"), &stream)).1, "device:d");
}

#[test]
fn written_data_crosses_memory_four_times_under_zfs() {
    let text = format!("{FAST}[filesystem.tank]\nkind = \"zfs\"\non = \"d\"\n").replacen(
        "cores",
        "memory_rate = \"20 GB/s\"\ncores",
        1,
    );
    let system = system(&text);
    let found = get(&system, &Workload { depth: 64, jobs: 8, ..Workload::reading("tank").writing() });
    near(found.rate.get(), zfs::from_memory(BytesPerSec::from_gb(20.0)).get());
    assert_eq!(decides(&found).1, "memory:h");
    says(&found, "four times under ZFS");
}

#[test]
fn translation_of_addresses_costs_small_transfers_of_a_fast_link() {
    let with = |keys: &str| {
        system(&format!(
            "[host.h]\ncores = 64\ncore_iops = \"100M IOPS\"\n{keys}[slot.s]\ngeneration = 5\nwidth = 4\n[device.d]\nin = \"s\"\n\
             read = \"100 GB/s\"\nwrite = \"100 GB/s\"\nread_iops = \"1000M IOPS\"\nwrite_iops = \"1000M IOPS\"\n\
             read_latency = \"1 us\"\nwrite_latency = \"1 us\"\ngeneration = 5\nwidth = 4\n"
        ))
    };
    let work = random("d", Bytes::new(512), 256, 64);
    let plain = get(&with(""), &work);
    assert_eq!(decides(&plain), (BoundKind::Bandwidth, "link:d"));
    let strict = get(&with("iommu = \"strict\"\n"), &work);
    let kept = iommu::kept(plain.rate, Bytes::new(512), Bytes::from_mib(8), false);
    assert!(kept < 0.8, "{kept}");
    near(strict.rate.get(), plain.rate.get() * kept);
    says(&strict, "address translation");
    for free in ["iommu = \"passthrough\"\n", "iommu = \"lazy\"\niommu_pages = \"2 MiB\"\n"] {
        near(get(&with(free), &work).rate.get(), plain.rate.get());
    }
    // What is under way fits the cache of translations, and large transfers hide the walks.
    for easy in [random("d", Bytes::new(512), 4, 64), random("d", Bytes::from_kib(4), 256, 64)] {
        near(get(&with("iommu = \"strict\"\n"), &easy).rate.get(), get(&with(""), &easy).rate.get());
    }
}

/// Without queues 5 µs of Linux AIO, 1.5 µs of the mapping and 1.35 × 4096 bytes at 4.096 GB/s, 1.35 µs, are 7.85 µs of the core
/// that writes; reads are decrypted by the eight cores that interrupts come to, 0.169 µs each. With queues the core is that of the call alone.
#[test]
fn a_mapping_without_queues_takes_time_of_the_core_that_writes() {
    let of = |queues: bool, read_share: f64| {
        let system = system(&format!(
            "[host.h]\ncores = 8\ndecrypt = \"4.096 GB/s\"\nencrypt = \"4.096 GB/s\"\n[device.d]\nin = \"h\"\nread = \"7 GB/s\"\n\
             write = \"7 GB/s\"\nread_iops = \"2M IOPS\"\nwrite_iops = \"2M IOPS\"\n[crypt.c]\non = \"d\"\nworkqueues = {queues}\n"
        ));
        let work = Workload { engine: Engine::Libaio, read_share, ..random("c", Bytes::from_kib(4), 128, 1) };
        let found = get(&system, &work);
        let core = found.bounds.iter().find(|bound| bound.kind == BoundKind::Processor).expect("a core");
        core.rate.get() / 4096.0
    };
    near(of(false, 0.0), 1e9 / 7850.0);
    near(of(false, 1.0), 1e9 / 6669.0);
    near(of(true, 1.0), 1e9 / 5000.0);
}
