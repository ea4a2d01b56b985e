//! Files that never end, block, or hold more than they seem to: refused with a reason, or given up, in bounded time.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;

/// Nothing takes longer than this, pipes without a writer included.
const LONGEST: Duration = Duration::from_secs(30);

/// Every way in which a file can be named, with the place for its name.
const READERS: [&[&str]; 8] = [
    &["@", "--fleet", "--json"],
    &["compare", "@", "@"],
    &["predict", "@"],
    &["plan", "@"],
    &["measure", "--resume", "@"],
    &[".", "--fleet", "--since", "@"],
    &["lab", "--undo", "--journal", "@"],
    &["lab", "--resume", "--journal", "@", "/dev/null"],
];

fn ended(args: &[&str], file: &str) -> Ran {
    let empty = scratch_dir();
    fs::write(empty.path().join("capture.txt"), "/sys/block/sda/size:10000000\n").expect("is ours");
    let args: Vec<&str> = args.iter().map(|arg| if *arg == "@" { file } else { *arg }).collect();
    let mut child = narrows(&args)
        .current_dir(empty.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let begin = Instant::now();
    while child.try_wait().expect("is ours").is_none() {
        if begin.elapsed() > LONGEST {
            child.kill().expect("is ours");
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ran::from(child.wait_with_output().expect("it ended"))
}

#[test]
fn what_never_ends_or_blocks_is_refused_by_every_reader() {
    let dir = scratch_dir();
    let at = |name: &str| dir.path().join(name).to_str().expect("is text").to_owned();
    mkfifo(Path::new(&at("pipe")), Mode::S_IRWXU).expect("is ours");
    let _listener = UnixListener::bind(at("socket")).expect("is ours");
    std::os::unix::fs::symlink("/dev/zero", at("link")).expect("is ours");
    std::os::unix::fs::symlink("itself", at("itself")).expect("is ours");
    let files = [
        ("/dev/zero".to_owned(), "character device"),
        ("/dev/urandom".to_owned(), "character device"),
        ("/dev/tty".to_owned(), "character device"),
        ("/proc/kmsg".to_owned(), "kernel"),
        ("/proc/self/pagemap".to_owned(), "kernel"),
        ("/sys/kernel/notes".to_owned(), "kernel"),
        (at("pipe"), "pipe"),
        (at("socket"), "socket"),
        (at("link"), "character device"),
        (at("itself"), "symbolic links"),
    ];
    let refused = |reader: &[&str], file: &str, why: &str| {
        let ran = ended(reader, file);
        assert_eq!(ran.status, Some(2), "{reader:?} {file}: {ran:?}");
        // A journal has rules of its own.
        let is_told = ran.err.contains(why) || ran.out.contains(why) || reader.contains(&"--journal");
        let is_denied = ran.err.contains("denied") || ran.err.contains("not permitted");
        assert!(is_told || is_denied && !is_root(), "{reader:?} {file}: {ran:?}");
    };
    for (file, why) in files.iter().filter(|(file, _)| fs::symlink_metadata(file).is_ok()) {
        // All at once: each waits for seconds for whoever was to write into a pipe.
        std::thread::scope(|scope| {
            for reader in READERS {
                scope.spawn(|| refused(reader, file, why));
            }
            // What is nothing to read is a place, of which the path is shown where there is one.
            for words in [&["@"][..], &["@", "@"]] {
                scope.spawn(|| assert!(matches!(ended(words, file).status, Some(0..=2)), "{file}"));
            }
        });
    }
}

#[test]
fn what_a_shell_hands_over_is_read() {
    let script = format!(
        "exec '{}' <(printf '$ dd if=/dev/zero of=/srv/x bs=1M\\n1+0 records in\\n1+0 records out\\n\
         1048576 bytes (1.0 MB) copied, 1.0 s, 1.0 MB/s\\n')",
        crate::narrows_binary().display()
    );
    let Ok(output) = Command::new("bash").args(["-c", &script]).output() else {
        return skip("what a shell hands over", "there is no bash");
    };
    let ran = Ran::from(output);
    assert!(ran.out.contains("dd") && ran.err.is_empty(), "{ran:?}");
}

/// A tar header of a file, or of a link where `target` is given (POSIX.1-1988).
fn header(name: &str, size: usize, target: Option<&str>) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(156, if target.is_some() { b"2" } else { b"0" });
    put(157, target.unwrap_or_default().as_bytes());
    put(257, b"ustar\x0000");
    put(148, b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The processor time that a run may take, in seconds: a debug build needs some. The time on the clock says nothing on a
/// machine that is busy with other tests.
const MOST_PROCESSOR: u32 = 40;

/// Runs narrows on an archive within bounds of memory (1 GB) and processor time, and gives what it said. Before other tests,
/// where that is allowed: beside them a debug build comes to its bound of 120 s on the clock before the one that is tested.
fn checked(dir: &TempDir, name: &str, headers: impl Iterator<Item = [u8; 512]>, body: &[u8]) -> Ran {
    let path = dir.path().join(name);
    let mut file = std::io::BufWriter::new(File::create(&path).expect("is ours"));
    for header in headers {
        file.write_all(&header).expect("fits");
        file.write_all(body).expect("fits");
    }
    file.flush().expect("fits");
    drop(file);
    let script = format!(
        "ulimit -v 1000000 -t {MOST_PROCESSOR}; exec nice -n -10 '{}' '{}'",
        crate::narrows_binary().display(),
        path.display()
    );
    let ran = Ran::from(Command::new("bash").args(["-c", &script]).output().expect("a shell"));
    assert!(matches!(ran.status, Some(0..=2)), "{name}: {ran:?}");
    ran
}

#[test]
fn an_archive_of_countless_entries_is_cut_off_in_bounded_memory() {
    let dir = scratch_dir();
    let mut body = [0; 512];
    body[..2].copy_from_slice(b"x\n");
    let entries = (0..50_100).map(|number| header(&format!("t/{number}"), 2, None));
    let ran = checked(&dir, "many.tar", entries, &body);
    assert!(ran.err.contains("`many.tar` holds more than 50 000 texts"), "{ran:?}");

    let records = (0..200_100).map(|number| header(&format!("sys/t/{number}"), 0, None));
    let ran = checked(&dir, "records.tar", records, &[]);
    assert!(ran.err.contains("`records.tar` holds more than 200 000 entries"), "{ran:?}");
}

#[test]
fn links_that_lead_from_one_to_the_next_cost_no_more_than_others() {
    let dir = scratch_dir();
    let links = (0..20_000)
        .map(|number| header(&format!("sys/block/l{number}"), 0, Some(&format!("l{}", number + 1))));
    let ran = checked(&dir, "links.tar", links, &[]);
    assert!(ran.out.contains("/dev/l0"), "{ran:?}");
}

#[test]
fn a_result_of_fifty_thousand_jobs_is_judged_in_linear_time() {
    let dir = scratch_dir();
    let time = |count: usize, form: &[&str]| {
        let jobs: Vec<String> = (0..count)
            .map(|number| {
                format!(
                    "{{\"jobname\":\"j on h{number}\",\"job options\":{{\"rw\":\"randread\",\"bs\":\"4k\",\"iodepth\":\"32\",\
                     \"direct\":\"1\"}},\"read\":{{\"io_bytes\":4096000,\"bw_bytes\":4096000,\"bw\":4000,\"iops\":1000,\
                     \"runtime\":10000,\"total_ios\":10000,\"lat_ns\":{{\"max\":9000000,\"mean\":2000000}}}}}}"
                )
            })
            .collect();
        let path = dir.path().join(format!("{count}.json"));
        fs::write(&path, format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[\n{}]}}", jobs.join(",\n")))
            .expect("is ours");
        let script = format!(
            "export LC_ALL=C; TIMEFORMAT=%U; time '{}' '{}' {} >/dev/null",
            crate::narrows_binary().display(),
            path.display(),
            form.join(" ")
        );
        let ran = Ran::from(Command::new("bash").args(["-c", &script]).output().expect("a shell"));
        ran.err.trim().parse::<f64>().unwrap_or_else(|_| panic!("{form:?}: {ran:?}"))
    };
    for form in [&[][..], &["--csv"], &["--json"]] {
        let (short, long) = (time(6_000, form), time(48_000, form));
        // Eight times the jobs; the square would be 64 times the time.
        assert!(long < 24.0 * short + 1.0, "{form:?}: {short} s, {long} s");
    }
}

#[test]
fn more_jobs_than_any_result_has_are_left_out_and_that_is_said() {
    let dir = scratch_dir();
    let path = dir.path().join("jobs.json");
    let job = "{\"jobname\":\"a\",\"read\":{\"io_bytes\":4096,\"bw_bytes\":4096,\"bw\":4}}";
    let jobs = vec![job; 20_010].join(",\n");
    fs::write(&path, format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[\n{jobs}]}}")).expect("is ours");
    let ran = run(&[path.to_str().expect("is text")]);
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    // One for each 640 of its bytes, beside 1,000.
    assert!(
        said.contains("the first 3,032 measurements") && said.contains("16,978 further results"),
        "{said}"
    );
    assert_eq!(ran.status, Some(1), "{}", ran.err);
}

#[test]
fn an_endless_standard_input_ends() {
    let script = format!(
        "ulimit -t {MOST_PROCESSOR}; tr '\\0' x </dev/zero | timeout 300 '{}' -; echo \"status $?\"",
        crate::narrows_binary().display()
    );
    let ran = Ran::from(Command::new("bash").args(["-c", &script]).output().expect("a shell"));
    assert!(ran.out.contains("status 2") && ran.err.contains("only the first 24 MiB"), "{ran:?}");
}
