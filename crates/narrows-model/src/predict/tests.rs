use super::*;
use crate::ceiling::queueing::{self, Cap};
use crate::ceiling::{cache, pcie, raid};
use crate::path::file::testing::SYSTEMS;
use crate::path::file::{Document, Engine, System, Workload, parse};
use narrows_base::units::{Bytes, BytesPerSec, Iops, human};
use proptest::prelude::*;

fn shipped(name: &str) -> Document {
    let (name, text) = SYSTEMS.iter().find(|(known, _)| *known == name).expect("ships");
    Document::parse(name, text).expect("is a document")
}

fn with(name: &str, changes: &[&str]) -> System {
    let mut document = shipped(name);
    changes.iter().for_each(|change| document.set_text(change).expect("is there"));
    document.system().unwrap_or_else(|error| panic!("{error}"))
}

fn of(system: &System, workload: &str) -> Prediction {
    predict(system, system.workload(&workload.into()).expect("is there")).expect("is a path")
}

/// By hand: 5 GT/s × 8/10 ÷ 8 × 128/152 × 1534/1538 = 420 MB/s, and a copy at 0.2 ns for each byte: 387.
#[test]
fn the_slow_slot_is_the_narrows_and_four_lanes_bring_three_times_as_much() {
    let slow = of(&with("x99-slot", &[]), "hdparm");
    assert_eq!(human::rate(slow.rate), "387 MB/s");
    assert_eq!(slow.narrowest().map(|bound| bound.hop.as_str()), Some("link:ssd"));
    let fast = of(&with("x99-slot", &["PCIEX16_2.width=4"]), "hdparm");
    assert_eq!(human::rate(fast.rate), "1.26 GB/s");
}

#[test]
fn a_hop_that_is_widened_gives_what_its_description_with_the_change_does() {
    let system = with("x99-slot", &[]);
    let workload = system.workload(&"hdparm".into()).expect("is there");
    let slow = of(&system, "hdparm");
    let hop = slow.narrowest().map(|bound| bound.hop.clone()).expect("a link");
    let fast = predict_widened(&system, workload, (&hop, 4.0)).expect("is a path");
    // As `PCIEX16_2.width=4` above.
    assert_eq!(human::rate(fast.rate), "1.26 GB/s");
    let same = predict_widened(&system, workload, (&hop, 1.0)).expect("is a path");
    assert_eq!((same.rate, same.answer), (slow.rate, slow.answer));
}

#[test]
fn encryption_takes_the_gain_of_striping_away() {
    let stripe = of(&with("ryzen-raid-luks", &["read.target=stripe"]), "read");
    assert_eq!(stripe.narrowest().map(|bound| bound.hop.as_str()), Some("link:ssd0"));
    let luks = of(&with("ryzen-raid-luks", &["read.target=luks_stripe"]), "read");
    assert_eq!(luks.narrowest().map(|bound| bound.hop.as_str()), Some("crypt:luks_stripe"));
    assert_eq!(luks.next().map(|bound| bound.hop.as_str()), Some("link:ssd0"));
    let steep: Vec<(&str, f64)> =
        luks.sensitivity.iter().map(|it| (it.hop.as_str(), it.elasticity)).collect();
    assert_eq!(steep, [("crypt:luks_stripe", 1.0)]);
}

#[test]
fn a_tunnel_bounds_by_its_wire_and_gives_no_estimate() {
    let text = "name = \"t\"\n[host.pc]\n[device.d]\nkind = \"usb\"\nin = \"pc\"\nmodel = \"Samsung 990 PRO\"\nline_rate = \"40 Gbit/s\"\n";
    let found = get(&system(text), &random("d", Bytes::from_mib(1), 32, 1));
    assert_eq!(found.at_most().map(|bound| (bound.hop.as_str(), bound.rate.get())), Some(("usb:d", 5e9)));
}

