//! What stands beside results: main memory, what the medium is called, counters of the storage during the run, logs of
//! the rate. People write such things above and below a result; they are evidence, of the weight of a remark.

use std::collections::BTreeMap;

use narrows_base::units::{Bytes, BytesPerSec};

use super::devices::Device;
use super::number::{Base, count, plain, scaled, size};
use super::{Op, Page, Spread, remarks, yabs};

pub use super::fio::Log;

/// What was found, in all texts that were given together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surroundings {
    /// Main memory, with its source.
    pub memory: Option<(Bytes, String)>,
    /// Words that name what the storage is, with their source.
    pub words: Vec<(Word, String)>,
    /// Bytes per second that a ZFS pool read and wrote: the mean of the intervals in which it did anything.
    pub pool: Option<Pool>,
    /// What block devices did, by `iostat`.
    pub devices: Vec<Device>,
    /// The share of reads that ZFS answered from memory, with its source.
    pub arc_hits: Option<(f64, String)>,
    /// Logs of fio.
    pub logs: Vec<Log>,
    /// Sections of fio job files: options by name, those of `global` included.
    pub jobs: BTreeMap<String, BTreeMap<String, String>>,
    /// Rates that a sentence gives for a client of NFS, with their sources: `With nconnect=4, 15GB/s`.
    pub remote: Vec<(BytesPerSec, String)>,
    /// What an array or pool was busy with, with its source.
    pub resync: Option<(String, String)>,
    /// How fast the wire is that is named, with its source.
    pub wire: Option<(BytesPerSec, String)>,
    /// Limits that were set for a volume, a group of processes or a guest.
    pub caps: Vec<Cap>,
    /// Drives that are named, by their names in the catalogue, with their sources.
    pub drives: Vec<(String, String)>,
}

/// A limit that something was told to keep to.
#[derive(Debug, Clone, PartialEq)]
pub struct Cap {
    /// What it is of.
    pub op: Op,
    /// Whether I/Os are counted, not bytes.
    pub counts_ios: bool,
    /// Bytes or I/Os per second.
    pub limit: f64,
    /// As it stands there: `wbps=10485760`.
    pub text: String,
    /// Where.
    pub source: String,
}

/// How limits are written, what they are of, whether they count I/Os, and their unit: `io.max` of control groups
/// (`Documentation/admin-guide/cgroup-v2.rst`), QEMU's `throttling`, drives of Proxmox VE (`qm(1)`, in MiB), and units of systemd (`systemd.resource-control(5)`, suffixes of 1000).
const CAPS: [(&str, Op, bool, f64); 16] = [
    ("rbps=", Op::Read, false, 1.0),
    ("wbps=", Op::Write, false, 1.0),
    ("riops=", Op::Read, true, 1.0),
    ("wiops=", Op::Write, true, 1.0),
    ("throttling.bps-read=", Op::Read, false, 1.0),
    ("throttling.bps-write=", Op::Write, false, 1.0),
    ("throttling.iops-read=", Op::Read, true, 1.0),
    ("throttling.iops-write=", Op::Write, true, 1.0),
    ("mbps_rd=", Op::Read, false, 1_048_576.0),
    ("mbps_wr=", Op::Write, false, 1_048_576.0),
    ("iops_rd=", Op::Read, true, 1.0),
    ("iops_wr=", Op::Write, true, 1.0),
    ("IOReadBandwidthMax=", Op::Read, false, 1.0),
    ("IOWriteBandwidthMax=", Op::Write, false, 1.0),
    ("IOReadIOPSMax=", Op::Read, true, 1.0),
    ("IOWriteIOPSMax=", Op::Write, true, 1.0),
];

