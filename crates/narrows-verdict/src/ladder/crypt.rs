//! dm-crypt: the cipher, the calls for each sector, or the way through the work queues.

use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_machine::block::CryptTable;
use narrows_model::path::CryptHop;

use super::{At, Cause, Loss};
use crate::finding::{Confidence, Evidence};

/// A mapping that gives this much of what its cipher gives on one core is bound by it.
const NEAR_CIPHER: f64 = 0.8;
/// Workers that use this much of a core are full: the scheduler and the edges of samples take the rest.
const FULL: f64 = 0.8;
/// Longer sectors must bring this much to be named as what is missing.
const WORTH_IT: f64 = 0.15;
/// The sector of 4 KiB that LUKS2 makes where the device has such blocks (cryptsetup(8), `--sector-size`).
const LONG_SECTOR: Bytes = Bytes::from_kib(4);
/// Less time than this is no hand-over: each costs 20 to 40 µs on a usual machine.
const HAND_OVER: Nanos = Nanos::new(15_000);
/// The hand-over must be this part of a request's time.
const PART: f64 = 0.15;

/// Why the mapping at `at` gives less than what lies below it.
pub(super) fn decide(at: &At<'_>, hop: &CryptHop) -> Option<Loss> {
    let table = hop.table.value();
    let in_worker =
        table.is_some_and(|table| at.case.direction.pick(table.no_read_workqueue, table.no_write_workqueue));
    let queues = |name: &str| name.contains("kcryptd") || name.contains("dmcrypt_write");
    let (workers, _) = at.case.kernel_threads(queues);
    let ours = at.case.measurement()?.generator.cpu;
    let busy = if in_worker { ours } else { workers };
    let near = of_the_kernel(at, hop).is_some_and(|rate| at.rate.fraction_of(rate) >= NEAR_CIPHER);
    // Where others use the processor, too, the workers get less than a core and are bound by it all the same.
    if busy >= FULL || (busy > 0.0 && at.is_processor_full() && (near || busy >= at.most_of_others(queues))) {
        return Some(by_cipher(at, hop, busy, in_worker));
    }
    if at.is_processor_full() { None } else { on_the_way(at, hop) }
}

/// The rate of the cipher on one core, where the kernel's own driver was asked.
fn of_the_kernel(at: &At<'_>, hop: &CryptHop) -> Option<BytesPerSec> {
    let is_kernel = hop.cipher.value()?.driver.is_some();
    at.case.cipher_on_one_core(hop).filter(|_| is_kernel)
}

/// The cores that work on it are full.
fn by_cipher(at: &At<'_>, hop: &CryptHop, busy: f64, in_worker: bool) -> Loss {
    let each = at.rate / busy.max(f64::MIN_POSITIVE);
    let cipher = at.case.cipher_on_one_core(hop);
    let name = &at.hop.name;
    let longer = of_the_kernel(at, hop)
        .zip(hop.table.value())
        .and_then(|(cipher, table)| with_long_sectors(each, cipher, table));
    // What short sectors cost cannot be told from the cipher itself here.
    let short = match hop.table.value() {
        Some(table) if table.sector_size.get() == 512 => {
            " It is called for every 512 bytes; sectors of 4 KiB would spare seven of eight calls."
        }
        _ => "",
    };
    let (cause, summary) = match longer.filter(|gain| *gain >= WORTH_IT) {
        Some(gain) => (
            Cause::CryptSectorSize,
            format!(
                "{name} calls the cipher for every 512 bytes, and its calls cost as well as the cipher: {each} on a full \
                 core. Sectors of 4 KiB would bring about {} more.",
                human::percent(gain)
            ),
        ),
        None => (
            Cause::CipherPerCore,
            format!(
                "{name}: the cipher uses up {busy:.1} cores at {each} each, while the layers below have room.{short}"
            ),
        ),
    };
    let who =
        if in_worker { "the worker that reads, for it does the cipher's work" } else { "kcryptd threads" };
    let rate = cipher.map(|rate| Evidence::new("cipher on one core", rate, hop.cipher.source().as_str()));
    let sector = hop.table.value().map(|table| human::block_size(table.sector_size));
    let sector = sector.map(|size| Evidence::new("sector", size, hop.table.source().as_str()));
    at.loss(cause, at.hop, Confidence::High, summary)
        .seen(who, format!("{busy:.2} cores"), "/proc/[pid]/stat")
        .with(rate)
        .with(sector)
        .with(at.busiest())
}

/// What 4 KiB sectors would bring, as a part of the rate on one full core; `None` where sectors are long already.
///
/// A core spends 1/c for each byte in the cipher and t for each sector around it, so 1/a = 1/c + t/512, and with long
/// sectors 1/a' = 1/c + t/4096. `a` was measured, `c` is what requests of 64 KiB get through the kernel's cipher.
fn with_long_sectors(each: BytesPerSec, cipher: BytesPerSec, table: &CryptTable) -> Option<f64> {
    let (now, long) = (table.sector_size.as_f64(), LONG_SECTOR.as_f64());
    if now >= long || now <= 0.0 || each.get() <= 0.0 || cipher.get() <= 0.0 {
        return None;
    }
    let around = (1.0 / each.get() - 1.0 / cipher.get()) * now;
    let better = 1.0 / (1.0 / cipher.get() + around.max(0.0) / long);
    Some(better / each.get() - 1.0)
}

