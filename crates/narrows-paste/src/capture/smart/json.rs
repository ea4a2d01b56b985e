//! `smartctl -j` (smartmontools 7 and later).

use serde_json::Value;

use super::{Drive, Kind, device_in, rate};
use crate::capture::Text;
use crate::capture::health::Log;
use crate::capture::json::{documents, text_of};
use narrows_base::units::{Bytes, Celsius};

/// Every drive of every document.
pub(super) fn read(text: &Text) -> Vec<Drive> {
    let own = documents(text).into_iter().filter(|(_, document)| document.get("smartctl").is_some());
    own.map(|(line, document)| drive(&document, text.source(line))).collect()
}

fn drive(document: &Value, source: String) -> Drive {
    let at = |path: &str| document.pointer(path);
    let bytes = |path: &str| at(path).and_then(Value::as_u64).filter(|bytes| *bytes > 0).map(Bytes::new);
    let protocol = at("/device/protocol").and_then(Value::as_str).unwrap_or_default();
    let speed = |which: &str| {
        let text = at(&format!("/interface_speed/{which}/string")).and_then(Value::as_str)?;
        rate(text.strip_suffix("Gb/s")?)
    };
    let celsius = |path: &str| at(path).and_then(Value::as_f64).filter(|now| *now > 0.0).map(Celsius::new);
    // `megaraid,4` and the like name a drive behind a volume by the volume's device.
    let kind = at("/device/type").and_then(Value::as_str).unwrap_or_default();
    let name = at("/device/name").and_then(Value::as_str).filter(|_| !kind.contains(','));
    Drive {
        source,
        name: name.and_then(device_in),
        model: text_of(document, "model_name").or_else(|| text_of(document, "scsi_product")),
        serial: text_of(document, "serial_number"),
        firmware: text_of(document, "firmware_version"),
        size: bytes("/user_capacity/bytes").or_else(|| bytes("/nvme_total_capacity")),
        rotational: at("/rotation_rate").and_then(Value::as_u64).map(|rate| rate > 0),
        logical_block: bytes("/logical_block_size"),
        physical_block: bytes("/physical_block_size"),
        kind: match protocol {
            "ATA" => Kind::Sata,
            "NVMe" => Kind::Nvme,
            _ if document.get("scsi_transport_protocol").is_some() => Kind::Sas,
            _ => Kind::Unknown,
        },
        speed: speed("current"),
        drive_speed: speed("max"),
        log: at("/nvme_smart_health_information_log").map(Log::of_json).unwrap_or_default(),
        temperature: celsius("/temperature/current"),
        // Other drives have a limit of operation only, which is none of throttling.
        warning: celsius("/nvme_composite_temperature_threshold/warning"),
    }
}
