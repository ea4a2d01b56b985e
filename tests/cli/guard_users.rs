//! The write guard against everything that uses a device out of sight: other names of its file, nodes of other names,
//! mappings, rings, sockets, threads, and containers that hide who uses it. On loop devices, as root.

#![expect(unsafe_code, reason = "those who hold the device map it and end their threads without a library")]

use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use narrows::load::guard::{Identity, Usage, UseKind};
use narrows::machine::root::Root;
use nix::libc;
use tempfile::TempDir;

use super::{devices, narrows, scratch_dir, skip};

/// A loop device over a blank file of 16 MiB, in a directory of its own.
struct Blank {
    directory: TempDir,
    device: PathBuf,
    /// Those who were started for it, ended when dropped.
    holders: Vec<Child>,
    /// What else takes things away again when dropped, last first.
    cleanup: Vec<String>,
}

impl Blank {
    /// `None`, with a note, where loop devices cannot be had.
    fn attach(test: &str) -> Option<Self> {
        let directory = scratch_dir();
        let image = directory.path().join("disk.img");
        // Allocated, so that it can be swap space, too; it reads as zeros.
        let is_made = shell(&format!("fallocate -l 16M {}", image.display()));
        match is_made.then(|| attached(&image)).flatten() {
            Some(device) => Some(Self { directory, device, holders: Vec::new(), cleanup: Vec::new() }),
            None => {
                skip(test, "no loop device here");
                None
            }
        }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_string_lossy().into_owned()
    }

    fn node(&self) -> String {
        self.device.to_string_lossy().into_owned()
    }

    fn name(&self) -> String {
        self.node().trim_start_matches("/dev/").to_owned()
    }

    /// Runs a command that must work, and remembers what undoes it.
    fn with(&mut self, command: &str, undo: &str) {
        assert!(shell(command), "{command}");
        self.cleanup.push(undo.to_owned());
    }

    /// A second loop device over a path.
    fn second(&mut self, path: &str) {
        let device = attached(Path::new(path)).expect("a second loop device");
        self.cleanup.push(format!("losetup -d {}", device.display()));
    }

    /// Makes a hard link of the file.
    fn link(&self) -> String {
        let link = self.path("link.img");
        fs::hard_link(self.path("disk.img"), &link).expect("a hard link");
        link
    }

    /// Makes another node of the device.
    fn other_node(&self) -> String {
        let node = self.path("node");
        let minor = self.name().trim_start_matches("loop").to_owned();
        assert!(shell(&format!("mknod {node} b 7 {minor}")));
        node
    }

    /// Starts somebody who holds `path` in a way that [`holder`] knows, until dropped.
    fn held(&mut self, way: &str, path: &str) {
        let ready = self.path(&format!("ready-{}", self.holders.len()));
        let child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "guard_users::holder", "--nocapture"])
            .env("NARROWS_TEST_HOLD", format!("{way} {path} {ready}"))
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        self.holders.push(child);
        let begin = Instant::now();
        while !Path::new(&ready).exists() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{way} {path}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `narrows guard` says, after `before` in a shell; the device is as it was.
    fn guard_after(&self, before: &str) -> (Option<i32>, String) {
        let contents = fs::read(self.path("disk.img")).expect("is readable");
        let guard = narrows(&[]).get_program().to_string_lossy().into_owned();
        let image = self.path("disk.img");
        let script = format!("{before}\n{guard} guard {} --i-own {image}", self.node());
        let output = Command::new("sh").args(["-ec", &script]).output().expect("runs");
        assert!(contents == fs::read(self.path("disk.img")).expect("is readable"), "bytes changed");
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said)
    }

    fn refused(&self, words: &[&str]) {
        self.refused_after("", words);
    }

    fn refused_after(&self, before: &str, words: &[&str]) {
        let (status, said) = self.guard_after(before);
        assert!(matches!(status, Some(1 | 2)), "{status:?} {said}");
        for word in words {
            assert!(said.contains(word), "`{word}` is not in\n{said}");
        }
    }

    fn permitted(&self) {
        let (status, said) = self.guard_after("");
        assert_eq!(status, Some(0), "{said}");
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        for holder in &mut self.holders {
            let _ = holder.kill().and_then(|()| holder.wait());
        }
        for undo in self.cleanup.iter().rev() {
            shell(undo);
        }
        shell(&format!("losetup -d {}", self.device.display()));
    }
}

