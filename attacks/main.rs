//! Attacks on the real binary, from outside: `make attacks`, or `cargo test --test attacks -- --help`.
//!
//! This program knows what the promise says and nothing of how it is kept: it uses no part of the library. It touches only
//! loop devices and files that it made itself. `docs/attacks.md` says how to add an attack.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own, whose job is to make files, run tools, and say what broke"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

mod attack;
mod bounds;
mod bytes;
mod contents;
mod device;
mod directories;
mod ground;
mod holder;
mod journals;
mod kills;
mod lab;
mod lanes;
mod names;
mod narrows;
mod options;
mod peers;
mod races;
mod random;
mod table;
mod tool;
mod uses;

use attack::{Attack, Company, Judge, Stop, Verdict};
use ground::Ground;
use options::{Options, USAGE};
use table::{Row, Table};

/// All attacks, class by class.
fn attacks() -> Vec<Attack> {
    let classes = [
        contents::attacks(),
        uses::attacks(),
        journals::attacks(),
        races::attacks(),
        kills::attacks(),
        bytes::attacks(),
        directories::attacks(),
        bounds::attacks(),
        peers::attacks(),
        names::attacks(),
    ];
    let mut all: Vec<Attack> = classes.into_iter().flatten().collect();
    all.sort_by_key(|attack| attack.class);
    all
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--hold") {
        return holder::hold(&words[1..])
            .map_or_else(|error| could_not(error.to_string()), |()| ExitCode::SUCCESS);
    }
    match Options::parse(words.into_iter()) {
        Ok(options) if options.help => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Options { install: Some(place), .. }) => match install(&place) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => could_not(format!("{}: {error}", place.display())),
        },
        Ok(options) => run(&options).unwrap_or_else(could_not),
        Err(error) => could_not(error),
    }
}

/// Copies this program to a place from which the rig takes it into its guests.
fn install(place: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(place.parent().unwrap_or(place))?;
    // Not into the file itself: it may be running.
    let new = place.with_extension("new");
    std::fs::copy(std::env::current_exe()?, &new)?;
    std::fs::rename(new, place)
}

fn could_not(error: String) -> ExitCode {
    eprintln!("attacks: {error}\nhint: --help shows what can be typed; loop devices need root");
    ExitCode::from(2)
}

fn run(options: &Options) -> Result<ExitCode, String> {
    let is_meant = |attack: &Attack| {
        (!options.quick || attack.quick)
            && (options.only.is_empty()
                || options.only.iter().any(|part| attack.name.contains(part.as_str())))
    };
    let meant: Vec<Attack> = attacks().into_iter().filter(is_meant).collect();
    if options.list {
        for attack in &meant {
            println!("{}{}", attack.name, if attack.quick { "  (quick)" } else { "" });
        }
        println!("{} attacks", meant.len());
        return Ok(ExitCode::SUCCESS);
    }
    let table = against(options, &meant)?;
    if let Some(path) = &options.summary {
        table.save(path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut table = table;
    for path in &options.with {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        table.unite(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    print!("\n{}", table.text());
    Ok(if table.counts().1 == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// So many attacks run beside each other: they wait nearly all the time.
const BESIDE: usize = 8;

/// Runs the attacks.
fn against(options: &Options, meant: &[Attack]) -> Result<Table, String> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(without_root(meant));
    }
    let binary = options.binary.clone().unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_narrows")));
    let binary = binary.canonicalize().map_err(|error| format!("{}: {error}", binary.display()))?;
    let seed = options.seed.unwrap_or_else(drawn);
    let place = options.place.clone().unwrap_or_else(std::env::temp_dir);
    let failed = |error: std::io::Error| format!("{}: {error}", place.display());
    let ground = Ground::make(&place, binary, seed, options.quick).map_err(failed)?;
    ground::clear_on_signals(ground.root().to_owned()).map_err(|error| format!("{error:?}"))?;
    println!("{} attacks on {}, --seed {seed}", meant.len(), ground.binary.display());
    let with = |company| meant.iter().filter(move |attack| attack.company == company).collect::<Vec<_>>();
    // The longest are the last of the list: no thread begins one when the others have nothing left to do.
    let beside: Vec<&Attack> = with(Company::Anything).into_iter().rev().collect();
    let one_by_one = |name: &str, attacks: &[&Attack]| -> Result<Vec<Row>, String> {
        let part = ground.part(name).map_err(failed)?;
        Ok(attacks.iter().map(|attack| one(&part, attack, options.keep)).collect())
    };
    let (mut rows, turns) = std::thread::scope(|scope| {
        let turns = scope.spawn(|| one_by_one("turns", &with(Company::Turns)));
        (several(&ground, &beside, options.keep), turns.join())
    });
    rows.extend(turns.map_err(|_| "an attack that took its turn panicked")??);
    rows.extend(one_by_one("alone", &with(Company::Nothing))?);
    if !(options.keep && rows.iter().any(|row| matches!(row.verdict, Verdict::Broken(_)))) {
        ground.leave();
    }
    let place_of = |row: &Row| meant.iter().position(|attack| attack.name == row.name);
    rows.sort_by_key(place_of);
    Ok(rows.into_iter().collect())
}

/// Runs attacks beside each other, each thread on a ground of its own.
fn several(ground: &Ground, attacks: &[&Attack], keep: bool) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let work = &|thread: usize| -> Vec<Row> {
        let Ok(part) = ground.part(&format!("beside-{thread}")) else { return Vec::new() };
        let mine = std::iter::from_fn(|| attacks.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|attack| one(&part, attack, keep)).collect()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..BESIDE).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// What cannot be tried is skipped, never held.
fn without_root(meant: &[Attack]) -> Table {
    let verdict = || Verdict::Skipped("loop devices need root".to_owned());
    meant.iter().map(|attack| Row { name: attack.name.clone(), verdict: verdict(), seconds: 0.0 }).collect()
}

fn one(ground: &Ground, attack: &Attack, keep: bool) -> Row {
    let begin = Instant::now();
    let mut judge = Judge::default();
    let ended = catch_unwind(AssertUnwindSafe(|| (attack.body)(ground, &mut judge)))
        .unwrap_or_else(|_| Err(Stop::Broken("the attack itself panicked".to_owned())));
    let verdict = judge.verdict(ended);
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:<44} {seconds:>6.1} s  {verdict}", attack.name);
    if let Verdict::Broken(notes) = &verdict {
        notes.iter().take(12).for_each(|note| println!("    {note}"));
        if keep {
            println!("    left in {}", Path::new(ground.root()).display());
        }
    }
    if !(keep && matches!(verdict, Verdict::Broken(_))) {
        ground.clear();
    }
    Row { name: attack.name.clone(), verdict, seconds }
}

fn drawn() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |time| u64::from(time.subsec_nanos()) ^ time.as_secs())
}
