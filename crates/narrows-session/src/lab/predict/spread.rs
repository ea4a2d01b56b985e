//! What an arrangement of drives carries, encryption and file system aside.
//!
//! Reads and writes of n drives that do S alone, one request being on k of them:
//!
//! | layout | reads | writes |
//! |---|---|---|
//! | single, LVM linear | S of the first | the same |
//! | RAID-0, LVM striped, ZFS stripe | slowest S × drives at work | the same |
//! | RAID-1 | one after the other in sequence, all at random | slowest S |
//! | RAID-10 | all, in n/2 stripes | as RAID-0 over n/2 |
//! | ZFS mirror | slowest S × n | slowest S |
//! | RAID-5 | as RAID-0 over n | slowest S × (n − 1) in full stripes, else small writes |
//!
//! md's mirrors give a request to the member with the fewest under way, the first of several (kernel `drivers/md/raid1.c` and
//! `raid10.c`, `read_balance`, Linux 6.1): one request at a time is always for the first. RAID-1 keeps a sequence on its
//! member ([`raid::mirror_passes`]).
//!
//! Drives at work: a window of requests in sequence lies over k + (d − 1)·b/c chunks, requests at random are urns
//! ([`queueing::at_work`]). No arrangement exceeds what all drives gave together, and none ends more requests than its depth
//! over the time of one ([`queueing::little`]).

use super::{Carried, Drive, find, time};
use crate::lab::{Basis, Layout, Measured};
use narrows_base::units::{Bytes, BytesPerSec, Iops, human};
use narrows_load::measurement::Pattern;
use narrows_load::preset::LoadSpec;
use narrows_model::ceiling::{queueing, raid};

/// What md takes unless told otherwise (mdadm(8), `--chunk`).
const MD_CHUNK: Bytes = Bytes::from_kib(512);
/// What LVM takes unless told otherwise (lvmcreate(8), `--stripesize`; lvm.conf(5), `stripesize`).
const LVM_STRIPE: Bytes = Bytes::from_kib(64);
/// What ZFS takes unless told otherwise (zfsprops(7), `recordsize`).
const ZFS_RECORD: Bytes = Bytes::from_kib(128);
/// Members that do less of the time than this have too few requests.
const BUSY: f64 = 0.95;
/// Processors that work for this part of the time have none left.
const FULL: f64 = 0.95;

/// The drives under one test.
pub(super) struct Drives<'b> {
    basis: &'b Basis,
    load: &'b LoadSpec,
    each: Vec<Drive>,
    together: Option<BytesPerSec>,
    /// Whether the processors had no time to ask all drives at once for more: each drive had a generator of its own then, so
    /// that says nothing of the drives.
    ask_in_vain: bool,
    /// What a test passes over; zero where that is not known.
    region: Bytes,
}

/// The tests of each drive, and its requests after pauses.
fn alone(basis: &Basis) -> impl Iterator<Item = (&[Measured], &[Measured])> {
    let paused = basis.paused.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
    basis.alone.iter().map(Vec::as_slice).zip(paused)
}

impl<'b> Drives<'b> {
    /// What is known of them; `Err` says what is not.
    pub(super) fn of(basis: &'b Basis, test: &str, load: &'b LoadSpec) -> Result<Self, String> {
        let each = alone(basis).map(|(tests, paused)| Drive::of(tests, paused, test, load));
        let each: Option<Vec<Drive>> = each.collect();
        let each = each.filter(|each| !each.is_empty() && each.len() == basis.devices.len());
        let each = each.ok_or("the test was not measured on each device alone")?;
        let found = find(&basis.together, test, load);
        let together = found.map(|found| found.measurement.bytes_per_second);
        let all = FULL * f64::from(basis.cores.max(1));
        let ask_in_vain = found.and_then(|found| found.processors).is_some_and(|at_work| at_work >= all);
        let own = basis.alone.first().and_then(|tests| find(tests, test, load));
        let region = own.map_or(Bytes::new(0), |own| own.measurement.region);
        Ok(Self { basis, load, each, together, ask_in_vain, region })
    }

    fn count(&self) -> f64 {
        self.each.len() as f64
    }

    /// Drives that share requests alike do what the slowest of them does.
    fn slowest(&self) -> BytesPerSec {
        let rates = self.each.iter().map(|drive| drive.rate);
        rates.reduce(BytesPerSec::min).unwrap_or_default()
    }

