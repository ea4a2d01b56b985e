//! Searches a whole medium for anything but zeros: all of it, each MiB of it, or random places, as its speed allows.
//!
//! A medium is measured first: random places, then a part of it in one go. What follows from its speed, [`Plan`], is told
//! before the search. A search that falls behind its time goes on at random places, and never takes longer than [`LONGEST`].

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::super::marks::{DeviceKey, Judge, Sector, is_zero};
use super::super::random::Random;
use super::bulk::{Bulk, Piece};
use super::looks::{self, Looks};
use super::reason::Reason;
use super::watch::{Step, Watch};
use crate::units::{Bytes, human};

/// No search takes longer. A read that hangs is waited for.
const LONGEST: Duration = Duration::from_secs(115);
/// All of a medium is read when that takes no longer.
const WHOLE_TIME: Duration = Duration::from_secs(12);
/// All of a medium is read when it is no larger.
const WHOLE_SIZE: u64 = 64 * MIB;
/// More than one place of each MiB is read as long as that takes no longer.
const DENSE_TIME: Duration = Duration::from_secs(25);
/// How long the places of each MiB may be expected to take.
const SPARSE_TIME: Duration = Duration::from_secs(90);
/// How long random places are read.
const RANDOM_TIME: Duration = Duration::from_secs(60);
/// More than one place of each MiB is read as long as there are no more in all.
const MOST_PLACES: u64 = 4_000_000;
/// Fewer random places say too little: below 3 ‰ of the medium, with 95 % confidence.
const FEWEST_PLACES: u64 = 1000;
/// How long each of both measurements of the speed may take, and how many reads.
const MEASURED: (Duration, usize) = (Duration::from_millis(400), 4096);
/// Foreign data are listed up to so many places.
const LISTED: usize = 4;
/// So many more places are looked at once there are data.
const AFTERWARDS: u64 = 512;

const MIB: u64 = 1 << 20;
/// What is read in one go where all is read.
const CHUNK: u64 = MIB;
/// Where in each MiB is looked, in this order, as far as the time goes: where formats have their magic numbers, counted
/// from the beginning of a partition.
const PLACES: [u64; 8] = [0, 64 << 10, 4 << 10, 32 << 10, 128 << 10, 8 << 10, 512 << 10, 256 << 10];

/// How a medium is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All of it is read.
    All,
    /// So many places of 4 KiB in each MiB are read, the first of them at its beginning.
    EachMib(u32),
    /// Random places of 4 KiB are read.
    Random,
}

/// What a search is going to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// How.
    pub method: Method,
    /// How many reads that takes.
    pub reads: u64,
    /// How long it is expected to take.
    pub time: Duration,
}

/// A place that holds something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it begins: the first byte that is not zero there.
    pub at: Bytes,
    /// The bytes from there on, as far as they were read.
    pub(super) bytes: Vec<u8>,
}

impl Found {
    /// What the bytes look like by themselves.
    pub fn looks(&self) -> Looks {
        looks::of_bytes(&self.bytes)
    }
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    /// How it was done in the end.
    pub method: Method,
    /// How many places of 4 KiB were looked at; with [`Method::Random`] those that were drawn at random.
    pub places: u64,
    /// How many reads there were in all.
    pub reads: u64,
    /// How long it took.
    pub time: Duration,
    /// Data of others, the first ones.
    pub(super) found: Vec<Found>,
    /// The first place that bears our mark: a run that was killed wrote it.
    pub marked: Option<Bytes>,
    /// A place that cannot be read, and why.
    pub(super) unreadable: Option<(Bytes, String)>,
    /// Whether whoever watches broke it off.
    pub is_broken_off: bool,
}

impl Searched {
    /// The share of the medium that may hold data all the same, with 95 % confidence, where random places were looked at
    /// and all are zero: 3 of so many (the rule of three: Hanley and Lippman-Hand, "If nothing goes wrong, is everything
    /// all right?", JAMA 249(13), 1983).
    pub fn bound(&self) -> Option<f64> {
        (self.method == Method::Random && self.places > 0).then(|| 3.0 / self.places as f64)
    }

