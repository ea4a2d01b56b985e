//! The terminal view of a load on many hosts. A thousand hosts take as many lines as twenty.

use super::{FleetRunReport, HostView, PointView, SideView, folded};
use crate::text::{Line, Style, Tone, fit, paragraph};
use narrows_base::units::{BytesPerSec, Nanos, human};
use narrows_verdict::Confidence;
use narrows_verdict::fleet::record::{Load, State};

/// So many hosts have a line each; of more only those that stand out.
const MOST_ROWS: usize = 20;
/// Where the columns of hosts end: state, begin, rate, p50, p99.
const COLUMNS: [usize; 5] = [34, 46, 59, 70, 81];

/// The report as text. It ends with a newline.
pub fn render(report: &FleetRunReport, style: &Style) -> String {
    let mut out = String::new();
    let servers = match report.servers {
        0 => String::new(),
        1 => ", 1 server watched".to_owned(),
        some => format!(", {some} servers watched"),
    };
    let clients =
        if report.clients == 1 { "1 client".to_owned() } else { format!("{} clients", report.clients) };
    let head = format!("{clients}{servers} · fio {}", report.fio);
    paragraph(&mut out, style, (Tone::Normal, ""), Tone::Faint, &head);
    for point in &report.points {
        self::point(&mut out, style, point);
    }
    if let Some(reason) = &report.reason {
        out.push('\n');
        paragraph(&mut out, style, (Tone::Bad, "! "), Tone::Normal, &format!("Not complete: {reason}."));
    }
    for left in &report.left {
        let text = format!("{} may not be clean ({}): `{}`", left.host, left.reason, left.command);
        paragraph(&mut out, style, (Tone::Warn, "! "), Tone::Normal, &text);
    }
    out
}

fn describe(load: &Load) -> String {
    let order = if load.is_random { "random" } else { "in sequence" };
    let mix = match load.read_percent {
        100 => "reads".to_owned(),
        0 => "writes".to_owned(),
        percent => format!("{percent} % reads"),
    };
    let jobs = if load.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", load.jobs) };
    let cap = load.rate_cap.map(|cap| format!(", capped at {}", human::rate(cap))).unwrap_or_default();
    format!(
        "{} {mix} {order}, {jobs} × depth {} on each host, {}{cap}",
        human::block_size(load.block_size),
        load.depth,
        human::time(load.time_ns)
    )
}

fn point(out: &mut String, style: &Style, point: &PointView) {
    out.push('\n');
    paragraph(out, style, (Tone::Normal, ""), Tone::Strong, &describe(&point.load));
    if let Some(proof) = &point.proof {
        paragraph(out, style, (Tone::Normal, "  "), Tone::Strong, &format!("Proof: {proof}."));
    }
    paragraph(out, style, (Tone::Normal, "  "), Tone::Strong, &point.verdict.sentence);
    let sure = match point.verdict.limit.confidence {
        Confidence::High => "",
        Confidence::Medium => " (likely)",
        Confidence::Low => " (a guess)",
    };
    for why in &point.verdict.limit.evidence {
        paragraph(out, style, (Tone::Faint, "    "), Tone::Faint, &format!("{why}{sure}"));
    }
    for (name, side) in [("read", &point.read), ("write", &point.write)] {
        if let Some(side) = side {
            self::side(out, style, name, side);
        }
    }
    timing(out, style, point);
    if let Some(differs) = &point.verdict.conservation.differs {
        paragraph(out, style, (Tone::Warn, "  ! "), Tone::Normal, differs);
    }
    for outlier in &point.outliers {
        let way = if outlier.difference < 0.0 { "slower" } else { "faster" };
        let facts = match outlier.facts.is_empty() {
            true => "no fact that was read differs".to_owned(),
            false => outlier.facts.join("; "),
        };
        let text = format!(
            "{} is {} {way} than the median: {facts}",
            outlier.host,
            human::percent(outlier.difference.abs())
        );
        paragraph(out, style, (Tone::Warn, "  ! "), Tone::Normal, &text);
    }
    hosts(out, style, point);
}

fn side(out: &mut String, style: &Style, name: &str, side: &SideView) {
    let latency = &side.latency;
    let shown = |time: Option<Nanos>| time.map_or_else(|| "too few".to_owned(), human::time);
    let of = if latency.is_of_window { "of the common time" } else { "of all I/Os of all hosts" };
    let text = format!(
        "{name}: {}, {} IOPS · latency p50 {}, p99 {}, p99.9 {}, longest {} ({of})",
        human::rate_with_binary(side.bytes_per_second),
        human::count(side.iops.get()),
        shown(latency.p50),
        shown(latency.p99),
        shown(latency.p999),
        shown(latency.greatest)
    );
    paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, &text);
}

