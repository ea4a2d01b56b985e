use super::*;

#[test]
fn the_table_reads_and_each_law_is_found_by_its_name() {
    let table = read().expect("is TOML of this form");
    assert!(table.laws.len() >= 30 && table.gaps.len() >= 15);
    for law in Law::all() {
        assert_eq!(Law::from_id(&law.id()), Some(law), "{}", law.id());
        assert!(law.validity().is_some_and(|it| !it.name.is_empty() && !it.measure.is_empty()), "{law:?}");
    }
    assert_eq!(Law::FlashSequentialWait.id(), "flash-sequential-wait");
}

#[test]
fn no_law_stands_twice_in_the_table_and_every_word_is_a_trait() {
    let mut laws: Vec<Law> = Law::all().collect();
    let all = laws.len();
    laws.sort_unstable();
    laws.dedup();
    assert_eq!(laws.len(), all);
    let table = read().expect("reads");
    let ranges = table.laws.iter().map(|it| &it.range).chain(table.gaps.iter().map(|it| &it.when));
    for word in ranges.flat_map(|it| it.all.iter().chain(&it.any).chain(&it.none)) {
        assert!(situation::TRAITS.split(' ').any(|known| known == word), "{word}");
    }
}

#[test]
fn the_residuals_of_the_program_read_and_each_is_of_a_law() {
    let text = include_str!("residuals.csv");
    let read = Residuals::parse(text).expect("is a table");
    assert!(read.rows().len() >= 80, "{}", read.rows().len());
    assert_eq!(read.text(), text);
    assert_eq!(
        Residuals::parse("law,source,row,residual\nno-law,a,m1,0.1\n"),
        Err("no-law,a,m1,0.1".to_owned())
    );
    assert!(Residuals::parse("law,source,row,residual\npcie,a,m1,NaN\n").is_err());
}

fn rows(logs: &[(&str, f64)]) -> Residuals {
    let row = |(at, (source, log)): (usize, &(&str, f64))| Residual {
        law: Law::MediumMix,
        source: (*source).to_owned(),
        row: format!("m{at}"),
        log: *log,
    };
    Residuals::of(logs.iter().enumerate().map(row).collect())
}

/// Nine sources with one row each: a further one falls below the i-th with probability i / 10.
#[test]
fn quantiles_are_those_of_order_statistics_and_go_on_beyond_the_sample() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let nine: Vec<(&str, f64)> =
        names.iter().enumerate().map(|(at, name)| (*name, at as f64 / 10.0)).collect();
    let law = Law::MediumMix;
    let residuals = rows(&nine);
    for (part, want) in [(0.1, 0.0), (0.5, 0.4), (0.9, 0.8), (0.55, 0.45)] {
        assert!(
            (residuals.quantile(law, part) - want).abs() < 1e-9,
            "{part}: {}",
            residuals.quantile(law, part)
        );
    }
    // Half of the distance of the quartiles is 0.25, and a tenth of a tenth is ln 10 of that beyond the first.
    assert!((residuals.quantile(law, 0.01) + 0.25 * 10_f64.ln()).abs() < 1e-9);
    assert!(residuals.quantile(law, 0.999) > 0.8);
}

#[test]
fn a_law_needs_eight_rows_of_three_sources() {
    let of = |count: usize, sources: &[&'static str]| {
        let logs: Vec<(&str, f64)> = (0..count).map(|at| (sources[at % sources.len()], 0.0)).collect();
        rows(&logs).knows(Law::MediumMix)
    };
    assert!(of(8, &["a", "b", "c"]));
    assert!(!of(7, &["a", "b", "c"]) && !of(20, &["a", "b"]));
}

/// One source with many rows that agree must not make the distribution of all.
#[test]
fn a_source_with_many_rows_does_not_decide_alone() {
    let mut all: Vec<(&str, f64)> = vec![("many", 0.0); 30];
    all.extend([("a", -0.2), ("b", 0.2), ("c", 0.1), ("d", -0.1)]);
    let residuals = rows(&all);
    assert!(residuals.quantile(Law::MediumMix, 0.1) < -0.1, "{}", residuals.quantile(Law::MediumMix, 0.1));
    assert!(residuals.quantile(Law::MediumMix, 0.9) > 0.1);
}
