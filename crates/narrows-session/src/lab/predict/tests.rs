//! Published measurements, what each law says of simple drives, and what must hold of all.

use super::*;
use crate::lab::{CipherRate, Encryption, Layout, Mapping, Measured};
use narrows_base::units::Nanos;
use narrows_load::measurement::{GeneratorUse, Measurement, Pattern};
use narrows_load::preset::Parallel;
use proptest::prelude::*;

const LAYOUTS: [Layout; 9] = [
    Layout::Single,
    Layout::Raid0,
    Layout::Raid1,
    Layout::Raid10,
    Layout::Raid5,
    Layout::LvmLinear,
    Layout::LvmStriped,
    Layout::ZfsStripe,
    Layout::ZfsMirror,
];
const ENCRYPTIONS: [Encryption; 4] =
    [Encryption::Plain, Encryption::Luks2, Encryption::Luks2Tuned, Encryption::VeraCrypt];

fn load(pattern: Pattern, kib: u64, depth: u32, writes: u8) -> LoadSpec {
    LoadSpec::reading(pattern, Bytes::from_kib(kib), depth).writing(writes)
}

fn measured(load: &LoadSpec, mb: f64, cpu: f64) -> Measured {
    let measurement = Measurement {
        bytes_per_second: BytesPerSec::from_mb(mb),
        generator: GeneratorUse { cpu, ..GeneratorUse::default() },
        ..Measurement::default()
    };
    Measured { test: load.mark(), load: load.clone(), measurement, trusted: true, processors: None }
}

fn basis(devices: usize, tests: &[(LoadSpec, f64)], cipher: Option<f64>) -> Basis {
    let alone: Vec<Measured> = tests.iter().map(|(load, mb)| measured(load, *mb, 0.0)).collect();
    let together = tests.iter().map(|(load, mb)| measured(load, mb * devices as f64, 0.0)).collect();
    let rate = |mb| CipherRate {
        cipher: "aes-xts-plain64".to_owned(),
        key_bits: 512,
        encrypt: BytesPerSec::from_mb(mb),
        decrypt: BytesPerSec::from_mb(mb),
        driver: Some("xts-aes-aesni".to_owned()),
    };
    Basis {
        devices: (0..devices).map(|at| format!("nvme{at}n1")).collect(),
        alone: vec![alone; devices],
        together,
        ciphers: cipher.map(rate).into_iter().collect(),
        cores: 6,
        mappings: Vec::new(),
        paused: Vec::new(),
    }
}

const fn cell(layout: Layout, encryption: Encryption) -> Cell {
    Cell { layout, encryption, file_system: FileSystem::None }
}

fn said(basis: &Basis, layout: Layout, encryption: Encryption, load: &LoadSpec) -> Predicted {
    predict(basis, &cell(layout, encryption), &load.mark(), load)
}

fn mb(basis: &Basis, layout: Layout, encryption: Encryption, load: &LoadSpec) -> f64 {
    said(basis, layout, encryption, load).bytes_per_second.expect("can be said").get() / 1e6
}

/// Ryzen 5 2600 with two SN770 in PCIe 3.0 x4, KDiskMark Q8T1 of 1 MiB (delightlylinux, 2023-04-10), and its cipher (2566.2
/// and 2596.5 MiB/s, linuxreviews.org, Linux 5.12).
#[test]
fn a_published_pair_of_drives_is_met_with_and_without_luks() {
    for (writes, alone, cipher, found) in [
        (0, 3600.0, 2690.9, [7200.0, 2511.0, 2465.0, 2391.0, 3600.0]),
        (100, 3300.0, 2722.6, [6600.0, 2129.0, 2147.0, 1969.0, 3300.0]),
    ] {
        let load = load(Pattern::Sequential, 1024, 8, writes);
        let basis = basis(2, &[(load.clone(), alone)], Some(cipher));
        let cells = [
            (Layout::Raid0, Encryption::Plain),
            (Layout::Single, Encryption::Luks2),
            (Layout::Raid0, Encryption::Luks2),
            (Layout::Raid1, Encryption::Luks2),
            (Layout::LvmLinear, Encryption::Plain),
        ];
        for ((layout, encryption), found) in cells.into_iter().zip(found) {
            let error = mb(&basis, layout, encryption, &load) / found - 1.0;
            assert!(error.abs() < 0.15, "{layout:?} {encryption:?} {writes}: {error:+.3}");
        }
        let said = said(&basis, Layout::Raid0, Encryption::Luks2, &load);
        assert_eq!(said.bound, "the cipher on one core");
        assert!(said.formula.contains("on one core × 1 core"), "{}", said.formula);
    }
}

