//! What people paste and no reader reads: named, so that its owner learns that it was recognised and tells nothing here.

/// Tools by words of which a line of their output has all.
const TOOLS: &[(&str, &[&str])] = &[
    ("`vmstat`", &["procs", "-memory-", "-swap-", "-io-"]),
    ("`vmstat`", &["swpd", "free", "cache", " bi", " bo"]),
    ("`top`", &["load average:", "top - "]),
    ("`smbutil statshares` of macOS", &["SHARE", "ATTRIBUTE TYPE", "VALUE"]),
    ("`boltctl`", &["rx speed:", "lanes *"]),
    ("`netstat -s`", &["segments retransmitted"]),
    ("`netstat -s`", &["data packets (", "bytes) retransmitted"]),
    ("libvirt (the XML of a domain)", &["<domain type="]),
    ("`omreport` of Dell", &["omreport storage"]),
    ("`ping`", &["packets transmitted", "received"]),
    ("`traceroute`", &["traceroute to ", "hops max"]),
    ("`speedtest`", &["Speedtest by Ookla"]),
    ("`sar -d`", &["DEV", "tps", "areq-sz"]),
    ("`nfsstat`", &["Client rpc stats:"]),
    ("`nfsstat`", &["Server rpc stats:"]),
    ("sysbench's test of a database", &["threads:", "tps:", "reads/s:"]),
    ("sysbench's test of a database", &["transactions:", "per sec.)"]),
    ("`seeker`", &["seeks/second", "random access time"]),
    ("`esxtop`", &["DAVG/cmd", "KAVG/cmd"]),
    ("`perf report`", &["# Overhead", "Shared Object"]),
    ("ATTO Disk Benchmark", &["ATTO Disk Benchmark"]),
    ("PassMark", &["PassMark Rating"]),
    ("`dstat`", &["-dsk/"]),
    ("kbench", &["FIO Benchmark ", "Summary"]),
    ("filebench", &["IO Summary:", " ops/s"]),
    ("multipathd", &[" multipathd[", "]: "]),
    ("`fstrim`", &[") trimmed on /dev/"]),
    ("`smartctl` of a SAS disk's background scans", &["Recovered via rewrite in-place"]),
    ("a driver's list of SAS devices", &["handle(0x", "sas_addr"]),
    ("the log of ESXi", &["Z cpu", ")nvme:"]),
    ("the log of ESXi", &["vmkernel: cpu"]),
];

/// The first tool whose output a text holds, with its name for a sentence; `None` where it holds none of these.
pub fn tool(text: &str) -> Option<&'static str> {
    let known = |line: &str| TOOLS.iter().find(|(_, words)| words.iter().all(|word| line.contains(word)));
    text.lines().find_map(known).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_by_a_line_of_its_output_and_prose_is_none() {
        let head = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n";
        for (text, name) in [
            (head, Some("`vmstat`")),
            ("3 packets transmitted, 3 received, 0% packet loss, time 2003ms\n", Some("`ping`")),
            ("<domain type='kvm' id='3'>\n", Some("libvirt (the XML of a domain)")),
            ("My share is slow, and memory and swap are free.\nThe ping is fine.\n", None),
            ("", None),
        ] {
            assert_eq!(tool(text), name, "{text}");
        }
    }
}
