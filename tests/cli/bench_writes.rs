//! What a bench writes, by the counters of the device below a file system, is no more than it announced.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::devices;
use narrows::runs::measure::{MeasureReport, TestResult};

/// An ext4 of its own on a loop device; taken away when dropped.
struct Drive {
    dir: tempfile::TempDir,
    _image: tempfile::NamedTempFile,
    device: String,
}

impl Drive {
    fn new() -> Option<Self> {
        let image = tempfile::NamedTempFile::new().expect("a file");
        image.as_file().set_len(2 << 30).expect("a sparse file");
        let path = image.path().to_str().expect("is UTF-8").to_owned();
        let lazy = "lazy_itable_init=0,lazy_journal_init=0";
        done("mkfs.ext4", &["-q", "-F", "-E", lazy, &path])?;
        let device = done("losetup", &["--find", "--show", &path])?.trim().to_owned();
        devices::forget_partitions(Path::new(&device));
        let drive = Self { dir: tempfile::tempdir().expect("a directory"), _image: image, device };
        done("mount", &[&drive.device, drive.dir.path().to_str().expect("is UTF-8")])?;
        Some(drive)
    }

    /// Bytes that its counter shows as written (kernel `Documentation/block/stat.rst`: the seventh number, in sectors).
    fn written(&self) -> u64 {
        nix::unistd::sync();
        let name = self.device.trim_start_matches("/dev/");
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("counters");
        let sectors = text.split_whitespace().nth(6).and_then(|word| word.parse::<u64>().ok());
        sectors.expect("a number") * 512
    }

    fn bench(&self, options: &[&str]) -> Output {
        Command::new(crate::narrows_binary())
            .args(["measure", "--as", "kdiskmark"])
            .arg(self.dir.path())
            .args(["--json", "--warm-up", "20ms"])
            .args(options)
            .output()
            .expect("narrows runs")
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.dir.path()).output();
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

/// What a program said that did what it was asked; `None`, said aloud, where this machine does not let it.
fn done(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output();
    let good = output.ok().filter(|output| output.status.success());
    if good.is_none() {
        crate::skip("bench_writes", &format!("{program} {arguments:?} does not work here"));
    }
    good.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn report(output: &Output) -> MeasureReport {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn root_exists(path: &Path) -> bool {
    path.exists() && nix::unistd::geteuid().is_root()
}

#[test]
fn the_devices_counter_never_shows_more_than_was_announced() {
    if !root_exists(Path::new("/dev/loop-control")) {
        return crate::skip("bench_writes", "not root, or no loop devices");
    }
    let Some(drive) = Drive::new() else { return };
    let before = drive.written();
    let output = drive.bench(&["--size", "96MiB", "--max-writes", "384MiB", "--max-time", "3s"]);
    let counted = drive.written() - before;
    let said = String::from_utf8_lossy(&output.stderr);
    // 384 MiB of data, and a 32nd for the file system.
    let limit = (384_u64 << 20) / 32 * 33;
    assert!(said.contains("writes at most 415 MB") && said.contains("never more than 403 MB"), "{said}");
    assert!(counted <= limit, "{counted} of {limit}");
    let shown = report(&output);
    let writes = shown.writes.as_ref().expect("it writes");
    assert_eq!((writes.limit.get(), writes.device_limit.get()), (384 << 20, limit));
    let by_device = writes.device_written.expect("the loop device counts").get();
    assert!(by_device <= counted && counted - by_device < 32 << 20, "{by_device} and {counted}");
    let writing = |result: &&TestResult| result.write.is_some();
    for result in shown.results.iter().filter(writing) {
        let allowance = result.allowance.expect("a test that writes has an allowance");
        assert!(allowance.written <= allowance.bytes, "{}: {allowance:?}", result.name);
        assert_eq!(allowance.ended_test, result.ended.starts_with("allowance used up"), "{}", result.ended);
        assert_eq!(allowance.ended_test, allowance.needed.is_some());
        assert!(result.cut_short.is_none(), "{}: {:?}", result.name, result.cut_short);
    }
    let estimate = writes.estimate.expect("it is estimated when the file is there");
    assert!(estimate.actual_bytes.as_f64() <= 1.5 * estimate.bytes.as_f64(), "{estimate:?}");
}

#[test]
fn without_being_asked_no_more_than_eight_gib_are_written_and_all_tests_run() {
    if !root_exists(Path::new("/dev/loop-control")) {
        return crate::skip("bench_writes", "not root, or no loop devices");
    }
    let Some(drive) = Drive::new() else { return };
    let before = drive.written();
    let output = drive.bench(&["--size", "64MiB", "--duration", "100ms"]);
    let counted = drive.written() - before;
    let shown = report(&output);
    let writes = shown.writes.as_ref().expect("it writes");
    let limit = writes.device_limit.get();
    assert!(limit <= 8 << 30 && counted <= limit, "{counted} of {limit}");
    assert!(!writes.limit_is_asked);
    assert!(shown.complete && shown.results.len() == 8, "{:?}", shown.reason);
}
