//! Entries by what people write, in a forum post or a table: `2x 970 EVO 1TB`, `Samsung SSD980`, `ConnectX-3 40GbE`.

use super::{Catalog, Core, Medium, MediumClass, Nic, Processor, best, longest};

/// Words that say who made a drive or what line it is of, and not which model it is.
const NOT_A_MODEL: [&str; 24] = [
    "samsung",
    "wd",
    "black",
    "blue",
    "red",
    "green",
    "gold",
    "crucial",
    "kingston",
    "intel",
    "solidigm",
    "sk",
    "hynix",
    "platinum",
    "micron",
    "kioxia",
    "toshiba",
    "seagate",
    "adata",
    "corsair",
    "optane",
    "tb",
    "ultrastar",
    "hp",
];

/// A model number this short is only believed beside all words of its entry's name that say who made it, and which line.
const SHORT: usize = 3;

/// The words of a text in lower case: runs of letters, digits and dots, without a leading `ssd`.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let split = lower.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    let bare = split.map(|word| {
        word.strip_prefix("ssd").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(word)
    });
    // `4TB` and `4 TB` are one capacity.
    let apart = bare.flat_map(|word| match word.strip_suffix("tb") {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => [number, "tb"],
        _ => [word, ""],
    });
    apart.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// How much of the text an entry's name explains: the letters of its model words when all are there.
fn explained(name: &str, text: &[String]) -> Option<usize> {
    let name = words(name);
    let (makers, model): (Vec<_>, Vec<_>) =
        name.iter().partition(|word| NOT_A_MODEL.contains(&word.as_str()));
    let length: usize = model.iter().map(|word| word.len()).sum();
    let is_said = |word: &&String| text.contains(word);
    let is_short = length <= SHORT && !makers.iter().filter(|word| **word != "tb").all(is_said);
    (length > 0 && !is_short && model.iter().all(is_said)).then_some(length)
}

/// Whether `word` stands in `text` and does not begin in the middle of a word. A `#` in it is any digit.
fn stands_in(text: &str, word: &str) -> bool {
    let is_at = |at: usize| text.get(at..).is_some_and(|rest| fits(rest, word).is_some());
    let begins = |at: usize| !text.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric());
    !word.is_empty() && text.char_indices().any(|(at, _)| begins(at) && is_at(at))
}

/// What follows a pattern at the beginning of a text: a `#` is any digit, all else is itself.
fn fits<'t>(text: &'t str, pattern: &str) -> Option<&'t str> {
    pattern.chars().try_fold(text, |text, wanted| match wanted {
        '#' => text.strip_prefix(|c: char| c.is_ascii_digit()),
        _ => text.strip_prefix(wanted),
    })
}

/// Whether a model number stands in the words of a text as a whole. A `@` at its end is any letters.
fn is_number(text: &[&str], pattern: &str) -> bool {
    let wanted: Vec<&str> = pattern.split(' ').collect();
    let is_word = |(word, wanted): (&&str, &&str)| match wanted.strip_suffix('@') {
        Some(wanted) => fits(word, wanted).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_alphabetic())),
        None => fits(word, wanted) == Some(""),
    };
    text.windows(wanted.len()).any(|words| words.iter().zip(&wanted).all(is_word))
}

/// A text in which `E5-2680 v4` is `E5-2680v4`, as the kernel and half of all people write it.
fn joined(text: &str) -> String {
    ('2'..='6')
        .fold(text.to_owned(), |text, version| text.replace(&format!(" v{version}"), &format!("v{version}")))
}

/// Lines of processors whose numbers other lines have, too.
const LINES: [&str; 3] = ["epyc", "threadripper", "xeon w"];

