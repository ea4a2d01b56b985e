//! Tests of `runner/qemu.rs`.

use crate::runner::qemu::*;
use crate::runner::scenario::Scenario;

#[test]
fn a_switch_has_a_root_port_above_and_drives_below() {
    let text = "description = ''\ninjected = ''\n[machine]\n[[machine.switch]]\nid = 'sw'\nports = 2\n\
                [[machine.drive]]\nname = 'a'\nmib = 1\nport = 'sw.1'\nbytes_per_second = 5\n\
                [[check]]\nrun = 'x'\n[[check.expect]]\nexit = [0]";
    let scenario = Scenario::parse("s", text).expect("is valid");
    let arguments = arguments(&scenario.machine, 2).join(" ");
    let wanted = "-device pcie-root-port,id=sw.root,chassis=1,slot=1,x-speed=16,x-width=4 \
                  -device x3130-upstream,id=sw,bus=sw.root \
                  -device xio3130-downstream,id=sw.0,bus=sw,chassis=2,slot=2 \
                  -device xio3130-downstream,id=sw.1,bus=sw,chassis=3,slot=3 \
                  -device pcie-root-port,id=port.0,chassis=4,slot=4,x-speed=16,x-width=4 \
                  -device pcie-root-port,id=port.1,chassis=5,slot=5,x-speed=16,x-width=4 \
                  -drive if=none,id=a.file,file=a.raw,format=raw,cache=unsafe,throttling.bps-total=5,throttling.iops-total=4000 \
                  -device nvme,id=a.device,drive=a.file,serial=a,bus=sw.1";
    assert!(arguments.ends_with(wanted), "{arguments}");
}

#[test]
fn a_drive_that_is_plugged_in_gets_its_limit_afterwards() {
    let text = "description = ''\ninjected = ''\n[machine]\n\
                [[machine.drive]]\nname = 'a'\nmib = 1\nbytes_per_second = 5\nproperties = ['x=1']\n\
                [[check]]\nrun = 'x'\n[[check.expect]]\nexit = [0]";
    let scenario = Scenario::parse("s", text).expect("is valid");
    assert!(!arguments(&scenario.machine, 1).join(" ").contains("a.raw"));
    let drive = &scenario.machine.drives[0];
    assert_eq!(backend(drive), "if=none,id=a.file,file=a.raw,format=raw,cache=unsafe");
    assert_eq!(device(drive, Some("port.0")), "nvme,id=a.device,drive=a.file,serial=a,bus=port.0,x=1");
    let limit: serde_json::Value = serde_json::from_str(&throttle(drive)).expect("is JSON");
    assert_eq!(limit["arguments"]["device"], "a.file");
    assert_eq!((&limit["arguments"]["bps"], &limit["arguments"]["iops"]), (&5.into(), &4000.into()));
}

#[test]
fn a_lone_processor_keeps_its_memory_barriers() {
    let of = |words: &str| {
        let text = format!(
            "description = ''\ninjected = ''\n[machine]\n{words}\n[[check]]\nrun = 'x'\n[[check.expect]]\nexit = [0]"
        );
        arguments(&Scenario::parse("s", &text).expect("is valid").machine, 0).join(" ")
    };
    assert!(of("cpus = 1").contains("-smp 1,maxcpus=2 "));
    assert!(of("cpus = 2").contains("-smp 2 "));
    assert!(of("cpus = 1\ninstruction_shift = 3").contains("-smp 1 "));
}
