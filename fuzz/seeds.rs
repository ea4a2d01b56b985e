//! The fuzz targets in an ordinary test: they build, and what fuzzing begins from passes.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads its files, and may panic")]

use std::fs;
use std::path::{Path, PathBuf};

// The names by which a target knows the fuzzer, and what targets share.
extern crate self as libfuzzer_sys;
extern crate self as narrows_fuzz;

#[path = "src/lib.rs"]
#[expect(unreachable_pub, reason = "a crate of its own for the fuzzer")]
mod shared;
use shared::{assert_sound, words};

/// The macro of `libfuzzer_sys`, without the fuzzer.
mod fuzzer {
    macro_rules! fuzz_target {
        (|$bytes:ident: &[u8]| $body:block) => {
            pub(crate) fn run($bytes: &[u8]) $body
        };
        (|$text:ident: &str| $body:block) => {
            pub(crate) fn run(bytes: &[u8]) {
                let of_text = |$text: &str| $body;
                if let Ok(text) = std::str::from_utf8(bytes) {
                    of_text(text);
                }
            }
        };
        (|$input:ident: $type:ty| $body:block) => {
            pub(crate) fn run(bytes: &[u8]) {
                let of_input = |$input: $type| $body;
                if let Ok(input) = arbitrary::Arbitrary::arbitrary_take_rest(arbitrary::Unstructured::new(bytes)) {
                    of_input(input);
                }
            }
        };
    }

    pub(crate) use fuzz_target;
}
use fuzzer::fuzz_target;

macro_rules! targets {
    ($($name:ident)*) => {
        #[allow(unused_attributes, reason = "`no_main` is for the program that the fuzzer makes of it")]
        mod fuzz_targets {
            $(pub(crate) mod $name;)*
        }

        const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), fuzz_targets::$name::run)),*];
    };
}

targets! {
    capture
    copy_manifest
    diskstats
    dm_table
    dm_text
    dmesg
    dmidecode_text
    drives
    fio_long
    fleet_files
    fleet_since
    gvariant
    hwloc_xml
    lab_journal
    links
    lsblk
    lscpu
    lspci_hex
    lspci_text
    lspci_tree
    lsusb
    machine
    md_text
    mountinfo
    net_text
    nvme_smart
    path_file
    pci_config
    proc_text
    results
    saved_run
    signatures
    smbios
    snapshot
    usage_text
    volumes
    zfs_label
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.map(|entry| entry.expect("is readable").path()).collect()
}

#[test]
fn every_target_is_tested_and_built_by_the_fuzzer() {
    let manifest = fs::read_to_string(here().join("Cargo.toml")).expect("is readable");
    let mut there = files(&here().join("fuzz_targets"));
    there.sort();
    assert_eq!(there.len(), TARGETS.len());
    for (file, (name, _)) in there.iter().zip(TARGETS) {
        assert_eq!(file.file_stem().and_then(|stem| stem.to_str()), Some(*name));
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "fuzz/Cargo.toml has no {name}"
        );
    }
}

#[test]
fn seeds_and_bytes_without_sense_pass() {
    for (name, run) in TARGETS {
        let seeds = files(&here().join("seeds").join(name));
        let inputs = seeds.iter().map(|seed| fs::read(seed).expect("is readable"));
        let senseless = (0..=255).cycle().take(1000).collect();
        for input in inputs.chain([Vec::new(), senseless]) {
            run(&input);
        }
    }
}
