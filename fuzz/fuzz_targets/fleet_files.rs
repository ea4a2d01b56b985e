//! What hosts of a fleet bring back: any report, logs and samples are counted, and nothing that is cut or foreign makes more of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::results::fio_client;
use narrows::verdict::fleet::samples;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = (fio_client::parse(&text), fio_client::lines(&text), fio_client::histograms(&text), samples::parse(&text));
});