fn shell(command: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    Command::new("sh")
        .args(["-ec", command])
        .env("PATH", path)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A loop device over a path. Another program may take the free one first.
fn attached(path: &Path) -> Option<PathBuf> {
    for _ in 0..5 {
        let output = Command::new("/usr/sbin/losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        if output.status.success() {
            let device: PathBuf = String::from_utf8_lossy(&output.stdout).trim().into();
            devices::forget_partitions(&device);
            return Some(device);
        }
    }
    None
}

/// Not a test: what [`Blank::held`] starts. Holds a path in the way that is asked for, and sleeps.
#[test]
fn holder() {
    let Ok(asked) = std::env::var("NARROWS_TEST_HOLD") else { return };
    let words: Vec<&str> = asked.split(' ').collect();
    let [way, path, ready] = words[..] else { panic!("{asked}") };
    let open = || File::options().read(true).write(true).open(path).expect("opens");
    let kept: Vec<Box<dyn std::any::Any>> = match way {
        "open" => vec![Box::new(open())],
        "path-only" => {
            vec![Box::new(File::options().read(true).custom_flags(libc::O_PATH).open(path).expect("opens"))]
        }
        "map" => {
            map(&open());
            Vec::new()
        }
        "ring" => {
            let ring = io_uring::IoUring::new(4).expect("a ring");
            ring.submitter().register_files(&[open().as_raw_fd()]).expect("registers");
            vec![Box::new(ring)]
        }
        "send" => vec![Box::new(sent(open()))],
        "thread" => {
            in_a_thread(path.to_owned());
            Vec::new()
        }
        _ => panic!("{way}"),
    };
    fs::write(ready, "").expect("says that it is ready");
    std::thread::sleep(Duration::from_secs(120));
    drop(kept);
}

/// Maps the beginning of a file; the descriptor may go.
fn map(file: &File) {
    let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
    // SAFETY: the kernel chooses the place, nothing is ever read or written there, and it stays until the process ends.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), 4096, access, shared, file.as_raw_fd(), 0) };
    assert_ne!(place, libc::MAP_FAILED);
}

/// Both ends of a socket in which the file waits, the only descriptor of it.
fn sent(file: File) -> (UnixStream, UnixStream) {
    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
    let (one, other) = UnixStream::pair().expect("a pair");
    let descriptors = [file.as_raw_fd()];
    let message = [ControlMessage::ScmRights(&descriptors)];
    let bytes = [std::io::IoSlice::new(b"x")];
    sendmsg::<()>(one.as_raw_fd(), &bytes, &message, MsgFlags::empty(), None).expect("sends");
    drop(OwnedFd::from(file));
    (one, other)
}

/// Opens a path in a thread with a table of files of its own.
fn in_a_thread(path: String) {
    let (say, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).expect("a table of its own");
        let file = File::open(path).expect("opens");
        say.send(()).expect("is heard");
        std::thread::sleep(Duration::from_secs(120));
        drop(file);
    });
    hear.recv().expect("opened");
}

#[test]
fn a_blank_device_that_nobody_uses_may_be_written() {
    static ALONE: Mutex<()> = Mutex::new(());
    let _turn = devices::turn(&ALONE);
    let Some(mut blank) = Blank::attach("guard: nobody") else { return };
    blank.permitted();
    // A path alone reads and writes nothing.
    blank.held("path-only", &blank.node());
    blank.permitted();
}