    fn sum(&self) -> BytesPerSec {
        self.each.iter().map(|drive| drive.rate).sum()
    }

    fn size(&self) -> f64 {
        self.load.block_size.as_f64()
    }

    fn depth(&self) -> f64 {
        self.load.total_depth().max(1) as f64
    }

    fn is_random(&self) -> bool {
        self.load.pattern == Pattern::Random
    }

    /// Whether every drive goes on with a sequence between requests, so that its own time passes while something else does.
    fn work_ahead(&self) -> bool {
        !self.is_random() && self.each.iter().all(|drive| drive.works_ahead)
    }

    /// What one request takes on the slowest drive, of which `size` bytes are on it, with `copies` to wait for.
    fn seconds(&self, size: f64, copies: u32) -> f64 {
        if self.work_ahead() {
            return 0.0;
        }
        let of = |drive: &Drive| drive.seconds(size, raid::slowest_of(drive.wait, copies));
        self.each.iter().map(of).fold(0.0, f64::max)
    }

    /// Drives of a stripe of `width` in chunks of `chunk` that have work.
    fn at_work(&self, width: f64, chunk: Bytes) -> f64 {
        let pieces = self.pieces(width, chunk);
        if self.work_ahead() {
            return width;
        }
        if self.is_random() {
            return queueing::at_work(width, pieces, self.depth());
        }
        let ahead = (f64::from(self.load.queue_depth) - 1.0).max(0.0) * self.size() / chunk.as_f64();
        queueing::at_work(width, (pieces + ahead).min(width), f64::from(self.load.parallel.count()))
    }

    /// Drives that one request is spread over.
    fn pieces(&self, width: f64, chunk: Bytes) -> f64 {
        (self.size() / chunk.as_f64()).ceil().clamp(1.0, width.max(1.0))
    }

    /// The bounds that hold for every arrangement of all drives: together, depth, and the thread that asks. `crossings` is what
    /// all drives move for each byte, `seconds` what one request takes.
    fn close(&self, narrow: Carried, crossings: f64, seconds: f64) -> Carried {
        let mut narrow = Carried { crossings, seconds, ..narrow };
        if let Some(together) = self.together.filter(|_| !self.ask_in_vain) {
            let rate = together / crossings;
            let copies = if crossings > 1.0 { format!(" / {crossings:.3}") } else { String::new() };
            let formula = format!("all drives at once gave {together}{copies} = {rate}");
            narrow.take(rate, "what the drives share", formula);
        }
        if seconds > 0.0 {
            let rate = BytesPerSec::new(queueing::little(self.depth(), seconds).get() * self.size());
            let formula = format!("{} at a time, each takes {} = {rate}", self.depth(), time(seconds));
            narrow.take(rate, "the time of each request", formula);
        }
        let threads = self.each.iter().filter_map(|drive| drive.thread).reduce(BytesPerSec::max);
        if let Some(rate) = threads {
            narrow.take(rate, "the thread that asks", format!("a full core asks for {rate}"));
        }
        narrow
    }

    /// What `layout` carries in one direction.
    pub(super) fn carried(&self, layout: Layout, writes: bool) -> Result<Carried, String> {
        match layout {
            Layout::Single => self.alone("the drive"),
            Layout::LvmLinear => self.alone("the first drive, where the data is"),
            Layout::Raid0 => Ok(self.stripe(self.count(), 1, MD_CHUNK)),
            Layout::LvmStriped => Ok(self.stripe(self.count(), 1, LVM_STRIPE)),
            Layout::Raid1 if writes => Ok(self.copies()),
            Layout::Raid1 => self.balanced(),
            Layout::Raid10 if writes => Ok(self.stripe((self.count() / 2.0).floor().max(1.0), 2, MD_CHUNK)),
            Layout::Raid10 => self.pairs(),
            Layout::Raid5 if writes => Ok(self.parity_writes()),
            Layout::Raid5 => Ok(self.parity_reads()),
            Layout::ZfsStripe | Layout::ZfsMirror if self.load.block_size < ZFS_RECORD => {
                Err("ZFS moves whole records of 128 KiB; what smaller blocks cost depends on its cache"
                    .to_owned())
            }
            Layout::ZfsStripe => Ok(self.stripe(self.count(), 1, ZFS_RECORD)),
            Layout::ZfsMirror => Ok(self.zfs_mirror(writes)),
        }
    }