fn timing(out: &mut String, style: &Style, point: &PointView) {
    let (Some(spread), Some(window), Some(overlap)) = (point.start_spread_ns, point.window_ns, point.overlap)
    else {
        return;
    };
    let text = format!(
        "starts within {}; {} in common, at least {} of each host's time",
        human::time(spread),
        human::time(window),
        human::percent(overlap)
    );
    let (lead, tone) = if point.overlap_is_low { ("  ! ", Tone::Normal) } else { ("  ", Tone::Faint) };
    paragraph(out, style, (Tone::Warn, lead), tone, &text);
}

fn hosts(out: &mut String, style: &Style, point: &PointView) {
    let is_special = |host: &HostView| {
        host.state != State::Ok || point.outliers.iter().any(|outlier| outlier.host == host.host)
    };
    let few = point.hosts.len() <= MOST_ROWS;
    let rows: Vec<&HostView> =
        point.hosts.iter().filter(|host| few || is_special(host)).take(MOST_ROWS).collect();
    if !rows.is_empty() {
        let mut line = Line::new(style);
        line.put(Tone::Faint, "  host");
        for (title, end) in ["state", "begin", "rate", "p50", "p99"].iter().zip(COLUMNS) {
            line.put_right(Tone::Faint, title, end);
        }
        line.end(out);
    }
    for host in &rows {
        row(out, style, host);
    }
    if !few {
        let special = point.hosts.iter().filter(|host| is_special(host)).count();
        if special > rows.len() {
            let rest = point.hosts.iter().filter(|host| is_special(host)).skip(rows.len());
            let names = folded(rest.map(|host| host.host.as_str()));
            paragraph(
                out,
                style,
                (Tone::Warn, "  "),
                Tone::Normal,
                &format!("and not ok or unlike the others: {names}"),
            );
        }
        summary(out, style, point);
    }
}

fn row(out: &mut String, style: &Style, host: &HostView) {
    let tone = match host.state {
        State::Ok => Tone::Normal,
        State::Late => Tone::Warn,
        _ => Tone::Bad,
    };
    let begin = host.began_after_ns.map_or_else(
        || "-".to_owned(),
        |after| {
            let sign = if after < 0 { "-" } else { "+" };
            format!("{sign}{}", human::time(Nanos::new(after.unsigned_abs())))
        },
    );
    let time = |time: Option<Nanos>| time.map_or_else(|| "-".to_owned(), human::time);
    let rate = total(host).map_or_else(|| "-".to_owned(), human::rate);
    let cells = [host.state.as_str().to_owned(), begin, rate, time(host.p50), time(host.p99)];
    let mut line = Line::new(style);
    line.put(tone, &format!("  {}", fit(style, &host.host, 20)));
    for (cell, end) in cells.iter().zip(COLUMNS) {
        line.put_right(tone, cell, end);
    }
    line.end(out);
    if let Some(reason) = &host.reason {
        let known =
            host.known_after_ns.map(|after| format!(", known {} after the start", human::time(after)));
        let text = format!("{reason}{}", known.unwrap_or_default());
        paragraph(out, style, (Tone::Faint, "      "), Tone::Faint, &text);
    }
}

fn total(host: &HostView) -> Option<BytesPerSec> {
    match (host.read_bytes_per_second, host.write_bytes_per_second) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or_default() + write.unwrap_or_default()),
    }
}

/// What stands for the hosts that have no line.
fn summary(out: &mut String, style: &Style, point: &PointView) {
    let mut ok: Vec<(BytesPerSec, &str)> = point
        .hosts
        .iter()
        .filter(|host| host.state == State::Ok)
        .filter_map(|host| Some((total(host)?, host.host.as_str())))
        .collect();
    ok.sort_by(|a, b| a.0.get().total_cmp(&b.0.get()));
    let (Some(slowest), Some(middle), Some(fastest)) = (ok.first(), ok.get(ok.len() / 2), ok.last()) else {
        return;
    };
    let names = folded(ok.iter().map(|(_, name)| *name));
    let text = format!(
        "{} ok ({}): median {}, slowest {} {}, fastest {} {}; --csv and --json have every host",
        ok.len(),
        fit(style, &names, 80),
        human::rate(middle.0),
        slowest.1,
        human::rate(slowest.0),
        fastest.1,
        human::rate(fastest.0)
    );
    paragraph(out, style, (Tone::Normal, "  "), Tone::Normal, &text);
}
