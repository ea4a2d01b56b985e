//! The words that narrows itself says, reads or has in its tables: all others are replaced in what is made to be shared.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test reads the source tree and may panic"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::{findings_doc, sources};

/// The words of a text without what follows `end` and without comments; with `whole` ones, those with digits, too: products.
fn add(text: &str, end: &str, is_whole: bool, words: &mut BTreeSet<String>) {
    let text = text.split(end).next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//") && !line.starts_with("# "));
    for line in lines.map(|line| line.replace("\\n", " ")) {
        // A name of a type or a variant is written in small letters elsewhere.
        let parts = line.chars().flat_map(|c| [c.is_ascii_uppercase().then_some(' '), Some(c)]);
        let parts: String = parts.flatten().collect();
        let is_inner = |c: char| c.is_alphabetic() || is_whole && c.is_ascii_digit();
        let all = [&line, &parts].into_iter().flat_map(|line| line.split(|c| !is_inner(c)));
        let is_word = |word: &&str| !word.is_ascii() || word.len() > 1 && word.parse::<u64>().is_err();
        words.extend(all.filter(is_word).map(str::to_lowercase));
        let signs = line.chars().filter(|c| !c.is_ascii() && !c.is_alphanumeric());
        words.extend(signs.map(String::from));
    }
}

fn tables(directory: &Path, words: &mut BTreeSet<String>) {
    for path in fs::read_dir(directory).expect("the tables are there").flatten().map(|entry| entry.path()) {
        match path.extension() {
            None => tables(&path, words),
            Some(ext) if ext == "toml" => {
                let table = fs::read_to_string(&path).expect("a table is text");
                table.split("\n\n").for_each(|entry| add(entry, "[entry.cites]", true, words));
            }
            Some(_) => {}
        }
    }
}

#[test]
fn what_is_shared_may_have_every_word_of_our_own() {
    let mut words = BTreeSet::new();
    for (name, path) in sources::all() {
        let is_test =
            |part: &str| part.trim_end_matches(".rs").ends_with("tests") || part.starts_with("testing");
        if !name.split('/').any(is_test) {
            let text = fs::read_to_string(&path).expect("a source file is text");
            add(&text, "mod tests {", false, &mut words);
        }
    }
    findings_doc::not_so_when().into_iter().for_each(|text| add(text, "\n\n", false, &mut words));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    tables(&root.join("narrows-base/data"), &mut words);
    let mut lines: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for word in &words {
        lines.entry(word.chars().next().filter(char::is_ascii)).or_default().push(word);
    }
    let list: String = lines.into_values().map(|words| words.join(" ") + "\n").collect();
    let file = root.join("narrows-machine/src/snapshot/redact/words.txt");
    if std::env::var_os("UPDATE_WORDS").is_some() {
        fs::write(&file, &list).expect("is ours");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == list, "words are new or gone; run: UPDATE_WORDS=1 cargo test --test library words");
}
