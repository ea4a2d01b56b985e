//! Error counts, `…/aer_dev_*` (kernel `Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats`).

use std::collections::BTreeMap;

use super::Aer;
use crate::root::Root;
use narrows_base::fact::Fact;

/// Reads the error counts of the function at `dir`; absent when it does not report errors.
pub(crate) fn read(root: &Root, dir: &str) -> Fact<Aer> {
    let counts = |kind: &str| root.parse(&format!("{dir}/aer_dev_{kind}"), parse_counts);
    counts("correctable").map(|correctable| Aer {
        correctable,
        nonfatal: counts("nonfatal").get().unwrap_or_default(),
        fatal: counts("fatal").get().unwrap_or_default(),
        is_status: false,
    })
}

/// Reads lines such as `RxErr 0`. Totals (`TOTAL_ERR_COR`) are left out; `None` when a line is not a name and a count.
fn parse_counts(text: &str) -> Option<BTreeMap<String, u64>> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("TOTAL_"))
        .map(|line| {
            let (name, count) = line.trim().rsplit_once(char::is_whitespace)?;
            Some((name.trim().to_owned(), count.parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use proptest::prelude::*;

    #[test]
    fn counts_are_read_by_name_and_the_total_is_left_out() {
        let text = "RxErr 3\nBadTLP 0\nBadDLLP 17\nRollover 0\nTimeout 2\nTOTAL_ERR_COR 22\n";
        let counts = parse_counts(text).expect("valid");
        assert_eq!(counts.len(), 5);
        assert_eq!(counts["RxErr"], 3);
        assert_eq!(counts["BadDLLP"], 17);
        assert_eq!(counts.values().sum::<u64>(), 22, "what the kernel's own total says");
        assert_eq!(parse_counts("RxErr many"), None);
        assert_eq!(parse_counts("RxErr"), None);
    }

    #[test]
    fn a_function_without_error_reporting_has_no_counts() {
        let mut tree = Tree::new();
        tree.file("/d/aer_dev_correctable", "RxErr 1\nTOTAL_ERR_COR 1\n")
            .file("/d/aer_dev_fatal", "DLP 4\nTOTAL_ERR_FATAL 4\n");
        let root = Root::from_tree(tree);
        let aer = read(&root, "/d").get().expect("known");
        assert_eq!((aer.correctable["RxErr"], aer.fatal["DLP"], aer.nonfatal.len()), (1, 4, 0));
        assert_eq!(read(&root, "/e"), Fact::absent("/e/aer_dev_correctable"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,200}") {
            let _ = parse_counts(&text);
        }
    }
}
