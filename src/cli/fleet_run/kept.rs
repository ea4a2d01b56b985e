//! The directory of a run: what is written into it, and how it is read again.
#![expect(clippy::disallowed_methods, reason = "the directory was named on the command line")]

use std::fs;
use std::path::Path;

use crate::cli::files::{self, LARGEST};
use crate::cli::{Failure, output};
use narrows_load::held::{Aim, Held, Readers};
use narrows_paste::capture::foreign;
use narrows_report::sanitize;
use narrows_runs::fleet_run::Files;
use narrows_session::fleet::job::{LOG_STEP, NAME};
use narrows_session::fleet::{self, Point};
use narrows_verdict::fleet::Told;
use narrows_verdict::fleet::record::{Host, PointRecord, Run, SCHEMA};
use narrows_verdict::fleet::samples::{self, Sample};

const RECORD: &str = "run.json";
/// The samples of a host.
const SAMPLES: &str = "samples.jsonl";
/// fio's report on a host.
const REPORT: &str = "fio.json";
/// What tells what such a directory is.
const HINT: &str = "name a directory that `narrows fleet run --output` made";

/// Makes a directory for this user alone that is not there yet.
///
/// # Errors
/// [`Failure`] when something has that name, or it cannot be made.
pub(super) fn new_directory(path: &Path) -> Result<Held, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::new(format!("cannot make `{}`: {error}", path.display()))
            .hint("name a directory that is not there yet, in a place that you may write to")
    };
    let parent = Held::parent_of(path, Aim::Write).map_err(|error| cannot(&error))?;
    let (parent, name) = parent.ok_or_else(|| cannot(&"it is no name of a directory"))?;
    parent.maker().make_directory(name.as_encoded_bytes()).map_err(|error| cannot(&error))?;
    Held::open(path, Aim::Write).map_err(|error| cannot(&error))
}

fn put(held: &Held, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let cannot = |error| format!("cannot write `{}`: {error}", held.path().join(name).display());
    held.write_new(name.as_ref(), bytes, Readers::Us).map_err(|error| Failure::new(cannot(error)))
}

/// The directories of hosts by their place among the clients.
fn client_directory(number: usize) -> String {
    format!("client-{:04}", number + 1)
}

/// Writes what the hosts brought back from one run.
///
/// # Errors
/// [`Failure`] when it cannot be written.
pub(super) fn point(run: &Held, point: &Point) -> Result<(), Failure> {
    let directory = run.path().join(&point.record.directory);
    new_directory(&directory)?;
    for (outcome, from) in point.record.hosts.iter().zip(&point.directories) {
        let held = new_directory(&directory.join(client_directory(outcome.client)))?;
        for (file, length) in fleet::files(from).unwrap_or_default() {
            // fio puts the name of its server behind a log, which is the same for all.
            let name = file.strip_suffix(".s").unwrap_or(&file);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if !name.chars().all(is_plain) || name.starts_with('.') {
                continue;
            }
            match (length < LARGEST).then(|| fs::read(from.join(&file)).ok()).flatten() {
                Some(bytes) => put(&held, name, &bytes)?,
                None => {
                    let place = held.path().join(name);
                    output::note(&format!("narrows: {} is left out: {length} bytes", place.display()));
                }
            }
        }
    }
    Ok(())
}

/// Writes the record and the samples of all hosts.
///
/// # Errors
/// [`Failure`] when it cannot be written.
pub(super) fn whole(
    held: &Held,
    run: &Run,
    (clients, servers): &(Vec<String>, Vec<String>),
) -> Result<(), Failure> {
    for (host, text) in run.clients.iter().zip(clients).chain(run.servers.iter().zip(servers)) {
        put(&new_directory(&held.path().join(&host.directory))?, SAMPLES, text.as_bytes())?;
    }
    let text = serde_json::to_string_pretty(run)
        .map_err(|error| Failure::new(format!("cannot write the record as JSON: {error}")))?;
    // Names stay what they are, and are obeyed by no terminal that shows the file.
    put(held, RECORD, sanitize::json(&text).as_bytes())
}

/// Reads a run again.
///
/// # Errors
/// [`Failure`] when the directory holds none. What of it is missing is missing in the report.
pub(super) fn read(path: &Path) -> Result<(Run, Files), Failure> {
    let record = path.join(RECORD);
    let text = files::text(&record, LARGEST, HINT)?;
    let run: Run = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("`{}` is no record of a run: {error}", record.display())).hint(HINT)
    })?;
    if run.schema != SCHEMA {
        return Err(Failure::new(format!("`{}` has the schema {}", record.display(), run.schema))
            .hint("read it with the version of narrows that wrote it"));
    }
    let of_hosts = |hosts: &[Host]| hosts.iter().map(|host| samples_of(path, host)).collect();
    let told = |point: &PointRecord| {
        let place = path.join(plain(&point.directory));
        let of_client = |client: usize| {
            let ahead = run.clients.get(client).map_or(0, |host| host.clock_ahead_ns);
            told(&place.join(client_directory(client)), ahead)
        };
        point.hosts.iter().map(|outcome| of_client(outcome.client)).collect()
    };
    let files = Files {
        told: run.points.iter().map(told).collect(),
        clients: of_hosts(&run.clients),
        servers: of_hosts(&run.servers),
        step: LOG_STEP,
    };
    Ok((run, files))
}

/// A name of a record as one that leads nowhere else: the directory may be somebody else's.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

fn samples_of(path: &Path, host: &Host) -> Vec<Sample> {
    let file = path.join(plain(&host.directory)).join(SAMPLES);
    foreign::text(&file, LARGEST).map(|text| samples::parse(&text)).unwrap_or_default()
}

fn told(place: &Path, clock_ahead_ns: i64) -> Told {
    let mut told = Told { clock_ahead_ns, ..Told::default() };
    told.report = foreign::text(&place.join(REPORT), LARGEST).ok();
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let Some(rest) = name.strip_prefix(NAME) else { continue };
        let logs = match () {
            () if rest.starts_with("_bw.") => &mut told.rates,
            () if rest.starts_with("_lat.") => &mut told.latencies,
            () if rest.starts_with("_clat_hist.") => &mut told.histograms,
            () => continue,
        };
        logs.extend(foreign::text(&place.join(&name), LARGEST).ok());
    }
    told
}
