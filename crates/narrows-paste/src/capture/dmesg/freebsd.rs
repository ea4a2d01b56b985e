//! Disks of FreeBSD, whose kernel is that of TrueNAS CORE and pfSense, too (`sys/cam/cam_xpt.c`, `sys/cam/scsi/scsi_all.c`,
//! `sys/cam/scsi/scsi_xpt.c`, `sys/cam/ata/ata_all.c`, `sys/cam/ata/ata_xpt.c`, `sys/cam/nvme/nvme_all.c`,
//! `sys/dev/nvd/nvd.c`).
//!
//! A disk is announced in a few lines, `ada0 at ahcich0 bus 0 …`, `ada0: <MODEL FIRMWARE> …`, `ada0: 600.000MB/s transfers …`, and
//! again in the first two of them when it is taken away.

use std::collections::BTreeMap;

use narrows_base::fact::Fact;
use narrows_base::units::{BitsPerSec, Bytes};
use narrows_machine::block::{BlockDevice, Sas, Sata, Transport, Usb, freebsd_disk, is_numbered};

use super::{Boot, LogLine};
use crate::capture::device::carrier;
use crate::text::{fields, stamp};

/// More disks and bridges than a machine has.
const MOST: usize = 4096;

/// What the log says of disks.
#[derive(Default)]
pub(super) struct Disks {
    disks: BTreeMap<String, BlockDevice>,
    /// The versions that bridges of USB announce, by the name of their driver: `umass0`.
    bridges: BTreeMap<String, Fact<String>>,
}

impl Disks {
    pub(super) fn is_empty(&self) -> bool {
        self.disks.is_empty()
    }
}

/// Whether a message is the first of a boot.
pub(super) fn is_boot(message: &str) -> bool {
    message.starts_with("Copyright (c) 1992-") && message.contains(" The FreeBSD Project")
}

/// Whether a line without a stamp starts a message.
pub(super) fn starts_message(line: &str) -> bool {
    stamp::is_of_freebsd(line) || is_boot(line)
}

/// A message of a disk or of a bridge.
pub(super) fn take(boot: &mut Boot, line: &LogLine<'_>) -> Option<()> {
    let (word, what) = line.message.split_once(' ')?;
    let Disks { disks, bridges } = &mut boot.freebsd;
    let name = word.strip_suffix(':').unwrap_or(word);
    if is_numbered(name, "umass") && bridges.len() < MOST {
        // `<ASMedia AS2115, class 0/0, rev 2.10/0.01, addr 15> on usbus1`
        let [_, version] = fields(what, "<{}, rev {}/")?;
        bridges.insert(name.to_owned(), line.known(version.to_owned()));
        return Some(());
    }
    if freebsd_disk(name) != Some(name) || disks.len() >= MOST {
        return None;
    }
    if word == name {
        let [adapter] = fields(what, "at {} bus ")?;
        let is_name = adapter.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        let transport = transport(adapter, bridges, line).filter(|_| is_name)?;
        disks.insert(
            name.to_owned(),
            BlockDevice { name: name.to_owned(), transport, ..BlockDevice::default() },
        );
    } else if what.starts_with('<') && what.trim_end().ends_with(" detached") {
        disks.remove(name);
    } else {
        return take_disk(disks, name, what, line);
    }
    Some(())
}

/// What carries the disks of an adapter: `ahcich0`, `mps0`, `umass-sim0`.
fn transport(
    adapter: &str,
    bridges: &BTreeMap<String, Fact<String>>,
    line: &LogLine<'_>,
) -> Option<Transport> {
    let driver = adapter.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(match driver {
        "ahcich" | "mvsch" | "siisch" => {
            Transport::Sata(Sata { port: adapter.to_owned(), ..Sata::default() })
        }
        "mpr" | "mps" => Transport::Sas(Sas { driver: line.known(driver.to_owned()), ..Sas::default() }),
        "umass-sim" => {
            let device = adapter.replace("-sim", "");
            let version = bridges.get(&device).cloned().unwrap_or_default();
            let driver = line.known("umass".to_owned());
            Transport::Usb(Usb { device, version, driver, ..Usb::default() })
        }
        "nvme" => carrier(driver)?,
        _ => Transport::Other { name: driver.to_owned(), pci: None },
    })
}

