//! The view model of `narrows bench A --interleave B`: exactly what `--json` prints, and all that the text is made of.

use serde::{Deserialize, Serialize};

use super::{LeftOut, PresetView, TargetKind, TargetView, TestResult};
use crate::document::table::Width;
use crate::document::{Audience, Block, Blocks, Cell, Column, Document, Place, Row, Table};
use crate::text::Tone;
use crate::text::compare::{relative as change, word};
use crate::view::{self, MachineView, Tool};
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_load::preset::Preset;
use narrows_machine::Machine;
use narrows_session::turns::{Pace, Turns};
use narrows_verdict::Code;
use narrows_verdict::compare::interleaved::{Interleaved, Side, Turn};

/// The name and version of the schema, in [`InterleaveReport::schema`].
pub const SCHEMA: &str = "narrows/interleave/1";

/// The margin of what is said of a test.
const DETAIL: usize = 4;

/// What two targets gave by turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterleaveReport {
    /// Always `narrows/interleave/1`.
    pub schema: String,
    /// The program that made this report.
    pub tool: Tool,
    /// The machine that it ran on.
    pub machine: MachineView,
    /// The first target.
    pub a: TargetView,
    /// The second target, whose difference from the first is told.
    pub b: TargetView,
    /// Which tests, and where they are from.
    pub preset: PresetView,
    /// How the turns were taken.
    pub settings: TurnSettings,
    /// One for each test that was run, in order.
    pub results: Vec<TurnsOfTest>,
    /// Tests of the preset that were not run.
    pub left_out: Vec<LeftOut>,
    /// The most that may be written to both together, and what was; absent when nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<SumOfWrites>,
    /// Whether every test was run that was not left out.
    pub complete: bool,
    /// Why it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How the turns were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnSettings {
    /// How long each turn is measured.
    pub turn_ns: Nanos,
    /// What is run before each turn and not counted.
    pub warm_up_ns: Nanos,
    /// How long both are left alone after each turn.
    pub rest_ns: Nanos,
    /// A test ends when half of the interval of the difference is at most this part of A's rate.
    pub precision: f64,
    /// The longest that one test takes, rests included.
    pub max_time_ns: Nanos,
}

/// What one test gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnsOfTest {
    /// The name of the test.
    pub name: String,
    /// The mean of A's turns; `null` without any.
    pub a_bytes_per_second: Option<BytesPerSec>,
    /// The mean of B's turns; `null` without any.
    pub b_bytes_per_second: Option<BytesPerSec>,
    /// What the turns say.
    pub found: Interleaved,
    /// The turns in order: A, B, B, A, over and over.
    pub turns: Vec<Turn>,
    /// Why the test ended.
    pub ended: String,
    /// What the verdict doubts of the turns, each once.
    pub doubts: Vec<String>,
}

impl TurnSettings {
    /// Those of a pace.
    pub fn of(pace: &Pace) -> Self {
        Self {
            turn_ns: pace.timing.longest().into(),
            warm_up_ns: pace.timing.warm_up.into(),
            rest_ns: pace.rest.into(),
            precision: pace.precision,
            max_time_ns: pace.most.into(),
        }
    }
}

/// Adds what the verdict doubts of a turn, each once for each target.
pub fn add_doubts(doubts: &mut Vec<String>, side: Side, result: &TestResult) {
    if result.trusted != Some(false) {
        return;
    }
    let name = if side == Side::A { "A" } else { "B" };
    // How short a turn is does not matter: the spread of the rounds tells how well the difference is known.
    for finding in result.findings.iter().filter(|finding| finding.code != Code::TooShort) {
        let code = format!("{name}: {}", finding.code.as_str());
        if !doubts.iter().any(|known| known.starts_with(&code)) {
            doubts.push(format!("{code}: {}", finding.summary));
        }
    }
}

impl TurnsOfTest {
    /// From the turns that were taken.
    pub fn new(name: &str, taken: Turns, doubts: Vec<String>) -> Self {
        let Turns { turns, found, ended } = taken;
        let mean = |side: Side| {
            let of = || turns.iter().filter(|turn| turn.side == side).map(|turn| turn.bytes_per_second);
            let count = of().count();
            (count > 0).then(|| of().sum::<BytesPerSec>() / count as f64)
        };
        let (a_bytes_per_second, b_bytes_per_second) = (mean(Side::A), mean(Side::B));
        Self { name: name.to_owned(), a_bytes_per_second, b_bytes_per_second, found, turns, ended, doubts }
    }
}

/// What may be and was written to both targets together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SumOfWrites {
    /// The most: the filling of both targets, and all turns.
    pub limit_bytes: Bytes,
    /// What was written.
    pub written_bytes: Bytes,
}

/// A report without results.
pub fn report(
    machine: &Machine,
    [a, b]: [TargetView; 2],
    preset: &Preset,
    settings: TurnSettings,
) -> InterleaveReport {
    InterleaveReport {
        schema: SCHEMA.to_owned(),
        tool: view::tool(),
        machine: view::machine_view(machine),
        a,
        b,
        preset: PresetView::of(preset),
        settings,
        results: Vec::new(),
        left_out: Vec::new(),
        writes: None,
        complete: false,
        reason: None,
    }
}

