//! Trees, lists and descriptors of foreign USB devices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, usb};
use narrows::machine::usb::{port_speed, transport};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("lsusb", bytes);
    let devices = usb::read(&text).machine.usb;
    assert!(devices.len() <= text.lines().count());
    for (address, device) in &devices {
        assert_eq!(*address, device.address);
        let _ = port_speed(&devices, device);
        assert!(!transport(&devices, device).device.is_empty());
    }
});
