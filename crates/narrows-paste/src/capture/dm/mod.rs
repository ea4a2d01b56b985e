//! Device-mapper and encryption: `dmsetup table`, `dmsetup ls --tree`, `dmsetup info`, `cryptsetup status`,
//! `cryptsetup luksDump` and `cryptsetup benchmark`.

mod benchmark;
mod info;
mod luks;
mod status;
mod table;
mod tree;

use super::{Output, Part, Text, read_outputs};

const OUTPUTS: [Output; 6] = [
    ("dmsetup info", |body| body.contains("Maj") || body.contains("Major, minor"), info::read),
    ("dmsetup ls --tree", |body| body.contains(")\n"), tree::read),
    ("dmsetup table", |body| table::TARGETS.iter().any(|target| body.contains(target)), table::read),
    ("cryptsetup status", |body| body.contains("keysize:"), status::read),
    ("cryptsetup luksDump", |body| body.contains("LUKS header information"), luks::read),
    ("cryptsetup benchmark", |body| body.contains("iB/s"), benchmark::read),
];

/// Reads every output about device-mapper and its encryption in a text.
pub fn read(text: &Text) -> Part {
    read_outputs(text, &OUTPUTS)
}

#[cfg(test)]
mod tests;
