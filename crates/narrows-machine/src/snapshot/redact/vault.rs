//! Secrets and the tokens that stand for them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Secrets with fewer letters and digits than this are replaced where they are known to be secrets, but not looked for
/// elsewhere: they would be found by chance.
const LEAST: usize = 6;

/// Secrets with fewer characters than this are looked for as whole words only.
const WORD: usize = 8;

/// Secrets and their tokens. A token has the length and punctuation of its secret, with digits for its letters and
/// digits, so that it parses as whatever the secret was: a number, hexadecimal, a UUID, a MAC address.
#[derive(Debug, Default)]
pub(super) struct Vault {
    /// The digits that stand for a secret, by its letters and digits in lower case.
    tokens: BTreeMap<String, String>,
    /// The spellings to look for everywhere, in lower case, with their digits.
    forms: BTreeMap<String, String>,
    /// The forms by how they begin, longest first.
    index: HashMap<[u8; LEAST], Vec<String>>,
    spared: BTreeSet<String>,
    count: u64,
}

impl Vault {
    /// A vault that does not look for `spared` words everywhere.
    pub(super) fn sparing(spared: BTreeSet<String>) -> Self {
        Self { spared, ..Self::default() }
    }

    /// The token for a secret, which will also be replaced wherever else it stands.
    pub(super) fn hide(&mut self, secret: &str) -> String {
        let token = self.hide_here(secret);
        let key = key(secret);
        let is_distinct = key.len() >= LEAST && key.bytes().any(|b| b.is_ascii_digit()) && !is_blank(&key);
        if let (true, Some(digits)) = (is_distinct, self.tokens.get(&key)) {
            for form in [secret.trim().to_ascii_lowercase(), key] {
                if form.len() >= LEAST && !self.spared.contains(&form) {
                    self.forms.insert(form, digits.clone());
                }
            }
        }
        token
    }

    /// The token for a secret, which is not looked for elsewhere.
    pub(super) fn hide_here(&mut self, secret: &str) -> String {
        let key = key(secret);
        if is_blank(&key) {
            return secret.to_owned();
        }
        let count = &mut self.count;
        let digits = self.tokens.entry(key).or_insert_with_key(|key| {
            *count += 1;
            let number = format!("{:0>width$}", count, width = key.len());
            number.get(number.len() - key.len()..).unwrap_or_default().to_owned()
        });
        dress(secret, digits)
    }

    /// Ends the search for secrets, so that [`Vault::erase`] finds them.
    pub(super) fn seal(&mut self) {
        for form in self.forms.keys() {
            if let Some(start) = form.as_bytes().first_chunk::<LEAST>() {
                self.index.entry(*start).or_default().push(form.clone());
            }
        }
        for forms in self.index.values_mut() {
            forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        }
    }

    /// Replaces every secret in `bytes`, in place and without changing lengths.
    pub(super) fn erase(&self, bytes: &mut [u8]) {
        if self.index.is_empty() {
            return;
        }
        let mut at = 0;
        while let Some(form) = self.find(bytes, at) {
            let (start, form) = form;
            let end = start + form.len();
            let digits = self.forms.get(form).map_or("", String::as_str);
            if let Some(found) = bytes.get_mut(start..end) {
                let alphanumeric = found.iter_mut().filter(|b| b.is_ascii_alphanumeric());
                alphanumeric.zip(digits.bytes()).for_each(|(byte, digit)| *byte = digit);
            }
            at = end;
        }
    }

    fn find(&self, bytes: &[u8], from: usize) -> Option<(usize, &str)> {
        (from..bytes.len().checked_sub(LEAST - 1)?).find_map(|start| {
            let rest = bytes.get(start..)?;
            let beginning = rest.first_chunk::<LEAST>()?.map(|byte| byte.to_ascii_lowercase());
            let form = self.index.get(&beginning)?.iter().find(|form| is_at(bytes, start, form))?;
            Some((start, form.as_str()))
        })
    }
}

