//! `narrows guard`: may narrows write to this device? Writes nothing but with `--clean`. `bench --write` asks the same here before it
//! writes.

pub mod args;
mod blank;
mod clean;
mod hints;
pub(super) mod watching;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use args::GuardArgs;

use super::apart::{self, Silence};
use super::{FINDINGS, Failure, NOTHING_FOUND, output, target};
use narrows_base::units::Bytes;
use narrows_load::guard::{
    self, Device, EDGE, Examined, Medium, Permit, Reason, Refusal, Region, Searched, Usage, WritableDevice,
    WriteError,
};
use narrows_load::{LoadError, owned};
use narrows_machine::root::Root;
use narrows_machine::usage;
use narrows_report as report;
use narrows_report::progress::Progress;
use narrows_session::lab;
use watching::Watching;

/// How long a process may have a device open that only looks at it.
const GLANCE: Duration = Duration::from_secs(1);

/// Opens the device, reads who uses it, examines it and all that belongs to it, and decides.
///
/// # Errors
/// [`Failure`] when there is no such device, or it cannot be opened.
pub(super) fn run(args: &GuardArgs) -> Result<u8, Failure> {
    let root = Root::live();
    let instead = "name a block device such as /dev/nvme1n1; scratch files need no permission";
    let name = target::block_device(&root, &args.device, instead)?;
    if args.clean {
        return clean::run(args, &root, &name);
    }
    let Decision { size, examined, permit, identity } = decide(&root, &name, args.i_own.as_deref())?;
    let mut reasons = permit.map_or_else(|refusal| refusal.reasons, |_| Vec::new());
    let searched = match reasons.iter().all(is_about_naming) {
        true => Some(search(&name, identity.as_deref(), &mut reasons)?),
        false => None,
    };
    let ways = blank::ways(&root, &name, &reasons);
    let shown = report::guard::build(&name, size, examined, &reasons, searched.as_ref(), ways);
    output::data(&render(&shown, args.json)?)?;
    Ok(if shown.may_write { NOTHING_FOUND } else { FINDINGS })
}

/// Whether nothing but what was typed speaks against it.
const fn is_about_naming(reason: &Reason) -> bool {
    matches!(reason, Reason::NotNamed { .. } | Reason::OtherNamed { .. } | Reason::NoIdentity)
}

/// Searches the device for data, through a handle that nobody else can claim it beside, and adds what it finds.
fn search(name: &str, identity: Option<&str>, reasons: &mut Vec<Reason>) -> Result<Searched, Failure> {
    let device = open(name)?;
    let progress = Progress::on_stderr(false);
    let mut watching = Watching::new(name, device.size(), &progress, None);
    let searched = guard::search_device(&device, name, identity, &mut |step| watching.step(step));
    let (searched, found) = searched?;
    reasons.extend(found);
    Ok(searched)
}

/// Opens a device for writing, exclusively, if everything permits it: `size` bytes of it, or as many as there are between
/// its ends. `own` is what the user typed to name it. The search is announced, and ends when `stop` is raised.
///
/// # Errors
/// [`Failure`] with everything that speaks against it.
pub(super) fn open_for_writing(
    root: &Root,
    name: &str,
    own: &str,
    size: Bytes,
    stop: &AtomicBool,
) -> Result<WritableDevice, Failure> {
    let Decision { size: whole, permit, .. } = decide(root, name, Some(own))?;
    let permit = permit.map_err(|refusal| refused(root, &refusal))?;
    // A device that is too small is refused as such.
    let region = owned::usable(whole, size).unwrap_or(Region { start: EDGE, length: Bytes::new(0) });
    let progress = Progress::on_stderr(false);
    let mut watching = Watching::new(name, whole, &progress, Some(stop));
    let opened = guard::open_for_writing(permit, region, &mut |step| watching.step(step))
        .map_err(|error| not_opened(root, &error))?;
    still_unused(root, name)?;
    Ok(opened)
}

/// Looks once more who uses the device, now that nobody can claim it: the search may have taken two minutes, in which others
/// who claim nothing may have opened it.
///
/// # Errors
/// Somebody does.
fn still_unused(root: &Root, name: &str) -> Result<(), Failure> {
    let usage = settled(root, name);
    let unseen = usage.unseen.into_iter().map(|what| Reason::Unseen { what });
    let reasons: Vec<Reason> = usage.uses.into_iter().map(Reason::InUse).chain(unseen).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    Err(refused(root, &Refusal { device: name.to_owned(), reasons }))
}

