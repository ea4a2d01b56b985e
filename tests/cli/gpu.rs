//! A GPU as a target, and `--to GPU`: where it meets drives and network cards, and whether data may go directly.

use super::*;

/// A switch on 4.0 x16 of node 0 with a GPU, an NVMe drive and a network card below, and a drive on a root port of node 1. Made by
/// hand in the form of `lspci -vvv`; `control` is what stands behind `ACSCtl:` of the switch's downstream ports.
fn lspci(control: &str) -> String {
    let port = |at: &str, kind: &str, buses: [&str; 3], lanes: u8, node: u8, acs: bool| {
        let [primary, secondary, last] = buses;
        let acs = if acs {
            format!(
                "\tCapabilities: [148 v1] Access Control Services\n\t\tACSCap:\tSrcValid+\n\t\tACSCtl:\t{control}\n"
            )
        } else {
            String::new()
        };
        format!(
            "{at} PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030] (prog-if 00 [Normal decode])\n\
             \tNUMA node: {node}\n\
             \tBus: primary={primary}, secondary={secondary}, subordinate={last}, sec-latency=0\n\
             \tCapabilities: [40] Express (v2) {kind}, MSI 00\n\
             \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x{lanes}, ASPM not supported\n\
             \t\tLnkSta:\tSpeed 16GT/s (ok), Width x{lanes} (ok)\n{acs}\n"
        )
    };
    let end = |at: &str, name: &str, lanes: u8, node: u8| {
        format!(
            "{at} {name}\n\tNUMA node: {node}\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\
             \t\tLnkCap:\tPort #0, Speed 16GT/s, Width x{lanes}, ASPM not supported\n\
             \t\tLnkSta:\tSpeed 16GT/s (ok), Width x{lanes} (ok)\n\n"
        )
    };
    [
        port("20:01.0", "Root Port (Slot+)", ["20", "21", "25"], 16, 0, false),
        port("21:00.0", "Upstream Port", ["21", "22", "25"], 16, 0, false),
        port("22:00.0", "Downstream Port (Slot+)", ["22", "23", "23"], 16, 0, true),
        port("22:01.0", "Downstream Port (Slot+)", ["22", "24", "24"], 4, 0, true),
        port("22:02.0", "Downstream Port (Slot+)", ["22", "25", "25"], 16, 0, true),
        end("23:00.0", "3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] [10de:20b2] (rev a1)", 16, 0),
        end("24:00.0", "Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1 [144d:a80a] (prog-if 02 [NVM Express])", 4, 0),
        end("25:00.0", "Infiniband controller [0207]: Mellanox Technologies MT28908 Family [ConnectX-6] [15b3:101b]", 16, 0),
        port("a0:01.0", "Root Port (Slot+)", ["a0", "a1", "a1"], 4, 1, false),
        end("a1:00.0", "Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1 [144d:a80a] (prog-if 02 [NVM Express])", 4, 1),
    ]
    .concat()
}

const OFF: &str = "SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-";
const ON: &str = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-";

fn captured(dir: &TempDir, control: &str) -> String {
    let path = dir.path().join("lspci.txt");
    std::fs::write(&path, lspci(control)).expect("is ours");
    path.to_str().expect("text").to_owned()
}

fn peers(args: &[&str]) -> Vec<Value> {
    let ran = run(args);
    let json: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.err));
    let validator = jsonschema::validator_for(&schema::of("check")).expect("is a schema");
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    json["paths"][0]["peers"].as_array().cloned().unwrap_or_default()
}

fn of<'v>(peers: &'v [Value], function: &str) -> &'v Value {
    peers
        .iter()
        .find(|peer| peer["function"] == function)
        .unwrap_or_else(|| panic!("{function} in {peers:?}"))
}

