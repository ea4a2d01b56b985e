//! What people do to a text before they send it changes no number: each output of `tests/result-cases` and
//! `tests/result-samples`, quoted, commented out, stamped, wrapped, encoded and put beside others, gives the same rates,
//! IOPS and mean latencies of the same tool, or lines that were not read are named.
//!
//! `make mutants` counts over more of them: `COUNT=20000`, `CASES=dir` for further outputs, `NARROWS_LIST=dir` for those that do not say
//! the same.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a test reads its own files and says what it counted"
)]

mod corpus;
mod mutate;

use std::env;
use std::fs;
use std::path::Path;
use std::thread;

use self::corpus::{
    Output, Remarks, is_activity, is_part, is_same, numbers, outputs, results, says_less_of_a_copy,
};
use self::mutate::{Dice, Mutant, mutant};

/// What became of mutants.
#[derive(Debug, Default)]
struct Count {
    all: usize,
    same: usize,
    /// Fewer numbers, and lines that were not read are named.
    said: Vec<String>,
    /// Fewer numbers, and nothing says so.
    silent: Vec<String>,
    /// Other numbers.
    other: Vec<String>,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.same += other.same;
        self.said.extend(other.said);
        self.silent.extend(other.silent);
        self.other.extend(other.other);
    }

    fn see(&mut self, name: &str, mutant: &Mutant, known: &[corpus::Number], remarks: Remarks) {
        let (found, text) = results(&mutant.bytes);
        let got = numbers(&found);
        self.all += 1;
        if got == known || is_same(&got, known) {
            self.same += 1;
        } else if !is_part(&got, known) {
            keep("other", name, mutant);
            self.other.push(format!("{name}: {}: {}", mutant.how, difference(&got, known)));
        } else if !corpus::remarks(&text, &found).is_more_than(remarks) && !says_less_of_a_copy(&got, known) {
            keep("silent", name, mutant);
            self.silent.push(format!("{name}: {}: {}", mutant.how, difference(&got, known)));
        } else {
            keep("said", name, mutant);
            self.said.push(format!("{name}: {}", mutant.how));
        }
    }
}

/// The numbers that only one of two lists has.
fn difference(got: &[corpus::Number], known: &[corpus::Number]) -> String {
    let only = |some: &[corpus::Number], others: &[corpus::Number]| -> Vec<corpus::Number> {
        some.iter().filter(|one| !others.contains(one)).cloned().collect()
    };
    format!("{:?} in the place of {:?}", only(got, known), only(known, got))
}

/// Writes a mutant that does not say the same to the directory that `NARROWS_LIST` names, behind a line that says what it is.
fn keep(word: &str, name: &str, mutant: &Mutant) {
    let Some(directory) = env::var_os("NARROWS_LIST") else { return };
    let file = format!("{word}-{name}-{}", mutant.how).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let file: String = file.chars().take(200).collect();
    let head = format!("{word} {name}: {}\n", mutant.how);
    fs::write(Path::new(&directory).join(file), [head.as_bytes(), &mutant.bytes].concat())
        .expect("the directory can be written");
}

/// One of the mutants of an output, beside one of its neighbours or alone.
type Make = fn(&mut Count, &Output, &[&Output], &mut Dice);

/// What one person did to all of a text, one in five beside another output.
fn sent(count: &mut Count, output: &Output, neighbours: &[&Output], dice: &mut Dice) {
    let beside = neighbours[dice.below(neighbours.len())];
    if !dice.is(20) || is_activity(output) || beside.name == output.name {
        count.see(&output.name, &mutant(&output.text, dice), &output.numbers, output.remarks);
        return;
    }
    let known = together(&[output, beside]);
    let both = format!("{}\nand the other one:\n\n{}", output.text, beside.text);
    let mut one = mutant(&both, dice);
    if dice.is(50) {
        one = Mutant { how: "nothing".to_owned(), bytes: both.into_bytes() };
    }
    let name = format!("{} + {}", output.name, beside.name);
    count.see(&name, &one, &known, remarks_of(&[output, beside]));
}

/// What went through several hands in any order, half of it beside one or two others that went through others.
fn gathered(count: &mut Count, output: &Output, neighbours: &[&Output], dice: &mut Dice) {
    let mut all = vec![output];
    if dice.is(50) && !is_activity(output) {
        for _ in 0..1 + dice.below(2) {
            let beside = neighbours[dice.below(neighbours.len())];
            if all.iter().all(|one| one.name != beside.name) {
                all.push(beside);
            }
        }
    }
    let texts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let one = mutate::collected(&texts, dice);
    count.see(&names.join(" + "), &one, &together(&all), remarks_of(&all));
}