/// The limits in a line.
fn caps<'l>(line: &'l str, source: &str) -> impl Iterator<Item = Cap> + use<'l> {
    let source = source.to_owned();
    let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';')).peekable();
    std::iter::from_fn(move || {
        loop {
            let word = words.next()?;
            let Some((of, value)) = CAPS.iter().find_map(|of| Some((of, word.strip_prefix(of.0)?))) else {
                continue;
            };
            // systemd names the device first.
            let value =
                if value.starts_with('/') { words.peek().copied().unwrap_or_default() } else { value };
            let (_, op, counts_ios, unit) = *of;
            let limit = scaled(value, Base::Decimal).map(|limit| limit * unit);
            if let Some(limit) = limit.filter(|limit| *limit > 0.0) {
                return Some(Cap { op, counts_ios, limit, text: word.to_owned(), source: source.clone() });
            }
        }
    })
}

/// What a word says of the storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// Disks that turn: `7200 RPM`, `HDD`.
    Rotating,
    /// A file system or disk in memory.
    Memory,
    Zfs,
    /// Storage behind a network: NFS, iSCSI, a filer.
    Network,
    /// A protocol of storage behind a network: NFS, iSCSI, SMB.
    RemoteStorage,
    /// Encryption in the path.
    Encrypted,
    /// Something else was running.
    Shared,
    /// Flash: reading a page of it takes some 50 µs.
    Nand,
    /// 3D XPoint, which answers in some 10 µs.
    Optane,
    Nvme,
    Sata,
    /// USB, of any speed.
    Usb,
    /// USB at 480 Mbit/s.
    Usb2,
    /// Several drives together.
    Array,
    /// A file system that is known to ignore O_DIRECT: one in user space.
    IgnoresDirect,
    /// A file system or layer that compresses.
    Compresses,
    /// Addresses that hold nothing: sparse files, thin volumes.
    Sparse,
    /// A data set of ZFS that keeps no data in memory.
    NoArc,
    /// A file system that is told not to make its writes durable: `barrier=0`.
    NoBarrier,
    /// Linux within Windows, whose drives are at `/mnt/c`.
    Wsl,
}

/// What a ZFS pool moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    pub name: String,
    /// Bytes read per second, the median of the busy intervals.
    pub read: BytesPerSec,
    /// Bytes written per second.
    pub write: BytesPerSec,
    /// Where it stands.
    pub source: String,
}

impl Surroundings {
    /// Adds what one text tells.
    pub fn see(&mut self, page: &Page<'_>) {
        if let Some(log) = Log::of_page(page) {
            self.logs.push(log);
            return;
        }
        self.memory = self.memory.take().or_else(|| memory(page)).or_else(|| of_yabs(page));
        self.memory = self.memory.take().or_else(|| remarks::memory(page));
        self.resync = self.resync.take().or_else(|| remarks::resync(page));
        self.wire = self.wire.take().or_else(|| remarks::wire(page));
        if self.has(Word::Shared).is_none() {
            self.words.extend(remarks::other_work(page).map(|source| (Word::Shared, source)));
        }
        self.pool = self.pool.take().or_else(|| super::devices::read_zpool(page));
        self.arc_hits = self.arc_hits.take().or_else(|| arc_hits(page));
        self.devices.extend(super::devices::read_iostat(page));
        jobs(page, &mut self.jobs);
        self.drives.extend(remarks::drives(page));
        self.words(page);
    }

    /// Where a word was found.
    pub fn has(&self, word: Word) -> Option<&str> {
        self.words.iter().find(|(known, _)| *known == word).map(|(_, source)| source.as_str())
    }

    fn words(&mut self, page: &Page<'_>) {
        for (number, line) in remarks::remarks(page) {
            let lower = line.to_lowercase();
            // Every report of CrystalDiskMark explains its unit with `SATA/600`.
            if lower.contains("bytes/s [sata") {
                continue;
            }
            if lower.contains("nconnect")
                && !lower.contains('?')
                && self.remote.len() < MOST_REMARKS
                && let Some(rate) = stated_rate(line)
            {
                self.remote.push((rate, page.source(number)));
            }
            let left = MOST_REMARKS.saturating_sub(self.caps.len());
            self.caps.extend(caps(line, &page.source(number)).take(left));
            for (word, marks) in WORDS {
                let is_bus = matches!(word, Word::Usb | Word::Usb2 | Word::Sata);
                let is_said =
                    |mark: &&str| contains_word(&lower, mark) && !(is_bus && counts_several(&lower, mark));
                if self.has(*word).is_none() && marks.iter().any(is_said) {
                    self.words.push((*word, page.source(number)));
                }
            }
        }
    }
}

