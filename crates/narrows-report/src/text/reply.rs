//! A short answer for a forum, in Markdown: the sentence, what shows it, and the one command to ask for next.

use crate::names::Names;
use crate::sanitize::inert;
use crate::view::CheckReport;
use narrows_model::path::HopKind;
use narrows_verdict::{Code, Evidence, Finding, Severity};

/// What an answer says of the evidence, and of findings, at most.
const MOST: usize = 4;

/// A text of the report with the Markdown before and behind it.
type ReplyLine = (&'static str, String, &'static str);

/// The answer. What identifies the owner is left out.
pub fn render(report: &CheckReport) -> String {
    let (mut lines, mut lacking) = (said(report), lacking(report));
    let mut device = device(report).unwrap_or_default().to_owned();
    let mut texts: Vec<&mut String> = lines.iter_mut().map(|(_, text, _)| text).collect();
    texts.extend(lacking.iter_mut().chain([&mut device]));
    Names::of(report).hide(&mut texts);
    let said = lines.iter().map(|(before, text, behind)| format!("{before}{}{behind}\n", plain(text)));
    let command = lacking.unwrap_or_else(|| reading(&device));
    let asked = format!("Please run this, and post what it prints:\n\n    {}\n", inert(&command));
    said.chain([asked]).collect()
}

/// The main finding or the sentence of a path, then what shows the findings and what to do about each.
fn said(report: &CheckReport) -> Vec<ReplyLine> {
    let told: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.code != Code::PartialInput).take(MOST).collect();
    let main = told.first().filter(|finding| finding.severity != Severity::Info);
    let mut lines = vec![match (main, report.paths.first()) {
        (Some(finding), _) => ("**", finding.summary.clone(), "**"),
        (None, Some(path)) => ("**", path.sentence.clone(), "**"),
        (None, None) => ("", "What was posted shows no storage path.".to_owned(), ""),
    }];
    lines.push(("", String::new(), ""));
    for finding in told.iter().filter(|finding| finding.severity != Severity::Info) {
        if Some(finding) != main {
            lines.push(("", finding.summary.clone(), ""));
        }
        for Evidence { fact, value, source } in finding.evidence.iter().take(MOST) {
            let source = if source.is_empty() { String::new() } else { format!(" ({source})") };
            lines.push(("- ", format!("{fact}: {value}{source}"), ""));
        }
        if let Some(advice) = finding.advice.first() {
            let gain = advice.gain_bytes_per_second.map(|gain| format!(" (+{gain})")).unwrap_or_default();
            lines.push(("\nWhat to do: ", format!("{}{gain}", advice.action), ""));
        }
        lines.push(("", String::new(), ""));
    }
    lines
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

/// What would tell most: a command for the facts that the texts lack.
fn lacking(report: &CheckReport) -> Option<String> {
    let partial = report.findings.iter().filter(|finding| finding.code == Code::PartialInput);
    partial.flat_map(|finding| &finding.advice).find_map(|advice| quoted(&advice.action))
}

/// The first command in backquotes that shows something.
fn quoted(text: &str) -> Option<String> {
    let command = text.split('`').nth(1)?;
    (!command.is_empty() && !command.starts_with("narrows")).then(|| command.to_owned())
}

/// The kernel name of the first drive.
fn device(report: &CheckReport) -> Option<&str> {
    let mut hops = report.paths.iter().flat_map(|path| &path.hops);
    Some(hops.find(|hop| hop.kind == HopKind::Device)?.id.split_once(':')?.1)
}

/// A run of fio that reads the drive past the page cache, as long as it takes to see what lasts.
fn reading(name: &str) -> String {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if name.is_empty() || !is_name {
        return "sudo lspci -nnvvv".to_owned();
    }
    format!(
        "sudo fio --name=read --filename=/dev/{name} --readonly --rw=read --bs=1M --iodepth=8 --ioengine=libaio \
         --direct=1 --runtime=60 --time_based"
    )
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
