//! `lsblk` as a tree or list for people: `├─sda1`, `|-sda1`, or with tree characters that a mail program broke.

use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::Machine;
use narrows_machine::block::{BlockDevice, BlockKind, LoopDevice, Transport};
use narrows_machine::mount::Mount;

use super::LsblkRow;
use crate::capture::device::{
    array, carrier, device, implied, is_kernel_name, key_of, learn, mapping, stack,
};
use crate::capture::table::{TableHead, TableWord, is_tree, words};
use crate::capture::{Text, mounts, number, sensors};
use crate::text::is_digits;

/// The columns that `lsblk --help` names. A line with any other word is no head of it.
const COLUMNS: &[&str] = &[
    "ALIGNMENT",
    "DAX",
    "DISC-ALN",
    "DISC-GRAN",
    "DISC-MAX",
    "DISC-ZERO",
    "DISK-SEQ",
    "FSAVAIL",
    "FSROOTS",
    "FSSIZE",
    "FSTYPE",
    "FSUSE%",
    "FSUSED",
    "FSVER",
    "GROUP",
    "HCTL",
    "HOTPLUG",
    "ID",
    "ID-LINK",
    "KNAME",
    "LABEL",
    "LOG-SEC",
    "MAJ",
    "MAJ:MIN",
    "MIN",
    "MIN-IO",
    "MODE",
    "MODEL",
    "MOUNTPOINT",
    "MOUNTPOINTS",
    "MQ",
    "NAME",
    "OPT-IO",
    "OWNER",
    "PARTFLAGS",
    "PARTLABEL",
    "PARTN",
    "PARTTYPE",
    "PARTTYPENAME",
    "PARTUUID",
    "PATH",
    "PHY-SEC",
    "PKNAME",
    "PTTYPE",
    "PTUUID",
    "RA",
    "RAND",
    "REV",
    "RM",
    "RO",
    "ROTA",
    "RQ-SIZE",
    "SCHED",
    "SERIAL",
    "SIZE",
    "START",
    "STATE",
    "SUBSYSTEMS",
    "TRAN",
    "TYPE",
    "UUID",
    "VENDOR",
    "WSAME",
    "WWN",
    "WZONE",
    "ZONE-AMAX",
    "ZONE-APP",
    "ZONE-NR",
    "ZONE-OMAX",
    "ZONE-SZ",
    "ZONE-WGRAN",
    "ZONED",
];

/// The rows of every table in a text.
pub(super) fn rows_of_tree(text: &Text) -> Vec<LsblkRow> {
    let mut rows: Vec<LsblkRow> = Vec::new();
    let mut table: Option<LsblkTable<'_>> = None;
    for (number, line) in text.lines() {
        if line.contains("NAME")
            && let Some(head) = LsblkTable::new(line)
        {
            table = Some(head);
        } else {
            if table.is_none() && is_plain_row(line) {
                table = LsblkTable::new(PLAIN);
            }
            if let Some(current) = &mut table
                && current.take(number, line, &mut rows).is_none()
            {
                table = None;
            }
        }
    }
    rows
}

/// The head of `lsblk` without options, which people leave out.
const PLAIN: &str = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS";

/// Whether a line can be nothing but a row below [`PLAIN`].
fn is_plain_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    let [_, number, removable, size, read_only, kind] = words.as_slice() else { return false };
    let is_flag = |word: &str| matches!(word, "0" | "1");
    let is_number = number.split_once(':').is_some_and(|(major, minor)| is_digits(major) && is_digits(minor));
    let is_size =
        size.ends_with(['B', 'K', 'M', 'G', 'T', 'P']) && size.starts_with(|c: char| c.is_ascii_digit());
    let kinds = [
        "disk", "part", "lvm", "crypt", "loop", "rom", "raid0", "raid1", "raid5", "raid6", "raid10", "mpath",
    ];
    is_number && is_size && is_flag(removable) && is_flag(read_only) && kinds.contains(kind)
}

/// A table that is being read.
struct LsblkTable<'a> {
    head: TableHead<'a>,
    /// Where names begin, in characters.
    indent: usize,
    /// The device on each level of the tree that the last row hangs on.
    above: Vec<String>,
}

