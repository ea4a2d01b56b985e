use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::Machine;
use narrows_machine::block::{BlockKind, MdArray};
use proptest::prelude::*;

use super::super::{Text, join};
use super::read;

fn machine(text: &str) -> Machine {
    read(&Text::new("mdstat", text.as_bytes())).machine
}

fn md<'m>(machine: &'m Machine, name: &str) -> &'m MdArray {
    match &machine.block[name].kind {
        BlockKind::Md(md) => md,
        other => panic!("{name} is {other:?}"),
    }
}

fn state<'m>(md: &'m MdArray, member: &str) -> &'m str {
    md.members[member].value().expect("has a state")
}

/// A RAID-5 that lacks a member and rebuilds it, beside a complete RAID-1 (a report about a PERC 5/i).
const REBUILD: &str = "\
Personalities : [raid1] [raid6] [raid5] [raid4]
md0 : active raid1 sdb1[1] sda1[0](W)
      975872 blocks super 1.2 [2/2] [UU]

md3 : active raid5 sde6[4] sdb6[1] sdd6[3] sdf6[6] sdc6[2] sda6[0]
      7118330880 blocks super 1.2 level 5, 512k chunk, algorithm 2 [6/5] [UUUUU_]
      [=>...................]  recovery =  7.7% (109702192/1423666176) finish=5790.5min speed=3781K/sec
      bitmap: 0/11 pages [0KB], 65536KB chunk

unused devices: <none>
";

#[test]
fn a_rebuild_tells_progress_speed_and_who_is_rebuilt() {
    let machine = machine(REBUILD);
    let md3 = md(&machine, "md3");
    assert_eq!(md3.level.value().map(String::as_str), Some("raid5"));
    assert_eq!((md3.raid_disks.get(), md3.degraded.get()), (Some(6), Some(1)));
    assert_eq!(md3.chunk.get(), Some(Bytes::from_kib(512)));
    assert_eq!(md3.layout.get(), Some(2));
    assert_eq!(md3.sync_action.value().map(String::as_str), Some("recover"));
    // 3781 KiB/s × 1024
    assert_eq!(md3.sync_speed.get(), Some(BytesPerSec::new(3_871_744.0)));
    assert!((md3.sync_done.get().expect("is known") - 0.077_056).abs() < 1e-6);
    // finish=5790.5min
    assert_eq!(md3.sync_left.get().map(|left| left.as_secs_f64()), Some(347_430.0));
    assert_eq!(md3.sync_speed.source().as_str(), "mdstat:7");
    assert_eq!(md3.bitmap.value().map(String::as_str), Some("internal"));
    assert_eq!((state(md3, "sdf6"), state(md3, "sde6")), ("spare", "in_sync"));
    assert_eq!(machine.block["md3"].slaves.len(), 6);
    assert_eq!(machine.block["md3"].size.get(), Some(Bytes::from_kib(7_118_330_880)));
    assert_eq!(machine.block["sda6"].partition_of.as_deref(), Some("sda"));
    let md0 = md(&machine, "md0");
    assert_eq!((md0.sync_action.value().map(String::as_str), md0.degraded.get()), (Some("idle"), Some(0)));
    assert_eq!(state(md0, "sda1"), "in_sync,write_mostly");
    assert_eq!(md0.chunk.get(), None);
}

#[test]
fn a_member_that_a_nas_marks_for_its_errors_is_a_member() {
    let machine = machine(
        "md2 : active raid5 sdb5[1] sda5[5](S) sde5[4](E) sdd5[3] sdc5[2]\n      \
           11702126592 blocks super 1.2 level 5, 64k chunk, algorithm 2 [5/4] [_UUUE]\n",
    );
    let md2 = md(&machine, "md2");
    assert_eq!((md2.degraded.get(), md2.members.len()), (Some(1), 5));
    assert_eq!((state(md2, "sde5"), state(md2, "sda5")), ("in_sync,write_error", "spare"));
}

#[test]
fn copies_spares_failures_and_states_are_told_apart() {
    let machine = machine(
        "md10 : active (auto-read-only) raid10 sdd[3] sdc[2](F) sdb[1] sda[0] sde[4](S)\n      \
           2096128 blocks super 1.2 512K chunks 2 near-copies [4/3] [UU_U]\n      \tresync=PENDING\n\
         md11 : active raid0 nvme1n1[1] nvme0n1[0]\n      2096128 blocks super 1.2 256k chunks\n\
         md12 : active raid10 sdg[1] sdf[0]\n      2096128 blocks 64K chunks 2 far-copies [2/2] [UU]\n      \
           [====>.]  check = 25.0% (524032/2096128) finish=0.1min speed=200000K/sec\n\
         md126 : inactive sdh[0](S)\n      1 blocks super external:imsm\n",
    );
    let md10 = md(&machine, "md10");
    assert_eq!((md10.layout.get(), md10.degraded.get()), (Some(0x102), Some(1)));
    assert_eq!((state(md10, "sdc"), state(md10, "sde")), ("faulty", "spare"));
    assert_eq!(md10.sync_action.value().map(String::as_str), Some("resync"));
    assert_eq!((md10.sync_done.get(), md10.sync_speed.get()), (None, None));
    let md11 = md(&machine, "md11");
    assert_eq!((md11.raid_disks.get(), md11.degraded.get()), (Some(2), None));
    assert_eq!(md(&machine, "md12").layout.get(), Some(0x201));
    assert_eq!(md(&machine, "md12").sync_done.get(), Some(0.25));
    assert_eq!(md(&machine, "md126").level.get(), None);
}

