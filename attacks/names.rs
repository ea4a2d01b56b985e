//! Names that people gave, in everything that is read: none may come out of what is made to be shared.

use std::fs;

use super::attack::{Attack, Class, Judge, Result};
use super::ground::{Ground, text};
use super::narrows::Run;
use super::tool;

/// What machines tell. Each `@` is the place of a name.
const CAPTURES: [&str; 9] = [
    "lsblk.txt=$ lsblk\nNAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 1T 0 disk\n├─sda1 8:1 0 500G 0 part\n│ └─@-@ 254:0 0 500G 0 lvm /mnt/@\n└─sda2 8:2 0 500G 0 part\n  └─@ 254:1 0 500G 0 crypt /srv/@\nsdb 8:16 0 1T 0 disk\n└─@ 254:2 0 1T 0 mpath /@\nsdc 8:32 0 1T 0 disk\n└─md127 9:127 0 1T 0 raid1 /@/@\n",
    "lvs.txt=# lvs\n  LV VG Attr LSize\n  @ @ -wi-ao---- 17.00g\n  @ @ -wi-ao---- 17.00g\n# pvs\n  PV VG Fmt Attr PSize PFree\n  /dev/sda1 @ lvm2 a-- 931.01g 0\n",
    "mounts.txt=$ cat /proc/mounts\n/dev/mapper/@-@ /mnt/@ ext4 rw 0 0\n/dev/sdd1 /home/@ xfs rw 0 0\n@:/@ /mnt/@ nfs4 rw,addr=10.1.2.3,vers=4.2 0 0\n//@/@ /mnt/@ cifs rw,username=@,domain=@ 0 0\n10.9.8.7:6789:/@ /mnt/@ ceph rw,name=@,secret=@ 0 0\n@@a1b2.@=/@ /mnt/@ ceph rw 0 0\n@:/@ /mnt/@ fuse.glusterfs rw 0 0\n@:@ /mnt/@ fuse.rclone rw 0 0\n@ /mnt/@ 9p rw,trans=virtio 0 0\n@ /mnt/@ virtiofs rw 0 0\n@:@ /mnt/@ fuse.mergerfs rw 0 0\n@ /mnt/@ fuse.s3fs rw 0 0\n@ /gpfs/@ gpfs rw,dev=@ 0 0\nbeegfs_@ /mnt/@ beegfs rw,cfgFile=/etc/@ 0 0\n@/@ /@ zfs rw 0 0\n@@@:/@ /mnt/@ fuse.sshfs rw,user_id=0 0 0\n",
    "zpool.txt=  pool: @\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\t@ ONLINE 0 0 0\n\t  sdd1 ONLINE 0 0 0\n\t  @ ONLINE 0 0 3\n\nerrors: /@/@\n",
    "mdadm.txt=/dev/md/@:\n Version : 1.2\n Raid Level : raid1\n Array Size : 976630464 (931.39 GiB)\n Raid Devices : 2\n State : clean, degraded\n Name : @:@\n Number Major Minor RaidDevice State\n 0 8 32 0 active sync /dev/sdc\n",
    "ip.txt=2: @: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq master @ state UP\n    link/ether 52:54:00:aa:bb:cc brd ff:ff:ff:ff:ff:ff\n    alias @\n    inet 10.1.2.9/24 scope global @\n",
    "multipath.txt=@ (360002ac0000000000000001200023a5b) dm-2 @,@\nsize=1.0T features='0' hwhandler='1 alua' wp=rw\n`-+- policy='service-time 0' prio=50 status=active\n  `- 1:0:0:1 sdb 8:16 active ready running\n",
    "dmesg.txt=[    1.0] Linux version 6.1.0 (@@@) #1 SMP\n[    1.1] Command line: root=/dev/mapper/@-@ hostname=@\n[    2.0] EXT4-fs (dm-0): mounted filesystem, label @\n[    2.1] @ e1000e 0000:00:19.0 @: NIC Link is Up 100 Mbps Full Duplex\n[    3.0] blk_update_request: I/O error, dev @, sector 2048\n[    3.1] nfs: server @ not responding, timed out\n[    3.2] device-mapper: @: multipath @ failed\n[    4.0] XFS (@): metadata I/O error in @\n[    5.0] usb 1-1: Product: @\n[    5.1] scsi 0:0:0:0: Direct-Access LIO-ORG @ 4.0\n",
    "lsscsi.txt=[0:0:0:0] disk LIO-ORG @ 4.0 /dev/sdb\n",
];