impl<'a> LsblkTable<'a> {
    /// A table below this head; `None` when it is none of `lsblk`.
    fn new(line: &'a str) -> Option<Self> {
        let words = words(line);
        let is_column = |word: &TableWord<'_>| COLUMNS.contains(&word.text);
        let first = words.first()?;
        let names_devices = matches!(first.text, "NAME" | "KNAME" | "PATH");
        if words.len() < 2 || !names_devices || !words.iter().all(is_column) {
            return None;
        }
        Some(Self { indent: first.start, head: TableHead(words), above: Vec::new() })
    }

    /// Takes a row; `None` when the line is none, which ends the table.
    fn take(&mut self, number: usize, line: &str, rows: &mut Vec<LsblkRow>) -> Option<()> {
        let blanks = line.chars().take_while(|c| *c == ' ').count().min(self.indent);
        let prefix: String = line.chars().skip(blanks).take_while(|c| is_tree(*c)).collect();
        let rest = line.get(blanks + prefix.len()..)?;
        let name = rest.split_whitespace().next()?;
        if rest.starts_with('/') && !rest.starts_with("/dev/") || rest.starts_with("[SWAP]") {
            // A further mount point of the device above.
            rows.last_mut()?.set("MOUNTPOINTS", rest.trim().to_owned());
            return Some(());
        }
        let words = words(line);
        if self.is_wrapped(&words, name) {
            return self.continue_cells(&words, rows);
        }
        let level = level(&prefix);
        let mut row = self.row(number, name, &words)?;
        self.above.truncate(level);
        row.parent = self.above.last().cloned().or_else(|| row.get("PKNAME").map(str::to_owned));
        let key = row.key()?;
        if row.parent.is_none()
            && !is_kernel_name(row.name().unwrap_or_default())
            && row.get("TYPE").is_none()
        {
            return None;
        }
        self.above.push(key);
        rows.push(row);
        Some(())
    }

