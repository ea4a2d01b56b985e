//! fs_mark: files each second, each row an iteration. File size × files each second is what was written.

use super::command::Commands;
use super::number::{plain, value, whole};
use super::{Durability, Imported, Measured, Op, Page, Side, Tool, Work};
use narrows_base::units::{Bytes, BytesPerSec, Iops};

/// The tables in a text, each a result.
pub(super) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["Files/sec"]) {
        return Vec::new();
    }
    let mut found: Vec<Imported> = Vec::new();
    let mut commands = Commands::default();
    let mut head = Head::default();
    let mut table: Option<Table> = None;
    for (number, line) in page.lines() {
        commands.see(number, line, "fs_mark");
        let line = line.trim().trim_start_matches('#').trim();
        if let Some(method) = line.strip_prefix("Sync method:") {
            head.method = Some(method.trim().to_owned());
        } else if let Some(rest) = line.strip_prefix("Version ") {
            head.version = rest.split(',').next().map(str::to_owned);
            head.threads = rest.split_once(", ").and_then(|(_, rest)| whole(rest)).map(|(count, _)| count);
        } else if line.starts_with("FSUse%") && line.contains("Files/sec") {
            let mut result = Imported::new(Tool::Fsmark, page.name, number);
            result.version = head.version.take();
            result.command = commands.last().map(str::to_owned);
            table = Some(Table::new(line, std::mem::take(&mut head), result.command.as_deref()));
            commands.forget();
            found.push(result);
        } else if let (Some(known), Some(result)) = (table.as_mut(), found.last_mut()) {
            match known.row(number, line) {
                Some(measured) => result.measurements.push(measured),
                None if line.is_empty() => {}
                None => table = None,
            }
        }
    }
    found
}

#[derive(Debug, Default)]
struct Head {
    version: Option<String>,
    threads: Option<u64>,
    method: Option<String>,
}

#[derive(Debug)]
struct Table {
    columns: usize,
    work: Work,
    before: Option<f64>,
}

impl Table {
    fn new(line: &str, head: Head, command: Option<&str>) -> Self {
        let by_command = command.and_then(|command| value(command, "-S ").or_else(|| value(command, "-S")));
        let method = head.method.as_deref();
        let durability = match (method, by_command) {
            (Some(method), _) if method.starts_with("NO SYNC") => Some(Durability::None),
            (Some(method), _) if method.contains("POST") => Some(Durability::AtEnd),
            (Some(_), _) => Some(Durability::Each),
            (None, Some(0.0)) => Some(Durability::None),
            _ => None,
        };
        let work = Work {
            jobs: head.threads.and_then(|count| u32::try_from(count).ok()),
            direct: Some(false),
            durability,
            ..Work::default()
        };
        Self { columns: line.replace("App Overhead", "App").split_whitespace().count(), work, before: None }
    }

    /// `55  1024  1048576  169.3  12321`: use, files so far, bytes of a file, files each second.
    fn row(&mut self, number: usize, line: &str) -> Option<Measured> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, count, size, rate, ..] = words.as_slice() else { return None };
        if words.len() != self.columns || words.iter().any(|word| plain(word).is_none()) {
            return None;
        }
        let (count, size, rate) = (plain(count)?, plain(size)?, plain(rate).filter(|rate| *rate > 0.0)?);
        let files = count - self.before.replace(count).filter(|before| *before < count).unwrap_or(0.0);
        let bytes = super::number::to_bytes(files * size);
        let work = Work {
            label: format!("files of {size} bytes, {count} so far"),
            working_set: bytes,
            ..self.work.clone()
        };
        let mut measured = Measured::new(number, work);
        measured.entries = Some(Iops::new(rate));
        let side = Side {
            bytes_per_second: BytesPerSec::new(rate * size),
            bytes: bytes.filter(|bytes| *bytes > Bytes::new(0)),
            elapsed_ns: super::number::seconds(files / rate),
            ..Side::default()
        };
        if size > 0.0 {
            measured.put(Op::Write, side);
        }
        Some(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_an_iteration() {
        let body = "#       Version 3.3, 4 thread(s) starting at Fri Apr 15 15:59:19 2016\n\
            #       Sync method: NO SYNC: Test does not issue sync() or fsync() calls.\nFSUse%        Count         Size    Files/sec     App Overhead\n\
            \x20    0        10000         4096        507.5           184435\n     0        20000         4096        527.2           184815\n\nreal    1m34.548s\n 1 2 3 4 5\n";
        let found = read(&Page { name: "x", body });
        let [first, second] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.entries.map(Iops::get), first.work.jobs), (Some(507.5), Some(4)));
        assert_eq!(first.work.durability, Some(Durability::None));
        let write = second.write.as_ref().expect("writes");
        assert_eq!(
            (write.bytes_per_second.get(), write.bytes),
            (527.2 * 4096.0, Some(Bytes::new(40_960_000)))
        );
    }
}
