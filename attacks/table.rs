//! What came of all attacks: shown, kept, and counted.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::attack::Verdict;

/// One line of the table.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The attack, with its class in front.
    pub(crate) name: String,
    /// What came of it.
    pub(crate) verdict: Verdict,
    /// How long it took.
    pub(crate) seconds: f64,
}

/// All lines.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Row>);

impl Table {
    /// Adds what another run found. One attack may run in several places: broken anywhere is broken, and skipped here
    /// does not count where it held elsewhere.
    pub(crate) fn unite(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let rows: Vec<Value> = serde_json::from_str(text)?;
        for row in &rows {
            let row = read(row);
            match self.0.iter_mut().find(|ours| ours.name == row.name) {
                Some(ours) => {
                    ours.verdict = worse(&ours.verdict, &row.verdict);
                    ours.seconds += row.seconds;
                }
                None => self.0.push(row),
            }
        }
        Ok(())
    }

    /// How many held, broke and were skipped.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let count = |is: fn(&Verdict) -> bool| self.0.iter().filter(|row| is(&row.verdict)).count();
        (
            count(|verdict| matches!(verdict, Verdict::Held(_))),
            count(|verdict| matches!(verdict, Verdict::Broken(_))),
            count(|verdict| matches!(verdict, Verdict::Skipped(_))),
        )
    }

    /// The table as text: at its end once more what broke, since of a long log only the end may be kept, and the counts.
    pub(crate) fn text(&self) -> String {
        let wide = self.0.iter().map(|row| row.name.len()).max().unwrap_or_default();
        let mut text = String::new();
        for row in &self.0 {
            text += &format!("{:wide$}  {:>6.1} s  {}\n", row.name, row.seconds, row.verdict);
        }
        for row in &self.0 {
            if let Verdict::Broken(notes) = &row.verdict {
                text += &format!("BROKEN: {}\n", row.name);
                text.extend(notes.iter().take(3).map(|note| format!("    {note}\n")));
            }
        }
        let (held, broken, skipped) = self.counts();
        text + &format!("{held} passed, {broken} failed, {skipped} skipped\n")
    }

    /// Keeps it for programs and for [`Table::unite`].
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        let rows: Vec<Value> = self.0.iter().map(write).collect();
        fs::write(path, format!("{:#}\n", Value::Array(rows)))
    }
}

impl FromIterator<Row> for Table {
    fn from_iter<T: IntoIterator<Item = Row>>(rows: T) -> Self {
        Self(rows.into_iter().collect())
    }
}

fn worse(one: &Verdict, other: &Verdict) -> Verdict {
    match (one, other) {
        (Verdict::Broken(a), Verdict::Broken(b)) => Verdict::Broken([&a[..], b].concat()),
        (broken @ Verdict::Broken(_), _) | (_, broken @ Verdict::Broken(_)) => broken.clone(),
        (Verdict::Held(a), Verdict::Held(b)) => Verdict::Held(a + b),
        (held @ Verdict::Held(_), _) | (_, held @ Verdict::Held(_)) => held.clone(),
        (Verdict::Skipped(_), Verdict::Skipped(_)) => other.clone(),
    }
}

fn write(row: &Row) -> Value {
    let (word, checks, notes) = match &row.verdict {
        Verdict::Held(checks) => ("held", *checks, Vec::new()),
        Verdict::Broken(notes) => ("broken", 0, notes.clone()),
        Verdict::Skipped(why) => ("skipped", 0, vec![why.clone()]),
    };
    json!({ "attack": row.name, "verdict": word, "checks": checks, "notes": notes, "seconds": row.seconds })
}

fn read(row: &Value) -> Row {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let notes: Vec<String> = row["notes"].as_array().into_iter().flatten().map(text).collect();
    let verdict = match row["verdict"].as_str() {
        Some("held") => Verdict::Held(row["checks"].as_u64().unwrap_or(1).try_into().unwrap_or(1)),
        Some("skipped") => Verdict::Skipped(notes.first().cloned().unwrap_or_default()),
        _ => Verdict::Broken(notes),
    };
    Row { name: text(&row["attack"]), verdict, seconds: row["seconds"].as_f64().unwrap_or_default() }
}
