//! A load on many hosts, for a person. A thousand hosts take as many lines as twenty.

use super::map::fleet_map;
use super::{FleetRunReport, HostView, PointView, SideView, folded, leg};
use crate::chart;
use narrows_base::units::{Bytes, BytesPerSec, Nanos, human};
use narrows_report::document::{
    Audience, Block, Blocks, Cell, Column, Document, Place, Row, Table, Tone, Width, doubt,
};
use narrows_verdict::fleet::record::{Load, State};
use narrows_verdict::fleet::series::{Along, Earlier, Series};
use narrows_verdict::word;

/// So many hosts have a line each; of more only those that stand out.
const MOST_ROWS: usize = 20;
/// So many characters of the names of a thousand hosts.
const MOST_NAMES: usize = 80;
/// Columns of a host, and of what is said of it: titles, widths, and at which turn each gives way.
const HOST: usize = 20;
const COLUMNS: [(&str, usize, u8); 5] =
    [("state", 12, 0), ("begin", 12, 1), ("rate", 13, 0), ("p50", 11, 2), ("p99", 11, 3)];

/// The report as a document. What hosts are called is decided where the report is built.
pub fn document(report: &FleetRunReport, audience: Audience) -> Document {
    let servers = match report.servers {
        0 => String::new(),
        some => format!(", {} watched", human::counted(some, "server")),
    };
    let clients = human::counted(report.clients, "client");
    let mut out = Document::new("fleet run", &clients, Some(&report.tool));
    out.say(0, Tone::Faint, format!("{clients}{servers} · fio {}", report.fio));
    if report.servers > 0 {
        leg::say(&mut out, &report.network_leg, &report.drives_leg);
    }
    for point in &report.points {
        self::point(&mut out, point);
    }
    out.part(Place::Verdict, "");
    say_series(&mut out, &report.series);
    if let Some(reason) = &report.reason {
        out.gap();
        out.lead((Tone::Bad, "! "), Tone::Normal, format!("Not complete: {reason}."));
    }
    let left = report.left.iter();
    let left = left.map(|it| format!("{} may not be clean ({}): `{}`", it.host, it.reason, it.command));
    out.leads((Tone::Warn, "! "), Tone::Normal, left);
    out.figures(Place::Map, fleet_map(report));
    out.figures(Place::Charts, chart::fleet_knees(report).into_iter().chain(chart::fleet_rates(report)));
    if audience == Audience::Public { out.scrubbed() } else { out }
}

/// The load of each host in a line.
pub(crate) fn describe(load: &Load) -> String {
    let (mix, order, jobs) = (mix_of(load), order_of(load), human::counted(load.jobs, "job"));
    let cap = load.rate_cap.map(|cap| format!(", capped at {cap}")).unwrap_or_default();
    let (size, depth, time) = (human::block_size(load.block_size), load.depth, load.time_ns);
    format!("{size} {mix} {order}, {jobs} × depth {depth} on each host, {time}{cap}")
}

pub(super) fn mix_of(load: &Load) -> String {
    match load.read_percent {
        100 => "reads".to_owned(),
        0 => "writes".to_owned(),
        percent => format!("{percent} % reads"),
    }
}

pub(super) const fn order_of(load: &Load) -> &'static str {
    if load.is_random { "random" } else { "in sequence" }
}

fn point(out: &mut Document, point: &PointView) {
    out.gap();
    out.part(Place::Verdict, "");
    out.say(0, Tone::Strong, describe(&point.load));
    out.says(2, Tone::Strong, point.proof.iter().map(|proof| format!("Proof: {proof}.")));
    out.say(2, Tone::Strong, &point.verdict.sentence);
    let sure = doubt(point.verdict.limit.confidence, [" (likely)", " (a guess)"]);
    out.says(4, Tone::Faint, point.verdict.limit.evidence.iter().map(|why| format!("{why}{sure}")));
    let sides = [("read", &point.read), ("write", &point.write)].into_iter();
    out.says(2, Tone::Normal, sides.filter_map(|(name, side)| Some(self::side(name, side.as_ref()?))));
    timing(out, point);
    out.leads((Tone::Warn, "  ! "), Tone::Normal, &point.verdict.conservation.differs);
    let outliers = point.outliers.iter().map(|outlier| {
        let way = if outlier.difference < 0.0 { "slower" } else { "faster" };
        let facts = match outlier.facts.is_empty() {
            true => "no fact that was read differs".to_owned(),
            false => outlier.facts.join("; "),
        };
        let part = human::percent(outlier.difference.abs());
        format!("{} is {part} {way} than the median: {facts}", outlier.host)
    });
    out.leads((Tone::Warn, "  ! "), Tone::Normal, outliers);
    hosts(out, point);
}

