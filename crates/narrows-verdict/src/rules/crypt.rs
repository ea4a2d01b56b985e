//! Encryption: processors that encrypt as fast as they can, and work queues that cost latency.

use narrows_base::fact::Fact;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::Machine;
use narrows_machine::cipher::CipherRate;
use narrows_model::ceiling::Direction;
use narrows_model::ceiling::crypt::{READ_SHARE, WRITE_SHARE};
use narrows_model::path::{CryptHop, Hop, HopSpec};
use narrows_paste::results::surroundings::Word;
use narrows_paste::results::{Imported, Measured, Tool};

use super::{Context, Judged, result};
use crate::counterfactual;
use crate::finding::{Code, Confidence, Finding, Severity};

/// What the slowest hard disks of today read and write on their outer tracks, MB/s (`ceiling/medium.rs` names the data
/// sheets). Every solid-state drive does more.
const SLOWEST_DISK: f64 = 150.0;

/// What `cryptsetup luksFormat` takes when it is not told otherwise: AES in XTS mode with two keys of 256 bits
/// (cryptsetup(8), `--cipher`, `--key-size`).
const USUAL: (&str, u32) = ("xts(aes)", 512);

/// The largest sector of LUKS2; one key schedule and one tweak for each.
const LARGE_SECTOR: Bytes = Bytes::new(4096);

/// `crypto_cpu`: the cipher is the bottleneck.
pub(super) fn of_hop(judged: &Judged<'_>, index: usize, hop: &Hop) -> Option<Finding> {
    let (_, limit) = judged.limited_by(index).next()?;
    let HopSpec::Crypt(crypt) = &hop.spec else { return None };
    let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
    let summary = format!("Encryption {}{rate}: {}.", limit.is_the_narrows(), described(crypt));
    let gain = counterfactual::gain_of_removing(judged, limit.hop);
    let found = limit.finding(Code::CryptoCpu, limit.severity(), hop, summary);
    Some(advised(with_rates(found, &crypt.cipher), judged.machine, crypt, gain))
}

/// A benchmark of the ciphers without a mapping that uses one: where even the slowest disk outruns the usual cipher, any
/// encrypted path of the machine is limited by it.
pub(super) fn of_machine(context: &Context<'_>) -> Vec<Finding> {
    let machine = context.machine;
    let rates = machine.cipher_benchmarks.iter().filter_map(|fact| Some((fact, fact.value()?)));
    let alike: Vec<_> = rates.filter(|(_, rate)| rate.cipher == USUAL.0).collect();
    let usual = alike.iter().find(|(_, rate)| rate.key_bits == USUAL.1).or(alike.first());
    let Some((fact, rate)) = usual else { return Vec::new() };
    let best = rate.decrypt * READ_SHARE;
    if !machine.ciphers.is_empty() || best.get() >= SLOWEST_DISK * 1e6 {
        return Vec::new();
    }
    let summary = format!(
        "Encryption would limit any disk: one core decrypts {} with {} and a key of {} bits, of which dm-crypt leaves \
         {best} to one reader; the slowest hard disk reads {SLOWEST_DISK} MB/s.",
        rate.decrypt, rate.cipher, rate.key_bits
    );
    let found = Finding::on(Code::CryptoCpu, Severity::Limit, "dm-crypt", summary);
    let advice = "Use a cipher that is fast without AES instructions (Adiantum: cryptsetup luksFormat --cipher \
                  xchacha12,aes-adiantum-plain64 --key-size 256), or a processor that has them.";
    vec![with_rates(found, fact).with_confidence(Confidence::Medium).advise(advice)]
}

fn described(crypt: &CryptHop) -> String {
    let cipher = match &crypt.table {
        Fact::Known { value, .. } => format!(
            "{} with a key of {} bits in sectors of {}",
            value.cipher,
            value.key_bits,
            human::block_size(value.sector_size)
        ),
        _ => "the cipher's settings need root".to_owned(),
    };
    match crypt.cipher.value() {
        Some(rate) => format!("{cipher}; one core decrypts {}", rate.decrypt),
        None => cipher,
    }
}

fn with_rates(found: Finding, rate: &Fact<CipherRate>) -> Finding {
    let Some(known) = rate.value() else { return found };
    let source = rate.source().as_str();
    let found = found.seen("decryption on one core", known.decrypt, source);
    found.seen("encryption on one core", known.encrypt, source)
}