/// What programs measured.
const RESULTS: [&str; 9] = [
    r#"fio.json={"fio version":"fio-3.33","global options":{"directory":"/mnt/@"},"client_stats":[{"jobname":"@","hostname":"@","error":0,"job options":{"rw":"read","bs":"1m","filename":"/mnt/@/@","name":"@"},"read":{"io_bytes":1000000000,"bw_bytes":100000000,"iops":100.0,"runtime":10000,"total_ios":1000}},{"jobname":"All clients","error":0,"read":{"io_bytes":1000000000,"bw_bytes":100000000,"iops":100.0,"runtime":10000,"total_ios":1000}}]}"#,
    r#"jobs.json={"fio version":"fio-3.33","jobs":[{"jobname":"@","hostname":"@","error":5,"job options":{"rw":"randread","bs":"4k","filename":"/home/@/@","description":"@"},"read":{"io_bytes":1000000,"bw_bytes":1000000,"iops":1.0,"runtime":1000,"total_ios":1}}],"disk_util":[{"name":"@","util":99.0}]}"#,
    "fio.txt=@: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=libaio, iodepth=8\nfio-3.33\nfio: pid=7, err=5/file:@.c:1, func=@, error=Input/output error\n\n@: (groupid=0, jobs=1): err= 5 (file:/mnt/@): pid=7: Mon Jan 1 00:00:00 2024\n  read: IOPS=100, BW=100MiB/s (105MB/s)(1000MiB/10000msec)\n\nDisk stats (read/write):\n  @: ios=1000/0, merge=0/0, ticks=100/0, in_queue=100, util=99.00%\n",
    "dd.txt=@@@:~$ dd if=/mnt/@/@ of=/dev/null bs=1M count=1000 iflag=direct\n1000+0 records in\n1000+0 records out\n1048576000 bytes (1.0 GB, 1000 MiB) copied, 2.5 s, 419 MB/s\n",
    "hdparm.txt=[root@@ @]# hdparm -t /dev/mapper/@\n\n/dev/mapper/@:\n Timing buffered disk reads: 300 MB in 3.00 seconds = 100.00 MB/sec\n",
    r#"iperf.json={"start":{"connecting_to":{"host":"@","port":5201},"version":"iperf 3.12","system_info":"Linux @ 6.1.0","test_start":{"protocol":"TCP","num_streams":1,"duration":10}},"title":"@","end":{"sum_sent":{"seconds":10.0,"bytes":1000000000,"bits_per_second":800000000,"sender":true},"sum_received":{"seconds":10.0,"bytes":1000000000,"bits_per_second":800000000}}}"#,
    "bonnie.txt=Version  1.98       ------Sequential Output------ --Sequential Input- --Random-\nName:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n@       16G  500k  99  200m  20  100m  10  900k  99  300m  15  500   5\n",
    "diskspd.txt=\nCommand Line: diskspd -b4K -d10 -o8 -t1 -r -Sh C:\\@\\@.dat\n\nInput parameters:\n\n\ttimespan:   1\n\t-------------\n\tduration: 10s\n\tpath: 'C:\\@\\@.dat'\n\nSystem information:\n\n\tcomputer name: @\n\nTotal IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file\n-----------------------------------------------------\n     0 |     1000000000 |       244140 |      95.37 |   24414.00 | C:\\@\\@.dat (1GiB)\n-----------------------------------------------------\ntotal:       1000000000 |       244140 |      95.37 |   24414.00\n",
    "iostat.txt=Linux 6.1.0 (@) \t01/01/24 \t_x86_64_\t(8 CPU)\n\nDevice r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util\n@ 100.00 100000.00 0.00 0.00 1.00 1000.00 0.00 0.00 0.00 0.00 0.00 0.00 1.00 99.00\n",
];