fn side(name: &str, side: &SideView) -> String {
    let latency = &side.latency;
    let shown = |time: Option<Nanos>| time.map_or_else(|| "too few".to_owned(), human::time);
    let of = if latency.is_of_window { "of the common time" } else { "of all I/Os of all hosts" };
    let [p50, p99, p999, most] = [latency.p50, latency.p99, latency.p999, latency.greatest].map(shown);
    let latency = format!("latency p50 {p50}, p99 {p99}, p99.9 {p999}, longest {most} ({of})");
    let (rate, iops) = (human::rate_with_binary(side.bytes_per_second), human::count(side.iops.get()));
    format!("{name}: {rate}, {iops} IOPS · {latency}")
}

fn timing(out: &mut Document, point: &PointView) {
    let (Some(spread), Some(window), Some(overlap)) = (point.start_spread_ns, point.window_ns, point.overlap)
    else {
        return;
    };
    let part = human::percent(overlap);
    let (lead, tone) = if point.overlap_is_low { ("  ! ", Tone::Normal) } else { ("  ", Tone::Faint) };
    let text = format!("starts within {spread}; {window} in common, at least {part} of each host's time");
    out.lead((Tone::Warn, lead), tone, text);
}

fn hosts(out: &mut Document, point: &PointView) {
    let is_special =
        |host: &HostView| host.state != State::Ok || point.outliers.iter().any(|it| it.host == host.host);
    let few = point.hosts.len() <= MOST_ROWS;
    let rows: Vec<&HostView> =
        point.hosts.iter().filter(|host| few || is_special(host)).take(MOST_ROWS).collect();
    out.part(Place::Data, format!("Hosts: {}", describe(&point.load)));
    if !rows.is_empty() {
        let mut columns = vec![Column::name("host", Width::Fixed(HOST))];
        columns.extend(COLUMNS.map(|(title, width, turn)| Column::right(title, width).yields(turn)));
        let mut table = Table::new("Hosts", 2, columns);
        table.rows.extend(rows.iter().map(|host| row(host)));
        out.add(Block::Table(table));
    }
    if few {
        return;
    }
    let rest = point.hosts.iter().filter(|host| is_special(host)).skip(rows.len());
    let rest: Vec<&str> = rest.map(|host| host.host.as_str()).collect();
    if !rest.is_empty() {
        let text = format!("and not ok or unlike the others: {}", folded(rest));
        out.lead((Tone::Warn, "  "), Tone::Normal, text);
    }
    summary(out, point);
}

fn row(host: &HostView) -> Row {
    let tone = match host.state {
        State::Ok => Tone::Normal,
        State::Late => Tone::Warn,
        _ => Tone::Bad,
    };
    let begin = host.began_after_ns.map(|after| {
        let sign = if after < 0 { "-" } else { "+" };
        format!("{sign}{}", Nanos::new(after.unsigned_abs()))
    });
    let [rate, p50, p99] =
        [total(host).map(human::rate), host.p50.map(human::time), host.p99.map(human::time)];
    let [begin, rate, p50, p99] = [begin, rate, p50, p99].map(|it| it.unwrap_or_else(|| "-".to_owned()));
    let cells = [host.host.clone(), word(host.state), begin, rate, p50, p99];
    let mut row = Row::of(cells.into_iter().map(|cell| Cell::toned(tone, cell)).collect());
    if let Some(reason) = &host.reason {
        let known = host.known_after_ns.map(|after| format!(", known {after} after the start"));
        row.notes.say(6, Tone::Faint, format!("{reason}{}", known.unwrap_or_default()));
    }
    row
}

/// Both directions of a host; `None` where nothing of it counts.
pub(crate) fn total(host: &HostView) -> Option<BytesPerSec> {
    match (host.read_bytes_per_second, host.write_bytes_per_second) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or_default() + write.unwrap_or_default()),
    }
}