/// What a line says of a disk, which may be the first that names it.
fn take_disk(
    disks: &mut BTreeMap<String, BlockDevice>,
    name: &str,
    what: &str,
    line: &LogLine<'_>,
) -> Option<()> {
    let mut disk = disks.get(name).cloned().unwrap_or_else(|| BlockDevice {
        name: name.to_owned(),
        transport: if name.starts_with('n') { carrier("nvme").unwrap_or_default() } else { Transport::None },
        ..BlockDevice::default()
    });
    if let Some([inquiry, kind]) = fields(what, "<{}>{}") {
        disk.model = line.known(model(name, inquiry)?);
        disk.removable = kind.starts_with(" Removable");
        take_kind(&mut disk.transport, kind, line);
    } else if let Some([megabytes, behind]) = fields(what, "{}MB/s transfers{}") {
        let megabytes: f64 = megabytes.parse().ok()?;
        take_rate(&mut disk.transport, megabytes, behind, line)?;
    } else {
        // `3815447MB (7814037168 512 byte sectors: 16H 63S/T 16383C)`
        let [_, count, sector] = fields(what, "{}MB ({} {} byte sectors")?;
        let size = count.parse::<u64>().ok()?.checked_mul(sector.parse().ok()?)?;
        disk.size = line.known(Bytes::new(size));
    }
    disks.insert(name.to_owned(), disk);
    Some(())
}

/// The model in `ATA WDC WD40EFRX-68W 0A82`, `WDC WD40EFRX-68N32N0 82.00A82`, and `Samsung SSD 970 EVO 500GB 2B2QEXM7 S4EWNX0N`:
/// behind it stands the firmware, and of `nda` the serial number.
fn model(name: &str, inquiry: &str) -> Option<String> {
    let words: Vec<&str> = inquiry.split_whitespace().collect();
    let behind = match name {
        _ if name.starts_with("nvd") => 0,
        _ if name.starts_with("nda") => 2,
        _ => 1,
    };
    let words = words.get(..words.len().checked_sub(behind)?)?;
    let words = words.strip_prefix(&["ATA"]).filter(|_| name.starts_with("da")).unwrap_or(words);
    (!words.is_empty()).then(|| words.join(" "))
}

/// `ACS-3 ATA SATA 3.x device`: what the drive can do (`ata_print_ident`).
fn take_kind(transport: &mut Transport, kind: &str, line: &LogLine<'_>) {
    let Some([_, generation]) = fields(kind, "{} SATA {}.x device") else { return };
    let rate = match generation {
        "1" => 1500.0,
        "2" => 3000.0,
        "3" => 6000.0,
        _ => return,
    };
    if matches!(transport, Transport::None)
        || matches!(transport, Transport::Other { name, .. } if name == "ata")
    {
        *transport = Transport::Sata(Sata::default());
    }
    if let Transport::Sata(sata) = transport {
        sata.drive_speed = line.known(BitsPerSec::from_mbit(rate));
    }
}

