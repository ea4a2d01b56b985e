//! Foreign and typed strings that a terminal would obey: none of it may come out as it went in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::device::{Device, put};
use super::super::ground::{Ground, text};
use super::super::narrows::{Answer, Run};

/// Clears the screen, rings, sets the title, writes from right to left, ends a line where none ends.
const HOSTILE: &str = "x\u{1b}[2J\u{7}\u{1b}]0;owned\u{7}\u{202e}\u{2066}\u{9b}31m\u{85}\u{2028}\rroot";

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    let typed = |name: &str, words: &'static [&'static str]| {
        Attack::new(
            Class::Bounds,
            &format!("a hostile name for {name}"),
            move |ground: &Ground, judge: &mut Judge| {
                let place = ground.directory("names")?;
                let hostile = format!("{}/{HOSTILE}", text(&place)?);
                for exists in [false, true] {
                    if exists {
                        fs::write(&hostile, format!("{HOSTILE}\n{{\"{HOSTILE}\": 1}}\n"))?;
                    }
                    let words: Vec<String> =
                        words.iter().map(|word| word.replace("NAME", &hostile)).collect();
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    let answer = Run::new(ground, &words).within(30).answer()?;
                    inert(judge, &answer, &words.join(" "));
                }
                Ok(())
            },
        )
        .quick()
    };
    vec![
        typed("a target", &["NAME"]),
        typed("no command", &["NAME"]),
        typed("several targets", &["measure", "NAME", "/", "NAME"]),
        typed("snapshot", &["snapshot", "NAME/x.tar.gz"]),
        typed("a file", &["./NAME"]),
        typed("--since", &["/", "--fleet", "--since", "NAME"]),
        typed("compare", &["compare", "NAME", "NAME"]),
        typed("predict", &["predict", "NAME"]),
        typed("plan", &["plan", "NAME"]),
        typed("plan --board", &["plan", "--board", "NAME"]),
        typed("guard", &["guard", "NAME", "--i-own", "NAME"]),
        typed("bench", &["measure", "--as", "kdiskmark", "NAME", "--size", "1MiB"]),
        typed("sweep", &["measure", "--as", "sweep", "NAME", "--size", "1MiB", "--duration", "10ms"]),
        typed("ladder", &["measure", "--as", "layers", "NAME"]),
        typed("ladder --peer", &["measure", "--as", "layers", "/", "--peer", "NAME"]),
        typed("bench --resume", &["measure", "--resume", "NAME"]),
        typed("lab", &["lab", "NAME", "--dry-run"]),
        typed("lab --scratch", &["lab", "--scratch", "NAME", "--dry-run"]),
        typed("lab --undo", &["lab", "--undo", "--journal", "NAME"]),
        typed("copy", &["copy", "NAME", "NAME.copied"]),
        typed("an option", &["NAME", "--NAME"]),
        Attack::new(Class::Bounds, "a hostile serial number is typed", |ground, judge| {
            let device = Device::blank(ground, 48)?;
            let answer = Run::new(ground, &["guard", device.node(), "--i-own", HOSTILE]).answer()?;
            inert(judge, &answer, "guard --i-own");
            let answer = Run::new(
                ground,
                &["measure", "--as", "kdiskmark", device.node(), "--write", "--i-own", HOSTILE],
            )
            .answer()?;
            inert(judge, &answer, "bench --i-own");
            Ok(())
        })
        .quick(),
        Attack::new(Class::Bounds, "a hostile name of the file behind a device", file_name).quick(),
        Attack::new(Class::Bounds, "hostile texts in what is read", contents).quick(),
        Attack::new(Class::Bounds, "names that are no text", not_text).quick(),
        Attack::new(Class::Bounds, "a hostile label on a device", |ground, judge| {
            let device = Device::blank(ground, 48)?;
            put(device.image(), 0x8000, b"\x01CD001\x01\0LINUX\x1b[2J\x07")?;
            put(device.image(), 0, format!("-rom1fs-\0\u{10}\0\0abcd{HOSTILE}\0").as_bytes())?;
            inert(judge, &super::super::narrows::guard(ground, &device).answer()?, "guard");
            Ok(())
        })
        .quick(),
    ]
}

