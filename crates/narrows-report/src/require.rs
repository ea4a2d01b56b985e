//! Rules by which an answer passes: `read>=3GB/s`, `p99<10ms`, `no fault`, `link=full`. What is not known passes no rule.

use crate::view::{CheckReport, PathView};
use narrows_base::measurement::{Latency, Percentile};
use narrows_base::units::{BytesPerSec, Iops, Nanos, human};
use narrows_model::ceiling::Direction;
use narrows_model::path::HopKind;
use narrows_paste::results::{Measured, Side};
use narrows_verdict::{Code, Severity};

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// As it was written.
    pub text: String,
    pub asks: Asks,
}

/// What a rule asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// A figure within a bound.
    Figure {
        /// The test it is of; any where none is named.
        test: Option<String>,
        /// Of both directions where none is named.
        direction: Option<Direction>,
        of: Quantity,
        within: Within,
        /// In the unit of the quantity: bytes/s, I/Os per second, nanoseconds.
        bound: f64,
    },
    /// No finding that is so bad.
    NoSeverity(Severity),
    /// No finding of this kind, however bad.
    NoCode(Code),
    /// Every link as fast and as wide as both its ends can do.
    FullLinks,
}

/// What a figure is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quantity {
    Rate,
    Iops,
    Latency(Percentile),
}

/// On which side of its bound a figure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    AtLeast,
    MoreThan,
    AtMost,
    LessThan,
}

impl Within {
    /// Whether more is better: then one test that reaches the bound is enough, else all must stay below it.
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::AtLeast | Self::MoreThan)
    }

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::AtLeast => value >= bound,
            Self::MoreThan => value > bound,
            Self::AtMost => value <= bound,
            Self::LessThan => value < bound,
        }
    }
}

/// What was measured in one direction.
#[derive(Debug, Clone)]
pub struct Figures {
    /// The test, or what was measured.
    pub name: String,
    pub direction: Direction,
    pub rate: BytesPerSec,
    /// A 95 % confidence interval of it.
    pub ci95: Option<[BytesPerSec; 2]>,
    pub iops: Option<Iops>,
    /// Percentiles, as far as they are known.
    pub latencies: Vec<(f64, Nanos)>,
    pub trusted: bool,
}

impl Figures {
    /// The percentiles of a latency that are known.
    pub fn percentiles(of: &Latency) -> Vec<(f64, Nanos)> {
        of.percentiles().iter().filter_map(|(one, span)| Some((one.fraction, (*span)?))).collect()
    }

    /// The figure, and the ends of its interval, where these are known.
    fn of(&self, quantity: Quantity) -> Option<(f64, Option<[f64; 2]>)> {
        match quantity {
            Quantity::Rate => Some((self.rate.get(), self.ci95.map(|ends| ends.map(BytesPerSec::get)))),
            Quantity::Iops => Some((self.iops?.get(), None)),
            Quantity::Latency(asked) => {
                let is_it = |(fraction, _): &&(f64, Nanos)| (fraction - asked.fraction).abs() < 1e-9;
                Some((self.latencies.iter().find(is_it)?.1.get() as f64, None))
            }
        }
    }
}

/// What an answer knows.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub figures: Vec<Figures>,
    /// What the narrowest hop of each path carries at most.
    pub most: Vec<(Direction, BytesPerSec, String)>,
    /// Findings, with a sentence each.
    pub findings: Vec<(Code, Severity, String)>,
    /// Links, and why one is not full; `Err` where that cannot be told.
    pub links: Vec<Result<Option<String>, String>>,
}

/// Whether a rule is met, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    pub rule: String,
    pub is_met: bool,
    pub why: String,
}

impl RuleVerdict {
    /// As a line.
    pub fn sentence(&self) -> String {
        let word = if self.is_met { "met" } else { "NOT met" };
        let why = if self.why.is_empty() { String::new() } else { format!(": {}", self.why) };
        format!("required {}: {word}{why}", self.rule)
    }
}