    fn row(&self, number: usize, name: &str, words: &[TableWord<'_>]) -> Option<LsblkRow> {
        let by_place = self.head.cells(words);
        let cells = match holds(&by_place) {
            true => by_place,
            false => Some(self.by_kind(words)).filter(|cells| holds(cells))?,
        };
        let mut row = LsblkRow { line: number, ..LsblkRow::default() };
        for (index, (column, cell)) in cells.into_iter().enumerate() {
            // The tree stands before the name, and may have been a word of its own.
            let cell = if index == 0 { name.to_owned() } else { cell };
            if !cell.is_empty() {
                row.set(column, cell);
            }
        }
        Some(row)
    }

    /// The cells of a row whose alignment is lost: each word goes to the next column that it fits.
    fn by_kind(&self, words: &[TableWord<'_>]) -> Vec<(&'a str, String)> {
        let mut cells = self.head.cells(&[]);
        let mut words = words
            .iter()
            .map(|word| word.text)
            .skip_while(|word| word.chars().all(is_tree))
            .skip(1)
            .peekable();
        for (index, (column, cell)) in cells.iter_mut().enumerate().skip(1) {
            let Some(word) = words.peek() else { break };
            match fits(column, word) {
                Some(false) => {}
                Some(true) => *cell = words.next().unwrap_or_default().to_owned(),
                None => {
                    let next = self.head.names().skip(index + 1).find(|name| fits(name, "").is_some());
                    let mut taken: Vec<&str> = Vec::new();
                    while let Some(word) = words.peek() {
                        if next.is_some_and(|column| fits(column, word) == Some(true)) {
                            break;
                        }
                        taken.extend(words.next());
                        if !matches!(*column, "MODEL" | "LABEL" | "PARTLABEL" | "PARTTYPENAME") {
                            break;
                        }
                    }
                    *cell = taken.join(" ");
                }
            }
        }
        cells
    }

    /// Whether a line has the cells of a name that was too long for its column.
    fn is_wrapped(&self, words: &[TableWord<'_>], name: &str) -> bool {
        self.head.names().nth(1) == Some("MAJ:MIN")
            && fits("MAJ:MIN", name) == Some(true)
            && words.iter().any(|word| word.text == name && word.start > self.indent)
    }

    fn continue_cells(&self, words: &[TableWord<'_>], rows: &mut [LsblkRow]) -> Option<()> {
        let row = rows.last_mut().filter(|row| row.get("MAJ:MIN").is_none())?;
        for (column, cell) in self.head.cells(words).into_iter().skip(1) {
            if !cell.is_empty() {
                row.set(column, cell);
            }
        }
        Some(())
    }
}

/// Whether what stands in each column can stand there.
fn holds(cells: &[(&str, String)]) -> bool {
    let is_needed = |column: &str| matches!(column, "MAJ:MIN" | "SIZE");
    let has_needed = cells.iter().all(|(column, cell)| !(is_needed(column) && cell.is_empty()));
    let mut told = cells.iter().skip(1).filter(|(_, cell)| !cell.is_empty()).peekable();
    // A name alone is how a long name is printed whose cells stand on the next line.
    told.peek().is_none() || has_needed && told.all(|(column, cell)| fits(column, cell) != Some(false))
}

/// How deep in the tree a name stands. Each level is two characters wide: two blanks, a bar and a blank, or a branch;
/// bars and branches may have become longer when they were broken.
fn level(prefix: &str) -> usize {
    let mut level = 0;
    let mut rest = prefix;
    while !rest.is_empty() {
        let drawn = rest.find(' ').unwrap_or(rest.len());
        let blanks =
            rest.get(drawn..).map_or(0, |blanks| blanks.len() - blanks.trim_start_matches(' ').len());
        let width = if drawn == 0 { blanks.min(2) } else { drawn + blanks.min(1) };
        rest = rest.get(width.max(1)..).unwrap_or_default();
        level += 1;
    }
    level
}

/// Whether a word can stand in a column; `None` for a column in which anything can.
fn fits(column: &str, word: &str) -> Option<bool> {
    Some(match column {
        "MAJ:MIN" => word.split_once(':').is_some_and(|(major, minor)| is_digits(major) && is_digits(minor)),
        "SIZE" | "FSSIZE" | "FSUSED" | "FSAVAIL" | "DISC-GRAN" | "DISC-MAX" | "WSAME" => {
            number::binary_size(word).is_some()
        }
        "RM" | "RO" | "ROTA" | "HOTPLUG" | "RAND" | "DAX" | "DISC-ZERO" => matches!(word, "0" | "1"),
        "RA" | "LOG-SEC" | "PHY-SEC" | "MIN-IO" | "OPT-IO" | "RQ-SIZE" | "DISC-ALN" | "START" => {
            is_digits(word)
        }
        "TYPE" => {
            let known =
                ["disk", "part", "raid", "crypt", "lvm", "loop", "rom", "mpath", "dm", "md", "linear"];
            known.iter().any(|kind| word.starts_with(kind))
        }
        "MOUNTPOINT" | "MOUNTPOINTS" => word.starts_with('/') || word.starts_with("[SWAP]"),
        "FSUSE%" => word.strip_suffix('%').is_some_and(is_digits),
        "TRAN" => {
            !word.is_empty() && word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        "PKNAME" | "KNAME" | "PATH" => key_of(word).or_else(|| key_of(&format!("/dev/{word}"))).is_some(),
        _ => return None,
    })
}

/// Puts every row down. A device with several parents has a row below each of them.
pub(super) fn fill_machine(machine: &mut Machine, text: &Text, rows: &[LsblkRow]) {
    let mut mounts = Vec::new();
    for row in rows {
        let Some(key) = row.key() else { continue };
        let source = text.source(row.line);
        let parent = row.parent.as_deref().and_then(parent_key);
        identify(device(machine, &key), row, &source);
        if let Some(address) = row.get("HCTL").filter(|_| row.parent.is_none()) {
            sensors::note_disk(&mut machine.links, address, &key);
        }
        fill_kind(machine, &key, row, parent.as_deref(), &source);
        add_mounts(&mut mounts, machine, &key, row, &source);
    }
    mounts::add(machine, mounts);
}

/// A parent is a key already, or what the PKNAME column says.
fn parent_key(parent: &str) -> Option<String> {
    let is_key = parent.starts_with("mapper/") || parent.starts_with("md/");
    if is_key {
        Some(parent.to_owned())
    } else {
        key_of(parent).or_else(|| key_of(&format!("/dev/{parent}")))
    }
}

fn identify(device: &mut BlockDevice, row: &LsblkRow, source: &str) {
    let text = |column: &str| row.get(column).map(|value| value.trim().to_owned());
    let flag = |column: &str| row.get(column).and_then(parse_flag);
    let bytes = |column: &str| row.get(column).and_then(|value| value.parse().ok()).map(Bytes::new);
    let is_whole = device.partition_of.is_none();
    learn(&mut device.number, row.number(), source);
    learn(&mut device.size, row.get("SIZE").and_then(number::binary_size), source);
    device.read_only |= flag("RO").unwrap_or_default();
    device.removable |= flag("RM").unwrap_or_default() && is_whole;
    learn(&mut device.model, text("MODEL"), source);
    learn(&mut device.serial, text("SERIAL"), source);
    learn(&mut device.firmware, text("REV"), source);
    let queue = &mut device.queue;
    learn(&mut queue.rotational, flag("ROTA"), source);
    learn(&mut queue.scheduler, text("SCHED"), source);
    learn(&mut queue.requests, row.get("RQ-SIZE").and_then(|value| value.parse().ok()), source);
    learn(&mut queue.logical_block, bytes("LOG-SEC"), source);
    learn(&mut queue.physical_block, bytes("PHY-SEC"), source);
    // `queue/read_ahead_kb` (`misc-utils/lsblk.c`, COL_RA).
    let read_ahead = row.get("RA").and_then(|value| value.parse::<u64>().ok()).filter(|kib| *kib < 1 << 40);
    learn(&mut queue.read_ahead, read_ahead.map(Bytes::from_kib), source);
    if is_whole && matches!(device.transport, Transport::None) {
        device.transport = transport(row);
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

/// What carries the data of a disk, as far as TRAN, SUBSYSTEMS or the driver's name for it tell. Where it sits on the
/// bus is in no column.
fn transport(row: &LsblkRow) -> Transport {
    let chain = row.get("SUBSYSTEMS").unwrap_or_default();
    let has = |bus: &str| chain.split(':').any(|part| part == bus);
    let virtio = |flavour: &str| Transport::Virtio { pci: None, flavour: flavour.to_owned() };
    match row.get("TRAN").and_then(carrier) {
        Some(told) => told,
        None if has("virtio") => virtio(if has("scsi") { "virtio-scsi" } else { "virtio-blk" }),
        None => implied(row.name().unwrap_or_default(), None),
    }
}

fn fill_kind(machine: &mut Machine, key: &str, row: &LsblkRow, parent: Option<&str>, source: &str) {
    let name = row.name().unwrap_or_default();
    let kind = row.get("TYPE").unwrap_or_default();
    let is_partition = device(machine, key).partition_of.is_some();
    if is_partition {
        return;
    }
    if let Some(parent) = parent {
        stack(machine, key, parent);
    }
    if key.starts_with("dm-") || key.starts_with("mapper/") {
        let owner = owner_of_kind(kind);
        if let Some(dm) = mapping(machine, key) {
            let is_name = row.get("NAME").is_some() && !name.starts_with("dm-");
            learn(&mut dm.name, is_name.then(|| name.to_owned()), source);
            learn(&mut dm.owner, owner.map(str::to_owned), source);
        }
        // Nothing carries the data of a mapping itself.
        device(machine, key).transport = Transport::None;
    } else if (kind.starts_with("raid") || kind == "linear")
        && let Some(md) = array(machine, key)
    {
        learn(&mut md.level, Some(kind.to_owned()), source);
    }
    let device = device(machine, key);
    if kind == "loop" && matches!(device.kind, BlockKind::Disk) {
        device.kind = BlockKind::Loop(LoopDevice::default());
    }
}

/// The maker of a mapping, as its identifier begins: lsblk makes the type of it (`misc-utils/lsblk.c`,
/// `get_device_type`).
fn owner_of_kind(kind: &str) -> Option<&'static str> {
    match kind {
        "crypt" => Some("CRYPT"),
        "lvm" => Some("LVM"),
        "mpath" => Some("mpath"),
        "dmraid" => Some("DMRAID"),
        _ => None,
    }
}

fn add_mounts(mounts: &mut Vec<Mount>, machine: &Machine, key: &str, row: &LsblkRow, source: &str) {
    for point in row.mount_points() {
        mounts.push(Mount {
            point: point.to_owned(),
            fstype: row.get("FSTYPE").unwrap_or_default().to_owned(),
            source: device_path(machine, key),
            devices: vec![key.to_owned()],
            number: row.number().unwrap_or_default(),
            root: "/".to_owned(),
            connections: Fact::absent(source),
            ..Mount::default()
        });
    }
}

fn device_path(machine: &Machine, key: &str) -> String {
    let name = machine.block.get(key).and_then(|device| match &device.kind {
        BlockKind::Dm(dm) => dm.name.value(),
        _ => None,
    });
    name.map_or_else(|| format!("/dev/{}", key.replace('!', "/")), |name| format!("/dev/mapper/{name}"))
}
