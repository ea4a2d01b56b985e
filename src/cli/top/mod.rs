//! `narrows top`: what crosses each hop now, against its ceiling.

mod terminal;

use std::io::{IsTerminal, stdout};
use std::thread::sleep;
use std::time::Duration;

use clap::Args;
use nix::unistd::geteuid;

use super::output::OutputArgs;
use super::values::duration;
use super::{Failure, NOTHING_FOUND, output, target};
use narrows_machine::Machine;
use narrows_machine::root::Root;
use narrows_runs::top::{About, TopReport, document, report};
use narrows_session::live::{Follow, Look};

/// The shortest time between two looks, and the longest.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));

/// What `top` is asked.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TopArgs {
    /// A device, mount point, directory, file, PCI address or network interface [default: every storage path]
    pub target: Option<String>,

    /// The time between two looks, 100ms to 60s
    #[arg(short, long, value_name = "TIME", value_parser = interval, default_value = "500ms")]
    pub interval: Duration,

    /// How the report is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn interval(text: &str) -> Result<Duration, String> {
    let asked = duration(text)?;
    let (least, most) = INTERVALS;
    if (least..=most).contains(&asked) {
        Ok(asked)
    } else {
        Err(format!("`{text}` is not between 100 ms and 60 s"))
    }
}

/// Follows what moves, on the terminal until a key ends it, or for one look.
///
/// # Errors
/// [`Failure`] when the target does not exist, or there is no terminal to draw on.
pub(super) fn run(args: &TopArgs) -> Result<u8, Failure> {
    let shown = &args.output.shown;
    let is_once = args.output.json || shown.plain || shown.html.is_some() || !stdout().is_terminal();
    let root = Root::live().letting_sleep();
    let machine = Machine::read(&root);
    let typed = args.target.as_deref();
    let asked = typed.map(|typed| target::resolve(&root, &machine, typed)).transpose()?;
    let no_path = || {
        Failure::new(format!("no storage path leads to `{}`", typed.unwrap_or_default()))
            .hint("name a device, mount point or network interface; without a target every path is shown")
    };
    let mut follow = Follow::begin(&root, machine, asked).ok_or_else(no_path)?;
    if !is_once {
        terminal::follow(&mut follow, args)?;
        return Ok(NOTHING_FOUND);
    }
    sleep(args.interval);
    let look = follow.look();
    output::report(&view(&follow, &look, typed), &args.output, document)?;
    Ok(NOTHING_FOUND)
}

/// The view of one look.
fn view(follow: &Follow<'_>, look: &Look, target: Option<&str>) -> TopReport {
    let notes = hidden(look.hidden, geteuid().is_root());
    let about = About { target, links: look.links.clone(), asleep: look.asleep.clone(), notes };
    report(&about, follow.lanes(), &look.picture)
}

/// What is said of processes whose counters the kernel hides from this user. In a container some are hidden from root.
fn hidden(count: usize, is_root: bool) -> Vec<String> {
    let what = match count {
        0 => return Vec::new(),
        1 => "what one process moves".to_owned(),
        _ => format!("what {count} processes move"),
    };
    let more = if is_root { "the kernel hides it from this root" } else { "`sudo narrows top` shows it" };
    vec![format!("{what}: {more}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_root_would_add_is_said() {
        assert_eq!(hidden(0, false), Vec::<String>::new());
        assert_eq!(hidden(1, false), ["what one process moves: `sudo narrows top` shows it"]);
        assert_eq!(hidden(312, true), ["what 312 processes move: the kernel hides it from this root"]);
    }

    #[test]
    fn an_interval_is_neither_a_busy_loop_nor_for_ever() {
        assert_eq!(interval("2"), Ok(Duration::from_secs(2)));
        assert_eq!(interval("100ms"), Ok(INTERVALS.0));
        for bad in ["10ms", "2m", "x", ""] {
            assert!(interval(bad).is_err(), "{bad}");
        }
    }
}
