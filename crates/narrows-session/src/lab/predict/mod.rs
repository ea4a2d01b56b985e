//! What will a cell give? Said before it is built, from what each device gave alone.
//!
//! Nothing is new here: [`spread`] puts the drives together, [`below_cipher`] puts the cipher above them, [`within_processors`] bounds both by
//! the time that processors have, all by the laws of `ceiling/`. A rate is the least of its bounds, and `bound` names which. Reads and writes of a mix take turns in time: 1/B =
//! r/R + w/W. ext4 and XFS pass direct I/O on ([`narrows_model::ceiling::filesystem`]); what btrfs makes of small writes is not known.
//!
//! Expected error: that of the laws, ±6 % for one stream of large blocks and up to 15 % near a knee. Not covered: loads
//! through the page cache, ZFS below its record, and drives whose write cache ends within the test.

mod spread;
#[cfg(test)]
mod tests;

use super::{Basis, Cell, CipherRate, Encryption, FileSystem, Layout, Measured, Predicted};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_model::ceiling::{crypt, queueing};
use spread::Drives;

/// What an arrangement carries, and the narrowest of what bounds it.
#[derive(Debug, Clone, PartialEq)]
struct Carried {
    rate: BytesPerSec,
    /// What one request takes that is alone, where that is known to pass; 0 where drives work ahead of requests.
    seconds: f64,
    /// Bytes that all drives move for each byte of it.
    crossings: f64,
    bound: String,
    formula: String,
}

impl Carried {
    fn new(rate: BytesPerSec, bound: &str, formula: String) -> Self {
        Self { rate, seconds: 0.0, crossings: 1.0, bound: bound.to_owned(), formula }
    }

    /// Keeps the lesser of two bounds; chance decides below this part, and then the first stays named. All sums stay in the
    /// formula, the least first.
    fn take(&mut self, rate: BytesPerSec, bound: &str, formula: String) {
        const CHANCE: f64 = 0.97;
        if rate < self.rate * CHANCE {
            self.bound = bound.to_owned();
            self.formula = format!("{formula}, below: {}", self.formula);
        }
        self.rate = self.rate.min(rate);
    }
}

/// Seconds as a time for people.
fn time(seconds: f64) -> String {
    human::time(Nanos::new((seconds * 1e9) as u64))
}

/// What `cell` will give in `test`, whose load is `load`: one rate, of all reads and writes together. `None` as its rate when it
/// cannot be said; `bound` then says why.
pub fn predict(basis: &Basis, cell: &Cell, test: &str, load: &LoadSpec) -> Predicted {
    let (bytes_per_second, bound, formula) = match rate(basis, cell, test, load) {
        Ok(carried) => (Some(carried.rate), carried.bound, carried.formula),
        Err(why) => (None, why, String::new()),
    };
    Predicted { test: test.to_owned(), bytes_per_second, bound, formula }
}

fn rate(basis: &Basis, cell: &Cell, test: &str, load: &LoadSpec) -> Result<Carried, String> {
    if load.buffered {
        return Err("the page cache reads ahead as much as the layout tells it to".to_owned());
    }
    if basis.devices.len() < cell.layout.fewest() {
        return Err(format!("{} needs {} devices", cell.layout.name(), cell.layout.fewest()));
    }
    if cell.file_system == FileSystem::Btrfs && load.writes() && load.block_size < Bytes::from_kib(64) {
        return Err("btrfs writes every small block elsewhere, with its sums; what that costs is not known"
            .to_owned());
    }
    let drives = Drives::of(basis, test, load)?;
    let one_way = |writes: bool| {
        let carried = drives.carried(cell.layout, writes)?;
        let carried = below_cipher(cell.encryption, carried, basis, (test, load), writes)?;
        Ok(within_processors(carried, cell, basis, (test, load)))
    };
    match load.write_percent {
        0 => one_way(false),
        100.. => one_way(true),
        writes => Ok(mixed(one_way(false)?, one_way(true)?, f64::from(writes) / 100.0)),
    }
}

