//! The tools whose results are read.

use serde::{Deserialize, Serialize};

/// The tool that measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// The Flexible I/O Tester.
    Fio,
    /// dd of coreutils, busybox or a BSD.
    Dd,
    /// `hdparm -t` and `-T`.
    Hdparm,
    /// KDiskMark.
    Kdiskmark,
    /// CrystalDiskMark.
    Crystaldiskmark,
    /// Microsoft's diskspd.
    Diskspd,
    /// IOzone.
    Iozone,
    /// IOR.
    Ior,
    /// elbencho.
    Elbencho,
    /// bonnie++.
    Bonnie,
    /// `cryptsetup benchmark`.
    Cryptsetup,
    /// Vdbench.
    Vdbench,
    /// IO500, whose phases are those of IOR and mdtest.
    Io500,
    /// GNOME Disks.
    Gnomedisks,
    /// Yet Another Bench Script.
    Yabs,
    /// NVIDIA's nvbandwidth.
    Nvbandwidth,
    /// rsync, cp and mv.
    Copy,
    /// `rados bench` of Ceph.
    Radosbench,
    /// dbench.
    Dbench,
    /// bench.sh of teddysun, and scripts that print the same table.
    Benchsh,
    /// nench.
    Nench,
    /// iperf3: a network, no storage.
    Iperf3,
    /// `sysbench fileio`.
    Sysbench,
    /// mdtest.
    Mdtest,
    /// pveperf of Proxmox VE.
    Pveperf,
    /// ioping.
    Ioping,
    /// f3write, f3read and f3probe.
    F3,
    /// `t/io_uring` of fio.
    Iouring,
    /// `iostat -x` by itself: what devices did under a load that is not told.
    Iostat,
    /// `zpool iostat` by itself.
    Zpooliostat,
    /// `btrfs scrub`.
    Btrfsscrub,
    /// fs_mark.
    Fsmark,
    /// `winsat disk` of Windows.
    Winsat,
    /// HD Tune.
    Hdtune,
    /// `spdk_nvme_perf` and `bdevperf` of SPDK.
    Spdk,
    /// `gdsio` of NVIDIA's GPUDirect Storage.
    Gdsio,
    /// `pg_test_fsync` of PostgreSQL.
    Pgtestfsync,
    /// AS SSD Benchmark.
    Asssd,
    /// narrows itself: what it saved as JSON.
    Narrows,
}

impl Tool {
    /// Its name as its makers write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Dd => "dd",
            Self::Hdparm => "hdparm",
            Self::Kdiskmark => "KDiskMark",
            Self::Crystaldiskmark => "CrystalDiskMark",
            Self::Diskspd => "diskspd",
            Self::Iozone => "IOzone",
            Self::Ior => "IOR",
            Self::Elbencho => "elbencho",
            Self::Bonnie => "bonnie++",
            Self::Cryptsetup => "cryptsetup benchmark",
            Self::Vdbench => "Vdbench",
            Self::Io500 => "IO500",
            Self::Gnomedisks => "GNOME Disks",
            Self::Yabs => "YABS",
            Self::Nvbandwidth => "nvbandwidth",
            Self::Copy => "copy",
            Self::Radosbench => "rados bench",
            Self::Dbench => "dbench",
            Self::Benchsh => "bench.sh",
            Self::Nench => "nench",
            Self::Iperf3 => "iperf3",
            Self::Sysbench => "sysbench fileio",
            Self::Mdtest => "mdtest",
            Self::Pveperf => "pveperf",
            Self::Ioping => "ioping",
            Self::F3 => "f3",
            Self::Iouring => "t/io_uring",
            Self::Iostat => "iostat",
            Self::Zpooliostat => "zpool iostat",
            Self::Btrfsscrub => "btrfs scrub",
            Self::Fsmark => "fs_mark",
            Self::Winsat => "winsat disk",
            Self::Hdtune => "HD Tune",
            Self::Spdk => "SPDK perf",
            Self::Gdsio => "gdsio",
            Self::Pgtestfsync => "pg_test_fsync",
            Self::Asssd => "AS SSD",
            Self::Narrows => "narrows",
        }
    }
}
