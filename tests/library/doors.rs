//! Doors for newcomers: what `docs/adding.md` promises is there, and what was forgotten is named.

#![expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test reads the repository")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use narrows::cli::args::Cli;
use narrows::path::HopKind;
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every source file.
fn sources() -> Vec<PathBuf> {
    crate::sources::all().into_iter().map(|(_, path)| path).collect()
}

/// Every kind of hop, by its name in JSON, from the schema of the type.
fn kinds() -> Vec<String> {
    crate::schema_names::of::<HopKind>()
}

/// The rows of the table of kinds by their first cell.
fn rows() -> BTreeMap<String, Vec<String>> {
    let page = text("docs/adding.md");
    let table = page.split("### Every kind and its places").nth(1).expect("the table of kinds");
    let table = table.split("\n## ").next().expect("the table of kinds");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
        (cells[0].clone(), cells)
    })
    .collect()
}

/// The name of a kind as the source has it: `LogicalVolume`.
fn variant(kind: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    kind.split('_').map(capital).collect()
}

#[test]
fn every_kind_of_hop_has_its_law_its_what_if_and_its_scenario() {
    let (rows, sources, path_files) = (rows(), sources(), text("docs/path-files.md"));
    assert_eq!(rows.keys().cloned().collect::<Vec<_>>(), kinds(), "docs/adding.md: a row for each kind");
    for (kind, cells) in &rows {
        let [_, made, law, what_if, scenario, why_not] = &cells[..] else { panic!("{kind}: six cells") };
        let missing = [made, law, what_if, scenario].into_iter().any(|cell| cell == "-");
        assert!(!missing || !why_not.is_empty(), "{kind}: say why there is none");
        for file in [made, law].into_iter().filter(|cell| *cell != "-") {
            let found = sources.iter().find(|path| path.ends_with(file));
            assert!(found.is_some(), "{kind}: docs/adding.md names {file}, which is not there");
        }
        if made != "-" {
            let maker = sources.iter().find(|path| path.ends_with(made)).expect("was found");
            let maker = std::fs::read_to_string(maker).expect("is read");
            let kind = variant(kind);
            // What a volume is made of has a shorter name than its kind.
            let spec = kind.trim_start_matches("Logical");
            let is_made = [format!("HopKind::{kind}"), format!("HopSpec::{spec}")]
                .iter()
                .any(|name| maker.contains(name));
            assert!(is_made, "{made} makes no hop of kind {kind}");
        }
        let is_told = what_if == "-" || path_files.contains(&format!("[{what_if}.NAME]"));
        assert!(is_told, "{kind}: docs/path-files.md has no table [{what_if}.NAME]");
        let stands = scenarios().get(scenario).is_some_and(|kinds| kinds.contains(kind));
        assert!(stands || scenario == "-", "{kind}: rig/scenarios/{scenario}.toml does not stand for it");
    }
}

/// What each scenario of the rig stands for on every day.
fn scenarios() -> BTreeMap<String, Vec<String>> {
    let files = std::fs::read_dir(repository().join("rig/scenarios")).expect("is listed");
    let one = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let table: toml::Table = std::fs::read_to_string(path).expect("is read").parse().expect("is TOML");
        let words = table.get("stands_for").and_then(|list| list.as_array()).into_iter().flatten();
        (name, words.filter_map(|word| word.as_str().map(str::to_owned)).collect())
    };
    files.map(|entry| one(entry.expect("is listed").path())).collect()
}

#[test]
fn contributing_says_which_scenario_stands_for_what_and_which_are_not_of_every_day() {
    let page = text("CONTRIBUTING.md");
    let (of_every_day, others): (Vec<_>, Vec<_>) =
        scenarios().into_iter().partition(|(_, kinds)| !kinds.is_empty());
    let rows: String =
        of_every_day.iter().map(|(name, kinds)| format!("| `{name}` | {} |\n", kinds.join(", "))).collect();
    let names: Vec<String> = others.into_iter().map(|(name, _)| format!("`{name}`")).collect();
    assert!(page.contains(&rows), "CONTRIBUTING.md, the rig of every day:\n{rows}");
    assert!(page.replace('\n', " ").contains(&names.join(" ")), "CONTRIBUTING.md: {}", names.join(" "));
    let standing: Vec<&String> = of_every_day.iter().flat_map(|(_, kinds)| kinds).collect();
    let count = |word: &str| standing.iter().filter(|kind| **kind == word).count();
    // For S4 stand the hosts of `tests/fleet`.
    assert!(["S0", "S1", "S2", "S3"].iter().all(|system| count(system) >= 1) && count("healthy") >= 2);
    let known = |word: &str| kinds().iter().any(|kind| kind == word) || word.starts_with('S');
    let other = standing
        .iter()
        .find(|word| !known(word) && !["healthy", "refusal", "failure"].contains(&word.as_str()));
    assert_eq!(other, None, "no kind of hop, no system");
}

