//! The table of measurements: comma-separated values (RFC 4180) with one header line.

#![expect(clippy::disallowed_methods, reason = "the table is a file")]

use std::path::Path;

use narrows::path::HopKind;

use crate::expected;

/// One published measurement.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    /// Its name in the table.
    pub(crate) id: String,
    /// Who published it: a host, or an account of one that has many.
    pub(crate) source: String,
    /// When it was published.
    pub(crate) year: String,
    /// The machine.
    pub(crate) platform: String,
    /// Drive, card, switch or core.
    pub(crate) device: String,
    /// How many.
    pub(crate) devices: String,
    /// The PCIe generation of the device's link.
    pub(crate) generation: String,
    /// Its width, or the name of another interface.
    pub(crate) width: String,
    /// Between the device and the processor.
    pub(crate) topology: String,
    /// On top of the device, lowest first.
    pub(crate) layers: String,
    /// The file system.
    pub(crate) fs: String,
    /// The network.
    pub(crate) network: String,
    /// What ran.
    pub(crate) workload: String,
    /// What came out.
    pub(crate) value: f64,
    /// In which unit.
    pub(crate) unit: String,
    /// What the source says of it.
    pub(crate) note: String,
    /// How sure the row is.
    pub(crate) confidence: String,
    /// The kinds of hop that its source blames; `None` in a table that has no such column.
    pub(crate) limiting: Option<Vec<HopKind>>,
}

/// The column of the hop that a source blames. A table may lack it.
const LIMITING: &str = "limiting_hop";

/// The columns that a row needs.
const COLUMNS: [&str; 17] = [
    "id",
    "source_url",
    "year",
    "platform",
    "device_model",
    "devices",
    "link_gen",
    "link_width",
    "topology",
    "layers",
    "fs",
    "network",
    "workload",
    "measured_value",
    "unit",
    "note",
    "confidence",
];

/// The rows of a table.
pub(crate) fn read(place: &Path) -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(place).map_err(|error| format!("{}: {error}", place.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", place.display()))
}

/// The rows of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Row>, String> {
    let mut records = records(text)?.into_iter();
    let (_, header) = records.next().ok_or("it is empty")?;
    let mut places = Vec::new();
    for column in COLUMNS {
        let place = header.iter().position(|name| name.trim() == column);
        places.push(place.ok_or_else(|| format!("line 1: no column `{column}`"))?);
    }
    let limiting = header.iter().position(|name| name.trim() == LIMITING);
    let read = |fields: &[String]| {
        let cell = limiting.map(|place| fields.get(place).map_or("", String::as_str));
        Ok(Row { limiting: cell.map(expected::kinds).transpose()?, ..row(&places, fields)? })
    };
    records
        .map(|(line, fields)| read(&fields).map_err(|error: String| format!("line {line}: {error}")))
        .collect()
}

fn row(places: &[usize], fields: &[String]) -> Result<Row, String> {
    let mut values = places.iter().map(|place| fields.get(*place).map(|field| field.trim().to_owned()));
    let mut next = || values.next().flatten().ok_or_else(|| "too few columns".to_owned());
    let mut row = Row {
        id: next()?,
        source: publisher(&next()?),
        year: next()?,
        platform: next()?,
        device: next()?,
        devices: next()?,
        generation: next()?,
        width: next()?,
        topology: next()?,
        layers: next()?,
        fs: next()?,
        network: next()?,
        workload: next()?,
        ..Row::default()
    };
    let value = next()?;
    row.value = value.parse().map_err(|_| format!("`{value}` is no number"))?;
    row.unit = next()?;
    row.note = next()?;
    row.confidence = next()?;
    Ok(row)
}

/// Whose words an address holds: its host, with the account where the host has those of many.
fn publisher(address: &str) -> String {
    let address = address.split_whitespace().next().unwrap_or_default();
    let plain = address.trim_start_matches("https://").trim_start_matches("http://");
    let mut parts = plain.split('/');
    let host = parts.next().unwrap_or_default().trim_start_matches("www.");
    let account = parts.next().filter(|_| host == "github.com" || host == "raw.githubusercontent.com");
    account.map_or_else(|| host.to_owned(), |account| format!("github.com/{account}")).replace(',', "")
}

/// The records of a text with the line that each begins in; empty lines are none.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut records = Vec::new();
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let (mut line, mut begun) = (1, 1);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                field.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                fields.push(std::mem::take(&mut field).trim_end_matches('\r').to_owned());
                let record = std::mem::take(&mut fields);
                if record.iter().any(|field| !field.is_empty()) {
                    records.push((begun, record));
                }
                begun = line + 1;
            }
            c => field.push(c),
        }
        line += usize::from(c == '\n');
    }
    if quoted {
        return Err(format!("line {begun}: a quotation mark is never closed"));
    }
    if !field.is_empty() || !fields.is_empty() {
        fields.push(field);
        records.push((begun, fields));
    }
    Ok(records)
}
