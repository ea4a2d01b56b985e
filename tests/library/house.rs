//! The figure of docs/house.md: crates and their folders with the arrows between them, drawn from what the sources import.
//!
//! `UPDATE_HOUSE=1 cargo test --test library house` draws it anew.

#![expect(clippy::disallowed_methods, reason = "a test reads the source tree")]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::fs;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use super::circles::{Module, circles, modules, uses};

/// What stands above the figure.
const HEAD: &str = "# The house as it stands\n\nDrawn from what the sources import by `UPDATE_HOUSE=1 cargo test --test library house`; the test \
fails when this is out of date, or when an\narrow between crates leads back up. [ARCHITECTURE.md](../ARCHITECTURE.md) says what each is for.\n\n";

/// Which imports which.
type Arrows<'a> = BTreeSet<(&'a str, &'a str)>;

/// The crates that a text names: `narrows_model::…`.
fn crates_of<'a>(text: &str, crates: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let is_test = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let named = text[..is_test].split("narrows_").skip(1);
    named.filter_map(|rest| crates.get(rest.split("::").next()?).copied()).collect()
}

/// The folder or file of a crate that a module belongs to.
fn part(module: &[String]) -> &str {
    module.get(1).map_or("", String::as_str)
}

/// A line for each that uses others.
fn flowchart(arrows: &Arrows<'_>) -> String {
    let mut used: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (from, to) in arrows {
        used.entry(from).or_default().push(to);
    }
    let mut out = String::from("```mermaid\nflowchart LR\n");
    for (from, all) in used {
        let _ = writeln!(out, "    {from} --> {}", all.join(" & "));
    }
    out + "```\n"
}

/// The arrows of which none leads back along others.
fn is_acyclic(arrows: &Arrows<'_>) -> bool {
    let graph: DiGraphMap<&str, ()> = arrows.iter().map(|(from, to)| (*from, *to, ())).collect();
    tarjan_scc(&graph).iter().all(|component| component.len() == 1)
}

/// The figure as Markdown.
fn drawn(sources: &BTreeMap<Module, String>) -> String {
    let crates: BTreeSet<&str> =
        sources.keys().filter_map(|module| module.first()).map(String::as_str).collect();
    let all: BTreeSet<Module> = sources.keys().cloned().collect();
    let is_folder = |name: &str, of: &str| {
        all.iter().any(|module| module.len() > 2 && module[0] == of && module[1] == name)
    };
    let mut between = Arrows::new();
    let mut within: BTreeMap<&str, Arrows<'_>> = BTreeMap::new();
    let used: BTreeMap<&Module, BTreeSet<Module>> =
        sources.iter().map(|(module, text)| (module, uses(module, text, &all))).collect();
    for (module, text) in sources {
        let from = module[0].as_str();
        for to in crates_of(text, &crates).into_iter().filter(|to| *to != from) {
            between.insert((from, to));
        }
        for to in &used[module] {
            let (here, there) = (part(module), part(to));
            if here != there && is_folder(here, from) && is_folder(there, from) {
                let there = all.get(to).map_or("", |to| part(to));
                within.entry(from).or_default().insert((here, there));
            }
        }
    }
    assert!(is_acyclic(&between), "an arrow between crates leads back up: {between:?}");
    let mut out = format!("Crates, and which uses which:\n\n{}", flowchart(&between));
    for (name, arrows) in &within {
        let _ = write!(out, "\nFolders of `{name}`:\n\n{}", flowchart(arrows));
    }
    let families: Vec<String> = circles(sources, false).iter().map(|circle| circle.join(", ")).collect();
    let _ = write!(
        out,
        "\nFiles that use each other in a circle, all of them families ({}):\n\n",
        families.len()
    );
    families.iter().for_each(|circle| {
        let _ = writeln!(out, "- {circle}");
    });
    out
}

#[test]
fn the_figure_of_the_house_is_that_of_the_sources() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/house.md");
    let drawn = format!("{HEAD}{}", drawn(&modules()));
    if env::var_os("UPDATE_HOUSE").is_some() {
        fs::write(path, drawn).expect("it can be written");
    } else {
        let text = fs::read_to_string(path).expect("it is there");
        assert!(text == drawn, "draw it anew: UPDATE_HOUSE=1 cargo test --test library house");
    }
}