fn advised(found: Finding, machine: &Machine, crypt: &CryptHop, gain: Option<BytesPerSec>) -> Finding {
    let table = crypt.table.value();
    let has_vaes = machine.cpus.flags.iter().any(|flag| flag == "vaes");
    found
        .advise_if(
            table.is_some_and(|table| table.sector_size < LARGE_SECTOR),
            "Use LUKS2 with sectors of 4 KiB (cryptsetup reencrypt --sector-size 4096): fewer, longer cipher calls.",
        )
        .advise_if(
            table.is_some_and(|table| !table.no_read_workqueue || !table.no_write_workqueue),
            "Try --perf-no_read_workqueue --perf-no_write_workqueue (cryptsetup refresh --persistent), and measure: \
             it saves hand-overs, and ties the cipher to the processors that take the interrupts.",
        )
        .advise_if(
            has_vaes,
            "This processor has VAES, which kernels from 6.10 on use for AES-XTS: update an older kernel.",
        )
        .advise_gain(
            "Encrypt each member below the array instead of the array: every mapping has its own workers. Without the cipher \
             the path could gain at most this.",
            gain,
        )
}

/// A layer that takes more than a quarter shows in three seconds of reading.
const CIPHER_STEP: f64 = 0.75;

/// The step between an encrypted device and the one below it.
pub(super) fn of_result(case: &result::Case<'_>) -> Option<Finding> {
    at_the_cipher(case).or_else(|| slower_than_below(case))
}

fn slower_than_below(case: &result::Case<'_>) -> Option<Finding> {
    if case.result.tool != Tool::Hdparm {
        return None;
    }
    let (source, (target, rate)) = (case.around.has(Word::Encrypted)?, disk_rate(case.result)?);
    let below = case.beside.results().filter(|one| one.tool == Tool::Hdparm).filter_map(disk_rate);
    let (name, most) = below.max_by(|a, b| a.1.get().total_cmp(&b.1.get()))?;
    if is_plain(target) || rate.get() >= CIPHER_STEP * most.get() {
        return None;
    }
    let summary = format!("{target} reads {rate}, {name} below it {most}: encryption takes the rest");
    let found = Finding::of(case, Code::CryptoCpu, Severity::Limit, summary)
        .seen(format!("rate of {target}"), rate, case.result.place())
        .seen(format!("rate of {name}"), most, case.result.place())
        .seen("in the path", "encryption", source)
        .not_so_when("`cryptsetup benchmark` shows several times this rate for the cipher in use")
        .advise("run `cryptsetup benchmark`; use a processor with AES instructions");
    Some(found.with_confidence(Confidence::Medium))
}

/// What dm-crypt makes of a cipher's rate on one core, with the error of both laws (`ceiling::crypt`).
const NEAR_CIPHER: std::ops::Range<f64> = 0.85..1.1;

/// An encrypted volume whose rate is what `cryptsetup benchmark`, given beside it, lets dm-crypt reach: one submitter
/// keeps one core busy.
fn at_the_cipher(case: &result::Case<'_>) -> Option<Finding> {
    let source = case.around.has(Word::Encrypted)?;
    let ciphers = case.beside.measured().filter(|(of, _)| of.tool == Tool::Cryptsetup).map(|(_, one)| one);
    let ciphers: Vec<&Measured> = ciphers.filter(|one| one.work.label.starts_with("aes-xts")).collect();
    let (run, cipher, ceiling) = case.runs().find_map(|run| {
        let share = run.op.pick(READ_SHARE, WRITE_SHARE);
        let near = ciphers.iter().filter_map(|cipher| {
            let ceiling = cipher.side(run.op)?.bytes_per_second * share;
            NEAR_CIPHER.contains(&run.rate().fraction_of(ceiling)).then_some((*cipher, ceiling))
        });
        let off = |ceiling: BytesPerSec| (run.rate().fraction_of(ceiling) - 1.0).abs();
        let near = near.min_by(|a, b| off(a.1).total_cmp(&off(b.1)))?;
        // Random and small I/O is limited by its latency.
        let is_large = run.measured.work.block_size.is_none_or(|size| size.get() >= 128 << 10);
        is_large.then_some((run, near.0, near.1))
    })?;
    let rate = cipher.side(run.op)?.bytes_per_second;
    let summary = format!(
        "The {} ({}) are what dm-crypt reaches with {} on one core ({ceiling}): more or faster drives behind it change nothing",
        run.name(),
        run.rate(),
        cipher.work.label
    );
    let found = Finding::of(case, Code::CryptoCpu, Severity::Limit, summary)
        .seen("rate", run.rate(), run.source())
        .seen(format!("{} in memory", cipher.work.label), rate, case.result.place())
        .seen("in the path", "encryption", source)
        .not_so_when("the volume is as fast with another cipher, or the plain volume is no faster")
        .advise(
            "several submitters spread over cores: measure with more jobs; look at sector size and workqueues",
        );
    Some(found.with_confidence(Confidence::Medium))
}