#[test]
fn stripes_need_requests_for_all_drives() {
    let shallow = load(Pattern::Random, 4, 1, 0);
    let deep = load(Pattern::Random, 4, 32, 0);
    let basis = basis(2, &[(shallow.clone(), 50.0), (deep.clone(), 800.0)], None);
    assert_eq!(mb(&basis, Layout::Raid0, Encryption::Plain, &shallow), 50.0);
    assert_eq!(mb(&basis, Layout::LvmStriped, Encryption::Plain, &shallow), 50.0);
    assert_eq!(
        said(&basis, Layout::Raid0, Encryption::Plain, &shallow).bound,
        "too few requests for all drives"
    );
    assert!(mb(&basis, Layout::Raid0, Encryption::Plain, &deep) > 1590.0);
}

#[test]
fn a_block_of_two_chunks_is_on_both_drives_even_alone() {
    // 1 MiB in 400 µs: 105 µs before 295 µs on a link of 3.56 GB/s. Halves take 105 + 147 µs.
    let one = load(Pattern::Sequential, 1024, 1, 0);
    let many = load(Pattern::Sequential, 1024, 8, 0);
    let basis = basis(2, &[(one.clone(), 2621.44), (many, 3560.0)], None);
    let both = mb(&basis, Layout::Raid0, Encryption::Plain, &one);
    assert!((both / (1.048_576 / 252.7e-6) - 1.0).abs() < 0.01, "{both}");
    // With one drive, a small block gains nothing.
    let small = load(Pattern::Sequential, 128, 1, 0);
    let basis = basis_with(&basis, &small, 1000.0);
    assert_eq!(mb(&basis, Layout::Raid0, Encryption::Plain, &small), 1000.0);
}

fn basis_with(basis: &Basis, load: &LoadSpec, mb: f64) -> Basis {
    let mut basis = basis.clone();
    basis.alone.iter_mut().for_each(|tests| tests.push(measured(load, mb, 0.0)));
    basis.together.push(measured(load, mb * basis.devices.len() as f64, 0.0));
    basis
}

#[test]
fn a_mirror_reads_one_stream_from_one_drive_and_writes_as_the_slower() {
    let stream = load(Pattern::Sequential, 1024, 8, 0);
    let random = load(Pattern::Random, 4, 32, 0);
    let write = load(Pattern::Sequential, 1024, 8, 100);
    let mut basis =
        basis(2, &[(stream.clone(), 500.0), (random.clone(), 300.0), (write.clone(), 400.0)], None);
    let of = |basis: &Basis, load: &LoadSpec| mb(basis, Layout::Raid1, Encryption::Plain, load);
    assert!((of(&basis, &stream) - 500.0).abs() < 1e-6);
    let two = stream.clone().on(Parallel::Streams(2));
    assert_eq!(of(&basis_with(&basis, &two, 500.0), &two), 1000.0);
    assert_eq!(of(&basis, &random), 600.0);
    assert_eq!(of(&basis, &write), 400.0);
    basis.alone[1][2].measurement.bytes_per_second = BytesPerSec::from_mb(250.0);
    assert_eq!(of(&basis, &write), 250.0);
}

