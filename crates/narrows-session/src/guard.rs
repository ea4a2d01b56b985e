//! May narrows write to this device? Reads who uses it, examines it and all that belongs to it, and has the guard of
//! `narrows-load` decide; opens it for writing only with what that permits.
//!
//! The order is the whole point: the device is opened for reading first (while it is open, its number belongs to it), then it is
//! read who uses it, then it is looked whether it answers, then it is examined and decided. Only a permit opens it for
//! writing, and then it is looked once more who uses it.

mod record;
pub(crate) mod usage;

use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::scene;
use crate::trust::DIRECTORY;
use narrows_base::units::Bytes;
use narrows_load::guard::{
    self, Cleaned, Cleared, Device, DeviceKey, EDGE, Examined, Keeper, Medium, Permit, Reason, Refusal,
    Region, RunSecret, Searched, Step, Usage, Use, WritableDevice, WriteError,
};
use narrows_load::{LoadError, owned};
use narrows_machine::root::Root;
use narrows_machine::usage::number;
use record::RunRecord;
use usage::Backing;
pub use usage::watch as watch_usage;

/// How long a process may have a device open that only looks at it.
const GLANCE: Duration = Duration::from_secs(1);

/// How often it is looked what is behind a loop device that is written.
const OFTEN: Duration = Duration::from_millis(1);

/// Why devices did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// Reading this one did not end.
    Of(String),
    /// Somebody wanted to stop before all had answered.
    Interrupted,
}

/// Why a device is not written to.
#[derive(Debug, thiserror::Error)]
pub enum NotWritable {
    /// Something speaks against it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It cannot be opened or read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Somebody wanted to stop.
    #[error("interrupted while a device was waited for")]
    Interrupted,
}

impl From<WriteError> for NotWritable {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Open(error) => Self::Load(error),
            WriteError::Refused(refusal) => Self::Refused(refusal),
        }
    }
}

/// What was decided of a device.
#[derive(Debug)]
pub struct Decision {
    pub size: Bytes,
    /// The devices that were examined.
    pub examined: Vec<String>,
    /// What permits to open it for writing, or what speaks against that.
    pub permit: Result<Permit, Refusal>,
    /// What names it, whether that was typed or not.
    pub identity: Option<String>,
}

/// Whether nothing but what was typed speaks against it, so that a search for data tells more.
pub fn is_about_naming(reasons: &[Reason]) -> bool {
    let is_naming = |reason: &Reason| {
        matches!(reason, Reason::NotNamed { .. } | Reason::OtherNamed { .. } | Reason::NoIdentity)
    };
    reasons.iter().all(is_naming)
}

/// Who asks about a device of a machine.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    /// Where facts are read.
    pub root: &'a Root,
    /// The kernel name of the device.
    pub name: &'a str,
    /// Has devices read by somebody who may wait for ever, and says which did not answer; `None` when all did.
    pub silent: &'a dyn Fn(&[String]) -> Option<Silence>,
}