impl Catalog {
    /// The medium that a text names: by part of the kernel's model name, or else by all words of the entry's name but
    /// the maker's. An entry for several models (`PM981, PM981a`) is found by each.
    pub fn medium_by_words(&self, text: &str) -> Option<&Medium> {
        if let Some(medium) = self.medium(text) {
            return Some(medium);
        }
        let words = words(text);
        let found = |medium: &Medium| {
            let maker = medium.name.split_whitespace().next().unwrap_or_default();
            let names = medium.name.split(',');
            names.filter_map(|name| explained(&format!("{maker} {name}"), &words)).max()
        };
        best(&self.media, found)
    }

    /// The class of media with this name.
    pub fn medium_class(&self, name: &str) -> Option<&MediumClass> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// The network card one of whose words the text contains, the longest first. A word counts where no letter or digit joins it.
    pub fn nic_by_words(&self, text: &str) -> Option<&Nic> {
        let text = text.to_lowercase();
        best(&self.nics, |nic| longest(&nic.words, |word| stands_in(&text, word)))
    }

    /// The platform that a text names: as the table calls it, by a part of that which no other has, or by the number of a
    /// model, `i7-12700K`, `EPYC 7302P`, `Xeon E5-2680 v4`.
    pub fn processor_by_words(&self, text: &str) -> Option<&Processor> {
        let text = text.trim().to_lowercase();
        let name = |entry: &Processor| entry.name.to_lowercase();
        if let Some(exact) = self.processors.iter().find(|entry| name(entry) == text) {
            return Some(exact);
        }
        let mut part = self.processors.iter().filter(|entry| !text.is_empty() && name(entry).contains(&text));
        if let (Some(only), None) = (part.next(), part.next()) {
            return Some(only);
        }
        let joined = joined(&text).replace("(r)", " ");
        let words = joined.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_of_line =
            |entry: &Processor| LINES.iter().all(|line| !text.contains(line) || name(entry).contains(line));
        // Of two that fit, the one that leaves less open.
        let closed = |pattern: &str| pattern.chars().filter(|c| !matches!(c, '#' | '@')).count();
        let found = |entry: &Processor| {
            let all = entry.numbers.iter().filter(|pattern| is_number(&words, pattern));
            all.map(|pattern| closed(pattern)).max().filter(|_| is_of_line(entry))
        };
        best(&self.processors, found)
    }

