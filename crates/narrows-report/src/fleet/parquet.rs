//! The rows as an Apache Parquet file (<https://parquet.apache.org/docs/file-format/>): every column an optional text,
//! compressed with Snappy, a row group for every few thousand rows so that a large fleet needs little memory.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::row::{COLUMNS, Row};

/// Rows of a row group.
const ROWS: usize = 4096;

/// A Parquet file on its way out.
pub struct File<W: Write + Send> {
    /// `None` once it has ended.
    writer: Option<SerializedFileWriter<W>>,
    rows: Vec<Row>,
}

impl<W: Write + Send> File<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When its first bytes cannot be written.
    pub fn new(out: W) -> io::Result<Self> {
        let columns = COLUMNS.iter().map(|name| {
            Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(Some(LogicalType::String))
                .build()
                .map(Arc::new)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let schema = Type::group_type_builder("fleet").with_fields(columns).build().map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Self { writer: Some(writer), rows: Vec::new() })
    }

    /// Takes rows.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put(&mut self, rows: Vec<Row>) -> io::Result<()> {
        self.rows.extend(rows);
        if self.rows.len() >= ROWS { self.flush() } else { Ok(()) }
    }

    /// Ends the file with what describes it.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()?;
        match self.writer.take() {
            Some(writer) => writer.close().map(drop).map_err(failed),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let (Some(writer), false) = (&mut self.writer, self.rows.is_empty()) else { return Ok(()) };
        let mut group = writer.next_row_group().map_err(failed)?;
        let mut number = 0;
        while let Some(mut column) = group.next_column().map_err(failed)? {
            let values = || self.rows.iter().map(|row| row.values.get(number).and_then(Option::as_deref));
            let known: Vec<ByteArray> = values().flatten().map(ByteArray::from).collect();
            let levels: Vec<i16> = values().map(|value| i16::from(value.is_some())).collect();
            column.typed::<ByteArrayType>().write_batch(&known, Some(&levels), None).map_err(failed)?;
            column.close().map_err(failed)?;
            number += 1;
        }
        group.close().map_err(failed)?;
        self.rows.clear();
        Ok(())
    }
}

/// The error of the operating system, when it is one.
pub(crate) fn failed(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn what_was_written_reads_back_over_several_row_groups() {
        let kept = tempfile::tempfile().expect("a file");
        let mut file = File::new(kept.try_clone().expect("a second handle")).expect("begins");
        let count = ROWS + 10;
        for number in 0..count {
            let mut row = Row::default();
            row.values[1] = Some(format!("=host{number}"));
            file.put(vec![row]).expect("is written");
        }
        file.finish().expect("ends");
        let reader = SerializedFileReader::new(kept).expect("is Parquet");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let rows: Vec<_> = reader.get_row_iter(None).expect("has rows").flatten().collect();
        assert_eq!(rows.len(), count);
        assert_eq!(rows[ROWS].get_string(1).map(String::as_str).ok(), Some("=host4096"));
        assert!(rows[0].is_null(0).unwrap_or(true));
    }
}
