use narrows_base::units::{Bytes, BytesPerSec};
use narrows_machine::Machine;
use narrows_machine::block::{BlockKind, CryptTable, DmDevice, DmKind};
use proptest::prelude::*;

use super::super::{Text, join, lsblk};
use super::read;

fn machine(text: &str) -> Machine {
    named("dm.txt", text)
}

fn named(name: &str, text: &str) -> Machine {
    read(&Text::new(name, text.as_bytes())).machine
}

fn dm<'m>(machine: &'m Machine, name: &str) -> &'m DmDevice {
    match &machine.block[name].kind {
        BlockKind::Dm(dm) => dm,
        other => panic!("{name} is {other:?}"),
    }
}

fn crypt(dm: &DmDevice) -> &CryptTable {
    match &dm.table.value().expect("has a table")[0].kind {
        DmKind::Crypt(table) => table,
        other => panic!("is {other:?}"),
    }
}

#[test]
fn tables_tell_layers_by_number() {
    let machine = machine(
        "# dmsetup table\n\
         vg-home: 0 41943040 linear 253:0 2048\n\
         vg-home: 41943040 8192 linear 8:34 2048\n\
         luks: 0 99 crypt aes-xts-plain64 :64:logon:cryptsetup:0a-d0 0 259:3 32768 1 allow_discards\n\
         vg-stripe: 0 1024 striped 2 128 8:16 384 65:1 384\n\
         note: 0 1 2\n",
    );
    assert_eq!(machine.block["mapper/vg-home"].slaves, ["253:0", "sdc2"]);
    assert_eq!(machine.block["mapper/vg-stripe"].slaves, ["sdb", "sdq1"]);
    assert_eq!(dm(&machine, "mapper/vg-home").table.value().map(Vec::len), Some(2));
    assert_eq!(crypt(dm(&machine, "mapper/luks")).key_bits, 512);
    assert!(!machine.block.contains_key("mapper/note"));
}

#[test]
fn names_and_numbers_become_the_kernels_names() {
    let mut all = machine(
        "vg-home: 0 41943040 linear 253:0 2048\nluks: 0 99 crypt aes-xts-plain64 :64:- 0 259:3 32768\n",
    );
    let tree = lsblk::read(&Text::new(
        "lsblk",
        b"NAME MAJ:MIN SIZE TYPE\nnvme0n1 259:0 1T disk\n`-nvme0n1p3 259:3 1T part\n  `-luks 253:0 1T crypt\n    `-vg-home 253:1 1T lvm\n",
    ));
    all.block.extend(tree.machine.block);
    join::join(&mut all);
    assert!(all.block.keys().all(|key| !key.contains('/')), "{:?}", all.block.keys());
    assert_eq!(all.block["dm-1"].slaves, ["dm-0"]);
    assert_eq!(all.block["dm-0"].slaves, ["nvme0n1p3"]);
    assert_eq!(all.block["nvme0n1p3"].holders, ["dm-0"]);
    assert_eq!(crypt(dm(&all, "dm-0")).cipher, "aes-xts-plain64");
    assert_eq!(all.block["nvme0n1p3"].transport, all.block["nvme0n1"].transport);
}

#[test]
fn a_tree_of_mappings_tells_names_and_layers() {
    let text = "vg-home <dm-1> (253:1)\n └─luks <dm-0> (253:0)\n    └─ <sda2> (8:2)\nvg-swap <dm-2> (253:2)\n \
                └─luks <dm-0> (253:0)\n    └─ <sda2> (8:2)\n";
    let ascii =
        "vg-home (253:1)\n `-luks (253:0)\n    `- (8:2)\nvg-swap (253:2)\n `-luks (253:0)\n    `- (8:2)\n";
    for text in [text, ascii] {
        let machine = machine(text);
        assert_eq!(machine.block["dm-1"].slaves, ["dm-0"], "{text}");
        assert_eq!(machine.block["dm-2"].slaves, ["dm-0"], "{text}");
        assert_eq!(machine.block["dm-0"].slaves, ["sda2"], "{text}");
        assert_eq!(dm(&machine, "dm-0").name.value().map(String::as_str), Some("luks"), "{text}");
    }
    assert_eq!(dm(&machine("home\t(253, 4)\n"), "dm-4").name.value().map(String::as_str), Some("home"));
    // Calls of functions, and numbers in brackets of a changelog.
    assert!(machine(" * buffer.slice(0, 0)\n      (1022:1457)\n").block.is_empty());
}

#[test]
fn info_tells_the_maker() {
    let machine = machine(
        "Name             Maj Min Stat Open Targ Event  UUID\n\
         vg-home          253   1 L--w    1    1      0 LVM-AbCdEf\n\
         luks             253   0 L--w    2    1      0 CRYPT-LUKS2-0123456789abcdef-luks\n\n\
         Name:              mpatha\nState:             ACTIVE\nMajor, minor:      253, 7\nUUID: mpath-3600\n",
    );
    let owner = |name: &str| dm(&machine, name).owner.get();
    assert_eq!(owner("dm-1").as_deref(), Some("LVM"));
    assert_eq!(owner("dm-0").as_deref(), Some("CRYPT-LUKS2"));
    assert_eq!(owner("dm-7").as_deref(), Some("mpath"));
    assert_eq!(machine.block["dm-7"].number.get(), Some((253, 7)));
}

/// `cryptsetup status` of version 2.6.
const STATUS: &str = "\
/dev/mapper/home is active and is in use.
  type:    LUKS2
  cipher:  aes-xts-plain64
  keysize: 512 bits
  key location: keyring
  device:  /dev/nvme0n1p3
  sector size:  4096
  offset:  32768 sectors
  size:    976740352 sectors
  mode:    read/write
  flags:   discards no_read_workqueue no_write_workqueue
