//! Storage stacks of captured machines: from what people paste to what limits them.

#![expect(clippy::expect_used, reason = "a test may panic")]

use narrows::capture::{Text, merge, parts};
use narrows::machine::Machine;
use narrows::path::{Target, build};
use narrows::verdict::{self, Code, Severity, Subject, Verdict};

fn machine(files: &[(&str, &str)]) -> Machine {
    let texts = files.iter().map(|(name, content)| Text::new(*name, content.as_bytes()));
    merge::merge(texts.flat_map(|text| parts(&text)).collect())
}

fn judge(machine: &Machine) -> Verdict {
    let subjects: Vec<Subject> = build::all(machine).into_iter().map(Subject::of).collect();
    verdict::judge(machine, &subjects)
}

fn has(verdict: &Verdict, code: Code, severity: Severity) -> bool {
    verdict.findings.iter().any(|finding| finding.code == code && finding.severity == severity)
}

/// The hops of the path to a mount, from the application on.
fn hops(machine: &Machine, point: &str) -> Vec<String> {
    let index = machine.mounts.iter().position(|mount| mount.point == point).expect("is mounted");
    let target = Target::Mount { index, path: String::new() };
    let path = build::path(machine, &target).expect("leads somewhere");
    path.hops.iter().map(|hop| hop.id.to_string()).collect()
}

/// The layout of sosreport: every file holds one output and is named for it. Hand-made, of the outputs of RHEL 9.
const SOS: &[(&str, &str)] = &[
    (
        "sosreport-x/sos_commands/block/lsblk_-O_-P",
        "NAME=\"nvme0n1\" KNAME=\"nvme0n1\" MAJ:MIN=\"259:0\" SIZE=\"1.8T\" TYPE=\"disk\" TRAN=\"nvme\" MODEL=\"DRIVE\" ROTA=\"0\"\n\
         NAME=\"nvme0n1p3\" KNAME=\"nvme0n1p3\" PKNAME=\"nvme0n1\" MAJ:MIN=\"259:3\" SIZE=\"1.8T\" TYPE=\"part\"\n\
         NAME=\"luks-1\" KNAME=\"dm-0\" PKNAME=\"nvme0n1p3\" MAJ:MIN=\"253:0\" SIZE=\"1.8T\" TYPE=\"crypt\"\n\
         NAME=\"rhel-home\" KNAME=\"dm-1\" PKNAME=\"dm-0\" MAJ:MIN=\"253:1\" SIZE=\"1.7T\" TYPE=\"lvm\"\n\
         NAME=\"sda\" KNAME=\"sda\" MAJ:MIN=\"8:0\" SIZE=\"9.1T\" TYPE=\"disk\" TRAN=\"sata\" ROTA=\"1\"\n\
         NAME=\"sdb\" KNAME=\"sdb\" MAJ:MIN=\"8:16\" SIZE=\"9.1T\" TYPE=\"disk\" TRAN=\"sata\" ROTA=\"1\"\n",
    ),
    (
        "sosreport-x/sos_commands/devicemapper/dmsetup_table",
        "rhel-home: 0 3748659200 linear 253:0 2048\nluks-1: 0 3748663296 crypt aes-xts-plain64 :64:logon:cryptsetup:0-d0 0 259:3 32768 1 allow_discards\n",
    ),
    (
        "sosreport-x/proc/mdstat",
        "md0 : active raid1 sdb[1] sda[0]\n      9766305792 blocks super 1.2 [2/1] [U_]\n",
    ),
    (
        "sosreport-x/proc/mounts",
        "/dev/mapper/rhel-home /home xfs rw,relatime 0 0\n/dev/md0 /srv ext4 rw 0 0\n",
    ),
    (
        "sosreport-x/sos_commands/nvme/nvme_list-subsys",
        "nvme-subsys0 - NQN=nqn.2014.08.org.nvmexpress:x\n\\\n +- nvme0 pcie 0000:01:00.0 live\n",
    ),
    (
        "sosreport-x/sos_commands/pci/lspci_-nnvv",
        "00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:460d] (rev 02) (prog-if 00 [Normal decode])\n\
         \tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n\n\
         01:00.0 Non-Volatile memory controller [0108]: Some Drive [144d:a80a] (prog-if 02 [NVM Express])\n\
         \tKernel driver in use: nvme\n",
    ),
];

