//! What strangers paste of nvme-cli and smartctl.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, merge, nvme, smart};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let machine = merge::merge(vec![nvme::read(&text), smart::read(&text)]);
    narrows_fuzz::assert_sound(&machine, narrows_fuzz::words(&text));
    for (name, health) in &machine.health {
        assert!(!name.starts_with("smart/") && !name.starts_with("smart-log/"));
        assert!(health.temperature.value().is_none_or(|now| now.get().abs() < 200.0));
        assert!(health.smart.value().is_none_or(|log| log.sensors.len() <= 8));
    }
});
