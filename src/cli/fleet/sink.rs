//! Writes a fleet as it was asked for, host by host.

use std::io::{self, ErrorKind, Write};

use narrows_report::fleet::table::{self, Layout};
use narrows_report::fleet::{Entry, Record, row};
use narrows_report::sanitize;
use narrows_verdict::cohort::{Group, Outlier, Summary};

/// The rows or lines of a fleet on their way out.
pub(super) struct Sink<W: Write> {
    out: W,
    form: Form,
    is_open: bool,
    /// What a page is made of, when one was asked for.
    kept: Option<Vec<Record>>,
}

/// How hosts are written.
pub(super) enum Form {
    /// Not at all: a page takes their place.
    Nothing,
    Table(Layout),
    Csv,
    Jsonl,
}

impl<W: Write> Sink<W> {
    /// Begins to write. `keeps` holds on to all records for [`Sink::finish`].
    ///
    /// # Errors
    /// When the first line cannot be written.
    pub(super) fn open(out: W, form: Form, since: Option<String>, keeps: bool) -> io::Result<Self> {
        let head = vec![Record::head(since)];
        let text = match form {
            Form::Nothing | Form::Table(_) => String::new(),
            Form::Csv => row::HEAD.to_owned(),
            Form::Jsonl => json_lines(&head)?,
        };
        let mut sink = Self { out, form, is_open: true, kept: keeps.then_some(head) };
        sink.write(&text)?;
        Ok(sink)
    }

    /// Writes a host. Nothing more is written once the reader has gone away.
    ///
    /// # Errors
    /// When it cannot be written for another reason, such as a full disk.
    pub(super) fn host(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        self.kept.iter_mut().for_each(|kept| kept.extend(entry.records()));
        let text = match &self.form {
            Form::Nothing => String::new(),
            Form::Table(layout) => inert(layout, &table::host(layout, entry)),
            Form::Csv => rows(&row::of(entry)),
            Form::Jsonl => json_lines(&entry.records())?,
        };
        self.write(&text)
    }

    /// Writes what stands after the hosts, and ends. Answers with all records if they were kept.
    ///
    /// # Errors
    /// As [`Sink::host`].
    pub(super) fn finish(
        mut self,
        groups: Vec<Group>,
        outliers: Vec<Outlier>,
        summary: Summary,
    ) -> io::Result<Option<Vec<Record>>> {
        let of_table = match &self.form {
            Form::Table(layout) => inert(layout, &table::foot(layout.style(), &groups, &outliers, &summary)),
            Form::Csv => rows(&outliers.iter().map(row::outlier).collect::<Vec<_>>()),
            Form::Nothing | Form::Jsonl => String::new(),
        };
        let groups = groups.into_iter().map(Record::Group);
        let outliers = outliers.into_iter().map(Record::Outlier);
        let records: Vec<Record> = groups.chain(outliers).chain([Record::Summary(summary)]).collect();
        let text = if matches!(self.form, Form::Jsonl) { json_lines(&records)? } else { of_table };
        self.write(&text)?;
        self.put(|out| out.flush())?;
        Ok(self.kept.map(|kept| kept.into_iter().chain(records).collect()))
    }

    /// Whether anybody still reads.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.put(|out| out.write_all(text.as_bytes()))
    }

    fn put(&mut self, put: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        if !self.is_open {
            return Ok(());
        }
        match put(&mut self.out) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_open = false;
                Ok(())
            }
            other => other,
        }
    }
}

// Hosts of `--since` come from a file as they stand there: what a terminal would obey becomes inert on the way out.

fn inert(layout: &Layout, text: &str) -> String {
    sanitize::page(text, layout.style().colour).into_owned()
}

fn rows(rows: &[row::Row]) -> String {
    rows.iter().map(|row| sanitize::lines(&row::line(row)).into_owned()).collect()
}

fn json_lines(records: &[Record]) -> io::Result<String> {
    let line = |record| Ok(sanitize::json(&serde_json::to_string(record)?).into_owned() + "\n");
    records.iter().map(line).collect()
}
