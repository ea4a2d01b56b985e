//! Access Control Services, as `lspci -vv` decodes them (`ls-ecaps.c`, `cap_acs`).

use super::block::Block;
use super::express::flag;
use crate::capture::Text;
use narrows_base::fact::{Fact, Source};
use narrows_machine::pci::Acs;

/// What a port redirects. Absent where extended capabilities are listed and this is not among them.
pub(super) fn parse(text: &Text, block: &Block) -> Fact<Acs> {
    if let Some(record) = block.get("ACSCtl") {
        let is_on = |name: &str| flag(&record.text, name);
        let source = text.source(record.line);
        // The first four stood there before the others were decoded, and mail programs cut the line behind them.
        let acs =
            is_on("ReqRedir").zip(is_on("CmpltRedir")).map(|(request_redirect, completion_redirect)| Acs {
                source_validation: is_on("SrcValid").unwrap_or_default(),
                translation_blocking: is_on("TransBlk").unwrap_or_default(),
                request_redirect,
                completion_redirect,
                upstream_forwarding: is_on("UpstreamFwd").unwrap_or_default(),
                egress_control: is_on("EgressCtrl").unwrap_or_default(),
                direct_translated: is_on("DirectTrans").unwrap_or_default(),
            });
        return match acs {
            Some(acs) => Fact::known(acs, source),
            None => {
                Fact::Garbled { source: Source::new(source), raw: record.text.chars().take(120).collect() }
            }
        };
    }
    let capabilities = || block.all("Capabilities");
    let is_named = capabilities().any(|record| record.text.contains("Access Control Services"));
    let listed = capabilities().find(|record| is_extended(&record.text)).filter(|_| !is_named);
    match listed {
        Some(record) => Fact::absent(format!("{}, Access Control Services", text.source(record.line))),
        None => Fact::default(),
    }
}

/// Whether it is a line such as `[148 v1] Advanced Error Reporting`: one beyond the first 256 bytes.
fn is_extended(text: &str) -> bool {
    let place = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(place, _)| place);
    place.and_then(|place| place.split(' ').next()).is_some_and(|at| at.len() == 3)
}
