//! `narrows card` and `narrows verify`: a picture of a path and its verdict to share, and whether one follows from a report.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::bench::save::write_new;
use super::{FINDINGS, Failure, NOTHING_FOUND, output};
use narrows_paste::capture::foreign::{self, Refusal};
use narrows_report::figure::card::{self, Check, Stamp};
use narrows_report::view::{CheckReport, SCHEMA};

/// A report of a thousand paths is a tenth of that.
const LARGEST: u64 = 256 << 20;
/// No card is larger.
const LARGEST_CARD: u64 = 4 << 20;

/// What `card` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct CardArgs {
    /// A report: the output of `narrows check TARGET --measure --json`
    #[arg(value_name = "RUN.json")]
    pub run: PathBuf,

    /// The card, which must not be there yet: NAME.svg or NAME.md
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// The target whose path is shown [default: the first of the report]
    #[arg(long)]
    pub target: Option<String>,

    /// A snapshot of the same machine, whose hash is put on the card
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
}

/// What `verify` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct VerifyArgs {
    /// The card: an SVG or Markdown file that `narrows card` made
    #[arg(value_name = "CARD")]
    pub card: PathBuf,

    /// The report that the card is to follow from
    #[arg(long, value_name = "RUN.json")]
    pub from: PathBuf,

    /// The snapshot whose hash the card bears
    #[arg(long, value_name = "FILE")]
    pub snapshot: Option<PathBuf>,
}

/// Makes a card of a report: 0.
///
/// # Errors
/// [`Failure`] when the report cannot be read or has no such path, or the card cannot be written.
pub(super) fn run(args: &CardArgs) -> Result<u8, Failure> {
    let draw = form(&args.output)?;
    let (bytes, report) = read(&args.run)?;
    let path = match &args.target {
        None => 0,
        Some(target) => report
            .paths
            .iter()
            .position(|path| path.target == *target)
            .ok_or_else(|| no_path(&report, target))?,
    };
    let stamp = Stamp {
        date: today(),
        path: path + 1,
        run: card::hash(&bytes),
        snapshot: args.snapshot.as_deref().map(hash_of).transpose()?,
    };
    let drawn = draw(&report, &stamp).ok_or_else(|| {
        Failure::new(format!("`{}` holds no path", args.run.display()))
            .hint("name the target when the report is made: `narrows check TARGET --json > RUN.json`")
    })?;
    write_new(&args.output, &drawn)?;
    Ok(NOTHING_FOUND)
}

type Draw = fn(&CheckReport, &Stamp) -> Option<String>;

/// What makes a card of this name.
fn form(file: &Path) -> Result<Draw, Failure> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "svg" => Ok(card::svg),
        "md" => Ok(card::markdown),
        "png" => Err(Failure::new("narrows writes no PNG").hint(
            "make an SVG, then: chromium --headless --window-size=1200,630 --screenshot=card.png card.svg",
        )),
        _ => Err(Failure::new(format!("`{}` is no name of a card", file.display()))
            .hint("let it end in .svg or .md, which says the form")),
    }
}

fn no_path(report: &CheckReport, target: &str) -> Failure {
    let targets: Vec<&str> = report.paths.iter().take(12).map(|path| path.target.as_str()).collect();
    Failure::new(format!("the report has no path of `{target}`"))
        .hint(format!("it has: {}", targets.join(", ")))
}

