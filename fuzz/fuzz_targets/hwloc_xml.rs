//! What strangers paste as XML of hwloc: bridges are a tree, and no text makes more objects than it has elements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::capture::{Text, hwloc, merge};

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("fuzz", bytes);
    let elements = text.body().matches('<').count();
    let machine = merge::merge(vec![hwloc::read(&text)]);
    // A partition brings its disk.
    assert!(machine.pci.len() <= elements && machine.block.len() <= 2 * elements);
    assert!(machine.nics.len() <= elements && machine.cpus.nodes.len() <= elements);
    for (address, device) in &machine.pci {
        assert_eq!(*address, device.address);
        assert!(device.parent.is_none_or(|above| above.domain == address.domain && above.bus < address.bus));
    }
    assert!(machine.block.values().all(|device| device.serial.value().is_none()));
});
