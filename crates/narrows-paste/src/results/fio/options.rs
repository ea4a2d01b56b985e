//! What fio was asked to do: options of its command line, of its JSON, or of a job file.

use std::collections::BTreeMap;

use crate::results::command::simple;
use crate::results::number::{Base, size, span};
use crate::results::{Durability, Imported, Work};
use narrows_base::units::Nanos;
use narrows_base::workload::Pattern;

/// Options by their name in fio's manual.
pub(super) type Options = BTreeMap<String, String>;

/// Options of a command line, up to the next `--name`, which begins another job; those of the first job are given.
pub(super) fn of_command(command: &str) -> Options {
    let mut options = Options::new();
    let mut words = simple(command).split_whitespace().skip(1).peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.trim_start_matches(['"', '\'']).strip_prefix("--").or(word.strip_prefix('-'))
        else {
            continue;
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, value),
            None => (option, words.next_if(|next| !next.starts_with('-')).unwrap_or("1")),
        };
        options.insert(canonical(name).to_owned(), value.trim_matches(['"', '\'']).to_owned());
    }
    options
}

/// The name that fio's manual gives an option, of its aliases.
fn canonical(name: &str) -> &str {
    match name {
        "blocksize" => "bs",
        "readwrite" => "rw",
        name => name,
    }
}

/// The options of a JSON object, under their canonical names.
pub(super) fn of_json(value: Option<&serde_json::Value>) -> Options {
    let objects: Vec<&serde_json::Value> = match value {
        Some(serde_json::Value::Array(all)) => all.iter().collect(),
        Some(one) => vec![one],
        None => Vec::new(),
    };
    let members = objects.into_iter().filter_map(serde_json::Value::as_object).flatten();
    members
        .filter_map(|(name, value)| Some((canonical(name).to_owned(), value.as_str()?.to_owned())))
        .collect()
}

/// The same options under the names of fio's manual.
pub(super) fn canonical_names(options: &Options) -> Options {
    options.iter().map(|(name, value)| (canonical(name).to_owned(), value.clone())).collect()
}

fn is_on(options: &Options, name: &str) -> Option<bool> {
    options.get(name).map(|value| !matches!(value.trim(), "0" | "none" | "false" | ""))
}

/// Fills what options tell and the output does not. Options that are absent have fio's defaults only when it is known
/// that all options are there (`complete`).
pub(super) fn fill(work: &mut Work, options: &Options, complete: bool) {
    let number = |name: &str| options.get(name).and_then(|value| value.trim().parse::<u32>().ok());
    let default = complete.then_some(false);
    work.pattern = work.pattern.or_else(|| options.get("rw").and_then(|rw| pattern(rw)));
    work.block_size = work.block_size.or_else(|| {
        let bs = options.get("bs")?.split([',', '-']).next()?;
        size(bs, Base::Binary)
    });
    work.queue_depth = work.queue_depth.or_else(|| number("iodepth")).or(complete.then_some(1));
    work.jobs = work.jobs.or_else(|| number("numjobs"));
    work.engine = work.engine.take().or_else(|| options.get("ioengine").cloned());
    work.direct = work
        .direct
        .or_else(|| is_on(options, "direct"))
        .or_else(|| is_on(options, "buffered").map(|on| !on))
        .or(default);
    work.durability = work.durability.or_else(|| durability(options, complete));
    work.target =
        work.target.take().or_else(|| options.get("filename").or_else(|| options.get("directory")).cloned());
    work.zeros = work.zeros.or_else(|| is_on(options, "zero_buffers"));
    if work.working_set.is_none()
        && let Some(size) = options.get("size").and_then(|text| size(text, Base::Binary))
    {
        let shared = options.contains_key("filename");
        let jobs = if shared { 1 } else { u64::from(work.jobs.unwrap_or(1)) };
        work.working_set = Some(narrows_base::units::Bytes::new(size.get().saturating_mul(jobs)));
    }
    work.held_to = work.held_to.take().or_else(|| held_to(options));
    work.asked_ns = work.asked_ns.or_else(|| options.get("runtime").and_then(|text| seconds(text)));
}

