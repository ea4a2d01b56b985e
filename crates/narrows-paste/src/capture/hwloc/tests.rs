use std::collections::BTreeMap;

use narrows_base::units::{Bytes, GtPerSec, Lanes};
use narrows_machine::block::Transport;
use narrows_machine::pci::PciDevice;
use proptest::prelude::*;

use super::super::merge::merge;
use super::super::parts;
use super::*;

/// Format 3: an emulated machine with CXL memory, trimmed from open-mpi/hwloc `tests/hwloc/xml/cxlmem+dax.v3.xml`.
const V3: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="1" id="obj1">
    <info name="DMIProductName" value="Standard PC (Q35 + ICH9, 2009)"/>
    <info name="DMISysVendor" value="QEMU"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="3" id="obj3">
      <info name="CPUFamilyNumber" value="15"/>
      <info name="CPUModelNumber" value="107"/>
      <info name="CPUModel" value="QEMU Virtual CPU version 2.5+"/>
      <info name="CPUStepping" value="1"/>
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001" gp_index="24" local_memory="3061719040">
        <page_type size="4096" count="747490"/>
      </object>
      <object type="Core" os_index="0" cpuset="0x00000001" nodeset="0x00000001" gp_index="2">
        <object type="PU" os_index="0" cpuset="0x00000001" nodeset="0x00000001" gp_index="4"/>
      </object>
      <object type="Core" os_index="1" cpuset="0x00000002" nodeset="0x00000001" gp_index="9">
        <object type="PU" os_index="1" cpuset="0x00000002" nodeset="0x00000001" gp_index="10"/>
      </object>
      <object type="OSDev" gp_index="48" name="dax0.0" subtype="SPM" osdev_type="2"/>
    </object>
    <object type="Bridge" gp_index="44" bridge_type="0-1" depth="0" bridge_pci="0000:[00-00]">
      <object type="PCIDev" gp_index="31" pci_busid="0000:00:02.0" pci_type="0200 [8086:10d3] [8086:0000] 00 00" pci_link_speed="0.250000">
        <info name="PCIVendor" value="Intel Corporation"/>
        <info name="PCIDevice" value="82574L Gigabit Network Connection"/>
        <object type="OSDev" gp_index="49" name="enp0s2" osdev_type="16">
          <info name="Address" value="52:54:00:12:34:56"/>
        </object>
      </object>
      <object type="PCIDev" gp_index="26" pci_busid="0000:00:1f.2" pci_type="0106 [8086:2922] [1af4:1100] 02 01" pci_link_speed="0.000000">
        <object type="OSDev" gp_index="47" name="sda" subtype="Disk" osdev_type="1">
          <info name="Size" value="10485760"/>
          <info name="SectorSize" value="512"/>
          <info name="LinuxDeviceID" value="8:0"/>
          <info name="Model" value="QEMU_HARDDISK"/>
          <info name="Revision" value="2.5+"/>
          <info name="SerialNumber" value="QM00001"/>
        </object>
      </object>
    </object>
  </object>
  <info name="OSName" value="Linux"/>
  <info name="OSRelease" value="6.1.0-rc4+"/>
</topology>
"#;

