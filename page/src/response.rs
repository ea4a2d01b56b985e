//! What a page is answered.

use narrows_answer::{Facts, NotPredicted, Question, Seen, compare, machine_input, predicted};
use narrows_model::path::file::Document as Description;
use narrows_paste::capture;
use narrows_paste::capture::input::InputError;
use narrows_paste::not_read;
use narrows_report::document::{Audience, Document, page, parts};
use narrows_report::text::reply::{self, Form};
use narrows_report::{predict, sanitize, text};
use narrows_verdict::compare::Input;
use serde::Serialize;

use super::request::{Given, Pane, Request};

/// The answer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Response {
    /// The document, as a part of a page; empty where nothing is known.
    pub html: String,
    /// The same as a page of its own, to be kept: without names and addresses.
    pub page: String,
    /// The report, as `narrows … --json` prints it.
    pub json: String,
    /// What to post where somebody asked, in Markdown and as plain text.
    pub markdown: String,
    pub plain: String,
    /// What its reader should know beside it.
    pub notes: Vec<String>,
    /// What is wrong with a description.
    pub mistakes: Vec<Mistake>,
}

/// One thing that is wrong with a description.
#[derive(Debug, Clone, Serialize)]
pub struct Mistake {
    /// The line, from 1 on, where one is known.
    pub line: Option<usize>,
    pub message: String,
    pub hint: Option<String>,
}

/// Answers what was given.
pub fn respond(request: &Request<'_>) -> Response {
    let (a, b) = (request.of(Pane::A), request.of(Pane::B));
    let answered = match (a.as_slice(), b.as_slice()) {
        ([], []) => return Response::default(),
        (only, []) | ([], only) => match described(only) {
            Some(found) => found,
            None => of_texts(only),
        },
        (a, b) => compared(a, b),
    };
    answered.unwrap_or_else(|why| Response { notes: vec![why], ..Response::default() })
}

/// A report in all its forms.
fn shown<R: Serialize>(report: &R, document: impl Fn(&R, Audience) -> Document) -> Result<Response, String> {
    let json = sanitize::shown_json(report).map_err(|error| error.to_string())?;
    Ok(Response {
        html: parts(&[document(report, Audience::Owner)]),
        page: page(&[document(report, Audience::Public)]),
        json: json + "\n",
        ..Response::default()
    })
}

fn facts(given: &[&Given<'_>]) -> Result<Facts, InputError> {
    let mut seen = Seen::to_quote();
    let texts = given.iter().map(|one| (one.name(), one.content));
    let gathered = capture::gather_texts(texts, &mut seen)?;
    Ok(Facts::of(gathered, seen))
}

/// The answer to texts of one machine.
fn of_texts(given: &[&Given<'_>]) -> Result<Response, String> {
    let facts = facts(given).map_err(|error| error.to_string())?;
    if facts.has_nothing() {
        return Ok(nothing(given, &facts));
    }
    let named = given.iter().filter(|one| !one.name.is_empty());
    let from: Vec<String> = named.map(|one| one.name.clone().into_owned()).collect();
    let answered = facts.answer(Question { paths: facts.paths(), from: &from, ..Question::default() });
    let reply = |form| facts.seen.pasted.as_ref().map(|pasted| reply::render(&answered.report, pasted, form));
    Ok(Response {
        markdown: reply(Form::Markdown).unwrap_or_default(),
        plain: reply(Form::Mail).unwrap_or_default(),
        notes: facts.notes.iter().chain(&answered.notes).cloned().collect(),
        ..shown(&answered.report, text::document)?
    })
}

/// What to ask for where nothing is recognised.
fn nothing(given: &[&Given<'_>], facts: &Facts) -> Response {
    let Some(pasted) = facts.seen.pasted.as_ref().filter(|pasted| pasted.has_words()) else {
        return Response { notes: facts.limits().collect(), ..Response::default() };
    };
    let tool = given.iter().find_map(|one| not_read::tool(&String::from_utf8_lossy(one.content)));
    let said = match tool {
        Some(tool) => format!("this is what {tool} prints, of which narrows reads nothing"),
        None => "nothing in this was recognised".to_owned(),
    };
    Response {
        markdown: reply::ask(pasted, Form::Markdown),
        plain: reply::ask(pasted, Form::Mail),
        notes: std::iter::once(said).chain(facts.limits()).collect(),
        ..Response::default()
    }
}

/// What is predicted of a description of a system; `None` where the text is none.
fn described(given: &[&Given<'_>]) -> Option<Result<Response, String>> {
    let [one] = given else { return None };
    let text = std::str::from_utf8(one.content).ok()?;
    if !text.contains("\"narrows/path/") {
        return None;
    }
    let found = Description::parse(one.name(), text).map_err(NotPredicted::from);
    Some(match found.and_then(|description| predicted(one.name(), &description)) {
        Ok(system) => shown(&predict::report(vec![system]), predict::document),
        Err(error) => Ok(Response { mistakes: mistakes(&error), ..Response::default() }),
    })
}

fn mistakes(error: &NotPredicted) -> Vec<Mistake> {
    match error {
        NotPredicted::Wrong(error) | NotPredicted::Published { error, .. } => {
            let of = |problem: &narrows_model::path::file::Problem| Mistake {
                line: problem.at.line.map(|(line, _)| line),
                message: problem.message.clone(),
                hint: problem.hint.clone(),
            };
            error.problems.iter().map(of).collect()
        }
        NotPredicted::NoPath(error) => vec![Mistake { line: None, message: error.to_string(), hint: None }],
    }
}

/// Two sides, compared.
fn compared(a: &[&Given<'_>], b: &[&Given<'_>]) -> Result<Response, String> {
    let comparison = compare(&pane(a)?, &[pane(b)?]).map_err(|why| format!("{why}: {}", why.hint()))?;
    shown(&comparison, text::compare::document)
}

/// What one pane holds: measurements, else a machine.
fn pane(given: &[&Given<'_>]) -> Result<Input, String> {
    let Some(first) = given.first() else { return Err("one pane is empty".to_owned()) };
    let texts: Vec<_> = given.iter().map(|one| String::from_utf8_lossy(one.content)).collect();
    let text = texts.join("\n");
    if let Ok(found) = Input::parse(first.name(), &text) {
        return Ok(found);
    }
    let facts = facts(given).map_err(|error| error.to_string())?;
    machine_input(first.name(), &text, &facts)
        .ok_or_else(|| format!("nothing in `{}` can be compared", first.name()))
}
