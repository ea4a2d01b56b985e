//! Puts the page together: `assemble MODULE.wasm PAGE.html`. One file holds all: the module, packed; the style, the scripts and the
//! examples; and a policy that allows these by their hashes, and nothing else.

#![expect(clippy::disallowed_methods, reason = "it reads the module and writes the page")]

use std::fs;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

const SLOT: &str = include_str!("../../tests/systems/s3-terminal.txt");

/// What can be tried: the outputs of commands, and others that they are compared with.
const EXAMPLES: [(&str, &[&str]); 5] = [
    ("a slot with one lane", &[SLOT]),
    ("the same slot, before and after", &[SLOT, include_str!("../texts/slot-after.txt")]),
    ("a USB drive at 480M", &[include_str!("../../tests/cases/061-usbc-caddy-480m-cable/lsusb-tv.txt")]),
    (
        "a fio that measured memory",
        &[include_str!("../../tests/cases/091-usbstick-5187MBps-page-cache/fio.txt")],
    ),
    ("a pool of four drives behind a switch", &[include_str!("../../tests/systems/s0-fio.txt")]),
];

fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(module), Some(page)) = (words.next(), words.next()) else {
        return Err("usage: assemble MODULE.wasm PAGE.html".into());
    };
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&fs::read(module)?)?;
    let examples: Vec<_> =
        EXAMPLES.iter().map(|(name, texts)| serde_json::json!({ "name": name, "texts": texts })).collect();
    // In a script `<` begins no end of it.
    let json = |value: &serde_json::Value| value.to_string().replace('<', "\\u003c");
    let script = include_str!("../web/page.js")
        .replace("{{module}}", &STANDARD.encode(packed.finish()?))
        .replace("{{worker}}", &json(&include_str!("../web/worker.js").into()))
        .replace("{{examples}}", &json(&examples.into()));
    let style = narrows_report::document::style() + include_str!("../web/page.css");
    let html = include_str!("../web/page.html")
        .replace("{{script-hash}}", &hash(&script))
        .replace("{{style-hash}}", &hash(&style))
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{style}}", &style)
        .replace("{{script}}", &script);
    fs::write(page, html)?;
    Ok(())
}