";

#[test]
fn the_status_of_a_mapping_is_its_table() {
    let machine = machine(STATUS);
    let home = dm(&machine, "mapper/home");
    assert_eq!(home.owner.value().map(String::as_str), Some("CRYPT-LUKS2"));
    let table = crypt(home);
    assert_eq!((table.cipher.as_str(), table.key_bits), ("aes-xts-plain64", 512));
    assert_eq!(table.sector_size, Bytes::new(4096));
    assert!(table.no_read_workqueue && table.no_write_workqueue && !table.same_cpu_crypt);
    assert_eq!(machine.block["mapper/home"].slaves, ["nvme0n1p3"]);
    assert_eq!(machine.block["mapper/home"].size.get(), Some(Bytes::new(976_740_352 * 512)));
}

/// The headers of LUKS2 and LUKS1, shortened.
const LUKS2: &str = "\
LUKS header information
Version:       \t2
UUID:          \t00000000-0000-0000-0000-000000000000
Data segments:
  0: crypt
\toffset: 16777216 [bytes]
\tlength: (whole device)
\tcipher: aes-xts-plain64
\tsector: 4096 [bytes]

Keyslots:
  0: luks2
\tKey:        512 bits
\tCipher:     aes-xts-plain64
\tCipher key: 512 bits
";
const LUKS1: &str = "\
LUKS header information for /dev/sda5

Version:       \t1
Cipher name:   \taes
Cipher mode:   \tcbc-essiv:sha256
Hash spec:     \tsha256
MK bits:       \t256
";

#[test]
fn a_header_is_given_to_the_mapping_on_its_device() {
    let lsblk = lsblk::read(&Text::new(
        "lsblk",
        b"NAME MAJ:MIN SIZE TYPE\nsda 8:0 1T disk\n|-sda2 8:2 1T part\n| `-home 253:0 1T crypt\n`-sda5 8:5 1T part\n  `-old 253:1 1T crypt\n",
    ));
    let mut all = lsblk.machine;
    all.block.extend(named("sos_commands/block/cryptsetup_luksDump_.dev.sda2", LUKS2).block);
    all.block.extend(machine(LUKS1).block);
    join::join(&mut all);
    let home = dm(&all, "dm-0");
    assert_eq!(home.owner.value().map(String::as_str), Some("CRYPT-LUKS2"));
    assert_eq!((crypt(home).key_bits, crypt(home).sector_size), (512, Bytes::new(4096)));
    assert_eq!(crypt(dm(&all, "dm-1")).cipher, "aes-cbc-essiv:sha256");
    assert!(!all.block.keys().any(|key| key.starts_with("luks/")));
}

#[test]
fn a_command_above_names_the_device_of_a_header() {
    let machine = machine(&format!("# cryptsetup luksDump /dev/nvme0n1p3\n{LUKS2}"));
    assert_eq!(machine.block["luks/nvme0n1p3"].slaves, ["nvme0n1p3"]);
}

/// A board with a MIPS processor, as its owner reported it.
const BENCHMARK: &str = "\
# Tests are approximate using memory only (no storage IO).
PBKDF2-sha1        63503 iterations per second for 256-bit key
#  Algorithm | Key |  Encryption |  Decryption
     aes-cbc   128b    11.0 MiB/s    11.0 MiB/s
     aes-xts   256b    11.1 MiB/s    10.9 MiB/s
     aes-xts   512b     8.7 MiB/s     8.5 MiB/s
 serpent-xts   512b           N/A           N/A
";

#[test]
fn a_benchmark_rates_ciphers_and_the_mapping_that_uses_one() {
    let mut machine = machine(&format!("{BENCHMARK}\n{STATUS}"));
    assert_eq!(machine.cipher_benchmarks.len(), 3);
    let rate = machine.cipher_benchmarks[1].value().expect("is known").clone();
    assert_eq!((rate.cipher.as_str(), rate.key_bits), ("xts(aes)", 256));
    // 11.1 and 10.9 MiB/s × 1048576
    assert_eq!(rate.encrypt, BytesPerSec::new(11.1 * 1_048_576.0));
    assert_eq!(rate.decrypt, BytesPerSec::new(10.9 * 1_048_576.0));
    join::join(&mut machine);
    let of_mapping = machine.ciphers["mapper/home"].value().expect("is known");
    assert_eq!((of_mapping.key_bits, of_mapping.sector_size), (512, Bytes::new(4096)));
    assert_eq!(of_mapping.decrypt, BytesPerSec::new(8.5 * 1_048_576.0));
}

#[test]
fn other_texts_are_none() {
    for text in
        ["", "a (b)\n", "copied 10 MiB (10:2)x\n", "aes-xts 256b 1 MB/s 1 MB/s\n", "x is active and in use\n"]
    {
        assert!(read(&Text::new("x", text.as_bytes())).kind.is_none(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_text_panics(
        table in "[a-z]{1,4}: [0-9]{1,22} [0-9]{1,22} (linear|striped|crypt|thin) [0-9a-f:. -]{0,40}",
        tree in "([│├└─|` -]{0,6}[a-z]{0,4} ?(<[a-z0-9-]{0,5}>)? \\([0-9]{1,11}:[0-9]{1,11}\\)\n){0,6}",
        status in "(cipher|keysize|sector size|size|device|flags):  ?[a-z0-9/ ]{0,24}",
        benchmark in "[a-z]{1,8}-[a-z]{1,4} [0-9]{1,6}b [0-9.]{1,30} [KMG]iB/s [0-9.]{1,9} MiB/s",
    ) {
        let text = format!("{table}\n{tree}/dev/mapper/x is active.\n {status}\n {benchmark}\n");
        let mut machine = machine(&text);
        join::join(&mut machine);
    }
}