/// A file of jobs has fewer lines and sections.
const MOST_LINES: usize = 2000;

/// So many remarks of one kind are kept.
const MOST_REMARKS: usize = 64;

/// The rate that ends a sentence: `I got 4GB/s`, `15.8 GB/s`.
fn stated_rate(line: &str) -> Option<BytesPerSec> {
    let at = ["GB/s", "MB/s", "GiB/s", "MiB/s"].iter().find_map(|unit| line.find(unit))?;
    let before = line.get(..at)?.trim_end();
    let digits = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
    // A number ends at a character of one byte: digits are; what stands before them need not be.
    let number = before.get(digits..).or_else(|| before.split_whitespace().last())?;
    super::number::rate(&format!("{number}{}", line.get(at..)?), Base::Decimal)
}

/// Words that name a kind of storage, in lower case.
const WORDS: &[(Word, &[&str])] = &[
    (Word::Wsl, &["wsl", "wsl1", "wsl2"]),
    (
        Word::NoArc,
        &["primarycache=metadata", "primarycache=none", "primarycache metadata", "primarycache none"],
    ),
    (
        Word::Rotating,
        &[
            "rpm",
            "hdd",
            "hdds",
            "wd red",
            "wd80efax",
            "ironwolf",
            "barracuda",
            "exos",
            "4xhdd",
            "hard disk",
            "hard disks",
            "hard drive",
            "hard drives",
            "spinning",
        ],
    ),
    (Word::NoBarrier, &["barrier=0", "nobarrier"]),
    (Word::Memory, &["ramdisk", "ram disk", "ramdrive", "ram drive", "in arc"]),
    (Word::Zfs, &["zpool", "zfs", "raidz", "raidz1", "raidz2", "raidz3", "zvol", "truenas", "slog"]),
    (
        Word::Network,
        &[
            "nfs",
            "iscsi",
            "smb",
            "samba",
            "cifs",
            "filer",
            "gige",
            "gbe",
            "1gbe",
            "10gbe",
            "25gbe",
            "40gbe",
            "100gbe",
            "gigabit lan",
            "gigabit network",
            "nvme-of",
            "nvme/tcp",
            "nvmf",
        ],
    ),
    (
        Word::RemoteStorage,
        &["nfs", "nfsv4", "nfs4", "iscsi", "smb", "samba", "cifs", "nvme-of", "nvme/tcp", "nvmf"],
    ),
    // `crypt` is a type of `lsblk`.
    (Word::Encrypted, &["luks", "dm-crypt", "crypt", "bitlocker", "veracrypt"]),
    (
        Word::Nand,
        &[
            "ssd", "ssds", "nand", "tlc", "qlc", "mlc", "970 evo", "970 pro", "980 pro", "990 pro",
            "860 evo", "870 evo", "860 pro", "sn550", "sn770", "sn850", "sn850x", "mx500", "p5 plus",
            "pm1733", "pm983", "pm9a3", "kc3000",
        ],
    ),
    (Word::Optane, &["optane", "xpoint", "900p", "905p", "p4800x", "p5800x", "p1600x", "pmem"]),
    (Word::Nvme, &["nvme", "nvme0n1", "nvme1n1", "nvme2n1", "m.2", "u.2"]),
    (Word::Sata, &["sata", "sata3"]),
    (Word::Usb, &["usb", "usb3"]),
    (Word::Usb2, &["usb 2.0", "usb2", "usb2.0", "usb 2"]),
    (
        Word::Array,
        &[
            "raid", "raid0", "raid1", "raid5", "raid6", "raid10", "raidz", "raidz1", "raidz2", "raidz3",
            "draid", "mirror", "mirrors", "stripe", "striped", "array", "pool", "jbod", "md0", "md1",
            "md127", "vdev", "vdevs", "bays", "cluster", "ceph", "san",
        ],
    ),
    (
        Word::IgnoresDirect,
        &[
            "ntfs-3g",
            "ntfs3g",
            "fuseblk",
            "sshfs",
            "mergerfs",
            "gocryptfs",
            "encfs",
            "exfat-fuse",
            "via fuse",
        ],
    ),
    (
        Word::Compresses,
        &["compression=lz4", "compression=zstd", "compress=zstd", "compress=lzo", "compress-force"],
    ),
    (
        Word::Sparse,
        &[
            "sparse",
            "truncate -s",
            "thin provisioned",
            "thin-provisioned",
            "never written",
            "unwritten",
            "thin volume",
            "lvcreate -v",
            "fallocate -l",
            "holes",
        ],
    ),
];

