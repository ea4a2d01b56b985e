use super::*;

const LOG: &str = "[    0.1] Linux version 6.1\n[    0.2] pci 0000:01:00.0: [1987:5016] type 00\n\n[    0.3] nvme nvme0: pci function\n[    0.4] usb 2-1: new device\n[    0.5] md: raid1 personality\n[    0.6] sd 0:0:0:0: [sda] Attached\n[    0.7] EXT4-fs (sda1): mounted\n[    0.8] r8169 0000:02:00.0 eth0: Link is Up";

fn stripped(text: &str) -> String {
    let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
    strip(&mut lines);
    lines.join("\n")
}

fn with(put: impl Fn(usize, &str) -> String) -> String {
    LOG.lines().enumerate().map(|(at, line)| put(at + 1, line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn counts_names_and_comments_before_every_line_are_taken_away() {
    assert_eq!(stripped(LOG), LOG);
    let found =
        |text: &str| stripped(text).lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let want = found(LOG);
    assert_eq!(stripped(&with(|at, line| format!("{at:6}\t{line}"))), LOG);
    assert_eq!(stripped(&with(|at, line| format!("\t{at:6}\t{line}"))), LOG);
    assert_eq!(stripped(&with(|at, line| format!("{at:4}  {line}"))), LOG);
    assert_eq!(stripped(&with(|at, line| format!("{at:4} │ {line}"))), LOG);
    assert_eq!(found(&with(|at, line| format!("{}:{line}", 100 + 7 * at))), want);
    assert_eq!(stripped(&with(|_, line| format!("dmesg.txt:{line}"))), LOG);
    assert_eq!(found(&with(|at, line| format!("logs/dmesg.txt:{at}:{line}"))), want);
    assert_eq!(stripped(&with(|_, line| format!("# {line}"))), LOG);
    assert_eq!(found(&with(|at, line| format!("{at}: {line}"))), want);
    let table = "sec Cur ops\n  0  0\n  1  4.61\n\n  2  3.42";
    let listed: Vec<String> =
        (9..).zip(table.lines()).map(|(at, line)| format!("a.log:{at}:{line}")).collect();
    assert_eq!(stripped(&listed.join("\n")), table);
    let log = "10:00:01 host x\n11:00:02 host y\n12:00:02 host z";
    assert_eq!(stripped(&log.lines().map(|line| format!("a.log:{line}\n")).collect::<String>()), log);
    assert_eq!(found(&with(|at, line| format!("L{at}: {line}"))), want);
    for mark in ["{}. ", "{}) "] {
        assert_eq!(stripped(&with(|at, line| format!("{}{line}", mark.replace("{}", &at.to_string())))), LOG);
    }
    for mark in ["// ", "* ", "+"] {
        assert_eq!(stripped(&with(|_, line| format!("{mark}{line}"))), LOG, "{mark}");
    }
    // What `grep -n -A1 nvme` prints.
    let around = with(|at, line| format!("{}{}{line}", 100 + at, if at % 3 == 0 { '-' } else { ':' }));
    assert_eq!(found(&around), want);
    let list = "00:1f.2 SATA controller: Intel\n01:00.0 Non-Volatile memory controller: Samsung\n02:00.0 Ethernet controller: Intel";
    let numbered: Vec<String> = (1..).zip(list.lines()).map(|(at, line)| format!("{at}: {line}")).collect();
    assert_eq!(stripped(&numbered.join("\n")), list);
    let lspci = "12:01:00.0 Non-Volatile memory controller: Samsung\n13:\tControl: I/O- Mem+\n40:\t\tLnkSta: Speed 8GT/s, Width x4";
    assert_eq!(
        stripped(lspci),
        "01:00.0 Non-Volatile memory controller: Samsung\n\tControl: I/O- Mem+\n\t\tLnkSta: Speed 8GT/s, Width x4"
    );
}

#[test]
fn tables_addresses_attributes_and_messages_stay() {
    let rows = |row: fn(usize) -> String| (0..12).map(row).collect::<Vec<_>>().join("\n");
    for text in [
        rows(|at| format!("{at}   0  {at}:{at}:{at}:0  yes 3600.0000")),
        rows(|at| {
            format!("       {at}       8       {}        {at}      active sync   /dev/sd{at}", 16 * at + 1)
        }),
        rows(|at| format!("{}:00.0 Ethernet controller: Intel Corporation X710", at + 10)),
        rows(|at| format!("{}: 86 80 58 15 07 04 10 00 02 00 00 02 10 00 00 00", 10 * at)),
        rows(|at| format!("{at}: eth{at}: <BROADCAST,MULTICAST,UP> mtu 1500 state UP")),
        rows(|at| format!("ata1.00: configured for UDMA/133, time {at}")),
        rows(|at| format!("nas.local:/export/{at} on /mnt/{at} type nfs4")),
        rows(|at| format!("/sys/block/sda/queue/scheduler.x:none {at}")),
        rows(|at| format!("{at}-port hub, the kernel's driver {at}")),
        rows(|at| format!("+-{at:02x}.0-[{at:02x}]----00.0  Samsung Electronics SSD Controller")),
        rows(|at| {
            format!("    {at}      16       {at}2       {at}6   63.9928        64   0.520614     0.65")
        }),
        rows(|at| {
            format!("# {at}  Short offline       Completed without error       00%     29385         -")
        }),
    ] {
        assert_eq!(stripped(&text), text);
    }
}

fn cut(body: &str) -> Vec<&str> {
    let lines: Vec<Cow<'_, str>> = body.lines().map(Cow::Borrowed).collect();
    body.lines().zip(cuts(&lines, OF_RESULTS)).map(|(line, cut)| &line[cut..]).collect()
}

#[test]
fn blocks_of_comments_logs_and_hosts_are_bare() {
    assert_eq!(cut("x\n# a\n#  b\n#\n# c\ny"), ["x", " a", "  b", "", " c", "y"]);
    assert_eq!(
        cut("| > |a|\n| > |b|\n| >\n| > |c|\n| > |d|"),
        [" > |a|", " > |b|", " >", " > |c|", " > |d|"]
    );
    let log = "09:00:01 DEBUG| [out] a\n09:00:02 DEBUG| [out] b: 1\n\n10:00:02 DEBUG| [out] {\n10:00:02 DEBUG| [out] 5\n";
    assert_eq!(cut(log), [" a", " b: 1", "", " {", " 5"]);
    assert_eq!(cut(&"node-17: 5 MB\n".repeat(4)), [" 5 MB"; 4]);
    assert_eq!(cut("#a\n#  b\n#\n#\tc\n#d"), ["a", "  b", "", "\tc", "d"]);
    assert_eq!(cut("//a\n//b\n//  c *\n//d"), ["a", "b", "  c *", "d"]);
    assert_eq!(cut("[   9.123456] a\n[  10.000001] b\n[  11.5555]\n[ 99.123]  c"), [" a", " b", "", "  c"]);
    let dated = "2021-11-23T09:00:00.5Z a\n2021-11-23T09:00:01.123Z  2\n2021-11-23T09:00:01.123Z\n2021-11-23T09:00:01.123Z c";
    assert_eq!(cut(dated), [" a", "  2", "", " c"]);
}

#[test]
fn tables_with_times_disks_and_short_comments_stay() {
    for body in [
        "13:45:01.000 1 100.0\n13:45:02.000 2 100.0\n13:45:03.000 3 100.1\n13:45:04.000 4 9\n",
        "  nvme0n1: ios=1\n  nvme1n1: ios=1\n  nvme2n1: ios=1\n  nvme3n1: ios=1\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
        "     |  1.00th=[    2],  5.00th=[    2],\n     | 30.00th=[    4]\n     | 80.00th=[   15]\n     | 99.95th=[  100]\n",
        "# ## ## #\n#  Bench #\n# v2020 #\n# ## ## #\n",
        "# one\n# two\ntext\n# three\n# four\n",
        "PCIE (0000:04:00.0) core 0: 1\nPCIE (0000:41:00.0) core 0: 2\nPCIE (0000:42:00.0) core 0: 3\nPCIE (0000:86:00.0) core 0: 4\n",
    ] {
        assert_eq!(cut(body), body.lines().collect::<Vec<_>>());
    }
}
