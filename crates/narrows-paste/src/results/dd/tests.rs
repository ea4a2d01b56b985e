//! dd as people paste it.

use super::super::Durability;
use super::*;

fn commands(body: &str) -> Vec<Option<String>> {
    read(&Page { name: "x", body }).into_iter().map(|one| one.command).collect()
}

fn rates(body: &str) -> Vec<(u64, u64)> {
    let all = read(&Page { name: "x", body });
    let side = |one: &Imported| {
        let (_, side) = one.measurements[0].sides().next().expect("a side");
        (side.bytes.map_or(0, Bytes::get), side.bytes_per_second.get() as u64)
    };
    all.iter().map(side).collect()
}

#[test]
fn what_is_not_known_and_what_was_not_read_is_said() {
    let whole = "104857600 bytes (105 MB) copied, 0.5 s, 210 MB/s\n";
    let notes = |body: &str| read(&Page { name: "x", body }).remove(0).notes;
    assert_eq!(notes(&format!("$ dd if=/dev/zero of=x bs=1M count=100 oflag=direct\n{whole}")), [""; 0]);
    assert_eq!(notes(whole), [WITHOUT_COMMAND]);
    let cut = "104857600 bytes (105 MB) copied\n\nand\n1.1 GB copied, 3 s, 210 MB/s\n";
    let body = format!("$ dd if=/dev/zero of=x bs=1M count=100\n{whole}\n{cut}");
    assert_eq!(read(&Page { name: "x", body: &body }).remove(0).unread, [4, 7]);
}

#[test]
fn the_report_is_known_in_every_language() {
    for line in [
        "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.43328 s, 198 MB/s",
        "1073741824 bytes (1.1 GB) copied, 5.43328 seconds, 198 MB/s",
        "1073741824字节(1.1 GB)已复制，5.43328 秒，198 MB/秒",
        "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 5,43328 s, 198 MB/s",
        "1073741824 octets (1,1 GB, 1,0 GiB) copiés, 5,43328 s, 198 MB/s",
        "1073741824 bytes transferred in 5.43328 secs (197623061 bytes/sec)",
        "1073741824 байт (1,1 GB, 1,0 GiB) скопирован, 5,43328 s, 198 MB/s",
    ] {
        assert_eq!(
            rates(&format!("1+0 records in\n1+0 records out\n{line}\n")),
            [(1_073_741_824, 197_623_134)],
            "{line}"
        );
    }
}

#[test]
fn reports_of_others_are_of_no_command_above_them() {
    let ops = |body: &str| -> Vec<(String, bool)> {
        let found = read(&Page { name: "x", body });
        let sides = found.iter().flat_map(|one| one.measurements[0].sides().map(move |(op, _)| (one, op)));
        sides.map(|(one, op)| (op.word().to_owned(), one.command.is_some())).collect()
    };
    let report = |bytes: u64| format!("{bytes} bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n");
    let [mib, other] = [1_048_576, 1_050_000].map(report);
    let (read, write) = (("read".to_owned(), true), ("write".to_owned(), false));
    let words = "The patch below makes all of it a little faster:\n";
    let several = format!(
        "# dd if=/dev/a of=/dev/null bs=1M\n# dd if=/dev/b of=/dev/null bs=1M\nHere they are, with some more words:\n{mib}{mib}"
    );
    assert_eq!(ops(&format!("{several}{words}{mib}")), [read.clone(), read.clone(), write.clone()]);
    let in_loop = format!("for i in 1 2 ; do dd if=/mnt/x of=/dev/null bs=1M ; done\n{mib}{mib}");
    assert_eq!(ops(&format!("{in_loop}{words}{other}")), [read.clone(), read.clone(), write.clone()]);
    assert_eq!(ops(&format!("{in_loop}{words}{mib}")), [read.clone(), read.clone(), read.clone()]);
    assert_eq!(ops(&format!("{in_loop}Running WRITE test...\n{mib}")), [read.clone(), read, write.clone()]);
    let no_command = ("read".to_owned(), false);
    assert_eq!(ops(&format!("Testing Read IOPS...\ntemp=65\n{mib}")), [no_command]);
    let far = "x: 1\n".repeat(5);
    for between in [far.as_str(), words] {
        assert_eq!(ops(&format!("Testing Read IOPS...\n{between}{mib}")).first(), Some(&write));
    }
}