#[test]
fn lines_that_mail_broke_are_put_together() {
    let machine = machine(
        "md0 : active raid5 nvme11n1[11](S) nvme2n1[2]\nnvme1n1[1] nvme0n1[0]\n      \
         150007961600 blocks super 1.2 level 5, 128k chunk, algorithm 2\n[3/3] [UUU]\n",
    );
    let md0 = md(&machine, "md0");
    assert_eq!((md0.members.len(), md0.raid_disks.get()), (4, Some(3)));
}

/// An array of three and a spare that is being reshaped (mdadm 3.3), shortened.
const DETAIL: &str = "\
/dev/md127:
        Version : 1.2
     Raid Level : raid5
     Array Size : 3906885440 (3725.90 GiB 4000.65 GB)
  Used Dev Size : 3906885440 (3725.90 GiB 4000.65 GB)
   Raid Devices : 3
  Total Devices : 4
  Intent Bitmap : Internal
          State : clean, reshaping
 Active Devices : 3
         Layout : left-symmetric
     Chunk Size : 64K
 Reshape Status : 7% complete
           UUID : 00000000:00000000:00000000:00000000

    Number   Major   Minor   RaidDevice State
       0       8       65        0      active sync   /dev/sde1
       2       8       33        1      active sync writemostly   /dev/sdc1
       4       8       81        2      spare rebuilding   /dev/sdf1
       -       0        0        3      removed

       3       8       49        -      faulty   /dev/sdd1
";

#[test]
fn details_tell_what_mdstat_tells() {
    let machine = machine(DETAIL);
    let md = md(&machine, "md127");
    assert_eq!(md.level.value().map(String::as_str), Some("raid5"));
    assert_eq!((md.raid_disks.get(), md.degraded.get(), md.layout.get()), (Some(3), Some(0), Some(2)));
    assert_eq!(md.chunk.get(), Some(Bytes::from_kib(64)));
    assert_eq!(md.sync_action.value().map(String::as_str), Some("reshape"));
    assert_eq!(md.sync_done.get(), Some(0.07));
    assert_eq!(
        (state(md, "sdc1"), state(md, "sdf1"), state(md, "sdd1")),
        ("in_sync,write_mostly", "spare", "faulty")
    );
    assert_eq!(machine.block["md127"].size.get(), Some(Bytes::from_kib(3_906_885_440)));
}

#[test]
fn members_name_an_array_that_joins_the_kernels() {
    let member = |device: &str, role: &str| {
        format!(
            "/dev/{device}:\n          Magic : a92b4efc\n     Array UUID : 0:0:0:0\n           Name : nas:backup  (local \
             to host nas)\n     Raid Level : raid5\n   Raid Devices : 3\n     Chunk Size : 512K\n   Device Role : {role}\n   \
             Array State : A.A ('A' == active, '.' == missing, 'R' == replacing)\n"
        )
    };
    let examined = format!("{}{}", member("sda1", "Active device 0"), member("sdb1", "Active device 2"));
    let alone = machine(&examined);
    assert_eq!(md(&alone, "md/backup").degraded.get(), Some(1));
    assert_eq!(alone.block["md/backup"].slaves, ["sda1", "sdb1"]);
    let mut both =
        machine(&format!("md9 : active raid5 sdb1[2] sda1[0]\n      8 blocks super 1.2\n\n{examined}"));
    join::join(&mut both);
    assert_eq!(md(&both, "md9").degraded.get(), Some(1));
    assert!(!both.block.contains_key("md/backup"));
}

#[test]
fn other_texts_are_none() {
    for text in ["", "1024 blocks\n", "model : active\n", "/dev/md0:\nRaid Level\n"] {
        assert!(read(&Text::new("x", text.as_bytes())).kind.is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(
        members in "([a-z0-9]{1,6}\\[[0-9]{1,11}\\](\\([FSWJRX]\\))? ?){0,5}",
        blocks in "[0-9]{1,22} blocks [a-z0-9. ,]{0,20} \\[[0-9]{1,11}/[0-9]{1,11}\\]",
        sync in "(recovery|resync) ?=[ 0-9.%]{0,8}\\([0-9]{0,22}/[0-9]{0,22}\\) speed=[0-9]{0,12}K",
        detail in "(Raid Devices|Active Devices|Chunk Size|Layout|Reshape Status|Array Size) : [a-z0-9=%]{0,24}",
    ) {
        let _ = machine(&format!("md0 : active raid5 {members}\n  {blocks}\n  {sync}\n"));
        let _ = machine(&format!("/dev/md0:\n Raid Level : raid6\n {detail}\n"));
    }
}
