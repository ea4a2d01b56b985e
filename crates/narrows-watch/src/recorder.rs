//! Compares readings: what changed, and between which two of them.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::observed::Observed;
use crate::record::{Change, KernelEvent, Kind, Noticed, Property, Record, Subject, Value, What};

/// A temperature that moved by less is no news.
const CELSIUS: i64 = 5;
/// Error counts that go on rising are told this often, in seconds: a bad link makes thousands an hour.
const COUNTING: f64 = 600.0;
/// So often, in seconds, the recorder says that it is there and what it read: a change while it is not is dated by that.
const ALIVE: f64 = 600.0;
/// A queue that overflows again and again is told this often, in seconds.
const OVERFLOWING: f64 = 300.0;

/// What is known of one value.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    /// As the journal has it.
    value: Value,
    /// The last reading with this value.
    same: When,
    /// When the journal was told.
    told: Option<Moment>,
}

/// When something was so.
#[derive(Debug, Clone, PartialEq)]
enum When {
    /// At a moment of this recorder.
    Here(Moment),
    /// At a date that the journal has.
    Journal(String),
}

impl When {
    fn after(&self, now: Moment) -> String {
        match self {
            Self::Here(moment) => moment.as_of(now).after(),
            Self::Journal(date) => date.clone(),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Followed {
    values: BTreeMap<Property, Known>,
    seen: Option<When>,
}

/// Follows the state of everything.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    followed: BTreeMap<Subject, Followed>,
    last: Option<Moment>,
    /// When the journal was last told that the recorder is there.
    alive: Option<Moment>,
    lost: Option<Lost>,
}

#[derive(Debug, Clone)]
struct Lost {
    times: u64,
    told: Option<Moment>,
    what: String,
    after: Moment,
}

impl Recorder {
    /// Goes on where a journal ends.
    pub fn resume<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut recorder = Self::default();
        for record in records {
            let then = || When::Journal(record.at.clone());
            let known = |value: &Value| Known { value: value.clone(), same: then(), told: None };
            match &record.what {
                What::State { subject, values } => {
                    let followed = recorder.followed.entry(subject.clone()).or_default();
                    followed.seen = Some(then());
                    followed.values.extend(values.iter().map(|(property, value)| (*property, known(value))));
                }
                What::Change(change) => {
                    let followed = recorder.followed.entry(change.subject.clone()).or_default();
                    followed.seen = Some(then());
                    followed.values.insert(change.property, known(&change.to));
                }
                What::Gone { subject, .. } => {
                    recorder.followed.remove(subject);
                }
                What::Alive { unread } => recorder.confirm(unread, &record.at),
                _ => {}
            }
        }
        recorder
    }

    /// Everything that was read at this date was as it was before: a change would have been told. Counters are told later.
    fn confirm(&mut self, unread: &[String], date: &str) {
        for (subject, followed) in &mut self.followed {
            followed.seen = Some(When::Journal(date.to_owned()));
            if unread.contains(&subject.name) {
                continue;
            }
            for (_, known) in followed.values.iter_mut().filter(|(property, _)| !property.is_counter()) {
                known.same = When::Journal(date.to_owned());
            }
        }
    }

    /// What was there at this reading and not all of which was read.
    fn unread(&self, now: Moment) -> Vec<String> {
        let was_read =
            |(property, known): (&Property, &Known)| property.is_counter() || known.same == When::Here(now);
        let unread = self.followed.iter().filter(|(_, followed)| !followed.values.iter().all(was_read));
        unread.map(|(subject, _)| subject.name.clone()).collect()
    }

    /// The state of everything, for a journal that begins anew.
    pub fn state(&self, now: Moment) -> Vec<Record> {
        let of = |(subject, followed): (&Subject, &Followed)| {
            let values = followed.values.iter().map(|(property, known)| (*property, known.value.clone()));
            Record { at: now.at(), what: What::State { subject: subject.clone(), values: values.collect() } }
        };
        self.followed.iter().map(of).collect()
    }

    /// Takes notice of events that were lost since the last reading.
    pub fn lose(&mut self, what: &str, now: Moment) {
        let after = self.last.unwrap_or(now);
        let lost = self.lost.get_or_insert_with(|| Lost { times: 0, told: None, what: String::new(), after });
        if lost.times == 0 {
            lost.after = after;
            what.clone_into(&mut lost.what);
        }
        lost.times = lost.times.saturating_add(1);
    }

    /// Compares a reading with what is known, and answers with what the journal is to be told.
    pub fn take(
        &mut self,
        observed: &Observed,
        now: Moment,
        noticed_by: Noticed,
        kernel: &[KernelEvent],
    ) -> Vec<Record> {
        let mut records = self.clocks(now);
        records.extend(self.losses(now));
        records.extend(self.departed(observed, now));
        for (subject, values) in observed {
            if !self.followed.contains_key(subject) {
                records.push(What::State { subject: subject.clone(), values: values.clone() });
            }
            let about = Noticing { subject, now, noticed_by, kernel };
            let followed = self.followed.entry(subject.clone()).or_default();
            records.extend(followed.compare(values, &about).into_iter().map(What::Change));
        }
        if now.seconds_since(*self.alive.get_or_insert(now)) >= ALIVE {
            self.alive = Some(now);
            records.push(What::Alive { unread: self.unread(now) });
        }
        self.last = Some(now);
        records.into_iter().map(|what| Record { at: now.at(), what }).collect()
    }

    fn clocks(&self, now: Moment) -> Vec<What> {
        let Some(last) = self.last else { return Vec::new() };
        let slept = now.slept_since(last).map(|seconds| What::Slept { seconds });
        let set = now.stepped_since(last).map(|seconds| What::ClockSet { seconds });
        slept.into_iter().chain(set).collect()
    }

    fn losses(&mut self, now: Moment) -> Option<What> {
        let lost = self.lost.as_mut().filter(|lost| lost.times > 0)?;
        if lost.told.is_some_and(|told| now.seconds_since(told) < OVERFLOWING) {
            return None;
        }
        lost.told = Some(now);
        let (what, after) = (lost.what.clone(), lost.after.as_of(now).after());
        Some(What::Gap { lost: what, after, times: std::mem::take(&mut lost.times) })
    }

    fn departed(&mut self, observed: &Observed, now: Moment) -> Vec<What> {
        let gone: Vec<Subject> =
            self.followed.keys().filter(|subject| !observed.contains_key(*subject)).cloned().collect();
        let tell = |subject: Subject| {
            let seen = self.followed.remove(&subject).and_then(|followed| followed.seen);
            let seen = seen.unwrap_or(When::Here(self.last.unwrap_or(now)));
            What::Gone { subject, after: seen.after(now) }
        };
        gone.into_iter().map(tell).collect()
    }
}

/// What a change is told with.
struct Noticing<'a> {
    subject: &'a Subject,
    now: Moment,
    noticed_by: Noticed,
    kernel: &'a [KernelEvent],
}

