//! What the readers of drive health share: the fields of the NVMe SMART / Health Information log (NVM Express Base
//! Specification 2.0, section 5.16.1.3) in the words of nvme-cli (`nvme-print-stdout.c`, `nvme-print-json.c`) and of
//! smartctl (`nvmeprint.cpp`), text and JSON.

use serde_json::Value;

use super::device::{device, implied, learn};
use super::fill::{Fill, Than};
use super::json::{list, text_of};
use narrows_base::units::{Bytes, Celsius, Nanos};
use narrows_machine::Machine;
use narrows_machine::health::SmartLog;

/// Data units are thousands of 512 bytes.
const DATA_UNIT: u64 = 512_000;
const MINUTE: u64 = 60_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// The sensors that the log has room for.
const SENSORS: usize = 8;

/// No drive is hotter, in degrees Celsius: a number beyond is one of kelvins that does not say so.
const HOTTEST: f64 = 200.0;

/// 0 °C in kelvins.
const ZERO_CELSIUS: f64 = 273.15;

/// Under this prefix a log is kept that does not name its drive, until it is known which that is.
pub(super) const UNNAMED: &str = "smart-log/";

/// A log as it is read, field by field.
#[derive(Debug, Default, Clone)]
pub(super) struct Log {
    log: SmartLog,
    fields: usize,
}

impl Log {
    /// Takes a field by the name that a tool gives it.
    pub(super) fn set(&mut self, key: &str, value: &str) {
        let log = &mut self.log;
        let number = || number(value);
        let percent = || number().and_then(|percent| u8::try_from(percent).ok());
        let units = || number().map(|units| Bytes::new(units.saturating_mul(DATA_UNIT)));
        let time = |unit: u64| number().map(|count| Nanos::new(count.saturating_mul(unit)));
        let key = normalised(key);
        let is_known = match key.as_str() {
            "critical warning" => put(&mut log.critical_warning, percent()),
            "temperature" => put(&mut log.temperature, temperature(value).map(Some)),
            "available spare" | "avail spare" => put(&mut log.available_spare, percent()),
            "available spare threshold" | "spare thresh" => put(&mut log.spare_threshold, percent()),
            "percentage used" | "percent used" => put(&mut log.percentage_used, percent()),
            "data units read" => put(&mut log.read, units()),
            "data units written" => put(&mut log.written, units()),
            "media errors" | "media and data integrity errors" => put(&mut log.media_errors, number()),
            "warning temperature time" | "warning temp time" | "warning comp temperature time" => {
                put(&mut log.warning_time, time(MINUTE))
            }
            "critical composite temperature time"
            | "critical comp time"
            | "critical comp temperature time" => put(&mut log.critical_time, time(MINUTE)),
            _ if key.starts_with("temperature sensor ") => {
                log.sensors.extend(temperature(value).filter(|_| log.sensors.len() < SENSORS));
                true
            }
            _ => {
                let [light, heavy] = &mut log.throttling;
                let (state, counter) = match throttling(&key) {
                    Some(("1", counter)) => (light, counter),
                    Some(("2", counter)) => (heavy, counter),
                    _ => return,
                };
                match counter {
                    "trans count" | "transition count" => put(&mut state.transitions, number()),
                    "total time" => put(&mut state.time, time(SECOND)),
                    _ => false,
                }
            }
        };
        self.fields += usize::from(is_known);
    }

    /// Takes every field of an object; numbers may be texts, and with `--verbose` nvme-cli makes an object of the
    /// warnings.
    pub(super) fn of_json(object: &Value) -> Self {
        let mut log = Self::default();
        for (key, value) in object.as_object().into_iter().flatten() {
            if let Some(text) = text_of(object, key).or_else(|| text_of(value, "value")) {
                log.set(key, &text);
            }
        }
        for sensor in list(object, "temperature_sensors").filter_map(Value::as_i64) {
            log.set("temperature_sensor_0", &format!("{sensor} C"));
        }
        log
    }

    /// Whether it is a log at all, and no other output that has a temperature.
    pub(super) const fn is_log(&self) -> bool {
        self.fields >= 3
    }

    /// The composite temperature.
    pub(super) const fn temperature(&self) -> Option<Celsius> {
        self.log.temperature
    }
}

/// `thermal management t1 trans count`, `thm temp1 trans count`, `thermal temp 1 transition count`: the state, and which
/// of its counters.
fn throttling(key: &str) -> Option<(&str, &str)> {
    let starts = ["thermal management t", "thm temp", "thermal temp "];
    starts.iter().find_map(|start| key.strip_prefix(start))?.split_once(' ')
}