/// A whole drive or its partition, which has no layer above it.
fn is_plain(target: &str) -> bool {
    let name = target.trim_start_matches("/dev/");
    ["sd", "nvme", "hd", "mmcblk", "vd"].iter().any(|kind| name.starts_with(kind)) && !name.contains('/')
}

fn disk_rate(result: &Imported) -> Option<(&str, BytesPerSec)> {
    let measured = result.measurements.iter().find(|one| !one.memory_only)?;
    Some((measured.work.target.as_deref()?, measured.read.as_ref()?.bytes_per_second))
}

/// Less time than this is the cipher's own, not a hand-over.
const WORTH_IT: Nanos = Nanos::new(15_000);

/// The hand-over must also be this part of the whole.
const PART: f64 = 0.3;

/// Requests longer than this spend their time in the cipher.
const SMALL: u64 = 16 * 1024;

/// `crypto_workqueue`: dm-crypt's work queues cost latency.
///
/// Each request is handed to a worker and back, 20 to 40 µs on a usual machine. It is worth a word only where a run on
/// a solid-state drive shows that time between the mapping and the device below.
pub(super) fn crypto_workqueue(judged: &Judged<'_>, _: usize, hop: &Hop) -> Option<Finding> {
    let HopSpec::Crypt(crypt) = &hop.spec else { return None };
    crypt.table.value().filter(|table| !table.no_read_workqueue)?;
    let base = judged.case(Direction::Read);
    judged.subject.runs.iter().filter(|run| run.direction == Direction::Read).find_map(|run| {
        let case = base.with_run(run);
        let size = run.measurement.workload.block_size;
        let above = case.hop_disk(hop)?.read_latency?;
        let leaves = case.leaves().into_iter().filter(|(_, leaf, device)| {
            case.is_above(hop, leaf) && device.rotational.value() == Some(&false)
        });
        let below = leaves.filter_map(|(_, leaf, _)| case.hop_disk(leaf)?.read_latency).max()?;
        let between = Nanos::new(above.get().saturating_sub(below.get()));
        let part = between.get() as f64 / above.get().max(1) as f64;
        if size.get() > SMALL || between < WORTH_IT || part < PART || case.media_are_saturated() {
            return None;
        }
        let (size, part) = (human::block_size(size), human::percent(part));
        let summary = format!(
            "A read of {size} takes {above}, of which {between} ({part}) pass between the mapping and the device."
        );
        let action = "Try cryptsetup refresh --persistent --perf-no_read_workqueue --perf-no_write_workqueue on \
                      the mapping, and measure: small requests gain, long ones may lose.";
        let found = Finding::about(Code::CryptoWorkqueue, Severity::Info, hop, summary)
            .with_confidence(Confidence::Medium)
            .seen("mean read of the mapping", above, "/proc/diskstats")
            .seen("mean read of the device below", below, "/proc/diskstats");
        Some(found.advise(action))
    })
}

#[cfg(test)]
mod tests {
    use narrows_base::fact::Fact;
    use narrows_base::units::{Bytes, BytesPerSec};
    use narrows_machine::block::CryptTable;
    use narrows_model::path::CryptHop;

    use super::*;
    use crate::testing::{Sketch, run};