impl Guard<'_> {
    /// Opens the device, reads who uses it, examines it and all that belongs to it, and decides. `own` is what the user typed
    /// to name it.
    ///
    /// # Errors
    /// There is no such device, it cannot be opened, or somebody wants to stop.
    pub fn decide(&self, own: Option<&str>) -> Result<Decision, NotWritable> {
        // The handle comes first: while it is open, the number belongs to this device.
        let device = open(self.name)?;
        let usage = self.settled_usage();
        let examined: Vec<Examined> = match self.silence(&usage)? {
            None => usage.family.iter().map(|member| self.examine(member, &device)).collect(),
            Some(silence) => silence,
        };
        let size = device.size();
        let permit = guard::decide(device, &usage, &examined, own);
        let examined = examined.into_iter().map(|examined| examined.device).collect();
        let identity = usage.identity.map(|identity| identity.text);
        Ok(Decision { size, examined, permit, identity })
    }

    /// Opens the device for writing, exclusively, if everything permits it: `size` bytes of it, or as many as there are between
    /// its ends. `watch` is told the size of the device and what is done to it; it breaks the search off by answering
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Everything that speaks against it.
    pub fn open_for_writing(
        &self,
        own: &str,
        size: Bytes,
        watch: &mut dyn FnMut(Bytes, Step) -> ControlFlow<()>,
    ) -> Result<WritableDevice, NotWritable> {
        // Whoever writes to the file behind it from now on is seen.
        let keeper = Arc::new(DeviceKeeper::begin(self.root, self.name, own, open(self.name)?.size())?);
        let Decision { size: whole, permit, .. } = self.decide(Some(own))?;
        let permit = permit?.kept_by(keeper);
        // A device that is too small is refused as such.
        let region = owned::usable(whole, size).unwrap_or(Region { start: EDGE, length: Bytes::new(0) });
        Ok(guard::open_for_writing(permit, region, &mut |step| watch(whole, step))?)
    }

    /// Whether the device may be written; the same as [`open_for_writing`](Self::open_for_writing), which is not done.
    ///
    /// # Errors
    /// Everything that speaks against it.
    pub fn check(&self, own: Option<&str>) -> Result<(), NotWritable> {
        Ok(self.decide(own)?.permit.map(drop)?)
    }

    /// Searches the device for data, through a handle that nobody else can claim it beside: what was searched, and what
    /// speaks against writing to it.
    ///
    /// # Errors
    /// It cannot be opened or read.
    pub fn search(
        &self,
        identity: Option<&str>,
        watch: &mut dyn FnMut(Bytes, Step) -> ControlFlow<()>,
    ) -> Result<(Searched, Vec<Reason>), LoadError> {
        let device = open(self.name)?;
        let size = device.size();
        let earlier =
            identity.and_then(|identity| Some((identity, RunRecord::open(identity, size).ok()??.1)));
        let key = earlier.map(|(identity, secret)| DeviceKey::of(&secret, identity, size));
        guard::search_device(&device, self.name, key, &mut |step| watch(size, step))
    }

    /// Clears what a killed run of ours left on the device: the size of the device, and what came of it.
    ///
    /// # Errors
    /// Somebody uses the device, it was not named, it does not answer, or a read or write fails.
    pub fn clean(
        &self,
        own: Option<&str>,
        watch: &mut dyn FnMut(Bytes, Step) -> ControlFlow<()>,
    ) -> Result<(Bytes, Cleaned), NotWritable> {
        let device = open(self.name)?;
        let usage = self.settled_usage();
        let size = device.size();
        // What does not answer is named; what is suspended is a user of the device, and refused as such.
        if let Some([silent]) = self.silence(&usage)?.as_deref()
            && let Some(error) = silent.unreadable.clone()
        {
            let reasons = vec![Reason::Unreadable { device: silent.device.clone(), error }];
            return Err(Refusal { device: self.name.to_owned(), reasons }.into());
        }
        let permit = guard::decide_to_clean(device, &usage, own)?;
        let own = own.unwrap_or_default();
        let failed = |error| LoadError::io("read the record of a run in", DIRECTORY.as_ref(), error);
        let Some((record, secret)) = RunRecord::open(own, size).map_err(failed)? else {
            let (searched, mut left) = self.search(Some(own), watch)?;
            if !left.is_empty() {
                left.push(Reason::Unrecorded { device: self.name.to_owned() });
            }
            return Ok((size, Cleaned { cleared: Cleared::default(), left, searched }));
        };
        let keeper = DeviceKeeper {
            record: Mutex::new(Some(record)),
            ..DeviceKeeper::begin(self.root, self.name, own, size)?
        };
        Ok((size, guard::clean(permit, &secret, &keeper, &mut |step| watch(size, step))?))
    }

    /// What speaks against reading the family at all: a mapping that is suspended, or a device that does not answer. Whoever
    /// reads either waits for it, and nobody can end that.
    fn silence(&self, usage: &Usage) -> Result<Option<Vec<Examined>>, NotWritable> {
        if !usage.is_readable() {
            return Ok(Some(Vec::new()));
        }
        match (self.silent)(&usage.family) {
            None => Ok(None),
            Some(Silence::Of(name)) => {
                Ok(Some(vec![unreadable(&name, "it does not answer: a read does not end".to_owned())]))
            }
            Some(Silence::Interrupted) => Err(NotWritable::Interrupted),
        }
    }

    /// Who uses the device, and, where nobody is found, who reads or writes it within a second.
    fn settled_usage(&self) -> Usage {
        let mut usage = settled(self.root, self.name, &|_| false);
        usage::watch(self.root, &mut usage);
        usage
    }

    /// Examines one member of the family; `device` is the one that was asked about and is open already.
    fn examine(&self, member: &str, device: &Device) -> Examined {
        if member == self.name {
            return guard::examine(member, device);
        }
        let failed = |error: String| unreadable(member, error);
        match open(member) {
            Ok(opened) if number(self.root, member).get() == Some(opened.number()) => {
                guard::examine(member, &opened)
            }
            Ok(opened) => failed(format!("`{}` is another device", opened.path().display())),
            Err(error) => failed(error.to_string()),
        }
    }
}