/// Four drives of 3592 MB/s behind one uplink: alone each has its link; together they share that of the card.
#[test]
fn drives_behind_one_uplink_share_it() {
    let text = "format = \"narrows/path/1\"\n[host.h]\n[slot.s]\ngeneration = 3\nwidth = 8\n[switch.c]\nin = \"s\"\ngeneration = 3\nwidth = 16\nport_generation = 3\nport_width = 4\n[device.d]\ncount = 4\nin = \"c\"\nread = \"3.7 GB/s\"\nwrite = \"3.7 GB/s\"\ngeneration = 3\nwidth = 4\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let read = |drive: &str| Workload { name: drive.into(), depth: 32, ..Workload::reading(drive) };
    let alone = predict(&system, &read("d0")).expect("is a path");
    assert_eq!(human::rate(alone.rate), "3.59 GB/s");
    let all: Vec<Workload> = ["d0", "d1", "d2", "d3"].into_iter().map(read).collect();
    let together = predict_together(&system, &all).expect("are paths");
    let sum: f64 = together.iter().map(|it| it.rate.get()).sum();
    // 8 GT/s × 8 × 128/130 ÷ 8 × 256/280 × 1534/1538.
    assert!((sum / 7.183e9 - 1.0).abs() < 1e-3, "{sum}");
    assert!(together.iter().all(|it| it.narrowest().is_some_and(|bound| bound.hop.as_str() == "link:c")));
    // One reads and one writes: the link carries both at once, each in its direction.
    let pair = [read("d0"), read("d1").writing()];
    let both = predict_together(&system, &pair).expect("are paths");
    assert!(both.iter().all(|it| it.rate.get() > 3.5e9), "{both:?}");
}

#[test]
fn one_stream_reads_one_mirror_and_many_read_all() {
    let one = of(&with("ryzen-raid-luks", &["read.target=mirror"]), "read");
    assert_eq!(human::rate(one.rate), "3.59 GB/s");
    let many = of(&with("ryzen-raid-luks", &["read.target=mirror", "read.jobs=8"]), "read");
    assert_eq!(human::rate(many.rate), "7.18 GB/s");
    let written = of(&with("ryzen-raid-luks", &["write.target=mirror"]), "write");
    assert!(written.rate.get() < 3.7e9);
}

/// Depth 1 is the sum of the stages: 4 KiB at random of a drive that takes 80 µs and is behind a link of 3.59 GB/s.
#[test]
fn one_request_at_a_time_takes_the_sum_of_its_stages() {
    let text = "format = \"narrows/path/1\"\n[host.h]\n[slot.s]\ngeneration = 3\nwidth = 4\n[device.d]\nin = \"s\"\nread = \"3.5 GB/s\"\nwrite = \"3 GB/s\"\nread_latency = \"80 us\"\nwrite_latency = \"20 us\"\nread_iops = \"600k IOPS\"\nwrite_iops = \"500k IOPS\"\n[workload.w]\ntarget = \"d\"\npattern = \"random\"\nblock_size = \"4 KiB\"\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let prediction = of(&system, "w");
    // 80 µs, in which the call is contained, + 4096 ÷ 3.5 GB/s = 1.17 µs.
    assert!((prediction.latency.get() as f64 / 81_170.0 - 1.0).abs() < 0.001, "{}", prediction.latency);
    let deep = Workload { depth: 64, jobs: 8, ..system.workloads[0].clone() };
    let deep = predict(&system, &deep).expect("is a path");
    assert_eq!(deep.narrowest().map(|bound| bound.kind), Some(BoundKind::Iops));
    // 512 ÷ 81.17 µs and 600 k meet by the law of the knee.
    let want =
        crate::ceiling::queueing::knee(512.0 / 81.17e-6, 600e3, 512.0, crate::ceiling::queueing::FLASH_KNEE);
    assert!((deep.iops.get() / want - 1.0).abs() < 1e-3, "{} {want}", deep.iops);
}

