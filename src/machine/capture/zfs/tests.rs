use super::read;
use crate::machine::capture::Text;
use crate::machine::zfs::ZfsPool;
use crate::units::BytesPerSec;
use proptest::prelude::*;

fn pools(text: &str) -> Vec<ZfsPool> {
    read(&Text::new("zpool.txt", text.as_bytes())).machine.zfs
}

/// A pool of two kinds of vdevs that is resilvered (OpenZFS 2.1), with a second one that is idle.
const STATUS: &str = "\
  pool: tank
 state: DEGRADED
status: One or more devices is currently being resilvered.
  scan: resilver in progress since Sun Mar 22 00:24:01 2026
\t1.20T scanned at 1.05G/s, 512G issued at 456M/s, 9.80T total
\t64.0G resilvered, 5.10% done, 05:46:01 to go
config:

\tNAME             STATE     READ WRITE CKSUM
\ttank             DEGRADED     0     0     0
\t  raidz1-0       DEGRADED     0     0     0
\t    sda          ONLINE       0     0     0
\t    replacing-1  DEGRADED     0     0     0
\t      sdb        FAULTED      0     0     0  too many errors
\t      sde        ONLINE       0     0     0  (resilvering)
\t    /dev/sdc1    ONLINE       0     0     0
\tlogs
\t  mirror-1       ONLINE       0     0     0
\t    nvme0n1p2    ONLINE       0     0     0
\t    nvme1n1p2    ONLINE       0     0     0
\tcache
\t  nvme0n1p3      ONLINE       0     0     0
\tspares
\t  ata-ST2000DL003_5YD    AVAIL

errors: No known data errors

  pool: fast
 state: ONLINE
  scan: scrub repaired 0B in 00:01:23 with 0 errors on Sun Mar 22 00:24:01 2026
config:

\tNAME        STATE     READ WRITE CKSUM
\tfast        ONLINE       0     0     0
\t  nvme2n1   ONLINE       0     0     0
\t  nvme3n1   ONLINE       0     0     0

errors: No known data errors
";

#[test]
fn pools_tell_vdevs_devices_and_a_running_scan() {
    let pools = pools(STATUS);
    let tank = &pools[0];
    assert_eq!(tank.state.value().map(String::as_str), Some("DEGRADED"));
    let scan = tank.scan.value().expect("is resilvered");
    assert_eq!(scan.action, "resilver");
    assert_eq!(scan.done, Some(0.051));
    // 456 × 2^20
    assert_eq!(scan.rate, Some(BytesPerSec::new(478_150_656.0)));
    let shown: Vec<String> = tank
        .vdevs
        .iter()
        .map(|vdev| {
            let names: Vec<&str> = vdev.devices.iter().map(|device| device.name.as_str()).collect();
            format!("{} {} {}", vdev.role, vdev.name, names.join(","))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "data raidz1-0 sda,sdb,sde,sdc1",
            "logs mirror-1 nvme0n1p2,nvme1n1p2",
            "cache nvme0n1p3 nvme0n1p3",
            "spares ata-ST2000DL003_5YD ata-ST2000DL003_5YD"
        ]
    );
    assert_eq!(tank.vdevs[0].devices[1].state, "FAULTED");
    assert_eq!(pools[1].vdevs.len(), 2);
    assert_eq!(pools[1].scan.value(), None);
}

#[test]
fn tabs_that_became_blanks_change_nothing() {
    let blanks = STATUS.replace('\t', "        ");
    assert_eq!(format!("{:?}", pools(&blanks)), format!("{:?}", pools(STATUS)));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(scan in "[ -~]{0,60}", rows in proptest::collection::vec("[ \t]{0,9}[a-z0-9/-]{0,9} [A-Z]{0,8}", 0..8)) {
        let _ = pools(&format!("  pool: a\n scan: scrub in progress {scan}\n{scan}% done\nconfig:\n NAME STATE READ WRITE CKSUM\n{}\n", rows.join("\n")));
    }
}