    fn crypto_cpu_path(cipher: f64, disk: f64, sector: u64, vaes: bool) -> Sketch {
        let table = CryptTable { sector_size: Bytes::new(sector), ..CryptTable::default() };
        let crypt =
            CryptHop { block: "dm-0".to_owned(), table: Fact::known(table, "table"), ..CryptHop::default() };
        Sketch::of("/home").crypt(crypt, cipher).device("nvme0n1", Some(disk)).on(|machine| {
            machine.cpus.flags = if vaes { vec!["vaes".to_owned()] } else { Vec::new() };
        })
    }

    #[test]
    fn a_cipher_slower_than_its_drive_is_a_limit_with_its_gain() {
        let finding =
            crypto_cpu_path(2000.0, 3500.0, 512, true).finding(Code::CryptoCpu).expect("2 of 3.5 GB/s");
        let actions: Vec<&str> = finding.advice.iter().map(|advice| advice.action.as_str()).collect();
        assert!(actions[0].contains("4 KiB") && actions[2].contains("VAES"), "{actions:?}");
        assert_eq!(finding.best_gain().get(), 1.5e9);
    }

    #[test]
    fn long_sectors_are_not_advised_twice_and_a_fast_cipher_is_silent() {
        let finding =
            crypto_cpu_path(2000.0, 3500.0, 4096, false).finding(Code::CryptoCpu).expect("2 of 3.5 GB/s");
        assert!(finding.advice.iter().all(|advice| !advice.action.contains("4 KiB")));
        assert_eq!(crypto_cpu_path(5000.0, 3500.0, 512, true).finding(Code::CryptoCpu), None);
    }

    /// A machine of which only a benchmark is known, decrypting at so many MB/s.
    fn benchmark(decrypt: f64) -> Option<Finding> {
        let rate = CipherRate {
            cipher: "xts(aes)".to_owned(),
            key_bits: 512,
            decrypt: BytesPerSec::from_mb(decrypt),
            encrypt: BytesPerSec::from_mb(decrypt),
            ..CipherRate::default()
        };
        let sketch = Sketch::of("/home").on(|machine| {
            machine.cipher_benchmarks = vec![Fact::known(rate, "benchmark.txt:12")];
        });
        sketch.finding(Code::CryptoCpu)
    }

    #[test]
    fn a_benchmark_below_any_disk_is_a_limit_and_one_above_is_silent() {
        let finding = benchmark(8.9).expect("8.9 MB/s is below any disk");
        assert_eq!(finding.evidence[0].source, "benchmark.txt:12");
        assert!(finding.summary.contains("8.01 MB/s"), "{}", finding.summary);
        assert_eq!(benchmark(170.0), None);
    }

    /// Reads of 4 KiB that take so many microseconds at the mapping and at the drive.
    fn crypto_workqueue_path(mapping: u64, drive: u64, no_read_workqueue: bool) -> Sketch {
        let table = CryptTable { no_read_workqueue, ..CryptTable::default() };
        let crypt =
            CryptHop { block: "dm-0".to_owned(), table: Fact::known(table, "table"), ..CryptHop::default() };
        let mut load = run(200.0).disk("dm-0", 200.0, 4.0).disk("nvme0n1", 200.0, 2.0);
        load.measurement.workload.block_size = Bytes::new(4096);
        for (name, micros) in [("dm-0", mapping), ("nvme0n1", drive)] {
            let disk = load.activity.disks.get_mut(name).expect("just made");
            disk.read_latency = Some(Nanos::new(micros * 1000));
            // 4 KiB each, so that what is in flight counts in the same size.
            disk.reads = disk.read_bytes.get() / 4096;
        }
        Sketch::of("/dev/dm-0").crypt(crypt, 3000.0).device("nvme0n1", None).run(load)
    }

    #[test]
    fn a_long_hand_over_between_mapping_and_drive_is_mentioned() {
        let finding =
            crypto_workqueue_path(110, 70, false).finding(Code::CryptoWorkqueue).expect("40 of 110 µs");
        assert_eq!(finding.severity, Severity::Info);
        assert!(
            finding.summary.contains("40 µs") && finding.summary.contains("36.4 %"),
            "{}",
            finding.summary
        );
    }

    #[test]
    fn short_hand_overs_and_mappings_without_queues_are_silent() {
        assert_eq!(crypto_workqueue_path(80, 70, false).finding(Code::CryptoWorkqueue), None);
        assert_eq!(crypto_workqueue_path(110, 70, true).finding(Code::CryptoWorkqueue), None);
    }
}
