//! `yabs.sh -j`: one object on one line.

use super::super::json::{Document, count, documents, number, text};
use super::super::number::{Base, size};
use super::super::{Imported, Page, Tool};
use super::{CORRECTION, Row, file_of};
use narrows_base::units::{Bytes, BytesPerSec, Iops};

/// The objects in a text.
pub(in crate::results) fn read(page: &Page<'_>) -> Vec<Imported> {
    if !page.has(&["\"speed_r\""]) {
        return Vec::new();
    }
    documents(page, "\"speed_r\"").iter().filter_map(|document| run(page, document)).collect()
}

fn run(page: &Page<'_>, document: &Document) -> Option<Imported> {
    let value = &document.value;
    let file = file_of(value.get("os").and_then(|os| text(os, "arch")));
    let mut imported = Imported::new(Tool::Yabs, page.name, document.line);
    imported.version = text(value, "version").map(str::to_owned);
    imported.truncated = document.truncated;
    for one in value.get("fio")?.as_array()? {
        let label = text(one, "bs").unwrap_or_default();
        let side = |rate: &str, iops: &str| {
            let kib = number(one, rate).filter(|rate| *rate > 0.0)?;
            Some((BytesPerSec::from_kib(kib), number(one, iops).map(Iops::new)))
        };
        let row = Row {
            line: document.line,
            label: label.to_owned(),
            block: size(label, Base::Binary),
            read: side("speed_r", "iops_r"),
            write: side("speed_w", "iops_w"),
        };
        imported.measurements.extend(row.measured(file));
    }
    if !imported.measurements.is_empty() {
        imported.corrections.push(CORRECTION.to_owned());
    }
    (!imported.is_empty()).then_some(imported)
}

/// Main memory as the object tells it, with the line.
pub(in crate::results) fn memory(page: &Page<'_>) -> Option<(Bytes, usize)> {
    if !page.has(&["\"ram_units\""]) {
        return None;
    }
    documents(page, "\"ram_units\"").iter().find_map(|document| {
        let memory = document.value.get("mem")?;
        let is_kib = text(memory, "ram_units") == Some("KiB");
        Some((Bytes::from_kib(count(memory, "ram").filter(|_| is_kib)?), document.line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ONE: &str = r#"{"version":"v2023-04-23","os":{"arch":"x64"},"mem":{"ram":2010004,"ram_units":"KiB"},"fio":[{"bs":"4k","speed_r":200100,"iops_r":50025,"speed_w":200628,"iops_w":50157,"speed_rw":400728,"iops_rw":100182,"speed_units":"KBps"},{"bs":"1m","speed_r":512000,"iops_r":500,"speed_w":524288,"iops_w":512,"speed_rw":1036288,"iops_rw":1012,"speed_units":"KBps"}],"iperf":[]}"#;

    #[test]
    fn what_is_called_kilobytes_are_kibibytes_as_the_ios_show() {
        let found = read(&Page { name: "x", body: ONE });
        let [small, large] = found[0].measurements.as_slice() else { panic!("{found:?}") };
        let side = small.read.as_ref().expect("reads");
        assert_eq!(side.bytes_per_second.get(), 200_100.0 * 1024.0);
        assert_eq!(side.bytes_per_second.get(), 50_025.0 * 4096.0);
        assert_eq!(large.write.as_ref().map(|side| side.bytes_per_second.get()), Some(512.0 * 1_048_576.0));
        assert!(!found[0].corrections.is_empty());
        // 4 GiB at 410 MB/s are over in 10.5 s.
        let seconds = side.elapsed_ns.expect("a time").as_secs_f64();
        assert!((seconds - 10.466).abs() < 0.01, "{seconds}");
        assert_eq!(memory(&Page { name: "x", body: ONE }), Some((Bytes::from_kib(2_010_004), 1)));
    }

    #[test]
    fn of_a_text_that_was_cut_off_the_whole_sizes_are_kept() {
        let at = ONE.find("{\"bs\":\"1m\"").expect("it is there") + 30;
        let found = read(&Page { name: "x", body: &ONE[..at] });
        assert_eq!((found.len(), found[0].measurements.len(), found[0].truncated), (1, 1, true));
    }

    proptest! {
        #[test]
        fn the_numbers_of_an_object_are_those_that_are_read(kib in 1u32..9_000_000, iops in 1u32..900_000) {
            let body = format!("{{\"fio\":[{{\"bs\":\"64k\",\"speed_r\":{kib},\"iops_r\":{iops},\"speed_w\":1,\"iops_w\":1}}]}}");
            let found = read(&Page { name: "x", body: &body });
            let side = found[0].measurements[0].read.clone().expect("reads");
            prop_assert_eq!(side.bytes_per_second.get(), f64::from(kib) * 1024.0);
            prop_assert_eq!(side.iops.map(|rate| rate.get()), Some(f64::from(iops)));
        }
    }
}