/// Nothing that a terminal obeys may come out, but for line ends and tabs.
fn inert(judge: &mut Judge, answer: &Answer, when: &str) {
    answer.must_be_orderly(judge, when);
    let obeyed = |c: char| {
        let is_control = c.is_control() && !matches!(c, '\n' | '\t');
        is_control
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    for (stream, text) in [("output", &answer.out), ("errors", &answer.err)] {
        let found = text.chars().find(|c| obeyed(*c));
        judge.that(found.is_none(), || {
            format!(
                "{:?}: {stream}: {:?} came out",
                when.chars().take(60).collect::<String>(),
                found.unwrap_or_default()
            )
        });
    }
}

fn file_name(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let path = ground.directory("device")?.join(HOSTILE.replace('\u{2028}', ""));
    super::super::device::sparse(&path, 48 << 20)?;
    let device = Device::over(&path)?;
    for words in [vec!["guard", device.node()], vec![device.node()], vec!["lab", "--dry-run", device.node()]]
    {
        inert(judge, &Run::new(ground, &words).answer()?, &words.join(" "));
    }
    Ok(())
}

fn contents(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let files = [
        ("lspci.txt", format!("01:00.0 Non-Volatile memory controller: {HOSTILE} Device 1234 (rev 01)\n\tSubsystem: {HOSTILE}\n\tLnkCap: Port #0, Speed 8GT/s, Width x4\n\tLnkSta: Speed 2.5GT/s (downgraded), Width x1 (downgraded)\n")),
        ("dmesg.txt", format!("[    1.0] nvme nvme0: pci function 0000:01:00.0\n[    2.0] nvme0n1: {HOSTILE}\n[    3.0] nvme 0000:01:00.0: {HOSTILE}\n")),
        ("dmidecode.txt", format!("Base Board Information\n\tManufacturer: {HOSTILE}\n\tProduct Name: {HOSTILE}\n")),
        ("lsblk.txt", format!("NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\nsda 8:0 0 1T 0 disk {HOSTILE}\n")),
        ("fio.json", format!("{{\"fio version\":\"fio-3.33\",\"jobs\":[{{\"jobname\":{:?},\"error\":0,\"job options\":{{\"rw\":\"read\",\"bs\":\"1m\",\"filename\":{:?}}},\"read\":{{\"io_bytes\":1000000,\"bw_bytes\":1000000,\"iops\":1.0,\"runtime\":1000,\"total_ios\":1}}}}]}}", "JOB", "JOB").replace("JOB", &HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007").replace('\r', "\\r"))),
        ("system.path.toml", format!("name = \"{}\"\n[[part]]\nid = \"{}\"\n", toml_text(), toml_text())),
        ("zpool.txt", format!("  pool: {HOSTILE}\n state: ONLINE\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\t{HOSTILE} ONLINE 0 0 0\n\t  nvme0n1p1 ONLINE 0 0 0\n")),
    ];
    let place = ground.directory(&HOSTILE.replace(['\u{2028}', '\r'], ""))?;
    for (name, text) in &files {
        fs::write(place.join(name), text)?;
    }
    let directory = text(&place)?;
    let file = |name: &str| format!("{directory}/{name}");
    for words in [
        vec![directory],
        vec![directory, "--plain"],
        vec![directory, "--fleet"],
        vec![directory, "--fleet", "--csv"],
        vec![&file("fio.json"), "--csv"],
        vec!["compare", &file("fio.json"), &file("fio.json")],
        vec!["predict", &file("system.path.toml")],
        vec!["plan", &file("system.path.toml")],
        vec!["plan", directory],
    ] {
        let answer = Run::new(ground, &words).within(30).answer()?;
        inert(judge, &answer, &format!("{} {}", words[0], words.last().unwrap_or(&"")));
    }
    Ok(())
}

fn toml_text() -> String {
    HOSTILE
        .chars()
        .map(|c| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
        .collect()
}

/// File names that are no UTF-8, and longer than a path may be.
fn not_text(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let place = ground.directory("bytes")?;
    let name = place.join(OsStr::from_bytes(b"\xff\xfe\x1b[2J\x9b"));
    fs::write(&name, "x\n")?;
    for command in ["predict", "guard", "measure", "plan"] {
        let answer = Run::new(ground, &[command]).with(|run| run.arg(&name)).within(30).answer()?;
        inert(judge, &answer, command);
        let long = "d/".repeat(5000);
        inert(judge, &Run::new(ground, &[command, &long]).within(30).answer()?, command);
    }
    let target = ground.path("copied");
    let answer = Run::new(ground, &["copy", text(&place)?, text(&target)?]).answer()?;
    inert(judge, &answer, "copy");
    judge.that(fs::read_dir(&target).is_ok_and(|mut all| all.next().is_some()), || {
        format!("not copied: {}", answer.short())
    });
    Ok(())
}