#[test]
fn another_loop_device_over_the_file_is_seen_under_every_name_of_it() {
    for way in ["hard link", "symbolic link", "bind mount", "deleted"] {
        let Some(mut blank) = Blank::attach("guard: loop over the file") else { return };
        let other = blank.path("other.img");
        match way {
            "hard link" => blank.with(&format!("ln {} {other}", blank.path("disk.img")), "true"),
            "symbolic link" => blank.with(&format!("ln -s disk.img {other}"), "true"),
            "bind mount" => {
                let command = format!("touch {other}; mount --bind {} {other}", blank.path("disk.img"));
                blank.with(&command, &format!("umount {other}"));
            }
            _ => blank.with(&format!("ln {} {other}", blank.path("disk.img")), "true"),
        }
        blank.second(&other);
        if way == "deleted" {
            fs::remove_file(&other).expect("is there");
        }
        blank.refused(&[&format!("{} backs loop", blank.name())]);
    }
}

#[test]
fn a_loop_device_over_the_device_is_seen_under_every_node_of_it() {
    for way in ["node", "other node", "hard link", "bind mount", "deleted"] {
        let Some(mut blank) = Blank::attach("guard: loop over the device") else { return };
        let node = match way {
            "node" => blank.node(),
            "bind mount" => {
                let place = blank.path("bound");
                let command = format!("touch {place}; mount --bind {} {place}", blank.node());
                blank.with(&command, &format!("umount {place}"));
                place
            }
            "hard link" => {
                let link = blank.path("linked");
                blank.with(&format!("ln {} {link}", blank.other_node()), "true");
                link
            }
            _ => blank.other_node(),
        };
        blank.second(&node);
        if way == "deleted" {
            fs::remove_file(&node).expect("is there");
        }
        blank.refused(&[&format!("{} backs loop", blank.name())]);
    }
}

#[test]
fn a_loop_device_over_a_device_is_no_disk_of_its_own() {
    let Some(blank) = Blank::attach("guard: the upper loop device") else { return };
    let upper = attached(&blank.device).expect("a loop device over it");
    let output =
        narrows(&["guard", &upper.to_string_lossy(), "--i-own", &blank.node()]).output().expect("runs");
    assert!(shell(&format!("losetup -d {}", upper.display())));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("is built on {}", blank.name())), "{said}");
}

#[test]
fn whoever_holds_the_device_or_its_file_is_seen_in_every_way_to_hold_it() {
    // Descriptors on their way, and what a ring holds that was deleted, refuse every device.
    let _others = devices::nobody_else();
    for (way, says) in [
        ("open", "is open in process"),
        ("map", "is mapped into memory by process"),
        ("ring", "io_uring"),
        ("send", "descriptors on their way, hidden here because"),
        ("thread", "is open in process"),
    ] {
        for what in ["the device", "another node", "the file"] {
            let Some(mut blank) = Blank::attach("guard: holders") else { return };
            let path = match what {
                "the device" => blank.node(),
                "another node" => blank.other_node(),
                _ => blank.link(),
            };
            blank.held(way, &path);
            if what == "another node" {
                fs::remove_file(&path).expect("is there");
            }
            blank.refused(&[says]);
        }
    }
}

#[test]
fn swap_space_in_the_file_under_another_name_is_seen() {
    let Some(mut blank) = Blank::attach("guard: swap") else { return };
    let link = blank.link();
    let head = fs::read(&link).expect("is readable");
    // What mkswap writes goes again while it is in use: blank to the guard, swap space to the kernel.
    let wipe = format!("dd if=/dev/zero of={link} bs=4096 count=1 conv=notrunc");
    if !shell(&format!("chmod 600 {link}; mkswap {link} && swapon {link}")) {
        return skip("guard: swap", "the file system has no swap files");
    }
    blank.cleanup.push(wipe);
    blank.cleanup.push(format!("swapoff {link}"));
    assert_eq!(head.len(), 16 << 20);
    blank.refused(&["the file behind", "is swap space:"]);
}

fn makes_user_namespaces() -> bool {
    let made = Command::new("unshare").args(["-Ur", "true"]).output();
    made.is_ok_and(|output| output.status.success())
}

