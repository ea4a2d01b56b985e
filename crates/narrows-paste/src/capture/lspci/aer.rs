//! The error status registers, as `lspci -vv` decodes them.

use std::collections::BTreeMap;

use super::block::Block;
use narrows_machine::pci::Aer;

/// Reads the flags of Advanced Error Reporting. A status bit says that an error came at least once since it was cleared,
/// so that each stands with 1. Errors that the mask keeps from being reported are left out, as the kernel leaves them out
/// of its counts.
pub(super) fn parse(block: &Block) -> Option<(Aer, usize)> {
    let status = block.get("CESta")?;
    let mut aer = Aer { correctable: raised(block, "CESta", "CEMsk"), is_status: true, ..Aer::default() };
    let severe = block.get("UESvrt").map(|record| flags(&record.text).collect::<BTreeMap<_, _>>());
    for (name, count) in raised(block, "UESta", "UEMsk") {
        let is_fatal = severe.as_ref().and_then(|severe| severe.get(name.as_str())).copied();
        let counts = if is_fatal == Some(true) { &mut aer.fatal } else { &mut aer.nonfatal };
        counts.insert(name, count);
    }
    Some((aer, status.line))
}

/// Every flag of `status` that `mask` lets through, with 1 for one that is set and 0 for one that is not.
fn raised(block: &Block, status: &str, mask: &str) -> BTreeMap<String, u64> {
    let Some(status) = block.get(status) else { return BTreeMap::new() };
    let masked: BTreeMap<&str, bool> =
        block.get(mask).map(|record| flags(&record.text).collect()).unwrap_or_default();
    let counted = flags(&status.text).filter(|(name, _)| masked.get(name) != Some(&true));
    counted.map(|(name, is_set)| (kernel_name(name).to_owned(), u64::from(is_set))).collect()
}

/// The flags of a register: `RxErr+ BadTLP-`.
fn flags(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_whitespace().filter_map(|word| {
        let (name, is_set) = match word.strip_suffix('+') {
            Some(name) => (name, true),
            None => (word.strip_suffix('-')?, false),
        };
        let is_name = name.bytes().next().is_some_and(|byte| byte.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_name.then_some((name, is_set))
    })
}

/// The name that the kernel counts the error under (`drivers/pci/pcie/aer.c`), where lspci has another.
fn kernel_name(name: &str) -> &str {
    match name {
        "AdvNonFatalErr" => "NonFatalErr",
        name => name,
    }
}