/// What came of each rule.
pub fn judge(rules: &[Rule], known: &Known) -> Vec<RuleVerdict> {
    let of = |rule: &Rule| {
        // Why it is met, or why it is not.
        let judged = match &rule.asks {
            Asks::Figure { test, direction, of, within, bound } => {
                figure(known, (test.as_deref(), *direction, *of), (*within, *bound))
            }
            Asks::NoSeverity(severity) => without(known, |(_, other, _)| other == severity),
            Asks::NoCode(code) => without(known, |(other, ..)| other == code),
            Asks::FullLinks => full_links(&known.links),
        };
        RuleVerdict { rule: rule.text.clone(), is_met: judged.is_ok(), why: judged.unwrap_or_else(|why| why) }
    };
    rules.iter().map(of).collect()
}

fn without(known: &Known, is_one: impl Fn(&&(Code, Severity, String)) -> bool) -> Result<String, String> {
    known.findings.iter().find(is_one).map_or(Ok(String::new()), |(.., sentence)| Err(sentence.clone()))
}

fn full_links(links: &[Result<Option<String>, String>]) -> Result<String, String> {
    if let Some(why) = links.iter().find_map(|link| link.as_ref().ok()?.clone()) {
        return Err(why);
    }
    let unknown = links.iter().find_map(|link| link.as_ref().err().map(String::as_str));
    let unknown = unknown.or(links.is_empty().then_some("no link is seen"));
    unknown.map_or(Ok(String::new()), |why| Err(format!("not known: {why}")))
}

fn figure(
    known: &Known,
    (test, direction, of): (Option<&str>, Option<Direction>, Quantity),
    (within, bound): (Within, f64),
) -> Result<String, String> {
    let is_way = |way: Direction| direction.is_none_or(|asked| asked == way);
    let is_asked = |one: &&Figures| is_way(one.direction) && test.is_none_or(|asked| asked == one.name);
    let asked: Vec<&Figures> = known.figures.iter().filter(is_asked).collect();
    if asked.is_empty() {
        let mut most = known.most.iter().filter(|_| within.is_lower_bound() && of == Quantity::Rate);
        if let Some((_, most, name)) =
            most.find(|(way, most, _)| is_way(*way) && !within.holds(most.get(), bound))
        {
            return Err(format!("{name} carries {most} at most"));
        }
        let what = test.map_or_else(String::new, |test| format!(": there is no test `{test}`"));
        return Err(format!("not known, as it was not measured{what}"));
    }
    let count = asked.len();
    let trusted: Vec<&Figures> = asked.into_iter().filter(|one| one.trusted).collect();
    // What must hold of every test holds of none that is in doubt.
    if trusted.is_empty() || !within.is_lower_bound() && trusted.len() < count {
        return Err("not known: what was measured is not to be trusted".to_owned());
    }
    let all = trusted.iter().filter_map(|one| one.of(of).map(|(value, ends)| (&one.name, value, ends)));
    let is_whole = all.clone().count() == trusted.len();
    // The best where one is enough, and else the worst.
    let Some((name, value, ends)) = all.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err("not known: too few I/Os, or not told".to_owned());
    };
    let shown = |value: f64| match of {
        Quantity::Rate => human::rate(BytesPerSec::new(value)),
        Quantity::Iops => format!("{} IOPS", human::count(value)),
        Quantity::Latency(_) => human::time(Nanos::new(value as u64)),
    };
    let said = format!("{} ({name})", shown(value));
    if !within.holds(value, bound) {
        return Err(said);
    }
    if let Some(ends) = ends.filter(|ends| ends.iter().any(|end| !within.holds(*end, bound))) {
        let [low, high] = ends.map(shown);
        return Err(format!("not known: {said}, with 95 % confidence {low} to {high}"));
    }
    if !within.is_lower_bound() && !is_whole {
        return Err("not known of every test: too few I/Os".to_owned());
    }
    Ok(said)
}

/// Findings that say that a link, whatever its kind, is below what both its ends can do.
const BELOW: [Code; 3] = [Code::LinkWidthDegraded, Code::LinkSpeedDegraded, Code::NarrowerThanBefore];
/// Those that say it where they are faults.
const BELOW_AS_FAULT: [Code; 3] = [Code::UsbLimited, Code::SataLimited, Code::NetworkLimited];