/// Whether a number of them stands before the mark, `4x USB 2.0`: ports of a board, or several drives.
fn counts_several(line: &str, mark: &str) -> bool {
    let Some((before, _)) = line.split_once(mark) else { return false };
    let before = before.trim_end();
    let number = before.strip_suffix(['x', '×']).map(str::trim_end);
    number.is_some_and(|number| number.ends_with(|c: char| c.is_ascii_digit()))
}

/// Whether a mark stands in a line as a word of its own.
pub(super) fn contains_word(line: &str, mark: &str) -> bool {
    line.match_indices(mark).take(8).any(|(at, _)| {
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + mark.len()..).and_then(|text| text.chars().next());
        let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        is_edge(before) && is_edge(after)
    })
}

/// The sections of a fio job file: `[global]` holds for those below it, `;` and `#` begin comments (HOWTO, "Job file
/// format"). A text without a fio option in it is none.
fn jobs(page: &Page<'_>, known: &mut BTreeMap<String, BTreeMap<String, String>>) {
    let is_option =
        |line: &str| ["rw=", "readwrite=", "ioengine=", "iodepth="].iter().any(|o| line.starts_with(o));
    if !page.body.contains('[') || !page.lines().any(|(_, line)| is_option(line.trim())) {
        return;
    }
    let mut global = BTreeMap::new();
    let mut section: Option<String> = None;
    for (_, line) in page.lines().take(MOST_LINES) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = Some(name.to_owned());
            if name != "global" && known.len() < MOST_LINES {
                known.insert(name.to_owned(), global.clone());
            }
            continue;
        }
        let Some(section) = section.as_deref().filter(|_| !line.is_empty() && !line.starts_with([';', '#']))
        else {
            continue;
        };
        let (name, value) = line.split_once('=').unwrap_or((line, "1"));
        if name.contains(char::is_whitespace) && !line.contains('=') {
            continue;
        }
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        match section {
            "global" => global.insert(name, value),
            section => known.get_mut(section).and_then(|options| options.insert(name, value)),
        };
    }
}

/// `Mem:            62Gi        32Gi`, `MemTotal:       65536 kB`.
fn memory(page: &Page<'_>) -> Option<(Bytes, String)> {
    page.lines().find_map(|(number, line)| {
        let bytes = if let Some(rest) = line.trim().strip_prefix("Mem:") {
            let word = rest.split_whitespace().next()?;
            // Without a unit `free` counts KiB; with -m, MiB, which no machine has 65536 of as KiB.
            if word.bytes().all(|byte| byte.is_ascii_digit()) {
                let count: u64 = word.parse().ok()?;
                if count < 1 << 17 { Bytes::from_mib(count) } else { Bytes::from_kib(count) }
            } else {
                size(word, Base::Binary)?
            }
        } else {
            let rest = line.trim().strip_prefix("MemTotal:")?;
            Bytes::from_kib(count(rest)?)
        };
        Some((bytes, page.source(number)))
    })
}

/// What YABS says of the machine above its table, or in its JSON.
fn of_yabs(page: &Page<'_>) -> Option<(Bytes, String)> {
    let (memory, line) = yabs::memory_of_text(page).or_else(|| yabs::memory_of_json(page))?;
    Some((memory, page.source(line)))
}