/// Fills in the jobs of a run what its command tells.
pub(super) fn fill_of_command(run: &mut Imported) {
    let options = run.command.as_deref().map(of_command).unwrap_or_default();
    for measured in &mut run.measurements {
        // A job file's options are not in the command that names it.
        fill(&mut measured.work, &options, options.contains_key("name"));
        measured.logs = log_prefix(&options, &measured.work.label);
    }
}

/// The option that holds a job below what the storage can do (HOWTO, "I/O rate").
fn held_to(options: &Options) -> Option<String> {
    let is_set = |value: &str| !matches!(value.trim(), "" | "0" | "0,0");
    ["rate", "rate_iops", "thinktime"].into_iter().find_map(|name| {
        let value = options.get(name).filter(|value| is_set(value))?;
        Some(format!("{name}={value}"))
    })
}

/// What the names of a job's logs begin with, without the directory: the value of the option that asks for them, or the
/// job's name when it has none (HOWTO, `write_bw_log`).
pub(super) fn log_prefix(options: &Options, job: &str) -> Option<String> {
    let all = ["write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];
    let value = all.iter().find_map(|name| options.get(*name))?.trim();
    let prefix = if matches!(value, "" | "1") { job } else { value };
    let file = prefix.rsplit('/').next().unwrap_or(prefix);
    // Older versions take the name of a file with its ending.
    Some(file.strip_suffix(".log").unwrap_or(file).to_owned())
}

/// A time of fio: seconds unless a unit stands behind it.
fn seconds(text: &str) -> Option<Nanos> {
    let (nanos, _) = span(text)?;
    (nanos < 1e18).then(|| Nanos::new(nanos as u64))
}

fn durability(options: &Options, complete: bool) -> Option<Durability> {
    let each = ["sync", "fsync", "fdatasync", "sync_file_range"];
    if each.iter().any(|name| is_on(options, name) == Some(true)) {
        return Some(Durability::Each);
    }
    if ["end_fsync", "fsync_on_close"].iter().any(|name| is_on(options, name) == Some(true)) {
        return Some(Durability::AtEnd);
    }
    complete.then_some(Durability::None)
}

/// The order of addresses that a value of `rw` means.
pub(super) fn pattern(rw: &str) -> Option<Pattern> {
    let rw = rw.split(':').next()?.trim();
    match rw {
        "read" | "write" | "rw" | "readwrite" => Some(Pattern::Sequential),
        "randread" | "randwrite" | "randrw" => Some(Pattern::Random),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_base::units::Bytes;

    #[test]
    fn options_have_aliases_and_defaults() {
        let options =
            of_command("fio --readwrite=randrw --blocksize=4k,8k --size=1G --numjobs 4 --sync=0 --name=x");
        let mut work = Work { jobs: Some(4), ..Work::default() };
        fill(&mut work, &options, true);
        assert_eq!(work.pattern, Some(Pattern::Random));
        assert_eq!(work.block_size, Some(Bytes::new(4096)));
        assert_eq!(work.working_set, Some(Bytes::new(4 << 30)));
        assert_eq!((work.direct, work.durability), (Some(false), Some(Durability::None)));
        let mut held = Work::default();
        fill(&mut held, &of_command("fio --name=x --rate_iops=500 --rate=0"), true);
        assert_eq!(held.held_to.as_deref(), Some("rate_iops=500"));
        let mut share = Work::default();
        fill(&mut share, &of_command("fio --name=x --size=100% --direct=1; sync"), true);
        assert_eq!((share.working_set, share.direct), (None, Some(true)), "a share of what is not told");
        let mut unknown = Work::default();
        fill(&mut unknown, &Options::new(), false);
        assert_eq!((unknown.direct, unknown.durability, unknown.queue_depth), (None, None, None));
    }
}