/// Whether `form` stands at `start`; a short one, and one of digits only, must stand there as a word.
fn is_at(bytes: &[u8], start: usize, form: &str) -> bool {
    let end = start + form.len();
    let is_same = bytes.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(form.as_bytes()));
    let edge = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(|b| !b.is_ascii_alphanumeric());
    let needs_edges = form.len() < WORD || form.bytes().all(|b| b.is_ascii_digit());
    is_same && (!needs_edges || (edge(start.checked_sub(1)) && edge(Some(end))))
}

fn key(secret: &str) -> String {
    secret.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether a value says nothing: all zeros or all ones.
fn is_blank(key: &str) -> bool {
    key.bytes().all(|b| b == b'0') || key.bytes().all(|b| b == b'f')
}

/// `digits` in the clothes of `secret`. Characters outside ASCII become `0`.
fn dress(secret: &str, digits: &str) -> String {
    let mut digits = digits.chars();
    secret
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => digits.next().unwrap_or('0'),
            c if c.is_ascii() => c,
            _ => '0',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn erased(vault: &mut Vault, text: &str) -> String {
        vault.seal();
        let mut bytes = text.as_bytes().to_vec();
        vault.erase(&mut bytes);
        String::from_utf8(bytes).expect("stays text")
    }

    #[test]
    fn a_uuid_has_one_token_with_and_without_dashes() {
        let mut vault = Vault::default();
        let dashed = vault.hide("0f8fad5b-d9cb-469f-a165-70867728950e");
        assert_eq!(dashed, "00000000-0000-0000-0000-000000000001");
        assert_eq!(
            erased(&mut vault, "CRYPT-LUKS2-0F8FAD5BD9CB469FA16570867728950E-root"),
            "CRYPT-LUKS2-00000000000000000000000000000001-root"
        );
    }

    #[test]
    fn a_serial_is_found_inside_other_names() {
        let mut vault = Vault::default();
        vault.hide("S4EWNX0N123456A");
        assert_eq!(
            erased(&mut vault, "nqn:144d144dS4EWNX0N123456A  Samsung"),
            "nqn:144d144d000000000000001  Samsung"
        );
    }

    #[test]
    fn what_is_short_or_only_a_number_is_replaced_as_a_word_only() {
        let mut vault = Vault::default();
        vault.hide("1234567");
        assert_eq!(erased(&mut vault, "1234567 12345678 91234567"), "0000001 12345678 91234567");
        assert_eq!(vault.hide("12"), "02");
        assert_eq!(erased(&mut vault, "12"), "12");
    }

    #[test]
    fn a_secret_that_is_also_a_name_of_the_kernel_is_replaced_only_in_its_place() {
        let mut vault = Vault::sparing(BTreeSet::from(["nvme0n1".to_owned()]));
        assert_eq!(vault.hide("nvme0n1"), "0000001");
        assert_eq!(erased(&mut vault, "nvme0n1"), "nvme0n1");
    }

    #[test]
    fn nothing_is_no_secret() {
        let mut vault = Vault::default();
        assert_eq!(vault.hide("00:00:00:00:00:00"), "00:00:00:00:00:00");
        assert_eq!(vault.hide("ff:ff:ff:ff:ff:ff"), "ff:ff:ff:ff:ff:ff");
        assert_eq!(vault.hide(""), "");
    }

    proptest! {
        #[test]
        fn a_token_is_as_long_as_its_secret_and_never_holds_it(secret in "[A-Za-z0-9 _.:-]{0,40}") {
            let mut vault = Vault::default();
            let token = vault.hide(&secret);
            prop_assert_eq!(token.len(), secret.len());
            prop_assert_eq!(vault.hide(&secret), token);
        }

        #[test]
        fn lengths_never_change(bytes: Vec<u8>, secret in "[a-z0-9]{6,12}") {
            let mut vault = Vault::default();
            vault.hide(&secret);
            vault.seal();
            let mut erased = bytes.clone();
            erased.extend_from_slice(secret.as_bytes());
            vault.erase(&mut erased);
            prop_assert_eq!(erased.len(), bytes.len() + secret.len());
        }
    }
}
