//! Searches a whole medium for anything but zeros: all of it, each MiB of it, or random places, as its speed allows.
//!
//! A medium is measured first: random places, then a part of it in one go. What follows from its speed, [`Plan`], is told
//! before the search. A search that falls behind its time goes on at random places, and never takes longer than [`LONGEST`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::bulk::{Bulk, Piece};
use super::looks::{self, Looks};
use super::plan::{
    CHUNK, DENSE_LATE, LONGEST, MIB, MOST_PLACES, Method, PLACES, Plan, Speed, WHOLE_LATE, plan, ramp,
    reads_whole, usual_starts,
};
use super::reason::Reason;
use super::sentry::{Step, Watch};
use crate::marks::{DeviceKey, Judge, Sector, is_zero};
use crate::random::Random;
use narrows_base::units::Bytes;

/// How long each of both measurements of the speed may take, and how many reads.
const MEASURED: (Duration, usize) = (Duration::from_millis(400), 4096);
/// Fewer random places say too little: below 3 ‰ of the medium, with 95 % confidence.
const FEWEST_PLACES: u64 = 1000;
/// Foreign data are listed up to so many places.
const LISTED: usize = 4;
/// Hardly any medium is faster than this, in bytes per second (PCIe 5.0 x4): one that is too large even then is not measured again.
const FASTEST: f64 = 16e9;
/// So many more places are looked at once there are data.
const AFTERWARDS: u64 = 512;
/// So far back from a place that holds data is looked for where they begin, in blocks.
const BACK: u64 = 256;
/// No longer than this for each.
const GOING_BACK: Duration = Duration::from_secs(2);

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

/// Searches a medium of which the first byte was read when it `began`. What bears the mark of `key` is told from what others wrote. `seed` decides the random places.
///
/// # Errors
/// Memory is short, or the engine broke down. What cannot be read is a finding.
pub(super) fn search(
    medium: &dyn Bulk,
    key: Option<DeviceKey>,
    seed: u64,
    began: Instant,
    watch: Watch<'_>,
) -> io::Result<Searched> {
    let mut search = Search { began, ..Search::of(medium, key, seed) };
    search.run(watch)?;
    search.result.found.sort_by_key(|found| found.at);
    search.result.found.truncate(LISTED);
    search.go_back()?;
    let Search { mut result, began, .. } = search;
    result.time = began.elapsed();
    Ok(result)
}

/// Tells whether reads fall behind.
struct Late {
    began: Instant,
    begin: Instant,
    all: u64,
    limit: Duration,
}

impl Late {
    /// Of `all` reads that begin now, of a search that `began` before and must be over after `limit`.
    fn new(began: Instant, all: u64, limit: Duration) -> Self {
        Self { began, begin: Instant::now(), all, limit }
    }

    /// Whether it is too late, or going to be as it goes, after so many reads.
    fn is_at(&self, done: u64) -> bool {
        let elapsed = self.begin.elapsed();
        let expected = elapsed.mul_f64(self.all as f64 / done.max(1) as f64);
        let before = self.begin.duration_since(self.began);
        self.began.elapsed() > self.limit
            || (elapsed > Duration::from_secs(4) && before + expected > self.limit)
    }
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

impl<'a> Search<'a> {
    fn of(medium: &'a dyn Bulk, key: Option<DeviceKey>, seed: u64) -> Self {
        Self {
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
        }
    }

    fn run(&mut self, watch: Watch<'_>) -> io::Result<()> {
        let size = self.medium.size();
        if size == 0 {
            return Ok(());
        }
        let speed = self.measure(watch)?;
        let drawn = self.result.places;
        let mut next = Some(plan(size, speed));
        while let Some(plan) = next.filter(|_| !self.is_over()) {
            self.result.method = plan.method;
            self.result.places = 0;
            self.result.is_broken_off |= watch(Step::Planned(plan)).is_break();
            if self.is_over() {
                break;
            }
            let is_done = match plan.method {
                Method::All => self.chunks(&plan, watch)?,
                Method::EachMib(count) => self.each_mib(count, &plan, watch)?,
                Method::Random => {
                    self.starts(&plan, watch)?;
                    self.result.places = drawn;
                    self.at_random(&plan, watch)?;
                    true
                }
            };
            next = if is_done { None } else { plan.instead(size, speed) };
        }
        if reads_whole(size, FASTEST) { self.whole_after_all(watch) } else { Ok(()) }
    }

    /// Where places of each MiB were read because the medium was slow at the beginning: reads all when it is no longer slow.
    fn whole_after_all(&mut self, watch: Watch<'_>) -> io::Result<()> {
        let before = (self.result.method, self.result.places);
        let is_late = self.began.elapsed() > WHOLE_LATE;
        if !matches!(before.0, Method::EachMib(_)) || is_late || self.is_over() {
            return Ok(());
        }
        let plan = plan(self.medium.size(), self.measure(watch)?);
        if plan.method == Method::All && self.began.elapsed() + plan.time < WHOLE_LATE {
            self.result.method = plan.method;
            self.result.is_broken_off |= watch(Step::Planned(plan)).is_break();
            if self.chunks(&plan, watch)? {
                return Ok(());
            }
        }
        (self.result.method, self.result.places) = before;
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
        let mut chunks = (0..132)
            .take_while(|index| ramp(*index) < size)
            .map(|index| piece(ramp(index), ramp(index + 1) - ramp(index), size));
        let drawn = self.result.places;
        self.read(CHUNK, &mut chunks, &plan, &mut |_| begin.elapsed() < time, watch)?;
        self.result.places = drawn;
        let bytes = rate(ramp(self.result.reads - before).min(size), begin.elapsed());
        Ok(Speed { places, bytes })
    }