#[test]
fn what_hides_users_refuses() {
    const ELSEWHERE: &str = "unshare -m --propagation private sh -ec";
    for (hiding, says) in [
        ("PID namespace", "hidden here because this is a PID namespace of its own"),
        ("no /proc", "hidden here because there is no procfs at /proc"),
        ("an empty /proc", "hidden here because there is no procfs at /proc"),
        ("hidepid", "hidden here because /proc is mounted with hidepid="),
        ("subset", "hidden here because /proc is mounted with subset=pid"),
        ("a covered process", "hidden here because something is mounted over /proc/1"),
        ("no /sys", "/sys"),
        ("user namespace", "not seen"),
        ("capabilities", "CAP_SYS_PTRACE"),
    ] {
        // A chroot may make none.
        if hiding == "user namespace" && !makes_user_namespaces() {
            skip("guard: what hides", "no user namespace can be made here");
            continue;
        }
        let Some(mut blank) = Blank::attach("guard: what hides") else { return };
        blank.held("open", &blank.node());
        let guard = narrows(&[]).get_program().to_string_lossy().into_owned();
        let guard = format!("{guard} guard {} --i-own {}", blank.node(), blank.path("disk.img"));
        let script = match hiding {
            "PID namespace" => format!("unshare -pf --mount-proc {guard}"),
            "no /proc" => format!("{ELSEWHERE} 'umount -l /proc; {guard}'"),
            "an empty /proc" => format!("{ELSEWHERE} 'mount -t tmpfs none /proc; {guard}'"),
            "hidepid" => format!("{ELSEWHERE} 'mount -t proc -o hidepid=2 none /proc; {guard}'"),
            "subset" => format!("{ELSEWHERE} 'mount -t proc -o subset=pid none /proc; {guard}'"),
            "a covered process" => format!("{ELSEWHERE} 'mount -t tmpfs none /proc/1; {guard}'"),
            "no /sys" => format!("{ELSEWHERE} 'umount -l /sys; {guard}'"),
            "user namespace" => format!("unshare -Ur {guard}"),
            _ => format!("setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace {guard}"),
        };
        let (status, said) = blank.guard_after(&format!("{script} && exit 0 || exit $?"));
        assert!(matches!(status, Some(1 | 2)), "{hiding}: {status:?} {said}");
        assert!(said.contains(says), "{hiding}: {said}");
    }
}

#[test]
fn who_is_seen_nowhere_is_seen_by_what_he_does() {
    let Some(blank) = Blank::attach("guard: traffic") else { return };
    let usage = || Usage {
        device: blank.name(),
        identity: Some(Identity { what: "backing file", text: blank.path("disk.img") }),
        ..Usage::default()
    };
    let seen_while = |work: &(dyn Fn() + Sync)| {
        let mut usage = usage();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    work();
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
            narrows_session::guard::watch_usage(&Root::live(), &mut usage);
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        usage.uses.iter().map(|used| (used.kind, used.device.clone())).collect::<Vec<_>>()
    };
    assert_eq!(seen_while(&|| ()), []);
    let direct =
        || File::options().read(true).custom_flags(libc::O_DIRECT).open(&blank.device).expect("opens");
    let read = || {
        use std::os::unix::fs::FileExt;
        let mut memory = vec![0_u8; 8192];
        let start = memory.as_ptr().align_offset(4096);
        direct().read_exact_at(&mut memory[start..start + 4096], 0).expect("reads");
    };
    assert_eq!(seen_while(&read), [(UseKind::Traffic, blank.name())]);
    let behind = || {
        use std::os::unix::fs::FileExt;
        let file = File::options().write(true).open(blank.path("disk.img")).expect("opens");
        file.write_all_at(&[0], 0).expect("writes");
    };
    let seen = seen_while(&behind);
    assert!(seen.contains(&(UseKind::Traffic, format!("the file behind {}", blank.name()))), "{seen:?}");
}