    fn alone(&self, bound: &str) -> Result<Carried, String> {
        let drive = self.each.first().ok_or("there is no device")?;
        let name = self.basis.devices.first().map_or("the drive", String::as_str);
        let seconds = if self.work_ahead() { 0.0 } else { drive.seconds(self.size(), drive.wait) };
        let formula = format!("{name} alone gave {}", drive.rate);
        Ok(Carried { seconds, ..Carried::new(drive.rate, bound, formula) })
    }

    /// Stripes over `width` members, each of which is `copies` drives.
    fn stripe(&self, width: f64, copies: u32, chunk: Bytes) -> Carried {
        let (work, slowest) = (self.at_work(width, chunk), self.slowest());
        let rate = slowest * work;
        let few = work < BUSY * width;
        let bound = if few { "too few requests for all drives" } else { "the drives" };
        let what = if copies > 1 { "mirrors" } else { "drives" };
        let formula = if few {
            let (depth, size) = (self.depth(), human::block_size(self.load.block_size));
            let chunk = human::block_size(chunk);
            format!(
                "{depth} requests of {size} over chunks of {chunk} keep {work:.2} of {width} {what} at work × {slowest} = {rate}"
            )
        } else {
            format!("{width} {what} × {slowest}, the slowest, = {rate}")
        };
        let part = self.size() / self.pieces(width, chunk);
        self.close(Carried::new(rate, bound, formula), f64::from(copies), self.seconds(part, copies))
    }

    /// A write goes to every drive.
    fn copies(&self) -> Carried {
        let count = self.members();
        let slowest = self.slowest();
        let formula = format!("every drive writes all of it, the slowest {slowest}");
        let narrow = Carried::new(slowest, "the slowest drive", formula);
        self.close(narrow, self.count(), self.seconds(self.size(), count))
    }

    /// Whole copies: a stream stays on one until it ends, requests at random go where the least wait.
    fn balanced(&self) -> Result<Carried, String> {
        let members = self.members();
        let streams = if self.is_random() {
            u32::try_from(self.load.total_depth()).unwrap_or(u32::MAX)
        } else {
            self.load.parallel.count()
        };
        let work = streams.clamp(1, members);
        if self.depth() <= 1.0 {
            return self.alone("one request at a time, which is always for the first drive");
        }
        let narrow = if work < members {
            let blocks = self.blocks();
            let rates: Vec<BytesPerSec> = self.each.iter().map(|drive| drive.rate).collect();
            let one = raid::mirror_passes(&rates, blocks, self.depth());
            let rate = raid::mirror_read(one, members, streams, false).min(self.sum());
            let length = if blocks.is_finite() { format!("{blocks}") } else { "many".to_owned() };
            let text = format!(
                "a sequence is read from one drive after the other, in passes of {length} blocks with {} under way: {one} × \
                 {work} = {rate}",
                self.depth()
            );
            Carried::new(rate, "one drive, since a mirror reads one stream from one", text)
        } else {
            self.shared()
        };
        Ok(self.close(narrow, 1.0, self.seconds(self.size(), 1)))
    }

    fn members(&self) -> u32 {
        u32::try_from(self.each.len()).unwrap_or(u32::MAX)
    }

    /// Blocks of one pass over what is measured.
    fn blocks(&self) -> f64 {
        let region = self.region.as_f64() / f64::from(self.load.parallel.count().max(1));
        if region > 0.0 { (region / self.size()).floor() } else { f64::INFINITY }
    }

    /// What one request takes whose parts each go to the drive with less to do: all end at about the same time.
    fn seconds_of_parts(&self) -> f64 {
        if self.work_ahead() {
            return 0.0;
        }
        let most: f64 = self.each.iter().map(|drive| drive.most.get()).sum();
        let wait = self.each.iter().map(|drive| drive.wait.as_secs_f64()).fold(0.0, f64::max);
        if most > 0.0 { wait + self.size() / most } else { f64::INFINITY }
    }

    fn shared(&self) -> Carried {
        let sum = self.sum();
        Carried::new(sum, "the drives", format!("{} drives that share the requests = {sum}", self.each.len()))
    }