    /// The processor's cores that a text names, as [`Self::nic_by_words`]; a `#` of a word is any digit.
    pub fn core_by_words(&self, text: &str) -> Option<&Core> {
        let text = joined(&text.to_lowercase());
        best(&self.cores, |core| longest(&core.words, |word| stands_in(&text, word)))
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::catalog;
    use proptest::prelude::*;

    #[test]
    fn drives_are_found_as_people_write_them() {
        for (text, want) in [
            ("WD SN770 2TB", Some("WD Black SN770")),
            ("2x 970 EVO 1TB mirror on switch card", Some("Samsung 970 EVO")),
            ("Samsung 970 EVO Plus", Some("Samsung 970 EVO Plus")),
            ("Samsung SSD980 500GB lanes masked", Some("Samsung 980")),
            ("WD Black SN750-class WDS500G2X0C", Some("WD Black SN750")),
            ("11x PM1733 (10+1+1)", Some("Samsung PM1733")),
            ("Intel P5520", Some("Intel P5510, P5520")),
            ("Solidigm P5520", Some("Intel P5510, P5520")),
            ("Crucial P1 1TB QLC", Some("Crucial P1")),
            ("Solidigm D5-P5336 61.44TB QLC", Some("Solidigm D5-P5336")),
            ("Adata SX8200 960GB", Some("Adata SX8200")),
            ("Samsung PM983 (MZQLB960)", Some("Samsung PM983 960GB")),
            ("P4610 (3.2 GB/s each)", Some("Intel P4610")),
            ("10x PCIe 4.0 SSD", None),
            ("datacenter NVMe", None),
            ("NVMe 980 GB", None),
            ("", None),
        ] {
            let found = catalog().medium_by_words(text).map(|medium| medium.name.as_str());
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn cards_and_processors_are_found_as_people_write_them() {
        let nic = |text| catalog().nic_by_words(text).map(|nic| nic.name.as_str());
        assert_eq!(nic("Chelsio T580 -> ConnectX-3 40GbE point to point"), Some("Mellanox ConnectX-3"));
        assert_eq!(nic("Intel X520-2 dual 10GbE in 2.0 x4"), Some("Intel X520-2"));
        assert_eq!(nic("ConnectX-4 Lx"), Some("Mellanox ConnectX-4 Lx"));
        assert_eq!(nic("10GbE NIC in x1 slot"), None);
        let core = |text| catalog().core_by_words(text).map(|core| core.name.as_str());
        assert_eq!(core("Turing Pi 2 + CM4"), Some("Raspberry Pi CM4 (BCM2711, Cortex-A72)"));
        assert_eq!(core("Ryzen 5 2600, slot bifurcated x4/x4"), Some("Ryzen 1000, 2000 (Zen, Zen+)"));
        assert_eq!(
            core("2S Xeon Platinum 8160, 2 UPI links").map(|name| name.contains("Skylake-SP")),
            Some(true)
        );
        assert_eq!(core("server"), None);
    }

    #[test]
    fn processors_are_found_as_people_write_them() {
        for (text, want) in [
            ("i7-12700K", "Intel Alder Lake and Raptor Lake desktop"),
            ("Intel Core i5-13500", "Intel Alder Lake and Raptor Lake desktop"),
            ("EPYC 7302P", "AMD EPYC 7002 (Rome)"),
            ("AMD EPYC 7F72 24-Core Processor", "AMD EPYC 7002 (Rome)"),
            ("EPYC 9754", "AMD EPYC 97x4 (Bergamo)"),
            ("Gold 6248", "Intel Skylake-SP and Cascade Lake-SP"),
            ("Intel(R) Xeon(R) Silver 4310 CPU @ 2.10GHz", "Intel Ice Lake-SP"),
            ("E-2288G", "Intel Skylake to Comet Lake desktop"),
            ("Ryzen 7 5700G", "AMD Ryzen 5000 with graphics"),
            ("5700G", "AMD Ryzen 5000 with graphics"),
            ("Ryzen 7 5800X3D", "AMD Ryzen 5000"),
            ("Ryzen 5 5500", "AMD Ryzen 5000 with graphics"),
            ("Ryzen 5 2600", "AMD Ryzen 2000"),
            ("Xeon E5-2680 v4", "Intel Broadwell-EP"),
            ("E5-2650", "Intel Sandy Bridge-EP"),
            ("e5-2697V2", "Intel Ivy Bridge-EP"),
            ("i7-5820K", "Intel Haswell-E with 28 lanes"),
            ("N100", "Intel Alder Lake-N"),
            ("Threadripper 3970X", "AMD Threadripper 3000"),
            ("haswell-ep", "Intel Haswell-EP"),
            ("AMD Ryzen 5000", "AMD Ryzen 5000"),
        ] {
            let found = catalog().processor_by_words(text).map(|entry| entry.name.as_str());
            assert_eq!(found, Some(want), "{text}");
        }
        // Lines and models whose lanes the table does not have.
        for text in [
            "Threadripper 7980X",
            "Threadripper PRO 3975WX",
            "EPYC 4464P",
            "i7-8550U",
            "Ryzen 7 5800H",
            "EPYC",
            "",
        ] {
            let found = catalog().processor_by_words(text).map(|entry| entry.name.as_str());
            assert_eq!(found, None, "{text}");
        }
    }

    #[test]
    fn every_drive_has_a_class_that_exists() {
        for medium in &catalog().media {
            let class = medium.class.as_deref().and_then(|name| catalog().medium_class(name));
            assert!(class.is_some(), "{}: {:?}", medium.name, medium.class);
        }
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_search(text in "\\PC{0,60}") {
            let catalog = catalog();
            let _ = (catalog.medium_by_words(&text), catalog.nic_by_words(&text), catalog.core_by_words(&text));
            let _ = catalog.processor_by_words(&text);
        }
    }
}