/// Who uses the device for longer than a look at it takes: udev, and tools that search for a free device, open each that is new and
/// close it at once. Without the uses that are known.
fn settled(root: &Root, name: &str, is_known: &dyn Fn(&Use) -> bool) -> Usage {
    let begin = Instant::now();
    loop {
        let mut usage = usage::of(root, name);
        usage.uses.retain(|used| !is_known(used));
        if !usage.may_pass() || begin.elapsed() > GLANCE {
            return usage;
        }
        thread::sleep(GLANCE / 20);
    }
}

/// Makes sure that nobody uses a device, but for uses that are known: before it is written, and right before anything on it is
/// cleared, whoever clears it.
///
/// # Errors
/// Somebody does, or cannot be seen here.
pub(crate) fn check_unused(root: &Root, name: &str, is_known: &dyn Fn(&Use) -> bool) -> Result<(), Refusal> {
    let usage = settled(root, name, is_known);
    let unseen = usage.unseen.into_iter().map(|what| Reason::Unseen { what });
    let reasons: Vec<Reason> = usage.uses.into_iter().map(Reason::InUse).chain(unseen).collect();
    if reasons.is_empty() { Ok(()) } else { Err(Refusal { device: name.to_owned(), reasons }) }
}

/// What the guard of `narrows-load` asks of this machine while a device is written.
#[derive(Debug)]
struct DeviceKeeper {
    name: String,
    identity: String,
    size: Bytes,
    behind: Option<Backing>,
    /// When it was last looked what is behind it: that is asked for each write, and looked at no more often than [`OFTEN`].
    looked: Mutex<Option<Instant>>,
    /// Who wrote behind it, once that was seen.
    writer: Mutex<Option<String>>,
    record: Mutex<Option<RunRecord>>,
}

impl DeviceKeeper {
    fn begin(root: &Root, name: &str, identity: &str, size: Bytes) -> Result<Self, Refusal> {
        let unseen = |what| Refusal { device: name.to_owned(), reasons: vec![Reason::Unseen { what }] };
        let behind = Backing::begin(root, name).map_err(unseen)?;
        let (name, identity) = (name.to_owned(), identity.to_owned());
        let looked = Mutex::default();
        Ok(Self { name, identity, size, behind, looked, writer: Mutex::default(), record: Mutex::default() })
    }

    fn kept(&self) -> MutexGuard<'_, Option<RunRecord>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for DeviceKeeper {
    fn earlier(&self) -> Option<RunSecret> {
        RunRecord::open(&self.identity, self.size).ok()?.map(|(_, secret)| secret)
    }

    fn record(&self, secret: &RunSecret) -> io::Result<()> {
        *self.kept() = Some(RunRecord::create(&self.identity, self.size, secret)?);
        Ok(())
    }

    fn forget(&self) {
        if let Some(record) = self.kept().take() {
            record.forget();
        }
    }

    fn check_behind(&self) -> Result<(), String> {
        let Some(behind) = &self.behind else { return Ok(()) };
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_some_and(|last| last.elapsed() < OFTEN) {
            return Ok(());
        }
        behind.check(&Root::live())?;
        *looked = Some(Instant::now());
        Ok(())
    }