#[test]
fn one_sequence_after_the_other_is_read_from_the_members_of_a_mirror() {
    let stream = load(Pattern::Sequential, 1024, 8, 0);
    let alone = load(Pattern::Sequential, 1024, 1, 0);
    let mut basis = basis(2, &[(stream.clone(), 600.0), (alone.clone(), 500.0)], None);
    basis.alone[1][0].measurement.bytes_per_second = BytesPerSec::from_mb(300.0);
    basis.alone[1][1].measurement.bytes_per_second = BytesPerSec::from_mb(250.0);
    let of = |layout, load: &LoadSpec| mb(&basis, layout, Encryption::Plain, load);
    // As many bytes at 600 as at 300: 2 / (1/600 + 1/300).
    assert!((of(Layout::Raid1, &stream) - 400.0).abs() < 1e-6);
    // In passes of 24 MiB the next one is under way for 8 of 24 blocks.
    let mut short = basis.clone();
    short.alone[0][0].measurement.region = Bytes::from_mib(24);
    assert!((mb(&short, Layout::Raid1, Encryption::Plain, &stream) - 600.0).abs() < 1e-6);
    // RAID-10 of two asks that which has less to do.
    assert!((of(Layout::Raid10, &stream) - 900.0).abs() < 1e-6);
    assert!((of(Layout::Raid1, &alone) - 500.0).abs() < 1e-6, "the first");
    // 0.7 ms of waiting at most, and 1 MiB at 900.
    let both = of(Layout::Raid10, &alone);
    assert!(
        (both / (1.048_576 / (0.699_051e-3 + 1.165_084e-3)) - 1.0).abs() < 1e-3,
        "parts of it go to both: {both}"
    );
}

/// Half of a processor for the generator alone at 100 MB/s: 5 ns for a byte; a drive at 50 MB/s with 0.75 of it: 15 ns.
#[test]
fn the_processor_has_time_for_all_that_a_byte_crosses_and_no_more() {
    let deep = load(Pattern::Random, 4, 32, 100);
    let mut basis = basis(2, &[(deep.clone(), 50.0)], None);
    basis.cores = 1;
    let at_work = |mb, processors| Measured { processors: Some(processors), ..measured(&deep, mb, 0.0) };
    basis.alone = vec![vec![at_work(50.0, 0.75)]; 2];
    let nothing = Mapping { encryption: Encryption::Plain, tests: vec![at_work(100.0, 0.5)] };
    // 25 ns with the cipher.
    let luks = Mapping { encryption: Encryption::Luks2, tests: vec![at_work(40.0, 1.0)] };
    let watched = Basis { mappings: vec![nothing, luks], ..basis.clone() };
    let of = |basis: &Basis, layout, encryption| mb(basis, layout, encryption, &deep);
    // 5 + 10 ns allow 66.7 MB/s, with copies 5 + 2 × 10 allow 40, with the cipher 5 + 10 + 20 allow 28.6.
    assert!(of(&watched, Layout::Raid0, Encryption::Plain) < 66.7);
    assert!((of(&watched, Layout::Raid1, Encryption::Plain) - 40.0).abs() < 1e-6);
    assert!((of(&watched, Layout::Single, Encryption::Luks2) - 1e3 / 35.0).abs() < 1e-6);
    assert!((of(&watched, Layout::Raid1, Encryption::Luks2) - 1e3 / 45.0).abs() < 1e-6);
    let said = said(&watched, Layout::Raid1, Encryption::Luks2, &deep);
    assert_eq!(said.bound, "the processor");
    assert!(said.formula.contains("2.00 ×"), "{}", said.formula);
    // What lies on the first drive has nothing of the second.
    let mut uneven = watched.clone();
    uneven.alone[1] = vec![at_work(50.0, 1.75)];
    assert_eq!(
        of(&uneven, Layout::Single, Encryption::Luks2),
        of(&watched, Layout::Single, Encryption::Luks2)
    );
    // 5 ns, and 10 and 30 ns for drives.
    assert!((of(&uneven, Layout::Raid1, Encryption::Plain) - 1e3 / 45.0).abs() < 1e-6);
    // Many processors are no bound, and what was not watched is none.
    let many = Basis { cores: 16, ..watched.clone() };
    assert!((of(&many, Layout::Raid1, Encryption::Plain) - 50.0).abs() < 1e-6);
    assert!((of(&basis, Layout::Raid1, Encryption::Plain) - 50.0).abs() < 1e-6);
}