#[test]
fn every_kind_of_hop_has_one_name_in_code_and_json() {
    for kind in kinds() {
        let parsed: HopKind = serde_json::from_value(Value::String(kind.clone())).expect("a kind");
        assert_eq!(parsed.to_string(), kind);
    }
}

/// The items of a list below a title.
fn listed(page: &str, title: &str) -> Vec<String> {
    let section = page.split("\n## ").find(|section| section.starts_with(title)).expect("the section");
    section.lines().filter_map(|line| line.strip_prefix("- ")).map(str::to_owned).collect()
}

#[test]
fn every_reader_is_in_the_list_that_people_read() {
    let page = text("docs/readers.md");
    let captures: Vec<String> = narrows::capture::readers().map(str::to_owned).collect();
    assert_eq!(listed(&page, "Captures"), captures, "docs/readers.md, captures");
    let results: Vec<String> = narrows::results::parsers().map(str::to_owned).collect();
    assert_eq!(listed(&page, "Results"), results, "docs/readers.md, results");
    assert!(text("README.md").contains("docs/readers.md"), "README.md leads to the list of readers");
}

#[test]
fn every_command_has_a_schema_a_tested_help_and_a_page() {
    /// A snapshot is no report: its form is that of the machine.
    const WITHOUT_JSON: [&str; 1] = ["snapshot"];
    let (help, readme) = (text("tests/cli/help.rs"), text("README.md"));
    let schema = text("schema/narrows.json");
    let command = Cli::command();
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let has_schema = schema.contains(&format!("\"title\": \"narrows {name} "));
        assert!(WITHOUT_JSON.contains(&name) || has_schema, "{name}: not in schema/narrows.json");
        assert!(help.contains(&format!("\"{name}\"")), "{name}: not in COMMANDS of tests/cli/help.rs");
        let snapshot = repository().join(format!("tests/cli/snapshots/cli__help__help__{name}.snap"));
        assert!(snapshot.is_file(), "{name}: its help has no snapshot {}", snapshot.display());
        let page = format!("docs/{name}.md");
        assert!(text(&page).to_lowercase().contains("exit status"), "{page} does not say the exit status");
        assert!(readme.contains(&format!("]({page})")), "{name}: README.md does not lead to {page}");
    }
}

/// Pages, how their examples begin, and the golden text with what the program prints.
const EXAMPLES: [(&str, &str, &str); 6] = [
    ("README.md", "$ narrows /dev/nvme2n1", "machines__s3-x99-before-target"),
    ("docs/compare.md", "$ narrows compare", "compare__the_text_of_a_comparison"),
    ("docs/measure.md", "# narrows measure /dev/md0 --as layers", "ladder_cli__a_ladder_at_100_columns"),
    ("docs/plan.md", "$ narrows plan", "plan__the_text_of_a_plan"),
    ("docs/predict.md", "$ narrows predict systems/x99", "predict__what_if"),
    ("docs/predict.md", "$ narrows predict systems/s2d", "predict__not_known"),
];

#[test]
fn every_example_of_a_page_is_what_the_program_prints() {
    /// Stands in an example for lines that are left out.
    const LEFT_OUT: &str = "[…]";
    for (page, command, golden) in EXAMPLES {
        let (page_text, snapshot) = (text(page), text(&format!("tests/cli/snapshots/cli__{golden}.snap")));
        let printed = snapshot.splitn(3, "---\n").nth(2).expect("a snapshot has a head").trim_matches('\n');
        let mut blocks = page_text.split("```console\n").skip(1);
        let block = blocks.find(|block| block.starts_with(command)).expect("the page has the example");
        let example = block.split("```").next().and_then(|block| block.split_once('\n'));
        let (_, example) = example.expect("a command, then what it prints");
        if example.contains(LEFT_OUT) {
            for part in example.split(LEFT_OUT).map(|part| part.trim_matches('\n')) {
                assert!(printed.contains(part), "{page}: {golden}.snap no longer has\n{part}");
            }
        } else {
            assert_eq!(example.trim_matches('\n'), printed, "{page}: copy {golden}.snap into it");
        }
    }
}

