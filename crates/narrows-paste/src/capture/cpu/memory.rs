//! Main memory: `/proc/meminfo`, `free`.

use crate::capture::Text;
use narrows_base::fact::Fact;
use narrows_base::units::Bytes;
use narrows_machine::cpu::parse_memory;

/// `MemTotal:  10315988 kB`.
pub(super) fn meminfo(text: &Text) -> Option<Fact<Bytes>> {
    let mut lines = text.lines().filter(|(_, line)| line.trim_start().starts_with("MemTotal:"));
    let (number, line) = lines.next()?;
    parse_memory(line.trim_start(), "MemTotal").map(|memory| Fact::known(memory, text.source(number)))
}

/// `Mem:  15Gi  4.2Gi …` below `total  used  free`, in KiB unless units stand behind the numbers.
pub(super) fn free(text: &Text) -> Option<Fact<Bytes>> {
    let mut has_head = false;
    for (number, line) in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next();
        if has_head && first == Some("Mem:") {
            let memory = parse_size(words.next()?)?;
            return Some(Fact::known(memory, text.source(number)));
        }
        has_head = has_head && first.is_none() || (first == Some("total") && words.next() == Some("used"));
    }
    None
}

/// Reads `16314400` (KiB), `15Gi`, `15G`, `15.5Gi`. `free -b`, `-m` and `-g` print numbers that cannot be told from
/// KiB; those of bytes and of MiB would make a machine absurd and are refused.
fn parse_size(text: &str) -> Option<Bytes> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text.get(..end)?, text.get(end..)?);
    let shift = match unit.trim_end_matches(['i', 'B']) {
        "" => {
            let kib: u64 = number.parse().ok()?;
            // From 64 MiB to 64 TiB.
            return (65_536..=68_719_476_736).contains(&kib).then(|| Bytes::from_kib(kib));
        }
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let tenths = whole.parse::<u64>().ok()?.checked_mul(10)?.checked_add(fraction.get(..1)?.parse().ok()?)?;
    tenths.checked_mul(1 << shift).map(|tenths| Bytes::new(tenths / 10))
}