/// The report as a document.
pub fn document(report: &InterleaveReport, audience: Audience) -> Document {
    let subject = format!("{} and {}", report.a.name, report.b.name);
    let mut out = Document::new("bench", subject, Some(&report.tool));
    header(&mut out, report);
    out.part(Place::Data, "Tests");
    out.add(Block::Table(tests(report)));
    for left in &report.left_out {
        out.say(0, Tone::Faint, format!("left out: {}: {}", left.name, left.reason));
    }
    if let Some(writes) = &report.writes {
        let (written, most) = (human::bytes(writes.written_bytes), human::bytes(writes.limit_bytes));
        out.say(0, Tone::Faint, format!("{written} were written to both together, at most {most} allowed"));
    }
    out.not_complete(report.reason.as_ref().filter(|_| !report.complete));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

fn header(out: &mut Document, report: &InterleaveReport) {
    for (side, target) in [("A  ", &report.a), ("B  ", &report.b)] {
        let size = human::block_size(target.size_bytes);
        let what = match target.kind {
            TargetKind::Scratch => format!("{}, a scratch file of {size}", target.name),
            _ => format!("{}, {size}, only read", target.name),
        };
        out.lead((Tone::Strong, side), Tone::Normal, what);
    }
    out.lead((Tone::Strong, &format!("{}: ", report.preset.name)), Tone::Normal, &report.preset.about);
    let TurnSettings { turn_ns, warm_up_ns, rest_ns, precision, max_time_ns } = &report.settings;
    let text = format!(
        "by turns, A B B A: {} each after a warm-up of {}, a rest of {}; each test until the difference is known to ± {}, {} at \
         most",
        human::time(*turn_ns),
        human::time(*warm_up_ns),
        human::time(*rest_ns),
        human::percent(*precision),
        human::time(*max_time_ns)
    );
    out.say(0, Tone::Faint, text);
    out.gap();
}

fn tests(report: &InterleaveReport) -> Table {
    let columns = vec![
        Column::name("test", Width::Fit(12, 26)),
        Column::right("A", 12),
        Column::right("B", 12),
        Column::left("B against A (95 %)", Width::Flex(0)),
    ];
    let mut table = Table::new("Tests and what the targets gave by turns", 0, columns);
    let rate = |rate: Option<BytesPerSec>| rate.map_or_else(|| "–".to_owned(), human::rate);
    for result in &report.results {
        let (tone, verdict) = word(result.found.verdict);
        let found = match (&result.found.change, &result.found.reason) {
            (Some(it), _) => format!("{verdict}: {}", change(it.part, it.ci95)),
            (None, reason) => reason.clone().unwrap_or_default(),
        };
        let cells = vec![
            Cell::text(&result.name),
            Cell::text(rate(result.a_bytes_per_second)),
            Cell::text(rate(result.b_bytes_per_second)),
            Cell::toned(tone, found),
        ];
        let mut row = Row::of(cells);
        row.notes = notes(result);
        table.rows.push(row);
    }
    table
}

/// What stands below the row of a test.
fn notes(result: &TurnsOfTest) -> Vec<Block> {
    let mut notes = Vec::new();
    let Interleaved { rounds, drift, .. } = &result.found;
    notes.say(DETAIL, Tone::Faint, format!("{rounds} rounds; {}", result.ended));
    if let Some(drift) = drift {
        let text = format!(
            "both drifted by {} from the first turn to the last; rounds of A B B A cancel that out as far as it is even",
            change(drift.part, drift.ci95)
        );
        notes.say(DETAIL, Tone::Warn, text);
    }
    for doubt in &result.doubts {
        notes.say(DETAIL, Tone::Warn, doubt);
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;
    use narrows_load::preset;
    use narrows_verdict::compare::interleaved::{ROUND, interleaved};

    #[test]
    fn a_report_of_turns_says_which_gives_more_and_how_surely() {
        let target = |name: &str| TargetView {
            name: name.to_owned(),
            kind: TargetKind::Scratch,
            size_bytes: Bytes::from_mib(512),
        };
        let settings = TurnSettings {
            turn_ns: Nanos::from_millis(2000),
            warm_up_ns: Nanos::from_millis(200),
            rest_ns: Nanos::from_millis(500),
            precision: 0.02,
            max_time_ns: Nanos::from_millis(120_000),
        };
        let preset = preset::by_name("peak").expect("it is there");
        let mut report = report(&Machine::default(), [target("/srv/a"), target("/srv/b")], &preset, settings);
        let turn = |(at, side): (usize, &Side)| Turn {
            side: *side,
            bytes_per_second: BytesPerSec::from_mb(if *side == Side::A { 500.0 } else { 550.0 } + at as f64),
        };
        let turns: Vec<Turn> = ROUND.iter().cycle().take(16).enumerate().map(turn).collect();
        let found = interleaved(&turns);
        let result = TurnsOfTest::new(
            "SEQ1M Q8T1 read",
            Turns { turns, found, ended: "known to ± 0.03 %".to_owned() },
            Vec::new(),
        );
        report.results.push(result);
        let none = Turns { turns: Vec::new(), found: interleaved(&[]), ended: "interrupted".to_owned() };
        report.results.push(TurnsOfTest::new("RND4K Q1T1 read", none, Vec::new()));
        report.reason = Some("interrupted; 1 tests to go".to_owned());
        insta::assert_snapshot!(document(&report, Audience::Owner).text(&Style {
            colour: false,
            width: 100,
            unicode: true,
            plain: false
        }));
    }
}
