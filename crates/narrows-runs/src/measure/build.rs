//! From runs and their verdicts to the view: joins and cleans, and decides nothing.

use super::{
    Checks, LeftOut, MeasureReport, Note, PathCeiling, PathCeilings, PeerView, PresetView, SCHEMA, Settings,
    SideView, TargetView, TestResult,
};
use narrows_base::units::peers::Peer;
use narrows_base::units::{BytesPerSec, Iops};
use narrows_load::measurement::{Measurement, OpTotals};
use narrows_load::preset::{self, LoadSpec, Preset, Test, Work};
use narrows_load::scan::Scan;
use narrows_load::stats;
use narrows_machine::Machine;
use narrows_model::ceiling::{self, Direction};
use narrows_report::view::{self, ConditionView};
use narrows_verdict::{Code, Finding, Severity, Subject, Verdict};

const TOO_SHORT: &str = "ci95: the run was too short for a confidence interval";

/// What is the same for all tests on one path.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The most that the path carries.
    pub ceilings: PathCeilings,
    /// Whose unit is shown beside ours.
    pub peer: Peer,
}

impl Context {
    /// The context of a path.
    pub fn new(subject: &Subject, peer: Peer) -> Self {
        let of = |direction| {
            let limit = *ceiling::rank(&subject.path, &subject.ceilings, direction).first()?;
            let hop = subject.path.hops.get(limit.hop)?;
            let (name, rate) = (hop.name.clone(), limit.rate);
            let ceiling = PathCeiling { hop: hop.id.to_string(), name, bytes_per_second: rate };
            rate.get().is_finite().then_some(ceiling)
        };
        let (read, write) = (of(Direction::Read), of(Direction::Write));
        let why = "no hop of the path has a known ceiling in that direction";
        let reason = (read.is_none() || write.is_none()).then(|| why.to_owned());
        Self { ceilings: PathCeilings { read, write, reason }, peer }
    }

    fn of_ceiling(&self, direction: Direction, rate: BytesPerSec) -> Option<f64> {
        let ceiling = direction.pick(&self.ceilings.read, &self.ceilings.write).as_ref()?.bytes_per_second;
        (ceiling.get() > 0.0).then(|| rate.fraction_of(ceiling))
    }

    fn side(
        &self,
        direction: Direction,
        totals: &OpTotals,
        ci95: Option<[BytesPerSec; 2]>,
        is_mixed: bool,
    ) -> SideView {
        let of_ceiling = self.of_ceiling(direction, totals.bytes_per_second);
        let no_interval = match is_mixed {
            true => "ci95: an interval is computed for reads and writes together only (both)",
            false => TOO_SHORT,
        };
        let no_ceiling = "of_ceiling: the ceiling is not known";
        let why = [(ci95.is_none(), no_interval), (of_ceiling.is_none(), no_ceiling)];
        SideView {
            bytes_per_second: totals.bytes_per_second,
            ci95,
            iops: totals.iops,
            latency_ns: totals.latency.clone(),
            of_ceiling,
            reason: view::why_null(why),
        }
    }

    fn peer(&self, read: Option<BytesPerSec>, write: Option<BytesPerSec>) -> Option<PeerView> {
        let shows = |rate: Option<BytesPerSec>| rate.and_then(|rate| self.peer.shows(rate));
        Some(PeerView {
            tool: self.peer.tool()?.to_owned(),
            read: shows(read),
            write: shows(write),
            quirk: self.peer.quirk().map(str::to_owned),
        })
    }
}

/// The result of a load: `begun`, with what was measured. `subject` holds the runs of this test alone, `verdict` is the verdict on it.
pub fn of_load(
    context: &Context,
    load: &LoadSpec,
    measurement: &Measurement,
    begun: TestResult,
    subject: &Subject,
    verdict: &Verdict,
) -> TestResult {
    let mixed = measurement.workload.is_mixed();
    let ci95 = if mixed { None } else { measurement.ci95 };
    let side = |direction, totals: &OpTotals, is_asked: bool| {
        is_asked.then(|| context.side(direction, totals, ci95, mixed))
    };
    let read = side(Direction::Read, &measurement.reads, measurement.workload.reads());
    let write = side(Direction::Write, &measurement.writes, measurement.workload.writes());
    let no_ceiling = "of_ceiling: ceilings are of one direction";
    let both = mixed.then(|| SideView {
        bytes_per_second: measurement.bytes_per_second,
        ci95: measurement.ci95,
        iops: measurement.iops,
        latency_ns: measurement.latency.clone(),
        of_ceiling: None,
        reason: view::why_null([(measurement.ci95.is_none(), TOO_SHORT), (true, no_ceiling)]),
    });
    let findings = verdict.findings.iter().filter(|finding| is_about_a_run(finding));
    let rate = |side: &Option<SideView>| side.as_ref().map(|side| side.bytes_per_second);
    let trusted = if begun.failed.is_some() { Some(false) } else { verdict.trusts(subject) };
    let series = &measurement.series;
    let last_five = begun.rounds.get(begun.rounds.len().saturating_sub(5)..).unwrap_or_default();
    let steadiness = stats::steadiness(if last_five.is_empty() { series } else { last_five });
    let why = [
        (trusted.is_none(), "trusted: this run was not judged"),
        (both.is_none(), "the test has no I/O in the direction that is null"),
        (steadiness.is_none(), "steadiness: too short to say"),
    ];
    TestResult {
        load: Some(load.clone()),
        peer: context.peer(rate(&read), rate(&write)),
        read,
        write,
        both,
        elapsed_ns: measurement.elapsed_ns,
        trusted,
        findings: findings
            .map(|it| Note { code: it.code, severity: it.severity, summary: it.summary.clone() })
            .collect(),
        checks: Some(checks(load, measurement, subject)),
        series: series.clone(),
        steadiness,
        errors: measurement.errors,
        first_error: measurement.first_error.clone(),
        cut_short: measurement.cut_short.clone(),
        reason: view::why_null(why),
        ..begun
    }
}