/// `600.000MB/s transfers (SATA 3.x, UDMA5, PIO 8192bytes)`: the rate of the link behind its line code. Where a driver does not
/// know the generation, it is that of the first.
fn take_rate(transport: &mut Transport, megabytes: f64, behind: &str, line: &LogLine<'_>) -> Option<()> {
    let rate = BitsPerSec::from_mbit(megabytes * 10.0);
    let is_sata = behind.starts_with(" (SATA ");
    if is_sata && !matches!(transport, Transport::Sata(_)) {
        *transport = Transport::Sata(Sata::default());
    }
    match transport {
        Transport::Sata(sata) if is_sata && [150.0, 300.0, 600.0].contains(&megabytes) => {
            sata.speed = line.known(rate);
        }
        Transport::Sas(sas) if [150.0, 300.0, 600.0, 1200.0].contains(&megabytes) => {
            sas.phy_speeds = vec![rate];
        }
        Transport::Usb(usb) => {
            // A class of rates (`sys/dev/usb/storage/umass.c`, `umass_cam_action`): what is faster than 5 Gbit/s is in that of 5 Gbit/s.
            let is_slowest = usb.version.value().is_some_and(|version| version == "3.00");
            let megabits = match megabytes {
                1.0 => 12.0,
                40.0 => 480.0,
                400.0 if is_slowest => 5000.0,
                _ => return Some(()),
            };
            usb.speed = line.known(BitsPerSec::from_mbit(megabits));
        }
        _ => {}
    }
    Some(())
}