/// Holds a card against a report: 0 when it follows, 1 when not.
///
/// # Errors
/// [`Failure`] when a file cannot be read, or is no card.
pub(super) fn verify(args: &VerifyArgs) -> Result<u8, Failure> {
    if is_png(&args.card) {
        return Err(Failure::new(format!("`{}` is a PNG, which holds no text to compare", args.card.display()))
            .hint(
                "verify the SVG or Markdown that it was made of. By eye: `run` at its foot is the beginning of what `sha256sum RUN.json` \
                 prints, if it is of that report at all",
            ));
    }
    let text = foreign::text(&args.card, LARGEST_CARD).map_err(|error| cannot(&args.card, &error))?;
    let (bytes, report) = read(&args.from)?;
    let no_card = || {
        Failure::new(format!("`{}` is no card of a path of this report", args.card.display()))
            .hint("a card is what `narrows card RUN.json -o card.svg` makes")
    };
    let stamp = Stamp::of(&text).ok_or_else(no_card)?;
    let mut files = vec![format!("`{}`", args.from.display())];
    match (&stamp.snapshot, &args.snapshot) {
        (Some(hash), Some(file)) if *hash != hash_of(file)? => {
            output::lines([format!("The card names another snapshot than `{}`.", file.display())])?;
            return Ok(FINDINGS);
        }
        (Some(_), Some(file)) => files.push(format!("`{}`", file.display())),
        (None, Some(_)) => output::note("narrows: the card names no snapshot; --snapshot is not looked at"),
        (Some(_), None) => {
            output::note("narrows: the card names a snapshot, which is not looked at without --snapshot")
        }
        (None, None) => {}
    }
    let (said, status) = match card::check(&text, &report, &bytes).ok_or_else(no_card)? {
        Check::Follows => {
            let files = files.join(" and ");
            (
                vec![format!("This card follows from {files}; whether the files are true is not checked.")],
                NOTHING_FOUND,
            )
        }
        Check::OtherRun => (
            vec![format!(
                "This card was made of another report: it names {}, and this file is {}.",
                stamp.run,
                card::hash(&bytes)
            )],
            FINDINGS,
        ),
        Check::Differs(lines) => (differences(&report, &lines), FINDINGS),
    };
    output::lines(said)?;
    Ok(status)
}

/// Whether a file begins as a PNG does (PNG specification, 5.2).
fn is_png(file: &Path) -> bool {
    let mut begin = [0; 8];
    let opened = foreign::open(file, LARGEST_CARD);
    opened.is_ok_and(|mut opened| io::Read::read_exact(&mut opened, &mut begin).is_ok())
        && begin == *b"\x89PNG\r\n\x1a\n"
}

fn differences(report: &CheckReport, lines: &[(String, String)]) -> Vec<String> {
    let short = |text: &str| text.chars().take(300).collect::<String>();
    let mut said = vec!["This card does not follow from the report.".to_owned()];
    for (has, gives) in lines {
        said.extend([format!("  card:   {}", short(has)), format!("  report: {}", short(gives))]);
    }
    if report.tool.version != env!("CARGO_PKG_VERSION") {
        said.push("The report is of another version of narrows; a card of that version may be drawn in another way.".to_owned());
    }
    said
}

fn cannot(file: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot use `{}`: {error}", file.display()))
        .maybe_hint(Refusal::of(error).map(|why| why.hint().to_owned()))
}

fn read(file: &Path) -> Result<(Vec<u8>, CheckReport), Failure> {
    let text = foreign::text(file, LARGEST).map_err(|error| cannot(file, &error))?;
    let no_report = |why: String| {
        Failure::new(format!("`{}` is no report of `narrows check`: {why}", file.display()))
            .hint("make one with `narrows check TARGET --measure --json > FILE`")
    };
    let report: CheckReport = serde_json::from_str(&text).map_err(|error| no_report(error.to_string()))?;
    if report.schema != SCHEMA {
        return Err(no_report(format!("its schema is `{}`", report.schema)));
    }
    Ok((text.into_bytes(), report))
}

/// The hash of a file that is not text.
fn hash_of(file: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut opened = foreign::open(file, LARGEST).map_err(|error| cannot(file, &error))?;
    io::Read::read_to_end(&mut opened, &mut bytes).map_err(|error| cannot(file, &error))?;
    Ok(card::hash(&bytes))
}

/// The day in UTC, by the algorithm of Howard Hinnant (`civil_from_days`, chrono-Compatible Low-Level Date Algorithms).
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    day(seconds / 86_400)
}

fn day(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_of_five = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_of_five + 2) / 5 + 1;
    let month = if month_of_five < 10 { month_of_five + 3 } else { month_of_five - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970_are_dates() {
        // `date -u -d @SECONDS +%F`
        let dates = [0, 59, 11_016, 19_782, 20_782].map(day);
        assert_eq!(dates, ["1970-01-01", "1970-03-01", "2000-02-29", "2024-02-29", "2026-11-25"]);
    }

    #[test]
    fn the_name_says_the_form() {
        for name in ["a.svg", "b.md"] {
            assert!(form(Path::new(name)).is_ok());
        }
        let refused =
            form(Path::new("a.png")).err().map(|failure| format!("{failure:?}")).unwrap_or_default();
        assert!(refused.contains("chromium --headless"), "{refused}");
        assert!(form(Path::new("card")).is_err());
    }
}
