#![expect(clippy::disallowed_methods, reason = "tests make files")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::unistd::geteuid;
use rustix::fs::{Mode, OFlags, RenameFlags, mkdirat, renameat_with};

use super::{open_stepwise, *};

/// Somebody else.
const BOB: u32 = 4711;

/// `root` and `bob` may only be made by root.
fn is_root() -> bool {
    geteuid().is_root()
}

fn temp() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(dir.path()).unwrap();
    (dir, path)
}

fn directory(path: &Path, owner: u32, mode: u32) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    chown(path, Some(owner), Some(owner)).unwrap();
}

fn open(path: &Path, aim: Aim, user: u32) -> Result<Held, HeldError> {
    Held::open_as(path, aim, &Trust::of_user(user))
}

#[test]
fn what_is_typed_is_held_whatever_happens_to_its_name() {
    let (_dir, top) = temp();
    fs::create_dir_all(top.join("a/b")).unwrap();
    let held = Held::open(&top.join("a/./../a/b/"), Aim::Write).unwrap();
    fs::rename(top.join("a"), top.join("c")).unwrap();
    assert_eq!(held.real_path().unwrap(), top.join("c/b"));
    held.write_new(OsStr::new("new"), b"x", Readers::Us).unwrap();
    assert_eq!(fs::metadata(top.join("c/b/new")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_relative_path_and_none_begin_at_the_working_directory() {
    let here = std::env::current_dir().unwrap();
    for typed in ["", ".", "src/.."] {
        assert_eq!(Held::open(Path::new(typed), Aim::Read).unwrap().real_path().unwrap(), here, "{typed}");
    }
    let (parent, name) = Held::parent_of(Path::new("."), Aim::Read).unwrap().unwrap();
    assert_eq!(parent.real_path().unwrap().join(name), here);
    assert!(Held::parent_of(Path::new("/"), Aim::Read).unwrap().is_none());
    assert!(Held::parent_of(Path::new(""), Aim::Read).is_err());
}

#[test]
fn the_directory_of_a_file_is_found_through_links_of_our_own() {
    let (_dir, top) = temp();
    fs::create_dir(top.join("real")).unwrap();
    fs::write(top.join("real/file"), "x").unwrap();
    symlink("real/file", top.join("link")).unwrap();
    let real = Held::open(&top.join("real"), Aim::Read).unwrap();
    for name in ["real", "real/file", "link"] {
        assert!(Held::beside(&top.join(name), Aim::Write).unwrap().is(&real).unwrap(), "{name}");
    }
    assert!(Held::beside(&top.join("real/file/below"), Aim::Write).is_err());
    assert!(!Held::beside(&top, Aim::Write).unwrap().is(&real).unwrap());
}

#[test]
fn what_is_missing_or_no_directory_is_said() {
    let (_dir, top) = temp();
    fs::write(top.join("file"), "x").unwrap();
    symlink("round", top.join("round")).unwrap();
    let kind = |name: &str| match Held::open(&top.join(name), Aim::Read).unwrap_err() {
        HeldError::Io { source, .. } => source.raw_os_error(),
        other => panic!("{other}"),
    };
    assert_eq!(kind("none"), Some(nix::libc::ENOENT));
    assert_eq!(kind("file"), Some(nix::libc::ENOTDIR));
    assert_eq!(kind("file/below"), Some(nix::libc::ENOTDIR));
    assert_eq!(kind("round"), Some(nix::libc::ELOOP));
}

#[test]
fn a_link_of_our_own_is_followed() {
    let (_dir, top) = temp();
    fs::create_dir_all(top.join("real/below")).unwrap();
    symlink(top.join("real"), top.join("absolute")).unwrap();
    symlink("absolute/../real", top.join("relative")).unwrap();
    for name in ["absolute/below", "relative/below"] {
        let held = Held::open(&top.join(name), Aim::Write).unwrap();
        assert_eq!(held.real_path().unwrap(), top.join("real/below"));
    }
}

#[test]
fn a_link_of_somebody_else_is_not_followed() {
    if !is_root() {
        return eprintln!("skipped: needs root to make files of others");
    }
    let (_dir, top) = temp();
    fs::create_dir(top.join("real")).unwrap();
    directory(&top.join("home"), BOB, 0o755);
    directory(&top.join("tmp"), 0, 0o1777);
    symlink(top.join("real"), top.join("home/by-root")).unwrap();
    for place in ["home", "tmp"] {
        symlink(top.join("real"), top.join(place).join("by-bob")).unwrap();
        lchown(top.join(place).join("by-bob"), Some(BOB), None).unwrap();
    }
    for (link, user) in [("home/by-root", 0), ("home/by-bob", 0), ("tmp/by-bob", 0), ("tmp/by-bob", 1)] {
        let refused = open(&top.join(link), Aim::Read, user);
        assert!(matches!(refused, Err(HeldError::Link { .. })), "{link}: {refused:?}");
    }
    assert!(open(&top.join("home/by-bob"), Aim::Read, BOB).is_ok(), "his own");
    assert!(open(&top.join("tmp/by-bob"), Aim::Read, BOB).is_ok(), "his own");
}

#[test]
fn a_link_of_proc_is_not_followed() {
    let (_dir, top) = temp();
    let open_one = fs::File::open(&top).unwrap();
    let magic = format!("/proc/self/fd/{}", open_one.as_raw_fd());
    let pid = std::process::id();
    for path in [magic.clone(), "/proc/self/cwd".to_owned(), format!("/proc/{pid}/root/tmp")] {
        let refused = Held::open(Path::new(&path), Aim::Read);
        assert!(matches!(refused, Err(HeldError::Magic(_))), "{path}: {refused:?}");
    }
    symlink(&magic, top.join("to-magic")).unwrap();
    assert!(matches!(Held::open(&top.join("to-magic"), Aim::Read), Err(HeldError::Magic(_))));
}

#[test]
fn root_writes_only_where_nobody_else_can_change_the_way() {
    if !is_root() {
        return eprintln!("skipped: needs root to make files of others");
    }
    let (_dir, top) = temp();
    for (name, owner, mode) in [
        ("bobs", BOB, 0o755),
        ("all", 0, 0o777),
        ("group", 0, 0o775),
        ("sticky", 0, 0o1777),
        ("own", 0, 0o755),
        ("bobs-sticky", BOB, 0o1777),
    ] {
        directory(&top.join(name), owner, mode);
        directory(&top.join(name).join("below"), 0, 0o700);
    }
    for name in ["bobs", "all", "group", "bobs-sticky"] {
        for below in ["", "below", "below/../below"] {
            let path = top.join(name).join(below);
            let refused = open(&path, Aim::Write, 0);
            assert!(matches!(refused, Err(HeldError::Shared { .. })), "{}: {refused:?}", path.display());
            assert!(open(&path, Aim::Read, 0).is_ok(), "reading is everybody's");
            assert!(open(&path, Aim::Write, 1).is_ok(), "only root risks more than what is its own");
        }
    }
    for name in ["sticky", "sticky/below", "own/below"] {
        assert!(open(&top.join(name), Aim::Write, 0).is_ok(), "{name}");
    }
    let said = open(&top.join("bobs/below"), Aim::Write, 0).unwrap_err();
    assert!(said.to_string().contains("bobs`: it belongs to the user with number 4711"), "{said}");
    assert!(said.hint().is_some());
}

#[test]
fn no_way_of_opening_follows_a_link_or_leads_out() {
    let (_dir, top) = temp();
    fs::create_dir(top.join("real")).unwrap();
    fs::write(top.join("real/file"), "x").unwrap();
    symlink("real", top.join("link")).unwrap();
    symlink("real/file", top.join("end")).unwrap();
    let held = Held::open(&top, Aim::Read).unwrap();
    type Open<'a> = &'a dyn Fn(&[u8]) -> io::Result<File>;
    let ways: [Open<'_>; 2] = [&|path| held.open_beneath(path, OFlags::RDONLY), &|path| {
        open_stepwise(held.handle(), path, OFlags::RDONLY)
    }];
    for open in ways {
        assert!(open(b"real/file").is_ok());
        for path in
            [&b"link/file"[..], b"end", b"../etc/passwd", b"real/../../etc", b"/etc/passwd", b"", b"none"]
        {
            assert!(open(path).is_err(), "{}", String::from_utf8_lossy(path));
        }
    }
}

#[test]
fn a_path_that_is_too_long_for_the_kernel_is_walked_in_pieces() {
    let (_dir, top) = temp();
    let held = Held::open(&top, Aim::Read).unwrap();
    let name = [b'n'; 200];
    let mut at = held.handle().try_clone().unwrap();
    let mut path = Vec::new();
    for _ in 0..60 {
        mkdirat(&at, &name[..], Mode::RWXU).unwrap();
        at = open_beneath(&at, &name, OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
        path.extend_from_slice(if path.is_empty() { b"" } else { b"/" });
        path.extend_from_slice(&name);
    }
    let opened = held.open_beneath(&path, OFlags::RDONLY | OFlags::DIRECTORY).unwrap();
    assert_eq!(opened.metadata().unwrap().ino(), at.metadata().unwrap().ino());
    path.extend_from_slice(&[b'n'; 5000]);
    assert!(held.open_beneath(&path, OFlags::RDONLY).is_err(), "no name is so long");
}

#[test]
fn a_new_file_takes_the_place_of_nothing() {
    let (_dir, top) = temp();
    fs::write(top.join("mine"), "mine").unwrap();
    symlink("elsewhere", top.join("link")).unwrap();
    let held = Held::open(&top, Aim::Write).unwrap();
    for name in ["mine", "link"] {
        let error = held.write_new(OsStr::new(name), b"yours", Readers::All).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(fs::read(top.join("mine")).unwrap(), b"mine");
    assert!(!top.join("elsewhere").exists());
}

#[test]
fn a_file_that_replaces_one_follows_no_link() {
    let (_dir, top) = temp();
    fs::write(top.join("victim"), "mine").unwrap();
    symlink("victim", top.join("report")).unwrap();
    symlink("victim", top.join(".report.new")).unwrap();
    let held = Held::open(&top, Aim::Write).unwrap();
    held.replace(OsStr::new("report"), OsStr::new(".report.new"), b"whole", Readers::All).unwrap();
    assert_eq!(fs::read(top.join("victim")).unwrap(), b"mine");
    assert_eq!(fs::read(top.join("report")).unwrap(), b"whole");
    let about = fs::symlink_metadata(top.join("report")).unwrap();
    assert!(about.is_file() && about.mode() & 0o022 == 0);
    assert_eq!(fs::read_dir(&top).unwrap().count(), 2);
}

/// A link and a directory of bob's change places all the time: root must get the directory or a refusal, never what the
/// link leads to.
#[test]
fn a_name_that_is_swapped_all_the_time_never_leads_elsewhere() {
    if !is_root() {
        return eprintln!("skipped: needs root to make files of others");
    }
    let (_dir, top) = temp();
    directory(&top.join("home"), BOB, 0o755);
    directory(&top.join("victim"), 0, 0o755);
    directory(&top.join("home/place"), BOB, 0o755);
    symlink(top.join("victim"), top.join("home/other")).unwrap();
    lchown(top.join("home/other"), Some(BOB), None).unwrap();
    let (stop, home) = (AtomicBool::new(false), fs::File::open(top.join("home")).unwrap());
    let victim = fs::metadata(top.join("victim")).unwrap().ino();
    let held = Held::open(&top, Aim::Read).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(&home, "place", &home, "other", RenameFlags::EXCHANGE).unwrap();
            }
        });
        let (mut refused, mut reached) = (0, 0);
        // On a busy machine the other thread may have no turn for a while.
        for round in 0..500_000 {
            if round >= 2000 && refused > 0 && reached > 0 {
                break;
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY;
            let typed = open(&top.join("home/place"), Aim::Read, 0).ok().map(|held| held.handle);
            let ways = [
                typed,
                held.open_beneath(b"home/place", flags).ok(),
                open_stepwise(held.handle(), b"home/place", flags).ok(),
            ];
            for opened in ways {
                match opened {
                    Some(file) => {
                        assert_ne!(file.metadata().unwrap().ino(), victim);
                        reached += 1;
                    }
                    None => refused += 1,
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(refused > 0 && reached > 0, "the race was none: {refused} and {reached}");
    });
}
