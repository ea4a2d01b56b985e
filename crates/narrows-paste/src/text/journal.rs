//! The kernel's messages out of a journal or log that puts fields around them: `journalctl -o json`, `json-pretty`,
//! `json-sse`, `export` and `verbose`, and `dmesg --json`.
//!
//! A message takes the place of the line that holds it; all other lines of an entry become empty.

use std::borrow::Cow;

use serde_json::Value;

/// Puts messages in the place of the fields around them.
pub(super) fn messages(lines: &mut [Cow<'_, str>]) {
    let has = |lines: &[Cow<'_, str>], mark: &str| lines.iter().any(|line| line.contains(mark));
    if has(lines, "\"MESSAGE\"") {
        in_lines(lines);
        in_documents(lines);
    }
    if has(lines, "\"msg\":") && has(lines, "\"dmesg\"") {
        of_dmesg(lines);
    }
    if has(lines, "MESSAGE=") && (has(lines, "_TRANSPORT=") || has(lines, "SYSLOG_IDENTIFIER=")) {
        in_fields(lines);
    }
}

/// The line of the log for a message; nothing for one of another program.
fn line(message: &str, of: Option<&str>) -> Cow<'static, str> {
    match of {
        Some("kernel") => Cow::Owned(format!("kernel: {message}")),
        _ => Cow::Borrowed(""),
    }
}

/// An entry in each line, as `json` and `json-sse` have it.
fn in_lines(lines: &mut [Cow<'_, str>]) {
    for whole in lines.iter_mut() {
        let text = whole.strip_prefix("data: ").unwrap_or(whole).trim();
        if !text.starts_with('{') || !text.contains("\"MESSAGE\"") {
            continue;
        }
        let Ok(entry) = serde_json::from_str::<Value>(text) else { continue };
        let of = |name: &str| entry.get(name).and_then(Value::as_str);
        let message = entry.get("MESSAGE").and_then(text_of);
        let said = message.map(|message| line(&message, of("_TRANSPORT").or(of("SYSLOG_IDENTIFIER"))));
        *whole = said.unwrap_or_default();
    }
}

/// A text, or the bytes of one: the journal writes so what holds bytes that JSON cannot, such as colours.
fn text_of(value: &Value) -> Option<String> {
    if let Some(bytes) = value.as_array() {
        let bytes: Option<Vec<u8>> = bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect();
        return Some(super::markup::without_controls(&String::from_utf8_lossy(&bytes?)).into_owned());
    }
    value.as_str().map(str::to_owned)
}

/// An entry of several lines, a field in each, as `json-pretty` has it.
fn in_documents(lines: &mut [Cow<'_, str>]) {
    entries(
        lines,
        |line| line.trim_start().starts_with('{'),
        |line| line.trim_start().starts_with('}'),
        |line| {
            let (name, value) = line.trim().trim_end_matches(',').split_once(':')?;
            let unquoted = text_of(&serde_json::from_str(value.trim()).ok()?)?;
            Some((name.trim().trim_matches('"').to_owned(), unquoted))
        },
    );
}

/// An entry of several lines, a field in each, up to an empty one (`export`) or the next date (`verbose`).
fn in_fields(lines: &mut [Cow<'_, str>]) {
    let is_field = |line: &str| field(line).is_some();
    let begins = |line: &str| line.contains(" [s=") || is_field(line);
    entries(
        lines,
        begins,
        |line| line.trim().is_empty() || line.contains(" [s="),
        |line| field(line).map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
}

/// `_HOSTNAME=box`: names are upper case.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once('=')?;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_name.then_some((name, value))
}

/// Finds entries and puts their message in the line that has it.
fn entries(
    lines: &mut [Cow<'_, str>],
    begins: impl Fn(&str) -> bool,
    ends: impl Fn(&str) -> bool,
    field: impl Fn(&str) -> Option<(String, String)>,
) {
    /// No entry has more fields.
    const MOST: usize = 200;
    let mut at = 0;
    while at < lines.len() {
        let rest = lines.get_mut(at..).unwrap_or_default();
        if !rest.first().is_some_and(|line| begins(line)) {
            at += 1;
            continue;
        }
        let length = 1 + rest.iter().skip(1).take(MOST).take_while(|line| !ends(line)).count();
        let Some(entry) = rest.get_mut(..length) else { break };
        let mut message: Option<(usize, String)> = None;
        let (mut of, mut transport) = (None, None);
        for (place, line) in entry.iter().enumerate() {
            let Some((name, value)) = field(line) else { continue };
            match name.as_str() {
                "MESSAGE" => message = Some((place, value)),
                "SYSLOG_IDENTIFIER" => of = Some(value),
                "_TRANSPORT" => transport = Some(value),
                _ => {}
            }
        }
        if let Some((place, message)) = message {
            let said = line(&message, transport.as_deref().or(of.as_deref()));
            for (at, line) in entry.iter_mut().enumerate() {
                *line = if at == place { said.clone() } else { Cow::Borrowed("") };
            }
        }
        at += length;
    }
}

/// `"msg": "…"` of `dmesg --json`. The other lines of an entry become empty, since a message may go on below it.
fn of_dmesg(lines: &mut [Cow<'_, str>]) {
    for whole in lines.iter_mut() {
        let text = whole.trim();
        let is_field =
            ["\"pri\":", "\"fac\":", "\"time\":", "\"caller\":"].iter().any(|key| text.starts_with(key));
        if is_field
            || matches!(text.trim_start_matches(['{', '}', '[', ']', ',', ' ']), "") && !text.is_empty()
        {
            *whole = Cow::Borrowed("");
            continue;
        }
        let Some((_, value)) = text.split_once("\"msg\":") else { continue };
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
        if let Some(Ok(message)) = values.next() {
            *whole = line(&message, Some("kernel"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
        let count = lines.len();
        messages(&mut lines);
        assert_eq!(lines.len(), count);
        lines.into_iter().filter(|line| line.starts_with("kernel:")).map(Cow::into_owned).collect()
    }

    #[test]
    fn every_form_gives_the_kernels_messages_and_no_others() {
        let want = ["kernel: nvme nvme0: \"x\""];
        for text in [
            "{\"MESSAGE\":\"nvme nvme0: \\\"x\\\"\",\"_TRANSPORT\":\"kernel\",\"_HOSTNAME\":\"box\"}\n{\"MESSAGE\":\"y\",\"_TRANSPORT\":\"syslog\",\"SYSLOG_IDENTIFIER\":\"smartd\"}",
            "data: {\"MESSAGE\":\"nvme nvme0: \\\"x\\\"\",\"SYSLOG_IDENTIFIER\":\"kernel\"}\n",
            "{\n\t\"PRIORITY\" : \"6\",\n\t\"MESSAGE\" : \"nvme nvme0: \\\"x\\\"\",\n\t\"_TRANSPORT\" : \"kernel\"\n}\n{\n\t\"MESSAGE\" : \"y\",\n\t\"_TRANSPORT\" : \"stdout\"\n}",
            "[\n  {\n    \"MESSAGE\": \"nvme nvme0: \\\"x\\\"\",\n    \"_TRANSPORT\": \"kernel\"\n  },\n  {\n    \"MESSAGE\": \"y\"\n  }\n]",
            "{\"MESSAGE\":[27,91,51,49,109,110,118,109,101,32,110,118,109,101,48,58,32,34,120,34],\"_TRANSPORT\":\"kernel\"}",
            "PRIORITY=6\n_TRANSPORT=kernel\nMESSAGE=nvme nvme0: \"x\"\n\nMESSAGE=y\nSYSLOG_IDENTIFIER=smartd\n",
            "Tue 2023-11-14 12:34:56.123 CET [s=abc;i=1]\n    PRIORITY=6\n    SYSLOG_IDENTIFIER=kernel\n    MESSAGE=nvme nvme0: \"x\"\nTue 2023-11-14 12:34:57.123 CET [s=abc;i=2]\n    MESSAGE=y\n    SYSLOG_IDENTIFIER=cron\n",
            "{\n   \"dmesg\": [\n      {\n         \"pri\": 6,\n         \"time\":     1.234567,\n         \"msg\": \"nvme nvme0: \\\"x\\\"\"\n      }\n   ]\n}",
        ] {
            assert_eq!(of(text), want, "{text}");
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in ["A=1\nMESSAGE=x\n", "{\"MESSAGE\": broken", "{\n\"x\": 1\n}\n", "\"msg\": \"x\""] {
            let mut lines: Vec<Cow<'_, str>> = text.lines().map(Cow::Borrowed).collect();
            messages(&mut lines);
            assert_eq!(lines.join("\n"), text.trim_end());
        }
    }
}