impl Followed {
    fn compare(&mut self, values: &BTreeMap<Property, Value>, about: &Noticing<'_>) -> Vec<Change> {
        self.seen = Some(When::Here(about.now));
        let mut changes = Vec::new();
        for (property, value) in values {
            let fresh = |told| Known { value: value.clone(), same: When::Here(about.now), told };
            let Some(known) = self.values.get_mut(property) else {
                self.values.insert(*property, fresh(None));
                continue;
            };
            match news(*property, known, value, about.now) {
                News::Same => known.same = When::Here(about.now),
                News::Later => {}
                // A counter that begins anew: the machine was started again, or the device came anew.
                News::Anew => *known = fresh(None),
                News::Changed => {
                    changes.push(about.change(*property, known, value));
                    *known = fresh(Some(about.now));
                }
            }
        }
        changes
    }
}

impl Noticing<'_> {
    fn change(&self, property: Property, known: &Known, value: &Value) -> Change {
        let is_link = self.subject.kind == Kind::Link;
        Change {
            subject: self.subject.clone(),
            property,
            from: known.value.clone(),
            to: value.clone(),
            after: known.same.after(self.now),
            noticed_by: match known.same {
                When::Journal(_) => Noticed::Start,
                When::Here(_) => self.noticed_by,
            },
            kernel: if is_link { self.kernel.to_vec() } else { Vec::new() },
        }
    }
}

enum News {
    Same,
    /// It moved, and is told later or not at all.
    Later,
    Anew,
    Changed,
}

fn news(property: Property, known: &Known, value: &Value, now: Moment) -> News {
    if known.value == *value {
        return News::Same;
    }
    if let (Value::Number(then), Value::Number(is)) = (&known.value, value) {
        let is_recent = known.told.is_some_and(|told| now.seconds_since(told) < COUNTING);
        return match property {
            Property::Celsius if (is - then).abs() < CELSIUS => News::Same,
            counter if counter.is_counter() && is < then => News::Anew,
            counter if counter.is_counter() && is_recent => News::Later,
            _ => News::Changed,
        };
    }
    News::Changed
}

#[cfg(test)]
mod tests;
