//! Numbers as tools print them: decimal commas, exponents, prefixes of units.

/// The number at the beginning of a text, and what follows it. A comma between digits is a decimal point, as many
/// languages write it. An exponent is part of the number when it has a sign, as C prints it.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let bare = digits.trim_end_matches([',', '.']);
    if bare.is_empty() || !bare.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let exponent = if bare == digits { exponent(rest) } else { "" };
    let length = bare.len() + exponent.len();
    let number = text.get(..length)?.replace(',', ".").parse().ok()?;
    Some((number, text.get(length..)?))
}

/// The exponent at the beginning of a text, with its letter and sign; empty if there is none.
fn exponent(text: &str) -> &str {
    let digits = text.strip_prefix(['e', 'E']).and_then(|rest| rest.strip_prefix(['+', '-']));
    let count = digits.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    text.get(..if count > 0 { 2 + count } else { 0 }).unwrap_or_default()
}

/// Which powers a bare `K` or `M` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// 1000, 1000², …
    Decimal,
    /// 1024, 1024², …
    Binary,
}

/// The factor of a unit such as `k`, `MB`, `MiB/s` or `GByte`: its prefix, where an `i` behind it makes it binary in
/// any case. A unit without prefix is 1.
pub(crate) fn factor(unit: &str, base: Base) -> f64 {
    let mut letters = unit.trim_start().chars();
    let power = match letters.next() {
        Some('k' | 'K' | 'К' | 'к') => 1,
        Some('m' | 'M' | 'М' | 'м') => 2,
        Some('g' | 'G' | 'Г' | 'г') => 3,
        Some('t' | 'T' | 'Т' | 'т') => 4,
        Some('p' | 'P') => 5,
        _ => 0,
    };
    let is_binary = power > 0 && matches!(letters.next(), Some('i' | 'I'));
    let step: f64 = if is_binary || base == Base::Binary { 1024.0 } else { 1000.0 };
    step.powi(power)
}