    /// Reads all. Whether it was done in time.
    fn chunks(&mut self, plan: &Plan, watch: Watch<'_>) -> io::Result<bool> {
        let size = self.medium.size();
        let mut chunks = (0..plan.reads).map(|index| piece(index * CHUNK, CHUNK, size));
        let late = Late::new(self.began, plan.reads, WHOLE_LATE);
        let mut is_late = false;
        let go_on = &mut |done| {
            is_late = late.is_at(done);
            !is_late
        };
        self.read(CHUNK, &mut chunks, plan, go_on, watch)?;
        self.result.places = size.div_ceil(self.medium.unit());
        Ok(!is_late)
    }

    /// Reads a place of each MiB, then another of each, as many as are planned and the time allows; and more where
    /// partitions mostly begin. Whether the first of each was read in time.
    fn each_mib(&mut self, count: u32, plan: &Plan, watch: Watch<'_>) -> io::Result<bool> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let (each, begin) = (size.div_ceil(MIB), Instant::now());
        let (mut rounds, mut places) = (0, 0);
        for within in PLACES.iter().filter(|at| at.is_multiple_of(unit)).take(count as usize) {
            // As long as a further round takes what those before it took, and some more.
            if rounds > 0 && begin.elapsed().mul_f64(1.0 + 1.0 / f64::from(rounds)) > DENSE_LATE {
                break;
            }
            let limit = if rounds == 0 { LONGEST } else { DENSE_LATE };
            let late = Late::new(self.began, each, limit);
            let mut is_late = false;
            let starts = (0..each).map(|index| index * MIB + within).filter(|at| *at < size);
            let go_on = &mut |done| {
                is_late = late.is_at(done);
                !is_late
            };
            self.read(unit, &mut starts.map(|at| piece(at, unit, size)), plan, go_on, watch)?;
            if is_late || self.is_over() {
                break;
            }
            rounds += 1;
            places = self.result.places;
        }
        if rounds > 0 && !self.is_over() {
            self.starts(plan, watch)?;
        }
        (self.result.method, self.result.places) = (Method::EachMib(rounds.max(1)), places);
        Ok(rounds > 0)
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

    /// Reads random places for the time of the plan.
    fn at_random(&mut self, plan: &Plan, watch: Watch<'_>) -> io::Result<()> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let mut random = self.random.clone();
        let blocks = size.div_ceil(unit);
        let most = MOST_PLACES.saturating_sub(self.result.reads).max(10 * FEWEST_PLACES);
        let mut places = (0..most).map(move |_| piece(random.below(blocks) * unit, unit, size));
        let began = self.began;
        let until = (began.elapsed() + plan.time).min(LONGEST);
        self.read(unit, &mut places, plan, &mut |_| began.elapsed() < until, watch)
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
        let (mut done, mut asked) = (0, begin);
        medium.read_all(longest as u32, pieces, &mut |piece, bytes| {
            done += 1;
            self.look_at(piece, bytes);
            if done % 64 == 0 || asked.elapsed() > Duration::from_millis(100) {
                asked = Instant::now();
                let step = Step::Searching { plan: *plan, done, elapsed: begin.elapsed() };
                self.result.is_broken_off |= watch(step).is_break();
                if !go_on(done) {
                    return ControlFlow::Break(());
                }
            }
            if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    }

    /// A random place may be in the middle of data: what is listed is where they begin, without a gap.
    fn go_back(&mut self) -> io::Result<()> {
        for found in std::mem::take(&mut self.result.found) {
            let found = self.beginning(found)?;
            if !self.result.found.contains(&found) {
                self.result.found.push(found);
            }
        }
        Ok(())
    }

    fn beginning(&mut self, found: Found) -> io::Result<Found> {
        let (unit, size) = (self.medium.unit(), self.medium.size());
        let block = found.at.get() / unit;
        let mut pieces = (block.saturating_sub(BACK)..block).map(|index| piece(index * unit, unit, size));
        let (key, mut before) = (self.key, BTreeMap::new());
        let (mut reads, begin) = (0, Instant::now());
        self.medium.read_all(unit as u32, &mut pieces, &mut |piece, bytes| {
            reads += 1;
            before.extend(
                bytes.ok().and_then(|bytes| Some((piece.offset / unit, sort(key, piece.offset, bytes).0?))),
            );
            if begin.elapsed() > GOING_BACK { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.result.reads += reads;
        let without_gap = (0..block).rev().map_while(|index| before.remove(&index));
        Ok(without_gap.last().unwrap_or(found))
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

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
