use narrows_base::units::Bytes;
use proptest::prelude::*;

use super::*;

fn cpus(read: fn(&Text) -> Part, body: &str) -> Cpus {
    let part = read(&Text::new("cpu", body.as_bytes()));
    assert!(part.kind.is_some(), "nothing was understood");
    part.machine.cpus
}

/// Two sockets of an Epyc, as util-linux 2.32 prints them, with a note that somebody put before two lines.
const LSCPU: &str = "\
Architecture:        x86_64
CPU(s):              256
On-line CPU(s) list: 0-255
Thread(s) per core:  2
Core(s) per socket:  64
Socket(s):           2
NUMA node(s):        2
CPU family:          23
Model:               49
Model name:          AMD EPYC 7742 64-Core Processor
Stepping:            0
<KEY> NUMA node0 CPU(s):   0-63,128-191
<KEY>  NUMA node1 CPU(s):   64-127,192-255
Flags:               fpu vme aes avx avx2 sha_ni constant_tsc
";

#[test]
fn lscpu_counts_processors_cores_sockets_and_nodes() {
    let cpus = cpus(read_lscpu, LSCPU);
    assert_eq!(cpus.model.get().as_deref(), Some("AMD EPYC 7742 64-Core Processor"));
    assert_eq!(
        (cpus.cores.get(), cpus.sockets.get(), cpus.signature.get()),
        (Some(128), Some(2), Some((23, 49, 0)))
    );
    assert_eq!(cpus.online.get().map(|online| online.len()), Some(256));
    assert_eq!(cpus.flags, ["aes", "avx", "avx2", "sha_ni", "constant_tsc"]);
    assert_eq!(
        cpus.nodes.iter().map(|node| (node.id, node.cpus.len())).collect::<Vec<_>>(),
        [(0, 128), (1, 128)]
    );
    assert_eq!(cpus.model.source().as_str(), "cpu:10");
    assert_eq!(cpus.hypervisor.get(), None);
}

#[test]
fn lscpu_says_the_same_in_json() {
    let json = r#"{
   "lscpu": [
      {"field": "Architecture:", "data": "x86_64"},
      {
         "field": "CPU(s):",
         "data": "4",
         "children": [
            {
               "field": "On-line CPU(s) list:",
               "data": "0-3"
            }
         ]
      },
      {"field": "Core(s) per socket:", "data": "4"},
      {"field": "Socket(s):", "data": "1"},
      {"field": "Hypervisor vendor:", "data": "KVM"},
      {"field": "NUMA node0 CPU(s):", "data": "0-3"}
   ]
}"#;
    let cpus = cpus(read_lscpu, json);
    assert_eq!((cpus.cores.get(), cpus.online.get()), (Some(4), Some(vec![0, 1, 2, 3])));
    assert_eq!(cpus.hypervisor.get().as_deref(), Some("KVM"));
    assert_eq!(cpus.nodes[0].cpus, [0, 1, 2, 3]);
}

#[test]
fn numactl_gives_memory_and_distances_of_nodes() {
    let cpus = cpus(
        read_numactl,
        "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 4 5\nnode 0 size: 64215 MB\nnode 0 free: 1024 MB\n\
         node 1 cpus: 2 3 6 7\nnode 1 size: 64508 MB\nnode distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n\
         and so on 9: 9\n",
    );
    assert_eq!(cpus.nodes.len(), 2);
    assert_eq!(
        (cpus.nodes[0].cpus.as_slice(), cpus.nodes[0].memory.get()),
        ([0, 1, 4, 5].as_slice(), Some(Bytes::from_mib(64_215)))
    );
    assert_eq!(cpus.nodes[1].distances, [21, 10]);
}

#[test]
fn cpuinfo_is_read_wherever_it_starts() {
    let body = "$ cat /proc/cpuinfo\nprocessor\t: 0\nmodel name\t: Some CPU @ 3.30GHz\ncpu family\t: 6\nmodel\t\t: 63\nstepping\t: 2\nflags\t\t: fpu aes\n\nprocessor\t: 1\nmodel name\t: Some CPU @ 3.30GHz\n";
    let cpus = cpus(read_cpuinfo, body);
    assert_eq!(cpus.model.get().as_deref(), Some("Some CPU @ 3.30GHz"));
    assert_eq!((cpus.signature.get(), cpus.online.get()), (Some((6, 63, 2)), Some(vec![0, 1])));
    assert_eq!(read_cpuinfo(&Text::new("x", b"processor: 0\n")).kind, None);
}

#[test]
fn memory_comes_from_meminfo_or_free() {
    let memory = |body: &str| cpus(read_memory, body).memory.get();
    assert_eq!(memory("MemTotal:       10315988 kB\nMemFree: 1 kB\n"), Some(Bytes::from_kib(10_315_988)));
    let free = "               total        used        free      shared  buff/cache   available\n";
    assert_eq!(
        memory(&format!("{free}Mem:           15Gi       4.2Gi       1.0Gi\n")),
        Some(Bytes::new(15 << 30))
    );
    assert_eq!(
        memory(&format!("{free}Mem:        16314400     4200000\n")),
        Some(Bytes::from_kib(16_314_400))
    );
    assert_eq!(memory(&format!("{free}Mem:           7.5G       4.2G\n")), Some(Bytes::new(8_053_063_680)));
    for unclear in [
        "Mem: 16314400 1 2\n".to_owned(),
        format!("{free}Mem:  16000  1\n"),
        format!("{free}Mem: 99999999999999999999\n"),
    ] {
        assert_eq!(read_memory(&Text::new("x", unclear.as_bytes())).kind, None, "{unclear}");
    }
}

#[test]
fn other_texts_say_nothing() {
    for text in [
        "",
        "CPU(s): 4\n",
        "node 0 is busy: yes\n",
        "processor : x\n",
        "{\"field\": \"CPU(s):\", \"data\": \"4\"}",
    ] {
        let text = Text::new("x", text.as_bytes());
        for read in [read_lscpu, read_numactl, read_memory, read_cpuinfo] {
            assert_eq!(read(&text).kind, None, "{text:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), number in "[0-9.,-]{0,24}") {
        let texts = [Text::new("x", &bytes), Text::new("x", LSCPU.replace("64", &number).as_bytes()),
            Text::new("x", format!("total used\nMem: {number}Gi\nnode distances:\nnode {number} cpus: {number}\nprocessor : {number}\n").as_bytes())];
        for text in &texts {
            for read in [read_lscpu, read_numactl, read_memory, read_cpuinfo] {
                let _ = read(text);
            }
        }
    }
}