/// A fifth of a processor at 8 MB/s with one request at a time is 25 ns for a byte in generator and drive, half of one at
/// 50 MB/s 10 ns in the generator.
#[test]
fn what_a_thread_of_the_kernel_passes_on_ends_one_by_one() {
    let deep = load(Pattern::Random, 4, 32, 100);
    let one = deep.one_at_a_time();
    let at_work = |load, mb, processors| Measured { processors: Some(processors), ..measured(load, mb, 0.0) };
    let mut basis = basis(2, &[(deep.clone(), 50.0)], None);
    basis.cores = 1;
    basis.alone = vec![vec![at_work(&deep, 50.0, 0.75), at_work(&one, 8.0, 0.2)]; 2];
    let nothing = vec![at_work(&deep, 100.0, 0.5), at_work(&one, 50.0, 0.5)];
    let luks = vec![at_work(&deep, 25.0, 1.0)];
    let over = |encryption, tests| Mapping { encryption, tests };
    basis.mappings = vec![over(Encryption::Plain, nothing), over(Encryption::Luks2, luks)];
    let of = |layout, encryption| mb(&basis, layout, encryption, &deep);
    // 10 in the generator, 15 in a drive and 40 − 10 in the cipher.
    assert!((of(Layout::Single, Encryption::Luks2) - 1e3 / 55.0).abs() < 1e-6);
    assert!((of(Layout::Raid1, Encryption::Luks2) - 1e3 / 70.0).abs() < 1e-6);
    assert!((of(Layout::Raid1, Encryption::Plain) - 1e3 / 40.0).abs() < 1e-6, "md passes writes on");
    assert_eq!(of(Layout::Single, Encryption::Plain), 50.0, "nobody passes it on: 5 + 10 allow more");
    let said = said(&basis, Layout::Single, Encryption::Luks2, &deep);
    assert!(said.formula.contains("one by one"), "{}", said.formula);
}

#[test]
fn drives_at_once_say_nothing_when_the_processors_had_no_time_to_ask() {
    let deep = load(Pattern::Random, 4, 32, 0);
    let mut basis = basis(2, &[(deep.clone(), 50.0)], None);
    basis.cores = 1;
    basis.together[0].measurement.bytes_per_second = BytesPerSec::from_mb(60.0);
    let of = |basis: &Basis| mb(basis, Layout::Raid1, Encryption::Plain, &deep);
    assert_eq!(of(&basis), 60.0);
    basis.together[0].processors = Some(0.99);
    assert_eq!(of(&basis), 100.0);
}

#[test]
fn what_drives_share_and_the_thread_that_asks_bound_all_of_them() {
    let load = load(Pattern::Sequential, 1024, 8, 0);
    let mut basis = basis(2, &[(load.clone(), 3000.0)], None);
    basis.together[0].measurement.bytes_per_second = BytesPerSec::from_mb(3900.0);
    let shared = said(&basis, Layout::Raid0, Encryption::Plain, &load);
    assert_eq!(
        (shared.bytes_per_second, shared.bound.as_str()),
        (Some(BytesPerSec::from_mb(3900.0)), "what the drives share")
    );
    basis.alone.iter_mut().for_each(|tests| tests[0].measurement.generator.cpu = 0.8);
    let thread = said(&basis, Layout::Raid0, Encryption::Plain, &load);
    assert_eq!(
        (thread.bytes_per_second, thread.bound.as_str()),
        (Some(BytesPerSec::from_mb(3750.0)), "the thread that asks")
    );
}

