//! No config space may panic or hang the decoder, and what it decodes keeps to the specification.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::fact::Fact;
use narrows::machine::pci::{parse_acs, parse_express};

fuzz_target!(|config: &[u8]| {
    if let Ok(express) = parse_express(config) {
        assert!((128..=4096).contains(&express.max_payload.get()));
        assert!(express.width.is_none_or(|width| (1..=32).contains(&width.get())));
    }
    // Extended config space begins behind the first 256 bytes; what is shorter is not all of it.
    let is_denied = matches!(parse_acs(config, "config"), Fact::Denied { .. });
    assert_eq!(is_denied, config.len() <= 0x100);
});