/// What stands for the hosts that have no line.
fn summary(out: &mut Document, point: &PointView) {
    let ok = point.hosts.iter().filter(|host| host.state == State::Ok);
    let mut ok: Vec<(BytesPerSec, &str)> =
        ok.filter_map(|host| Some((total(host)?, host.host.as_str()))).collect();
    ok.sort_by(|a, b| a.0.get().total_cmp(&b.0.get()));
    let (Some(slowest), Some(middle), Some(fastest)) = (ok.first(), ok.get(ok.len() / 2), ok.last()) else {
        return;
    };
    let mut names = folded(ok.iter().map(|(_, name)| *name));
    if names.chars().count() > MOST_NAMES {
        names = names.chars().take(MOST_NAMES - 1).chain(['…']).collect();
    }
    let of = |(rate, host): &(BytesPerSec, &str)| format!("{host} {rate}");
    let (slowest, fastest, median) = (of(slowest), of(fastest), middle.0);
    let text = format!(
        "{} ok ({names}): median {median}, slowest {slowest}, fastest {fastest}; --csv and --json have every host",
        ok.len()
    );
    out.say(2, Tone::Normal, text);
}

/// So many hosts that stop to gain early are named one by one.
const MOST_NAMED: usize = 3;

/// A sentence for each series, and one for what stands out in it.
pub(super) fn say_series(out: &mut impl Blocks, all: &[Series]) {
    for series in all {
        out.gap();
        let lead = format!("{}: ", title(series));
        out.lead((Tone::Strong, &lead), Tone::Normal, format!("{}.", in_words(series)));
        out.leads((Tone::Warn, "  ! "), Tone::Normal, earlier(series));
        let left_out = series.left_out.iter().map(|run| {
            let at = shown(series.along, run.at as f64);
            format!("left out: {at}, where other hosts count ({} of them)", run.hosts)
        });
        out.says(2, Tone::Faint, left_out);
    }
}

/// What changes, and what is held: `Jobs of each host, 1 MiB reads in sequence, depth 8`.
pub(crate) fn title(series: &Series) -> String {
    let of = &series.of;
    let (kind, depth) = (format!("{} {}", mix_of(of), order_of(of)), format!("depth {}", of.depth));
    let (size, jobs) = (human::block_size(of.block_size), human::counted(of.jobs, "job"));
    match series.along {
        Along::Jobs => format!("Jobs of each host, {size} {kind}, {depth}"),
        Along::Depth => format!("Depth, {size} {kind}, {jobs}"),
        Along::BlockSize => format!("Block size, {kind}, {jobs} × {depth}"),
    }
}

/// A place of a series: `16 jobs`, `depth 8`, `64 KiB`.
pub(crate) fn shown(along: Along, at: f64) -> String {
    match along {
        Along::Jobs => human::counted(at as u32, "job"),
        Along::Depth => format!("depth {at}"),
        Along::BlockSize => human::block_size(Bytes::new(at as u64)),
    }
}

/// The knee, the plateau, drops and odd points.
pub(crate) fn in_words(series: &Series) -> String {
    let at = |x: f64| shown(series.along, x);
    let hosts =
        if series.hosts == 1 { "1 host gives".to_owned() } else { format!("{} hosts give", series.hosts) };
    let Some(last) = series.points.last() else { return "no run counts".to_owned() };
    let rate = last.bytes_per_second;
    let mut parts = vec![match &series.shape.plateau {
        Some(it) if it.from == it.to => {
            format!("{hosts} the most, {}, with {}", it.bytes_per_second, at(it.from))
        }
        Some(it) => format!("{hosts} {} from {} to {}", it.bytes_per_second, at(it.from), at(it.to)),
        None => format!("{hosts} {rate} with {}, and the rate still rises there", at(last.x)),
    }];
    let drops = series.shape.drops.iter();
    parts.extend(
        drops.map(|it| format!("from {} on it is {} less", at(it.from), human::percent(it.fraction))),
    );
    parts.extend(series.shape.anomalies.iter().map(|odd| {
        let (rate, expected) = (odd.bytes_per_second, odd.expected);
        format!("{} does not fit: {rate} where its neighbours let expect {expected}", at(odd.x))
    }));
    parts.join("; ")
}

/// Hosts that stop to gain earlier than all together.
fn earlier(series: &Series) -> Option<String> {
    let at = |one: &Earlier| shown(series.along, one.knee);
    let each = series.earlier.iter().take(MOST_NAMED);
    let each = each.map(|one| format!("{} with {} ({})", one.host, at(one), one.bytes_per_second));
    let each: Vec<String> = each.collect();
    let rest: Vec<&str> = series.earlier.iter().skip(MOST_NAMED).map(|one| one.host.as_str()).collect();
    let more = if rest.is_empty() { String::new() } else { format!("; also {}", folded(rest)) };
    (!each.is_empty()).then(|| format!("stops to gain earlier than all together: {}{more}", each.join(", ")))
}
