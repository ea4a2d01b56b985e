use super::read;
use crate::machine::Machine;
use crate::machine::block::{BlockDevice, BlockKind, Transport};
use crate::machine::capture::Text;
use crate::units::Bytes;
use proptest::prelude::*;

fn machine(text: &str) -> Machine {
    read(&Text::new("nvme.txt", text.as_bytes())).machine
}

fn who(device: &BlockDevice) -> [&str; 3] {
    [&device.model, &device.serial, &device.firmware].map(|fact| fact.value().map_or("", String::as_str))
}

#[test]
fn lists_of_every_version_tell_model_serial_and_size() {
    for text in [
        "Node             SN                   Model                                    Namespace Usage                      Format           FW Rev\n\
         ---------------- -------------------- ---------------------------------------- --------- -------------------------- ---------------- --------\n\
         /dev/nvme0n1     S4                   Samsung SSD 980 PRO 1TB                  1          57.40  GB /   1.00  TB    512   B +  0 B   5B2QGXA7\n",
        "Node                  Generic               SN                   Model                                    Namespace  Usage                      Format           FW Rev\n\
         --------------------- --------------------- -------------------- ---------------------------------------- ---------- -------------------------- ---------------- --------\n\
         /dev/nvme0n1          /dev/ng0n1            S4                   Samsung SSD 980 PRO 1TB                  0x1         57.40  GB /   1.00  TB    512   B +  0 B   5B2QGXA7\n",
        "Node             SN                   Model                                    Version  Namespace Usage                      Format           FW Rev\n\
         /dev/nvme0n1     S4                   Samsung SSD 980 PRO 1TB                  1.3      1          57.40  GB /   1.00  TB    512   B +  0 B   5B2QGXA7\n",
    ] {
        let machine = machine(text);
        let drive = &machine.block["nvme0n1"];
        assert_eq!(who(drive), ["Samsung SSD 980 PRO 1TB", "S4", "5B2QGXA7"], "{text}");
        assert_eq!(drive.size.get(), Some(Bytes::new(1_000_000_000_000)), "{text}");
        assert_eq!(drive.queue.logical_block.get(), Some(Bytes::new(512)), "{text}");
    }
}

#[test]
fn the_flat_json_tells_exact_sizes() {
    let machine = machine(
        r#"{"Devices" : [{"NameSpace" : 1, "DevicePath" : "/dev/nvme0n1", "Firmware" : "5B2", "ModelNumber" : "M",
            "SerialNumber" : "S", "UsedBytes" : 1, "PhysicalSize" : 1000204886016, "SectorSize" : 512}]}"#,
    );
    assert_eq!(who(&machine.block["nvme0n1"]), ["M", "S", "5B2"]);
    assert_eq!(machine.block["nvme0n1"].size.get(), Some(Bytes::new(1_000_204_886_016)));
}

#[test]
fn the_long_json_tells_the_address_of_each_controller() {
    let nested = r#"{"Devices":[{"HostNQN":"n","Subsystems":[{"Subsystem":"nvme-subsys0","Controllers":[{"Controller":"nvme0",
        "SerialNumber":"S","ModelNumber":"M","Firmware":"F","Transport":"pcie","Address":"0000:01:00.0","Namespaces":[
        {"NameSpace":"nvme0n1","NSID":1,"PhysicalSize":512,"SectorSize":512}],"Paths":[]}],"Namespaces":[]}]}]}"#;
    let flat = r#"{"Devices":[{"Subsystem":"nvme-subsys0","SubsystemNQN":"n","Controllers":[{"Controller":"nvme0",
        "Transport":"pcie","Address":"0000:01:00.0","SerialNumber":"S","ModelNumber":"M","Firmware":"F","Namespaces":[
        {"NameSpace":"nvme0n1","NSID":1,"PhysicalSize":512,"SectorSize":512}]}],"Namespaces":[]}]}"#;
    for text in [nested, flat] {
        let machine = machine(text);
        assert!(
            matches!(&machine.block["nvme0n1"].transport, Transport::NvmePci { controller, pci }
                if controller == "nvme0" && pci.to_string() == "0000:01:00.0"),
            "{text}"
        );
        assert_eq!(who(&machine.block["nvme0n1"]), ["M", "S", "F"]);
    }
}

