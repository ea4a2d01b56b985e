use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind, Transport};
use proptest::prelude::*;

use super::super::Text;
use super::read;

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

/// nvme-cli 2.0 on a warm drive; the fields that no rule reads are left out.
const SMART_LOG: &str = "\
$ sudo nvme smart-log /dev/nvme1
Smart Log for NVME device:nvme1 namespace-id:ffffffff
critical_warning\t\t\t: 0x2
temperature\t\t\t\t: 84 °C (357 K)
available_spare\t\t\t\t: 100%
available_spare_threshold\t\t: 10%
percentage_used\t\t\t\t: 8%
endurance group critical warning summary: 0
Data Units Read\t\t\t\t: 127,385,723 (65.22 TB)
Data Units Written\t\t\t: 186302952 (95.39 TB)
media_errors\t\t\t\t: 1
Warning Temperature Time\t\t: 7
Critical Composite Temperature Time\t: 1
Temperature Sensor 1           : 84 °C (357 K)
Temperature Sensor 2           : 0 °C (0 K)
Thermal Management T1 Trans Count\t: 3
Thermal Management T2 Trans Count\t: 1
Thermal Management T1 Total Time\t: 42
Thermal Management T2 Total Time\t: 5
$ next
media_errors : 99
";

fn health(machine: &Machine, drive: &str) -> narrows_machine::health::SmartLog {
    machine.health[drive].smart.get().expect("has a log")
}

#[test]
fn a_health_log_of_text_tells_all_that_rules_ask() {
    let machine = machine(SMART_LOG);
    let log = health(&machine, "nvme1n1");
    assert!(machine.health["nvme1n1"].is_hot());
    assert_eq!((log.critical_warning, log.percentage_used, log.media_errors), (2, 8, 1));
    // 127 385 723 and 186 302 952 units of 512 000 bytes, which nvme-cli prints as 65.22 and 95.39 TB.
    assert_eq!(log.read, Bytes::new(65_221_490_176_000));
    assert_eq!(log.written, Bytes::new(95_387_111_424_000));
    assert_eq!(log.warning_time.as_secs_f64(), 420.0);
    assert_eq!(
        log.throttling.map(|state| (state.transitions, state.time.as_secs_f64())),
        [(3, 42.0), (1, 5.0)]
    );
    assert_eq!(log.sensors.len(), 1, "0 K is no sensor");
    assert_eq!(machine.health["nvme1n1"].temperature.source().as_str(), "nvme.txt:2");
}

#[test]
fn a_health_log_of_json_is_that_of_the_command_above_it_or_of_the_only_drive() {
    let json = r#"{"critical_warning" : {"value" : 0, "temp_threshold" : 0}, "temperature" : 301, "avail_spare" : 100,
        "spare_thresh" : "5", "percent_used" : 15, "data_units_read" : "499296134", "warning_temp_time" : 0,
        "temperature_sensor_1" : 306, "thm_temp1_trans_count" : 2, "thm_temp1_total_time" : 9}"#;
    let named = machine(&format!(
        "# nvme smart-log -o json /dev/nvme0n1\n{json}\n# nvme smart-log /dev/nvme1 -o json\n{json}\n"
    ));
    for drive in ["nvme0n1", "nvme1n1"] {
        let log = health(&named, drive);
        assert_eq!(log.temperature.map(|now| now.to_string()).as_deref(), Some("28 °C"));
        assert_eq!((log.spare_threshold, log.throttling[0].transitions), (5, 2));
    }
    let mut alone = machine(&format!("{json}\n/dev/nvme3n1 Model\n"));
    crate::capture::device::device(&mut alone, "nvme3n1");
    crate::capture::join::join(&mut alone);
    assert_eq!(alone.health.keys().collect::<Vec<_>>(), ["nvme3n1"]);
}

#[test]
fn the_threshold_of_an_identification_makes_a_warm_drive_hot() {
    let machine = machine(
        "$ nvme id-ctrl /dev/nvme0\nNVME Identify Controller:\nvid       : 0x144d\nsn : S\nmn : M\nfr : F\n\
         oncs      : 0x5f\nwctemp    : 345\ncctemp    : 348\n\
         Smart Log for NVME device:nvme0 namespace-id:ffffffff\ncritical_warning : 0\ntemperature : 73 C\n\
         percentage_used : 1%\n",
    );
    // 345 K = 71.85 °C.
    assert_eq!(machine.health["nvme0n1"].warning.value().map(ToString::to_string).as_deref(), Some("72 °C"));
    assert!(machine.health["nvme0n1"].is_hot());
}

#[test]
fn the_long_list_of_older_versions_has_no_number_of_the_controller() {
    // nvme-cli 2.0.
    let machine = machine(
        "Device   SN                   MN                                       FR       TxPort Address        Subsystem    Namespaces\n\
         -------- -------------------- ---------------------------------------- -------- ------ -------------- ------------ ----------------\n\
         nvme0    49MA23BZK03N         KXG60ZNV512G NVMe TOSHIBA 512GB          10604107 pcie   0000:3d:00.0   nvme-subsys0 nvme0n1\n",
    );
    assert_eq!(
        who(&machine.block["nvme0n1"]),
        ["KXG60ZNV512G NVMe TOSHIBA 512GB", "49MA23BZK03N", "10604107"]
    );
}

#[test]
fn the_long_list_for_people_tells_where_controllers_are() {
    // nvme-cli 2.8; the dashes are those of the file, the columns are not.
    let machine = machine(
        "Device           Cntlid SN                   MN                                       FR       TxPort Address        Slot   Subsystem    Namespaces\n\
         ---------------- ------ -------------------- ---------------------------------------- -------- ------ -------------- ------ ------------ ----------------\n\
         nvme1    1      50026B728376         KINGSTON SFYRSK1000G                     EIFK51.2 pcie   0000:0e:00.0          nvme-subsys1 nvme1n1, nvme1n2\n",
    );
    for name in ["nvme1n1", "nvme1n2"] {
        let drive = &machine.block[name];
        assert_eq!(who(drive), ["KINGSTON SFYRSK1000G", "50026B728376", "EIFK51.2"]);
        assert!(
            matches!(&drive.transport, Transport::NvmePci { pci, .. } if pci.to_string() == "0000:0e:00.0")
        );
    }
}