/// Reads and writes take turns; what bounds the half that takes more of the time bounds the mix.
fn mixed(read: Carried, write: Carried, writes: f64) -> Carried {
    let (reading, writing) = ((1.0 - writes) / read.rate.get(), writes / write.rate.get());
    let rate = BytesPerSec::new(1.0 / (reading + writing));
    let [of_reads, of_writes] = [1.0 - writes, writes].map(human::percent);
    let (reads_at, writes_at) = (read.rate, write.rate);
    let formula =
        format!("{of_reads} reads at {reads_at}, {of_writes} writes at {writes_at} in turns = {rate}");
    let longer = if reading > writing { &read } else { &write };
    Carried {
        rate,
        seconds: (1.0 - writes) * read.seconds + writes * write.seconds,
        crossings: (1.0 - writes) * read.crossings + writes * write.crossings,
        bound: longer.bound.clone(),
        formula: format!("{formula}; {}", longer.formula),
    }
}

/// One drive under one load.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Drive {
    /// What it moves with this load, alone.
    rate: BytesPerSec,
    /// The most that it was seen to move in this direction.
    most: BytesPerSec,
    /// What one request takes beside its transfer at that rate, by a test with one request at a time; nothing where there
    /// was none, since with several the wait for each other is not told from the wait for the drive.
    wait: Nanos,
    /// Whether it goes on with a sequence between two requests, by read-ahead or a cache of writes: a request that comes after
    /// a pause takes much less time then than one that follows another.
    works_ahead: bool,
    /// What one thread of the generator could ask for: its rate over the part of a core that it used.
    thread: Option<BytesPerSec>,
}

impl Drive {
    /// What `tests`, and requests after pauses, tell of a drive under `load`; `None` when none of them is the test.
    fn of(tests: &[Measured], paused: &[Measured], test: &str, load: &LoadSpec) -> Option<Self> {
        let own = find(tests, test, load)?;
        let rate = own.measurement.bytes_per_second;
        let alike = |other: &&Measured| other.load.write_percent == load.write_percent;
        let rates = tests.iter().filter(alike).map(|other| other.measurement.bytes_per_second);
        let most = rates.fold(rate, BytesPerSec::max);
        let single = tests.iter().filter(alike).filter(|other| {
            other.load.total_depth() == 1
                && other.load.pattern == load.pattern
                && other.measurement.bytes_per_second.get() > 0.0
        });
        let apart = |other: &Measured| other.load.block_size.get().abs_diff(load.block_size.get());
        let wait = single.min_by_key(|other| apart(other)).map_or(0.0, |other| {
            let size = other.load.block_size.as_f64();
            size / other.measurement.bytes_per_second.get() - size / most.get()
        });
        let works_ahead = load.pattern == Pattern::Sequential && sees_ahead(paused, load, most);
        let generator = &own.measurement.generator;
        let thread = (generator.cpu > 0.0).then(|| rate / generator.cpu.min(1.0));
        let wait = Nanos::new((wait.max(0.0) * 1e9) as u64);
        Some(Self { rate, most, wait, works_ahead, thread })
    }

    /// The time of one request of `size` that nothing is in the way of, in seconds, when it waits `wait`.
    fn seconds(&self, size: f64, wait: Nanos) -> f64 {
        let moving = if self.most.get() > 0.0 { size / self.most.get() } else { f64::INFINITY };
        wait.as_secs_f64() + moving
    }

    /// Whether it has to turn: no drive without heads takes so long for a small read at a random place.
    fn turns(tests: &[Measured]) -> bool {
        const TURN: f64 = 2e-3;
        tests.iter().any(|test| {
            let rate = test.measurement.bytes_per_second.get();
            test.load.pattern == Pattern::Random
                && test.load.total_depth() == 1
                && !test.load.writes()
                && test.load.block_size <= Bytes::from_kib(16)
                && rate > 0.0
                && test.load.block_size.as_f64() / rate > TURN
        })
    }
}

