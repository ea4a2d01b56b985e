//! Hard disks by the form of their model numbers, for captures in which nothing else says that a drive turns.
//!
//! | maker | form | where it is described |
//! |---|---|---|
//! | Seagate since 2011 | `ST`, GB, two letters of the family, three or four characters | knowledge.seagate.com, FAQ 204763en |
//! | Seagate before | `ST3` or `ST9` (3.5 or 2.5 inches), digits, letters of the interface | the same; Computing Classics Wiki, "Seagate model number codes (pre-2011)" |
//! | WD | `WD`, two to five digits of the capacity, a letter of its unit, two or three more | Computing Classics Wiki, "Western Digital model number codes" |
//! | Hitachi, HGST, WD Ultrastar | `H` or `W`, two letters of the family, two digits of the spindle speed | Computing Classics Wiki, "Hitachi/HGST model number codes" |
//!
//! Families of solid-state drives with such names (Seagate `…FM`, `…FN`, `…FX`, `…HM`, `…FS`, HGST `HUSMM…`, WD `WDS…`, `WUS4…`) have none of
//! these letters or no speed, and are not taken for disks. What the forms do not tell is not known.

/// Letters of the families of Seagate disks: desktop, laptop, nearline and NAS, video, mission critical, archive.
const SEAGATE: &[&str] = &[
    "AS", "DM", "DL", "DX", "LM", "LT", "LX", "MM", "MP", "MX", "NE", "NM", "NT", "NX", "VE", "VM", "VN",
    "VX",
];

/// Letters after the digits of Seagate disks before 2011: SATA of desktops, laptops, servers, recorders; SAS.
const SEAGATE_OLD: &[&str] = &["AS", "ASG", "AV", "CS", "GAS", "NS", "SS", "SV"];

/// Families of Hitachi, HGST and WD: Deskstar, Travelstar, Ultrastar.
const ULTRASTAR: &[&str] = &["DE", "DN", "DS", "DT", "TE", "TS", "UA", "UC", "UH", "US"];

/// Spindle speeds in these names, in hundreds of turns a minute; `10` and `15` are thousands.
const SPEEDS: &[&str] = &["10", "15", "54", "72"];

/// Whether a model name is surely that of a hard disk.
pub fn is_hard_disk(model: &str) -> bool {
    model.split(|c: char| c.is_whitespace() || c == '_' || c == '-').any(|word| {
        let word = word.to_ascii_uppercase();
        is_seagate(&word) || is_wd(&word) || is_ultrastar(&word)
    })
}

/// Splits a text after its leading characters of a kind.
fn split(text: &str, is: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is(c)).unwrap_or(text.len()))
}

fn is_seagate(word: &str) -> bool {
    let Some(rest) = word.strip_prefix("ST") else { return false };
    let (digits, rest) = split(rest, |c| c.is_ascii_digit());
    let (letters, rest) = split(rest, |c| c.is_ascii_alphabetic());
    let is_new = (2..=5).contains(&digits.len())
        && SEAGATE.contains(&letters)
        && (3..=4).contains(&rest.len())
        && rest.chars().all(|c| c.is_ascii_alphanumeric());
    let is_old = (5..=9).contains(&digits.len())
        && (digits.starts_with('3') || digits.starts_with('9'))
        && SEAGATE_OLD.contains(&letters)
        && rest.is_empty();
    is_new || is_old
}

fn is_wd(word: &str) -> bool {
    let Some(rest) = word.strip_prefix("WD") else { return false };
    let (digits, letters) = split(rest, |c| c.is_ascii_digit());
    (2..=5).contains(&digits.len())
        && (3..=4).contains(&letters.len())
        && letters.chars().all(|c| c.is_ascii_alphabetic())
}

fn is_ultrastar(word: &str) -> bool {
    let Some(rest) = word.strip_prefix(['H', 'W']) else { return false };
    let family = rest.get(..2).unwrap_or_default();
    let (digits, rest) = split(rest.get(2..).unwrap_or_default(), |c| c.is_ascii_digit());
    ULTRASTAR.contains(&family)
        && digits.len() == 6
        && SPEEDS.iter().any(|speed| digits.starts_with(speed))
        && rest.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names as kernels print them, of machines of `github.com/linuxhw/hw-probe` and mails of linux-raid.
    #[test]
    fn disks_are_known_by_their_names() {
        for model in [
            "ST16000NM001G-2KK103",
            "ST4000DM004-2CV104",
            "SEAGATE ST4000NM0023",
            "ST1000LM035-1RK172",
            "ST8000AS0002-1NA17Z",
            "ST3500418AS",
            "ST9500325AS",
            "ST31000528AS",
            "ST3300657SS",
            "WDC WD40EFRX-68N32N0",
            "WDC WD5000AAKS-00A7B2",
            "WDC_WD101KRYZ-01JPDB0",
            "WD2003FZEX",
            "HGST HUH721212ALE604",
            "HGST HUS726060ALE610",
            "HGST HDN726040ALE614",
            "Hitachi HDS721010CLA332",
            "HITACHI HUC109060CSS600",
            "HGST HTS541010A9E680",
            "WDC WUH721414ALE6L4",
            "WDC WUS721010ALE6L4",
        ] {
            assert!(is_hard_disk(model), "{model}");
        }
    }

    #[test]
    fn solid_state_drives_and_what_is_no_drive_are_not_taken_for_disks() {
        for model in [
            "ST480FN0021",
            "ST400FM0053",
            "ST240HM000",
            "ST9200011FS",
            "WDC WDS500G2B0A-00SM50",
            "WDS100T1X0E-00AFY0",
            "WD_BLACK SN770 1TB",
            "WD Blue SN570 1TB",
            "WUS4BA119DSP3X1",
            "HGST HUSMM1640ASS204",
            "HUSPR3238ADP301",
            "HUSMR7638BDP301",
            "XA960LE10063",
            "ZA500CM10002",
            "Samsung SSD 870 EVO 1TB",
            "INTEL SSDSC2KB960G8",
            "ST",
            "WD1",
            "STORE N GO",
            "ST5000",
            "PERC H730P Mini",
            "",
        ] {
            assert!(!is_hard_disk(model), "{model}");
        }
    }

    proptest! {
        #[test]
        fn no_name_panics(model in "(ST|WD|HU|[0-9]|[A-Z]|é| |-|_){0,16}") {
            let _ = is_hard_disk(&model);
        }
    }
}
