//! Journals whose text is forged, copied, old or damaged, in a place where a journal counts.

use serde_json::{Value, json};

use super::super::attack::{Attack, Class, Judge, Result};
use super::super::device::{Device, MIB};
use super::super::ground::Ground;
use super::super::lab::SIZE;
use super::{change, genuine, must_change_nothing, proper_place, same_device, store};

/// What an answer may say of a journal that does not fit, and of what it finds on the device.
const WORDS: &[&str] =
    &["journal", "not ours", "not the lab", "holds", "data", "not there", "changed", "left"];

/// All of them.
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        forged("replayed after everything was undone", |text, _| text.to_owned()).quick(),
        forged("with a line of garbage", |text, _| format!("{text}garbage\n")),
        forged("with garbage in the place of each line but the first", |text, _| {
            let count = text.lines().count();
            format!("{}\n{}", text.lines().next().unwrap_or_default(), "{\"step\":\n".repeat(count))
        })
        .quick(),
        forged("only its first line, and one of garbage", |text, _| {
            format!("{}\n\u{1}\n", text.lines().next().unwrap_or_default())
        }),
        forged("truncated in its last line", |text, _| text[..text.len() - 9].to_owned()),
        forged("truncated in its first line, then garbage", |text, _| {
            format!("{}\n}}\n", &text[..120.min(text.len())])
        }),
        forged("each line twice", |text, _| {
            text.lines()
                .enumerate()
                .map(|(at, line)| if at == 0 { format!("{line}\n") } else { format!("{line}\n{line}\n") })
                .collect()
        }),
        forged("its lines in reverse", |text, _| {
            let first = text.lines().next().unwrap_or_default();
            let rest: Vec<&str> = text.lines().skip(1).collect();
            format!("{first}\n{}\n", rest.into_iter().rev().collect::<Vec<_>>().join("\n"))
        }),
        forged("of another start of the machine", |text, _| {
            change(text, |key, value| {
                if key == "boot" {
                    *value = json!("11111111-2222-3333-4444-555555555555");
                }
            })
        })
        .quick(),
        forged("counters that fit to today", counters_of_today).quick(),
        forged("counters that are all zero", |text, _| numbers(text, is_counter, |_| 0)),
        forged("counters that are greater", |text, _| numbers(text, is_counter, |n| n + 1_000_000)),
        forged("counters that are as large as they can be", |text, _| {
            numbers(text, is_counter, |_| u64::MAX)
        }),
        forged("a slice that is the whole device", |text, _| {
            let text = numbers(text, is_start, |_| 0);
            numbers(&text, is_length, |n| if n > 1 << 24 { SIZE * MIB } else { SIZE * MIB / 512 })
        })
        .quick(),
        forged("a slice beyond the end", |text, _| {
            numbers(text, |key| is_start(key) || is_length(key), |n| n << 20)
        }),
        forged("a slice whose end overflows", |text, _| {
            numbers(text, |key| is_start(key) || is_length(key), |_| u64::MAX)
        }),
        forged("names that lead elsewhere", |text, _| {
            change(text, |key, value| {
                if key == "name" {
                    *value = json!("../../../etc");
                }
            })
        }),
        forged("a name with a control character", |text, _| {
            change(text, |key, value| {
                if key == "name" {
                    *value = json!("loop\u{1b}[2J\u{7}");
                }
            })
        }),
        forged("the number of another device", |text, _| {
            change(text, |key, value| {
                if key == "number" && value.is_u64() {
                    *value = json!(1);
                }
            })
        }),
        forged("every UUID is that of the file system that stands there", foreign_uuid),
        forged("of version 1, from before this was mended", |text, _| {
            change(text, |key, value| {
                if key == "format" {
                    *value = json!("narrows-lab/1");
                }
            })
        }),
        forged("of a version to come", |text, _| {
            change(text, |key, value| {
                if key == "format" {
                    *value = json!("narrows-lab/99");
                }
            })
        }),
        forged("keys given twice", |text, _| text.replace("{\"", "{\"format\":\"narrows-lab/1\",\"")),
        forged("brackets a hundred thousand deep", |text, _| {
            format!("{text}{}{}\n", "[".repeat(100_000), "]".repeat(100_000))
        }),
        forged("half a million lines", |text, _| {
            let last = text.lines().last().unwrap_or_default();
            format!("{text}{}", format!("{last}\n").repeat(500_000))
        }),
        forged("with zero bytes", |text, _| text.replacen("\"typed\"", "\"\0\"", 1) + "\0\0\0\n"),
        Attack::new(Class::Journal, "of a twin with the same name and size", twin).quick(),
        Attack::new(Class::Journal, "the head names another device", other_head),
    ]
}

