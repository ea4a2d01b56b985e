//! The rows as an Apache Parquet file: texts as strings, numbers as 64-bit integers, shares as doubles, compressed with Snappy. Every
//! column is optional.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::FleetRunReport;
use super::rows::{COLUMNS, Kind, Row, Value, rows};
use crate::fleet::parquet::failed;

/// The name and version of the columns, in the metadata of the file under `narrows.schema`.
pub const SCHEMA: &str = "narrows/fleet-run-rows/1";

/// Writes all rows.
///
/// # Errors
/// When they cannot be written.
pub fn write<W: Write + Send>(report: &FleetRunReport, out: W) -> io::Result<()> {
    let columns = COLUMNS.iter().map(|(name, kind)| column(name, *kind)).collect::<Result<Vec<_>, _>>();
    let schema = Type::group_type_builder("fleet_run").with_fields(columns.map_err(failed)?).build();
    let named = KeyValue::new("narrows.schema".to_owned(), SCHEMA.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![named]))
        .build();
    let schema = Arc::new(schema.map_err(failed)?);
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(failed)?;
    let rows: Vec<Row> = rows(report).collect();
    let mut group = writer.next_row_group().map_err(failed)?;
    let mut number = 0;
    while let Some(mut column) = group.next_column().map_err(failed)? {
        let values: Vec<Option<&Value>> =
            rows.iter().map(|row| row.get(number).and_then(Option::as_ref)).collect();
        put(column.untyped(), &values).map_err(failed)?;
        column.close().map_err(failed)?;
        number += 1;
    }
    group.close().map_err(failed)?;
    writer.close().map(drop).map_err(failed)
}

fn column(name: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (Physical::INT64, None),
        Kind::Share => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    column.with_logical_type(logical).build().map(Arc::new)
}

/// Writes a column; what is no value of its kind is null, of which there is none.
fn put(column: &mut ColumnWriter<'_>, values: &[Option<&Value>]) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let known = values.iter().copied().flatten();
    match column {
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let texts = known.filter_map(|value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            });
            column.write_batch(&texts.collect::<Vec<_>>(), Some(&levels), None).map(drop)
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            let numbers = known.filter_map(|value| match value {
                Value::Whole(number) => Some(*number),
                _ => None,
            });
            column.write_batch(&numbers.collect::<Vec<_>>(), Some(&levels), None).map(drop)
        }
        ColumnWriter::DoubleColumnWriter(column) => {
            let shares = known.filter_map(|value| match value {
                Value::Share(share) => Some(*share),
                _ => None,
            });
            column.write_batch(&shares.collect::<Vec<_>>(), Some(&levels), None).map(drop)
        }
        ColumnWriter::BoolColumnWriter(column) => {
            let truths = known.filter_map(|value| match value {
                Value::Truth(truth) => Some(*truth),
                _ => None,
            });
            column.write_batch(&truths.collect::<Vec<_>>(), Some(&levels), None).map(drop)
        }
        _ => Err(ParquetError::General("a column has another type than its kind".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::sample;
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    #[test]
    fn what_was_written_reads_back_with_its_types() {
        let kept = tempfile::tempfile().expect("a file");
        write(&sample(), kept.try_clone().expect("a second handle")).expect("is written");
        let reader = SerializedFileReader::new(kept).expect("is Parquet");
        let metadata = reader.metadata().file_metadata().key_value_metadata().expect("has some");
        assert!(metadata.iter().any(|entry| entry.value.as_deref() == Some(SCHEMA)));
        let rows: Vec<_> = reader.get_row_iter(None).expect("has rows").flatten().collect();
        assert_eq!(rows.len(), 60);
        assert_eq!(rows[1].get_string(1).map(String::as_str).ok(), Some("c01"));
        assert_eq!((rows[1].get_long(4).ok(), rows[1].get_bool(8).ok()), (Some(1 << 20), Some(false)));
        assert_eq!(rows[1].get_double(10).ok(), Some(0.99));
        assert!(rows[1].is_null(12).unwrap_or(false), "nothing was written");
    }
}