/// A request after a pause that takes less than this part of its transfer was worked on in the pause. Our choice, between what
/// was measured of drives that rest (0.69 and 0.82 of null_blk held to a rate, in the rig) and of those that do not, whose
/// buffer answers at the rate of the link.
const AHEAD: f64 = 0.5;

/// Whether a sequence in blocks of a size like that of `load` goes on while nobody asks. `most` is the rate of a transfer.
fn sees_ahead(paused: &[Measured], load: &LoadSpec, most: BytesPerSec) -> bool {
    let alike = paused.iter().filter(|other| other.load.write_percent == load.write_percent);
    let nearest = alike.min_by_key(|other| other.load.block_size.get().abs_diff(load.block_size.get()));
    nearest.is_some_and(|other| {
        let transfer = other.load.block_size.as_f64() / most.get();
        most.get() > 0.0 && other.measurement.latency.mean.as_secs_f64() < AHEAD * transfer
    })
}

/// The test of that name, or else one of the same load.
fn find<'t>(tests: &'t [Measured], test: &str, load: &LoadSpec) -> Option<&'t Measured> {
    let named = tests.iter().find(|other| other.test == test && other.load == *load);
    named.or_else(|| tests.iter().find(|other| other.load == *load))
}

// What the processors have time for.
//
// A byte takes time of a processor in the generator, in the driver of each drive that it crosses, and in the cipher. The
// utilization law bounds a rate by the processors over the sum of these (P. J. Denning and J. P. Buzen, ACM Computing Surveys
// 10, 1978): rate ≤ cores / Σ. Each part is known from the whole machine's own account during a test on one thing less: a drive
// alone gives generator and driver, the target that takes no time the generator, an encryption above it generator and cipher.
//
// | of a byte | takes |
// |---|---|
// | generator | target that takes no time |
// | each drive that it crosses | drive alone − target that takes no time |
// | cipher | encryption above that target − target that takes no time |
//
// Where a thread of the kernel stands between generator and drives, as dm-crypt's workers do and the thread of md that passes
// on what is written to a mirror, requests end one by one however many are under way: a worker is woken for each, and the
// generator after it. Generator and drives then take what they take with one request at a time. An encryption above the target
// that takes no time hands requests over one by one just the same, so the generator's part of that is this one, too.
//
// On one processor the bound is near what is reached; on many it is far above, since not all of them find work. Errors on one
// emulated processor are in docs/lab.md. What md and the device mapper take to pass a request on is not in it.

/// The same within what the processors of `basis` have time for. Unchanged where it is not known what they did.
fn within_processors(
    mut carried: Carried,
    cell: &Cell,
    basis: &Basis,
    (test, load): (&str, &LoadSpec),
) -> Carried {
    let handed_over = cell.encryption != Encryption::Plain || carried.crossings > 1.0;
    let Some(parts) = Parts::of(cell, basis, (test, load), handed_over) else { return carried };
    let each = parts.generator + carried.crossings * parts.drive + parts.cipher;
    if each <= 0.0 {
        return carried;
    }
    let cores = f64::from(basis.cores.max(1));
    let rate = BytesPerSec::new(cores / each);
    let block = load.block_size;
    let time = |seconds: f64| time(seconds * block.as_f64());
    let drives = if carried.crossings == 1.0 {
        time(parts.drive)
    } else {
        format!("{:.2} × {}", carried.crossings, time(parts.drive))
    };
    let singly = if handed_over { ", one by one" } else { "" };
    let formula = format!(
        "a block of {} takes {} in the generator, {drives} in drives and {} in the cipher{singly}: {cores} / {} = {rate}",
        human::block_size(block),
        time(parts.generator),
        time(parts.cipher),
        time(each)
    );
    let bound = if basis.cores <= 1 { "the processor" } else { "the processors" };
    carried.take(rate, bound, formula);
    carried
}