#[test]
fn several_paths_lead_to_one_namespace() {
    let machine = machine(
        r#"{"Devices":[{"Subsystems":[{"Subsystem":"nvme-subsys1","Controllers":[
        {"Controller":"nvme1","Transport":"tcp","Address":"traddr=192.0.2.1,trsvcid=4420","ModelNumber":"Linux","Namespaces":[],"Paths":[{"Path":"nvme1c1n1","ANAState":"optimized"}]},
        {"Controller":"nvme2","Transport":"tcp","Address":"traddr=192.0.2.2,trsvcid=4420","Namespaces":[],"Paths":[{"Path":"nvme1c2n1"}]}],
        "Namespaces":[{"NameSpace":"nvme1n1","PhysicalSize":1024,"SectorSize":512}]}]}]}"#,
    );
    assert!(
        matches!(&machine.block["nvme1n1"].kind, BlockKind::NvmeMultipath(paths) if paths == &["nvme1c1n1", "nvme1c2n1"])
    );
    assert!(matches!(&machine.block["nvme1c2n1"].transport, Transport::NvmeFabric(fabric)
        if fabric.remote.address.value().map(String::as_str) == Some("192.0.2.2") && fabric.remote.port.get() == Some(4420)));
    assert_eq!(machine.block["nvme1n1"].size.get(), Some(Bytes::new(1024)));
}

#[test]
fn subsystems_tell_where_a_controller_is() {
    let machine = machine("nvme-subsys0 - NQN=nqn\n\\\n +- nvme0 pcie 0000:3d:00.0 live\n +- nvmeX pcie\n");
    assert!(matches!(&machine.block["nvme0n1"].transport, Transport::NvmePci { pci, .. } if pci.bus == 0x3d));
    let json = r#"[{"Subsystems":[{"Name":"nvme-subsys3","NQN":"n","Paths":[{"Name":"nvme3","Transport":"pcie","Address":"0000:02:00.0","State":"live"}]}]}]"#;
    // A document that begins with a bracket is a list; its objects begin their own lines.
    let machine = self::machine(&json.replacen('{', "\n{", 1));
    assert!(matches!(&machine.block["nvme3n1"].transport, Transport::NvmePci { pci, .. } if pci.bus == 2));
}

#[test]
fn an_identity_belongs_to_the_device_of_its_command_or_file() {
    let output = "NVME Identify Controller:\nvid       : 0x144d\nsn        : S4  \nmn        : Samsung  \nfr        : 5B2\nmdts      : 7\noncs      : 0x57\n";
    let by_command = machine(&format!("# nvme id-ctrl -H /dev/nvme2\n{output}"));
    assert_eq!(who(&by_command.block["nvme2n1"]), ["Samsung", "S4", "5B2"]);
    let by_file = read(&Text::new("sos_commands/nvme/nvme_id-ctrl_-H_.dev.nvme1", output.as_bytes()));
    assert!(by_file.machine.block.contains_key("nvme1n1"));
    assert!(read(&Text::new("x", output.as_bytes())).kind.is_none());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(row in "/dev/nvme[0-9cnp]{0,6} {1,9}[ -~]{0,80}", controller in " \\+- nvme[0-9]{0,9} (pcie|tcp) [ -~]{0,20}",
        name in "nvme[0-9cnp]{0,6}") {
        let head = "Node             SN                   Model            Namespace Usage                      Format           FW Rev";
        let _ = machine(&format!("{head}\n{row}\n{controller}\n# nvme id-ctrl /dev/{name}\nvid : 1\nmn : x\noncs : 1\n"));
        let _ = machine(&format!(r#"{{"Devices":[{{"Controllers":[{{"Controller":"{name}","Paths":[{{"Path":"{name}"}}]}}],"Namespaces":[{{"NameSpace":"{name}"}}]}}]}}"#));
    }
}
