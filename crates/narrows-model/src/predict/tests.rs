use super::*;
use crate::path::file::{Document, System, Workload, parse, testing::SYSTEMS};
use narrows_base::units::{Bytes, human};
use proptest::prelude::*;

mod laws;

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
            match (prediction.answer.intervals(), prediction.at_most()) {
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