/// Seconds of a processor for a byte.
struct Parts {
    generator: f64,
    drive: f64,
    cipher: f64,
}

impl Parts {
    /// Those of a test; `handed_over` where a thread of the kernel stands between generator and drives.
    fn of(cell: &Cell, basis: &Basis, (test, load): (&str, &LoadSpec), handed_over: bool) -> Option<Self> {
        let one = load.one_at_a_time();
        let alone = match cell.layout {
            // Data lies on the first drive alone.
            Layout::Single | Layout::LvmLinear => basis.alone.get(..1)?,
            _ => basis.alone.as_slice(),
        };
        let below = |test| Self::below(basis, alone, test);
        let singly = if handed_over { below(("", &one)) } else { None };
        let (generator, drive) = singly.or_else(|| below((test, load)))?;
        let cipher = match cell.encryption {
            Encryption::Plain => 0.0,
            encryption => (above(basis, encryption, (test, load))? - generator).max(0.0),
        };
        Some(Self { generator, drive, cipher })
    }

    /// The generator, and one of these drives.
    fn below(basis: &Basis, alone: &[Vec<Measured>], test: (&str, &LoadSpec)) -> Option<(f64, f64)> {
        let generator = above(basis, Encryption::Plain, test)?;
        let alone: Option<Vec<f64>> =
            alone.iter().map(|tests| find(tests, test.0, test.1).and_then(each)).collect();
        let alone = alone.filter(|alone| !alone.is_empty())?;
        let mean = alone.iter().sum::<f64>() / alone.len() as f64;
        Some((generator, (mean - generator).max(0.0)))
    }
}

/// What a byte takes with an encryption above the target that takes no time.
fn above(basis: &Basis, encryption: Encryption, (test, load): (&str, &LoadSpec)) -> Option<f64> {
    let mapping = basis.mappings.iter().find(|mapping| mapping.encryption == encryption)?;
    find(&mapping.tests, test, load).and_then(each)
}

/// What all processors together spent on a byte of a test.
fn each(test: &Measured) -> Option<f64> {
    let rate = test.measurement.bytes_per_second.get();
    test.processors.filter(|at_work| *at_work > 0.0 && rate > 0.0).map(|at_work| at_work / rate)
}

// What dm-crypt leaves of what lies below it.
//
// Two bounds. The cipher: its rate on one core, as `crypt::with_submitters` has it for as many threads as ask, and with
// long sectors `crypt::SMALL_SECTORS` times as fast, but never above the cipher itself. The time: at low depth each
// request takes the drive's time, the cipher's and the hand-over to the work queues, one after another
// (`crypt::added_time`, `queueing::little`). Without work queues the cipher runs in the thread that writes, and where
// reads end; that is one core for one thread, too.
//
// Hand-overs vary by 25 % between machines and manyfold in virtual ones, so a mapping that was measured above a target that
// takes no time is taken at its word instead.

/// The cipher that the encryptions use: a basis has no other.
fn cipher(basis: &Basis) -> Option<&CipherRate> {
    basis.ciphers.iter().find(|rate| rate.decrypt.get() > 0.0 && rate.encrypt.get() > 0.0)
}

/// How an encryption is set.
struct Setting {
    sector: Bytes,
    queues: bool,
}

const fn setting(encryption: Encryption) -> Option<Setting> {
    match encryption {
        Encryption::Plain => None,
        Encryption::Luks2 | Encryption::VeraCrypt => Some(Setting { sector: Bytes::new(512), queues: true }),
        Encryption::Luks2Tuned => Some(Setting { sector: Bytes::from_kib(4), queues: false }),
    }
}

