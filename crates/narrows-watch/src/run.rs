//! The loop: reads the machine at fixed times, and as soon as the kernel says that something happened.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::baseline;
use crate::clock::Moment;
use crate::file::{Journal, KeepError, Store};
use crate::kernel;
use crate::observed::observe;
use crate::record::{KernelEvent, Noticed, Record, What};
use crate::recorder::Recorder;
use narrows_machine::kept::Baseline;
use narrows_machine::listen::{Heard, Listener};
use narrows_machine::reading::{Places, Reading};
use narrows_machine::root::Root;

/// After a reading the next is at least so far away, whatever the kernel tells: a flood of events costs no more than this.
const REST: Duration = Duration::from_secs(1);
/// A wait is never longer, so that the end is seen in time.
const TICK: Duration = Duration::from_millis(100);
/// How often it is looked whether the state is to be taken for the best.
const ASKED: Duration = Duration::from_secs(1);
/// A SATA or SAS drive is asked for its temperature at most this often: the answer interrupts its queue.
const DRIVE: Duration = Duration::from_secs(30 * 60);
/// Things that came or went without an event are looked for this often.
const LOOK: Duration = Duration::from_secs(10 * 60);

/// Where readings come from.
pub struct Source {
    /// The machine as it is when it is asked for; `None` where there is nothing to read.
    pub next: Box<dyn FnMut() -> Option<Root>>,
    /// What the kernel tells of it, where that is heard.
    pub listener: Option<Listener>,
    /// What cannot be heard.
    pub unheard: Vec<String>,
}

impl Source {
    /// The machine that we run on.
    pub fn live() -> Self {
        let (listener, unheard) = Listener::open();
        Self { next: Box::new(|| Some(Root::live())), listener: Some(listener), unheard }
    }
}

/// How to watch.
pub struct Options<'a> {
    /// Where everything is kept.
    pub directory: &'a Path,
    /// The time between readings.
    pub every: Duration,
    /// The version of narrows, for the journal.
    pub version: &'a str,
    /// Whether to end after the first reading, which then counts as the best state.
    pub accept_and_end: bool,
}

/// Who is told something.
pub struct Outlets<'a> {
    /// What the owner should know of the watching.
    pub note: &'a mut dyn FnMut(&str),
    /// Each record, as it is put down.
    pub record: &'a mut dyn FnMut(&Record),
}

/// Watches until `stop` asks it to end.
///
/// # Errors
/// [`KeepError`]: the directory cannot be used. A disk that is full is no error: what cannot be written waits.
pub fn run(
    options: &Options<'_>,
    source: Source,
    stop: &AtomicBool,
    told: Outlets<'_>,
) -> Result<(), KeepError> {
    let store = Store::open(options.directory)?;
    let salt = store.salt()?;
    let (records, _) = store.records()?;
    let watch = Watch {
        recorder: Recorder::resume(&records),
        baseline: store.baseline()?,
        journal: store.journal()?,
        store: &store,
        salt,
        places: None,
        before: None,
        drives: BTreeMap::new(),
        failing: false,
        tell: told,
    };
    watch.run(options, source, stop)
}

struct Watch<'a, 't> {
    recorder: Recorder,
    baseline: Baseline,
    journal: Journal<'a>,
    store: &'a Store,
    salt: Vec<u8>,
    places: Option<(Places, Instant)>,
    before: Option<Reading>,
    /// When drives were asked that do not answer freely.
    drives: BTreeMap<String, Instant>,
    failing: bool,
    tell: Outlets<'t>,
}

/// What happened since the last reading.
#[derive(Default)]
struct Since {
    heard: bool,
    kernel: Vec<KernelEvent>,
}

impl Watch<'_, '_> {
    fn put(&mut self, records: impl IntoIterator<Item = Record>) {
        let records: Vec<Record> = records.into_iter().collect();
        records.iter().for_each(|record| (self.tell.record)(record));
        self.journal.add(records);
    }