impl Known {
    /// What a report on paths and results knows.
    pub fn of(report: &CheckReport) -> Self {
        let of_results =
            report.results.iter().flat_map(|one| one.verdict.findings.iter().chain(&one.verdict.of_path));
        let findings = report.findings.iter().chain(of_results);
        let findings: Vec<(Code, Severity, String)> =
            findings.map(|one| (one.code, one.severity, one.summary.clone())).collect();
        let below = findings.iter().filter(|(code, severity, _)| {
            BELOW.contains(code) || *severity == Severity::Fault && BELOW_AS_FAULT.contains(code)
        });
        let mut links: Vec<Result<Option<String>, String>> =
            below.map(|(.., sentence)| Ok(Some(sentence.clone()))).collect();
        let is_partial = findings.iter().find(|(code, ..)| *code == Code::PartialInput);
        let hops = report.paths.iter().flat_map(|path| &path.hops).filter(|hop| hop.kind == HopKind::Link);
        links.extend(hops.map(|hop| match (&hop.ceiling.read.reason, is_partial) {
            (Some(why), _) if hop.ceiling.read.bytes_per_second.is_none() => {
                Err(format!("{}: {why}", hop.name))
            }
            (_, Some((.., sentence))) => Err(sentence.clone()),
            _ => Ok(None),
        }));
        let runs = report.paths.iter().flat_map(runs);
        let results = report.results.iter().flat_map(|one| {
            let trusted = one.verdict.trusted;
            one.result.measurements.iter().flat_map(move |measured| foreign(measured, trusted))
        });
        let most = report.paths.iter().flat_map(most).collect();
        Self { figures: runs.chain(results).collect(), most, findings, links }
    }
}

fn runs(path: &PathView) -> impl Iterator<Item = Figures> {
    path.runs.iter().map(|run| {
        let it = &run.measurement;
        let (pattern, size) = (it.workload.pattern.word(), human::block_size(it.workload.block_size));
        Figures {
            name: format!("{pattern} {}s of {size}, {}", run.direction.word(), path.target),
            direction: run.direction,
            rate: it.bytes_per_second,
            ci95: it.ci95,
            iops: Some(it.iops),
            latencies: Figures::percentiles(&it.latency),
            trusted: run.trusted == Some(true),
        }
    })
}

fn most(path: &PathView) -> impl Iterator<Item = (Direction, BytesPerSec, String)> {
    [Direction::Read, Direction::Write].into_iter().filter_map(|direction| {
        let (hop, rate) = path.narrowest(direction)?;
        Some((direction, rate, hop.name.clone()))
    })
}

