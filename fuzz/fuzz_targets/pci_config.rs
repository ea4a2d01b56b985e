//! No config space may panic or hang the decoder, and what it decodes keeps to the specification.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::pci::parse_express;

fuzz_target!(|config: &[u8]| {
    if let Ok(express) = parse_express(config) {
        assert!((128..=4096).contains(&express.max_payload.get()));
        assert!(express.width.is_none_or(|width| (1..=32).contains(&width.get())));
    }
});