#[test]
fn parity_writes_full_stripes_and_pays_for_small_ones() {
    let large = load(Pattern::Sequential, 1024, 8, 100);
    let small = load(Pattern::Random, 4, 32, 100);
    let basis = basis(3, &[(large.clone(), 200.0), (small.clone(), 100.0)], None);
    assert_eq!(mb(&basis, Layout::Raid5, Encryption::Plain, &large), 400.0);
    let written = mb(&basis, Layout::Raid5, Encryption::Plain, &small);
    assert!((written - 75.0).abs() < 0.1, "{written}");
    assert_eq!(mb(&basis, Layout::Raid5, Encryption::Plain, &load(Pattern::Sequential, 1024, 8, 100)), 400.0);
}

#[test]
fn one_request_at_a_time_waits_for_drive_cipher_and_hand_over() {
    // 4 KiB: 80 µs on the drive, 1.5 µs mapping, 30 µs hand-over, 4096 × 1.35 / 2 GB/s = 2.8 µs.
    let one = load(Pattern::Random, 4, 1, 0);
    let deep = load(Pattern::Random, 4, 32, 0);
    let basis = basis(1, &[(one.clone(), 51.2), (deep, 2000.0)], Some(2000.0));
    let luks = mb(&basis, Layout::Single, Encryption::Luks2, &one);
    assert!((luks / (4096.0 / 114.3) - 1.0).abs() < 0.01, "{luks}");
    let tuned = mb(&basis, Layout::Single, Encryption::Luks2Tuned, &one);
    assert!((tuned / (4096.0 / 83.5) - 1.0).abs() < 0.01, "{tuned}");
}

#[test]
fn drives_that_work_ahead_do_so_while_the_cipher_works() {
    // A request after a pause is there at once, as of a disk or of a throttled drive: the cipher alone bounds, not the sum of
    // both times.
    let one = load(Pattern::Sequential, 1024, 1, 0);
    let many = load(Pattern::Sequential, 1024, 8, 0);
    let mut basis = basis(2, &[(one.clone(), 80.0), (many, 80.0)], Some(34.0));
    let paused = |ms| {
        let mut paused = measured(&one, 40.0, 0.0);
        paused.measurement.latency.mean = Nanos::from_millis(ms);
        vec![vec![paused]; 2]
    };
    // 13.1 ms in a row.
    basis.paused = paused(3);
    let luks = mb(&basis, Layout::Single, Encryption::Luks2Tuned, &one);
    assert!((luks / 34.0 - 1.0).abs() < 0.01, "{luks}");
    assert_eq!(mb(&basis, Layout::Raid0, Encryption::Plain, &one), 160.0);
    // As long after a pause as in a row: both times pass one after the other, and half of a request is on each drive.
    basis.paused = paused(12);
    let luks = mb(&basis, Layout::Single, Encryption::Luks2Tuned, &one);
    assert!((luks - 1.0 / (1.0 / 80.0 + 1.0 / 34.0)).abs() < 0.5, "{luks}");
    assert_eq!(mb(&basis, Layout::Raid0, Encryption::Plain, &one), 160.0);
}

#[test]
fn an_encryption_that_was_measured_over_nothing_is_taken_at_its_word() {
    let one = load(Pattern::Random, 4, 1, 0);
    let deep = load(Pattern::Random, 4, 32, 0);
    let mut basis = basis(2, &[(one.clone(), 40.0), (deep.clone(), 800.0)], None);
    let tests = vec![measured(&one, 40.0, 0.0), measured(&deep, 300.0, 0.0)];
    basis.mappings = vec![Mapping { encryption: Encryption::Luks2, tests }];
    // 1 / (1/40 + 1/40), and the lesser of 800 and 300.
    assert!((mb(&basis, Layout::Single, Encryption::Luks2, &one) - 20.0).abs() < 0.01);
    assert_eq!(mb(&basis, Layout::Raid0, Encryption::Luks2, &deep), 300.0);
    assert_eq!(said(&basis, Layout::Raid0, Encryption::Luks2, &deep).bound, "dm-crypt itself");
    assert_eq!(said(&basis, Layout::Raid0, Encryption::VeraCrypt, &deep).bytes_per_second, None);
}