#[test]
fn progress_that_was_broken_is_of_the_end_below_it() {
    let body = "# dd if=/dev/zero of=/dev/sdz bs=16M oflag=direct status=progress\n\
        7063207936 bytes (7.1 GB) copied, 4.022276 s, 1.8\nGB/s\n512+0 records in\n512+0 records out\n\
        8589934592 bytes (8.6 GB) copied, 4.93092 s, 1.7\nGB/s\n";
    assert_eq!(rates(body), [(8_589_934_592, 1_742_055_152)]);
}

#[test]
fn progress_is_no_result_where_the_end_cannot_be_read() {
    let body = "# dd if=/dev/zero of=x bs=1M count=4096 status=progress\n\
        4270850048 bytes (4.3 GB, 4.0 GiB) copied, 106 s, 40.3 MB/s\n4096+0 records in\n4096+0 records out\n\
        4294967296 bytes (4.3 GB, 4.0 GiB) copied\n";
    assert_eq!(rates(body), []);
}

#[test]
fn progress_without_the_report_of_the_end_is_a_part() {
    let body = "# dd if=/dev/zero of=test status=progress bs=8k\n\
        201908224 bytes (202 MB, 193 MiB) copied, 3 s, 67.3 MB/s\n30185+0 records in\n30185+0 records out\n\n";
    let whole = "247275520 bytes (247 MB, 236 MiB) copied, 3.7 s, 66.8 MB/s\n";
    let parts = |body: &str| -> Vec<bool> {
        read(&Page { name: "x", body }).iter().map(|one| one.truncated).collect()
    };
    assert_eq!(
        parts(&format!("{body}# dd if=/dev/zero of=test bs=8k\n30185+0 records out\n{whole}")),
        [true, false]
    );
    assert_eq!(parts(&format!("{}{whole}", body.trim_end_matches("\n\n").to_owned() + "\n")), [false]);
}

#[test]
fn of_a_progress_display_only_the_end_counts() {
    let body = "# dd if=/dev/zero of=/dev/sdz bs=16M oflag=direct status=progress\n\
        7063207936 bytes (7.1 GB) copied, 4.022276 s, 1.8 GB/s\n512+0 records in\n512+0 records out\n\
        8589934592 bytes (8.6 GB) copied, 4.93092 s, 1.7 GB/s\n";
    assert_eq!(rates(body), [(8_589_934_592, 1_742_055_152)]);
}

#[test]
fn a_device_that_is_copied_into_a_file_is_read() {
    for (command, is_read) in [
        ("dd if=/dev/mmcblk0 of=/tmp/x count=1", true),
        ("dd if=/dev/mmcblk0 of=/tmp/x conv=fdatasync", false),
        ("dd if=/dev/sda of=/dev/sdb bs=1M", false),
        ("dd if=/dev/urandom of=/tmp/x", false),
        ("dd if=/dev/shm/x of=/mnt/x", false),
        ("dd if=/mnt/x of=/tmp/x", false),
        ("dd if=/mnt/x of=/dev/null", true),
    ] {
        assert_eq!(reads(command), is_read, "{command}");
    }
}

#[test]
fn the_command_tells_what_was_asked() {
    let body = "$ dd if=/dev/zero of=./x bs=1M count=1024 conv=fdatasync\n1024+0 records in\n1024+0 records out\n\
        1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.875072 s, 1.2 GB/s\n";
    let all = read(&Page { name: "x", body });
    let work = &all[0].measurements[0].work;
    assert_eq!(
        (work.durability, work.direct, work.zeros),
        (Some(Durability::AtEnd), Some(false), Some(true))
    );
    assert_eq!(work.block_size, Some(Bytes::from_mib(1)));
}

