use narrows_machine::mount::Mount;
use proptest::prelude::*;

use super::super::Text;
use super::read;

fn mounts(text: &str) -> Vec<Mount> {
    read(&Text::new("mounts.txt", text.as_bytes())).machine.mounts
}

fn shown(text: &str) -> Vec<String> {
    let show = |mount: &Mount| {
        format!("{} {} {} {}", mount.source, mount.point, mount.fstype, mount.devices.join(","))
    };
    mounts(text).iter().map(show).collect()
}

#[test]
fn every_form_tells_the_same() {
    let want = ["/dev/sda2 / ext4 sda2", "/dev/mapper/vg-home /home xfs mapper/vg-home"];
    for text in [
        "proc on /proc type proc (rw)\n/dev/sda2 on / type ext4 (rw,relatime)\n/dev/mapper/vg-home on /home type xfs (rw) [data]\n",
        "proc /proc proc rw 0 0\n/dev/sda2 / ext4 rw,relatime 0 0\n/dev/mapper/vg-home /home xfs rw 0 0\n",
        "22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n23 22 253:1 / /home rw shared:2 - xfs /dev/mapper/vg-home rw\n",
        "device proc mounted on /proc with fstype proc\ndevice /dev/sda2 mounted on / with fstype ext4\n\
         device /dev/mapper/vg-home mounted on /home with fstype xfs\n",
        "TARGET   SOURCE              FSTYPE OPTIONS\n/        /dev/sda2           ext4   rw,relatime\n├─/proc  proc                proc   rw\n\
         └─/home  /dev/mapper/vg-home xfs    rw\n",
        "TARGET=\"/\" SOURCE=\"/dev/sda2\" FSTYPE=\"ext4\" OPTIONS=\"rw\"\nTARGET=\"/home\" SOURCE=\"/dev/mapper/vg-home\" FSTYPE=\"xfs\" OPTIONS=\"rw\"\n",
        "{\"filesystems\": [{\"target\": \"/\", \"source\": \"/dev/sda2\", \"fstype\": \"ext4\", \"options\": \"rw\", \"children\": [\n\
         {\"target\": \"/home\", \"source\": \"/dev/mapper/vg-home\", \"fstype\": \"xfs\", \"options\": \"rw\"}]}]}",
        "Filesystem          Type  Size  Used Avail Use% Mounted on\ntmpfs               tmpfs 3.2G     0  3.2G   0% /run\n\
         /dev/sda2           ext4   49G   12G   35G  26% /\n/dev/mapper/vg-home xfs  1,8T  1,1T  700G  62% /home\n",
    ] {
        assert_eq!(shown(text), want, "{text}");
    }
}

#[test]
fn df_without_types_knows_device_and_point() {
    let text = "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/nvme0n1p2 490617784 98231020 367391164  22% /mnt/a b\n";
    assert_eq!(shown(text), ["/dev/nvme0n1p2 /mnt/a b  nvme0n1p2"]);
}

#[test]
fn a_network_mount_tells_server_and_connections() {
    let mount = mounts("nas:/x on /data type nfs4 (rw,vers=4.2,nconnect=8,addr=192.0.2.1)\n").remove(0);
    let remote = mount.remote.expect("leads somewhere");
    assert_eq!(remote.address.value().map(String::as_str), Some("192.0.2.1"));
    assert_eq!((remote.port.get(), mount.connections.get()), (Some(2049), Some(8)));
    let stats = "device nas:/x mounted on /data with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.2,nconnect=8,addr=192.0.2.1\n";
    assert_eq!(mounts(stats).remove(0).connections.get(), Some(8));
    let mount =
        mounts("Filesystem Type Size Used Avail Use% Mounted on\nnas:/x nfs4 1T 1G 1T 1% /data\n").remove(0);
    assert_eq!(mount.connections.get(), None);
}

#[test]
fn subvolumes_and_several_outputs_are_one_mount() {
    let text = "TARGET SOURCE           FSTYPE OPTIONS\n/home  /dev/sda2[/@home] btrfs  rw,subvol=/@home\n\n/dev/sda2  49G 12G 35G 26% /home\n";
    let all = mounts(text);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].root.as_str(), all[0].source.as_str()), ("/@home", "/dev/sda2"));
}

#[test]
fn what_should_be_mounted_is_not_what_is() {
    for text in [
        "UUID=0-1 / ext4 defaults 0 1\n/dev/sda2 / ext4 defaults 0 0\n",
        "# /dev/sda2 / ext4 rw 0 0\n",
        "TARGET STATE\n/x up\n",
        "the disk /dev/sda2 is at / I think 50% /\n",
    ] {
        assert!(mounts(text).is_empty(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&Text::new("x", &bytes));
    }

    #[test]
    fn no_near_line_panics(words in proptest::collection::vec("(/dev/sda1|/|on|type|0|rw|[0-9]{1,3}%|[├─/a-z\\[\\]]{0,9})", 0..9)) {
        let _ = mounts(&format!("TARGET SOURCE FSTYPE\n{}\n", words.join(" ")));
    }
}
