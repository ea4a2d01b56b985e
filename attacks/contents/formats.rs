//! Kinds whose tools Debian lacks: their headers, written from the published formats, with the user's files behind them.

use std::io::Result;

use super::{Image, Kind, Make};

const fn format(
    name: &'static str,
    words: &'static [&'static str],
    fill: fn(&mut Image<'_>) -> Result<()>,
) -> Kind {
    Kind { name, words, make: Make::Bytes(fill) }
}

/// Words for what lies at the end of a partition, where only its data can be found.
const AT_END: &[&str] = &["raid", "data"];

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    format("jfs", &["jfs"], |image| image.put(0x8000, b"JFS1\x01\0\0\0")),
    format("reiserfs", &["reiser"], |image| image.put(0x1_0000 + 52, b"ReIsEr2Fs")),
    format("ocfs2", &["ocfs2"], |image| image.put(0x2000, b"OCFSV2\0\0")),
    format("gfs2", &["gfs2"], gfs2),
    format("hfs", &["hfs", "holds data at"], |image| {
        image.put(0x400, &[b"BD".as_slice(), &[0x5a; 160]].concat())
    }),
    format("hfs plus", &["hfs", "holds data at"], |image| {
        image.put(0x400, &[b"H+\0\x04".as_slice(), &[0x5a; 160]].concat())
    }),
    format("iso9660", &["iso"], iso9660),
    format("romfs", &["romfs"], |image| image.put(0, b"-rom1fs-\0\x10\0\0abcdlabel\0")),
    format("bcachefs", &["bcache"], bcachefs),
    format("zfs label", &["zfs"], zfs),
    format("md 0.90", AT_END, md_0_90),
    format("md 1.0", AT_END, |image| md_1(image, Place::End)),
    format("md 1.1", &["raid", "md "], |image| md_1(image, Place::At(0))),
    format("md 1.2", &["raid", "md "], |image| md_1(image, Place::At(4096))),
    format("lvm physical volume", &["lvm"], lvm),
    format("ddf raid", AT_END, |image| image.put_before_end(512, b"\xde\x11\xde\x11\0\0\0\0DDF raid header")),
    format("intel raid", AT_END, |image| image.put_before_end(1024, b"Intel Raid ISM Cfg Sig. 1.3.00")),
    format("promise raid", AT_END, |image| image.put_before_end(63 * 512, b"Promise Technology, Inc.")),
    format("nvidia raid", AT_END, |image| image.put_before_end(1024, b"NVIDIA  \x1e\0\0\0")),
    format("lsi raid", AT_END, |image| image.put_before_end(512, b"$XIDE$")),
    format("adaptec raid", AT_END, |image| image.put_before_end(512, b"DPTM")),
    format("jmicron raid", AT_END, |image| image.put_before_end(512, b"JM\x01\0\0\0")),
    format("drbd", &["drbd", "data"], |image| {
        image.put_before_end(4096 - 60, &0x8374_026d_u32.to_be_bytes())
    }),
    format("stratis", &["stratis", "data"], |image| image.put(516, b"!Stra0tis\x86\xff\x02^\x41rh")),
    format("vdo", &["vdo", "data"], |image| image.put(0, b"dmvdo001")),
    format("oracle asm", &["asm", "oracle", "data"], |image| image.put(32, b"ORCLDISKVOL1")),
    format("ceph bluestore", &["ceph", "bluestore", "data"], |image| {
        image.put(0, b"bluestore block device\n")
    }),
    format("apfs", &["apfs", "data"], |image| image.put(32, b"NXSB\0\x10\0\0")),
    format("refs", &["refs", "data"], |image| image.put(3, b"ReFS\0\0\0\0FSRS")),
    format("bitlocker", &["bitlocker", "fat", "mbr", "data"], |image| {
        image.put(0, b"\xeb\x58\x90-FVE-FS-\0\x02\x08")
    }),
    format("dm-integrity", &["integrity", "data"], |image| image.put(0, b"integrt\0\x05\0\0\0")),
    format("qcow2", &["qcow", "data"], |image| image.put(0, b"QFI\xfb\0\0\0\x03")),
    format("virtualbox disk", &["vdi", "data"], |image| {
        image.put(0, b"<<< Oracle VM VirtualBox Disk Image >>>\n")
    }),
];