    fn check_writers(&self) -> Result<(), String> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(behind)) = (&*writer, &self.behind) {
            *writer = behind.check_writers(&Root::live()).err();
        }
        writer.clone().map_or(Ok(()), Err)
    }

    fn check_unused(&self) -> Result<(), Refusal> {
        let changed = |what| Refusal { device: self.name.clone(), reasons: vec![Reason::Changed { what }] };
        self.behind.as_ref().map_or(Ok(()), Backing::check_length).map_err(changed)?;
        check_unused(&Root::live(), &self.name, &|_| false)
    }
}

fn unreadable(member: &str, error: String) -> Examined {
    Examined { device: member.to_owned(), signatures: Vec::new(), looks: None, unreadable: Some(error) }
}

/// Opens a device by its kernel name for reading.
///
/// # Errors
/// There is none, or it cannot be opened.
pub fn open(name: &str) -> Result<Device, LoadError> {
    Device::open(&scene::device(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_load::guard::{Use, UseKind};
    use narrows_machine::tree::Tree;
    use std::cell::Cell;

    fn usage(uses: Vec<Use>) -> Usage {
        Usage { device: "sdx".to_owned(), family: vec!["sdx".to_owned()], uses, ..Usage::default() }
    }

    fn used(kind: UseKind) -> Use {
        Use { device: "sdx".to_owned(), kind, by: "/srv".to_owned() }
    }

    #[test]
    fn what_cannot_be_read_without_waiting_for_ever_is_not_read_and_named_where_it_does_not_answer() {
        let root = Root::from_tree(Tree::new());
        let asked = Cell::new(0);
        let of = |usage: &Usage, answer: Option<Silence>| {
            let silent = |_: &[String]| {
                asked.set(asked.get() + 1);
                answer.clone()
            };
            Guard { root: &root, name: "sdx", silent: &silent }.silence(usage)
        };
        let suspended = usage(vec![used(UseKind::Suspended)]);
        assert_eq!(of(&suspended, None).expect("decided").map(|examined| examined.len()), Some(0));
        assert_eq!(asked.get(), 0, "a child that reads it would wait, too");
        assert!(of(&usage(Vec::new()), None).expect("decided").is_none(), "all answered");
        let silent = of(&usage(Vec::new()), Some(Silence::Of("sdx1".to_owned()))).expect("decided");
        let silent = silent.expect("one did not answer");
        assert_eq!(silent.len(), 1);
        assert_eq!(silent[0].device, "sdx1");
        assert_eq!(silent[0].unreadable.as_deref(), Some("it does not answer: a read does not end"));
        let stopped = of(&usage(Vec::new()), Some(Silence::Interrupted));
        assert!(matches!(stopped, Err(NotWritable::Interrupted)));
    }

    #[test]
    fn without_a_device_nothing_is_asked_decided_or_opened() {
        let root = Root::from_tree(Tree::new());
        let silent = |_: &[String]| -> Option<Silence> { panic!("no device was opened yet") };
        let guard = Guard { root: &root, name: "narrows-no-such-device", silent: &silent };
        let watch: &mut dyn FnMut(Bytes, Step) -> ControlFlow<()> =
            &mut |_, _| panic!("nothing may be done to a device that was not decided on");
        assert!(matches!(guard.check(None), Err(NotWritable::Load(_))));
        assert!(matches!(guard.clean(None, watch), Err(NotWritable::Load(_))));
        let opened = guard.open_for_writing("serial", Bytes::from_mib(1), watch);
        assert!(matches!(opened, Err(NotWritable::Load(_))));
    }

    #[test]
    fn a_search_tells_more_only_where_nothing_but_the_name_speaks_against_it() {
        let content = Reason::Data {
            device: "sdx".to_owned(),
            at: Bytes::new(1),
            looks: narrows_load::guard::Looks::Same(1),
        };
        assert!(is_about_naming(&[]) && is_about_naming(&[Reason::NoIdentity]));
        assert!(!is_about_naming(&[Reason::NoIdentity, content]));
        assert!(!is_about_naming(&[Reason::InUse(used(UseKind::Mount))]));
    }
}