/// All of them.
pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new(Class::Names, "200 names in what is read", read).quick(),
        Attack::new(Class::Names, "names that this machine has", live).quick(),
    ]
}

/// A name of the kinds that people give, and the part of it that is a word of nobody else.
fn name(number: usize) -> (String, String) {
    let letter = |at: usize| char::from(b"bdfghjklmp"[at % 10]);
    let core: String = ['z', 'q', letter(number), letter(number / 10), letter(number / 100)].iter().collect();
    let forms =
        ["vg_#", "#-swap", "#7", "mpath#", "nvme_#", "#.lan", "ü#", "crypt-#", "dm_#_e1000", "5#", "#"];
    (forms[number % 11].replace('#', &core), core)
}

/// A text with a name in each of its places; the next name, and all of them again after the last.
fn filled(template: &str, next: &mut usize) -> String {
    let mut parts = template.split('@');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.extend([name(*next % 200).0.as_str(), part]);
        *next += 1;
    }
    out
}

fn nobody(judge: &mut Judge, said: &str, when: &str) {
    let said = said.to_lowercase();
    let told: Vec<String> =
        (0..200).map(name).filter(|(_, core)| said.contains(core)).map(|(name, _)| name).collect();
    judge.that(told.is_empty(), || format!("{when}: {told:?}"));
}

fn read(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let mut next = 0;
    for round in 0..2 {
        let (captures, results) = (ground.directory("captures")?, ground.directory("results")?);
        for (place, texts) in [(&captures, &CAPTURES[..]), (&results, &RESULTS[..])] {
            for (file, template) in texts.iter().filter_map(|text| text.split_once('=')) {
                // Together they are one machine; alone each has a report of its own.
                let alone = ground.path(file);
                for path in [&place.join(file), &alone] {
                    fs::write(path, filled(template, &mut next))?;
                }
                let answer = Run::new(ground, &[text(&alone)?, "--plain"]).answer()?;
                nobody(judge, &answer.out, &format!("{file} alone"));
            }
        }
        let (captures, results) = (text(&captures)?, text(&results)?);
        let pair = [format!("{results}/fio.json"), format!("{results}/jobs.json")];
        let from = [captures];
        let all = [&from[..], &[results], &["compare", &pair[0], &pair[1]]];
        let ways: [&[&str]; 2] = [&["--plain"], &["--html", "-"]];
        let shown = ways.iter().flat_map(|how| all.iter().map(|what| [what, *how].concat()));
        for words in shown.chain([[&from[..], &["--reply"]].concat()]) {
            let answer = Run::new(ground, &words).answer()?;
            answer.must_be_orderly(judge, words[0]);
            nobody(judge, &answer.out, &format!("round {round}, {}", words.join(" ")));
        }
    }
    judge.that(next >= 200, || format!("only {next} places have names"));
    Ok(())
}

/// Names of a mount, its source and an interface, in a snapshot of this machine in namespaces of its own.
fn live(ground: &Ground, judge: &mut Judge) -> Result<()> {
    tool::needs(&["unshare", "zstd", "ip"])?;
    let script = "ip link add NAME type dummy; mount -t sysfs s /sys; mount -t tmpfs NAME /mnt; mkdir /mnt/NAME; \
        mount -t tmpfs NAME_NAME /mnt/NAME; \"$NARROWS\" snapshot -o \"$1\"; zstd -dc \"$1\" | tr -d '\\000'";
    for (name, _) in [1, 3, 8].map(name) {
        let out = ground.path("snapshot.tar.zst");
        let script = script.replace("NAME", &name);
        let answer =
            Run::through(ground, "unshare -mn sh -c \"$2\" sh \"$1\"", &[text(&out)?, &script]).answer()?;
        judge.that(answer.out.contains("mountinfo"), || format!("no snapshot: {}", answer.short()));
        nobody(judge, &answer.out, "snapshot");
    }
    Ok(())
}