/// The same below `encryption`, in one direction; `Err` when the cipher is not known.
fn below_cipher(
    encryption: Encryption,
    mut carried: Carried,
    basis: &Basis,
    (test, load): (&str, &LoadSpec),
    writes: bool,
) -> Result<Carried, String> {
    let Some(setting) = setting(encryption) else { return Ok(carried) };
    if let Some(measured) = mapping(basis, encryption, test, load) {
        // The time of the generator is in what the drive gave, too.
        // What a request takes in the generator and the kernel above any drive is in both.
        let plain = mapping(basis, Encryption::Plain, test, load);
        let twice = plain.map_or(0.0, |rate| load.block_size.as_f64() / rate.get());
        return Ok(as_measured(carried, measured, twice, load));
    }
    let cipher = cipher(basis).ok_or("the rate of the cipher on one core is not known")?;
    let (alone, share) =
        if writes { (cipher.encrypt, crypt::WRITE_SHARE) } else { (cipher.decrypt, crypt::READ_SHARE) };
    let long = setting.sector.get() >= 4096;
    let share = if long { (share * crypt::SMALL_SECTORS).min(1.0) } else { share };
    let cores = load.parallel.count().clamp(1, basis.cores.max(1));
    let rate = alone * share * f64::from(cores);
    let (noun, of_bound) =
        if cores == 1 { ("core", "one core".to_owned()) } else { ("cores", format!("{cores} cores")) };
    let bound = format!("the cipher on {of_bound}");
    carried.seconds += added(load, alone, &setting);
    let (name, size) = (&cipher.cipher, human::block_size(setting.sector));
    let formula = format!(
        "{name} does {alone} on one core × {cores} {noun} × {share:.3} for dm-crypt with sectors of {size} = {rate}"
    );
    carried.take(rate, &bound, formula);
    let depth = load.total_depth().max(1) as f64;
    let timely = BytesPerSec::new(queueing::little(depth, carried.seconds).get() * load.block_size.as_f64());
    let time = time(carried.seconds);
    let formula = format!("{depth} at a time, each takes {time} with cipher and hand-over = {timely}");
    carried.take(timely, "the time of each request with dm-crypt", formula);
    Ok(carried)
}

/// What the same mapping gave above nothing, where that was measured.
fn mapping(basis: &Basis, encryption: Encryption, test: &str, load: &LoadSpec) -> Option<BytesPerSec> {
    let mapping = basis.mappings.iter().find(|mapping| mapping.encryption == encryption)?;
    let rate = find(&mapping.tests, test, load)?.measurement.bytes_per_second;
    (rate.get() > 0.0).then_some(rate)
}

/// The lesser of both; one request at a time passes one after the other.
fn as_measured(mut carried: Carried, mapping: BytesPerSec, twice: f64, load: &LoadSpec) -> Carried {
    let alone = load.block_size.as_f64() / mapping.get();
    let seconds = if carried.seconds > 0.0 { carried.seconds + (alone - twice).max(0.0) } else { alone };
    carried.seconds = seconds;
    carried.take(mapping, "dm-crypt itself", format!("the same mapping over nothing gave {mapping}"));
    if load.total_depth() <= 1 {
        let rate = BytesPerSec::new(load.block_size.as_f64() / seconds);
        let time = time(seconds);
        let formula =
            format!("one at a time, each takes {time} with dm-crypt, which alone gave {mapping}, = {rate}");
        carried.take(rate, "the time of each request with dm-crypt", formula);
    }
    carried
}

/// What encryption adds to a request, in seconds.
fn added(load: &LoadSpec, cipher: BytesPerSec, setting: &Setting) -> f64 {
    let queues = match (setting.queues, load.total_depth()) {
        (false, _) => crypt::CryptQueues::Inline,
        (true, 0 | 1) => crypt::CryptQueues::Asleep,
        (true, _) => crypt::CryptQueues::Awake,
    };
    crypt::added_time(load.block_size, cipher, setting.sector, queues).as_secs_f64()
}