/// Where the time of a request goes that the layers below do not take.
struct Between {
    /// The mean read of the mapping.
    above: Nanos,
    /// The mean read below it.
    below: Nanos,
    /// What the cipher takes, with the requests that wait for their turn in it.
    cipher: Nanos,
    /// The rest: to the work queues and back.
    handed: Nanos,
}

impl Between {
    fn of(at: &At<'_>, hop: &CryptHop) -> Option<Self> {
        let above = at.case.hop_disk(at.hop)?.read_latency?;
        let below = at.members().filter_map(|rung| at.disk(rung)?.read_latency).max()?;
        let block = at.case.measurement()?.workload.block_size;
        let waiting = waiting(at)?;
        let rate = at.case.cipher_on_one_core(hop).filter(|rate| rate.get() > 0.0);
        let cipher = rate.map_or(0.0, |rate| block.as_f64() / rate.get() * 1e9) * waiting.max(1.0);
        let between = above.get().saturating_sub(below.get());
        let cipher = (cipher as u64).min(between);
        Some(Self { above, below, cipher: Nanos::new(cipher), handed: Nanos::new(between - cipher) })
    }

    fn part(&self, of: Nanos) -> f64 {
        of.get() as f64 / self.above.get().max(1) as f64
    }

    fn evidence(&self, hop: &CryptHop) -> [Evidence; 3] {
        [
            Evidence::new("mean read of the mapping", self.above, "/proc/diskstats"),
            Evidence::new("mean read below it", self.below, "/proc/diskstats"),
            Evidence::new("the cipher's part", self.cipher, hop.cipher.source().as_str()),
        ]
    }
}

/// Nothing is full: the time passes between the mapping and the device, on the way to the work queues and back, or in the
/// cipher with too few requests to keep a core busy.
fn on_the_way(at: &At<'_>, hop: &CryptHop) -> Option<Loss> {
    let between = Between::of(at, hop)?;
    let Between { above, cipher, handed, .. } = between;
    let name = &at.hop.name;
    let (cause, summary) = if handed >= HAND_OVER && between.part(handed) >= PART {
        let queued = hop.table.value().is_none_or(|table| !table.no_read_workqueue);
        let advice = if queued { " cryptsetup refresh --perf-no_read_workqueue spares it." } else { "" };
        let part = human::percent(between.part(handed));
        let summary = format!(
            "{name}: of {above} for a request {handed} ({part}) go to the hand-over to its work queues and back; no core is full.{advice}"
        );
        (Cause::CryptHandoff, summary)
    } else if between.part(cipher) >= PART {
        let part = human::percent(between.part(cipher));
        let summary = format!(
            "{name}: of {above} for a request {cipher} ({part}) go to the cipher, and no core is full: more requests at once \
             would use it."
        );
        (Cause::CipherPerCore, summary)
    } else {
        return None;
    };
    Some(at.loss(cause, at.hop, Confidence::Medium, summary).with(between.evidence(hop)))
}

/// The mean number of requests, in the size that was asked for, between the mapping and what lies below it.
fn waiting(at: &At<'_>) -> Option<f64> {
    let block = at.case.measurement()?.workload.block_size.as_f64();
    let held = |hop| Some(super::block_flow(&at.case, hop)?.bytes_in_flight.as_f64());
    let below: f64 = at.members().filter_map(|rung| held(at.case.path().hop(&rung.hop)?)).sum();
    (block > 0.0).then(|| ((held(at.hop).unwrap_or(0.0) - below) / block).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain(each: f64, cipher: f64, sector: u64) -> Option<f64> {
        let table = CryptTable { sector_size: Bytes::new(sector), ..CryptTable::default() };
        with_long_sectors(BytesPerSec::from_mb(each), BytesPerSec::from_mb(cipher), &table)
    }

    #[test]
    fn long_sectors_save_seven_of_eight_calls() {
        // 1000 MB/s of a cipher that does 2000: half of the time goes to calls, and an eighth of that remains:
        // 1/(1/2000 + 1/2000/8) = 1778.
        let gain = gain(1000.0, 2000.0, 512).expect("short sectors");
        assert!((gain - 0.7777).abs() < 1e-3, "{gain}");
    }

    #[test]
    fn a_cipher_that_is_the_whole_cost_gains_nothing_and_long_sectors_are_long() {
        assert!(gain(2100.0, 2000.0, 512).expect("short sectors").abs() < 0.06);
        assert_eq!(gain(1000.0, 2000.0, 4096), None);
        assert_eq!(gain(0.0, 2000.0, 512), None);
    }
}
