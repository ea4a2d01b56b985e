//! Tests of `runner/qemu.rs`.

use crate::runner::qemu::*;
use crate::runner::scenario::Scenario;

#[test]
fn a_switch_has_a_root_port_above_and_drives_below() {
    let text = "description = ''\ninjected = ''\n[machine]\n[[machine.switch]]\nid = 'sw'\nports = 2\n\
                [[machine.drive]]\nname = 'a'\nmib = 1\nport = 'sw.1'\nbytes_per_second = 5\n\
                [[check]]\nrun = 'x'\n[[check.expect]]\nexit = [0]";
    let scenario = Scenario::parse("s", text).expect("is valid");
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = arguments(&scenario.machine, directory.path()).expect("files can be made").join(" ");
    let wanted = "-device pcie-root-port,id=sw.root,chassis=1,slot=1,x-speed=16,x-width=4 \
                  -device x3130-upstream,id=sw,bus=sw.root \
                  -device xio3130-downstream,id=sw.0,bus=sw,chassis=2,slot=2 \
                  -device xio3130-downstream,id=sw.1,bus=sw,chassis=3,slot=3 \
                  -drive if=none,id=a.file,file=a.raw,format=raw,cache=unsafe,throttling.bps-total=5 \
                  -device nvme,id=a.device,drive=a.file,serial=a,bus=sw.1";
    assert!(arguments.ends_with(wanted), "{arguments}");
    assert_eq!(directory.path().join("a.raw").metadata().expect("is there").len(), 1 << 20);
}