/// Makes block devices of the disks. A reader without a card has no size, and is none.
pub(super) fn finish(boot: &mut Boot) {
    let disks = std::mem::take(&mut boot.freebsd.disks);
    let known = disks
        .into_iter()
        .filter(|(_, disk)| disk.size.value().is_some() || disk.model.value().is_some() && !disk.removable);
    boot.machine.block.extend(known);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::capture::Text;

    fn block(log: &str) -> BTreeMap<String, BlockDevice> {
        super::super::read(&Text::new("dmesg", log.as_bytes())).machine.block
    }

    fn model_of(disk: &BlockDevice) -> Option<&str> {
        disk.model.value().map(String::as_str)
    }

    /// Of posts about a NAS and a bridge.
    const LOG: &str = "ada0 at ahcich0 bus 0 scbus0 target 0 lun 0\n\
        ada0: <WDC WD40EFRX-68N32N0 82.00A82> ACS-3 ATA SATA 3.x device\n\
        ada0: Serial Number WD-0\n\
        ada0: 300.000MB/s transfers (SATA 2.x, UDMA6, PIO 8192bytes)\n\
        ada0: Command Queueing enabled\n\
        ada0: 3815447MB (7814037168 512 byte sectors)\n\
        da8 at mps0 bus 0 scbus0 target 8 lun 0\n\
        da8: <ATA WDC WD40EFRX-68W 0A82> Fixed Direct Access SPC-4 SCSI device\n\
        da8: 600.000MB/s transfers\n\
        umass0 on uhub7\n\
        umass0: <ASMedia AS2115, class 0/0, rev 2.10/0.01, addr 15> on usbus1\n\
        umass0:  SCSI over Bulk-Only; quirks = 0x0100\n\
        da0 at umass-sim0 bus 0 scbus0 target 0 lun 0\n\
        da0: <ASMT 2115 0> Fixed Direct Access SPC-4 SCSI device\n\
        da0: 40.000MB/s transfers\n\
        da0: 122104MB (250069680 512 byte sectors)\n\
        nda0 at nvme0 bus 0 scbus9 target 0 lun 1\n\
        nda0: <Samsung SSD 970 EVO 500GB 2B2QEXM7 S0>\n\
        nvd1: <INTEL SSDPEKNW512G8> NVMe namespace\n\
        nvd1: 488386MB (1000215216 512 byte sectors)\n";

    #[test]
    fn a_sata_disk_has_its_model_size_and_both_rates() {
        let block = block(LOG);
        assert_eq!(block.keys().collect::<Vec<_>>(), ["ada0", "da0", "da8", "nda0", "nvd1"]);
        let disk = &block["ada0"];
        assert_eq!(model_of(disk), Some("WDC WD40EFRX-68N32N0"));
        assert_eq!(disk.size.get(), Some(Bytes::new(4_000_787_030_016)));
        let Transport::Sata(sata) = &disk.transport else { panic!("{disk:?}") };
        let rate = |fact: &Fact<BitsPerSec>| fact.get().map(|rate| rate.get() / 1e9);
        assert_eq!(
            (sata.port.as_str(), rate(&sata.speed), rate(&sata.drive_speed)),
            ("ahcich0", Some(3.0), Some(6.0))
        );
    }

    #[test]
    fn what_carries_a_disk_is_told_by_its_adapter() {
        let block = block(LOG);
        let Transport::Sas(sas) = &block["da8"].transport else { panic!("an adapter") };
        assert_eq!(sas.phy_speeds, [BitsPerSec::from_mbit(6000.0)]);
        assert_eq!(model_of(&block["da8"]), Some("WDC WD40EFRX-68W"));
        let Transport::Usb(usb) = &block["da0"].transport else { panic!("a bridge") };
        assert_eq!(usb.speed.get(), Some(BitsPerSec::from_mbit(480.0)));
        assert_eq!((usb.device.as_str(), usb.version.get().as_deref()), ("umass0", Some("2.10")));
        assert_eq!(model_of(&block["nda0"]), Some("Samsung SSD 970 EVO 500GB"));
        assert_eq!(block["nda0"].transport, carrier("nvme").expect("a bus"));
        assert_eq!(model_of(&block["nvd1"]), Some("INTEL SSDPEKNW512G8"));
    }

    #[test]
    fn a_class_of_rates_is_no_rate_where_the_device_may_be_faster() {
        let speed = |version: &str| {
            let log = LOG.replace("rev 2.10", &format!("rev {version}")).replace("40.000MB", "400.000MB");
            let Transport::Usb(usb) = &block(&log)["da0"].transport else { panic!("a bridge") };
            usb.speed.get()
        };
        assert_eq!(speed("3.00"), Some(BitsPerSec::from_mbit(5000.0)));
        assert_eq!(speed("3.10"), None);
    }

    #[test]
    fn a_generation_that_the_driver_does_not_know_is_no_rate() {
        let log = LOG.replace("300.000MB/s transfers (SATA 2.x,", "150.000MB/s transfers (SATA,");
        let Transport::Sata(sata) = &block(&log)["ada0"].transport else { panic!("a disk") };
        assert_eq!(sata.speed.get(), None);
    }

    #[test]
    fn a_disk_that_is_taken_away_is_gone_and_a_reader_without_a_card_is_none() {
        let gone = "da0 at umass-sim0 bus 0 scbus0 target 0 lun 0\nda0: <ASMT 2115 0>  s/n 00 detached\n\
            (da0:umass-sim0:0:0:0): Periph destroyed\n";
        assert!(!block(&format!("{LOG}{gone}")).contains_key("da0"));
        let reader = "da3 at umass-sim1 bus 1 scbus8 target 0 lun 0\n\
            da3: <Generic- SD/MMC 1.00> Removable Direct Access SPC-2 SCSI device\nda3: 40.000MB/s transfers\n\
            da3: Attempt to query device size failed: NOT READY, Medium not present\n";
        assert!(block(reader).is_empty());
    }

    #[test]
    fn a_syslog_and_a_mail_say_the_same() {
        let syslog: String =
            LOG.lines().map(|line| format!("Mar 26 12:00:00 nas kernel: {line}\n")).collect();
        let quoted: String = LOG.lines().map(|line| format!("> {line}\n")).collect();
        let names = |log: &str| block(log).into_keys().collect::<Vec<_>>();
        assert_eq!(names(&syslog), names(LOG));
        assert_eq!(names(&syslog.replace(" kernel:", "")), names(LOG), "TrueNAS");
        assert_eq!(names(&quoted), names(LOG));
    }

    proptest! {
        #[test]
        fn no_log_panics(text in "(ada0|da1|nda0|umass0|: | at |<|>|rev |MB/s transfers|MB \\(|byte sectors|[0-9.]{1,4}|\\PC{0,4}|[ \n]){0,30}") {
            let _ = block(&text);
        }
    }
}
