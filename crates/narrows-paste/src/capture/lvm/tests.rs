use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockKind, DmDevice, DmKind};
use proptest::prelude::*;

use super::super::{Text, join};
use super::read;

fn machine(text: &str) -> Machine {
    read(&Text::new("lvm.txt", text.as_bytes())).machine
}

fn dm<'m>(machine: &'m Machine, name: &str) -> &'m DmDevice {
    match &machine.block[name].kind {
        BlockKind::Dm(dm) => dm,
        other => panic!("{name} is {other:?}"),
    }
}

const PVS: &str = "\
# pvs
  PV         VG      Fmt  Attr PSize    PFree
  /dev/sda2  vg-nas  lvm2 a--  <931.01g    0
  /dev/md0           lvm2 ---     3.64t 3.64t
";

#[test]
fn a_volume_of_a_group_with_one_device_lies_on_it() {
    let mut machine = machine(&format!(
        "{PVS}\n# lvs\n  LV   VG     Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n  \
           home vg-nas -wi-ao---- <17.00g\n"
    ));
    assert_eq!(machine.block["mapper/vg--nas-home"].size.get(), Some(Bytes::new(17 << 30)));
    join::join(&mut machine);
    assert_eq!(machine.block["mapper/vg--nas-home"].slaves, ["sda2"]);
    assert_eq!(machine.block["sda2"].holders, ["mapper/vg--nas-home"]);
    assert!(machine.block.contains_key("md0") && !machine.block.keys().any(|key| key.starts_with("vg/")));
}

#[test]
fn stripes_and_hidden_volumes_are_told_by_their_devices() {
    let machine = machine(
        "  LV              VG   Attr       LSize   Devices                     #Str\n  \
           fast            data -wi-a-----   1.00t /dev/sdb(0),/dev/sdc(0)        2\n  \
           wide            data -wi-a-----   2.00t /dev/sdb(512)                  1\n  \
           wide            data -wi-a-----   2.00t /dev/sdd(0)                    1\n  \
           pool            data twi-aotz-- 100.00g pool_tdata(0)                  1\n  \
           [pool_tdata]    data Twi-ao---- 100.00g /dev/sde1(0)                   1\n\
         # pvs\n",
    );
    assert_eq!(machine.block["mapper/data-fast"].slaves, ["sdb", "sdc"]);
    assert!(matches!(
        &dm(&machine, "mapper/data-fast").table.value().expect("known")[0].kind,
        DmKind::Striped { .. }
    ));
    assert_eq!(machine.block["mapper/data-wide"].slaves, ["sdb", "sdd"]);
    assert!(dm(&machine, "mapper/data-wide").table.value().is_none());
    assert_eq!(machine.block["mapper/data-pool"].slaves, ["mapper/data-pool_tdata"]);
    assert_eq!(machine.block["mapper/data-pool_tdata"].slaves, ["sde1"]);
}

#[test]
fn json_tells_the_same() {
    let machine = machine(
        r#"{"report": [{"lv": [{"lv_name":"fast", "vg_name":"data", "lv_attr":"-wi-a-----", "lv_size":"1.00t",
        "devices":"/dev/sdb(0),/dev/sdc(0)", "stripes":"2"}]}, {"pv": [{"pv_name":"/dev/sdb", "vg_name":"data"}]}]}"#,
    );
    assert_eq!(machine.block["mapper/data-fast"].slaves, ["sdb", "sdc"]);
    assert_eq!(machine.block["vg/data"].slaves, ["sdb"]);
}

#[test]
fn what_is_not_told_is_a_gap() {
    let part = read(&Text::new("x", b"  LV   VG Attr       LSize\n  root vg -wi-ao---- 10.00g\n"));
    assert_eq!(part.gaps[0].run, "sudo lvs -a -o +devices,stripes");
    assert!(read(&Text::new("x", b"LV root VG vg\nroot vg\n")).kind.is_none());
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_row_panics(row in "[ a-z0-9\\[\\]/(),.-]{0,80}") {
        let mut machine = machine(&format!("  LV   VG   Attr       LSize   Devices   #Str Stripe Type\n{row}\n{row}\n"));
        join::join(&mut machine);
    }
}