fn foreign(measured: &Measured, trusted: bool) -> impl Iterator<Item = Figures> {
    let sides = [(Direction::Read, &measured.read), (Direction::Write, &measured.write)];
    sides.into_iter().filter_map(move |(direction, side)| {
        let side: &Side = side.as_ref()?;
        let latencies = side.latency_ns.iter().flat_map(|of| &of.percentiles);
        let time = |ns: f64| Nanos::new(ns.max(0.0) as u64);
        Some(Figures {
            name: measured.work.label.clone(),
            direction,
            rate: side.bytes_per_second,
            ci95: None,
            iops: side.iops,
            latencies: latencies.map(|one| (one.percent / 100.0, time(one.latency_ns))).collect(),
            trusted,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(mb: f64, ci: Option<[f64; 2]>) -> Figures {
        Figures {
            name: "SEQ1M".to_owned(),
            direction: Direction::Read,
            rate: BytesPerSec::from_mb(mb),
            ci95: ci.map(|ends| ends.map(BytesPerSec::from_mb)),
            iops: None,
            latencies: vec![(0.99, Nanos::new(1_000_000))],
            trusted: true,
        }
    }

    fn asks(of: Quantity, within: Within, bound: f64) -> Rule {
        let asks = Asks::Figure { test: None, direction: Some(Direction::Read), of, within, bound };
        Rule { text: "rule".to_owned(), asks }
    }

    fn met(rule: &Rule, known: &Known) -> (bool, String) {
        let verdicts = judge(std::slice::from_ref(rule), known);
        (verdicts[0].is_met, verdicts[0].why.clone())
    }

    #[test]
    fn a_rate_passes_only_with_its_whole_interval() {
        let known = |ci| Known { figures: vec![rate(300.0, ci)], ..Known::default() };
        let rule = asks(Quantity::Rate, Within::AtLeast, 290e6);
        assert!(met(&rule, &known(None)).0);
        assert!(met(&rule, &known(Some([295.0, 305.0]))).0);
        let (is_met, why) = met(&rule, &known(Some([280.0, 320.0])));
        assert!(!is_met && why.starts_with("not known: 300 MB/s"), "{why}");
        assert!(!met(&asks(Quantity::Rate, Within::AtLeast, 310e6), &known(None)).0);
    }

    #[test]
    fn what_is_not_known_passes_nothing() {
        let p99 = narrows_base::measurement::PERCENTILES[3];
        let p999 = narrows_base::measurement::PERCENTILES[4];
        let known = Known { figures: vec![rate(300.0, None)], ..Known::default() };
        assert!(met(&asks(Quantity::Latency(p99), Within::LessThan, 2e6), &known).0);
        for rule in
            [asks(Quantity::Latency(p999), Within::LessThan, 2e6), asks(Quantity::Iops, Within::AtLeast, 1.0)]
        {
            assert!(!met(&rule, &known).0, "{rule:?}");
        }
        assert!(
            met(&asks(Quantity::Rate, Within::AtLeast, 1.0), &Known::default()).1.contains("not measured")
        );
        let doubtful =
            Known { figures: vec![Figures { trusted: false, ..rate(300.0, None) }], ..Known::default() };
        assert!(met(&asks(Quantity::Rate, Within::AtLeast, 1.0), &doubtful).1.contains("trusted"));
        let rule = asks(Quantity::Latency(p99), Within::LessThan, 2e6);
        let one_of_two = Known { figures: [doubtful.figures, known.figures].concat(), ..Known::default() };
        assert!(met(&rule, &one_of_two).1.contains("trusted"));
        assert!(met(&asks(Quantity::Rate, Within::AtLeast, 290e6), &one_of_two).0);
        assert!(!met(&Rule { text: String::new(), asks: Asks::FullLinks }, &Known::default()).0);
    }

    #[test]
    fn a_ceiling_below_the_bound_tells_without_a_measurement() {
        let most = vec![(Direction::Read, BytesPerSec::from_mb(420.0), "PCIe 2.0 x1 link".to_owned())];
        let known = Known { most, ..Known::default() };
        assert_eq!(
            met(&asks(Quantity::Rate, Within::AtLeast, 3e9), &known),
            (false, "PCIe 2.0 x1 link carries 420 MB/s at most".to_owned())
        );
        assert!(met(&asks(Quantity::Rate, Within::AtLeast, 400e6), &known).1.contains("not measured"));
    }

    #[test]
    fn findings_and_links_are_named() {
        let known = Known {
            findings: vec![(Code::LinkWidthDegraded, Severity::Fault, "it runs x1".to_owned())],
            links: vec![Ok(None), Ok(Some("it runs x1".to_owned())), Err("the other end".to_owned())],
            ..Known::default()
        };
        let met = |asks| met(&Rule { text: String::new(), asks }, &known);
        assert_eq!(met(Asks::NoSeverity(Severity::Fault)), (false, "it runs x1".to_owned()));
        assert!(met(Asks::NoSeverity(Severity::Limit)).0 && met(Asks::NoCode(Code::AerErrors)).0);
        assert_eq!(met(Asks::FullLinks), (false, "it runs x1".to_owned()));
        assert_eq!(full_links(&[Ok(None), Err("x".to_owned())]), Err("not known: x".to_owned()));
        assert!(full_links(&[Ok(None)]).is_ok());
    }
}