fn gfs2(image: &mut Image<'_>) -> Result<()> {
    let mut block = vec![0; 512];
    block[..8].copy_from_slice(b"\x01\x16\x19\x70\0\0\0\x01");
    block[16..20].copy_from_slice(&100_u32.to_be_bytes());
    block[24..28].copy_from_slice(&1801_u32.to_be_bytes());
    block[28..32].copy_from_slice(&1900_u32.to_be_bytes());
    block[96..109].copy_from_slice(b"lock_nolock\0x");
    image.put(0x1_0000, &block)
}

fn iso9660(image: &mut Image<'_>) -> Result<()> {
    image.put(0x8000, b"\x01CD001\x01\0LINUX")?;
    image.put(0x8800, b"\xffCD001\x01")
}

fn bcachefs(image: &mut Image<'_>) -> Result<()> {
    const MAGIC: [u8; 16] =
        [0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];
    image.put(4096 + 24, &MAGIC)?;
    image.put(4096 + 40, &[0x11; 48])
}

fn zfs(image: &mut Image<'_>) -> Result<()> {
    let mut label = vec![0; 256 << 10];
    label[16_384..16_388].copy_from_slice(&[1, 1, 0, 0]);
    label[16_400..16_420].copy_from_slice(b"\0\0\0\x07version\0\0\0\0\x08\0\0\0\x01");
    for slot in label[128 << 10..].chunks_mut(1024) {
        slot[..8].copy_from_slice(&0x00ba_b10c_u64.to_le_bytes());
        slot[8..16].copy_from_slice(&5000_u64.to_le_bytes());
    }
    for at in [0, 256 << 10] {
        image.put(at, &label)?;
    }
    for before in [512 << 10, 256 << 10] {
        image.put_before_end(before, &label)?;
    }
    Ok(())
}

fn md_0_90(image: &mut Image<'_>) -> Result<()> {
    let at = image.size / 65_536 * 65_536 - 65_536;
    let words: Vec<u8> =
        [0xa92b_4efc_u32, 0, 90, 0, 0, 7, 1, 1, 2].iter().flat_map(|word| word.to_le_bytes()).collect();
    image.put(at, &words)
}

enum Place {
    At(u64),
    End,
}

fn md_1(image: &mut Image<'_>, place: Place) -> Result<()> {
    let at = match place {
        Place::At(at) => at,
        Place::End => (image.size / 512 - 16) / 8 * 8 * 512,
    };
    let mut block = vec![0; 512];
    block[..8].copy_from_slice(b"\xfc\x4e\x2b\xa9\x01\0\0\0");
    block[16..32].copy_from_slice(&[0x77; 16]);
    block[32..45].copy_from_slice(b"somehost:raid");
    block[72..76].copy_from_slice(&1_u32.to_le_bytes());
    block[92..96].copy_from_slice(&2_u32.to_le_bytes());
    block[128..136].copy_from_slice(&2048_u64.to_le_bytes());
    block[144..152].copy_from_slice(&(at / 512).to_le_bytes());
    image.put(at, &block)
}

fn lvm(image: &mut Image<'_>) -> Result<()> {
    let mut sector = vec![0; 512];
    sector[..8].copy_from_slice(b"LABELONE");
    sector[8] = 1;
    sector[16..20].copy_from_slice(&0xf10f_2b3a_u32.to_le_bytes());
    sector[20] = 32;
    sector[24..32].copy_from_slice(b"LVM2 001");
    sector[32..64].copy_from_slice(b"Jh3kq9ZpR1fLw8mX2bT7vYc5sNd0gAuE");
    image.put(512, &sector)?;
    image.put(4096 + 4, b" LVM2 x[5A%r0N*>\x01\0\0\0")?;
    image.put(4608, b"vg0 {\nid = \"x\"\nseqno = 2\n}\n")
}