fn put<T>(field: &mut T, value: Option<T>) -> bool {
    let is_known = value.is_some();
    if let Some(value) = value {
        *field = value;
    }
    is_known
}

/// Words in lower case with one blank between them.
fn normalised(key: &str) -> String {
    let words = key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join(" ")
}

/// `27,415,274`, `127385723 (65.22 TB)`, `100%`, `0x9`, `1.2e+07`: a count, its thousands separated as the language does.
fn number(value: &str) -> Option<u64> {
    let value = value.split(['(', '[']).next()?.trim().trim_end_matches('%').trim_end();
    if let Some(hex) = value.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    if value.contains(['e', 'E']) {
        let number: f64 = value.parse().ok()?;
        return (0.0..u64::MAX as f64).contains(&number).then_some(number as u64);
    }
    let is_count = value.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || ",.'’".contains(c));
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|_| is_count)
}

/// `33 C`, `33°C (306 Kelvin)`, `31 °C (304 K)`, `88 °F (304 K)`, `40 Celsius`, and bare numbers, of kelvins where they
/// are too large for degrees. Kelvins are what the drive says, so that they go before what a tool made of them. 0 K is
/// what a drive says that does not measure.
pub(super) fn temperature(text: &str) -> Option<Celsius> {
    let mut best: Option<(u8, f64)> = None;
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let is_negative = rest.get(..at).is_some_and(|before| before.ends_with('-'));
        rest = rest.get(at..)?;
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest.get(..end)?.parse().ok()?;
        let number = if is_negative { -number } else { number };
        rest = rest.get(end..)?;
        let unit = rest.trim_start_matches(|c: char| c.is_whitespace() || !c.is_ascii()).chars().next();
        let (weight, celsius) = match unit.map(|unit| unit.to_ascii_uppercase()) {
            Some('K') => (4, number - ZERO_CELSIUS),
            Some('C') => (3, number),
            Some('F') => (2, (number - 32.0) / 1.8),
            _ if number > HOTTEST => (1, number - ZERO_CELSIUS),
            _ => (1, number),
        };
        if best.is_none_or(|(known, _)| weight > known) {
            best = Some((weight, celsius));
        }
    }
    let (_, celsius) = best?;
    (-100.0..HOTTEST).contains(&celsius).then(|| Celsius::new(celsius))
}

/// Puts down the log of a drive.
pub(super) fn take(machine: &mut Machine, name: &str, log: Log, source: &str) {
    if !name.starts_with(UNNAMED) {
        device(machine, name).transport.fill(implied(name, None), Than::Same);
    }
    let health = machine.health.entry(name.to_owned()).or_default();
    learn(&mut health.temperature, log.temperature(), source);
    learn(&mut health.smart, Some(log.log), source);
}

/// Puts down from which temperature on a drive warns.
pub(super) fn warns_from(machine: &mut Machine, name: &str, warning: Option<Celsius>, source: &str) {
    let warning = warning.filter(|warning| warning.get() > 0.0);
    if warning.is_some() {
        learn(&mut machine.health.entry(name.to_owned()).or_default().warning, warning, source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn temperatures_of_every_version_are_the_same() {
        // nvme-cli 1.9, 1.16, 2.0, 2.5 with a locale of Fahrenheit; smartctl; JSON.
        for text in [
            "33 C",
            "33°C (306 Kelvin)",
            "33 °C (306 K)",
            "91 °F (306 K)",
            "33 Celsius",
            "306",
            "306 K",
            "33 Â°C",
        ] {
            let found = temperature(text).map(|found| found.get().round());
            assert_eq!(found, Some(33.0), "{text}");
        }
        for text in ["-273 °C (0 K, -459 °F)", "0 K", "", "C", "-", "99999"] {
            assert_eq!(temperature(text), None, "{text}");
        }
    }

    #[test]
    fn counts_are_read_in_any_language() {
        for (text, count) in [
            ("27,415,274", Some(27_415_274)),
            ("27.415.274", Some(27_415_274)),
            ("127385723 (65.22 TB)", Some(127_385_723)),
            ("1,234 [632 MB]", Some(1234)),
            ("0x9", Some(9)),
            ("100%", Some(100)),
            ("1.5e3", Some(1500)),
            ("", None),
            ("-1", None),
            ("many", None),
        ] {
            assert_eq!(number(text), count, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_field_panics(key in "\\PC{0,40}", value in "\\PC{0,40}") {
            Log::default().set(&key, &value);
        }

        #[test]
        fn no_temperature_is_beyond_any_drive(text in "[-0-9.]{0,8} ?[°CFK]{0,2} ?\\(?[0-9]{0,4} K?") {
            if let Some(found) = temperature(&text) {
                prop_assert!(found.get().abs() < 200.0);
            }
        }
    }
}