#[test]
fn the_pages_that_all_read_are_short() {
    for (page, most) in [("README.md", 130), ("ARCHITECTURE.md", 150), ("CHANGELOG.md", 60)] {
        let lines = text(page).lines().count();
        assert!(lines <= most, "{page} has {lines} lines; what is more belongs into docs/");
    }
}

/// The words of a text that stand in back ticks and could be names in the sources.
fn names(page: &str) -> Vec<String> {
    let ticked = page.split('`').skip(1).step_by(2).filter(|part| !part.contains(['\n', '/', '-', '[', '.']));
    let words = ticked.flat_map(|part| part.split("::")).map(str::trim);
    words.filter(|word| word.len() > 3 && !word.contains(' ')).map(str::to_owned).collect()
}

#[test]
fn every_name_in_the_architecture_stands_in_the_sources() {
    let sources: String =
        sources().iter().map(|path| std::fs::read_to_string(path).expect("is read")).collect();
    let (page, manifest) = (text("ARCHITECTURE.md"), text("Cargo.toml"));
    let names = names(&page);
    assert!(names.len() > 40, "{names:?}");
    let tests = ["layers", "guard_source", "circles"];
    for name in names.iter().filter(|name| !tests.contains(&name.as_str())) {
        let is_there = sources.contains(name.as_str()) || manifest.contains(name.as_str());
        assert!(is_there, "ARCHITECTURE.md: `{name}` stands nowhere in the sources");
    }
}

/// The end of a link to a title, as GitHub makes it.
fn anchor(title: &str) -> String {
    let title = title.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    title.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"];
    let top = top.map(|name| repository().join(name)).into_iter();
    let docs = std::fs::read_dir(repository().join("docs")).expect("a folder of pages").flatten();
    for page in top.chain(docs.map(|entry| entry.path()).filter(|path| path.is_file())) {
        let page_text = std::fs::read_to_string(&page).expect("a page is read");
        let links = page_text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (link, _) in links.filter(|(link, _)| !link.contains("://")) {
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            let is_title = |line: &str| line.starts_with('#') && anchor(line) == place;
            let is_found = place.is_empty()
                || std::fs::read_to_string(&target).is_ok_and(|text| text.lines().any(is_title));
            assert!(is_found, "{}: {link}: no such title", page.display());
        }
    }
}

/// The Debian packages that a script names: words between `begin` and `end`, less shell variables, and of `command:package` the package.
fn packages(script: &str, begin: &str, end: &str) -> Vec<String> {
    let text = text(script);
    let (_, list) = text.split_once(begin).unwrap_or_else(|| panic!("{script} has no `{begin}`"));
    let (list, _) = list.split_once(end).expect("the end of the list");
    let words = list.split_whitespace().filter(|word| !word.starts_with(['$', '\\']));
    words.map(|word| word.rsplit(':').next().unwrap_or(word).to_owned()).collect()
}

#[test]
fn every_package_that_the_tests_install_is_in_the_list_that_people_read() {
    let page = text("docs/fresh-machines.md");
    let lists = [
        packages("rig/setup.sh", "for package in ", "; do"),
        packages("rig/setup.sh", "servers=\"", "\""),
        packages("rig/setup.sh", "|| servers=\"", "\""),
        packages("scripts/test-tools.sh", "for pair in ", "; do"),
        packages("scripts/test-tools.sh", "apt-get download -q ", ")"),
    ];
    for package in lists.concat() {
        assert!(page.contains(&format!("`{package}`")), "docs/fresh-machines.md does not name `{package}`");
    }
}

#[test]
fn every_page_that_says_how_to_add_something_names_its_places() {
    let page = text("docs/adding.md");
    for what in ["rule", "reader", "layer", "command"] {
        let mut parts = page.split("\n## ");
        let part = parts.find(|part| part.starts_with(&format!("Adding a {what}"))).expect("has its part");
        let places = part.lines().filter(|line| line.starts_with('|')).count();
        assert!(places > 3, "docs/adding.md: {what} has no table of places");
    }
    for path in ["docs/adding.md", "docs/adding-a-board.md"] {
        assert!(text("CONTRIBUTING.md").contains(path), "CONTRIBUTING.md does not lead to {path}");
    }
}