/// Format 2: two nodes, a switch and drives behind it, in the words of `lstopo` 2.
const V2: &str = r#"<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" nodeset="0x00000003" gp_index="1">
    <info name="OSName" value="Linux"/>
    <info name="OSRelease" value="6.1.0"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="2">
      <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="3" local_memory="1073741824"/>
      <object type="Core" os_index="0" cpuset="0x00000001" gp_index="4"><object type="PU" os_index="0" cpuset="0x1" gp_index="5"/></object>
      <object type="Core" os_index="1" cpuset="0x00000002" gp_index="6"><object type="PU" os_index="1" cpuset="0x2" gp_index="7"/></object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="8">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="9" local_memory="2147483648"/>
      <object type="Bridge" gp_index="20" bridge_type="0-1" depth="0" bridge_pci="0000:[80-85]">
        <object type="Bridge" gp_index="21" bridge_type="1-1" depth="1" bridge_pci="0000:[81-85]" pci_busid="0000:80:01.0" pci_type="0604 [8086:2030] [0000:0000] 04" pci_link_speed="15.753846">
          <object type="PCIDev" gp_index="22" pci_busid="0000:81:00.0" pci_type="0108 [144d:a808] [144d:a801] 00" pci_link_speed="0.984615">
            <info name="PCISlot" value="3"/>
            <info name="PCIVendor" value="Samsung &amp; Sons"/>
            <info name="PCIDevice" value="NVMe &quot;SSD&quot;"/>
            <object type="OSDev" gp_index="23" name="nvme0n1" osdev_type="0">
              <info name="Size" value="976762584"/>
              <info name="LinuxDeviceID" value="259:0"/>
              <info name="Model" value="Samsung SSD 970 EVO Plus 1TB"/>
              <info name="SerialNumber" value="S4EWNX0M000000"/>
            </object>
          </object>
        </object>
        <object type="PCIDev" gp_index="24" pci_busid="0000:80:05.0" pci_type="0207 [15b3:1019] [15b3:0001] 00" pci_link_speed="31.507692">
          <object type="OSDev" gp_index="25" name="mlx5_0" osdev_type="3"/>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="12">10 21 21 10 </u64values>
  </distances2>
</topology>
"#;

/// Format 1, which `lstopo` 1 wrote; after open-mpi/hwloc `tests/xml/24em64t-2n6c2t-pci.xml` of that time.
const V1: &str = r#"<topology>
  <object type="Machine" os_level="-1" os_index="0" cpuset="0x00000001" nodeset="0x00000001" allowed_nodeset="0x00000001">
    <object type="NUMANode" os_level="-1" os_index="0" cpuset="0x00000001" nodeset="0x00000001" local_memory="51539607552">
      <object type="Socket" os_level="-1" os_index="0" cpuset="0x00000001">
        <info name="CPUModel" value="Intel(R) Xeon(R) CPU X5650 @ 2.67GHz"/>
        <object type="Core" os_index="0" cpuset="0x00000001"><object type="PU" os_index="0" cpuset="0x00000001"/></object>
      </object>
      <object type="Bridge" os_level="-1" bridge_type="0-1" depth="0" bridge_pci="0000:[00-02]">
        <object type="PCIDev" os_level="-1" name="Intel" pci_busid="0000:00:1f.2" pci_type="0106 [8086:3a22] [1028:029b] 00" pci_link_speed="0.000000">
          <object type="OSDev" os_level="-1" name="sda" osdev_type="0"/>
        </object>
      </object>
    </object>
  </object>
</topology>
"#;

fn part(xml: &str) -> Part {
    read(&Text::new("topology.xml", xml.as_bytes()))
}

fn function<'m>(machine: &'m Machine, address: &str) -> &'m PciDevice {
    machine.pci.get(&address.parse().unwrap()).unwrap()
}

#[test]
fn format_3_has_devices_by_bits_and_infos_at_the_topology() {
    let Part { kind, machine, .. } = part(V3);
    assert_eq!(kind, Some("hwloc XML"));
    assert_eq!(machine.kernel.get().as_deref(), Some("6.1.0-rc4+"));
    assert_eq!(machine.cpus.hypervisor.get().as_deref(), Some("QEMU"));
    assert_eq!(machine.cpus.signature.get(), Some((15, 107, 1)));
    assert_eq!((machine.cpus.cores.get(), machine.cpus.sockets.get()), (Some(2), Some(1)));
    assert_eq!(machine.block.keys().collect::<Vec<_>>(), ["sda"], "memory is no disk");
    let disk = &machine.block["sda"];
    assert_eq!(disk.model.get().as_deref(), Some("QEMU HARDDISK"));
    assert_eq!(disk.size.get(), Some(Bytes::new(10_737_418_240)));
    assert_eq!(disk.number.get(), Some((8, 0)));
    assert!(disk.serial.value().is_none());
    assert!(matches!(&disk.transport, Transport::Sata(sata) if sata.pci == "0000:00:1f.2".parse().ok()));
    assert_eq!(machine.nics["enp0s2"].pci, "0000:00:02.0".parse().ok());
    let nic = function(&machine, "0000:00:02.0");
    assert_eq!(nic.name.get().as_deref(), Some("Intel Corporation 82574L Gigabit Network Connection"));
    assert_eq!(nic.link.current_speed.get(), Some(GtPerSec::GEN1));
    assert_eq!(nic.link.current_width.get(), Some(Lanes::new(1)));
    assert_eq!(nic.class.get(), Some(0x02_0000));
}

