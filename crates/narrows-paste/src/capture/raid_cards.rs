//! What the tools of RAID adapters say of their write cache: `ssacli` (before: `hpssacli`, `hpacucli`), `MegaCli`, `arcconf`.

use narrows_base::fact::Fact;
use narrows_machine::captured::CacheLack;

use super::device::learn;
use super::{Part, Rank, Text};
use crate::text::fields;

/// More adapters than a machine has.
const MOST: usize = 64;

/// Reads what every adapter of a text says.
pub fn read(text: &Text) -> Part {
    let mut part = Part { rank: Rank::Decoded, ..Part::default() };
    let adapters = &mut part.machine.adapters;
    let mut number = 0;
    let mut is_to_write_back = false;
    let mut works_without_battery = false;
    for (at, line) in text.lines() {
        let line = line.trim();
        let source = text.source(at);
        // `Smart Array P410i in Slot 0 (Embedded)`
        if let Some([model, slot]) = fields(line, "{} in Slot {}")
            && model.starts_with("Smart ")
        {
            part.kind = Some("ssacli");
            number = slot.split(' ').next().and_then(|slot| slot.parse().ok()).unwrap_or(number);
            if adapters.len() < MOST {
                learn(&mut adapters.entry(number).or_default().model, Some(model.to_owned()), &source);
            }
            continue;
        }
        let Some((key, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        let (kind, lack) = match key.trim() {
            "Cache Board Present" => ("ssacli", (value == "False").then_some(CacheLack::NoMemory)),
            "Cache Status" => ("ssacli", value.contains("Disabled").then_some(CacheLack::Off)),
            "Battery/Capacitor Status" => {
                ("ssacli", value.starts_with("Failed").then_some(CacheLack::Battery))
            }
            "No-Battery Write Cache" => {
                works_without_battery = value == "Enabled";
                ("ssacli", None)
            }
            "Default Cache Policy" => {
                is_to_write_back = value.starts_with("WriteBack");
                ("MegaCli", None)
            }
            "Current Cache Policy" => {
                let fell_back = is_to_write_back && value.starts_with("WriteThrough");
                ("MegaCli", fell_back.then_some(CacheLack::FellBack))
            }
            "Battery Replacement required" => ("MegaCli", (value == "Yes").then_some(CacheLack::Battery)),
            "Write-cache mode" => ("arcconf", value.starts_with("Disabled").then_some(CacheLack::Off)),
            _ => continue,
        };
        part.kind = part.kind.or(Some(kind));
        let Some(lack) = lack.filter(|_| adapters.len() < MOST) else { continue };
        let adapter = adapters.entry(number).or_default();
        if adapter.lacks_cache.value().is_none() {
            adapter.lacks_cache = Fact::known(lack, source);
        }
    }
    if works_without_battery {
        adapters.values_mut().for_each(|adapter| adapter.lacks_cache = Fact::default());
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an adapter is called, and why it keeps no writes.
    type Told = (Option<String>, Option<CacheLack>);

    fn told(text: &str) -> (Option<&'static str>, Vec<Told>) {
        let part = read(&Text::new("card.txt", text.as_bytes()));
        let adapters = part.machine.adapters.values();
        let all = adapters.map(|one| (one.model.value().cloned(), one.lacks_cache.get())).collect();
        (part.kind, all)
    }

    #[test]
    fn an_adapter_without_its_cache_says_why() {
        let head = "Smart Array P410i in Slot 0 (Embedded)\n   Cache Board Present: ";
        let model = Some("Smart Array P410i".to_owned());
        let lack = Some(CacheLack::NoMemory);
        assert_eq!(told(&format!("{head}False\n")), (Some("ssacli"), vec![(model.clone(), lack)]));
        assert_eq!(told(&format!("{head}True\n")), (Some("ssacli"), vec![(model.clone(), None)]));
        let without = format!(
            "{head}True\n   Battery/Capacitor Status: Failed (Replace Batteries)\n   No-Battery Write Cache: Enabled\n"
        );
        assert_eq!(told(&without), (Some("ssacli"), vec![(model, None)]));
        let fell = "Default Cache Policy: WriteBack, ReadAheadNone, Cached, No Write Cache if Bad BBU\n\
            Current Cache Policy: WriteThrough, ReadAheadNone, Cached, No Write Cache if Bad BBU\n";
        assert_eq!(told(fell), (Some("MegaCli"), vec![(None, Some(CacheLack::FellBack))]));
        assert_eq!(told("Current Cache Policy: WriteThrough, Direct\n"), (Some("MegaCli"), Vec::new()));
        assert_eq!(told("The cache policy: write-through\n"), (None, Vec::new()));
    }
}
