#![expect(clippy::disallowed_methods, reason = "the tests make files to be read")]

use std::fs;
use std::io::{Write, empty};

use narrows_base::units::Lanes;
use narrows_machine::tree::Miss;

use super::*;

/// A listing that the readers know.
const LISTING: &str = "/sys/bus/pci/devices/0000:01:00.0/class:0x010802\n";

fn gathered(files: &[(&str, &[u8])]) -> Gathered {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        let at = dir.path().join(name);
        fs::create_dir_all(at.parent().expect("has one")).expect("is ours");
        fs::write(at, content).expect("is ours");
    }
    gather(&[dir.path().to_owned()], empty()).expect("is readable")
}

#[test]
fn a_text_is_gathered_as_its_file_is() {
    let found =
        gather_texts([("listing.txt", LISTING.as_bytes())], &mut |_: &Text| false).expect("is readable");
    assert_eq!(recognised(found), recognised(gathered(&[("listing.txt", LISTING.as_bytes())])));
}

fn recognised(gathered: Gathered) -> Vec<String> {
    let captured = gathered.merger.finish().captured.expect("is a capture");
    captured.texts.into_iter().map(|text| text.name).collect()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // Literally, for names that the crate refuses to write.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, *content).expect("memory takes it");
    }
    builder.into_inner().expect("memory takes it")
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// `printf '/sys/bus/pci/devices/0000:01:00.0/class:0x010802\n' | xz`, xz 5.4.
const XZ: &[u8] = include_bytes!("listing.xz");

#[test]
fn texts_are_found_wherever_they_are_and_whatever_they_are_called() {
    let listing = LISTING.as_bytes();
    let files: &[(&str, &[u8])] = &[
        ("a", listing),
        ("deep/er/b.log", listing),
        ("c.gz", &gz(listing)),
        ("d", &bz2(listing)),
        ("e.zst", &zst(listing)),
        ("f.xz", XZ),
        ("g.tar", &tar(&[("in/g", listing)])),
        ("h.tar.gz", &gz(&tar(&[("in/h", listing), ("in/i.gz", &gz(listing))]))),
    ];
    let found = gathered(files);
    assert_eq!(found.notes, [""; 0]);
    assert_eq!(recognised(found), ["a", "c", "d", "e", "f", "in/g", "in/h", "in/i", "deep/er/b.log"]);
}

#[test]
fn a_directory_with_sys_in_it_is_a_record_and_its_other_files_are_texts() {
    let found = gathered(&[
        ("host/sys/class/dmi/id/board_name", b"X99-A\n"),
        ("host/proc/sys/kernel/osrelease", b"6.1.0\n"),
        ("host/sos_commands/pci/lspci", LISTING.as_bytes()),
        ("host/etc/motd", b"hello\n"),
    ]);
    let [(place, tree)] = found.trees.as_slice() else { panic!("{:?}", found.trees) };
    assert_eq!(place, "host");
    assert_eq!(tree.read("/sys/class/dmi/id/board_name"), Ok(&b"X99-A\n"[..]));
    assert_eq!(tree.read("/etc/motd"), Err(Miss::Absent));
    assert_eq!(found.unrecognised, ["host/etc/motd"]);
    assert_eq!(recognised(found), ["host/sos_commands/pci/lspci"]);
}

#[test]
fn no_path_and_no_link_leads_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let secret = tempfile::tempdir().expect("a temporary directory");
    fs::write(secret.path().join("secret"), LISTING).expect("is ours");
    std::os::unix::fs::symlink(secret.path().join("secret"), dir.path().join("link")).expect("is ours");
    std::os::unix::fs::symlink(secret.path(), dir.path().join("linked")).expect("is ours");
    std::os::unix::fs::symlink(".", dir.path().join("circle")).expect("is ours");
    let archive = tar(&[("../../etc/passwd", LISTING.as_bytes()), ("/sys/../../x", b"y")]);
    fs::write(dir.path().join("t.tar"), archive).expect("is ours");
    let found = gather(&[dir.path().to_owned()], empty()).expect("is readable");
    assert!(found.trees.is_empty(), "{:?}", found.trees);
    assert_eq!(found.unrecognised, ["x"]);
    assert_eq!(recognised(found), ["etc/passwd"]);
}

