//! The SMART / Health Information log of an NVMe controller: log page 02h, NVM Express Base Specification 2.0, section
//! 5.16.1.3.

use serde::{Deserialize, Serialize};

use narrows_base::units::{Bytes, Celsius, Nanos};

/// The length of the log.
const LENGTH: usize = 512;
/// Data units are thousands of 512 bytes.
const DATA_UNIT: u64 = 512_000;
const MINUTE: u64 = 60_000_000_000;
const SECOND: u64 = 1_000_000_000;

/// What a controller says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SmartLog {
    /// Warnings in force, a bit each: 0 spare blocks run out, 1 temperature beyond a threshold, 2 reliability degraded,
    /// 3 read-only, 4 backup of volatile memory failed.
    pub critical_warning: u8,
    /// The composite temperature, to which its thresholds belong; `None` when the drive reports 0 K.
    pub temperature: Option<Celsius>,
    /// The spare blocks left, in percent.
    pub available_spare: u8,
    /// Below this percentage of spare blocks the drive warns.
    pub spare_threshold: u8,
    /// The part of its rated life that is used, in percent; may pass 100.
    pub percentage_used: u8,
    /// Bytes that hosts read, to 512 kB.
    pub read: Bytes,
    /// Bytes that hosts wrote, to 512 kB.
    pub written: Bytes,
    /// Unrecovered data errors.
    pub media_errors: u64,
    /// The time that the composite temperature was at or above its warning threshold, to a minute.
    pub warning_time: Nanos,
    /// The same for the critical threshold.
    pub critical_time: Nanos,
    /// The temperatures of single sensors, those that there are.
    pub sensors: Vec<Celsius>,
    /// Host-controlled thermal management: light and heavy throttling.
    pub throttling: [Throttling; 2],
}

/// One state of thermal management.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// How often the controller went to this state.
    pub transitions: u64,
    /// How long it was in it, to a second.
    pub time: Nanos,
}

/// What happened between two logs of one controller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SmartChange {
    /// Bytes that hosts read, to 512 kB.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Bytes that hosts wrote, to 512 kB.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Unrecovered data errors.
    pub media_errors: u64,
    /// The time at or above the warning or critical threshold, to a minute.
    #[serde(rename = "hot_ns")]
    pub hot: Nanos,
    /// How often the controller began to throttle, in either state.
    pub throttle_transitions: u64,
    /// How long it throttled, to a second.
    #[serde(rename = "throttled_ns")]
    pub throttled: Nanos,
}

impl SmartLog {
    /// Understands the log; `None` when it is not whole.
    pub fn parse(log: &[u8]) -> Option<Self> {
        let log = log.get(..LENGTH)?;
        let short = |at: usize| u64::from(u16::from_le_bytes(chunk(log, at)));
        let word = |at: usize| u64::from(u32::from_le_bytes(chunk(log, at)));
        // 128 bits; what does not fit 64 is garbage and saturates.
        let long = |at: usize| u64::try_from(u128::from_le_bytes(chunk(log, at))).unwrap_or(u64::MAX);
        let byte = |at: usize| log.get(at).copied().unwrap_or_default();
        let temperature = |at: usize| u16::try_from(short(at)).ok().filter(|kelvins| *kelvins > 0);
        let spans = |count: u64, unit: u64| Nanos::new(count.saturating_mul(unit));
        Some(Self {
            critical_warning: byte(0),
            temperature: temperature(1).map(Celsius::from_kelvin),
            available_spare: byte(3),
            spare_threshold: byte(4),
            percentage_used: byte(5),
            read: Bytes::new(long(32).saturating_mul(DATA_UNIT)),
            written: Bytes::new(long(48).saturating_mul(DATA_UNIT)),
            media_errors: long(160),
            warning_time: spans(word(192), MINUTE),
            critical_time: spans(word(196), MINUTE),
            sensors: (0..8)
                .filter_map(|sensor| temperature(200 + 2 * sensor))
                .map(Celsius::from_kelvin)
                .collect(),
            throttling: [0, 4].map(|state| Throttling {
                transitions: word(216 + state),
                time: spans(word(224 + state), SECOND),
            }),
        })
    }

    /// Whether a temperature is beyond one of its thresholds now.
    pub const fn is_too_hot(&self) -> bool {
        self.critical_warning & 0b10 != 0
    }