#[test]
fn a_support_bundle_is_one_stack() {
    let machine = machine(SOS);
    let way = hops(&machine, "/home");
    let kinds: Vec<&str> = way.iter().filter_map(|id| id.split(':').next()).collect();
    let order: Vec<usize> = ["filesystem", "logical_volume", "crypt", "block_queue", "device", "controller"]
        .iter()
        .map(|kind| {
            kinds.iter().position(|found| found == kind).unwrap_or_else(|| panic!("{kind} of {way:?}"))
        })
        .collect();
    assert!(order.is_sorted(), "{way:?}");
    assert!(way.iter().any(|id| id == "controller:nvme0"), "{way:?}");
    assert!(hops(&machine, "/srv").iter().any(|id| id == "raid:md0"));
    assert!(has(&judge(&machine), Code::RaidDegraded, Severity::Fault));
    assert!(machine.block.keys().all(|name| !name.contains(['/', ':'])), "{:?}", machine.block.keys());
}

#[test]
fn the_same_files_of_hw_probe_tell_the_same() {
    let renamed: Vec<(String, &str)> = SOS
        .iter()
        .map(|(name, content)| {
            (format!("hw.info/logs/{}", name.rsplit('/').next().unwrap_or_default()), *content)
        })
        .collect();
    let files: Vec<(&str, &str)> = renamed.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    assert_eq!(hops(&machine(&files), "/home"), hops(&machine(SOS), "/home"));
}

#[test]
fn one_paste_of_everything_tells_the_same() {
    let all: String = SOS.iter().map(|(name, content)| format!("$ cat {name}\n{content}\n")).collect();
    let pasted = machine(&[("paste.txt", &all)]);
    assert_eq!(hops(&pasted, "/home"), hops(&machine(SOS), "/home"));
    let quoted: String = all.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(hops(&machine(&[("mail.txt", &quoted)]), "/home"), hops(&pasted, "/home"));
}

/// A rebuild at 3.7 MiB/s (after a report about a PERC 5/i).
#[test]
fn a_rebuild_is_a_fault() {
    let mdstat = "md3 : active raid5 sde6[4] sdb6[1] sdd6[3] sdf6[6] sdc6[2] sda6[0]\n      \
        7118330880 blocks super 1.2 level 5, 512k chunk, algorithm 2 [6/5] [UUUUU_]\n      \
        [=>...................]  recovery =  7.7% (109702192/1423666176) finish=5790.5min speed=3781K/sec\n";
    let verdict = judge(&machine(&[("mdstat", mdstat)]));
    assert!(
        has(&verdict, Code::RaidResync, Severity::Fault)
            && has(&verdict, Code::RaidDegraded, Severity::Fault)
    );
}

/// A benchmark of a MIPS board without AES instructions, shortened (GnuBee_Docs, number 100).
#[test]
fn a_cipher_slower_than_any_disk_is_a_limit() {
    let benchmark = "#  Algorithm | Key |  Encryption |  Decryption\n     \
        aes-xts   256b    11.1 MiB/s    10.9 MiB/s\n     aes-xts   512b     8.7 MiB/s     8.5 MiB/s\n";
    assert!(has(&judge(&machine(&[("benchmark", benchmark)])), Code::CryptoCpu, Severity::Limit));
    let fast = benchmark.replace("8.7", "2723.1").replace("8.5", "2465.0");
    assert!(judge(&machine(&[("benchmark", &fast)])).findings.is_empty());
}

#[test]
fn a_solid_state_drive_at_half_its_rate_is_a_fault_even_without_a_name() {
    let smart = "=== START OF INFORMATION SECTION ===\nDevice Model:     SSD\nSerial Number:    20001A\n\
        User Capacity:    2,000,398,934,016 bytes [2.00 TB]\nRotation Rate:    Solid State Device\n\
        SATA Version is:  SATA 3.3, 6.0 Gb/s (current: 3.0 Gb/s)\n";
    assert!(has(&judge(&machine(&[("smart", smart)])), Code::SataLimited, Severity::Fault));
    let whole = smart.replace("current: 3.0", "current: 6.0");
    assert!(!has(&judge(&machine(&[("smart", &whole)])), Code::SataLimited, Severity::Fault));
}