/// Why a permitted device was not opened after all.
fn not_opened(root: &Root, error: &WriteError) -> Failure {
    match error {
        WriteError::Open(error) => error.into(),
        WriteError::Refused(refusal) => refused(root, refusal),
    }
}

/// Whether a device may be written; the same as [`open_for_writing`], which is not done.
///
/// # Errors
/// [`Failure`] with everything that speaks against it.
pub(super) fn check(root: &Root, name: &str, own: Option<&str>) -> Result<(), Failure> {
    decide(root, name, own)?.permit.map(drop).map_err(|refusal| refused(root, &refusal))
}

/// A refusal with what can be done about each of its reasons.
fn refused(root: &Root, refusal: &Refusal) -> Failure {
    let hints = hints::of(root, &refusal.device, &refusal.reasons);
    Failure::new(refusal.to_string()).hints(hints)
}

/// What was decided of a device.
struct Decision {
    size: Bytes,
    /// The devices that were examined.
    examined: Vec<String>,
    permit: Result<Permit, Refusal>,
    /// What names it, whether that was typed or not.
    identity: Option<String>,
}

/// Opens a device, reads who uses it, examines it and all that belongs to it, and decides.
fn decide(root: &Root, name: &str, own: Option<&str>) -> Result<Decision, Failure> {
    // The handle comes first: while it is open, the number belongs to this device.
    let device = open(name)?;
    let usage = settled_usage(root, name);
    let examined: Vec<Examined> = match silence(&usage)? {
        None => usage.family.iter().map(|member| examine(root, member, name, &device)).collect(),
        Some(silence) => silence,
    };
    let size = device.size();
    let permit = guard::decide(device, &usage, &examined, own);
    let examined = examined.into_iter().map(|examined| examined.device).collect();
    let identity = usage.identity.map(|identity| identity.text);
    Ok(Decision { size, examined, permit, identity })
}

/// What speaks against reading the family at all: a mapping that is suspended, or a device that does not answer. Whoever reads
/// either waits for it, and nobody can end that.
///
/// # Errors
/// Somebody wants to stop.
fn silence(usage: &Usage) -> Result<Option<Vec<Examined>>, Failure> {
    if !usage.is_readable() {
        return Ok(Some(Vec::new()));
    }
    match apart::silent(&usage.family) {
        None => Ok(None),
        Some(Silence::Of(name)) => {
            Ok(Some(vec![unreadable(&name, "it does not answer: a read does not end".to_owned())]))
        }
        Some(Silence::Interrupted) => Err(Failure::new("interrupted while a device was waited for")),
    }
}

fn unreadable(member: &str, error: String) -> Examined {
    Examined { device: member.to_owned(), signatures: Vec::new(), looks: None, unreadable: Some(error) }
}

/// Who uses a device, and, where nobody is found, who reads or writes it within a second.
fn settled_usage(root: &Root, name: &str) -> Usage {
    let mut usage = settled(root, name);
    lab::watch_usage(root, &mut usage);
    usage
}

/// Who uses a device for longer than a look at it takes: udev, and tools that search for a free device, open each that is
/// new and close it at once.
fn settled(root: &Root, name: &str) -> Usage {
    let begin = Instant::now();
    loop {
        let usage = lab::usage_of(root, name);
        if !usage.may_pass() || begin.elapsed() > GLANCE {
            return usage;
        }
        thread::sleep(GLANCE / 20);
    }
}

fn render(shown: &report::guard::GuardReport, json: bool) -> Result<String, Failure> {
    if !json {
        return Ok(report::guard::render(shown));
    }
    output::json(shown)
}

/// Opens a device by its kernel name, in which `!` stands for a slash.
fn open(name: &str) -> Result<Device, LoadError> {
    Device::open(Path::new(&format!("/dev/{}", name.replace('!', "/"))))
}

/// Examines one member of the family; `device` is the one that was asked about and is open already.
fn examine(root: &Root, member: &str, name: &str, device: &Device) -> Examined {
    if member == name {
        return guard::examine(member, device);
    }
    let failed = |error: String| unreadable(member, error);
    match open(member) {
        Ok(opened) if usage::number(root, member).get() == Some(opened.number()) => {
            guard::examine(member, &opened)
        }
        Ok(opened) => failed(format!("`{}` is another device", opened.path().display())),
        Err(error) => failed(error.to_string()),
    }
}