#[test]
fn runs_without_counts_of_records_are_runs() {
    let body = "$ for i in 1 2; do dd if=x of=/dev/null bs=1M 2>&1 | grep copied; done\n\
        4294967296 bytes (4.3 GB, 4.0 GiB) copied, 16.5025 s, 260 MB/s\n\
        4294967296 bytes (4.3 GB, 4.0 GiB) copied, 18.0181 s, 238 MB/s\n";
    assert_eq!(rates(body), [(4_294_967_296, 260_261_614), (4_294_967_296, 238_369_600)]);
    assert_eq!(commands(body), vec![Some("dd if=x of=/dev/null bs=1M 2>&1".to_owned()); 2]);
    let prefixed = "disk1: 4294967296 bytes (4.3 GB) copied, 16.5025 s, 260 MB/s\n\
        disk2: 4294967296 bytes (4.3 GB) copied, 18.0181 s, 238\nMB/s\n";
    assert_eq!(rates(prefixed).len(), 2);
}

#[test]
fn commands_that_stand_together_made_as_many_reports_in_turn_or_none_of_them() {
    let report = "2097152 bytes (2.1 MB, 2.0 MiB) copied, 0.5 s, 4.2 MB/s\n";
    let script = "dd if=a of=/dev/null\ndd if=b of=/dev/null; dd if=c of=d\n\n\n\nprose\n";
    let of = |count: usize| commands(&format!("{script}{}", format!("x\n{report}").repeat(count)));
    let named = |name: &str| Some(format!("dd if={name}"));
    assert_eq!(of(3), [named("a of=/dev/null"), named("b of=/dev/null"), named("c of=d")]);
    // A call in prose is none of those that stand together below it.
    let prose = "It was faster, I tried dd if=x of=/dev/null to the same server.\nThen I compared it with the other mount:\n";
    assert_eq!(commands(&format!("{prose}\n{script}{}", format!("x\n{report}").repeat(3))), of(3));
    // Two read and one writes: which of them two reports are of cannot be known, nor whether they are rates of reading.
    assert_eq!(of(2), [None, None]);
    let body = format!("{script}x\n{report}x\n{report}");
    let found = read(&Page { name: "x", body: &body });
    assert!(found.iter().all(|one| one.measurements[0].both.is_some() && one.notes == [OF_SEVERAL]));
    let alike = "dd if=a of=/dev/null bs=1M count=2\ndd if=b of=/dev/null bs=1M count=4\n\n\n\nprose\n";
    assert_eq!(
        commands(&format!("{alike}{report}")),
        [Some("dd if=a of=/dev/null bs=1M count=2".to_owned())]
    );
}

#[test]
fn what_a_command_in_pieces_made_is_refused_and_said() {
    let report = "2097152 bytes (2.1 MB, 2.0 MiB) copied, 0.5 s, 4.2 MB/s\n";
    let body = format!("$ dd if=a of=b bs=1M\n{report}$ time sudo dd\nif=b of=/dev/null bs=1M\n{report}");
    let found = read(&Page { name: "x", body: &body });
    assert_eq!((found.len(), found[0].unread.clone()), (1, vec![5]));
}

#[test]
fn blocks_are_of_the_size_that_their_counts_tell_or_of_512_bytes_where_the_command_is_whole() {
    let iops = |body: &str| {
        let found = read(&Page { name: "x", body }).remove(0);
        found.measurements[0].sides().next().and_then(|(_, side)| side.iops).map(|iops| iops.get() as u64)
    };
    let report = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
    assert_eq!(iops(&format!("$ dd if=a of=b\n{report}")), Some(4096));
    assert_eq!(iops(&format!("$ dd if=a of=b\n16+0 records in\n16+0 records out\n{report}")), Some(32));
    assert_eq!(iops(&format!("$ dd if=a of=b\n64K\n{report}")), None);
}