#[test]
fn deep_paths_are_given_up_on_and_what_came_before_stays() {
    // Each makes 2000 directories whose names are 2000 bytes long on average: 4 MB.
    let mut builder = tar::Builder::new(Vec::new());
    for at in 0..80 {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mode(0o644);
        let path = format!("sys/{at}{}", "/a".repeat(2000));
        builder.append_data(&mut header, path, empty()).expect("memory takes it");
    }
    let deep = builder.into_inner().expect("memory takes it");
    let found = gathered(&[("a.txt", LISTING.as_bytes()), ("deep.tar", &deep)]);
    assert_eq!(
        found.notes,
        ["`deep.tar` holds more than 256 MiB; the rest is left out: unpack it and name what matters"]
    );
    assert_eq!(recognised(found), ["a.txt"]);
}

#[test]
fn what_has_no_permission_could_not_be_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("sys")).expect("is ours");
    let closed = dir.path().join("sys/closed");
    fs::write(&closed, "").expect("is ours");
    let none = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(&closed, none).expect("is ours");
    let found = gather(&[dir.path().to_owned()], empty()).expect("is readable");
    assert_eq!(found.trees[0].1.read("/sys/closed"), Err(Miss::Denied));
}

#[test]
fn a_record_of_another_format_is_refused_by_name() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("narrows")).expect("is ours");
    let manifest = r#"{"schema":"narrows/snapshot/9","tool_version":"9.0.0","redacted":true}"#;
    fs::write(dir.path().join("narrows/manifest.json"), manifest).expect("is ours");
    let error = gather(&[dir.path().to_owned()], empty()).expect_err("is of the future");
    assert!(error.to_string().contains("narrows/snapshot/9"), "{error}");
}

#[test]
fn a_link_in_a_record_leads_nowhere_outside() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(dir.path().join("sys")).expect("is ours");
    for (name, target) in [("out", "/etc/passwd"), ("up", "../../../../../../etc/passwd"), ("loop", "loop")] {
        std::os::unix::fs::symlink(target, dir.path().join("sys").join(name)).expect("is ours");
    }
    let found = gather(&[dir.path().to_owned()], empty()).expect("is readable");
    for name in ["out", "up", "loop"] {
        assert_eq!(found.trees[0].1.read(&format!("/sys/{name}")), Err(Miss::Absent));
    }
}

#[test]
fn a_support_bundle_without_links_has_its_disks() {
    let found = gathered(&[
        ("host/sys/block/sda/queue/rotational", b"0\n"),
        ("host/sys/devices/pci0000:00/0000:00:01.0/class", b"0x060400\n"),
    ]);
    let [(_, tree)] = found.trees.as_slice() else { panic!("{:?}", found.trees) };
    assert_eq!(tree.read("/sys/class/block/sda/queue/rotational"), Ok(&b"0\n"[..]));
    assert_eq!(tree.list("/sys/bus/pci/devices").as_deref(), Ok(&["0000:00:01.0".to_owned()][..]));
}

#[test]
fn what_is_damaged_costs_itself_only() {
    let mut cut = gz(&tar(&[("in/a", LISTING.as_bytes()), ("in/b", &[b'x'; 4000])]));
    cut.truncate(cut.len() - 20);
    let found = gathered(&[("broken.tar.gz", &cut), ("empty", b""), ("good", LISTING.as_bytes())]);
    assert!(found.notes.iter().any(|note| note.contains("cut off")), "{:?}", found.notes);
    assert_eq!(recognised(found), ["in/a", "good"]);
}

