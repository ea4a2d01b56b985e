use super::*;
use crate::path::file::{Workload, parse};
use crate::predict::law::{Residual, Term};
use crate::predict::{Prediction, predict};

const PARTS: &str = "format = \"narrows/path/1\"\n[host.h]\ncpu = \"Ryzen 5 2600\"\n[device.d]\ncount = 4\nin = \"h\"\nread = \"7 GB/s\"\nwrite = \"6 GB/s\"\ngeneration = 4\nwidth = 4\n[network.n]\nin = \"h\"\nrate = \"10 Gbit/s\"\n";

fn of(more: &str, work: &str) -> Prediction {
    let text = format!("{PARTS}{more}[workload.w]\n{work}");
    let system = parse("t", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    predict(&system, &system.workloads[0]).expect("is a path")
}

fn refusal(more: &str, work: &str) -> NotKnown {
    let prediction = of(more, work);
    prediction.answer.as_ref().err().cloned().unwrap_or_else(|| panic!("{work}: {:?}", prediction.answer))
}

const FAST_SHARE: &str = "[network.m]\nin = \"h\"\nrate = \"40 Gbit/s\"\n[remote.r]\non = \"d0\"\nthrough = [\"m\"]\nprotocol = \"iscsi\"\n";

const FLUSHED: &str = "pattern = \"random\"\nblock_size = \"4 KiB\"\nread_share = 0.0\nflush = true\n";

const SMALL: &str = "pattern = \"random\"\nblock_size = \"4 KiB\"\ndepth = 32\njobs = 8\n";

#[test]
fn what_no_law_covers_is_refused_with_its_reason() {
    let raid = "[raid.r]\nlevel = \"raid5\"\nmembers = [\"d\"]\n";
    let share = FAST_SHARE;
    let write = "read_share = 0.0\nblock_size = \"1 MiB\"\ndepth = 8\n";
    let cases = [
        (raid, format!("target = \"r\"\n{SMALL}"), "md's locks"),
        (share, format!("target = \"r\"\n{write}"), "does with writes"),
        (
            "",
            "target = \"d0\"\npattern = \"random\"\nblock_size = \"4 KiB\"\nread_share = 0.0\nflush = true\n"
                .to_owned(),
            "without power-loss protection",
        ),
        (
            "[device.e]\nin = \"h\"\nclass = \"enterprise-tlc\"\ncount = 2\n[raid.r]\nlevel = \"raid1\"\nmembers = [\"e\"]\n",
            format!("target = \"r\"\n{FLUSHED}"),
            "what passes a flush on",
        ),
        (
            "[device.e]\nin = \"h\"\nclass = \"enterprise-tlc\"\n",
            format!("target = \"e\"\n{FLUSHED}depth = 8\n"),
            "share their flushes",
        ),
        ("[device.e]\nin = \"h\"\nkind = \"hdd\"\n", format!("target = \"e\"\n{FLUSHED}"), "its turns"),
        (
            "",
            "target = \"d0\"\nblock_size = \"4 KiB\"\nread_share = 0.0\nengine = \"sync\"\n".to_owned(),
            "is not said",
        ),
        ("", format!("target = \"d0\"\n{write}size = \"100 GB\"\n"), "fast cache"),
        (
            "[crypt.c]\non = \"d0\"\n",
            "target = \"c\"\nblock_size = \"1 MiB\"\ndepth = 8\njobs = 4\n".to_owned(),
            "several jobs on one encrypted mapping",
        ),
        ("", format!("target = \"d0\"\n{write}engine = \"buffered\"\n"), "main memory"),
        (
            "[raid.r]\nlevel = \"raid1\"\nmembers = [\"d0\", \"d1\"]\nresync = \"200 MB/s\"\n",
            "target = \"r\"\nblock_size = \"1 MiB\"\ndepth = 8\n".to_owned(),
            "resync",
        ),
        (
            "[cluster.c]\nmembers = [\"d\"]\nnetworks = [\"n\"]\ncopies = 3\n",
            format!("target = \"c\"\n{SMALL}"),
            "cluster",
        ),
    ];
    for (more, work, why) in cases {
        let refused = refusal(more, &work);
        assert!(refused.because.contains(why), "{work}: {}", refused.because);
        assert!(!refused.measure.is_empty());
    }
}

/// An empty flush takes 13 µs. An NVMe drive may report no volatile cache, and then there is none.
#[test]
fn a_drive_that_keeps_what_it_was_sent_flushes_at_once() {
    let drive = "[device.e]\nin = \"h\"\nclass = \"enterprise-tlc\"\n";
    let sata = "[device.e]\nin = \"h\"\nkind = \"sata\"\nclass = \"enterprise-sata\"\n";
    let work = format!("target = \"e\"\n{FLUSHED}");
    assert!(refusal(drive, &work).because.contains("no volatile cache"), "{:?}", of(drive, &work).answer);
    let sas = sata.replace("\"sata\"", "\"sas\"");
    assert!(
        refusal(&sas, &work).because.contains("no measurement of this kind"),
        "{:?}",
        of(&sas, &work).answer
    );
    let flushed = of(sata, &work);
    let not = of(sata, &format!("target = \"e\"\n{}", FLUSHED.replace("true", "false")));
    assert!(flushed.answer.is_ok(), "{:?}", flushed.answer);
    let micros = |it: &Prediction| 1e6 / it.iops.get();
    assert!((micros(&flushed) - micros(&not) - 13.0).abs() < 0.1, "{} {}", micros(&flushed), micros(&not));
    // What a drive of servers is rated to write it writes for ever.
    let long = "target = \"e\"\nread_share = 0.0\nblock_size = \"1 MiB\"\ndepth = 8\nsize = \"900 GB\"\n";
    for known in ["size = \"3.84 TB\"\n", "write = \"2 GB/s\"\n"] {
        assert!(of(&format!("{drive}{known}"), long).answer.is_ok(), "{known}");
    }
    for small in ["", "size = \"960 GB\"\n"] {
        assert!(refusal(&format!("{drive}{small}"), long).because.starts_with("small drives"), "{small}");
    }
}

/// DMA of a card at random addresses: 3.0 x8 carries at least 6.5 GB/s of it, no core takes part, and below 512 bytes cards differ.
#[test]
fn dma_of_a_card_takes_no_core() {
    let card = "[slot.s]\nhost = \"h\"\ngeneration = 3\nwidth = 8\n[network.c]\nin = \"s\"\nrate = \"100 Gbit/s\"\ngeneration = 3\nwidth = 8\n";
    let work =
        |size: u32| format!("target = \"c\"\npattern = \"random\"\nblock_size = \"{size} B\"\ndepth = 64\n");
    let known = of(card, &work(512));
    assert!(known.answer.is_ok() && known.rate.get() > 6.5e9, "{} {:?}", known.rate, known.answer);
    assert!(known.bounds.iter().all(|bound| bound.kind != BoundKind::Processor));
    assert!(refusal(card, &work(256)).because.starts_with("DMA of less than 512 bytes"));
}

/// The network carries 40 Gbit/s ÷ 8 × 1448/1538 = 4.707 GB/s, whatever the server does with writes.
#[test]
fn what_is_refused_has_the_nearest_bound_that_nothing_exceeds() {
    let share = FAST_SHARE;
    let prediction = of(share, "target = \"r\"\nread_share = 0.0\nblock_size = \"1 MiB\"\ndepth = 8\n");
    let most = prediction.at_most().expect("the network bounds");
    assert_eq!(most.hop.as_str(), "network:m");
    assert!((most.rate.get() / 4.707e9 - 1.0).abs() < 1e-3, "{}", most.rate);
    // A page cache takes writes at any rate that a core copies: no drive bounds them.
    let cached = of("", "target = \"d0\"\nread_share = 0.0\nblock_size = \"1 MiB\"\nengine = \"buffered\"\n");
    let most = cached.at_most().expect("a core copies");
    assert!((most.rate.get() / (64.0 * 6.2e9) - 1.0).abs() < 1e-9, "{}", most.rate);
}

/// How many cores copy a RAM disk's blocks is not named, nor its memory: what as many cores as there are jobs copy bounds it all the same.
#[test]
fn a_ram_disk_has_a_bound_where_nothing_of_its_host_is_known() {
    let ram = "[device.ram]\nin = \"h\"\nkind = \"ramdisk\"\n";
    let work =
        "target = \"ram\"\npattern = \"random\"\nblock_size = \"4 KiB\"\njobs = 64\nread_share = 0.5\n";
    let prediction = of(ram, work);
    assert!(prediction.answer.is_err());
    let most = prediction.at_most().expect("a bound");
    assert!(most.formula.contains("× 6.2 GHz"), "{}", most.formula);
    // It decides no estimate.
    assert!(prediction.rate.get() < most.rate.get() / 4.0, "{} {}", prediction.rate, most.rate);
}

/// Of 1.177 GB/s that 10 Gbit/s carry, 0.44 to 0.85 were published.
#[test]
fn large_writes_to_a_server_are_known_in_an_interval_as_wide_as_what_was_published() {
    let share = "[remote.r]\non = \"d0\"\nthrough = [\"n\"]\nprotocol = \"iscsi\"\n";
    let prediction = of(share, "target = \"r\"\nread_share = 0.0\nblock_size = \"1 MiB\"\ndepth = 8\n");
    let it = prediction.answer.as_ref().ok().unwrap_or_else(|| panic!("{:?}", prediction.answer));
    let at = |factor: f64| prediction.rate.get() * factor / 1.177e9;
    assert!(at(it.in_95.0) <= 0.45 && at(it.in_95.1) >= 0.84, "{it:?} of {}", prediction.rate);
}

#[test]
fn large_reads_of_a_link_are_known_with_intervals_that_hold_the_rate_and_each_other() {
    let prediction = of("", "target = \"d0\"\nblock_size = \"1 MiB\"\ndepth = 32\n");
    let it = prediction.answer.as_ref().ok().unwrap_or_else(|| panic!("{:?}", prediction.answer));
    assert!(it.in_95.0 <= it.in_80.0 && it.in_80.0 <= 1.0 && 1.0 <= it.in_80.1 && it.in_80.1 <= it.in_95.1);
    assert!(it.in_95.0 > 0.3 && it.in_95.1 < 2.0, "{it:?}");
}

#[test]
fn without_measurements_nothing_is_known() {
    let prediction = of("", "target = \"d0\"\nblock_size = \"1 MiB\"\ndepth = 32\n");
    let answer = prediction.answer_by(&Residuals::default());
    let refused = answer.expect_err("is refused");
    assert!(
        refused.because.contains("there are 0 measurements of 0 sources, and an estimate needs 8 of 3"),
        "{}",
        refused.because
    );
}

fn bound(law: Law, rate: f64) -> Bound {
    let path = of("", "target = \"d0\"\nblock_size = \"1 MiB\"\n");
    Bound { rate: BytesPerSec::new(rate), terms: Term::whole(law), ..path.bounds[0].clone() }
}

fn measured(laws: &[Law]) -> Residuals {
    let row = |law: Law, at: u32| Residual {
        law,
        source: at.to_string(),
        row: format!("m{at}"),
        log: (f64::from(at) - 5.0) / 50.0,
    };
    Residuals::of(laws.iter().flat_map(|&law| (1..10).map(move |at| row(law, at))).collect())
}

/// Hops of one law are off together, so a second one changes nothing; one of another law makes the smaller of two, which is
/// lower than either.
#[test]
fn one_draw_is_shared_by_all_hops_of_a_law() {
    let (one, other) = (Law::MediumMix, Law::StripeThread);
    let residuals = measured(&[one, other]);
    let rate = BytesPerSec::new(1e9);
    let alone = intervals(&[bound(one, 1e9)], rate, &residuals);
    let same = intervals(&[bound(one, 1e9), bound(one, 1e9)], rate, &residuals);
    let two = intervals(&[bound(one, 1e9), bound(other, 1e9)], rate, &residuals);
    assert_eq!(alone, same);
    assert!(two.in_80.1 < alone.in_80.1 - 0.02, "{two:?} {alone:?}");
    // Of nine sources with −0.08 to 0.08, a tenth lies below the first.
    assert!((alone.in_80.0 - (-0.08_f64).exp()).abs() < 5e-3, "{alone:?}");
}

/// A time that is half of one law and half of another is off by less than either.
#[test]
fn a_sum_of_times_takes_each_share_by_its_own_law() {
    let (one, other) = (Law::MediumMix, Law::StripeThread);
    let residuals = measured(&[one, other]);
    let halves = vec![Term { law: one, share: 0.5 }, Term { law: other, share: 0.5 }];
    let sum = Bound { terms: halves, ..bound(one, 1e9) };
    let rate = BytesPerSec::new(1e9);
    let of_sum = intervals(&[sum], rate, &residuals);
    let alone = intervals(&[bound(one, 1e9)], rate, &residuals);
    assert!(of_sum.in_80.0 > alone.in_80.0 + 0.01 && of_sum.in_80.1 < alone.in_80.1 - 0.01);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let ask = || of("", "target = \"d0\"\nblock_size = \"1 MiB\"\ndepth = 32\n").answer;
    assert_eq!(ask(), ask());
    let workload = Workload::reading("d0");
    assert_eq!(workload.flush, None);
}

/// Of 2.5 Gbit/s small boards were seen to take 1.57 and 1.9 of 2.35, of 1 Gbit/s all; what copies slowly has no page cache that is known.
#[test]
fn small_cores_are_answered_only_where_they_keep_up() {
    let of = |cpu: &str, parts: &str, work: &str| {
        let text = format!(
            "format = \"narrows/path/1\"\n[host.h]\ncpu = \"{cpu}\"\n{parts}[workload.w]\nblock_size = \"1 MiB\"\n{work}"
        );
        let system = parse("t", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        predict(&system, &system.workloads[0]).expect("is a path").answer.is_ok()
    };
    let card = |rate: &str| format!("[network.n]\nin = \"h\"\nrate = \"{rate}\"\n");
    let through = "target = \"n\"\ndepth = 16\n";
    assert!(of("Raspberry Pi CM4", &card("1 Gbit/s"), through));
    assert!(!of("Raspberry Pi CM4", &card("2.5 Gbit/s"), through));
    assert!(of("Ryzen 5 2600", &card("2.5 Gbit/s"), through));
    let drive = "[device.d]\nin = \"h\"\nread = \"3 GB/s\"\nwrite = \"3 GB/s\"\ngeneration = 3\nwidth = 1\n";
    let dd = "target = \"d\"\nengine = \"buffered\"\n";
    assert!(of("Ryzen 5 2600", drive, dd));
    assert!(!of("Cavium CN8030", drive, dd));
}
