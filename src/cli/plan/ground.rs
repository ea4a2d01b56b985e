//! What is planned for: a machine, a board, or a described system.

use std::path::PathBuf;

use super::PlanArgs;
use crate::cli::predict::{source, wrong};
use crate::cli::{Failure, facts, output};
use narrows_base::catalog::{Board, Processor, catalog};
use narrows_base::near;
use narrows_base::units::BytesPerSec;
use narrows_machine::Machine;
use narrows_model::path::file::{Document, Name, Part, PartKind, System};
use narrows_model::plan::layout::{Cipher, Described, drives};
use narrows_model::plan::site::{self, BoardOptions, Site, of_board, of_machine, of_system};

/// What is planned for.
pub(super) struct Ground {
    /// Its slots.
    pub(super) site: Site,
    /// What one of its cores encrypts, where that is known.
    pub(super) cipher: Option<Cipher>,
    /// Its physical cores.
    pub(super) cores: Option<u32>,
    /// What its drives do, where a description says which it has.
    pub(super) drives: Option<Described>,
}

impl Ground {
    /// Opens what was named, or else this machine.
    ///
    /// # Errors
    /// [`Failure`] when it is not known, cannot be read, or has no slots.
    pub(super) fn open(args: &PlanArgs) -> Result<Self, Failure> {
        let is_description = |path: &PathBuf| path.extension().is_some_and(|end| end == "toml");
        match (args.what.as_slice(), &args.board) {
            ([one], _) if is_description(one) => described(args, one),
            (_, Some(typed)) => board(args, typed),
            (_, None) => machine(args),
        }
    }
}

fn board(args: &PlanArgs, typed: &str) -> Result<Ground, Failure> {
    let board = catalog().board_named(typed).ok_or_else(|| unknown_board(typed))?;
    let fitted = args.cpu.clone().unwrap_or_default();
    let options = BoardOptions {
        processor: fitted.name.as_deref().map(processor).transpose()?,
        processor_model: fitted.name,
        sockets: fitted.count,
        assume_splitting: args.assumes_splitting(),
    };
    let site = of_board(board, &options);
    let cipher = cipher_of_model(site.processor_model.as_deref(), None);
    Ok(Ground { site, cipher, cores: None, drives: None })
}

fn machine(args: &PlanArgs) -> Result<Ground, Failure> {
    let facts = facts::machine(&args.what)?;
    facts.notes.iter().for_each(output::remark);
    let site = of_machine(&facts.machine, args.assumes_splitting())
        .map_err(|error| Failure::new(error.to_string()).hint(error.hint()))?;
    let cores = facts.machine.cpus.cores.get();
    let cipher = measured_cipher(&facts.machine, cores)
        .or_else(|| cipher_of_model(site.processor_model.as_deref(), cores));
    Ok(Ground { site, cipher, cores, drives: None })
}

/// The system of a path file.
fn described(args: &PlanArgs, typed: &PathBuf) -> Result<Ground, Failure> {
    let texts = source::texts(std::slice::from_ref(typed))?;
    let [(name, text)] = texts.as_slice() else {
        return Err(Failure::new(format!("{} has {} descriptions", typed.display(), texts.len()))
            .hint("a plan is made for one: name its file"));
    };
    let system = Document::parse(name, text).and_then(|document| document.system()).map_err(wrong)?;
    let refused =
        |error: site::NoSite| Failure::new(format!("{}: {error}", typed.display())).hint(error.hint());
    let host = site::host_of(&system, args.host.as_deref()).map_err(refused)?;
    let mut site = of_system(&system, host, args.assumes_splitting()).map_err(refused)?;
    let (mut cores, mut given) = (None, None);
    if let Some(Part { kind: PartKind::Host(about), given: place, .. }) = system.part(host) {
        cores = about.cores;
        let rates = about.decrypt.zip(about.encrypt);
        given = rates.map(|(decrypt, encrypt)| Cipher { decrypt, encrypt, cores, source: place.to_string() });
    }
    let cipher = given.or_else(|| cipher_of_model(site.processor_model.as_deref(), cores));
    let drives = if args.aim.is_some() { found_drives(&system, host, &mut site) } else { None };
    if args.aim.is_some() && cipher.is_none() && args.ceiling.is_none() {
        site.notes.push(format!(
            "What one core encrypts is not said: give decrypt and encrypt, or cpu, in [host.{host}]."
        ));
    }
    Ok(Ground { site, cipher, cores, drives })
}

fn found_drives(system: &System, host: &Name, site: &mut Site) -> Option<Described> {
    let found = drives(system, host)?;
    if !found.others.is_empty() {
        let others: Vec<&str> = found.others.iter().map(Name::as_str).collect();
        site.notes.push(format!("Layouts leave out drives of another kind: {}.", others.join(", ")));
    }
    Some(found)
}

/// What `cryptsetup benchmark` said, or the kernel's own ciphers did.
fn measured_cipher(machine: &Machine, cores: Option<u32>) -> Option<Cipher> {
    let asked = machine.ciphers.values().chain(&machine.cipher_benchmarks);
    let (rate, source) = asked
        .filter_map(|fact| fact.value().map(|rate| (rate, fact.source())))
        .find(|(rate, _)| rate.cipher.contains("xts") && rate.cipher.contains("aes"))?;
    let source = source.as_str().to_owned();
    Some(Cipher { decrypt: rate.decrypt, encrypt: rate.encrypt, cores, source })
}

fn cipher_of_model(model: Option<&str>, cores: Option<u32>) -> Option<Cipher> {
    let known = catalog().cipher(model?)?;
    Some(Cipher {
        decrypt: BytesPerSec::from_mb(known.decrypt_megabytes_per_second),
        encrypt: BytesPerSec::from_mb(known.encrypt_megabytes_per_second),
        cores: cores.or(known.cores),
        source: known.source.clone(),
    })
}

/// The boards that are known, one a line.
pub(super) fn boards() -> String {
    let mut lines: Vec<String> =
        catalog().boards.iter().map(|board| format!("{:<40} {}\n", board.id(), board.name)).collect();
    lines.sort();
    lines.concat()
}

/// The platform that is named.
fn processor(typed: &str) -> Result<&'static Processor, Failure> {
    catalog().processor_by_words(typed).ok_or_else(|| {
        let names: Vec<&str> = catalog().processors.iter().map(|known| known.name.as_str()).collect();
        Failure::new(format!("no processor is known as `{typed}`"))
            .hint(format!("known platforms: {}", names.join("; ")))
    })
}

fn unknown_board(typed: &str) -> Failure {
    const SHOWN: usize = 5;
    let wanted = typed.to_ascii_lowercase();
    let far = |id: &str| if id.contains(&wanted) { 0 } else { near::distance(&wanted, id) };
    let mut ids: Vec<String> = catalog().boards.iter().map(Board::id).collect();
    ids.sort_by_cached_key(|id| (far(id), id.clone()));
    ids.truncate(SHOWN);
    Failure::new(format!("no board is known as `{typed}`")).hint(format!(
        "the nearest are {}; --board list shows all, and docs/adding-a-board.md says how to add one",
        ids.join(", ")
    ))
}