/// Each row is inside its 95 % interval, or refused and not above its bound.
#[test]
fn what_was_published_is_inside_its_interval_or_refused() {
    let (mut rows, mut known) = (0, 0);
    for (name, text) in SYSTEMS {
        let document = Document::parse(name, text).expect("is a document");
        for row in document.system().expect("is a system").published {
            let mut document = document.clone();
            for (key, value) in &row.set {
                document.set_text(&format!("{key}={value}")).expect("is there");
            }
            let prediction = of(&document.system().expect("is a system"), row.workload.as_str());
            let factor = match row.value {
                crate::path::file::PublishedValue::Rate(rate) => rate.get() / prediction.rate.get(),
                crate::path::file::PublishedValue::Iops(iops) => iops.get() / prediction.iops.get(),
                crate::path::file::PublishedValue::Latency(_) => panic!("none is published"),
            };
            match (prediction.answer.as_ref().ok(), prediction.at_most()) {
                (Some(it), _) => {
                    assert!(
                        (it.in_95.0..=it.in_95.1).contains(&factor),
                        "{name}: {}: {it:?} {factor}",
                        row.what
                    );
                    known += 1;
                }
                (None, Some(most)) => {
                    let most = most.rate.get() / prediction.rate.get();
                    assert!(factor <= most * 1.01, "{name}: {}: {factor} above {most}", row.what);
                }
                (None, None) => {}
            }
            rows += 1;
        }
    }
    assert!(rows >= 20 && known * 2 >= rows, "{known} of {rows} are known");
}

/// A client on a wide card, a server on a narrow one: what is read leaves the server through the direction of its link in
/// which a host sends. By hand for 3.0 x1 with payloads of 256 bytes: 8 GT/s × 128/130 ÷ 8 = 984.6 MB/s raw.
#[test]
fn what_a_client_reads_is_sent_by_the_server() {
    let text = "format = \"narrows/path/1\"\n[host.c]\n[host.s]\n[slot.wide]\nhost = \"c\"\ngeneration = 3\nwidth = 8\n[slot.narrow]\nhost = \"s\"\ngeneration = 3\nwidth = 1\npayload = 256\n[slot.m2]\nhost = \"s\"\ngeneration = 4\nwidth = 4\n[device.d]\nin = \"m2\"\nread = \"6 GB/s\"\nwrite = \"6 GB/s\"\n[network.near]\nrate = \"40 Gbit/s\"\nin = \"wide\"\n[network.far]\nrate = \"40 Gbit/s\"\nin = \"narrow\"\n[remote.r]\non = \"d\"\nthrough = [\"near\", \"far\"]\n[workload.w]\ntarget = \"r\"\nblock_size = \"1 MiB\"\ndepth = 64\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let reads = of(&system, "w");
    let writes = predict(&system, &system.workloads[0].clone().writing()).expect("is a path");
    let decided = |prediction: &Prediction| {
        let bound = prediction.narrowest().expect("a bound");
        (bound.hop.as_str().to_owned(), bound.direction)
    };
    use crate::ceiling::Direction::{Read, Write};
    assert_eq!(decided(&reads), ("link:far".to_owned(), Some(Write)));
    assert_eq!(decided(&writes), ("link:far".to_owned(), Some(Read)));
    let link = reads.path.hops.iter().find(|hop| hop.id.as_str() == "link:far").expect("is there");
    let ceilings = crate::ceiling::of_hop(link);
    let share = 1514.0 / 1448.0;
    let sent = ceilings.write.rate().expect("is known").get() / share;
    assert!((reads.rate.get() / sent - 1.0).abs() < 1e-9, "{} {sent}", reads.rate);
    assert_ne!(ceilings.read.rate(), ceilings.write.rate());
    // The client's own card gets what is read, and the server's drive gives it.
    let near = reads.bounds.iter().find(|bound| bound.hop.as_str() == "link:near").expect("is there");
    assert_eq!(near.direction, Some(Read));
}

