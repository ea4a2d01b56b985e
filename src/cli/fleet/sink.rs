//! Writes a fleet as it was asked for, host by host.

use std::io::{self, ErrorKind, Write};

use super::args::Format;
use narrows_report::fleet::table::{self, Layout};
use narrows_report::fleet::{Entry, Record, csv, row};
use narrows_report::sanitize;
use narrows_verdict::cohort::{Group, Outlier, Summary};

/// The rows or lines of a fleet on their way out.
pub(super) struct Sink<W: Write + Send> {
    form: Form<W>,
    is_open: bool,
    /// What a page or Markdown is made of, when one was asked for.
    kept: Option<Vec<Record>>,
}

enum Form<W: Write + Send> {
    /// Something else takes the place of what would be written.
    Nothing,
    Table(W, Layout),
    Csv(W),
    Jsonl(W),
}

impl<W: Write + Send> Sink<W> {
    /// Begins to write; without a format nothing is written. `keeps` holds on to all records for [`Sink::finish`].
    ///
    /// # Errors
    /// When the first line cannot be written.
    pub(super) fn open(
        format: Option<Format>,
        layout: Layout,
        since: Option<String>,
        mut out: W,
        keeps: bool,
    ) -> io::Result<Self> {
        let kept = keeps.then(|| vec![Record::head(since.clone())]);
        let Some(format) = format else { return Ok(Self { form: Form::Nothing, is_open: true, kept }) };
        let form = match format {
            Format::Table => Form::Table(out, layout),
            Format::Csv => {
                out.write_all(csv::head().as_bytes())?;
                Form::Csv(out)
            }
            Format::Jsonl => {
                put_record(&mut out, &Record::head(since))?;
                Form::Jsonl(out)
            }
        };
        Ok(Self { form, is_open: true, kept })
    }

    /// Writes a host. Nothing more is written once the reader has gone away.
    ///
    /// # Errors
    /// When it cannot be written for another reason, such as a full disk.
    pub(super) fn host(&mut self, entry: &Entry<'_>) -> io::Result<()> {
        self.kept.iter_mut().for_each(|kept| kept.extend(entry.records()));
        self.put(|form| match form {
            Form::Nothing => Ok(()),
            Form::Table(out, layout) => put_text(out, layout, &table::host(layout, entry)),
            Form::Csv(out) => put_rows(out, &row::of(entry)),
            Form::Jsonl(out) => entry.records().iter().try_for_each(|record| put_record(out, record)),
        })
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
        self.put(|form| match form {
            Form::Nothing => Ok(()),
            Form::Table(out, layout) => {
                put_text(out, layout, &table::foot(layout.style(), &groups, &outliers, &summary))?;
                out.flush()
            }
            Form::Csv(out) => {
                put_rows(out, &outliers.iter().map(row::Row::outlier).collect::<Vec<_>>())?;
                out.flush()
            }
            Form::Jsonl(out) => {
                let groups = groups.iter().cloned().map(Record::Group);
                let outliers = outliers.iter().cloned().map(Record::Outlier);
                let mut records = groups.chain(outliers).chain([Record::Summary(summary)]);
                records.try_for_each(|record| put_record(out, &record))?;
                out.flush()
            }
        })?;
        let mut kept = self.kept;
        if let Some(kept) = &mut kept {
            kept.extend(groups.into_iter().map(Record::Group));
            kept.extend(outliers.into_iter().map(Record::Outlier));
            kept.push(Record::Summary(summary));
        }
        Ok(kept)
    }

    /// Whether anybody still reads.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    fn put(&mut self, write: impl FnOnce(&mut Form<W>) -> io::Result<()>) -> io::Result<()> {
        if !self.is_open {
            return Ok(());
        }
        match write(&mut self.form) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_open = false;
                Ok(())
            }
            other => other,
        }
    }
}

// Hosts of `--since` come from a file as they stand there: what a terminal would obey becomes inert on the way out.

fn put_text(out: &mut impl Write, layout: &Layout, text: &str) -> io::Result<()> {
    out.write_all(sanitize::page(text, layout.style().colour).as_bytes())
}

fn put_rows(out: &mut impl Write, rows: &[row::Row]) -> io::Result<()> {
    rows.iter().try_for_each(|row| out.write_all(sanitize::lines(&csv::line(row)).as_bytes()))
}

fn put_record(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let text = serde_json::to_string(record)?;
    out.write_all(sanitize::json(&text).as_bytes())?;
    out.write_all(b"\n")
}
