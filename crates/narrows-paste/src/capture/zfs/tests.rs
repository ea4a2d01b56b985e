use narrows_base::units::BytesPerSec;
use narrows_machine::zfs::ZfsPool;
use proptest::prelude::*;

use super::super::Text;
use super::read;

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
    let replaced = tank.vdevs.iter().flat_map(|vdev| &vdev.devices).filter(|device| device.is_replaced);
    assert_eq!(replaced.map(|device| device.name.as_str()).collect::<Vec<_>>(), ["sdb", "sde"]);
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

fn shown(pool: &ZfsPool) -> Vec<String> {
    let vdev = |vdev: &narrows_machine::zfs::ZfsVdev| {
        let names: Vec<&str> = vdev.devices.iter().map(|device| device.name.as_str()).collect();
        format!("{} {} {}", vdev.role, vdev.name, names.join(","))
    };
    pool.vdevs.iter().map(vdev).collect()
}

/// OpenZFS 0.8, whose groups have no numbers, with a cache; then 2.1 with names of `/dev/disk/by-id`.
const LIST: &str = "\
$ sudo zpool list -v
NAME          SIZE  ALLOC   FREE  CKPOINT  EXPANDSZ   FRAG    CAP  DEDUP    HEALTH  ALTROOT
nas          10.9T  3.34T  7.57T        -         -     0%    30%  1.00x    ONLINE  -
  mirror     10.9T  3.34T  7.57T        -         -     0%  30.6%      -  ONLINE
    sda          -      -      -        -         -      -      -      -  ONLINE
    sdb          -      -      -        -         -      -      -      -  DEGRADED
  mirror     10.9T  3.34T  7.57T        -         -     0%  30.6%      -  ONLINE
    sdc          -      -      -        -         -      -      -      -  ONLINE
    sdd          -      -      -        -         -      -      -      -  ONLINE
cache            -      -      -        -         -      -      -      -  -
  nvme0n1p4   265G   265G  55.8M        -         -     0%  100.0%      -  ONLINE
zfsdata                               928G   516K   928G        -         -     0%     0%  1.00x    ONLINE  -
  mirror-0                            928G   516K   928G        -         -     0%  0.00%      -    ONLINE
    ata-ST1000DM003-1CH162_S1DA       932G      -      -        -         -      -      -      -    ONLINE
    ata-ST1000DM003-1CH162_Z1D6       932G      -      -        -         -      -      -      -    ONLINE
single   39.5G  32.6G  6.88G        -         -     0%    82%  1.00x    ONLINE  -
  nvme1n1   39.5G  32.6G  6.88G        -         -     0%    82%  1.00x    ONLINE
";

#[test]
fn a_list_tells_the_same_as_a_status() {
    let pools = pools(LIST);
    let [nas, data, single] = pools.as_slice() else { panic!("{pools:?}") };
    assert_eq!(shown(nas), ["data mirror sda,sdb", "data mirror sdc,sdd", "cache nvme0n1p4 nvme0n1p4"]);
    assert_eq!(nas.vdevs[0].devices[1].state, "DEGRADED");
    assert_eq!(nas.state.source().as_str(), "zpool.txt:3");
    assert_eq!(shown(data), ["data mirror-0 ata-ST1000DM003-1CH162_S1DA,ata-ST1000DM003-1CH162_Z1D6"]);
    assert_eq!(shown(single), ["data nvme1n1 nvme1n1"]);
}

#[test]
fn a_list_for_scripts_has_no_indent() {
    // zpool list -vHP: one tab before anything below a pool; headings without any.
    let row =
        |name: &str, space: &str, state: &str| format!("{name}\t100\t{space}\t50\t-\t-\t0\t50\t-\t{state}");
    let heading =
        format!("{:<10}      -      -      -        -         -      -      -      -         -", "logs");
    let lines = [
        row("tank", "50", "ONLINE") + "\t-",
        row("\traidz1-0", "50", "ONLINE"),
        row("\t/dev/sda1", "-", "ONLINE"),
        row("\t/dev/disk/by-id/ata-X-part1", "-", "FAULTED"),
        row("\t/dev/sdc1", "-", "ONLINE"),
        heading,
        row("\t/dev/nvme0n1p1", "1", "ONLINE"),
        row("fast", "50", "DEGRADED") + "\t-",
        row("\t/dev/nvme1n1", "25", "ONLINE"),
        row("\t/dev/nvme2n1", "25", "ONLINE"),
    ];
    let pools = pools(&lines.join("\n"));
    let [tank, fast] = pools.as_slice() else { panic!("{pools:?}") };
    assert_eq!(
        shown(tank),
        ["data raidz1-0 sda1,/dev/disk/by-id/ata-X-part1,sdc1", "logs /dev/nvme0n1p1 nvme0n1p1"]
    );
    assert_eq!(shown(fast), ["data /dev/nvme1n1 nvme1n1", "data /dev/nvme2n1 nvme2n1"]);
    assert_eq!(fast.state.value().map(String::as_str), Some("DEGRADED"));
}

#[test]
fn file_systems_tell_where_they_are_mounted() {
    let mounts = |text: &str| {
        let mounts = read(&Text::new("zfs.txt", text.as_bytes())).machine.mounts;
        mounts
            .into_iter()
            .map(|mount| format!("{} {} {}", mount.source, mount.fstype, mount.point))
            .collect::<Vec<_>>()
    };
    let wanted = ["zfsdata zfs /mnt/zfsdata", "zfsdata/immich zfs /mnt/zfsdata/immich"];
    assert_eq!(
        mounts(
            "NAME             USED  AVAIL  REFER  MOUNTPOINT\nzfsdata          516K   899G    96K  /mnt/zfsdata\n\
             zfsdata/immich    96K   899G    96K  /mnt/zfsdata/immich\nzfsdata/vm  96K   899G    96K  -\n\
             zfsdata@snap  0B  -  96K  -\nother  1K 1K 1K  none\n"
        ),
        wanted
    );
    assert_eq!(
        mounts(
            "zfsdata\t516K\t899G\t96K\t/mnt/zfsdata\nzfsdata/immich\t96K\t899G\t96K\t/mnt/zfsdata/immich\n"
        ),
        wanted
    );
    // Two boot environments of one pool; two pools of which either may be mounted.
    assert_eq!(
        mounts(
            "NAME          USED  AVAIL  REFER  MOUNTPOINT\nr/ROOT/a  1G 1G 1G  /\nr/ROOT/b  1G 1G 1G  /\n\
             r/x  1G 1G 1G  /x\ns/x  1G 1G 1G  /x\n"
        ),
        ["r/ROOT/a zfs /"]
    );
    assert!(mounts("a\tb\tc\td\t/e\n").is_empty());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_list_panics(rows in proptest::collection::vec("[ \t]{0,5}(mirror-0|sda|logs|tank|NAME)([ \t](SIZE|ALLOC|HEALTH|ONLINE|-|1G|/a)){0,9}", 0..9)) {
        let _ = pools(&format!("NAME SIZE ALLOC FREE HEALTH\n{}\nNAME MOUNTPOINT\n{}", rows.join("\n"), rows.join("\n")));
    }

    #[test]
    fn no_near_text_panics(scan in "[ -~]{0,60}", rows in proptest::collection::vec("[ \t]{0,9}[a-z0-9/-]{0,9} [A-Z]{0,8}", 0..8)) {
        let _ = pools(&format!("  pool: a\n scan: scrub in progress {scan}\n{scan}% done\nconfig:\n NAME STATE READ WRITE CKSUM\n{}\n", rows.join("\n")));
    }
}
