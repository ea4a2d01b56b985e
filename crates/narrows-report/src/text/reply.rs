//! A short answer for a forum, in Markdown: the sentence, what shows it, and the one command to ask for next.

use super::public;
use crate::sanitize::inert;
use crate::view::CheckReport;
use narrows_model::path::HopKind;
use narrows_verdict::{Code, Evidence, Finding, Severity};

/// What an answer says of the evidence, and of findings, at most.
const MOST: usize = 4;

/// The answer. What identifies the owner is left out.
pub fn render(report: &CheckReport) -> String {
    let report = public::without_identity(report);
    let mut lines = Vec::new();
    let told: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.code != Code::PartialInput).take(MOST).collect();
    let paths = report.paths.iter();
    let main = told.first().filter(|finding| finding.severity != Severity::Info);
    let of_main = main.and_then(|finding| {
        let hop = finding.hop.as_deref()?;
        report.paths.iter().find(|path| path.hops.iter().any(|other| other.id == hop))
    });
    lines.push(match (main, of_main.or_else(|| paths.clone().next())) {
        (Some(finding), _) => format!("**{}**", plain(&finding.summary)),
        (None, Some(path)) => format!("**{}**", plain(&path.sentence)),
        (None, None) => "What was posted shows no storage path.".to_owned(),
    });
    lines.push(String::new());
    for finding in told.iter().filter(|finding| finding.severity != Severity::Info) {
        if Some(finding) != main {
            lines.push(plain(&finding.summary));
        }
        for Evidence { fact, value, source } in finding.evidence.iter().take(MOST) {
            let source = if source.is_empty() { String::new() } else { format!(" ({})", plain(source)) };
            lines.push(format!("- {}: {}{source}", plain(fact), plain(value)));
        }
        if let Some(advice) = finding.advice.first() {
            let gain = advice.gain_bytes_per_second.map(|gain| format!(" (+{gain})")).unwrap_or_default();
            lines.push(format!("\nWhat to do: {}{gain}", plain(&advice.action)));
        }
        lines.push(String::new());
    }
    lines.push("Please run this, and post what it prints:\n".to_owned());
    lines.push(format!("    {}\n", inert(&command(&report))));
    lines.join("\n")
}

/// Text that Markdown shows as it stands: what would begin a link, a picture, HTML or emphasis is escaped.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in inert(text).chars() {
        if matches!(c, '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '`' | '|' | '#' | '!' | '~' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// What would tell most: the facts that the texts lack, then a run that only reads.
fn command(report: &CheckReport) -> String {
    let partial = report.findings.iter().filter(|finding| finding.code == Code::PartialInput);
    let lacking = partial.flat_map(|finding| &finding.advice).find_map(|advice| quoted(&advice.action));
    lacking.unwrap_or_else(|| reading(report))
}

/// The first command in backquotes that shows something.
fn quoted(text: &str) -> Option<String> {
    let command = text.split('`').nth(1)?;
    (!command.is_empty() && !command.starts_with("narrows")).then(|| command.to_owned())
}

/// A run of fio that reads the drive past the page cache, as long as it takes to see what lasts.
fn reading(report: &CheckReport) -> String {
    let hops = report.paths.iter().flat_map(|path| &path.hops);
    let device = hops.clone().find(|hop| hop.kind == HopKind::Device).and_then(|hop| hop.id.split_once(':'));
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    match device.map(|(_, name)| name).filter(|name| is_name(name)) {
        Some(name) => format!(
            "sudo fio --name=read --filename=/dev/{name} --readonly --rw=read --bs=1M --iodepth=8 --ioengine=libaio \
             --direct=1 --runtime=60 --time_based"
        ),
        None => "sudo lspci -nnvvv".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_makes_no_link_picture_or_html() {
        assert_eq!(plain("![x](http://a) <b> `c`"), r"\!\[x\](http://a) \<b\> \`c\`");
        assert_eq!(plain("a\nb\u{1b}[1m"), inert("a\nb\u{1b}[1m").replace('\\', "\\\\").replace('[', "\\["));
    }

    #[test]
    fn a_command_is_asked_for_and_none_of_ours() {
        assert_eq!(quoted("Run `sudo lspci -vvv` there, and").as_deref(), Some("sudo lspci -vvv"));
        assert_eq!(quoted("`narrows x` does"), None);
        assert_eq!(quoted("nothing"), None);
    }
}
