//! Circles among the modules of a crate: modules that use each other, directly or through others.
//!
//! A module and those directly below it may use each other. Every other circle means that none of its members can be
//! understood, tested or moved alone. There is none, and `cargo test --test library circles` names a new one.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test reads the source tree and may panic"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use crate::sources;

/// The names of a module from its crate downwards: `["load", "guard", "open"]`.
pub(crate) type Module = Vec<String>;

/// The module that a file is: `load/guard/open.rs` and `load/guard/mod.rs` are `load::guard::open` and `load::guard`.
fn module_of(file: &str) -> Module {
    let mut names: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Collects the paths that lead to other modules of the crate, tests left out.
struct Paths<'a> {
    /// The module that is read.
    module: &'a [String],
    found: Vec<Module>,
}

impl Paths<'_> {
    /// Where a path leads, if it begins with `crate`, `self` or `super`.
    fn add(&mut self, path: &[String]) {
        let levels = path.iter().take_while(|name| *name == "super").count();
        let (mut start, rest) = match path.first().map(String::as_str) {
            Some("crate") => (self.module[..1].to_vec(), &path[1..]),
            Some("self") => (self.module.to_vec(), &path[1..]),
            Some("super") => {
                (self.module[..self.module.len().saturating_sub(levels)].to_vec(), &path[levels..])
            }
            _ => return,
        };
        start.extend_from_slice(rest);
        self.found.push(start);
    }

    fn add_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.add(&with(&name.ident)),
            UseTree::Rename(rename) => self.add(&with(&rename.ident)),
            UseTree::Glob(_) => self.add(before),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.add_tree(before, item)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    /// Who may see something is no use of that.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add(&names);
        visit::visit_path(self, path);
    }
}

/// Whether an attribute is `#[cfg(test)]`, alone or among others.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test"))
}

/// The modules that a module uses: of each path the longest beginning that is a module.
pub(crate) fn uses(module: &[String], text: &str, modules: &BTreeSet<Module>) -> BTreeSet<Module> {
    let file = syn::parse_file(text).expect("a source file is Rust");
    let mut paths = Paths { module, found: Vec::new() };
    paths.visit_file(&file);
    let longest = |path: Module| {
        (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|start| modules.contains(start))
    };
    paths.found.into_iter().filter_map(longest).filter(|used| used != module).collect()
}

/// Whether these are a module and some of those directly below it, or such ones alone.
fn is_family(members: &[&Module]) -> bool {
    let Some(shortest) = members.iter().min_by_key(|member| member.len()) else { return true };
    let below = |parent: &[String]| {
        members.iter().all(|member| member.as_slice() == parent || member[..member.len() - 1] == *parent)
    };
    below(shortest) || below(&shortest[..shortest.len() - 1])
}

/// The circles of all crates, each with its members in order; where `are_wrong`, only those that are no family.
pub(crate) fn circles(sources: &BTreeMap<Module, String>, are_wrong: bool) -> Vec<Vec<String>> {
    let modules: BTreeSet<Module> = sources.keys().cloned().collect();
    let all: Vec<&Module> = modules.iter().collect();
    let number: BTreeMap<&Module, usize> = all.iter().enumerate().map(|(at, module)| (*module, at)).collect();
    let mut graph = DiGraphMap::<usize, ()>::new();
    for (module, text) in sources {
        for used in uses(module, text, &modules) {
            graph.add_edge(number[module], number[&used], ());
        }
    }
    let mut found = Vec::new();
    for component in tarjan_scc(&graph) {
        let members: Vec<&Module> = component.iter().map(|at| all[*at]).collect();
        if members.len() > 1 && !(are_wrong && is_family(&members)) {
            let mut names: Vec<String> = members.iter().map(|member| member.join("::")).collect();
            names.sort();
            found.push(names);
        }
    }
    found.sort();
    found
}

/// The sources of all crates without those of tests.
pub(crate) fn modules() -> BTreeMap<Module, String> {
    let is_test =
        |name: &str| name.ends_with("tests.rs") || name.ends_with("testing.rs") || name.contains("/tests/");
    let mut read = BTreeMap::new();
    for (name, path) in sources::all() {
        if !is_test(&name) {
            read.insert(module_of(&name), fs::read_to_string(&path).expect("a source file is readable"));
        }
    }
    read
}

#[test]
fn no_circle_is_new() {
    let found = circles(&modules(), true);
    assert!(
        found.is_empty(),
        "circles among modules:\n{}",
        found.iter().map(|circle| circle.join(", ")).collect::<Vec<_>>().join("\n")
    );
}

#[test]
fn a_circle_is_found_and_a_family_is_none() {
    let source = |files: &[(&str, &str)]| {
        files.iter().map(|(name, text)| (module_of(name), (*text).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let family = source(&[
        ("load/lib.rs", "mod a; mod b;"),
        ("load/a.rs", "use super::b::B; pub struct A(B);"),
        ("load/b.rs", "pub struct B; fn f(_: crate::a::A) {}"),
    ]);
    assert!(circles(&family, true).is_empty(), "siblings may use each other");
    let cousins = source(&[
        ("load/lib.rs", ""),
        ("load/a/mod.rs", ""),
        ("load/a/deep.rs", "use crate::{b::{deep::B as Other}};"),
        ("load/b/mod.rs", ""),
        ("load/b/deep.rs", "pub struct B; fn f() { crate::a::deep::call(); }"),
    ]);
    assert_eq!(circles(&cousins, true), [["load::a::deep", "load::b::deep"]]);
    let only_in_tests = source(&[
        ("load/lib.rs", ""),
        ("load/a/mod.rs", ""),
        ("load/a/deep.rs", "use crate::b::deep::B;"),
        ("load/b/mod.rs", ""),
        ("load/b/deep.rs", "pub(in crate::a) struct B; #[cfg(test)] mod tests { use crate::a::deep::A; }"),
    ]);
    assert!(circles(&only_in_tests, true).is_empty(), "tests may look at anything");
}