/// `arcstat`: the column `hit%`, the mean of the lines with many reads.
fn arc_hits(page: &Page<'_>) -> Option<(f64, String)> {
    let mut column = None;
    let mut shares: Vec<f64> = Vec::new();
    let mut last = 0;
    for (number, line) in page.lines() {
        let cells: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = cells.iter().position(|cell| *cell == "hit%") {
            column = Some((at, cells.iter().position(|cell| *cell == "miss")));
            continue;
        }
        let Some((at, Some(miss))) = column else { continue };
        let share = cells.get(at).and_then(|cell| plain(cell));
        let misses = cells.get(miss).and_then(|cell| size(cell, Base::Decimal)).map(Bytes::get);
        if let (Some(share), Some(100..)) = (share, misses) {
            shares.push(share / 100.0);
            last = number;
        }
    }
    Spread::of(&shares).map(|all| (all.mean, page.source(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, body: &str) -> Surroundings {
        let mut all = Surroundings::default();
        all.see(&Page { name, body });
        all
    }

    #[test]
    fn limits_are_read_where_they_are_set() {
        let body = "$ echo \"8:16 wbps=10485760 wiops=max\" > io.max\nscsi0: local:vm-1,iops_rd=500,mbps_wr=20,size=32G\n\
            IOReadBandwidthMax=/dev/sda 10M\nrbps=max\n";
        let mut all = Surroundings::default();
        all.see(&Page { name: "x", body });
        let found: Vec<(Op, bool, f64)> =
            all.caps.iter().map(|cap| (cap.op, cap.counts_ios, cap.limit)).collect();
        let expected = [
            (Op::Write, false, 10_485_760.0),
            (Op::Read, true, 500.0),
            (Op::Write, false, 20.0 * 1_048_576.0),
            (Op::Read, false, 10e6),
        ];
        assert_eq!(found, expected);
        assert_eq!((all.caps[0].text.as_str(), all.caps[0].source.as_str()), ("wbps=10485760", "x:1"));
    }

    #[test]
    fn rates_of_clients_are_told_in_sentences() {
        let all = seen("notes.txt", "Without nconnect option I got 4GB/s\nWith nconnect=8, 15.8 GB/s\n");
        assert_eq!(all.remote.iter().map(|(rate, _)| rate.get()).collect::<Vec<_>>(), [4e9, 15.8e9]);
    }

    #[test]
    fn words_are_words() {
        let all = seen("config.txt", "Four disks, 7200 RPM\nchdds\nover NFS.\n");
        assert_eq!(all.has(Word::Rotating), Some("config.txt:1"));
        assert_eq!(all.has(Word::Network), Some("config.txt:3"));
        assert_eq!(all.has(Word::Memory), None);
    }

    #[test]
    fn ports_of_a_board_are_no_bus_of_what_was_measured() {
        let ports = seen("x", "4x USB 2.0\n2 x SATA\n");
        assert_eq!([Word::Usb, Word::Usb2, Word::Sata].map(|word| ports.has(word)), [None; 3]);
        assert_eq!(seen("x", "a stick, USB 2.0\n").has(Word::Usb2), Some("x:1"));
    }

    #[test]
    fn memory_is_told_by_free_and_meminfo() {
        assert_eq!(
            seen("x", "Mem:            62Gi   32Gi\n").memory.map(|(size, _)| size),
            Some(Bytes::new(62 << 30))
        );
        assert_eq!(seen("x", "Mem:  16384  1\n").memory.map(|(size, _)| size), Some(Bytes::new(16 << 30)));
        assert_eq!(seen("x", "MemTotal: 1024 kB\n").memory.map(|(size, _)| size), Some(Bytes::from_mib(1)));
    }

    #[test]
    fn a_pool_is_the_median_of_its_busy_intervals() {
        let row = |read: &str| {
            format!("tank   111G  54.9T      1  3.68K  {read}   5M\n  sdd   -  -  0  434  14.6K  98.5M\n")
        };
        let body = format!(
            "  capacity     operations     bandwidth \n{}{}{}{}{}",
            row("9G"),
            row("0"),
            row("100M"),
            row("102M"),
            row("101M")
        );
        let pool = seen("z", &body).pool.expect("a pool");
        assert_eq!(pool.read.get(), 101.0 * 1_048_576.0);
    }
}