    /// Mirrors in stripes: each request goes to that of a pair which has less to do. One pair has no stripes.
    fn pairs(&self) -> Result<Carried, String> {
        if self.each.len() > 2 {
            return Ok(self.stripe(self.count(), 1, MD_CHUNK));
        }
        // Beyond a chunk the kernel divides a request, and each part goes to the drive with less to do.
        let parts = self.pieces(self.count(), MD_CHUNK);
        if self.depth() <= 1.0 && parts < 2.0 {
            return self.alone("one request at a time, which is always for the first drive");
        }
        let seconds =
            if self.depth() <= 1.0 { self.seconds_of_parts() } else { self.seconds(self.size(), 1) };
        Ok(self.close(self.shared(), 1.0, seconds))
    }

    fn parity_reads(&self) -> Carried {
        let count = self.count();
        if !self.is_random() && self.basis.alone.iter().any(|tests| Drive::turns(tests)) {
            let members = self.members();
            let rate = raid::full_stripes(self.slowest(), members, 1);
            let (data, slowest) = (count - 1.0, self.slowest());
            let formula = format!("heads pass over the parity: {data} of {count} × {slowest} = {rate}");
            let narrow = Carried::new(rate, "the drives", formula);
            return self.close(narrow, 1.0, self.seconds(self.size() / self.pieces(count, MD_CHUNK), 1));
        }
        self.stripe(count, 1, MD_CHUNK)
    }

    fn parity_writes(&self) -> Carried {
        let members = self.members();
        let data = (self.count() - 1.0).max(1.0);
        let stripe = MD_CHUNK.as_f64() * data;
        let fills = self.size() % stripe == 0.0;
        let gathers = !self.is_random() && self.size() * self.depth() >= stripe;
        if !fills && !gathers {
            return self.small_writes(members);
        }
        let rate = raid::full_stripes(self.slowest(), members, 1);
        let formula = format!("{data} of {members} drives carry data × {} = {rate}", self.slowest());
        let mut narrow = Carried::new(rate, "the drives", formula);
        let thread = raid::stripe_threads(fills, 1);
        narrow.take(thread, "the one thread of the array", format!("one thread handles stripes at {thread}"));
        let part = self.size() / self.pieces(data, MD_CHUNK);
        self.close(narrow, self.count() / data, self.seconds(part, members))
    }

    /// Old data and parity are read, new are written.
    fn small_writes(&self, members: u32) -> Carried {
        let reading = LoadSpec { write_percent: 0, ..self.load.clone() };
        let reads = alone(self.basis).map(|(tests, paused)| Drive::of(tests, paused, "", &reading));
        let reads: Option<Vec<Drive>> = reads.collect();
        let read = reads.as_ref().and_then(|all| all.iter().map(|drive| drive.rate).reduce(BytesPerSec::min));
        let written = self.slowest();
        let read = read.unwrap_or(written);
        // As many reads as writes: the mean of their times.
        let mixed = 2.0 / (1.0 / read.get() + 1.0 / written.get());
        let all = raid::small_writes(Iops::new(mixed / self.size()), members, 1);
        let work = queueing::at_work(f64::from(members), 2.0, self.depth()) / f64::from(members.max(1));
        let rate = BytesPerSec::new(all.get() * self.size() * work);
        let formula = format!(
            "a small write is {} I/Os on {members} drives that read {read} and write {written} = {rate}",
            raid::small_write_ios(1)
        );
        let seconds_read =
            reads.unwrap_or_default().into_iter().map(|drive| drive.seconds(self.size(), drive.wait));
        let seconds = seconds_read.fold(0.0, f64::max) + self.seconds(self.size(), 2);
        self.close(Carried::new(rate, "four I/Os for a small write", formula), 1.0, seconds)
    }

    fn zfs_mirror(&self, writes: bool) -> Carried {
        let slowest = self.slowest();
        let members = self.members();
        let (read, write) = raid::zfs_mirror(slowest, slowest, members);
        if writes {
            let formula = format!("every drive writes all of it, the slowest {write}");
            return self.close(Carried::new(write, "the slowest drive", formula), self.count(), 0.0);
        }
        let formula = format!("ZFS reads all {members} × {slowest} = {read}");
        self.close(Carried::new(read, "the drives", formula), 1.0, self.seconds(self.size(), 1))
    }
}