fn forged(name: &str, change: impl Fn(&str, &Device) -> String + Send + Sync + 'static) -> Attack {
    Attack::new(Class::Journal, name, move |ground: &Ground, judge: &mut Judge| {
        let text = genuine(ground)?;
        let device = same_device(ground)?;
        store(ground, &device)?;
        let journal = proper_place(ground, &change(&text, &device))?;
        must_change_nothing(ground, judge, &device, &journal, WORDS)
    })
}

fn is_counter(key: &str) -> bool {
    ["written", "sectors_written", "counter", "writes"].iter().any(|part| key.contains(part))
}

fn is_start(key: &str) -> bool {
    ["start", "begin", "offset", "from", "first"].iter().any(|part| key.contains(part))
}

fn is_length(key: &str) -> bool {
    ["length", "sectors", "bytes", "size", "end"].iter().any(|part| key.contains(part)) && !is_counter(key)
}

fn numbers(text: &str, is_meant: impl Fn(&str) -> bool, to: impl Fn(u64) -> u64) -> String {
    change(text, |key, value| {
        if let (true, Some(number)) = (is_meant(key), value.as_u64()) {
            *value = json!(to(number));
        }
    })
}

fn counters_of_today(text: &str, device: &Device) -> String {
    let today = device.counter(6);
    numbers(text, is_counter, |_| today)
}

/// Whatever looks like a UUID or a number of 32 digits becomes that of the foreign file system.
fn foreign_uuid(text: &str, device: &Device) -> String {
    // The second superblock of ext4, of 4 KiB blocks, has it at 128 MiB.
    let mut uuid = [0; 16];
    let read = std::fs::File::open(device.image())
        .and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, &mut uuid, 128 * MIB + 104));
    if read.is_err() {
        return text.to_owned();
    }
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let dashed = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    change(text, |key, value| {
        if key == "boot" {
            return;
        }
        let replaced = match value.as_str() {
            Some(old) if old.len() == 32 && old.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Some(hex.clone())
            }
            Some(old) if old.len() == 36 && old.matches('-').count() == 4 => Some(dashed.clone()),
            _ => None,
        };
        if let Some(new) = replaced {
            *value = Value::String(new);
        }
    })
}

/// Another file under the same name, of the same size: as a drive with a copied serial number.
fn twin(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let device = same_device(ground)?;
    let lab = super::super::lab::killed(ground, &device, "ext4")?;
    super::super::tool::succeeds("umount -l \"$1\" 2>/dev/null", &[device.node()]);
    let gone = ground.path("gone.img");
    drop(device);
    std::fs::rename(super::image(ground), &gone)?;
    let twin = same_device(ground)?;
    store(ground, &twin)?;
    must_change_nothing(ground, judge, &twin, &lab.journal, WORDS)
}

/// The journal of a lab on one device, with the name and size of another in its head.
fn other_head(ground: &Ground, judge: &mut Judge) -> Result<()> {
    let text = genuine(ground)?;
    let other = Device::blank(ground, SIZE)?;
    store(ground, &other)?;
    let image = super::image(ground).display().to_string();
    let text = text.replace(&image, other.identity());
    let name = other.name().to_owned();
    let text = change(&text, |key, value| {
        if key == "name" && value.as_str().is_some_and(|old| old.starts_with("loop")) {
            *value = json!(name);
        }
    });
    let journal = proper_place(ground, &text)?;
    must_change_nothing(ground, judge, &other, &journal, WORDS)
}
