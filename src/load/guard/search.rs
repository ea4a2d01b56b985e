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
use super::plan::{
    CHUNK, DENSE_LATE, LONGEST, MIB, MOST_PLACES, Method, PLACES, Plan, Speed, WHOLE_LATE, WHOLE_SIZE, plan,
    usual_starts,
};
use super::reason::Reason;
use super::watch::{Step, Watch};
use crate::units::Bytes;

/// How long each of both measurements of the speed may take, and how many reads.
const MEASURED: (Duration, usize) = (Duration::from_millis(400), 4096);
/// Fewer random places say too little: below 3 ‰ of the medium, with 95 % confidence.
const FEWEST_PLACES: u64 = 1000;
/// Foreign data are listed up to so many places.
const LISTED: usize = 4;
/// So many more places are looked at once there are data.
const AFTERWARDS: u64 = 512;

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
    let mut search = Search::of(medium, key, seed);
    search.run(watch)?;
    let Search { mut result, began, .. } = search;
    result.time = began.elapsed();
    result.found.sort_by_key(|found| found.at);
    result.found.truncate(LISTED);
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

    /// Reads all. Whether it was done in time.
    fn chunks(&mut self, plan: &Plan, watch: Watch<'_>) -> io::Result<bool> {
        let size = self.medium.size();
        let mut chunks = (0..plan.reads).map(|index| piece(index * CHUNK, CHUNK, size));
        let late = Late::new(self.began, plan.reads, WHOLE_LATE);
        let mut is_late = false;
        let go_on = &mut |done| {
            is_late = size > WHOLE_SIZE && late.is_at(done);
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

#[cfg(test)]
mod tests {
    use super::super::super::marks::DeviceKey;
    use super::super::testing::Fake;
    use super::*;
    use crate::units::human;
    use proptest::prelude::*;

    fn go(_: Step) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn searched(medium: &Fake) -> Searched {
        search(medium, Some(DeviceKey::of("S", Bytes::new(medium.size))), 7, &mut go).unwrap()
    }

    /// A search of each MiB, whatever the speed.
    fn each_mib(medium: &Fake, count: u32) -> Searched {
        let mut search = Search::of(medium, None, 7);
        let plan = Plan { method: Method::EachMib(count), reads: medium.size >> 20, time: LONGEST };
        search.result.method = plan.method;
        // It ends early once there are data.
        let is_done = search.each_mib(count, &plan, &mut go).unwrap();
        assert!(is_done || search.is_over());
        search.result
    }

    fn text(searched: &Searched, medium: &Fake) -> String {
        let reasons = searched.reasons("sdb", medium);
        reasons.iter().map(|reason| format!("{reason}\n")).collect()
    }

    /// As mke2fs makes it: blocks of 4 KiB, 32768 in a group.
    fn ext4() -> Vec<u8> {
        let mut block = vec![0; 4096];
        block[1024 + 0x18] = 2;
        block[1024 + 0x20..1024 + 0x24].copy_from_slice(&32768_u32.to_le_bytes());
        block[1080..1082].copy_from_slice(&[0x53, 0xEF]);
        block
    }

    #[test]
    fn a_blank_medium_is_blank_however_it_is_searched() {
        let blank = Fake::with(100 << 20, Vec::new());
        let all = searched(&blank);
        assert_eq!((all.method, all.places, all.bound()), (Method::All, 25_600, None));
        assert_eq!(all.reasons("sdb", &blank), []);
        let each = each_mib(&blank, 1);
        assert_eq!((each.places, each.reasons("sdb", &blank).len()), (100, 0));
    }

    #[test]
    fn a_lost_partition_table_is_named_wherever_the_file_system_begins() {
        for start in [1_u64 << 20, 63 * 512, 34 * 512, 64 << 10, 4 << 20, 8 << 20, 77 << 20] {
            for (name, piece) in [
                ("ext2, ext3 or ext4", ext4()),
                ("XFS", b"XFSB".to_vec()),
                ("LUKS", b"LUKS\xba\xbe".to_vec()),
            ] {
                let medium = Fake::with(100 << 20, vec![(start, piece)]);
                let text = text(&searched(&medium), &medium);
                let begins = format!("what looks like {name}");
                assert!(
                    text.contains(&begins) && text.contains("a lost partition table?"),
                    "{start}: {text}"
                );
                let place = human::block_size(Bytes::new(start));
                assert!(text.contains(&format!("begins at {place}:")), "{place}: {text}");
            }
        }
    }

    #[test]
    fn magic_numbers_far_behind_the_beginning_are_found_where_partitions_begin() {
        // btrfs has its first superblock 64 KiB behind, md 1.2 its only one 4 KiB behind.
        for (name, at, magic) in [
            ("btrfs", (1 << 20) + (64 << 10) + 64, b"_BHRfS_M".to_vec()),
            ("Linux md 1.2", (5 << 20) + 4096, vec![0xfc, 0x4e, 0x2b, 0xa9]),
        ] {
            let medium = Fake::with(300 << 20, vec![(at, magic)]);
            let found = each_mib(&medium, 1);
            assert!(text(&found, &medium).contains(name), "{}", text(&found, &medium));
        }
    }

    #[test]
    fn what_data_look_like_is_said() {
        let noise: Vec<u8> = (1..513_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for (bytes, said) in [
            (b"PRECIOUSPRECIOUS".to_vec(), "text, `PRECIOUSPRECIOUS`"),
            (vec![0xff; 600], "bytes that are all 0xff"),
            (noise, "bytes without order"),
            (vec![1, 2, 3], "the bytes 01 02 03"),
        ] {
            let medium = Fake::with(100 << 20, vec![(50 << 20, bytes)]);
            let text = text(&searched(&medium), &medium);
            assert!(text.contains("holds data at byte 52428800: ") && text.contains(said), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_refuses() {
        let medium = Fake { broken: Some(60 << 20), ..Fake::with(100 << 20, Vec::new()) };
        let reasons = searched(&medium).reasons("sdb", &medium);
        assert!(matches!(reasons.as_slice(), [Reason::Unreadable { .. }]), "{reasons:?}");
    }

    #[test]
    fn random_places_say_their_bound_and_too_few_of_them_refuse() {
        let medium = Fake::with(1 << 40, Vec::new());
        let mut search = Search::of(&medium, None, 7);
        search.result.method = Method::Random;
        let plan = Plan { method: Method::Random, reads: 40_000, time: Duration::from_millis(1) };
        search.at_random(&plan, &mut go).unwrap();
        let result = Searched { places: 40_000, ..search.result };
        // 3 of 40 000.
        assert_eq!(result.bound().map(human::small_percent).as_deref(), Some("0.0075 %"));
        assert_eq!(result.reasons("sdb", &medium), []);
        let few = Searched { places: 999, ..result };
        assert!(matches!(few.reasons("sdb", &medium).as_slice(), [Reason::Unsearched { .. }]));
    }

    #[test]
    fn whoever_watches_ends_it() {
        let medium = Fake::with(1 << 40, Vec::new());
        let mut steps = 0;
        let ended = search(&medium, None, 7, &mut |_| {
            steps += 1;
            ControlFlow::Break(())
        });
        assert!(ended.unwrap().is_broken_off && steps == 1);
    }

    #[test]
    fn a_medium_that_becomes_slow_is_searched_at_random_places_instead() {
        let medium = Fake { delay: Duration::from_millis(3), ..Fake::with(1 << 40, Vec::new()) };
        let mut search = Search::of(&medium, None, 7);
        let plan = Plan { method: Method::EachMib(1), reads: 1 << 20, time: Duration::from_secs(10) };
        assert!(!search.each_mib(1, &plan, &mut go).unwrap(), "a million reads at 3 ms take too long");
        let speed = Speed { places: 300.0, bytes: 1e8 };
        assert_eq!(plan.instead(medium.size, speed).map(|plan| plan.method), Some(Method::Random));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_byte_of_a_medium_that_is_read_as_a_whole_is_found(size in 3_u64 << 20..64 << 20, at: u64, byte in 1_u8..) {
            let (size, at) = (size / 512 * 512, at % (size / 512 * 512));
            let medium = Fake::with(size, vec![(at, vec![byte])]);
            let found = searched(&medium);
            prop_assert_eq!(found.found.first().map(|found| found.at), Some(Bytes::new(at)));
        }

        #[test]
        fn any_byte_in_the_first_4_kib_of_any_mib_is_found(index in 0_u64..5000, within in 0_u64..4096, byte in 1_u8..) {
            let at = (index << 20) + within;
            let found = each_mib(&Fake::with(5000 << 20, vec![(at, vec![byte])]), 1);
            prop_assert_eq!(found.found.first().map(|found| found.at), Some(Bytes::new(at)));
        }
    }
}