/// What is said of several outputs.
fn remarks_of(all: &[&Output]) -> Remarks {
    let sum = |of: fn(&Remarks) -> usize| all.iter().map(|one| of(&one.remarks)).sum();
    Remarks { lines: sum(|one| one.lines), parts: sum(|one| one.parts) }
}

/// What several outputs say.
fn together(all: &[&Output]) -> Vec<corpus::Number> {
    let mut known: Vec<corpus::Number> = all.iter().flat_map(|one| one.numbers.clone()).collect();
    known.sort_unstable();
    known
}

/// So many mutants of each output.
fn count(outputs: &[Output], each: usize, seed: u64, make: Make) -> Count {
    let neighbours: Vec<&Output> = outputs.iter().filter(|one| !is_activity(one)).collect();
    let of = |at: usize, output: &Output| {
        let mut count = Count::default();
        let mut dice = Dice(seed ^ (at as u64) << 32);
        for _ in 0..each {
            make(&mut count, output, &neighbours, &mut dice);
        }
        count
    };
    let parts = thread::available_parallelism().map_or(1, usize::from);
    let numbered: Vec<(usize, &Output)> = outputs.iter().enumerate().collect();
    let mut all = Count::default();
    thread::scope(|scope| {
        let of = &of;
        let threads: Vec<_> = (0..parts)
            .map(|part| {
                let mine: Vec<(usize, &Output)> =
                    numbered.iter().skip(part).step_by(parts).copied().collect();
                scope.spawn(move || {
                    let mut sum = Count::default();
                    for (at, output) in mine {
                        sum.add(of(at, output));
                    }
                    sum
                })
            })
            .collect();
        for thread in threads {
            all.add(thread.join().expect("a thread that counts does not panic"));
        }
    });
    all
}

/// How much of mutants may be lost, in percent.
struct Bounds {
    same: usize,
    silent: f64,
    other: f64,
}

/// What was sent on once.
const SENT: Bounds = Bounds { same: 97, silent: 0.1, other: 0.0 };

/// What went through several hands: a line that was broken twice, or in the middle of a number, may have nothing by which it is
/// known.
const GATHERED: Bounds = Bounds { same: 90, silent: 0.5, other: 0.2 };

fn demand(count: &Count, bounds: &Bounds) {
    let Count { all, same, said, silent, other } = count;
    let percent = |count: usize| count as f64 * 100.0 / *all as f64;
    eprintln!(
        "{all} mutants: {same} ({:.2} %) say the same, {} name what was not read, {} say less silently, {} say other things",
        percent(*same),
        said.len(),
        silent.len(),
        other.len()
    );
    silent.iter().for_each(|one| eprintln!("silent: {one}"));
    other.iter().for_each(|one| eprintln!("other: {one}"));
    assert!(percent(other.len()) <= bounds.other, "{} of {all} say other things", other.len());
    assert!(percent(silent.len()) <= bounds.silent, "{} of {all} say less silently", silent.len());
    assert!(same * 100 >= all * bounds.same, "{same} of {all} say the same");
}

#[test]
fn a_sample_of_mutants_says_what_the_outputs_say() {
    let outputs = outputs();
    assert!(outputs.len() > 60, "{} outputs", outputs.len());
    demand(&count(&outputs, 6, 1, sent), &SENT);
    demand(&count(&outputs, 2, 1, gathered), &Bounds { other: 1.0, silent: 1.0, ..GATHERED });
}

#[test]
#[ignore = "takes minutes: `make mutants`"]
fn twenty_thousand_mutants_say_what_the_outputs_say() {
    demand(&many(sent), &SENT);
}

#[test]
#[ignore = "takes minutes: `make mutants`"]
fn twenty_thousand_that_went_through_several_hands_say_what_the_outputs_say() {
    demand(&many(gathered), &GATHERED);
}

fn many(make: Make) -> Count {
    let outputs = outputs();
    let number = |name: &str, default: usize| {
        env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let all = number("NARROWS_MUTANTS", 20_000);
    count(&outputs, all.div_ceil(outputs.len()), number("NARROWS_SEED", 2) as u64, make)
}