#[test]
fn below_one_switch_data_goes_directly_unless_acs_redirects_it() {
    let dir = scratch_dir();
    let file = captured(&dir, OFF);
    let all = peers(&["23:00.0", "--json", &file]);
    assert_eq!(all.len(), 3, "{all:?}");
    let (drive, card, far) = (of(&all, "0000:24:00.0"), of(&all, "0000:25:00.0"), of(&all, "0000:a1:00.0"));
    for near in [drive, card] {
        assert_eq!(near["meets"]["switch"], "0000:21:00.0", "{near}");
        assert_eq!(near["way"], "direct", "{near}");
    }
    // 16 GT/s × 4 × 128/130 / 8 is 7.88 GB/s raw; packets of 128 to 512 bytes leave 6.6 to 7.5.
    let direct = drive["direct"]["to_gpu"]["bytes_per_second"].as_f64().expect("is known");
    assert!((6.5e9..7.6e9).contains(&direct), "{drive}");
    assert_eq!(drive["direct"]["to_gpu"]["hop"], "link:0000:24:00.0", "{drive}");
    assert!(card["direct"]["from_gpu"]["bytes_per_second"].as_f64() > Some(20e9), "{card}");
    assert_eq!(far["way"], "root_complex", "{far}");
    assert!(
        far["direct"].is_null() && far["through_memory"]["to_gpu"]["bytes_per_second"].is_number(),
        "{far}"
    );

    let file = captured(&dir, ON);
    let all = peers(&["23:00.0", "--json", &file]);
    let drive = of(&all, "0000:24:00.0");
    assert_eq!(drive["way"], "redirected", "{drive}");
    assert!(drive["direct"].is_null(), "{drive}");
    let because = drive["because"].as_str().unwrap_or_default();
    assert!(because.contains("ACS of 0000:22:00.0 and 0000:22:01.0"), "{because}");
    assert!(drive["evidence"].to_string().contains("ReqRedir+"), "{drive}");
}

#[test]
fn a_drive_is_shown_beside_the_gpu_that_is_named() {
    let dir = scratch_dir();
    let file = captured(&dir, ON);
    for gpu in ["23:00.0", "GPU0"] {
        let [only] = &peers(&["24:00.0", "--to", gpu, "--json", &file])[..] else { panic!("one") };
        assert_eq!(only["gpu"], "0000:23:00.0");
        assert_eq!(only["function"], "0000:24:00.0");
    }
    let text = run(&["GPU0", "--plain", &file]);
    assert!(text.out.contains("What goes to the GPU 0000:23:00.0 at most"), "{}", text.out);
    assert!(text.out.contains("redirected"), "{}", text.out);
    assert!(text.out.is_ascii() && text.out.lines().all(|line| line.len() <= 78), "{}", text.out);
    let absent = run(&["GPU7", &file]);
    assert!(absent.err.contains("no GPU of this machine is `GPU7`"), "{}", absent.err);
    let none = run(&["24:00.0", "--to", "25:00.0", &file]);
    assert_eq!(none.status, Some(2));
    assert!(none.err.contains("no GPU of this machine is `25:00.0`"), "{}", none.err);
    assert!(none.err.contains("0000:23:00.0"), "{}", none.err);
}

#[test]
fn a_topology_beside_lspci_takes_nothing_away() {
    let dir = scratch_dir();
    let file = captured(&dir, OFF);
    let topology = dir.path().join("topo.txt");
    let text = "\tGPU0\tmlx5_0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPXB\t0-31\t0\nmlx5_0\tPXB\t X \t\t\n";
    std::fs::write(&topology, text).expect("is ours");
    let all = peers(&["GPU0", "--json", &file, topology.to_str().expect("text")]);
    assert_eq!(of(&all, "0000:24:00.0")["way"], "direct", "what lspci shows is not lost beside it");
    let alone = run(&["GPU0", topology.to_str().expect("text")]);
    assert_eq!(alone.status, Some(2), "{}", alone.out);
    assert!(alone.err.contains("mlx5_0 PXB") && alone.err.contains("lspci -vvv"), "{}", alone.err);
}
