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

use self::corpus::{Output, is_activity, is_part, is_same, numbers, outputs, results, says_less_of_a_copy};
use self::mutate::{Dice, Mutant, mutant};
use narrows_paste::capture::Text;
use narrows_paste::results::Imported;

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

    fn see(&mut self, name: &str, mutant: &Mutant, known: &[corpus::Number]) {
        let (found, text) = results(&mutant.bytes);
        let got = numbers(&found);
        self.all += 1;
        if got == known || is_same(&got, known) {
            self.same += 1;
        } else if !is_part(&got, known) {
            keep("other", name, mutant);
            self.other.push(format!("{name}: {}: {}", mutant.how, difference(&got, known)));
        } else if !says_so(&text, &found) && !says_less_of_a_copy(&got, known) {
            keep("silent", name, mutant);
            self.silent.push(format!("{name}: {}: {}", mutant.how, difference(&got, known)));
        } else {
            keep("said", name, mutant);
            self.said.push(format!("{name}: {}", mutant.how));
        }
    }
}

/// Whether lines that were not read are named, or a result says that it is a part of an output.
fn says_so(text: &Text, found: &[Imported]) -> bool {
    found.iter().any(|one| one.truncated)
        || !narrows_paste::results::unread(&corpus::page(text), found).is_empty()
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

/// So many mutants of each output, of them one in five beside another output.
fn count(outputs: &[Output], each: usize, seed: u64) -> Count {
    let whole = || outputs.iter().filter(|one| !is_activity(one)).collect::<Vec<_>>();
    let neighbours = whole();
    let of = |at: usize, output: &Output| {
        let mut count = Count::default();
        let mut dice = Dice(seed ^ (at as u64) << 32);
        for _ in 0..each {
            let beside = neighbours[dice.below(neighbours.len())];
            if !dice.is(20) || is_activity(output) || beside.name == output.name {
                count.see(&output.name, &mutant(&output.text, &mut dice), &output.numbers);
                continue;
            }
            let mut known = [&output.numbers[..], &beside.numbers].concat();
            known.sort_unstable();
            let both = format!("{}\nand the other one:\n\n{}", output.text, beside.text);
            let mut one = mutant(&both, &mut dice);
            if dice.is(50) {
                one = Mutant { how: "nothing".to_owned(), bytes: both.into_bytes() };
            }
            count.see(&format!("{} + {}", output.name, beside.name), &one, &known);
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

fn demand(count: &Count) {
    let Count { all, same, said, silent, other } = count;
    let percent = *same as f64 * 100.0 / *all as f64;
    eprintln!(
        "{all} mutants: {same} ({percent:.2} %) say the same, {} name what was not read, {} say less silently, {} say other things",
        said.len(),
        silent.len(),
        other.len()
    );
    silent.iter().for_each(|one| eprintln!("silent: {one}"));
    assert!(other.is_empty(), "{} of {all}:\n{}", other.len(), other.join("\n"));
    // Of a few, the line that was lost has nothing by which it is known.
    assert!(
        silent.len() * 100 <= *all,
        "{} of {all} say less silently:\n{}",
        silent.len(),
        silent.join("\n")
    );
    assert!(same * 100 >= all * 97, "{same} of {all} say the same");
}

#[test]
fn a_sample_of_mutants_says_what_the_outputs_say() {
    let outputs = outputs();
    assert!(outputs.len() > 60, "{} outputs", outputs.len());
    demand(&count(&outputs, 6, 1));
}

#[test]
#[ignore = "takes minutes: `make mutants`"]
fn twenty_thousand_mutants_say_what_the_outputs_say() {
    let outputs = outputs();
    let number = |name: &str, default: usize| {
        env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let all = number("NARROWS_MUTANTS", 20_000);
    demand(&count(&outputs, all.div_ceil(outputs.len()), number("NARROWS_SEED", 2) as u64));
}