    /// What speaks against writing: data of others, blocks of a run that was killed, and what cannot be read.
    pub(super) fn reasons(&self, device: &str, medium: &dyn super::Medium) -> Vec<Reason> {
        let name = || device.to_owned();
        let mut reasons: Vec<Reason> = Vec::new();
        let mut named = BTreeSet::new();
        for found in &self.found {
            let looks = looks::like(medium, found);
            if named.insert(looks.to_string()) {
                reasons.push(Reason::Data { device: name(), at: found.at, looks });
            }
        }
        reasons.extend(self.marked.map(|at| Reason::Marked { device: name(), at }));
        let unreadable = self.unreadable.clone();
        reasons.extend(unreadable.map(|(at, error)| Reason::Unreadable {
            device: name(),
            error: format!("cannot read at byte {}: {error}", at.get()),
        }));
        let is_too_little = self.method == Method::Random && self.places < FEWEST_PLACES;
        if reasons.is_empty() && (is_too_little || self.is_broken_off) {
            let what = format!(
                "whether {device} is empty: only {} random places were read in {:.0} s",
                self.places,
                self.time.as_secs_f64()
            );
            reasons.push(Reason::Unsearched { what });
        }
        reasons
    }
}

/// How fast a medium was at the beginning.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Speed {
    /// Random places of 4 KiB in a second.
    places: f64,
    /// Bytes in a second where all is read.
    bytes: f64,
}

/// What to do with a medium of `size` bytes at this speed.
fn plan(size: u64, speed: Speed) -> Plan {
    let after = |amount: u64, rate: f64| {
        Duration::try_from_secs_f64(amount as f64 / rate.max(1e-3)).unwrap_or(Duration::MAX)
    };
    let whole = after(size, speed.bytes);
    if size <= WHOLE_SIZE || whole <= WHOLE_TIME {
        return Plan { method: Method::All, reads: size.div_ceil(CHUNK), time: whole };
    }
    let each = size.div_ceil(MIB);
    let dense = |count: &u64| each * count <= MOST_PLACES && after(each * count, speed.places) <= DENSE_TIME;
    let count = (2..=PLACES.len() as u64).rev().find(dense).unwrap_or(1);
    let time = after(each * count, speed.places);
    if time <= SPARSE_TIME {
        return Plan { method: Method::EachMib(count as u32), reads: each * count, time };
    }
    let reads = ((RANDOM_TIME.as_secs_f64() * speed.places) as u64).clamp(1, MOST_PLACES);
    Plan { method: Method::Random, reads, time: RANDOM_TIME }
}

/// Searches a medium. What bears the mark of `key` is told from what others wrote. `seed` decides the random places.
///
/// # Errors
/// Memory is short, or the engine broke down. What cannot be read is a finding.
pub(super) fn search(
    medium: &dyn Bulk,
    key: Option<DeviceKey>,
    seed: u64,
    watch: Watch<'_>,
) -> io::Result<Searched> {
    let mut search = Search {
        medium,
        key,
        random: Random::seeded(seed),
        began: Instant::now(),
        rest: None,
        result: Searched {
            method: Method::All,
            places: 0,
            reads: 0,
            time: Duration::ZERO,
            found: Vec::new(),
            marked: None,
            unreadable: None,
            is_broken_off: false,
        },
    };
    search.run(watch)?;
    let Search { mut result, began, .. } = search;
    result.time = began.elapsed();
    result.found.sort_by_key(|found| found.at);
    result.found.truncate(LISTED);
    Ok(result)
}

struct Search<'a> {
    medium: &'a dyn Bulk,
    key: Option<DeviceKey>,
    random: Random,
    began: Instant,
    /// How many more places are looked at, once there are data.
    rest: Option<u64>,
    result: Searched,
}

