//! The words that narrows itself says, reads or has in its tables: all others are replaced in what is made to be shared.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test reads the source tree and may panic"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};

use crate::circles::is_for_tests;
use crate::sources;

/// The words of literals, of macros, and of the names of fields and variants, which are written in small letters.
#[derive(Default)]
struct Words(BTreeSet<String>);

impl Words {
    /// Runs of letters; of a table `whole` words, too, since the digits in them make a product.
    fn add(&mut self, text: &str, whole: bool) {
        let text = text.replace("\\n", " ");
        let runs = text.split(|c: char| !c.is_alphabetic()).map(str::to_owned);
        let signs = text.chars().filter(|c| !c.is_ascii() && !c.is_alphanumeric()).map(String::from);
        let products = text.split(|c: char| !c.is_alphanumeric()).filter(|_| whole).map(str::to_owned);
        let is_word =
            |word: &String| !word.is_ascii() || word.len() > 1 && !word.bytes().all(|b| b.is_ascii_digit());
        self.0.extend(runs.chain(signs).chain(products).filter(is_word).map(|word| word.to_lowercase()));
    }
}

impl<'ast> Visit<'ast> for Words {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !module.attrs.iter().any(is_for_tests) {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let Ok(list) = attribute.meta.require_list() {
            self.add(&list.tokens.to_string(), false);
        }
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.add(&called.tokens.to_string(), false);
    }

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.add(&literal.value(), false);
    }

    fn visit_lit_char(&mut self, literal: &'ast syn::LitChar) {
        self.add(&literal.value().to_string(), false);
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        let name = variant.ident.to_string();
        let parts = name.chars().flat_map(|c| [c.is_ascii_uppercase().then_some(' '), Some(c)]);
        let parts: String = parts.flatten().collect();
        self.add(&parts, false);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.add(&field.ident.iter().map(ToString::to_string).collect::<String>(), false);
        visit::visit_field(self, field);
    }
}

/// What is shown of a table.
fn said(table: &str) -> impl Iterator<Item = &str> {
    let entries = table.split("\n\n").map(|entry| entry.split("[entry.cites]").next().unwrap_or_default());
    entries.flat_map(str::lines).filter(|line| !line.starts_with('#'))
}

fn add_tables(directory: &Path, words: &mut Words) {
    for entry in fs::read_dir(directory).expect("the tables are there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_tables(&path, words);
        } else if path.extension().is_some_and(|ext| ext == "toml") {
            let table = fs::read_to_string(&path).expect("a table is text");
            said(&table).for_each(|line| words.add(line, true));
        }
    }
}

#[test]
fn what_is_shared_may_have_every_word_of_our_own() {
    let mut words = Words::default();
    for (name, path) in sources::all() {
        let is_test =
            |part: &str| part.trim_end_matches(".rs").ends_with("tests") || part.starts_with("testing");
        if !name.split('/').any(is_test) {
            let text = fs::read_to_string(&path).expect("a source file is text");
            words.visit_file(&syn::parse_file(&text).expect("a source file is Rust"));
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    add_tables(&root.join("narrows-base/data"), &mut words);
    let mut list = String::new();
    let mut first = None;
    for word in &words.0 {
        let letter = word.chars().next();
        list.push_str(if first == letter {
            " "
        } else if first.is_some() {
            "\n"
        } else {
            ""
        });
        list.push_str(word);
        first = letter;
    }
    list.push('\n');
    let file = root.join("narrows-machine/src/snapshot/redact/words.txt");
    if std::env::var_os("UPDATE_WORDS").is_some() {
        fs::write(&file, &list).expect("is ours");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == list, "words are new or gone; run: UPDATE_WORDS=1 cargo test --test library words");
}