#[test]
fn format_2_has_nodes_bridges_and_drives() {
    let Part { machine, gaps, .. } = part(V2);
    assert_eq!(machine.cpus.memory.get(), Some(Bytes::new(3 << 30)));
    let nodes: Vec<_> =
        machine.cpus.nodes.iter().map(|n| (n.id, n.cpus.clone(), n.distances.clone())).collect();
    assert_eq!(nodes, [(0, vec![0, 1], vec![10, 21]), (1, vec![2, 3], vec![21, 10])]);
    assert_eq!(machine.cpus.nodes[1].socket.get(), Some(1));
    let drive = function(&machine, "0000:81:00.0");
    assert_eq!(drive.parent, "0000:80:01.0".parse().ok());
    assert_eq!((drive.numa_node.get(), drive.local_cpus.get()), (Some(1), Some(vec![2, 3])));
    assert_eq!(drive.class.get(), Some(0x01_0802));
    assert_eq!(drive.slot.get().as_deref(), Some("3"));
    assert_eq!(drive.name.get().as_deref(), Some("Samsung & Sons NVMe \"SSD\""));
    assert_eq!(drive.link.current_speed.get(), Some(GtPerSec::GEN3));
    assert_eq!(drive.link.current_width.get(), Some(Lanes::new(1)));
    assert_eq!(drive.class.source().as_str(), "topology.xml:14");
    let nvme = &machine.block["nvme0n1"].transport;
    let want = Transport::NvmePci { controller: "nvme0".to_owned(), pci: drive.address };
    assert_eq!((nvme, machine.nics["mlx5_0"].pci), (&want, "0000:80:05.0".parse().ok()));
    // 15.75 GB/s is x16 of 8 GT/s, x8 of 16 GT/s or x4 of 32 GT/s.
    let port = function(&machine, "0000:80:01.0");
    assert!(port.link.current_speed.missing().unwrap().contains("8 GT/s x16, or 16 GT/s x8, or 32 GT/s x4"));
    assert_eq!(gaps.len(), 2);
    assert!(gaps.iter().all(|gap| gap.run == "sudo lspci -vvv"), "{gaps:?}");
}

#[test]
fn format_1_has_sockets_inside_of_nodes() {
    let machine = part(V1).machine;
    assert_eq!((machine.cpus.sockets.get(), machine.cpus.cores.get()), (Some(1), Some(1)));
    assert_eq!(machine.cpus.nodes[0].memory.get(), Some(Bytes::new(51_539_607_552)));
    assert!(matches!(machine.block["sda"].transport, Transport::Sata(_)));
}

#[test]
fn a_topology_is_found_among_other_outputs_and_closes_its_gaps_with_them() {
    let lspci = "81:00.0 Non-Volatile memory controller: Samsung\n\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\t\tLnkSta:\tSpeed 8GT/s, Width x1\n";
    let mixed = format!("$ lstopo --of xml -\n{V2}\n$ lspci -vvv\n{lspci}");
    let machine = merge(parts(&Text::new("all.txt", mixed.as_bytes())));
    let drive = function(&machine, "0000:81:00.0");
    assert_eq!(drive.link.max_width.get(), Some(Lanes::new(4)));
    assert_eq!(drive.numa_node.get(), Some(1));
}