impl Search<'_> {
    fn run(&mut self, watch: Watch<'_>) -> io::Result<()> {
        let size = self.medium.size();
        if size == 0 {
            return Ok(());
        }
        let speed = self.measure(watch)?;
        let plan = plan(size, speed);
        self.result.method = plan.method;
        if self.is_over() || watch(Step::Planned(plan)).is_break() {
            return Ok(());
        }
        let drawn = std::mem::take(&mut self.result.places);
        match plan.method {
            Method::All => {
                self.chunks(0, size.div_ceil(CHUNK), &plan, watch)?;
                self.result.places = size.div_ceil(self.medium.unit());
            }
            Method::EachMib(count) => {
                let is_done = self.each_mib(count, &plan, watch)?;
                if !is_done && !self.is_over() {
                    self.result.places = drawn;
                    self.at_random(u64::MAX, LONGEST, watch)?;
                }
            }
            Method::Random => {
                self.starts(&plan, watch)?;
                self.result.places = drawn;
                let until = self.began.elapsed() + plan.time;
                self.at_random(MOST_PLACES, until.min(LONGEST), watch)?;
            }
        }
        Ok(())
    }

    /// Whether it is decided, or was broken off.
    fn is_over(&self) -> bool {
        self.rest == Some(0) || self.result.unreadable.is_some() || self.result.is_broken_off
    }

    /// How fast the medium is at random places, and where all is read. What it holds is looked at.
    fn measure(&mut self, watch: Watch<'_>) -> io::Result<Speed> {
        let (time, most) = MEASURED;
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let begin = Instant::now();
        let before = self.result.reads;
        let drawn = most.min(usize::try_from(size.div_ceil(unit)).unwrap_or(most));
        let mut random = self.random.clone();
        let mut places = (0..drawn).map(|_| piece(random.below(size.div_ceil(unit)) * unit, unit, size));
        let plan = Plan { method: Method::Random, reads: drawn as u64, time };
        self.read(unit, &mut places, &plan, &mut |_| begin.elapsed() < time, watch)?;
        self.random = Random::seeded(self.random.next() ^ 1);
        let places = rate(self.result.reads - before, begin.elapsed());
        let begin = Instant::now();
        let before = self.result.reads;
        let mut chunks = (0..size.div_ceil(CHUNK).min(128)).map(|index| piece(index * CHUNK, CHUNK, size));
        let drawn = self.result.places;
        self.read(CHUNK, &mut chunks, &plan, &mut |_| begin.elapsed() < time, watch)?;
        self.result.places = drawn;
        let bytes = rate(self.result.reads - before, begin.elapsed()) * CHUNK.min(size) as f64;
        Ok(Speed { places, bytes })
    }

    /// Reads all from one chunk to another.
    fn chunks(&mut self, from: u64, to: u64, plan: &Plan, watch: Watch<'_>) -> io::Result<()> {
        let size = self.medium.size();
        let mut chunks = (from..to).map(|index| piece(index * CHUNK, CHUNK, size));
        let began = self.began;
        let mut is_cut = false;
        self.read(
            CHUNK,
            &mut chunks,
            plan,
            &mut |_| {
                is_cut = began.elapsed() > LONGEST;
                !is_cut
            },
            watch,
        )?;
        if is_cut {
            // Too slow after all: what was read says nothing of the rest.
            self.result.method = Method::Random;
            self.result.places = 0;
        }
        Ok(())
    }

    /// Reads so many places of each MiB, and more where partitions mostly begin. Whether it was done in time.
    fn each_mib(&mut self, count: u32, plan: &Plan, watch: Watch<'_>) -> io::Result<bool> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let within = PLACES.iter().take(count as usize).filter(|at| at.is_multiple_of(unit));
        let within: Vec<u64> = within.copied().collect();
        let mut places = (0..size.div_ceil(MIB))
            .flat_map(|index| within.iter().map(move |at| index * MIB + at))
            .filter(|at| *at < size)
            .map(|at| piece(at, unit, size));
        let (began, begin, all) = (self.began, Instant::now(), plan.reads);
        let mut is_late = false;
        self.read(
            unit,
            &mut places,
            plan,
            &mut |done| {
                let elapsed = begin.elapsed();
                let expected = elapsed.mul_f64(all as f64 / done.max(1) as f64);
                let before = begin.duration_since(began);
                is_late = began.elapsed() > LONGEST
                    || (elapsed > Duration::from_secs(5) && before + expected > LONGEST);
                !is_late
            },
            watch,
        )?;
        if is_late {
            self.result.method = Method::Random;
            return Ok(false);
        }
        if !self.is_over() {
            let looked_at = self.result.places;
            self.starts(plan, watch)?;
            self.result.places = looked_at;
        }
        Ok(true)
    }

    /// Reads where formats have their magic numbers, counted from where partitions mostly begin.
    fn starts(&mut self, plan: &Plan, watch: Watch<'_>) -> io::Result<()> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let mut places = usual_starts(size)
            .flat_map(|start| PLACES.iter().map(move |at| (start + at) / unit * unit))
            .filter(|at| *at < size)
            .map(|at| piece(at, unit, size));
        let began = self.began;
        self.read(unit, &mut places, plan, &mut |_| began.elapsed() < LONGEST, watch)
    }

    fn at_random(&mut self, most: u64, until: Duration, watch: Watch<'_>) -> io::Result<()> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let mut random = self.random.clone();
        let blocks = size.div_ceil(unit);
        let mut places = (0..most).map(move |_| piece(random.below(blocks) * unit, unit, size));
        let (began, begin) = (self.began, Instant::now());
        let plan = Plan { method: Method::Random, reads: 0, time: until.saturating_sub(began.elapsed()) };
        self.read(unit, &mut places, &plan, &mut |_| began.elapsed() < until, watch)?;
        let _ = begin;
        Ok(())
    }

    /// Reads pieces and looks at them as long as `go_on`, which is told how many of them were read, says so.
    fn read(
        &mut self,
        longest: u64,
        pieces: &mut (dyn Iterator<Item = Piece> + Send),
        plan: &Plan,
        go_on: &mut dyn FnMut(u64) -> bool,
        watch: Watch<'_>,
    ) -> io::Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let (medium, begin) = (self.medium, Instant::now());
        let mut done = 0;
        medium.read_all(longest as u32, pieces, &mut |piece, bytes| {
            done += 1;
            self.look_at(piece, bytes);
            if done % 64 == 0 || begin.elapsed() > Duration::from_millis(100) && done < 64 {
                let step = Step::Searching { plan: *plan, done, elapsed: begin.elapsed() };
                self.result.is_broken_off |= watch(step).is_break();
                if !go_on(done) {
                    return ControlFlow::Break(());
                }
            }
            if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    fn look_at(&mut self, piece: Piece, bytes: io::Result<&[u8]>) {
        let result = &mut self.result;
        result.reads += 1;
        result.places += 1;
        self.rest = self.rest.map(|rest| rest.saturating_sub(1));
        let bytes = match bytes {
            Ok(bytes) if is_zero(bytes) => return,
            Ok(bytes) => bytes,
            Err(error) => {
                result.unreadable.get_or_insert((Bytes::new(piece.offset), error.to_string()));
                return;
            }
        };
        let (foreign, ours) = sort(self.key, piece.offset, bytes);
        if let Some(at) = ours {
            let at = Bytes::new(at);
            result.marked = Some(result.marked.map_or(at, |before| before.min(at)));
        }
        if let Some(found) = foreign {
            result.found.push(found);
            let most = AFTERWARDS;
            let rest = if result.found.len() >= 16 { 0 } else { most };
            self.rest = Some(self.rest.map_or(rest, |before| before.min(rest)));
        }
    }
}

/// The first byte of others and the first that is marked as ours in what was read at `start`.
pub(super) fn sort(key: Option<DeviceKey>, start: u64, bytes: &[u8]) -> (Option<Found>, Option<u64>) {
    let (mut foreign, mut ours) = (None, None);
    for (offset, sector) in Judge::new(key).sectors(start, bytes) {
        match sector {
            Sector::Zero => {}
            Sector::Ours => ours = ours.or(Some(offset)),
            Sector::Foreign => foreign = foreign.or(Some(offset)),
        }
    }
    let found = foreign.and_then(|offset| {
        let rest = bytes.get(usize::try_from(offset - start).ok()?..)?;
        let first = rest.iter().position(|byte| *byte != 0)?;
        let shown = rest.get(first..)?;
        let shown = shown.get(..512).unwrap_or(shown).to_vec();
        Some(Found { at: Bytes::new(offset + first as u64), bytes: shown })
    });
    (found, ours)
}

/// A piece of `length` bytes, cut off at the end of the medium.
fn piece(offset: u64, length: u64, size: u64) -> Piece {
    let length = length.min(size.saturating_sub(offset));
    Piece { offset, length: u32::try_from(length).unwrap_or(u32::MAX) }
}

fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-6)
}

