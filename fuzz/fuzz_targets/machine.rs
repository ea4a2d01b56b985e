//! A whole foreign machine, from its files to the report: whatever they hold, there is a report and it is valid.
//!
//! The input has the format of `tests/machines/*/machine.tree`, without escapes; lines of another form are left out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows::machine::Machine;
use narrows::machine::root::Root;
use narrows::machine::tree::Tree;
use narrows::path::build;
use narrows::report::document::{Audience, Style};
use narrows::report::text::document;
use narrows::report::view;
use narrows::verdict::{self, Subject};

/// The files that the fuzzer invents; more only make a run slow.
const MOST_LINES: usize = 2000;

fn tree(text: &str) -> Tree {
    let mut tree = Tree::new();
    for line in text.lines().take(MOST_LINES) {
        if let Some((path, content)) = line.split_once(" = ") {
            tree.file(path, &content.replace("\\n", "\n"));
        } else if let Some((path, target)) = line.split_once(" -> ") {
            tree.link(path, target);
        }
    }
    tree
}

fuzz_target!(|text: &str| {
    let machine = Machine::read(&Root::from_tree(tree(text)));
    let subjects: Vec<Subject> = build::all(&machine).into_iter().map(Subject::of).collect();
    let report = view::build(&machine, &subjects, &verdict::judge(&machine, &subjects));
    let json = serde_json::to_string(&report).expect("a report is valid JSON");
    assert!(serde_json::from_str::<view::CheckReport>(&json).is_ok());
    assert!(document(&report, Audience::Public).text(&Style::PLAIN).lines().all(|line| line.len() <= 78));
});