#[test]
fn entities_of_a_document_type_are_never_expanded() {
    let bomb =
        "<!DOCTYPE topology [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]>\n";
    let xml = format!("{bomb}{}", V3.replace("82574L Gigabit", "&b;&b;"));
    let machine = part(&xml).machine;
    assert!(function(&machine, "0000:00:02.0").name.get().unwrap().contains("&b;&b;"));
}

#[test]
fn depth_and_count_have_an_end() {
    let deep = format!("<topology>{}", "<object type=\"Group\">".repeat(1_000_000));
    assert_eq!(object::parse(&deep).objects.len(), 511);
    let wide = format!("<topology>{}", "<object type=\"PU\" os_index=\"0\"/>".repeat(200_000));
    assert_eq!(object::parse(&wide).objects.len(), 100_000);
    let attributes = format!("<topology><object {}/>", "a=\"b\" ".repeat(200_000));
    assert_eq!(object::parse(&attributes).objects.len(), 1);
}

#[test]
fn what_many_functions_are_next_to_has_an_end() {
    let machine = format!("<topology><object type=\"Machine\" cpuset=\"{}\">", ["0xffffffff"; 256].join(","));
    let function = |n: u32| {
        format!(
            "<object type=\"PCIDev\" pci_busid=\"{:04x}:{:02x}:{:02x}.0\"/>",
            n >> 13,
            n >> 5 & 0xff,
            n & 31
        )
    };
    let xml = machine + &(0..9000).map(function).collect::<String>();
    let machine = part(&xml).machine;
    assert_eq!(machine.pci.len(), 8192);
    let kept: usize = machine.pci.values().filter_map(|device| device.local_cpus.value()).map(Vec::len).sum();
    assert_eq!(kept, 1 << 20);
}

#[test]
fn other_xml_is_none_of_ours() {
    for text in ["", "<topology", "<topology>", "<html><p>topology</p></html>", "<topologies/>"] {
        assert!(part(text).kind.is_none(), "{text}");
    }
}

#[test]
fn a_loop_of_bridges_is_no_tree() {
    let swapped = V2.replace("0000:80:01.0", "0000:81:00.0");
    let pci = part(&swapped).machine.pci;
    let above: BTreeMap<_, _> = pci.iter().map(|(address, device)| (*address, device.parent)).collect();
    assert!(above.iter().all(|(address, parent)| *parent != Some(*address)), "{above:?}");
}

proptest! {
    #[test]
    fn no_text_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&Text::new("x", &[b"<topology>".as_slice(), &bytes].concat()));
    }

    #[test]
    fn no_cut_or_changed_topology_panics(at in 0usize..4000, with in "[<>\"'&;=/ \\-\\[\\]0-9a-fx:.\\n]{0,8}") {
        for xml in [V1, V2, V3] {
            let at = at.min(xml.len() - 1);
            let _ = part(&format!("{}{with}{}", &xml[..at], &xml[at..]));
            let _ = part(&xml[..at]);
        }
    }
}

#[test]
fn words_stand_from_the_highest_to_the_lowest() {
    assert_eq!(parse_bitmap("0x00000003"), Some(vec![0, 1]));
    assert_eq!(parse_bitmap("0x00000002,,0x0"), Some(vec![65]));
    assert_eq!(parse_bitmap("0x1,0x80000000"), Some(vec![31, 32]));
    assert_eq!(parse_bitmap("0x0"), Some(vec![]));
}

#[test]
fn sets_without_end_and_malformed_ones_are_refused() {
    for text in ["0xf...f", "0xg", "-1", "0x100000000", &"0x1,".repeat(4096)] {
        assert_eq!(parse_bitmap(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn every_set_is_read_back(members in prop::collection::btree_set(0u32..512, 0..40)) {
        let word = |number: u32| -> u32 {
            members.iter().filter(|m| **m / 32 == number).map(|m| 1u32 << (m % 32)).sum()
        };
        let text: Vec<String> = (0..16).rev().map(|number| format!("0x{:08x}", word(number))).collect();
        prop_assert_eq!(parse_bitmap(&text.join(",")), Some(members.into_iter().collect()));
    }
}