/// Where partitions mostly begin: sector 34 or 63, at 64 KiB, at a power of two of MiB, at the first MiB, or at a GiB.
pub(super) fn usual_starts(size: u64) -> impl Iterator<Item = u64> + Send {
    let sectors = [34 * 512, 63 * 512, 64 << 10, 128 << 10, 256 << 10, 512 << 10];
    let mibs = (1..=256).map(|index| index * MIB);
    let powers = (9..40).map(|power| MIB << power);
    let gibs = (1..=64).map(|index: u64| index << 30);
    let behind = (1..=16).map(|index: u64| (index << 30) + MIB);
    sectors.into_iter().chain(mibs).chain(powers).chain(gibs).chain(behind).filter(move |start| *start < size)
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reads = human::grouped(self.reads);
        match self.method {
            Method::All => write!(f, "reads all of it")?,
            Method::EachMib(1) => write!(f, "reads the first 4 KiB of each MiB, {reads} places")?,
            Method::EachMib(count) => write!(f, "reads {count} places of 4 KiB in each MiB, {reads} in all")?,
            Method::Random => write!(f, "reads random places of 4 KiB, about {reads}")?,
        }
        let seconds = self.time.as_secs_f64().max(1.0).ceil();
        write!(f, "; about {}", human::time(crate::units::Nanos::from(Duration::from_secs_f64(seconds))))
    }
}
