//! `crypto_cpu`: the cipher is the narrows.

use crate::machine::fact::Fact;
use crate::path::{CryptHop, HopKind, HopSpec};
use crate::units::{Bytes, human};

use super::super::finding::{Advice, Code, Evidence, Finding, Severity};
use super::super::gain;
use super::{Context, Judged};

/// The largest sector of LUKS2; one key schedule and one tweak for each.
const LARGE_SECTOR: Bytes = Bytes::new(4096);

pub(super) fn check(context: &Context<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    judged
        .limits_of_kind(HopKind::Crypt)
        .into_iter()
        .filter_map(|(index, hop, _, limit)| {
            let HopSpec::Crypt(crypt) = &hop.spec else { return None };
            let rate = limit.rate.map(|rate| format!(" at {rate}")).unwrap_or_default();
            let summary = format!("Encryption is the narrows of this path{rate}: {}.", described(crypt));
            let gain = gain::of_removing(judged, index);
            Some(
                Finding::about(Code::CryptoCpu, Severity::Limit, hop, summary)
                    .with_confidence(limit.confidence)
                    .with_evidence(limit.evidence.clone())
                    .with_evidence(cipher_evidence(crypt))
                    .with_advice(advice(context, crypt, gain)),
            )
        })
        .collect()
}

fn described(crypt: &CryptHop) -> String {
    let cipher = match &crypt.table {
        Fact::Known { value, .. } => format!(
            "{} with a key of {} bits in sectors of {}",
            value.cipher,
            value.key_bits,
            human::block_size(value.sector_size)
        ),
        _ => "the cipher's settings need root".to_owned(),
    };
    match crypt.cipher.value() {
        Some(rate) => format!("{cipher}; one core decrypts {}", rate.decrypt),
        None => cipher,
    }
}

fn cipher_evidence(crypt: &CryptHop) -> Vec<Evidence> {
    let Some(rate) = crypt.cipher.value() else { return Vec::new() };
    let source = crypt.cipher.source().as_str();
    vec![
        Evidence::new("decryption on one core", rate.decrypt, source),
        Evidence::new("encryption on one core", rate.encrypt, source),
    ]
}

fn advice(context: &Context<'_>, crypt: &CryptHop, gain: Option<crate::units::BytesPerSec>) -> Vec<Advice> {
    let flags = &context.machine.cpus.flags;
    let mut advice = Vec::new();
    if let Some(table) = crypt.table.value() {
        if table.sector_size < LARGE_SECTOR {
            advice.push(Advice::new(
                "Use LUKS2 with sectors of 4 KiB (cryptsetup reencrypt --sector-size 4096): fewer, longer cipher calls.",
            ));
        }
        if !table.no_read_workqueue || !table.no_write_workqueue {
            advice.push(Advice::new(
                "Try --perf-no_read_workqueue --perf-no_write_workqueue (cryptsetup refresh --persistent), and measure: \
                 it saves hand-overs, and ties the cipher to the processors that take the interrupts.",
            ));
        }
    }
    if flags.iter().any(|flag| flag == "vaes") {
        advice.push(Advice::new(
            "This processor has VAES, which kernels from 6.10 on use for AES-XTS: update an older kernel.",
        ));
    }
    advice.push(Advice::with_gain(
        "Encrypt each member below the array instead of the array: every mapping has its own workers. Without the cipher \
         the path could gain at most this.",
        gain,
    ));
    advice
}
