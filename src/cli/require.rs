//! `--require`: rules by which an answer passes. With one, they alone decide the exit status.

use clap::Args;
use serde_json::Value;

use super::values::{count, latency, rate};
use super::{FAILED, FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_base::measurement::PERCENTILES;
use narrows_model::ceiling::Direction;
use narrows_report::require::{Asks, Known, Quantity, Rule, Within, judge};
use narrows_verdict::{Code, Severity};

/// Rules that are asked for.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct RequireArgs {
    /// Exit with 1 unless this holds: "read>=3GB/s", "p99<10ms", "no fault", "link=full", … (several)
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub require: Vec<Rule>,
}

impl RequireArgs {
    /// Refuses rules where nothing answers them: they must not seem to be met.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn refuse(&self, what: &str) -> Result<(), Failure> {
        match self.require.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(format!("--require cannot be asked of {what}"))
                .hint("it is for the paths and results of one machine, and for one measurement")),
        }
    }

    /// The exit status of a run, which would be `otherwise` without a rule: one that did not come to its end failed, whatever is
    /// asked. Says what came of each.
    pub(super) fn status(&self, otherwise: u8, known: impl FnOnce() -> Known) -> u8 {
        if self.require.is_empty() || otherwise == FAILED {
            return otherwise;
        }
        let verdicts = judge(&self.require, &known());
        verdicts.iter().for_each(|verdict| output::remark(&verdict.sentence()));
        if verdicts.iter().all(|verdict| verdict.is_met) { NOTHING_FOUND } else { FINDINGS }
    }
}

/// The signs of a comparison; those of two characters first.
const SIGNS: [(&str, Within); 4] =
    [(">=", Within::AtLeast), ("<=", Within::AtMost), (">", Within::MoreThan), ("<", Within::LessThan)];

/// Reads a rule.
fn rule(text: &str) -> Result<Rule, String> {
    let rule = |asks| Ok(Rule { text: text.to_owned(), asks });
    if text.split_whitespace().collect::<String>() == "link=full" {
        return rule(Asks::FullLinks);
    }
    if let Some(what) = text.strip_prefix("no ") {
        return rule(unwanted(what.trim())?);
    }
    let found = SIGNS.iter().find_map(|(sign, within)| Some((text.split_once(sign)?, *within)));
    let Some(((what, bound), within)) = found else {
        return Err("it is none of read>=RATE, write>=RATE, read.iops>=N, p99<TIME, no fault, no limit, no CODE, link=full".to_owned());
    };
    let what = what.trim();
    // What a test is called may hold blanks; what is asked of it does not.
    let (test, asked) =
        what.rsplit_once(' ').map_or((None, what), |(test, asked)| (Some(test.trim()), asked));
    let (direction, quantity) = quantity(asked)?;
    let bound = bound.trim();
    let bound = match quantity {
        Quantity::Rate if bound.ends_with("/s") => rate(bound)?.get(),
        Quantity::Rate => return Err(format!("`{bound}` is not a rate such as 500MB/s or 3GB/s")),
        Quantity::Iops => count(bound)?,
        Quantity::Latency(_) => latency(bound)?.as_nanos() as f64,
    };
    rule(Asks::Figure { test: test.map(str::to_owned), direction, of: quantity, within, bound })
}

/// What `no WHAT` leaves out.
fn unwanted(what: &str) -> Result<Asks, String> {
    match what {
        "fault" => Ok(Asks::NoSeverity(Severity::Fault)),
        "limit" => Ok(Asks::NoSeverity(Severity::Limit)),
        code => {
            serde_json::from_value::<Code>(Value::String(code.to_owned())).map(Asks::NoCode).map_err(|_| {
                format!("there is no finding `{code}`; docs/findings.md has all, such as link_width_degraded")
            })
        }
    }
}

/// `read`, `write.iops`, `p99`, `write.p99.9`.
fn quantity(asked: &str) -> Result<(Option<Direction>, Quantity), String> {
    let of = |word: &str| match word {
        "iops" => Some(Quantity::Iops),
        word => PERCENTILES.iter().find(|one| one.label == word).map(|one| Quantity::Latency(*one)),
    };
    let direction = |word: &str| match word {
        "read" => Some(Direction::Read),
        "write" => Some(Direction::Write),
        _ => None,
    };
    if let Some(alone) = direction(asked) {
        return Ok((Some(alone), Quantity::Rate));
    }
    let (way, word) = match asked.split_once('.') {
        Some((way, word)) if direction(way).is_some() => (direction(way), word),
        _ => (None, asked),
    };
    of(word).map(|quantity| (way, quantity)).ok_or_else(|| {
        format!("`{asked}` is none of read, write, iops, p50, p90, p95, p99, p99.9, p99.99, read.iops, write.p99 …")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules_are_read() {
        let figure = |text: &str| match rule(text).map(|rule| rule.asks) {
            Ok(Asks::Figure { test, direction, of, within, bound }) => (test, direction, of, within, bound),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(
            figure("read>=3GB/s"),
            (None, Some(Direction::Read), Quantity::Rate, Within::AtLeast, 3e9)
        );
        assert_eq!(
            figure("SEQ1M Q8T1 write.p99.9 < 10ms"),
            (
                Some("SEQ1M Q8T1".to_owned()),
                Some(Direction::Write),
                Quantity::Latency(PERCENTILES[4]),
                Within::LessThan,
                1e7
            )
        );
        assert_eq!(figure("p50<=80us"), (None, None, Quantity::Latency(PERCENTILES[0]), Within::AtMost, 8e4));
        assert_eq!(figure("read.iops>100k").4, 1e5);
        assert_eq!(rule("no fault").map(|rule| rule.asks), Ok(Asks::NoSeverity(Severity::Fault)));
        assert_eq!(rule("no aer_errors").map(|rule| rule.asks), Ok(Asks::NoCode(Code::AerErrors)));
        assert_eq!(rule("link=full").map(|rule| rule.asks), Ok(Asks::FullLinks));
        for wrong in [
            "",
            "read",
            "read>=",
            "read>=3",
            "p98<1ms",
            "no",
            "no such",
            "link=half",
            "p99<3",
            "read.p99<3GB/s",
        ] {
            assert!(rule(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = rule(&text);
        }
    }
}
