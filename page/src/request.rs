//! What a page asks.

use std::borrow::Cow;

/// Which of two things that are compared something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// What is asked about, or compared with another.
    A,
    /// What is compared with it.
    B,
}

/// A text that was pasted, or a file that was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given<'r> {
    pub pane: Pane,
    /// What the file is called; empty for what was pasted.
    pub name: Cow<'r, str>,
    pub content: &'r [u8],
}

/// What was given, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request<'r>(pub Vec<Given<'r>>);

impl<'r> Request<'r> {
    /// Reads a request: for each thing that is given a byte (1 for B), the length of its name, the name, the length of its content, the
    /// content. Lengths have four bytes, the lowest first. What is cut off is left out.
    pub fn read(mut bytes: &'r [u8]) -> Self {
        let mut all = Vec::new();
        while let Some((pane, rest)) = bytes.split_first() {
            let Some((name, rest)) = counted(rest) else { break };
            let Some((content, rest)) = counted(rest) else { break };
            let pane = if *pane == 1 { Pane::B } else { Pane::A };
            all.push(Given { pane, name: String::from_utf8_lossy(name), content });
            bytes = rest;
        }
        Self(all)
    }

    /// What belongs to one pane.
    pub fn of(&self, pane: Pane) -> Vec<&Given<'r>> {
        self.0.iter().filter(|given| given.pane == pane).collect()
    }
}

impl Given<'_> {
    /// What it is called in an answer.
    pub fn name(&self) -> &str {
        match (&*self.name, self.pane) {
            ("", Pane::A) => "paste",
            ("", Pane::B) => "other paste",
            (name, _) => name,
        }
    }
}

fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written_and_what_is_cut_off_is_left_out() {
        let bytes = b"\0\x01\0\0\0a\x02\0\0\0hi\x01\0\0\0\0\x01\0\0\0x";
        let request = Request::read(bytes);
        let given = |pane, name, content| Given { pane, name: Cow::Borrowed(name), content };
        assert_eq!(request.0, [given(Pane::A, "a", &b"hi"[..]), given(Pane::B, "", &b"x"[..])]);
        assert_eq!(request.of(Pane::B).first().map(|one| one.name()), Some("other paste"));
        for end in 0..bytes.len() {
            assert!(Request::read(&bytes[..end]).0.len() < 2);
        }
    }
}