#[test]
fn bytes_that_are_no_text_are_not_shown_to_readers() {
    let found = gathered(&[("core", b"\x7fELF\0\0/sys/bus/pci/devices/0000:01:00.0/class:0x010802\n")]);
    assert!(found.merger.is_empty());
    assert_eq!((found.unrecognised_count, found.unrecognised), (1, vec!["core".to_owned()]));
}

#[test]
fn archives_in_archives_in_archives_are_not_opened() {
    let listing = LISTING.as_bytes();
    let third = tar(&[("c", listing)]);
    let second = tar(&[("b", listing), ("third.tar", &third)]);
    let found = gathered(&[("first.tar", &tar(&[("a", listing), ("second.tar", &second)]))]);
    assert_eq!(found.unrecognised, ["third.tar"]);
    assert_eq!(recognised(found), ["a", "b"]);
}

#[test]
fn a_text_longer_than_any_is_read_in_part() {
    let mut long = LISTING.as_bytes().to_vec();
    long.resize(usize::try_from(MOST_OF_TEXT).expect("fits") + 10, b'x');
    let found = gathered(&[("long", &long)]);
    assert_eq!(found.notes, ["only the first 24 MiB of `long` were read"]);
    assert_eq!(recognised(found), ["long"]);
}

#[test]
fn a_missing_file_and_a_running_machine_are_refused() {
    let missing = gather(&["/no/such/file".into()], empty()).expect_err("is not there");
    assert!(missing.to_string().starts_with("cannot read `/no/such/file`: "), "{missing}");
    let live = gather(&["/".into()], empty()).expect_err("is running");
    assert!(live.to_string().contains("running machine"), "{live}");
}

#[test]
fn standard_input_is_a_text_like_any_other() {
    let found = gather(&["-".into(), "-".into()], LISTING.as_bytes()).expect("is readable");
    assert_eq!(recognised(found), ["standard input"]);
}

/// 256 bytes of config space with a PCI Express capability at 0x40: `kind` is Device/Port Type, the link runs x1 of x4 at
/// 8 GT/s (PCI Express Base Specification 5.0, section 7.5.3).
fn config(class: [u8; 3], kind: u8) -> Vec<u8> {
    let mut config = vec![0; 256];
    let mut put = |at: usize, bytes: &[u8]| config[at..at + bytes.len()].copy_from_slice(bytes);
    put(0x00, &[0x86, 0x80, 0x40, 0xa3]);
    put(0x06, &[0x10]);
    put(0x09, &class);
    put(0x34, &[0x40]);
    put(0x40, &[0x10, 0x00, kind << 4 | 2]);
    put(0x48, &[0x00, 0x20]);
    put(0x4c, &[0x43, 0x00]);
    put(0x52, &[0x13, 0x00]);
    config
}

#[test]
fn the_config_space_that_a_support_bundle_copies_is_decoded() {
    let mut port = config([0x00, 0x04, 0x06], 4);
    port[0x0e] = 1;
    port[0x18..0x1b].copy_from_slice(&[0, 1, 1]);
    let drive = config([0x02, 0x08, 0x01], 0);
    let bundle = [
        ("sos/proc/bus/pci/00/01.0", port.as_slice()),
        ("sos/proc/bus/pci/01/00.0", drive.as_slice()),
        ("sos/proc/bus/pci/02/00.0", &[0xff; 7]),
        ("sos/proc/bus/pci/devices", b"0000\t8086a340\n"),
    ];
    let machine = gathered(&bundle).merger.finish();
    assert_eq!(machine.pci.len(), 2);
    let found = &machine.pci[&"0000:01:00.0".parse().unwrap()];
    assert_eq!(found.parent, "0000:00:01.0".parse().ok());
    assert_eq!(
        (found.link.current_width.get(), found.link.max_width.get()),
        (Some(Lanes::new(1)), Some(Lanes::new(4)))
    );
    assert_eq!(found.class.get(), Some(0x01_0802));
    assert_eq!(found.class.source().as_str(), "proc/bus/pci/01/00.0");
}