/// Drive and card of a server behind one chipset: what is read comes up its uplink from the drive and goes down it to the card.
#[test]
fn a_servers_uplink_carries_what_is_read_once_in_each_direction() {
    let text = "format = \"narrows/path/1\"\n[host.c]\n[host.s]\n[chipset.pch]\nhost = \"s\"\nmodel = \"Intel X99\"\n[slot.a]\nchipset = \"pch\"\ngeneration = 3\nwidth = 4\n[slot.b]\nchipset = \"pch\"\ngeneration = 3\nwidth = 8\n[slot.c8]\nhost = \"c\"\ngeneration = 3\nwidth = 8\n[device.d]\nin = \"a\"\nread = \"6 GB/s\"\nwrite = \"6 GB/s\"\n[network.near]\nrate = \"40 Gbit/s\"\nin = \"c8\"\n[network.far]\nrate = \"40 Gbit/s\"\nin = \"b\"\n[remote.r]\non = \"d\"\nthrough = [\"near\", \"far\"]\n[workload.w]\ntarget = \"r\"\nblock_size = \"1 MiB\"\ndepth = 64\n";
    let system = parse("t", text).unwrap_or_else(|error| panic!("{error}"));
    let reads = of(&system, "w");
    let uplink = reads.path.hops.iter().find(|hop| hop.id.as_str() == "chipset:pch").expect("is there");
    let framed = 1514.0 / 1448.0;
    assert!(
        (uplink.traffic.read - (1.0 + framed)).abs() < 1e-9 && (uplink.against.read - framed).abs() < 1e-9
    );
    let ceilings = crate::ceiling::of_hop(uplink);
    let down = ceilings.write.rate().expect("is known").get() / framed;
    assert!((reads.rate.get() / down.min(ceilings.read.rate().expect("is known").get()) - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever runs on whatever ships: no prediction lies above a bound, and none is negative or infinite.
    #[test]
    fn no_prediction_is_above_any_bound(
        which in 0usize..5, exponent in 9u32..25, depth in 1u32..64, jobs in 1u32..32, read_share in 0.0f64..=1.0
    ) {
        let (name, text) = SYSTEMS[which];
        let system = parse(name, text).expect("is a system");
        let workload = Workload {
            block_size: Bytes::new(1 << exponent), depth, jobs, read_share, ..system.workloads[0].clone()
        };
        let prediction = predict(&system, &workload).expect("is a path");
        prop_assert!(prediction.rate.get().is_finite() && prediction.rate.get() > 0.0);
        for bound in &prediction.bounds {
            prop_assert!(prediction.rate.get() <= bound.rate.get() * (1.0 + 1e-9), "{:?}", bound);
        }
    }

    /// A wider slot, a faster generation, more depth: nothing of it makes a workload that is alone slower.
    #[test]
    fn raising_a_ceiling_never_lowers_the_prediction(
        width in 0usize..5, generation in 1u8..6, depth in 1u32..64, exponent in 9u32..22
    ) {
        let rate = |width: usize, generation: u8, depth: u32| {
            let width = [1, 2, 4, 8, 12, 16][width];
            let (width, generation) = (format!("PCIEX16_2.width={width}"), format!("PCIEX16_2.generation={generation}"));
            let system = with("x99-slot", &[&width, &generation, "hdparm.engine=io_uring", "ssd.width=16", "ssd.generation=6", "pch.generation=6"]);
            let workload = Workload { depth, block_size: Bytes::new(1 << exponent), ..system.workloads[0].clone() };
            predict(&system, &workload).expect("is a path").rate.get()
        };
        let now = rate(width, generation, depth);
        prop_assert!(rate(width + 1, generation, depth) >= now * (1.0 - 1e-9));
        prop_assert!(rate(width, generation + 1, depth) >= now * (1.0 - 1e-9));
        prop_assert!(rate(width, generation, depth + 1) >= now * (1.0 - 1e-9));
    }
}

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
        near(found.rate.get(), queueing::caps_together(cap, 4, block, shared).get());
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
    let mean = cache::bcache_read(BytesPerSec::from_mb(500.0), BytesPerSec::from_mb(100.0), 0.5);
    near(found.rate.get(), cache::read_rate(mean, cache::READAHEAD, 1).get());
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
    near(get(&system, &stream).rate.get(), raid::carried_together(raid::full_stripes(disk, 6, 2)).get());
    let one = get(&system, &random("d0", Bytes::from_kib(128), 32, 4));
    let found = get(&system, &random("tank", Bytes::from_kib(128), 32, 4));
    near(found.iops.get(), one.iops.get());
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
    near(found.rate.get(), raid::zfs_from_memory(BytesPerSec::from_gb(20.0)).get());
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
    let kept = pcie::kept_by_iommu(plain.rate, Bytes::new(512), Bytes::from_mib(8), false);
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