#[test]
fn what_cannot_be_said_says_why() {
    let seq = load(Pattern::Sequential, 1024, 8, 0);
    let small = load(Pattern::Random, 4, 32, 100);
    let basis = basis(2, &[(seq.clone(), 500.0), (small.clone(), 100.0)], None);
    let none = |cell: Cell, load: &LoadSpec, why: &str| {
        let said = predict(&basis, &cell, "x", load);
        assert_eq!(said.bytes_per_second, None);
        assert!(said.bound.contains(why), "{}", said.bound);
    };
    none(cell(Layout::Raid0, Encryption::Luks2), &seq, "cipher");
    none(cell(Layout::Raid5, Encryption::Plain), &seq, "needs 3 devices");
    none(cell(Layout::ZfsMirror, Encryption::Plain), &small, "records");
    none(Cell { file_system: FileSystem::Btrfs, ..cell(Layout::Single, Encryption::Plain) }, &small, "btrfs");
    none(cell(Layout::Single, Encryption::Plain), &load(Pattern::Random, 8, 1, 0), "not measured");
}

#[test]
fn a_mix_takes_turns() {
    let mix = load(Pattern::Random, 4, 32, 30);
    let basis = basis(2, &[(mix.clone(), 100.0)], None);
    // Reads 200, writes 100: 1 / (0.7/200 + 0.3/100).
    let said = mb(&basis, Layout::Raid1, Encryption::Plain, &mix);
    assert!((said - 153.8).abs() < 0.1, "{said}");
}

prop_compose! {
    fn any_load()(random: bool, power in 0u32..9, depth in 1u32..64, threads in 1u32..16, writes in 0u8..=100) -> LoadSpec {
        let pattern = if random { Pattern::Random } else { Pattern::Sequential };
        load(pattern, 4 << power, depth, writes).on(Parallel::Threads(threads))
    }
}

proptest! {
    #[test]
    fn no_bound_is_broken(
        load in any_load(), rate in 1.0..8000.0f64, single in 0.01..1.0f64, other in 0.2..1.0f64, cipher in 10.0..5000.0f64,
        devices in 1usize..6, layout in 0usize..9, encryption in 0usize..4
    ) {
        let one = LoadSpec { queue_depth: 1, ..load.clone() }.on(Parallel::Threads(1));
        let mut basis = basis(devices, &[(load.clone(), rate), (one, rate * single)], Some(cipher));
        if let Some(last) = basis.alone.last_mut() {
            last[0].measurement.bytes_per_second = BytesPerSec::from_mb(rate * other);
        }
        let sum: f64 = basis.alone.iter().map(|tests| tests[0].measurement.bytes_per_second.get()).sum();
        let (layout, encryption) = (LAYOUTS[layout], ENCRYPTIONS[encryption]);
        let of = |basis: &Basis| said(basis, layout, encryption, &load).bytes_per_second.map(BytesPerSec::get);
        let Some(found) = of(&basis) else { return Ok(()) };
        prop_assert!(found.is_finite() && found > 0.0);
        prop_assert!(found <= sum * (1.0 + 1e-9), "{found} of {sum}");
        let plain = said(&basis, layout, Encryption::Plain, &load).bytes_per_second.expect("can be said").get();
        prop_assert!(found <= plain * (1.0 + 1e-9));
        if encryption != Encryption::Plain {
            let cores = f64::from(load.parallel.count().min(basis.cores));
            prop_assert!(found <= cipher * 1e6 * cores * (1.0 + 1e-9), "{found} of {cipher}");
        }
        // Faster drives never slow a layout.
        let mut faster = basis.clone();
        for test in faster.alone.iter_mut().flatten().chain(&mut faster.together) {
            test.measurement.bytes_per_second = test.measurement.bytes_per_second * 1.25;
        }
        let more = of(&faster).expect("can be said");
        prop_assert!(more >= found * (1.0 - 1e-6), "{more} after {found}");
    }
}