    /// What happened since an earlier log. A counter that went back says nothing.
    pub fn since(&self, before: &Self) -> SmartChange {
        let bytes = |of: fn(&Self) -> Bytes| of(self).saturating_sub(of(before));
        let time = |of: fn(&Self) -> Nanos| of(self).get().saturating_sub(of(before).get());
        let state = |log: &Self, of: fn(&Throttling) -> u64| {
            log.throttling.iter().map(of).fold(0, u64::saturating_add)
        };
        let throttling = |of| state(self, of).saturating_sub(state(before, of));
        SmartChange {
            read: bytes(|log| log.read),
            written: bytes(|log| log.written),
            media_errors: self.media_errors.saturating_sub(before.media_errors),
            hot: Nanos::new(time(|log| log.warning_time).max(time(|log| log.critical_time))),
            throttle_transitions: throttling(|state| state.transitions),
            throttled: Nanos::new(throttling(|state| state.time.get())),
        }
    }
}

/// `N` bytes from `at`; zeros beyond the end, where no field lies.
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The log of a Samsung 970 EVO as `nvme smart-log` decodes it: 40 °C, 100 % spare, 3 % used, 21 391 213 units read,
    /// 41 001 995 written, no media errors, sensors at 40 and 49 °C. The thermal counters are made up.
    pub(in crate::health) fn log() -> Vec<u8> {
        let mut log = vec![0; 512];
        let mut put = |at: usize, bytes: &[u8]| log[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &[0, 0x39, 0x01, 100, 10, 3]);
        put(32, &21_391_213_u128.to_le_bytes());
        put(48, &41_001_995_u128.to_le_bytes());
        put(160, &2_u128.to_le_bytes());
        put(192, &7_u32.to_le_bytes());
        put(196, &1_u32.to_le_bytes());
        put(200, &313_u16.to_le_bytes());
        put(202, &322_u16.to_le_bytes());
        put(216, &5_u32.to_le_bytes());
        put(220, &1_u32.to_le_bytes());
        put(224, &90_u32.to_le_bytes());
        put(228, &4_u32.to_le_bytes());
        log
    }

    #[test]
    fn the_log_is_read_as_the_specification_lays_it_out() {
        let log = SmartLog::parse(&log()).expect("is whole");
        // 0x139 = 313 K.
        assert_eq!(log.temperature.map(|t| t.to_string()).as_deref(), Some("40 °C"));
        assert_eq!((log.available_spare, log.spare_threshold, log.percentage_used), (100, 10, 3));
        // nvme-cli prints 10.95 TB read and 20.99 TB written for these units.
        assert_eq!(log.read, Bytes::new(10_952_301_056_000));
        assert_eq!(log.written, Bytes::new(20_993_021_440_000));
        assert_eq!(log.media_errors, 2);
        assert_eq!(log.warning_time.as_secs_f64(), 420.0);
        assert_eq!(log.critical_time.as_secs_f64(), 60.0);
        let sensors: Vec<String> = log.sensors.iter().map(ToString::to_string).collect();
        assert_eq!(sensors, ["40 °C", "49 °C"]);
        assert_eq!(log.throttling.map(|state| state.transitions), [5, 1]);
        assert_eq!(log.throttling.map(|state| state.time.as_secs_f64()), [90.0, 4.0]);
        assert!(!log.is_too_hot());
    }

    #[test]
    fn what_happened_is_the_difference() {
        let before = SmartLog::parse(&log()).expect("is whole");
        let mut later = log();
        later[0] = 0b10;
        later[48..64].copy_from_slice(&41_001_997_u128.to_le_bytes());
        later[192] = 8;
        later[220] = 3;
        later[228] = 10;
        let later = SmartLog::parse(&later).expect("is whole");
        let change = later.since(&before);
        assert_eq!((change.written, change.read), (Bytes::new(1_024_000), Bytes::new(0)));
        assert_eq!((change.throttle_transitions, change.throttled.as_secs_f64()), (2, 6.0));
        assert_eq!(change.hot.as_secs_f64(), 60.0);
        assert!(later.is_too_hot());
        assert_eq!(before.since(&later), SmartChange::default(), "nothing is ever negative");
    }

    #[test]
    fn a_drive_without_sensors_has_no_temperature() {
        let log = SmartLog::parse(&[0; 512]).expect("is whole");
        assert_eq!((log.temperature, log.sensors.len()), (None, 0));
        assert_eq!(SmartLog::parse(&[0; 511]), None);
    }

    proptest! {
        #[test]
        fn no_log_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600), other in any::<[u8; 32]>()) {
            let mut second = bytes.clone();
            second.splice(..second.len().min(32), other);
            let (first, second) = (SmartLog::parse(&bytes), SmartLog::parse(&second));
            prop_assert_eq!(first.is_some(), bytes.len() >= 512);
            if let (Some(first), Some(second)) = (first, second) {
                let _ = first.since(&second);
            }
        }
    }
}