#[test]
fn without_its_command_a_heading_tells_whether_a_copy_reads() {
    let report = "512+0 Datensätze ein\n512+0 Datensätze aus\n536870912 Bytes (537 MB, 512 MiB) kopiert, 1,73096 s, 310 MB/s\n";
    let body =
        format!("Running DD READ test...\n{report}temp=61.5'C\nRunning DD WRITE test...\n{report}{report}");
    let found = read(&Page { name: "x", body: &body });
    let reads: Vec<bool> = found.iter().map(|one| one.measurements[0].read.is_some()).collect();
    assert_eq!(reads, [true, false, false]);
}

#[test]
fn a_copy_that_failed_before_it_reported_is_said() {
    let body = "$ dd if=/dev/zero of=/mnt/x bs=4096 count=50 oflag=dsync\ndd: error writing '/mnt/x': Input/output error\n";
    let found = read(&Page { name: "x", body });
    assert_eq!((found.len(), found[0].failures.len(), found[0].line), (1, 1, 2));
    assert!(found[0].command.is_some() && found[0].measurements.is_empty());
}

#[test]
fn a_rate_that_contradicts_bytes_and_seconds_is_told() {
    let wrong = |line: &str| read(&Page { name: "x", body: line }).remove(0).derived.len();
    assert_eq!(wrong("512 bytes copied, 8.6744e-05 s, 5.9 MB/s\n"), 0);
    assert_eq!(wrong("1073741824 bytes (1.1 GB) copied, 5.43328 s, 1.98 GB/s\n"), 1);
    assert_eq!(wrong("1073741824 bytes (1.0GB) copied, 5.43328 seconds, 188.5MB/s\n"), 0);
    assert_eq!(wrong("1073741824 bytes transferred in 5.43328 secs (197623061 bytes/sec)\n"), 0);
}

#[test]
fn what_empties_the_page_cache_is_told_of_the_run_behind_it() {
    let report = "1+0 records in\n1+0 records out\n1048576 bytes (1.0 MB) copied, 5.5 s, 191 kB/s\n";
    let text = format!(
        "$ dd if=a of=b\n{report}# sync; echo 3 > /proc/sys/vm/drop_caches\n$ dd if=b of=c\n{report}$ dd if=b of=c\n{report}"
    );
    let cold: Vec<bool> = read(&Page { name: "x", body: &text }).iter().map(|one| one.is_cold).collect();
    assert_eq!(cold, [false, true, false]);
}

#[test]
fn an_error_of_the_drive_is_of_the_copy_below_it() {
    let body = "dd: error reading '/dev/sdb': Input/output error\n1+0 records in\n1+0 records out\n\
        1048576 bytes (1.0 MB) copied, 5.5 s, 191 kB/s\n";
    assert_eq!(read(&Page { name: "x", body })[0].failures.len(), 1);
}

#[test]
fn prose_and_listings_are_no_reports() {
    for line in
        ["12 files (3 new) changed, 5 of 7", "-rw-r--r-- 1 a b 4294967296 Oct  6 05:21 x", "4 GB (x) at 3, 5"]
    {
        assert!(rates(line).is_empty(), "{line}");
    }
}

#[test]
fn empty_lines_between_a_command_and_its_report_part_nothing() {
    let report = "974+1 records in\n\n974+1 records out\n\n1021592274 bytes transferred in 480.752682 secs (2124985 bytes/sec)\n";
    let call = "dd bs=1m if=x.img of=/dev/disk2\n";
    let of = |body: &str| read(&Page { name: "x", body }).remove(0).command;
    let expected = Some(call.trim().to_owned());
    assert_eq!(of(&format!("{call}and then:\n{call}\nPassword:\n\n{report}")), expected);
    let words = "words\n".repeat(5);
    assert_eq!(of(&format!("{call}and then:\ndd if=y of=z bs=1m\n{words}{report}")), None);
}