/// The result of a scan of positions: `begun`, with what was measured.
pub fn of_scan(context: &Context, scan: Scan, begun: TestResult) -> TestResult {
    let rate = scan.bytes.per(scan.elapsed_ns.duration());
    let seconds = scan.elapsed_ns.as_secs_f64();
    let totals = OpTotals {
        count: scan.rates.len() as u64,
        bytes: scan.bytes,
        bytes_per_second: rate,
        iops: Iops::new(if seconds > 0.0 { scan.rates.len() as f64 / seconds } else { 0.0 }),
        latency: scan.access_latency(),
    };
    let why = "ci95: positions differ, so their spread is no error; latency_ns is that of the accesses";
    let read = context.side(Direction::Read, &totals, None, false);
    TestResult {
        peer: context.peer(scan.mean_rate(), None),
        read: Some(SideView { reason: Some(why.to_owned()), ..read }),
        elapsed_ns: scan.elapsed_ns,
        ended: scan.cut_short.clone().unwrap_or_else(|| "all samples were read".to_owned()),
        trusted: begun.failed.is_some().then_some(false),
        errors: scan.errors,
        first_error: scan.first_error.clone(),
        cut_short: scan.cut_short.clone(),
        scan: Some(scan),
        reason: Some("a scan of positions is no run of load: it is not judged, and only reads".to_owned()),
        ..begun
    }
}

/// The result of a test that could not even begin.
pub fn not_begun(test: &Test, why: String, begun: TestResult) -> TestResult {
    TestResult {
        load: match &test.work {
            Work::Load(load) => Some(load.clone()),
            Work::Scan(_) => None,
        },
        ended: format!("could not begin: {why}"),
        trusted: begun.failed.is_some().then_some(false),
        cut_short: Some(why),
        reason: Some("nothing was measured".to_owned()),
        ..begun
    }
}

/// The report so far.
pub fn report(
    machine: &Machine,
    target: TargetView,
    preset: &Preset,
    settings: Settings,
    ceilings: PathCeilings,
    left_out: Vec<LeftOut>,
) -> MeasureReport {
    let is_swept = preset::by_name(preset.name).is_none();
    MeasureReport {
        schema: SCHEMA.to_owned(),
        tool: view::tool(),
        machine: view::machine_view(machine),
        target,
        preset: PresetView {
            name: preset.name.to_owned(),
            about: preset.about.to_owned(),
            source: preset.source.to_owned(),
            differs: preset.differs.to_owned(),
        },
        settings,
        ceilings,
        swept: if is_swept { preset.loads().cloned().collect() } else { Vec::new() },
        results: Vec::new(),
        curves: Vec::new(),
        left_out,
        writes: None,
        complete: false,
        reason: Some("not all tests have run yet".to_owned()),
    }
}

/// Whether a finding says something of the run rather than of the path, which `narrows` is for.
fn is_about_a_run(finding: &Finding) -> bool {
    let of_run = matches!(
        finding.code,
        Code::AboveCeiling
            | Code::CacheMeasured
            | Code::GeneratorCpu
            | Code::Thermal
            | Code::NoReadEnded
            | Code::TooShort
            | Code::Unsteady
            | Code::RaidResync
            | Code::RaidDegraded
    );
    of_run || finding.severity == Severity::Fault
}

/// What the generator says of a run, with the links and drives around it. `subject` holds the runs of this load alone.
pub fn checks(load: &LoadSpec, measurement: &Measurement, subject: &Subject) -> Checks {
    let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let generator = measurement.generator.clone();
    let completed = measurement.bytes.as_f64() / load.block_size.as_f64().max(1.0);
    let run = subject.runs.first();
    // Bytes that the outermost block device with counters moved, reads and writes together.
    let device = run.and_then(|run| {
        let mut hops = subject.path.hops.iter();
        let disk = hops.find_map(|hop| run.activity.disks.get(hop.block_name()?))?;
        Some((disk.read_bytes + disk.written_bytes).as_f64())
    });
    let checks = Checks {
        in_flight_of_asked: ratio(generator.mean_in_flight, load.total_depth() as f64),
        recorded_of_completed: ratio(measurement.latency.count as f64, completed),
        device_of_asked: device.and_then(|moved| ratio(moved, measurement.bytes.as_f64())),
        nop_ns_per_io: measurement.checks.nop_ns_per_io,
        condition: run.and_then(|run| ConditionView::of(&subject.path, &run.activity)),
        generator,
        reason: None,
    };
    let missing = [
        (checks.device_of_asked.is_none(), "device_of_asked: no device counter covers the path"),
        (checks.nop_ns_per_io.is_none(), "nop_ns_per_io: there is no io_uring here, or it was not measured"),
    ];
    Checks { reason: view::why_null(missing), ..checks }
}