    fn run(mut self, options: &Options<'_>, mut source: Source, stop: &AtomicBool) -> Result<(), KeepError> {
        let unheard = std::mem::take(&mut source.unheard);
        for what in &unheard {
            (self.tell.note)(&format!("narrows watch: not heard, and seen at the next reading only: {what}"));
        }
        let every_seconds = options.every.as_secs_f64();
        let started = What::Started { version: options.version.to_owned(), every_seconds, unheard };
        self.put([Record { at: Moment::now().at(), what: started }]);
        let mut noticed = Noticed::Reading;
        let mut since = Since::default();
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let is_asked = self.store.is_asked();
            let is_read = self.read(&mut source, noticed, &since, options.accept_and_end || is_asked);
            if is_read && is_asked {
                // That it is gone is the answer.
                self.store.unask();
            }
            if options.accept_and_end {
                break;
            }
            since = self.wait(&mut source, began + options.every, stop);
            noticed = match (since.kernel.is_empty(), since.heard) {
                (false, _) => Noticed::KernelLog,
                (true, true) => Noticed::Event,
                (true, false) => Noticed::Reading,
            };
        }
        let now = Moment::now().at();
        self.put([Record { at: now.clone(), what: What::Stopped }]);
        self.journal.write(&now)
    }

    /// Reads everything once and writes down what is new; `false` when there was nothing to read.
    fn read(&mut self, source: &mut Source, noticed: Noticed, since: &Since, accept: bool) -> bool {
        let Some(root) = &(source.next)() else { return false };
        let is_old = self.places.as_ref().is_none_or(|(_, found)| found.elapsed() >= LOOK);
        if is_old || since.heard || !root.is_live() {
            self.places = Some((Places::find(root), Instant::now()));
        }
        let Some((places, _)) = &self.places else { return false };
        let spared = self.spared(places, root);
        let reading =
            Reading::take(root, places, self.before.as_ref(), |name| spared.contains(&name.to_owned()));
        let now = Moment::now();
        self.drives.extend(reading.drives.keys().map(|name| (name.clone(), Instant::now())));
        let observed = observe(places, &reading, &self.salt);
        let records = self.recorder.take(&observed, now, noticed, &since.kernel);
        let kept = baseline::take(&mut self.baseline, (places, &reading), &self.salt, now, accept);
        self.put(records.into_iter().chain(kept.records));
        let mut written = if kept.changed { self.store.keep(&self.baseline) } else { Ok(()) };
        if self.journal.is_long() && self.journal.waiting() == 0 && written.is_ok() {
            written = self.journal.rotate();
            self.journal.add(self.recorder.state(now));
        }
        let written = written.and(self.journal.write(&now.at()));
        self.told(written);
        self.before = Some(reading);
        true
    }

    /// The drives that are not asked this time. One that does not answer freely is asked when it moved data since the reading
    /// before, so that it is not in standby, and when the last time is long ago.
    fn spared(&self, places: &Places, root: &Root) -> Vec<String> {
        let disks = Reading::disks_now(root);
        let is_spared = |name: &String| {
            let recently = self.drives.get(name).is_some_and(|asked| asked.elapsed() < DRIVE);
            let then = self.before.as_ref().and_then(|before| before.disks.get(name));
            let moved = then.zip(disks.get(name)).is_some_and(|(then, now)| now.bytes() > then.bytes());
            recently || !moved
        };
        let drives = places.drives.iter().filter(|(_, drive)| !drive.answers_freely);
        drives.map(|(name, _)| name).filter(|name| is_spared(name)).cloned().collect()
    }

    /// Tells once that something cannot be written, and once that it can again.
    fn told(&mut self, written: Result<(), KeepError>) {
        match written {
            Ok(()) if self.failing => {
                self.failing = false;
                (self.tell.note)("narrows watch: the journal is written again; nothing was lost");
            }
            Err(error) if !self.failing => {
                self.failing = true;
                (self.tell.note)(&format!("narrows watch: {error}; what it is to be told waits in memory"));
            }
            _ => {}
        }
    }

    /// Waits for the time of the next reading, or until something is heard.
    fn wait(&mut self, source: &mut Source, next: Instant, stop: &AtomicBool) -> Since {
        let mut since = Since::default();
        let earliest = Instant::now() + REST.min(next.saturating_duration_since(Instant::now()));
        loop {
            let now = Instant::now();
            let is_asked = stop.load(Ordering::Relaxed) || now >= earliest && self.store.is_asked();
            let has_news = since.heard || !since.kernel.is_empty();
            if is_asked || now >= next || has_news && now >= earliest {
                return since;
            }
            let until = if has_news { earliest } else { next };
            let rest = until.saturating_duration_since(now);
            match &mut source.listener {
                // What is heard while we rest stays in the kernel's queue.
                Some(listener) if !has_news => {
                    self.hear(listener.wait(rest.min(ASKED)), &mut since);
                }
                Some(listener) if now + TICK >= earliest => {
                    std::thread::sleep(rest.min(TICK));
                    self.hear(listener.wait(Duration::ZERO), &mut since);
                }
                _ => std::thread::sleep(rest.min(TICK)),
            }
        }
    }

    fn hear(&mut self, heard: Heard, since: &mut Since) {
        if let Some(lost) = heard.lost {
            self.recorder.lose(lost, Moment::now());
            since.heard = true;
        }
        since.heard |= heard.events > 0;
        since.kernel.extend(kernel::events(&heard.messages));
    }
}
